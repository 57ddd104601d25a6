//! The options of a hard disk.

use super::geometry::Zones;
use super::seek::SeekTable;
use crate::kit::config::Depth;
use options::{Duration, Power, Size, choices, options};

choices! {
    /// Which waiting request a hard disk serves next.
    pub enum Scheduler {
        /// As they came.
        Fcfs = "fcfs",
        /// The one whose cylinder is nearest.
        Sstf = "sstf",
        /// Ascending addresses, then descending ones.
        Scan = "scan",
        /// Ascending addresses from the last one, then from the lowest again.
        Clook = "c-look",
        /// The one whose first sector is reached first: seek and rotation.
        Sptf = "sptf",
    }

    /// When a write is answered.
    pub enum WriteCache {
        /// When it is on the disk.
        Off = "off",
        /// When its data are in the buffer; it is written to the disk when no request needs the heads,
        /// or the buffer is full.
        On = "on",
    }

    /// How far a disk reads on after a read.
    pub enum ReadAheadTo {
        /// As far as the key `read_ahead` says.
        Limit = "limit",
        /// To the end of the track, and a track further if the segment begins before that track.
        Track = "track",
    }
}

options! {
    /// How long the heads of a hard disk take to move.
    pub struct SeekOptions as SeekPartial {
        /// Times by distance in cylinders, on straight lines in between. With "none", a curve that
        /// rises with the square root of the distance and then evenly, made of the next three keys.
        table: SeekTable = SeekTable::default(),
        /// Seek to the next cylinder.
        single: Duration = Duration::from_ns(800_000),
        /// Mean over seeks between random cylinders.
        mean: Duration = Duration::from_ns(8_500_000),
        /// Seek from the first cylinder to the last.
        full: Duration = Duration::from_ns(17_000_000),
        /// What a seek before a write takes longer.
        write_settle: Duration = Duration::from_ns(500_000),
        /// Switch to another surface; together with a seek, the longer of both.
        head_switch: Duration = Duration::from_ns(500_000),
    }

    /// What commands cost before anything moves.
    pub struct OverheadOptions as OverheadPartial {
        /// Of a read that the buffer answers, at least its beginning.
        read_hit: Duration = Duration::from_ns(100_000),
        /// The same after a write; without it, the same time.
        read_hit_after_write: Option<Duration> = None,
        /// Of a read from the disk.
        read_miss: Duration = Duration::from_ns(300_000),
        /// The same after a write; without it, the same time.
        read_miss_after_write: Option<Duration> = None,
        /// Of a write, and of a flush.
        write: Duration = Duration::from_ns(300_000),
        /// The same after a write; without it, the same time.
        write_after_write: Option<Duration> = None,
        /// After the last data of a read.
        read_completion: Duration = Duration::from_ns(0),
    }

    /// The buffer of a hard disk: segments, each of which holds consecutive sectors.
    pub struct BufferOptions as BufferPartial {
        /// How many.
        segments: u32 = 16,
        /// What each of them holds.
        segment: Size = Size::from_bytes(512 << 10),
        /// What is read on after the end of a read until another request needs the heads; with "0B",
        /// nothing.
        read_ahead: Size = Size::from_bytes(512 << 10),
        /// Whether that says how far, or the track does.
        read_ahead_to: ReadAheadTo = ReadAheadTo::Limit,
        /// Whether it begins anew when the buffer answers a read.
        read_ahead_on_hit: bool = false,
        /// Whether a read takes what passes under the head from the moment it is on the track: sectors
        /// before the wanted ones, and the wanted ones in whatever order they pass.
        read_on_arrival: bool = false,
        /// Share of a read that must be in the buffer before its data go to the host: 0 sends
        /// each sector as soon as it is read, 1 begins with the last one.
        send_at: f64 = 0.0,
        /// Segments that may hold data that are not on the disk yet; with the write cache.
        write_segments: u32 = 8,
    }

    /// What a hard disk takes of its supply. Nothing of it is known unless a key says so, and then results
    /// have a section `energy`; nothing else changes.
    pub struct DiskEnergy as DiskEnergyPartial {
        /// What it takes all the time: spindle and electronics.
        idle: Power = Power::from_smallest(0),
        /// What it takes beside while the heads move.
        seek: Power = Power::from_smallest(0),
        /// What it takes beside while sectors pass that are read or written.
        transfer: Power = Power::from_smallest(0),
    }

    // As many fields as there are keys of the drive.
    /// A hard disk. The defaults are an ordinary one of 7,200 turns a minute and 1 TB.
    pub struct DiskConfig as DiskPartial {
        /// What the host may address; without it, all that the zones hold.
        capacity: Option<Size> = None,
        /// Turns of the spindle in a minute.
        rpm: u32 = 7_200,
        /// Cylinders.
        cylinders: u32 = 310_000,
        /// Surfaces: tracks of a cylinder.
        surfaces: u32 = 4,
        /// Sectors of a track by cylinders, outermost first, and by how many sectors tracks and
        /// cylinders are skewed.
        zones: Zones = Zones::default(),
        /// How the heads move.
        seek: SeekOptions = SeekOptions::default(),
        /// What commands cost.
        overhead: OverheadOptions = OverheadOptions::default(),
        /// What a sector takes on the way between host and buffer.
        bus_per_sector: Duration = Duration::from_ns(1_700),
        /// The buffer.
        buffer: BufferOptions = BufferOptions::default(),
        /// When a write is answered.
        write_cache: WriteCache = WriteCache::On,
        /// Which waiting request is served next.
        scheduler: Scheduler = Scheduler::Sptf,
        /// Requests among which it is chosen: the drive holds so many, the others wait behind them as
        /// they came.
        queue_depth: Depth = Depth::of(32),
        /// A request that has waited longer is served before all others; without it, none is.
        max_wait: Option<Duration> = None,
        /// What it takes of its supply.
        energy: DiskEnergy = DiskEnergy::default(),
    }
}
