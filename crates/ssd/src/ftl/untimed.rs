//! Untimed writes through a write buffer, with cleaning alongside.
//!
//! As in timed runs, a group of a victim is cleaned whenever the host has written its gain, so
//! pages superseded meanwhile need not be moved. The content of the buffer is in
//! [`window`](super::window).

use super::fast_forward::BATCH;
use super::map::Place;
use super::streams::Told;
use super::window::{BufferRoom, NONE, Victim, Window};
use super::{Ftl, Programming, Relocation};
use crate::flash::Flash;
use crate::ids::{Block, Domain, Lpn, PoolId, Ppn, Stream, Unit};

/// Weight of the last victim among the known ones, as for the pace of cleaning.
const LAST_VICTIM: f64 = 0.125;

impl Ftl {
    /// Sends untimed writes of the host through a write buffer.
    pub(crate) fn write_through(&mut self, room: BufferRoom) {
        let shape = self.geometry.groups;
        let counts = (self.geometry.blocks(), self.geometry.domains);
        // For each reclaim group.
        let streams = self.streams.count * self.geometry.reclaim_groups;
        self.window = shape.map(|shape| Window::new(shape, room, counts, streams));
    }

    /// Brings the drive to rest: untimed writes are complete, the buffer is empty and no block is
    /// being cleaned.
    #[inline]
    pub(crate) fn end_untimed(&mut self, flash: &mut Flash) {
        if self.window.as_ref().is_some_and(|window| window.is_used) {
            self.rest(flash);
        }
    }

    /// True between untimed operations.
    pub(crate) fn rests_untimed(&self) -> bool {
        self.window.as_ref().is_none_or(|window| !window.is_used)
    }

    #[cold]
    fn rest(&mut self, flash: &mut Flash) {
        for domain in 0..self.window.as_ref().map_or(0, |window| window.victims.len()) {
            while self.clean_group(flash, Domain(domain as u32)) {}
        }
        self.forget_untimed();
    }

    /// Drops the state of the buffer.
    pub(super) fn forget_untimed(&mut self) {
        if let Some(window) = &mut self.window {
            window.groups.clear();
            window.filling.fill(NONE);
            window.from.fill(NONE);
            window.victims.fill(None);
            (window.is_used, window.valid) = (false, 0.0);
            window.measure();
        }
    }

    /// True if a logical page is in the buffer of untimed writes.
    #[inline]
    pub(crate) fn is_waiting(&self, lpn: Lpn) -> bool {
        self.window.is_some() && self.is_place_waiting(self.map.get(lpn))
    }

    /// `forget` for the page at an address.
    #[inline]
    pub fn is_place_waiting(&self, place: Place) -> bool {
        let Some((window, ppn)) = self.window.as_ref().zip(place.ppn()) else { return false };
        let (block, page) = self.geometry.block_and_page(ppn);
        window.holds(block, page)
    }

    /// The domain whose group of the host fills that a page would go to, if one does and will have room.
    pub(super) fn filling_for(&self, lpn: Lpn) -> Option<Domain> {
        self.window.as_ref()?;
        let domain = self.filling_untimed(self.streams.group, self.stream_of_host(lpn))?;
        let waits = self.streams.apart() || self.accepts(domain) || self.may_gain(domain);
        waits.then_some(domain)
    }

    /// The domain whose group of the host of a stream fills, if one does.
    fn filling_untimed(&self, group: PoolId, stream: Stream) -> Option<Domain> {
        let block = self.window.as_ref()?.filling[self.filling_at(group, stream)];
        (block != NONE).then(|| self.geometry.domain_of(Block(block)))
    }

    /// Index of the group being filled by a reclaim group's stream.
    fn filling_at(&self, group: PoolId, stream: Stream) -> usize {
        (group.0 * self.streams.count + stream.0) as usize
    }

    /// The stream of a block that is being filled.
    fn stream_at(&self, domain: Domain, block: Block) -> Stream {
        let all = &self.streams.frontier[self.streams.of_domain(domain)];
        let place = all.iter().position(|frontier| frontier.block == Some(block));
        Stream(place.expect("a page was written to a frontier") as u32)
    }

    /// Notes a placed untimed host page.
    #[inline]
    pub(super) fn note_place(&mut self, block: Block, page: u32) {
        if self.window.is_none() {
            return;
        }
        let domain = self.geometry.domain_of(block);
        let stream = self.stream_at(domain, block);
        let filling = self.filling_at(self.group_of_block(block), stream);
        if let Some(window) = &mut self.window {
            window.note_written(domain, 1);
            self.counters.groups += u64::from(window.wrote(filling, block, page));
        }
    }

    /// Notes a placed untimed moved page. Where copies have frontiers of their own their groups are
    /// counted by the victim, unless it `folds` to several.
    #[inline]
    pub(super) fn note_copy(&mut self, Programming { block, ppn, .. }: Programming, folds: bool) {
        if let Some(window) = &mut self.window
            && (folds || !self.streams.apart())
        {
            let page = self.geometry.page_in_block(ppn);
            self.counters.groups += u64::from(window.ends_group(block, page));
        }
    }

    pub(super) fn note_erased(&mut self, block: Block) {
        if let Some(window) = &mut self.window {
            window.forget(block);
        }
    }

    /// Makes all untimed writes durable: of a buffer that a power cut empties the group that fills
    /// is padded, and it is empty.
    pub(crate) fn flush_untimed(&mut self, flash: &mut Flash) {
        if !self.is_volatile_untimed() {
            return;
        }
        self.pad_untimed(flash);
        if let Some(window) = &mut self.window {
            while !window.groups.is_empty() {
                window.leave();
            }
        }
    }

    fn is_volatile_untimed(&self) -> bool {
        self.window.as_ref().is_some_and(|window| window.room.volatile)
    }

    /// Pads the host's groups.
    fn pad_untimed(&mut self, flash: &mut Flash) {
        for group in (0..self.geometry.reclaim_groups).map(PoolId) {
            for stream in (0..self.streams.count).map(Stream) {
                while let Some(domain) = self.filling_untimed(group, stream) {
                    self.pad_one_untimed(flash, domain, stream);
                }
            }
        }
    }

    /// Pads the next page of a stream.
    pub fn pad_one_untimed(&mut self, flash: &mut Flash, domain: Domain, stream: Stream) {
        let programming = self.begin_padding(domain, stream);
        self.complete_program(flash, programming);
        self.counters.padded();
        self.note_place(programming.block, self.geometry.page_in_block(programming.ppn));
    }

    /// Cleans a domain as far as untimed writes have come, and until the host has room.
    pub(super) fn clean_steadily(&mut self, flash: &mut Flash, unit: Unit) {
        // With a buffer a unit is one domain.
        let domain = Domain(unit.0);
        let pages = u64::from(self.geometry.data_pages);
        loop {
            let Some(window) = &self.window else { return };
            if let Some(victim) = window.victims[domain.at()] {
                let moved = u64::from(victim.next) * u64::from(window.shape.units);
                let is_due = moved * victim.gains < victim.written * pages;
                if !is_due && self.accepts(domain) {
                    return;
                }
                self.clean_group(flash, domain);
                continue;
            }
            if !self.needs_cleaning(unit) || self.gains_nothing(domain) {
                return;
            }
            let Some(job) = self.begin_cleaning(flash, unit, true) else { return };
            let gains = pages - u64::from(self.blocks.valid[job.source.at()]);
            let victim = Victim { job, next: 0, gains, written: 0 };
            if let Some(window) = &mut self.window {
                window.victims[domain.at()] = Some(victim);
            }
        }
    }

    /// The victim of a domain, if it has one, is emptied and erased.
    pub fn finish_victim(&mut self, flash: &mut Flash, domain: Domain) {
        while self.clean_group(flash, domain) {}
    }

    /// Empties a block without waiting for the host, and erases it.
    pub fn empty_at_once(&mut self, flash: &mut Flash, job: Relocation) {
        let Some(window) = &mut self.window else { return self.clean_untimed(flash, job) };
        window.victims[job.domain.at()] = Some(Victim { job, next: 0, gains: 0, written: 0 });
        self.finish_victim(flash, job.domain);
    }

    /// Moves the valid pages of the next group of a domain's victim, and erases it after the last
    /// one; whether there is one.
    fn clean_group(&mut self, flash: &mut Flash, domain: Domain) -> bool {
        let Some(window) = &mut self.window else { return false };
        let Some(victim) = &mut window.victims[domain.at()] else { return false };
        let (first, count) = (victim.next * window.shape.units, window.shape.units_of(victim.next));
        victim.next += 1;
        let (mut job, is_last) = (victim.job, victim.next == window.shape.per_block);
        let next_count = window.shape.units_of(victim.next);
        self.move_pages(flash, &mut job, (first, count));
        if !is_last {
            // The host writes some pages first.
            let next = self.geometry.ppn(job.source, first + count);
            self.ahead.begin(domain, next, next_count.min(BATCH));
            flash.prefetch_stamps(Ppn(next.0 + u64::from(next_count)), count);
        }
        let Some(window) = &mut self.window else { return false };
        if let Some(victim) = &mut window.victims[domain.at()] {
            victim.job = job;
        }
        if is_last {
            window.victims[domain.at()] = None;
            self.victim_moved(flash, domain, job.source, job.moved);
            if let Some(job) = self.complete_erase(flash, job) {
                self.migrate_gathered(flash, job);
            }
        }
        true
    }

    /// Moves cold data into a worn block, and pads the rest.
    fn migrate_gathered(&mut self, flash: &mut Flash, job: Relocation) {
        let domain = job.domain;
        for page in 0..self.geometry.data_pages {
            let from = self.geometry.ppn(job.source, page);
            if let Some(lpn) = self.valid_at(flash, from) {
                let is_lost = flash.is_lost(from);
                let programming = self.program_cold(domain, lpn);
                if is_lost && let Some(media) = flash.media_mut() {
                    media.losses_mut().poison(programming.ppn.0);
                }
                self.carry_temperature(job.source, programming);
                self.counters.migrations += 1;
                self.count_copy(lpn);
                self.complete_program(flash, programming);
            }
        }
        while self.left_for_cold(domain) > 0 {
            let programming = self.pad_cold(domain);
            self.complete_program(flash, programming);
            self.counters.padding += 1;
        }
        let groups = self.geometry.groups.map_or(0, |groups| groups.per_block);
        self.counters.groups += u64::from(groups);
        let levelling = self.complete_erase(flash, job);
        debug_assert!(levelling.is_none(), "no data follows into a block that was cold");
    }

    /// Ends a victim without valid pages, and updates the groups. Before an erasure a volatile
    /// buffer programs, with padding, the copies and the data that supersede the other pages.
    fn victim_moved(&mut self, flash: &mut Flash, domain: Domain, source: Block, moved: u32) {
        let copies = self.tells_handles().then(|| self.stream_of_copies_from(source));
        let folds_by_handle = self.folds_by_handle(source);
        let Some(window) = &mut self.window else { return };
        let pages = self.geometry.data_pages;
        window.valid += LAST_VICTIM * (f64::from(moved) / f64::from(pages) - window.valid);
        window.measure();
        let is_volatile = window.room.volatile;
        if self.streams.apart() && !folds_by_handle {
            let stream = copies.unwrap_or(Stream::SECOND);
            let frontier = self.streams.of(domain, stream);
            let end = u64::from(self.streams.frontier[frontier.at()].next) + u64::from(pages);
            let begin = end - u64::from(moved);
            self.counters.groups += window.groups_in(end) - window.groups_in(begin);
        }
        if !is_volatile {
            return;
        }
        for stream in (0..self.streams.count).map(Stream) {
            if self.is_of_copies(stream) || !self.streams.apart() {
                self.pad_frontier(flash, domain, stream);
            }
        }
        self.pad_untimed(flash);
    }

    /// Pads the rest of the group on a frontier.
    fn pad_frontier(&mut self, flash: &mut Flash, domain: Domain, stream: Stream) {
        let frontier = self.streams.of(domain, stream);
        let units = self.window.as_ref().map_or(1, |window| window.shape.units);
        loop {
            let next = self.streams.frontier[frontier.at()].next;
            if next == self.geometry.data_pages || next.is_multiple_of(units) {
                return;
            }
            let programming = self.begin_padding(domain, stream);
            self.complete_program(flash, programming);
            self.counters.padding += 1;
            if let Some(window) = &mut self.window {
                self.counters.groups += u64::from(window.ends_group(programming.block, next));
            }
        }
    }

    /// True if a victim would gain no more than the padding of a group of each stream, and the host has room.
    fn gains_nothing(&self, domain: Domain) -> bool {
        if !self.is_volatile_untimed() || !self.accepts(domain) {
            return false;
        }
        let pages = self.geometry.data_pages;
        let units = self.window.as_ref().map_or(0, |window| window.shape.units);
        let frontiers = match self.streams.told {
            Told::Heat => 2,
            Told::Handles => self.fdp().map_or(1, super::handles::Fdp::count),
            _ => 1,
        };
        pages - self.least_valid(domain).min(pages) <= 2 * frontiers * units
    }
}
