//! The class of page requests: their queues, the choice of the next, and its completion.

use super::Scheduler;
use super::units::{NONE, OpId, PageOp, Phase, Work};
use crate::ssd::clock::Clock;
use crate::ssd::flash::{Finished, OpKind};
use crate::ssd::ftl::Programming;
use crate::ssd::ids::{Lpn, PoolId, Ppn, Unit};
use crate::ssd::page::{PageDone, PageWork, Spent};
use engine::Status;

impl Scheduler {
    /// Queues a page at the unit that will serve it.
    #[inline]
    pub(super) fn enqueue(&mut self, id: OpId, clock: &mut Clock) {
        let PageOp { work, lpn, .. } = self.units.ops[id];
        let mut at = Ppn(0);
        let spans = self.ftl.pools_span_units();
        if !work.writes() && (spans || !self.costs.is_uniform()) {
            at = self.ftl.lookup(lpn).expect("only mapped pages are read");
        }
        let unit = match self.ftl.geometry().pool_of(lpn) {
            pool if !spans => self.ftl.only_unit_of(pool),
            pool if work.writes() => self.choose_unit(pool),
            _ => self.ftl.geometry().unit_holding(at),
        };
        let op = &mut self.units.ops[id];
        if work.writes() {
            // It will be looked up when it is programmed.
            self.ftl.prefetch(lpn);
        }
        op.at = at;
        op.enqueued = clock.now;
        op.cleaning_mark = self.units.queues[unit.at()].cleaning_ns_at(clock.now);
        self.units.queues[unit.at()].waiting.push_back(id);
        if self.units.is_simple && !self.is_idle(unit) {
            return;
        }
        match self.units.bound_of.get(unit.at()) {
            Some(&set) if set != NONE => {
                if !self.units.offered.contains(&set) {
                    self.units.offered.push(set);
                }
            }
            _ => self.dispatch_unit(unit, clock, None),
        }
    }

    /// Of the units that a pool spans: one with room, else one where cleaning makes some, and of
    /// those the one with the shortest queue, then the fewest valid pages.
    ///
    /// A unit that is bound to a busy one counts as busy: it would look free while it must wait for the
    /// other's cleaning, and take all writes.
    fn choose_unit(&self, pool: PoolId) -> Unit {
        if !self.ftl.pools_span_units() {
            return self.ftl.only_unit_of(pool);
        }
        let units = self.ftl.units_of(pool);
        let rank = |unit: &Unit| {
            let queue = &self.units.queues[unit.at()];
            let busy = usize::from(!self.could_begin(*unit));
            let (hopeless, full, reclaimable) = self.ftl.standing(pool, *unit);
            let length = queue.waiting.len() + queue.stalled.len() + busy;
            (full, hopeless && queue.job.is_none(), length, reclaimable)
        };
        units.min_by_key(rank).expect("a pool has a unit")
    }

    /// Whether a unit and those bound to it are idle.
    fn could_begin(&self, unit: Unit) -> bool {
        match self.units.bound_of.get(unit.at()) {
            Some(&set) if set != NONE && !self.units.bound[set as usize].is_empty() => {
                self.units.bound[set as usize].iter().all(|unit| self.is_idle(*unit))
            }
            _ => self.is_idle(unit),
        }
    }

    /// Whether no lane of a unit has an operation, or waits for a page to be copied to it.
    #[expect(clippy::inline_always, reason = "asked several times for every operation")]
    #[inline(always)]
    pub(super) fn is_idle(&self, unit: Unit) -> bool {
        if self.units.granule.span == 1 {
            return self.lanes.is_idle(unit.0)
                && self.units.queues[unit.at()].cleaning_since.is_none();
        }
        self.units.lanes_of(unit).all(|lane| self.lanes.is_idle(lane))
    }

    /// The lanes that a page needs, as bits.
    fn lanes_needed(&self, op: &PageOp) -> u64 {
        let granule = self.units.granule;
        let lanes = (0..granule.span).filter(|lane| match op.phase() {
            Phase::Read => op.pages_read(granule, *lane) > 0,
            _ => true,
        });
        lanes.fold(0, |set, lane| set | 1 << lane)
    }

    /// The lanes of a unit that cannot begin the operation of a page now, as bits.
    fn lanes_refusing(&self, unit: Unit, op: &PageOp) -> u64 {
        let kind = match op.work {
            PageWork::Read | PageWork::ReadForWrite => OpKind::Read,
            PageWork::Write | PageWork::Restore | PageWork::System => OpKind::Program,
            PageWork::Merge | PageWork::MergeAcross => OpKind::Merge,
        };
        let lanes = self.units.lanes_of(unit).enumerate();
        let refusing = lanes.filter(|(_, lane)| !self.lanes.accepts(*lane, kind.chains()));
        refusing.fold(0, |set, (bit, _)| set | 1 << bit)
    }

    /// Starts the waiting pages that can start, the first first; writes without room step aside, in
    /// order.
    #[inline]
    pub(super) fn serve_requests(&mut self, unit: Unit, clock: &mut Clock, only: Option<Phase>) {
        let queue = &self.units.queues[unit.at()];
        let held = queue.job.is_some() && self.blocks_for_cleaning();
        if held || queue.cleaning_since.is_some() {
            return;
        }
        if !queue.stalled.is_empty() && only.is_none_or(|only| only == Phase::Write) {
            while let Some(op) = self.units.queues[unit.at()].stalled.front().copied() {
                if self.lanes_refusing(unit, &self.units.ops[op]) != 0 {
                    // It comes next, unless it must wait for cleaning anyway.
                    let pool = self.ftl.geometry().pool_of(self.units.ops[op].lpn);
                    if self.ftl.room_for(pool, unit) > 0 {
                        return;
                    }
                    break;
                }
                self.units.queues[unit.at()].stalled.pop_front();
                if !self.start_write(unit, op, clock) {
                    self.units.queues[unit.at()].stalled.push_front(op);
                    break;
                }
            }
        }
        while let Some(index) = self.next_to_serve(unit, only) {
            let queue = &mut self.units.queues[unit.at()];
            let op = match index {
                0 => queue.waiting.pop_front(),
                _ => queue.waiting.remove(index),
            };
            let op = op.expect("it was found there");
            if self.units.ops[op].work.writes() {
                let first = self.units.queues[unit.at()].stalled.is_empty();
                if !(first && self.start_write(unit, op, clock)) {
                    self.units.queues[unit.at()].stalled.push_back(op);
                }
            } else if let Some(other) = self.new_holder(op, unit) {
                self.hand_over(op, unit, other, clock);
            } else {
                self.start(unit, op, None, clock);
                if !self.units.overlaps {
                    return;
                }
            }
        }
    }

    /// Begins what a simple unit without other duties does most: the read that has waited longest. Whether
    /// that is what comes next.
    #[inline]
    pub(super) fn begin_first_read(&mut self, unit: Unit, clock: &mut Clock) -> bool {
        let queue = &mut self.units.queues[unit.at()];
        let Some(&id) = queue.waiting.front() else { return false };
        if self.units.ops[id].work.writes() || self.ftl.pools_span_units() {
            return false;
        }
        queue.waiting.pop_front();
        self.start(unit, id, None, clock);
        true
    }

    /// The place in the queue of the first page that can begin now: on each lane, pages are served in
    /// order.
    #[inline]
    fn next_to_serve(&self, unit: Unit, only: Option<Phase>) -> Option<usize> {
        let waiting = &self.units.queues[unit.at()].waiting;
        let ops = &self.units.ops;
        let wanted = |op: OpId| only.is_none_or(|only| only == ops[op].phase());
        if self.units.granule.span == 1 {
            let op = waiting.front().copied().filter(|op| wanted(*op))?;
            let begins = if self.units.overlaps {
                self.lanes_refusing(unit, &ops[op]) == 0
            } else {
                self.lanes.is_idle(unit.0)
            };
            return begins.then_some(0);
        }
        let all = u64::MAX >> (64 - self.units.granule.span);
        let mut claimed = 0;
        for (index, op) in waiting.iter().copied().enumerate() {
            let needed = self.lanes_needed(&ops[op]);
            if needed & claimed == 0 && needed & self.lanes_refusing(unit, &ops[op]) == 0 {
                return wanted(op).then_some(index);
            }
            claimed |= needed;
            if claimed == all {
                return None;
            }
        }
        None
    }

    /// Starts a write or hands it to a better unit, unless it must wait for cleaning here.
    #[inline]
    fn start_write(&mut self, unit: Unit, id: OpId, clock: &mut Clock) -> bool {
        let PageOp { work, lpn, .. } = self.units.ops[id];
        let pool = self.ftl.geometry().pool_of(lpn);
        if work == PageWork::Restore {
            return self.start_restore(unit, id, lpn, clock);
        }
        let domain = if work == PageWork::Merge {
            self.ftl.choose_domain_near(pool, unit, lpn).map(|(domain, near)| {
                self.units.ops[id].work = match (near, self.ftl.lookup(lpn)) {
                    // Trimmed while it waited: there is nothing left to merge with.
                    (_, None) => PageWork::Write,
                    (true, _) => PageWork::Merge,
                    (false, _) => PageWork::MergeAcross,
                };
                domain
            })
        } else {
            self.ftl.choose_domain(pool, unit, lpn)
        };
        if let Some(domain) = domain {
            let programming = self.ftl.begin_program(domain, lpn);
            self.start(unit, id, Some(programming), clock);
            return true;
        }
        if let Some(other) = self.better_unit(unit, lpn) {
            self.hand_over(id, unit, other, clock);
            return true;
        }
        false
    }

    #[inline]
    pub(super) fn start(
        &mut self,
        unit: Unit,
        id: OpId,
        programming: Option<Programming>,
        clock: &mut Clock,
    ) {
        let queue = &mut self.units.queues[unit.at()];
        let op = &mut self.units.ops[id];
        op.cleaning_wait += queue.cleaning_ns - op.cleaning_mark;
        queue.waited_ns += clock.now - op.enqueued;
        queue.served += 1;
        if self.units.is_simple {
            return self.launch_alone(unit, id, programming, clock);
        }
        self.launch(unit, Work::Host(id, programming), clock);
    }

    /// The unit to which the page of a waiting read has moved, which only wide pools allow.
    #[inline]
    fn new_holder(&self, op: OpId, unit: Unit) -> Option<Unit> {
        if !self.ftl.pools_span_units() || self.units.ops[op].work == PageWork::System {
            return None;
        }
        let lpn = self.units.ops[op].lpn;
        let holder = self.ftl.geometry().unit_holding(self.ftl.lookup(lpn)?);
        (holder != unit).then_some(holder)
    }

    /// The unit that a write should wait at when its own has no room and nothing to clean.
    fn better_unit(&self, unit: Unit, lpn: Lpn) -> Option<Unit> {
        if self.units.queues[unit.at()].job.is_some() {
            return None;
        }
        let pool = self.ftl.geometry().pool_of(lpn);
        let other = self.choose_unit(pool);
        // From one that can do nothing about it the write would only come back.
        let (hopeless, ..) = self.ftl.standing(pool, other);
        (other != unit && !hopeless).then_some(other)
    }

    /// Moves a waiting page to another unit's queue; what it waited so far stays on its account.
    fn hand_over(&mut self, id: OpId, from: Unit, to: Unit, clock: &mut Clock) {
        let op = &mut self.units.ops[id];
        let queues = &mut self.units.queues;
        op.cleaning_wait += queues[from.at()].cleaning_ns_at(clock.now) - op.cleaning_mark;
        op.cleaning_mark = queues[to.at()].cleaning_ns_at(clock.now);
        queues[from.at()].waited_ns += clock.now - op.enqueued;
        op.enqueued = clock.now;
        queues[to.at()].waiting.push_back(id);
        self.dispatch(to, clock);
    }

    /// The operation of a page request has ended: it is done, or queued again for its second half.
    #[inline]
    pub(super) fn request_ended(
        &mut self,
        id: OpId,
        finished: Finished,
        clock: &mut Clock,
    ) -> Option<PageDone> {
        let op = &mut self.units.ops[id];
        op.bus += finished.bus_ns;
        op.cell += finished.cell_ns;
        self.ftl.counters.page_read(op.work, op.range.1, self.units.granule);
        let mut status = Status::Ok;
        match op.work {
            PageWork::Read | PageWork::Restore | PageWork::System => {}
            PageWork::Write | PageWork::Merge | PageWork::MergeAcross => {
                self.ftl.counters.page_written(op.touched, u64::from(op.bytes));
            }
            PageWork::ReadForWrite if self.ftl.has_ended() => {
                self.ftl.counters.page_refused(op.touched, u64::from(op.bytes));
                status = Status::ReadOnly;
            }
            PageWork::ReadForWrite => {
                op.work = PageWork::Write;
                self.enqueue(id, clock);
                return None;
            }
        }
        let PageOp { owner, cleaning_wait, bus, cell, .. } = *op;
        self.units.ops.remove(id);
        Some(PageDone { owner, status, spent: Spent::Served { cleaning_wait, bus, cell } })
    }
}
