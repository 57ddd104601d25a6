//! Pages placed when a unit is free: a unit does one operation at a time, and what it does next,
//! the classes of work are asked in turn.
//!
//! Bound units begin operations together, and only of one kind. Nothing here books the future: a unit is asked when
//! it can begin something.

use crate::Ssd;
use crate::cache::{PageId, PageOp, Phase};
use crate::config::PairCommands;
use crate::die::{OpKind, UnitEnd, Work, op};
use crate::ftl::{Programming, Relocation, Step};
use crate::ids::{Lpn, PoolId, Ppn, Unit};
use crate::page::{Access, Need, Owner, PageDone, PageRequest, PageWork, Spent};
use crate::power::planted::Bug;
use crate::timeline::{Finished, Word};
use engine::{Handle, Status};

/// Treatment of a victim's next page.
enum Target {
    /// Destination unit.
    Unit(Unit),
    /// Suitable units are busy with other copies.
    Later,
    /// No other unit takes it: it stays in its own unit.
    Nobody,
}

impl Ssd {
    // ---- pages come ------------------------------------------------------------------------------

    /// Takes a page request: it is queued, or done at once. When all of one instant are taken,
    /// [`serve_offered`](Ssd::serve_offered) lets bound units begin.
    #[expect(clippy::inline_always, reason = "every page passes here, from two places")]
    #[inline(always)]
    pub(crate) fn accept(&mut self, request: &PageRequest) -> Option<PageDone> {
        let status = match self.ftl.need(request) {
            Need::Page(work, range) => {
                let page = self.queues.insert(request, work, range);
                self.enqueue(page);
                return None;
            }
            Need::Unmapped => {
                self.ftl.counters.unmapped_reads += u64::from(request.touched.1);
                Status::Ok
            }
            Need::Refused => {
                self.ftl.counters.page_refused(request.touched.1, u64::from(request.bytes));
                Status::ReadOnly
            }
        };
        Some(PageDone { owner: request.owner, status, spent: Some(Spent::default()) })
    }

    /// Queues a page at its unit.
    #[inline]
    fn enqueue(&mut self, id: PageId) {
        let PageOp { work, lpn, .. } = *self.queues.page(id);
        let mut at = Ppn(0);
        let spans = self.ftl.pools_span_units();
        if !work.writes() && (spans || !self.units.is_uniform()) {
            at = self.ftl.lookup(lpn).expect("only mapped pages are read");
        }
        let unit = match self.ftl.geometry().pool_of(lpn) {
            pool if !spans => self.ftl.only_unit_of(pool),
            pool if work.writes() => self.choose_unit(pool, None),
            _ => self.ftl.geometry().unit_holding(at),
        };
        if work.writes() {
            // The page is looked up when it is programmed.
            self.ftl.prefetch(lpn);
        }
        let now = self.clock.now;
        self.queues.enqueue(id, unit, at, self.jobs.cleaning_ns(unit, now), now);
        if self.queues.is_simple() && !self.is_idle(unit) {
            if matches!(work, PageWork::Read | PageWork::ReadForWrite) && self.units.may_stop() {
                self.stop_for_read(unit);
            }
            return;
        }
        if let Some(set) = self.queues.set_of(unit) {
            self.queues.offer(set);
        } else {
            self.serve_unit(unit, None);
            self.serve_called();
        }
    }

    /// A read waits for a unit: what that programs or erases stops, if it may. Cleaning that does not yield does not.
    #[inline]
    fn stop_for_read(&mut self, unit: Unit) {
        let blocks = self.jobs.block();
        let may_stop = |work: &Work| match work {
            Work::Page(..) => true,
            Work::Move(_) | Work::Erase(_) => !blocks,
            Work::Stream(..) => false,
        };
        if self.units.stop_for_read(unit, may_stop, &mut self.clock) {
            self.ftl.counters.suspensions += 1;
        }
    }

    /// After a suspension for reads, or the end of one: starts the next read, or resumes the
    /// operation.
    fn serve_stopped(&mut self, unit: Unit) {
        if self.units.lets_pass(unit)
            && let Some(id) = self.queues.take_read(unit)
        {
            let Some(other) = self.new_holder(id, unit) else {
                return self.start(unit, id, None);
            };
            return self.hand_over(id, unit, other);
        }
        let resumed = self.units.resume(unit, &mut self.clock);
        if matches!(resumed, Some(Work::Move(_) | Work::Erase(_))) {
            self.jobs.begin_operation(unit, self.clock.now);
        }
    }

    /// Gives bound units the pages queued at this instant: the pages of a request begin together,
    /// not the first of them alone.
    #[inline]
    pub(crate) fn serve_offered(&mut self) {
        while let Some(set) = self.queues.next_offered() {
            self.serve_set(set);
            self.serve_called();
        }
    }

    // ---- which unit ------------------------------------------------------------------------------

    /// Among the units of a pool: one with room, else one where cleaning makes some, and of those
    /// the one with the shortest queue, then the fewest valid pages.
    ///
    /// A unit that is bound to a busy one counts as busy: it would look free while it must wait for the
    /// other's cleaning, and take all writes. Not so in the set that is being asked: there each unit counts for itself.
    fn choose_unit(&self, pool: PoolId, asked: Option<u32>) -> Unit {
        if !self.ftl.pools_span_units() {
            return self.ftl.only_unit_of(pool);
        }
        let units = self.ftl.units_of(pool);
        let rank = |unit: &Unit| {
            let busy = usize::from(!self.could_begin(*unit, asked));
            let (hopeless, full, reclaimable) = self.ftl.standing(pool, *unit);
            let length = self.queues.length(*unit) + busy;
            (full, hopeless && !self.jobs.has_job(*unit), length, reclaimable)
        };
        units.min_by_key(rank).expect("a pool has a unit")
    }

    /// An idle unit can begin, if those bound to it are idle, or their set is the one that is being asked.
    fn could_begin(&self, unit: Unit, asked: Option<u32>) -> bool {
        match self.queues.set_of(unit) {
            Some(set) if asked != Some(set) => self.is_set_idle(set),
            _ => self.is_idle(unit),
        }
    }

    /// True if no lane of a unit is busy or waits for an incoming copy.
    #[expect(clippy::inline_always, reason = "asked several times for every operation")]
    #[inline(always)]
    fn is_idle(&self, unit: Unit) -> bool {
        self.units.is_idle(unit) && (self.units.granule().span > 1 || !self.jobs.is_busy(unit))
    }

    /// The unit to which the page of a waiting read has moved, which only wide pools allow.
    #[inline]
    fn new_holder(&self, id: PageId, unit: Unit) -> Option<Unit> {
        if !self.ftl.pools_span_units() || self.queues.page(id).work.is_of_drive() {
            return None;
        }
        let holder = self.ftl.lookup(self.queues.page(id).lpn)?;
        let holder = self.ftl.geometry().unit_holding(holder);
        (holder != unit).then_some(holder)
    }

    /// The unit that a write should wait at when its own has no room and nothing to clean.
    fn better_unit(&self, unit: Unit, lpn: Lpn) -> Option<Unit> {
        if self.jobs.has_job(unit) {
            return None;
        }
        let pool = self.ftl.geometry().pool_of(lpn);
        let other = self.choose_unit(pool, self.queues.set_of(unit));
        // A unit in the same situation would only return the write.
        let (hopeless, ..) = self.ftl.standing(pool, other);
        (other != unit && !hopeless).then_some(other)
    }

    // ---- next operation of a unit --------------------------------------------------------------

    /// Asks a unit for its next operation, if it can start one, then the units it passed pages to.
    #[inline]
    pub(crate) fn serve(&mut self, unit: Unit) {
        self.ask(unit);
        self.serve_called();
    }

    /// Asks all called units.
    #[inline]
    fn serve_called(&mut self) {
        while let Some(unit) = self.queues.next_called() {
            self.ask(unit);
        }
    }

    #[inline]
    fn ask(&mut self, unit: Unit) {
        match self.queues.set_of(unit) {
            Some(set) => self.serve_set(set),
            None => self.serve_unit(unit, None),
        }
    }

    /// Bound units that are idle are asked for operations of one kind after another, until one begins. Cleaning that
    /// does not yield comes first, then the kind of the page that has waited longest, then the other, then the rest.
    fn serve_set(&mut self, set: u32) {
        if !self.is_set_idle(set) {
            return;
        }
        let [first, second] = self.queues.first_phases(set);
        let phases = if self.jobs.block() {
            [Phase::Move, Phase::Erase, first, second]
        } else {
            [first, second, Phase::Move, Phase::Erase]
        };
        for phase in phases {
            for place in 0..self.queues.units_of(set).len() {
                self.serve_unit(self.queues.units_of(set)[place], Some(phase));
            }
            if !self.is_set_idle(set) {
                return;
            }
        }
    }

    fn is_set_idle(&self, set: u32) -> bool {
        self.queues.units_of(set).iter().all(|unit| self.is_idle(*unit))
    }

    /// Gives a unit its next operation, of kind `only` if one is given.
    #[inline]
    fn serve_unit(&mut self, unit: Unit, only: Option<Phase>) {
        if !(self.queues.overlaps() || self.is_idle(unit)) {
            return;
        }
        if self.units.has_stopped(unit) {
            return self.serve_stopped(unit);
        }
        if self.queues.is_simple()
            && !self.jobs.has_job(unit)
            && !self.queues.has_stalled(unit)
            && !self.ftl.needs_cleaning(unit)
            && self.begin_first_read(unit)
        {
            return;
        }
        let waiting = self.queues.has_waiting(unit);
        if !self.jobs.has_job(unit) {
            if self.wants_cleaning(unit, waiting) {
                self.choose_victim_for(unit, waiting);
            } else if self.config.pair_commands == PairCommands::TwoPlane {
                self.clean_with_pair(unit);
            }
        }
        if !self.jobs.has_job(unit) {
            if (!waiting || self.serve_pages(unit, only)) && self.ftl.keeps_logs() {
                self.merge_for_stalled(unit, only);
            }
            return;
        }
        self.serve_classes(unit, only);
    }

    /// Classes of work for a unit with a victim.
    #[inline]
    fn serve_classes(&mut self, unit: Unit, only: Option<Phase>) {
        let cleans_first = self.jobs.block();
        if cleans_first {
            self.serve_cleaning(unit, only);
        }
        let goes_on = !self.queues.has_waiting(unit) || self.serve_pages(unit, only);
        if goes_on && !cleans_first {
            self.serve_cleaning(unit, only);
        }
    }

    // ---- page requests ---------------------------------------------------------------------------

    /// Starts the waiting pages that can start, the first first; writes without room step aside, in
    /// order. Where one is handed to another unit, both are asked anew, the other first: then `false`.
    #[inline]
    fn serve_pages(&mut self, unit: Unit, only: Option<Phase>) -> bool {
        let held = self.jobs.has_job(unit) && self.jobs.block();
        if held || self.jobs.is_busy(unit) {
            return true;
        }
        if self.queues.has_stalled(unit)
            && only.is_none_or(|only| only == Phase::Write)
            && let Some(goes_on) = self.serve_stalled(unit)
        {
            return goes_on;
        }
        self.serve_waiting(unit, only)
    }

    /// Serves writes that found no room; nothing where others may follow now, and `false` where one
    /// was handed over.
    fn serve_stalled(&mut self, unit: Unit) -> Option<bool> {
        while let Some(first) = self.queues.take_stalled(unit, &self.units) {
            let id = match first {
                Ok(id) => id,
                Err(id) => {
                    // It is next, unless it must wait for cleaning anyway.
                    let PageOp { lpn, handle, .. } = *self.queues.page(id);
                    let pool = self.ftl.geometry().pool_of(lpn);
                    self.ftl.write_with(handle);
                    return (self.ftl.room_for(pool, unit) > 0).then_some(true);
                }
            };
            match self.start_write(unit, id) {
                Started::Here => {}
                Started::At(other) => {
                    self.hand_over(id, unit, other);
                    return Some(false);
                }
                Started::Not => {
                    self.queues.stall(unit, id, true);
                    break;
                }
            }
        }
        None
    }

    /// Waiting pages; `false` where one was handed over.
    #[inline]
    fn serve_waiting(&mut self, unit: Unit, only: Option<Phase>) -> bool {
        while let Some(id) = self.queues.take_next(unit, only, &self.units) {
            if self.queues.page(id).work.writes() {
                let first = !self.queues.has_stalled(unit);
                let started = if first { self.start_write(unit, id) } else { Started::Not };
                match started {
                    Started::Here => {}
                    Started::Not => self.queues.stall(unit, id, false),
                    Started::At(other) => {
                        self.hand_over(id, unit, other);
                        return false;
                    }
                }
            } else if let Some(other) = self.new_holder(id, unit) {
                self.hand_over(id, unit, other);
                return false;
            } else {
                self.start(unit, id, None);
                if !self.queues.overlaps() {
                    return true;
                }
            }
        }
        true
    }

    /// Starts the most frequent operation of a simple unit: the read that has waited longest.
    /// Returns true if that was next.
    #[inline]
    fn begin_first_read(&mut self, unit: Unit) -> bool {
        if self.ftl.pools_span_units() {
            return false;
        }
        let Some(id) = self.queues.take_first_read(unit) else { return false };
        self.start(unit, id, None);
        true
    }

    /// Starts a write, if there is room; else it may start at a better unit, unless it must wait for cleaning
    /// here.
    #[inline]
    fn start_write(&mut self, unit: Unit, id: PageId) -> Started {
        let PageOp { work, lpn, handle, .. } = *self.queues.page(id);
        let pool = self.ftl.geometry().pool_of(lpn);
        self.ftl.write_with(handle);
        if work == PageWork::Restore {
            return self.start_restore(unit, id, lpn);
        }
        let domain = if work == PageWork::Merge {
            self.ftl.choose_domain_near(pool, unit, lpn).map(|(domain, near)| {
                let work = match (near, self.ftl.lookup(lpn)) {
                    // Trimmed while waiting: there is nothing left to merge with.
                    (_, None) => PageWork::Write,
                    (true, _) => PageWork::Merge,
                    (false, _) => PageWork::MergeAcross,
                };
                self.queues.set_work(id, work);
                domain
            })
        } else {
            self.ftl.choose_domain(pool, unit, lpn)
        };
        if let Some(domain) = domain {
            self.ftl.keep_shared(&mut self.flash, lpn);
            let programming = self.ftl.begin_program(domain, lpn);
            self.start(unit, id, Some(programming));
            return Started::Here;
        }
        self.better_unit(unit, lpn).map_or(Started::Not, Started::At)
    }

    /// Starts rewriting a page, wherever its pool has room on the unit.
    fn start_restore(&mut self, unit: Unit, id: PageId, lpn: Lpn) -> Started {
        let pool = self.ftl.geometry().pool_of(lpn);
        let Some(domain) = self.ftl.roomiest_on(pool, unit) else { return Started::Not };
        let programming = self.ftl.begin_move(domain, lpn);
        self.start(unit, id, Some(programming));
        Started::Here
    }

    /// Passes a waiting page to another unit, which is asked next, then this one again.
    fn hand_over(&mut self, id: PageId, from: Unit, to: Unit) {
        let now = self.clock.now;
        let cleaning = [from, to].map(|unit| self.jobs.cleaning_ns(unit, now));
        self.queues.hand_over(id, (from, to), cleaning, now);
        self.queues.call(from);
        self.queues.call(to);
    }

    /// A unit begins with a page.
    #[inline]
    fn start(&mut self, unit: Unit, id: PageId, programming: Option<Programming>) {
        let stopping = self.units.waited_for_stop(unit, self.queues.since(id));
        self.queues.begin(unit, id, self.jobs.ended_ns(unit), self.clock.now);
        if stopping > 0 {
            self.queues.waited_for_stop(id, stopping);
        }
        let page = self.queues.page(id);
        let (at, last) = match programming {
            Some(it) => (it.ppn, self.ftl.geometry().is_last(it.ppn)),
            None => (self.place_of_read(page), false),
        };
        let word = match page.work {
            PageWork::Read | PageWork::ReadForWrite | PageWork::MapRead => Word::Read,
            PageWork::Write | PageWork::Restore | PageWork::System | PageWork::MapProgram => {
                Word::Program
            }
            PageWork::Merge | PageWork::MergeAcross => Word::Merge,
        };
        let work = Work::Page(id, programming);
        let granule = self.units.granule();
        if self.queues.is_simple() {
            let kind = page.kind_on(granule, 0);
            let (kind, count) = kind.expect("what reads nothing is no operation");
            self.units.launch_alone(unit, work, word, &op(kind, at, count, last), &mut self.clock);
        } else {
            let kind = |lane| page.kind_on(granule, lane);
            self.units.launch(unit, work, word, (at, last), kind, &mut self.clock);
        }
        self.count_pair_copies();
    }

    #[inline]
    fn count_pair_copies(&mut self) {
        if !self.units.is_uniform() {
            self.ftl.counters.pair_copies += self.units.take_pair_copies();
        }
    }

    /// Position of a page to read: it may have moved while it waited, which is of no interest where
    /// all places cost the same. Pages trimmed meanwhile are read at their former position.
    #[inline]
    fn place_of_read(&self, page: &PageOp) -> Ppn {
        if self.units.is_uniform() || page.work.is_of_drive() {
            return page.at;
        }
        self.ftl.lookup(page.lpn).unwrap_or(page.at)
    }

    // ---- cleaning --------------------------------------------------------------------------------

    /// Lets a unit without a victim choose one.
    fn choose_victim_for(&mut self, unit: Unit, waiting: bool) {
        let job = self.ftl.begin_cleaning(&self.flash, unit, waiting);
        *self.jobs.job_mut(unit) = job;
        if let Some(job) = job.filter(|job| !job.merges()) {
            // Each page is looked up in its turn.
            let geometry = self.ftl.geometry();
            let first = geometry.ppn(job.source, 0);
            self.ftl.prefetch_places(&self.flash, first, geometry.data_pages);
        }
    }

    /// While the other plane of a pair is cleaned: this one is too, if it would be soon, so that
    /// both erase by one command.
    fn clean_with_pair(&mut self, unit: Unit) {
        let geometry = self.ftl.geometry();
        if geometry.has_pairs() && self.jobs.has_job(Unit(unit.0 ^ 1)) {
            let soon = geometry.low_blocks + 1;
            *self.jobs.job_mut(unit) = self.ftl.begin_cleaning_below(&self.flash, unit, soon);
        }
    }

    /// For a write without a suitable log block: the merge that makes room begins.
    fn merge_for_stalled(&mut self, unit: Unit, only: Option<Phase>) {
        if self.queues.has_stalled(unit) && self.is_idle(unit) && !self.jobs.has_job(unit) {
            self.choose_victim_for(unit, true);
            if self.jobs.has_job(unit) {
                self.serve_cleaning(unit, only);
            }
        }
    }

    /// True if a unit without a job should choose a victim.
    #[inline]
    fn wants_cleaning(&self, unit: Unit, waiting: bool) -> bool {
        if self.puts_off && self.ftl.can_put_off_cleaning(unit) {
            return false;
        }
        let idle = || self.ftl.can_use_idle_time(unit);
        self.jobs.begin(self.ftl.needs_cleaning(unit), waiting, idle)
    }

    /// Every unit that would clean soon cleans a block now.
    pub(crate) fn clean_units_now(&mut self) {
        for unit in (0..self.ftl.geometry().units).map(Unit) {
            if !self.jobs.has_job(unit) {
                let soon = self.ftl.geometry().low_blocks + 1;
                *self.jobs.job_mut(unit) = self.ftl.begin_cleaning_below(&self.flash, unit, soon);
                self.serve(unit);
            }
        }
    }

    /// Gives an idle unit the next operation of its cleaning, of kind `only` if one is given.
    #[inline]
    fn serve_cleaning(&mut self, unit: Unit, only: Option<Phase>) {
        if !self.is_idle(unit) || self.jobs.stream() && self.serve_stream(unit) {
            return;
        }
        let Some(job) = self.jobs.job_mut(unit).as_mut() else { return };
        if let Some(only) = only {
            let moves = self.ftl.has_valid_page(&self.flash, job);
            if only != if moves { Phase::Move } else { Phase::Erase } {
                return;
            }
        }
        let step = self.ftl.next_step(&mut self.flash, job);
        let job = *job;
        if step == Step::Over {
            *self.jobs.job_mut(unit) = None;
            return self.queues.call(unit);
        }
        if step == Step::Erase && self.is_barred(job) {
            return self.jobs.bar(unit, self.clock.now);
        }
        self.jobs.unbar(unit);
        self.jobs.begin_operation(unit, self.clock.now);
        match step {
            Step::Move(programming) => self.launch_move(unit, job, programming),
            Step::Erase => self.launch_erase(unit, job),
            Step::Over => unreachable!("it was looked at before"),
        }
    }

    #[inline]
    fn launch_move(&mut self, unit: Unit, job: Relocation, programming: Programming) {
        let kind = self.jobs.kind_of_move();
        let word = match kind {
            _ if job.levels_wear() => Word::Migrate,
            OpKind::CopyBack => Word::CopyBack,
            _ => Word::Move,
        };
        let (at, last) = (programming.ppn, self.ftl.geometry().is_last(programming.ppn));
        let work = Work::Move(programming);
        if self.queues.is_simple() {
            self.units.launch_alone(unit, work, word, &op(kind, at, 1, last), &mut self.clock);
        } else {
            let kind = |_| Some((kind, 1));
            self.units.launch(unit, work, word, (at, last), kind, &mut self.clock);
        }
        self.count_pair_copies();
    }

    fn launch_erase(&mut self, unit: Unit, job: Relocation) {
        let at = (self.ftl.geometry().ppn(job.source, 0), false);
        let kind = |_| Some((OpKind::Erase, 1));
        self.units.launch(unit, Work::Erase(job), Word::Erase, at, kind, &mut self.clock);
    }

    /// A move has ended on a unit where nothing else may begin before the victim is erased: the next page
    /// follows at once, in the same place.
    #[inline]
    fn move_ended(&mut self, flight: u32, unit: Unit, ended: Programming) {
        self.jobs.next_operation(unit, self.clock.now);
        self.ftl.complete_move(&mut self.flash, ended);
        let job = self.jobs.job_mut(unit).as_mut().expect("it is cleaning");
        let next = match self.ftl.next_step(&mut self.flash, job) {
            Step::Move(next) => next,
            Step::Erase => {
                let job = *job;
                self.units.drop_flight(flight);
                return self.launch_erase(unit, job);
            }
            Step::Over => {
                self.units.drop_flight(flight);
                self.jobs.end_operation(unit, self.clock.now);
                *self.jobs.job_mut(unit) = None;
                return self.start_next(unit, false);
            }
        };
        let last = self.ftl.geometry().is_last(next.ppn);
        let op = op(self.jobs.kind_of_move(), next.ppn, 1, last);
        self.units.replace(flight, unit, next, &op, &mut self.clock);
        self.count_pair_copies();
    }

    /// True if a victim still holds the newest programmed copy of a page: another unit is
    /// programming what supersedes it. A power cut would otherwise lose what was written long ago.
    fn is_barred(&self, job: Relocation) -> bool {
        let geometry = self.ftl.geometry();
        let pages = geometry.ppn(job.source, 0)..geometry.ppn(job.source, geometry.data_pages);
        let is_watched = self.ftl.pools_span_units() && !Bug::NoEraseBarrier.is_planted();
        is_watched && self.units.supersede_one_of(&pages)
    }

    /// A program has ended, for which erasures may have waited.
    fn retry_erases(&mut self) {
        for unit in self.jobs.take_barred(self.clock.now) {
            self.serve(unit);
        }
    }

    // ---- copies between two packages of a gang ---------------------------------------------------
    //
    // Section 2.2 and Figure 2 of the 2008 paper: what one of them shifts out, the other shifts in at the same
    // time, so that a page crosses the bus once. The source is free again when its page has crossed, and the
    // next page may follow at once: with enough planes on both sides a page arrives in every transfer time.

    /// Gives the cleaning of an idle unit its next step as a copy to another package, if that is
    /// possible. Returns whether there is nothing else for it to do now.
    fn serve_stream(&mut self, unit: Unit) -> bool {
        let mut job = self.jobs.job(unit).expect("the caller has seen it");
        if job.levels_wear() {
            return false;
        }
        if !self.ftl.has_valid_page(&self.flash, &job) {
            // Pages in transit are safe until they arrive: the erasure waits.
            return self.jobs.streaming(unit) > 0;
        }
        let to = match self.stream_target(unit) {
            Target::Unit(to) => to,
            Target::Later => return true,
            Target::Nobody => return false,
        };
        let Some((from, programming)) = self.ftl.begin_stream(&self.flash, &mut job, to) else {
            return false;
        };
        self.jobs.begin_stream(unit, job, to, self.clock.now);
        self.units.launch_stream((unit, from), (to, programming), &mut self.clock);
        self.count_pair_copies();
        true
    }

    /// The idle unit with the most room in the gang's other packages.
    fn stream_target(&self, unit: Unit) -> Target {
        let geometry = self.ftl.geometry();
        let pool = geometry.domain_pool[self.jobs.job(unit).expect("it cleans").domain.at()];
        let mut target = Target::Nobody;
        let mut most = 0;
        for to in self.ftl.units_of(pool).filter(|to| geometry.share_bus(unit, *to)) {
            let room = self.ftl.room_for(pool, to);
            // Pages that wait go before copies, and so does cleaning that does not yield.
            let held = self.queues.has_waiting(to) || self.jobs.block() && self.jobs.has_job(to);
            if room == 0 || held {
                continue;
            }
            if self.is_idle(to) {
                if room > most {
                    most = room;
                    target = Target::Unit(to);
                }
            } else if most == 0 && self.jobs.takes_part_in_streams(to) {
                target = Target::Later;
            }
        }
        target
    }

    /// The page has arrived. Others may have waited for its destination, or for the last page.
    fn stream_arrived(&mut self, programming: Programming, (from, to): (Unit, Unit)) {
        self.ftl.complete_move(&mut self.flash, programming);
        self.jobs.end_stream(from, to, self.clock.now);
        self.retry_erases();
        for unit in (0..self.ftl.geometry().units).map(Unit) {
            if self.jobs.has_job(unit) {
                self.serve(unit);
            }
        }
        self.serve(to);
        if self.ftl.geometry().is_last(programming.ppn) {
            self.wake_stalled();
        }
    }

    // ---- the end of an operation -----------------------------------------------------------------

    /// A stage of the operation of a lane has ended.
    #[inline]
    pub(crate) fn lane_event(&mut self, lane: u32) {
        match self.units.stage_ended(lane, &mut self.clock) {
            UnitEnd::Nothing => {}
            UnitEnd::Accepts(unit) => self.serve(unit),
            UnitEnd::Lane { unit, word, finished } => {
                self.record_lane(lane, word, finished);
                self.serve(unit);
            }
            UnitEnd::Stopped { unit, work } => {
                if matches!(work, Work::Move(_) | Work::Erase(_)) {
                    self.jobs.end_operation(unit, self.clock.now);
                }
                self.serve(unit);
            }
            UnitEnd::Crossed { flight, from, to, programming, word, finished } => {
                self.record_lane(lane, word, finished);
                let at = (programming.ppn, self.ftl.geometry().is_last(programming.ppn));
                self.units.stream_in(flight, to, at, &mut self.clock);
                self.count_pair_copies();
                self.jobs.end_operation(from, self.clock.now);
                self.serve(from);
            }
            UnitEnd::Ended { flight, unit, word, finished } => {
                self.record_lane(lane, word, finished);
                self.operation_ended(flight, unit, finished);
            }
        }
    }

    /// Records a lane's operation, if enabled.
    #[inline]
    fn record_lane(&mut self, lane: u32, word: Word, finished: Finished) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(lane, word, finished, self.clock.now);
        }
    }

    /// An operation has ended. The owner of a page is notified before units go on, and may submit more requests.
    #[inline]
    fn operation_ended(&mut self, flight: u32, unit: Unit, finished: Finished) {
        let now = self.clock.now;
        match *self.units.work(flight) {
            Work::Page(page, None) => {
                self.units.drop_flight(flight);
                self.page_of_unit_ended(unit, page, finished);
                return self.start_next(unit, false);
            }
            Work::Move(programming) if self.jobs.clean_alone() => {
                return self.move_ended(flight, unit, programming);
            }
            _ => {}
        }
        let closed = match self.units.take(flight) {
            Work::Page(page, programming) => {
                let closed = programming.is_some_and(|it| {
                    self.ftl.complete_program(&mut self.flash, it);
                    self.closes_for_others(it)
                });
                self.page_of_unit_ended(unit, page, finished);
                closed
            }
            Work::Stream(programming, to) => {
                return self.stream_arrived(programming, (unit, to));
            }
            Work::Move(programming) => {
                self.jobs.end_operation(unit, now);
                self.ftl.complete_move(&mut self.flash, programming);
                self.closes_for_others(programming)
            }
            Work::Erase(job) => {
                self.jobs.end_operation(unit, now);
                *self.jobs.job_mut(unit) = self.ftl.complete_erase(&mut self.flash, job);
                if self.ftl.has_ended() {
                    self.refuse_waiting();
                }
                self.ftl.pools_span_units()
            }
        };
        self.start_next(unit, closed);
    }

    /// Ends a page's operation on a unit, which continues afterwards.
    #[inline]
    fn page_of_unit_ended(&mut self, unit: Unit, page: PageId, finished: Finished) {
        match self.page_ended(page, finished) {
            Some(PageDone { owner: Owner::Drive, .. }) => {
                self.own_page_written(unit);
                self.pump();
            }
            Some(done) => self.tell_owner(&done),
            None => {}
        }
        if !self.front.is_link_clear() {
            self.pump();
        }
    }

    /// The drive has ended: pages that wait to be written are done with.
    #[cold]
    fn refuse_waiting(&mut self) {
        self.queues.refuse_writes(&mut self.ftl.counters);
        for done in self.queues.take_refused() {
            self.tell_owner(&done);
        }
        if !self.front.is_link_clear() {
            self.pump();
        }
    }

    /// The operation of a page has ended: it is done, or queued again for its second half.
    #[inline]
    fn page_ended(&mut self, id: PageId, finished: Finished) -> Option<PageDone> {
        let page = self.queues.spend(id, finished.bus_ns, finished.cell_ns);
        let PageOp { work, range: (_, count), touched, bytes, handle, .. } = *page;
        self.ftl.counters.page_read(work, count, self.units.granule());
        let mut status = Status::Ok;
        match work {
            PageWork::Read
            | PageWork::Restore
            | PageWork::System
            | PageWork::MapRead
            | PageWork::MapProgram => {}
            PageWork::Write | PageWork::Merge | PageWork::MergeAcross => {
                self.ftl.counters.page_written(touched, u64::from(bytes));
                self.ftl.count_host(handle, 1, u64::from(bytes));
            }
            PageWork::ReadForWrite if self.ftl.has_ended() => {
                self.ftl.counters.page_refused(touched, u64::from(bytes));
                status = Status::ReadOnly;
            }
            PageWork::ReadForWrite => {
                self.queues.set_work(id, PageWork::Write);
                self.enqueue(id);
                return None;
            }
        }
        Some(self.queues.finish(id, status))
    }

    /// True if a program closes its block, for which units of the pool may have waited.
    #[inline]
    fn closes_for_others(&self, programming: Programming) -> bool {
        self.ftl.pools_span_units() && self.ftl.geometry().is_last(programming.ppn)
    }

    /// After the end of an operation: gives units what they can begin now. `closed` where a block
    /// of a pool of several units was closed or erased, for which others may have waited.
    #[inline]
    fn start_next(&mut self, unit: Unit, closed: bool) {
        if self.jobs.any_barred() {
            self.retry_erases();
        }
        self.serve_offered();
        self.serve(unit);
        if closed {
            self.wake_stalled();
        }
    }

    /// Looks again at writes that found no room: trimmed pages may be what cleaning was short of, or
    /// another unit of their pool may have room now.
    pub(crate) fn wake_stalled(&mut self) {
        for unit in (0..self.ftl.geometry().units).map(Unit) {
            if self.queues.has_stalled(unit) {
                self.serve(unit);
            }
        }
    }

    // ---- pages of the drive's own ----------------------------------------------------------------

    /// Writes a metadata page on a unit; the drive is notified of its end.
    pub(crate) fn write_own_on_unit(&mut self, unit: Unit) {
        self.queue_for((unit, Owner::Drive), PageWork::System, Lpn(0));
    }

    /// Writes a page anew that lies where a power cut may have harmed it, if there is room.
    pub(crate) fn restore_on_unit(&mut self, lpn: Lpn) -> bool {
        let pool = self.ftl.geometry().pool_of(lpn);
        let Some(domain) = self.ftl.roomiest(pool) else { return false };
        let unit = self.ftl.geometry().unit_of(domain);
        self.queue_for((unit, Owner::Drive), PageWork::Restore, lpn);
        true
    }

    /// Reads a page of the map on a unit.
    pub fn read_map_on_unit(&mut self, unit: Unit, page: u32) {
        if self.queues.is_simple() && !self.is_idle(unit) {
            self.stop_for_read(unit);
        }
        self.queue_for((unit, Owner::Map(page)), PageWork::MapRead, Lpn(0));
    }

    /// Programs pages of the map on a unit.
    pub fn program_map_on_unit(&mut self, unit: Unit) {
        self.queue_for((unit, Owner::Nobody), PageWork::MapProgram, Lpn(0));
    }

    fn queue_for(&mut self, (unit, owner): (Unit, Owner), work: PageWork, lpn: Lpn) {
        let pages = match work {
            PageWork::MapRead => 1,
            _ => self.units.granule().flash_pages,
        };
        let request = PageRequest {
            owner,
            access: Access::Write,
            lpn,
            bytes: 0,
            touched: (0, pages),
            whole: (0, pages),
            covered: true,
            handle: Handle::NONE,
        };
        let page = self.queues.insert(&request, work, (0, pages));
        let now = self.clock.now;
        self.queues.enqueue(page, unit, Ppn(0), self.jobs.cleaning_ns(unit, now), now);
        self.serve(unit);
    }
}

/// Outcome of starting a write.
enum Started {
    Here,
    /// It must start at this unit.
    At(Unit),
    Not,
}
