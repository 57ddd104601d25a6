//! The full audit: everything that must hold between map, flash, free lists and victim index.
//!
//! It looks at every page and block, so it is for the end of a run and for tests; the cheap
//! invariants are asserted where they could break. The work grows with pages and blocks alone: free
//! lists and operations in progress are indexed once, instead of searched for every block.

use super::Ssd;
use super::ftl::{Programming, Rebuilt, rebuild};
use crate::ids::{Block, BlockState, Domain, Lpn, Ppn, Unit};

/// Fails the audit with a formatted message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

/// Pages being programmed, in order of address.
struct Begun(Vec<Programming>);

impl Begun {
    fn new(mut all: Vec<Programming>) -> Begun {
        all.sort_by_key(|programming| programming.ppn.0);
        Begun(all)
    }

    /// Entries within `pages` pages from `first` on.
    fn within(&self, first: Ppn, pages: u32) -> &[Programming] {
        let before = |end: u64| self.0.partition_point(|programming| programming.ppn.0 < end);
        &self.0[before(first.0)..before(first.0 + u64::from(pages))]
    }

    fn holds(&self, ppn: Ppn, lpn: Lpn) -> bool {
        self.within(ppn, 1).iter().any(|programming| programming.lpn == lpn)
    }
}

impl Ssd {
    /// Checks every invariant of the drive.
    ///
    /// # Errors
    /// The first broken one, with the page or block concerned.
    pub fn check(&self) -> Result<(), String> {
        let begun = Begun::new(self.programming());
        self.audit_map(&begun)?;
        self.ftl.check_map_cache()?;
        self.ftl.check_snapshots()?;
        self.ftl.check_marks()?;
        self.audit_free_lists()?;
        for block in 0..self.geometry().blocks() {
            self.audit_block(Block(block), &begun)?;
        }
        self.audit_counts(&begun)?;
        if self.ftl.snapshots.is_none() && self.ftl.can_be_rebuilt(&self.flash) {
            self.check_rebuild()
        } else {
            Ok(())
        }
    }

    /// State of the drive rebuilt from the flash alone.
    pub fn rebuilt(&self) -> Rebuilt {
        let being_erased: Vec<Block> = self.seen().erasing();
        rebuild(self.geometry(), &self.flash, &being_erased)
    }

    /// Compares the map rebuilt from the flash with the FTL's, where a page being programmed counts
    /// with its previous copy.
    ///
    /// Pages that are not mapped were trimmed, or never written: nothing is expected of them. Of cold
    /// data that is moving into a worn block either copy is the newest.
    ///
    /// # Errors
    /// The first difference, with the page or block concerned.
    pub fn check_rebuild(&self) -> Result<(), String> {
        let rebuilt = self.rebuilt();
        for (lpn, _) in self.ftl.mapped() {
            let Some(expected) = self.newest_programmed(lpn)? else { continue };
            let found = rebuilt.map().get(lpn).ppn();
            let same = found.is_some_and(|found| {
                found == expected || self.ftl.are_twins(&self.flash, found, expected)
            });
            ensure!(
                same,
                "logical page {} is at {}, and the flash alone says at {}",
                lpn.0,
                self.place(Some(expected)),
                self.place(found)
            );
        }
        self.audit_rebuilt_blocks(&rebuilt)
    }

    /// The newest copy of a page that is programmed, if it was ever written and not trimmed since.
    fn newest_programmed(&self, lpn: Lpn) -> Result<Option<Ppn>, String> {
        let geometry = self.geometry();
        let mut newest = self.ftl.lookup(lpn);
        while let Some(ppn) = newest {
            if geometry.page_in_block(ppn) < self.flash.programmed(geometry.block_of(ppn)) {
                break;
            }
            if self.config.is_buffered() && self.config.buffer.power_loss_protected {
                // Superseded pages may be erased: the buffer is as good as the flash.
                return Ok(None);
            }
            let begun = self.programming();
            let Some(programming) = begun.iter().find(|programming| programming.ppn == ppn) else {
                let place = self.place(newest);
                return Err(format!("the newest copy of logical page {}, {place}, is gone", lpn.0));
            };
            newest = programming.old.ppn();
        }
        Ok(newest)
    }

    fn place(&self, ppn: Option<Ppn>) -> String {
        let geometry = self.geometry();
        let Some(ppn) = ppn else { return "no place".to_owned() };
        let block = geometry.block_of(ppn).0;
        format!("page {} of block {block}", geometry.page_in_block(ppn))
    }

    /// Audits the state of the blocks against the flash alone.
    fn audit_rebuilt_blocks(&self, rebuilt: &Rebuilt) -> Result<(), String> {
        let geometry = self.geometry();
        for block in (0..geometry.blocks()).map(Block) {
            let empty = self.flash.programmed(block) == 0;
            let state = match self.ftl.state(block) {
                BlockState::Open | BlockState::Filling if empty => BlockState::Free,
                BlockState::Filling => BlockState::Open,
                BlockState::Victim => BlockState::Closed,
                state => state,
            };
            let (b, found) = (block.0, rebuilt.state(block));
            ensure!(found == state, "block {b} is {state:?}, and the flash says {found:?}");
        }
        for domain in (0..geometry.domains).map(Domain) {
            let (d, empty) =
                (domain.0, |block: &&Block| self.ftl.state(**block) != BlockState::Free);
            let opened = rebuilt.free(domain).iter().filter(empty).count();
            let (free, known) =
                (rebuilt.free(domain).len(), self.ftl.erased_blocks(domain) as usize);
            ensure!(
                free == known + opened,
                "domain {d} has {known} free blocks and {opened} opened ones without a page, and \
                 the flash says {free} erased ones"
            );
            // With two frontiers, and with groups, blocks are not closed in the order of opening.
            if geometry.frontiers == 1 && geometry.groups.is_none() {
                let closed = rebuilt.closed(domain).iter().copied();
                let is_closed = |block: &Block| self.ftl.state(*block) == BlockState::Closed;
                let closed = closed.filter(is_closed);
                ensure!(
                    closed.eq(self.ftl.closed(domain).filter(is_closed)),
                    "the closed blocks of domain {d} are in another order than the flash says"
                );
            }
        }
        Ok(())
    }

    /// Every free list names blocks of its domain that are free, each once; `audit_counts` checks
    /// that it names all of them.
    fn audit_free_lists(&self) -> Result<(), String> {
        let geometry = self.geometry();
        let mut listed = memory::zeroed::<bool>(geometry.blocks() as usize);
        for domain in (0..geometry.domains).map(Domain) {
            let list = self.ftl.free_list(domain);
            let (names, counted) = (list.len(), self.ftl.erased_blocks(domain));
            ensure!(
                names == counted as usize,
                "the free list of domain {} names {names} blocks, and counts {counted}",
                domain.0
            );
            for block in list.into_iter().map(Block) {
                let (b, state) = (block.0, self.ftl.state(block));
                ensure!(
                    state == BlockState::Free && geometry.domain_of(block) == domain,
                    "block {b} is {state:?}, and the free list of domain {} names it",
                    domain.0
                );
                ensure!(!std::mem::replace(&mut listed[block.at()], true), "{b} is free twice");
            }
        }
        Ok(())
    }

    /// The map and the stamps in the flash are inverse to each other.
    fn audit_map(&self, begun: &Begun) -> Result<(), String> {
        let geometry = self.geometry();
        if let Some((lpn, group)) = self.ftl.strays().next() {
            return Err(format!(
                "logical page {} lies in reclaim group {}, which its write did not name",
                lpn.0, group.0
            ));
        }
        let mut mapped = 0u64;
        for (lpn, ppn) in self.ftl.mapped() {
            mapped += 1;
            let (block, page) = (geometry.block_of(ppn), geometry.page_in_block(ppn));
            ensure!(
                self.ftl.has_groups()
                    || geometry.domain_pool[geometry.domain_of(block).at()]
                        == geometry.pool_of(lpn),
                "logical page {} lies outside its pool, in block {}",
                lpn.0,
                block.0
            );
            let there = page < self.flash.programmed(block)
                && page < geometry.data_pages
                && self.flash.stamp(ppn) == lpn;
            ensure!(
                there || begun.holds(ppn, lpn),
                "logical page {} is mapped to page {page} of block {}, which does not hold it",
                lpn.0,
                block.0
            );
        }
        let valid: u64 = (0..geometry.blocks()).map(|b| u64::from(self.ftl.valid(Block(b)))).sum();
        ensure!(valid == mapped, "{mapped} logical pages are mapped, {valid} pages are valid");
        Ok(())
    }

    /// Checks a block's valid count, state, list membership and programming order.
    fn audit_block(&self, block: Block, begun: &Begun) -> Result<(), String> {
        let geometry = self.geometry();
        let domain = geometry.domain_of(block);
        let programmed = self.flash.programmed(block).min(geometry.data_pages);
        let held = (0..programmed).map(|page| geometry.ppn(block, page));
        let held = held.filter(|ppn| self.ftl.valid_at(&self.flash, *ppn).is_some()).count();
        let begun = begun.within(geometry.ppn(block, 0), geometry.pages_per_block);
        let begun_valid = begun.iter().filter(|p| self.ftl.lies_at(p.lpn, p.ppn)).count();
        let (b, state, valid) = (block.0, self.ftl.state(block), self.ftl.valid(block));
        ensure!(
            valid as usize == held + begun_valid,
            "block {b} counts {valid} valid pages and holds {held}, {begun_valid} in flight"
        );
        let full = self.flash.programmed(block) == geometry.pages_per_block;
        ensure!(
            self.ftl.is_indexed(domain, block) == (state == BlockState::Closed),
            "block {b} is {state:?} with {valid} valid pages, and the victim index says otherwise"
        );
        match state {
            BlockState::Free => {
                ensure!(programmed == 0, "free block {b} has {programmed} programmed pages");
            }
            BlockState::Open => {
                let frontier = self.ftl.frontier_at(domain, block);
                // With cache commands the next block begins while the last page is programmed.
                let closing = begun.iter().any(|programming| geometry.is_last(programming.ppn));
                ensure!(frontier.is_some() || closing, "block {b} is open but not a frontier");
                let at = programmed as usize + begun.len();
                let next = frontier.unwrap_or(at as u32);
                ensure!(
                    next as usize == at,
                    "frontier {b} is at page {next} with {programmed} pages programmed"
                );
            }
            BlockState::Retired => {
                ensure!(programmed == 0, "retired block {b} has {programmed} programmed pages");
                let may_be_bad = self.ftl.bad.is_some();
                ensure!(
                    may_be_bad || self.flash.life(block) == 0,
                    "block {b} was retired before it expired"
                );
            }
            BlockState::PassedOver => {
                return Err(format!("block {b} is still hidden from the cleaning policy"));
            }
            BlockState::Filling => {
                ensure!(!full, "block {b} is being filled, and is full");
            }
            BlockState::Closed | BlockState::Victim => {
                ensure!(full, "block {b} is {state:?} with only {programmed} pages programmed");
            }
        }
        Ok(())
    }

    /// Free blocks add up, and every page of the drive is accounted for.
    fn audit_counts(&self, begun: &Begun) -> Result<(), String> {
        let geometry = self.geometry();
        let mut pages = [0u64; 3];
        for domain in (0..geometry.domains).map(Domain) {
            let first = geometry.first_block(domain).0;
            let blocks = (first..first + geometry.blocks_per_domain).map(Block);
            let mut free = 0;
            for block in blocks {
                let valid = u64::from(self.ftl.valid(block));
                let begun = begun.within(geometry.ppn(block, 0), geometry.pages_per_block).len();
                let used =
                    u64::from(self.flash.programmed(block).min(geometry.data_pages)) + begun as u64;
                ensure!(valid <= used, "block {} has more valid than used pages", block.0);
                pages[0] += valid;
                pages[1] += used - valid;
                pages[2] += u64::from(geometry.data_pages) - used;
                free += u32::from(self.ftl.state(block) == BlockState::Free);
            }
            let counted = self.ftl.erased_blocks(domain);
            ensure!(free == counted, "domain {} counts {counted} free blocks of {free}", domain.0);
        }
        let all = u64::from(geometry.blocks()) * u64::from(geometry.data_pages);
        let [valid, superseded, erased] = pages;
        ensure!(
            valid + superseded + erased == all,
            "{valid} valid + {superseded} superseded + {erased} erased pages are not {all}"
        );
        for unit in (0..geometry.units).map(Unit) {
            let (kept, counted) = (self.ftl.reclaimable(unit), self.ftl.count_reclaimable(unit));
            ensure!(
                kept.is_none_or(|kept| kept == counted),
                "{} holds {counted} pages without valid data, and {kept:?} are counted",
                geometry.unit_name(unit)
            );
        }
        Ok(())
    }
}
