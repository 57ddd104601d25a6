//! The end of blocks, and of the drive.

use super::Ftl;
use super::ageing::Ageing;
use super::placement::Reserve;
use crate::account::Counters;
use crate::flash::Flash;
use crate::ids::{Block, BlockState, Domain};

impl Ftl {
    /// A block has been erased that has no life left, for the first time if `first`: retires it, unless
    /// its domain needs it once more to clean into.
    ///
    /// Spare space is lost when a block expires, not when it is retired: under load a domain may need
    /// its expired blocks again and again, and the drive would never end.
    pub(super) fn expire(&mut self, flash: &mut Flash, domain: Domain, block: Block, first: bool) {
        if first {
            self.lose_spare(domain);
        }
        // Timed groups are padded besides the moves.
        let needed = self.geometry.data_pages + self.geometry.kept_for_padding;
        if self.room_for_moves(domain) < u64::from(needed) {
            self.release(domain, block, flash.erases()[block.at()]);
            return;
        }
        self.retire(flash, domain, block);
    }

    /// Retires a block.
    fn retire(&mut self, flash: &mut Flash, domain: Domain, block: Block) {
        self.blocks.state[block.at()] = BlockState::Retired;
        flash.retire(block);
        self.ageing.retired += 1;
        if self.placement.counts_reclaimable {
            self.placement.reclaimable[self.geometry.unit_of(domain).at()] -=
                u64::from(self.geometry.data_pages);
        }
    }

    /// A block is bad from the factory, and never used.
    pub fn leave_out(&mut self, flash: &mut Flash, domain: Domain, block: Block) {
        self.retire(flash, domain, block);
        self.ageing.leave_out(self.geometry.domain_pool[domain.at()]);
    }

    /// Reduces the spare blocks of a pool by one; the drive ends when it could lose none.
    fn lose_spare(&mut self, domain: Domain) {
        let written = self.ageing.bytes_before + self.counters.host_bytes;
        self.ageing.first_expiry.get_or_insert(written);
        match &mut self.ageing.spare[self.geometry.domain_pool[domain.at()].at()] {
            0 => {
                self.ageing.end.get_or_insert(written);
                self.reserve = Reserve::Everything;
            }
            spare => *spare -= 1,
        }
    }

    /// Erases a block whose erasure, or whose first program, was cut.
    pub(crate) fn erase_after_cut(&mut self, flash: &mut Flash, block: Block) {
        let domain = self.geometry.domain_of(block);
        let had_life = flash.life(block) > 0;
        if had_life {
            self.ageing.erased(domain);
        }
        flash.erase(block);
        self.counters.erases += 1;
        if had_life && flash.life(block) == 0 {
            self.lose_spare(domain);
        }
    }

    /// The drive rejects writes despite free space, for instance because a domain without an erased
    /// block cannot move pages.
    pub(crate) fn end_without_room(&mut self) {
        let written = self.ageing.bytes_before + self.counters.host_bytes;
        self.ageing.end.get_or_insert(written);
        self.reserve = Reserve::Everything;
    }

    /// Stops writes and cleaning for now, or resumes.
    pub(crate) fn hold(&mut self, holds: bool) {
        self.reserve = match self.ageing.end {
            None if !holds => Reserve::Pages(self.geometry.reserved_pages()),
            _ => Reserve::Everything,
        };
    }

    /// True if a pool has no spare space left: the drive rejects writes.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.reserve == Reserve::Everything
    }

    /// True if some pool has lost half of its spare blocks, or at end of life.
    pub fn is_worn(&self) -> bool {
        let losable = self.geometry.losable_blocks();
        self.has_ended() || self.ageing.spare.iter().any(|spare| *spare <= losable / 2)
    }

    /// Wear so far.
    pub(crate) fn ageing(&self) -> &Ageing {
        &self.ageing
    }

    /// Starts the measurement of the load's wear.
    pub(crate) fn begin_load(&mut self, flash: &Flash) {
        self.ageing.erases_before_load = flash.erases().to_vec();
        self.forget_map();
    }

    /// Resets the counters, but not the wear.
    pub fn reset_counters(&mut self, flash: &Flash) {
        self.ageing.bytes_before += self.counters.host_bytes;
        self.ageing.erases_before = flash.erases().to_vec();
        self.counters = Counters::default();
        if let Some(logs) = &mut self.logs {
            logs.forget_copied();
        }
        self.reset_handles();
    }
}
