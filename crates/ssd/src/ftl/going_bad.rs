//! Bad blocks of superblocks: when they are erased, and when they are full.

use super::bad_blocks::{BadBlocks, BadReport, BadState};
use super::{Care, Ftl};
use crate::flash::Flash;
use crate::ids::{Block, Domain};

impl Ftl {
    fn bad_mut(&mut self) -> Option<&mut BadBlocks> {
        self.bad.as_deref_mut()
    }

    /// True if the factory's bad blocks take a superblock of a domain: the last ones.
    pub fn is_bad_from_factory(&self, domain: Domain, relative: u32) -> bool {
        let lost = self.bad.as_deref().map_or(0, |bad| bad.lost(domain));
        relative >= self.geometry.blocks_per_domain - lost
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
        let failures = self.bad_mut().map_or(0, |bad| bad.failures(block, erases));
        if failures > 0 {
            self.counters.programs_failed(failures);
            self.mark(block, Care::Failed);
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

    /// Restores the saved state.
    pub fn restore_bad(&mut self, state: Option<BadState>) {
        if let Some((bad, state)) = self.bad_mut().zip(state) {
            bad.resume(state);
        }
    }
}
