//! Loads limited by time end: commands take time, and a run in which nothing takes time is an
//! error.

use crate::common::{audited, experiment, outcome};
use serde_json::Value;

/// A fio job with these lines, limited by time.
fn job(lines: &str) -> String {
    let job = format!("[j]\\nbs=4k\\nruntime=20ms\\ntime_based\\n{lines}");
    format!("[workload]\nkind = 'fio'\njob = \"{job}\"\n")
}

fn run(device: &str, load: &str) -> Result<Value, String> {
    let experiment = experiment(&[&format!("[device]\n{device}"), load], &[] as &[&str])?;
    outcome(&experiment, &audited()).map_err(|error| error.to_string())
}

fn number(results: &Value, path: &str) -> f64 {
    results.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: no number"))
}

/// True if a figure has the expected value, within a relative error of 1e-6.
fn is(results: &Value, path: &str, wanted: f64) -> bool {
    (number(results, path) - wanted).abs() < 1e-6 * wanted
}

#[test]
fn a_command_without_data_takes_the_link_and_the_firmware_on_every_drive() {
    let small = "blocks_per_plane = 64\nscale = 1\n";
    let commands = "host_link.latency = '3us'\nfirmware.write = '4us'\n";
    let drives = [
        format!("kind = 'ssd'\n{small}{commands}"),
        format!("kind = 'ssd'\n{small}{commands}buffer.size = '4MiB'\n"),
        format!("kind = 'ssd'\n{small}{commands}block_buffer.size = '4032KiB'\n"),
        format!("kind = 'ssd'\n{small}{commands}log_blocks.scheme = 'bast'\n"),
    ];
    let loads = ["rw=randtrim", "rw=write\\nwrite_mode=zeroes"];
    for drive in &drives {
        for load in loads {
            let results = run(drive, &job(load)).unwrap();
            // Link latency plus firmware time: 7 us.
            assert!(is(&results, "/host/all/min_us", 7.0), "{drive}{load}");
            assert!((number(&results, "/host/all/iops") - 142_857.0).abs() < 1.0, "{drive}{load}");
        }
    }
    // A trim transfers its ranges: 512 bytes over a link of 512 MB/s.
    let slow = format!("kind = 'ssd'\n{small}host_link.bandwidth = '512MB/s'\n");
    assert!(is(&run(&slow, &job("rw=randtrim")).unwrap(), "/host/trim/min_us", 1.0));
}

#[test]
fn a_flush_takes_the_link_and_the_firmware() {
    let keys = "blocks_per_plane = 64\nhost_link.latency = '3us'\nfirmware.write = '4us'\n";
    for more in [
        "",
        "buffer.size = '4MiB'\n",
        "buffer.size = '4MiB'\nbuffer.power_loss_protected = false\n",
    ] {
        let drive = format!("kind = 'ssd'\n{keys}{more}");
        let results = run(&drive, &job("rw=randwrite\\nfsync=1")).unwrap();
        assert!(number(&results, "/host/flush/min_us") >= 7.0, "{more}");
    }
}

#[test]
fn what_a_law_does_not_state_takes_as_long_as_the_quickest_that_it_does() {
    let law = "kind = 'law'\nrandom_read = '20us + 1us/KiB'\nsequential_write = '4KiB: 9us, 8KiB: 11us'\n";
    let results = run(law, &job("rw=randtrim")).unwrap();
    assert!(is(&results, "/host/trim/min_us", 9.0));
}

/// Every preset, except those without any key for the time of a command.
#[test]
fn trims_take_time_on_every_preset_that_has_a_link_or_firmware() {
    let timeless =
        ["agrawal2008", "agrawal2008-array-6", "agrawal2008-array-10", "mlc-2008", "null"];
    let (mut tried, mut still) = (0, Vec::new());
    for (name, _) in lab::list("devices").unwrap() {
        // Their members are drives tested above, or they accept no trims.
        if name.contains('=') || ["nvram-raid5", "wd-zn540"].contains(&name.as_str()) {
            continue;
        }
        let load =
            "[workload]\nkind = 'fio'\njob = \"[j]\\nrw=randtrim\\nbs=4k\\nnumber_ios=20\"\n";
        let small = if lab_scale(&name) { "scale = 512\n" } else { "" };
        let results = run(&format!("preset = '{name}'\n{small}fill = 'empty'\n"), load)
            .or_else(|_| run(&format!("preset = '{name}'\n"), load));
        let results = results.unwrap_or_else(|error| panic!("{name}: {error}"));
        tried += 1;
        if number(&results, "/host/trim/min_us") == 0.0 {
            still.push(name);
        }
    }
    still.sort();
    let mut expected = timeless.to_vec();
    expected.sort_unstable();
    assert_eq!(still, expected);
    assert!(tried > 30, "{tried}");
}

/// True if a preset is large and can be scaled.
fn lab_scale(name: &str) -> bool {
    name.starts_with("samsung-9") || name.starts_with("micron") || name.starts_with("wd-s")
}

#[test]
fn a_load_by_time_is_refused_where_there_is_none() {
    let null = "preset = 'null'\n";
    let diskspd = "[workload]\nkind = 'diskspd'\ncommand = 'diskspd -d1 -W0 -w50 -b4K x'\n";
    let mix = "[workload]\nkind = 'mix'\n[[workload.streams]]\nkind = 'closed'\n[[workload.streams]]\nkind = 'fio'\n\
               job = \"[j]\\nrw=randwrite\\nruntime=1\\ntime_based\"\n";
    let refused = |device: &str, load: &str, key: &str, by: &str| {
        let error = run(device, load).unwrap_err();
        assert!(error.contains(key) && error.contains(by), "{error}");
        assert!(error.contains("workload.requests"), "no way out: {error}");
    };
    for load in
        [job("rw=randwrite"), job("rw=trim"), job("rw=randrw\\nrate=1g,0".trim_end_matches(",0"))]
    {
        let is_paced = load.contains("rate");
        let ended = run(null, &load);
        assert_eq!(ended.is_ok(), is_paced, "{load}");
    }
    refused(null, &job("rw=randwrite"), "device.preset", "time_based");
    refused(null, diskspd, "device.preset", "-d of a DiskSpd command line");
    refused(null, mix, "device.preset", "time_based");
    // A rate for one direction leaves the other unlimited.
    refused(null, &job("rw=randrw\\nrate=,1m"), "device.preset", "time_based");
    let untimed = format!("{diskspd}[run]\ntimed = false\n");
    refused("blocks_per_plane = 64\n", &untimed, "run.timed", "-d of a DiskSpd command line");
    // A load that ends by itself is accepted.
    for more in ["requests = 5000\n", ""] {
        let paced =
            if more.is_empty() { diskspd.replace("-d1", "-d1 -g1") } else { diskspd.to_owned() };
        assert!(run(null, &format!("{paced}{more}")).is_ok(), "{paced}{more}");
    }
}

/// Undetectable in advance: a buffer that absorbs a small working set instantly.
#[test]
fn a_run_in_which_time_stands_still_ends_with_the_cause() {
    let drive = "preset = 'agrawal2008'\nblocks_per_plane = 64\nbuffer.size = '4MiB'\n";
    let error = run(drive, &job("rw=randwrite\\nsize=64k")).unwrap_err();
    let expected = "it ends by time (time_based of a fio job), and time stands still";
    assert!(error.contains(expected) && error.contains("a write"), "{error}");
}
