//! Clock, drift and retries of a drive whose data age.

use super::{
    Drive, SECTORS, aged, config, losing, lost, media, mixed, new, pages, read_all, write,
};
use devices::ssd::Ssd;
use devices::ssd::media::{Age, Aged, Forecast, Law};
use devices::{Instruction, Model, latency};
use engine::{Op, Time};
use serde_json::{Value, json};

#[test]
pub fn a_new_drive_answers_as_one_whose_data_do_not_age() {
    let young = mixed(new(&config(&[])));
    let ageless = mixed(new(&config(&[("device.media.model", json!("none"))])));
    assert_eq!(young.len(), ageless.len());
    assert!(young.iter().zip(&ageless).all(|(one, other)| one == other));
}

#[test]
pub fn retries_are_those_of_the_integral() {
    let config = config(&[
        ("device.media.spread_layer", json!(0.0)),
        ("device.media.spread_errors", json!(0.19)),
        ("device.media.cycles", json!(1000)),
        ("device.blocks_per_plane", json!(256)),
    ]);
    let mut ssd = aged(&config, &["3mo at 30C"]);
    read_all(&mut ssd);
    let report = media(&ssd);
    let law = Law::new(&config.media).unwrap();
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
pub fn retries_are_a_part_of_the_latency_and_the_rest_is_as_before() {
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
pub fn ages_add_up_whatever_their_order_and_temperature() {
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
pub fn older_more_worn_and_hotter_pages_never_read_sooner() {
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
pub fn what_contradicts_itself_is_refused_with_both_numbers() {
    let refuse = |changes: &[(&'static str, Value)], part: &str| {
        let problem = Ssd::new(&config(changes), 0).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
    };
    refuse(&[("device.ecc.hard", json!(1e-3))], "a new block of tlc-3d has 0.00148");
    refuse(&[("device.ecc.soft", json!("5e-3 in 2"))], "soft levels must rise");
    let bch = ("device.ecc.kind", json!("bch"));
    let corrects = |bits: u32| [bch.clone(), ("device.ecc.corrects", json!(bits))];
    refuse(&corrects(0), "from 1 to 512");
    refuse(&corrects(513), "from 1 to 512");
    refuse(&corrects(10), "a new block of tlc-3d has 0.00148");
    refuse(&corrects(120), "soft levels must rise");
    let codeword = |size: &str| [bch.clone(), ("device.ecc.codeword", json!(size))];
    refuse(&codeword("32KiB"), "no whole number of codewords");
    refuse(&codeword("64B"), "from 128B to 64KiB");
    let calibrated = ("device.retry.reference", json!("calibrated"));
    refuse(&[calibrated], "give device.scrub.period");
    refuse(&[("device.media.spread_page", json!(1.5))], "not a spread from 0 to 1");
    refuse(&[("device.retry.window", json!(0.0))], "steps above 0");
    refuse(&[("device.retry.steps", json!(1001))], "at most 1000");
    let last = ("device.retry.reference", json!("last"));
    refuse(&[last, ("device.retry.search", json!("none"))], "depends on what was read before");
    refuse(&[("device.retry.search", json!("5s"))], "at most 4294967");
    let mut ageless = Ssd::new(&config(&[("device.media.model", json!("none"))]), 0).unwrap();
    let age: Age = "90d at 40C".parse().unwrap();
    assert!(ageless.instruct(0, Instruction::Age(age)).unwrap_err().contains("device.media.model"));
    let mut old = new(&config(&[]));
    assert!(
        old.instruct(0, Instruction::Age("1000y at 125C".parse().unwrap()))
            .unwrap_err()
            .contains("8,000 years")
    );
    assert!(media(&old).clock_days.abs() < 1e-12);
}

/// A block that was written again is young, whenever the drive was first written.
#[test]
pub fn retention_counts_from_the_program_of_the_block() {
    let mut ssd = aged(&config(&[]), &["10y at 40C"]);
    for page in 0..pages(&ssd) {
        ssd.overwrite_untimed(&[page], 0);
    }
    let young = read_all(&mut ssd);
    let retries: Time = young.iter().map(|it| it.breakdown[latency::RETRY]).sum();
    let old = read_all(&mut aged(&config(&[]), &["10y at 40C"]));
    let before: Time = old.iter().map(|it| it.breakdown[latency::RETRY]).sum();
    assert!(retries < before / 20, "{retries} {before}");
}

/// What retries take of all reads, ns.
fn retried(drive: &mut Drive) -> Time {
    read_all(drive).iter().map(|it| it.breakdown[latency::RETRY]).sum()
}

/// Erasures count as cycles: drift grows by one part in 1,780 with each.
#[test]
pub fn erasures_wear() {
    let config = config(&[("device.cleaning.policy", json!("fifo"))]);
    let drift = |overwrites: u64| {
        let mut drive = new(&config);
        let pages = pages(&drive);
        for n in 0..overwrites * pages {
            drive.overwrite_untimed(&[n * 7919 % pages], 0);
        }
        let erases = drive.account(1).wear.mean_erases;
        drive.instruct(0, Instruction::Age("1y at 40C".parse().unwrap())).unwrap();
        (erases, media(&drive).drift[0])
    };
    let ((_, young), (erases, worn)) = (drift(0), drift(40));
    let expected = 1.0 + erases / 1780.0;
    assert!(
        erases > 20.0 && (worn / young / expected - 1.0).abs() < 0.01,
        "{worn} {young} {erases}"
    );
}

/// Data in the SLC cache drift an eighth as far, and read at once when native data take retries.
#[test]
pub fn one_bit_a_cell_ages_less() {
    let config = config(&[
        ("device.fill", json!("empty")),
        ("device.slc_cache.dynamic", json!(1.0)),
        ("device.slc_cache.program", json!("0.3ms")),
        ("device.slc_cache.read", json!("20us")),
        ("device.slc_cache.fold", json!("lazy")),
    ]);
    let mut drive = new(&config);
    let some = pages(&drive) / 8;
    write(
        &mut drive,
        &(0..some).map(|n| (Op::Write, n * SECTORS, SECTORS as u32)).collect::<Vec<_>>(),
    );
    drive.instruct(0, Instruction::Age("1mo at 30C".parse().unwrap())).unwrap();
    let at_once = retried(&mut drive);
    assert!(drive.account(1).slc_cache.unwrap().held > 0);
    // A month moves native levels by 3.5 steps, and those of one bit by less than half a step.
    assert_eq!(at_once, 0);
    assert!(media(&drive).drift[1] < 1.5, "{:?}", media(&drive).drift);
    let mut native = new(&self::config(&[("device.fill", json!("empty"))]));
    write(
        &mut native,
        &(0..some).map(|n| (Op::Write, n * SECTORS, SECTORS as u32)).collect::<Vec<_>>(),
    );
    native.instruct(0, Instruction::Age("1mo at 30C".parse().unwrap())).unwrap();
    assert!(retried(&mut native) > 0);
}

/// A write of a part of a page reads the rest, with retries if that is old.
#[test]
pub fn a_write_in_part_takes_the_retries_of_what_it_reads() {
    let slowest = |ages: &[&str]| {
        let mut drive = aged(&config(&[]), ages);
        let make = |n: u64| engine::Request::new(n, Op::Write, engine::Lba(n * 97 * SECTORS), 1);
        let done = drive.serve(1, 100, make);
        done.iter().map(engine::Completion::latency).sum::<Time>()
    };
    let (young, old) = (slowest(&[]), slowest(&["1y at 40C"]));
    // 16 steps of 81 us in the mean.
    assert!(old > young + 100 * 8 * 81_000, "{young} {old}");
}

/// A controller that begins where the block was last read well, or where it expects the levels, needs fewer retries;
/// what it learns by reading, writes do not change.
#[test]
pub fn a_good_first_reference_saves_retries() {
    let of = |reference: &str| {
        let config = config(&[("device.retry.reference", json!(reference))]);
        let mut drive = aged(&config, &["1y at 40C"]);
        let first = retried(&mut drive);
        write(&mut drive, &[(Op::Write, 0, SECTORS as u32)]);
        (first, retried(&mut drive))
    };
    let (table, last, model) = (of("table"), of("last"), of("model"));
    assert!(last.0 < table.0 / 3 && model.0 < table.0 / 2, "{table:?} {last:?} {model:?}");
    assert!(last.1 <= last.0, "{last:?}");
}

/// What the patrol found stays behind by what has drifted since, and by what pages of a word line differ. Of a drive
/// without power it finds nothing.
#[test]
pub fn a_patrol_tells_where_reads_begin() {
    let of = |reference: &str, period: &str, age: &str| {
        let config = config(&[
            ("device.retry.reference", json!(reference)),
            ("device.scrub.period", json!(period)),
            ("device.scrub.limit", json!(1.0)),
            ("device.scrub.on_power", json!(false)),
        ]);
        retried(&mut aged(&config, &[age]))
    };
    let table = of("table", "7d", "1y at 30C");
    let often = of("calibrated", "7d", "1y at 30C");
    let rarely = of("calibrated", "180d", "1y at 30C");
    assert!(often < rarely && rarely < table && often < table / 10, "{table} {often} {rarely}");
    assert_eq!(of("calibrated", "7d", "1y at 30C off"), of("table", "7d", "1y at 30C off"));
}

#[test]
pub fn a_restored_drive_begins_where_its_patrol_was() {
    let config = config(&[
        ("device.retry.reference", json!("calibrated")),
        ("device.scrub.period", json!("7d")),
    ]);
    let mut drive = aged(&config, &["1y at 40C"]);
    let mut restored = new(&config);
    restored.restore(drive.save().unwrap()).unwrap();
    assert_eq!(retried(&mut restored), retried(&mut drive));
}

#[test]
pub fn a_restored_drive_begins_where_it_read_last() {
    let config = config(&[("device.retry.reference", json!("last"))]);
    let mut drive = aged(&config, &["1y at 40C"]);
    let first = retried(&mut drive);
    let mut restored = new(&config);
    restored.restore(drive.save().unwrap()).unwrap();
    let again = retried(&mut restored);
    assert!(again < first, "{again} {first}");
    assert_eq!(again, retried(&mut drive));
}

/// What is written to a block that was open while the drive lay unused is young, and what the block held before is
/// old.
#[test]
pub fn a_block_that_was_open_has_an_old_and_a_young_part() {
    let config = config(&[("device.fill", json!("empty"))]);
    let mut drive = new(&config);
    let of = |page: u64| (Op::Write, page * SECTORS, SECTORS as u32);
    let retries = |drive: &mut Drive| {
        let all = read_all(drive);
        let of = |it: &engine::Completion| it.breakdown[latency::RETRY] > 0;
        [0..48, 48..96, 96..144].map(|pages| all[pages].iter().filter(|it| of(it)).count())
    };
    // Two groups, a year, two more, a year, and two more.
    write(&mut drive, &(0..48).map(of).collect::<Vec<_>>());
    drive.instruct(0, Instruction::Age("1y at 30C".parse().unwrap())).unwrap();
    write(&mut drive, &(48..96).map(of).collect::<Vec<_>>());
    assert_eq!(retries(&mut drive), [48, 0, 0]);
    drive.instruct(0, Instruction::Age("1y at 30C".parse().unwrap())).unwrap();
    write(&mut drive, &(96..144).map(of).collect::<Vec<_>>());
    assert_eq!(retries(&mut drive), [48, 48, 0]);
    let mut restored = new(&config);
    restored.restore(drive.save().unwrap()).unwrap();
    assert_eq!(retries(&mut restored), [48, 48, 0]);
}
