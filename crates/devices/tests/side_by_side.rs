//! Drives that are overwritten in parts, side by side, have the state that one thread gives them, to the bit;
//! and what cannot be divided says why.

use crate::common::{depth::depth, fill, seeds};
use devices::ssd::clean::{Answer, Cleaner, Custom, DomainState};
use devices::ssd::config::{
    ActiveBlocks, Cleaning, Detector, FillOrder, FreeOrder, Frontiers, HotCold, Interleave,
    Levelling, LevellingRule, Persistence, Policy, Pool, Temperature, TieBreak, Wear,
};
use devices::ssd::{Ssd, SsdConfig};
use devices::{Instruction, Job, Model, Supplied, Writes};
use engine::{Device, Lba, Op, Random, Request, Xoshiro256};
use options::Size;

struct Draws {
    seed: u64,
    pages: u64,
    count: u64,
}

impl Writes for Draws {
    fn each(&self, take: &mut dyn FnMut(&[u64])) {
        let mut random = Xoshiro256::new(self.seed, 0);
        for first in (0..self.count).step_by(100) {
            let batch = first..self.count.min(first + 100);
            take(&batch.map(|_| random.below(self.pages)).collect::<Vec<_>>());
        }
    }
}

fn in_threads(jobs: Vec<Job<'_>>) {
    std::thread::scope(|scope| jobs.into_iter().for_each(|job| drop(scope.spawn(job))));
}

/// Overwrites a drive in stretches, in `parts` parts; returns the drive.
fn overwritten(config: &SsdConfig, seed: u64, parts: u32) -> Ssd {
    let mut ssd = Ssd::new(config, seed).unwrap();
    let pages = ssd.facts().pages;
    let mut sure = 0;
    if parts > 1 {
        let division = ssd.divide(parts).unwrap();
        assert!(division.parts > 1 && division.parts <= parts);
        sure = division.sure;
    }
    for stretch in 0..3 {
        let draws = Draws { seed: seed + stretch, pages, count: pages / 2 + 7 * stretch };
        if parts > 1 {
            assert!(sure > draws.count);
            sure = ssd.overwrite_divided(&draws, &mut in_threads);
        } else {
            draws.each(&mut |batch| ssd.overwrite_untimed(batch, 0));
        }
    }
    ssd.instruct(0, Instruction::Unite).unwrap();
    ssd.check().unwrap();
    // It continues unsplit.
    Draws { seed, pages, count: pages / 4 }.each(&mut |batch| ssd.overwrite_untimed(batch, 0));
    ssd.check().unwrap();
    ssd
}

/// A small drive whose units share nothing.
fn drawn(seed: u64) -> SsdConfig {
    let mut random = Xoshiro256::new(seed, 1);
    let mut pick = |of: u64| random.below(of) as usize;
    let policies = [Policy::Greedy, Policy::Greedy, Policy::Fifo, Policy::WindowedGreedy];
    let frontiers = [Frontiers::Single, Frontiers::SeparateMoved, Frontiers::HotCold];
    let (interleave, pool) = [
        (Interleave::None, Pool::Package),
        (Interleave::None, Pool::Die),
        (Interleave::None, Pool::Plane),
        (Interleave::Die, Pool::Die),
        (Interleave::Die, Pool::Plane),
        (Interleave::PlanePair, Pool::Plane),
        (Interleave::Plane, Pool::Plane),
    ][pick(7)];
    SsdConfig {
        channels: 1 + pick(4) as u32,
        packages_per_channel: 1 + pick(2) as u32,
        dies_per_package: 2,
        planes_per_die: 2,
        blocks_per_plane: 48,
        pages_per_block: [4, 16, 33][pick(3)],
        interleave,
        pool,
        summary_page: pick(2) == 0,
        stripe: [None, Some(Size::from_bytes(8192)), Some(Size::from_bytes(12288))][pick(3)],
        active_blocks: [ActiveBlocks::Auto, ActiveBlocks::Plane][pick(2)],
        spare_factor: Some([0.25, 0.4][pick(2)]),
        fill: fill(["full", "0.5", "empty"][pick(3)]),
        fill_order: [FillOrder::Sequential, FillOrder::Random][pick(2)],
        free_order: [FreeOrder::Rotating, FreeOrder::Fifo, FreeOrder::LeastWorn][pick(3)],
        cleaning: Cleaning {
            policy: policies[pick(4)].clone(),
            tie_break: [TieBreak::Highest, TieBreak::Lowest][pick(2)],
            frontiers: frontiers[pick(3)],
            copy_back: pick(4) == 0,
            hot_cold: HotCold { detector: Detector::Address, ..HotCold::default() },
            ..Cleaning::default()
        },
        ..SsdConfig::default()
    }
}

/// Many pages at a time take shorter ways than requests, a page each.
#[test]
fn overwriting_pages_gives_the_state_of_serving_their_writes() {
    let mut cleaned = 0;
    seeds(0..60, |seed| {
        let Ok(mut drive) = Ssd::new(&drawn(seed), seed) else { return };
        let mut slow = drive.clone();
        let pages = drive.facts().pages;
        let sectors = drive.capacity_sectors() / pages;
        let random = &mut Xoshiro256::new(seed, 2);
        for count in [1, 37, 2 * pages, pages / 2] {
            let drawn: Vec<u64> = (0..count).map(|_| random.below(pages)).collect();
            drive.overwrite_untimed(&drawn, 0);
            for page in drawn {
                let request = Request::new(0, Op::Write, Lba(page * sectors), sectors as u32);
                assert!(slow.serve_untimed(&request).is_ok());
            }
        }
        drive.check().unwrap();
        assert!(Model::save(&drive) == Model::save(&slow), "seed {seed}");
        let [quick, slow] = [&drive, &slow].map(|drive| drive.account(0).counts);
        assert_eq!(quick, slow, "seed {seed}");
        cleaned += quick.block_erases;
    });
    assert!(cleaned > 1000, "{cleaned}");
}

#[test]
fn overwriting_a_drive_in_parts_gives_the_state_of_overwriting_it_whole() {
    let (mut divided, mut cleaned) = (0, 0);
    seeds(0..60, |seed| {
        let config = drawn(seed);
        let Ok(mut ssd) = Ssd::new(&config, seed) else { return };
        if Model::divide(&mut ssd, 2).is_err() {
            assert_eq!(ssd.account(0).units.len(), 1, "{config:?}");
            return;
        }
        let one = overwritten(&config, seed, 1);
        let kept = Model::save(&one).unwrap();
        for parts in [2, 3, 64] {
            let other = overwritten(&config, seed, parts);
            assert!(Model::save(&other).unwrap() == kept, "{parts} parts of {config:?}");
            assert!(other.account(0) == one.account(0), "{parts} parts of {config:?}");
        }
        divided += 1;
        cleaned += u32::from(one.account(0).counts.block_erases > 20);
    });
    if std::env::var_os("SEED").is_none() {
        assert!(divided > 25 && cleaned > 20, "{divided} drives, {cleaned} cleaned");
    }
}

#[test]
fn drives_that_cannot_be_divided_name_the_shared_state() {
    struct Own;
    impl Cleaner for Own {
        fn step(&mut self, _: &DomainState) -> Result<Answer, String> {
            Ok(Answer::Rest)
        }
    }
    let base = || SsdConfig {
        channels: 2,
        dies_per_package: 1,
        planes_per_die: 2,
        blocks_per_plane: 64,
        pages_per_block: 16,
        ..SsdConfig::default()
    };
    let cleaning = |cleaning| SsdConfig { cleaning, ..base() };
    let policy = |policy| cleaning(Cleaning { policy, ..Cleaning::default() });
    let levelling = |levelling| cleaning(Cleaning { levelling, ..Cleaning::default() });
    let why = |config: &SsdConfig| {
        let supplied = Supplied { policy: Some(Custom::new(Box::new(Own))) };
        let mut ssd = Ssd::with(config, 1, &supplied).unwrap();
        Model::divide(&mut ssd, 2).err().unwrap_or("nothing")
    };
    let hot_cold = |detector| HotCold { detector, ..HotCold::default() };
    let detecting = |detector| {
        let hot_cold = hot_cold(detector);
        cleaning(Cleaning { frontiers: Frontiers::HotCold, hot_cold, ..Cleaning::default() })
    };
    let ties = Cleaning { tie_break: TieBreak::Random, ..Cleaning::default() };
    let rule = |rule| levelling(Levelling { rule, ..Levelling::default() });
    let aggregate = Levelling { temperature: Temperature::Aggregate, ..Levelling::default() };
    let rows = vec![
        (base(), "nothing"),
        (SsdConfig { channels: 1, ..base() }, "the drive is one unit"),
        (SsdConfig { pool: Pool::Ssd, ..base() }, "pools span several units"),
        (policy("a:B".parse().unwrap()), "a user-defined cleaning policy sees the whole drive"),
        (policy(Policy::Random), "the cleaning policy draws random numbers across all units"),
        (policy(Policy::DChoices), "the cleaning policy draws random numbers across all units"),
        (cleaning(ties), "ties between victims are broken at random across all units"),
        (
            policy(Policy::CostBenefit),
            "the cleaning policy counts age in blocks opened on the whole drive",
        ),
        (policy(Policy::Cat), "the cleaning policy counts age in blocks opened on the whole drive"),
        (rule(LevellingRule::RateLimit), "wear levelling draws random numbers across all units"),
        (rule(LevellingRule::Migrate), "wear levelling draws random numbers across all units"),
        (
            levelling(aggregate),
            "the age of moved data is counted in blocks opened on the whole drive",
        ),
        (detecting(Detector::Address), "nothing"),
        (detecting(Detector::Writes), "the detector of hot pages is one table for all units"),
        (detecting(Detector::Recency), "the detector of hot pages is one table for all units"),
        (
            SsdConfig {
                persistence: Persistence { order: true, ..Persistence::default() },
                ..base()
            },
            "the programs of all units are numbered in one order",
        ),
    ];
    for (config, expected) in &rows {
        assert_eq!(why(config), *expected, "{config:?}");
    }
}

/// Whatever a thread more may do, no block wears out before the parts are one again.
#[test]
fn parts_end_before_blocks_wear_out() {
    let rated_cycles = depth(20, 20, 40) as u32;
    let config = SsdConfig { wear: Wear { rated_cycles, ..Wear::default() }, ..drawn(3) };
    let mut ssd = Ssd::new(&config, 3).unwrap();
    let pages = ssd.facts().pages;
    let sure = ssd.divide(2).unwrap().sure;
    assert_eq!(sure, u64::from(rated_cycles / 2 - 1));
    let (mut stretches, mut count) = (0, sure);
    while count > 0 {
        assert!(count <= sure);
        let draws = Draws { seed: stretches, pages, count };
        count = ssd.overwrite_divided(&draws, &mut in_threads);
        stretches += 1;
    }
    ssd.instruct(0, Instruction::Unite).unwrap();
    assert_eq!(ssd.account(0).wear.expired_blocks, 0);
    let most = ssd.account(0).wear.max_erases;
    assert!(
        stretches > 2 * u64::from(rated_cycles) && most > rated_cycles * 17 / 20,
        "{stretches}"
    );
    let mut ended = Ssd::new(&config, 3).unwrap();
    Draws { seed: 1, pages, count: 5 * u64::from(rated_cycles) / 2 * pages }
        .each(&mut |batch| ended.overwrite_untimed(batch, 0));
    assert_eq!(Model::divide(&mut ended, 2), Err("the drive has reached end of life"));
}
