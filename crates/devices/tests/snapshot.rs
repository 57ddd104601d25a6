//! A drive that is saved and restored continues as if nothing had happened, and only one of the
//! same shape takes it up.

use crate::common::{Closed, run_closed};
use devices::ssd::config::Policy;
use devices::ssd::config::{
    Cleaning, Detector, FreeOrder, Frontiers, HotCold, Levelling, LevellingRule, Persistence, Pool,
    Recovery, Temperature, TieBreak, Wear,
};
use devices::ssd::{Snapshot, Ssd, SsdConfig};
use devices::{Instruction, Model};
use engine::{Device, Lba, Op, Random, Request, Xoshiro256};
use options::Size;
use serde::de::DeserializeSeed;

fn config(free_order: FreeOrder, frontiers: Frontiers, detector: Detector) -> SsdConfig {
    SsdConfig {
        channels: 2,
        dies_per_package: 1,
        planes_per_die: 2,
        blocks_per_plane: 64,
        pages_per_block: 16,
        pool: Pool::Plane,
        free_order,
        // The order is kept with the drive.
        persistence: Persistence {
            order: frontiers != Frontiers::Single,
            ..Persistence::default()
        },
        wear: Wear { rated_cycles: 30, spread: 0.2, ..Wear::default() },
        cleaning: Cleaning {
            frontiers,
            hot_cold: HotCold { detector, memory: Size::from_bytes(2048), ..HotCold::default() },
            levelling: Levelling {
                rule: LevellingRule::Migrate,
                temperature: Temperature::Aggregate,
                ..Levelling::default()
            },
            ..Cleaning::default()
        },
        ..SsdConfig::default()
    }
}

fn write(ssd: &mut Ssd, seed: u64, writes: u32) {
    let pages = ssd.facts().pages;
    let mut random = Xoshiro256::new(seed, 0);
    for _ in 0..writes {
        let hot = random.below(10) > 0;
        let page = if hot { random.below(pages / 10) } else { random.below(pages) };
        ssd.overwrite_untimed(&[page], 0);
    }
}

#[test]
fn a_restored_drive_continues_bit_identically() {
    for free_order in [FreeOrder::Rotating, FreeOrder::Fifo, FreeOrder::LeastWorn] {
        for (frontiers, detector) in [
            (Frontiers::Single, Detector::Writes),
            (Frontiers::HotCold, Detector::Writes),
            (Frontiers::HotCold, Detector::Recency),
        ] {
            let config = config(free_order, frontiers, detector);
            let mut first = Ssd::new(&config, 1).unwrap();
            // Far enough that blocks have been retired.
            write(&mut first, 1, 30_000);
            first.instruct(0, Instruction::ResetCounts).unwrap();
            assert!(first.account(0).wear.retired_blocks > 0, "{free_order} {frontiers}");
            let kept = Model::save(&first).unwrap();
            let mut second = Ssd::new(&config, 2).unwrap();
            second.restore(kept.clone()).unwrap();
            assert!(Model::save(&second).unwrap() == kept);
            for ssd in [&mut first, &mut second] {
                write(ssd, 2, 10_000);
                ssd.check().unwrap();
            }
            assert!(first.account(0) == second.account(0), "{free_order} {frontiers} {detector}");
            assert!(Model::save(&first) == Model::save(&second));
        }
    }
}

/// The saved state in a file, as a drive that is restored reads it.
fn read_for(ssd: &Ssd, kept: &[u8]) -> Snapshot {
    let (shape, rest): (Vec<_>, _) = postcard::take_from_bytes(kept).unwrap();
    let whole = ssd.room(&shape).unwrap().of_shape(shape);
    whole.deserialize(&mut postcard::Deserializer::from_bytes(rest)).unwrap()
}

/// Everything random continues with the same draws, and everything else where it was.
#[test]
fn a_restored_drive_continues_bit_identically_with_every_policy_and_rule() {
    let rules = [LevellingRule::None, LevellingRule::RateLimit, LevellingRule::Migrate];
    let frontiers = [Frontiers::Single, Frontiers::SeparateMoved, Frontiers::HotCold];
    for (word, _) in <Policy as options::Choice>::WORDS {
        for (rule, frontiers) in rules.iter().flat_map(|rule| frontiers.map(|it| (*rule, it))) {
            let mut config = config(FreeOrder::Rotating, frontiers, Detector::Writes);
            config.wear.rated_cycles = 100;
            config.cleaning.policy = word.parse().unwrap();
            config.cleaning.tie_break = TieBreak::Random;
            config.cleaning.levelling.rule = rule;
            let mut first = Ssd::new(&config, 1).unwrap();
            write(&mut first, 1, 12_000);
            first.instruct(0, Instruction::ResetCounts).unwrap();
            // As another process would: of another seed, from what was written down.
            let kept = postcard::to_stdvec(&Model::save(&first).unwrap()).unwrap();
            let mut second = Ssd::new(&config, 2).unwrap();
            second.restore(read_for(&second, &kept)).unwrap();
            second.instruct(0, Instruction::ResetCounts).unwrap();
            let [one, other] = [&mut first, &mut second].map(|ssd| {
                let pages = ssd.facts().pages;
                let mut random = Xoshiro256::new(5, 0);
                let mut load = Closed::new(8, 2000, |id| {
                    let op = [Op::Read, Op::Write, Op::Write][random.below(3) as usize];
                    Request::new(id, op, Lba(random.below(pages) * 8), 8)
                });
                let (end, answers) = run_closed(ssd, &mut load);
                (answers, ssd.account(end))
            });
            assert!(one.0 == other.0, "{word} {rule} {frontiers}: other answers");
            assert!(one.1 == other.1, "{word} {rule} {frontiers}: another account");
            assert!(
                one.1.counts.block_erases > 50,
                "{word} {rule} {frontiers} is told apart by cleaning"
            );
        }
    }
}

/// A drive that was kept without the order of its programs can be cut: its map tells which copy is the newest.
#[test]
fn the_order_of_programs_follows_from_the_map() {
    for frontiers in [Frontiers::Single, Frontiers::SeparateMoved] {
        let mut without = config(FreeOrder::Fifo, frontiers, Detector::Writes);
        without.persistence = Persistence::default();
        let mut first = Ssd::new(&without, 1).unwrap();
        write(&mut first, 1, 20_000);
        let kept = Model::save(&first);
        let mut with = without.clone();
        with.persistence.recovery = Recovery::Spare;
        let mut second = Ssd::new(&with, 1).unwrap();
        second.restore(kept.unwrap()).unwrap();
        second.check_rebuild().unwrap();
        second.cut(0, &mut Vec::new());
        second.power_on(0);
        while let Some(at) = second.next_event() {
            second.advance(at, &mut Vec::new());
        }
        second.check().unwrap();
        let report = second.power_report().unwrap();
        assert_eq!((report.durable_lost, report.trims_undone), (0, 0));
    }
}

#[test]
fn a_drive_of_another_shape_is_refused() {
    let config = config(FreeOrder::Fifo, Frontiers::Single, Detector::Writes);
    let kept = Model::save(&Ssd::new(&config, 1).unwrap()).unwrap();
    let refusal = |changed: SsdConfig| {
        Ssd::new(&changed, 1).unwrap().restore(kept.clone()).expect_err("it is another drive")
    };
    let blocks = refusal(SsdConfig { blocks_per_plane: 65, ..config.clone() });
    assert!(blocks.contains("device.blocks_per_plane is 64 there and 65 here"), "{blocks}");
    let spare = refusal(SsdConfig { spare_factor: Some(0.3), ..config.clone() });
    assert!(spare.contains("pages exported is"), "{spare}");
    let rated = refusal(SsdConfig {
        wear: Wear { rated_cycles: 31, ..config.wear.clone() },
        ..config.clone()
    });
    assert!(rated.contains("device.wear.rated_cycles is 30 there and 31 here"), "{rated}");
    // What does not shape the state may differ.
    let policy = Cleaning { policy: Policy::Fifo, ..config.cleaning.clone() };
    let mut other = Ssd::new(&SsdConfig { cleaning: policy, ..config }, 1).unwrap();
    other.restore(kept).unwrap();
    write(&mut other, 1, 5000);
    other.check().unwrap();
}

/// A drive that was used in a timed run and is idle can be saved as well, with all its history.
#[test]
fn an_idle_drive_is_saved_after_its_run() {
    for frontiers in [Frontiers::Single, Frontiers::HotCold] {
        let mut config = config(FreeOrder::Rotating, frontiers, Detector::Writes);
        config.wear = Wear::default();
        let mut ssd = Ssd::new(&config, 1).expect("it is valid");
        let pages = ssd.facts().pages;
        let sectors = ssd.capacity_sectors() / pages;
        ssd.overwrite_untimed(&(0..pages).collect::<Vec<_>>(), 0);
        let mut random = Xoshiro256::new(7, 0);
        let mut answered = Vec::new();
        let mut now = 0;
        for id in 0..pages {
            let lba = Lba(random.below(pages) * sectors);
            ssd.submit(now, Request::new(id, Op::Write, lba, sectors as u32));
            assert!(!ssd.condition().rests);
            while answered.len() as u64 <= id {
                now = ssd.next_event().expect("the write is under way");
                ssd.advance(now, &mut answered);
            }
        }
        ssd.submit(now, Request::new(pages, Op::Flush, Lba(0), 0));
        while let Some(at) = ssd.next_event() {
            ssd.advance(at, &mut answered);
        }
        assert!(ssd.condition().rests, "{frontiers}");
        let erased = ssd.account(now).wear.mean_erases;
        assert!(erased > 0.0);
        let mut other = Ssd::new(&config, 2).expect("it is valid");
        other.restore(ssd.save().expect("it has a state")).expect("it has the same shape");
        other.audit().expect("it is sound");
        let kept = other.account(0).wear.mean_erases;
        assert_eq!(kept.to_bits(), erased.to_bits());
    }
}
