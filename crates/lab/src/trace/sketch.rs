//! The number of distinct pages accessed by each part of a trace, in fixed memory.
//!
//! The trace's time is cut into buckets whose width doubles whenever they no longer suffice; each
//! counts different pages by a `HyperLogLog` sketch (Flajolet et al., 2007), which merges without loss.
//! The counts are within about 1 %.

use engine::Time;

/// Registers of a sketch: 1.04 / sqrt(2^14) is a standard error of 0.8 %.
const REGISTER_BITS: u32 = 14;
const REGISTERS: usize = 1 << REGISTER_BITS;

/// Buckets at most; at least half as many are in use once the first width did not suffice.
const BUCKETS: usize = 40;

/// Counts different values.
#[derive(Debug, Clone)]
struct Sketch(Vec<u8>);

impl Sketch {
    fn new() -> Self {
        Sketch(vec![0; REGISTERS])
    }

    fn add(&mut self, hash: u64) {
        let register = (hash >> (64 - REGISTER_BITS)) as usize;
        // Behind the register's bits stands a one at the latest where they end.
        let rank = ((hash << REGISTER_BITS) | (1 << (REGISTER_BITS - 1))).leading_zeros() + 1;
        self.0[register] = self.0[register].max(rank as u8);
    }

    fn merge(&mut self, other: &Sketch) {
        for (rank, other) in self.0.iter_mut().zip(&other.0) {
            *rank = (*rank).max(*other);
        }
    }

    /// The estimate of O. Ertl, "New cardinality estimation algorithms for `HyperLogLog` sketches"
    /// (2017), section 4, which needs no correction for small counts.
    fn count(&self) -> f64 {
        let registers = REGISTERS as f64;
        let (mut zeros, mut sum) = (0_u32, 0.0);
        for rank in &self.0 {
            match rank {
                0 => zeros += 1,
                _ => sum += 1.0 / (1_u64 << rank) as f64,
            }
        }
        let scale = 1.0 / (2.0 * std::f64::consts::LN_2);
        scale * registers * registers / (registers * sigma(f64::from(zeros) / registers) + sum)
    }
}

/// x + the sum of x^(2^k) 2^(k-1) for k from 1.
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut sum, mut factor, mut before) = (x, 1.0, f64::NAN);
    while sum.to_bits() != f64::to_bits(before) {
        before = sum;
        x *= x;
        sum += x * factor;
        factor *= 2.0;
    }
    sum
}

/// A number whose bits depend on all bits of the page (the finaliser of `SplitMix64`).
fn hash(device: u32, page: u64) -> u64 {
    let mixed = page ^ u64::from(device).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = mixed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The working set over time.
#[derive(Debug)]
pub(super) struct WorkingSet {
    width_ns: Time,
    buckets: Vec<Sketch>,
}

impl Default for WorkingSet {
    fn default() -> Self {
        // A microsecond, to be doubled.
        WorkingSet { width_ns: 1_000, buckets: Vec::new() }
    }
}

impl WorkingSet {
    /// A bucket's length, ns.
    pub(super) fn width_ns(&self) -> Time {
        self.width_ns
    }

    /// About how many pages each bucket touches.
    pub(super) fn counts(&self) -> impl Iterator<Item = u64> {
        self.buckets.iter().map(|sketch| sketch.count().round() as u64)
    }

    /// Notes that these pages are accessed, `since` after the beginning.
    pub(super) fn insert(&mut self, since: Time, device: u32, first: u64, end: u64) {
        while since / self.width_ns >= BUCKETS as u64 {
            self.widen();
        }
        let bucket = (since / self.width_ns) as usize;
        while self.buckets.len() <= bucket {
            self.buckets.push(Sketch::new());
        }
        for page in first..end {
            self.buckets[bucket].add(hash(device, page));
        }
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
