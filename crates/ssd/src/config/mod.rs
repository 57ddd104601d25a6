//! Configuration of a solid-state drive: the options under `[device]`.
//!
//! Each key is declared once, with default and description, and affects results. Contradictory
//! values are rejected when the [`Geometry`](super::Geometry) is derived.

mod applies;
mod block_buffer;
mod capacitors;
mod cleaning;
mod energy;
mod fdp;
mod fdp_rule;
mod log_blocks;
mod map;
mod media;
mod pairs;
pub mod parts;
mod persistence;
mod scrub;
mod slc_cache;
mod snapshots;
mod spares;
mod thermal;
mod today;

use applies::{AGES, BUFFERED, CAPACITORS, Facts, MAPS_PAGES, MOVES_AGED, SUSPENDABLE, UNBUFFERED};

pub use crate::device::kit::config::{Completions, Depth, Duplex, HostLink, HostOrder};
pub use block_buffer::*;
pub use capacitors::*;
pub(super) use cleaning::cleaners;
pub use cleaning::*;
pub use energy::*;
pub use fdp::*;
pub use fdp_rule::*;
pub use log_blocks::*;
pub use map::*;
pub use media::*;
pub use pairs::*;
pub use persistence::*;
pub use scrub::*;
pub use slc_cache::*;
pub use snapshots::*;
pub use spares::*;
pub use thermal::*;
pub use today::*;

use options::{
    BusRate, Duration, PageTimes, PerByte, Size, Values, choices, conditions, options,
    word_or_number,
};
use std::fmt;

choices! {
    /// The unit that serves one flash operation at a time.
    pub enum Interleave {
        /// A package runs one operation at a time.
        None = "none",
        /// The dies of a package work in parallel and share its bus.
        Die = "die",
        /// Plane pairs (0 and 1, 2 and 3, ...) of every die work in parallel.
        PlanePair = "plane-pair",
        /// As plane-pair, and the planes of a pair run operations of the same kind together.
        Plane = "plane",
    }

    /// Shared resources of the packages of a gang (of one channel).
    pub enum Gang {
        /// The data path; the packages otherwise work in parallel.
        SharedBus = "shared-bus",
        /// The control pins: operations of the same kind may run together, others wait.
        SharedControlAsync = "shared-control-async",
        /// The control pins, in lockstep: a logical page is one page of each package.
        SharedControlSync = "shared-control-sync",
    }

    /// Time for which an operation holds a gang's shared control pins.
    pub enum ControlLine {
        /// Until its end: operations of the same kind run together, others wait.
        Held = "held",
        /// During its command cycles (`timing.command`): one package erases as others work.
        Command = "command",
    }

    /// Number of blocks open for writes.
    pub enum ActiveBlocks {
        /// One per plane with copy-back, else one per unit.
        Auto = "auto",
        /// One per unit, or per part of a unit that belongs to a pool.
        Unit = "unit",
        /// One per plane.
        Plane = "plane",
    }

    /// Extent of an allocation pool: a logical page may be placed anywhere in its pool.
    pub enum Pool {
        /// One plane.
        Plane = "plane",
        /// All planes of a die.
        Die = "die",
        /// All dies of a package.
        Package = "package",
        /// All packages on a channel.
        Gang = "gang",
        /// The whole drive.
        Ssd = "ssd",
    }

    /// The order in which the logical pages of a filled drive were written.
    pub enum FillOrder {
        /// Ascending, as by one long copy.
        Sequential = "sequential",
        /// A random permutation.
        Random = "random",
    }

    /// Choice of the next free (erased) block.
    pub enum FreeOrder {
        /// Ascending block numbers from the last opened block, wrapping (the 2008 simulator).
        Rotating = "rotating",
        /// The block erased longest ago.
        Fifo = "fifo",
        /// The block erased least often: dynamic wear levelling.
        LeastWorn = "least-worn",
    }
}

conditions! {
    SsdConfig:
    SPANS = "without a write buffer where a logical page is several pages (device.logical_page)", |c| {
        let page = c.page_size.bytes();
        let several = c.logical_page.is_some_and(|it| it.bytes() > page);
        !c.is_buffered() && (several || c.gang == Gang::SharedControlSync)
    };
    CONTROLLED = "without a write buffer where several packages share their control pins (device.gang = \
        \"shared-control-async\")", |c| c.shares_control();
    PAIRED = "without a write buffer where the planes of a pair work together (device.interleave = \"plane\")",
        |c| !c.is_buffered() && c.interleave == Interleave::Plane;
    POOLS = "without a write buffer where there are several pools (device.pool)",
        |c| !c.is_buffered() && c.pool != Pool::Ssd;
    FILLED = "to a drive that holds data at the start (device.fill)", |c| c.fill.share() > 0.0;
}

conditions! {
    Timing:
    BY_BYTE = "where device.timing.bus_rate does not state the rate", |c| c.bus_rate.is_none();
}

options! {
    /// Times of the flash operations, as in a NAND datasheet.
    pub struct Timing as TimingPartial {
        /// Page read (tR), from the cell array to the page register (Table 1 of the 2008 paper: 25 us); for
        /// multi-bit cells one time, or one per page of a word line: `"38us, 45us, 62us"`.
        read: PageTimes = PageTimes::of(Duration::from_ns(25_000)),
        /// Partial page read; as for a whole page if not given.
        read_part: Option<Duration> where BUFFERED = None,
        /// Program (tPROG), from the registers to the cell array: a page, or with multi-bit cells a word
        /// line of all planes (Table 1: 200 us). Data sheets state it per page: multiply by `cell.bits`.
        program: Duration = Duration::from_ns(200_000),
        /// Block erase (tBERS; Table 1: 1.5 ms).
        erase: Duration = Duration::from_ns(1_500_000),
        /// Transfer of one byte over the bus between controller and package (a 40 MHz 8-bit bus: 25 ns).
        bus_per_byte: PerByte where BY_BYTE = PerByte::from_ps(25_000),
        /// Transfer rate of the bus, instead of `bus_per_byte`.
        bus_rate: Option<BusRate> = None,
        /// Command and address cycles on the bus per page transferred.
        command: Duration = Duration::from_ns(0),
    }

    /// Endurance.
    pub struct Wear as WearPartial {
        /// Rated P/E cycles of a block (Table 1: 100 K).
        rated_cycles: u32 = 100_000,
        /// Variation between blocks: standard deviation of their rated P/E cycles, as a share of the mean.
        spread: f64 as Ratio = 0.0,
        /// Service life for which DWPD is stated, years.
        service_years: f64 = 5.0,
    }

    /// A solid-state disk. The defaults are the baseline of the 2008 paper but for cleaning time. It has as
    /// many fields as there are keys directly under `[device]`.
    pub struct SsdConfig as SsdPartial with Facts {
        /// Buses between controller and packages.
        channels: u32 = 8,
        /// Packages per channel; several packages on a channel form a gang.
        packages_per_channel: u32 = 1,
        /// Resources shared by a gang; with shared control each package has its own data path.
        gang: Gang where UNBUFFERED = Gang::SharedBus,
        /// Time for which an operation holds the control pins of its gang.
        control_line: ControlLine where CONTROLLED = ControlLine::Held,
        /// Dies in a package.
        dies_per_package: u32 = 2,
        /// Planes in a die.
        planes_per_die: u32 = 4,
        /// Blocks in a plane.
        blocks_per_plane: u32 = 2048,
        /// Pages in a block, including the summary page if there is one.
        pages_per_block: u32 = 64,
        /// Data bytes of a page: a multiple of 512B, on real flash a power of two.
        page_size: Size = Size::from_bytes(4096),
        /// Spare area of a page, transferred with it.
        spare_size: Size = Size::from_bytes(128),
        /// Reserve the last page of each block for a summary of the block.
        summary_page: bool = true,
        /// The unit that serves one operation at a time (interleaving).
        interleave: Interleave where UNBUFFERED = Interleave::None,
        /// Execution of simultaneous operations on a pair of planes.
        pair_commands: PairCommands where PAIRED = PairCommands::Separate,
        /// Cache registers: a unit transfers one page while it senses or programs the next one.
        cache_commands: bool = false,
        /// Mapping granularity, from a quarter of a page to a block; a page if not given. Smaller writes
        /// need a read-modify-write.
        logical_page: Option<Size> = None,
        /// Packages over which a logical page of several pages is striped; 1 if not given.
        page_span: Option<u32> where SPANS = None,
        /// Allocation pool: the part of the drive in which a logical page may be placed freely.
        pool: Pool where UNBUFFERED = Pool::Package,
        /// Open blocks of a pool; the one with most free pages is written next.
        active_blocks: ActiveBlocks where UNBUFFERED = ActiveBlocks::Auto,
        /// Stripe unit: consecutive data placed in one pool before the next; a logical page if not given.
        stripe: Option<Size> where POOLS = None,
        /// Spare space / physical space, in data pages (definition of the 2008 paper); 0.15 if neither this
        /// nor one of the next three keys is given.
        spare_factor: Option<f64> as Ratio = None,
        /// Over-provisioning: spare space / exported capacity (the industry's definition).
        over_provisioning: Option<f64> as Ratio = None,
        /// Spare space in whole blocks per plane (definition of the 2008 simulator).
        spare_blocks_per_plane: Option<u32> = None,
        /// Exported capacity as on the label; another way to state the spare space.
        capacity: Option<Size> = None,
        /// Scale factor: divides the pages per block, the exported capacity and the erase time by N and
        /// keeps everything else, so that a large drive reaches steady state in seconds.
        scale: u32 = 1,
        /// Share of the logical pages that hold data at the start.
        fill: Fill = Fill::FULL,
        /// Order in which the initial data were written.
        fill_order: FillOrder where FILLED = FillOrder::Sequential,
        /// Choice of the next free (erased) block.
        free_order: FreeOrder = FreeOrder::Rotating,
        /// Times of the flash operations.
        timing: Timing = Timing::default(),
        /// The connection to the host.
        host_link: HostLink = HostLink::default(),
        /// Cells and program groups.
        cell: Cell = Cell::default(),
        /// Suspending programs and erases for reads.
        suspend: Suspend where SUSPENDABLE = Suspend::default(),
        /// Log blocks of a drive that maps in blocks.
        log_blocks: LogBlocks where UNBUFFERED = LogBlocks::default(),
        /// The block buffer, and read-ahead.
        block_buffer: BlockBuffer where UNBUFFERED = BlockBuffer::default(),
        /// The controller's processors.
        firmware: Firmware = Firmware::default(),
        /// The write buffer.
        buffer: Buffer = Buffer::default(),
        /// The capacitors of a protected write buffer.
        power: Capacitors where CAPACITORS = Capacitors::default(),
        /// The map cache.
        map: MapKeys where MAPS_PAGES = MapKeys::default(),
        /// Copy-on-write snapshots.
        snapshots: SnapshotKeys = SnapshotKeys::default(),
        /// The SLC cache.
        slc_cache: SlcCache where BUFFERED = SlcCache::default(),
        /// Flexible data placement (FDP).
        fdp: Fdp = Fdp::default(),
        /// Parity over the dies.
        parity: Parity where BUFFERED = Parity::default(),
        /// Cleaning.
        cleaning: Cleaning = Cleaning::default(),
        /// Endurance.
        wear: Wear = Wear::default(),
        /// Power consumption.
        energy: SsdEnergy = SsdEnergy::default(),
        /// Metadata in the flash, and recovery.
        persistence: Persistence = Persistence::default(),
        /// Ageing of data.
        media: Media = Media::default(),
        /// Error correction.
        ecc: Ecc where AGES = Ecc::default(),
        /// Reading with shifted references.
        retry: Retry where AGES = Retry::default(),
        /// Patrol reads and refresh.
        scrub: Scrub where MOVES_AGED = Scrub::default(),
        /// Failures of flash that are not wear.
        spares: Spares = Spares::default(),
        /// Thermal throttling.
        thermal: Thermal where BUFFERED = Thermal::default(),
        /// When the drive warns, or gives up.
        health: Health where AGES = Health::default(),
    }
}

/// Default spare factor: 15 % of the physical space, the paper's baseline.
pub const DEFAULT_SPARE_FACTOR: f64 = 0.15;

/// Default garbage collection threshold as a share of blocks, for drives with at least the paper's
/// spare space.
const DEFAULT_MIN_FREE: f64 = 0.05;

impl Timing {
    /// Transfer time of `bytes` on the bus, ns, without the command.
    pub(crate) fn transfer_ns(&self, bytes: u64) -> u64 {
        match self.bus_rate {
            Some(rate) => rate.time_ns(bytes),
            None => self.bus_per_byte.time_ns(bytes),
        }
    }
}

impl SsdConfig {
    /// True with a write buffer, so that pages are programmed in groups.
    pub fn is_buffered(&self) -> bool {
        self.buffer.size.bytes() > 0
    }

    /// True if data age.
    pub fn ages(&self) -> bool {
        self.media.model != MediaModel::None
    }

    /// Open blocks of a domain.
    pub(crate) fn frontiers(&self) -> Frontiers {
        self.cleaning.frontiers.meant(self.is_buffered())
    }

    /// Maximum number of open blocks of a domain, excluding cold data. With log blocks: these, and
    /// the block that a merge fills. With FDP: one per handle and one per destination of copies.
    pub fn open_blocks(&self) -> u32 {
        match self.log_blocks.slots() {
            0 if self.fdp.chooses() => self.fdp.handles + self.destinations(),
            0 => self.frontiers().count(),
            slots => slots + 1,
        }
    }

    /// Number of open blocks for host pages: per domain, or with reclaim groups per group.
    pub fn frontiers_of_host(&self) -> u32 {
        if self.fdp.chooses() { self.fdp.placements() } else { self.frontiers().of_each_class() }
    }

    /// True if the write buffer gathers cold data for worn blocks, which need another open block.
    pub(crate) fn gathers_cold(&self) -> bool {
        self.is_buffered() && self.cleaning.levelling.rule.moves_cold()
    }

    /// True if a power cut empties the write buffer or block buffer, so that flushes wait for the
    /// flash.
    pub fn is_volatile(&self) -> bool {
        self.is_buffered() && !self.buffer.power_loss_protected || self.block_buffer.is_volatile()
    }

    /// True if packages share control pins but do separate operations.
    fn shares_control(&self) -> bool {
        let several = self.packages_per_channel > 1 && !self.is_buffered();
        several && self.gang == Gang::SharedControlAsync
    }

    /// True if packages of a gang start operations together, all of the same kind.
    pub(crate) fn binds_gang(&self) -> bool {
        let several = self.packages_per_channel > 1 && self.gang != Gang::SharedBus;
        several && !(self.shares_control() && self.control_line == ControlLine::Command)
    }

    /// Time for which a command occupies shared control pins, if it occupies nothing else; ns.
    pub(crate) fn control_ns(&self) -> u64 {
        let is_shared = self.shares_control() && !self.binds_gang();
        if is_shared { self.timing.command.ns() } else { 0 }
    }

    /// True if a unit does one operation at a time, independently: no write buffer, no cache
    /// commands, no joint operations of packages or planes.
    fn serves_one_by_one(&self) -> bool {
        let page = self.page_size.bytes();
        let wide = self.page_span.unwrap_or(1) > 1
            && self.logical_page.is_some_and(|it| it.bytes() > page);
        let bound =
            self.binds_gang() || self.interleave == Interleave::Plane && self.planes_per_die > 1;
        !(self.is_buffered() || self.cache_commands || wide || bound)
    }

    /// Number of simulated pages per block.
    pub(crate) fn simulated_pages_per_block(&self) -> u32 {
        self.pages_per_block / self.scale.max(1)
    }

    /// Time to erase a block, ns, scaled to its simulated part.
    pub(crate) fn erase_ns(&self) -> u64 {
        self.timing.erase.ns() / u64::from(self.scale.max(1))
    }

    /// True if flushes wait for the trim log.
    pub(crate) fn records_trims(&self) -> bool {
        let logs = self.persistence.recovers() && !self.persistence.keeps_map();
        logs && self.persistence.trims == Trims::Flushed
    }

    /// Spare space / physical space, from either key.
    pub(crate) fn spare_share(&self) -> f64 {
        if let Some(blocks) = self.spare_blocks_per_plane {
            return f64::from(blocks) / f64::from(self.blocks_per_plane);
        }
        if let Some(share) = self.over_provisioning {
            return share / (1.0 + share);
        }
        self.spare_factor.unwrap_or(DEFAULT_SPARE_FACTOR)
    }

    /// Default garbage collection threshold, as a share of blocks.
    ///
    /// Erased blocks are not spare space while garbage collection keeps up. The paper's 5 % take a
    /// third of its spare space, but nearly all of a consumer drive's 7 %. With the square, the
    /// share kept free is itself proportional to the spare space. Write amplification of greedy,
    /// blocking garbage collection under random writes, over-provisioned by 7, 12.5 and 15 %: 21.3,
    /// 7.1 and 5.6 with 5 %; 8.0, 5.5 and 5.0 with this rule; 7.1, 4.4 and 3.8 with one block, the
    /// minimum. Interleaved garbage collection under a full queue runs below its threshold, which
    /// then matters little: 6.6 to 7.0 at 7 %.
    pub(crate) fn default_min_free(&self) -> f64 {
        DEFAULT_MIN_FREE * (self.spare_share() / DEFAULT_SPARE_FACTOR).min(1.0).powi(2)
    }

    /// Garbage collection threshold as a share of blocks.
    pub(crate) fn min_free(&self) -> f64 {
        if self.log_blocks.are_used() {
            // Only blocks without valid pages are erased.
            return 0.0;
        }
        self.cleaning.min_free.unwrap_or_else(|| self.default_min_free())
    }
}

impl From<&SsdConfig> for Facts {
    fn from(c: &SsdConfig) -> Facts {
        let wide = matches!(c.pool, Pool::Gang | Pool::Ssd);
        Facts {
            buffered: c.is_buffered(),
            protected: (c.is_buffered() || c.block_buffer.gathers()) && !c.is_volatile(),
            two_pass: c.cell.program == Program::TwoPass,
            paired: c.cell.pairing != Pairing::None,
            recovers: c.persistence.recovers(),
            keeps_map: c.persistence.keeps_map(),
            background: c.cleaning.background,
            streams: wide && c.packages_per_channel > 1 && c.gang == Gang::SharedBus,
            hot_cold: c.cleaning.frontiers == Frontiers::HotCold,
            bursts: c.cleaning.pace != Pace::Token,
            metered: c.cleaning.pace != Pace::Burst,
            suspends: c.suspend.suspends(),
            yields: c.cleaning.time == CleaningTime::Interleaved,
            one_by_one: c.serves_one_by_one(),
            logs: c.log_blocks.are_used(),
            ages: c.media.model != MediaModel::None,
            striped: c.parity.of > 0,
        }
    }
}

/// Initial data of a drive, as a share of its exported pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill(f64);

impl Fill {
    /// All logical pages hold data, as on a drive that was written once.
    pub const FULL: Fill = Fill(1.0);
    /// No logical page holds data.
    pub const EMPTY: Fill = Fill(0.0);

    /// The share, from 0 to 1.
    pub const fn share(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0.0 => f.write_str("empty"),
            1.0 => f.write_str("full"),
            share => write!(f, "{share}"),
        }
    }
}

word_or_number!(
    Fill,
    "\"full\", \"empty\" or a share between 0 and 1 such as 0.7",
    Values::Either(vec![
        Values::Share,
        Values::words(&[("full", "Every logical page holds data."), ("empty", "None does.")])
    ]),
    |text| match text {
        "full" => Some(Fill(1.0)),
        "empty" => Some(Fill(0.0)),
        _ => options::share(text).filter(|share| (0.0..=1.0).contains(share)).map(Fill),
    },
    |n: f64| (0.0..=1.0).contains(&n).then_some(Fill(n)),
    |fill: Fill, serializer: S| match fill.0 {
        0.0 | 1.0 => serializer.collect_str(&fill),
        share => serializer.serialize_f64(share),
    }
);
