//! Is the flash alone enough? At any event of any drive the map that is rebuilt from the flash must be
//! the one that the FTL had, but for pages whose programming is under way: of those it must have the
//! copy before, so that nothing that was answered is lost.
//!
//! Every seed makes a drive and a load. Trimmed pages leave no trace in the flash: nothing is expected
//! of a page while it is trimmed.

use crate::common;

use crate::common::depth::depth;
use crate::common::seeds;
use devices::Model;
use devices::ssd::config::{
    ActiveBlocks, Cleaning, CleaningTime, FillOrder, FreeOrder, Frontiers, Gang, Interleave,
    Levelling, LevellingRule, Persistence, Pool, Wear,
};
use devices::ssd::ftl::Rebuilt;
use devices::ssd::ids::Lpn;
use devices::ssd::{Geometry, Ssd, SsdConfig};
use engine::{Completion, Device, Lba, Op, Random, Request, Time, Xoshiro256};
use options::Size;
use std::collections::BTreeSet;

fn pick<T: Copy>(random: &mut Xoshiro256, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

fn between(random: &mut Xoshiro256, low: u32, high: u32) -> u32 {
    low + random.below(u64::from(high - low) + 1) as u32
}

const INTERLEAVES: [Interleave; 4] =
    [Interleave::None, Interleave::Die, Interleave::PlanePair, Interleave::Plane];
const POOLS: [Pool; 5] = [Pool::Plane, Pool::Die, Pool::Package, Pool::Gang, Pool::Ssd];
const FRONTIERS: [Frontiers; 3] = [Frontiers::Single, Frontiers::SeparateMoved, Frontiers::HotCold];

/// Interleave, pool and frontiers go round with the seed, so that all meet; the rest is drawn.
fn random_config(seed: u64, random: &mut Xoshiro256) -> SsdConfig {
    let seed = seed as usize;
    let mut config = SsdConfig {
        channels: between(random, 1, 2),
        packages_per_channel: between(random, 1, 2),
        dies_per_package: 2,
        planes_per_die: 2,
        blocks_per_plane: between(random, 8, 14),
        pages_per_block: between(random, 4, 8),
        page_size: Size::from_bytes(4096),
        summary_page: pick(random, &[true, false]),
        interleave: INTERLEAVES[seed % 4],
        pool: POOLS[seed / 4 % 5],
        cache_commands: random.below(4) == 0,
        fill: common::fill(pick(random, &["full", "full", "0.5"])),
        fill_order: pick(random, &[FillOrder::Sequential, FillOrder::Random]),
        free_order: pick(random, &[FreeOrder::Rotating, FreeOrder::Fifo, FreeOrder::LeastWorn]),
        persistence: Persistence { order: true, ..Persistence::default() },
        ..SsdConfig::default()
    };
    config.cleaning = Cleaning {
        min_free: Some(0.0),
        time: pick(random, &[CleaningTime::Blocking, CleaningTime::Interleaved]),
        background: random.below(4) == 0,
        copy_back: random.below(3) == 0,
        frontiers: FRONTIERS[seed / 20 % 3],
        ..Cleaning::default()
    };
    match random.below(6) {
        0 => config.logical_page = Some(Size::from_bytes(pick(random, &[2048, 8192]))),
        1 => {
            config.logical_page = Some(Size::from_bytes(8192));
            config.packages_per_channel = 2;
            config.page_span = Some(2);
        }
        2 => {
            config.gang = pick(random, &[Gang::SharedControlAsync, Gang::SharedControlSync]);
            config.packages_per_channel = 2;
            config.interleave = Interleave::None;
        }
        3 if matches!(config.pool, Pool::Gang | Pool::Ssd) => {
            config.packages_per_channel = 2;
            config.cleaning.stream = true;
            config.cleaning.copy_back = false;
        }
        _ if !config.cleaning.copy_back => {
            config.active_blocks = pick(random, &[ActiveBlocks::Auto, ActiveBlocks::Plane]);
        }
        _ => {}
    }
    if matches!(config.gang, Gang::SharedControlAsync | Gang::SharedControlSync)
        || config.interleave == Interleave::Plane
    {
        config.cache_commands = false;
    }
    if random.below(3) == 0 {
        config.wear = Wear { rated_cycles: 12, spread: 0.2, ..Wear::default() };
        config.cleaning.levelling = Levelling {
            rule: pick(random, &[LevellingRule::Migrate, LevellingRule::RateLimit]),
            retirement_age: 1.0,
            cold_life: 0.5,
            ..Levelling::default()
        };
    }
    config.spare_factor = Some(0.35 + 0.2 * random.unit());
    config
}

/// A drive, and what the host knows to be there.
struct Run {
    ssd: Ssd,
    page_sectors: u64,
    /// Pages that were there at some time and never trimmed.
    durable: BTreeSet<u64>,
    now: Time,
    outstanding: usize,
    checks: u64,
    completions: Vec<Completion>,
}

impl Run {
    fn new(config: &SsdConfig, geometry: &Geometry, seed: u64) -> Run {
        let ssd = Ssd::new(config, seed).unwrap();
        let mut run = Run {
            page_sectors: u64::from(geometry.sectors_per_page),
            durable: BTreeSet::new(),
            ssd,
            now: 0,
            outstanding: 0,
            checks: 0,
            completions: Vec::new(),
        };
        run.ssd.check_rebuild().unwrap();
        let rebuilt = run.ssd.rebuilt();
        let there = |page: &u64| is_somewhere(&rebuilt, *page);
        run.durable = (0..geometry.exported_pages()).filter(there).collect();
        run
    }

    fn check(&mut self) {
        self.checks += 1;
        self.ssd.check_rebuild().unwrap();
        let rebuilt = self.ssd.rebuilt();
        for page in &self.durable {
            assert!(is_somewhere(&rebuilt, *page), "page {page} is lost");
        }
    }

    /// The whole pages of a request.
    fn pages(&self, request: &Request) -> std::ops::Range<u64> {
        let end = request.lba.0 + u64::from(request.sectors);
        request.lba.0 / self.page_sectors..end / self.page_sectors
    }

    fn submit(&mut self, request: Request) {
        if request.op == Op::Trim {
            for page in self.pages(&request) {
                self.durable.remove(&page);
            }
        }
        self.outstanding += 1;
        self.ssd.submit(self.now, request);
    }

    /// Lets the next event happen.
    fn step(&mut self, trims: bool) {
        self.now = self.ssd.next_event().expect("it has something left to do");
        let mut done = std::mem::take(&mut self.completions);
        self.ssd.advance(self.now, &mut done);
        for completion in done.drain(..) {
            self.outstanding -= 1;
            if completion.request.op == Op::Write && !trims && !self.ssd.standing().has_ended {
                let pages = self.pages(&completion.request);
                self.durable.extend(pages);
            }
        }
        self.completions = done;
    }
}

/// Writes mostly to a part of the drive, several at a time; the map is rebuilt at randomly drawn events. Returns the
/// number of rebuilds, and true if the drive had to clean.
fn run(config: &SsdConfig, geometry: &Geometry, seed: u64) -> (u64, bool) {
    let random = &mut Xoshiro256::new(seed, 1);
    let mut run = Run::new(config, geometry, seed);
    let pages = geometry.exported_pages();
    let hot = (pages / pick(random, &[1, 4, 8])).max(1);
    for _ in 0..pick(random, &[0, 2]) * pages {
        run.ssd.overwrite_untimed(&[random.below(hot)], 0);
        if random.below(50) == 0 {
            run.check();
        }
    }
    let trims = random.below(3) == 0;
    let depth = pick(random, &[1, 4, 16, 32]);
    for id in 0..600 {
        while run.outstanding >= depth {
            run.step(trims);
            if random.below(8) == 0 {
                run.check();
            }
        }
        let op = match random.below(20) {
            0 if trims => Op::Trim,
            1 => Op::Read,
            _ => Op::Write,
        };
        let reach = if random.below(10) > 0 { hot } else { pages };
        let page = random.below(reach);
        let count = (1 + random.below(3)).min(pages - page);
        let mut sectors = (count * run.page_sectors) as u32;
        if op == Op::Write && random.below(10) == 0 {
            sectors -= run.page_sectors.min(2) as u32 - 1;
        }
        run.submit(Request::new(id, op, Lba(page * run.page_sectors), sectors));
    }
    while run.ssd.next_event().is_some() {
        run.step(trims);
    }
    run.ssd.check().unwrap();
    run.check();
    let state = run.ssd.account(run.now);
    (run.checks, state.counts.block_erases > 0 || run.ssd.standing().has_ended)
}

fn drives_drawn() -> u64 {
    depth(20, 80, 1_000)
}

#[test]
fn the_map_is_rebuilt_from_the_flash_alone() {
    let (mut drives, mut checks, mut cleaned) = (0, 0, 0);
    let drawn = drives_drawn();
    seeds(0..drawn, |seed| {
        let config = random_config(seed, &mut Xoshiro256::new(seed, 0));
        let Ok(geometry) = Geometry::new(&config) else { return };
        let (rebuilds, had_to_clean) = run(&config, &geometry, seed);
        drives += 1;
        checks += rebuilds;
        cleaned += u64::from(had_to_clean);
    });
    println!("{drives} drives of {drawn}, rebuilt {checks} times; {cleaned} had to clean");
    if std::env::var("SEED").is_err() {
        assert!(2 * drives > drawn, "only {drives} are possible");
        // Single drives have more blocks than the requests fill.
        assert!(50 * cleaned >= 49 * drives, "only {cleaned} of {drives} had to clean");
    }
}

/// Without an order per page the number of a block's opening is enough where the pages of a pool are
/// written one behind the other.
#[test]
fn one_number_a_block_is_enough_where_pages_are_written_in_turn() {
    let mut drives = 0;
    let drawn = drives_drawn();
    seeds(0..drawn, |seed| {
        let mut config = random_config(seed, &mut Xoshiro256::new(seed, 0));
        config.persistence = Persistence::default();
        config.cleaning.frontiers = Frontiers::Single;
        let Ok(geometry) = Geometry::new(&config) else { return };
        if geometry.domains > geometry.pools {
            return;
        }
        drives += 1;
        let _ = run(&config, &geometry, seed);
    });
    assert!(12 * drives > drawn || std::env::var("SEED").is_ok(), "only {drives} are possible");
}

/// What goes with the data of a page must fit its spare area.
#[test]
fn sequence_numbers_must_fit_the_spare_area() {
    let drive = |spare, logical_page, order| {
        let config = SsdConfig {
            spare_size: Size::from_bytes(spare),
            logical_page,
            persistence: Persistence { order, ..Persistence::default() },
            ..SsdConfig::default()
        };
        Geometry::new(&config).map(|_| ())
    };
    assert!(drive(0, None, false).is_ok());
    assert!(drive(8, None, true).is_ok());
    let refusal = drive(7, None, true).unwrap_err();
    assert!(refusal.keys.contains(&"device.persistence.order".to_owned()), "{refusal}");
    // Each of the four logical pages of a page has its own.
    assert!(drive(32, Some(Size::from_bytes(1024)), true).is_ok());
    assert!(drive(31, Some(Size::from_bytes(1024)), true).is_err());
}

fn is_somewhere(rebuilt: &Rebuilt, page: u64) -> bool {
    rebuilt.map().get(Lpn(page)).ppn().is_some()
}
