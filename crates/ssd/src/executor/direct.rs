//! Pages are placed when a unit is free. A unit does one operation at a time, and takes the next
//! from the classes of work in a fixed order.
//!
//! Bound units begin operations together, and only of one kind. No operation is reserved in
//! advance: a unit is polled when it can start one. Copies to other packages are in
//! `direct/streams.rs`.

mod aged;
mod streams;

use super::aged::AgedUnits;
use super::{Cx, Executor, Rename};
use crate::cache::{PageId, PageOp, Phase, Queues};
use crate::config::{PairCommands, SsdConfig};
use crate::device::kit::slots::Slot;
use crate::die::{OpKind, UnitEnd, Units, Work, op};
use crate::front;
use crate::ftl::{Ftl, Programming, Relocation, Step};
use crate::ids::{Domain, Lpn, PoolId, Ppn, Stream, Unit};
use crate::mover::Jobs;
use crate::page::{Access, Need, Owner, PageDone, PageRequest, PageWork, Spent};
use crate::power::planted::Bug;
use crate::shape::Geometry;
use crate::timeline::{Finished, Word};
use engine::{Handle, Request, Status, Time};

/// End of a stage of a lane, as far as others learn before the unit continues.
pub(crate) enum LaneEnd {
    /// No effect on others: the next stage has begun.
    Served,
    /// The operation of a page has ended, and perhaps the page is done.
    Page { unit: Unit, closed: bool, done: Option<PageDone> },
    /// The drive has ended: pages that waited to be written are refused.
    Refused { unit: Unit, closed: bool, all: Vec<PageDone> },
}

/// The executor of a drive without a write buffer: queues of pages, units, and the victims of units.
#[derive(Debug, Clone)]
pub(crate) struct Direct {
    pub(super) queues: Queues,
    pub(super) units: Units,
    pub(super) jobs: Jobs,
    /// Where data age.
    aged: Option<Box<AgedUnits>>,
    /// The planes of a pair erase by one command.
    erases_pairs: bool,
    /// Cleaning waits as long as there is room.
    puts_off: bool,
}

impl Direct {
    pub fn new(config: &SsdConfig, geometry: &Geometry, spans: bool) -> Direct {
        let queues = Queues::new(config, geometry);
        Direct {
            units: Units::new(config, geometry),
            jobs: Jobs::new(config, geometry, (queues.is_simple(), spans)),
            queues,
            aged: AgedUnits::new(config),
            erases_pairs: config.pair_commands == PairCommands::TwoPlane,
            puts_off: false,
        }
    }

    // ---- pages come ------------------------------------------------------------------------------

    /// Takes a page request: it is queued, or done at once. When all of one instant are taken,
    /// [`serve_offered`](Ssd::serve_offered) lets bound units begin.
    #[expect(clippy::inline_always, reason = "every page passes here, from two places")]
    #[inline(always)]
    pub(crate) fn accept(&mut self, request: &PageRequest, cx: &mut Cx<'_>) -> Option<PageDone> {
        let status = match cx.ftl.need(request) {
            Need::Page(work, range) => {
                let page = self.queues.insert(request, work, range);
                self.enqueue(page, cx);
                return None;
            }
            Need::Unmapped => {
                cx.ftl.counters.unmapped_reads += u64::from(request.touched.1);
                Status::Ok
            }
            Need::Refused => {
                cx.ftl.counters.page_refused(request.touched.1, u64::from(request.bytes));
                Status::ReadOnly
            }
        };
        Some(PageDone { owner: request.owner, status, spent: Some(Spent::default()) })
    }

    /// Queues a page at its unit.
    #[inline]
    fn enqueue(&mut self, id: PageId, cx: &mut Cx<'_>) {
        let PageOp { work, lpn, .. } = *self.queues.page(id);
        let mut at = Ppn(0);
        let spans = cx.ftl.pools_span_units();
        if !work.writes() && (spans || !self.units.is_uniform()) {
            at = cx.ftl.lookup(lpn).expect("only mapped pages are read");
        }
        let unit = match cx.ftl.geometry().pool_of(lpn) {
            pool if !spans => cx.ftl.only_unit_of(pool),
            pool if work.writes() => self.choose_unit(pool, None, cx),
            _ => cx.ftl.geometry().unit_holding(at),
        };
        if work.writes() {
            // The page is looked up when it is programmed.
            cx.ftl.prefetch(lpn);
        }
        let now = cx.clock.now;
        self.queues.enqueue(id, unit, at, self.jobs.cleaning_ns(unit, now), now);
        if self.queues.is_simple() && !self.is_idle(unit) {
            if matches!(work, PageWork::Read | PageWork::ReadForWrite) && self.units.may_stop() {
                self.stop_for_read(unit, cx);
            }
            return;
        }
        if let Some(set) = self.queues.set_of(unit) {
            self.queues.offer(set);
        } else {
            self.serve_unit(unit, None, cx);
            self.serve_called(cx);
        }
    }

    /// A read waits for a unit: suspends its program or erase, if permitted. Cleaning that does not
    /// yield does not.
    #[inline]
    fn stop_for_read(&mut self, unit: Unit, cx: &mut Cx<'_>) {
        let blocks = self.jobs.block();
        let may_stop = |work: &Work| match work {
            Work::Page(..) => true,
            Work::Move(_) | Work::Erase(_) => !blocks,
            Work::Stream(..) => false,
        };
        if self.units.stop_for_read(unit, may_stop, cx.clock) {
            cx.ftl.counters.suspensions += 1;
        }
    }

    /// After a suspension for reads, or the end of one: starts the next read, or resumes the
    /// operation.
    fn serve_stopped(&mut self, unit: Unit, cx: &mut Cx<'_>) {
        if self.units.may_pass(unit)
            && let Some(id) = self.queues.take_read(unit)
        {
            let Some(other) = self.new_holder(id, unit, cx) else {
                return self.start(unit, id, None, cx);
            };
            return self.hand_over(id, unit, other, cx);
        }
        let resumed = self.units.resume(unit, cx.clock);
        if matches!(resumed, Some(Work::Move(_) | Work::Erase(_))) {
            self.jobs.begin_operation(unit, cx.clock.now);
        }
    }

    /// Gives bound units the pages queued at this instant: the pages of a request begin together,
    /// not the first of them alone.
    #[inline]
    pub(crate) fn serve_offered(&mut self, cx: &mut Cx<'_>) {
        while let Some(set) = self.queues.next_offered() {
            self.serve_set(set, cx);
            self.serve_called(cx);
        }
    }

    // ---- which unit ------------------------------------------------------------------------------

    /// Among the units of a pool: one with room, else one where cleaning makes some, and of those
    /// the one with the shortest queue, then the fewest valid pages.
    ///
    /// A unit that is bound to a busy one counts as busy: it would look free while it must wait for
    /// the other's cleaning, and take all writes. Within the set being polled each unit counts for
    /// itself.
    fn choose_unit(&self, pool: PoolId, asked: Option<u32>, cx: &Cx<'_>) -> Unit {
        if !cx.ftl.pools_span_units() {
            return cx.ftl.only_unit_of(pool);
        }
        let units = cx.ftl.units_of(pool);
        let rank = |unit: &Unit| {
            let busy = usize::from(!self.could_begin(*unit, asked));
            let (hopeless, full, reclaimable) = cx.ftl.standing(pool, *unit);
            let length = self.queues.length(*unit) + busy;
            (full, hopeless && !self.jobs.has_job(*unit), length, reclaimable)
        };
        units.min_by_key(rank).expect("a pool has a unit")
    }

    /// True if an idle unit can start: its bound units are idle, or their set is being polled.
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
    fn new_holder(&self, id: PageId, unit: Unit, cx: &Cx<'_>) -> Option<Unit> {
        if !cx.ftl.pools_span_units() || self.queues.page(id).work.is_of_drive() {
            return None;
        }
        let holder = cx.ftl.lookup(self.queues.page(id).lpn)?;
        let holder = cx.ftl.geometry().unit_holding(holder);
        (holder != unit).then_some(holder)
    }

    /// The unit that a write should wait at when its own has no room and nothing to clean.
    fn better_unit(&self, unit: Unit, lpn: Lpn, cx: &Cx<'_>) -> Option<Unit> {
        if self.jobs.has_job(unit) {
            return None;
        }
        let pool = cx.ftl.geometry().pool_of(lpn);
        let other = self.choose_unit(pool, self.queues.set_of(unit), cx);
        // A unit in the same situation would only return the write.
        let (hopeless, ..) = cx.ftl.standing(pool, other);
        (other != unit && !hopeless).then_some(other)
    }

    // ---- next operation of a unit --------------------------------------------------------------

    /// Polls a unit for its next operation, then the units to which it passed pages.
    #[inline]
    pub(crate) fn serve(&mut self, unit: Unit, cx: &mut Cx<'_>) {
        self.ask(unit, cx);
        self.serve_called(cx);
    }

    /// Polls all called units.
    #[inline]
    fn serve_called(&mut self, cx: &mut Cx<'_>) {
        while let Some(unit) = self.queues.next_called() {
            self.ask(unit, cx);
        }
    }

    #[inline]
    fn ask(&mut self, unit: Unit, cx: &mut Cx<'_>) {
        match self.queues.set_of(unit) {
            Some(set) => self.serve_set(set, cx),
            None => self.serve_unit(unit, None, cx),
        }
    }

    /// Polls idle bound units, one kind of operation after another, until one begins. Cleaning that
    /// does not yield comes first, then the kind of the page that has waited longest, then the
    /// other, then the rest.
    fn serve_set(&mut self, set: u32, cx: &mut Cx<'_>) {
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
                self.serve_unit(self.queues.units_of(set)[place], Some(phase), cx);
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
    fn serve_unit(&mut self, unit: Unit, only: Option<Phase>, cx: &mut Cx<'_>) {
        if !(self.queues.overlaps() || self.is_idle(unit)) {
            return;
        }
        if self.units.has_stopped(unit) {
            return self.serve_stopped(unit, cx);
        }
        if self.queues.is_simple()
            && !self.jobs.has_job(unit)
            && !self.queues.has_stalled(unit)
            && !cx.ftl.needs_cleaning(unit)
            && self.begin_first_read(unit, cx)
        {
            return;
        }
        let waiting = self.queues.has_waiting(unit);
        if !self.jobs.has_job(unit) {
            if self.wants_cleaning(unit, waiting, cx) {
                self.choose_victim_for(unit, waiting, cx);
            } else if self.erases_pairs {
                self.clean_with_pair(unit, cx);
            }
        }
        if !self.jobs.has_job(unit) {
            if (!waiting || self.serve_pages(unit, only, cx)) && cx.ftl.keeps_logs() {
                self.merge_for_stalled(unit, only, cx);
            }
            return;
        }
        self.serve_classes(unit, only, cx);
    }

    /// Classes of work for a unit with a victim.
    #[inline]
    fn serve_classes(&mut self, unit: Unit, only: Option<Phase>, cx: &mut Cx<'_>) {
        let cleans_first = self.jobs.block();
        if cleans_first {
            self.serve_cleaning(unit, only, cx);
        }
        let continues = !self.queues.has_waiting(unit) || self.serve_pages(unit, only, cx);
        if continues && !cleans_first {
            self.serve_cleaning(unit, only, cx);
        }
    }

    // ---- page requests ---------------------------------------------------------------------------

    /// Starts the waiting pages that can start, the first first; writes without room step aside, in
    /// order. If one is passed on, both units are polled again, the other first: `false`.
    #[inline]
    fn serve_pages(&mut self, unit: Unit, only: Option<Phase>, cx: &mut Cx<'_>) -> bool {
        let held = self.jobs.has_job(unit) && self.jobs.block();
        if held || self.jobs.is_busy(unit) {
            return true;
        }
        if self.queues.has_stalled(unit)
            && only.is_none_or(|only| only == Phase::Write)
            && let Some(continues) = self.serve_stalled(unit, cx)
        {
            return continues;
        }
        self.serve_waiting(unit, only, cx)
    }

    /// Serves writes that found no room; None if others may follow now, `false` if one was passed
    /// on.
    fn serve_stalled(&mut self, unit: Unit, cx: &mut Cx<'_>) -> Option<bool> {
        while let Some(first) = self.queues.take_stalled(unit, &self.units) {
            let id = match first {
                Ok(id) => id,
                Err(id) => {
                    // It is next, unless it must wait for cleaning anyway.
                    let PageOp { lpn, handle, .. } = *self.queues.page(id);
                    let pool = cx.ftl.geometry().pool_of(lpn);
                    cx.ftl.write_with(handle);
                    return (cx.ftl.room_for(pool, unit) > 0).then_some(true);
                }
            };
            match self.start_write(unit, id, cx) {
                Started::Here => {}
                Started::At(other) => {
                    self.hand_over(id, unit, other, cx);
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

    /// Waiting pages; `false` if one was passed on.
    #[inline]
    fn serve_waiting(&mut self, unit: Unit, only: Option<Phase>, cx: &mut Cx<'_>) -> bool {
        while let Some(id) = self.queues.take_next(unit, only, &self.units) {
            if self.queues.page(id).work.writes() {
                let first = !self.queues.has_stalled(unit);
                let started = if first { self.start_write(unit, id, cx) } else { Started::Not };
                match started {
                    Started::Here => {}
                    Started::Not => self.queues.stall(unit, id, false),
                    Started::At(other) => {
                        self.hand_over(id, unit, other, cx);
                        return false;
                    }
                }
            } else if let Some(other) = self.new_holder(id, unit, cx) {
                self.hand_over(id, unit, other, cx);
                return false;
            } else {
                self.start(unit, id, None, cx);
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
    fn begin_first_read(&mut self, unit: Unit, cx: &mut Cx<'_>) -> bool {
        if cx.ftl.pools_span_units() {
            return false;
        }
        let Some(id) = self.queues.take_first_read(unit) else { return false };
        self.start(unit, id, None, cx);
        true
    }

    /// Starts a write, if there is room; else it may start at a better unit, unless it must wait for cleaning
    /// here.
    #[inline]
    fn start_write(&mut self, unit: Unit, id: PageId, cx: &mut Cx<'_>) -> Started {
        let PageOp { work, lpn, handle, .. } = *self.queues.page(id);
        let pool = cx.ftl.geometry().pool_of(lpn);
        cx.ftl.write_with(handle);
        if work == PageWork::Restore {
            return self.start_restore(unit, id, lpn, cx);
        }
        let domain = if work == PageWork::Merge {
            cx.ftl.choose_domain_near(pool, unit, lpn).map(|(domain, near)| {
                let work = match (near, cx.ftl.lookup(lpn)) {
                    // Trimmed while waiting: there is nothing left to merge with.
                    (_, None) => PageWork::Write,
                    (true, _) => PageWork::Merge,
                    (false, _) => PageWork::MergeAcross,
                };
                self.queues.set_work(id, work);
                domain
            })
        } else {
            cx.ftl.choose_domain(pool, unit, lpn)
        };
        if let Some(domain) = domain {
            cx.ftl.keep_shared(cx.flash, lpn);
            let programming = cx.ftl.begin_program(domain, lpn);
            self.start(unit, id, Some(programming), cx);
            return Started::Here;
        }
        self.better_unit(unit, lpn, cx).map_or(Started::Not, Started::At)
    }

    /// Starts rewriting a page, wherever its pool has room on the unit.
    fn start_restore(&mut self, unit: Unit, id: PageId, lpn: Lpn, cx: &mut Cx<'_>) -> Started {
        let pool = cx.ftl.geometry().pool_of(lpn);
        let Some(domain) = cx.ftl.roomiest_on(pool, unit) else { return Started::Not };
        let programming = cx.ftl.begin_move(domain, lpn);
        self.start(unit, id, Some(programming), cx);
        Started::Here
    }

    /// Passes a waiting page to another unit, which is polled next, then this one again.
    fn hand_over(&mut self, id: PageId, from: Unit, to: Unit, cx: &mut Cx<'_>) {
        let now = cx.clock.now;
        let cleaning = [from, to].map(|unit| self.jobs.cleaning_ns(unit, now));
        self.queues.hand_over(id, (from, to), cleaning, now);
        self.queues.call(from);
        self.queues.call(to);
    }

    /// A unit begins with a page.
    #[inline]
    fn start(&mut self, unit: Unit, id: PageId, programming: Option<Programming>, cx: &mut Cx<'_>) {
        let stopping = self.units.waited_for_stop(unit, self.queues.since(id));
        self.queues.begin(unit, id, self.jobs.ended_ns(unit), cx.clock.now);
        if stopping > 0 {
            self.queues.waited_for_stop(id, stopping);
        }
        if self.aged.is_some() {
            match programming.filter(|_| self.queues.page(id).work == PageWork::Restore) {
                Some(it) => self.begin_aged_move(it, cx),
                None => self.begin_aged_read(id, cx),
            }
        }
        let page = self.queues.page(id);
        let (at, last) = match programming {
            Some(it) => (it.ppn, cx.ftl.geometry().is_last(it.ppn)),
            None => (self.place_of_read(page, cx), false),
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
            self.units.launch_alone(unit, work, word, &op(kind, at, count, last), cx.clock);
        } else {
            let kind = |lane| page.kind_on(granule, lane);
            self.units.launch(unit, work, word, (at, last), kind, cx.clock);
        }
        self.count_pair_copies(cx);
    }

    #[inline]
    fn count_pair_copies(&mut self, cx: &mut Cx<'_>) {
        if !self.units.is_uniform() {
            cx.ftl.counters.pair_copies += self.units.take_pair_copies();
        }
    }

    /// Position of a page to read: it may have moved while it waited, which is of no interest where
    /// all places cost the same. Pages trimmed meanwhile are read at their former position.
    #[inline]
    fn place_of_read(&self, page: &PageOp, cx: &Cx<'_>) -> Ppn {
        if self.units.is_uniform() || page.work.is_of_drive() {
            return page.at;
        }
        cx.ftl.lookup(page.lpn).unwrap_or(page.at)
    }

    // ---- cleaning --------------------------------------------------------------------------------

    /// Lets a unit without a victim choose one.
    fn choose_victim_for(&mut self, unit: Unit, waiting: bool, cx: &mut Cx<'_>) {
        let job = cx.ftl.begin_cleaning(cx.flash, unit, waiting);
        *self.jobs.job_mut(unit) = job;
        if let Some(job) = job.filter(|job| !job.merges()) {
            // Each page is looked up in its turn.
            let geometry = cx.ftl.geometry();
            let first = geometry.ppn(job.source, 0);
            cx.ftl.prefetch_places(cx.flash, first, geometry.data_pages);
        }
    }

    /// While the other plane of a pair is cleaned: this one is too, if it would be soon, so that
    /// both erase by one command.
    fn clean_with_pair(&mut self, unit: Unit, cx: &mut Cx<'_>) {
        let geometry = cx.ftl.geometry();
        if geometry.has_pairs() && self.jobs.has_job(Unit(unit.0 ^ 1)) {
            let soon = geometry.low_blocks + 1;
            *self.jobs.job_mut(unit) = cx.ftl.begin_cleaning_below(cx.flash, unit, soon);
        }
    }

    /// For a write without a suitable log block: the merge that makes room begins.
    fn merge_for_stalled(&mut self, unit: Unit, only: Option<Phase>, cx: &mut Cx<'_>) {
        if self.queues.has_stalled(unit) && self.is_idle(unit) && !self.jobs.has_job(unit) {
            self.choose_victim_for(unit, true, cx);
            if self.jobs.has_job(unit) {
                self.serve_cleaning(unit, only, cx);
            }
        }
    }

    /// True if a unit without a job should choose a victim.
    #[inline]
    fn wants_cleaning(&self, unit: Unit, waiting: bool, cx: &Cx<'_>) -> bool {
        if self.puts_off && cx.ftl.can_put_off_cleaning(unit) {
            return false;
        }
        let idle = || cx.ftl.can_use_idle_time(unit);
        self.jobs.begin(cx.ftl.needs_cleaning(unit), waiting, idle)
            || cx.ftl.cares() && cx.ftl.due_on(unit).is_some()
    }

    /// Gives an idle unit the next operation of its cleaning, of kind `only` if one is given.
    #[inline]
    fn serve_cleaning(&mut self, unit: Unit, only: Option<Phase>, cx: &mut Cx<'_>) {
        if !self.is_idle(unit) || self.jobs.stream() && self.serve_stream(unit, cx) {
            return;
        }
        let Some(job) = self.jobs.job_mut(unit).as_mut() else { return };
        if let Some(only) = only {
            let moves = cx.ftl.has_valid_page(cx.flash, job);
            if only != if moves { Phase::Move } else { Phase::Erase } {
                return;
            }
        }
        let step = cx.ftl.next_step(cx.flash, job);
        let job = *job;
        if step == Step::Over {
            *self.jobs.job_mut(unit) = None;
            return self.queues.call(unit);
        }
        if step == Step::Erase && self.is_barred(job, cx) {
            return self.jobs.bar(unit, cx.clock.now);
        }
        self.jobs.unbar(unit);
        self.jobs.begin_operation(unit, cx.clock.now);
        match step {
            Step::Move(programming) => self.launch_move(unit, job, programming, cx),
            Step::Erase => self.launch_erase(unit, job, cx),
            Step::Over => unreachable!("inspected before"),
        }
    }

    #[inline]
    fn launch_move(
        &mut self,
        unit: Unit,
        job: Relocation,
        programming: Programming,
        cx: &mut Cx<'_>,
    ) {
        let kind = self.jobs.kind_of_move();
        let word = match kind {
            _ if job.levels_wear() => Word::Migrate,
            OpKind::CopyBack => Word::CopyBack,
            _ => Word::Move,
        };
        let (at, last) = (programming.ppn, cx.ftl.geometry().is_last(programming.ppn));
        let work = Work::Move(programming);
        if self.aged.is_some() {
            self.begin_aged_move(programming, cx);
        }
        if self.queues.is_simple() {
            self.units.launch_alone(unit, work, word, &op(kind, at, 1, last), cx.clock);
        } else {
            let kind = |_| Some((kind, 1));
            self.units.launch(unit, work, word, (at, last), kind, cx.clock);
        }
        self.count_pair_copies(cx);
    }

    fn launch_erase(&mut self, unit: Unit, job: Relocation, cx: &mut Cx<'_>) {
        let at = (cx.ftl.geometry().ppn(job.source, 0), false);
        let kind = |_| Some((OpKind::Erase, 1));
        self.units.launch(unit, Work::Erase(job), Word::Erase, at, kind, cx.clock);
    }

    /// A page has been moved; a copy of lost data is lost.
    #[inline]
    fn complete_move(&mut self, programming: Programming, cx: &mut Cx<'_>) {
        cx.ftl.complete_move(cx.flash, programming);
        if self.aged.is_some() {
            Direct::note_aged_program(None, programming, cx);
        }
    }

    /// A move has ended on a unit where nothing else may begin before the victim is erased: the next page
    /// follows at once, in the same place.
    #[inline]
    fn move_ended(&mut self, flight: u32, unit: Unit, ended: Programming, cx: &mut Cx<'_>) {
        self.jobs.next_operation(unit, cx.clock.now);
        self.complete_move(ended, cx);
        let job = self.jobs.job_mut(unit).as_mut().expect("it is cleaning");
        let next = match cx.ftl.next_step(cx.flash, job) {
            Step::Move(next) => next,
            Step::Erase => {
                let job = *job;
                self.units.drop_flight(flight);
                return self.launch_erase(unit, job, cx);
            }
            Step::Over => {
                self.units.drop_flight(flight);
                self.jobs.end_operation(unit, cx.clock.now);
                *self.jobs.job_mut(unit) = None;
                return self.start_next(unit, false, cx);
            }
        };
        let last = cx.ftl.geometry().is_last(next.ppn);
        if self.aged.is_some() {
            self.begin_aged_move(next, cx);
        }
        let op = op(self.jobs.kind_of_move(), next.ppn, 1, last);
        self.units.replace(flight, unit, next, &op, cx.clock);
        self.count_pair_copies(cx);
    }

    /// True if a victim still holds the newest programmed copy of a page that another unit is
    /// programming. A power cut would otherwise lose old data.
    fn is_barred(&self, job: Relocation, cx: &Cx<'_>) -> bool {
        let geometry = cx.ftl.geometry();
        let pages = geometry.ppn(job.source, 0)..geometry.ppn(job.source, geometry.data_pages);
        let is_watched = cx.ftl.pools_span_units() && !Bug::NoEraseBarrier.is_planted();
        is_watched && self.units.supersede_one_of(&pages)
    }

    /// A program has ended, for which erasures may have waited.
    fn retry_erases(&mut self, cx: &mut Cx<'_>) {
        for unit in self.jobs.take_barred(cx.clock.now) {
            self.serve(unit, cx);
        }
    }

    // ---- the end of an operation -----------------------------------------------------------------

    /// A stage of the operation of a lane has ended.
    #[inline]
    pub(crate) fn lane_event(&mut self, lane: u32, cx: &mut Cx<'_>) -> LaneEnd {
        match self.units.stage_ended(lane, cx.clock) {
            UnitEnd::Nothing => {}
            UnitEnd::Accepts(unit) => self.serve(unit, cx),
            UnitEnd::Lane { unit, word, finished } => {
                cx.record(lane, word, finished);
                self.serve(unit, cx);
            }
            UnitEnd::Stopped { unit, work } => {
                if matches!(work, Work::Move(_) | Work::Erase(_)) {
                    self.jobs.end_operation(unit, cx.clock.now);
                }
                self.serve(unit, cx);
            }
            UnitEnd::Crossed { flight, from, to, programming, word, finished } => {
                cx.record(lane, word, finished);
                let at = (programming.ppn, cx.ftl.geometry().is_last(programming.ppn));
                self.units.stream_in(flight, to, at, cx.clock);
                self.count_pair_copies(cx);
                self.jobs.end_operation(from, cx.clock.now);
                self.serve(from, cx);
            }
            UnitEnd::Ended { flight, unit, word, finished } => {
                cx.record(lane, word, finished);
                return self.operation_ended(flight, unit, finished, cx);
            }
        }
        LaneEnd::Served
    }

    /// An operation has ended. The owner of a page is notified before units start further
    /// operations.
    #[inline]
    fn operation_ended(
        &mut self,
        flight: u32,
        unit: Unit,
        finished: Finished,
        cx: &mut Cx<'_>,
    ) -> LaneEnd {
        let now = cx.clock.now;
        let closed = match *self.units.work(flight) {
            Work::Page(page, programming) => {
                self.units.drop_flight(flight);
                let closed = programming.is_some_and(|it| {
                    cx.ftl.complete_program(cx.flash, it);
                    if self.aged.is_some() {
                        Direct::note_aged_program(Some(self.queues.page(page).work), it, cx);
                    }
                    closes_for_others(it, cx.ftl)
                });
                let at = programming.map(|it| it.ppn);
                let done = self.page_ended(page, at, finished, cx);
                return LaneEnd::Page { unit, closed, done };
            }
            Work::Move(programming) if self.jobs.clean_alone() => {
                self.move_ended(flight, unit, programming, cx);
                return LaneEnd::Served;
            }
            Work::Stream(programming, to) => {
                self.units.drop_flight(flight);
                self.stream_arrived(programming, (unit, to), cx);
                return LaneEnd::Served;
            }
            Work::Move(programming) => {
                self.units.drop_flight(flight);
                self.jobs.end_operation(unit, now);
                self.complete_move(programming, cx);
                closes_for_others(programming, cx.ftl)
            }
            Work::Erase(job) => {
                self.units.drop_flight(flight);
                self.jobs.end_operation(unit, now);
                cx.ftl.since_erasure.iter_mut().for_each(|it| it.set_time(now));
                *self.jobs.job_mut(unit) = cx.ftl.complete_erase(cx.flash, job);
                let closed = cx.ftl.pools_span_units();
                if cx.ftl.has_ended() {
                    self.queues.refuse_writes(&mut cx.ftl.counters);
                    return LaneEnd::Refused { unit, closed, all: self.queues.take_refused() };
                }
                closed
            }
        };
        self.start_next(unit, closed, cx);
        LaneEnd::Served
    }

    /// The operation of a page has ended, which was perhaps programmed at a place: it is done, or queued again for its
    /// second half, or because the program failed.
    #[inline]
    fn page_ended(
        &mut self,
        id: PageId,
        at: Option<Ppn>,
        finished: Finished,
        cx: &mut Cx<'_>,
    ) -> Option<PageDone> {
        let is_lost = self.aged.is_some() && self.aged_page_ended(id, cx);
        let page = self.queues.spend(id, finished.bus_ns, finished.cell_ns);
        let PageOp { work, range: (_, count), touched, bytes, handle, .. } = *page;
        cx.ftl.counters.page_read(work, count, self.units.granule());
        let mut status = if is_lost { Status::Unreadable } else { Status::Ok };
        match work {
            PageWork::Read
            | PageWork::Restore
            | PageWork::System
            | PageWork::MapRead
            | PageWork::MapProgram => {}
            PageWork::Write | PageWork::Merge | PageWork::MergeAcross
                if cx
                    .ftl
                    .bad
                    .as_ref()
                    .is_some_and(|bad| at.is_some_and(|it| bad.has_failed(it))) =>
            {
                cx.ftl.counters.programmed_in_vain();
                if cx.ftl.has_ended() {
                    cx.ftl.counters.page_refused(touched, u64::from(bytes));
                    status = Status::ReadOnly;
                } else {
                    self.enqueue(id, cx);
                    return None;
                }
            }
            PageWork::Write | PageWork::Merge | PageWork::MergeAcross => {
                cx.ftl.counters.page_written(touched, u64::from(bytes));
                cx.ftl.count_host(handle, 1, u64::from(bytes));
            }
            PageWork::ReadForWrite if cx.ftl.has_ended() => {
                cx.ftl.counters.page_refused(touched, u64::from(bytes));
                status = Status::ReadOnly;
            }
            PageWork::ReadForWrite => {
                self.queues.set_work(id, PageWork::Write);
                self.enqueue(id, cx);
                return None;
            }
        }
        Some(self.queues.finish(id, status))
    }

    /// Starts the operations that units can begin after the end of another. `closed` where a block
    /// of a pool of several units was closed or erased, for which others may have waited.
    #[inline]
    pub(crate) fn start_next(&mut self, unit: Unit, closed: bool, cx: &mut Cx<'_>) {
        if self.jobs.any_barred() {
            self.retry_erases(cx);
        }
        self.serve_offered(cx);
        self.serve(unit, cx);
        if closed {
            self.wake_stalled(cx);
        }
    }

    /// Retries writes that found no room, after a trim or when their pool may have room.
    fn wake_stalled(&mut self, cx: &mut Cx<'_>) {
        for unit in (0..cx.ftl.geometry().units).map(Unit) {
            if self.queues.has_stalled(unit) {
                self.serve(unit, cx);
            }
        }
    }

    pub(super) fn queue_for(
        &mut self,
        (unit, owner): (Unit, Owner),
        work: PageWork,
        lpn: Lpn,
        cx: &mut Cx<'_>,
    ) {
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
        let now = cx.clock.now;
        self.queues.enqueue(page, unit, Ppn(0), self.jobs.cleaning_ns(unit, now), now);
        self.serve(unit, cx);
    }
}

/// True if a program closes its block, for which units of the pool may have waited.
#[inline]
fn closes_for_others(programming: Programming, ftl: &Ftl) -> bool {
    ftl.pools_span_units() && ftl.geometry().is_last(programming.ppn)
}

impl Executor for Direct {
    fn begin(&mut self, slot: Slot, request: &Request, cx: &mut Cx<'_>) {
        let pages = front::touched(cx.ftl.geometry(), request);
        cx.front.expect(slot, (pages.end - pages.start) as u32);
        for page in pages {
            let geometry = cx.ftl.geometry();
            let page = front::page_request(geometry, request, Lpn(page), Owner::Host(slot));
            if let Some(done) = self.accept(&page, cx) {
                cx.front.page_done(&done, cx.clock);
            }
        }
        self.serve_offered(cx);
    }

    fn begin_renamed(&mut self, slot: Slot, request: &Request, name: &Rename<'_>, cx: &mut Cx<'_>) {
        let pages = front::touched(cx.ftl.geometry(), request);
        cx.front.expect(slot, (pages.end - pages.start) as u32);
        for page in pages.map(Lpn) {
            let asked = front::page_request(cx.ftl.geometry(), request, page, Owner::Host(slot));
            let done = if let Some(lpn) = name(cx.ftl, page) {
                self.accept(&PageRequest { lpn, ..asked }, cx)
            } else {
                cx.ftl.counters.unmapped_reads += u64::from(asked.touched.1);
                let spent = Some(Spent::default());
                Some(PageDone { owner: asked.owner, status: Status::Ok, spent })
            };
            if let Some(done) = done {
                cx.front.page_done(&done, cx.clock);
            }
        }
        self.serve_offered(cx);
    }

    fn settle(&mut self, _: &mut Cx<'_>) {}

    fn write_own(&mut self, unit: Unit, cx: &mut Cx<'_>) {
        self.queue_for((unit, Owner::Drive), PageWork::System, Lpn(0), cx);
    }

    fn restore(&mut self, lpns: &[Lpn], cx: &mut Cx<'_>) -> (u32, u32) {
        let mut count = 0;
        for lpn in lpns {
            let pool = cx.ftl.geometry().pool_of(*lpn);
            let Some(domain) = cx.ftl.roomiest(pool) else { continue };
            let unit = cx.ftl.geometry().unit_of(domain);
            self.queue_for((unit, Owner::Drive), PageWork::Restore, *lpn, cx);
            count += 1;
        }
        (count, count)
    }

    fn read_map(&mut self, page: u32, (unit, _): (Unit, u32), cx: &mut Cx<'_>) {
        if self.queues.is_simple() && !self.is_idle(unit) {
            self.stop_for_read(unit, cx);
        }
        self.queue_for((unit, Owner::Map(page)), PageWork::MapRead, Lpn(0), cx);
    }

    fn program_map(&mut self, unit: Unit, cx: &mut Cx<'_>) {
        self.queue_for((unit, Owner::Nobody), PageWork::MapProgram, Lpn(0), cx);
    }

    fn trimmed(&mut self, cx: &mut Cx<'_>) {
        self.wake_stalled(cx);
    }

    /// At once, as the drive rests.
    fn end_units(&mut self, units: Vec<(Domain, Stream)>, cx: &mut Cx<'_>) {
        for (domain, stream) in units {
            cx.ftl.fill_up_untimed(cx.flash, domain, stream);
        }
    }

    fn clean_now(&mut self, cx: &mut Cx<'_>) {
        for unit in (0..cx.ftl.geometry().units).map(Unit) {
            if !self.jobs.has_job(unit) {
                let soon = cx.ftl.geometry().low_blocks + 1;
                *self.jobs.job_mut(unit) = cx.ftl.begin_cleaning_below(cx.flash, unit, soon);
                self.serve(unit, cx);
            }
        }
    }

    fn put_off_cleaning(&mut self, put_off: bool) {
        self.puts_off = put_off;
    }

    /// A unit without a buffer finishes all by itself.
    fn shut_down(&mut self, _: &mut Cx<'_>) {}

    fn turn_on(&mut self, _: &Geometry, _: Time) {}

    fn reset_counts(&mut self, _: Time) {
        self.units.reset_effort();
    }

    fn lose_power(&mut self, _: &Geometry, now: Time) {
        self.queues.lose_power();
        self.units.lose_power(now);
        self.jobs.lose_power(now);
        if let Some(aged) = &mut self.aged {
            aged.lose_power();
        }
    }
}

/// Outcome of starting a write.
enum Started {
    Here,
    /// It must start at this unit.
    At(Unit),
    Not,
}
