//! Approximate positions on a disk: avoids searches where nothing is near.
//!
//! Addresses are divided into equal cells, and many cells share a counter. A counter of zero means
//! that a cell is empty; otherwise a search decides.

/// Number of counters, a power of two.
const COUNTS: usize = 1024;

/// Ranges of more cells are always searched.
const MOST_CELLS: u64 = 4;

/// Entry counters, each shared by many cells.
#[derive(Debug, Clone)]
pub struct Near {
    counts: Box<[u32; COUNTS]>,
    /// Sectors per cell, as a power of two.
    shift: u32,
}

/// Cells as long as the segments of large buffers.
impl Default for Near {
    fn default() -> Self {
        Near::of(1 << 14)
    }
}

impl Near {
    /// An empty counter, for queries of ranges of about this length.
    pub fn of(sectors: u64) -> Near {
        let shift = 64 - sectors.saturating_sub(1).leading_zeros();
        Near { counts: Box::new([0; COUNTS]), shift: shift.min(63) }
    }

    #[inline]
    fn count(&mut self, sector: u64) -> &mut u32 {
        &mut self.counts[(sector >> self.shift) as usize % COUNTS]
    }

    /// Adds an entry at a sector.
    #[inline]
    pub fn add(&mut self, sector: u64) {
        *self.count(sector) += 1;
    }

    /// Removes an entry.
    #[inline]
    pub fn remove(&mut self, sector: u64) {
        *self.count(sector) -= 1;
    }

    /// False only if no entry lies between two sectors, both included.
    #[inline]
    pub fn may_have(&self, start: u64, last: u64) -> bool {
        let (first, behind) = (start >> self.shift, last >> self.shift);
        let mut cells = first..=behind;
        behind.wrapping_sub(first) >= MOST_CELLS
            || cells.any(|cell| self.counts[cell as usize % COUNTS] > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Random as _, Xoshiro256};

    /// No entry is missed, and most empty ranges are recognised.
    #[test]
    fn what_lies_in_a_range_is_never_passed_over() {
        let mut random = Xoshiro256::new(11, 0);
        for length in [1, 7, 1_000, 16_384, 1 << 40, u64::MAX] {
            let mut near = Near::of(length);
            let mut all: Vec<u64> = Vec::new();
            let reach = length.saturating_mul(3_000).min(u64::MAX / 2);
            let (mut passed, mut asked) = (0, 0);
            for _ in 0..3_000 {
                if all.len() > 30 {
                    let gone = all.swap_remove(random.below(all.len() as u64) as usize);
                    near.remove(gone);
                }
                let sector = random.below(reach);
                near.add(sector);
                all.push(sector);
                let start = random.below(reach);
                let last = start + random.below(length.min(u64::MAX / 2));
                let has = all.iter().any(|it| (start..=last).contains(it));
                let may_have = near.may_have(start, last);
                assert!(may_have || !has, "{start} to {last}, cells for {length}");
                asked += u32::from(!has);
                passed += u32::from(!may_have);
            }
            assert!(length > 1 << 20 || passed * 10 > asked * 8, "{length}: {passed} of {asked}");
        }
    }
}
