//! Random drives with a write buffer under mixed loads, audited, and kept in between.

use super::{prepared, random_writes, small};
use crate::common::{Closed, configured, run_closed, seeds};
use devices::ssd::{Ssd, SsdConfig};
use devices::{DeviceConfig, Model};
use engine::{Lba, Op, Random, Request, Time, Xoshiro256};
use serde_json::{Value, json};

fn pick<T: Clone>(random: &mut Xoshiro256, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize].clone()
}

/// A drive drawn from all paces, ways of reclaiming and programs.
fn drawn(seed: u64) -> (SsdConfig, Vec<(&'static str, Value)>) {
    let random = &mut Xoshiro256::new(seed, 21);
    let word = |random: &mut Xoshiro256, of: &[&str]| json!(pick(random, of));
    let bits = 1 + random.below(4);
    let program_us = [200, 700, 1200, 6000][bits as usize - 1];
    let reclaim = word(random, &["superblock", "block"]);
    let program = word(random, &["one-shot", "one-shot", "per-page", "two-pass"]);
    let two_pass = program == "two-pass";
    let mut keys = small();
    keys.extend([
        ("device.channels", json!(1 + random.below(3))),
        ("device.dies_per_package", json!(1 + random.below(2))),
        ("device.planes_per_die", json!(1 + random.below(2))),
        ("device.blocks_per_plane", json!(24 + random.below(24))),
        ("device.cell.bits", json!(bits)),
        // At least four groups: behind a buffer that a power cut empties, each victim pads one.
        ("device.pages_per_block", json!(bits * (4 + random.below(4)))),
        ("device.page_size", word(random, &["4KiB", "16KiB"])),
        ("device.logical_page", word(random, &["2KiB", "4KiB"])),
        ("device.spare_factor", json!(pick(random, &[0.35, 0.5, 0.7]))),
        ("device.timing.program", json!(format!("{program_us}us"))),
        ("device.cell.program", program),
        ("device.cell.planes", word(random, &["shared", "independent"])),
        ("device.cache_commands", json!(pick(random, &[true, false]))),
        ("device.buffer.size", json!("8MiB")),
        ("device.buffer.power_loss_protected", json!(two_pass || random.below(2) == 0)),
        ("device.buffer.linger", word(random, &["none", "none", "0ns", "300us"])),
        ("device.suspend.program", word(random, &["none", "20us"])),
        ("device.suspend.erase", word(random, &["none", "50us"])),
        ("device.suspend.resume", word(random, &["0ns", "5us"])),
        ("device.suspend.limit", json!(pick(random, &[0, 1, 8]))),
        ("device.cleaning.reclaim", reclaim),
        ("device.cleaning.pace", word(random, &["token", "burst", "adaptive"])),
        ("device.cleaning.quantum", json!(1 + random.below(8))),
        ("device.cleaning.host_room", json!(random.below(40))),
        ("device.cleaning.read_batch", json!(1 + random.below(3))),
        ("device.cleaning.read_order", word(random, &["fifo", "host-first"])),
        ("device.cleaning.min_free", json!(0.0)),
        ("device.firmware.write", word(random, &["0ns", "4us"])),
        ("device.wear.rated_cycles", json!(pick(random, &[100_000, 100_000, 12]))),
    ]);
    // Other draws stay as they were.
    let random = &mut Xoshiro256::new(seed, 23);
    let frontiers = word(random, &["auto", "auto", "single", "separate-moved", "hot-cold"]);
    let is_hot_cold = frontiers == "hot-cold";
    keys.push(("device.cleaning.frontiers", frontiers));
    if is_hot_cold {
        let detector = word(random, &["writes", "recency", "address"]);
        keys.push(("device.cleaning.hot_cold.detector", detector));
    }
    if random.below(3) == 0 {
        keys.extend([
            ("device.cleaning.levelling.rule", word(random, &["rate-limit", "migrate", "migrate"])),
            ("device.wear.rated_cycles", json!(pick(random, &[12, 40]))),
            ("device.wear.spread", json!(pick(random, &[0.0, 0.3]))),
        ]);
    }
    // A buffer of one stripe, of two, or larger than the drive.
    let config = resolved(&keys);
    if let Ok(geometry) = devices::ssd::Geometry::new(&config) {
        let groups = geometry.groups.unwrap();
        let held = if two_pass { 4 } else { 1 } * if is_hot_cold { 3 } else { 2 };
        let stripes = held * u64::from(groups.dies.max(2)) + u64::from(groups.dies / groups.width);
        let bytes = groups.bytes() * stripes * pick(random, &[1, 1, 2, 9]);
        keys.push(("device.buffer.size", json!(format!("{bytes}B"))));
    }
    (resolved(&keys), keys)
}

fn resolved(keys: &[(&'static str, Value)]) -> SsdConfig {
    match configured(keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

/// Reads, writes of parts and of several pages, forced ones, trims and flushes; when the last was answered.
fn mixed(ssd: &mut Ssd, seed: u64, (begin, requests): (Time, u64)) -> Time {
    let sectors = engine::Device::capacity_sectors(ssd);
    let mut random = Xoshiro256::new(seed, 22);
    let flushes = [0, 20, 200][random.below(3) as usize];
    let make = move |id| {
        let most = if random.below(20) == 0 { 300 } else { 24 };
        let count = 1 + random.below(most);
        let count = count.min(sectors / 2);
        let lba = Lba(random.below(sectors - count));
        let op = match random.below(100) {
            0..=59 => Op::Write,
            60..=89 => Op::Read,
            90..=93 => Op::Trim,
            _ if flushes > 0 && id % flushes == 0 => {
                return Request::new(id, Op::Flush, Lba(0), 0);
            }
            _ => Op::Write,
        };
        let fua = op == Op::Write && flushes > 0 && random.below(flushes) == 0;
        Request { fua, ..Request::new(id, op, lba, count as u32) }
    };
    let outstanding = [1, 8, 100][seed as usize % 3];
    let mut load = Closed::new(outstanding, requests, make);
    load.begin_at(begin);
    let (end, done) = run_closed(ssd, &mut load);
    let whole = done.len() as u64 == requests || engine::Device::standing(ssd).has_ended;
    assert!(whole, "{} of {requests} requests are answered", done.len());
    end
}

#[test]
fn random_drives_pass_the_audit() {
    let mut accepted = 0;
    seeds(0..120, |seed| {
        let (config, keys) = drawn(seed);
        // The spare space may be too small for what is kept open.
        let Ok(mut ssd) = Ssd::new(&config, seed) else { return };
        accepted += 1;
        if seed % 3 > 0 {
            let pages = ssd.facts().pages;
            let random = &mut Xoshiro256::new(seed, 23);
            let all: Vec<u64> = (0..2 * pages).map(|_| random.below(pages)).collect();
            ssd.overwrite_untimed(&all, 0);
            ssd.check().unwrap();
        }
        println!("seed {seed}: {keys:?}");
        mixed(&mut ssd, seed, (0, 1500));
    });
    assert!(accepted > 70 || accepted == 1, "{accepted} drives were accepted");
}

/// The same drives with snapshots, looked at in the middle too.
#[test]
fn random_drives_with_snapshots_pass_the_audit() {
    let (mut accepted, mut made) = (0, 0);
    seeds(0..90, |seed| {
        let random = &mut Xoshiro256::new(seed, 24);
        let (_, mut keys) = drawn(seed);
        keys.extend([
            ("device.snapshots.most", json!(pick(random, &[1, 2, 5]))),
            ("device.snapshots.every", json!(pick(random, &["64KiB", "1MiB", "4MiB"]))),
            ("device.snapshots.space", json!(pick(random, &[0.02, 0.05, 0.1]))),
            ("device.snapshots.queue", json!(pick(random, &[0, 1]))),
            ("device.snapshots.back", json!(pick(random, &[1, 2]))),
        ]);
        let config = resolved(&keys);
        let Ok(mut ssd) = Ssd::new(&config, seed) else { return };
        let geometry = devices::ssd::Geometry::new(&config).unwrap();
        accepted += 1;
        println!("seed {seed}: {keys:?}");
        let (pages, mut now) = (ssd.facts().pages, 0);
        let mut draw = || random.below(pages);
        if seed % 3 > 0 {
            // Some are made without time, and pages are prepared around them.
            ssd.overwrite_untimed(&(0..pages).map(|_| draw()).collect::<Vec<_>>(), 0);
            for id in 0..pages / 2 {
                let page = draw() * u64::from(geometry.sectors_per_page);
                let write = Request::new(id, Op::Write, Lba(page), geometry.sectors_per_page);
                assert!(
                    ssd.serve_untimed(&write).is_ok() || engine::Device::standing(&ssd).has_ended
                );
            }
            ssd.overwrite_untimed(&(0..pages / 2).map(|_| draw()).collect::<Vec<_>>(), 0);
            ssd.check().unwrap();
        }
        for round in 0..3 {
            now = mixed(&mut ssd, seed + round, (now, 500));
            while let Some(at) = engine::Device::next_event(&ssd) {
                now = at;
                engine::Device::advance(&mut ssd, at, &mut Vec::new());
                if draw() % 50 == 0 {
                    ssd.check().unwrap();
                }
            }
        }
        made += ssd.account(now.max(1)).snapshots.unwrap().made;
    });
    assert!(accepted > 40 && made > 1000 || accepted == 1, "{accepted}, {made}");
}

#[test]
fn a_saved_drive_continues_bit_identically() {
    for (reclaim, pace) in [("superblock", "token"), ("block", "burst"), ("superblock", "adaptive")]
    {
        let mut keys = small();
        keys.push(("device.cleaning.reclaim", json!(reclaim)));
        keys.push(("device.cleaning.pace", json!(pace)));
        keys.push(("device.blocks_per_plane", json!(128)));
        let config = resolved(&keys);
        let mut first = prepared(&config, 2);
        // In the middle of a group.
        first.overwrite_untimed(&[1, 2, 3], 0);
        let kept = Model::save(&first).unwrap();
        let mut second = Ssd::new(&config, 1).unwrap();
        second.restore(kept.clone()).unwrap();
        assert!(Model::save(&second).unwrap() == kept);
        let [one, two] = [&mut first, &mut second].map(|ssd| random_writes(ssd, 32, 8000));
        assert!(one.iter().zip(&two).all(|(a, b)| a == b), "{reclaim} {pace}");
    }
}
