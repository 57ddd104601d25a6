//! Index of segments by approximate start, to find the segments of a sector range without a search.
//!
//! Addresses are divided into cells at least as long as a segment. Segments that start in the same
//! cell share a chain, which they also share with some distant cells. A sector can only be in
//! segments of two chains, which are short.

/// Number of chains, a power of two.
const CHAINS: usize = 1024;

/// End of a chain.
const END: u32 = u32::MAX;

/// Segment numbers by the cell of their start.
#[derive(Debug, Clone)]
pub struct Cells {
    first: Box<[u32; CHAINS]>,
    /// Next segment in the chain, by segment.
    next: Vec<u32>,
    /// Sectors per cell, as a power of two.
    shift: u32,
}

impl Cells {
    /// An empty index for `count` segments of at most `size` sectors each.
    pub fn new(count: u32, size: u64) -> Cells {
        let shift = 64 - size.saturating_sub(1).leading_zeros();
        Cells {
            first: Box::new([END; CHAINS]),
            next: memory::filled(END, count as usize),
            shift: shift.min(63),
        }
    }

    #[inline]
    fn cell(&self, sector: u64) -> u64 {
        sector >> self.shift
    }

    #[inline]
    fn chain(&self, sector: u64) -> usize {
        self.cell(sector) as usize % CHAINS
    }

    /// True if segments that begin at two sectors share a chain.
    #[inline]
    pub fn are_alike(&self, one: u64, other: u64) -> bool {
        self.chain(one) == self.chain(other)
    }

    /// Adds a segment that starts at a sector.
    #[inline]
    pub fn add(&mut self, number: usize, sector: u64) {
        let chain = self.chain(sector);
        self.next[number] = std::mem::replace(&mut self.first[chain], number as u32);
    }

    /// Removes a segment from the index.
    #[inline]
    pub fn remove(&mut self, number: usize, sector: u64) {
        let (chain, number) = (self.chain(sector), number as u32);
        let behind = self.next[number as usize];
        let mut other = self.first[chain];
        if other == number {
            self.first[chain] = behind;
            return;
        }
        while self.next[other as usize] != number {
            other = self.next[other as usize];
        }
        self.next[other as usize] = behind;
    }

    /// Chains of all segments that start in a sector range; they may contain other segments. `None`
    /// if these are most of the chains. Each chain is listed once.
    #[inline]
    pub fn chains(&self, start: u64, last: u64) -> Option<impl Iterator<Item = usize> + use<>> {
        let (first, last) = (self.cell(start), self.cell(last));
        let is_short = last.wrapping_sub(first) < CHAINS as u64 / 2;
        is_short.then(|| (first..=last).map(|cell| cell as usize % CHAINS))
    }

    /// First segment of a chain.
    #[inline]
    pub fn first_of(&self, chain: usize) -> Option<usize> {
        Some(self.first[chain]).filter(|it| *it != END).map(|it| it as usize)
    }

    /// Next segment in the same chain.
    #[inline]
    pub fn behind(&self, number: usize) -> Option<usize> {
        Some(self.next[number]).filter(|it| *it != END).map(|it| it as usize)
    }

    /// The segments of a chain.
    #[inline]
    pub fn of(&self, chain: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.first_of(chain), |number| self.behind(*number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Random as _, Xoshiro256};

    /// The index finds each segment of a range exactly once.
    #[test]
    fn what_begins_in_a_range_is_in_its_chains_once() {
        let mut random = Xoshiro256::new(5, 0);
        for size in [1, 7, 1_000, 16_384] {
            let mut cells = Cells::new(40, size);
            let mut all = [None; 40];
            let reach = size * 5_000;
            for _ in 0..3_000 {
                let number = random.below(40) as usize;
                let sector = random.below(reach);
                if let Some(before) = all[number].take() {
                    cells.remove(number, before);
                } else {
                    cells.add(number, sector);
                    all[number] = Some(sector);
                }
                let start = random.below(reach);
                let cells_long = [1, 600][random.below(2) as usize];
                let last = start + random.below(size * cells_long);
                let Some(chains) = cells.chains(start, last) else {
                    assert!(last - start > size * 256, "{start} to {last} of {size}");
                    continue;
                };
                let mut told: Vec<usize> = chains.flat_map(|chain| cells.of(chain)).collect();
                told.sort_unstable();
                let once = told.windows(2).all(|pair| pair[0] < pair[1]);
                let there = |it: &usize| all[*it].is_some_and(|at| (start..=last).contains(&at));
                let is_told = (0..40).filter(there).all(|it| told.contains(&it));
                assert!(once && is_told, "{start} to {last} of {size}: {told:?}, {all:?}");
            }
        }
    }
}
