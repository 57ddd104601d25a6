//! Does wear end as it should? Blocks expire, are retired, eat into the spare, and the drive ends;
//! levelling puts that off; nothing is lost on the way.

use crate::common::{Closed, run_closed};
use devices::ssd::config::Policy;
use devices::ssd::config::{
    Cleaning, CleaningTime, FreeOrder, Levelling, LevellingRule, Pool, Temperature, Wear,
};
use devices::ssd::{Ssd, SsdConfig, WearReport};
use devices::{Instruction, Model};
use engine::{Device, Lba, Op, Random, Request, Xoshiro256};

/// One package of 256 blocks of 16 pages, worn out soon.
fn config(rated_cycles: u32) -> SsdConfig {
    SsdConfig {
        channels: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 256,
        pages_per_block: 16,
        wear: Wear { rated_cycles, ..Wear::default() },
        cleaning: Cleaning { min_free: Some(0.02), ..Cleaning::default() },
        ..SsdConfig::default()
    }
}

fn levelled(rule: LevellingRule, rated_cycles: u32) -> SsdConfig {
    let mut config = config(rated_cycles);
    config.cleaning.levelling.rule = rule;
    config
}

/// Nine writes of ten to a tenth of the pages, which lie together.
fn skewed(random: &mut Xoshiro256, pages: u64) -> u64 {
    if random.below(10) > 0 { random.below(pages / 10) } else { random.below(pages) }
}

/// Writes untimed until the drive reaches end of life or `writes` pages are written.
fn write(ssd: &mut Ssd, seed: u64, writes: u64) -> u64 {
    let pages = ssd.facts().pages;
    let mut random = Xoshiro256::new(seed, 0);
    for n in 0..writes {
        if ssd.standing().has_ended {
            return n;
        }
        ssd.overwrite_untimed(&[skewed(&mut random, pages)], 0);
    }
    writes
}

fn worn(ssd: &Ssd) -> WearReport {
    ssd.check().unwrap();
    ssd.account(0).wear
}

#[test]
fn blocks_expire_are_retired_and_eat_the_spare_until_the_drive_ends() {
    for (pool, rule) in [
        (Pool::Package, LevellingRule::None),
        (Pool::Plane, LevellingRule::RateLimit),
        (Pool::Package, LevellingRule::Migrate),
    ] {
        let mut ssd = Ssd::new(&SsdConfig { pool, ..levelled(rule, 30) }, 1).unwrap();
        let spare = worn(&ssd).spare_blocks;
        assert!(spare > 10, "{spare}");
        let mut seen = Vec::new();
        while !ssd.standing().has_ended {
            write(&mut ssd, 1, 500);
            let wear = worn(&ssd);
            let lost = u32::try_from(wear.expired_blocks).unwrap();
            assert_eq!(wear.spare_blocks + lost, spare + u32::from(wear.ended));
            assert_eq!(wear.ended, ssd.standing().has_ended);
            assert!(wear.expired_blocks >= u64::from(wear.retired_blocks));
            seen.push(wear.retired_blocks);
        }
        assert!(seen.is_sorted() && seen[0] == 0, "{seen:?}");
        let wear = worn(&ssd);
        let (first, end) = (wear.lifetime.first_expiry.unwrap(), wear.lifetime.spare_gone.unwrap());
        assert!(first.host_bytes < end.host_bytes);
        // What is written from then on changes nothing.
        let before = ssd.account(0);
        ssd.overwrite_untimed(&[0; 1000], 0);
        assert_eq!(before, ssd.account(0));
    }
}

#[test]
fn a_timed_drive_ends_and_refuses_what_comes_after() {
    for time in [CleaningTime::Blocking, CleaningTime::Interleaved] {
        for rule in [LevellingRule::None, LevellingRule::Migrate] {
            let mut config = levelled(rule, 12);
            config.channels = 2;
            config.cleaning.time = time;
            let mut ssd = Ssd::new(&config, 1).unwrap();
            let pages = ssd.facts().pages;
            let mut random = Xoshiro256::new(4, 0);
            let mut load = Closed::new(8, u64::MAX, |id| {
                let op = if id % 16 == 0 { Op::Read } else { Op::Write };
                // Some writes cover half a page, so that they read first.
                let sectors = if id % 3 == 0 { 4 } else { 8 };
                Request::new(id, op, Lba(skewed(&mut random, pages) * 8), sectors)
            });
            let (end, done) = run_closed(&mut ssd, &mut load);
            assert!(ssd.standing().has_ended && !done.is_empty());
            let before = ssd.account(end).counts;
            let mut load = Closed::new(8, 100, |id| Request::new(id, Op::Write, Lba(id * 8), 8));
            load.begin_at(end);
            // The device answers all of them; only the run loop would not ask any more.
            let mut answers = Vec::new();
            while let Some(arrival) = engine::Workload::next(&mut load, end).unwrap() {
                ssd.submit(end, arrival.request);
                while let Some(at) = ssd.next_event() {
                    ssd.advance(at, &mut answers);
                    if !answers.is_empty() {
                        break;
                    }
                }
            }
            assert!(answers.len() >= 8, "{}", answers.len());
            let after = ssd.account(end).counts;
            assert!(after.refused_pages > before.refused_pages);
            ssd.check().unwrap();
        }
    }
}

/// Draws the page to write, below a number of pages.
type Load = fn(&mut Xoshiro256, u64) -> u64;

/// What is estimated after a tenth of the life is what the drive takes until it ends: for addresses that are
/// hot or cold, and for a part that is never written; whatever wrote the drive before.
#[test]
fn the_lifetime_is_estimated_after_a_tenth_of_it() {
    let uniform = |random: &mut Xoshiro256, pages: u64| random.below(pages);
    let part = |random: &mut Xoshiro256, pages: u64| random.below(pages * 6 / 10);
    let loads: [(&str, Load); 3] = [("uniform", uniform), ("part", part), ("skewed", skewed)];
    for (name, load) in loads {
        let rule = LevellingRule::None;
        let mut ssd = Ssd::new(&levelled(rule, 600), 1).unwrap();
        let pages = ssd.facts().pages;
        let mut random = Xoshiro256::new(1, 0);
        let mut write = |ssd: &mut Ssd, load: Load, writes: u64| {
            for _ in 0..writes {
                ssd.overwrite_untimed(&[load(&mut random, pages)], 0);
            }
        };
        // Another load, and then this one, of which the second part is measured.
        write(&mut ssd, uniform, pages);
        ssd.instruct(0, Instruction::ResetCounts).unwrap();
        ssd.instruct(0, Instruction::BeginLoad).unwrap();
        while worn(&ssd).mean_erases < 30.0 {
            write(&mut ssd, load, pages);
        }
        ssd.instruct(0, Instruction::ResetCounts).unwrap();
        while worn(&ssd).mean_erases < 60.0 {
            write(&mut ssd, load, pages);
        }
        let foreseen = worn(&ssd).lifetime;
        assert!(foreseen.spare_gone.is_none() && !foreseen.ended);
        while !ssd.standing().has_ended {
            write(&mut ssd, load, pages / 10);
        }
        let it = worn(&ssd).lifetime;
        let (end, estimate) = (it.spare_gone.unwrap(), foreseen.estimate.unwrap());
        let ratio = estimate.host_bytes / end.host_bytes;
        println!(
            "{name} {rule}: foreseen / measured {ratio:.3}, evenness {:.3} {:.3}, unsure {:.4}, \
                 amplification {:.3} {:.3}",
            foreseen.evenness,
            it.evenness,
            foreseen.evenness_unsure,
            foreseen.amplification.unwrap(),
            it.amplification.unwrap()
        );
        assert!((ratio - 1.0).abs() < 0.05, "{name} {rule}: {ratio}");
        assert!(foreseen.evenness_unsure < 0.03, "{}", foreseen.evenness_unsure);
        let capacity = ssd.capacity_sectors() as f64 * 512.0;
        assert!((end.drive_writes - end.host_bytes / capacity).abs() < 1e-9);
        let days = 5.0 * 365.0;
        assert!((end.drive_writes_per_day * days / end.drive_writes - 1.0).abs() < 1e-9);
        // In the closed form, the end is what was measured of it.
        let factors = it.physical_bytes * it.rated_cycles * it.evenness;
        let closed = factors / it.amplification.unwrap();
        assert!((closed / it.estimate.unwrap().host_bytes - 1.0).abs() < 1e-9);
    }
}

#[test]
fn the_evenness_of_wear_is_estimated_from_the_load_alone() {
    let half = |random: &mut Xoshiro256, pages: u64| random.below(pages / 2);
    let evenness = |begins: bool| {
        let mut ssd = Ssd::new(&config(3000), 1).unwrap();
        let (pages, mut random) = (ssd.facts().pages, Xoshiro256::new(1, 0));
        for _ in 0..10 * pages {
            ssd.overwrite_untimed(&[random.below(pages)], 0);
        }
        if begins {
            ssd.instruct(0, Instruction::BeginLoad).unwrap();
        }
        for _ in 0..2 {
            ssd.instruct(0, Instruction::ResetCounts).unwrap();
            for _ in 0..5 * pages {
                ssd.overwrite_untimed(&[half(&mut random, pages)], 0);
            }
        }
        worn(&ssd).lifetime.evenness
    };
    let (told, misled) = (evenness(true), evenness(false));
    assert!(misled > told + 0.01, "{told} {misled}");
}

#[test]
fn levelling_puts_the_first_expiry_off() {
    let until_expiry = |rule| {
        let mut ssd = Ssd::new(&levelled(rule, 60), 1).unwrap();
        while worn(&ssd).lifetime.first_expiry.is_none() {
            write(&mut ssd, 1, 5000);
        }
        let report = ssd.account(0);
        println!("{rule}: {:?} {}", report.wear.lifetime, report.counts.blocks_migrated);
        report.wear.lifetime.first_expiry.unwrap().drive_writes
    };
    let [none, limited, migrated] =
        [LevellingRule::None, LevellingRule::RateLimit, LevellingRule::Migrate].map(until_expiry);
    assert!(none <= limited && limited < migrated, "{none} {limited} {migrated}");
}

#[test]
fn levelling_migrates_blocks_of_every_policy_that_wears_them_unevenly_and_of_no_other() {
    for (word, _) in <Policy as options::Choice>::WORDS {
        let written = |rule, temperature| {
            let mut config = config(60);
            config.cleaning.policy = word.parse().unwrap();
            config.cleaning.levelling = Levelling { rule, temperature, ..Levelling::default() };
            let mut ssd = Ssd::new(&config, 1).unwrap();
            write(&mut ssd, 1, 60_000);
            ssd.check().unwrap();
            ssd.account(0)
        };
        // Some policies level wear by themselves: a log, for one, erases all blocks equally often.
        let spread = written(LevellingRule::None, Temperature::Opened).wear.std_erases;
        for rule in [LevellingRule::RateLimit, LevellingRule::Migrate] {
            for temperature in [Temperature::Opened, Temperature::Aggregate] {
                let report = written(rule, temperature);
                let migrated = report.counts.blocks_migrated;
                println!(
                    "{word} {rule} {temperature}: {migrated}, {spread:.2} to {:.2}",
                    report.wear.std_erases
                );
                if rule == LevellingRule::RateLimit || spread < 1.0 {
                    assert_eq!(migrated, 0, "{word} {rule}: {spread}");
                } else if spread > 2.0 {
                    assert!(migrated > 0, "{word} {rule}: {spread}");
                    assert!(report.wear.std_erases < spread, "{word} {rule}: {spread}");
                }
                assert!(report.counts.pages_migrated <= migrated * 15);
            }
        }
    }
}

#[test]
fn opening_the_least_worn_block_puts_the_first_expiry_off() {
    let until_expiry = |free_order| {
        let mut config = SsdConfig { free_order, spare_factor: Some(0.4), ..config(60) };
        config.cleaning.policy = Policy::Random;
        config.cleaning.min_free = Some(0.25);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        while worn(&ssd).lifetime.first_expiry.is_none() {
            write(&mut ssd, 1, 500);
        }
        worn(&ssd).lifetime.first_expiry.unwrap().drive_writes
    };
    let [rotating, fifo, least_worn] =
        [FreeOrder::Rotating, FreeOrder::Fifo, FreeOrder::LeastWorn].map(until_expiry);
    println!("rotating {rotating:.2}, fifo {fifo:.2}, least worn {least_worn:.2}");
    assert!(least_worn > 1.1 * rotating && least_worn > 1.1 * fifo);
}
