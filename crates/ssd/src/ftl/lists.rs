//! The lists that blocks are in: erased, open, closed; erased, open and closed blocks, and the need
//! for cleaning.

use super::Ftl;
use super::streams::{Frontier, FrontierId};
use crate::ids::{Block, BlockState, Domain, Unit};

impl Ftl {
    /// True if some domain of a unit is at or below the cleaning threshold.
    #[inline]
    pub fn needs_cleaning(&self, unit: Unit) -> bool {
        self.marks.low_domains[unit.at()] > 0 || self.has_log_job(unit)
    }

    /// True if every domain of a unit has more than half of the blocks that cleaning keeps erased.
    pub fn can_put_off_cleaning(&self, unit: Unit) -> bool {
        let domains = self.geometry.domains_per_unit;
        let first = unit.0 * domains;
        (first..first + domains)
            .all(|it| self.free.count(Domain(it)) > self.geometry.low_blocks / 2)
    }

    /// True if some domain of a unit has fewer erased blocks than idle time should leave it with.
    #[inline]
    pub fn can_use_idle_time(&self, unit: Unit) -> bool {
        self.marks.idle_domains[unit.at()] > 0
    }

    /// True if [`begin_cleaning`](Ftl::begin_cleaning) would find a victim in a unit.
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

    /// Valid pages of the emptiest closed block of a domain, if one is closed.
    pub(crate) fn least_valid_of(&self, domain: u32) -> Option<u32> {
        self.blocks.index.least(domain)
    }

    pub(super) fn open(&mut self, frontier: FrontierId, block: Block) {
        self.blocks.opened += 1;
        self.blocks.sequence[block.at()] = self.blocks.opened;
        self.blocks.state[block.at()] = BlockState::Open;
        let count = self.streams.count;
        let is_cold = frontier.0 >= self.geometry.domains * count;
        // After the streams of all domains come those of cold data, then that of the SLC cache.
        let stream = if is_cold { frontier.0 / self.geometry.domains } else { frontier.0 % count };
        self.blocks.opened_for(block, stream as u8);
        self.count_opened(block, stream as u8);
        if let Some(age) = self.blocks.moved_age.get_mut(block.at()) {
            *age = 0;
        }
        self.streams.frontier[frontier.0 as usize] = Frontier { block: Some(block), next: 0 };
        self.note_opening(block);
    }

    pub(super) fn take_free(&mut self, domain: Domain) -> Block {
        let block = self.free.take(domain);
        self.note_taken(domain);
        block
    }

    /// Counts a free block less in a domain: it may be low now.
    pub fn note_taken(&mut self, domain: Domain) {
        let count = self.free.count(domain);
        self.note_free(domain, count + 1);
    }

    /// Notes the former number of free blocks of a domain.
    fn note_free(&mut self, domain: Domain, before: u32) {
        let counts = (before, self.free.count(domain));
        self.marks.note(self.geometry.unit_of(domain), counts, &self.geometry);
    }

    /// Cancels the reservations for the SLC cache: the only domain has those blocks.
    pub fn forget_aside(&mut self) {
        let before = self.free.count(Domain(0));
        self.free.forget_aside();
        self.note_free(Domain(0), before);
    }

    pub(super) fn release(&mut self, domain: Domain, block: Block, erases: u32) {
        self.blocks.state[block.at()] = BlockState::Free;
        self.free.insert(domain, block, erases);
        let count = self.free.count(domain);
        self.note_free(domain, count - 1);
    }

    /// Checks the units' counts of low domains.
    ///
    /// # Errors
    /// Our mistake.
    pub fn check_marks(&self) -> Result<(), String> {
        let domains = self.geometry.domains_per_unit;
        for unit in 0..self.geometry.units {
            let of_unit = (unit * domains..(unit + 1) * domains).map(Domain);
            let count = |most: u32| {
                of_unit.clone().filter(|it| self.free.count(*it) <= most).count() as u32
            };
            let known = [&self.marks.low_domains, &self.marks.idle_domains];
            let known = known.map(|marks| marks[unit as usize]);
            let counted = [self.geometry.low_blocks, self.geometry.idle_blocks].map(count);
            if known != counted {
                return Err(format!(
                    "of unit {unit} {counted:?} domains are low, and {known:?} are known to be"
                ));
            }
        }
        Ok(())
    }

    /// Use of a block.
    pub fn state(&self, block: Block) -> BlockState {
        self.blocks.state[block.at()]
    }

    /// True if a block is worn out and no longer used.
    pub(crate) fn is_retired(&self, block: Block) -> bool {
        self.blocks.state[block.at()] == BlockState::Retired
    }

    /// Valid pages of a block.
    pub fn valid(&self, block: Block) -> u32 {
        self.blocks.valid[block.at()]
    }

    /// Stream of a block's opening, if known.
    pub(crate) fn stream(&self, block: Block) -> u8 {
        self.blocks.stream[block.at()]
    }

    /// The blocks that the next pages of the streams are written to.
    pub(crate) fn frontiers(&self) -> impl Iterator<Item = Block> + '_ {
        let has_room = |it: &&Frontier| it.next < self.geometry.data_pages;
        self.streams.frontier.iter().filter(has_room).filter_map(|it| it.block)
    }

    /// Free blocks of a domain.
    pub fn free_blocks(&self, domain: Domain) -> u32 {
        self.free.count(domain)
    }

    /// Free blocks of a domain, including those reserved for the SLC cache.
    pub fn erased_blocks(&self, domain: Domain) -> u32 {
        self.free.count(domain) + self.free.aside()
    }

    /// The blocks that the free list of a domain names; slow, for audits.
    pub(crate) fn free_list(&self, domain: Domain) -> Vec<u32> {
        self.free.list(domain).0
    }

    pub(crate) fn is_indexed(&self, domain: Domain, block: Block) -> bool {
        let relative = block.0 - self.geometry.first_block(domain).0;
        self.blocks.index.contains(domain.0, relative, self.valid(block))
    }
}
