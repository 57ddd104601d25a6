//! Drives with more pages than 32 bits can number: they start immediately, are saved compactly, and
//! report the memory needed if a run would exceed the machine's.

use crate::common::{experiment, outcome};
use lab::{RunError, RunSettings};
use serde_json::Value;

/// 123 TB with a write buffer: 1024 dies whose blocks are erased together, 206 GB at a time.
const BUFFERED: &str = "
[device]
preset = 'qlc-enterprise'
packages_per_channel = 16
scale = 1
capacity = '122904018026496B'
fill = 'empty'
buffer.size = '1GiB'
";

/// 131 TB without a buffer, each plane on its own.
const PLAIN: &str = "
[device]
kind = 'ssd'
channels = 16
dies_per_package = 8
planes_per_die = 4
blocks_per_plane = 16384
pages_per_block = 1024
page_size = '16KiB'
spare_size = '0B'
summary_page = false
fill = 'empty'
";

const LOAD: &str = "
[workload]
kind = 'closed'
requests = 20000
outstanding = 32
read_share = 0.3
block_size = '16KiB'
";

fn results(device: &str, sets: &[String]) -> Result<Value, String> {
    let experiment = experiment(&[device, LOAD], sets)?;
    outcome(&experiment, &RunSettings::default()).map_err(|error| match error {
        RunError::Input(message) => message,
        other => panic!("{other}"),
    })
}

#[test]
#[ignore = "nightly: two drives of 122 TB, made four times"]
fn a_drive_of_122_tb_is_written_saved_and_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    for (name, device) in [("plain", PLAIN), ("buffered", BUFFERED)] {
        let drive = folder.path().join(name);
        let file = |key: &str| format!("run.{key}='{}'", drive.display());
        // 7,500 pages across the drive; each of the 8 million blocks takes 2 or 3 bytes of the
        // file.
        let wrote = "run.precondition=random:0.000001".to_owned();
        let first = results(device, &[wrote, file("save_drive")]).unwrap();
        assert!(first["capacity_bytes"].as_f64().unwrap() > 1.1e14, "{first}");
        let size = std::fs::metadata(&drive).unwrap().len();
        assert!(size < 30_000_000, "{name}: an empty drive is saved in {size} bytes");
        let again = results(device, &[file("load_drive")]).unwrap();
        for section in ["host", "flash", "wear", "units"] {
            assert_eq!(first[section], again[section], "{name} {section}");
        }
    }
}

#[test]
fn filling_a_drive_is_refused_with_what_it_would_take() {
    for (set, parts) in [
        (
            "device.fill=full",
            [
                "device.fill",
                "full takes 75952375707 bytes",
                "10 of them for each of",
                "logical pages of 16KiB",
            ],
        ),
        (
            "run.precondition=sequential",
            ["run.precondition", "sequential of", "pages of 16KiB takes 75", "68719476736"],
        ),
        (
            "run.precondition=steady",
            ["run.precondition", "steady of", "device.logical_page", "68719476736"],
        ),
    ] {
        let message = results(BUFFERED, &[set.to_owned()]).unwrap_err();
        for part in parts {
            assert!(message.contains(part), "{set}: {message}");
        }
        assert!(!message.contains('\n'), "{message}");
    }
}
