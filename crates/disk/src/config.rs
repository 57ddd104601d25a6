//! Options of a hard disk.

use super::geometry::Zones;
use super::seek::SeekTable;
use options::{Duration, Maybe, Power, Size, choices, conditions, options};
use ssd::device::kit::config::Depth;

choices! {
    /// Disk scheduler: order in which waiting requests are served.
    pub enum Scheduler {
        /// In order of arrival.
        Fcfs = "fcfs",
        /// Shortest seek first: the nearest cylinder.
        Sstf = "sstf",
        /// Elevator: ascending addresses, then descending.
        Scan = "scan",
        /// Circular elevator: ascending addresses, then from the lowest again.
        Clook = "c-look",
        /// Shortest positioning time (seek and rotation) first.
        Sptf = "sptf",
    }

    /// When a write is acknowledged.
    pub enum WriteCache {
        /// On the media.
        Off = "off",
        /// In the buffer (write-back); written to the media when the heads are idle or the buffer
        /// is full.
        On = "on",
        /// In the buffer, which holds one run of consecutive writes; their way to the media starts at once, and
        /// every other command that needs the heads or a segment waits for its end.
        Run = "run",
    }

    /// Where read-ahead ends.
    pub enum ReadAheadTo {
        /// At the size given by `read_ahead`.
        Limit = "limit",
        /// At the end of the track of the last sector that was read.
        OwnTrack = "own-track",
        /// At the end of the track, or of the next track if the segment begins before this one.
        Track = "track",
    }
}

conditions! {
    DiskConfig:
    STOPS = "where the disk stops when it is idle (device.standby.after)",
        |disk| disk.standby.after.ns().is_some();
}

options! {
    /// Seek times of a hard disk.
    pub struct SeekOptions as SeekPartial {
        /// Seek times by distance in cylinders, linearly interpolated. With "none", a curve (square root of
        /// the distance, then linear) through the next three keys.
        table: SeekTable = SeekTable::default(),
        /// Single-cylinder seek.
        single: Duration = Duration::from_ns(800_000),
        /// Average seek between random cylinders.
        mean: Duration = Duration::from_ns(8_500_000),
        /// Full-stroke seek.
        full: Duration = Duration::from_ns(17_000_000),
        /// Additional settle time of a seek before a write.
        write_settle: Duration = Duration::from_ns(500_000),
        /// Additional settle time of a seek before a read, of drives whose writes settle faster.
        read_settle: Duration = Duration::from_ns(0),
        /// Head switch; with a seek, the longer of the two.
        head_switch: Duration = Duration::from_ns(500_000),
    }

    /// Overheads of commands before the heads move.
    pub struct OverheadOptions as OverheadPartial {
        /// Overhead of a read whose start is in the buffer.
        read_hit: Duration = Duration::from_ns(100_000),
        /// Overhead of a read hit after a write; as `read_hit` if not given.
        read_hit_after_write: Option<Duration> = None,
        /// Overhead of a read from the media.
        read_miss: Duration = Duration::from_ns(300_000),
        /// Overhead of a read miss after a write; as `read_miss` if not given.
        read_miss_after_write: Option<Duration> = None,
        /// Overhead of a write or flush.
        write: Duration = Duration::from_ns(300_000),
        /// Overhead of a write after a write; as `write` if not given.
        write_after_write: Option<Duration> = None,
        /// Overhead after the last data of a read.
        read_completion: Duration = Duration::from_ns(0),
        /// Overhead of a write after its data are on the media, or in the buffer.
        write_completion: Duration = Duration::from_ns(0),
    }

    /// The buffer of a hard disk: segments, each of which holds consecutive sectors.
    pub struct BufferOptions as BufferPartial {
        /// Number of buffer segments.
        segments: u32 = 16,
        /// Size of a segment.
        segment: Size = Size::from_bytes(512 << 10),
        /// Read-ahead after the end of a read, until another request needs the heads; "0B": none.
        read_ahead: Size = Size::from_bytes(512 << 10),
        /// End of read-ahead: that size, or the end of the track.
        read_ahead_to: ReadAheadTo = ReadAheadTo::Limit,
        /// True if a buffer hit restarts read-ahead that another request has ended.
        read_ahead_on_hit: bool = false,
        /// Zero-latency reads: read sectors into the buffer as soon as the head is on the track, in whatever
        /// order they pass.
        read_on_arrival: bool = false,
        /// Share of a read that must be in the buffer before its transfer to the host starts: 0 sends each
        /// sector as it is read, 1 waits for the last one.
        send_at: f64 as Ratio = 0.0,
        /// Written data stay in a segment for later reads, also without the write cache.
        keep_writes: bool = false,
        /// Segments that may hold dirty data; with the write cache.
        write_segments: u32 = 8,
    }

    /// Power consumption of a hard disk. Unknown unless a key sets it, and then results
    /// have a section `energy`; nothing else changes.
    pub struct DiskEnergy as DiskEnergyPartial {
        /// Constant power of spindle and electronics.
        idle: Power = Power::from_smallest(0),
        /// Additional power during seeks.
        seek: Power = Power::from_smallest(0),
        /// Additional power during media transfers.
        transfer: Power = Power::from_smallest(0),
    }

    /// A disk that stops when it is idle, and turns again when its heads are needed.
    pub struct StandbyOptions as StandbyPartial {
        /// Idle time after which the spindle stops; "none": never.
        after: Maybe = Maybe::NONE,
        /// Time to spin up again.
        spin_up: Duration where STOPS = Duration::from_ns(4_000_000_000),
        /// Power when stopped, instead of the idle power.
        power: Power where STOPS = Power::from_smallest(0),
        /// Additional power while spinning up.
        spin_up_power: Power where STOPS = Power::from_smallest(0),
    }

    // One field per key of the drive.
    /// A hard disk. The defaults are an ordinary one of 7,200 turns a minute and 1 TB.
    pub struct DiskConfig as DiskPartial {
        /// Exported capacity; if not given, the capacity of all zones.
        capacity: Option<Size> = None,
        /// Spindle speed, revolutions per minute.
        rpm: u32 = 7_200,
        /// Angle at the start, as a share of a turn; drawn from the seed if not given.
        angle: Option<f64> as Ratio = None,
        /// Number of cylinders.
        cylinders: u32 = 310_000,
        /// Number of surfaces, which is also the tracks of a cylinder.
        surfaces: u32 = 4,
        /// Sectors per track by range of cylinders, outermost first, with track and cylinder skew in sectors.
        zones: Zones = Zones::default(),
        /// Seek times.
        seek: SeekOptions = SeekOptions::default(),
        /// Overheads.
        overhead: OverheadOptions = OverheadOptions::default(),
        /// Bus time of a sector between host and buffer.
        bus_per_sector: Duration = Duration::from_ns(1_700),
        /// The buffer.
        buffer: BufferOptions = BufferOptions::default(),
        /// When a write is acknowledged.
        write_cache: WriteCache = WriteCache::On,
        /// Disk scheduler: order in which waiting requests are served.
        scheduler: Scheduler = Scheduler::Sptf,
        /// Queue depth: requests among which the scheduler chooses; others wait in order of arrival.
        queue_depth: Depth = Depth::of(32),
        /// Requests that have waited longer are served first; no limit if not given.
        max_wait: Option<Duration> = None,
        /// Standby: whether it stops when it is idle.
        standby: StandbyOptions = StandbyOptions::default(),
        /// Power consumption.
        energy: DiskEnergy = DiskEnergy::default(),
    }
}
