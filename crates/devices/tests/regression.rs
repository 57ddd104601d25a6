//! What went wrong once and must not again: the smallest picture of each bug that was found.

use crate::common::{Script, Step, US, fill, run_on, seeds, small, small_blocking};
use devices::ssd::config::{Depth, Fill, Gang, HostLink, Interleave, Pool};
use devices::ssd::{Geometry, Ssd, SsdConfig};
use devices::{DeviceConfig, Model};
use engine::Op::{Read, Write};
use engine::{Random, Time, Xoshiro256};
use options::{PerByte, Size};

const READ: Time = 130_600;
const WRITE: Time = 305_600;

/// The packages of a gang are not numbered consecutively, and its pages stay on them.
#[test]
fn a_gang_is_the_packages_of_its_channel() {
    let config = SsdConfig { packages_per_channel: 2, pool: Pool::Gang, ..small() };
    let mut ssd = Ssd::new(&config, 0).unwrap();
    let pages = ssd.facts().pages;
    // Every second page belongs to the first gang, on the channel of packages 0 and 2.
    for page in (0..pages).step_by(2) {
        ssd.overwrite_untimed(&[page], 0);
    }
    ssd.check().unwrap();
    let steps: Vec<Step> = (0..40).map(|i| (0, Write, i * 2, 1)).collect();
    let end = run_on(&mut ssd, Script::pages(&steps)).iter().map(|done| done.at).max().unwrap();
    let served: Vec<u64> = ssd.account(end).units.iter().map(|unit| unit.operations).collect();
    assert_eq!(served, [20, 0, 20, 0]);
}

/// A write that queued where there was room, and finds none when its turn comes, goes elsewhere
/// even if nothing else ever happens on that unit.
#[test]
fn a_write_that_loses_its_room_is_not_forgotten() {
    let config = SsdConfig {
        blocks_per_plane: 8,
        pages_per_block: 4,
        summary_page: false,
        spare_factor: Some(0.3),
        pool: Pool::Ssd,
        fill: fill("empty"),
        ..small()
    };
    let mut ssd = Ssd::new(&config, 0).unwrap();
    // Page 0 goes to the first package, page 1 to the emptier second. Reading page 1 keeps that
    // one busy, so that the other pages go to the first, until one more is all that it takes: its
    // last block is kept for cleaning.
    let ms = 1000 * US;
    let mut steps: Vec<Step> = vec![(0, Write, 0, 1), (ms, Write, 1, 1)];
    for page in 2..28 {
        steps.push((page * ms, Read, 1, 1));
        steps.push((page * ms, Write, page, 1));
    }
    // Two writes queue behind a read on the first, because the second has three reads to do.
    let at = 28 * ms;
    steps.push((at, Read, 0, 1));
    steps.extend([(at, Read, 1, 1); 3]);
    steps.extend([(at, Write, 28, 1), (at, Write, 29, 1)]);
    let done = run_on(&mut ssd, Script::pages(&steps));
    assert_eq!(done.len(), steps.len());
    let report = ssd.account(Time::MAX);
    let served: Vec<u64> = report.units.iter().map(|unit| unit.operations).collect();
    assert_eq!(served, [27 + 1 + 1, 1 + 26 + 3 + 1], "the second took the last write");
    assert_eq!(done[done.len() - 1].at, at + READ + WRITE + WRITE, "handed over in the end");
}

/// Of packages without room, a write goes to one that cleaning can help, not to one that is full of
/// valid pages: there it would wait for ever.
#[test]
fn a_write_without_room_anywhere_goes_where_cleaning_makes_some() {
    let config = SsdConfig {
        channels: 3,
        blocks_per_plane: 8,
        pages_per_block: 4,
        summary_page: false,
        spare_factor: Some(0.26),
        pool: Pool::Ssd,
        fill: fill("empty"),
        ..small_blocking()
    };
    let mut ssd = Ssd::new(&config, 0).unwrap();
    assert_eq!(ssd.facts().pages, 71);
    let mut steps: Vec<Step> = vec![(0, Write, 69, 1), (1, Write, 70, 1)];
    let mut at = 0;
    // Reading page 69 or 70 keeps the first or second package busy, so that a write goes past it.
    let mut write = |pages: std::ops::Range<u64>, busy: &[u64]| {
        for page in pages {
            at += 1000 * US;
            steps.extend(busy.iter().map(|read| (at, Read, *read, 1)));
            steps.push((at, Write, page, 1));
        }
    };
    // A package takes 28 pages: its last block is kept for cleaning. The third is filled; then the
    // first with 16 of the same pages and others, and the second: both hold valid pages only.
    write(0..28, &[69, 70]);
    write(0..16, &[70]);
    write(28..39, &[70]);
    write(39..66, &[]);
    write(69..70, &[]);
    let requests = steps.len();
    assert_eq!(run_on(&mut ssd, Script::pages(&steps)).len(), requests);
    let report = ssd.account(Time::MAX);
    assert!(report.counts.block_erases > 0, "there was no room without cleaning");
    let served: Vec<u64> = report.units.iter().map(|unit| unit.operations).collect();
    let reads = [28, 28 + 16 + 11];
    assert_eq!(served, [1 + 27 + reads[0], 1 + 27 + reads[1], 28 + 1], "it went to the third");
}

/// The same in fast-forward, where no picture is small: it takes tiny blocks and many writes.
#[test]
fn fast_forward_finds_room_where_cleaning_makes_some() {
    let config = SsdConfig {
        blocks_per_plane: 24,
        pages_per_block: 2,
        summary_page: false,
        spare_blocks_per_plane: Some(3),
        pool: Pool::Ssd,
        ..small()
    };
    seeds(0..400, |seed| {
        let mut ssd = Ssd::new(&config, seed).unwrap();
        let mut random = Xoshiro256::new(seed, 0);
        for _ in 0..1000 {
            ssd.overwrite_untimed(&[random.below(ssd.facts().pages)], 0);
        }
        ssd.check().unwrap();
    });
}

/// More blocks than have numbers are refused, with the keys that make them; a domain may have all of them.
#[test]
fn too_many_blocks_in_a_domain_are_a_refusal_not_a_panic() {
    let most = SsdConfig {
        channels: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        pages_per_block: 4,
        blocks_per_plane: 1 << 31,
        fill: fill("empty"),
        ..SsdConfig::default()
    };
    assert!(Geometry::new(&most).is_ok());
    let more = SsdConfig { planes_per_die: 2, ..most };
    let refusal = Geometry::new(&more).unwrap_err();
    assert!(refusal.keys.contains(&"device.blocks_per_plane".to_owned()), "{refusal}");
}

/// Transfers that would overflow a stage are refused; 1 ms a byte alone is not too slow.
#[test]
fn a_transfer_too_long_for_a_stage_is_refused() {
    let slow = |page_size| {
        let mut config = SsdConfig { page_size: Size::from_bytes(page_size), ..small() };
        config.timing.bus_per_byte = PerByte::from_ps(1_000_000_000);
        Geometry::new(&config)
    };
    assert!(slow(2048).is_ok());
    let refusal = slow(8192).unwrap_err();
    assert!(refusal.keys.contains(&"device.timing.bus_per_byte".to_owned()), "{refusal}");
}

/// A stripe longer than its pool is refused for what it is.
#[test]
fn a_stripe_that_leaves_no_whole_stripe_is_blamed_on_the_stripe() {
    let config = SsdConfig { stripe: Some(Size::from_bytes(1 << 30)), ..small() };
    let refusal = Geometry::new(&config).unwrap_err();
    assert!(refusal.keys.contains(&"device.stripe".to_owned()), "{refusal}");
}

/// Some formats know unsigned numbers: a whole number is one in all of them.
#[test]
fn whole_numbers_are_read_from_json_too() {
    let layer = serde_json::json!({ "host_link": { "queue_depth": 32 }, "fill": 1 });
    let config = DeviceConfig::resolve("ssd", [layer]).unwrap();
    let host_link = HostLink { queue_depth: Depth::of(32), ..HostLink::default() };
    let expected = SsdConfig { host_link, fill: Fill::FULL, ..SsdConfig::default() };
    assert_eq!(config, DeviceConfig::Ssd(Box::new(expected)));
}

/// Units that begin operations together begin all pages of a request, not the first of them alone.
#[test]
fn the_pages_of_a_request_begin_together_on_a_gang() {
    let gang = SsdConfig {
        channels: 1,
        packages_per_channel: 4,
        gang: Gang::SharedControlAsync,
        ..small()
    };
    let mut ssd = Ssd::new(&gang, 0).unwrap();
    let done = run_on(&mut ssd, Script::pages(&[(0, Read, 0, 4)]));
    assert_eq!(done[0].at, READ, "one page on each package");
    let mut ssd = Ssd::new(&gang, 0).unwrap();
    let done = run_on(&mut ssd, Script::pages(&[(0, Write, 0, 4)]));
    assert_eq!(done[0].at, WRITE, "one page on each package");
    // The planes of a pair share the pins: transfers one after the other, one programming time.
    let pair = SsdConfig {
        channels: 1,
        dies_per_package: 1,
        planes_per_die: 2,
        interleave: Interleave::Plane,
        pool: Pool::Plane,
        ..small()
    };
    let mut ssd = Ssd::new(&pair, 0).unwrap();
    let done = run_on(&mut ssd, Script::pages(&[(0, Write, 0, 2)]));
    assert_eq!(done[0].at, WRITE + 105_600);
}
