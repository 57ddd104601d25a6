//! Log blocks: writes gather in erased blocks before the block that they belong to is rewritten.
//!
//! A *logical block* is as many consecutive logical pages of a pool as a block has. At rest each
//! lies in one block, every page in its place, so that a controller needs a map of blocks and one
//! of the pages in its log blocks; here the map of pages knows both. A log block is a frontier, its
//! *slot* ([`logs`](super::logs)). It becomes the block itself when the host has written all its
//! pages in order (*switch*), or when the rest is copied behind them (*partial*); else the newest
//! pages are copied to another erased block (*full*). Blocks without valid pages are erased at
//! once.
//!
//! A pool is one domain of one unit here, so no operation is in progress at a decision. The content
//! of a slot follows from the flash: nothing of this is kept in a saved state.

use super::logs::{Logs, SEQUENTIAL, Slot};
use super::moving::Merge;
use super::streams::{Frontier, FrontierId};
use super::{Ftl, Programming, Reason, Relocation, Step};
use crate::config::LogScheme;
use crate::flash::Flash;
use crate::ids::{Block, Domain, Lpn, Stream, Unit};

/// Work before a page can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// No preparation: this slot takes it.
    Append(u32),
    /// A merge first.
    Merge(Merge),
    /// The pages of this log block are merged, one logical block after the other.
    Empty(Block),
    /// Wait for the merge of its logical block, or for erased blocks.
    Wait,
}

impl Ftl {
    /// True if writes gather in log blocks.
    #[inline]
    pub fn keeps_logs(&self) -> bool {
        self.logs.is_some()
    }

    /// The frontier that whole merges fill.
    pub(super) fn merge_frontier(&self, domain: Domain) -> FrontierId {
        let slots = self.logs.as_ref().map_or(0, |logs| logs.count);
        self.streams.of(domain, Stream(slots))
    }

    /// Logical block of a page, and its place there.
    fn home(&self, lpn: Lpn) -> (u32, u32) {
        let (index, pages) =
            (self.geometry.index_in_pool(lpn), u64::from(self.geometry.data_pages));
        ((index / pages) as u32, (index % pages) as u32)
    }

    fn domains_of(&self, unit: Unit) -> impl Iterator<Item = Domain> + use<> {
        let domains = self.geometry.domains_per_unit;
        (unit.0 * domains..(unit.0 + 1) * domains).map(Domain)
    }

    /// True if a unit has a merge or an erasure.
    #[inline]
    pub fn has_log_job(&self, unit: Unit) -> bool {
        let Some(logs) = &self.logs else { return false };
        let is_due = |it: Domain| logs.wanted(it).is_some() || self.least_valid(it) == 0;
        self.domains_of(unit).any(is_due)
    }

    // ---- the host writes -------------------------------------------------------------------------

    /// True if a page can be written now; if not, it is wanted.
    pub fn accepts_in_log(&mut self, domain: Domain, lpn: Lpn) -> bool {
        if self.has_ended() {
            return false;
        }
        let accepts = matches!(self.plan(domain, lpn), Plan::Append(_));
        self.logs_mut().want(domain, (!accepts).then_some(lpn));
        accepts
    }

    /// Work before a page can be written.
    fn plan(&self, domain: Domain, lpn: Lpn) -> Plan {
        let logs = self.logs.as_ref().expect("it has log blocks");
        let (logical, place) = self.home(lpn);
        if logs.merging(domain) == Some(logical) {
            return Plan::Wait;
        }
        match logs.scheme {
            LogScheme::None => unreachable!("such a drive has no log blocks"),
            LogScheme::Bast => self.plan_bast(logs, domain, logical),
            LogScheme::Replacement => self.plan_replacement(logs, domain, (logical, place)),
            LogScheme::Fast => self.plan_fast(logs, domain, (logical, place)),
        }
    }

    fn plan_bast(&self, logs: &Logs, domain: Domain, logical: u32) -> Plan {
        if let Some(slot) = logs.of(domain, logical) {
            return match self.next_in(domain, slot) {
                next if next < self.geometry.data_pages => Plan::Append(slot),
                _ => self.merge_whole(logs, logical),
            };
        }
        match logs.free_from(domain, 0) {
            Some(slot) => self.open_slot(domain, Plan::Append(slot)),
            None => self.give_up_oldest(logs, domain),
        }
    }

    fn plan_replacement(&self, logs: &Logs, domain: Domain, (logical, place): (u32, u32)) -> Plan {
        let copy = |slot, until| Plan::Merge(Merge { logical, slot, until });
        if let Some(slot) = logs.of(domain, logical) {
            return match self.next_in(domain, slot) {
                next if place == next => Plan::Append(slot),
                next if place > next => copy(slot, place),
                _ => copy(slot, self.geometry.data_pages),
            };
        }
        match logs.free_from(domain, 0) {
            Some(slot) if place == 0 => self.open_slot(domain, Plan::Append(slot)),
            Some(slot) => self.open_slot(domain, copy(slot, place)),
            None => self.give_up_oldest(logs, domain),
        }
    }

    fn plan_fast(&self, logs: &Logs, domain: Domain, (logical, place): (u32, u32)) -> Plan {
        let sequential = logs.slot(domain, SEQUENTIAL).and_then(|it| it.owner);
        if place == 0 {
            return match sequential {
                None => self.open_slot(domain, Plan::Append(SEQUENTIAL)),
                Some(other) => self.fill_up(other, SEQUENTIAL),
            };
        }
        if sequential == Some(logical) && self.next_in(domain, SEQUENTIAL) == place {
            return Plan::Append(SEQUENTIAL);
        }
        let shared = SEQUENTIAL + 1..logs.count;
        let has_room = |slot: &u32| {
            logs.slot(domain, *slot).is_some()
                && self.next_in(domain, *slot) < self.geometry.data_pages
        };
        if let Some(slot) = shared.clone().find(has_room) {
            return Plan::Append(slot);
        }
        if let Some(slot) = logs.free_from(domain, SEQUENTIAL + 1) {
            return self.open_slot(domain, Plan::Append(slot));
        }
        let oldest = shared.min_by_key(|slot| self.opening_of(domain, *slot));
        let block = oldest.and_then(|slot| self.block_in(domain, slot));
        block.map_or(Plan::Wait, Plan::Empty)
    }

    /// A plan that opens a block, if one is free besides the reserve for merges and power cuts.
    fn open_slot(&self, domain: Domain, plan: Plan) -> Plan {
        let kept = self.geometry.reserved_pages() / self.geometry.data_pages;
        if self.free.count(domain) > kept { plan } else { Plan::Wait }
    }

    /// With all slots in use, the oldest one is merged.
    fn give_up_oldest(&self, logs: &Logs, domain: Domain) -> Plan {
        let oldest = (0..logs.count).min_by_key(|slot| self.opening_of(domain, *slot));
        let slot = oldest.expect("there is a log block");
        let Slot { owner, in_order } = logs.slot(domain, slot).expect("all are taken");
        let owner = owner.expect("each is of one logical block");
        if in_order { self.fill_up(owner, slot) } else { self.merge_whole(logs, owner) }
    }

    /// The rest of a logical block is copied behind its pages in a slot.
    fn fill_up(&self, logical: u32, slot: u32) -> Plan {
        Plan::Merge(Merge { logical, slot, until: self.geometry.data_pages })
    }

    /// A logical block is copied to an erased block.
    fn merge_whole(&self, logs: &Logs, logical: u32) -> Plan {
        self.fill_up(logical, logs.count)
    }

    fn frontier_in(&self, domain: Domain, slot: u32) -> Frontier {
        self.streams.frontier[self.streams.of(domain, Stream(slot)).at()]
    }

    fn block_in(&self, domain: Domain, slot: u32) -> Option<Block> {
        self.frontier_in(domain, slot).block
    }

    /// The next page of a slot; behind the last where it is full.
    fn next_in(&self, domain: Domain, slot: u32) -> u32 {
        match self.frontier_in(domain, slot) {
            Frontier { block: Some(_), next } => next,
            // The first copy opens the block.
            Frontier { block: None, .. } => 0,
        }
    }

    fn opening_of(&self, domain: Domain, slot: u32) -> u64 {
        self.block_in(domain, slot).map_or(0, |block| self.blocks.sequence[block.at()])
    }

    /// Starts programming a page in the slot that accepts it.
    pub fn append_to_log(&mut self, domain: Domain, lpn: Lpn) -> Programming {
        let Plan::Append(slot) = self.plan(domain, lpn) else {
            unreachable!("it was asked for before")
        };
        let (logical, place) = self.home(lpn);
        let position = self.next_in(domain, slot);
        let programming = self.program_on(self.streams.of(domain, Stream(slot)), domain, lpn);
        let logs = self.logs_mut();
        let is_shared = logs.scheme == LogScheme::Fast && slot > SEQUENTIAL;
        let owner = (!is_shared).then_some(logical);
        logs.take(domain, slot, owner);
        let is_whole = logs.came(domain, slot, place == position);
        if is_whole && position + 1 == self.geometry.data_pages {
            self.counters.switch_merges += 1;
            self.vacate(domain, slot);
        }
        programming
    }

    // ---- merges and erasures ---------------------------------------------------------------------

    /// Next job of a unit for its log blocks: an erase of an empty one, or a merge for the page
    /// that waits.
    pub fn begin_log_job(&mut self, flash: &Flash, unit: Unit) -> Option<Relocation> {
        for domain in self.domains_of(unit) {
            if self.least_valid(domain) == 0
                && let Some(victim) = self.policy_victim(flash, domain)
            {
                if let Some(slot) = self.slot_of(domain, victim) {
                    self.vacate(domain, slot);
                }
                let mut job = self.take_victim(domain, victim, false);
                let pages = self.geometry.data_pages;
                job.note_moved(self.logs_mut().take_copied(pages));
                return Some(job);
            }
            let Some(lpn) = self.logs.as_ref()?.wanted(domain) else { continue };
            let merge = match self.plan(domain, lpn) {
                Plan::Append(_) => None,
                Plan::Merge(merge) => Some(merge),
                Plan::Empty(block) => self.merge_of_first(flash, domain, block),
                Plan::Wait => self.gather_what_is_apart(flash, domain),
            };
            self.logs_mut().want(domain, None);
            if let Some(merge) = merge {
                return Some(self.begin_merge(domain, merge));
            }
        }
        None
    }

    fn begin_merge(&mut self, domain: Domain, merge: Merge) -> Relocation {
        let logs = self.logs_mut();
        let is_whole = merge.slot == logs.count;
        logs.set_merging(domain, Some(merge.logical));
        if !is_whole {
            logs.take(domain, merge.slot, Some(merge.logical));
        }
        let next_page = if is_whole { 0 } else { self.next_in(domain, merge.slot) };
        let source = self.geometry.first_block(domain);
        Relocation { domain, source, reason: Reason::Merge(merge), next_page, moved: 0 }
    }

    /// The next copy of a merge. A page that was never written is copied as padding.
    pub fn merge_step(&mut self, flash: &mut Flash, job: &mut Relocation, merge: Merge) -> Step {
        let domain = job.domain;
        let frontier = self.streams.of(domain, Stream(merge.slot));
        let is_whole = frontier == self.merge_frontier(domain);
        if is_whole && job.next_page == 0 {
            // A block written anew after a power cut, or a part of the initial data, closes early.
            self.close_early(flash, domain, frontier);
        }
        if job.next_page == merge.until {
            self.end_merge(flash, job, merge, is_whole);
            return Step::Over;
        }
        let pages = u64::from(self.geometry.data_pages);
        let index = u64::from(merge.logical) * pages + u64::from(job.take_next());
        let lpn = self.geometry.lpn_in_pool(self.geometry.domain_pool[domain.at()], index);
        if self.lookup(lpn).is_none() {
            return Step::Move(self.pad_on(frontier, domain));
        }
        job.note_moved(1);
        Step::Move(self.program_on(frontier, domain, lpn))
    }

    fn end_merge(&mut self, flash: &mut Flash, job: &Relocation, merge: Merge, is_whole: bool) {
        let domain = job.domain;
        let logs = self.logs_mut();
        logs.note_copied(job.moved);
        logs.set_merging(domain, None);
        let owned = logs.of(domain, merge.logical);
        if is_whole {
            self.counters.full_merges += 1;
            if let Some(slot) = owned {
                let frontier = self.streams.of(domain, Stream(slot));
                self.close_early(flash, domain, frontier);
                self.vacate(domain, slot);
            }
        } else if merge.until == self.geometry.data_pages {
            self.counters.partial_merges += 1;
            self.vacate(domain, merge.slot);
        }
    }

    /// Removes the block of a slot, which has become the data block or holds no valid page.
    fn vacate(&mut self, domain: Domain, slot: u32) {
        let frontier = self.streams.of(domain, Stream(slot));
        self.streams.vacate(frontier, self.geometry.data_pages);
        self.logs_mut().set(domain, slot, None);
    }

    fn slot_of(&self, domain: Domain, block: Block) -> Option<u32> {
        let count = self.logs.as_ref()?.count;
        (0..count).find(|slot| self.block_in(domain, *slot) == Some(block))
    }

    /// Closes the block of a frontier, if it is open.
    fn close_early(&mut self, flash: &mut Flash, domain: Domain, frontier: FrontierId) {
        let Frontier { block: Some(block), next } = self.streams.frontier[frontier.at()] else {
            return;
        };
        if next == self.geometry.data_pages {
            return;
        }
        flash.close(block, None);
        self.blocks.close(block, domain.0, self.geometry.first_block(domain).0);
        self.streams.vacate(frontier, self.geometry.data_pages);
    }

    /// The merge of the logical block whose page is the first valid one of a block.
    fn merge_of_first(&self, flash: &Flash, domain: Domain, block: Block) -> Option<Merge> {
        let mut pages = (0..self.geometry.data_pages).map(|page| self.geometry.ppn(block, page));
        let lpn = pages.find_map(|ppn| self.valid_at(flash, ppn))?;
        let (logs, (logical, _)) = (self.logs.as_ref()?, self.home(lpn));
        if logs.merging(domain).is_some() {
            return None;
        }
        Some(Merge { logical, slot: logs.count, until: self.geometry.data_pages })
    }

    /// A lack of erased blocks, which occurs only after power cuts: these leave logical blocks in
    /// several blocks that are no log blocks. One of them is put together.
    fn gather_what_is_apart(&self, flash: &Flash, domain: Domain) -> Option<Merge> {
        let is_log = |block: Block| self.slot_of(domain, block).is_some();
        let mut closed = self.closed(domain).filter(|block| !is_log(*block));
        closed.find_map(|block| {
            let merge = self.merge_of_first(flash, domain, block)?;
            self.is_apart(domain, merge.logical, block).then_some(merge)
        })
    }

    /// True if pages of a logical block lie outside of a block.
    fn is_apart(&self, domain: Domain, logical: u32, block: Block) -> bool {
        let pages = u64::from(self.geometry.data_pages);
        let pool = self.geometry.domain_pool[domain.at()];
        let mut lpns = (0..pages)
            .map(|place| self.geometry.lpn_in_pool(pool, u64::from(logical) * pages + place));
        lpns.any(|lpn| self.lookup(lpn).is_some_and(|it| self.geometry.block_of(it) != block))
    }

    // ---- restore -------------------------------------------------------------------------------

    /// Finds the blocks of the slots from the frontiers and the flash.
    pub fn find_logs(&mut self, flash: &Flash) {
        let Some(logs) = &self.logs else { return };
        let (count, shares) = (logs.count, logs.scheme == LogScheme::Fast);
        for domain in (0..self.geometry.domains).map(Domain) {
            self.logs_mut().want(domain, None);
            self.logs_mut().set_merging(domain, None);
            for slot in 0..count {
                let found = self.block_in(domain, slot).map(|block| {
                    let is_shared = shares && slot > SEQUENTIAL;
                    self.slot_as_found(flash, block, self.next_in(domain, slot), is_shared)
                });
                self.logs_mut().set(domain, slot, found);
            }
        }
    }

    fn slot_as_found(&self, flash: &Flash, block: Block, pages: u32, is_shared: bool) -> Slot {
        let homes = (0..pages).map(|page| flash.stamp(self.geometry.ppn(block, page)));
        let homes: Vec<_> =
            homes.map(|lpn| (lpn != Lpn::PADDING).then(|| self.home(lpn))).collect();
        let in_order = (0..).zip(&homes).all(|(page, it)| it.is_none_or(|(_, at)| at == page));
        let owner = homes.iter().flatten().next().map(|(logical, _)| *logical);
        Slot { owner: owner.filter(|_| !is_shared), in_order }
    }
}
