//! Blocks that are bad and not worn: what they take of the spare space, in time and without.

use crate::buffered::small;
use crate::common::{Closed, configured, run_closed};
use devices::ssd::ftl::BadReport;
use devices::ssd::{Ssd, SsdConfig};
use devices::{DeviceConfig, Model};
use engine::{Device, Lba, Op, Request};
use serde_json::{Value, json};

fn config(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut keys = small();
    keys.extend(changes.iter().cloned());
    match configured(&keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

fn bad(ssd: &Ssd) -> BadReport {
    ssd.account(1).bad.unwrap()
}

/// 64 blocks of each of 16 planes: a drive loses as many superblocks as its worst plane has bad blocks.
#[test]
fn the_factory_takes_as_many_superblocks_as_the_worst_plane_has_bad_blocks() {
    let (mut all, mut worst) = (0, 0);
    for seed in 0..200 {
        let ssd = Ssd::new(&config(&[("device.spares.factory_bad", json!(0.01))]), seed).unwrap();
        ssd.check().unwrap();
        let found = bad(&ssd);
        assert!(found.grown == 0 && found.superblocks <= found.factory);
        assert!(found.factory <= 16 * found.superblocks);
        (all, worst) = (all + found.factory, worst + found.superblocks);
        let report = ssd.account(1);
        assert_eq!(u64::from(report.wear.retired_blocks), found.superblocks);
    }
    // The mean of a binomial of 1,024; and of the largest of 16 with mean 0.64: 2.1.
    let (mean, most) = (all as f64 / 200.0, worst as f64 / 200.0);
    assert!((mean / 10.24 - 1.0).abs() < 0.08, "{mean}");
    assert!((1.9..2.6).contains(&most), "{most}");
}

fn write(ssd: &mut Ssd, timed: bool, count: u64) {
    let pages = ssd.capacity_sectors() / 8;
    let page = |n: u64| n.wrapping_mul(7919) % pages;
    if timed {
        let make = |n: u64| Request::new(n, Op::Write, Lba(page(n) * 8), 8);
        let mut load = Closed::new(16, count, make);
        run_closed(ssd, &mut load);
        while let Some(next) = ssd.next_event() {
            ssd.advance(next, &mut Vec::new());
        }
    } else {
        let all: Vec<u64> = (0..count).map(page).collect();
        all.chunks(256).for_each(|pages| ssd.overwrite_untimed(pages, 0));
    }
    ssd.check().unwrap();
}

/// Erasures that fail make as many blocks bad as the chance says, and the drive ends when its spare is gone.
#[test]
fn failed_erasures_take_the_spare_until_the_drive_ends() {
    for timed in [true, false] {
        let config = config(&[("device.spares.erase_fail", json!(5e-3))]);
        let mut ssd = Ssd::new(&config, 3).unwrap();
        write(&mut ssd, timed, 100_000);
        let erases = ssd.account(1).counts.block_erases;
        let (found, expected) = (bad(&ssd), erases as f64 * 16.0 * 5e-3);
        let off = (found.grown as f64 - expected).abs();
        assert!(off < 4.0 * expected.sqrt() + 1.0, "{timed}: {} of {expected}", found.grown);
        // One that cleaning needs once more is retired later.
        assert!(found.superblocks <= found.grown);
        // In time a drive begins anew: what was written is over.
        let mut ssd = if timed { Ssd::new(&config, 3).unwrap() } else { ssd };
        write(&mut ssd, timed, 900_000);
        assert!(ssd.standing().has_ended, "{:?}", bad(&ssd));
        assert_eq!(ssd.account(1).health.available_spare, 0);
    }
}

/// A program that fails has the data of its block moved, and a block is bad.
#[test]
fn failed_programs_move_their_data() {
    for timed in [true, false] {
        let config = config(&[("device.spares.program_fail", json!(3e-4))]);
        let mut ssd = Ssd::new(&config, 3).unwrap();
        write(&mut ssd, timed, 60_000);
        let report = ssd.account(1);
        let found = report.bad.unwrap();
        assert!(found.failed_programs > 0 && found.grown > 0, "{timed}: {found:?}");
        assert!(found.grown <= found.failed_programs + 3, "{timed}: {found:?}");
        let sum: u64 = report.media.rows().iter().map(|it| it.1).sum();
        assert_eq!(sum, report.counts.bytes_programmed);
    }
}

#[test]
fn a_saved_drive_has_its_bad_blocks() {
    let config = config(&[
        ("device.spares.factory_bad", json!(0.01)),
        ("device.spares.erase_fail", json!(1e-3)),
    ]);
    let mut ssd = Ssd::new(&config, 3).unwrap();
    write(&mut ssd, false, 50_000);
    let mut restored = Ssd::new(&config, 3).unwrap();
    restored.restore(ssd.save().unwrap()).unwrap();
    assert!(bad(&ssd).grown > 0);
    for ssd in [&mut ssd, &mut restored] {
        write(ssd, false, 50_000);
    }
    assert_eq!(bad(&ssd).grown, bad(&restored).grown);
    assert_eq!(bad(&ssd).superblocks, bad(&restored).superblocks);
}

#[test]
fn chances_that_are_none_are_refused() {
    let refuse = |key: &'static str, value: f64, part: &str| {
        let problem = Ssd::new(&config(&[(key, json!(value))]), 0).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
    };
    refuse("device.spares.factory_bad", 0.3, "are spare");
    refuse("device.spares.grown", -0.1, "from 0 to 1");
    refuse("device.spares.program_fail", 1.5, "from 0 to 1");
    refuse("device.spares.erase_fail", 2.0, "from 0 to 1");
}

// ---- without a write buffer: a block is one of a plane ------------------------------------------

/// Four packages of 256 blocks of 16 pages.
fn unbuffered(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut keys = vec![
        ("device.channels", json!(4)),
        ("device.dies_per_package", json!(1)),
        ("device.planes_per_die", json!(1)),
        ("device.blocks_per_plane", json!(256)),
        ("device.pages_per_block", json!(16)),
    ];
    keys.extend(changes.iter().cloned());
    match configured(&keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

/// The number is a binomial of all blocks; each takes one from the spare space, and none from the capacity.
#[test]
fn the_factorys_bad_blocks_take_spare_space_and_no_capacity() {
    let whole = Ssd::new(&unbuffered(&[]), 0).unwrap();
    let spare = whole.account(1).wear.spare_blocks;
    let mut all = 0;
    for seed in 0..200 {
        let config = unbuffered(&[("device.spares.factory_bad", json!(0.01))]);
        let ssd = Ssd::new(&config, seed).unwrap();
        ssd.check().unwrap();
        let (found, report) = (bad(&ssd), ssd.account(1));
        assert_eq!(ssd.capacity_sectors(), whole.capacity_sectors());
        // Of the package that has the most of them.
        let most = u64::from(spare - report.wear.spare_blocks);
        assert!((found.factory.div_ceil(4)..=found.factory).contains(&most), "{most} of {found:?}");
        assert_eq!(u64::from(report.wear.retired_blocks), found.factory);
        all += found.factory;
    }
    let (mean, expected) = (all as f64 / 200.0, 1024.0 * 0.01);
    assert!((mean - expected).abs() < 4.0 * (expected / 200.0).sqrt(), "{mean} of {expected}");
}

/// Erasures that fail take a block each; then the drive is read-only, and reads go on.
#[test]
fn failed_erasures_take_a_block_each_until_the_drive_is_read_only() {
    for timed in [true, false] {
        let config = unbuffered(&[("device.spares.erase_fail", json!(2e-3))]);
        let mut ssd = Ssd::new(&config, 3).unwrap();
        let spare = ssd.account(1).wear.spare_blocks;
        write(&mut ssd, timed, 40_000);
        let (found, erases) = (bad(&ssd), ssd.account(1).counts.block_erases);
        let expected = erases as f64 * 2e-3;
        let off = (found.grown as f64 - expected).abs();
        assert!(off < 4.0 * expected.sqrt() + 1.0, "{timed}: {} of {expected}", found.grown);
        let mut ssd = if timed { Ssd::new(&config, 3).unwrap() } else { ssd };
        write(&mut ssd, timed, 1_200_000);
        assert!(ssd.standing().has_ended, "{:?}", bad(&ssd));
        assert!(bad(&ssd).grown > u64::from(spare) / 4, "a pool is used up: {:?}", bad(&ssd));
        assert!(!timed || ssd.account(1).counts.refused_pages > 0);
        let read = |n: u64| Request::new(n, Op::Read, Lba(n % 1000 * 8), 8);
        assert!((0..500).all(|n| ssd.serve_untimed(&read(n)).is_ok()));
    }
}

/// A page whose program fails is programmed again elsewhere, which its write waits for; its block is emptied, and is bad.
#[test]
fn a_failed_program_is_repeated_elsewhere_and_its_block_is_given_up() {
    let fails = ("device.spares.program_fail", json!(1e-3));
    for timed in [true, false] {
        let mut ssd = Ssd::new(&unbuffered(&[fails.clone()]), 3).unwrap();
        write(&mut ssd, timed, 60_000);
        let report = ssd.account(1);
        let (found, counts) = (report.bad.unwrap(), report.counts);
        let expected = counts.page_programs as f64 * 1e-3;
        let off = (found.failed_programs as f64 - expected).abs();
        assert!(off < 4.0 * expected.sqrt(), "{timed}: {found:?} of {expected}");
        // A block with two failures is one; the last ones are not erased yet.
        let share = found.grown as f64 / found.failed_programs as f64;
        assert!((0.7..=1.0).contains(&share), "{timed}: {found:?}");
        let sum: u64 = report.media.rows().iter().map(|it| it.1).sum();
        assert_eq!(sum, counts.bytes_programmed);
        assert!(report.media.refresh > 0, "copies out of these blocks");
    }
    let mean = |config: &SsdConfig| {
        let mut ssd = Ssd::new(config, 3).unwrap();
        let make = |n: u64| Request::new(n, Op::Write, Lba(n % 4 * 8), 8);
        let (_, done) = run_closed(&mut ssd, &mut Closed::new(1, 3_000, make));
        done.iter().map(engine::Completion::latency).sum::<u64>() as f64 / 3_000.0
    };
    let often = unbuffered(&[("device.spares.program_fail", json!(0.02))]);
    let more = mean(&often) / mean(&unbuffered(&[]));
    assert!((1.015..1.12).contains(&more), "one of 50 takes twice as long: {more}");
}

#[test]
fn a_drive_without_a_buffer_keeps_its_bad_blocks_when_it_is_saved() {
    let config = unbuffered(&[
        ("device.spares.factory_bad", json!(0.01)),
        ("device.spares.program_fail", json!(2e-4)),
        ("device.spares.erase_fail", json!(5e-4)),
    ]);
    let mut ssd = Ssd::new(&config, 3).unwrap();
    write(&mut ssd, false, 50_000);
    let mut restored = Ssd::new(&config, 3).unwrap();
    restored.restore(ssd.save().unwrap()).unwrap();
    assert!(bad(&ssd).grown > 0);
    for ssd in [&mut ssd, &mut restored] {
        write(ssd, false, 50_000);
    }
    assert_eq!(bad(&ssd).grown, bad(&restored).grown);
    assert_eq!(ssd.account(1).wear.retired_blocks, restored.account(1).wear.retired_blocks);
}
