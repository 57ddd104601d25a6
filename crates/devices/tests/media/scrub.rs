//! Patrols, refreshed blocks, and blocks that are read often.

use super::losses::cut;
use super::{Drive, SECTORS, aged, config, media, new, pages, read_all};
use crate::common::{Closed, run_closed};
use devices::ssd::{Ssd, SsdConfig};
use devices::{Instruction, Model, latency};
use engine::{Lba, Op, Request, Time};
use serde_json::{Value, json};

/// Blocks are refreshed in which a page has drifted by so many steps.
fn scrubbed(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut all = vec![
        ("device.scrub.period", json!("7d")),
        ("device.scrub.drift_limit", json!(6)),
        ("device.media.spread_layer", json!(0.05)),
        ("device.media.spread_block", json!(0.05)),
        ("device.media.spread_page", json!(0.05)),
    ];
    all.extend(changes.iter().cloned());
    config(&all)
}

/// Reads one page again and again.
fn read_one(drive: &mut Drive, count: u64, lba: u64) {
    let make = |n: u64| Request::new(n, Op::Read, Lba(lba), SECTORS as u32);
    let done = drive.serve(1, count, make);
    assert!(done.iter().all(|it| it.status.is_ok()));
}

fn retried(drive: &mut Drive) -> usize {
    read_all(drive).iter().filter(|it| it.breakdown[latency::RETRY] > 0).count()
}

fn refreshed(ssd: &Ssd) -> u64 {
    media(ssd).moved_blocks[0]
}

/// After a year without power a patrol goes through the drive with the first requests, and all that it finds old is
/// young when they are over.
#[test]
pub fn what_a_patrol_finds_old_is_as_new() {
    let config = scrubbed(&[]);
    let mut drive = aged(&config, &["1y at 40C off"]);
    let blocks = 64;
    read_one(&mut drive, blocks, 0);
    drive.check().unwrap();
    let report = drive.account(1);
    let moved = report.aged.as_ref().unwrap().moved_blocks;
    assert!(moved[0] > 45 && moved[1] == 0, "{moved:?}");
    // What is moved is what was valid, and nothing else was.
    assert_eq!(report.media.copy, 0);
    assert_eq!(report.media.refresh + report.media.pad, report.counts.bytes_programmed);
    // One page of each of 32 groups of a block.
    assert!(report.aged.unwrap().patrol_reads >= 32 * moved[0]);
    let count = pages(&drive) as usize;
    let left = retried(&mut drive);
    assert!(left < count / 10, "{left} of {count}");
    // Without that nearly every read is repeated.
    let mut without =
        aged(&scrubbed(&[("device.scrub.on_power", json!(false))]), &["1y at 40C off"]);
    read_one(&mut without, blocks, 0);
    assert_eq!(refreshed(&without), 0);
    assert!(retried(&mut without) > count * 9 / 10);
}

/// Young data are read on patrol, and left where they are.
#[test]
pub fn young_data_stay_where_they_are() {
    let mut drive = new(&scrubbed(&[("device.scrub.period", json!("64ms"))]));
    let mut load = Closed::new(1, 2000, |n| Request::new(n, Op::Read, Lba(n % 100), 8));
    let (end, _) = run_closed(&mut drive.ssd, &mut load);
    let report = media(&drive);
    assert_eq!(report.moved_blocks, [0; 2]);
    // A block each millisecond, of which those that are full hold 32 groups.
    let blocks = end / 1_000_000;
    assert!(report.patrol_reads <= blocks * 32 && report.patrol_reads > blocks * 16, "{blocks}");
}

/// With power the patrol goes on while a drive lies: the longer it lies the older its data get otherwise.
#[test]
pub fn data_of_a_drive_with_power_do_not_grow_old() {
    let drift = |age: &str| {
        let drive = aged(&scrubbed(&[]), &[age]);
        drive.check().unwrap();
        media(&drive).drift[0]
    };
    let (on, off) = (drift("5y at 40C"), drift("5y at 40C off"));
    assert!(on < 6.5 && off > 15.0, "{on} {off}");
    let once = aged(&scrubbed(&[]), &["2y at 40C"]);
    let twice = aged(&scrubbed(&[]), &["1y at 40C", "1y at 40C"]);
    let (once, twice) = (refreshed(&once), refreshed(&twice));
    assert!(once.abs_diff(twice) * 10 < once, "{once} {twice}");
}

/// A drive that is written w times a day and refreshes what is P days old programs 1 / (P w) more for each byte.
#[test]
pub fn refreshing_costs_what_the_closed_form_says() {
    let of = |limit: f64, writes_per_day: f64| {
        let config = scrubbed(&[
            ("device.scrub.drift_limit", json!(limit)),
            ("device.scrub.period", json!("1d")),
            ("device.media.spread_layer", json!(0.0)),
            ("device.media.spread_block", json!(0.0)),
            ("device.media.spread_page", json!(0.0)),
            ("device.retry.steps", json!(100)),
        ]);
        let mut drive = new(&config);
        let pages = pages(&drive);
        let bytes = pages as f64 * 4096.0;
        let pace = Some(86_400e9 / (writes_per_day * bytes));
        drive.instruct(0, Instruction::Pace(pace)).unwrap();
        // The same tenth of the drive is written again and again: the rest stays where it is.
        let count = pages * 3;
        let all: Vec<u64> = (0..count).map(|n| n * 7919 % (pages / 10)).collect();
        drive.overwrite_untimed(&all, 0);
        drive.check().unwrap();
        let report = drive.account(1);
        let days = 3.0 / writes_per_day;
        assert!((media(&drive).clock_days / days - 1.0).abs() < 0.01);
        report.media.refresh as f64 / report.counts.host_bytes_written as f64
    };
    // Drift reaches the limit after so many months, without wear.
    let days = |limit: f64| 365.25 / 12.0 * libm::pow(limit / 3.47, 2.5) + 0.5;
    for (limit, writes) in [(3.0, 0.01), (4.5, 0.01), (2.5, 0.03)] {
        let (found, form) = (of(limit, writes), 0.9 / (days(limit) * writes));
        assert!((found / form - 1.0).abs() < 0.15, "{limit} {writes}: {found} and not {form}");
    }
}

/// A block that is read so often is moved, and then counts from zero.
#[test]
pub fn a_block_that_is_read_often_is_moved_and_counts_anew() {
    let config = config(&[("device.scrub.reclaim_reads", json!(60))]);
    let mut drive = new(&config);
    // 8 dies x 2 planes x 60 reads.
    read_one(&mut drive, 959, 0);
    assert_eq!(media(&drive).moved_blocks, [0, 0]);
    read_one(&mut drive, 1, 0);
    // It is moved with the next request, and its data now lie in a block that is not full.
    read_one(&mut drive, 1, 0);
    assert_eq!(media(&drive).moved_blocks, [0, 1]);
    // The block it lay in is written anew. A quarter of its 768 pages is read now and then: fewer than it bears, and
    // more than the eighth of that after which a block that has been read too often is asked for again.
    let count = pages(&drive);
    for round in 0..5 {
        let all: Vec<u64> =
            (0..count * 2 / 3).map(|n| (round * count * 2 / 3 + n) % count).collect();
        drive.overwrite_untimed(&all, 0);
        let make = |n: u64| Request::new(n, Op::Read, Lba(n * 4 * SECTORS), SECTORS as u32);
        drive.serve(1, count / 4, make);
    }
    assert_eq!(media(&drive).moved_blocks, [0, 1], "no block was read 960 times since");
    drive.check().unwrap();
}

/// What is refreshed while the host writes is what it wrote last, and the audit agrees at every step.
#[test]
pub fn refreshing_beside_writes_loses_nothing() {
    for protected in [true, false] {
        let config = scrubbed(&[
            ("device.buffer.power_loss_protected", json!(protected)),
            ("device.scrub.reclaim_reads", json!(4)),
        ]);
        let mut drive = aged(&config, &["1y at 40C off"]);
        let count = pages(&drive);
        for round in 0..6_u64 {
            let make = |n: u64| {
                let op = if n.is_multiple_of(3) { Op::Read } else { Op::Write };
                Request::new(n, op, Lba((n * 7919 + round) % count * SECTORS), SECTORS as u32)
            };
            drive.serve(16, 3000, make);
            drive.check().unwrap();
        }
        let report = drive.account(1);
        let moved = report.aged.as_ref().unwrap().moved_blocks;
        assert!(moved[0] > 5, "{moved:?}");
        let it = &report.media;
        let sum = it.rows().iter().map(|(_, bytes)| bytes).sum::<u64>();
        assert_eq!(sum, report.counts.bytes_programmed);
        assert!(it.refresh > 0);
    }
}

/// The same reads find the same blocks too old, in time and without.
#[test]
pub fn a_patrol_decides_alike_in_time_and_without() {
    let config = scrubbed(&[("device.scrub.drift_limit", json!(19))]);
    let mut timed = aged(&config, &["1y at 40C off"]);
    read_one(&mut timed, 64, 0);
    let mut untimed = aged(&config, &["1y at 40C off"]);
    untimed.instruct(0, Instruction::Age("7d at -40C".parse().unwrap())).unwrap();
    let (timed, untimed) = (refreshed(&timed), refreshed(&untimed));
    assert!(timed > 0 && timed < 51 && timed == untimed, "{timed} {untimed}");
}

#[test]
pub fn a_saved_drive_goes_on_with_its_patrol() {
    let config = scrubbed(&[("device.scrub.drift_limit", json!(11))]);
    let mut drive = new(&config);
    drive.instruct(0, Instruction::Age("10d at 40C".parse().unwrap())).unwrap();
    let mut restored = new(&config);
    restored.restore(drive.save().unwrap()).unwrap();
    for drive in [&mut drive, &mut restored] {
        drive.instruct(0, Instruction::ResetCounts).unwrap();
        drive.instruct(0, Instruction::Age("200d at 40C".parse().unwrap())).unwrap();
    }
    assert_eq!(media(&drive).moved_blocks, media(&restored).moved_blocks);
    assert_eq!(media(&drive).patrol_reads, media(&restored).patrol_reads);
}

#[test]
pub fn what_no_patrol_can_do_is_refused() {
    let refuse = |changes: &[(&'static str, Value)], part: &str| {
        let problem = Ssd::new(&config(changes), 0).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
    };
    let on = ("device.scrub.period", json!("7d"));
    refuse(&[("device.scrub.period", json!("0s"))], "0 is no time");
    refuse(&[on.clone(), ("device.scrub.limit", json!(0.0))], "0 is not a share above 0");
    refuse(&[on.clone(), ("device.scrub.limit", json!(1.5))], "at most 1");
    refuse(&[on, ("device.scrub.drift_limit", json!(-1.0))], "steps above 0");
    refuse(&[("device.scrub.reclaim_reads", json!(0))], "at least 1");
}

/// A power cut takes what the controller counted, and not the clock of the flash; afterwards the drive is patrolled.
#[test]
pub fn a_cut_takes_what_was_counted_and_wakes_the_patrol() {
    let config = scrubbed(&[
        ("device.persistence.recovery", json!("spare")),
        ("device.scrub.reclaim_reads", json!(10)),
        ("device.scrub.period", json!("100y")),
    ]);
    let reads = |cuts: bool| {
        let mut drive = new(&config);
        read_one(&mut drive, 150, 0);
        if cuts {
            cut(&mut drive);
        }
        read_one(&mut drive, 100, 0);
        drive.check().unwrap();
        let found = media(&drive);
        (found.moved_blocks[1], found.patrol_reads > 0)
    };
    assert_eq!(reads(false), (1, false));
    assert_eq!(reads(true), (0, true));
}

/// What reads on patrol take, the host waits for.
#[test]
pub fn reads_on_patrol_take_their_time() {
    let of = |period: &str| {
        let mut drive = new(&scrubbed(&[("device.scrub.period", json!(period))]));
        let count = pages(&drive);
        let make = |n: u64| Request::new(n, Op::Read, Lba(n * 7919 % count * SECTORS), 8);
        let done = drive.serve(4, 4000, make);
        done.iter().map(engine::Completion::latency).sum::<Time>()
    };
    assert!(of("64ms") > of("100y"));
}
