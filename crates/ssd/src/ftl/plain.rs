//! Fast-forward where each page has one destination: the run of writes between two edges of a
//! frontier.
//!
//! Most writes take the next page of a frontier and supersede a page of a closed block, without
//! further consequences. They are done here, with their data prefetched; all others leave it to
//! [`fast_forward`](super::fast_forward).

use super::Ftl;
use super::fast_forward::BATCH;
use super::placement::{Placement, Reserve};
use super::programming::Programming;
use super::streams::{Frontier, FrontierId, Told};
use crate::flash::Flash;
use crate::ids::{Block, Domain, Lpn};

/// Writes between the steps of prefetching: first the entry of the map; then the state of the block
/// it names; and then where that is listed.
const STEP: usize = 12;

/// Free pages of a frontier at which prefetching for the cleaning behind it begins: first the state
/// of the likely victim, with the next page the positions of its pages.
const LEAD: u32 = 6;

impl Ftl {
    /// True if a page has a single possible domain and frontier, and no block is being cleaned.
    pub fn has_one_place_for_each(&self) -> bool {
        let Placement { group_size, pools_span_units, .. } = self.placement;
        let told_nothing = self.streams.told == Told::Nothing
            && self.bad.as_ref().is_none_or(|bad| !bad.fails_by_page());
        let one_place =
            self.window.is_none() && group_size == 1 && !pools_span_units && self.is_all_hosts();
        told_nothing && one_place && self.victim.iter().all(Option::is_none)
    }

    /// True if the host may write wherever cleaning need not run first, because more blocks are
    /// erased than moves need.
    fn accepts_what_is_clean(&self) -> bool {
        let clean = u64::from(self.geometry.low_blocks + 1) * u64::from(self.geometry.data_pages);
        matches!(self.reserve, Reserve::Pages(kept) if u64::from(kept) < clean)
    }

    /// Writes pages as long as each takes an inner page of its only frontier and cleaning need not
    /// run; returns their number.
    pub fn write_plainly(&mut self, flash: &mut Flash, pages: &[u64]) -> usize {
        if !self.accepts_what_is_clean() {
            return 0;
        }
        for (at, page) in pages.iter().enumerate() {
            if !self.write_plain(flash, Lpn(*page)) {
                return at;
            }
            self.prefetch_ahead(pages, at);
        }
        pages.len()
    }

    /// Prefetches the data for writing the first of these pages.
    pub fn prefetch_first(&self, pages: &[u64]) {
        let until = |end: usize| &pages[..pages.len().min(end)];
        for page in until(3 * STEP) {
            self.map.prefetch(Lpn(*page));
        }
        if self.blocks.index.is_near() {
            return;
        }
        for page in until(2 * STEP) {
            self.prefetch_old(Lpn(*page));
        }
        for page in until(STEP) {
            self.prefetch_listed(Lpn(*page));
        }
    }

    /// The page at a place has been written: continues prefetching for later ones.
    #[inline]
    pub fn prefetch_ahead(&self, pages: &[u64], at: usize) {
        if !self.blocks.index.is_near() {
            let Some(page) = pages.get(at + STEP) else { return };
            self.prefetch_listed(Lpn(*page));
            let Some(page) = pages.get(at + 2 * STEP) else { return };
            self.prefetch_old(Lpn(*page));
        }
        let Some(page) = pages.get(at + 3 * STEP) else { return };
        self.map.prefetch(Lpn(*page));
    }

    /// Prefetches the data that superseding a page changes.
    #[inline]
    fn prefetch_old(&self, lpn: Lpn) {
        if let Some(old) = self.map.get(lpn).ppn() {
            let block = self.geometry.block_of(old);
            memory::prefetch(&self.blocks.valid, block.at());
            memory::prefetch(&self.blocks.state, block.at());
        }
    }

    /// Begins to fetch where the block is listed in which a page will be superseded.
    #[inline]
    fn prefetch_listed(&self, lpn: Lpn) {
        if let Some(old) = self.map.get(lpn).ppn() {
            let block = self.geometry.block_of(old);
            let domain = self.geometry.domain_of(block);
            let relative = block.0 - self.geometry.first_block(domain).0;
            self.blocks.index.prefetch(domain.0, relative, self.blocks.valid[block.at()]);
        }
    }

    /// Before the first or last page of a block, after which cleaning runs: begins to prefetch its
    /// data, unless that has [begun](LEAD).
    pub fn prefetch_victim(&mut self, flash: &Flash, lpn: Lpn) {
        let domain = Domain(self.placement.pool_group[self.geometry.pool_of(lpn).at()]);
        let left = self.geometry.data_pages - self.streams.frontier[domain.at()].next;
        if left <= 1 && !self.ahead.knows(domain) {
            self.foresee_victim(flash, domain, left == 1);
        }
    }

    /// Prefetches a few positions for cleaning.
    #[inline]
    pub fn fetch_some(&mut self, flash: &Flash) {
        if let Some(pages) = self.ahead.some() {
            self.map.prefetch_all(flash, pages);
        }
    }

    /// Prefetches, in two steps, the block that would be cleaned after the current one is full.
    #[cold]
    #[inline(never)]
    fn foresee_victim(&mut self, flash: &Flash, domain: Domain, is_first: bool) {
        if self.free.count(domain) > self.geometry.low_blocks + 1 {
            return;
        }
        let Some(victim) = self.blocks.index.last_of_least(domain.0) else { return };
        let victim = Block(self.geometry.first_block(domain).0 + victim);
        let (first, count) = (self.geometry.ppn(victim, 0), self.geometry.data_pages.min(BATCH));
        if is_first {
            flash.prefetch_stamps(first, count);
            flash.prefetch_block(victim);
            self.blocks.prefetch(victim);
        } else {
            self.blocks.order.prefetch_neighbours(victim.0);
            self.ahead.begin(domain, first, count);
        }
    }

    #[inline]
    fn write_plain(&mut self, flash: &mut Flash, lpn: Lpn) -> bool {
        let pool = self.geometry.pool_of(lpn);
        let domain = Domain(self.placement.pool_group[pool.at()]);
        if self.needs_cleaning(self.geometry.unit_of(domain)) {
            return false;
        }
        let Frontier { block, next } = self.streams.frontier[domain.at()];
        if block.is_none() || next == 0 || next + 1 >= self.geometry.data_pages {
            return false;
        }
        let left = self.geometry.data_pages - next;
        if left == LEAD || left == LEAD - 1 {
            self.foresee_victim(flash, domain, left == LEAD);
        }
        self.fetch_some(flash);
        self.program_inside(flash, FrontierId(domain.0), domain, lpn);
        true
    }

    /// Programs the next page of a frontier, which is neither the first nor the last of its block.
    #[inline]
    fn program_inside(
        &mut self,
        flash: &mut Flash,
        frontier: FrontierId,
        domain: Domain,
        lpn: Lpn,
    ) {
        let Programming { ppn, block, order, .. } = self.program_on(frontier, domain, lpn);
        let page = flash.program(ppn, block, lpn, order);
        debug_assert!(page > 0 && page + 1 < self.geometry.data_pages, "nothing follows from it");
    }
}
