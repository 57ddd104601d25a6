//! A power cut at the units: what is under way ends where it is, and what waits is forgotten. And the
//! pages that the drive writes for itself, before and after.

use super::Scheduler;
use super::units::{LaneState, NONE, OpId, PageOp, Work};
use crate::kit::slots::{Slot, Slots};
use crate::ssd::clock::Clock;
use crate::ssd::flash::{FlashOp, OpKind};
use crate::ssd::ftl::Programming;
use crate::ssd::ids::{BlockMode, Lpn, Unit};
use crate::ssd::page::{Access, PageRequest, PageWork};
use engine::Time;

/// How far a program had come when the power went, in one of its lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Reached {
    /// The cells are as they were.
    Nothing,
    /// The cells were being programmed.
    Cells,
    /// The data was there; the summary behind it, if there is one, was not.
    Data,
}

/// A program that the cut has stopped.
#[derive(Debug, Clone)]
pub(in crate::ssd) struct CutProgram {
    pub(in crate::ssd) programming: Programming,
    /// It was for a request of the host.
    pub(in crate::ssd) is_hosts: bool,
    /// Its data had been answered: it was in a write buffer.
    pub(in crate::ssd) answered: bool,
    /// By lane.
    pub(in crate::ssd) reached: Vec<Reached>,
}

impl Scheduler {
    /// The programs under way, in the order in which they were begun, and how far each has come.
    pub(in crate::ssd) fn cut_programs(&self, now: Time) -> Vec<CutProgram> {
        let mut programs = Vec::new();
        for (id, flight) in self.units.flights.iter().enumerate() {
            let (programming, is_hosts, to) = match flight.work {
                Some(Work::Host(op, Some(it))) => {
                    (it, self.units.ops[op].owner.is_some(), flight.unit)
                }
                Some(Work::Move(it)) => (it, false, flight.unit),
                Some(Work::Stream(it, to)) => (it, false, to),
                _ => continue,
            };
            let crossed = !matches!(flight.work, Some(Work::Stream(..))) || flight.lanes_left < 2;
            let lanes = self.units.lanes_of(to);
            let reached = lanes.map(|lane| {
                if crossed { self.reached(lane, id as u32, now) } else { Reached::Nothing }
            });
            let reached = reached.collect();
            programs.push(CutProgram { programming, is_hosts, answered: false, reached });
        }
        programs.sort_by_key(|it| it.programming.order.wrapping_sub(self.ftl.next_order()));
        programs
    }

    /// The programs under way in the same order, and their owners.
    pub(in crate::ssd) fn owned_programs(&self) -> Vec<(Programming, Option<Slot>)> {
        let flights = self.units.flights.iter().filter_map(|flight| match flight.work? {
            Work::Host(op, Some(it)) => Some((it, self.units.ops[op].owner)),
            Work::Move(it) | Work::Stream(it, _) => Some((it, None)),
            _ => None,
        });
        let mut all: Vec<_> = flights.collect();
        all.sort_by_key(|(it, _)| it.order.wrapping_sub(self.ftl.next_order()));
        all
    }

    /// How far a lane has come with its part of a program.
    fn reached(&self, lane: u32, id: u32, now: Time) -> Reached {
        let flights = self.units.lanes[lane as usize].flights;
        let Some(place) = flights.iter().position(|flight| *flight == id) else {
            return Reached::Data;
        };
        let Some((stage, cells)) = self.lanes.reached(lane, place == 1, now) else {
            return Reached::Nothing;
        };
        let pages = self.units.granule.pages_per_lane();
        let flight = &self.units.flights[id as usize];
        let (programming, senses) = match flight.work {
            Some(Work::Host(op, Some(it))) => {
                let senses = match self.units.ops[op].work {
                    PageWork::Merge => 1,
                    PageWork::MergeAcross => pages,
                    _ => 0,
                };
                (it, senses)
            }
            Some(Work::Move(it)) if self.cleaning.copy_back => (it, 1),
            Some(Work::Move(it)) => (it, pages),
            Some(Work::Stream(it, _)) => (it, 0),
            _ => return Reached::Nothing,
        };
        let geometry = self.ftl.geometry();
        let stages = self.lanes.stages_of(lane, place == 1);
        let op = FlashOp {
            kind: OpKind::Program,
            at: programming.ppn,
            mode: BlockMode::NATIVE,
            count: 1,
            last: false,
        };
        // A copy of the page that shares the cells goes first: it is sensed and programmed elsewhere.
        let senses = senses + 2 * u32::from(self.costs.copies(&op));
        let summary = if self.copies_for_summary { 4 } else { 2 };
        if geometry.has_summary_page()
            && geometry.is_last(programming.ppn)
            && stage + summary >= stages
        {
            return Reached::Data;
        }
        if cells > senses { Reached::Cells } else { Reached::Nothing }
    }

    /// Everything that is under way or waits is gone; the time accounting continues.
    pub(in crate::ssd) fn lose_power(&mut self, now: Time) {
        for lane in 0..self.units.lanes.len() as u32 {
            let since = self.lanes.running_since(lane);
            let state = &mut self.units.lanes[lane as usize];
            let busy = since.map_or(0, |since| now - since.max(state.counted_to));
            *state =
                LaneState { flights: [NONE; 2], busy_ns: state.busy_ns + busy, counted_to: now };
        }
        self.lanes.lose_power(now);
        for queue in &mut self.units.queues {
            queue.cleaning_ns = queue.cleaning_ns_at(now);
            queue.cleaning_since = None;
            queue.waiting.clear();
            queue.stalled.clear();
            queue.job = None;
            (queue.streaming, queue.receiving) = (0, false);
        }
        self.units.ops = Slots::new();
        self.units.flights.clear();
        self.units.free_flights.clear();
        self.units.offered.clear();
        self.units.barred.clear();
        self.refused.clear();
    }

    // ---- pages of the drive's own ---------------------------------------------------------

    /// Writes a metadata page on a unit; its owner, if it has one, is notified of its end.
    pub(in crate::ssd) fn write_system(
        &mut self,
        unit: Unit,
        owner: Option<Slot>,
        clock: &mut Clock,
    ) {
        let op = self.own_page(PageWork::System, Lpn(0), owner);
        self.put_on(unit, op, clock);
    }

    /// Writes a page anew that lies where a power cut may have harmed it, if there is room.
    pub(in crate::ssd) fn restore(&mut self, lpn: Lpn, clock: &mut Clock) -> bool {
        let pool = self.ftl.geometry().pool_of(lpn);
        let Some(domain) = self.ftl.roomiest(pool) else { return false };
        let unit = self.ftl.geometry().unit_of(domain);
        let op = self.own_page(PageWork::Restore, lpn, None);
        self.put_on(unit, op, clock);
        true
    }

    fn own_page(&mut self, work: PageWork, lpn: Lpn, owner: Option<Slot>) -> OpId {
        let pages = self.units.granule.flash_pages;
        let request = PageRequest {
            owner,
            access: Access::Write,
            lpn,
            bytes: 0,
            touched: (0, pages),
            whole: (0, pages),
            covered: true,
        };
        self.units.ops.insert(PageOp::new(&request, work, (0, pages)))
    }

    fn put_on(&mut self, unit: Unit, op: OpId, clock: &mut Clock) {
        let page = &mut self.units.ops[op];
        page.enqueued = clock.now;
        page.cleaning_mark = self.units.queues[unit.at()].cleaning_ns_at(clock.now);
        self.units.queues[unit.at()].waiting.push_back(op);
        self.dispatch(unit, clock);
    }

    /// Starts to write a page anew, wherever its pool has room on the unit.
    pub(super) fn start_restore(
        &mut self,
        unit: Unit,
        id: OpId,
        lpn: Lpn,
        clock: &mut Clock,
    ) -> bool {
        let pool = self.ftl.geometry().pool_of(lpn);
        let Some(domain) = self.ftl.roomiest_on(pool, unit) else { return false };
        let programming = self.ftl.begin_move(domain, lpn);
        self.start(unit, id, Some(programming), clock);
        true
    }
}
