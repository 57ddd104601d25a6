//! Pages that go through the write buffer: the host's on their way in, copies of cleaning, and the groups on
//! their way to the dies.

use super::{Cx, Executor, Rename};
use crate::cache::{Asked, Cache, Class, Reason as Wait, Turn, Waiter, Why};
use crate::clock::DieEvent;
use crate::config::SsdConfig;
use crate::device::kit::slots::Slot;
use crate::die::{Batch, Cargo, Dies, Ended, HostRead, Job, Place, ReadFor, Row, Rows, Sight};
use crate::energy::Joules;
use crate::front;
use crate::ftl::{Ftl, Reason, Relocation};
use crate::ids::{Domain, Lpn, Stream, Unit};
use crate::mover::Mover;
use crate::page::{Answer, HeldFor, Longer, Owner, PageDone, PageWork, Spent};
use crate::patrol::Patrol;
use crate::shape::{Geometry, Groups};
use crate::thermal::Thermal;
use crate::timeline::{Finished, Word};
use engine::{Op, Request, SECTOR_BYTES, Status, Time};

/// End of an operation of a die, as far as others learn before the die continues.
#[derive(Clone, Copy)]
pub(crate) enum DieEnd {
    /// Nothing that concerns others.
    Nothing,
    /// A request has been answered: the link may take its turns.
    Answered,
    /// A page is done that is no part of a request, on a die.
    Page { done: PageDone, die: u32 },
    /// Another operation of a die has ended.
    Die(u32),
}

/// The executor of a drive with a write buffer: buffer, dies, victims of domains, patrols, and heat that holds writes.
#[derive(Debug, Clone)]
pub(crate) struct Buffered {
    pub cache: Cache,
    pub dies: Dies,
    pub mover: Mover,
    pub patrol: Option<Box<Patrol>>,
    pub thermal: Option<Box<Thermal>>,
    /// The buffer may be lost.
    is_volatile: bool,
    /// Data age.
    pub(super) ages: bool,
    /// The drive ends beyond these lost dies, and with these unreadable pages.
    pub(super) bears: (u32, u64),
    pub(super) joules: Joules,
    /// The time that a byte written without time takes, ns.
    pub(super) pace_ns: Option<f64>,
}

impl Buffered {
    /// `ages` where data age.
    pub fn new(config: &SsdConfig, geometry: &Geometry, shape: Groups, ages: bool) -> Buffered {
        let dies = Dies::new(config, shape);
        let most_errors = config.health.fail_at_uncorrectable.map_or(u64::MAX, u64::from);
        Buffered {
            cache: Cache::new(config, geometry, shape, dies.costs()),
            mover: Mover::new(config, geometry, shape),
            dies,
            patrol: Patrol::new(config, geometry.blocks()).filter(|_| ages),
            thermal: Thermal::new(config, geometry.groups.as_ref()),
            is_volatile: config.is_volatile(),
            ages,
            bears: (u32::from(config.parity.of > 0), most_errors),
            joules: Joules::new(config),
            pace_ns: None,
        }
    }

    // ---- requests -------------------------------------------------------------------------------

    /// The controller has processed a request.
    pub(crate) fn begin_buffered(&mut self, slot: Slot, request: &Request, cx: &mut Cx<'_>) {
        self.cache.begin(cx.ftl, cx.flash);
        cx.front.expect(slot, 0);
        match request.op {
            Op::Read => self.begin_reads(slot, request, cx),
            _ => self.begin_write(slot, request, cx),
        }
    }

    /// A read of the host begins: pages in the buffer and unmapped pages are available at once, the rest
    /// is read from the dies, pages of a row together.
    fn begin_reads(&mut self, slot: Slot, request: &Request, cx: &mut Cx<'_>) {
        let pages = front::touched(cx.ftl.geometry(), request);
        if pages.end - pages.start == 1 {
            return self.begin_read(slot, request, Lpn(pages.start), cx);
        }
        self.begin_row_reads(slot, request, |_, lpn| Some(lpn), cx);
    }

    /// `map_pages` for pages under other numbers, or unmapped.
    #[inline]
    fn begin_row_reads(
        &mut self,
        slot: Slot,
        request: &Request,
        number: impl Fn(&Ftl, Lpn) -> Option<Lpn>,
        cx: &mut Cx<'_>,
    ) {
        let pages = front::touched(cx.ftl.geometry(), request);
        let mut rows = Rows::new(self.dies.shape(), cx.ftl.geometry().blocks_per_domain);
        let owner = |pages| ReadFor::Request { slot, pages, reads: true };
        for lpn in pages.map(Lpn) {
            let page = front::page_request(cx.ftl.geometry(), request, lpn, Owner::Host(slot));
            let Some(number) = number(cx.ftl, lpn) else {
                cx.ftl.counters.unmapped_reads += u64::from(page.touched.1);
                continue;
            };
            let Some(place) = self.place_in_flash(number, page.touched.1, cx) else { continue };
            let granule = cx.ftl.geometry().granule;
            cx.ftl.counters.page_read(PageWork::Read, page.touched.1, granule);
            let bytes = (Buffered::skipped(request, lpn, cx), page.bytes);
            if let Some(row) = rows.add(place, bytes, owner, self.dies.costs()) {
                cx.front.expect_read(slot);
                self.dies.read(&row, self.sight(), cx.clock);
            }
        }
        if let Some(row) = rows.finish(owner, self.dies.costs()) {
            cx.front.expect_read(slot);
            self.dies.read(&row, self.sight(), cx.clock);
        }
        self.hear_dies(cx);
        if cx.front.expects_nothing(slot) {
            cx.answer(slot, Status::Ok, HeldFor::default());
        }
    }

    /// `begin_read` for a single page.
    fn begin_read(&mut self, slot: Slot, request: &Request, lpn: Lpn, cx: &mut Cx<'_>) {
        let (pages, bytes) = front::part(cx.ftl.geometry(), request, lpn);
        let Some(place) = self.place_in_flash(lpn, pages, cx) else {
            return cx.answer(slot, Status::Ok, HeldFor::default());
        };
        self.read_in_flash(slot, place, pages, (Buffered::skipped(request, lpn, cx), bytes), cx);
    }

    /// Reads bytes of a page, after others of its row.
    #[expect(clippy::inline_always, reason = "every read of a page passes here, from two places")]
    #[inline(always)]
    pub(crate) fn read_in_flash(
        &mut self,
        slot: Slot,
        place: Place,
        pages: u32,
        bytes: (u32, u32),
        cx: &mut Cx<'_>,
    ) {
        let (granule, per_domain) =
            (cx.ftl.geometry().granule, cx.ftl.geometry().blocks_per_domain);
        cx.ftl.counters.page_read(PageWork::Read, pages, granule);
        cx.front.expect_read(slot);
        let owner = |pages| ReadFor::Request { slot, pages, reads: true };
        let sight = self.sight();
        self.dies.read_page((place, per_domain), bytes, owner, sight, cx.clock);
        self.hear_dies(cx);
    }

    /// Bytes of a logical page before the part that a request reads.
    #[inline]
    pub(crate) fn skipped(request: &Request, lpn: Lpn, cx: &Cx<'_>) -> u32 {
        let start = lpn.0 * u64::from(cx.ftl.geometry().sectors_per_page);
        (request.lba.0.saturating_sub(start) * SECTOR_BYTES) as u32
    }

    /// Position of a logical page to read; nothing where it is in the buffer or was never written,
    /// which is counted.
    #[inline]
    pub(crate) fn place_in_flash(
        &mut self,
        lpn: Lpn,
        pages: u32,
        cx: &mut Cx<'_>,
    ) -> Option<Place> {
        let Some(ppn) = cx.ftl.lookup(lpn) else {
            cx.ftl.counters.unmapped_reads += u64::from(pages);
            return None;
        };
        let (block, page) = cx.ftl.geometry().block_and_page(ppn);
        if self.cache.holds(block, page) {
            cx.ftl.counters.buffer_hits += u64::from(pages);
            return None;
        }
        let units = self.dies.shape().units;
        Some(Place { block, group: page / units, unit: page % units, slc: cx.ftl.is_slc(block) })
    }

    /// A host write begins: pages that it covers in part are read first.
    fn begin_write(&mut self, slot: Slot, request: &Request, cx: &mut Cx<'_>) {
        let pages = front::touched(cx.ftl.geometry(), request);
        let (first, last) = (pages.start, pages.end - 1);
        self.begin_merge(slot, request, Lpn(first), cx);
        if last != first {
            self.begin_merge(slot, request, Lpn(last), cx);
        }
        if cx.front.expects_nothing(slot) {
            self.join(slot, cx);
        }
    }

    /// Reads the rest of a logical page that a write covers in part, if that is needed.
    fn begin_merge(&mut self, slot: Slot, request: &Request, lpn: Lpn, cx: &mut Cx<'_>) {
        if front::covers(cx.ftl.geometry(), request, lpn) {
            return;
        }
        let page = front::page_request(cx.ftl.geometry(), request, lpn, Owner::Nobody);
        let Some(place) = self.place_in_flash(lpn, 0, cx) else { return };
        let geometry = cx.ftl.geometry();
        let (granule, per_domain) = (geometry.granule, geometry.blocks_per_domain);
        cx.ftl.counters.page_read(PageWork::ReadForWrite, page.whole.1, granule);
        let shape = self.dies.shape();
        let owner = |pages| ReadFor::Request { slot, pages, reads: false };
        let page = (place, (0, shape.unit_bytes));
        let mut row = Row::of_page(page, owner, (&shape, per_domain), self.dies.costs());
        if self.ages {
            row = row.longer(self.retries_of_merge(place, cx));
        }
        cx.front.expect_read(slot);
        self.dies.read(&row, self.sight(), cx.clock);
        self.hear_dies(cx);
    }

    /// A write waits for the buffer.
    fn join(&mut self, slot: Slot, cx: &mut Cx<'_>) {
        let request = *cx.front.request(slot);
        self.cache.join(slot, request, cx.ftl.geometry(), cx.clock.now);
    }

    // ---- consequences --------------------------------------------------------------------------

    pub(crate) fn sight(&self) -> Sight {
        Sight {
            holds_host: self.cache.holds_programs() && !self.mover.erasures_wait(),
            backlog: self.cache.backlog(),
        }
    }

    /// True if no die's operation would make room.
    fn stands_still(&self) -> bool {
        self.mover.stands()
            && !self.cache.waits_to_fold()
            && self.dies.stand(self.cache.holds_programs())
    }

    /// Dies have begun to load groups, or have stopped operations for reads.
    #[inline]
    pub(crate) fn hear_dies(&mut self, cx: &mut Cx<'_>) {
        if self.dies.have_news() {
            self.hear_news_of_dies(cx);
        }
    }

    #[inline(never)]
    fn hear_news_of_dies(&mut self, cx: &mut Cx<'_>) {
        while let Some(group) = self.dies.take_begun() {
            self.cache.begins(group);
        }
        cx.ftl.counters.suspensions += self.dies.take_suspensions();
    }

    /// Passes the jobs of full groups to the dies.
    fn give_jobs(&mut self, cx: &mut Cx<'_>) {
        while let Some(Asked { die, job, cleans }) = self.cache.next_job() {
            self.give(die, job, cleans, cx);
        }
    }

    fn give(&mut self, die: u32, job: Job, cleans: bool, cx: &mut Cx<'_>) {
        self.dies.give(die, job, cleans, self.sight(), cx.clock);
        self.hear_dies(cx);
    }

    // ---- writes ---------------------------------------------------------------------------------

    /// Pages of writes come into the buffer until one has to wait, or something else comes first.
    pub(crate) fn admit(&mut self, cx: &mut Cx<'_>) {
        if self.cache.begins_attempt() && self.thermal.is_some() && self.is_too_hot(cx) {
            return self.cache.hold(Wait::Room, cx.clock.now);
        }
        loop {
            let (dies, front) = (&self.dies, &*cx.front);
            let is_open = |slot, request| front.is_open(slot, request);
            let depth = |die| dies.depth(die);
            match self.cache.next(cx.ftl, depth, is_open, cx.clock) {
                Turn::Over => return self.cache.end_attempts(cx.clock.now),
                Turn::Through { write, status } => {
                    let refused = !status.is_ok();
                    if self.ages && !refused {
                        Buffered::end_over_losses(&write.request, cx);
                    }
                    if !refused && self.is_volatile && write.request.fua {
                        return self.await_durable(Waiter::Write(write), cx);
                    }
                    let held = self.cache.held_since(&write, cx.clock.now);
                    cx.answer(write.slot, status, held);
                }
                Turn::Held(why @ (Why::Meter | Why::Room))
                    if why == Why::Meter || !self.cache.holds_host() =>
                {
                    // Nothing else can help.
                    return self.cache.hold(why.reason(), cx.clock.now);
                }
                Turn::Held(why) => return self.stop(why, cx),
                Turn::Page { domain, stream, slot, lpn } => {
                    let to = (domain, stream, Class::Host);
                    if cx.ftl.notes_writes {
                        self.put_noted(to, lpn, cx);
                    } else {
                        self.put(to, lpn, cx);
                    }
                    let request = cx.front.request(slot).id;
                    let front = &*cx.front;
                    let is_open = |slot, request| front.is_open(slot, request);
                    self.cache.note_owner(cx.ftl, slot, request, lpn, is_open);
                    if self.cache.pace().begins_burst(false, cx.clock.now) {
                        return;
                    }
                    if self.cache.pace().cleans(domain.0) {
                        return self.clean_on(domain, cx);
                    }
                }
            }
        }
    }

    /// The first write has to wait: cleans the domains that it needs. If that does not help, the
    /// drive [gets by](Buffered::get_by).
    fn stop(&mut self, why: Why, cx: &mut Cx<'_>) {
        self.cache.stop(why, cx.clock.now);
        if why == Why::Blocks {
            if cx.ftl.tells_handles() {
                // The blocks of other handles have room, and this one needs a block.
                self.ask_all(cx);
            }
            if self.cache.pace().begins_burst(true, cx.clock.now) {
                return;
            }
        }
        self.clean_all(cx);
    }

    /// Requests a victim in each domain, whatever the room.
    fn ask_all(&mut self, cx: &mut Cx<'_>) {
        for domain in 0..cx.ftl.geometry().domains {
            self.cache.pace().ask(domain, true);
        }
    }

    /// Handles the first waiting write, once all requested cleaning is done. If nothing is under way that
    /// would make room, the host gets by with less: superseded pages may lie in blocks with held
    /// programs, and then a burst gains nothing. Or a domain has room by the pace, but none that
    /// the host may take.
    fn get_by(&mut self, why: Why, cx: &mut Cx<'_>) {
        if !self.stands_still() {
            return;
        }
        let now = cx.clock.now;
        if why != Why::Blocks {
            self.cache.pace().settle_for_less(now);
            return self.cache.look_again();
        }
        if self.cache.holds_host() {
            self.cache.pace().settle_for_less(now);
            return self.cache.look_again_once(now);
        }
        let domains = (0..cx.ftl.geometry().domains).map(Domain);
        let waits = |domain: &Domain| !cx.ftl.accepts(*domain) && cx.ftl.may_gain(*domain);
        let waiting: Vec<Domain> = domains.filter(waits).collect();
        if !waiting.is_empty() {
            for domain in waiting {
                self.cache.pace().ask(domain.0, true);
            }
            self.clean_all(cx);
            self.cache.look_again_once(now);
        }
    }

    /// Places a page in the flash and in the buffer; a group that is full with it goes to its die.
    fn put(&mut self, to: (Domain, Stream, Class), lpn: Lpn, cx: &mut Cx<'_>) {
        self.cache.place(cx.ftl, to, lpn, cx.clock);
        self.give_jobs(cx);
    }

    /// `put` for a host page with snapshots, the newest of which keeps shared pages, or an SLC
    /// cache.
    #[inline(never)]
    fn put_noted(&mut self, to: (Domain, Stream, Class), lpn: Lpn, cx: &mut Cx<'_>) {
        cx.ftl.keep_shared(cx.flash, lpn);
        self.put(to, lpn, cx);
        if cx.ftl.has_slc() {
            self.fold_on(cx);
        }
    }

    // ---- durability ----------------------------------------------------------------------------

    /// Starts a flush of the buffer.
    pub(crate) fn flush(&mut self, slot: Slot, cx: &mut Cx<'_>) {
        self.await_durable(Waiter::Flush(slot), cx);
    }

    /// Pads and programs the content of the buffer; this waits for it.
    fn await_durable(&mut self, waiter: Waiter, cx: &mut Cx<'_>) {
        self.cache.pad_hosts(cx.ftl, cx.clock);
        self.give_jobs(cx);
        self.cache.await_durable(waiter);
    }

    /// Completes a durability wait.
    pub(crate) fn is_durable(&mut self, waiter: Waiter, cx: &mut Cx<'_>) {
        match waiter {
            Waiter::Restores => cx.answers.push(Answer::Own(Unit(0))),
            Waiter::Flush(slot) => cx.answers.push(Answer::Flushed(slot)),
            Waiter::Write(write) => {
                let held = self.cache.held_since(&write, cx.clock.now);
                cx.answer(write.slot, Status::Ok, held);
            }
        }
    }

    /// Ends a burst that holds host programs without effect. Tries to admit a waiting write; a
    /// waiting flush or internal page ends the burst. Returns whether it was so.
    fn end_idle_burst(&mut self, cx: &mut Cx<'_>) -> bool {
        let has_ended = self.cache.has_ended();
        if !self.cache.holds_host() || !self.stands_still() {
            return false;
        }
        if has_ended && self.cache.backlog() > 0 {
            self.cache.ask();
            return true;
        }
        let waits = self.cache.is_awaited() || self.dies.have_own_pages();
        if waits {
            self.cache.pace().settle_for_less(cx.clock.now);
        }
        waits
    }

    /// Host and cleaning share the flash otherwise: domains are cleaned, and dies that held programs of the host run.
    fn change_pace(&mut self, cx: &mut Cx<'_>) {
        self.clean_all(cx);
        self.run_all(cx);
    }

    fn run_all(&mut self, cx: &mut Cx<'_>) {
        self.dies.run_all(self.sight(), cx.clock);
        self.hear_dies(cx);
    }

    // ---- cleaning -------------------------------------------------------------------------------

    /// Cleans all domains as requested.
    fn clean_all(&mut self, cx: &mut Cx<'_>) {
        (0..cx.ftl.geometry().domains).for_each(|domain| self.clean_on(Domain(domain), cx));
    }

    /// Cleans a domain as requested.
    fn clean_on(&mut self, domain: Domain, cx: &mut Cx<'_>) {
        while self.clean(domain, cx) {}
    }

    /// Cleans one more group of a domain's victim, if the pace demands it and the buffer has room.
    /// Returns whether there was one.
    pub(crate) fn clean(&mut self, domain: Domain, cx: &mut Cx<'_>) -> bool {
        if cx.ftl.has_slc() {
            self.fold_on(cx);
        }
        if cx.ftl.cares() {
            self.care_for(domain, cx);
        }
        if !self.cache.pace().cleans(domain.0) || self.cache.room_for_copies() == 0 {
            return false;
        }
        if !self.mover.has_victim(domain) {
            if self.mover.is_followed(domain) {
                // Cold data moves next.
                return false;
            }
            let refreshes = cx.ftl.may_refresh(domain);
            if !refreshes && self.cache.gains_nothing(cx.ftl, domain) {
                if self.cache.holds_host() {
                    // Otherwise the burst would never end.
                    self.cache.pace().settle_for_less(cx.clock.now);
                }
                return false;
            }
            if !self.choose_victim(domain, cx) {
                self.cache.pace().ask(domain.0, false);
                return false;
            }
        }
        let most = self.cache.pace().most_batches();
        let folds = self.mover.folds(domain);
        if folds && !self.may_fold(cx) {
            return false;
        }
        let media = (&*cx.ftl, &*cx.flash);
        let room = self.cache.room_for_copies();
        let Some(scan) = self.mover.scan(domain, media, room, most) else { return false };
        self.cache.pace().add(domain.0, i64::from(scan.pages));
        if let Some(slc) = self.cache.slc().filter(|_| folds) {
            slc.folds(scan.batches().map(|(batch, _)| batch.reserved()).sum(), cx.clock.now);
        }
        for (batch, pages) in scan.batches() {
            self.cache.reserve(batch.reserved());
            let rows = Rows::new(self.dies.shape(), cx.ftl.geometry().blocks_per_domain);
            let row = rows.batch(batch, scan.die, (pages, folds), self.dies.costs());
            let row = row.longer(self.retries_of_batch(&batch, cx));
            self.dies.read(&row, self.sight(), cx.clock);
            self.hear_dies(cx);
        }
        self.emptied(domain, cx);
        let ends = self.cache.pace().ends_burst(cx.clock.now);
        // Without reads, no event informs the waiting writes about the room.
        if ends || scan.is_empty() && self.cache.backlog() > 0 {
            self.cache.ask();
        }
        true
    }

    /// Chooses a victim by the policy; true if there is one, and room for its valid pages.
    fn choose_victim(&mut self, domain: Domain, cx: &mut Cx<'_>) -> bool {
        let data_pages = cx.ftl.geometry().data_pages;
        let needed = u64::from(data_pages) + self.cache.padding_due(domain);
        if cx.ftl.room_for_moves(domain) < needed {
            return false;
        }
        if cx.ftl.may_refresh(domain)
            && let Some(job) = cx.ftl.begin_refresh(domain)
        {
            self.mover.begin(job);
            return true;
        }
        let has_room = cx.ftl.free_blocks(domain) > cx.ftl.geometry().low_blocks + 1;
        if has_room
            && self.cache.slc().is_some_and(|slc| slc.folds_now())
            && cx.ftl.can_fold(domain)
        {
            return self.begin_fold(domain, cx);
        }
        // A requested domain is cleaned before its last block above the threshold is full.
        let asked = u32::from(self.cache.pace().is_requested(domain.0));
        let threshold = cx.ftl.geometry().low_blocks + asked + cx.ftl.other_handles();
        let job = cx.ftl.begin_cleaning_below(cx.flash, Unit(domain.0), threshold);
        let Some(job) = job else { return false };
        if job.reason == Reason::Fold {
            let blocks = cx.ftl.slc_blocks();
            if let Some(slc) = self.cache.slc() {
                slc.forces(blocks, cx.clock.now);
            }
            // The host waits for it: it continues to the end, whatever the room.
            self.cache.pace().ask(domain.0, true);
            self.mover.begin(job);
            return true;
        }
        let valid = f64::from(cx.ftl.valid(job.source)) / f64::from(data_pages);
        self.cache.pace().note_victim(valid);
        self.mover.begin(job);
        true
    }

    /// Schedules the erasure of a completely read victim.
    fn emptied(&mut self, domain: Domain, cx: &mut Cx<'_>) {
        let Some(job) = self.mover.take_read(domain) else { return };
        self.cache.pace().ask(domain.0, false);
        cx.ftl.release_victim(&job);
        if job.levels_wear() {
            self.cache.end_cold(cx.ftl, domain, cx.clock);
            self.give_jobs(cx);
        }
        let mut after = 0;
        if self.is_volatile {
            // A volatile buffer may be lost, so moved pages and the data that supersede the others
            // are programmed first.
            self.cache.pad_copies(cx.ftl, domain, cx.clock);
            self.cache.pad_hosts(cx.ftl, cx.clock);
            self.give_jobs(cx);
            after = self.cache.next_number();
        }
        let number = self.mover.erase_after(job, after);
        self.begin_erasure(number, cx);
        if self.cache.holds_host() && self.mover.erasures_wait() {
            self.run_all(cx);
        }
    }

    /// Starts waiting erasures, if permitted.
    fn retry_erasures(&mut self, cx: &mut Cx<'_>) {
        for number in self.mover.waiting_erasures() {
            self.begin_erasure(number, cx);
        }
    }

    /// Starts erasing a victim, unless copies of its pages are unprogrammed.
    fn begin_erasure(&mut self, number: u32, cx: &mut Cx<'_>) {
        let (domain, after) = self.mover.waits_for(number);
        if after > 0 && self.cache.is_open(after, domain, cx.ftl.geometry()) {
            return;
        }
        for die in self.mover.begin_erasure(number) {
            self.give(die, Job::Erase(number), true, cx);
        }
    }

    /// A batch has been read: its valid pages are buffered.
    fn batch_read(&mut self, batch: &Batch, die: u32, cx: &mut Cx<'_>) {
        self.cache.unreserve(batch.reserved());
        let mut moved = 0;
        let domain = batch.domain();
        let levels_wear = self.mover.levels_wear(domain);
        let (source, _) = batch.place();
        for ppn in self.mover.batch_read(batch, die, cx.ftl.geometry()) {
            if let Some(lpn) = cx.ftl.valid_at(cx.flash, ppn) {
                moved += 1;
                let is_lost = cx.flash.is_lost(ppn);
                if levels_wear {
                    self.cache.place_cold(cx.ftl, domain, lpn, cx.clock);
                    self.give_jobs(cx);
                } else {
                    let stream = cx.ftl.stream_of_moved(lpn, source);
                    self.put((domain, stream, Class::Copies), lpn, cx);
                }
                if is_lost {
                    Buffered::poison(lpn, cx);
                }
                Buffered::keep_date(lpn, source, cx);
                cx.ftl.note_moved(lpn, source);
                cx.ftl.count_copy(lpn);
            }
        }
        let counters = &mut cx.ftl.counters;
        let count = if levels_wear { &mut counters.migrations } else { &mut counters.moves };
        *count += u64::from(moved);
        cx.ftl.count_moved(source, u64::from(moved));
        self.mover.batch_moved(batch, moved);
        self.emptied(domain, cx);
        self.cache.pace().ends_burst(cx.clock.now);
        self.cache.ask();
        self.mover.ask(domain);
    }

    /// Completes the erasure of a victim on all dies.
    fn erased(&mut self, job: Relocation, cx: &mut Cx<'_>) {
        let domain = job.domain;
        let before = cx.ftl.room_of(domain.0);
        let folds = job.reason == Reason::Fold;
        cx.ftl.since_erasure.iter_mut().for_each(|it| it.set_time(cx.clock.now));
        let levelling = cx.ftl.complete_erase(cx.flash, job);
        // A block that is retired, or filled with cold data, does not come back.
        let gained = cx.ftl.room_of(domain.0) - before;
        let pages = i64::from(cx.ftl.geometry().data_pages);
        self.cache.pace().add(domain.0, gained.cast_signed() - pages);
        if let Some(job) = levelling {
            // Whatever the room: it takes none, and gains none.
            self.mover.begin(job);
            self.cache.pace().ask(domain.0, true);
        }
        if folds && let Some(slc) = self.cache.slc() {
            slc.folded();
        }
        // Waiting writes precede a group without reads.
        let mut continues = true;
        while continues && !self.cache.is_pending() {
            continues = self.clean(domain, cx);
        }
        if continues {
            self.mover.ask(domain);
        }
        self.cache.ask();
    }

    // ---- ends of die operations ----------------------------------------------------------------

    /// Handles a read whose data are in the die's registers.
    #[inline]
    pub fn read_sensed(&mut self, read: u32, cx: &mut Cx<'_>) {
        self.dies.sensed(read, self.sight(), cx.clock);
        self.hear_dies(cx);
    }

    /// Handles the end of a transfer.
    #[inline]
    pub fn bus_crossed(&mut self, bus: u32, cx: &mut Cx<'_>) -> DieEnd {
        let sight = self.sight();
        match self.dies.crossed(bus, cx.clock) {
            Cargo::Load(die) => {
                self.dies.page_loaded(die, sight, cx.clock);
                self.hear_dies(cx);
                DieEnd::Nothing
            }
            Cargo::Read(read) => {
                if let Some(ended) = self.dies.host_read_crossed(read, sight, cx.clock) {
                    self.hear_dies(cx);
                    return self.host_read_ended(&ended, cx);
                }
                let ended = self.dies.read_crossed(read, sight, cx.clock);
                self.hear_dies(cx);
                self.die_ended(Some(ended), cx)
            }
        }
    }

    /// Handles another event of a die.
    pub(crate) fn die_event(&mut self, event: DieEvent, cx: &mut Cx<'_>) -> DieEnd {
        let ended = self.dies.event(event, self.sight(), cx.clock);
        self.hear_dies(cx);
        self.die_ended(ended, cx)
    }

    /// Handles the end of a die's operation.
    fn die_ended(&mut self, ended: Option<Ended>, cx: &mut Cx<'_>) -> DieEnd {
        match ended {
            None => DieEnd::Nothing,
            Some(Ended::Row { read, owner }) => {
                let ReadFor::Batch(batch) = owner else { unreachable!("batches have rows") };
                let pages = self.mover.pages_of_row(&batch, cx.ftl, cx.flash);
                let longer_ns = self.retries_of_batch(&batch, cx);
                self.dies.read_on(read, batch.row(), (pages, longer_ns), cx.clock);
                DieEnd::Nothing
            }
            Some(Ended::Read { die, owner, spent, operation }) => {
                cx.record(die, operation.word, operation.finished);
                match owner {
                    ReadFor::Aged { slot, retry_ns, rebuild_ns, .. } => {
                        let (retry, repair) = (retry_ns.into(), rebuild_ns.into());
                        return self.aged_read_ended(
                            slot,
                            die,
                            spent,
                            Longer { retry, repair },
                            cx,
                        );
                    }
                    ReadFor::Map(page) => {
                        let (owner, spent) = (Owner::Map(page), Some(spent));
                        return DieEnd::Page {
                            done: PageDone { owner, status: Status::Ok, spent },
                            die,
                        };
                    }
                    ReadFor::Batch(batch) => self.batch_read(&batch, die, cx),
                    ReadFor::Patrol => {}
                    ReadFor::Request { slot, .. } => self.row_read(slot, spent, cx),
                }
                DieEnd::Die(die)
            }
            Some(Ended::Task { die, job, operation }) => {
                cx.record(die, operation.word, operation.finished);
                match job {
                    Job::Program { group, .. } => self.pass_done(group, die, cx),
                    Job::Erase(number) => {
                        if let Some(job) = self.mover.die_erased(number) {
                            self.erased(job, cx);
                        }
                    }
                    // It may be the last program that a burst awaited.
                    Job::Parity { .. } | Job::Map => self.cache.note_end(),
                    Job::Own => cx.answers.push(Answer::Own(Unit(die))),
                }
                DieEnd::Die(die)
            }
        }
    }

    /// The die of an ended operation continues, after all machines.
    pub(crate) fn proceed(&mut self, die: u32, cx: &mut Cx<'_>) {
        self.settle(cx);
        self.dies.run(die, self.sight(), cx.clock);
        self.hear_dies(cx);
    }

    /// Ends a host read at a die, which continues before an answer takes the link.
    #[inline]
    fn host_read_ended(&mut self, ended: &HostRead, cx: &mut Cx<'_>) -> DieEnd {
        debug_assert!(cx.answers.is_empty(), "it is all of the event");
        let HostRead { die, slot, spent, started } = *ended;
        if cx.recorder.is_some() {
            let finished = Finished { started, cell_ns: 0, bus_ns: spent.bus };
            cx.record(die, Word::Read, finished);
        }
        let is_last = cx.front.last_read_done(slot, spent);
        self.dies.run(die, self.sight(), cx.clock);
        self.hear_dies(cx);
        if !is_last {
            return DieEnd::Nothing;
        }
        cx.front.answer_alone(slot, Status::Ok, HeldFor::default(), cx.clock);
        DieEnd::Answered
    }

    /// A read that a write waits for is done.
    fn row_read(&mut self, slot: Slot, spent: Spent, cx: &mut Cx<'_>) {
        cx.front.read_done(slot, spent);
        if cx.front.expects_nothing(slot) {
            self.join(slot, cx);
        }
    }

    /// A pass of a group is done.
    fn pass_done(&mut self, group: u32, die: u32, cx: &mut Cx<'_>) {
        let done = self.cache.pass_done(group, cx.ftl, cx.flash);
        let Some(done) = done else { return };
        if done.has_copies {
            self.mover.ask_for_all();
            self.cache.note_end();
        }
        if done.is_hosts {
            self.dies.count_served(die, done.pages);
            self.cache.ask();
        }
        // An erasure may wait for the successors of the victim's pages as well as for their copies.
        self.mover.note_programmed();
    }

    // ---- other events ---------------------------------------------------------------------------

    /// Handles the end of a group's linger time.
    pub(crate) fn lingered(&mut self, group: u32, cx: &mut Cx<'_>) {
        self.cache.lingered(cx.ftl, group, cx.clock);
        self.give_jobs(cx);
    }

    /// The write buffer may let in more.
    pub(crate) fn meter_opens(&mut self, cx: &mut Cx<'_>) {
        self.cache.meter_opens();
        self.cache.ask();
        self.settle(cx);
    }
}

impl Executor for Buffered {
    #[inline]
    fn begin(&mut self, slot: Slot, request: &Request, cx: &mut Cx<'_>) {
        if self.ages {
            self.begin_aged(slot, request, cx);
        } else {
            self.begin_buffered(slot, request, cx);
        }
    }

    fn begin_renamed(&mut self, slot: Slot, request: &Request, name: &Rename<'_>, cx: &mut Cx<'_>) {
        if self.ages {
            return self.begin_aged_renamed(slot, request, name, cx);
        }
        self.cache.begin(cx.ftl, cx.flash);
        cx.front.expect(slot, 0);
        self.begin_row_reads(slot, request, name, cx);
    }

    fn trimmed(&mut self, _: &mut Cx<'_>) {}

    /// Polls the machines behind the write buffer until none has work: durability, erasures after
    /// programs, the pace, the first waiting write, domains to clean, and finally the burst of
    /// cleaning.
    ///
    /// An admission cleans the domain of its page, and a write that has to wait has all cleaned, before the next one.
    fn settle(&mut self, cx: &mut Cx<'_>) {
        loop {
            if let Some(waiter) = self.cache.next_durable() {
                self.is_durable(waiter, cx);
            } else if self.mover.has_programmed() {
                self.retry_erasures(cx);
            } else if self.cache.pace().has_changed() {
                self.change_pace(cx);
            } else if let Some(why) = self.cache.take_stopped() {
                self.get_by(why, cx);
            } else if self.cache.is_pending() {
                self.admit(cx);
            } else if let Some(domain) = self.mover.next_asked() {
                if self.clean(domain, cx) {
                    self.mover.ask(domain);
                }
            } else if !self.end_idle_burst(cx) {
                return;
            }
        }
    }

    fn write_own(&mut self, unit: Unit, cx: &mut Cx<'_>) {
        self.give(unit.0, Job::Own, false, cx);
    }

    /// Rewrites pages that a power cut may have damaged, as far as there is room. An internal completion reports that
    /// they are programmed.
    fn restore(&mut self, lpns: &[Lpn], cx: &mut Cx<'_>) -> (u32, u32) {
        self.cache.begin(cx.ftl, cx.flash);
        let mut count = 0;
        for lpn in lpns {
            let domains = (0..cx.ftl.geometry().domains).map(Domain);
            let stream = cx.ftl.stream_of_copy(*lpn);
            let room = |domain: &Domain| {
                // True if cleaning continues with the rest of a group.
                let left = cx.ftl.left_on(*domain, stream) > 0;
                (left, cx.ftl.free_blocks(*domain))
            };
            let Some(best) = domains.max_by_key(room).filter(|it| room(it) > (false, 0)) else {
                continue;
            };
            let was = cx.ftl.lookup(*lpn);
            let is_lost = was.is_some_and(|ppn| cx.flash.is_lost(ppn));
            self.put((best, stream, Class::Copies), *lpn, cx);
            if is_lost {
                Buffered::poison(*lpn, cx);
            }
            count += 1;
        }
        if count > 0 {
            for domain in (0..cx.ftl.geometry().domains).map(Domain) {
                self.cache.pad_copies(cx.ftl, domain, cx.clock);
                self.give_jobs(cx);
            }
            self.cache.await_durable(Waiter::Restores);
        }
        (count, count.min(1))
    }

    fn read_map(&mut self, page: u32, (unit, plane): (Unit, u32), cx: &mut Cx<'_>) {
        let row = Row::of_map(page, (unit.0, plane), self.dies.costs());
        self.dies.read(&row, self.sight(), cx.clock);
        self.hear_dies(cx);
    }

    fn program_map(&mut self, unit: Unit, cx: &mut Cx<'_>) {
        self.give(unit.0, Job::Map, false, cx);
    }

    fn end_units(&mut self, units: Vec<(Domain, Stream)>, cx: &mut Cx<'_>) {
        for (domain, stream) in units {
            self.cache.end_unit(cx.ftl, (domain, stream), cx.clock);
            self.give_jobs(cx);
        }
        self.settle(cx);
    }

    /// Every domain that would be cleaned soon has a victim cleaned now; where cleaning comes in bursts, one
    /// begins.
    fn clean_now(&mut self, cx: &mut Cx<'_>) {
        self.cache.begin(cx.ftl, cx.flash);
        if !self.cache.pace().begins_early(cx.clock.now) {
            let soon = cx.ftl.geometry().data_pages;
            for domain in (0..cx.ftl.geometry().domains).map(Domain) {
                if self.cache.lacks_room(domain, soon)
                    && self.cache.is_worth_cleaning(cx.ftl, domain)
                {
                    self.cache.pace().ask(domain.0, true);
                    self.mover.ask(domain);
                }
            }
        }
        self.settle(cx);
    }

    fn put_off_cleaning(&mut self, put_off: bool) {
        self.cache.pace().put_off(put_off);
    }

    fn shut_down(&mut self, cx: &mut Cx<'_>) {
        // Whatever the room: a victim that is half moved is no state that is saved.
        for domain in (0..cx.ftl.geometry().domains).map(Domain) {
            if self.mover.has_victim(domain) {
                self.cache.pace().ask(domain.0, true);
                self.mover.ask(domain);
            }
        }
        self.cache.write_out(cx.ftl, cx.clock);
        self.give_jobs(cx);
        self.settle(cx);
    }

    fn turn_on(&mut self, geometry: &Geometry, now: Time) {
        self.cache.begin_anew(geometry, self.dies.costs(), now);
    }

    fn reset_counts(&mut self, now: Time) {
        self.dies.reset_effort();
        if let Some(slc) = self.cache.slc() {
            slc.reset(now);
        }
        if let Some(thermal) = &mut self.thermal {
            thermal.reset(now, self.joules.at(&self.dies.effort()[0], now));
        }
    }

    fn lose_power(&mut self, geometry: &Geometry, now: Time) {
        self.cache.lose_power(geometry, self.dies.costs());
        self.dies.lose_power(now);
        self.mover.lose_power();
        if let Some(thermal) = &mut self.thermal {
            thermal.was_called();
        }
        if let Some(patrol) = &mut self.patrol {
            patrol.wake();
        }
    }
}
