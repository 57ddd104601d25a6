//! Options of a zoned drive.

use crate::device::kit::config::Depth;
use options::{BusRate, Duration, Maybe, PageTimes, Size, choices, conditions, options};

choices! {
    /// When the blocks of a zone are erased.
    pub enum EraseWhen {
        /// At its reset, which completes afterwards.
        AtReset = "at-reset",
        /// At its next opening, before the first program.
        AtOpen = "at-open",
    }

    /// Variation of firmware times.
    pub enum Spread {
        /// Constant.
        Constant = "constant",
        /// Exponentially distributed, with the stated mean.
        Exponential = "exponential",
    }
}

choices! {
    /// Adaptation between host and zones.
    pub enum Adapt {
        /// None: the host knows them.
        None = "none",
        /// A host log that cleans zones, for zone-unaware programs.
        Log = "log",
    }
}

conditions! {
    ZonedConfig:
    ADAPTS = "with a log of the host (device.adapt = \"log\")", |c| c.adapt == Adapt::Log;
}

conditions! {
    Zrwa:
    HAS_WINDOWS = "where zones have windows of random writes (device.zones.zrwa.resources)",
        |c| c.resources > 0;
}

conditions! {
    ZonedSuspend:
    STOPS = "where reads stop programs (device.suspend.step)", |c| c.step.ns().is_some();
}

options! {
    /// Windows of random writes (ZRWA, TP4076).
    pub struct Zrwa as ZrwaPartial {
        /// Zones that may have a window at a time; 0: none.
        resources: u32 = 0,
        /// Size of a window, from the write pointer on.
        size: Size where HAS_WINDOWS = Size::from_bytes(1 << 20),
        /// Granularity of commits.
        granularity: Size where HAS_WINDOWS = Size::from_bytes(64 << 10),
    }

    // One field per key.
    /// Zones.
    pub struct ZoneOptions as ZoneOptionsPartial {
        /// Number of zones.
        count: u32 = 64,
        /// Addresses of a zone: where the next one begins.
        size: Size = Size::from_bytes(64 << 20),
        /// Capacity of a zone: the writable part; as its size if not given.
        capacity: Option<Size> = None,
        /// Maximum number of open zones.
        open: u32 = 14,
        /// Maximum number of active zones: open ones and closed ones.
        active: u32 = 14,
        /// Largest append.
        append_limit: Size = Size::from_bytes(1 << 20),
        /// Dies over which a zone is striped; all if not given.
        width: Option<u32> = None,
        /// One group in N of a zone is parity; 0: no parity.
        parity_of: u32 = 0,
        /// A read may go over the borders of zones.
        read_across: bool = true,
        /// Reset: fixed time.
        reset: Duration = Duration::from_ns(1_000_000),
        /// Reset: additional time for every 4 KiB that the host wrote, to forget where they lie.
        reset_page: Duration = Duration::from_ns(0),
        /// Reset: additional time if the zone is open and partly written.
        close: Duration = Duration::from_ns(0),
        /// When the blocks of a zone are erased.
        erase: EraseWhen = EraseWhen::AtReset,
        /// Share of the zones, from the first on, that are full at the start.
        fill: f64 as Ratio = 0.0,
        /// Windows of random writes.
        zrwa: Zrwa = Zrwa::default(),
    }

    /// Times of the flash operations.
    pub struct ZonedTiming as ZonedTimingPartial {
        /// Page read (tR); one time, or one per page of a word line.
        read: PageTimes = PageTimes::of(Duration::from_ns(50_000)),
        /// Program (tPROG) of a word line of all planes.
        program: Duration = Duration::from_ns(2_000_000),
        /// Block erase (tBERS).
        erase: Duration = Duration::from_ns(5_000_000),
        /// Transfer rate of the bus.
        bus_rate: BusRate = BusRate::of(800),
        /// A die senses the next page while data of the one before leave it (cache reads).
        cache_reads: bool = true,
    }

    /// Suspending programs and erases for reads.
    pub struct ZonedSuspend as ZonedSuspendPartial {
        /// A program or an erase stops for a read at the next multiple of this time; `none`: reads wait for its end.
        step: Maybe = Maybe::NONE,
        /// Maximum number of suspensions of one operation, and of reads served ahead of a waiting one.
        limit: u32 where STOPS = 8,
    }

    /// Controller times of commands. It writes and appends one at a time.
    pub struct ZonedFirmware as ZonedFirmwarePartial {
        /// Time of a write.
        write: Duration = Duration::from_ns(5_000),
        /// Time of an append.
        append: Duration = Duration::from_ns(5_000),
        /// Distribution.
        spread: Spread = Spread::Constant,
        /// Additional latency of a write, in parallel with others.
        path_write: Duration = Duration::from_ns(0),
        /// Additional latency of an append.
        path_append: Duration = Duration::from_ns(0),
        /// Latency of a read before the flash.
        path_read: Duration = Duration::from_ns(0),
        /// Time of any other command, and of a state change.
        manage: Duration = Duration::from_ns(10_000),
    }

    /// Transfer of data to the host, one read at a time.
    pub struct ZonedLink as ZonedLinkPartial {
        /// Time of a read command.
        command: Duration = Duration::from_ns(0),
        /// Time of 4 KiB.
        page: Duration = Duration::from_ns(0),
        /// Commands in the device; further ones wait in the host.
        queue_depth: Depth = Depth::UNLIMITED,
    }

    /// Endurance.
    pub struct ZonedWear as ZonedWearPartial {
        /// Resets that a zone is rated for; an erase beyond that fails.
        rated_cycles: u32 = 100_000,
        /// A zone with a failed erase loses only the capacity of one die.
        variable_capacity: bool = false,
        /// Probability that a program fails, after which its zone can only be read.
        program_failures: f64 = 0.0,
    }

    /// The write buffer.
    pub struct ZonedBuffer as ZonedBufferPartial {
        /// Size of the buffer.
        size: Size = Size::from_bytes(64 << 20),
        /// Power-loss protection: buffered data survive a power cut, and a flush does not wait for
        /// the flash.
        power_loss_protected: bool = true,
    }

    /// The log of the host.
    pub struct LogOptions as LogPartial {
        /// Share of the capacity of all zones that the programs do not see.
        spare: f64 as Ratio = 0.1,
        /// Free zones below which zones are cleaned.
        free: u32 = 3,
        /// Largest read of cleaning.
        batch: Size = Size::from_bytes(256 << 10),
    }

    // One field per section and key directly under `[device]`.
    /// A drive of zones (NVMe Zoned Namespaces).
    pub struct ZonedConfig as ZonedPartial {
        /// Buses between controller and dies.
        channels: u32 = 8,
        /// Dies on a channel.
        dies_per_channel: u32 = 4,
        /// Planes of a die; all of them are programmed at once.
        planes_per_die: u32 = 2,
        /// Data bytes of a page.
        page_size: Size = Size::from_bytes(16 << 10),
        /// Pages in a block; a zone has as many blocks in each plane of its dies as it needs.
        pages_per_block: u32 = 48,
        /// Bits per cell, which is also the pages of a word line that are programmed at once.
        bits: u32 = 3,
        /// Zones.
        zones: ZoneOptions = ZoneOptions::default(),
        /// Times of the flash operations.
        timing: ZonedTiming = ZonedTiming::default(),
        /// Suspending programs and erases for reads.
        suspend: ZonedSuspend = ZonedSuspend::default(),
        /// Controller times of commands.
        firmware: ZonedFirmware = ZonedFirmware::default(),
        /// The way of data to the host.
        link: ZonedLink = ZonedLink::default(),
        /// The write buffer.
        buffer: ZonedBuffer = ZonedBuffer::default(),
        /// Endurance.
        wear: ZonedWear = ZonedWear::default(),
        /// Adaptation between host and zones.
        adapt: Adapt = Adapt::None,
        /// The log of the host.
        log: LogOptions where ADAPTS = LogOptions::default(),
    }
}

impl ZoneOptions {
    /// Writable bytes of a zone.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity.unwrap_or(self.size).bytes()
    }
}

impl ZonedConfig {
    /// Number of zones that are full at the start.
    pub fn full_zones(&self) -> u32 {
        (f64::from(self.zones.count) * self.zones.fill).round() as u32
    }
}
