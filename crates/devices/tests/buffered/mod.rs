//! Drives with a write buffer: closed forms, laws, and the audit at every turn.

mod amplification;
mod buffer;
mod levelling;
mod pace;
mod random;
mod rates;
mod reads;
mod refusals;
pub mod slc;
mod slc_keys;
mod slc_pairs;
mod stalls;

use crate::common::{Closed, Script, Step, configured, run_closed, run_on};
use devices::ssd::{Ssd, SsdConfig};
use devices::{DeviceConfig, Model};
use engine::{Completion, Lba, Op, Random, Request, Time, Xoshiro256};
use serde_json::{Value, json};

/// A page of [`small`] over the bus, and a group of them, ns.
const PAGE_NS: Time = 16_384;
const GROUP_NS: Time = 6 * PAGE_NS;
/// Dies of [`small`], and logical pages of its groups.
const DIES: u64 = 8;
const UNITS: u64 = 24;
/// Programming a group, ns.
const P: Time = 1_200_000;

type Keys = [(&'static str, Value)];

/// A drive of eight dies of three-bit cells with two planes: groups of 96 KiB, 24 logical pages.
pub fn small() -> Vec<(&'static str, Value)> {
    vec![
        ("device.channels", json!(4)),
        ("device.dies_per_package", json!(2)),
        ("device.planes_per_die", json!(2)),
        ("device.blocks_per_plane", json!(64)),
        ("device.pages_per_block", json!(12)),
        ("device.page_size", json!("16KiB")),
        ("device.spare_size", json!("0B")),
        ("device.logical_page", json!("4KiB")),
        ("device.summary_page", json!(false)),
        ("device.cache_commands", json!(true)),
        ("device.spare_factor", json!(0.2)),
        ("device.cell.bits", json!(3)),
        ("device.timing.read", json!("45us")),
        ("device.timing.program", json!("1.2ms")),
        ("device.timing.erase", json!("3ms")),
        ("device.timing.bus_rate", json!("1000MT/s")),
        ("device.buffer.size", json!("2MiB")),
        ("device.cleaning.min_free", json!(0.04)),
    ]
}

/// The same with changes.
fn with(changes: &Keys) -> SsdConfig {
    let mut keys = small();
    keys.extend(changes.iter().cloned());
    match configured(&keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

/// Every page written over as often as it takes, in random order and without time.
fn prepared(config: &SsdConfig, times: u32) -> Ssd {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let pages = ssd.facts().pages;
    let random = &mut Xoshiro256::new(5, 5);
    for _ in 0..times {
        let drawn: Vec<u64> = (0..pages).map(|_| random.below(pages)).collect();
        ssd.overwrite_untimed(&drawn, 0);
    }
    ssd.check().unwrap();
    ssd
}

/// Runs page-sized steps on a new drive.
fn run(changes: &Keys, steps: &[Step]) -> Vec<Completion> {
    run_on(&mut Ssd::new(&with(changes), 0).unwrap(), Script::pages(steps))
}

/// Writes `groups` groups in order to an empty drive, a group per request. Returns when the last write
/// completed, and when all were programmed (by a flush of the volatile buffer).
fn drained(changes: &Keys, groups: u64) -> (Time, Time) {
    let mut keys =
        vec![("device.fill", json!("empty")), ("device.buffer.power_loss_protected", json!(false))];
    keys.extend(changes.iter().cloned());
    let mut steps: Vec<Step> =
        (0..groups).map(|group| (0, Op::Write, group * UNITS, UNITS as u32)).collect();
    steps.push((0, Op::Flush, 0, 0));
    let done = run(&keys, &steps);
    (done[groups as usize - 1].at, done[groups as usize].at)
}

fn near(found: f64, expected: f64, share: f64, what: &str) {
    let off = found / expected - 1.0;
    println!("{what}: {found:.4}, expected {expected:.4} ({:+.2} %)", 100.0 * off);
    assert!(off.abs() < share, "{what}: {found} is off {expected} by {:+.2} %", 100.0 * off);
}

/// Random writes of 4 KiB at a queue depth of `outstanding`.
fn random_writes(ssd: &mut Ssd, outstanding: u32, requests: u64) -> Vec<Completion> {
    let pages = ssd.facts().pages;
    let mut random = Xoshiro256::new(3, 3);
    let make = move |id| Request::new(id, Op::Write, Lba(random.below(pages) * 8), 8);
    run_closed(ssd, &mut Closed::new(outstanding, requests, make)).1
}
