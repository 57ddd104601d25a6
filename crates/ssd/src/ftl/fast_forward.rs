//! The untimed FTL: the same decisions, without times.

use super::streams::{Frontier, FrontierId, Told};
use super::{Ftl, Relocation, Step};
use crate::flash::Flash;
use crate::ids::{Block, Domain, Lpn, PoolId, Ppn, Stream, Unit};
use crate::media::planted::Mistake;
use crate::page::{Need, PageRequest, PageWork};
use engine::{Handle, SECTOR_BYTES, Status};

/// A logical page that the host writes.
#[derive(Debug, Clone, Copy)]
struct HostPage {
    lpn: Lpn,
    /// Flash pages with new data, whole or in part.
    pages: u32,
    /// Bytes of new data.
    bytes: u64,
    /// True for a merge in the registers of a synchronous gang: best in the plane of the old copy.
    near: bool,
    handle: Handle,
}

/// Pages of a victim processed in one batch.
pub(super) const BATCH: u32 = 64;

impl Ftl {
    /// Overwrites pages untimed, cleaning first where the timed drive would: fast-forward. Returns
    /// how many the drive accepted.
    pub fn overwrite_untimed(&mut self, flash: &mut Flash, pages: &[u64]) -> usize {
        let pages_of_each = self.geometry.granule.flash_pages;
        let bytes = u64::from(self.geometry.sectors_per_page) * SECTOR_BYTES;
        let is_plain = self.has_one_place_for_each();
        self.prefetch_first(pages);
        let gathers = self.gathers_in_one_place();
        let mut rest = pages;
        while !rest.is_empty() {
            if is_plain {
                let written = self.write_plainly(flash, rest);
                self.counters.pages_written(written as u64, pages_of_each, bytes);
                rest = &rest[written..];
            } else if gathers {
                let done = self.write_gathering(flash, rest);
                self.counters.pages_written(done.programmed, pages_of_each, bytes);
                self.counters.pages_replaced(done.replaced, pages_of_each, bytes);
                rest = &rest[(done.programmed + done.replaced) as usize..];
            }
            let Some((page, others)) = rest.split_first() else { return pages.len() };
            if is_plain {
                self.prefetch_victim(flash, Lpn(*page));
            }
            let lpn = Lpn(*page);
            let handle = self.handle_of_page(lpn);
            let page = HostPage { lpn, pages: pages_of_each, bytes, near: false, handle };
            if !self.write_untimed(flash, page) {
                return pages.len() - rest.len();
            }
            self.prefetch_ahead(rest, 0);
            rest = others;
        }
        pages.len()
    }

    /// Untimed form of a page request.
    pub(crate) fn serve_untimed(&mut self, flash: &mut Flash, request: &PageRequest) -> Status {
        let PageRequest { lpn, touched: (_, pages), .. } = *request;
        let bytes = u64::from(request.bytes);
        let granule = self.geometry.granule;
        let (work, range) = match self.need(request) {
            Need::Unmapped => {
                self.counters.unmapped_reads += u64::from(pages);
                return Status::Ok;
            }
            Need::Refused => {
                self.counters.page_refused(pages, bytes);
                return Status::ReadOnly;
            }
            Need::Page(work, range) => (work, range),
        };
        let is_read = !work.writes();
        // Pages in the buffer need not be read.
        let is_waiting = is_read && self.is_waiting(lpn);
        if is_waiting && work == PageWork::Read {
            self.counters.buffer_hits += u64::from(pages);
        } else if is_read && !is_waiting {
            self.clean_before_reading(flash, lpn);
            self.counters.page_read(work, range.1, granule);
        }
        if work == PageWork::Read {
            return Status::Ok;
        }
        let near = work == PageWork::Merge;
        let handle = request.handle;
        if !self.write_untimed(flash, HostPage { lpn, pages, bytes, near, handle }) {
            let refusal = self.refusal(lpn).unwrap_or(Status::ReadOnly);
            self.count_refused((handle, refusal), pages, bytes);
            return refusal;
        }
        if work.writes() {
            self.counters.page_read(work, range.1, granule);
        }
        Status::Ok
    }

    /// Writes a logical page untimed; whether the drive took it.
    fn write_untimed(&mut self, flash: &mut Flash, page: HostPage) -> bool {
        let lpn = page.lpn;
        self.write_with(page.handle);
        if self.group_refuses(lpn).is_some() {
            return false;
        }
        let may_replace =
            |it: &Self| !it.has_ended() && it.is_of_same_handle(lpn) && !it.is_shared(lpn);
        if self.is_waiting(lpn) && may_replace(self) {
            self.count_host(page.handle, 0, page.bytes);
            self.counters.pages_replaced(1, page.pages, page.bytes);
            return true;
        }
        let pool = self.pool_for(lpn);
        let programming = loop {
            let Some(domain) = self.domain_untimed(flash, pool, page) else { return false };
            self.keep_shared(flash, lpn);
            let programming = self.begin_program(domain, lpn);
            self.complete_program(flash, programming);
            if !self.bad.as_ref().is_some_and(|bad| bad.has_failed(programming.ppn)) {
                break programming;
            }
            self.counters.programmed_in_vain();
        };
        self.note_place(programming.block, self.geometry.page_in_block(programming.ppn));
        self.counters.page_written(page.pages, page.bytes);
        self.count_host(page.handle, 1, page.bytes);
        true
    }

    /// Destination of a write after cleaning; `None` when the drive has reached end of life.
    fn domain_untimed(
        &mut self,
        flash: &mut Flash,
        pool: PoolId,
        page: HostPage,
    ) -> Option<Domain> {
        loop {
            let unit = if let Some(filling) = self.filling_for(page.lpn) {
                // A group is filled before another begins.
                self.geometry.unit_of(filling)
            } else if self.placement.pools_span_units {
                let best = self.units_of(pool).min_by_key(|unit| self.standing(pool, *unit));
                best.expect("a pool has a unit")
            } else {
                self.only_unit_of(pool)
            };
            self.clean_low(flash, unit);
            let domain = if page.near {
                self.choose_domain_near(pool, unit, page.lpn).map(|(domain, _)| domain)
            } else {
                self.choose_domain(pool, unit, page.lpn)
            };
            if domain.is_some() || self.has_ended() {
                return domain;
            }
            // Blocks of the unit expired with their erasures: another one has room.
            assert!(
                self.logs.is_some() || self.some_unit_can_go_on(pool),
                "a pool has room, or a victim that makes some"
            );
        }
    }

    /// Cleans as in time a read makes its unit do first, if that is low. Where a pool is one unit it makes
    /// no difference whether that comes before the read or before the next write.
    fn clean_before_reading(&mut self, flash: &mut Flash, lpn: Lpn) {
        if self.placement.pools_span_units
            && let Some(ppn) = self.lookup(lpn)
        {
            let domain = self.geometry.domain_of(self.geometry.block_of(ppn));
            self.clean_low(flash, self.geometry.unit_of(domain));
        }
    }

    /// Cleans until no domain of a unit is low, or cleaning gains nothing.
    fn clean_low(&mut self, flash: &mut Flash, unit: Unit) {
        if self.window.is_some() {
            return self.clean_steadily(flash, unit);
        }
        while self.needs_cleaning(unit) {
            let Some(job) = self.begin_cleaning(flash, unit, true) else { break };
            self.clean_untimed(flash, job);
        }
        while let Some(job) = self.due_on(unit).and_then(|domain| self.begin_refresh(domain)) {
            self.clean_untimed(flash, job);
        }
    }

    /// Empties and erases a block untimed.
    pub fn clean_untimed(&mut self, flash: &mut Flash, mut job: Relocation) {
        if job.merges() {
            while let Step::Move(programming) = self.next_step(flash, &mut job) {
                self.complete_move(flash, programming);
            }
            return;
        }
        let data_pages = self.geometry.data_pages;
        self.move_pages(flash, &mut job, (0, data_pages));
        let Some(mut filling) = self.complete_erase(flash, job) else { return };
        while let Step::Move(programming) = self.next_step(flash, &mut filling) {
            self.complete_move(flash, programming);
        }
        self.complete_erase(flash, filling);
    }

    /// Moves the valid ones of consecutive pages of a victim. With ageing, copies of unreadable
    /// pages are marked.
    pub(super) fn move_pages(
        &mut self,
        flash: &mut Flash,
        job: &mut Relocation,
        (first, count): (u32, u32),
    ) {
        let lost = flash.lost_among(self.geometry.ppn(job.source, first), count);
        let lost: Vec<Lpn> = lost.into_iter().filter_map(|ppn| self.valid_at(flash, ppn)).collect();
        self.move_all(flash, job, (first, count));
        if Mistake::UntimedCleaningHeals.is_planted() {
            return;
        }
        for lpn in lost {
            if let Some((media, ppn)) = flash.media_mut().zip(self.lookup(lpn)) {
                media.losses_mut().poison(ppn.0);
            }
        }
    }

    fn move_all(
        &mut self,
        flash: &mut Flash,
        job: &mut Relocation,
        (mut first, count): (u32, u32),
    ) {
        let mut pages = [0; BATCH as usize];
        let end = first + count;
        // Frontiers for moved pages in order.
        let folds_by_handle = self.folds_by_handle(job.source);
        let into = if !self.blocks.moved_age.is_empty() || folds_by_handle {
            None
        } else if self.streams.apart() {
            let stream = if self.tells_handles() {
                self.stream_of_copies_from(job.source)
            } else {
                Stream::SECOND
            };
            Some(self.streams.of(job.domain, stream))
        } else {
            let told_nothing = self.streams.told == Told::Nothing && self.window.is_none();
            (told_nothing && !self.notes_programs).then_some(FrontierId(job.domain.0))
        };
        let mut asked = self.ahead.take(job.domain, self.geometry.ppn(job.source, first));
        while first < end {
            let count = (end - first).min(BATCH);
            let base = self.geometry.ppn(job.source, first);
            let pages = &mut pages[..count as usize];
            flash.stamps(base, pages);
            for lpn in pages.iter().skip(asked) {
                self.map.prefetch(Lpn(*lpn));
            }
            asked = 0;
            // First all look-ups, then all moves.
            let valid = self.map.keep_held(pages, base);
            self.counters.moves += valid as u64;
            self.count_moved(job.source, valid as u64);
            job.moved += valid as u32;
            first += count;
            if self.notes_copies {
                pages[..valid].iter().for_each(|lpn| self.count_copy(Lpn(*lpn)));
            }
            if let Some(frontier) = into {
                self.move_run(flash, job, frontier, &pages[..valid]);
                continue;
            }
            for lpn in pages[..valid].iter().copied().map(Lpn) {
                let programming = if folds_by_handle {
                    self.count_folded_of(lpn, job.source);
                    let stream = self.stream_of_moved(lpn, job.source);
                    self.program_for(job.domain, stream, lpn)
                } else {
                    self.begin_move(job.domain, lpn)
                };
                self.carry_temperature(job.source, programming);
                self.complete_program(flash, programming);
                self.note_copy(programming, folds_by_handle);
            }
        }
    }

    /// Begins to fetch the places of the logical pages that were written to `count` pages from one on.
    pub(crate) fn prefetch_places(&self, flash: &Flash, from: Ppn, count: u32) {
        self.map.prefetch_all(flash, from.0..from.0 + u64::from(count));
    }

    /// The next pages of a block, which a frontier has, are programmed; the low 32 bits of the number of the first of
    /// these programs.
    #[inline]
    pub(super) fn take_run(&mut self, frontier: FrontierId, block: Block, count: u32) -> u32 {
        let order = self.programs as u32;
        self.programs = self.programs.wrapping_add(u64::from(count));
        self.blocks.valid[block.at()] += count;
        self.streams.frontier[frontier.at()].next += count;
        order
    }

    /// Moves valid pages of a victim to the only frontier of its domain that takes them, as many at
    /// once as fit. Equivalent to single moves, but updates the state of each block once.
    fn move_run(
        &mut self,
        flash: &mut Flash,
        job: &Relocation,
        frontier: FrontierId,
        lpns: &[u64],
    ) {
        let mut rest = lpns;
        while let Some((first, others)) = rest.split_first() {
            // The first page of a block carries its header.
            let next = self.streams.frontier[frontier.at()].next;
            if next == 0 || next == self.geometry.data_pages {
                let programming = self.program_on(frontier, job.domain, Lpn(*first));
                self.complete_program(flash, programming);
                rest = others;
                continue;
            }
            let Frontier { block, next } = self.streams.frontier[frontier.at()];
            let block = block.expect("a frontier with room has a block");
            let room = self.geometry.data_pages - next;
            let (run, later) = rest.split_at(rest.len().min(room as usize));
            let base = self.geometry.ppn(block, next);
            for (ppn, lpn) in (base.0..).zip(run) {
                self.map.set(Lpn(*lpn), Ppn(ppn));
            }
            let count = run.len() as u32;
            let order = self.take_run(frontier, block, count);
            self.blocks.valid[job.source.at()] -= count;
            flash.program_run(base, block, run, order);
            if count == room {
                let last = self.geometry.data_pages - 1;
                self.complete_edge(flash, block, last, order.wrapping_add(count - 1));
            }
            rest = later;
        }
    }
}
