//! The number of distinct pages accessed in each part of a trace, in fixed memory.
//!
//! Time is divided into buckets whose width doubles when their number is exhausted; each counts
//! distinct pages by a sketch.

use engine::Time;
use workloads::Sketch;

/// Maximum number of buckets; after the first doubling at least half of them are in use.
const BUCKETS: usize = 40;

/// The working set over time.
#[derive(Debug)]
pub(super) struct WorkingSet {
    width_ns: Time,
    buckets: Vec<Sketch>,
}

impl Default for WorkingSet {
    fn default() -> Self {
        // A microsecond, doubled as needed.
        WorkingSet { width_ns: 1_000, buckets: Vec::new() }
    }
}

impl WorkingSet {
    /// A bucket's length, ns.
    pub(super) fn width_ns(&self) -> Time {
        self.width_ns
    }

    /// Approximate number of pages accessed in each bucket.
    pub(super) fn counts(&self) -> impl Iterator<Item = u64> {
        self.buckets.iter().map(|sketch| sketch.count().round() as u64)
    }

    /// Records accesses to these pages, `since` after the start.
    pub(super) fn insert(&mut self, since: Time, device: u32, first: u64, end: u64) {
        while since / self.width_ns >= BUCKETS as u64 {
            self.widen();
        }
        let bucket = (since / self.width_ns) as usize;
        while self.buckets.len() <= bucket {
            self.buckets.push(Sketch::default());
        }
        self.buckets[bucket].insert(device, first, end);
    }

    fn widen(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        let mut merged: Vec<Sketch> = Vec::with_capacity(BUCKETS);
        for (index, bucket) in self.buckets.drain(..).enumerate() {
            match merged.last_mut() {
                Some(last) if index % 2 == 1 => last.merge(&bucket),
                _ => merged.push(bucket),
            }
        }
        self.buckets = merged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimated_working_sets_are_within_two_and_a_half_percent() {
        for pages in [0, 1, 100, 10_000, 40_000, 1_000_000_u64] {
            let mut set = WorkingSet::default();
            for _ in 0..2 {
                set.insert(0, 1, 5, 5 + pages);
            }
            let count = set.counts().next().unwrap() as f64;
            assert!((count - pages as f64).abs() <= 0.025 * pages as f64, "{pages}: {count}");
        }
    }

    #[test]
    fn buckets_widen_with_the_trace() {
        let mut set = WorkingSet::default();
        for second in 0..60 {
            set.insert(second * 1_000_000_000, 0, second / 30 * 1000, second / 30 * 1000 + 100);
        }
        let counts: Vec<u64> = set.counts().collect();
        assert!((20..=40).contains(&counts.len()), "{counts:?}");
        assert!(counts.iter().all(|count| (98..=102).contains(count) || *count >= 196));
        assert_eq!(set.width_ns(), 1_000 << 21);
    }
}
