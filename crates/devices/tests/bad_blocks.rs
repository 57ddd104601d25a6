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
