//! The SLC cache: blocks that are always of it, writes while it is full, and its wear.

use super::slc::{BLOCK, HELD, NATIVE_NS, PAGE, SLC_NS, cached, copy, near, rate, report, seconds};
use super::{DIES, UNITS};
use devices::Model;
use devices::ssd::Ssd;
use engine::Device;
use serde_json::json;

/// A static cache of some blocks holds that, and its blocks are not exported.
#[test]
fn a_static_cache_holds_what_it_is_and_is_not_exported() {
    let of = |blocks: u64| {
        let keys = [
            ("device.slc_cache.dynamic", json!(0.0)),
            ("device.slc_cache.static", json!(format!("{}B", blocks * HELD * PAGE))),
        ];
        Ssd::new(&cached(&keys), 1).unwrap()
    };
    let (few, many) = (of(4).facts().pages, of(9).facts().pages);
    let lost = few - many;
    // A fifth of each is spare anyway.
    assert!(lost.abs_diff(5 * BLOCK * 4 / 5) <= 1, "{lost}");
    let mut ssd = of(9);
    let end = copy(&mut ssd, 0, 6 * BLOCK, 0);
    let (_, slc) = report(&ssd, end);
    assert_eq!(slc.cliff_at, Some(9 * HELD * PAGE));
    assert_eq!(slc.held, 9 * HELD * PAGE);
    near(rate(&slc, "direct"), (DIES * UNITS * PAGE) as f64 / NATIVE_NS * 1e9, 4.0);
}

/// A full drive that cleans has its static cache, and nothing else.
#[test]
fn a_full_drive_has_its_static_cache_again_and_again() {
    let keys = [
        ("device.fill", json!("full")),
        ("device.slc_cache.gone_at", json!(0.75)),
        ("device.slc_cache.static", json!(format!("{}B", 3 * HELD * PAGE))),
    ];
    let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
    let pages = ssd.capacity_sectors() / 8;
    let mut end = 0;
    for round in 0..30 {
        let before = report(&ssd, end).1.written;
        end = copy(&mut ssd, round * 7 * BLOCK % (pages - 5 * BLOCK) / 8 * 8, 4 * BLOCK, end);
        let (_, slc) = report(&ssd, end);
        let written = slc.written - before;
        let held = slc.held;
        assert!(
            (2 * HELD * PAGE..=3 * HELD * PAGE).contains(&written),
            "{round}: {written}, {held} {:?}",
            slc.phases.iter().rev().take(6).collect::<Vec<_>>()
        );
        // Long enough for all of it to be folded.
        end += 3_000_000_000;
    }
}

/// Where writes wait for a block of the cache that is folded, all go through the cache, and the times add up.
#[test]
fn writes_that_wait_for_folds_all_go_through_the_cache() {
    let fold = 60e6;
    let keys = [
        ("device.slc_cache.limit", json!(format!("{}B", 10 * HELD * PAGE))),
        ("device.slc_cache.when_full", json!("fold")),
        ("device.slc_cache.fold_rate", json!("60MB/s")),
        ("device.timing.erase", json!("50us")),
    ];
    let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
    let end = copy(&mut ssd, 0, 40 * HELD, 0);
    let (all, slc) = report(&ssd, end);
    assert_eq!(slc.cliff_at, Some(10 * HELD * PAGE));
    assert_eq!((slc.direct, slc.written), (0, 40 * HELD * PAGE));
    let folded = all.media.fold;
    assert!(folded.abs_diff(30 * HELD * PAGE) <= 2 * HELD * PAGE, "{folded}");
    let slc_rate = (DIES * UNITS * PAGE) as f64 / 3.0 / SLC_NS * 1e9;
    near(rate(&slc, "forced"), 1.0 / (1.0 / slc_rate + 1.0 / fold), 12.0);
}

/// With `reuse = "empty"` a cache that was full is not used again before all of it is folded.
#[test]
fn a_cache_may_be_used_again_only_when_it_is_empty() {
    let fast_again = |reuse: &str, rest: u64| {
        let keys = [
            ("device.slc_cache.limit", json!(format!("{}B", 12 * HELD * PAGE))),
            ("device.slc_cache.fold_rate", json!("100MB/s")),
            ("device.slc_cache.reuse", json!(reuse)),
        ];
        let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
        let end = copy(&mut ssd, 0, 14 * HELD, 0);
        let before = report(&ssd, end).1.written;
        let again = copy(&mut ssd, 20 * BLOCK, HELD / 8 * 8, end + rest);
        report(&ssd, again).1.written > before
    };
    // 12 blocks of 1 MB at 100 MB/s take 126 ms.
    let (short, long) = (60_000_000, 2_000_000_000);
    assert!(fast_again("any", short) && fast_again("any", long));
    assert!(!fast_again("empty", short) && fast_again("empty", long));
}

/// An erasure of one bit a cell wears as much less as it is rated for more cycles.
#[test]
fn blocks_of_one_bit_wear_as_they_are_rated() {
    let worn = |rated: Option<u32>| {
        let mut keys = vec![
            ("device.slc_cache.limit", json!(format!("{}B", 10 * HELD * PAGE))),
            ("device.slc_cache.when_full", json!("fold")),
            ("device.wear.rated_cycles", json!(1000)),
        ];
        keys.extend(rated.map(|rated| ("device.slc_cache.rated_cycles", json!(rated))));
        let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
        let mut end = 0;
        for _ in 0..12 {
            // Data that are superseded in the cache: native blocks wear little.
            end = copy(&mut ssd, 0, 32 * HELD / 8 * 8, end + 1_000);
        }
        let all = report(&ssd, end).0;
        assert!(seconds(&report(&ssd, end).1, "forced") > 0.0);
        (all.counts.block_erases as f64, all.wear.mean_erases * 64.0)
    };
    let (erases, all) = worn(None);
    assert!(erases > 200.0, "{erases}");
    near(all, erases, 1e-6);
    let (again, quarter) = worn(Some(4000));
    near(again, erases, 1e-12);
    // Few of the erasures are of native blocks.
    assert!(quarter < 0.5 * erases && quarter > 0.2 * erases, "{quarter} of {erases}");
}

#[test]
fn contradictions_of_its_keys_are_refused() {
    for (key, value, words) in [
        ("device.slc_cache.static", json!("1GiB"), "of the 64 blocks of the drive; at most 32"),
        ("device.slc_cache.rated_cycles", json!(0), "at least 1"),
        ("device.slc_cache.rated_cycles", json!(99_999), "less than the 100000 cycles"),
    ] {
        let problem = Ssd::new(&cached(&[(key, value)]), 0).map(drop).unwrap_err().to_string();
        assert!(problem.contains(key) && problem.contains(words), "{problem}");
    }
    // A static part that leaves less spare space than cleaning keeps.
    let keys = [
        ("device.capacity", json!("150MiB")),
        ("device.slc_cache.static", json!(format!("{}B", 30 * HELD * PAGE))),
    ];
    let problem = Ssd::new(&cached(&keys), 0).map(drop).unwrap_err().to_string();
    assert!(problem.contains("device.capacity"), "{problem}");
}
