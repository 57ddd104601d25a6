//! Wear levelling behind a write buffer: worn blocks are passed over, or take cold data.

use super::with;
use crate::common::{Closed, run_closed};
use devices::ssd::Ssd;
use devices::{Instruction, Model};
use engine::{Lba, Op, Random, Request, Xoshiro256};
use serde_json::json;

/// A drive of few cycles, and a rule.
fn drive(rule: &str) -> Ssd {
    let mut keys = vec![
        ("device.channels", json!(1)),
        ("device.blocks_per_plane", json!(256)),
        ("device.cleaning.min_free", json!(0.0)),
        ("device.wear.rated_cycles", json!(60)),
        ("device.cleaning.levelling.rule", json!(rule)),
    ];
    if rule == "rate-limit" {
        // Of many blocks a worn one is a candidate so often that a small chance of its use is a large one.
        keys.push(("device.cleaning.levelling.rate_limit_floor", json!(0.75)));
    }
    Ssd::new(&with(&keys), 1).unwrap()
}

/// Nine writes of ten go to a tenth of the pages, in order of nothing.
fn hot(random: &mut Xoshiro256, pages: u64) -> u64 {
    if random.below(10) > 0 { random.below(pages / 10) } else { random.below(pages) }
}

/// Standard deviation of erasures after six drive writes, and drive writes until the first block expires.
fn untimed(rule: &str) -> (f64, f64) {
    let mut ssd = drive(rule);
    let (pages, random) = (ssd.facts().pages, &mut Xoshiro256::new(5, 5));
    let mut spread = 0.0;
    for round in 1.. {
        let drawn: Vec<u64> = (0..pages / 4).map(|_| hot(random, pages)).collect();
        ssd.overwrite_untimed(&drawn, 0);
        let wear = ssd.account(1).wear;
        if round == 24 {
            spread = wear.std_erases;
        }
        if wear.expired_blocks > 0 {
            ssd.check().unwrap();
            return (spread, f64::from(round) / 4.0);
        }
    }
    unreachable!("blocks expire")
}

#[test]
fn blocks_wear_alike_and_the_first_expires_later() {
    let [none, limited, migrated] = ["none", "rate-limit", "migrate"].map(untimed);
    println!("spread and drive writes: {none:?}, rate-limit {limited:?}, migrate {migrated:?}");
    assert!(limited.0 < none.0 && migrated.0 < 0.8 * none.0, "{none:?} {limited:?} {migrated:?}");
    assert!(limited.1 > none.1 && migrated.1 > 1.5 * none.1);
}

#[test]
fn cold_data_moves_in_time_as_without() {
    for (rule, migrates) in [("none", false), ("rate-limit", false), ("migrate", true)] {
        let (mut timed, mut untimed) = (drive(rule), drive(rule));
        let (pages, random) = (timed.facts().pages, &mut Xoshiro256::new(5, 5));
        let before: Vec<u64> = (0..6 * pages).map(|_| hot(random, pages)).collect();
        for ssd in [&mut timed, &mut untimed] {
            ssd.overwrite_untimed(&before, 0);
            ssd.instruct(0, Instruction::ResetCounts).unwrap();
        }
        let drawn: Vec<u64> = (0..3 * pages).map(|_| hot(random, pages)).collect();
        untimed.overwrite_untimed(&drawn, 0);
        let make = |id| Request::new(id, Op::Write, Lba(drawn[id as usize] * 8), 8);
        run_closed(&mut timed, &mut Closed::new(64, drawn.len() as u64, make));
        let of = |ssd: &Ssd| {
            ssd.check().unwrap();
            let report = ssd.account(1);
            let migrated = report.counts.pages_migrated;
            (report.write_amplification.unwrap(), migrated, report.wear.std_erases)
        };
        let (found, expected) = (of(&timed), of(&untimed));
        println!("{rule}: {found:?} timed, {expected:?} untimed");
        super::near(found.0, expected.0, 0.05, "write amplification, timed against untimed");
        super::near(found.2, expected.2, 0.1, "spread of erasures, timed against untimed");
        assert!((found.1 > 0) == migrates && (expected.1 > 0) == migrates, "{rule}");
    }
}
