//! No dead options of a law of service times, and of any later kind but `ssd`, whose keys are in
//! `options.rs`, `array`, whose are in `array.rs`, `disk`, whose are in `disk/keys.rs`, and `cache`, whose are in `cache/keys.rs`. Keys of energy are in
//! `energy.rs`. One row a key: a value beside the default, and whether a load that is under that key gets
//! more or less of a figure. A key of the reference without a row fails.

use crate::common::{Closed, run_closed};
use devices::{DeviceConfig, DeviceKind as _};
use engine::{Completion, Lba, Op, Request, Time};
use serde_json::{Value, json};

/// Requests of 64 KiB with three outstanding, sequential or 1 MiB apart.
fn mean_latency_ns(device: &DeviceConfig, op: Op, sequential: bool) -> f64 {
    let mut device = device.build(0).unwrap();
    let step = if sequential { 128 } else { 2048 };
    let request = |id| Request::new(id, op, Lba(4096 + id * step), 128);
    let (_, done) = run_closed(device.as_mut(), &mut Closed::new(3, 500, request));
    done.iter().map(Completion::latency).sum::<Time>() as f64 / done.len() as f64
}

/// The device of a kind with a key changed from its default.
fn configured(kind: &str, path: &str, value: &Value) -> DeviceConfig {
    let parts: Vec<&str> = path.split('.').skip(1).collect();
    let layer = parts.iter().rev().fold(value.clone(), |inner, part| json!({ *part: inner }));
    DeviceConfig::resolve(kind, [layer]).unwrap_or_else(|error| panic!("{path}: {error:?}"))
}

/// Rows for the four patterns: key, value, whether its latency rises.
fn rows(kind: &str) -> Vec<(String, Value, bool)> {
    let patterns = ["sequential_read", "random_read", "sequential_write", "random_write"];
    let of_pattern = |pattern: &str| -> Vec<(String, Value, bool)> {
        let key = |rest: &str| format!("device.{pattern}{rest}");
        assert_eq!(kind, "law", "it has no rows");
        vec![
            (key(".fixed"), json!("5ms"), true),
            (key(".per_kib"), json!("1us"), false),
            (key(""), json!("5ms + 4us/KiB"), true),
            (key(""), json!("4KiB: 5ms, 1MiB: 6ms"), true),
            // Slower at the ends, faster at 64 KiB.
            (key(""), json!("4KiB: 9ms, 64KiB: 100us, 1MiB: 9ms"), false),
            // Slower alone, faster by three.
            (key(""), json!("1: 9ms + 9us/KiB, 3: 150us + 4us/KiB"), false),
        ]
    };
    patterns.into_iter().flat_map(of_pattern).collect()
}

#[test]
fn every_key_of_a_law_changes_a_result_in_the_right_direction() {
    let kinds = devices::kinds().iter().map(|(kind, _)| *kind);
    for kind in kinds.filter(|kind| !["ssd", "array", "disk", "zoned", "cache"].contains(kind)) {
        let unchanged = DeviceConfig::resolve(kind, [json!({})]).unwrap();
        let rows = rows(kind);
        for (path, value, rises) in &rows {
            let changed = configured(kind, path, value);
            for (name, op, sequential) in [
                ("sequential_read", Op::Read, true),
                ("random_read", Op::Read, false),
                ("sequential_write", Op::Write, true),
                ("random_write", Op::Write, false),
            ] {
                let before = mean_latency_ns(&unchanged, op, sequential);
                let after = mean_latency_ns(&changed, op, sequential);
                // The first request of a sequential load is random.
                let close = (after / before - 1.0).abs() < 0.05;
                let under = path.split('.').nth(1) == Some(name);
                let right = if under { (after > before) == *rises && !close } else { close };
                assert!(right, "{kind}, {path} = {value}, {name}: {before} to {after}");
            }
        }
        let small = configured(kind, "device.size", &json!("1MiB")).build(0).unwrap();
        let large = configured(kind, "device.size", &json!("1GiB")).build(0).unwrap();
        assert!(small.capacity_sectors() < large.capacity_sectors());
        let mut keys = Vec::new();
        devices::describe(kind, &mut keys);
        for key in keys
            .iter()
            .filter(|key| key.path != "device.size" && !key.path.starts_with("device.energy."))
        {
            assert!(rows.iter().any(|(path, ..)| *path == key.path), "{} has no row", key.path);
        }
    }
}
