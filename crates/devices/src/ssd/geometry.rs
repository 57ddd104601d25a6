//! Where things are: counts of packages, dies, planes, blocks and pages, the numbering of each, and
//! which unit, bus, pool and domain a block belongs to.
//!
//! Contradictory configurations end here, as an [`Invalid`] that names the keys; everything that
//! is computed with a [`Geometry`] afterwards cannot fail.

use super::config::{DEFAULT_SPARE_FACTOR, Interleave, Pool, SsdConfig};
use super::divisor::Divisor;
use super::sets::Sets;
use engine::SECTOR_BYTES;
use options::Invalid;

macro_rules! index {
    ($($(#[doc = $doc:literal])+ $name:ident),+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an array index.
            #[inline]
            pub fn at(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

index! {
    /// A logical page: what the host addresses, in pages.
    Lpn,
    /// A physical page: block number x pages per block + page in the block.
    Ppn,
    /// A flash block. Blocks are numbered domain by domain.
    Block,
    /// A domain: the blocks that share frontier, free list and victim index. The planes of a
    /// domain always belong to one unit and one pool.
    Domain,
    /// An allocation pool: the domains among which a logical page may be placed.
    PoolId,
    /// What serves one flash operation at a time.
    Unit
}

/// Levels of the hardware, inner to outer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Plane,
    Die,
    Package,
    Gang,
    Ssd,
}

/// The shape of a drive, derived from its configuration.
#[derive(Debug, Clone)]
pub struct Geometry {
    /// Buses.
    pub channels: u32,
    /// Packages in all; package p is on channel p mod `channels`.
    pub packages: u32,
    /// Planes in a package.
    pub planes_per_package: u32,
    /// Planes in a domain.
    pub planes_per_domain: u32,
    /// Pages of a block, with the summary page.
    pub pages_per_block: u32,
    /// Pages of a block that hold data.
    pub data_pages: u32,
    /// Blocks of a domain.
    pub blocks_per_domain: u32,
    /// Domains in all.
    pub domains: u32,
    /// Domains of a unit; they are numbered consecutively.
    pub domains_per_unit: u32,
    /// Units in all.
    pub units: u32,
    /// Units of a package.
    pub units_per_package: u32,
    /// Pools in all.
    pub pools: u32,
    /// Domains of each pool, in the order in which pools are striped.
    pub pool_domains: Vec<Vec<Domain>>,
    /// Pool of each domain.
    pub domain_pool: Vec<PoolId>,
    /// Logical pages of a pool.
    pub pages_per_pool: u32,
    /// Logical pages in a stripe.
    pub stripe_pages: u32,
    /// Sectors of a page.
    pub sectors_per_page: u32,
    /// A domain is cleaned when it has at most this many erased blocks; at least 1.
    pub low_blocks: u32,
    by_pools: Divisor,
    by_pages_per_block: Divisor,
    by_blocks_per_domain: Divisor,
    by_domains_per_unit: Divisor,
}

impl Geometry {
    /// Derives the shape, or says which keys contradict each other.
    ///
    /// # Errors
    /// Counts of zero, sizes that do not divide, a drive too large for 32-bit page numbers, and
    /// spare space that cannot hold the blocks kept erased.
    pub fn new(config: &SsdConfig) -> Result<Geometry, Invalid> {
        check_counts(config)?;
        let planes_per_package = config.dies_per_package * config.planes_per_die;
        let packages = config.channels * config.packages_per_channel;
        let planes = packages * planes_per_package;
        let unit = match config.interleave {
            Interleave::None => Level::Package,
            Interleave::Die => Level::Die,
        };
        let pool = match config.pool {
            Pool::Plane => Level::Plane,
            Pool::Die => Level::Die,
            Pool::Package => Level::Package,
            Pool::Gang => Level::Gang,
            Pool::Ssd => Level::Ssd,
        };
        // With copy-back, pages never leave their plane, so each plane has a frontier of its own.
        let domain = if config.cleaning.copy_back { Level::Plane } else { unit.min(pool) };
        let planes_in = |level| match level {
            Level::Plane => 1,
            Level::Die => config.planes_per_die,
            Level::Package => planes_per_package,
            Level::Gang => planes_per_package * config.packages_per_channel,
            Level::Ssd => planes,
        };
        let planes_per_domain = planes_in(domain);
        let blocks = u64::from(planes_per_domain) * u64::from(config.blocks_per_plane);
        if blocks > u64::from(Sets::LARGEST_UNIVERSE) {
            let problem = format!(
                "{blocks} blocks that share a frontier are too many; at most {}",
                Sets::LARGEST_UNIVERSE
            );
            let keys = ["device.blocks_per_plane", "device.pool", "device.interleave"];
            return Err(Invalid::new(&keys, problem));
        }
        let domains = planes / planes_per_domain;
        let pools = planes / planes_in(pool);
        let mut pool_domains = vec![Vec::new(); pools as usize];
        let mut domain_pool = Vec::new();
        for d in 0..domains {
            let package = d * planes_per_domain / planes_per_package;
            let inside = d * planes_per_domain % planes_per_package;
            // Consecutive pools lie in different packages, so that striping works in parallel.
            let p = match pool {
                Level::Plane => inside * packages + package,
                Level::Die => inside / config.planes_per_die * packages + package,
                Level::Package => package,
                Level::Gang => package % config.channels,
                Level::Ssd => 0,
            };
            pool_domains[p as usize].push(Domain(d));
            domain_pool.push(PoolId(p));
        }
        let page_bytes = config.page_size.bytes();
        let mut geometry = Geometry {
            channels: config.channels,
            packages,
            planes_per_package,
            planes_per_domain,
            pages_per_block: config.pages_per_block,
            data_pages: config.pages_per_block - u32::from(config.summary_page),
            blocks_per_domain: planes_per_domain * config.blocks_per_plane,
            domains,
            domains_per_unit: planes_in(unit) / planes_per_domain,
            units: planes / planes_in(unit),
            units_per_package: planes_per_package / planes_in(unit),
            pools,
            pool_domains,
            domain_pool,
            pages_per_pool: 0,
            stripe_pages: (config.stripe.bytes() / page_bytes) as u32,
            sectors_per_page: (page_bytes / SECTOR_BYTES) as u32,
            low_blocks: 0,
            by_pools: Divisor::new(pools),
            by_pages_per_block: Divisor::new(config.pages_per_block),
            by_blocks_per_domain: Divisor::new(planes_per_domain * config.blocks_per_plane),
            by_domains_per_unit: Divisor::new(planes_in(unit) / planes_per_domain),
        };
        let share = f64::from(geometry.blocks_per_domain) * config.cleaning.min_free;
        geometry.low_blocks = (share as u32).max(1);
        geometry.pages_per_pool = geometry.exported_per_pool(config)?;
        Ok(geometry)
    }

    /// Logical pages of a pool: what the spare space leaves, in whole stripes.
    fn exported_per_pool(&self, config: &SsdConfig) -> Result<u32, Invalid> {
        let domains = self.domains / self.pools;
        let blocks = domains * self.blocks_per_domain;
        let physical = u64::from(blocks) * u64::from(self.data_pages);
        let (key, exported) = spare(config, blocks, physical, self.data_pages)?;
        let stripe = u64::from(self.stripe_pages);
        if exported == 0 {
            let problem = "no page is left to export: the spare space is the whole drive";
            return Err(Invalid::new(&[key], problem));
        }
        let exported = if self.pools > 1 { exported / stripe * stripe } else { exported };
        if exported == 0 {
            let problem = format!("{} is more than a pool exports", config.stripe);
            return Err(Invalid::new(&["device.stripe", key], problem));
        }
        // When every domain is down to its threshold and has one block open, the closed blocks must
        // still hold superseded pages; otherwise cleaning could not make progress.
        let held = u64::from(domains) * u64::from(self.low_blocks + 1);
        let held_pages = held * u64::from(self.data_pages);
        if physical - exported <= held_pages {
            let spare = (physical - exported) / u64::from(self.data_pages);
            return Err(Invalid::new(
                &[key, "device.cleaning.min_free"],
                format!(
                    "the spare space of a pool, {spare} of its {blocks} blocks, cannot hold the \
                     {held} blocks that cleaning keeps erased or open ({domains} x ({} by \
                     min_free + 1)); raise the spare space or lower min_free",
                    self.low_blocks
                ),
            ));
        }
        Ok(exported as u32)
    }

    /// Logical pages of the drive.
    pub fn exported_pages(&self) -> u32 {
        self.pages_per_pool * self.pools
    }

    /// Blocks that a pool can lose before its spare space no longer holds those that cleaning keeps
    /// erased or open.
    pub fn losable_blocks(&self) -> u32 {
        let domains = self.domains / self.pools;
        let physical = domains * self.blocks_per_domain * self.data_pages;
        let held = domains * (self.low_blocks + 1) * self.data_pages;
        (physical - self.pages_per_pool - held - 1) / self.data_pages
    }

    /// Blocks of the drive.
    pub fn blocks(&self) -> u32 {
        self.domains * self.blocks_per_domain
    }

    /// The pool that a logical page is striped to.
    #[inline]
    pub fn pool_of(&self, lpn: Lpn) -> PoolId {
        if self.stripe_pages == 1 {
            return PoolId(self.by_pools.remainder(lpn.0));
        }
        PoolId(self.by_pools.remainder(lpn.0 / self.stripe_pages))
    }

    /// The logical page at position `index` of a pool; positions ascend with addresses.
    pub fn lpn_in_pool(&self, pool: PoolId, index: u32) -> Lpn {
        let (row, offset) = (index / self.stripe_pages, index % self.stripe_pages);
        Lpn((row * self.pools + pool.0) * self.stripe_pages + offset)
    }

    /// The block that a physical page is in.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> Block {
        Block(self.by_pages_per_block.quotient(ppn.0))
    }

    /// Page `page` of a block.
    #[inline]
    pub fn ppn(&self, block: Block, page: u32) -> Ppn {
        Ppn(block.0 * self.pages_per_block + page)
    }

    /// The domain that a block belongs to.
    #[inline]
    pub fn domain_of(&self, block: Block) -> Domain {
        Domain(self.by_blocks_per_domain.quotient(block.0))
    }

    /// The first block of a domain.
    #[inline]
    pub fn first_block(&self, domain: Domain) -> Block {
        Block(domain.0 * self.blocks_per_domain)
    }

    /// The unit that serves a domain.
    #[inline]
    pub fn unit_of(&self, domain: Domain) -> Unit {
        Unit(self.by_domains_per_unit.quotient(domain.0))
    }

    /// The bus that a unit's data cross.
    pub fn channel_of(&self, unit: Unit) -> u32 {
        unit.0 / self.units_per_package % self.channels
    }

    /// What a unit is called in results.
    pub fn unit_name(&self, unit: Unit) -> String {
        let package = unit.0 / self.units_per_package;
        match self.units_per_package {
            1 => format!("package {package}"),
            n => format!("package {package} die {}", unit.0 % n),
        }
    }
}

/// A stage of an operation is kept in 32 bits of nanoseconds.
const LONGEST_STAGE_NS: u64 = 4_000_000_000;

/// Counts and sizes that stand alone: positive, dividing, addressable.
fn check_counts(config: &SsdConfig) -> Result<(), Invalid> {
    let counts = [
        ("device.channels", config.channels),
        ("device.packages_per_channel", config.packages_per_channel),
        ("device.dies_per_package", config.dies_per_package),
        ("device.planes_per_die", config.planes_per_die),
        ("device.blocks_per_plane", config.blocks_per_plane),
        ("device.pages_per_block", config.pages_per_block),
        ("device.wear.rated_cycles", config.wear.rated_cycles),
        ("device.cleaning.windowed_greedy.window", config.cleaning.windowed_greedy.window),
        ("device.cleaning.d_choices.d", config.cleaning.d_choices.d),
    ];
    for (key, count) in counts {
        if count == 0 {
            return Err(Invalid::new(&[key], "0 is not possible; it must be at least 1"));
        }
    }
    if config.summary_page && config.pages_per_block < 2 {
        let problem = "a block of 1 page is all summary; use more pages or summary_page = false";
        return Err(Invalid::new(&["device.pages_per_block", "device.summary_page"], problem));
    }
    if config.pages_per_block > 16_384 {
        let problem = format!("{} is too many; at most 16384", config.pages_per_block);
        return Err(Invalid::new(&["device.pages_per_block"], problem));
    }
    let (page, stripe) = (config.page_size.bytes(), config.stripe.bytes());
    if page == 0 || page % SECTOR_BYTES != 0 || page > 1 << 24 {
        let problem = format!(
            "{} is not possible; a page is a multiple of 512B, at most 16MiB",
            config.page_size
        );
        return Err(Invalid::new(&["device.page_size"], problem));
    }
    if stripe == 0 || stripe % page != 0 || stripe > 1 << 40 {
        let problem = format!(
            "{} is not possible; a stripe is a multiple of the page size, {}",
            config.stripe, config.page_size
        );
        return Err(Invalid::new(&["device.stripe", "device.page_size"], problem));
    }
    check_wear(config)?;
    let times = [
        ("device.timing.read", config.timing.read),
        ("device.timing.program", config.timing.program),
        ("device.timing.erase", config.timing.erase),
        ("device.host_link.latency", config.host_link.latency),
    ];
    for (key, time) in times {
        if time.ns() > LONGEST_STAGE_NS {
            return Err(Invalid::new(&[key], format!("{time} is too long; at most 4s")));
        }
    }
    if config.spare_size.bytes() > page {
        let problem = format!("{} is more than the page, {}", config.spare_size, config.page_size);
        return Err(Invalid::new(&["device.spare_size"], problem));
    }
    let bus_per_byte = config.timing.bus_per_byte;
    if bus_per_byte.time_ns(page + config.spare_size.bytes()) > LONGEST_STAGE_NS {
        let problem =
            format!("{bus_per_byte} is too long for {}; at most 4s a page", config.page_size);
        return Err(Invalid::new(&["device.timing.bus_per_byte", "device.page_size"], problem));
    }
    if !(0.0..1.0).contains(&config.cleaning.min_free) {
        let problem = format!("{} is not a share from 0 to below 1", config.cleaning.min_free);
        return Err(Invalid::new(&["device.cleaning.min_free"], problem));
    }
    let pages = [
        config.channels,
        config.packages_per_channel,
        config.dies_per_package,
        config.planes_per_die,
        config.blocks_per_plane,
        config.pages_per_block,
    ];
    let pages = pages.iter().try_fold(1u32, |product, count| product.checked_mul(*count));
    // Two page numbers are kept free as marks.
    if pages.is_none_or(|pages| pages > u32::MAX - 2) {
        let problem = "the drive has more than 4,294,967,293 pages (16 TiB of 4 KiB pages)";
        return Err(Invalid::new(&["device.channels", "device.blocks_per_plane"], problem));
    }
    Ok(())
}

/// Wear and its levelling.
fn check_wear(config: &SsdConfig) -> Result<(), Invalid> {
    let levelling = &config.cleaning.levelling;
    let shares = [
        ("device.wear.spread", config.wear.spread, 0.5),
        ("device.cleaning.levelling.age_variance", levelling.age_variance, 1.0),
        ("device.cleaning.levelling.retirement_age", levelling.retirement_age, 1.0),
        ("device.cleaning.levelling.rate_limit_floor", levelling.rate_limit_floor, 1.0),
        ("device.cleaning.levelling.cold_life", levelling.cold_life, 1.0),
    ];
    for (key, share, most) in shares {
        if !(0.0..=most).contains(&share) {
            return Err(Invalid::new(&[key], format!("{share} is not a share from 0 to {most}")));
        }
    }
    if levelling.rate_limit_floor >= 1.0 - levelling.age_variance {
        let problem = format!(
            "the chance of use cannot fall from 1 at {} of the mean life (1 - age_variance) to 0 at {} \
             (rate_limit_floor), which is not below it",
            1.0 - levelling.age_variance,
            levelling.rate_limit_floor
        );
        let keys = [
            "device.cleaning.levelling.rate_limit_floor",
            "device.cleaning.levelling.age_variance",
        ];
        return Err(Invalid::new(&keys, problem));
    }
    let years = config.wear.service_years;
    if !(years > 0.0 && years <= 100.0) {
        let problem = format!("{years} is not a number of years above 0, at most 100");
        return Err(Invalid::new(&["device.wear.service_years"], problem));
    }
    Ok(())
}

/// The key that states the spare space, and the logical pages that it leaves of a pool.
fn spare(
    config: &SsdConfig,
    pool_blocks: u32,
    physical: u64,
    data_pages: u32,
) -> Result<(&'static str, u64), Invalid> {
    let stated = [
        config.spare_factor.is_some(),
        config.over_provisioning.is_some(),
        config.spare_blocks_per_plane.is_some(),
    ];
    if stated.iter().filter(|s| **s).count() > 1 {
        return Err(Invalid::new(
            &["device.spare_factor", "device.over_provisioning", "device.spare_blocks_per_plane"],
            "the spare space is stated more than once; keep one of the three",
        ));
    }
    if let Some(blocks) = config.spare_blocks_per_plane {
        let key = "device.spare_blocks_per_plane";
        let Some(left) = config.blocks_per_plane.checked_sub(blocks) else {
            let problem = format!("{blocks} is more than the {} blocks", config.blocks_per_plane);
            return Err(Invalid::new(&[key, "device.blocks_per_plane"], problem));
        };
        let planes = pool_blocks / config.blocks_per_plane;
        return Ok((key, u64::from(left) * u64::from(planes) * u64::from(data_pages)));
    }
    if let Some(share) = config.over_provisioning {
        let key = "device.over_provisioning";
        if !(share > 0.0 && share.is_finite()) {
            return Err(Invalid::new(&[key], format!("{share} is not a positive share")));
        }
        return Ok((key, (physical as f64 / (1.0 + share)) as u64));
    }
    let key = "device.spare_factor";
    let factor = config.spare_factor.unwrap_or(DEFAULT_SPARE_FACTOR);
    if !(factor > 0.0 && factor < 1.0) {
        return Err(Invalid::new(&[key], format!("{factor} is not a share between 0 and 1")));
    }
    Ok((key, (physical as f64 * (1.0 - factor)) as u64))
}
