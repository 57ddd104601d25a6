//! A flash cache: small objects in randomly overwritten buckets, large ones in regions written as a
//! ring.
//!
//! Known (`CacheLib`: Berg et al., OSDI 2020, and its user guide): a small object belongs to the
//! bucket of its key's hash, and inserting it reads and rewrites the whole bucket. Large objects
//! are collected in a region in memory, which then overwrites the oldest region. With placement,
//! small objects use handle 1 and large ones handle 0 (Allison et al., `EuroSys` 2025). Defaults
//! follow published measurements: 4 % of the cache for small objects, which have 82 % of the bytes
//! written (raw counters of Song et al., FAST 2026). Assumed: the distribution of lookups
//! (`read_share`, `locality`, `large_item`). A lookup of an object never written is a miss, which
//! inserts a small object.

use crate::chains::{Chains, Cut, Next, Piece, Steps};
use crate::chance::Chance;
use crate::checks;
use crate::closed_loop::Notices;
use crate::error::BuildError;
use crate::files::{BLOCK_BYTES, BLOCK_SECTORS};
use crate::footprint::Footprint;
use crate::kind::{Context, WorkloadKind};
use crate::locality::{Locality, Skew};
use crate::streams;
use engine::{Handle, Op, Random, Time, Workload, Xoshiro256};
use options::{Invalid, Size};
use std::collections::VecDeque;

options::choices! {
    /// Separation of data by placement handle.
    pub enum Engines {
        /// No handle is named.
        None = "none",
        /// Handle 1 for small objects, 0 for large ones.
        Engine = "engine",
    }
}

options::conditions! { Cache:
    LOOKS_UP = "with `read_share` above 0", |it| it.read_share > 0.0;
    HAS_SMALL = "with `small` above 0", |it| it.small > 0.0;
    HAS_BOTH = "with `small` above 0 and below 1", |it| it.small > 0.0 && it.small < 1.0;
    HAS_LARGE = "with `small` below 1", |it| it.small < 1.0;
}

options::options! {
    /// A cache on flash.
    pub struct Cache as CachePartial {
        /// Total number of requests.
        requests: u64 = 1_000_000,
        /// Lookups and insertions of small objects under way at once.
        outstanding: u32 = 16,
        /// Share of the cache for small objects.
        small: f64 as Ratio = 0.04,
        /// Share of the bytes written that small objects have.
        small_share: f64 as Ratio where HAS_BOTH = 0.82,
        /// Size of a bucket of small objects, a multiple of 4KiB.
        bucket: Size where HAS_SMALL = Size::from_bytes(4096),
        /// Mean size of a small object; a bucket is written for each.
        item: Size where HAS_SMALL = Size::from_bytes(944),
        /// Size of a region of large objects, a multiple of 4KiB.
        region: Size where HAS_LARGE = Size::from_bytes(16 << 20),
        /// Mean size of a large object, which a lookup reads, a multiple of 4KiB.
        large_item: Size where LOOKS_UP = Size::from_bytes(64 << 10),
        /// Size of the requests that write a region, a multiple of 4KiB.
        request_size: Size where HAS_LARGE = Size::from_bytes(128 << 10),
        /// Share of lookups; the rest insert small objects.
        read_share: f64 as Ratio = 0.5,
        /// Distribution of lookups over the objects.
        locality: Locality where LOOKS_UP = Locality::zipf(0.9),
        /// Trim a region before it is rewritten.
        trim: bool where HAS_LARGE = false,
        /// Separation of data by placement handle.
        placement: Engines = Engines::None,
        /// Footprint: the size of the cache, from the start of the device.
        footprint: Footprint = Footprint::WHOLE,
    }
}

/// Maximum lag of large-object writes, in regions, before small ones wait.
const MOST_BEHIND: u64 = 2;

impl WorkloadKind for Cache {
    const SUMMARY: &'static str = "a cache on flash: small objects in buckets overwritten at random, large ones in a ring of regions";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn guessed(&self) -> Vec<&'static str> {
        let default = Cache::default();
        let (looks_up, rings) = (self.read_share > 0.0, self.small < 1.0);
        let rows = [
            ("workload.read_share", self.read_share.to_bits() == default.read_share.to_bits()),
            ("workload.locality", looks_up && self.locality == default.locality),
            ("workload.large_item", looks_up && self.large_item == default.large_item),
            ("workload.request_size", rings && self.request_size == default.request_size),
        ];
        rows.into_iter().filter(|(_, is_default)| *is_default).map(|(key, _)| key).collect()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        checks::positive("workload.requests", self.requests)?;
        checks::positive("workload.outstanding", u64::from(self.outstanding))?;
        checks::within("workload.outstanding", u64::from(self.outstanding), 1, MOST_WORKERS)?;
        for (key, share) in [
            ("workload.small", self.small),
            ("workload.small_share", self.small_share),
            ("workload.read_share", self.read_share),
        ] {
            checks::share(key, share)?;
        }
        let largest = checks::blocks("workload.request_size", self.request_size)?;
        let bucket = checks::blocks("workload.bucket", self.bucket)?;
        let region = checks::blocks("workload.region", self.region)?;
        let large_item = checks::blocks("workload.large_item", self.large_item)?;
        if self.item.bytes() == 0 || self.item > self.bucket {
            let problem = format!("{} is no size from 1B to a bucket, {}", self.item, self.bucket);
            return Err(Invalid::new(&["workload.item", "workload.bucket"], problem).into());
        }
        let sectors = self.footprint.sectors(context.capacity_sectors)?;
        let blocks = sectors / BLOCK_SECTORS;
        let small = (blocks as f64 * self.small) as u64;
        let small = if self.small < 1.0 { small } else { blocks };
        let (buckets, regions) = (small / bucket, (blocks - small) / region);
        let refused = |keys: &[&str], what: &str, share: f64| -> BuildError {
            let size = Size::from_bytes(blocks * BLOCK_BYTES);
            let problem = format!("{share} of a cache of {size} has no room for {what}");
            Invalid::new(keys, problem).into()
        };
        if self.small > 0.0 && buckets == 0 {
            return Err(refused(&["workload.small", "workload.bucket"], "a bucket", self.small));
        }
        if self.small < 1.0 && regions < 2 {
            let keys = ["workload.small", "workload.region", "workload.footprint"];
            return Err(refused(&keys, "two regions of large objects", 1.0 - self.small));
        }
        let large_items = if large_item > region { 0 } else { regions * region / large_item };
        if large_items == 0 && regions > 0 && self.read_share > 0.0 {
            let problem = format!("{} is larger than a region of {}", self.large_item, self.region);
            return Err(Invalid::new(&["workload.large_item", "workload.region"], problem).into());
        }
        let share = match (buckets, regions) {
            (0, _) => 0.0,
            (_, 0) => 1.0,
            _ => self.small_share,
        };
        let lookups =
            self.locality.skew("workload.locality", buckets + large_items, true, context.seed)?;
        let cut = Cut { largest: largest * BLOCK_SECTORS, depth: DEPTH };
        let engines = Cached {
            small: Small {
                bucket,
                buckets,
                holds: vec![0; buckets.div_ceil(64) as usize],
                written: 0,
            },
            ring: Ring { first: buckets * bucket, region, regions, next: 0, under_way: None },
            due: vec![Due::Nothing; self.outstanding as usize],
            large_item,
            large_items,
            share,
            trims: self.trim,
            item_bytes: self.item.bytes(),
            names: self.placement == Engines::Engine,
            lookups,
            looks_up: Chance::new(self.read_share),
            counts: Counts::default(),
            random: Xoshiro256::new(context.draws(), streams::CACHE),
        };
        let chains = 1 + self.outstanding as usize;
        Ok(Box::new(Chains::new(Some(self.requests), chains, cut, engines)))
    }
}

/// Maximum outstanding requests of a region or a bucket.
const DEPTH: u32 = 4;
/// Maximum number of workers.
const MOST_WORKERS: u64 = 1 << 14;

/// The buckets of small objects.
struct Small {
    /// Blocks per bucket and number of buckets, starting at the first block of the device.
    bucket: u64,
    buckets: u64,
    /// Bitmap of the written buckets.
    holds: Vec<u64>,
    /// Blocks written.
    written: u64,
}

impl Small {
    fn holds(&self, bucket: u64) -> bool {
        self.holds[(bucket / 64) as usize] >> (bucket % 64) & 1 == 1
    }

    fn hold(&mut self, bucket: u64) {
        self.holds[(bucket / 64) as usize] |= 1 << (bucket % 64);
    }

    fn piece(&self, op: Op, bucket: u64) -> Piece {
        let sectors = self.bucket * BLOCK_SECTORS;
        Piece::new(op, bucket * sectors, sectors)
    }
}

/// The regions of large objects.
struct Ring {
    /// First block, blocks per region, and number of regions.
    first: u64,
    region: u64,
    regions: u64,
    /// Number of regions written or in progress.
    next: u64,
    /// The region being trimmed or written.
    under_way: Option<u64>,
}

impl Ring {
    fn piece(&self, op: Op, region: u64) -> Piece {
        let sectors = self.region * BLOCK_SECTORS;
        Piece::new(op, self.first * BLOCK_SECTORS + region * sectors, sectors)
    }

    /// True if these blocks of the ring currently hold large objects.
    fn holds(&self, first: u64, end: u64) -> bool {
        let written = self.next.min(self.regions) * self.region;
        let is_overwritten =
            |region: u64| first < (region + 1) * self.region && end > region * self.region;
        end <= written && !self.under_way.is_some_and(is_overwritten)
    }
}

/// Pending work of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Nothing,
    /// An object must be inserted.
    Insert,
    /// The bucket's read is issued; its write follows.
    Write(u64),
    /// The bucket's write is issued.
    Written(u64),
}

/// Counts reported as notices.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    lookups: u64,
    misses: u64,
    inserted: u64,
}

/// A running cache. Chain 0 writes regions, the others are workers.
struct Cached {
    small: Small,
    ring: Ring,
    /// Pending work by worker.
    due: Vec<Due>,
    /// Blocks per large object, and number of large objects in the regions.
    large_item: u64,
    large_items: u64,
    /// Share of small objects in bytes written.
    share: f64,
    trims: bool,
    item_bytes: u64,
    names: bool,
    /// Distribution of lookups over buckets and large objects; uniform if `None`.
    lookups: Option<Skew>,
    looks_up: Chance,
    counts: Counts,
    random: Xoshiro256,
}

impl Cached {
    fn handle(&self, number: u64) -> Handle {
        if self.names { Handle::new(number) } else { Handle::NONE }
    }

    /// True if large objects are below their share of the bytes written, with `more` regions added.
    fn is_behind(&self, more: u64) -> bool {
        let large = (self.ring.next + more) * self.ring.region;
        large as f64 * self.share <= self.small.written as f64 * (1.0 - self.share)
    }

    fn next_region(&mut self, now: Time, step: &mut VecDeque<Piece>) -> Next {
        if self.ring.regions == 0 {
            return Next::End;
        }
        if !self.is_behind(0) {
            return Next::Wait;
        }
        let region = self.ring.next % self.ring.regions;
        let is_new = self.ring.under_way.replace(region).is_none();
        if self.trims && is_new && self.ring.next >= self.ring.regions {
            step.push_back(self.ring.piece(Op::Trim, region));
        } else {
            step.push_back(self.ring.piece(Op::Write, region).with(self.handle(0)));
            self.ring.next += 1;
        }
        Next::Ask(now)
    }

    /// Read of a lookup; `None` if the object was never written.
    fn looked_up(&mut self) -> Option<Piece> {
        let objects = self.small.buckets + self.large_items;
        let object = match &self.lookups {
            Some(skew) => skew.block(&mut self.random),
            None => self.random.below(objects),
        };
        if let Some(large) = object.checked_sub(self.small.buckets) {
            let sectors = self.large_item * BLOCK_SECTORS;
            let first = self.ring.first * BLOCK_SECTORS + large * sectors;
            let held = self.ring.holds(large * self.large_item, (large + 1) * self.large_item);
            return held.then(|| Piece::new(Op::Read, first, sectors));
        }
        self.small.holds(object).then(|| self.small.piece(Op::Read, object))
    }

    fn work(&mut self, worker: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        if let Due::Write(bucket) = self.due[worker] {
            self.due[worker] = Due::Written(bucket);
            step.push_back(self.small.piece(Op::Write, bucket).with(self.handle(1)));
            return Next::Ask(now);
        }
        if self.due[worker] != Due::Insert {
            let needs = self.looks_up.needs_bits();
            let bits = if needs { self.random.below(1 << Chance::BITS) } else { 0 };
            if self.looks_up.decide(bits) {
                self.counts.lookups += 1;
                if let Some(piece) = self.looked_up() {
                    step.push_back(piece);
                    return Next::Ask(now);
                }
                self.counts.misses += 1;
            }
            self.due[worker] = Due::Insert;
        }
        if self.small.buckets == 0 || self.ring.regions > 0 && self.is_behind(MOST_BEHIND) {
            return Next::Wait;
        }
        let bucket = self.random.below(self.small.buckets);
        self.counts.inserted += 1;
        self.small.written += self.small.bucket;
        if self.small.holds(bucket) {
            self.due[worker] = Due::Write(bucket);
            step.push_back(self.small.piece(Op::Read, bucket));
        } else {
            self.due[worker] = Due::Written(bucket);
            step.push_back(self.small.piece(Op::Write, bucket).with(self.handle(1)));
        }
        Next::Ask(now)
    }
}

impl Steps for Cached {
    fn step(&mut self, chain: usize, now: Time, step: &mut VecDeque<Piece>) -> Next {
        match chain.checked_sub(1) {
            None => self.next_region(now, step),
            Some(worker) => self.work(worker, now, step),
        }
    }

    fn finished(&mut self, chain: usize, _now: Time) -> bool {
        let Some(worker) = chain.checked_sub(1) else {
            let region =
                self.ring.under_way.filter(|region| *region == self.ring.next % self.ring.regions);
            // The region's trim is complete; its write follows.
            self.ring.under_way = region;
            return true;
        };
        if let Due::Written(bucket) = self.due[worker] {
            self.small.hold(bucket);
            self.due[worker] = Due::Nothing;
        }
        // A written bucket can allow the next region to begin.
        self.ring.regions > 0 && self.is_behind(0)
    }

    fn notices(&self) -> Notices {
        let Counts { lookups, misses, inserted } = self.counts;
        vec![
            ("cache_lookups", lookups),
            ("cache_misses", misses),
            ("cache_small_bytes_written", self.small.written * BLOCK_BYTES),
            ("cache_small_bytes_inserted", inserted * self.item_bytes),
            ("cache_large_bytes_written", self.ring.next * self.ring.region * BLOCK_BYTES),
        ]
    }
}

#[cfg(test)]
mod tests;
