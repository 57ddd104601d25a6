//! The timed flash back end: the next operation of each unit, and the consequences of its end.
//!
//! Page requests come in and wait at their units (`requests.rs`); a unit that can begin an operation
//! asks the classes of work in turn (`next.rs`), lets the [`Ftl`] decide and the [`Lanes`] charge, and
//! keeps account of where each nanosecond went (`units.rs`). Data content is not modelled: a page is
//! its number.

mod class;
mod cleaning;
mod next;
mod power;
mod requests;
mod stream;
#[cfg(test)]
mod tests;
pub mod timeline;
mod units;

pub(in crate::ssd) use power::{CutProgram, Reached};
pub(in crate::ssd) use units::Units;

use crate::ssd::account::UnitAccount;
use crate::ssd::clock::{Clock, Event};
use crate::ssd::config::{Cleaning, CleaningTime, SsdConfig};
use crate::ssd::flash::{
    CostTable, Finished, Flash, FlashOp, Lanes, OpKind, StageEnd, copies_for_summary,
};
use crate::ssd::ftl::{Ftl, Programming};
use crate::ssd::ids::{BlockMode, Ppn, Unit};
use crate::ssd::page::{Need, PageDone, PageRequest, PageWork, Spent};
use crate::ssd::shape::Geometry;
use class::Class;
use engine::{Status, Time};
use timeline::Recorder;
use units::{NONE, OpId, PageOp, Work};

/// The flash back end of a drive.
#[derive(Debug, Clone)]
pub(in crate::ssd) struct Scheduler {
    pub(in crate::ssd) ftl: Ftl,
    pub(in crate::ssd) flash: Flash,
    pub(in crate::ssd) lanes: Lanes,
    pub(in crate::ssd) units: Units,
    pub(in crate::ssd) recorder: Option<Box<Recorder>>,
    costs: CostTable,
    /// The page that shares the cells of a summary is copied before it is programmed.
    copies_for_summary: bool,
    /// The classes of work in the order in which a unit is asked for them.
    classes: [Class; 2],
    cleaning: Cleaning,
    /// While a unit cleans nothing else begins on it, nor elsewhere because of it.
    cleans_alone: bool,
    /// Cleaning waits as long as there is room.
    pub(in crate::ssd) puts_off: bool,
    /// Requests that were waiting when the drive ended; empty between events.
    refused: Vec<PageDone>,
}

/// An operation with an owner has ended: the owner is notified before units continue, and may submit
/// more requests.
#[derive(Debug, Clone, Copy)]
pub(in crate::ssd) struct Ended {
    /// The request that is done by it; none after the first half of one, or when some were refused.
    pub(in crate::ssd) done: Option<PageDone>,
    unit: Unit,
    /// A block of a pool of several units was closed or erased, for which others may have waited.
    closed: bool,
}

impl Ended {
    /// Where.
    pub(in crate::ssd) fn unit(&self) -> Unit {
        self.unit
    }
}

impl Scheduler {
    /// Of a drive that was filled.
    pub(in crate::ssd) fn new(
        config: &SsdConfig,
        geometry: &Geometry,
        (ftl, flash): (Ftl, Flash),
    ) -> Scheduler {
        let units = Units::new(config, geometry);
        let blocking = config.cleaning.time == CleaningTime::Blocking;
        let cleans_alone =
            units.is_simple && blocking && !config.cleaning.stream && !ftl.pools_span_units();
        let (costs, plans) = CostTable::new(config, geometry, &CostTable::cells(config));
        Scheduler {
            ftl,
            flash,
            lanes: Lanes::new(plans, &geometry.lane_buses(), config.cache_commands),
            units,
            recorder: None,
            costs,
            copies_for_summary: copies_for_summary(config),
            classes: Class::order(config.cleaning.time),
            cleaning: config.cleaning.clone(),
            cleans_alone,
            puts_off: false,
            refused: Vec::new(),
        }
    }

    /// What a unit did up to `end`.
    pub(in crate::ssd) fn unit_account(&self, unit: Unit, end: Time) -> UnitAccount {
        let (waited_ns, operations) = self.units.served(unit);
        UnitAccount {
            name: self.ftl.geometry().unit_name(unit),
            busy_ns: self.units.busy_ns(unit, &self.lanes, end),
            cleaning_ns: self.units.cleaning_ns(unit, end),
            waited_ns,
            operations,
        }
    }

    fn blocks_for_cleaning(&self) -> bool {
        self.cleaning.time == CleaningTime::Blocking
    }

    // ---- from the owners of requests ------------------------------------------------------

    /// Takes a page request: it is queued, or done at once. When all of one instant are taken,
    /// [`dispatch_offered`](Scheduler::dispatch_offered) lets bound units begin.
    #[expect(clippy::inline_always, reason = "every page passes here, from two places")]
    #[inline(always)]
    pub(in crate::ssd) fn accept(
        &mut self,
        request: &PageRequest,
        clock: &mut Clock,
    ) -> Option<PageDone> {
        let status = match self.ftl.need(request) {
            Need::Page(work, range) => {
                let op = self.units.ops.insert(PageOp::new(request, work, range));
                self.enqueue(op, clock);
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
        Some(PageDone { owner: request.owner, status, spent: Spent::NOTHING })
    }

    /// The drive has ended: what still waits to be written is refused, and lost.
    fn refuse_waiting(&mut self) {
        for queue in &mut self.units.queues {
            let ops = &mut self.units.ops;
            let stalled = std::mem::take(&mut queue.stalled);
            let (writes, reads): (Vec<_>, Vec<_>) = std::mem::take(&mut queue.waiting)
                .into_iter()
                .partition(|op| !matches!(ops[*op].work, PageWork::Read | PageWork::System));
            queue.waiting = reads.into();
            for op in stalled.into_iter().chain(writes) {
                let op = ops.remove(op);
                self.ftl.counters.page_refused(op.touched, u64::from(op.bytes));
                let status = Status::ReadOnly;
                self.refused.push(PageDone { owner: op.owner, status, spent: Spent::InVain });
            }
        }
    }

    /// Whether requests were refused as the drive ended.
    #[inline]
    pub(in crate::ssd) fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// These, in order.
    pub(in crate::ssd) fn take_refused(&mut self) -> Vec<PageDone> {
        std::mem::take(&mut self.refused)
    }

    // ---- the way of an operation ----------------------------------------------------------

    /// Begins an operation on the lanes that it needs.
    #[inline]
    fn launch(&mut self, unit: Unit, work: Work, clock: &mut Clock) {
        let id = self.units.start(work, unit, 0);
        let granule = self.units.granule;
        let (at, last) = match &work {
            Work::Host(_, Some(programming)) | Work::Move(programming) => {
                (programming.ppn, self.ftl.geometry().is_last(programming.ppn))
            }
            Work::Host(op, None) => (self.place_of_read(*op), false),
            Work::Erase(job) => (self.ftl.geometry().ppn(job.source, 0), false),
            Work::Stream(..) => unreachable!("a copy begins in `serve_stream`"),
        };
        let mode = BlockMode::NATIVE;
        let kind = match &work {
            Work::Erase(_) => OpKind::Erase,
            Work::Host(op, _) => return self.launch_request(unit, *op, id, (at, last), clock),
            _ => self.kind_of_move(),
        };
        let op = FlashOp { kind, at, mode, count: 1, last };
        for lane in self.units.lanes_of(unit) {
            self.begin_on_lane(lane, id, &op, clock);
        }
        self.units.flights[id as usize].lanes_left = granule.span;
    }

    /// Begins the operation of a page request on the only lane of a unit.
    #[inline]
    fn launch_alone(
        &mut self,
        unit: Unit,
        id: OpId,
        programming: Option<Programming>,
        clock: &mut Clock,
    ) {
        let (at, last) = match programming {
            Some(it) => (it.ppn, self.ftl.geometry().is_last(it.ppn)),
            None => (self.place_of_read(id), false),
        };
        let kind = self.units.ops[id].kind_on(self.units.granule, 0);
        let (kind, count) = kind.expect("what reads nothing is no operation");
        let op = FlashOp { kind, at, mode: BlockMode::NATIVE, count, last };
        let flight = self.units.start(Work::Host(id, programming), unit, 1);
        self.begin_on_lane(unit.0, flight, &op, clock);
    }

    /// Begins the operation of a page request: not every lane of a unit need hold what is read.
    #[inline]
    fn launch_request(
        &mut self,
        unit: Unit,
        op: OpId,
        flight: u32,
        (at, last): (Ppn, bool),
        clock: &mut Clock,
    ) {
        let granule = self.units.granule;
        let mut lanes = 0;
        for lane in 0..granule.span {
            let Some((kind, count)) = self.units.ops[op].kind_on(granule, lane) else { continue };
            let op = FlashOp { kind, at, mode: BlockMode::NATIVE, count, last };
            self.begin_on_lane(unit.0 * granule.span + lane, flight, &op, clock);
            lanes += 1;
        }
        self.units.flights[flight as usize].lanes_left = lanes;
    }

    /// Where the page lies that is read: it may have moved while it waited, which is of no interest where
    /// all places cost the same. What was trimmed meanwhile is read where it was.
    #[inline]
    fn place_of_read(&self, op: OpId) -> Ppn {
        let op = &self.units.ops[op];
        if self.costs.is_uniform() {
            return op.at;
        }
        self.ftl.lookup(op.lpn).unwrap_or(op.at)
    }

    /// A lane begins its part of an operation.
    #[expect(clippy::inline_always, reason = "every operation passes here, from two places")]
    #[inline(always)]
    fn begin_on_lane(&mut self, lane: u32, id: u32, op: &FlashOp, clock: &mut Clock) {
        if !self.costs.is_uniform() {
            self.ftl.counters.pair_copies += u64::from(self.costs.copies(op));
        }
        let ends = self.lanes.start(lane, self.costs.plan(op), clock.now);
        clock.call(ends, Event::Flash(lane));
        self.units.put_on_lane(lane, id);
    }

    /// A stage of the operation of a lane has ended. If it was the last, its owner is notified before
    /// the unit [continues](Scheduler::go_on).
    #[expect(clippy::inline_always, reason = "every operation passes here, from two places")]
    #[inline(always)]
    pub(in crate::ssd) fn stage_ended(&mut self, lane: u32, clock: &mut Clock) -> Option<Ended> {
        match self.lanes.stage_ended(lane, clock.now) {
            StageEnd::GoesOn(ends) => {
                clock.call(ends, Event::Flash(lane));
                None
            }
            StageEnd::Accepts(ends) => {
                clock.call(ends, Event::Flash(lane));
                self.dispatch(Unit(lane / self.units.granule.span), clock);
                None
            }
            StageEnd::Finished(finished) => self.operation_ended(lane, finished, clock),
        }
    }

    /// A lane has done its part of an operation.
    #[expect(clippy::inline_always, reason = "every operation passes here, from two places")]
    #[inline(always)]
    fn operation_ended(
        &mut self,
        lane: u32,
        finished: Finished,
        clock: &mut Clock,
    ) -> Option<Ended> {
        let now = clock.now;
        let state = &mut self.units.lanes[lane as usize];
        state.busy_ns += now - finished.started.max(state.counted_to);
        state.counted_to = now;
        let id = state.flights[0];
        state.flights = [state.flights[1], NONE];
        let flight = &mut self.units.flights[id as usize];
        flight.lanes_left -= 1;
        let unit = flight.unit;
        if let Some(recorder) = &mut self.recorder {
            let job = self.units.queues[unit.at()].job;
            let word = timeline::word(flight, &self.units.ops, job, &self.cleaning);
            recorder.record(lane, word, finished, now);
        }
        if flight.lanes_left > 0 {
            if let Some(Work::Stream(programming, to)) = flight.work {
                self.stream_crossed(id, unit, to, programming, clock);
            } else {
                self.dispatch(unit, clock);
            }
            return None;
        }
        if let (true, Some(Work::Move(programming))) = (self.cleans_alone, flight.work) {
            self.move_ended(lane, id, programming, clock);
            return None;
        }
        let work = flight.work.take().expect("it was under way");
        self.units.free_flights.push(id);
        let closed = match work {
            Work::Host(op, programming) => {
                let closed = programming.is_some_and(|it| self.program_ended(it));
                let done = self.request_ended(op, finished, clock);
                return Some(Ended { done, unit, closed });
            }
            Work::Stream(programming, to) => {
                self.stream_arrived(programming, (unit, to), clock);
                return None;
            }
            Work::Move(programming) => {
                self.units.end_cleaning_operation(unit, now);
                self.ftl.complete_move(&mut self.flash, programming);
                self.closes_for_others(programming)
            }
            Work::Erase(job) => {
                self.units.end_cleaning_operation(unit, now);
                self.units.queues[unit.at()].job = self.ftl.complete_erase(&mut self.flash, job);
                let closed = self.ftl.pools_span_units();
                if self.ftl.has_ended() {
                    self.refuse_waiting();
                    return Some(Ended { done: None, unit, closed });
                }
                closed
            }
        };
        self.go_on(Ended { done: None, unit, closed }, clock);
        None
    }

    #[inline]
    fn program_ended(&mut self, programming: Programming) -> bool {
        self.ftl.complete_program(&mut self.flash, programming);
        self.closes_for_others(programming)
    }

    /// Whether a program closes its block, and units of the same pool may have waited for that.
    #[inline]
    fn closes_for_others(&self, programming: Programming) -> bool {
        self.ftl.pools_span_units() && self.ftl.geometry().is_last(programming.ppn)
    }

    /// After the end of an operation: gives units what they can begin now.
    #[inline]
    pub(in crate::ssd) fn go_on(&mut self, ended: Ended, clock: &mut Clock) {
        if !self.units.barred.is_empty() {
            self.retry_erases(clock);
        }
        if !self.units.offered.is_empty() {
            self.dispatch_offered(clock);
        }
        self.dispatch(ended.unit, clock);
        if ended.closed {
            self.wake_stalled(clock);
        }
    }

    /// Looks again at writes that found no room: trimmed pages may be what cleaning was short of, or
    /// another unit of their pool may have room now.
    pub(in crate::ssd) fn wake_stalled(&mut self, clock: &mut Clock) {
        for unit in 0..self.units.queues.len() {
            if !self.units.queues[unit].stalled.is_empty() {
                self.dispatch(Unit(unit as u32), clock);
            }
        }
    }
}
