//! Pages that go through the write buffer: the host's on their way in, copies of cleaning, and the groups on
//! their way to the dies.

use crate::cache::{Asked, Class, Reason as Wait, SlcState, Turn, Waiter, Why};
use crate::clock::DieEvent;
use crate::device::kit::slots::Slot;
use crate::die::{Batch, Cargo, Ended, HostRead, Job, Operation, Place, ReadFor, Row, Rows, Sight};
use crate::ftl::{Ftl, Reason, Relocation};
use crate::ids::{Domain, Lpn, Stream, Unit};
use crate::page::Answer;
use crate::page::{Feature, HeldFor, Longer, Owner, PageWork, Spent};
use crate::timeline::{Finished, Word};
use crate::{Ssd, front};
use engine::{Op, Request, SECTOR_BYTES, Status};

impl Ssd {
    // ---- requests -------------------------------------------------------------------------------

    /// The controller has processed a request.
    pub(crate) fn begin_buffered(&mut self, slot: Slot, request: &Request) {
        self.cache.begin(&mut self.ftl, &mut self.flash);
        self.front.expect(slot, 0);
        match request.op {
            Op::Read => self.begin_reads(slot, request),
            _ => self.begin_write(slot, request),
        }
    }

    /// A read of the host begins: pages in the buffer and unmapped pages are available at once, the rest
    /// is read from the dies, pages of a row together.
    fn begin_reads(&mut self, slot: Slot, request: &Request) {
        let pages = front::touched(self.ftl.geometry(), request);
        if pages.end - pages.start == 1 {
            return self.begin_read(slot, request, Lpn(pages.start));
        }
        self.begin_row_reads(slot, request, |_, lpn| Some(lpn));
    }

    /// `map_pages` for pages under other numbers, or unmapped.
    #[inline]
    pub fn begin_row_reads(
        &mut self,
        slot: Slot,
        request: &Request,
        number: impl Fn(&Ftl, Lpn) -> Option<Lpn>,
    ) {
        let pages = front::touched(self.ftl.geometry(), request);
        let mut rows = Rows::new(self.dies.shape(), self.ftl.geometry().blocks_per_domain);
        let owner = |pages| ReadFor::Request { slot, pages, reads: true };
        for lpn in pages.map(Lpn) {
            let page = front::page_request(self.ftl.geometry(), request, lpn, Owner::Host(slot));
            let Some(number) = number(&self.ftl, lpn) else {
                self.ftl.counters.unmapped_reads += u64::from(page.touched.1);
                continue;
            };
            let Some(place) = self.place_in_flash(number, page.touched.1) else { continue };
            let granule = self.ftl.geometry().granule;
            self.ftl.counters.page_read(PageWork::Read, page.touched.1, granule);
            let bytes = (self.skipped(request, lpn), page.bytes);
            if let Some(row) = rows.add(place, bytes, owner, self.dies.costs()) {
                self.front.expect_read(slot);
                self.dies.read(&row, self.sight(), &mut self.clock);
            }
        }
        if let Some(row) = rows.finish(owner, self.dies.costs()) {
            self.front.expect_read(slot);
            self.dies.read(&row, self.sight(), &mut self.clock);
        }
        self.hear_dies();
        if self.front.expects_nothing(slot) {
            self.answer(slot, Status::Ok, HeldFor::default());
        }
    }

    /// `begin_read` for a single page.
    fn begin_read(&mut self, slot: Slot, request: &Request, lpn: Lpn) {
        let (pages, bytes) = front::part(self.ftl.geometry(), request, lpn);
        let Some(place) = self.place_in_flash(lpn, pages) else {
            return self.answer(slot, Status::Ok, HeldFor::default());
        };
        self.read_in_flash(slot, place, pages, (self.skipped(request, lpn), bytes));
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
    ) {
        let (granule, per_domain) =
            (self.ftl.geometry().granule, self.ftl.geometry().blocks_per_domain);
        self.ftl.counters.page_read(PageWork::Read, pages, granule);
        self.front.expect_read(slot);
        let owner = |pages| ReadFor::Request { slot, pages, reads: true };
        let sight = self.sight();
        self.dies.read_page((place, per_domain), bytes, owner, sight, &mut self.clock);
        self.hear_dies();
    }

    /// Bytes of a logical page before the part that a request reads.
    #[inline]
    pub(crate) fn skipped(&self, request: &Request, lpn: Lpn) -> u32 {
        let start = lpn.0 * u64::from(self.ftl.geometry().sectors_per_page);
        (request.lba.0.saturating_sub(start) * SECTOR_BYTES) as u32
    }

    /// Position of a logical page to read; nothing where it is in the buffer or was never written,
    /// which is counted.
    #[inline]
    pub(crate) fn place_in_flash(&mut self, lpn: Lpn, pages: u32) -> Option<Place> {
        let Some(ppn) = self.ftl.lookup(lpn) else {
            self.ftl.counters.unmapped_reads += u64::from(pages);
            return None;
        };
        let (block, page) = self.ftl.geometry().block_and_page(ppn);
        if self.cache.holds(block, page) {
            self.ftl.counters.buffer_hits += u64::from(pages);
            return None;
        }
        let units = self.dies.shape().units;
        Some(Place { block, group: page / units, unit: page % units, slc: self.ftl.is_slc(block) })
    }

    /// A write of the host begins: what it covers in part is read first.
    fn begin_write(&mut self, slot: Slot, request: &Request) {
        let pages = front::touched(self.ftl.geometry(), request);
        let (first, last) = (pages.start, pages.end - 1);
        self.begin_merge(slot, request, Lpn(first));
        if last != first {
            self.begin_merge(slot, request, Lpn(last));
        }
        if self.front.expects_nothing(slot) {
            self.join(slot);
        }
    }

    /// Reads the rest of a logical page that a write covers in part, if that is needed.
    fn begin_merge(&mut self, slot: Slot, request: &Request, lpn: Lpn) {
        if front::covers(self.ftl.geometry(), request, lpn) {
            return;
        }
        let page = front::page_request(self.ftl.geometry(), request, lpn, Owner::Nobody);
        let Some(place) = self.place_in_flash(lpn, 0) else { return };
        let geometry = self.ftl.geometry();
        let (granule, per_domain) = (geometry.granule, geometry.blocks_per_domain);
        self.ftl.counters.page_read(PageWork::ReadForWrite, page.whole.1, granule);
        let shape = self.dies.shape();
        let owner = |pages| ReadFor::Request { slot, pages, reads: false };
        let page = (place, (0, shape.unit_bytes));
        let mut row = Row::of_page(page, owner, (&shape, per_domain), self.dies.costs());
        if self.features.has(Feature::Ages) {
            row = row.longer(self.retries_of_merge(place));
        }
        self.front.expect_read(slot);
        self.dies.read(&row, self.sight(), &mut self.clock);
        self.hear_dies();
    }

    /// A write waits for the buffer.
    fn join(&mut self, slot: Slot) {
        let request = *self.front.request(slot);
        self.cache.join(slot, request, self.ftl.geometry(), self.clock.now);
    }

    pub(crate) fn answer(&mut self, slot: Slot, status: Status, held: HeldFor) {
        self.front.decide(slot);
        self.answers.push(Answer::Done { slot, status, held });
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
    pub(crate) fn hear_dies(&mut self) {
        if self.dies.have_news() {
            self.hear_news_of_dies();
        }
    }

    #[inline(never)]
    fn hear_news_of_dies(&mut self) {
        while let Some(group) = self.dies.take_begun() {
            self.cache.begins(group);
        }
        self.ftl.counters.suspensions += self.dies.take_suspensions();
    }

    /// Full groups have come to jobs, which dies are given.
    pub fn give_jobs(&mut self) {
        while let Some(Asked { die, job, cleans }) = self.cache.next_job() {
            self.give(die, job, cleans);
        }
    }

    fn give(&mut self, die: u32, job: Job, cleans: bool) {
        self.dies.give(die, job, cleans, self.sight(), &mut self.clock);
        self.hear_dies();
    }

    // ---- writes ---------------------------------------------------------------------------------

    /// Pages of writes come into the buffer until one has to wait, or something else comes first.
    pub(crate) fn admit(&mut self) {
        if self.cache.begins_turn() && self.thermal.is_some() && self.is_too_hot() {
            return self.cache.hold(Wait::Room, self.clock.now);
        }
        loop {
            let (dies, front) = (&self.dies, &self.front);
            let is_open = |slot, request| front.is_open(slot, request);
            let depth = |die| dies.depth(die);
            match self.cache.next(&mut self.ftl, depth, is_open, &mut self.clock) {
                Turn::Over => return self.cache.end_turn(self.clock.now),
                Turn::Through { write, status } => {
                    let refused = !status.is_ok();
                    if self.features.has(Feature::Ages) && !refused {
                        self.end_over_losses(&write.request);
                    }
                    if !refused && self.config.is_volatile() && write.request.fua {
                        return self.await_durable(Waiter::Write(write));
                    }
                    let held = self.cache.held_since(&write, self.clock.now);
                    self.answer(write.slot, status, held);
                }
                Turn::Held(why @ (Why::Meter | Why::Room))
                    if why == Why::Meter || !self.cache.holds_host() =>
                {
                    // Nothing else can help.
                    return self.cache.hold(why.reason(), self.clock.now);
                }
                Turn::Held(why) => return self.stop(why),
                Turn::Page { domain, stream, slot, lpn } => {
                    let to = (domain, stream, Class::Host);
                    if self.ftl.notes_writes {
                        self.put_noted(to, lpn);
                    } else {
                        self.put(to, lpn);
                    }
                    let request = self.front.request(slot).id;
                    let front = &self.front;
                    let is_open = |slot, request| front.is_open(slot, request);
                    self.cache.note_owner(&self.ftl, slot, request, lpn, is_open);
                    if self.cache.pace().begins_burst(false, self.clock.now) {
                        return;
                    }
                    if self.cache.pace().cleans(domain.0) {
                        return self.clean_on(domain);
                    }
                }
            }
        }
    }

    /// The first write has to wait: domains are cleaned as far as they are asked for. If that does not help, the drive
    /// [gets by](Ssd::get_by).
    fn stop(&mut self, why: Why) {
        self.cache.stop(why, self.clock.now);
        if why == Why::Blocks {
            if self.ftl.has_room_elsewhere() {
                // The blocks of other handles have room, and this one needs a block.
                self.ask_all();
            }
            if self.cache.pace().begins_burst(true, self.clock.now) {
                return;
            }
        }
        self.clean_all();
    }

    /// Requests a victim in each domain, whatever the room.
    fn ask_all(&mut self) {
        for domain in 0..self.ftl.geometry().domains {
            self.cache.pace().ask(domain, true);
        }
    }

    /// Handles a first write that waits after all requested cleaning. If nothing is under way that
    /// would make room, the host gets by with less: superseded pages may lie in blocks with held
    /// programs, and then a burst gains nothing. Or a domain has room by the pace, but none that
    /// the host may take.
    pub(crate) fn get_by(&mut self, why: Why) {
        if !self.stands_still() {
            return;
        }
        let now = self.clock.now;
        if why != Why::Blocks {
            self.cache.pace().settle_for_less(now);
            return self.cache.look_again();
        }
        if self.cache.holds_host() {
            self.cache.pace().settle_for_less(now);
            return self.cache.look_again_once(now);
        }
        let domains = (0..self.ftl.geometry().domains).map(Domain);
        let waits = |domain: &Domain| !self.ftl.accepts(*domain) && self.ftl.may_gain(*domain);
        let waiting: Vec<Domain> = domains.filter(waits).collect();
        if !waiting.is_empty() {
            for domain in waiting {
                self.cache.pace().ask(domain.0, true);
            }
            self.clean_all();
            self.cache.look_again_once(now);
        }
    }

    /// Places a page in the flash and in the buffer; a group that is full with it goes to its die.
    fn put(&mut self, to: (Domain, Stream, Class), lpn: Lpn) {
        self.cache.place(&mut self.ftl, to, lpn, &mut self.clock);
        self.give_jobs();
    }

    /// `put` for a host page with snapshots, the newest of which keeps shared pages, or an SLC
    /// cache.
    #[inline(never)]
    fn put_noted(&mut self, to: (Domain, Stream, Class), lpn: Lpn) {
        self.ftl.keep_shared(&mut self.flash, lpn);
        self.put(to, lpn);
        if self.ftl.has_slc() {
            self.fold_on();
        }
    }

    // ---- durability ----------------------------------------------------------------------------

    /// Starts a flush of the buffer.
    pub(crate) fn flush(&mut self, slot: Slot) {
        self.await_durable(Waiter::Flush(slot));
    }

    /// Pads and programs the content of the buffer; this waits for it.
    fn await_durable(&mut self, waiter: Waiter) {
        self.cache.pad_hosts(&mut self.ftl, &mut self.clock);
        self.give_jobs();
        self.cache.await_durable(waiter);
    }

    /// Completes a durability wait.
    pub(crate) fn is_durable(&mut self, waiter: Waiter) {
        match waiter {
            Waiter::Restores => self.answers.push(Answer::Own(Unit(0))),
            Waiter::Flush(slot) => self.answers.push(Answer::Flushed(slot)),
            Waiter::Write(write) => {
                let held = self.cache.held_since(&write, self.clock.now);
                self.answer(write.slot, Status::Ok, held);
            }
        }
    }

    /// Ends a burst that holds host programs without effect. Looks at a waiting write; where a
    /// flush waits, or a page of the drive's own, the burst is over. Returns whether it was so.
    pub(crate) fn end_idle_burst(&mut self) -> bool {
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
            self.cache.pace().settle_for_less(self.clock.now);
        }
        waits
    }

    /// Host and cleaning share the flash otherwise: domains are cleaned, and dies that held programs of the host run.
    pub(crate) fn change_pace(&mut self) {
        self.clean_all();
        self.run_all();
    }

    fn run_all(&mut self) {
        self.dies.run_all(self.sight(), &mut self.clock);
        self.hear_dies();
    }

    // ---- cleaning -------------------------------------------------------------------------------

    /// Cleans all domains as requested.
    fn clean_all(&mut self) {
        (0..self.ftl.geometry().domains).for_each(|domain| self.clean_on(Domain(domain)));
    }

    /// Cleans a domain as requested.
    fn clean_on(&mut self, domain: Domain) {
        while self.clean(domain) {}
    }

    /// Cleans a domain by one more group of a victim, as far as the pace asks for it and the buffer has room. Returns
    /// whether there was one.
    pub(crate) fn clean(&mut self, domain: Domain) -> bool {
        if self.ftl.has_slc() {
            self.fold_on();
        }
        if self.ftl.cares() {
            self.care_for(domain);
        }
        if !self.cache.pace().cleans(domain.0) || self.cache.room_for_copies() == 0 {
            return false;
        }
        if !self.mover.has_victim(domain) {
            if self.mover.is_followed(domain) {
                // Cold data moves next.
                return false;
            }
            let refreshes = self.ftl.may_refresh(domain);
            if !refreshes && self.cache.gains_nothing(&self.ftl, domain) {
                if self.cache.holds_host() {
                    // Or the burst would come to no end.
                    self.cache.pace().settle_for_less(self.clock.now);
                }
                return false;
            }
            if !self.choose_victim(domain) {
                self.cache.pace().ask(domain.0, false);
                return false;
            }
        }
        let most = self.cache.pace().most_batches();
        let folds = self.mover.folds(domain);
        if folds && !self.may_fold() {
            return false;
        }
        let media = (&self.ftl, &self.flash);
        let room = self.cache.room_for_copies();
        let Some(scan) = self.mover.scan(domain, media, room, most) else { return false };
        self.cache.pace().add(domain.0, i64::from(scan.pages));
        if let Some(slc) = self.cache.slc().filter(|_| folds) {
            slc.folds(scan.batches().map(|(batch, _)| batch.reserved()).sum(), self.clock.now);
        }
        for (batch, pages) in scan.batches() {
            self.cache.reserve(batch.reserved());
            let rows = Rows::new(self.dies.shape(), self.ftl.geometry().blocks_per_domain);
            let row = rows.batch(batch, scan.die, (pages, folds), self.dies.costs());
            let row = row.longer(self.retries_of_batch(&batch));
            self.dies.read(&row, self.sight(), &mut self.clock);
            self.hear_dies();
        }
        self.emptied(domain);
        let ends = self.cache.pace().ends_burst(self.clock.now);
        // Without reads, no event informs the waiting writes about the room.
        if ends || scan.is_empty() && self.cache.backlog() > 0 {
            self.cache.ask();
        }
        true
    }

    /// Chooses a victim by the policy; whether there is one, and room to move what it holds.
    fn choose_victim(&mut self, domain: Domain) -> bool {
        let data_pages = self.ftl.geometry().data_pages;
        let needed = u64::from(data_pages) + self.cache.padding_due(domain);
        if self.ftl.room_for_moves(domain) < needed {
            return false;
        }
        if self.ftl.may_refresh(domain)
            && let Some(job) = self.ftl.begin_refresh(domain)
        {
            self.mover.begin(job);
            return true;
        }
        let has_room = self.ftl.free_blocks(domain) > self.ftl.geometry().low_blocks + 1;
        if has_room
            && self.cache.slc().is_some_and(|slc| slc.folds_now())
            && self.ftl.can_fold(domain)
        {
            return self.begin_fold(domain);
        }
        // A requested domain is cleaned before its last block above the threshold is full.
        let asked = u32::from(self.cache.pace().is_asked(domain.0));
        let threshold = self.ftl.geometry().low_blocks + asked + self.ftl.other_handles();
        let job = self.ftl.begin_cleaning_below(&self.flash, Unit(domain.0), threshold);
        let Some(job) = job else { return false };
        if job.reason == Reason::Fold {
            let blocks = self.ftl.slc_blocks();
            if let Some(slc) = self.cache.slc() {
                slc.forces(blocks, self.clock.now);
            }
            // The host waits for it: it continues to the end, whatever the room.
            self.cache.pace().ask(domain.0, true);
            self.mover.begin(job);
            return true;
        }
        let valid = f64::from(self.ftl.valid(job.source)) / f64::from(data_pages);
        self.cache.pace().note_victim(valid);
        self.mover.begin(job);
        true
    }

    /// Schedules the erasure of a completely read victim.
    fn emptied(&mut self, domain: Domain) {
        let Some(job) = self.mover.take_read(domain) else { return };
        self.cache.pace().ask(domain.0, false);
        self.ftl.release_victim(&job);
        if job.levels_wear() {
            self.cache.end_cold(&mut self.ftl, domain, &mut self.clock);
            self.give_jobs();
        }
        let mut after = 0;
        if self.config.is_volatile() {
            // The buffer may be lost: what was moved, and what supersedes the rest, goes first.
            self.cache.pad_copies(&mut self.ftl, domain, &mut self.clock);
            self.cache.pad_hosts(&mut self.ftl, &mut self.clock);
            self.give_jobs();
            after = self.cache.next_number();
        }
        let number = self.mover.erase_after(job, after);
        self.begin_erasure(number);
        if self.cache.holds_host() && self.mover.erasures_wait() {
            self.run_all();
        }
    }

    /// Starts waiting erasures, if permitted.
    pub(crate) fn retry_erasures(&mut self) {
        for number in self.mover.waiting_erasures() {
            self.begin_erasure(number);
        }
    }

    /// Starts erasing a victim, unless copies of its pages are unprogrammed.
    fn begin_erasure(&mut self, number: u32) {
        let (domain, after) = self.mover.waits_for(number);
        if after > 0 && self.cache.is_open(after, domain, self.ftl.geometry()) {
            return;
        }
        for die in self.mover.begin_erasure(number) {
            self.give(die, Job::Erase(number), true);
        }
    }

    /// A batch has been read: its valid pages are buffered.
    fn batch_read(&mut self, batch: &Batch, die: u32) {
        self.cache.unreserve(batch.reserved());
        let mut moved = 0;
        let domain = batch.domain();
        let levels_wear = self.mover.levels_wear(domain);
        let (source, _) = batch.place();
        for ppn in self.mover.batch_read(batch, die, self.ftl.geometry()) {
            if let Some(lpn) = self.ftl.valid_at(&self.flash, ppn) {
                moved += 1;
                let is_lost = self.flash.is_lost(ppn);
                if levels_wear {
                    self.cache.place_cold(&mut self.ftl, domain, lpn, &mut self.clock);
                    self.give_jobs();
                } else {
                    let stream = self.ftl.stream_of_moved(lpn, source);
                    self.put((domain, stream, Class::Copies), lpn);
                }
                if is_lost {
                    self.poison(lpn);
                }
                self.keep_date(lpn, source);
                self.ftl.note_moved(lpn, source);
                self.ftl.count_copy(lpn);
            }
        }
        let counters = &mut self.ftl.counters;
        let count = if levels_wear { &mut counters.migrations } else { &mut counters.moves };
        *count += u64::from(moved);
        self.ftl.count_moved(source, u64::from(moved));
        self.mover.batch_moved(batch, moved);
        self.emptied(domain);
        self.cache.pace().ends_burst(self.clock.now);
        self.cache.ask();
        self.mover.ask(domain);
    }

    /// Completes the erasure of a victim on all dies.
    fn erased(&mut self, job: Relocation) {
        let domain = job.domain;
        let before = self.ftl.room_of(domain.0);
        let folds = job.reason == Reason::Fold;
        let levelling = self.ftl.complete_erase(&mut self.flash, job);
        // A block that is retired, or filled with cold data, does not come back.
        let gained = self.ftl.room_of(domain.0) - before;
        let pages = i64::from(self.ftl.geometry().data_pages);
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
        let mut goes_on = true;
        while goes_on && !self.cache.is_asked() {
            goes_on = self.clean(domain);
        }
        if goes_on {
            self.mover.ask(domain);
        }
        self.cache.ask();
    }

    // ---- the SLC cache ---------------------------------------------------------------------------

    /// Has another block of the cache folded, where that is not left to when space is short.
    fn fold_on(&mut self) {
        let domain = Domain(0);
        let wanted = self.cache.slc().is_some_and(|slc| slc.folds_now());
        let cleans = self.mover.has_victim(domain);
        // While the host rests, a half-cleaned victim comes first: nothing else would go on with
        // it.
        let rests = || self.cache.slc_account().is_some_and(|slc| slc.state() == SlcState::Idle);
        let next =
            if cleans { rests() && self.ftl.slc_blocks() > 0 } else { self.ftl.can_fold(domain) };
        if wanted && next {
            self.cache.pace().ask(domain.0, true);
        }
    }

    fn begin_fold(&mut self, domain: Domain) -> bool {
        let Some(job) = self.ftl.begin_fold(domain) else { return false };
        self.mover.begin(job);
        true
    }

    /// True if the fold rate permits another group.
    fn may_fold(&mut self) -> bool {
        let clock = &mut self.clock;
        self.cache.slc().is_none_or(|slc| slc.may_fold(clock))
    }

    // ---- coordinated cleaning ------------------------------------------------------------------

    /// Domains that are being cleaned.
    pub(crate) fn domains_cleaning(&self) -> u32 {
        let erasing = self.mover.erasing();
        let is_erased =
            |domain| erasing.iter().any(|block| self.ftl.geometry().domain_of(*block) == domain);
        let domains = (0..self.ftl.geometry().domains).map(Domain);
        let is_read = |domain| self.mover.has_victim(domain) && self.cache.is_cleaning(domain);
        domains.filter(|domain| is_read(*domain) || is_erased(*domain)).count() as u32
    }

    /// True if a domain has less room than its target, and a victim would gain some.
    pub(crate) fn some_domain_lacks_room(&self) -> bool {
        let mut domains = (0..self.ftl.geometry().domains).map(Domain);
        domains
            .any(|it| self.cache.lacks_room(it, 0) && self.cache.is_worth_cleaning(&self.ftl, it))
    }

    /// Every domain that would be cleaned soon has a victim cleaned now; where cleaning comes in bursts, one
    /// begins.
    pub(crate) fn clean_domains_now(&mut self) {
        self.cache.begin(&mut self.ftl, &mut self.flash);
        if !self.cache.pace().begins_early(self.clock.now) {
            let soon = self.ftl.geometry().data_pages;
            for domain in (0..self.ftl.geometry().domains).map(Domain) {
                if self.cache.lacks_room(domain, soon)
                    && self.cache.is_worth_cleaning(&self.ftl, domain)
                {
                    self.cache.pace().ask(domain.0, true);
                    self.mover.ask(domain);
                }
            }
        }
        self.ask_machines();
    }

    // ---- ends of die operations ----------------------------------------------------------------

    /// Handles a read whose data are in the die's registers.
    #[inline]
    pub fn read_sensed(&mut self, read: u32) {
        self.dies.sensed(read, self.sight(), &mut self.clock);
        self.hear_dies();
    }

    /// Handles the end of a transfer; whether more may have come of that than what a read of the
    /// host does.
    #[inline]
    pub fn bus_crossed(&mut self, bus: u32) -> bool {
        let sight = self.sight();
        match self.dies.crossed(bus, &mut self.clock) {
            Cargo::Load(die) => {
                self.dies.page_loaded(die, sight, &mut self.clock);
                self.hear_dies();
                false
            }
            Cargo::Read(read) => {
                if let Some(ended) = self.dies.host_read_crossed(read, sight, &mut self.clock) {
                    self.hear_dies();
                    self.host_read_ended(&ended);
                    return false;
                }
                let ended = self.dies.read_crossed(read, sight, &mut self.clock);
                self.hear_dies();
                self.die_ended(Some(ended));
                true
            }
        }
    }

    /// Handles another event of a die.
    pub(crate) fn die_event(&mut self, event: DieEvent) {
        let ended = self.dies.event(event, self.sight(), &mut self.clock);
        self.hear_dies();
        self.die_ended(ended);
    }

    /// Handles the end of a die's operation; the die continues after all machines.
    fn die_ended(&mut self, ended: Option<Ended>) {
        let free = match ended {
            None => return,
            Some(Ended::Row { read, owner }) => {
                let ReadFor::Batch(batch) = owner else { unreachable!("batches have rows") };
                let pages = self.mover.pages_of_row(&batch, &self.ftl, &self.flash);
                let longer_ns = self.retries_of_batch(&batch);
                let row = batch.row();
                return self.dies.read_on(read, row, (pages, longer_ns), &mut self.clock);
            }
            Some(Ended::Read { die, owner, spent, operation }) => {
                self.record(die, operation);
                if let ReadFor::Aged { slot, retry_ns, rebuild_ns, .. } = owner {
                    let (retry, repair) = (retry_ns.into(), rebuild_ns.into());
                    return self.aged_read_ended(slot, die, spent, Longer { retry, repair });
                }
                match owner {
                    ReadFor::Batch(batch) => self.batch_read(&batch, die),
                    ReadFor::Patrol => {}
                    ReadFor::Map(page) => self.map_read(page),
                    ReadFor::Request { slot, .. } | ReadFor::Aged { slot, .. } => {
                        self.row_read(slot, spent);
                    }
                }
                die
            }
            Some(Ended::Task { die, job, operation }) => {
                self.record(die, operation);
                match job {
                    Job::Program { group, .. } => self.pass_done(group, die),
                    Job::Erase(number) => {
                        if let Some(job) = self.mover.die_erased(number) {
                            self.erased(job);
                        }
                    }
                    // It may be the last program that a burst awaited.
                    Job::Parity { .. } | Job::Map => self.cache.note_end(),
                    Job::Own => self.answers.push(Answer::Own(Unit(die))),
                }
                die
            }
        };
        self.ask_machines();
        self.dies.run(free, self.sight(), &mut self.clock);
        self.hear_dies();
    }

    /// Ends a host read at a die, which continues before an answer takes the link.
    #[inline]
    fn host_read_ended(&mut self, ended: &HostRead) {
        debug_assert!(self.answers.is_empty(), "it is all of the event");
        let HostRead { die, slot, spent, started } = *ended;
        if self.recorder.is_some() {
            let finished = Finished { started, cell_ns: 0, bus_ns: spent.bus };
            self.record(die, Operation { word: Word::Read, finished });
        }
        let is_last = self.front.last_read_done(slot, spent);
        self.dies.run(die, self.sight(), &mut self.clock);
        self.hear_dies();
        if is_last {
            self.front.answer_alone(slot, Status::Ok, HeldFor::default(), &mut self.clock);
            self.pump_unless_at_rest();
        }
    }

    /// A read that a write waits for is done.
    fn row_read(&mut self, slot: Slot, spent: Spent) {
        self.front.read_done(slot, spent);
        if self.front.expects_nothing(slot) {
            self.join(slot);
        }
    }

    /// A pass of a group is done.
    fn pass_done(&mut self, group: u32, die: u32) {
        let done = self.cache.pass_done(group, &mut self.ftl, &mut self.flash);
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

    /// Records a die's operation, if enabled.
    fn record(&mut self, die: u32, Operation { word, finished }: Operation) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(die, word, finished, self.clock.now);
        }
    }

    // ---- other events ---------------------------------------------------------------------------

    /// Handles the end of a group's linger time.
    pub(crate) fn lingered(&mut self, group: u32) {
        self.cache.lingered(&mut self.ftl, group, &mut self.clock);
        self.give_jobs();
    }

    /// The write buffer may let in more.
    pub(crate) fn meter_opens(&mut self) {
        self.cache.meter_opens();
        self.cache.ask();
        self.ask_machines();
    }

    /// Writes a page of the drive's own on a die.
    pub(crate) fn write_own_on_die(&mut self, die: u32) {
        self.give(die, Job::Own, false);
    }

    /// Writes pages anew that lie where a power cut may have harmed them, as far as there is room; how many.
    /// An answer to the drive itself says that they are programmed.
    pub(crate) fn restore_buffered(&mut self, lpns: &[Lpn]) -> u32 {
        self.cache.begin(&mut self.ftl, &mut self.flash);
        let mut count = 0;
        for lpn in lpns {
            let domains = (0..self.ftl.geometry().domains).map(Domain);
            let stream = self.ftl.stream_of_copy(*lpn);
            let room = |domain: &Domain| {
                // True if cleaning continues with the rest of a group.
                let left = self.ftl.left_on(*domain, stream) > 0;
                (left, self.ftl.free_blocks(*domain))
            };
            let Some(best) = domains.max_by_key(room).filter(|it| room(it) > (false, 0)) else {
                continue;
            };
            let was = self.ftl.lookup(*lpn);
            let is_lost = was.is_some_and(|ppn| self.flash.is_lost(ppn));
            self.put((best, stream, Class::Copies), *lpn);
            if is_lost {
                self.poison(*lpn);
            }
            count += 1;
        }
        if count > 0 {
            for domain in (0..self.ftl.geometry().domains).map(Domain) {
                self.cache.pad_copies(&mut self.ftl, domain, &mut self.clock);
                self.give_jobs();
            }
            self.cache.await_durable(Waiter::Restores);
        }
        count
    }
}
