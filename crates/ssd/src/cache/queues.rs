//! Pages waiting for their unit: without a write buffer a page gets its place in the flash only
//! when a unit is free for it.
//!
//! A queue has the pages of one unit in their order, and before them the writes that found no room. *Bound* units
//! (a gang under shared control, the two planes of a pair) begin operations together, and only of one kind.

use crate::account::Counters;
use crate::config::SsdConfig;
use crate::device::kit::slots::{Slot, Slots};
use crate::die::{OpKind, Units};
use crate::ids::{Lpn, Ppn, Unit};
use crate::page::{Owner, PageDone, PageRequest, PageWork, Spent};
use crate::shape::{Geometry, Granule};
use engine::{Handle, Status, Time};
use std::collections::VecDeque;

/// No set of bound units.
const NONE: u32 = u32::MAX;

/// Kinds of operations that bound units run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Read,
    Write,
    Move,
    Erase,
}

/// Number of a page from its queue to its completion.
pub type PageId = Slot;

/// A logical page of a request, waiting for or using a unit.
#[derive(Debug, Clone, Copy)]
pub struct PageOp {
    pub owner: Owner,
    pub lpn: Lpn,
    /// Address of a page to read, when it was queued; of no meaning to a write.
    pub at: Ppn,
    pub work: PageWork,
    /// First flash page and number of pages: pages to read, or with new data; in `ReadForWrite`
    /// pages written, which need no read.
    pub range: (u32, u32),
    /// Flash pages touched by the request, and its bytes in them.
    pub touched: u32,
    pub bytes: u32,
    /// For writes: its placement handle.
    pub handle: Handle,
    enqueued: Time,
    /// The unit's cleaning time when the page was queued; the growth since then is the page's wait
    /// for cleaning.
    cleaning_mark: Time,
    /// Latency parts so far.
    spent: Spent,
}

impl PageOp {
    #[inline]
    fn new(request: &PageRequest, work: PageWork, range: (u32, u32)) -> Self {
        PageOp {
            owner: request.owner,
            lpn: request.lpn,
            at: Ppn(0),
            work,
            range,
            touched: request.touched.1,
            bytes: request.bytes,
            handle: request.handle,
            enqueued: 0,
            cleaning_mark: 0,
            spent: Spent::default(),
        }
    }

    #[inline]
    fn phase(&self) -> Phase {
        let programs = matches!(self.work, PageWork::System | PageWork::MapProgram);
        if self.work.writes() || programs { Phase::Write } else { Phase::Read }
    }

    /// Flash pages that a lane reads for the page; all lanes of a synchronous gang read alike.
    #[inline]
    fn pages_read(&self, granule: Granule, lane: u32) -> u32 {
        if granule.synchronous {
            return granule.pages_per_lane();
        }
        let pages = granule.pages_in_lane(self.range.0, self.range.1, lane);
        match self.work {
            PageWork::ReadForWrite => granule.pages_per_lane() - pages,
            _ => pages,
        }
    }

    /// Operation of a lane for the page, if any, and its flash pages.
    #[inline]
    pub fn kind_on(&self, granule: Granule, lane: u32) -> Option<(OpKind, u32)> {
        let new_data = || granule.pages_in_lane(self.range.0, self.range.1, lane) > 0;
        let kind = match self.work {
            PageWork::Read | PageWork::ReadForWrite | PageWork::MapRead => {
                let pages = self.pages_read(granule, lane);
                return (pages > 0).then_some((OpKind::Read, pages));
            }
            PageWork::Write | PageWork::Restore | PageWork::System | PageWork::MapProgram => {
                OpKind::Program
            }
            PageWork::Merge if new_data() => OpKind::Merge,
            PageWork::Merge => OpKind::CopyBack,
            PageWork::MergeAcross => OpKind::Move,
        };
        Some((kind, 1))
    }

    /// Bitmap of the needed lanes.
    fn lanes_needed(&self, granule: Granule) -> u64 {
        let lanes = (0..granule.span).filter(|lane| match self.phase() {
            Phase::Read => self.pages_read(granule, *lane) > 0,
            _ => true,
        });
        lanes.fold(0, |set, lane| set | 1 << lane)
    }

    /// Bitmap of a unit's lanes that cannot start it now.
    fn lanes_refusing(&self, unit: Unit, units: &Units) -> u64 {
        let kind = match self.work {
            PageWork::Read | PageWork::ReadForWrite | PageWork::MapRead => OpKind::Read,
            PageWork::Write | PageWork::Restore | PageWork::System | PageWork::MapProgram => {
                OpKind::Program
            }
            PageWork::Merge | PageWork::MergeAcross => OpKind::Merge,
        };
        units.refusing(unit, kind)
    }
}

/// Queue of a unit, and its account.
#[derive(Debug, Clone, Default)]
struct Queue {
    waiting: VecDeque<PageId>,
    /// Writes that found no room, ahead of everything that waits.
    stalled: VecDeque<PageId>,
    waited_ns: Time,
    served: u64,
}

/// The queues of all units.
#[derive(Debug, Clone)]
pub struct Queues {
    each: Vec<Queue>,
    /// Waiting and executing pages.
    pages: Slots<PageOp>,
    granule: Granule,
    /// The sets of bound units.
    sets: Vec<Vec<Unit>>,
    /// The set of each unit, or `NONE`; empty when there are no sets.
    set_of: Vec<u32>,
    /// Sets with pages queued at this instant, not yet examined.
    offered: Vec<u32>,
    /// Units that have passed on or received a page and may start an operation, last first.
    called: Vec<Unit>,
    /// A busy unit may be able to begin another operation.
    overlaps: bool,
    /// True for units of one independent lane with one operation at a time.
    is_simple: bool,
    /// Pages that were waiting when the drive ended, and are refused; empty between events.
    refused: Vec<PageDone>,
}

impl Queues {
    /// A drive with a write buffer has no queues.
    pub fn new(config: &SsdConfig, geometry: &Geometry) -> Queues {
        let buffered = geometry.groups.is_some();
        let sets = if buffered { Vec::new() } else { geometry.bound_units() };
        let mut set_of =
            memory::filled(NONE, if sets.is_empty() { 0 } else { geometry.units as usize });
        for (set, units) in sets.iter().enumerate() {
            for unit in units {
                set_of[unit.at()] = set as u32;
            }
        }
        let is_simple = sets.is_empty() && geometry.granule.span == 1 && !config.cache_commands;
        Queues {
            each: memory::filled(
                Queue::default(),
                if buffered { 0 } else { geometry.units as usize },
            ),
            pages: Slots::new(),
            granule: geometry.granule,
            sets,
            set_of,
            offered: Vec::new(),
            called: Vec::new(),
            overlaps: config.cache_commands || geometry.granule.span > 1,
            is_simple,
            refused: Vec::new(),
        }
    }

    // ---- queries -------------------------------------------------------------------------------

    /// True if each unit is one independent lane with one operation at a time.
    #[inline]
    pub fn is_simple(&self) -> bool {
        self.is_simple
    }

    /// True if a busy unit may start another operation.
    #[inline]
    pub fn overlaps(&self) -> bool {
        self.overlaps
    }

    #[inline]
    pub fn page(&self, id: PageId) -> &PageOp {
        &self.pages[id]
    }

    /// True with pages to serve at a unit.
    #[inline]
    pub fn has_waiting(&self, unit: Unit) -> bool {
        let queue = &self.each[unit.at()];
        !(queue.waiting.is_empty() && queue.stalled.is_empty())
    }

    /// True if a write found no room at a unit.
    #[inline]
    pub fn has_stalled(&self, unit: Unit) -> bool {
        !self.each[unit.at()].stalled.is_empty()
    }

    /// Number of waiting pages at a unit.
    pub fn length(&self, unit: Unit) -> usize {
        let queue = &self.each[unit.at()];
        queue.waiting.len() + queue.stalled.len()
    }

    /// Time that pages have waited for a unit, summed, ns; and pages that it served.
    pub fn served(&self, unit: Unit) -> (Time, u64) {
        let queue = &self.each[unit.at()];
        (queue.waited_ns, queue.served)
    }

    /// The set that a unit is bound in.
    #[inline]
    pub fn set_of(&self, unit: Unit) -> Option<u32> {
        self.set_of.get(unit.at()).copied().filter(|set| *set != NONE)
    }

    /// The units of a set.
    #[inline]
    pub fn units_of(&self, set: u32) -> &[Unit] {
        &self.sets[set as usize]
    }

    /// Kinds of operations requested from bound units, in turn: first the kind of the longest
    /// waiting page, then the other.
    pub fn first_phases(&self, set: u32) -> [Phase; 2] {
        let heads = self.units_of(set).iter().filter_map(|unit| {
            let queue = &self.each[unit.at()];
            let first = queue.stalled.front().or(queue.waiting.front())?;
            Some(&self.pages[*first])
        });
        let first = heads.min_by_key(|page| page.enqueued).map_or(Phase::Read, PageOp::phase);
        if first == Phase::Read { [Phase::Read, Phase::Write] } else { [Phase::Write, Phase::Read] }
    }

    // ---- commands ------------------------------------------------------------------------------

    /// A page has come that needs an operation.
    #[inline]
    pub fn insert(&mut self, request: &PageRequest, work: PageWork, range: (u32, u32)) -> PageId {
        self.pages.insert(PageOp::new(request, work, range))
    }

    /// Queues a page at a unit, with its cleaning time so far. It lies there, if it is read.
    #[inline]
    pub fn enqueue(&mut self, id: PageId, unit: Unit, at: Ppn, cleaning_ns: Time, now: Time) {
        let page = &mut self.pages[id];
        (page.at, page.enqueued, page.cleaning_mark) = (at, now, cleaning_ns);
        self.each[unit.at()].waiting.push_back(id);
    }

    /// A set has pages that were queued at this instant.
    pub fn offer(&mut self, set: u32) {
        if !self.offered.contains(&set) {
            self.offered.push(set);
        }
    }

    /// One of the given sets.
    #[inline]
    pub fn next_offered(&mut self) -> Option<u32> {
        self.offered.pop()
    }

    /// Puts a unit first in the list of units that may start an operation.
    pub fn call(&mut self, unit: Unit) {
        self.called.push(unit);
    }

    /// The next of these units.
    #[inline]
    pub fn next_called(&mut self) -> Option<Unit> {
        self.called.pop()
    }

    /// The first of the writes that found no room, if a unit can begin it now; it is none of them any more. `Err`
    /// where it cannot, with the page.
    pub fn take_stalled(&mut self, unit: Unit, units: &Units) -> Option<Result<PageId, PageId>> {
        let id = *self.each[unit.at()].stalled.front()?;
        if self.pages[id].lanes_refusing(unit, units) != 0 {
            return Some(Err(id));
        }
        self.each[unit.at()].stalled.pop_front();
        Some(Ok(id))
    }

    /// A write finds no room: it waits at the front, or behind earlier such writes.
    pub fn stall(&mut self, unit: Unit, id: PageId, is_first: bool) {
        let stalled = &mut self.each[unit.at()].stalled;
        if is_first { stalled.push_front(id) } else { stalled.push_back(id) }
    }

    /// The longest waiting page, if it is a read; it waits no more.
    #[inline]
    pub fn take_first_read(&mut self, unit: Unit) -> Option<PageId> {
        let queue = &mut self.each[unit.at()];
        let id = *queue.waiting.front()?;
        if self.pages[id].work.writes() {
            return None;
        }
        queue.waiting.pop_front()
    }

    /// The first page that can begin now: on each lane, pages are served in order. It waits no more.
    #[inline]
    pub fn take_next(&mut self, unit: Unit, only: Option<Phase>, units: &Units) -> Option<PageId> {
        let index = self.next_to_serve(unit, only, units)?;
        let waiting = &mut self.each[unit.at()].waiting;
        match index {
            0 => waiting.pop_front(),
            _ => waiting.remove(index),
        }
    }

    /// The place of that in the queue.
    #[inline]
    fn next_to_serve(&self, unit: Unit, only: Option<Phase>, units: &Units) -> Option<usize> {
        let waiting = &self.each[unit.at()].waiting;
        let wanted = |id: PageId| only.is_none_or(|only| only == self.pages[id].phase());
        if self.granule.span == 1 {
            let id = waiting.front().copied().filter(|id| wanted(*id))?;
            let begins = if self.overlaps {
                self.pages[id].lanes_refusing(unit, units) == 0
            } else {
                units.is_idle(unit)
            };
            return begins.then_some(0);
        }
        let all = u64::MAX >> (64 - self.granule.span);
        let mut claimed = 0;
        for (index, id) in waiting.iter().copied().enumerate() {
            let page = &self.pages[id];
            let needed = page.lanes_needed(self.granule);
            if needed & claimed == 0 && needed & page.lanes_refusing(unit, units) == 0 {
                return wanted(id).then_some(index);
            }
            claimed |= needed;
            if claimed == all {
                return None;
            }
        }
        None
    }

    /// Sets the operation of a page when it starts.
    pub fn set_work(&mut self, id: PageId, work: PageWork) {
        self.pages[id].work = work;
    }

    /// Takes the first read, skipping other pages; it waits no more.
    pub fn take_read(&mut self, unit: Unit) -> Option<PageId> {
        let pages = &self.pages;
        let waiting = &mut self.each[unit.at()].waiting;
        let place = waiting.iter().position(|id| pages[*id].phase() == Phase::Read)?;
        waiting.remove(place)
    }

    /// Since when a page waits.
    #[inline]
    pub fn since(&self, id: PageId) -> Time {
        self.pages[id].enqueued
    }

    /// Adds the time for which a page waited for an operation to stop, perhaps one of cleaning.
    pub fn waited_for_stop(&mut self, id: PageId, ns: Time) {
        let page = &mut self.pages[id];
        page.spent.wait_for_stop(ns);
    }

    /// A unit begins with a page, having cleaned for so long by now.
    #[inline]
    pub fn begin(&mut self, unit: Unit, id: PageId, cleaning_ns: Time, now: Time) {
        let (queue, page) = (&mut self.each[unit.at()], &mut self.pages[id]);
        page.spent.wait_for_cleaning(cleaning_ns - page.cleaning_mark);
        queue.waited_ns += now - page.enqueued;
        queue.served += 1;
    }

    /// Moves a waiting page to another unit's queue; the wait so far stays on the page's account. Both units have
    /// cleaned for so long by now.
    pub fn hand_over(
        &mut self,
        id: PageId,
        (from, to): (Unit, Unit),
        cleaning_ns: [Time; 2],
        now: Time,
    ) {
        let page = &mut self.pages[id];
        page.spent.wait_for_cleaning(cleaning_ns[0] - page.cleaning_mark);
        page.cleaning_mark = cleaning_ns[1];
        self.each[from.at()].waited_ns += now - page.enqueued;
        page.enqueued = now;
        self.each[to.at()].waiting.push_back(id);
    }

    /// An operation of a page has ended that took this time of the bus and the cells.
    #[inline]
    pub fn spend(&mut self, id: PageId, bus_ns: Time, cell_ns: Time) -> &PageOp {
        let page = &mut self.pages[id];
        page.spent.operate(bus_ns, cell_ns);
        page
    }

    /// A page is done.
    #[inline]
    pub fn finish(&mut self, id: PageId, status: Status) -> PageDone {
        let PageOp { owner, spent, .. } = self.pages.remove(id);
        PageDone { owner, status, spent: Some(spent) }
    }

    /// The drive has reached end of life: waiting writes are rejected and lost.
    pub fn refuse_writes(&mut self, counters: &mut Counters) {
        for queue in &mut self.each {
            let pages = &mut self.pages;
            let stalled = std::mem::take(&mut queue.stalled);
            let (writes, reads): (Vec<_>, Vec<_>) =
                std::mem::take(&mut queue.waiting).into_iter().partition(|id| {
                    let work = pages[*id].work;
                    work != PageWork::Read && !work.is_of_drive()
                });
            queue.waiting = reads.into();
            for id in stalled.into_iter().chain(writes) {
                let page = pages.remove(id);
                counters.page_refused(page.touched, u64::from(page.bytes));
                let status = Status::ReadOnly;
                self.refused.push(PageDone { owner: page.owner, status, spent: None });
            }
        }
    }

    /// Pages that were refused as the drive ended, in order.
    #[inline]
    pub fn take_refused(&mut self) -> Vec<PageDone> {
        if self.refused.is_empty() { Vec::new() } else { std::mem::take(&mut self.refused) }
    }

    /// Everything that waits or is under way is forgotten.
    pub fn lose_power(&mut self) {
        for queue in &mut self.each {
            queue.waiting.clear();
            queue.stalled.clear();
        }
        self.pages = Slots::new();
        self.offered.clear();
        self.called.clear();
        self.refused.clear();
    }
}
