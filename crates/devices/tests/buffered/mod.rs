//! Drives with a write buffer: closed forms, laws, and the audit at every turn.

use crate::common::{Closed, configured, run_closed};
use devices::ssd::{Ssd, SsdConfig};
use devices::{DeviceConfig, Prepare};
use engine::{Completion, Lba, Op, Random, Request, Xoshiro256};
use serde_json::{Value, json};

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

fn with(changes: &[(&'static str, Value)]) -> SsdConfig {
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
    let pages = ssd.preparable_pages();
    let random = &mut Xoshiro256::new(5, 5);
    for _ in 0..times {
        let drawn: Vec<u32> = (0..pages).map(|_| random.below(u64::from(pages)) as u32).collect();
        ssd.overwrite_untimed(&drawn);
    }
    ssd.check().unwrap();
    ssd
}

/// Writes of 4 KiB at random, so many outstanding.
fn random_writes(ssd: &mut Ssd, outstanding: u32, requests: u64) -> Vec<Completion> {
    let pages = u64::from(ssd.preparable_pages());
    let mut random = Xoshiro256::new(3, 3);
    let make = move |id| Request::new(id, Op::Write, Lba(random.below(pages) * 8), 8);
    run_closed(ssd, &mut Closed::new(outstanding, requests, make)).1
}

#[test]
fn steady_writes_go_on() {
    for pace in ["token", "burst", "adaptive"] {
        for reclaim in ["superblock", "block"] {
            let config = with(&[
                ("device.cleaning.pace", json!(pace)),
                ("device.cleaning.reclaim", json!(reclaim)),
                ("device.blocks_per_plane", json!(if reclaim == "block" { 128 } else { 64 })),
            ]);
            let mut ssd = prepared(&config, 3);
            random_writes(&mut ssd, 64, 20_000);
            ssd.check().unwrap();
        }
    }
}

/// An erasure waits for the programs that supersede the victim's pages. Where nothing is moved, no copy
/// ever ends to begin it.
#[test]
fn a_volatile_buffer_erases_what_the_host_has_written_over() {
    let config = with(&[("device.buffer.power_loss_protected", json!(false))]);
    let mut ssd = prepared(&config, 0);
    let requests = u64::from(ssd.preparable_pages()) / 32;
    let make = move |id| Request::new(id, Op::Write, Lba(id % requests * 256), 256);
    let done = run_closed(&mut ssd, &mut Closed::new(32, 3 * requests, make)).1;
    assert_eq!(done.len() as u64, 3 * requests);
    ssd.check().unwrap();
}
