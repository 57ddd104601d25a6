//! Drives of all shapes, as small as possible, and their requests.

use devices::ssd::config::{
    ActiveBlocks, BlockBuffer, Cleaning, CleaningTime, FillOrder, Fold, FreeOrder, Frontiers, Gang,
    HostLink, Interleave, Isolation, Levelling, LevellingRule, LogBlocks, LogScheme, Pace, Pairing,
    PairingGuard, Persistence, Planes, Pool, Program, Reclaim, Recovery, SlcCache, Trims, Wear,
    WhenFull,
};
use devices::ssd::{Geometry, SsdConfig};
use engine::{Lba, Op, Random, Request, Xoshiro256};
use options::{Duration, Maybe, Size};

pub fn pick<T: Copy>(random: &mut Xoshiro256, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

pub fn between(random: &mut Xoshiro256, low: u32, high: u32) -> u32 {
    low + random.below(u64::from(high - low) + 1) as u32
}

const INTERLEAVES: [Interleave; 4] =
    [Interleave::None, Interleave::Die, Interleave::PlanePair, Interleave::Plane];
const POOLS: [Pool; 5] = [Pool::Plane, Pool::Die, Pool::Package, Pool::Gang, Pool::Ssd];
const FRONTIERS: [Frontiers; 3] = [Frontiers::Single, Frontiers::SeparateMoved, Frontiers::HotCold];

/// Drives with a write buffer and without one; what is drawn of keys that have no effect is left out.
pub fn config(seed: u64) -> SsdConfig {
    let has_buffer = Xoshiro256::new(seed, 8).below(5) < 2;
    options::settled(if has_buffer { buffered(seed) } else { unbuffered(seed) })
}

fn buffered(seed: u64) -> SsdConfig {
    let random = &mut Xoshiro256::new(seed, 9);
    let bits = pick(random, &[1, 1, 2, 3]);
    let protected = random.below(2) == 0;
    let program = match random.below(4) {
        0 if protected => Program::TwoPass,
        1 => Program::PerPage,
        _ => Program::OneShot,
    };
    let planes = between(random, 1, 2);
    let mut config = SsdConfig {
        channels: between(random, 1, 2),
        packages_per_channel: between(random, 1, 2),
        dies_per_package: pick(random, &[1, 1, 2]),
        planes_per_die: planes,
        blocks_per_plane: between(random, 10, 16),
        pages_per_block: bits * between(random, 3, 8),
        page_size: Size::from_bytes(4096),
        summary_page: random.below(3) > 0,
        cache_commands: random.below(2) == 0,
        fill_order: pick(random, &[FillOrder::Sequential, FillOrder::Random]),
        free_order: pick(random, &[FreeOrder::Rotating, FreeOrder::Fifo, FreeOrder::LeastWorn]),
        host_link: HostLink::default(),
        ..SsdConfig::default()
    };
    config.logical_page = pick(random, &[None, None, Some(2048), Some(4096 * u64::from(planes))])
        .map(Size::from_bytes);
    config.timing.program = Duration::from_ns([200, 400, 1_000][bits as usize - 1] * 1_000);
    config.cell.bits = bits;
    config.cell.program = program;
    config.cell.distance = between(random, 1, 2);
    config.cell.planes = pick(random, &[Planes::Shared, Planes::Independent]);
    if random.below(2) == 0 {
        config.suspend.program = Maybe(Some(Duration::from_ns(20_000)));
        config.suspend.erase = Maybe(Some(Duration::from_ns(20_000)));
    }
    config.cleaning = Cleaning {
        min_free: Some(0.0),
        reclaim: pick(random, &[Reclaim::Block, Reclaim::Superblock]),
        pace: pick(random, &[Pace::Token, Pace::Burst, Pace::Adaptive]),
        ..Cleaning::default()
    };
    config.parity.of = pick(random, &[0, 0, 3, 4]);
    let dies = config.channels * config.packages_per_channel * config.dies_per_package;
    let rows = if program == Program::PerPage { 1 } else { bits };
    let held = if program == Program::TwoPass { config.cell.distance + 2 } else { 1 };
    let groups = dies * held + 1 + between(random, 0, 2 * dies);
    config.buffer.size = Size::from_bytes(u64::from(groups * planes * rows) * 4096);
    config.buffer.power_loss_protected = protected;
    if random.below(3) == 0 {
        config.buffer.linger = Maybe(Some(Duration::from_ns(300_000)));
    }
    config.persistence = Persistence {
        recovery: pick(random, &[Recovery::Spare, Recovery::Summary, Recovery::Checkpoint]),
        checkpoint: Duration::from_ns(2_000_000 + random.below(20_000_000)),
        trims: pick(random, &[Trims::Volatile, Trims::Flushed, Trims::Logged]),
        ..Persistence::default()
    };
    if !config.summary_page {
        config.persistence.recovery = Recovery::Spare;
    }
    if random.below(8) == 0 {
        config.wear = Wear { rated_cycles: 30, spread: 0.2, ..Wear::default() };
    }
    has_features(&mut config, groups, &mut Xoshiro256::new(seed, 13));
    config
}

/// Some have an SLC cache, wear levelling or placement handles, or several of these.
fn has_features(config: &mut SsdConfig, groups: u32, random: &mut Xoshiro256) {
    let cell = &config.cell;
    let may_cache = cell.bits > 1
        && cell.program == Program::OneShot
        && config.cleaning.reclaim == Reclaim::Superblock;
    let drawn = [may_cache && random.below(2) == 0, random.below(4) == 0, random.below(4) == 0];
    let [caches, levels, places] = drawn;
    if caches {
        config.slc_cache = SlcCache {
            dynamic: pick(random, &[0.3, 1.0]),
            program: Some(Duration::from_ns(config.timing.program.ns() / 4)),
            read: Some(Duration::from_ns(20_000)),
            when_full: pick(random, &[WhenFull::Direct, WhenFull::Fold]),
            fold: pick(random, &[Fold::Idle, Fold::Lazy, Fold::Eager]),
            fold_after: Duration::from_ns(pick(random, &[1_000, 3_000_000])),
            rated_cycles: pick(random, &[None, Some(400_000)]),
            ..SlcCache::default()
        };
    }
    if levels {
        config.wear = Wear { rated_cycles: 30, spread: 0.2, ..Wear::default() };
        config.cleaning.levelling = Levelling {
            rule: pick(random, &[LevellingRule::Migrate, LevellingRule::RateLimit]),
            retirement_age: 1.0,
            cold_life: 0.5,
            ..Levelling::default()
        };
    }
    if places {
        config.fdp.handles = pick(random, &[2, 3]);
        config.fdp.isolation = pick(random, &[Isolation::Initial, Isolation::Persistent]);
        config.fdp.place = "address(0-20%:1)".parse().expect("a rule");
    }
    let more = 1 + u32::from(levels) + if places { 2 * config.fdp.handles + 2 } else { 0 };
    let bytes = u64::from(more * groups * config.planes_per_die * config.cell.bits) * 4096;
    if more > 1 {
        config.buffer.size = Size::from_bytes(bytes);
    }
    if drawn != [false; 3] {
        config.blocks_per_plane += 8 + 4 * more;
    }
}

/// Interleave, pool and frontiers go round with the seed, so that all meet; the rest is drawn.
fn unbuffered(seed: u64) -> SsdConfig {
    let random = &mut Xoshiro256::new(seed, 0);
    let turn = seed as usize;
    let mut config = SsdConfig {
        channels: between(random, 1, 2),
        packages_per_channel: between(random, 1, 2),
        dies_per_package: pick(random, &[1, 1, 2]),
        planes_per_die: 2,
        blocks_per_plane: between(random, 8, 16),
        pages_per_block: between(random, 4, 8),
        page_size: Size::from_bytes(4096),
        summary_page: random.below(4) > 0,
        interleave: INTERLEAVES[turn % 4],
        pool: POOLS[turn / 4 % 5],
        cache_commands: random.below(4) == 0,
        fill_order: pick(random, &[FillOrder::Sequential, FillOrder::Random]),
        free_order: pick(random, &[FreeOrder::Rotating, FreeOrder::Fifo, FreeOrder::LeastWorn]),
        host_link: HostLink::default(),
        ..SsdConfig::default()
    };
    config.persistence = Persistence {
        recovery: pick(random, &[Recovery::Spare, Recovery::Summary, Recovery::Checkpoint]),
        checkpoint: Duration::from_ns(2_000_000 + random.below(20_000_000)),
        trims: pick(random, &[Trims::Volatile, Trims::Flushed, Trims::Logged]),
        ..Persistence::default()
    };
    if !config.summary_page {
        config.persistence.recovery = Recovery::Spare;
    }
    config.cleaning = Cleaning {
        min_free: Some(0.0),
        time: pick(random, &[CleaningTime::Blocking, CleaningTime::Interleaved]),
        background: random.below(4) == 0,
        copy_back: random.below(3) == 0,
        frontiers: FRONTIERS[turn / 20 % 3],
        ..Cleaning::default()
    };
    layout(&mut config, random);
    gathers(&mut config, &mut Xoshiro256::new(seed, 11));
    gathers_blocks(&mut config, &mut Xoshiro256::new(seed, 12));
    goes_bad(&mut config, &mut Xoshiro256::new(seed, 13));
    let paired = &mut Xoshiro256::new(seed, 10);
    if config.logical_page.is_none() && !config.log_blocks.are_used() && paired.below(3) == 0 {
        config.cell.pairing = pick(paired, &[Pairing::Next, Pairing::Stepped]);
        let guards = [PairingGuard::Copy, PairingGuard::Copy, PairingGuard::Capacitors];
        config.cell.pairing_guard = pick(paired, &guards);
        if config.cell.pairing_guard == PairingGuard::Copy {
            config.cache_commands = false;
        }
    }
    if random.below(4) == 0 {
        config.wear = Wear { rated_cycles: 30, spread: 0.2, ..Wear::default() };
        if config.log_blocks.are_used() {
            return config;
        }
        config.cleaning.levelling = Levelling {
            rule: pick(random, &[LevellingRule::Migrate, LevellingRule::RateLimit]),
            retirement_age: 1.0,
            cold_life: 0.5,
            ..Levelling::default()
        };
    }
    config
}

/// Some keep their map, and some write to log blocks.
fn gathers(config: &mut SsdConfig, random: &mut Xoshiro256) {
    if random.below(6) == 0 {
        config.persistence.recovery = Recovery::Nvram;
        config.persistence.map_write = Duration::from_ns(between(random, 1, 90_000).into());
    }
    if random.below(5) > 0 {
        return;
    }
    let schemes = [LogScheme::Replacement, LogScheme::Bast, LogScheme::Fast];
    config.log_blocks = LogBlocks { scheme: pick(random, &schemes), count: between(random, 1, 3) };
    (config.interleave, config.pool) = pick(
        random,
        &[
            (Interleave::None, Pool::Package),
            (Interleave::Die, Pool::Die),
            (Interleave::Die, Pool::Plane),
        ],
    );
    (config.gang, config.page_span, config.logical_page) = (Gang::SharedBus, None, None);
    (config.active_blocks, config.cache_commands) = (ActiveBlocks::Auto, false);
    config.fill_order = FillOrder::Sequential;
    let time = config.cleaning.time;
    config.cleaning = Cleaning { time, ..Cleaning::default() };
    config.wear = Wear::default();
    config.blocks_per_plane = between(random, 14, 20);
}

/// Some have a block buffer, which may be of a few pages, and some of them lose what is in it.
fn gathers_blocks(config: &mut SsdConfig, random: &mut Xoshiro256) {
    if random.below(4) > 0 {
        return;
    }
    let gang = if config.gang == Gang::SharedControlSync { config.packages_per_channel } else { 1 };
    let page = config.logical_page.map_or(4096 * u64::from(gang), Size::bytes);
    let block = page * u64::from(between(random, 1, 6));
    let blocks = between(random, 2, 6);
    config.block_buffer = BlockBuffer {
        size: Size::from_bytes(block * u64::from(blocks)),
        block: Some(Size::from_bytes(block)),
        page_padding: random.below(2) == 0,
        compensation: random.below(2) == 0,
        flushes: Some(between(random, 1, blocks - 1)),
        power_loss_protected: random.below(2) == 0,
        read_ahead: Size::from_bytes(pick(random, &[0, 0, 16_384])),
    };
}

/// Some have blocks that are bad, or become so. One that ends cannot write what waits in a block buffer.
fn goes_bad(config: &mut SsdConfig, random: &mut Xoshiro256) {
    if random.below(4) > 0 || config.block_buffer.gathers() {
        return;
    }
    config.spares.factory_bad = pick(random, &[0.0, 0.02]);
    config.spares.program_fail = pick(random, &[0.0, 2e-3, 1e-2]);
    config.spares.erase_fail = pick(random, &[0.0, 5e-3]);
}

fn layout(config: &mut SsdConfig, random: &mut Xoshiro256) {
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
}

/// The shape of a drive with as little spare space as it can have, or none if its keys contradict each
/// other.
pub fn with_least_spare(config: &mut SsdConfig) -> Option<Geometry> {
    let shares = [0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8];
    shares.into_iter().find_map(|share| {
        config.spare_factor = Some(share);
        Geometry::new(config).ok()
    })
}

/// The load of a drive: mostly writes, to a part of it.
pub fn requests(seed: u64, geometry: &Geometry, count: u64) -> Vec<Request> {
    let random = &mut Xoshiro256::new(seed, 1);
    let forced = &mut Xoshiro256::new(seed, 4);
    let pages = geometry.exported_pages();
    let sectors = u64::from(geometry.sectors_per_page);
    let hot = (pages / pick(random, &[1, 4, 8])).max(1);
    let trims = pick(random, &[0, 0, 1, 3]);
    let flushes = pick(random, &[0, 1, 3]);
    let ask = |id| {
        let draw = random.below(20);
        let op = match draw {
            draw if draw < trims => Op::Trim,
            draw if draw < trims + flushes => Op::Flush,
            10 => Op::Read,
            _ => Op::Write,
        };
        let reach = if random.below(10) > 0 { hot } else { pages };
        let page = random.below(reach);
        let length = (1 + random.below(3)).min(pages - page);
        let mut count = (length * sectors) as u32;
        if op == Op::Write && random.below(10) == 0 {
            count -= sectors.min(2) as u32 - 1;
        }
        let request =
            Request::new(id + 1, op, Lba(page * sectors), if op == Op::Flush { 0 } else { count });
        Request { fua: op == Op::Write && forced.below(8) == 0, ..request }
    };
    (0..count).map(ask).collect()
}
