//! Units: fused operations, one at a time on each lane.
//!
//! A unit is a package, a die, a pair of planes or a plane; where a logical page is spread over
//! several packages it is the same part of each of them, its *lanes*. A unit programs, moves and
//! erases with all lanes at once, and reads with the lanes that hold the data.
//!
//! This is a state machine: it gets operations, and returns the meaning of each completed stage.

use super::halts::{Halts, Stopped};
use super::lanes::{Lanes, StageEnd};
use super::operation::{CostTable, FlashOp, OpKind, copies_for_summary};
use crate::clock::{Clock, Event, Line};
use crate::config::{PairCommands, SsdConfig};
use crate::device::kit::slots::Slot;
use crate::flash::Effort;
use crate::ftl::{Programming, Relocation};
use crate::ids::{Block, BlockMode, Ppn, Unit};
use crate::shape::{Geometry, Granule};
use crate::timeline::{Finished, Word};
use engine::Time;
use std::ops::Range;

/// No operation.
const NONE: u32 = u32::MAX;

/// Progress of a program in one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// The cells are unchanged.
    Nothing,
    /// The cells were being programmed.
    Cells,
    /// The data was there; the summary behind it, if there is one, was not.
    Data,
}

/// Purpose of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    /// A page of a request, by its number in the queues.
    Page(Slot, Option<Programming>),
    /// A page of a victim, moved within its unit.
    Move(Programming),
    /// A copy to another unit.
    Stream(Programming, Unit),
    Erase(Relocation),
}

impl Work {
    /// Its program, if it has one.
    fn programming(&self) -> Option<Programming> {
        match *self {
            Work::Page(_, programming) => programming,
            Work::Move(programming) | Work::Stream(programming, _) => Some(programming),
            Work::Erase(_) => None,
        }
    }
}

/// An operation on one or more lanes of a unit.
#[derive(Debug, Clone, Copy)]
struct Flight {
    /// `None` for a free slot.
    work: Option<Work>,
    unit: Unit,
    /// Lanes that are not done yet.
    lanes_left: u32,
    /// Kind, which has the number of senses before the program, and the name in a record.
    kind: OpKind,
    word: Word,
}

/// Operation of a lane, with cache commands the next one too, and its account.
#[derive(Debug, Clone, Copy)]
struct LaneState {
    flights: [u32; 2],
    busy_ns: Time,
    /// Counted as busy up to here.
    counted_to: Time,
}

/// Meaning of the end of a stage.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UnitEnd {
    /// The operation continues.
    Nothing,
    /// It continues, and another may follow it.
    Accepts(Unit),
    /// A lane has ended its part; others have not.
    Lane { unit: Unit, word: Word, finished: Finished },
    /// Purpose of an operation suspended for reads.
    Stopped { unit: Unit, work: Work },
    /// The source of a copy has ended its part: the page has crossed the bus.
    Crossed {
        flight: u32,
        from: Unit,
        to: Unit,
        programming: Programming,
        word: Word,
        finished: Finished,
    },
    /// The operation has ended: it is to be [dropped](Units::drop_flight), or its place [used again](Units::replace).
    Ended { flight: u32, unit: Unit, word: Word, finished: Finished },
}

/// All units of a drive.
#[derive(Debug, Clone)]
pub(crate) struct Units {
    lanes: Lanes,
    costs: CostTable,
    /// The page that shares the cells of a summary is copied before it is programmed.
    copies_for_summary: bool,
    has_summary: bool,
    granule: Granule,
    states: Vec<LaneState>,
    flights: Vec<Flight>,
    free: Vec<u32>,
    halts: Halts,
    /// Pages copied to protect their pairs, since the last call.
    pair_copies: u64,
    /// Time by which the sense of the next operation is longer.
    later: Time,
}

impl Units {
    /// A drive with a write buffer has no units.
    pub fn new(config: &SsdConfig, geometry: &Geometry) -> Units {
        let (costs, plans) = CostTable::new(config, geometry, &CostTable::cells(config));
        let buses = if geometry.groups.is_some() { Vec::new() } else { geometry.lane_buses() };
        let lane = LaneState { flights: [NONE; 2], busy_ns: 0, counted_to: 0 };
        let one_by_one = geometry.granule.span == 1 && geometry.bound_units().is_empty();
        let mut lanes = Lanes::new(plans, &buses, config.cache_commands);
        if config.control_ns() > 0 {
            lanes = lanes.commanded(&geometry.lane_controls());
        }
        if config.pair_commands == PairCommands::TwoPlane && geometry.has_pairs() {
            lanes = lanes.paired(geometry.granule.span);
        }
        Units {
            states: memory::filled(lane, buses.len()),
            lanes,
            costs,
            copies_for_summary: copies_for_summary(config),
            has_summary: geometry.has_summary_page(),
            granule: geometry.granule,
            flights: Vec::new(),
            free: Vec::new(),
            halts: Halts::new(
                config,
                if one_by_one && !config.cache_commands { buses.len() } else { 0 },
            ),
            pair_copies: 0,
            later: 0,
        }
    }

    // ---- queries -------------------------------------------------------------------------------

    /// True if reads suspend operations.
    #[inline]
    pub fn may_stop(&self) -> bool {
        self.halts.are_on()
    }

    /// True if operations do not depend on their address.
    #[inline]
    pub fn is_uniform(&self) -> bool {
        self.costs.is_uniform()
    }

    /// Layout of the pages on the lanes.
    #[inline]
    pub fn granule(&self) -> Granule {
        self.granule
    }

    fn lanes_of(&self, unit: Unit) -> Range<u32> {
        let first = unit.0 * self.granule.span;
        first..first + self.granule.span
    }

    /// True if no lane of a unit has an operation.
    #[expect(clippy::inline_always, reason = "asked several times for every operation")]
    #[inline(always)]
    pub fn is_idle(&self, unit: Unit) -> bool {
        if self.granule.span == 1 {
            return self.lanes.is_idle(unit.0);
        }
        self.lanes_of(unit).all(|lane| self.lanes.is_idle(lane))
    }

    /// The lanes of a unit that cannot begin an operation of this kind now, as bits.
    pub fn refusing(&self, unit: Unit, kind: OpKind) -> u64 {
        let lanes = self.lanes_of(unit).enumerate();
        let refusing = lanes.filter(|(_, lane)| !self.lanes.accepts(*lane, kind.chains()));
        refusing.fold(0, |set, (bit, _)| set | 1 << bit)
    }

    /// Pages whose programming has begun: the map knows them, the flash does not yet.
    pub fn programming(&self) -> impl Iterator<Item = Programming> + '_ {
        self.flights.iter().filter_map(|flight| flight.work?.programming())
    }

    /// True if a page with its newest copy among these is being programmed.
    pub fn supersede_one_of(&self, pages: &Range<Ppn>) -> bool {
        self.programming().any(|programming| programming.old.is_within(pages))
    }

    /// Blocks whose erasure has begun.
    pub fn erasing(&self) -> impl Iterator<Item = Block> + '_ {
        self.flights.iter().filter_map(|flight| match flight.work? {
            Work::Erase(job) => Some(job.source),
            _ => None,
        })
    }

    /// Programs in progress with their requests' pages, and the progress of each by lane.
    pub fn cut(
        &self,
        geometry: &Geometry,
        now: Time,
    ) -> Vec<(Programming, Option<Slot>, Vec<Reached>)> {
        let mut programs = Vec::new();
        for (id, flight) in self.flights.iter().enumerate() {
            let Some(work) = flight.work else { continue };
            let Some(it) = work.programming() else { continue };
            let (page, to) = match work {
                Work::Page(page, _) => (Some(page), flight.unit),
                Work::Stream(_, to) => (None, to),
                _ => (None, flight.unit),
            };
            let crossed = !matches!(work, Work::Stream(..)) || flight.lanes_left < 2;
            let reached = self.lanes_of(to).map(|lane| {
                if crossed {
                    self.reached(lane, id as u32, &it, geometry, now)
                } else {
                    Reached::Nothing
                }
            });
            programs.push((it, page, reached.collect()));
        }
        programs
    }

    /// Progress of a lane's part of a program.
    fn reached(
        &self,
        lane: u32,
        id: u32,
        programming: &Programming,
        geometry: &Geometry,
        now: Time,
    ) -> Reached {
        let was_stopped = self.halts.going_on(lane, now).is_some() && !self.halts.has_stopped(lane);
        if self.halts.flight(lane) == Some(id) || was_stopped {
            return Reached::Cells;
        }
        let flights = self.states[lane as usize].flights;
        let Some(place) = flights.iter().position(|flight| *flight == id) else {
            return Reached::Data;
        };
        let Some((stage, cells)) = self.lanes.reached(lane, place == 1, now) else {
            return Reached::Nothing;
        };
        let senses = match self.flights[id as usize].kind {
            OpKind::Merge | OpKind::CopyBack => 1,
            OpKind::Move => self.granule.pages_per_lane(),
            _ => 0,
        };
        let stages = self.lanes.stages_of(lane, place == 1);
        let op = op(OpKind::Program, programming.ppn, 1, false);
        // A copy of the paired page goes first: it is sensed and programmed elsewhere.
        let senses = senses + 2 * u32::from(self.costs.copies(&op));
        let summary = if self.copies_for_summary { 4 } else { 2 };
        if self.has_summary && geometry.is_last(programming.ppn) && stage + summary >= stages {
            return Reached::Data;
        }
        if cells > senses { Reached::Cells } else { Reached::Nothing }
    }

    /// Busy time of the lanes of a unit up to now, their mean, ns.
    pub fn busy_ns(&self, unit: Unit, now: Time) -> Time {
        let busy = |lane: u32| {
            let state = &self.states[lane as usize];
            let since = self.lanes.running_since(lane).map(|since| since.max(state.counted_to));
            state.busy_ns + since.map_or(0, |since| now.saturating_sub(since))
        };
        self.lanes_of(unit).map(busy).sum::<Time>() / Time::from(self.granule.span)
    }

    /// Time for which each bus was in use up to `end`.
    pub fn bus_busy_ns(&self, end: Time) -> impl Iterator<Item = Time> + '_ {
        self.lanes.bus_busy_ns(end)
    }

    /// Effort since counts were reset.
    pub fn effort(&self) -> Effort {
        self.lanes.effort()
    }

    /// Effort of reading a number of pages.
    pub fn effort_of_reads(&self, pages: u64) -> Effort {
        self.lanes.effort_of_reads(pages)
    }

    pub fn reset_effort(&mut self) {
        self.lanes.reset_effort();
    }

    /// Pages copied to protect their pairs, since the last call.
    #[inline]
    pub fn take_pair_copies(&mut self) -> u64 {
        std::mem::take(&mut self.pair_copies)
    }

    // ---- commands ------------------------------------------------------------------------------

    /// The next operation takes longer to sense its page.
    pub fn prolong(&mut self, later: Time) {
        self.later = later;
    }

    /// Begins an operation on the only lane of a unit.
    #[inline]
    pub fn launch_alone(
        &mut self,
        unit: Unit,
        work: Work,
        word: Word,
        op: &FlashOp,
        clock: &mut Clock,
    ) {
        let flight =
            self.start(Flight { work: Some(work), unit, lanes_left: 1, kind: op.kind, word });
        self.begin_on_lane(unit.0, flight, op, clock);
    }

    /// Starts an operation of a page on its lanes, with a kind and a number of flash pages for
    /// each.
    pub fn launch(
        &mut self,
        unit: Unit,
        work: Work,
        word: Word,
        (at, last): (Ppn, bool),
        kind_on: impl Fn(u32) -> Option<(OpKind, u32)>,
        clock: &mut Clock,
    ) {
        let id =
            self.start(Flight { work: Some(work), unit, lanes_left: 0, kind: OpKind::Read, word });
        let mut lanes = 0;
        for lane in 0..self.granule.span {
            let Some((kind, count)) = kind_on(lane) else { continue };
            self.flights[id as usize].kind = kind;
            self.begin_on_lane(
                unit.0 * self.granule.span + lane,
                id,
                &op(kind, at, count, last),
                clock,
            );
            lanes += 1;
        }
        self.flights[id as usize].lanes_left = lanes;
    }

    /// Begins a copy to another unit: its source shifts a page out.
    pub fn launch_stream(
        &mut self,
        (from, at): (Unit, Ppn),
        (to, programming): (Unit, Programming),
        clock: &mut Clock,
    ) {
        let work = Some(Work::Stream(programming, to));
        let (kind, word) = (OpKind::StreamIn, Word::Stream);
        let id = self.start(Flight { work, unit: from, lanes_left: 2, kind, word });
        self.begin_on_lane(from.0, id, &op(OpKind::Read, at, 1, false), clock);
    }

    /// The page of a copy has crossed the bus: its destination programs it.
    pub fn stream_in(&mut self, flight: u32, to: Unit, (at, last): (Ppn, bool), clock: &mut Clock) {
        self.begin_on_lane(to.0, flight, &op(OpKind::StreamIn, at, 1, last), clock);
    }

    /// In the place of an operation that has ended the next one of its unit begins.
    #[inline]
    pub fn replace(
        &mut self,
        flight: u32,
        unit: Unit,
        next: Programming,
        op: &FlashOp,
        clock: &mut Clock,
    ) {
        let place = &mut self.flights[flight as usize];
        (place.work, place.lanes_left, place.kind) = (Some(Work::Move(next)), 1, op.kind);
        self.begin_on_lane(unit.0, flight, op, clock);
    }

    #[inline]
    fn start(&mut self, flight: Flight) -> u32 {
        if let Some(id) = self.free.pop() {
            self.flights[id as usize] = flight;
            return id;
        }
        self.flights.push(flight);
        self.flights.len() as u32 - 1
    }

    /// Starts a lane's part of an operation.
    #[expect(clippy::inline_always, reason = "every operation passes here, from two places")]
    #[inline(always)]
    fn begin_on_lane(&mut self, lane: u32, id: u32, op: &FlashOp, clock: &mut Clock) {
        if !self.costs.is_uniform() {
            self.pair_copies += u64::from(self.costs.copies(op));
        }
        let mut ends = self.lanes.start(lane, self.costs.plan(op), clock.now);
        if self.later > 0 {
            ends = self.lanes.prolong(lane, std::mem::take(&mut self.later));
        }
        let event = Event::Lane(lane);
        if self.halts.are_on() {
            self.halts.note_event(lane, clock.call(ends, event), true);
        } else if op.kind == OpKind::Read {
            // Most take the same time.
            clock.call_in_line(Line::Buses, ends, event);
        } else {
            clock.call(ends, event);
        }
        let flights = &mut self.states[lane as usize].flights;
        flights[usize::from(flights[0] != NONE)] = id;
    }

    /// A stage of the operation of a lane has ended.
    #[expect(clippy::inline_always, reason = "every operation passes here, from two places")]
    #[inline(always)]
    pub fn stage_ended(&mut self, lane: u32, clock: &mut Clock) -> UnitEnd {
        if self.halts.is_stopping(lane) {
            return self.stopped(lane, clock.now);
        }
        match self.lanes.stage_ended(lane, clock.now) {
            StageEnd::GoesOn(ends) => {
                let event = clock.call(ends, Event::Lane(lane));
                if self.halts.are_on() {
                    self.halts.note_event(lane, event, false);
                }
                UnitEnd::Nothing
            }
            StageEnd::Accepts(ends) => {
                clock.call(ends, Event::Lane(lane));
                UnitEnd::Accepts(Unit(lane / self.granule.span))
            }
            StageEnd::Finished(finished) => self.lane_ended(lane, finished, clock.now),
        }
    }

    /// Ends a lane's part of an operation.
    #[expect(clippy::inline_always, reason = "every operation passes here, from two places")]
    #[inline(always)]
    fn lane_ended(&mut self, lane: u32, finished: Finished, now: Time) -> UnitEnd {
        let state = &mut self.states[lane as usize];
        state.busy_ns += now - finished.started.max(state.counted_to);
        state.counted_to = now;
        let id = state.flights[0];
        state.flights = [state.flights[1], NONE];
        let flight = &mut self.flights[id as usize];
        flight.lanes_left -= 1;
        let Flight { unit, word, .. } = *flight;
        if flight.lanes_left > 0 {
            if let Some(Work::Stream(programming, to)) = flight.work {
                return UnitEnd::Crossed {
                    flight: id,
                    from: unit,
                    to,
                    programming,
                    word,
                    finished,
                };
            }
            return UnitEnd::Lane { unit, word, finished };
        }
        UnitEnd::Ended { flight: id, unit, word, finished }
    }

    /// Purpose of an operation.
    #[inline]
    pub fn work(&self, flight: u32) -> &Work {
        self.flights[flight as usize].work.as_ref().expect("it is under way")
    }

    /// Removes a completed operation.
    #[inline]
    pub fn drop_flight(&mut self, flight: u32) {
        self.free.push(flight);
        self.flights[flight as usize].work = None;
    }

    // ---- stopping for reads ----------------------------------------------------------------------

    /// A read waits for a unit: suspends its program or erase, if permitted. `may_stop` decides by
    /// the purpose of the operation. Returns true if it stops.
    pub fn stop_for_read(
        &mut self,
        unit: Unit,
        may_stop: impl Fn(&Work) -> bool,
        clock: &mut Clock,
    ) -> bool {
        if !self.halts.are_on() {
            return false;
        }
        let lane = unit.0;
        let flight = self.states[lane as usize].flights[0];
        let Some(flight) = self.flights.get(flight as usize) else { return false };
        let Some(work) = flight.work.filter(|work| may_stop(work)) else { return false };
        let times = self.halts.going_on(lane, clock.now);
        let Some(times) = times.or_else(|| self.lanes.interruptible(lane, clock.now)) else {
            return false;
        };
        let erases = matches!(work, Work::Erase(_));
        let Some((event, at)) = self.halts.stop(lane, erases, times, clock.now) else {
            return false;
        };
        clock.take_back(event);
        clock.call(at, Event::Lane(lane));
        true
    }

    #[cold]
    fn stopped(&mut self, lane: u32, now: Time) -> UnitEnd {
        let since = self.lanes.running_since(lane).unwrap_or(now);
        let running = self.lanes.stop(lane);
        let state = &mut self.states[lane as usize];
        state.busy_ns += now - since.max(state.counted_to);
        state.counted_to = now;
        let flight = state.flights[0];
        state.flights = [NONE; 2];
        self.halts.stopped(lane, Stopped { flight, running });
        let Flight { work, unit, .. } = self.flights[flight as usize];
        UnitEnd::Stopped { unit, work: work.expect("it is under way") }
    }

    /// True if a unit has an operation that has stopped for reads.
    #[inline]
    pub fn has_stopped(&self, unit: Unit) -> bool {
        self.halts.has_stopped(unit.0)
    }

    /// True if one more read may pass.
    pub fn may_pass(&mut self, unit: Unit) -> bool {
        self.halts.may_pass(unit.0)
    }

    /// Suspension wait of an operation queued at `since`.
    #[inline]
    pub fn waited_for_stop(&self, unit: Unit, since: Time) -> Time {
        if self.halts.are_on() { self.halts.waited(unit.0, since) } else { 0 }
    }

    /// Resumes the stopped operation, and returns its purpose.
    pub fn resume(&mut self, unit: Unit, clock: &mut Clock) -> Option<Work> {
        let lane = unit.0;
        let (Stopped { flight, running }, later) = self.halts.take(lane, clock.now)?;
        let ends = self.lanes.proceed(lane, running, later);
        let event = clock.call(ends, Event::Lane(lane));
        self.halts.note_event(lane, event, false);
        let state = &mut self.states[lane as usize];
        state.flights = [flight, NONE];
        state.counted_to = clock.now;
        self.flights[flight as usize].work
    }

    /// Drops all operations; the time accounting continues.
    pub fn lose_power(&mut self, now: Time) {
        for lane in 0..self.states.len() as u32 {
            let since = self.lanes.running_since(lane);
            let state = &mut self.states[lane as usize];
            let busy = since.map_or(0, |since| now - since.max(state.counted_to));
            *state =
                LaneState { flights: [NONE; 2], busy_ns: state.busy_ns + busy, counted_to: now };
        }
        self.lanes.lose_power(now);
        self.halts.lose_power();
        self.flights.clear();
        self.free.clear();
    }
}

/// An operation at an address, with factory timing.
#[inline]
pub(crate) fn op(kind: OpKind, at: Ppn, count: u32, last: bool) -> FlashOp {
    FlashOp { kind, at, mode: BlockMode::NATIVE, count, last }
}
