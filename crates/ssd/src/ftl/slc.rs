//! Blocks written by the host with one bit per cell.
//!
//! Such a block is filled group by group as any other, but of each group only the first row holds
//! data: the other rows of its word lines do not exist, and are padding to everything else. So a
//! block holds a share of its pages, one in as many as a cell has bits, and takes a whole block
//! from the free pool. Such blocks are recognised by their stream, which is in their headers.

use super::planted::Slip;
use super::slc_blocks::Slc;
use super::streams::FrontierId;
use super::{Ftl, Programming, Relocation};
use crate::device::UNKNOWN_STREAM;
use crate::flash::Flash;
use crate::ids::{Block, BlockState, Domain, Lpn};

/// Erased blocks that remain above the threshold of cleaning when the host opens another block of
/// one bit: one for its native pages, one for folded pages, and one to keep cleaning from starting.
const KEPT: u32 = 3;

impl Ftl {
    /// True if there is a cache.
    #[inline]
    pub fn has_slc(&self) -> bool {
        self.slc.is_some()
    }

    /// True if a block has one bit per cell.
    #[inline]
    pub fn is_slc(&self, block: Block) -> bool {
        let is_such = |slc: &Slc| {
            u32::from(self.blocks.stream[block.at()]) == slc.stream.0
                && self.blocks.state[block.at()] != BlockState::Free
        };
        self.slc.as_deref().is_some_and(is_such)
    }

    /// Blocks of the cache that hold data.
    pub fn slc_blocks(&self) -> u32 {
        self.slc.as_ref().map_or(0, |slc| slc.blocks)
    }

    fn slc_frontier(&self) -> FrontierId {
        self.streams.last()
    }

    /// True if the next page of the host finds a place in the cache.
    pub fn takes_slc(&self) -> bool {
        let Some(slc) = &self.slc else { return false };
        let next = self.streams.frontier[self.slc_frontier().at()].next;
        let aside = self.free.aside();
        next < self.geometry.data_pages
            || aside > 0
            || slc.dynamic > 0.0 && slc.blocks < self.most_slc_blocks(slc)
    }

    /// Blocks that the cache may have: Maximum number of cache blocks: a share of the free and own
    /// blocks; fewer the more of the drive holds data elsewhere; less as more of the drive holds
    /// other data; the drive's necessary reserve is excluded.
    fn most_slc_blocks(&self, slc: &Slc) -> u32 {
        let free = self.free.count(Domain(0));
        let fixed = slc.fixed.min(slc.blocks);
        let dynamic = slc.blocks - fixed;
        if Slip::CacheBesideTheSpare.is_planted() {
            return slc.limit.min(self.geometry.blocks()).saturating_add(fixed);
        }
        let spare = free.saturating_sub(self.geometry.low_blocks + KEPT);
        let all = f64::from(self.geometry.blocks() - slc.fixed);
        let unused = f64::from(free + dynamic);
        let pages = self.geometry.exported_pages() as f64;
        let native = (all - unused) * f64::from(self.geometry.data_pages);
        let fill = (native / pages).min(1.0);
        let left = if slc.gone_at >= 1.0 {
            1.0
        } else {
            (1.0 - fill / slc.gone_at).max(0.0) / (1.0 - fill).max(1e-9)
        };
        let share = (slc.dynamic * unused * left.min(1.0)) as u32;
        fixed + share.min(slc.limit).min(dynamic + spare)
    }

    /// Begins to program a page of the host with one bit a cell; whether it has taken a block of the free ones.
    pub fn program_slc(&mut self, domain: Domain, lpn: Lpn) -> (Programming, bool) {
        let frontier = self.slc_frontier();
        let opens = self.streams.frontier[frontier.at()].next == self.geometry.data_pages;
        let from_aside = opens && self.free.aside() > 0;
        if from_aside {
            let block = self.free.take_aside();
            self.open(frontier, block);
        }
        let programming = self.program_on(frontier, domain, lpn);
        if opens && let Some(slc) = self.slc.as_deref_mut() {
            slc.opened();
        }
        (programming, opens && !from_aside)
    }

    /// The full block of the cache that was opened first.
    fn oldest_slc(&self, domain: Domain) -> Option<Block> {
        if self.slc.as_ref().is_none_or(|slc| slc.blocks == 0) {
            return None;
        }
        self.blocks.order.iter(domain.0).map(Block).find(|block| self.is_slc(*block))
    }

    /// True if a block of the cache could be folded.
    pub fn can_fold(&self, domain: Domain) -> bool {
        self.victim[domain.at()].is_none() && self.oldest_slc(domain).is_some()
    }

    /// The block of the cache that is folded when space is short: the oldest, unless a native block has fewer valid
    /// pages.
    pub fn slc_victim(&self, domain: Domain) -> Option<Block> {
        let block = self.oldest_slc(domain)?;
        // Folding a permanent cache block would gain no space.
        let gains = self.slc.as_ref().is_some_and(|slc| slc.blocks > slc.fixed)
            && self.has_room_to_fold(domain, block);
        (gains && self.valid(block) <= self.least_valid(domain)).then_some(block)
    }

    /// The policy's victim, among blocks with space for others.
    pub fn policy_victim_but_slc(&mut self, flash: &Flash, domain: Domain) -> Option<Block> {
        let Some(slc) = self.slc.as_deref() else { return self.policy_victim(flash, domain) };
        let all_are_fixed = slc.fixed > 0 && slc.blocks <= slc.fixed;
        if !all_are_fixed && !self.tells_handles() {
            return self.policy_victim(flash, domain);
        }
        let mut hidden = Vec::new();
        let chosen = loop {
            let victim = self.policy_victim(flash, domain);
            let is_hidden = |block: &Block| {
                self.is_slc(*block) && (all_are_fixed || !self.has_room_to_fold(domain, *block))
            };
            let Some(block) = victim.filter(is_hidden) else { break victim };
            self.exclude(domain, block);
            hidden.push((block, false));
        };
        // In reverse, to restore the order of age.
        for hidden in hidden.into_iter().rev() {
            self.put_back(domain, hidden);
        }
        chosen
    }

    /// Starts folding a block of the cache, whatever room there is.
    pub fn begin_fold(&mut self, domain: Domain) -> Option<Relocation> {
        let block = self.oldest_slc(domain)?;
        Some(self.take_victim(domain, block, false))
    }

    /// True if an erased block stays a permanent cache block.
    pub fn keeps_for_slc(&self) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.blocks + self.free.aside() < slc.fixed)
    }

    /// Keeps an erased block as a permanent cache block.
    pub fn release_for_slc(&mut self, block: Block, erases: u32) {
        self.blocks.state[block.at()] = BlockState::Free;
        self.free.insert(Domain(0), block, erases);
        self.free.set_aside();
    }

    /// Reserves the permanent blocks of the cache, as far as they are empty and dispensable.
    pub fn set_aside_for_slc(&mut self) {
        while self.keeps_for_slc() && self.free.count(Domain(0)) > self.geometry.low_blocks + KEPT {
            self.set_aside();
        }
    }

    fn set_aside(&mut self) {
        self.free.set_aside();
        self.note_taken(Domain(0));
    }

    /// Restores the number of reserved blocks, if known.
    pub fn restore_aside(&mut self, kept: Option<u32>) {
        let Some(kept) = kept else { return self.set_aside_for_slc() };
        for _ in 0..kept {
            if self.keeps_for_slc() && self.free.count(Domain(0)) > 0 {
                self.set_aside();
            }
        }
    }

    /// A block has been erased.
    pub fn note_slc_erased(&mut self, block: Block) {
        if self.is_slc(block)
            && let Some(slc) = self.slc.as_deref_mut()
        {
            slc.erased();
            self.blocks.opened_for(block, UNKNOWN_STREAM);
        }
    }

    /// Counts pages moved out of a victim as folded, where it was of the cache; true if it was.
    #[inline]
    pub fn count_folded(&mut self, source: Block, pages: u64) -> bool {
        let folds = self.slc.is_some() && self.is_slc(source);
        if folds {
            if Slip::FoldsAreTheHosts.is_planted() {
                self.counters.host_programs += pages;
                self.counters.host_bytes += pages * u64::from(self.geometry.sectors_per_page) * 512;
                self.counters.moves -= pages;
                return true;
            }
            self.counters.folded(pages);
        }
        folds
    }

    /// Collects the blocks of the cache from their headers.
    pub fn find_slc(&mut self, flash: &Flash, streams: &[u8]) {
        let Some(stream) = self.slc.as_ref().map(|slc| slc.stream) else { return };
        let mut count = 0;
        for block in (0..self.geometry.blocks()).map(Block) {
            let is_such = u32::from(streams[block.at()]) == stream.0 && flash.programmed(block) > 0;
            let now = u32::from(self.blocks.stream[block.at()]);
            if is_such {
                self.blocks.opened_for(block, stream.0 as u8);
            } else if now == stream.0 || !self.tells_handles() {
                self.blocks.opened_for(block, UNKNOWN_STREAM);
            }
            count += u32::from(is_such);
        }
        if let Some(slc) = self.slc.as_deref_mut() {
            slc.found(count);
        }
        self.forget_aside();
        self.set_aside_for_slc();
    }

    /// Folds the whole cache untimed: the state of a drive at rest.
    pub fn fold_all(&mut self, flash: &mut Flash) {
        if self.slc_blocks() == 0 {
            return;
        }
        let domain = Domain(0);
        let frontier = self.slc_frontier();
        while self.streams.frontier[frontier.at()].next < self.geometry.data_pages {
            let programming = self.pad_slc(domain);
            self.complete_program(flash, programming);
        }
        while let Some(job) = self.begin_fold(domain) {
            self.clean_untimed(flash, job);
        }
    }
}
