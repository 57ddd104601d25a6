//! What the FTL knows of every block, and the lists that it is in.

use super::Ftl;
use super::streams::{Frontier, FrontierId};
use crate::ssd::clean::{AgeOrder, VictimIndex};
use crate::ssd::ids::{Block, BlockState, Domain, Unit};
use crate::ssd::shape::Geometry;

/// Every block: its use, its valid pages, its age; and the closed ones in order.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    /// Valid pages of each block, counting those still being programmed.
    pub(super) valid: Vec<u16>,
    pub(super) state: Vec<BlockState>,
    /// Ascending number of each block's opening; 0 when erased. The flash has it from the block's
    /// first page on.
    pub(super) sequence: Vec<u64>,
    /// Blocks opened so far.
    pub(super) opened: u64,
    /// The closed blocks of each domain by valid pages, and by age.
    pub(super) index: VictimIndex,
    pub(super) order: AgeOrder,
    /// Of each block, by how much the data moved into it is older than the block, summed over its
    /// pages; empty when no rule asks for it.
    pub(super) moved_age: Vec<u64>,
}

impl Blocks {
    /// All free.
    pub(super) fn new(geometry: &Geometry, keeps_moved_age: bool) -> Blocks {
        let blocks = geometry.blocks() as usize;
        let Geometry { domains, blocks_per_domain, data_pages, .. } = *geometry;
        Blocks {
            valid: vec![0; blocks],
            state: vec![BlockState::Free; blocks],
            sequence: vec![0; blocks],
            opened: 0,
            index: VictimIndex::new(domains, blocks_per_domain, data_pages),
            order: AgeOrder::new(domains, geometry.blocks()),
            moved_age: vec![0; if keeps_moved_age { blocks } else { 0 }],
        }
    }
}

/// How many domains of each unit have few erased blocks.
#[derive(Debug, Clone)]
pub(super) struct LowMarks {
    /// Domains of each unit at or below the cleaning threshold.
    pub(super) low_domains: Vec<u32>,
    /// Domains of each unit at or below the threshold of background cleaning.
    pub(super) idle_domains: Vec<u32>,
    /// The domain of each unit at which the next search for a low one begins.
    pub(super) clean_pointer: Vec<u32>,
}

impl LowMarks {
    /// No block is erased.
    pub(super) fn new(geometry: &Geometry) -> LowMarks {
        let all = vec![geometry.domains_per_unit; geometry.units as usize];
        let clean_pointer = vec![0; geometry.units as usize];
        LowMarks { low_domains: all.clone(), idle_domains: all, clean_pointer }
    }
}

impl Ftl {
    /// Whether some domain of a unit is at or below the cleaning threshold.
    #[inline]
    pub fn needs_cleaning(&self, unit: Unit) -> bool {
        self.marks.low_domains[unit.at()] > 0
    }

    /// Whether some domain of a unit has fewer erased blocks than idle time should leave it with.
    #[inline]
    pub fn can_use_idle_time(&self, unit: Unit) -> bool {
        self.marks.idle_domains[unit.at()] > 0
    }

    /// Whether [`begin_cleaning`](Ftl::begin_cleaning) would find a victim in a unit.
    pub fn can_clean(&self, unit: Unit) -> bool {
        let first = unit.0 * self.geometry.domains_per_unit;
        let domains = (first..first + self.geometry.domains_per_unit).map(Domain);
        let mut low = domains.filter(|domain| self.is_low(*domain));
        self.needs_cleaning(unit)
            && low.any(|domain| self.least_valid(domain) < self.geometry.data_pages)
    }

    #[inline]
    fn is_low(&self, domain: Domain) -> bool {
        self.free.count(domain) <= self.geometry.low_blocks
    }

    /// Valid pages of the emptiest closed block of a domain; more than a block has when none is
    /// closed. Every policy finds a victim when this is less than a block's data pages.
    pub(super) fn least_valid(&self, domain: Domain) -> u32 {
        self.blocks.index.least(domain.0).unwrap_or(u32::MAX)
    }

    pub(super) fn open(&mut self, frontier: FrontierId, block: Block) {
        self.blocks.opened += 1;
        self.blocks.sequence[block.at()] = self.blocks.opened;
        self.blocks.state[block.at()] = BlockState::Open;
        if let Some(age) = self.blocks.moved_age.get_mut(block.at()) {
            *age = 0;
        }
        self.streams.frontier[frontier.0 as usize] = Frontier { block: Some(block), next: 0 };
    }

    pub(super) fn take_free(&mut self, domain: Domain) -> Block {
        let block = self.free.take(domain);
        let (count, unit) = (self.free.count(domain), self.geometry.unit_of(domain));
        self.marks.low_domains[unit.at()] += u32::from(count == self.geometry.low_blocks);
        self.marks.idle_domains[unit.at()] += u32::from(count == self.geometry.idle_blocks);
        block
    }

    pub(super) fn release(&mut self, domain: Domain, block: Block, erases: u32) {
        self.blocks.state[block.at()] = BlockState::Free;
        self.free.insert(domain, block, erases);
        let (count, unit) = (self.free.count(domain), self.geometry.unit_of(domain));
        self.marks.low_domains[unit.at()] -= u32::from(count == self.geometry.low_blocks + 1);
        self.marks.idle_domains[unit.at()] -= u32::from(count == self.geometry.idle_blocks + 1);
    }

    /// What a block is being used for.
    pub fn state(&self, block: Block) -> BlockState {
        self.blocks.state[block.at()]
    }

    /// Whether a block is worn out and no longer used.
    pub(in crate::ssd) fn is_retired(&self, block: Block) -> bool {
        self.blocks.state[block.at()] == BlockState::Retired
    }

    /// Valid pages of a block.
    pub fn valid(&self, block: Block) -> u32 {
        u32::from(self.blocks.valid[block.at()])
    }

    /// Free blocks of a domain.
    pub fn free_blocks(&self, domain: Domain) -> u32 {
        self.free.count(domain)
    }

    /// The blocks that the free list of a domain names; slow, for audits.
    pub(in crate::ssd) fn free_list(&self, domain: Domain) -> Vec<u32> {
        self.free.list(domain).0
    }

    pub(in crate::ssd) fn is_indexed(&self, domain: Domain, block: Block) -> bool {
        let relative = block.0 - self.geometry.first_block(domain).0;
        self.blocks.index.contains(domain.0, relative, self.valid(block))
    }
}
