//! SLC cache: blocks that host writes use temporarily with one bit per cell.

use super::SsdConfig;
use options::{Bandwidth, Duration, Size, choices, conditions, options};

choices! {
    /// When data of the SLC cache are folded: moved to native blocks.
    pub enum Fold {
        /// When the host has not written for `fold_after`, and when space is short.
        Idle = "idle",
        /// Only when space is short.
        Lazy = "lazy",
        /// As soon as a block of the cache is full, alongside host writes.
        Eager = "eager",
    }
}

choices! {
    /// Destination of host writes with a full SLC cache.
    pub enum WhenFull {
        /// Native blocks.
        Direct = "direct",
        /// A folded block of the cache, once there is one.
        Fold = "fold",
    }

    /// When an SLC cache that was full is used again.
    pub enum Reuse {
        /// After a rest of `fold_after`, with the folded space.
        Any = "any",
        /// After it has been folded completely.
        Empty = "empty",
    }
}

conditions! {
    SlcCache:
    CACHES = "with an SLC cache (device.slc_cache.dynamic, static)", |c| c.is_on();
    DYNAMIC = "where free blocks are part of the SLC cache (device.slc_cache.dynamic)", |c| c.dynamic > 0.0;
    DIRECT = "with an SLC cache, and device.slc_cache.when_full = \"direct\"",
        |c| c.is_on() && c.when_full == WhenFull::Direct;
}

options! {
    /// The SLC cache of a drive with a write buffer: free blocks that host writes use with one bit a cell, which is
    /// faster, until their data are folded into native blocks.
    pub struct SlcCache as SlcCachePartial {
        /// Data that blocks hold which are always of the SLC cache; they are not exported.
        r#static: Size = Size::from_bytes(0),
        /// Share of the free blocks that host writes may use with one bit a cell; 0: none of them.
        dynamic: f64 as Ratio = 0.0,
        /// Most data that free blocks hold for the cache; no limit but these if not given.
        limit: Option<Size> where DYNAMIC = None,
        /// Share of the drive that holds data at which only the static part is left; the rest shrinks in proportion.
        gone_at: f64 as Ratio where DYNAMIC = 1.0,
        /// Programming a page of all planes with one bit a cell (tPROG SLC); needed with a cache.
        program: Option<Duration> where CACHES = None,
        /// Page read in the cache (tR SLC); needed with a cache.
        read: Option<Duration> where CACHES = None,
        /// Destination of host writes when the cache is full.
        when_full: WhenFull where CACHES = WhenFull::Direct,
        /// Condition for using the cache again.
        reuse: Reuse where DIRECT = Reuse::Any,
        /// When data are folded.
        fold: Fold where CACHES = Fold::Idle,
        /// Time without host writes after which data are folded, and the cache is used again.
        fold_after: Duration where CACHES = Duration::from_ns(1_000_000_000),
        /// Share of the dies' time in which folded data are programmed beside the host's writes to
        /// native blocks, once the cache is full; reads and erases of folds come on top.
        fold_share: f64 as Ratio where DIRECT = 0.0,
        /// Most data folded per second: a limit of the firmware.
        fold_rate: Bandwidth where CACHES = Bandwidth::UNLIMITED,
        /// Rated P/E cycles of a block with one bit per cell: it wears as much less as that is more
        /// than `device.wear.rated_cycles`; as much if not given.
        rated_cycles: Option<u32> where CACHES = None,
    }
}

impl SlcCache {
    /// True with an SLC cache.
    pub fn is_on(&self) -> bool {
        self.dynamic > 0.0 || self.r#static.bytes() > 0
    }
}

impl SsdConfig {
    /// True if an SLC cache is folded.
    pub(crate) fn folds(&self) -> bool {
        self.is_buffered() && self.slc_cache.is_on()
    }
}
