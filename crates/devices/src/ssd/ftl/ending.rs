//! The end of blocks, and of the drive.

use super::super::geometry::{Block, Domain};
use super::super::nand::Flash;
use super::super::wear::Ageing;
use super::{BlockState, Counters, Ftl};

impl Ftl {
    /// An erased block is worn out: retires it, unless its domain needs it once more to clean into.
    pub(super) fn expire(&mut self, flash: &mut Flash, domain: Domain, block: Block) {
        let written = self.ageing.pages_before + self.counters.host_pages;
        self.ageing.first_expiry.get_or_insert(written);
        let pool = self.geometry.domain_pool[domain.at()];
        if self.room(domain) < self.geometry.data_pages {
            self.release(domain, block, flash.erases()[block.at()]);
            return;
        }
        self.state[block.at()] = BlockState::Retired;
        flash.retire(block);
        self.ageing.retired += 1;
        match &mut self.ageing.spare[pool.at()] {
            0 => {
                self.ageing.end.get_or_insert(written);
                self.reserve = u32::MAX;
            }
            spare => *spare -= 1,
        }
    }

    /// Whether the spare space of some pool is gone: the drive takes no more writes.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.reserve == u32::MAX
    }

    /// What wear has done so far.
    pub(in super::super) fn ageing(&self) -> &Ageing {
        &self.ageing
    }

    /// Counts from zero; what wear has done stays.
    pub fn reset_counters(&mut self, flash: &Flash) {
        self.ageing.pages_before += self.counters.host_pages;
        self.ageing.erases_before = flash.erases().to_vec();
        self.counters = Counters::default();
    }
}
