//! The SLC cache: blocks that host writes use with one bit a cell for a while.

use options::{Bandwidth, Duration, Size, choices, conditions, options};

choices! {
    /// When data of the SLC cache are folded: moved to native blocks.
    pub enum Fold {
        /// When the host has not written for `fold_after`, and when space is short.
        Idle = "idle",
        /// Only when space is short.
        Lazy = "lazy",
        /// As soon as a block of the cache is full, beside the writes of the host.
        Eager = "eager",
    }
}

conditions! {
    SlcCache:
    CACHES = "with an SLC cache (device.slc_cache.dynamic)", |c| c.dynamic > 0.0;
}

options! {
    /// The SLC cache of a drive with a write buffer: free blocks that host writes use with one bit a cell, which is
    /// faster, until their data are folded into native blocks.
    pub struct SlcCache as SlcCachePartial {
        /// Share of the free blocks that host writes may use with one bit a cell; 0: no SLC cache.
        dynamic: f64 as Ratio = 0.0,
        /// Most data that the cache holds; no limit but the free blocks if not given.
        limit: Option<Size> where CACHES = None,
        /// Share of the drive that holds data at which the cache is gone; it shrinks in proportion.
        gone_at: f64 as Ratio where CACHES = 1.0,
        /// Programming a page of all planes with one bit a cell (tPROG SLC); needed with a cache.
        program: Option<Duration> where CACHES = None,
        /// Reading a page that was programmed so (tR SLC); needed with a cache.
        read: Option<Duration> where CACHES = None,
        /// When data are folded.
        fold: Fold where CACHES = Fold::Idle,
        /// Time without host writes after which data are folded, and the cache is used again.
        fold_after: Duration where CACHES = Duration::from_ns(1_000_000_000),
        /// Share of the time of the dies in which folded data are programmed beside the host's writes to native
        /// blocks, once the cache is full; what folds read and erase comes on top.
        fold_share: f64 as Ratio where CACHES = 0.0,
        /// Most data folded per second: a limit of the firmware.
        fold_rate: Bandwidth where CACHES = Bandwidth::UNLIMITED,
    }
}

impl SlcCache {
    /// Whether there is one.
    pub fn is_on(&self) -> bool {
        self.dynamic > 0.0
    }
}
