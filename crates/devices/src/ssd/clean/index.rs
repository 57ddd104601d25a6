//! The closed blocks of every domain, sorted by their number of valid pages.

use crate::ssd::config::TieBreak;
use crate::ssd::sets::Sets;
use engine::Xoshiro256;

/// For each domain and each number of valid pages, the set of closed blocks; one bit per block and
/// number, so that following a superseded page and finding the emptiest block take constant time.
#[derive(Debug, Clone, Default)]
pub struct VictimIndex {
    sets: Sets,
    /// Sets of a domain: one for each number of valid pages.
    stride: usize,
    /// For each domain, no set below this one has members.
    least: Vec<u32>,
}

impl VictimIndex {
    /// No closed blocks.
    pub fn new(domains: u32, blocks_per_domain: u32, data_pages: u32) -> Self {
        let stride = data_pages as usize + 1;
        VictimIndex {
            sets: Sets::new(domains as usize * stride, blocks_per_domain),
            stride,
            least: vec![data_pages; domains as usize],
        }
    }

    /// Copies the closed blocks of some domains from the index of an identical drive.
    pub fn take_part(&mut self, other: &VictimIndex, domains: std::ops::Range<usize>) {
        let sets = domains.start * self.stride..domains.end * self.stride;
        self.sets.take_part(&other.sets, sets);
        self.least[domains.clone()].copy_from_slice(&other.least[domains]);
    }

    /// A block was closed with `valid` valid pages.
    #[inline]
    pub fn insert(&mut self, domain: u32, block: u32, valid: u32) {
        self.sets.insert(domain as usize * self.stride + valid as usize, block);
        let least = &mut self.least[domain as usize];
        *least = (*least).min(valid);
    }

    /// A closed block is about to be cleaned.
    pub fn remove(&mut self, domain: u32, block: u32, valid: u32) {
        self.sets.remove(domain as usize * self.stride + valid as usize, block);
    }

    /// One of the `valid` pages of a closed block was superseded.
    #[inline]
    pub fn superseded(&mut self, domain: u32, block: u32, valid: u32) {
        self.sets.remove(domain as usize * self.stride + valid as usize, block);
        self.insert(domain, block, valid - 1);
    }

    /// The fewest valid pages that a closed block of the domain has.
    pub fn least(&self, domain: u32) -> Option<u32> {
        let base = domain as usize * self.stride;
        let least = self.least[domain as usize] as usize;
        let valid = (least..self.stride).find(|valid| !self.sets.is_empty(base + valid))?;
        Some(valid as u32)
    }

    /// Remembers that no block has fewer than `valid` valid pages, which [`least`] has found.
    ///
    /// [`least`]: VictimIndex::least
    pub fn raise_least(&mut self, domain: u32, valid: u32) {
        self.least[domain as usize] = valid;
    }

    /// One of the blocks that have the fewest valid pages.
    pub fn emptiest(
        &self,
        domain: u32,
        tie_break: TieBreak,
        random: &mut Xoshiro256,
    ) -> Option<u32> {
        let set = domain as usize * self.stride + self.least(domain)? as usize;
        match tie_break {
            TieBreak::Highest => self.sets.last(set),
            TieBreak::Lowest => self.sets.first(set),
            TieBreak::Random => self.sets.draw(set, random),
        }
    }

    /// The blocks that have superseded pages: those with the fewest valid pages first, of equals the
    /// lowest number.
    pub fn emptiest_first(&self, domain: u32) -> impl Iterator<Item = u32> + '_ {
        let base = domain as usize * self.stride;
        let sets = self.least[domain as usize] as usize..self.stride - 1;
        sets.flat_map(move |valid| self.sets.iter(base + valid))
    }

    /// Whether a block is listed as closed with `valid` valid pages.
    pub fn contains(&self, domain: u32, block: u32, valid: u32) -> bool {
        self.sets.contains(domain as usize * self.stride + valid as usize, block)
    }
}
