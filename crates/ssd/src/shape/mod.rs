//! Geometry: counts and numbering of packages, dies, planes, blocks and pages; unit, bus, pool and
//! domain of a block.
//!
//! A *unit* does one operation at a time (`device.interleave`). A *pool* bounds the placement of a
//! logical page (`device.pool`); logical pages are striped over pools. A *domain* is a set of
//! blocks with shared open blocks (frontiers), free list and victim index. It is the smaller of
//! unit and pool, or a plane if copy-back stays in one or `active_blocks` demands it. Behind a
//! write buffer a domain is the drive, a die or a reclaim group.
//!
//! A logical page may be part of a flash page, or several; only `granule.rs` knows both sizes. A
//! logical page across several packages makes a unit of several *lanes*. *Bound* units (a gang with
//! shared control, the planes of a pair) start operations together, all of one kind. `queues.rs`
//! and `die/` know only units, lanes, buses and bound sets.
//!
//! Contradictory configurations are rejected here with an [`Invalid`] that names the keys; each
//! feature has a file of constraints. Later computations with a [`Geometry`] cannot fail.

mod ageing;
mod block_buffer;
mod check;
mod conflicts;
pub mod divisor;
mod fdp;
pub mod granule;
pub mod groups;
mod log_blocks;
mod map_cache;
mod memory;
mod recovery;
mod slc;
mod snapshots;
mod spare_in_open;
mod today;

pub use granule::Granule;
pub use groups::Groups;
pub use map_cache::MapShape;
pub use spare_in_open::{MOST_TAKEN, SpareInOpen};

use crate::config::{ActiveBlocks, Gang, Interleave, Pool, Reclaim, SsdConfig};
use crate::ids::{Block, Domain, Lpn, PoolId, Ppn, Unit};
use divisor::Divisor;
use engine::SECTOR_BYTES;
use options::{Invalid, Size};

/// Levels of the hardware, inner to outer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Plane,
    PlanePair,
    Die,
    Package,
    Gang,
    /// Dies of a reclaim group.
    ReclaimGroup,
    Ssd,
}

/// Levels of units, pools and domains.
struct Levels {
    unit: Level,
    pool: Level,
    domain: Level,
}

impl Levels {
    fn new(config: &SsdConfig) -> Levels {
        if config.is_buffered() {
            // Blocks that are cleaned together share open blocks; pages are placed anywhere.
            let unit = match config.cleaning.reclaim {
                Reclaim::Block => Level::Die,
                Reclaim::Superblock if config.fdp.reclaim_groups() > 1 => Level::ReclaimGroup,
                Reclaim::Superblock => Level::Ssd,
            };
            let pool = match config.fdp.reclaim_groups() {
                1 => Level::Ssd,
                _ => Level::ReclaimGroup,
            };
            return Levels { unit, pool, domain: unit };
        }
        let unit = match config.interleave {
            Interleave::None => Level::Package,
            Interleave::Die => Level::Die,
            Interleave::PlanePair => Level::PlanePair,
            Interleave::Plane => Level::Plane,
        };
        let pool = match config.pool {
            Pool::Plane => Level::Plane,
            Pool::Die => Level::Die,
            Pool::Package => Level::Package,
            Pool::Gang => Level::Gang,
            Pool::Ssd => Level::Ssd,
        };
        // Pages that never leave their plane need an open block per plane.
        let stay = config.cleaning.copy_back || config.gang == Gang::SharedControlSync;
        let domain = match config.active_blocks {
            ActiveBlocks::Auto if !stay => unit.min(pool),
            ActiveBlocks::Unit => unit.min(pool),
            ActiveBlocks::Auto | ActiveBlocks::Plane => Level::Plane,
        };
        Levels { unit, pool, domain }
    }
}

/// Shape of a drive, derived from its configuration.
///
/// If a logical page spans several packages, these act together and count as one *package*, their
/// blocks as one block; each is a *lane*. A *page* is always a logical page. Everything that
/// follows from the configuration is derived once, here.
#[derive(Debug, Clone)]
pub struct Geometry {
    /// Number of channels.
    pub channels: u32,
    /// Number of packages; package p is on channel p mod `channels`.
    pub packages: u32,
    /// Planes per package.
    pub planes_per_package: u32,
    /// Planes per die.
    planes_per_die: u32,
    /// Planes per unit.
    planes_per_unit: u32,
    /// Layout of a logical page on the flash.
    pub granule: Granule,
    /// Groups of logical pages, if there is a write buffer.
    pub groups: Option<Groups>,
    /// Sharing of a gang's packages, including joint operations.
    gang: Gang,
    binds_gang: bool,
    /// Planes per domain.
    pub planes_per_domain: u32,
    /// Logical pages per block, including a summary page.
    pub pages_per_block: u32,
    /// Data pages per block.
    pub data_pages: u32,
    /// Blocks per domain.
    pub blocks_per_domain: u32,
    /// Number of domains.
    pub domains: u32,
    /// Domains per unit, numbered consecutively.
    pub domains_per_unit: u32,
    /// Number of units.
    pub units: u32,
    /// Units per package.
    pub units_per_package: u32,
    /// Number of pools.
    pub pools: u32,
    /// Domains of each pool, in striping order.
    pub pool_domains: Vec<Vec<Domain>>,
    /// Pool of each domain.
    pub domain_pool: Vec<PoolId>,
    /// Exported logical pages per pool.
    pub pages_per_pool: u64,
    /// True if page numbers exceed 32 bits.
    pub wide: bool,
    /// Logical pages per stripe.
    pub stripe_pages: u32,
    /// Sectors per logical page.
    pub sectors_per_page: u32,
    /// Sectors per flash page, or per logical page if that is smaller.
    pub sectors_per_flash_page: u32,
    /// Garbage collection threshold: maximum number of erased blocks of a domain that needs
    /// cleaning; at least 1.
    pub low_blocks: u32,
    /// Background threshold: at least `low_blocks`, and equal to it without background garbage
    /// collection.
    pub idle_blocks: u32,
    /// Number of open blocks per domain.
    pub frontiers: u32,
    /// Pages of a domain kept erased for power cuts.
    pub kept_for_cuts: u32,
    /// Pages of a domain kept erased for padded groups, or for folded data of several handles.
    pub kept_for_padding: u32,
    /// Number of static SLC cache blocks.
    pub static_blocks: u32,
    /// Pages of a pool reserved for snapshots.
    pub snapshot_pages: u64,
    /// Number of reclaim groups, each of which is a pool; 1 without groups.
    pub reclaim_groups: u32,
    /// Spare pages that a reclaim group may fill with data beyond its share of the exported pages.
    pub group_lends: u64,
    by_pools: Divisor,
    by_pages_per_block: Divisor,
    by_blocks_per_domain: Divisor,
    by_domains_per_unit: Divisor,
}

impl Geometry {
    /// Derives the shape, or reports contradictory keys.
    ///
    /// # Errors
    /// When counts are zero, sizes do not divide, pages are too many, or spare space cannot hold
    /// the blocks kept erased.
    pub fn new(config: &SsdConfig) -> Result<Geometry, Invalid> {
        check::counts(config)?;
        Geometry::check_fdp(config)?;
        today::check(config)?;
        let groups = config.is_buffered().then(|| Groups::new(config)).transpose()?;
        if let Some(groups) = &groups {
            today::buffers(config, groups)?;
        }
        let granule = Granule::new(config)?;
        check::parallelism(config, granule)?;
        check::streams(config, granule)?;
        let planes_per_package = config.dies_per_package * config.planes_per_die;
        let packages = config.channels * config.packages_per_channel / granule.span;
        let planes = packages * planes_per_package;
        let Levels { unit, pool, domain } = Levels::new(config);
        let planes_in = |level| match level {
            Level::Plane => 1,
            Level::PlanePair => 2,
            Level::Die => config.planes_per_die,
            Level::Package => planes_per_package,
            Level::Gang if granule.span > 1 => planes_per_package,
            Level::Gang => planes_per_package * config.packages_per_channel,
            Level::ReclaimGroup => planes / config.fdp.reclaim_groups(),
            Level::Ssd => planes,
        };
        let planes_per_domain = planes_in(domain);
        // With a write buffer the planes of a domain operate together.
        let planes_apart = if groups.is_some() { 1 } else { planes_per_domain };
        let blocks = planes_apart * config.blocks_per_plane;
        let domains = planes / planes_per_domain;
        let pools = planes / planes_in(pool);
        let page_bytes = config.page_size.bytes() / u64::from(granule.parts);
        let logical_bytes = page_bytes * u64::from(granule.flash_pages);
        let stripe_pages = stripe_pages(config, logical_bytes)?;
        let data_pages =
            groups.map_or_else(|| granule.per_block(config), |it| it.units_per_block());
        let pages_per_block = data_pages.saturating_add(config.summary_page.into());
        let mut geometry = Geometry {
            channels: config.channels,
            packages,
            planes_per_package,
            planes_per_die: config.planes_per_die,
            planes_per_unit: planes_in(unit),
            granule,
            groups,
            gang: config.gang,
            binds_gang: config.binds_gang(),
            planes_per_domain,
            pages_per_block,
            data_pages,
            blocks_per_domain: blocks,
            domains,
            domains_per_unit: planes_in(unit) / planes_per_domain,
            units: planes / planes_in(unit),
            units_per_package: planes_per_package / planes_in(unit),
            pools,
            pool_domains: ::memory::filled(Vec::new(), pools as usize),
            domain_pool: Vec::new(),
            pages_per_pool: 0,
            wide: false,
            stripe_pages,
            sectors_per_page: (logical_bytes / SECTOR_BYTES) as u32,
            sectors_per_flash_page: (page_bytes / SECTOR_BYTES) as u32,
            low_blocks: 0,
            frontiers: config.open_blocks()
                + u32::from(config.gathers_cold())
                + u32::from(config.is_buffered() && config.slc_cache.is_on()),
            idle_blocks: 0,
            kept_for_cuts: 0,
            kept_for_padding: 0,
            static_blocks: 0,
            snapshot_pages: 0,
            reclaim_groups: 1,
            group_lends: 0,
            by_pools: Divisor::new(pools),
            by_pages_per_block: Divisor::new(pages_per_block),
            by_blocks_per_domain: Divisor::new(blocks),
            by_domains_per_unit: Divisor::new(planes_in(unit) / planes_per_domain),
        };
        geometry.check_pages()?;
        geometry.wide = geometry.pages() >= u64::from(u32::MAX);
        geometry.place_pools(pool);
        let share = f64::from(geometry.blocks_per_domain) * config.min_free();
        geometry.low_blocks = (share as u32).max(1);
        geometry.keep_room_for_cuts(config)?;
        geometry.static_blocks = geometry.static_slc_blocks(config)?;
        geometry.check_log_blocks(config)?;
        geometry.check_handles(config)?;
        geometry.pages_per_pool = geometry.exported_per_pool(config)?;
        geometry.reclaim_groups = config.fdp.reclaim_groups();
        geometry.group_lends = geometry.lent_by_group(config);
        geometry.check_block_buffer(config)?;
        geometry.snapshot_pages = geometry.room_for_snapshots(config)?;
        geometry.check_map_cache(config)?;
        geometry.check_filled(config)?;
        geometry.idle_blocks = geometry.low_blocks;
        if config.cleaning.background {
            let share = f64::from(geometry.blocks_per_domain) * config.cleaning.background_free;
            geometry.idle_blocks = (share as u32).max(geometry.low_blocks);
            geometry.check_background(config)?;
        }
        Ok(geometry)
    }

    /// Assigns domains to pools.
    fn place_pools(&mut self, pool: Level) {
        for d in 0..self.domains {
            let package = d * self.planes_per_domain / self.planes_per_package;
            let inside = d * self.planes_per_domain % self.planes_per_package;
            // Consecutive pools are in different packages, so that striping is parallel.
            let p = match pool {
                Level::Plane | Level::PlanePair => inside * self.packages + package,
                Level::Die => inside / self.planes_per_die * self.packages + package,
                Level::Package => package,
                Level::Gang if self.granule.span > 1 => package,
                Level::Gang => package % self.channels,
                Level::ReclaimGroup => d / (self.domains / self.pools),
                Level::Ssd => 0,
            };
            self.pool_domains[p as usize].push(Domain(d));
            self.domain_pool.push(PoolId(p));
        }
    }

    /// Exported pages per pool: the pages not in spare space, in whole stripes.
    fn exported_per_pool(&self, config: &SsdConfig) -> Result<u64, Invalid> {
        let domains = self.domains / self.pools;
        let blocks = domains * self.blocks_per_domain - self.static_blocks;
        let physical = u64::from(blocks) * u64::from(self.data_pages);
        let page_bytes = u64::from(self.sectors_per_page) * SECTOR_BYTES;
        let (key, exported) =
            check::spare(config, blocks, physical, self.data_pages, (self.pools, page_bytes))?;
        let stripe = u64::from(self.stripe_pages);
        if exported == 0 {
            let problem = "no page is left to export: the spare space is the whole drive";
            return Err(Invalid::new(&[key], problem));
        }
        let whole = self.exported_at_a_time(config);
        let exported = exported / whole * whole;
        if exported == 0 {
            let bytes = stripe * u64::from(self.sectors_per_page) * SECTOR_BYTES;
            let problem = format!("{} is more than a pool exports", Size::from_bytes(bytes));
            return Err(Invalid::new(&["device.stripe", key], problem));
        }
        // With every domain at its threshold and one block open, the closed blocks must still hold
        // superseded pages; otherwise garbage collection stalls.
        let held = u64::from(domains) * u64::from(self.low_blocks + self.frontiers);
        let held_pages = held * u64::from(self.data_pages);
        if physical - exported <= held_pages {
            let spare = (physical - exported) / u64::from(self.data_pages);
            return Err(Invalid::new(
                &[key, "device.cleaning.min_free"],
                format!(
                    "the spare space of a pool, {spare} of its {blocks} blocks, cannot hold the \
                     {held} blocks that cleaning keeps erased or open ({domains} x ({} by \
                     min_free + {})); raise the spare space or lower min_free",
                    self.low_blocks, self.frontiers
                ),
            ));
        }
        if let Some(groups) = &self.groups {
            let kept = u64::from(domains * self.kept_pages()).min(physical - 1);
            today::gains(config, groups, exported as f64 / (physical - kept) as f64, key)?;
            today::held_programs(config, groups, physical - exported, held_pages, key)?;
        }
        Ok(exported)
    }

    /// Background garbage collection must start above the regular threshold, within the spare
    /// space.
    fn check_background(&self, config: &SsdConfig) -> Result<(), Invalid> {
        let cleaning = &config.cleaning;
        let key = "device.cleaning.background_free";
        let min_free = config.min_free();
        if !(min_free..1.0).contains(&cleaning.background_free) {
            let problem = format!(
                "{} is not between min_free, {}, and 1: in idle time more blocks are kept erased \
                 than under load",
                cleaning.background_free, min_free
            );
            return Err(Invalid::new(&[key, "device.cleaning.min_free"], problem));
        }
        let domains = self.domains / self.pools;
        let kept = u64::from(domains) * u64::from(self.idle_blocks + 1);
        let blocks = u64::from(domains) * u64::from(self.blocks_per_domain);
        let used = self.pages_per_pool.div_ceil(u64::from(self.data_pages));
        if blocks - used <= kept {
            let problem = format!(
                "the {} spare blocks of a pool cannot hold the {kept} that it keeps erased or \
                 open; raise the spare space or lower background_free",
                blocks - used
            );
            return Err(Invalid::new(&[key, "device.spare_factor"], problem));
        }
        Ok(())
    }

    /// Blocks that a pool can lose before its spare space falls below the reserve of erased and
    /// open blocks and snapshots.
    pub fn losable_blocks(&self) -> u32 {
        let domains = u64::from(self.domains / self.pools);
        let data_pages = u64::from(self.data_pages);
        let blocks = domains * u64::from(self.blocks_per_domain) - u64::from(self.static_blocks);
        let physical = blocks * data_pages;
        let held = domains * u64::from(self.low_blocks + self.frontiers) * data_pages;
        let used = self.pages_per_pool + self.snapshot_pages;
        ((physical - used - held - 1) / data_pages) as u32
    }

    /// The program groups of a drive; without a write buffer groups of one page, on "dies" that are the domains.
    pub fn program_groups(&self) -> Groups {
        let of_pages = || {
            let bytes = self.sectors_per_page * SECTOR_BYTES as u32;
            Groups::of_pages(bytes, self.data_pages, self.pages_per_block)
        };
        self.groups.unwrap_or_else(of_pages)
    }

    /// Number of blocks of the drive.
    pub fn blocks(&self) -> u32 {
        self.domains * self.blocks_per_domain
    }

    /// Pool of a logical page.
    #[inline]
    pub fn pool_of(&self, lpn: Lpn) -> PoolId {
        if self.stripe_pages == 1 {
            return PoolId(self.by_pools.remainder(lpn.0));
        }
        PoolId(self.by_pools.remainder(lpn.0 / u64::from(self.stripe_pages)))
    }

    /// Logical page at index `index` of a pool; indexes ascend with addresses.
    pub fn lpn_in_pool(&self, pool: PoolId, index: u64) -> Lpn {
        let stripe = u64::from(self.stripe_pages);
        let (row, offset) = (index / stripe, index % stripe);
        Lpn((row * u64::from(self.pools) + u64::from(pool.0)) * stripe + offset)
    }

    /// True if the last page of each block is reserved for a summary.
    #[inline]
    pub fn has_summary_page(&self) -> bool {
        self.pages_per_block > self.data_pages
    }

    /// Block of a physical page.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> Block {
        Block(self.by_pages_per_block.quotient(ppn.0) as u32)
    }

    /// Index of a physical page in its block.
    #[inline]
    pub fn page_in_block(&self, ppn: Ppn) -> u32 {
        self.by_pages_per_block.remainder(ppn.0)
    }

    /// Block of a physical page, and its index there.
    #[inline]
    pub fn block_and_page(&self, ppn: Ppn) -> (Block, u32) {
        let block = self.block_of(ppn);
        (block, (ppn.0 - u64::from(block.0) * u64::from(self.pages_per_block)) as u32)
    }

    /// True for the last data page of a block, which the summary page follows.
    #[inline]
    pub fn is_last(&self, ppn: Ppn) -> bool {
        self.page_in_block(ppn) + 1 == self.data_pages
    }

    /// Physical page at index `page` of a block.
    #[inline]
    pub fn ppn(&self, block: Block, page: u32) -> Ppn {
        Ppn(u64::from(block.0) * u64::from(self.pages_per_block) + u64::from(page))
    }

    /// Domain of a block.
    #[inline]
    pub fn domain_of(&self, block: Block) -> Domain {
        Domain(self.by_blocks_per_domain.quotient(block.0.into()) as u32)
    }

    /// The first block of a domain.
    #[inline]
    pub fn first_block(&self, domain: Domain) -> Block {
        Block(domain.0 * self.blocks_per_domain)
    }

    /// Unit of a domain.
    #[inline]
    pub fn unit_of(&self, domain: Domain) -> Unit {
        Unit(self.by_domains_per_unit.quotient(domain.0.into()) as u32)
    }

    /// Unit of a physical page.
    #[inline]
    pub fn unit_holding(&self, ppn: Ppn) -> Unit {
        self.unit_of(self.domain_of(self.block_of(ppn)))
    }

    /// First package of a unit's span, and distance to the next: consecutive on one channel for a
    /// synchronous gang, adjacent otherwise.
    fn packages_of(&self, unit: Unit) -> (u32, u32) {
        let package = unit.0 / self.units_per_package;
        match self.gang {
            Gang::SharedControlSync => (package, self.channels),
            _ => (package * self.granule.span, 1),
        }
    }

    /// True if two units are in different packages on one bus.
    pub fn share_bus(&self, one: Unit, other: Unit) -> bool {
        let package = |unit: Unit| unit.0 / self.units_per_package;
        package(one) != package(other)
            && package(one) % self.channels == package(other) % self.channels
    }

    /// Bus of each lane, unit 0 first: its channel's, or with shared control its package's.
    pub fn lane_buses(&self) -> Vec<u32> {
        let of_unit = |unit| {
            let (first, step) = self.packages_of(Unit(unit));
            (0..self.granule.span).map(move |lane| first + lane * step)
        };
        let packages = (0..self.units).flat_map(of_unit);
        match self.gang {
            Gang::SharedBus => packages.map(|package| package % self.channels).collect(),
            Gang::SharedControlAsync | Gang::SharedControlSync => packages.collect(),
        }
    }

    /// Instruction pins of each lane, in bus order: its channel's.
    pub fn lane_controls(&self) -> Vec<u32> {
        self.lane_buses().iter().map(|package| package % self.channels).collect()
    }

    /// True if units are planes, and the planes of a pair (0 and 1, 2 and 3, ...) start operations
    /// together.
    pub fn has_pairs(&self) -> bool {
        self.planes_per_unit == 1 && self.planes_per_die > 1
    }

    /// Sets of at least two units that run operations of one kind at a time.
    pub fn bound_units(&self) -> Vec<Vec<Unit>> {
        if self.has_pairs() {
            return (0..self.units / 2)
                .map(|pair| vec![Unit(2 * pair), Unit(2 * pair + 1)])
                .collect();
        }
        if self.binds_gang && self.gang == Gang::SharedControlAsync && self.units > self.channels {
            let gang = |channel| (channel..self.units).step_by(self.channels as usize).map(Unit);
            return (0..self.channels).map(|channel| gang(channel).collect()).collect();
        }
        Vec::new()
    }

    /// Name of a unit in results.
    pub fn unit_name(&self, unit: Unit) -> String {
        if let Some(groups) = &self.groups {
            return match groups.width {
                _ if self.units == 1 => "all dies".to_owned(),
                1 => groups.die_name(unit.0),
                width => format!("dies {} to {}", unit.0 * width, (unit.0 + 1) * width - 1),
            };
        }
        let (first, step) = self.packages_of(unit);
        let packages = match self.granule.span {
            1 => format!("package {first}"),
            span => format!("packages {first}, {}..{}", first + step, first + (span - 1) * step),
        };
        let plane = unit.0 % self.units_per_package * self.planes_per_unit;
        let (die, plane) = (plane / self.planes_per_die, plane % self.planes_per_die);
        match self.planes_per_unit {
            all if all == self.planes_per_package => packages,
            all if all == self.planes_per_die => format!("{packages} die {die}"),
            1 => format!("{packages} die {die} plane {plane}"),
            _ => format!("{packages} die {die} planes {plane}-{}", plane + 1),
        }
    }
}

/// Logical pages per stripe.
fn stripe_pages(config: &SsdConfig, logical_bytes: u64) -> Result<u32, Invalid> {
    let Some(stripe) = config.stripe else { return Ok(1) };
    let bytes = stripe.bytes();
    if bytes == 0 || bytes % logical_bytes != 0 || bytes > 1 << 40 {
        let page = Size::from_bytes(logical_bytes);
        let problem =
            format!("{stripe} is not possible; a stripe is a multiple of the logical page, {page}");
        return Err(Invalid::new(&["device.stripe", "device.logical_page"], problem));
    }
    Ok((bytes / logical_bytes) as u32)
}

#[cfg(test)]
#[path = "spare_tests.rs"]
mod spare_tests;
