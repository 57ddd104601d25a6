//! Service times of each form of law, with one and with several requests in service.

use super::*;
use engine::{Completion, Device, Lba, Op, Request};
use serde_json::{Value, json};
use ssd::device::latency::UNIT_WAIT;

fn curves(text: &str) -> Curves {
    text.parse().unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

fn device(random_read: &str) -> Box<dyn Model> {
    let random_read = Pattern::of(curves(random_read));
    LawConfig { random_read, ..LawConfig::default() }.build(0).unwrap()
}

fn resolved(kind: &str, layers: &[Value]) -> LawConfig {
    let default = if kind == "piecewise" { LawConfig::by_size() } else { LawConfig::default() };
    let mut partial = LawPartial::default();
    for layer in layers {
        let over = LawPartial::deserialize(layer).expect("a layer");
        <LawConfig as DeviceKind>::overlay(&mut partial, over);
    }
    <LawConfig as Setting>::complete(partial, default)
}

/// Latencies of requests submitted one at a time.
fn latencies(device: &mut dyn Model, requests: &[(Op, u64, u32)]) -> Vec<Time> {
    let (mut now, mut done) = (0, Vec::new());
    for (op, lba, sectors) in requests {
        device.submit(now, Request::new(0, *op, Lba(*lba), *sectors));
        now = device.next_event().unwrap();
        device.advance(now, &mut done);
    }
    done.iter().map(Completion::latency).collect()
}

/// Latencies of random reads of 1 KiB in a closed loop, without its start.
fn settled(device: &mut dyn Device, outstanding: u64) -> Vec<Time> {
    let read = |id| Request::new(id, Op::Read, Lba(id * 100 % 9973), 2);
    (0..outstanding).for_each(|id| device.submit(0, read(id)));
    let (mut done, mut next) = (Vec::new(), outstanding);
    while next < 40 {
        let (now, before) = (device.next_event().unwrap(), done.len());
        device.advance(now, &mut done);
        for _ in before..done.len() {
            device.submit(now, read(next));
            next += 1;
        }
    }
    done.split_off(2 * outstanding as usize).iter().map(Completion::latency).collect()
}

#[test]
fn each_pattern_has_its_line() {
    let requests = [
        (Op::Read, 0, 8),
        (Op::Read, 8, 8),
        (Op::Read, 8, 8),
        (Op::Write, 16, 8),
        (Op::Write, 24, 2048),
        (Op::Read, 2072, 1),
    ];
    let expected = [
        230_600 + 4 * 3_987,
        127_500 + 4 * 4_005,
        230_600 + 4 * 3_987,
        770_000 + 4 * 5_382,
        2_167_000 + 1024 * 4_960,
        // Half a KiB, rounded to the nearest; a read after a write is never sequential.
        230_600 + 1_994,
    ];
    assert_eq!(latencies(LawConfig::default().build(0).unwrap().as_mut(), &requests), expected);
}

#[test]
fn throughput_is_the_paper_s() {
    let mut device = LawConfig::default().build(0).unwrap();
    // MB/s at 4, 64 and 1024 KiB from A + n B (sequential read, random read).
    for (kib, sequential, random) in [(4, 28.5, 16.6), (64, 170.8, 134.9), (1024, 248.0, 243.1)] {
        let requests = [
            (Op::Write, 0, 1),
            (Op::Read, 8, kib * 2),
            (Op::Read, 8 + u64::from(kib) * 2, kib * 2),
        ];
        let times = latencies(device.as_mut(), &requests);
        let rate = |ns: Time| f64::from(kib) * 1024.0 / ns as f64 * 1000.0;
        assert!((rate(times[2]) - sequential).abs() < 0.1, "{kib}: {}", rate(times[2]));
        assert!((rate(times[1]) - random).abs() < 0.1, "{kib}: {}", rate(times[1]));
    }
}

#[test]
fn requests_of_a_line_are_served_one_at_a_time() {
    let mut device = LawConfig::default().build(0).unwrap();
    for id in 0..2 {
        let request = Request::new(id, Op::Read, Lba(id * 100), 8);
        device.submit(1000 * id, request);
    }
    let mut done = Vec::new();
    let service = 230_600 + 4 * 3_987;
    device.advance(2 * service - 1, &mut done);
    assert_eq!(done.len(), 1);
    device.advance(2 * service, &mut done);
    assert_eq!(done[1].breakdown[UNIT_WAIT], service - 1000);
    assert_eq!(done[1].breakdown.total(), done[1].latency());
}

#[test]
fn between_the_sizes_lie_straight_lines() {
    let time = |curves: &Curves, bytes: u64| {
        let (fixed, growing) = curves.cost(bytes, 1);
        fixed + growing
    };
    let points = curves("1KiB: 100us, 2KiB: 300us, 4KiB: 350us");
    let times = [512, 1024, 1536, 2048, 3072, 4096, 8192].map(|bytes| time(&points, bytes));
    assert_eq!(times, [100, 100, 200, 300, 325, 350, 450].map(|us| us * 1000));
    let falling = curves("1KiB: 100us, 2KiB: 50us");
    assert_eq!([1536, 2048, 4096].map(|bytes| time(&falling, bytes)), [75_000, 50_000, 50_000]);
    let times = latencies(
        device("512B: 10us, 8KiB: 40us").as_mut(),
        &[(Op::Read, 64, 16), (Op::Read, 0, 1)],
    );
    assert_eq!(times, [40_000, 10_000]);
}

#[test]
fn a_closed_loop_takes_the_line_of_its_number() {
    // Between 2 and 4 outstanding: interpolated; above 4, the fifth waits.
    for (outstanding, us) in [(1, 110), (2, 130), (3, 180), (4, 230)] {
        let mut device = device("1: 100us + 10us/KiB, 2: 120us + 10us/KiB, 4: 200us + 30us/KiB");
        let times = settled(device.as_mut(), outstanding);
        assert!(times.iter().all(|ns| *ns == us * 1000), "{outstanding}: {times:?}");
    }
    let mut device = device("1: 100us + 10us/KiB, 4: 200us + 30us/KiB");
    let times = settled(device.as_mut(), 8);
    let mean = times.iter().sum::<Time>() / times.len() as Time;
    assert!(mean.abs_diff(2 * 230_000) < 25_000, "twice the service time: {mean}");
}

/// Times by size that depend on the number of requests in service.
#[test]
fn times_by_size_may_depend_on_the_number_outstanding() {
    let text = "1: 512B: 100us, 1KiB: 110us, 4: 512B: 190us, 1KiB: 230us, 8: 460us + 0ns/KiB";
    for (outstanding, us) in [(1, 110), (2, 150), (4, 230), (6, 345), (8, 460)] {
        let times = settled(device(text).as_mut(), outstanding);
        assert!(times.iter().all(|ns| *ns == us * 1000), "{outstanding}: {times:?}");
    }
}

#[test]
fn a_pattern_with_fewer_lines_does_no_more_at_once() {
    let sequential_read = Pattern::of(curves("1: 1us + 1us/KiB, 4: 1us + 1us/KiB"));
    let random_read = Pattern::of(curves("1: 100us + 10us/KiB, 2: 150us + 10us/KiB"));
    let config = LawConfig { sequential_read, random_read, ..LawConfig::default() };
    for (outstanding, us) in [(2, 160), (3, 240), (4, 320)] {
        let times = settled(config.build(0).unwrap().as_mut(), outstanding);
        assert!(times.iter().all(|ns| *ns == us * 1000), "{outstanding}: {times:?}");
    }
}

#[test]
fn a_line_has_three_ways_to_be_written() {
    let law = resolved("law", &[json!({ "random_read": "300us + 2us/KiB" })]);
    for (kind, random_read) in [
        ("law", json!({ "fixed": "300us", "per_kib": "2us" })),
        ("linear", json!({ "fixed": "300us", "per_kib": "2us" })),
        ("parallel", json!("1: 300us + 2us/KiB")),
        ("law", json!("1: 300us + 2us/KiB")),
    ] {
        assert_eq!(resolved(kind, &[json!({ "random_read": random_read })]), law, "{kind}");
    }
    let written = serde_json::to_value(&law).unwrap();
    assert_eq!(written["random_read"], json!({ "fixed": "300us", "per_kib": "2us" }));
}

/// The three former kinds, each with its defaults.
#[test]
fn the_words_of_earlier_kinds_mean_what_they_meant() {
    for kind in ["linear", "parallel"] {
        assert_eq!(resolved(kind, &[]), LawConfig::default());
    }
    let piecewise = resolved("piecewise", &[]);
    assert_eq!(piecewise.random_read.curves, curves("512B: 232.594us, 1MiB: 4313.288us"));
    let linear = LawConfig::default();
    for access in
        [Access::SequentialRead, Access::RandomRead, Access::SequentialWrite, Access::RandomWrite]
    {
        for bytes in [512, 4096, 65_536, 1 << 20, 4 << 20] {
            let total = |law: &LawConfig| {
                let (fixed, growing) = law.cost(access, bytes, 1);
                fixed + growing
            };
            let (here, there) = (total(&piecewise), total(&linear));
            assert!(here.abs_diff(there) <= 4, "{access:?} {bytes}: {here} and {there}");
        }
    }
}

#[test]
fn a_table_changes_a_line_and_no_other_law() {
    let part = json!({ "random_read": { "fixed": "1us" } });
    let changed = resolved("law", &[json!({ "random_read": "300us + 2us/KiB" }), part.clone()]);
    assert_eq!(changed.random_read, Pattern::line(1_000, 2_000));
    let steps = json!({ "random_read": "4KiB: 1us, 8KiB: 3us" });
    let refused = resolved("law", &[steps.clone(), part]).build(0).err().unwrap();
    assert_eq!(refused.keys, ["device.random_read.fixed"]);
    assert!(refused.problem.contains("the law is \"4KiB: 1us, 8KiB: 3us\""), "{refused}");
    let whole = json!({ "random_read": { "fixed": "1us", "per_kib": "1ns" } });
    assert_eq!(resolved("law", &[steps, whole]).random_read, Pattern::line(1_000, 1));
}

#[test]
fn wrong_laws_are_refused() {
    for (text, expected) in [
        ("", "is neither a line"),
        ("1us", "is neither a line"),
        ("1: 1us", "is neither a line"),
        ("1: 1us + 1us", "is neither a line"),
        ("2: 1us + 1us/KiB", "for 1 outstanding, not 2"),
        ("1: 1us + 1us/KiB, 1: 1us + 1us/KiB", "must rise, and 1 follows 1"),
        ("0: 1us + 1us/KiB", "from 1 to 65536"),
        ("1: 1 + 1us/KiB", "the unit is missing"),
        ("1: 2s + 1us/KiB", "at most 1s"),
        ("1us + 1us/KiB, 2us + 2us/KiB", "such as \"4: 2us + 2us/KiB\""),
        ("1us + 1us/KiB, 4KiB: 2us", "such as \"4: 4KiB: 2us\""),
        ("4KiB: 1us, 1us + 1us/KiB", "such as \"4: 1us + 1us/KiB\""),
        ("4KiB: 1us", "at least two"),
        ("1us + 1us/KiB, 4: 4KiB: 1us", "4 outstanding has one"),
        ("4KiB: 1us, 4KiB: 2us", "must rise"),
        ("8KiB: 1us, 4KiB: 2us", "must rise"),
        ("4KiB: 1, 8KiB: 2us", "the unit is missing"),
        ("KiB: 1us, 8KiB: 2us", "\"KiB\""),
        ("4KiB: 1us, 8KiB: 2s", "at most 1s"),
    ] {
        let error = text.parse::<Curves>().unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
    for text in [
        "100us + 4us/KiB",
        "1: 100us + 4us/KiB, 4: 210.5us + 16us/KiB",
        "512B: 240us, 1MiB: 4.3ms",
        "1: 512B: 240us, 1MiB: 4.3ms, 4: 512B: 300us, 1MiB: 9ms",
    ] {
        assert_eq!(curves(text).to_string(), text);
    }
}

#[test]
fn impossible_devices_are_refused() {
    let tiny = LawConfig { size: Size::from_bytes(100), ..LawConfig::default() };
    assert_eq!(tiny.build(0).err().unwrap().keys, ["device.size"]);
    let random_read = Pattern::line(2_000_000_000, 0);
    let slow = LawConfig { random_read, ..LawConfig::default() };
    assert_eq!(slow.build(0).err().unwrap().keys, ["device.random_read.fixed"]);
}
