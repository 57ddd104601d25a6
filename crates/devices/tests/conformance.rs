//! What every cleaning policy must obey, alone and under the rules of wear levelling: a row of
//! `cleaners!` is tested here without being named.
//!
//! The FTL asserts that a victim is closed and lies in its domain, and that a block with valid pages
//! is never erased, on every cleaning, also in release builds; the audit finds what was lost.

use crate::common::{Closed, run_closed};
use devices::Model;
use devices::ssd::config::Policy;
use devices::ssd::config::{Cleaning, CleaningTime, Frontiers, Levelling, LevellingRule, Wear};
use devices::ssd::{Ssd, SsdConfig, SsdReport};
use engine::{Completion, Device, Lba, Op, Random, Request, Xoshiro256};
use options::Choice;

/// Each policy with each rule.
fn all() -> impl Iterator<Item = (Policy, LevellingRule)> {
    let words = |words: &'static [(&str, &str)]| words.iter().map(|(word, _)| *word);
    words(Policy::WORDS).flat_map(move |policy| {
        words(LevellingRule::WORDS)
            .map(move |rule| (policy.parse().unwrap(), rule.parse().unwrap()))
    })
}

/// Two planes with a frontier each, with the least spare space that is accepted.
fn tight(policy: &Policy, rule: LevellingRule, time: CleaningTime, rated: u32) -> SsdConfig {
    tight_with(Frontiers::Single, policy, rule, time, rated)
}

fn tight_with(
    frontiers: Frontiers,
    policy: &Policy,
    rule: LevellingRule,
    time: CleaningTime,
    rated: u32,
) -> SsdConfig {
    let config = |spare_blocks| SsdConfig {
        channels: 1,
        dies_per_package: 1,
        planes_per_die: 2,
        blocks_per_plane: 40,
        pages_per_block: 8,
        pool: devices::ssd::config::Pool::Plane,
        spare_blocks_per_plane: Some(spare_blocks),
        wear: Wear { rated_cycles: rated, ..Wear::default() },
        cleaning: Cleaning {
            policy: policy.clone(),
            min_free: Some(0.0),
            time,
            frontiers,
            levelling: Levelling { rule, ..Levelling::default() },
            ..Cleaning::default()
        },
        ..SsdConfig::default()
    };
    let fits = |blocks: &u32| Ssd::new(&config(*blocks), 0).is_ok();
    let least = (1..40).find(fits).expect("some spare space is enough");
    assert!(least <= 2 + frontiers.count(), "{least}");
    config(least)
}

/// Writes to hot and cold pages, some of less than a page, some trims.
fn request(id: u64, pages: u64, random: &mut Xoshiro256) -> Request {
    let page = if random.below(4) > 0 { random.below(pages / 8) } else { random.below(pages) };
    let (op, sectors) = match random.below(20) {
        0 => (Op::Trim, 8),
        1 => (Op::Write, 3),
        2 => (Op::Read, 8),
        _ => (Op::Write, 8),
    };
    Request::new(id, op, Lba(page * 8), sectors)
}

fn served(config: &SsdConfig, requests: u64, seed: u64) -> (Vec<Completion>, SsdReport) {
    let mut ssd = Ssd::new(config, seed).unwrap();
    let pages = ssd.capacity_sectors() / 8;
    let mut random = Xoshiro256::new(seed, 0);
    let mut load = Closed::new(5, requests, |id| request(id, pages, &mut random));
    let (end, done) = run_closed(&mut ssd, &mut load);
    (done, ssd.account(end))
}

#[test]
fn progress_at_the_least_spare_space_in_time() {
    for (policy, rule) in all() {
        for time in [CleaningTime::Blocking, CleaningTime::Interleaved] {
            let config = tight(&policy, rule, time, 100_000);
            let (done, report) = served(&config, 4000, 3);
            assert_eq!(done.len(), 4000, "{policy} {rule} {time}");
            assert!(report.counts.blocks_cleaned > 100, "{policy} {rule} {time}");
        }
    }
}

#[test]
fn progress_at_the_least_spare_space_without_time() {
    for (policy, rule) in all() {
        let mut ssd = Ssd::new(&tight(&policy, rule, CleaningTime::Blocking, 100_000), 3).unwrap();
        let pages = ssd.facts().pages;
        let mut random = Xoshiro256::new(3, 0);
        for n in 0..4000 {
            let page = if n < 2000 { random.below(pages) } else { n % pages };
            ssd.overwrite_untimed(&[page], 0);
        }
        ssd.check().unwrap();
        let report = ssd.account(0);
        assert!(!report.wear.ended && report.counts.refused_pages == 0, "{policy} {rule}");
    }
}

#[test]
fn progress_at_the_least_spare_space_with_more_frontiers() {
    for (policy, rule) in all() {
        for frontiers in [Frontiers::SeparateMoved, Frontiers::HotCold] {
            for time in [CleaningTime::Blocking, CleaningTime::Interleaved] {
                let config = tight_with(frontiers, &policy, rule, time, 100_000);
                let (done, report) = served(&config, 3000, 3);
                assert_eq!(done.len(), 3000, "{policy} {rule} {frontiers} {time}");
                assert!(report.counts.blocks_cleaned > 50, "{policy} {rule} {frontiers}");
            }
        }
    }
}

#[test]
fn bad_blocks_are_left_alone_to_the_end() {
    // The FTL would assert if a retired block were chosen; the audit sees that it stays erased.
    let (mut retired, mut drives) = (0, 0);
    for (policy, rule) in all() {
        for time in [CleaningTime::Blocking, CleaningTime::Interleaved] {
            let mut config = tight(&policy, rule, time, 40);
            config.spare_blocks_per_plane = Some(10);
            let (done, report) = served(&config, 1_000_000, 5);
            assert!(report.wear.ended && done.len() < 1_000_000, "{policy} {rule} {time}");
            assert!(report.wear.expired_blocks > 5, "{policy} {rule} {time}");
            retired += report.wear.retired_blocks;
            drives += 1;
        }
    }
    // Domains that are short of room go on using their expired blocks.
    assert!(retired > drives, "{retired} blocks of {drives} drives are retired");
}

#[test]
fn the_same_seed_gives_the_same_decisions() {
    let mut differing = 0;
    for (policy, rule) in all() {
        let config = tight(&policy, rule, CleaningTime::Interleaved, 200);
        let once = served(&config, 1500, 7);
        assert!(once == served(&config, 1500, 7), "{policy} {rule}: two runs differ");
        differing += u32::from(once.1 != served(&config, 1500, 8).1);
    }
    assert!(differing > 10, "the seed matters");
}
