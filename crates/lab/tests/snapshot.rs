//! Drives in files: saved once, loaded by any number of runs, refused when they do not fit.

use crate::common::{audited, experiment, outcome};
use lab::RunError;
use serde_json::Value;
use std::path::Path;

const SMALL: &str = "
[device]
kind = 'ssd'
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 128
[workload]
kind = 'closed'
requests = 5000
outstanding = 4
read_share = 0.2
";

fn results(sets: &[String]) -> Result<Value, String> {
    outcome(&experiment(&[SMALL], sets)?, &audited()).map_err(|error| match error {
        RunError::Input(message) => message,
        other => panic!("{other}"),
    })
}

fn with(key: &str, path: &Path) -> String {
    format!("run.{key}='{}'", path.display())
}

#[test]
fn many_runs_start_from_one_drive() {
    let folder = tempfile::tempdir().unwrap();
    let drive = folder.path().join("worn.drive");
    let prepared = "run.precondition=random:3".to_owned();
    let saved = results(&[prepared.clone(), with("save_drive", &drive)]).unwrap();
    // Saving has no side effects, and a run from the file equals the uninterrupted run.
    let alone = results(&[prepared]).unwrap();
    let taken_up = results(&[with("load_drive", &drive)]).unwrap();
    for section in ["host", "flash", "wear", "units"] {
        assert_eq!(saved[section], alone[section], "{section}");
        assert_eq!(saved[section], taken_up[section], "{section}");
    }
    // Another seed draws other pages, and wears the same drive differently.
    let other = results(&[with("load_drive", &drive), "run.seed=7".to_owned()]).unwrap();
    assert_ne!(saved["host"], other["host"]);
    assert!(other["flash"]["write_amplification"].as_f64().unwrap() > 2.0);
    // A loaded drive may be prepared further.
    let further = [with("load_drive", &drive), "run.precondition=sequential".to_owned()];
    let mean = |results: &Value| results["wear"]["mean_erases"].as_f64().unwrap();
    assert!(mean(&results(&further).unwrap()) > mean(&taken_up));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let drive = folder.path().join("a.drive");
    results(&["run.precondition=random:1".to_owned(), with("save_drive", &drive)]).unwrap();
    let load = with("load_drive", &drive);
    let refusal = |more: &[&str]| {
        let more = more.iter().map(ToString::to_string);
        let sets: Vec<_> = std::iter::once(load.clone()).chain(more).collect();
        let message = results(&sets).unwrap_err();
        assert!(message.starts_with("run.load_drive = ") && !message.contains('\n'), "{message}");
        message
    };
    let other = refusal(&["device.blocks_per_plane=130"]);
    assert!(other.contains("device.blocks_per_plane is 128 there and 130 here"), "{other}");
    assert!(refusal(&["device.kind=linear"]).contains("no state to restore"));
    let whole = std::fs::read(&drive).unwrap();
    let damaged = |bytes: &[u8], expected: &str| {
        std::fs::write(&drive, bytes).unwrap();
        let message = refusal(&[]);
        assert!(message.contains(expected), "{message}");
    };
    for length in [0, 5, 16] {
        damaged(&whole[..length], "not a drive saved by ssdlab");
    }
    for length in [17, 30, whole.len() / 2, whole.len() - 1] {
        damaged(&whole[..length], "it is damaged or cut short");
    }
    let mut older = whole.clone();
    older[13] = 1;
    damaged(&older, "reads version 4: prepare the drive again, and save it with this one");
    let mut newer = whole.clone();
    newer[13] = 9;
    damaged(&newer, "it has version 9, and this ssdlab reads version 4");
    for at in [40, whole.len() / 3, whole.len() - 2] {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        damaged(&flipped, "it is damaged or cut short");
    }
    damaged(b"time,op,lba\n1,R,3,8,9,8,8,8,8,8", "not a drive saved by ssdlab");
    std::fs::remove_file(&drive).unwrap();
    assert!(refusal(&[]).contains("cannot be opened"));
    let nowhere = results(&[with("save_drive", &folder.path().join("no/such/folder"))]);
    assert!(nowhere.unwrap_err().contains("cannot be written"));
    let linear = [with("save_drive", &drive), "device.kind=linear".to_owned()];
    assert!(results(&linear).unwrap_err().contains("no state to save"));
    assert!(!drive.exists());
}

/// A number in postcard's encoding.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A file's claimed sizes allocate nothing before they are checked against the drive.
#[test]
fn a_file_that_claims_more_than_the_drive_holds_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let drive = folder.path().join("a.drive");
    results(&["run.precondition=random:1".to_owned(), with("save_drive", &drive)]).unwrap();
    let honest = std::fs::read(&drive).unwrap();
    let (head, compressed) = honest.split_at(b"ssdlab drive\n".len() + 4);
    let state = zstd::decode_all(compressed).unwrap();
    let (_, rest) = postcard::take_from_bytes::<Vec<(String, String)>>(&state).unwrap();
    let shape = &state[..state.len() - rest.len()];
    let refusal = |claims: &[u8]| {
        let state = zstd::encode_all([shape, claims].concat().as_slice(), 3).unwrap();
        std::fs::write(&drive, [head, &state].concat()).unwrap();
        let message = results(&[with("load_drive", &drive)]).unwrap_err();
        assert!(message.starts_with("run.load_drive = ") && !message.contains('\n'), "{message}");
        assert!(message.contains("a.drive"), "{message}");
        message
    };
    let table = |wide: u8, pages: u64| [&[wide][..], &varint(pages), &[0]].concat();
    let pages = 2 * 128 * 64;
    let terabyte = table(1, (1 << 40) - 1);
    let other = "its tables do not fit the configuration of the drive";
    let claim = refusal(&[&[1][..], &terabyte, &terabyte].concat());
    assert!(claim.contains(other), "{claim}");
    assert!(refusal(&[&[1][..], &table(0, 1 << 32)].concat()).contains(other));
    assert!(refusal(&[&[1][..], &table(1, pages)].concat()).contains(other));
    // Long lists, nested and on their own, of highly compressible bytes.
    let tables = [&[1][..], &table(0, pages), &table(0, 0)].concat();
    let zeroes = vec![0; 40 << 20];
    let long = refusal(&[&tables[..], &varint(1 << 30), &zeroes].concat());
    assert!(long.contains(other), "{long}");
    let empty = refusal(&[&tables[..], &[0; 5], &varint(7), &varint(1 << 30), &zeroes].concat());
    assert!(empty.contains("it is longer than"), "{empty}");
    // More than one drive.
    let more = refusal(&[&varint(1 << 40)[..], &rest[1..], &rest[1..]].concat());
    assert!(more.contains(other) || more.contains("it is longer than"), "{more}");
    // The refused files used little memory, and the valid file is read.
    std::fs::write(&drive, &honest).unwrap();
    results(&[with("load_drive", &drive)]).unwrap();
}
