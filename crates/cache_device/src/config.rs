//! Options of a cache, and its shape; rejects contradictory options.

use super::hints::Hints;
use super::ranges::Ranges;

use engine::SECTOR_BYTES;
use options::{Duration, Invalid, Maybe, Size, choices, conditions, options};
use ssd::device::DeviceKind;
use std::ops::Range;

/// Maximum number of lines; each takes 60 bytes of memory.
const MOST_LINES: u64 = 1 << 26;
/// Maximum number of write-back runs in progress.
const MOST_DEPTH: u32 = 1024;
/// Maximum line size; a disk reads a megabyte in one revolution.
const LONGEST_LINE: u64 = 16 << 20;

macro_rules! words {
    ($($module:ident: $variant:ident = $word:literal, $summary:literal;)+) => {
        choices! {
            /// Eviction policy of a full cache.
            pub enum Policy {
                $(#[doc = $summary] $variant = $word,)+
            }
        }
    };
}
policies!(words);

choices! {
    /// Destination of writes.
    pub enum Mode {
        /// The fast device first, later the backing device.
        WriteBack = "write-back",
        /// Both devices.
        WriteThrough = "write-through",
        /// The backing device alone; what the fast one had of them is worth nothing.
        ReadOnly = "read-only",
        /// There are no copies: each line lies on one device, hot lines on the fast one, and the
        /// capacity is the sum.
        Tiered = "tiered",
    }

    /// Content of a cache after a power cut.
    pub enum Recovery {
        /// The power of this device does not go.
        None = "none",
        /// The cache is empty: its map was in memory. Not where writes wait in it.
        Cold = "cold",
        /// Everything: its map is in memory that needs no power.
        Warm = "warm",
    }
}

conditions! {
    Mode:
    COPIES = "where lines are copies (not device.mode = \"tiered\")", |mode| *mode != Mode::Tiered;
    TIERED = "where lines lie on one of the devices (device.mode = \"tiered\")",
        |mode| *mode == Mode::Tiered;
    WRITES_BACK = "where writes wait in the cache (device.mode = \"write-back\")",
        |mode| *mode == Mode::WriteBack;
}

options! {
    /// When lines that were written are written to the backing device.
    pub struct Destage as DestagePartial {
        /// Idle time of the host after which all are; "none": never for that reason.
        pause: Maybe where WRITES_BACK = Maybe(Some(Duration::from_ns(100_000_000))),
        /// Share of the cache that may be dirty before lines are written while the host is busy.
        high: f64 as Ratio where WRITES_BACK = 0.5,
        /// Share at which that ends.
        low: f64 as Ratio where WRITES_BACK = 0.4,
        /// Age at which a dirty line is written in any case; "none": never for that reason.
        max_age: Maybe where WRITES_BACK = Maybe::NONE,
        /// Runs of adjacent dirty lines that are on their way at a time.
        in_flight: u32 where WRITES_BACK = 8,
        /// Maximum adjacent lines written as one run.
        run_lines: u32 where WRITES_BACK = 64,
    }

    /// When a line of the slow device changes places with one of the fast device.
    pub struct Tier as TierPartial {
        /// Half-life of heat: half of the uses of a line are forgotten in it.
        half_life: Duration where TIERED = Duration::from_ns(60_000_000_000),
        /// Minimum ratio of its heat to the heat of the coldest of some fast lines.
        gain: f64 where TIERED = 2.0,
        /// Pairs of lines that change places at a time.
        swaps: u32 where TIERED = 1,
    }

    // One field per key directly under `[device]`.
    /// A fast device in front of another: of lines of the backing device the fast one has copies.
    pub struct CacheOptions<D: Halves> as CachePartial with Mode {
        /// Destination of writes.
        mode: Mode = Mode::WriteBack,
        /// Eviction policy of a full cache.
        replacement: Policy where COPIES = Policy::Lru,
        /// Size of a line, the unit of caching or moving.
        line: Size = Size::from_bytes(4096),
        /// Share of the fast device that is used.
        share: f64 as Ratio where COPIES = 1.0,
        /// Length of a sequential stream above which it bypasses the cache; "0B": none does.
        bypass: Size where COPIES = Size::from_bytes(0),
        /// Ranges of addresses that are in the cache from the beginning and never leave it.
        pinned: Ranges where COPIES = Ranges::default(),
        /// Hints by placement handle, as of ATA's non-volatile cache: pin, unpin, or flush all
        /// dirty lines.
        hints: Hints where COPIES = Hints::default(),
        /// When lines that were written are written to the backing device.
        destage: Destage = Destage::default(),
        /// When lines change places.
        tier: Tier = Tier::default(),
        /// State of the cache after a power cut.
        restart: Recovery = Recovery::None,
        /// The fast device.
        fast: D = D::fast(),
        /// The device that is cached.
        backing: D = D::backing(),
    }
}

/// Kinds of devices of which two are a cache, with the defaults of both.
pub trait Halves: DeviceKind {
    /// The fast device.
    fn fast() -> Self;

    /// The device that is cached.
    fn backing() -> Self;
}

/// The fact that conditions of keys test.
impl<D: Halves> From<&CacheOptions<D>> for Mode {
    fn from(config: &CacheOptions<D>) -> Mode {
        config.mode
    }
}

/// Sizes of two tiers in extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extents {
    /// Sectors per extent.
    pub sectors: u64,
    /// Number of extents on the fast device, and in total.
    pub fast: u32,
    pub all: u32,
}

/// Dimensions of a cache, derived from the options and the sizes of both devices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Sectors per line.
    pub line: u64,
    /// Number of lines in the cache.
    pub slots: u32,
    /// Number of lines that are not pinned by the configuration.
    pub free: u32,
    /// Sectors of the backing device.
    pub capacity: u64,
    pub mode: Mode,
}

impl Shape {
    /// Lines that a range of sectors touches.
    #[inline]
    pub fn lines(&self, sector: u64, sectors: u64) -> Range<u64> {
        sector / self.line..(sector + sectors).div_ceil(self.line)
    }

    /// Part of a range of sectors within the given lines.
    #[inline]
    pub fn clipped(&self, lines: &Range<u64>, sectors: &Range<u64>) -> (u64, u64) {
        let line = self.line;
        (sectors.start.max(lines.start * line), sectors.end.min(lines.end * line))
    }

    /// Sectors of the given lines.
    pub fn whole(&self, lines: &Range<u64>) -> Range<u64> {
        lines.start * self.line..(lines.end * self.line).min(self.capacity)
    }

    /// True if a request for these lines would displace all others.
    #[inline]
    pub fn is_too_long(&self, lines: &Range<u64>) -> bool {
        let count = lines.end - lines.start;
        count > 1 && count * 2 > u64::from(self.free)
    }

    /// Sectors of a line; the end of the device may cut the last one off.
    #[inline]
    pub fn sectors_of(&self, line: u64) -> u64 {
        self.line.min(self.capacity - line * self.line)
    }
}

fn refuse<T>(keys: &[&str], problem: String) -> Result<T, Invalid> {
    Err(Invalid::new(keys, problem))
}

impl<D: Halves> CacheOptions<D> {
    /// Both devices, with their section names.
    pub fn both(&self) -> [(&'static str, &D); 2] {
        [("fast", &self.fast), ("backing", &self.backing)]
    }

    /// Both devices, mutable, with their section names.
    pub fn both_mut(&mut self) -> [(&'static str, &mut D); 2] {
        [("fast", &mut self.fast), ("backing", &mut self.backing)]
    }

    /// Rejects invalid values that do not depend on the devices.
    ///
    /// # Errors
    /// When a value is invalid.
    pub fn check(&self) -> Result<(), Invalid> {
        let line = self.line.bytes();
        if line == 0 || !line.is_multiple_of(SECTOR_BYTES) || line > LONGEST_LINE {
            let most = Size::from_bytes(LONGEST_LINE);
            let problem =
                format!("{} is no line: a multiple of a sector of 512B, at most {most}", self.line);
            return refuse(&["device.line"], problem);
        }
        let Destage { high, low, in_flight, run_lines, .. } = self.destage;
        for (key, share) in [
            ("device.share", self.share),
            ("device.destage.high", high),
            ("device.destage.low", low),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(&[key], format!("{share} is no share from 0 to 1"));
            }
        }
        if low > high {
            let problem = format!("{low} is more than {high}, from which on lines are written");
            return refuse(&["device.destage.low", "device.destage.high"], problem);
        }
        for (key, count) in
            [("device.destage.in_flight", in_flight), ("device.destage.run_lines", run_lines)]
        {
            if !(1..=MOST_DEPTH).contains(&count) {
                return refuse(&[key], format!("{count} is not possible; 1 to {MOST_DEPTH}"));
            }
        }
        if !(1..=MOST_DEPTH).contains(&self.tier.swaps) {
            let problem = format!("{} is not possible; 1 to {MOST_DEPTH}", self.tier.swaps);
            return refuse(&["device.tier.swaps"], problem);
        }
        if !(self.tier.gain >= 1.0 && self.tier.gain.is_finite()) {
            let problem = format!(
                "{} times: a line gives way to one as hot at least; 1 or more",
                self.tier.gain
            );
            return refuse(&["device.tier.gain"], problem);
        }
        if self.tier.half_life.ns() == 0 {
            return refuse(
                &["device.tier.half_life"],
                "a half-life of 0 forgets all uses at once".to_owned(),
            );
        }
        if self.mode == Mode::Tiered && self.restart == Recovery::Cold {
            let problem =
                "without its map nothing is found on either device; use restart = \"warm\""
                    .to_owned();
            return refuse(&["device.restart", "device.mode"], problem);
        }
        if self.mode == Mode::WriteBack && self.restart == Recovery::Cold {
            let problem = "what waits in the cache is lost with its map; use restart = \"warm\", or a mode that \
                           keeps nothing back (write-through, read-only)"
                .to_owned();
            return refuse(&["device.restart", "device.mode"], problem);
        }
        Ok(())
    }

    /// Extents of two tiers with these sizes in sectors.
    ///
    /// # Errors
    /// When a device has no extent, or there are too many.
    pub fn extents(&self, fast: u64, backing: u64) -> Result<Extents, Invalid> {
        self.check()?;
        let line = self.line.bytes() / SECTOR_BYTES;
        let (fast, slow) = (fast / line, backing / line);
        for (lines, key) in [(fast, "device.fast"), (slow, "device.backing")] {
            if lines == 0 {
                let problem = format!("a line of {} is larger than the device", self.line);
                return refuse(&["device.line", key], problem);
            }
        }
        let all = fast + slow;
        if all > MOST_LINES {
            let needed = (all * line).div_ceil(MOST_LINES) * SECTOR_BYTES;
            let problem = format!(
                "{all} lines take too much memory; use a line of {} or more",
                Size::from_bytes(needed.next_power_of_two())
            );
            return refuse(&["device.line", "device.mode"], problem);
        }
        Ok(Extents { sectors: line, fast: fast as u32, all: all as u32 })
    }

    /// Shape of a cache over two devices with these sizes in sectors.
    ///
    /// # Errors
    /// When the fast device is larger than the backing one, or has no evictable line.
    pub fn shape(&self, fast: u64, backing: u64) -> Result<Shape, Invalid> {
        self.check()?;
        let size = |sectors: u64| Size::from_bytes(sectors * SECTOR_BYTES);
        let line = self.line.bytes() / SECTOR_BYTES;
        let slots = (fast as f64 * self.share) as u64 / line;
        if slots < 2 {
            let problem = format!(
                "lines of {}: the share of {} of a fast device of {} holds less than two",
                self.line,
                self.share,
                size(fast)
            );
            return refuse(&["device.share", "device.line", "device.fast"], problem);
        }
        if slots * line > backing {
            let problem = format!(
                "a cache of {} is larger than its backing device of {}; use a smaller share, or another device",
                size(slots * line),
                size(backing)
            );
            return refuse(&["device.share", "device.fast", "device.backing"], problem);
        }
        if slots > MOST_LINES {
            let problem = format!(
                "a cache of {slots} lines takes too much memory; use a line of {} or more",
                size(line * slots.div_ceil(MOST_LINES))
            );
            return refuse(&["device.line", "device.fast"], problem);
        }
        let count = slots as u32;
        let shape = Shape { line, slots: count, free: count, capacity: backing, mode: self.mode };
        let pinned: u64 = self.pinned.lines(line).iter().map(|it| it.end - it.start).sum();
        if let Some(end) = self.pinned.end().filter(|end| *end > backing * SECTOR_BYTES) {
            let problem = format!(
                "it reaches to {}, and the backing device to {}",
                Size::from_bytes(end),
                size(backing)
            );
            return refuse(&["device.pinned", "device.backing"], problem);
        }
        if pinned >= slots {
            let problem = format!(
                "{pinned} lines are pinned, and the cache holds {slots}; one at least must be free to change"
            );
            return refuse(&["device.pinned", "device.share"], problem);
        }
        Ok(Shape { free: count - pinned as u32, ..shape })
    }
}
