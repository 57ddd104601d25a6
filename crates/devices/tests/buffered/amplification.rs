//! Write amplification of superblocks, timed and untimed.

use super::{near, prepared, with};
use crate::common::{Closed, greedy, run_closed};
use devices::ssd::Ssd;
use devices::ssd::account::Counts;
use devices::{Instruction, Model};
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
    let pages = ssd.facts().pages;
    for _ in 0..times {
        let drawn: Vec<u64> = (0..pages).map(|_| random.below(pages)).collect();
        ssd.overwrite_untimed(&drawn, 0);
    }
}

#[test]
fn superblocks_amplify_writes_as_the_theory_says() {
    for (dies, op) in [(1, 0.07), (1, 0.2), (2, 0.2), (8, 0.07), (8, 0.5), (64, 0.2)] {
        let mut ssd = spanning(dies, op);
        let random = &mut Xoshiro256::new(11, 0);
        overwrite(&mut ssd, random, 2);
        ssd.instruct(0, Instruction::ResetCounts).unwrap();
        overwrite(&mut ssd, random, 2);
        ssd.check().unwrap();
        let report = ssd.account(0);
        let found = report.write_amplification.unwrap();
        let what = format!("superblocks of {dies} dies, {op} over-provisioned");
        near(found, greedy(1.0 + op, PAGES), 0.01, &what);
    }
}

#[test]
fn timed_and_untimed_runs_have_the_same_write_amplification() {
    let cases: [(&str, &[(&'static str, Value)]); 7] = [
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
        ("single frontier", &[("device.cleaning.frontiers", json!("single"))]),
    ];
    for (name, more) in cases {
        // Small superblocks, so that there are many: timed and untimed runs differ by about one that is erased.
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
        untimed.instruct(0, Instruction::ResetCounts).unwrap();
        timed.instruct(0, Instruction::ResetCounts).unwrap();
        let pages = untimed.facts().pages;
        let sectors = engine::Device::capacity_sectors(&untimed) / pages;
        let random = &mut Xoshiro256::new(12, 0);
        overwrite(&mut untimed, random, 1);
        let mut random = Xoshiro256::new(12, 0);
        let make = |id| {
            let lba = Lba(random.below(pages) * sectors);
            Request::new(id, Op::Write, lba, sectors as u32)
        };
        run_closed(&mut timed, &mut Closed::new(64, pages, make));
        let [found, expected] =
            [&timed, &untimed].map(|ssd| ssd.account(1).write_amplification.unwrap());
        near(found, expected, 0.01, &format!("{name}, timed against untimed"));
    }
}

/// Many pages at a time take shorter ways than requests, a page each.
#[test]
fn overwriting_pages_gives_the_state_of_serving_their_writes() {
    let cases: [&[(&'static str, Value)]; 8] = [
        &[],
        &[("device.buffer.power_loss_protected", json!(false))],
        &[("device.cleaning.reclaim", json!("block"))],
        &[("device.cleaning.frontiers", json!("single"))],
        &[("device.cleaning.frontiers", json!("hot-cold"))],
        &[("device.cell.bits", json!(1)), ("device.pages_per_block", json!(1))],
        &[("device.summary_page", json!(true))],
        &[("device.fill", json!("empty")), ("device.buffer.size", json!("3MiB"))],
    ];
    for (more, skewed_pages) in cases.into_iter().flat_map(|more| [(more, false), (more, true)]) {
        let mut keys = vec![
            ("device.blocks_per_plane", json!(256)),
            ("device.pages_per_block", json!(6)),
            ("device.cleaning.min_free", json!(0.01)),
        ];
        keys.extend(more.iter().cloned());
        let mut drive = Ssd::new(&with(&keys), 1).unwrap();
        let mut slow = drive.clone();
        let pages = drive.facts().pages;
        let sectors = engine::Device::capacity_sectors(&drive) / pages;
        let random = &mut Xoshiro256::new(17, 0);
        for count in [1, 100, 2 * pages, pages / 2] {
            let mut draw =
                || if skewed_pages { skewed(random, pages) } else { random.below(pages) };
            let drawn: Vec<u64> = (0..count).map(|_| draw()).collect();
            drive.overwrite_untimed(&drawn, 0);
            for page in drawn {
                let request = Request::new(0, Op::Write, Lba(page * sectors), sectors as u32);
                assert!(slow.serve_untimed(&request).is_ok());
            }
            let counts = [&drive, &slow].map(|drive| drive.account(0).counts);
            assert_eq!(counts[0], counts[1], "{more:?}, {skewed_pages}");
        }
        assert!(drive.account(0).counts.block_erases > 100, "{more:?}");
        drive.check().unwrap();
        assert!(Model::save(&drive) == Model::save(&slow), "{more:?}, {skewed_pages}");
    }
}

/// A page of which few are hot: the lower its number, the hotter, as in a Zipf distribution with exponent near 1.
fn skewed(random: &mut Xoshiro256, pages: u64) -> u64 {
    let share = random.below(1 << 32) as f64 / (1_u64 << 32) as f64;
    let rank = libm::exp(share * libm::log(pages as f64)) as u64 - 1;
    // Neighbours in rank are not neighbours on the drive.
    rank * 7919 % pages
}

#[test]
fn timed_and_untimed_runs_overwrite_hot_pages_in_the_buffer() {
    for protected in [true, false] {
        let config = with(&[
            ("device.blocks_per_plane", json!(512)),
            ("device.pages_per_block", json!(12)),
            ("device.cleaning.min_free", json!(0.0)),
            ("device.buffer.power_loss_protected", json!(protected)),
        ]);
        let mut untimed = prepared(&config, 2);
        let mut timed = prepared(&config, 2);
        let pages = untimed.facts().pages;
        let sectors = engine::Device::capacity_sectors(&untimed) / pages;
        let [mut random, mut same] = [(); 2].map(|()| Xoshiro256::new(13, 0));
        let make = |id| {
            let lba = Lba(skewed(&mut random, pages) * sectors);
            Request::new(id, Op::Write, lba, sectors as u32)
        };
        for ssd in [&mut untimed, &mut timed] {
            ssd.instruct(0, Instruction::ResetCounts).unwrap();
        }
        let writes = 2 * pages;
        for id in 0..writes {
            let lba = Lba(skewed(&mut same, pages) * sectors);
            assert!(
                untimed.serve_untimed(&Request::new(id, Op::Write, lba, sectors as u32)).is_ok()
            );
        }
        run_closed(&mut timed, &mut Closed::new(64, writes, make));
        untimed.check().unwrap();
        let [one, two] = [&timed, &untimed].map(|ssd| ssd.account(1).counts);
        let what = format!("protected {protected}, timed against untimed");
        let replaced = two.replaced_pages as f64 / writes as f64;
        assert!(
            replaced > 0.1,
            "{what}: only {replaced} of the pages are overwritten in the buffer"
        );
        // How full the buffer is was fitted to another drive: here 6.7 % apart.
        near(one.page_programs as f64, two.page_programs as f64, 0.08, &what);
    }
}

#[test]
fn without_time_a_flush_pads_what_a_power_cut_would_lose() {
    for protected in [false, true] {
        let config = with(&[("device.buffer.power_loss_protected", json!(protected))]);
        let page = |id, page: u64| Request::new(id, Op::Write, Lba(page * 8), 8);
        let flush = |id| Request::new(id, Op::Flush, Lba(0), 0);
        let forced = Request { fua: true, ..page(9, 70) };
        let asked = [
            page(0, 1),
            page(1, 2),
            page(2, 1),
            flush(3),
            page(4, 1),
            page(5, 50),
            page(6, 50),
            flush(7),
            page(8, 60),
            forced,
            page(10, 60),
        ];
        let count = asked.len() as u64;
        let (mut timed, mut untimed) =
            (Ssd::new(&config, 1).unwrap(), Ssd::new(&config, 1).unwrap());
        run_closed(&mut timed, &mut Closed::new(1, count, |id| asked[id as usize]));
        for request in &asked {
            assert!(untimed.serve_untimed(request).is_ok());
        }
        let [one, two] = [&timed, &untimed].map(|ssd| {
            let counts = ssd.account(1).counts;
            let Counts { padding_pages, replaced_pages, groups_programmed, page_programs, .. } =
                counts;
            (padding_pages, replaced_pages, groups_programmed, page_programs)
        });
        assert_eq!(one, two, "protected {protected}");
        assert_eq!(two.1, if protected { 4 } else { 2 }, "protected {protected}");
        assert_eq!(two.0 > 0, !protected, "only what a cut would lose is padded");
    }
}

/// Nine writes of ten go to a tenth of the pages, and a detector, or their address, tells them.
#[test]
fn both_gears_gain_as_much_by_keeping_hot_pages_from_cold_ones() {
    let amplified = |more: &[(&'static str, Value)]| {
        let mut keys = vec![
            ("device.blocks_per_plane", json!(512)),
            ("device.pages_per_block", json!(12)),
            ("device.cleaning.min_free", json!(0.0)),
            ("device.timing.erase", json!("1us")),
        ];
        keys.extend(more.iter().cloned());
        let config = with(&keys);
        let hot = |random: &mut Xoshiro256, pages: u64| {
            let hot = random.below(10) > 0;
            if hot { random.below(pages / 10) } else { random.below(pages) }
        };
        let build = || {
            let mut ssd = Ssd::new(&config, 1).unwrap();
            let (pages, random) = (ssd.facts().pages, &mut Xoshiro256::new(5, 5));
            let drawn: Vec<u64> = (0..3 * pages).map(|_| hot(random, pages)).collect();
            ssd.overwrite_untimed(&drawn, 0);
            ssd.instruct(0, Instruction::ResetCounts).unwrap();
            ssd
        };
        let (mut untimed, mut timed) = (build(), build());
        let pages = untimed.facts().pages;
        let random = &mut Xoshiro256::new(12, 0);
        let drawn: Vec<u64> = (0..pages).map(|_| hot(random, pages)).collect();
        untimed.overwrite_untimed(&drawn, 0);
        let make = |id| Request::new(id, Op::Write, Lba(drawn[id as usize] * 8), 8);
        run_closed(&mut timed, &mut Closed::new(64, pages, make));
        [&timed, &untimed].map(|ssd| {
            ssd.check().unwrap();
            ssd.account(1).write_amplification.unwrap()
        })
    };
    let frontiers = |word: &str| ("device.cleaning.frontiers", json!(word));
    let [apart, _] = amplified(&[frontiers("auto")]);
    let [single, _] = amplified(&[frontiers("single")]);
    for detector in ["address", "writes"] {
        let detector = ("device.cleaning.hot_cold.detector", json!(detector));
        let [timed, untimed] = amplified(&[frontiers("hot-cold"), detector.clone()]);
        println!("single {single}, apart {apart}, by {} {timed} and {untimed}", detector.1);
        near(timed, untimed, 0.02, "timed against untimed");
        assert!(timed < 0.95 * apart && apart < single, "{timed} {apart} {single}");
    }
}
