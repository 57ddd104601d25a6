//! Pages beyond correction: which are lost, what heals them, and what does not.

use super::{
    Drive, SECTORS, aged, config, losing, lost_of, media, new, pages, read_all, times, worn, write,
};
use crate::common::seeds;
use devices::ssd::SsdConfig;
use devices::ssd::media::{Aged, Forecast};
use devices::{Instruction, Model, latency};
use engine::{Device, Lba, Op, Random, Request, Status, Xoshiro256};
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[test]
pub fn a_stronger_code_never_loses_a_page_more() {
    let of = |soft: &str, hard: f64| {
        let config = worn(&[("device.ecc.soft", json!(soft)), ("device.ecc.hard", json!(hard))]);
        lost_of(&mut aged(&config, &["1y at 40C"]))
    };
    let (none, one, two) =
        (of("none", 8.8e-3), of("1.1e-2 in 2", 8.8e-3), of("1.1e-2 in 2, 1.4e-2 in 6", 8.8e-3));
    assert!(two.is_subset(&one) && one.is_subset(&none) && two.len() < none.len());
    assert!(none.is_subset(&of("none", 7e-3)));
}

/// Pages that are alike but for how many of their bits are wrong by chance.
fn by_bits(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut all = vec![
        ("device.ecc.kind", json!("bch")),
        ("device.media.spread_errors", json!(0.0)),
        ("device.media.cycles", json!(3200)),
        ("device.blocks_per_plane", json!(256)),
    ];
    all.extend(changes.iter().cloned());
    config(&all)
}

#[test]
pub fn a_code_of_bits_corrects_pages_as_often_as_the_binomial_distribution_says() {
    for corrects in [62, 66, 72] {
        let config = by_bits(&[("device.ecc.corrects", json!(corrects))]);
        let mut ssd = aged(&config, &["30d at 30C"]);
        read_all(&mut ssd);
        let report = media(&ssd);
        let reads: u64 = report.retries.iter().sum();
        let forecast = Forecast::of(&config).unwrap();
        let hours = devices::ssd::media::MONTH * 12.0 * 30.0 / 365.25;
        let expected = forecast.soft(Aged { cycles: 3200.0, hours });
        let found = report.soft_reads as f64 / reads as f64;
        let deviation = (expected * (1.0 - expected) / reads as f64).sqrt();
        let off = (found - expected).abs();
        assert!(expected > 0.001 && off < 4.0 * deviation + 0.003, "{found} and not {expected}");
    }
}

#[test]
pub fn a_code_that_corrects_more_bits_never_loses_a_page_more_and_a_second_read_finds_the_same() {
    let of = |corrects: u32| {
        let changes =
            [("device.ecc.corrects", json!(corrects)), ("device.ecc.soft", json!("none"))];
        let mut ssd = aged(&by_bits(&changes), &["30d at 30C"]);
        let lost = lost_of(&mut ssd);
        assert_eq!(lost_of(&mut ssd), lost);
        lost
    };
    let (weak, strong) = (of(62), of(68));
    assert!(strong.is_subset(&weak) && strong.len() < weak.len() && !strong.is_empty());
}

/// A write to a young drive looks at no page, because none can be lost.
#[test]
pub fn what_was_proven_of_a_young_drive_is_not_believed_of_an_old_one() {
    let mut ssd = new(&losing(&[]));
    write(&mut ssd, &[(Op::Write, 0, SECTORS as u32)]);
    assert_eq!(media(&ssd).healed, 0);
    ssd.instruct(0, Instruction::Age("1y at 40C".parse().unwrap())).unwrap();
    let lost: Vec<u64> = lost_of(&mut ssd).into_iter().collect();
    assert!(lost.len() > 10);
    let all: Vec<_> = lost.iter().map(|page| (Op::Write, page * SECTORS, SECTORS as u32)).collect();
    write(&mut ssd, &all);
    assert_eq!(media(&ssd).healed, lost.len() as u64);
}

#[test]
pub fn a_page_that_fails_goes_on_failing_in_time_and_without() {
    let config = losing(&[]);
    let mut ssd = aged(&config, &["1y at 40C"]);
    let first = lost_of(&mut ssd);
    let share = first.len() as f64 / pages(&ssd) as f64;
    assert!(share > 0.01 && share < 0.5, "{share}");
    assert_eq!(lost_of(&mut ssd), first, "a second read finds the same");
    let mut untimed = aged(&config, &["1y at 40C"]);
    // In another order.
    let mut found = BTreeSet::new();
    for page in (0..pages(&untimed)).rev() {
        let request = Request::new(page, Op::Read, Lba(page * SECTORS), SECTORS as u32);
        if untimed.serve_untimed(&request) == Status::Unreadable {
            found.insert(page);
        }
    }
    assert_eq!(found, first);
    assert_eq!(media(&untimed).unreadable, first.len() as u64);
}

#[test]
pub fn a_write_or_a_trim_heals_a_page_and_a_write_in_part_does_not() {
    let mut ssd = aged(&losing(&[]), &["1y at 40C"]);
    let before = lost_of(&mut ssd);
    let three: Vec<u64> = before.iter().copied().take(3).collect();
    let [whole, part, trimmed] = three[..] else { panic!("too few: {before:?}") };
    write(
        &mut ssd,
        &[
            (Op::Write, whole * SECTORS, SECTORS as u32),
            (Op::Write, part * SECTORS, 1),
            (Op::Trim, trimmed * SECTORS, SECTORS as u32),
        ],
    );
    let after = lost_of(&mut ssd);
    let healed: Vec<u64> = before.difference(&after).copied().collect();
    assert_eq!(healed, [whole.min(trimmed), whole.max(trimmed)]);
    assert!(after.is_subset(&before) && after.contains(&part));
    write(&mut ssd, &[(Op::Write, part * SECTORS, SECTORS as u32)]);
    assert!(!lost_of(&mut ssd).contains(&part));
    assert_eq!(media(&ssd).healed, 2);
}

/// Overwrites the upper half of the drive until cleaning has moved all of the lower half.
fn churn(ssd: &mut Drive, timed: bool) {
    let half = pages(ssd) / 2;
    let mut random = Xoshiro256::new(9, 2);
    let numbers: Vec<u64> = (0..half * 8).map(|_| half + random.below(half)).collect();
    if timed {
        let of = |page: u64| (Op::Write, page * SECTORS, SECTORS as u32);
        write(ssd, &numbers.into_iter().map(of).collect::<Vec<_>>());
    } else {
        for page in numbers {
            ssd.overwrite_untimed(&[page], 0);
        }
    }
}

#[test]
pub fn cleaning_moves_what_is_lost_as_lost_and_the_rest_is_young_again() {
    for timed in [true, false] {
        let config = losing(&[("device.cleaning.policy", json!("fifo"))]);
        let mut ssd = aged(&config, &["1y at 40C"]);
        let half = pages(&ssd) / 2;
        let lower =
            |all: BTreeSet<u64>| all.into_iter().filter(|it| *it < half).collect::<BTreeSet<_>>();
        let before = lower(lost_of(&mut ssd));
        assert!(!before.is_empty());
        churn(&mut ssd, timed);
        assert!(media(&ssd).poisoned > before.len() as u64 / 2, "most of them were moved");
        let until = media(&ssd);
        assert_eq!(lower(lost_of(&mut ssd)), before, "timed: {timed}");
        let counted = media(&ssd).uncorrectable - until.uncorrectable;
        let failed = media(&ssd).unreadable - until.unreadable;
        assert!(5 * counted > 4 * failed, "copies count as lost: {counted} {failed}");
        let share = media(&ssd).retries[0] as f64 / media(&ssd).reads()[0] as f64;
        assert!(share > 0.3, "what was moved reads at once: {share}");
        ssd.audit().unwrap();
    }
}

#[test]
pub fn a_saved_drive_is_as_old_when_it_is_restored() {
    let config = losing(&[("device.cleaning.policy", json!("fifo"))]);
    let mut ssd = aged(&config, &["1y at 40C"]);
    churn(&mut ssd, false);
    let mut restored = new(&config);
    let saved = ssd.save().unwrap();
    restored.restore(saved.clone()).unwrap();
    assert!((media(&restored).clock_days - media(&ssd).clock_days).abs() < 1e-9);
    assert_eq!(times(&read_all(&mut restored)), times(&read_all(&mut ssd)));
    let mut other = new(&self::config(&[("device.media.model", json!("qlc-3d"))]));
    let refusal = other.restore(saved).unwrap_err();
    assert!(refusal.contains("device.media.model is tlc-3d there and qlc-3d here"), "{refusal}");
}

#[test]
pub fn a_saved_drive_has_the_time_that_it_was_used() {
    const HOUR: u64 = 3_600_000_000_000;
    let config = config(&[]);
    let mut used = new(&config);
    for hour in 0..5 {
        used.at = 20 * hour * HOUR;
        write(&mut used, &[(Op::Read, 0, SECTORS as u32)]);
    }
    let days = media(&used).clock_days;
    assert!((days - 80.0 / 24.0).abs() < 1e-2, "{days}");
    let mut restored = new(&config);
    restored.restore(used.save().unwrap()).unwrap();
    assert!((media(&restored).clock_days - days).abs() < 1e-2, "{}", media(&restored).clock_days);
}

/// Share of pages that are lost of a drive that is old.
fn share(config: &SsdConfig) -> (f64, Drive) {
    let mut drive = aged(config, &["1y at 40C"]);
    (lost_of(&mut drive).len() as f64 / pages(&drive) as f64, drive)
}

/// Longer blocks, so that a block has sixteen rounds of word lines.
fn tall(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut all =
        vec![("device.pages_per_block", json!(48)), ("device.blocks_per_plane", json!(24))];
    all.extend(changes.iter().cloned());
    losing(&all)
}

/// Of stripes whose pages are lost independently, that is of two and more.
#[test]
pub fn parity_brings_back_what_is_lost_alone() {
    let even = [
        ("device.media.spread_layer", json!(0.0)),
        ("device.media.spread_block", json!(0.0)),
        ("device.media.spread_page", json!(0.27)),
    ];
    let (p, _) = share(&tall(&even));
    let with = [&even[..], &[("device.parity.of", json!(8))]].concat();
    let (left, mut drive) = share(&tall(&with));
    assert!(p > 0.01, "{p}");
    let expected = 7.0 * p * p;
    assert!(libm::log(left / expected).abs() < 0.6, "{left} of {p}, and not {expected}");
    let report = media(&drive);
    assert!(report.rebuilt > 0 && report.rebuilt < report.uncorrectable);
    let all = read_all(&mut drive);
    let rebuilt: Vec<_> =
        all.iter().filter(|it| it.status.is_ok() && it.breakdown[latency::REBUILD] > 0).collect();
    assert!(!rebuilt.is_empty());
    // Seven pages of 16 KiB cross the bus, after a sense.
    let least = 45_000 + 7 * 16_384;
    assert!(rebuilt.iter().all(|it| it.breakdown[latency::REBUILD] >= least));
}

/// The last groups of a stripe are not written yet, and neither is its parity.
#[test]
pub fn an_open_stripe_brings_nothing_back() {
    let config = tall(&[
        ("device.parity.of", json!(8)),
        ("device.fill", json!("empty")),
        ("device.retry.steps", json!(20)),
        ("device.media.spread_page", json!(0.27)),
    ]);
    let mut drive = new(&config);
    let of = |page: u64| (Op::Write, page * SECTORS, SECTORS as u32);
    write(&mut drive, &(0..144).map(of).collect::<Vec<_>>());
    drive.instruct(0, Instruction::Age("1y at 40C".parse().unwrap())).unwrap();
    assert!(!lost_of(&mut drive).is_empty());
    assert_eq!(media(&drive).rebuilt, 0);
}

/// Where word lines differ, a stripe along one loses several pages at once; staggered over word lines it does not.
#[test]
pub fn a_staggered_stripe_survives_a_bad_word_line() {
    let of = |stagger: bool| {
        share(&tall(&[
            ("device.media.spread_layer", json!(0.3)),
            ("device.media.spread_block", json!(0.0)),
            ("device.media.spread_page", json!(0.05)),
            ("device.parity.of", json!(8)),
            ("device.parity.stagger", json!(stagger)),
        ]))
        .0
    };
    let (along, staggered) = (of(false), of(true));
    assert!(staggered < along / 1.25, "{staggered} {along}");
}

/// What was overwritten and erased since is as new, and nothing is remembered of what was lost there.
#[test]
pub fn what_is_erased_is_forgotten() {
    let config = losing(&[("device.cleaning.policy", json!("fifo"))]);
    let mut drive = aged(&config, &["1y at 40C"]);
    churn(&mut drive, false);
    assert!(media(&drive).poisoned > 0);
    let count = pages(&drive);
    for n in 0..4 * count {
        drive.overwrite_untimed(&[n % count], 0);
    }
    assert_eq!(media(&drive).poisoned, 0);
    assert!(lost_of(&mut drive).is_empty());
}

/// A random script of writes, writes in part, trims and ages: at each rest exactly what was lost and neither written
/// in full nor trimmed is lost. In time and without, with the power cut in between.
fn script(seed: u64, timed: bool, cuts: bool) {
    let mut changes = vec![("device.cleaning.policy", json!("fifo"))];
    if cuts {
        changes.push(("device.persistence.recovery", json!("spare")));
        changes.push(("device.buffer.power_loss_protected", json!(seed.is_multiple_of(2))));
    }
    let mut drive = aged(&losing(&changes), &["1y at 40C"]);
    let random = &mut Xoshiro256::new(seed, 3);
    let count = pages(&drive);
    let mut expected = lost_of(&mut drive);
    for round in 0..6 {
        // A quarter of the pages, so that some are written often and stay in the buffer.
        let (from, some) = (random.below(3) * count / 4, count / 4);
        let mut order: Vec<u64> = (0..some).map(|n| from + n * 977 % some).collect();
        order.dedup();
        let mut requests = Vec::new();
        for page in order {
            let lba = page * SECTORS;
            match random.below(12) {
                0 => requests.push((Op::Trim, lba, SECTORS as u32)),
                1 => requests.push((Op::Write, lba + random.below(SECTORS), 1)),
                _ => requests.push((Op::Write, lba, SECTORS as u32)),
            }
        }
        for (op, lba, sectors) in &requests {
            if *op == Op::Trim || u64::from(*sectors) == SECTORS {
                expected.remove(&(lba / SECTORS));
            }
        }
        if timed {
            write(&mut drive, &requests);
        } else {
            for (n, (op, lba, sectors)) in requests.into_iter().enumerate() {
                let request = Request::new(n as u64, op, Lba(lba), sectors);
                assert!(drive.serve_untimed(&request).is_ok());
            }
        }
        if cuts {
            cut(&mut drive);
        }
        drive.audit().unwrap();
        assert_eq!(lost_of(&mut drive), expected, "seed {seed}, round {round}, timed {timed}");
    }
    assert!(!expected.is_empty());
}

/// Flushes, and cuts the power; until the drive serves again.
pub fn cut(drive: &mut Drive) {
    drive.serve(1, 1, |n| Request::new(n, Op::Flush, Lba(0), 0));
    let (at, mut done) = (drive.at + 1_000, Vec::new());
    drive.cut(at, &mut done);
    drive.power_on(at + 1_000_000);
    drive.at = at + 1_000_000;
    while let Some(next) = drive.next_event().filter(|_| !drive.standing().is_ready) {
        drive.at = next;
        drive.ssd.advance(next, &mut done);
    }
    assert!(drive.standing().is_ready);
}

#[test]
pub fn only_a_whole_write_or_a_trim_heals() {
    seeds(0..2, |seed| {
        script(seed, true, false);
        script(seed, false, false);
    });
}

#[test]
pub fn power_cuts_heal_nothing() {
    seeds(0..2, |seed| script(seed, true, true));
}

/// The clock of a drive goes on through a cut.
#[test]
pub fn a_cut_makes_nothing_young() {
    let config = config(&[("device.persistence.recovery", json!("spare"))]);
    let mut drive = aged(&config, &["1y at 40C"]);
    let (days, before) = (media(&drive).clock_days, times(&read_all(&mut drive)));
    cut(&mut drive);
    assert!((media(&drive).clock_days - days).abs() < 0.01);
    let after = times(&read_all(&mut drive));
    assert!(before.iter().zip(&after).all(|(one, other)| one.1 == other.1));
}
