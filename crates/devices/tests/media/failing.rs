//! Dies that fail, defects, and drives that give up.

use super::{Drive, SECTORS, aged, config, lost, media, new, pages, read_all};
use devices::ssd::{Ssd, SsdConfig};
use devices::{Instruction, Model};
use engine::{Device, Lba, Op, Request, Status};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A drive whose data do not suffer from age, so that all that is lost has failed.
fn sound(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut all = vec![("device.media.spread_errors", json!(0.05))];
    all.extend(changes.iter().cloned());
    config(&all)
}

/// The die on which each logical page lies: it was filled in order, 24 pages of a group, a group on each of 8 dies.
fn die_of(page: u64) -> u64 {
    page / 24 % 8
}

fn of(dies: &[(&'static str, Value)], chance: f64, age: &str) -> (u64, BTreeSet<u64>) {
    let mut all = vec![("device.spares.sick_dies", json!(chance))];
    all.extend(dies.iter().cloned());
    let mut drive = aged(&sound(&all), &[age]);
    let lost = lost(&read_all(&mut drive));
    (media(&drive).failures.unwrap()[0], lost)
}

/// The chance with which exactly so many of the dies are lost after 4 years at 30 C, for the seed of these tests.
fn chance_of(lost: u64) -> f64 {
    let chances = (1..999).map(|n| f64::from(n) / 1000.0);
    let dies = |chance: f64| {
        let drive = aged(&sound(&[("device.spares.sick_dies", json!(chance))]), &["4y at 30C"]);
        media(&drive).failures.unwrap()[0]
    };
    let mut fitting = chances.filter(|chance| dies(*chance) == lost);
    fitting.next().expect("some chance has that many")
}

/// A lost die takes what lies on it and nothing else; with parity over the dies nothing is lost.
#[test]
pub fn a_lost_die_takes_its_own_pages_and_parity_brings_them_back() {
    let one = chance_of(1);
    let (dies, gone) = of(&[], one, "4y at 30C");
    assert_eq!(dies, 1);
    let of_dies: BTreeSet<u64> = gone.iter().map(|page| die_of(*page)).collect();
    assert_eq!(of_dies.len(), 1, "{of_dies:?}");
    // An eighth of the drive, but for the pages of a block that is not full.
    let count = pages(&new(&sound(&[])));
    assert!((count / 8 - 24 * 2..=count / 8 + 24 * 2).contains(&(gone.len() as u64)));
    let parity = [("device.parity.of", json!(8))];
    let (dies, gone) = of(&parity, one, "4y at 30C");
    assert_eq!(dies, 1);
    // The last block is not full: its last stripe has no parity yet.
    assert!(gone.len() <= 24, "{}", gone.len());
}

/// With parity over 8 dies no lost die takes a page, whichever it is; and two take exactly what lies on both, stripe by
/// stripe: a stripe of 7 groups of data on dies 0 to 6, and one of parity on die 7, has lost two of its parts.
#[test]
pub fn what_two_lost_dies_take_is_known_stripe_by_stripe() {
    let parity = [("device.parity.of", json!(8))];
    let mut pairs = BTreeSet::new();
    for seed in 0..12 {
        let lost_by = |changes: &[(&'static str, Value)], chance: f64| {
            let mut all = vec![("device.spares.sick_dies", json!(chance))];
            all.extend(changes.iter().cloned());
            let ssd = Ssd::new(&sound(&all), seed).unwrap();
            let mut drive = Drive { ssd, at: 0 };
            drive.instruct(0, Instruction::Age("4y at 30C".parse().unwrap())).unwrap();
            let lost = lost(&read_all(&mut drive));
            (media(&drive).failures.unwrap()[0], lost, pages(&drive))
        };
        for chance in [0.05, 0.12, 0.25] {
            let (dies, alone, _) = lost_by(&[], chance);
            if !(1..=2).contains(&dies) {
                continue;
            }
            let on: BTreeSet<u64> = alone.iter().map(|page| die_of(*page)).collect();
            assert_eq!(on.len() as u64, dies);
            let (again, gone, count) = lost_by(&parity, chance);
            assert_eq!(again, dies, "the same dies fail, with parity and without");
            // The last block, of 28 groups of data, is not full: its last stripe has no parity yet.
            let group = |page: u64| page / 24;
            let whole = count / 24 / 7 * 7;
            let is_lost = |page: &u64| {
                let has_parity = group(*page) < whole;
                on.contains(&(group(*page) % 7)) && (dies == 2 || !has_parity)
            };
            let expected: BTreeSet<u64> = (0..count).filter(is_lost).collect();
            assert_eq!(gone, expected, "seed {seed}: dies {on:?}");
            pairs.insert(on);
        }
    }
    assert!(pairs.len() > 8 && pairs.iter().any(|it| it.len() == 2), "{pairs:?}");
    assert!(pairs.iter().any(|it| it.contains(&7)), "parity was lost: {pairs:?}");
}

/// Without parity a drive that has lost a die takes no more writes, and still reads the rest.
#[test]
pub fn a_drive_that_has_lost_more_than_it_bears_takes_no_more_writes() {
    let one = chance_of(1);
    let refuses = |changes: &[(&'static str, Value)]| {
        let mut all = vec![("device.spares.sick_dies", json!(one))];
        all.extend(changes.iter().cloned());
        let mut drive = aged(&sound(&all), &["4y at 30C"]);
        let make = |n: u64| Request::new(n, Op::Write, Lba(n * SECTORS), SECTORS as u32);
        let done = drive.serve(1, 4, make);
        drive.check().unwrap();
        done.iter().all(|it| it.status == Status::ReadOnly)
    };
    assert!(refuses(&[]));
    assert!(!refuses(&[("device.parity.of", json!(8))]));
}

/// So many defects come as are stated, each takes a page or a word line until that is written anew.
#[test]
pub fn defects_take_pages_until_they_are_written() {
    let config = sound(&[
        ("device.spares.defects", json!(40.0)),
        ("device.spares.defects_shape", json!(1000.0)),
    ]);
    let mut drive = aged(&config, &["4y at 30C"]);
    let gone = lost(&read_all(&mut drive));
    let defects = media(&drive).failures.unwrap()[2];
    assert!((120..=200).contains(&defects), "{defects}");
    // Some hit pages that hold nothing; most take the 4 logical pages of a flash page, one in five 24.
    assert!(
        gone.len() as u64 > defects * 3 && (gone.len() as u64) < defects * 14,
        "{}",
        gone.len()
    );
    let again = lost(&read_all(&mut aged(&config, &["1y at 30C", "3y at 30C"])));
    assert_eq!(gone, again, "steps of the clock do not matter");
    let mut restored = new(&config);
    restored.restore(drive.save().unwrap()).unwrap();
    assert_eq!(lost(&read_all(&mut restored)), gone);
    for page in 0..pages(&drive) {
        drive.overwrite_untimed(&[page], 0);
    }
    assert!(lost(&read_all(&mut drive)).is_empty());
    drive.check().unwrap();
}

/// Of drives that differ much the share with a defect is 1 - (1 + mu / k)^-k.
#[test]
pub fn few_drives_have_nearly_all_defects() {
    let (mean, shape) = (2.0_f64, 0.2_f64);
    let config = sound(&[
        ("device.spares.defects", json!(mean)),
        ("device.spares.defects_shape", json!(shape)),
        ("device.fill", json!("empty")),
    ]);
    let with = (0..300).filter(|seed| {
        let mut ssd = Ssd::new(&config, *seed).unwrap();
        ssd.instruct(0, Instruction::Age("1y at 30C".parse().unwrap())).unwrap();
        media(&ssd).failures.unwrap()[2] > 0
    });
    let (found, form) = (with.count() as f64 / 300.0, 1.0 - libm::pow(1.0 + mean / shape, -shape));
    // Four standard deviations; without frailty 86 % of the drives had one.
    assert!((found - form).abs() < 0.12 && form < 0.4, "{found} {form}");
}

/// Too many pages that could not be read: the drive warns, and gives up.
#[test]
pub fn too_many_media_errors_make_a_drive_warn_and_give_up() {
    let of = |changes: &[(&'static str, Value)]| {
        let mut all = vec![
            ("device.spares.defects", json!(100.0)),
            ("device.spares.defects_shape", json!(1000.0)),
        ];
        all.extend(changes.iter().cloned());
        let mut drive = aged(&sound(&all), &["4y at 30C"]);
        read_all(&mut drive);
        let health = drive.account(1).health;
        (health.critical_warning(), drive.standing().has_ended)
    };
    assert_eq!(of(&[]), (0, false));
    assert_eq!(of(&[("device.health.rate", json!(1e-4))]), (4, false));
    assert_eq!(of(&[("device.health.rate", json!(0.9))]), (0, false));
    let (warning, ended) = of(&[("device.health.fail_at_uncorrectable", json!(10))]);
    assert!(ended && warning & 8 == 8, "{warning}");
}

#[test]
pub fn chances_and_counts_that_are_none_are_refused() {
    let refuse = |key: &'static str, value: Value, part: &str| {
        let problem = Ssd::new(&config(&[(key, value)]), 0).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
    };
    refuse("device.spares.sick_dies", json!(1.0), "below 1");
    refuse("device.spares.defects", json!(-1.0), "from 0 to");
    refuse("device.spares.defects_shape", json!(0.0), "from 0.001 to");
    refuse("device.health.rate", json!(2.0), "from 0 to 1");
    refuse("device.health.fail_at_uncorrectable", json!(0), "at least 1");
}
