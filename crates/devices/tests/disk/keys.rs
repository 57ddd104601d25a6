//! No dead options: for each key of a disk two values, a load, and whether its figure rises.

use super::{Load, disk, mean_us, plain};
use crate::common::{Closed, Keep, Script, run_closed};
use devices::Model;
use engine::{Completion, Lba, Op, Request, Time, drive};
use serde_json::{Value, json};

/// Between two requests of a load with pauses.
const STEP: Time = 60_000_000;

/// What a load makes of a disk.
fn figure(load: &str, device: &mut dyn Model) -> f64 {
    let random = |load: Load, device: &mut dyn Model| mean_us(&load.run(device).1);
    let closed = |device: &mut dyn Model, make: fn(u64) -> Request| {
        mean_us(&run_closed(device, &mut Closed::new(1, 2_000, make)).1)
    };
    let at = |device: &mut dyn Model, steps: &[(Time, Op, u64, u32)]| {
        let mut keep = Keep::default();
        drive(device, &mut Script::sectors(steps), Time::MAX, &mut keep).unwrap();
        let of_reads = |it: &&Completion| it.request.op == Op::Read;
        let reads: Vec<Completion> = keep.0.iter().filter(of_reads).copied().collect();
        mean_us(if reads.is_empty() { &keep.0 } else { &reads })
    };
    match load {
        "read" => random(Load::reads(1, 4_000), device),
        "first" => at(device, &[(0, Op::Read, 30, 1)]),
        "track" => random(Load { sectors: 100, ..Load::reads(1, 2_000) }, device),
        "near" => random(Load { share: 0.01, ..Load::reads(1, 4_000) }, device),
        "queue" => random(Load::reads(8, 4_000), device),
        "write" => random(Load { op: Op::Write, ..Load::reads(1, 4_000) }, device),
        "six places" => closed(device, |id| Request::new(id, Op::Read, Lba(id % 6 * 1000), 16)),
        // One request at a time, with pauses: the answers to reads.
        "paced" => {
            let steps: Vec<_> = (0..200).map(|id| (id * STEP, Op::Read, id * 16, 16)).collect();
            at(device, &steps)
        }
        // The same, and each time one far away that ends read-ahead.
        "interrupted" => {
            let pair = |id: u64| {
                let (near, far) = (2 * id * STEP, (2 * id + 1) * STEP);
                [(near, Op::Read, id * 16, 16), (far, Op::Read, 100_000 + id * 300, 16)]
            };
            at(device, &(0..200).flat_map(pair).collect::<Vec<_>>())
        }
        "hits after writes" | "misses after writes" => {
            let place = |id: u64| if load == "hits after writes" { 0 } else { id * 700 };
            let pair = |id: u64| {
                let (write, read) = (2 * id * STEP, (2 * id + 1) * STEP);
                [(write, Op::Write, 190_000, 4), (read, Op::Read, place(id), 4)]
            };
            at(device, &(0..200).flat_map(pair).collect::<Vec<_>>())
        }
        "read back" => {
            let pair = |id: u64| {
                let (write, read) = (2 * id * STEP, (2 * id + 1) * STEP);
                [(write, Op::Write, id * 700, 4), (read, Op::Read, id * 700, 4)]
            };
            at(device, &(0..200).flat_map(pair).collect::<Vec<_>>())
        }
        "bursts" => {
            let burst = |id: u64| (id / 4 * 5 * STEP, Op::Write, id * 7_919 % 190_000, 4);
            at(device, &(0..400).map(burst).collect::<Vec<_>>())
        }
        "joules" => {
            let (end, ..) = Load::reads(1, 500).run(device);
            device.energy_report(end).map_or(0.0, |it| it.joules())
        }
        // One every 60 ms.
        "joules at leisure" => {
            let steps: Vec<_> = (0..50).map(|id| (id * STEP, Op::Read, id * 700, 16)).collect();
            let script = &mut Script::sectors(&steps);
            let driven = drive(device, script, Time::MAX, &mut Keep::default()).unwrap();
            device.energy_report(driven.last).map_or(0.0, |it| it.joules())
        }
        "capacity" => device.capacity_sectors() as f64,
        _ => panic!("{load} is no load"),
    }
}

/// Key, what it needs, its value, the load, and whether its figure rises.
fn rows() -> Vec<(&'static str, Value, Value, &'static str, bool)> {
    let none = || json!({});
    let curve = || {
        let seek = json!({"single": "1ms", "mean": "4ms", "full": "8ms"});
        json!({ "seek": seek })
    };
    let stops =
        || json!({"energy": {"idle": "8W"}, "standby": {"after": "10ms", "spin_up": "5ms"}});
    let ahead = |size: &str| json!({ "buffer": { "read_ahead": size } });
    vec![
        ("capacity", none(), json!("5120000B"), "capacity", false),
        ("rpm", none(), json!(12_000), "read", false),
        ("angle", json!({"angle": 0.0}), json!(0.5), "first", true),
        ("cylinders", curve(), json!(4_000), "read", false),
        ("surfaces", none(), json!(4), "capacity", true),
        ("zones", none(), json!("0-999: 50"), "read", true),
        ("seek.table", none(), json!("1: 1ms, 999: 30ms"), "read", true),
        ("seek.single", curve(), json!("2ms"), "near", true),
        ("seek.mean", curve(), json!("5ms"), "read", true),
        ("seek.full", curve(), json!("10ms"), "near", false),
        ("seek.write_settle", none(), json!("2ms"), "write", true),
        ("seek.read_settle", none(), json!("2ms"), "read", true),
        ("seek.head_switch", none(), json!("5ms"), "near", true),
        ("overhead.read_hit", none(), json!("3ms"), "hits after writes", true),
        ("overhead.read_hit_after_write", none(), json!("3ms"), "hits after writes", true),
        ("overhead.read_miss", none(), json!("3ms"), "read", true),
        ("overhead.read_miss_after_write", none(), json!("3ms"), "misses after writes", true),
        ("overhead.write", none(), json!("3ms"), "write", true),
        ("overhead.write_after_write", none(), json!("3ms"), "write", true),
        ("overhead.read_completion", none(), json!("1ms"), "read", true),
        ("overhead.write_completion", none(), json!("1ms"), "write", true),
        ("bus_per_sector", none(), json!("200us"), "read", true),
        ("buffer.segments", none(), json!(8), "six places", false),
        ("buffer.segment", json!({"buffer": {"segments": 8}}), json!("4KiB"), "six places", true),
        ("buffer.read_ahead", none(), json!("64KiB"), "paced", false),
        ("buffer.read_ahead_to", ahead("64KiB"), json!("track"), "paced", true),
        ("buffer.read_ahead_to", ahead("64KiB"), json!("own-track"), "paced", true),
        ("buffer.read_ahead_on_hit", ahead("8KiB"), json!(true), "interrupted", false),
        ("buffer.read_on_arrival", none(), json!(true), "track", false),
        ("buffer.send_at", json!({"bus_per_sector": "50us"}), json!(1.0), "read", true),
        ("buffer.keep_writes", none(), json!(true), "read back", false),
        ("buffer.write_segments", json!({"write_cache": "on"}), json!(4), "bursts", false),
        ("write_cache", none(), json!("on"), "bursts", false),
        ("write_cache", json!({"write_cache": "on"}), json!("run"), "bursts", true),
        ("scheduler", none(), json!("sptf"), "queue", false),
        ("queue_depth", json!({"scheduler": "sptf"}), json!(1), "queue", true),
        ("energy.idle", none(), json!("8W"), "joules", true),
        ("energy.seek", none(), json!("4W"), "joules", true),
        ("energy.transfer", none(), json!("2W"), "joules", true),
        ("standby.after", none(), json!("10ms"), "paced", true),
        ("standby.after", stops(), json!("30ms"), "joules at leisure", true),
        ("standby.spin_up", stops(), json!("40ms"), "paced", true),
        ("standby.power", stops(), json!("4W"), "joules at leisure", true),
        ("standby.spin_up_power", stops(), json!("20W"), "joules at leisure", true),
        ("max_wait", json!({"scheduler": "sptf"}), json!("20ms"), "queue", true),
    ]
}

fn layer(path: &str, value: &Value) -> Value {
    path.split('.').rev().fold(value.clone(), |inner, part| json!({ part: inner }))
}

#[test]
fn every_key_changes_a_result_in_the_right_direction() {
    for (path, given, value, load, rises) in rows() {
        // A curve takes the place of the table.
        let of_curve =
            if given["seek"].is_null() { json!({}) } else { layer("seek.table", &json!("none")) };
        let before = figure(load, disk(&[plain(), of_curve.clone(), given.clone()]).as_mut());
        let keys = [plain(), of_curve, given, layer(path, &value)];
        let after = figure(load, disk(&keys).as_mut());
        let is_right = if rises { after > 1.01 * before } else { after < 0.99 * before };
        assert!(is_right, "{path} = {value}, {load}: {before} to {after}");
    }
}

#[test]
fn every_key_has_a_row() {
    let mut keys = Vec::new();
    devices::describe("disk", &mut keys);
    for key in keys {
        let path = key.path.strip_prefix("device.").unwrap();
        assert!(rows().iter().any(|row| row.0 == path), "{path} has no row");
    }
}
