//! Write amplification of superblocks and of both gears.

use super::{near, prepared, with};
use crate::common::{Closed, greedy, run_closed};
use devices::ssd::Ssd;
use devices::{Examine, Prepare};
use engine::{Lba, Op, Random, Request, Xoshiro256};
use serde_json::{Value, json};

/// Superblocks that take part.
const BLOCKS: u32 = 1024;
/// Those that do not: what the threshold keeps erased, and the two that fill, of which one has just been
/// opened whenever cleaning chooses.
const HELD: u32 = 3;
/// Logical pages of a superblock, however many dies it spans.
const PAGES: u32 = 64;

/// A drive of `dies` dies with one plane and one bit per cell, in superblocks of 64 pages.
fn spanning(dies: u32, op: f64) -> Ssd {
    let physical = f64::from(BLOCKS + HELD) / f64::from(BLOCKS);
    let channels = dies.min(8);
    let config = with(&[
        ("device.channels", json!(channels)),
        ("device.dies_per_package", json!(dies / channels)),
        ("device.planes_per_die", json!(1)),
        ("device.cell.bits", json!(1)),
        ("device.page_size", json!("4KiB")),
        ("device.blocks_per_plane", json!(BLOCKS + HELD)),
        ("device.pages_per_block", json!(PAGES / dies)),
        ("device.spare_factor", json!(1.0 - 1.0 / ((1.0 + op) * physical))),
        ("device.cleaning.min_free", json!(0.0)),
    ]);
    Ssd::new(&config, 1).unwrap()
}

fn overwrite(ssd: &mut Ssd, random: &mut Xoshiro256, times: u32) {
    let pages = ssd.preparable_pages();
    for _ in 0..times {
        let drawn: Vec<u64> = (0..pages).map(|_| random.below(pages)).collect();
        ssd.overwrite_untimed(&drawn);
    }
}

#[test]
fn superblocks_amplify_writes_as_the_theory_says() {
    for (dies, op) in [(1, 0.07), (1, 0.2), (2, 0.2), (8, 0.07), (8, 0.5), (64, 0.2)] {
        let mut ssd = spanning(dies, op);
        let random = &mut Xoshiro256::new(11, 0);
        overwrite(&mut ssd, random, 2);
        ssd.reset_counts();
        overwrite(&mut ssd, random, 2);
        ssd.check().unwrap();
        let report = ssd.report(0).unwrap();
        let found = report.write_amplification.unwrap();
        let what = format!("superblocks of {dies} dies, {op} over-provisioned");
        near(found, greedy(1.0 + op, PAGES), 0.01, &what);
    }
}

#[test]
fn both_gears_amplify_writes_alike() {
    let cases: [(&str, &[(&'static str, Value)]); 6] = [
        ("superblock", &[]),
        ("block", &[("device.cleaning.reclaim", json!("block"))]),
        ("one bit", &[("device.cell.bits", json!(1)), ("device.pages_per_block", json!(1))]),
        (
            "four planes",
            &[("device.planes_per_die", json!(4)), ("device.buffer.size", json!("3MiB"))],
        ),
        (
            "16 KiB",
            &[("device.logical_page", json!("16KiB")), ("device.pages_per_block", json!(24))],
        ),
        ("small buffer", &[("device.buffer.size", json!("768KiB"))]),
    ];
    for (name, more) in cases {
        // Small superblocks, so that there are many: the gears differ by about one that is erased.
        let mut keys = vec![
            ("device.blocks_per_plane", json!(1024)),
            ("device.pages_per_block", json!(3)),
            ("device.cleaning.min_free", json!(0.0)),
            ("device.timing.erase", json!("1us")),
        ];
        keys.extend(more.iter().cloned());
        if name == "block" {
            keys.push(("device.blocks_per_plane", json!(512)));
            keys.push(("device.pages_per_block", json!(12)));
        }
        let config = with(&keys);
        let mut untimed = prepared(&config, 3);
        let mut timed = prepared(&config, 3);
        untimed.reset_counts();
        timed.reset_counts();
        let pages = untimed.preparable_pages();
        let sectors = engine::Device::capacity_sectors(&untimed) / pages;
        let random = &mut Xoshiro256::new(12, 0);
        overwrite(&mut untimed, random, 1);
        let mut random = Xoshiro256::new(12, 0);
        let make = |id| {
            let lba = Lba(random.below(pages) * sectors);
            Request::new(id, Op::Write, lba, sectors as u32)
        };
        run_closed(&mut timed, &mut Closed::new(64, pages, make));
        // Pages that were written again in the buffer are programmed once, which is what differs.
        let counts = timed.report(1).unwrap().counts;
        let written = counts.host_pages_written - counts.replaced_pages;
        let found = counts.page_programs as f64 / written as f64;
        let expected = untimed.report(1).unwrap().write_amplification.unwrap();
        near(found, expected, 0.01, &format!("{name}, timed against untimed"));
    }
}
