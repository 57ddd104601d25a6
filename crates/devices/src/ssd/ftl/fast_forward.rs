//! The FTL without time: the same decisions, and nothing that costs anything.

use super::super::geometry::{Domain, Lpn, Ppn, Unit};
use super::super::nand::Flash;
use super::{CleanStep, Ftl, Job};
use engine::SECTOR_BYTES;

impl Ftl {
    /// Overwrites pages in no time, cleaning first where the timed drive would: fast-forward.
    pub fn overwrite_untimed(&mut self, flash: &mut Flash, pages: &[u32]) {
        const BATCH: usize = 16;
        let flash_pages = self.geometry.granule.flash_pages;
        let bytes = u64::from(self.geometry.sectors_per_page) * SECTOR_BYTES;
        for batch in pages.chunks(BATCH) {
            if self.has_ended() {
                return;
            }
            // Loads that do not depend on each other overlap; the writes below then find the map in
            // the cache. About three times faster than one page after the other.
            let mut fetched = 0;
            for page in batch {
                fetched ^= self.map[*page as usize];
            }
            std::hint::black_box(fetched);
            for page in batch {
                self.write_untimed(flash, Lpn(*page), flash_pages, bytes);
            }
        }
    }

    /// Writes a logical page in no time, `bytes` in `pages` flash pages of it being new; whether the
    /// drive took it.
    pub(in super::super) fn write_untimed(
        &mut self,
        flash: &mut Flash,
        lpn: Lpn,
        pages: u32,
        bytes: u64,
    ) -> bool {
        let pool = self.geometry.pool_of(lpn);
        let unit = if self.pools_span_units {
            let rank = |unit: &Unit| (self.room_for(pool, *unit), self.can_clean(*unit));
            self.units_of(pool).max_by_key(rank).expect("a pool has a unit")
        } else {
            self.geometry.unit_of(Domain(self.pool_group[pool.at()] * self.group_size))
        };
        while self.needs_cleaning(unit) {
            let Some(job) = self.begin_cleaning(flash, unit, true) else { break };
            self.clean_untimed(flash, job);
        }
        let Some(domain) = self.choose_domain(pool, unit, lpn) else {
            assert!(self.has_ended(), "cleaning has made room");
            return false;
        };
        let programming = self.begin_program(domain, lpn);
        self.complete_program(flash, programming);
        self.counters.page_written(pages, bytes);
        true
    }

    fn clean_untimed(&mut self, flash: &mut Flash, mut job: Job) {
        const BATCH: usize = 64;
        let mut pages = [0; BATCH];
        let mut first = 0;
        while first < self.geometry.data_pages {
            let count = (self.geometry.data_pages - first).min(BATCH as u32);
            let base = self.geometry.ppn(job.victim, first);
            // As above: first all look-ups, then all moves.
            let mut valid = 0;
            for ppn in (base.0..base.0 + count).map(Ppn) {
                let lpn = flash.stamp(ppn);
                pages[valid] = lpn.0;
                valid += usize::from(self.map[lpn.at()] == ppn.0);
            }
            for lpn in &pages[..valid] {
                let programming = self.begin_move(job.domain, Lpn(*lpn));
                self.carry_temperature(job.victim, programming);
                self.complete_program(flash, programming);
            }
            self.counters.moves += valid as u64;
            job.moved += valid as u32;
            first += count;
        }
        let Some(mut filling) = self.complete_erase(flash, job) else { return };
        while let CleanStep::Move(programming) = self.fill_step(flash, &mut filling) {
            self.complete_move(flash, programming);
        }
        self.complete_erase(flash, filling);
    }
}
