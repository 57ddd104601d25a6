//! Closed-form checks of searches, without a device.

#![expect(clippy::float_cmp, reason = "counts are whole numbers")]

use super::super::tests::{assert_refused, build};
use crate::chains::tests::{Asked, against};
use engine::{Op, Random, Request, Time, Xoshiro256};

/// Hops: 10,000 vectors need log 64 = 2.2, the list 20/4 = 5, in total 7.2, minus 2 cached ones.
const SMALL: &str = "vectors = 10000\nlist = 20\nsearches = 2000\nload = false\n";

fn run<T>(text: &str, takes: T) -> (Vec<Asked>, impl Fn(&str) -> f64 + use<T>)
where
    T: FnMut(&Request) -> Time,
{
    let own: toml::Table = toml::from_str(text).unwrap();
    let kept = SMALL.lines().filter(|line| !own.contains_key(line.split(' ').next().unwrap()));
    let text = format!("{}\n{text}", kept.collect::<Vec<_>>().join("\n"));
    let mut workload = build("ann", &text).unwrap();
    let asked = against(&mut *workload, usize::MAX, takes);
    let notices = workload.notices();
    (asked, move |name: &str| notices.iter().find(|(it, _)| *it == name).unwrap().1 as f64)
}

#[test]
fn a_search_reads_its_beam_in_each_of_its_hops() {
    for (text, hops) in [
        ("", libm::log(1e4) / libm::log(64.0) + 5.0 - 2.0),
        ("beam = 2", libm::log(1e4) / libm::log(64.0) + 10.0 - 2.0),
        ("degree = 32\ncached_hops = 3", libm::log(1e4) / libm::log(32.0) + 5.0 - 3.0),
    ] {
        let (asked, count) = run(text, |_| 1000);
        let beam = if text == "beam = 2" { 2.0 } else { 4.0 };
        // The fraction of a hop is random: 2,000 searches estimate it to within 0.03.
        let found = count("ann_hops") / count("ann_searches");
        assert!((found - hops).abs() < 0.04, "{text}: {found}, {hops}");
        assert_eq!(asked.len() as f64, beam * count("ann_hops"));
        // A search reads h W 4 KiB bytes.
        assert!(asked.iter().all(|it| it.request.sectors == 8 && it.request.op == Op::Read));
        assert_eq!(count("ann_searches"), 2000.0);
    }
}

#[test]
fn one_search_at_a_time_takes_hops_of_the_slowest_of_its_reads() {
    // Exponential read times with mean 100 us: the slowest of four takes 100 us x (1 + 1/2 + 1/3 +
    // 1/4).
    let mut random = Xoshiro256::new(7, 0);
    let takes = move |_: &Request| (-1e5 * libm::log(1.0 - random.unit())) as Time;
    let (_, count) = run("outstanding = 1", takes);
    let hops = count("ann_hops") / count("ann_searches");
    let expected = hops * 1e5 * (1.0 + 0.5 + 1.0 / 3.0 + 0.25);
    let found = count("ann_search_mean_ns");
    assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
}

#[test]
fn throughput_is_reads_a_second_by_reads_of_a_search() {
    // The device serves 64 requests of 100 us each in parallel; 16 searches of 4 reads never exceed
    // that.
    let (asked, count) = run("outstanding = 16", |_| 100_000);
    let seconds = asked.iter().map(|it| it.end).max().unwrap() as f64 * 1e-9;
    let iops = asked.len() as f64 / seconds;
    let searches = count("ann_searches") / seconds;
    let of_search = 4.0 * count("ann_hops") / count("ann_searches");
    assert!((searches / (iops / of_search) - 1.0).abs() < 1e-9);
    // 16 x 4 reads are always in flight, except during the last searches.
    assert!((iops / (64.0 / 1e-4) - 1.0).abs() < 0.02, "{iops}");
    // Searches wait for completions, so this limit is never exceeded.
    let events = asked.iter().flat_map(|it| [(it.at, 1), (it.end, -1)]);
    let mut events: Vec<(Time, i32)> = events.collect();
    events.sort_unstable();
    let mut now = 0;
    assert!(events.iter().all(|(_, by)| {
        now += by;
        now <= 64
    }));
}

#[test]
fn nodes_are_packed_into_sectors_and_large_ones_take_several() {
    // 128 numbers of 4 bytes and 65 numbers of 4 bytes are 772 bytes: 5 per block, 2,000 blocks.
    let end = |text: &str| run(text, |_| 1000).0.iter().map(|it| it.blocks().end).max().unwrap();
    assert_eq!(end(""), 2000);
    // 1,536 numbers: 6,404 bytes, two blocks per node.
    let (asked, _) = run("dimensions = 1536\nsearches = 10000", |_| 1000);
    assert!(asked.iter().all(|it| it.request.sectors == 16 && it.blocks().start % 2 == 0));
    assert_eq!(asked.iter().map(|it| it.blocks().end).max(), Some(20_000));
    let (asked, _) = run("load = true", |_| 1000);
    let written: u64 =
        asked.iter().filter(|it| it.request.op == Op::Write).map(|it| it.request.bytes()).sum();
    assert_eq!(written, 2000 * 4096);
    let last = asked.iter().filter(|it| it.request.op == Op::Write).map(|it| it.end).max().unwrap();
    assert!(asked.iter().all(|it| it.request.op == Op::Write || it.at >= last));
}

#[test]
fn every_option_changes_the_requests() {
    let base = run("", |_| 1000).0;
    for text in [
        "requests = 50",
        "searches = 1000",
        "outstanding = 8",
        "vectors = 20000",
        "dimensions = 256",
        "number_bytes = 1",
        "degree = 32",
        "list = 40",
        "beam = 2",
        "cached_hops = 0",
        "load = true",
    ] {
        assert_ne!(run(text, |_| 1000).0, base, "{text}");
    }
    let load = run("load = true", |_| 1000).0;
    assert_ne!(run("load = true\nrequest_size = '64KiB'", |_| 1000).0, load);
}

#[test]
fn impossible_settings_are_refused() {
    for (text, key, problem) in [
        ("requests = 0", "workload.requests", "at least 1"),
        ("searches = 0", "workload.searches", "at least 1"),
        ("beam = 0", "workload.beam", "0 is not possible"),
        ("list = 3", "workload.list", "3 is not possible; it must be from 4"),
        ("cached_hops = -1", "workload.cached_hops", "-1 is no number of hops"),
        (
            "vectors = 100000000",
            "workload.vectors",
            "100000000 nodes of 772 bytes, 5 to 4KiB, do not fit into 1GiB",
        ),
    ] {
        assert_refused("ann", text, key, problem);
    }
}
