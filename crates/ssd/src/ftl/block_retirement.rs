//! Bad blocks of superblocks: when they are erased, and when they are full.

use super::bad_blocks::{BadBlocks, BadReport, BadState};
use super::{Ftl, MoveReason};
use crate::flash::Flash;
use crate::ids::{Block, Domain, Ppn};

impl Ftl {
    fn bad_mut(&mut self) -> Option<&mut BadBlocks> {
        self.bad.as_deref_mut()
    }

    /// A page has been programmed, where that may fail. Then host data are programmed again; copies
    /// stay where they are until their block is emptied.
    #[cold]
    #[inline(never)]
    pub fn note_failure(&mut self, flash: &Flash, block: Block, ppn: Ppn) {
        let (erases, page) = (flash.erases()[block.at()], self.geometry.page_in_block(ppn));
        if self.bad_mut().is_some_and(|bad| bad.programmed(block, (page, ppn), erases)) {
            self.counters.programs_failed(1);
        }
    }

    /// A superblock has been erased: whether it is lost with a block that became bad.
    pub fn goes_bad(&mut self, flash: &Flash, domain: Domain, block: Block) -> bool {
        let erases = flash.erases()[block.at()];
        let Some(bad) = self.bad_mut() else { return false };
        let planes = bad.erased(block, erases);
        !planes.is_empty() && !bad.replaces(domain, &planes)
    }

    /// A superblock is full: if a program in it failed, its data are moved.
    #[inline]
    pub fn note_full(&mut self, flash: &Flash, block: Block) {
        if self.bad.is_none() {
            return;
        }
        let erases = flash.erases()[block.at()];
        let Some(bad) = self.bad_mut() else { return };
        let failures = bad.failures(block, erases);
        let is_to_move = bad.to_move().contains(&block.0);
        self.counters.programs_failed(failures);
        if is_to_move {
            self.mark(block, MoveReason::Failed);
        }
    }

    /// Report on bad blocks.
    pub fn bad_report(&self) -> Option<BadReport> {
        let (retired, failed) = (self.ageing.retired, self.counters.failed_programs);
        self.bad.as_deref().map(|bad| bad.report(retired, failed))
    }

    /// Saved state of bad blocks.
    pub fn keep_bad(&self) -> Option<BadState> {
        self.bad.as_deref().map(BadBlocks::keep)
    }

    /// Restores the saved state. The data of blocks with failed programs are still to be moved.
    pub fn restore_bad(&mut self, state: Option<BadState>) {
        let Some(bad) = self.bad_mut() else { return };
        if let Some(state) = state {
            bad.resume(state);
        }
        for block in bad.to_move().clone() {
            self.mark(Block(block), MoveReason::Failed);
        }
    }
}
