//! Data that age: retries, losses, what heals them and what does not.

use crate::buffered::small;
use crate::common::{Closed, configured, run_closed};
use devices::ssd::media::{Age, Aged, Forecast, Law, MediaReport};
use devices::ssd::{Ssd, SsdConfig};
use devices::{DeviceConfig, Examine, Persist, Prepare, latency};
use engine::{Completion, Device, Lba, Op, Random, Request, Status, Time, Xoshiro256};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

const SECTORS: u64 = 8;

fn config(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut keys = small();
    keys.push(("device.media.model", json!("tlc-3d")));
    keys.extend(changes.iter().cloned());
    match configured(&keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

/// A drive that loses some of its pages, and not all.
fn losing(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut all =
        vec![("device.media.cycles", json!(2500)), ("device.media.spread_errors", json!(0.5))];
    all.extend(changes.iter().cloned());
    config(&all)
}

/// A drive, and the instant up to which it was used.
struct Drive {
    ssd: Ssd,
    at: Time,
}

impl Deref for Drive {
    type Target = Ssd;
    fn deref(&self) -> &Ssd {
        &self.ssd
    }
}

impl DerefMut for Drive {
    fn deref_mut(&mut self) -> &mut Ssd {
        &mut self.ssd
    }
}

impl Drive {
    /// Serves so many requests, one made from each number, and lets the drive come to rest.
    fn serve(
        &mut self,
        depth: u32,
        count: u64,
        make: impl FnMut(u64) -> Request,
    ) -> Vec<Completion> {
        let mut load = Closed::new(depth, count, make);
        load.begin_at(self.at);
        let (end, completions) = run_closed(&mut self.ssd, &mut load);
        self.at = end;
        while let Some(next) = self.ssd.next_event() {
            self.at = next;
            self.ssd.advance(next, &mut Vec::new());
        }
        completions
    }
}

fn new(config: &SsdConfig) -> Drive {
    Drive { ssd: Ssd::new(config, 7).unwrap(), at: 0 }
}

fn aged(config: &SsdConfig, ages: &[&str]) -> Drive {
    let mut drive = new(config);
    for age in ages {
        drive.age(age.parse().unwrap()).unwrap();
    }
    drive
}

fn pages(ssd: &Ssd) -> u64 {
    ssd.capacity_sectors() / SECTORS
}

/// Reads every page once, one after the other.
fn read_all(drive: &mut Drive) -> Vec<Completion> {
    let count = pages(drive);
    let make = |n: u64| Request::new(n, Op::Read, Lba(n * SECTORS), SECTORS as u32);
    let mut all = drive.serve(1, count, make);
    all.sort_by_key(|completion| completion.request.lba.0);
    all
}

/// The same without instants.
fn times(completions: &[Completion]) -> Vec<(Time, Status)> {
    completions.iter().map(|it| (it.latency(), it.status)).collect()
}

fn lost(completions: &[Completion]) -> BTreeSet<u64> {
    let of = completions.iter().filter(|it| it.status == Status::Unreadable);
    of.map(|it| it.request.lba.0 / SECTORS).collect()
}

fn lost_of(ssd: &mut Drive) -> BTreeSet<u64> {
    lost(&read_all(ssd))
}

fn write(drive: &mut Drive, requests: Vec<(Op, u64, u32)>) {
    let make = |n: u64| {
        let (op, lba, sectors) = requests[n as usize];
        Request::new(n, op, Lba(lba), sectors)
    };
    let done = drive.serve(8, requests.len() as u64, make);
    assert!(done.iter().all(|it| it.status.is_ok()), "changes succeed");
}

fn media(ssd: &Ssd) -> MediaReport {
    ssd.account(1).aged.unwrap()
}

fn mixed(mut drive: Drive) -> Vec<Completion> {
    let count = pages(&drive);
    let mut random = Xoshiro256::new(3, 1);
    let make = |n: u64| {
        let op = if random.below(2) == 0 { Op::Read } else { Op::Write };
        let long = 1 + random.below(6);
        Request::new(n, op, Lba(random.below(count - long) * SECTORS), (long * SECTORS) as u32)
    };
    drive.serve(16, 20_000, make)
}

#[test]
fn a_new_drive_answers_as_one_whose_data_do_not_age() {
    let young = mixed(new(&config(&[])));
    let ageless = mixed(new(&config(&[("device.media.model", json!("none"))])));
    assert_eq!(young.len(), ageless.len());
    assert!(young.iter().zip(&ageless).all(|(one, other)| one == other));
}

#[test]
fn retries_are_those_of_the_integral() {
    let config = config(&[
        ("device.media.spread_layer", json!(0.0)),
        ("device.media.spread_errors", json!(0.19)),
        ("device.media.cycles", json!(1000)),
        ("device.blocks_per_plane", json!(256)),
    ]);
    let mut ssd = aged(&config, &["3mo at 30C"]);
    read_all(&mut ssd);
    let report = media(&ssd);
    let law = Law::new(config.media.model, config.media.drift).unwrap();
    let spread = (0.15_f64.powi(2) + 0.1_f64.powi(2)).sqrt();
    let forecast = Forecast::new(law, &config.ecc, &config.retry, spread, 0.19);
    let hours = 3.0 * devices::ssd::media::MONTH;
    let expected = forecast.retries(Aged { cycles: 1000.0, hours });
    let reads: u64 = report.retries.iter().sum();
    let mean = report.retries.iter().enumerate().map(|(n, count)| n as f64 * *count as f64);
    let mean = mean.sum::<f64>() / reads as f64;
    assert!((mean / expected.mean() - 1.0).abs() < 0.01, "{mean} and not {}", expected.mean());
    // Pages of a block are not independent, so the bound is wider than that of Poisson.
    for (steps, chance) in expected.chances.iter().enumerate() {
        let found = report.retries.get(steps).copied().unwrap_or(0) as f64 / reads as f64;
        assert!((found - chance).abs() < 0.02, "{steps}: {found} and not {chance}");
    }
    assert!(report.retries.len() > 6, "{:?}", report.retries);
}

#[test]
fn retries_are_a_part_of_the_latency_and_the_rest_is_as_before() {
    let mut young = aged(&config(&[]), &[]);
    let mut old = aged(&config(&[]), &["1y at 40C"]);
    let (young, old) = (read_all(&mut young), read_all(&mut old));
    let mut slower = 0;
    for (young, old) in young.iter().zip(&old) {
        assert!(old.status.is_ok());
        let retry = old.breakdown[latency::RETRY];
        assert_eq!(old.latency() - retry, young.latency());
        // A retry senses, transfers a page of 16 KiB and decodes.
        assert_eq!(retry % (45_000 + 16_384 + 20_000), 0);
        slower += u64::from(retry > 0);
    }
    assert!(slower as usize > old.len() / 2, "{slower}");
}

#[test]
fn ages_add_up_whatever_their_order_and_temperature() {
    let config = losing(&[]);
    let of = |ages: &[&str]| read_all(&mut aged(&config, ages));
    let once = of(&["90d at 40C"]);
    assert_eq!(of(&["30d at 40C", "60d at 40C"]), once);
    assert_eq!(of(&["60d at 40C", "30d at 40C"]), once);
    assert_eq!(of(&["20d at 55C", "1y at 25C"]), of(&["1y at 25C", "20d at 55C"]));
    // JESD218: a year at 30 C is 95 days at 40 C.
    let days = |ages: &[&str]| media(&aged(&config, ages)).clock_days;
    assert!((days(&["95.4d at 40C"]) / days(&["1y at 30C"]) - 1.0).abs() < 0.01);
}

#[test]
fn older_more_worn_and_hotter_pages_never_read_sooner() {
    let of = |cycles: u32, age: &str| {
        let config = losing(&[("device.media.cycles", json!(cycles))]);
        read_all(&mut aged(&config, &[age]))
    };
    let ladder = [
        of(0, "1d at 30C"),
        of(0, "30d at 30C"),
        of(0, "30d at 55C"),
        of(1500, "30d at 55C"),
        of(2500, "1y at 55C"),
    ];
    for pair in ladder.windows(2) {
        assert!(lost(&pair[0]).is_subset(&lost(&pair[1])), "what is lost stays lost");
        let sooner = pair[0]
            .iter()
            .zip(&pair[1])
            .filter(|(before, after)| after.status.is_ok() && after.latency() < before.latency());
        assert_eq!(sooner.count(), 0);
    }
    assert!(lost(&ladder[0]).is_empty() && !lost(&ladder[4]).is_empty());
}

#[test]
fn a_stronger_code_never_loses_a_page_more() {
    let of = |soft: &str, hard: f64| {
        let config = losing(&[("device.ecc.soft", json!(soft)), ("device.ecc.hard", json!(hard))]);
        lost_of(&mut aged(&config, &["1y at 40C"]))
    };
    let (none, one, two) =
        (of("none", 8.8e-3), of("1.1e-2 in 2", 8.8e-3), of("1.1e-2 in 2, 1.4e-2 in 6", 8.8e-3));
    assert!(two.is_subset(&one) && one.is_subset(&none) && two.len() < none.len());
    assert!(none.is_subset(&of("none", 7e-3)));
}

#[test]
fn a_page_that_fails_goes_on_failing_in_time_and_without() {
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
fn a_write_or_a_trim_heals_a_page_and_a_write_in_part_does_not() {
    let mut ssd = aged(&losing(&[]), &["1y at 40C"]);
    let before = lost_of(&mut ssd);
    let three: Vec<u64> = before.iter().copied().take(3).collect();
    let [whole, part, trimmed] = three[..] else { panic!("too few: {before:?}") };
    write(
        &mut ssd,
        vec![
            (Op::Write, whole * SECTORS, SECTORS as u32),
            (Op::Write, part * SECTORS, 1),
            (Op::Trim, trimmed * SECTORS, SECTORS as u32),
        ],
    );
    let after = lost_of(&mut ssd);
    let healed: Vec<u64> = before.difference(&after).copied().collect();
    assert_eq!(healed, [whole.min(trimmed), whole.max(trimmed)]);
    assert!(after.is_subset(&before) && after.contains(&part));
    write(&mut ssd, vec![(Op::Write, part * SECTORS, SECTORS as u32)]);
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
        write(ssd, numbers.into_iter().map(of).collect());
    } else {
        for page in numbers {
            ssd.overwrite_untimed(&[page]);
        }
    }
}

#[test]
fn cleaning_moves_what_is_lost_as_lost_and_the_rest_is_young_again() {
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
        assert_eq!(lower(lost_of(&mut ssd)), before, "timed: {timed}");
        let share = media(&ssd).retries[0] as f64 / media(&ssd).reads()[0] as f64;
        assert!(share > 0.3, "what was moved reads at once: {share}");
        ssd.audit().unwrap();
    }
}

#[test]
fn a_saved_drive_is_as_old_when_it_is_restored() {
    let config = losing(&[("device.cleaning.policy", json!("fifo"))]);
    let mut ssd = aged(&config, &["1y at 40C"]);
    churn(&mut ssd, false);
    let mut restored = new(&config);
    let saved = ssd.save().unwrap();
    restored.restore(saved.clone()).unwrap();
    assert_eq!(media(&restored).clock_days, media(&ssd).clock_days);
    assert_eq!(times(&read_all(&mut restored)), times(&read_all(&mut ssd)));
    let mut other = new(&self::config(&[("device.media.model", json!("qlc-3d"))]));
    let refusal = other.restore(saved).unwrap_err();
    assert!(refusal.contains("device.media.model is tlc-3d there and qlc-3d here"), "{refusal}");
}

#[test]
fn what_contradicts_itself_is_refused_with_both_numbers() {
    let refuse = |changes: &[(&'static str, Value)], part: &str| {
        let problem = Ssd::new(&config(changes), 0).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
    };
    refuse(&[("device.ecc.hard", json!(1e-3))], "a new block of tlc-3d has 0.00148");
    refuse(&[("device.ecc.soft", json!("5e-3 in 2"))], "soft levels must rise");
    refuse(&[("device.media.spread_page", json!(1.5))], "not a spread from 0 to 1");
    refuse(&[("device.retry.window", json!(0.0))], "steps above 0");
    refuse(&[("device.retry.steps", json!(1001))], "at most 1000");
    let mut ageless = Ssd::new(&config(&[("device.media.model", json!("none"))]), 0).unwrap();
    let age: Age = "90d at 40C".parse().unwrap();
    assert!(ageless.age(age).unwrap_err().contains("device.media.model"));
}

/// A block that was written again is young, whenever the drive was first written.
#[test]
fn retention_counts_from_the_program_of_the_block() {
    let mut ssd = aged(&config(&[]), &["10y at 40C"]);
    for page in 0..pages(&ssd) {
        ssd.overwrite_untimed(&[page]);
    }
    let young = read_all(&mut ssd);
    let retries: Time = young.iter().map(|it| it.breakdown[latency::RETRY]).sum();
    let old = read_all(&mut aged(&config(&[]), &["10y at 40C"]));
    let before: Time = old.iter().map(|it| it.breakdown[latency::RETRY]).sum();
    assert!(retries < before / 20, "{retries} {before}");
}

#[test]
fn parity_brings_back_what_is_lost_alone() {
    let alone = losing(&[]);
    let with = losing(&[("device.parity.of", json!(8))]);
    let (mut plain, mut parity) = (aged(&alone, &["1y at 40C"]), aged(&with, &["1y at 40C"]));
    let share = |drive: &mut Drive| lost_of(drive).len() as f64 / pages(drive) as f64;
    let (p, left) = (share(&mut plain), share(&mut parity));
    // Pages of a stripe share a word line, so that more is lost than (k - 1) p^2.
    assert!(left < 0.7 * p, "{left} of {p}");
    let report = media(&parity);
    assert!(report.rebuilt > 0 && report.rebuilt < report.uncorrectable);
    let all = read_all(&mut parity);
    let rebuilt = all.iter().filter(|it| it.status.is_ok() && it.breakdown[latency::REBUILD] > 0);
    assert!(rebuilt.count() > 0, "it takes time");
    // The spread between word lines gone, stripes of independent pages: the square.
    let rare = [("device.media.cycles", json!(1900)), ("device.media.spread_errors", json!(0.4))];
    let rare_with = [rare[0].clone(), rare[1].clone(), ("device.parity.of", json!(8))];
    let p = share(&mut aged(&config(&rare), &["1y at 40C"]));
    let left = share(&mut aged(&config(&rare_with), &["1y at 40C"]));
    assert!(p > 0.0 && left < p / 2.0, "{left} of {p}");
}
