//! The SLC cache with the other features of a drive: each does what it does without the cache.

use super::slc::{BLOCK, HELD, NATIVE_NS, PAGE, cached, copy, near, rate, report, seconds};
use super::{DIES, UNITS};
use crate::common::{Closed, run_closed};
use devices::Model;
use devices::ssd::{FdpReport, Geometry, HandleReport, Ssd, SsdConfig};
use engine::{Device, Handle, Lba, Op, Random, Request, Time, Xoshiro256};
use serde_json::{Value, json};

type Keys = [(&'static str, Value)];

/// Lets the drive finish what it does on its own; when that was.
fn rest(ssd: &mut Ssd, mut now: Time) -> Time {
    while let Some(at) = ssd.next_event() {
        ssd.advance(at, &mut Vec::new());
        now = at;
    }
    ssd.check().unwrap();
    now
}

// ---- wear levelling --------------------------------------------------------------------------------

/// Most writes go to a tenth of a full drive of few cycles, with rests in which the cache is folded; erasures of native
/// blocks and of the cache wear by their ratings.
fn levelled(rule: &'static str, slc_cycles: u32) -> (f64, u64, u64) {
    let keys = [
        ("device.fill", json!("full")),
        ("device.channels", json!(1)),
        ("device.blocks_per_plane", json!(128)),
        ("device.cleaning.min_free", json!(0.0)),
        ("device.wear.rated_cycles", json!(60)),
        ("device.slc_cache.rated_cycles", json!(slc_cycles)),
        ("device.cleaning.levelling.rule", json!(rule)),
    ];
    let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
    let pages = ssd.facts().pages;
    let mut now = 0;
    for round in 0..24 {
        let mut random = Xoshiro256::new(round, 5);
        let mut load = Closed::new(64, pages / 4, move |id| {
            let hot = random.below(10) > 0;
            let page = random.below(if hot { pages / 10 } else { pages });
            Request::new(id, Op::Write, Lba(page * 8), 8)
        });
        load.begin_at(now);
        now = run_closed(&mut ssd, &mut load).0;
        now = rest(&mut ssd, now);
    }
    let (all, slc) = report(&ssd, now);
    assert!(slc.folded > 0 && slc.direct > 0, "{slc:?}");
    (all.wear.std_erases, all.counts.pages_migrated, all.counts.block_erases)
}

#[test]
fn levelling_spreads_the_wear_of_a_drive_with_a_cache() {
    let [none, limited, migrated] =
        ["none", "rate-limit", "migrate"].map(|rule| levelled(rule, 6000));
    println!("spread, pages moved: none {none:?}, rate-limit {limited:?}, migrate {migrated:?}");
    assert!(migrated.0 < 0.8 * none.0 && limited.0 <= none.0, "{none:?} {limited:?} {migrated:?}");
    assert!(migrated.1 > 0 && none.1 == 0 && limited.1 == 0);
}

// ---- parity and summaries --------------------------------------------------------------------------

/// One group of four is parity, of one bit in the cache as in native blocks.
#[test]
fn parity_of_the_cache_is_its_share_of_what_was_written() {
    let of = 4;
    let keys = |of: u32| {
        [
            ("device.parity.of", json!(of)),
            ("device.slc_cache.fold", json!("lazy")),
            ("device.slc_cache.fold_after", json!("1s")),
        ]
    };
    let mut ssd = Ssd::new(&cached(&keys(of)), 1).unwrap();
    // Thirty-two groups of a row, of which eight are parity.
    let held = HELD - HELD / u64::from(of);
    let end = copy(&mut ssd, 0, 8 * held, 0);
    rest(&mut ssd, end);
    let (all, slc) = report(&ssd, end);
    assert_eq!((slc.written, slc.direct), (8 * held * PAGE, 0));
    assert_eq!(all.media.parity, 8 * held * PAGE / u64::from(of - 1));
    // The dies program it at the rate of the cache: the rate of the host falls by its share.
    let mut without = Ssd::new(&cached(&keys(0)), 1).unwrap();
    let quick = copy(&mut without, 0, 8 * held, 0);
    near(end as f64 / quick as f64, f64::from(of) / f64::from(of - 1), 8.0);
}

/// A block of the cache has a summary of its pages, whose programs cost time and room.
#[test]
fn a_summary_of_the_cache_is_programmed_with_each_block() {
    let run = |summary: bool| {
        let keys = [
            ("device.summary_page", json!(summary)),
            ("device.slc_cache.limit", json!(format!("{}B", 10 * HELD * PAGE))),
            ("device.slc_cache.fold", json!("lazy")),
        ];
        let config = cached(&keys);
        let groups = Geometry::new(&config).unwrap().groups.unwrap();
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let held = u64::from(groups.one_bit_units_per_block());
        let end = copy(&mut ssd, 0, (4 * held).div_ceil(8) * 8, 0);
        rest(&mut ssd, end);
        let summaries = report(&ssd, end).0.counts.summary_programs;
        (groups, held, summaries)
    };
    let (without, all, none) = run(false);
    assert_eq!((all, none, without.around_data(true).0), (HELD, 0, 0));
    let (groups, held, summaries) = run(true);
    let of_block = groups.around_data(true).0;
    assert_eq!(held + of_block, HELD, "it takes its pages from the block");
    // An entry of eight bytes for each page, and a header.
    assert_eq!(of_block, (held * 8 + 24).div_ceil(PAGE));
    assert_eq!(summaries, 4 * of_block);
}

/// The capacitors bring the groups of a cache to their end with less energy than native groups.
#[test]
fn groups_of_one_bit_need_less_of_the_capacitors() {
    let lost = |cache: f64| {
        let keys = [
            ("device.slc_cache.dynamic", json!(cache)),
            ("device.slc_cache.program", json!("0.3ms")),
            ("device.slc_cache.read", json!("20us")),
            ("device.buffer.power_loss_protected", json!(true)),
            ("device.persistence.recovery", json!("spare")),
            // 144 uJ at 0.2 W: 0.72 ms.
            ("device.power.capacitance", json!("2uF")),
            ("device.power.voltage", json!(12.0)),
            ("device.power.cutoff", json!(0.0)),
            ("device.power.watts", json!(0.2)),
            ("device.power.efficiency", json!(1.0)),
        ];
        let mut config = cached(&keys);
        if cache == 0.0 {
            config.slc_cache = devices::ssd::SsdConfig::default().slc_cache;
        }
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let groups = DIES * if cache > 0.0 { 1 } else { 3 };
        for id in 0..groups {
            let pages = (UNITS / 3) as u32;
            ssd.submit(0, Request::new(id, Op::Write, Lba(id * u64::from(pages) * 8), pages * 8));
        }
        while ssd.next_event().is_some_and(|at| at < 10_000) {
            let at = ssd.next_event().unwrap();
            ssd.advance(at, &mut Vec::new());
        }
        ssd.cut(10_000, &mut Vec::new());
        ssd.power_on(20_000);
        rest(&mut ssd, 20_000);
        ssd.power_report().unwrap().torn_pages
    };
    let (one_bit, native) = (lost(1.0), lost(0.0));
    assert_eq!(one_bit, 0, "a row is programmed in 0.3 ms");
    assert!(native > 0, "a group is programmed in 1.2 ms");
}

// ---- the pace of cleaning --------------------------------------------------------------------------

/// Where cleaning comes in bursts the cache is as large and as fast, and a rest folds it.
#[test]
fn bursts_of_cleaning_leave_the_cache_what_it_is() {
    let run = |pace: &str| {
        let keys = [
            ("device.cleaning.pace", json!(pace)),
            ("device.slc_cache.limit", json!(format!("{}B", 20 * HELD * PAGE))),
        ];
        let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
        let end = copy(&mut ssd, 0, 20 * HELD + 4 * BLOCK, 0);
        let (_, slc) = report(&ssd, end);
        assert_eq!(slc.cliff_at, Some(20 * HELD * PAGE), "{pace}");
        near(rate(&slc, "direct"), (DIES * UNITS * PAGE) as f64 / NATIVE_NS * 1e9, 6.0);
        let end = rest(&mut ssd, end);
        let (all, slc) = report(&ssd, end);
        assert!(slc.held <= HELD * PAGE, "{pace}: {slc:?}");
        assert!(seconds(&slc, "idle") > 0.0);
        all.media.fold
    };
    let [token, burst, adaptive] = ["token", "burst", "adaptive"].map(run);
    assert!(token == burst && token == adaptive, "{token} {burst} {adaptive}");
}

/// A full drive that is written in bursts of cleaning and of folds goes on, and folds what it must.
#[test]
fn a_full_drive_in_bursts_folds_what_it_must() {
    for pace in ["burst", "adaptive"] {
        let keys = [
            ("device.cleaning.pace", json!(pace)),
            ("device.cleaning.quantum", json!(4)),
            ("device.fill", json!("full")),
            ("device.slc_cache.fold", json!("lazy")),
        ];
        let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
        let pages = ssd.facts().pages;
        let mut random = Xoshiro256::new(3, 3);
        let mut load = Closed::new(32, pages * 2, move |id| {
            Request::new(id, Op::Write, Lba(random.below(pages) * 8), 8)
        });
        let (end, done) = run_closed(&mut ssd, &mut load);
        assert_eq!(done.len() as u64, pages * 2);
        let (all, slc) = report(&ssd, end);
        assert!(slc.forced > 0 && slc.folded > 0 && all.media.copy > 0, "{pace}: {slc:?}");
    }
}

// ---- placement handles -----------------------------------------------------------------------------

/// Handles with a cache: each writes its own part in sequence, over and over.
fn placed(isolation: &'static str, more: &Keys) -> SsdConfig {
    let mut keys = vec![
        ("device.spare_factor", json!(0.4)),
        ("device.buffer.size", json!("4MiB")),
        ("device.fdp.handles", json!(3)),
        ("device.fdp.isolation", json!(isolation)),
    ];
    keys.extend(more.iter().cloned());
    cached(&keys)
}

/// Writes of three handles, some at random and some in sequence; when they are all done, and the report.
fn by_handle(config: &SsdConfig, times: u64) -> (Ssd, Time) {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let pages = ssd.facts().pages;
    let part = pages / 3;
    let mut now = 0;
    for round in 0..times {
        let mut random = Xoshiro256::new(round, 7);
        let mut next = [0; 3];
        let mut load = Closed::new(32, pages / 4, move |id| {
            let handle = id % 3;
            let at = if handle == 0 {
                random.below(part)
            } else {
                next[handle as usize] += 1;
                (round * pages / 12 + next[handle as usize]) % part
            };
            let request = Request::new(id, Op::Write, Lba((handle * part + at) * 8), 8);
            Request { handle: Handle::new(handle), ..request }
        });
        load.begin_at(now);
        now = run_closed(&mut ssd, &mut load).0;
        now = rest(&mut ssd, now);
    }
    (ssd, now)
}

/// Handles of the pages that lie in each closed native block.
fn mixed_blocks(ssd: &Ssd) -> (u64, u64) {
    let part = ssd.facts().pages / 3;
    let mut found = std::collections::BTreeMap::<u64, [u64; 3]>::new();
    for page in 0..3 * part {
        if let Some(place) = ssd.place_of(devices::ssd::ids::Lpn(page)) {
            let block = place.0 / BLOCK;
            found.entry(block).or_default()[(page / part) as usize] += 1;
        }
    }
    let kinds = |of: &[u64; 3]| of.iter().filter(|count| **count > 0).count();
    let mixed = found.values().filter(|of| kinds(of) > 1).count() as u64;
    (mixed, found.len() as u64)
}

#[test]
fn handles_keep_their_units_through_folding_and_add_up_to_the_whole() {
    for isolation in ["initial", "persistent"] {
        let (ssd, now) = by_handle(&placed(isolation, &[]), 8);
        let (all, slc) = report(&ssd, now);
        let FdpReport { handles, moved_from_shared, .. } = all.fdp.clone().unwrap();
        assert!(slc.folded > 0 && slc.direct > 0, "{slc:?}");
        let sum = |of: fn(&HandleReport) -> u64| handles.iter().map(of).sum::<u64>();
        assert_eq!(sum(|it| it.host), all.counts.host_bytes_written);
        assert_eq!(sum(|it| it.moved), all.counts.pages_moved * PAGE);
        let padded = (all.counts.padding_pages + all.counts.parity_pages) * PAGE;
        assert_eq!(sum(|it| it.media) + padded, all.counts.bytes_programmed, "{isolation}");
        let because = sum(|it| it.moved_because) + moved_from_shared;
        assert_eq!(because, all.counts.victim_pages_moved * PAGE, "{isolation}");
        // With units of their own nothing of one handle lies beside another's, but for the open block of the cache.
        let (mixed, of) = mixed_blocks(&ssd);
        if isolation == "persistent" {
            assert!(mixed <= 1, "{mixed} of {of} blocks");
        } else {
            assert!(mixed * 2 < of, "{mixed} of {of} blocks, those of copies");
        }
    }
}

/// Cold data that follow into a worn block are of the handle of the block that they come from.
#[test]
fn cold_data_keep_their_handle() {
    for isolation in ["initial", "persistent"] {
        let more = [
            ("device.slc_cache.dynamic", json!(0.3)),
            ("device.cleaning.levelling.rule", json!("migrate")),
            ("device.cleaning.levelling.retirement_age", json!(1.0)),
            ("device.cleaning.levelling.cold_life", json!(0.5)),
            ("device.wear.rated_cycles", json!(60)),
            ("device.wear.spread", json!(0.2)),
        ];
        let (ssd, now) = by_handle(&placed(isolation, &more), 16);
        let (all, _) = report(&ssd, now);
        let handles = all.fdp.clone().unwrap().handles;
        assert!(all.counts.pages_migrated > 0, "{isolation}: {:?}", all.counts);
        let moved: u64 = handles.iter().map(|it| it.moved).sum();
        assert_eq!(moved, (all.counts.pages_moved + all.counts.pages_migrated) * PAGE);
        if isolation == "persistent" {
            let (mixed, of) = mixed_blocks(&ssd);
            assert!(mixed <= 1, "{mixed} of {of} blocks");
        }
    }
}

// ---- snapshots -------------------------------------------------------------------------------------

/// Snapshots take free blocks, of which the cache then has fewer.
#[test]
fn snapshots_make_the_cache_smaller() {
    const MIB: u64 = 256;
    let written = |space: f64| {
        let keys = [
            ("device.spare_factor", json!(0.4)),
            ("device.slc_cache.dynamic", json!(0.2)),
            ("device.snapshots.most", json!(1)),
            ("device.snapshots.every", json!("56MiB")),
            ("device.snapshots.space", json!(space)),
        ];
        let mut ssd = Ssd::new(&cached(&keys), 1).unwrap();
        // A snapshot is made before the page after 56 MiB; half of what it shares is written over.
        let now = copy(&mut ssd, 0, 56 * MIB, 0);
        let now = copy(&mut ssd, 0, 28 * MIB, now);
        let now = rest(&mut ssd, now);
        let (all, slc) = report(&ssd, now);
        let held = all.snapshots.unwrap().pages_held;
        assert!(slc.held <= HELD * PAGE, "the cache is folded");
        let end = copy(&mut ssd, 60 * MIB, 24 * MIB, now);
        (held, report(&ssd, end).1.written - slc.written)
    };
    let (little, much) = (written(0.02), written(0.3));
    assert_eq!((little.0, much.0), (0, 28 * MIB), "the first was dropped for want of room");
    assert!(much.1 < little.1, "{much:?} and {little:?}");
}
