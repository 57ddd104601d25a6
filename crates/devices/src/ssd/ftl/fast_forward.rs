//! The FTL without time: the same decisions, and nothing that costs anything.

use super::{Ftl, Relocation, Step};
use crate::ssd::flash::Flash;
use crate::ssd::ids::{Domain, Lpn, PoolId, Ppn, Unit};
use crate::ssd::page::{Need, PageRequest, PageWork};
use engine::{SECTOR_BYTES, Status};

/// A logical page that the host writes.
#[derive(Debug, Clone, Copy)]
struct HostPage {
    lpn: Lpn,
    /// Flash pages of it that have new data, whole or in part.
    pages: u32,
    /// Bytes of new data.
    bytes: u64,
    /// It is merged in the registers of a synchronous gang: best in the plane of the old copy.
    near: bool,
}

impl Ftl {
    /// Overwrites pages in no time, cleaning first where the timed drive would: fast-forward.
    pub fn overwrite_untimed(&mut self, flash: &mut Flash, pages: &[u64]) {
        const BATCH: usize = 16;
        let pages_of_each = self.geometry.granule.flash_pages;
        let bytes = u64::from(self.geometry.sectors_per_page) * SECTOR_BYTES;
        for batch in pages.chunks(BATCH) {
            if self.has_ended() {
                return;
            }
            // The writes below then find the map in the cache. About three times faster than one page
            // after the other.
            self.map.fetch(batch);
            for page in batch {
                let lpn = Lpn(*page);
                let page = HostPage { lpn, pages: pages_of_each, bytes, near: false };
                self.write_untimed(flash, page);
            }
        }
    }

    /// Does at once what a page request does in time.
    pub(in crate::ssd) fn serve_untimed(
        &mut self,
        flash: &mut Flash,
        request: &PageRequest,
    ) -> Status {
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
        if !work.writes() {
            self.clean_before_reading(flash, lpn);
            self.counters.page_read(work, range.1, granule);
        }
        if work == PageWork::Read {
            return Status::Ok;
        }
        let near = work == PageWork::Merge;
        if !self.write_untimed(flash, HostPage { lpn, pages, bytes, near }) {
            self.counters.page_refused(pages, bytes);
            return Status::ReadOnly;
        }
        if work.writes() {
            self.counters.page_read(work, range.1, granule);
        }
        Status::Ok
    }

    /// Writes a logical page in no time; whether the drive took it.
    fn write_untimed(&mut self, flash: &mut Flash, page: HostPage) -> bool {
        let lpn = page.lpn;
        let pool = self.geometry.pool_of(lpn);
        let Some(domain) = self.domain_untimed(flash, pool, page) else { return false };
        let programming = self.begin_program(domain, lpn);
        self.complete_program(flash, programming);
        self.counters.page_written(page.pages, page.bytes);
        true
    }

    /// Where a write goes, once cleaning has made room; `None` when the drive has ended.
    fn domain_untimed(
        &mut self,
        flash: &mut Flash,
        pool: PoolId,
        page: HostPage,
    ) -> Option<Domain> {
        loop {
            let unit = if self.placement.pools_span_units {
                let best = self.units_of(pool).min_by_key(|unit| self.standing(pool, *unit));
                best.expect("a pool has a unit")
            } else {
                self.geometry.unit_of(Domain(
                    self.placement.pool_group[pool.at()] * self.placement.group_size,
                ))
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
            // Blocks of the unit expired as they were erased: another one has room.
            assert!(self.some_unit_can_go_on(pool), "a pool has room, or a victim that makes some");
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

    /// Cleans until no domain of a unit is low, or nothing there can be gained.
    fn clean_low(&mut self, flash: &mut Flash, unit: Unit) {
        while self.needs_cleaning(unit) {
            let Some(job) = self.begin_cleaning(flash, unit, true) else { break };
            self.clean_untimed(flash, job);
        }
    }

    fn clean_untimed(&mut self, flash: &mut Flash, mut job: Relocation) {
        const BATCH: usize = 64;
        let mut pages = [0; BATCH];
        let mut first = 0;
        while first < self.geometry.data_pages {
            let count = (self.geometry.data_pages - first).min(BATCH as u32);
            let base = self.geometry.ppn(job.source, first);
            // As above: first all look-ups, then all moves.
            let mut valid = 0;
            for ppn in (base.0..base.0 + u64::from(count)).map(Ppn) {
                let lpn = flash.stamp(ppn);
                pages[valid] = lpn.0;
                valid += usize::from(self.map.holds(lpn, ppn));
            }
            for lpn in &pages[..valid] {
                let programming = self.begin_move(job.domain, Lpn(*lpn));
                self.carry_temperature(job.source, programming);
                self.complete_program(flash, programming);
            }
            self.counters.moves += valid as u64;
            job.moved += valid as u32;
            first += count;
        }
        let Some(mut filling) = self.complete_erase(flash, job) else { return };
        while let Step::Move(programming) = self.next_step(flash, &mut filling) {
            self.complete_move(flash, programming);
        }
        self.complete_erase(flash, filling);
    }
}
