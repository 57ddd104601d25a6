//! Blocks moved to preserve their data: old blocks, blocks read often, and blocks with a failed
//! program.

use super::refresh_queue::{MoveReason, RefreshQueue};
use super::{Ftl, Reason, Relocation};
use crate::flash::Flash;
use crate::ids::{Block, BlockState, Domain, Unit};

impl Ftl {
    fn refresh_queue_mut(&mut self) -> Option<&mut RefreshQueue> {
        self.refresh_queue.as_deref_mut()
    }

    /// True if data are refreshed or reclaimed.
    #[inline]
    pub fn cares(&self) -> bool {
        self.refresh_queue.is_some()
    }

    /// True for a full, inactive block.
    pub fn is_closed(&self, block: Block) -> bool {
        self.blocks.state[block.at()] == BlockState::Closed
    }

    /// The data of a block are to be moved.
    pub fn mark(&mut self, block: Block, reason: MoveReason) {
        if self.is_closed(block)
            && let Some(refresh_queue) = self.refresh_queue_mut()
        {
            refresh_queue.set_due(block, Some(reason));
        }
    }

    /// The host has read a page of the flash in this block; whether it is to be moved therefore.
    #[inline]
    pub fn note_read_in(&mut self, block: Block) -> bool {
        let is_worn_out =
            self.refresh_queue_mut().is_some_and(|refresh_queue| refresh_queue.count_read(block));
        if is_worn_out {
            self.mark(block, MoveReason::Reclaim);
        }
        is_worn_out
    }

    /// The next block of a domain that is to be moved.
    fn next_due(&self, domain: Domain) -> Option<(Block, MoveReason)> {
        let refresh_queue = self.refresh_queue.as_deref()?;
        let first = self.geometry.first_block(domain).0;
        refresh_queue.next_due(first..first + self.geometry.blocks_per_domain)
    }

    /// True with room for a refresh.
    pub fn may_refresh(&self, domain: Domain) -> bool {
        self.victim[domain.at()].is_none()
            && self.next_due(domain).is_some()
            && self.free.count(domain) > self.geometry.low_blocks
            && !self.has_ended()
    }

    /// Starts moving the data of an overdue block.
    pub fn begin_refresh(&mut self, domain: Domain) -> Option<Relocation> {
        loop {
            let (block, reason) = self.next_due(domain)?;
            if !self.is_closed(block) {
                // The block was cleaned meanwhile.
                self.refresh_queue_mut()?.set_due(block, None);
                continue;
            }
            self.refresh_queue_mut()?.begin(block, reason);
            let job = self.take_victim(domain, block, false);
            let reason = if job.reason == Reason::Fold { Reason::Fold } else { Reason::Refresh };
            return Some(Relocation { reason, ..job });
        }
    }

    /// A domain of a unit with a block that is to be moved, and with room for that.
    pub fn due_on(&self, unit: Unit) -> Option<Domain> {
        self.refresh_queue.as_ref()?;
        let first = unit.0 * self.geometry.domains_per_unit;
        let mut domains = (first..first + self.geometry.domains_per_unit).map(Domain);
        domains.find(|domain| self.may_refresh(*domain))
    }

    /// Counts pages moved out of a block by purpose, of which each page has one: a block of the cache is folded, also
    /// where it is moved because a program in it failed or its data are old.
    #[inline]
    pub fn count_moved(&mut self, source: Block, pages: u64) {
        if !self.count_folded(source, pages)
            && let Some(refresh_queue) = &self.refresh_queue
            && refresh_queue.moves(source)
        {
            self.counters.refreshes += pages;
        }
    }

    /// A block has been erased.
    pub fn note_cared(&mut self, block: Block) {
        match self.refresh_queue_mut().and_then(|refresh_queue| refresh_queue.erased(block)) {
            Some(MoveReason::Refresh) => self.counters.cared(true),
            Some(MoveReason::Reclaim) => self.counters.cared(false),
            Some(MoveReason::Failed) | None => {}
        }
    }

    /// Drops the memory of the controller.
    pub fn forget_care(&mut self) {
        if let Some(refresh_queue) = self.refresh_queue_mut() {
            refresh_queue.forget();
        }
    }

    /// Moves all overdue blocks untimed, as far as there is room.
    pub fn refresh_untimed(&mut self, flash: &mut Flash) {
        for domain in (0..self.geometry.domains).map(Domain) {
            while self.next_due(domain).is_some() && !self.has_ended() {
                self.finish_victim(flash, domain);
                if self.victim[domain.at()].is_some() {
                    // It is emptied in time.
                    break;
                }
                if self.may_refresh(domain) {
                    let Some(job) = self.begin_refresh(domain) else { break };
                    self.empty_at_once(flash, job);
                    continue;
                }
                let most = self.geometry.low_blocks + 1;
                let unit = self.geometry.unit_of(domain);
                let Some(job) = self.begin_cleaning_below(flash, unit, most) else {
                    break;
                };
                self.empty_at_once(flash, job);
            }
        }
    }
}
