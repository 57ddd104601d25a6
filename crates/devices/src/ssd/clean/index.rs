//! The closed blocks of every domain, sorted by their number of valid pages.

use crate::ssd::config::TieBreak;
use crate::ssd::sets::Sets;

/// For each domain and each number of valid pages, the set of closed blocks; one bit per block and
/// number, so that following a superseded page and finding the emptiest block take constant time.
#[derive(Debug, Clone)]
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

    /// The block with the fewest valid pages, and how many those are.
    pub fn emptiest(&self, domain: u32, tie_break: TieBreak) -> Option<(u32, u32)> {
        let base = domain as usize * self.stride;
        let least = self.least[domain as usize] as usize;
        let valid = (least..self.stride).find(|valid| !self.sets.is_empty(base + valid))?;
        let block = match tie_break {
            TieBreak::Highest => self.sets.last(base + valid),
            TieBreak::Lowest => self.sets.first(base + valid),
        };
        block.map(|block| (block, valid as u32))
    }

    /// Remembers that no block has fewer than `valid` valid pages, which [`emptiest`] has found.
    ///
    /// [`emptiest`]: VictimIndex::emptiest
    pub fn raise_least(&mut self, domain: u32, valid: u32) {
        self.least[domain as usize] = valid;
    }

    /// Whether a block is listed as closed with `valid` valid pages.
    pub fn contains(&self, domain: u32, block: u32, valid: u32) -> bool {
        self.sets.contains(domain as usize * self.stride + valid as usize, block)
    }
}
