//! Units: their queues of page requests, the operation of each, and time accounting.
//!
//! A unit is a package, a die, a pair of planes or a plane; where a logical page is spread over several
//! packages it is the same part of each of them, its *lanes*. A unit programs, moves and erases with
//! all lanes at once, and reads with those that hold what is read. *Bound* units (a gang under shared
//! control, the two planes of a pair) begin operations together, and only of one kind.

use crate::kit::slots::{Slot, Slots};
use crate::ssd::config::SsdConfig;
use crate::ssd::flash::{Lanes, OpKind};
use crate::ssd::ftl::{Programming, Relocation};
use crate::ssd::ids::{Block, Lpn, Ppn, Unit};
use crate::ssd::page::{PageRequest, PageWork};
use crate::ssd::shape::Geometry;
use crate::ssd::shape::Granule;
use engine::Time;
use std::collections::VecDeque;

/// No operation, no set of bound units, not cleaning.
pub(in crate::ssd) const NONE: u32 = u32::MAX;

/// What runs on bound units at the same time is of one of these kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Phase {
    Read,
    Write,
    Move,
    Erase,
}

/// The number of a page operation, from its queue to its end.
pub(in crate::ssd) type OpId = Slot;

/// One logical page of a request, waiting for or using a unit.
#[derive(Debug, Clone, Copy)]
pub(in crate::ssd) struct PageOp {
    /// The owner, notified when it is done.
    pub(in crate::ssd) owner: Option<Slot>,
    pub(in crate::ssd) lpn: Lpn,
    /// Where a page that is read lay when it was queued; of no meaning to a write.
    pub(in crate::ssd) at: Ppn,
    pub(in crate::ssd) work: PageWork,
    /// First flash page and number of them: what is read or has new data; of `ReadForWrite` what
    /// is written and need not be read.
    pub(in crate::ssd) range: (u32, u32),
    /// Flash pages that the request touches, and its bytes in them.
    pub(in crate::ssd) touched: u32,
    pub(in crate::ssd) bytes: u32,
    pub(in crate::ssd) enqueued: Time,
    /// The unit's cleaning time when the page was queued; the difference is what it waited for.
    pub(in crate::ssd) cleaning_mark: Time,
    /// Of this page so far, ns.
    pub(in crate::ssd) cleaning_wait: Time,
    pub(in crate::ssd) bus: Time,
    pub(in crate::ssd) cell: Time,
}

impl PageOp {
    #[inline]
    pub(in crate::ssd) fn new(request: &PageRequest, work: PageWork, range: (u32, u32)) -> Self {
        PageOp {
            owner: request.owner,
            lpn: request.lpn,
            at: Ppn(0),
            work,
            range,
            touched: request.touched.1,
            bytes: request.bytes,
            enqueued: 0,
            cleaning_mark: 0,
            cleaning_wait: 0,
            bus: 0,
            cell: 0,
        }
    }

    #[inline]
    pub(in crate::ssd) fn phase(&self) -> Phase {
        if self.work.writes() || self.work == PageWork::System { Phase::Write } else { Phase::Read }
    }

    /// Flash pages that a lane reads for it; all lanes of a synchronous gang read alike.
    #[inline]
    pub(in crate::ssd) fn pages_read(&self, granule: Granule, lane: u32) -> u32 {
        if granule.synchronous {
            return granule.pages_per_lane();
        }
        let pages = granule.pages_in_lane(self.range.0, self.range.1, lane);
        match self.work {
            PageWork::ReadForWrite => granule.pages_per_lane() - pages,
            _ => pages,
        }
    }
}

/// What an operation is for.
#[derive(Debug, Clone, Copy)]
pub(in crate::ssd) enum Work {
    Host(OpId, Option<Programming>),
    Move(Programming),
    /// A copy to another unit.
    Stream(Programming, Unit),
    Erase(Relocation),
}

/// An operation under way on one or more lanes of a unit.
#[derive(Debug, Clone, Copy)]
pub(in crate::ssd) struct Flight {
    /// `None` when this place is free.
    pub(in crate::ssd) work: Option<Work>,
    pub(in crate::ssd) unit: Unit,
    /// Lanes that are not done yet.
    pub(in crate::ssd) lanes_left: u32,
}

/// What a lane does: an operation, and with cache commands the next; its account.
#[derive(Debug, Clone, Copy)]
pub(in crate::ssd) struct LaneState {
    pub(in crate::ssd) flights: [u32; 2],
    pub(in crate::ssd) busy_ns: Time,
    /// Counted as busy up to here.
    pub(in crate::ssd) counted_to: Time,
}

/// A unit's queues and its account.
#[derive(Debug, Clone)]
pub(in crate::ssd) struct UnitQueue {
    pub(in crate::ssd) waiting: VecDeque<OpId>,
    /// Writes that found no room, ahead of everything that waits.
    pub(in crate::ssd) stalled: VecDeque<OpId>,
    pub(in crate::ssd) job: Option<Relocation>,
    /// Pages of its victim on their way to other units.
    pub(in crate::ssd) streaming: u32,
    /// A page of another unit's victim is being copied here.
    pub(in crate::ssd) receiving: bool,
    /// When the move or erase under way began.
    pub(in crate::ssd) cleaning_since: Option<Time>,
    pub(in crate::ssd) cleaning_ns: Time,
    pub(in crate::ssd) waited_ns: Time,
    pub(in crate::ssd) served: u64,
}

impl UnitQueue {
    /// How long the unit has been cleaning up to now, ns.
    #[inline]
    pub(in crate::ssd) fn cleaning_ns_at(&self, now: Time) -> Time {
        self.cleaning_ns + self.cleaning_since.map_or(0, |since| now.saturating_sub(since))
    }
}

/// Every unit of a drive.
#[derive(Debug, Clone)]
pub(in crate::ssd) struct Units {
    pub(in crate::ssd) queues: Vec<UnitQueue>,
    /// What waits in them, and what is under way.
    pub(in crate::ssd) ops: Slots<PageOp>,
    pub(in crate::ssd) lanes: Vec<LaneState>,
    pub(in crate::ssd) granule: Granule,
    pub(in crate::ssd) flights: Vec<Flight>,
    pub(in crate::ssd) free_flights: Vec<u32>,
    /// Sets of bound units; empty while one is being given its operations.
    pub(in crate::ssd) bound: Vec<Vec<Unit>>,
    /// The set of each unit, or `NONE`; empty when there are no sets.
    pub(in crate::ssd) bound_of: Vec<u32>,
    /// Sets with pages that were queued at this instant and not yet looked at.
    pub(in crate::ssd) offered: Vec<u32>,
    /// Units whose erasure waits for a program elsewhere.
    pub(in crate::ssd) barred: Vec<Unit>,
    /// A busy unit may be able to begin another operation.
    pub(in crate::ssd) overlaps: bool,
    /// Units are one lane each that does one operation at a time, whatever others do.
    pub(in crate::ssd) is_simple: bool,
}

impl Units {
    pub(in crate::ssd) fn new(config: &SsdConfig, geometry: &Geometry) -> Self {
        let queue = UnitQueue {
            waiting: VecDeque::new(),
            stalled: VecDeque::new(),
            job: None,
            streaming: 0,
            receiving: false,
            cleaning_since: None,
            cleaning_ns: 0,
            waited_ns: 0,
            served: 0,
        };
        let lane = LaneState { flights: [NONE; 2], busy_ns: 0, counted_to: 0 };
        let lanes = geometry.units * geometry.granule.span;
        let bound = geometry.bound_units();
        let mut bound_of = vec![NONE; if bound.is_empty() { 0 } else { geometry.units as usize }];
        for (set, units) in bound.iter().enumerate() {
            for unit in units {
                bound_of[unit.at()] = set as u32;
            }
        }
        let is_simple = bound.is_empty() && geometry.granule.span == 1 && !config.cache_commands;
        Units {
            queues: vec![queue; geometry.units as usize],
            ops: Slots::new(),
            lanes: vec![lane; lanes as usize],
            granule: geometry.granule,
            flights: Vec::new(),
            free_flights: Vec::new(),
            bound,
            bound_of,
            offered: Vec::new(),
            barred: Vec::new(),
            overlaps: config.cache_commands || geometry.granule.span > 1,
            is_simple,
        }
    }

    /// What a unit is cleaning.
    pub(in crate::ssd) fn job(&self, unit: Unit) -> Option<Relocation> {
        self.queues[unit.at()].job
    }

    /// Pages of the victim of a unit on their way to other units.
    pub(in crate::ssd) fn streaming(&self, unit: Unit) -> u32 {
        self.queues[unit.at()].streaming
    }

    /// Whether a unit has work that goes before copies to it: pages that wait, or cleaning that does
    /// not yield.
    pub(in crate::ssd) fn is_held(&self, unit: Unit, blocking: bool) -> bool {
        let queue = &self.queues[unit.at()];
        !queue.waiting.is_empty() || !queue.stalled.is_empty() || blocking && queue.job.is_some()
    }

    /// Whether pages are being copied to a unit, or from it.
    pub(in crate::ssd) fn takes_part_in_streams(&self, unit: Unit) -> bool {
        let queue = &self.queues[unit.at()];
        queue.receiving || queue.streaming > 0
    }

    /// A copy begins, for which both units are needed.
    pub(in crate::ssd) fn begin_stream(
        &mut self,
        from: Unit,
        job: Relocation,
        to: Unit,
        now: Time,
    ) {
        let queue = &mut self.queues[from.at()];
        queue.job = Some(job);
        queue.streaming += 1;
        queue.cleaning_since = Some(now);
        let queue = &mut self.queues[to.at()];
        queue.receiving = true;
        queue.cleaning_since = Some(now);
    }

    /// A copy has ended.
    pub(in crate::ssd) fn end_stream(&mut self, from: Unit, to: Unit, now: Time) {
        self.queues[from.at()].streaming -= 1;
        self.queues[to.at()].receiving = false;
        self.end_cleaning_operation(to, now);
    }

    /// A unit is free for other work again.
    #[inline]
    pub(in crate::ssd) fn end_cleaning_operation(&mut self, unit: Unit, now: Time) {
        let queue = &mut self.queues[unit.at()];
        let since = queue.cleaning_since.take().expect("it was cleaning");
        queue.cleaning_ns += now - since;
    }

    /// Starts an operation on `lanes` lanes; its number.
    #[inline]
    pub(in crate::ssd) fn start(&mut self, work: Work, unit: Unit, lanes: u32) -> u32 {
        let flight = Flight { work: Some(work), unit, lanes_left: lanes };
        if let Some(id) = self.free_flights.pop() {
            self.flights[id as usize] = flight;
            return id;
        }
        self.flights.push(flight);
        self.flights.len() as u32 - 1
    }

    /// A lane has begun its part of an operation.
    #[inline]
    pub(in crate::ssd) fn put_on_lane(&mut self, lane: u32, id: u32) {
        let flights = &mut self.lanes[lane as usize].flights;
        flights[usize::from(flights[0] != NONE)] = id;
    }

    pub(in crate::ssd) fn lanes_of(&self, unit: Unit) -> std::ops::Range<u32> {
        let first = unit.0 * self.granule.span;
        first..first + self.granule.span
    }

    /// Pages whose programming has begun: the map knows them, the flash does not yet.
    pub(in crate::ssd) fn programming(&self) -> impl Iterator<Item = Programming> + '_ {
        self.flights.iter().filter_map(|flight| match flight.work? {
            Work::Host(_, programming) => programming,
            Work::Move(programming) | Work::Stream(programming, _) => Some(programming),
            Work::Erase(_) => None,
        })
    }

    /// Blocks whose erasure has begun.
    pub(in crate::ssd) fn erasing(&self) -> impl Iterator<Item = Block> + '_ {
        self.flights.iter().filter_map(|flight| match flight.work? {
            Work::Erase(job) => Some(job.source),
            _ => None,
        })
    }

    /// Whether a page is being programmed of which the newest copy so far lies among these.
    pub(in crate::ssd) fn supersede_one_of(&self, pages: &std::ops::Range<Ppn>) -> bool {
        self.programming().any(|programming| programming.old.is_within(pages))
    }

    /// The erasure of a unit has to wait.
    pub(in crate::ssd) fn bar(&mut self, unit: Unit) {
        if !self.barred.contains(&unit) {
            self.barred.push(unit);
        }
    }

    /// How long a unit has been cleaning up to now, ns.
    pub(in crate::ssd) fn cleaning_ns(&self, unit: Unit, now: Time) -> Time {
        self.queues[unit.at()].cleaning_ns_at(now)
    }

    /// Time that pages have waited for a unit, summed, ns; and pages that it served.
    pub(in crate::ssd) fn served(&self, unit: Unit) -> (Time, u64) {
        let queue = &self.queues[unit.at()];
        (queue.waited_ns, queue.served)
    }

    /// How long the lanes of a unit have been busy up to now, their mean, ns.
    pub(in crate::ssd) fn busy_ns(&self, unit: Unit, timing: &Lanes, now: Time) -> Time {
        let busy = |lane: u32| {
            let state = &self.lanes[lane as usize];
            let since = timing.running_since(lane).map(|since| since.max(state.counted_to));
            state.busy_ns + since.map_or(0, |since| now.saturating_sub(since))
        };
        self.lanes_of(unit).map(busy).sum::<Time>() / Time::from(self.granule.span)
    }
}

impl PageOp {
    /// What a lane does for a page, if anything, and on how many flash pages.
    #[inline]
    pub(in crate::ssd) fn kind_on(&self, granule: Granule, lane: u32) -> Option<(OpKind, u32)> {
        let new_data = || granule.pages_in_lane(self.range.0, self.range.1, lane) > 0;
        let kind = match self.work {
            PageWork::Read | PageWork::ReadForWrite => {
                let pages = self.pages_read(granule, lane);
                return (pages > 0).then_some((OpKind::Read, pages));
            }
            PageWork::Write | PageWork::Restore | PageWork::System => OpKind::Program,
            PageWork::Merge if new_data() => OpKind::Merge,
            PageWork::Merge => OpKind::CopyBack,
            PageWork::MergeAcross => OpKind::Move,
        };
        Some((kind, 1))
    }
}
