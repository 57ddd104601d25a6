//! The closed blocks of every domain, sorted by their number of valid pages.

use crate::ssd::config::TieBreak;
use crate::ssd::sets::{Set, Sets};
use engine::Xoshiro256;

/// For each domain and each number of valid pages, the set of closed blocks; one bit per block and
/// number, so that following a superseded page and finding the emptiest block take constant time.
#[derive(Debug, Clone, Default)]
pub struct VictimIndex {
    /// A family for each domain, with a set for each number of valid pages.
    sets: Sets,
    data_pages: u32,
    /// For each domain, no set below this one has members.
    least: Vec<u32>,
}

impl VictimIndex {
    /// No closed blocks.
    pub fn new(domains: u32, blocks_per_domain: u32, data_pages: u32) -> Self {
        VictimIndex {
            sets: Sets::new(domains, data_pages + 1, blocks_per_domain),
            data_pages,
            least: vec![data_pages; domains as usize],
        }
    }

    /// Copies the closed blocks of some domains from the index of an identical drive.
    pub fn take_part(&mut self, other: &VictimIndex, domains: std::ops::Range<usize>) {
        self.sets.take_part(&other.sets, domains.clone());
        self.least[domains.clone()].copy_from_slice(&other.least[domains]);
    }

    /// A block was closed with `valid` valid pages.
    #[inline]
    pub fn insert(&mut self, domain: u32, block: u32, valid: u32) {
        self.sets.insert(Set { family: domain, member: valid }, block);
        let least = &mut self.least[domain as usize];
        *least = (*least).min(valid);
    }

    /// A closed block is about to be cleaned.
    pub fn remove(&mut self, domain: u32, block: u32, valid: u32) {
        self.sets.remove(Set { family: domain, member: valid }, block);
    }

    /// One of the `valid` pages of a closed block was superseded.
    #[inline]
    pub fn superseded(&mut self, domain: u32, block: u32, valid: u32) {
        self.sets.step_down(Set { family: domain, member: valid }, block);
        let least = &mut self.least[domain as usize];
        *least = (*least).min(valid - 1);
    }

    /// Begins to fetch what will change when one of the `valid` pages of a block is superseded.
    #[inline]
    pub fn prefetch(&self, domain: u32, block: u32, valid: u32) {
        self.sets.prefetch(Set { family: domain, member: valid }, block);
    }

    /// The fewest valid pages that a closed block of the domain has.
    pub fn least(&self, domain: u32) -> Option<u32> {
        let mut all = self.least[domain as usize]..=self.data_pages;
        all.find(|valid| !self.sets.is_empty(Set { family: domain, member: *valid }))
    }

    /// The last block of those that have the fewest valid pages, as far as that is known without a search.
    pub fn last_of_least(&self, domain: u32) -> Option<u32> {
        self.sets.last(Set { family: domain, member: self.least(domain)? })
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
        let set = Set { family: domain, member: self.least(domain)? };
        match tie_break {
            TieBreak::Highest => self.sets.last(set),
            TieBreak::Lowest => self.sets.first(set),
            TieBreak::Random => self.sets.draw(set, random),
        }
    }

    /// The blocks that have superseded pages: those with the fewest valid pages first, of equals the
    /// lowest number.
    pub fn emptiest_first(&self, domain: u32) -> impl Iterator<Item = u32> + '_ {
        let all = self.least[domain as usize]..self.data_pages;
        all.flat_map(move |valid| self.sets.iter(Set { family: domain, member: valid }))
    }

    /// Whether a block is listed as closed with `valid` valid pages.
    pub fn contains(&self, domain: u32, block: u32, valid: u32) -> bool {
        self.sets.contains(Set { family: domain, member: valid }, block)
    }
}
