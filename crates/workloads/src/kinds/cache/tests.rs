//! Closed-form checks of the cache, without a device.

use super::super::tests::{assert_refused, build};
use crate::chains::tests::{Asked, against};
use engine::{Op, Request, Time};

/// 64 MiB: 64 regions of 512 KiB for large objects, and half for small ones.
const SMALL: &str = "footprint = '64MiB'\nsmall = 0.5\nregion = '512KiB'\nrequests = 200000\n";

fn takes(request: &Request) -> Time {
    match request.op {
        Op::Read => 50_000,
        _ => 10_000 + u64::from(request.sectors) * 100,
    }
}

fn asked(text: &str) -> Vec<Asked> {
    // Keys of `text` replace those of the base.
    let own: toml::Table = toml::from_str(text).unwrap();
    let kept = SMALL.lines().filter(|line| !own.contains_key(line.split(' ').next().unwrap()));
    let text = format!("{}\n{text}", kept.collect::<Vec<_>>().join("\n"));
    against(&mut *build("cache", &text).unwrap(), usize::MAX, takes)
}

/// Blocks of small objects: the first half.
const BUCKETS: u64 = 1 << 13;

/// The blocks written, in time order.
fn written(asked: &[Asked]) -> impl Iterator<Item = u64> + '_ {
    asked.iter().filter(|it| it.request.op == Op::Write).flat_map(Asked::blocks)
}

#[test]
fn the_shares_of_bytes_are_exact() {
    for share in [0.82, 0.5, 0.1] {
        let asked = asked(&format!("small_share = {share}\nread_share = 0.3"));
        let small = written(&asked).filter(|it| *it < BUCKETS).count() as f64;
        let all = written(&asked).count() as f64;
        // Within a few regions of 128 blocks.
        assert!((small - share * all).abs() < 3.0 * 128.0, "{share}: {small} of {all}");
    }
    assert!(written(&asked("small = 0.0\nread_share = 0.0")).all(|it| it < 1 << 14));
    assert!(
        asked("small = 1.0\nread_share = 0.0\nrequests = 5000")
            .iter()
            .all(|it| it.request.sectors == 8)
    );
}

#[test]
fn a_page_of_large_objects_lives_for_one_turn_of_the_ring_and_one_of_small_ones_geometrically() {
    let asked = asked("read_share = 0.0\nrequests = 400000");
    let mut last = vec![None; 1 << 14];
    let (mut large, mut small) = (0u64, 0u64);
    let mut lives = Vec::new();
    for block in written(&asked) {
        let is_small = block < BUCKETS;
        let now = if is_small { &mut small } else { &mut large };
        *now += 1;
        if let Some(before) = last[block as usize].replace(*now) {
            if is_small {
                lives.push(*now - before);
            } else {
                assert_eq!(*now - before, BUCKETS, "the ring in blocks");
            }
        }
    }
    assert!(large > 2 * BUCKETS && lives.len() > 100_000);
    // Geometric with mean 8,192, as far as the run is long: of lives, a share 1 - exp(-x) ends
    // before x means; the lives visible in a run of length L are weighted by 1 - x/L.
    let horizon = small as f64 / BUCKETS as f64;
    let seen = |x: f64| horizon * (1.0 - libm::exp(-x)) - (1.0 - (1.0 + x) * libm::exp(-x));
    for x in [0.25, 1.0, 3.0] {
        let count = lives.iter().filter(|it| **it as f64 <= x * BUCKETS as f64).count() as f64;
        let expected = seen(x) / seen(horizon);
        let found = count / lives.len() as f64;
        assert!((found - expected).abs() < 0.01, "{x}: {found}, {expected}");
    }
}

#[test]
fn a_bucket_is_read_before_it_is_written_and_nothing_is_read_that_was_not_written() {
    for text in
        ["trim = true\nread_share = 0.6", "trim = true\nread_share = 0.9\nlarge_item = '12KiB'"]
    {
        let asked = asked(text);
        let mut ends: Vec<Option<Time>> = vec![None; 1 << 14];
        let mut events: Vec<(Time, bool, usize)> = Vec::new();
        for (at, it) in asked.iter().enumerate() {
            events.push((it.at, true, at));
            events.push((it.end, false, at));
        }
        // At one instant, completions precede arrivals.
        events.sort_by_key(|(time, begins, at)| (*time, *begins, *at));
        for (time, begins, at) in events {
            let it = &asked[at];
            for block in it.blocks() {
                let held = &mut ends[block as usize];
                match (it.request.op, begins) {
                    (Op::Read, true) => assert!(held.is_some(), "block {block} at {time}"),
                    (Op::Write, false) => *held = Some(time),
                    (Op::Trim, true) => *held = None,
                    _ => {}
                }
            }
        }
        let reads = asked.iter().filter(|it| it.request.op == Op::Read).count();
        assert!(reads > asked.len() / 3, "{reads}");
        assert!(asked.iter().any(|it| it.request.op == Op::Trim));
    }
}

#[test]
fn popularity_is_spread_by_a_bijection() {
    // A hash would leave more than a third of the objects without any lookup however long one looks.
    let asked =
        asked("locality = 'zipf(0.2)'\nread_share = 0.7\nrequests = 600000\nlarge_item = '64KiB'");
    let mut is_read = vec![false; 1 << 14];
    for it in asked.iter().filter(|it| it.request.op == Op::Read && it.request.sectors > 8) {
        is_read[it.blocks().start as usize] = true;
    }
    let objects = 64 * 8;
    let met = is_read.iter().filter(|it| **it).count();
    assert!(met > objects * 99 / 100, "{met} of {objects}");
}

#[test]
fn the_application_writes_a_bucket_for_each_item() {
    let text = format!("{SMALL}read_share = 0.0");
    let mut workload = build("cache", &text).unwrap();
    against(&mut *workload, usize::MAX, takes);
    let notices = workload.notices();
    let count = |name: &str| notices.iter().find(|(it, _)| *it == name).unwrap().1 as f64;
    // 4.34 was measured: 4096 / 944.
    let amplification = count("cache_small_bytes_written") / count("cache_small_bytes_inserted");
    assert!((amplification - 4096.0 / 944.0).abs() < 1e-9, "{amplification}");
}

#[test]
fn engines_have_handles() {
    let asked = asked("placement = 'engine'\nread_share = 0.3");
    for it in &asked {
        let expected = match it.request.op {
            Op::Write => Some(u8::from(it.blocks().start < BUCKETS)),
            _ => None,
        };
        assert_eq!(it.request.handle.number(), expected);
    }
    assert!(self::asked("").iter().all(|it| it.request.handle.number().is_none()));
}

#[test]
fn every_option_changes_the_requests() {
    let base = asked("");
    for text in [
        "requests = 100000",
        "outstanding = 8",
        "small = 0.4",
        "small_share = 0.7",
        "bucket = '8KiB'",
        "region = '1MiB'",
        "large_item = '32KiB'",
        "request_size = '64KiB'",
        "read_share = 0.6",
        "locality = 'zipf(1.1)'",
        "trim = true",
        "placement = 'engine'",
        "footprint = '32MiB'",
    ] {
        assert_ne!(asked(text), base, "{text}");
    }
    assert_eq!(asked(""), base);
}

#[test]
fn impossible_settings_are_refused() {
    for (text, key, problem) in [
        ("requests = 0", "workload.requests", "at least 1"),
        ("outstanding = 0", "workload.outstanding", "at least 1"),
        ("small = 1.5", "workload.small", "1.5 is not a share"),
        ("bucket = '5000B'", "workload.bucket", "no multiple of 4KiB"),
        ("item = '5KiB'", "workload.item", "5KiB is no size from 1B to a bucket, 4KiB"),
        ("region = '1GiB'", "workload.small", "has no room for two regions"),
        (
            "footprint = '64KiB'\nsmall = 0.04",
            "workload.small",
            "0.04 of a cache of 64KiB has no room for a bucket",
        ),
        ("large_item = '32MiB'", "workload.large_item", "32MiB is larger than a region of 16MiB"),
    ] {
        assert_refused("cache", text, key, problem);
    }
}
