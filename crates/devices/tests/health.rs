//! Health in `NVMe`'s terms: what is used up, what spare is left, and what a drive warns of.

use crate::common::{self, depth::depth};
use devices::array::ArrayConfig;
use devices::ssd::config::Wear;
use devices::ssd::{HealthReport, SPARE_THRESHOLD, Ssd, SsdConfig, data_units};
use devices::{DeviceConfig, DeviceKind, Instruction, Model};
use engine::{Device, Random, Request, SECTOR_BYTES, Status, Xoshiro256};
use engine::{Lba, Op};
use serde_json::json;

/// The drive with blocks rated for `rated_cycles` erasures.
fn rated(rated_cycles: u32, config: SsdConfig) -> SsdConfig {
    SsdConfig { wear: Wear { rated_cycles, ..Wear::default() }, ..config }
}

fn plain() -> SsdConfig {
    SsdConfig { pages_per_block: 16, ..common::small() }
}

/// With a write buffer, whose victims are blocks of one die or all of them together.
fn buffered(reclaim: &str) -> SsdConfig {
    let mut keys = crate::buffered::small();
    keys.extend([("device.cleaning.reclaim", json!(reclaim)), ("device.scale", json!(2))]);
    match common::configured(&keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

fn health(device: &dyn Model) -> HealthReport {
    HealthReport::of(device.report(0).section("health").unwrap())
}

/// A life from new to the end, asked for its health after every few writes; at night after each.
fn life(device: &mut dyn Model) -> Vec<HealthReport> {
    let mut random = Xoshiro256::new(1, 0);
    let (mut seen, mut written, every) = (vec![health(device)], 0, depth(16, 16, 1));
    while !device.standing().has_ended {
        device.overwrite_untimed(&[random.below(device.facts().pages)], 0);
        written += 1;
        if written % every == 0 || device.standing().has_ended {
            seen.push(health(device));
        }
    }
    seen
}

#[test]
fn the_health_of_a_drive_falls_from_new_to_end_of_life() {
    let drives =
        [("plain", plain()), ("superblock", buffered("superblock")), ("block", buffered("block"))];
    // How often a drive warned of its spare before it ended: some lose the last of it with one write.
    let mut warned = 0;
    for (name, config) in drives {
        // Blocks that differ do not end all at once.
        let mut config = rated(16, config);
        config.wear.spread = 0.3;
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let all = life(&mut ssd);
        let (new, end) = (all[0], all[all.len() - 1]);
        assert_eq!((new.percentage_used, new.available_spare), (0, 100), "{name}");
        assert_eq!((new.critical_warning(), new.data_units_written), (0, 0), "{name}");
        for pair in all.windows(2) {
            assert!(pair[0].percentage_used <= pair[1].percentage_used);
            assert!(pair[0].available_spare >= pair[1].available_spare);
            assert!(pair[0].data_units_written <= pair[1].data_units_written);
        }
        warned += all.iter().filter(|it| it.critical_warning() == 1).count();
        for it in &all {
            assert_eq!(it.critical_warning() & 1 == 1, it.available_spare < SPARE_THRESHOLD);
            assert_eq!(it.critical_warning() & 8 == 8, it.read_only);
        }
        assert_eq!(
            (end.critical_warning(), end.critical_warnings()),
            (9, vec!["spare below threshold", "read only"])
        );
        assert!((30..=100).contains(&end.percentage_used), "{name}: {}", end.percentage_used);
        let report = ssd.account(0);
        let written = report.wear.lifetime.spare_gone.unwrap();
        let units = data_units(written.host_bytes as u64, 1);
        assert!(end.data_units_written.abs_diff(units) <= 1, "{name}: {units} {end:?}");
    }
    assert!(warned > 0);
}

#[test]
fn the_health_of_a_drive_outlives_its_counts() {
    let mut ssd = Ssd::new(&rated(50, plain()), 1).unwrap();
    let pages: Vec<u64> = (0..ssd.facts().pages).collect();
    for _ in 0..20 {
        ssd.overwrite_untimed(&pages, 0);
    }
    let before = health(&ssd);
    assert!(before.percentage_used > 10);
    let bytes = 20 * ssd.capacity_sectors() * SECTOR_BYTES;
    assert_eq!(before.data_units_written, bytes.div_ceil(512_000));
    let mut restored = Ssd::new(&rated(50, plain()), 1).unwrap();
    restored.restore(ssd.save().unwrap()).unwrap();
    assert_eq!(health(&restored), before);
    ssd.instruct(0, Instruction::ResetCounts).unwrap();
    assert_eq!(health(&ssd), before);
}

#[test]
fn data_units_are_thousands_rounded_up_of_the_whole_drive() {
    let rows =
        [(0, 1, 0), (1, 1, 1), (512_000, 1, 1), (512_001, 1, 2), (256_000, 2, 1), (256_001, 2, 2)];
    for (bytes, scale, units) in rows {
        assert_eq!(data_units(bytes, scale), units, "{bytes} x {scale}");
    }
    assert_eq!(data_units(u64::MAX, 64), (u128::from(u64::MAX) * 64).div_ceil(512_000) as u64);
}

#[test]
fn an_array_is_as_healthy_as_its_worst_member() {
    let member = DeviceConfig::Ssd(Box::new(rated(4, plain())));
    let config = ArrayConfig { members: 2, member, ..ArrayConfig::default() };
    let mut array = config.build(0).unwrap();
    let (pages, mut random) = (array.facts().pages, Xoshiro256::new(1, 0));
    // Only the second member is written.
    while !array.standing().has_ended {
        array.overwrite_untimed(&[random.below(pages / 2) * 2 + 1], 0);
    }
    let health = health(&*array);
    assert_eq!((health.available_spare, health.critical_warning()), (0, 9));
    let report = array.report(0);
    let both = 100.0 * report.number("wear.mean_erases").unwrap() / 4.0;
    assert!(f64::from(health.percentage_used) > 1.9 * both - 1.0, "{health:?} {both}");
    let bytes = report.count("flash.host_bytes_written");
    assert_eq!(health.data_units_written, data_units(bytes, 1));
}

/// With a write buffer too, an ended drive refuses what would change it, and reads on, in time as without.
#[test]
fn an_ended_drive_with_a_write_buffer_reads_and_refuses() {
    let config = rated(4, buffered("superblock"));
    let steps =
        [(Op::Read, Status::Ok), (Op::Write, Status::ReadOnly), (Op::Trim, Status::ReadOnly)];
    let steps = steps.iter().chain(&[(Op::Flush, Status::Ok), (Op::Read, Status::Ok)]);
    let [mut timed, mut untimed] = [0; 2].map(|_| {
        let mut ssd = Ssd::new(&config, 1).unwrap();
        life(&mut ssd);
        ssd
    });
    let mut now = 0;
    for (number, (op, expected)) in steps.enumerate() {
        let sectors = if *op == Op::Flush { 0 } else { 64 };
        let request = Request::new(number as u64, *op, Lba(0), sectors);
        assert_eq!(untimed.serve_untimed(&request), *expected, "{op:?}");
        timed.submit(now, request);
        let mut answers = Vec::new();
        while answers.is_empty() {
            now = timed.next_event().unwrap();
            timed.advance(now, &mut answers);
        }
        assert_eq!(answers[0].status, *expected, "{op:?}");
    }
    timed.check().unwrap();
}
