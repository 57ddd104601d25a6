//! No dead options: for each key of a cache two values, a load, and whether its figure rises.

use super::{US, build, config, mean_us, run, skewed};
use crate::common::{Closed, Keep, Script, run_closed};
use devices::{Model, Report};
use engine::{Handle, Lba, Op, Random, Request, Time, Xoshiro256, drive};
use serde_json::{Value, json};

/// What a load makes of a cache: the mean latency, and the report.
fn load(name: &str, device: &mut dyn Model) -> (f64, Report) {
    let (_, done, report) =
        match name {
            "skewed" => run(device, (Op::Read, 4_000, 1), |_, random| skewed(300, random)),
            // Half of it goes by once.
            "scan" => {
                let once = |id: u64| 1_000 + id / 2;
                run(device, (Op::Read, 6_000, 1), |id, random| {
                    if id % 2 == 0 { once(id) } else { random.below(60) }
                })
            }
            "stream" => run(device, (Op::Read, 500, 1), |id, _| id),
            "writes" => run(device, (Op::Write, 1_000, 4), |_, random| random.below(4_000)),
            "few writes" => run(device, (Op::Write, 100, 1), |id, _| id % 50),
            // Forty, and one when these have been at rest for long.
            "burst" => {
                let at = |id: u64| if id < 40 { id * 20 * US } else { 1_000_000 * US };
                let steps: Vec<_> = (0..41).map(|id| (at(id), Op::Write, id * 8, 8)).collect();
                let mut keep = Keep::default();
                let driven =
                    drive(device, &mut Script::sectors(&steps), Time::MAX, &mut keep).unwrap();
                let report = device.report(driven.last).section("cache").unwrap().clone();
                (driven.last, keep.0, report)
            }
            // One every 20 ms.
            "paced" => {
                let steps: Vec<_> =
                    (0..200).map(|id| (id * 20_000 * US, Op::Write, id % 30 * 8, 8)).collect();
                let mut keep = Keep::default();
                let driven =
                    drive(device, &mut Script::sectors(&steps), Time::MAX, &mut keep).unwrap();
                let report = device.report(driven.last).section("cache").unwrap().clone();
                (driven.last, keep.0, report)
            }
            // Sixty lines that are said to be worth keeping, between many that are not.
            "hinted" => {
                let mut random = Xoshiro256::new(8, 0);
                let mut load = Closed::new(1, 6_000, |id| {
                    let (line, handle) = if id % 8 == 0 {
                        (random.below(40), Handle::new(1))
                    } else {
                        (1_000 + id % 3_000, Handle::NONE)
                    };
                    Request { handle, ..Request::new(id, Op::Read, Lba(line * 8), 8) }
                });
                let (end, done) = run_closed(device, &mut load);
                let report = device.report(end).section("cache").unwrap().clone();
                (end, done, report)
            }
            "once" => run(device, (Op::Read, 1_000, 1), |id, _| 100 + id),
            "hot" => run(device, (Op::Read, 4_000, 16), |_, random| 500 + skewed(300, random)),
            _ => panic!("{name} is no load"),
        };
    (mean_us(&done), report)
}

type Figure = fn(f64, &Report) -> f64;

/// Key, what it needs, its value, the load, its figure, and whether that rises.
fn rows() -> Vec<(&'static str, Value, Value, &'static str, Figure, bool)> {
    let none = || json!({});
    let tiered = || json!({"mode": "tiered"});
    let busy = |more: Value| {
        let mut destage = json!({"pause": "none", "high": 0.5, "low": 0.4});
        destage.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "destage": destage })
    };
    let hits: Figure = |_, it| it.number("hit_share").unwrap();
    let latency: Figure = |mean, _| mean;
    let destaged: Figure = |_, it| it.count("destaged_bytes") as f64;
    vec![
        ("mode", none(), json!("write-through"), "few writes", latency, true),
        (
            "mode",
            none(),
            json!("read-only"),
            "few writes",
            |_, it| it.count("lines_used") as f64,
            false,
        ),
        ("replacement", none(), json!("arc"), "scan", hits, true),
        ("replacement", none(), json!("lfu"), "scan", hits, true),
        ("line", none(), json!("16KiB"), "stream", hits, true),
        ("share", none(), json!(0.5), "skewed", hits, false),
        (
            "bypass",
            none(),
            json!("64KiB"),
            "stream",
            |_, it| it.count("filled_bytes") as f64,
            false,
        ),
        ("pinned", none(), json!("0B-128KiB"), "stream", hits, true),
        ("hints", none(), json!("1: pin"), "hinted", hits, true),
        ("mode", none(), json!("tiered"), "once", |_, it| it.count("filled_bytes") as f64, false),
        (
            "tier.half_life",
            tiered(),
            json!("50ms"),
            "hot",
            |_, it| it.count("evictions") as f64,
            false,
        ),
        ("tier.gain", tiered(), json!(20.0), "hot", |_, it| it.count("evictions") as f64, false),
        ("tier.swaps", tiered(), json!(16), "hot", latency, false),
        ("destage.pause", none(), json!("5ms"), "paced", destaged, true),
        ("destage.high", busy(none()), json!(0.9), "few writes", destaged, false),
        (
            "destage.low",
            busy(json!({"in_flight": 1, "run_lines": 1})),
            json!(0.1),
            "burst",
            destaged,
            true,
        ),
        ("destage.max_age", busy(none()), json!("50ms"), "paced", destaged, true),
        (
            "destage.in_flight",
            json!({"destage": {"run_lines": 1}}),
            json!(1),
            "backing of four",
            latency,
            true,
        ),
        (
            "destage.run_lines",
            busy(none()),
            json!(1),
            "few writes",
            |_, it| it.count("destage_writes") as f64,
            true,
        ),
    ]
}

fn layer(path: &str, value: &Value) -> Value {
    path.split('.').rev().fold(value.clone(), |inner, part| json!({ part: inner }))
}

/// A backing device that serves four at a time.
fn of_four(keys: &[Value]) -> Box<dyn Model> {
    let own = devices::DeviceConfig::resolve(
        "law",
        [json!({"size": "16MiB", "random_write": "1: 5ms + 0ns/KiB, 4: 5ms + 0ns/KiB",
                "random_read": "1: 5ms + 0ns/KiB, 4: 5ms + 0ns/KiB",
                "sequential_write": "1: 5ms + 0ns/KiB, 4: 5ms + 0ns/KiB"})],
    );
    build(devices::cache::CacheConfig { backing: own.unwrap(), ..config(keys) })
}

#[test]
fn every_key_changes_a_result_in_the_right_direction() {
    for (path, given, value, name, figure, rises) in rows() {
        let of = |keys: &[Value]| {
            let (name, mut device) = match name {
                "backing of four" => ("writes", of_four(keys)),
                name => (name, build(config(keys))),
            };
            let (mean, report) = load(name, &mut *device);
            figure(mean, &report)
        };
        let before = of(std::slice::from_ref(&given));
        let after = of(&[given, layer(path, &value)]);
        let is_right = if rises { after > 1.01 * before } else { after < 0.99 * before };
        assert!(is_right, "{path} = {value}, {name}: {before} to {after}");
    }
}

/// Those that show at power cuts are in `power.rs`, the two devices everywhere.
#[test]
fn every_key_has_a_row() {
    let elsewhere = ["restart", "fast", "backing"];
    let mut keys = Vec::new();
    devices::describe("cache", &mut keys);
    assert!(keys.len() > 12);
    for key in keys {
        let path = key.path.strip_prefix("device.").unwrap();
        let has_row = rows().iter().any(|row| row.0 == path);
        assert!(has_row || elsewhere.contains(&path), "{path} has no row");
    }
}

/// Of a cache that is cleaned later nothing is written while the load is the same.
#[test]
fn keys_of_destaging_apply_where_writes_wait() {
    let all = |mode: &str| {
        let config = devices::DeviceConfig::resolve("cache", [json!({"mode": mode})]).unwrap();
        config.idle().into_iter().map(|it| it.path).collect::<Vec<_>>()
    };
    let of =
        |idle: &[String], section: &str| idle.iter().filter(|it| it.starts_with(section)).count();
    let idle = all("write-back");
    assert_eq!((idle.len(), of(&idle, "tier.")), (3, 3), "{idle:?}");
    let idle = all("read-only");
    assert_eq!((of(&idle, "destage."), of(&idle, "tier.")), (6, 3), "{idle:?}");
    let idle = all("tiered");
    assert_eq!((idle.len(), of(&idle, "destage."), of(&idle, "tier.")), (11, 6, 0), "{idle:?}");
}
