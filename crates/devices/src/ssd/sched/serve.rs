//! What the units do next: which page, which move, which erasure, and what its end means.

use crate::ssd::Ssd;
use crate::ssd::config::CleaningTime;
use crate::ssd::flash::Finished;
use crate::ssd::flash::Operation;
use crate::ssd::ftl::{CleanStep, Job, Programming};
use crate::ssd::host::cut;
use crate::ssd::ids::{Lpn, PoolId, Unit};
use crate::ssd::sched::timeline;
use crate::ssd::sched::units::{Kind, NONE, PageOp, Phase, Work};
use engine::{Breakdown, Status, Time};
use std::collections::VecDeque;

impl Ssd {
    // ---- queues ---------------------------------------------------------------------------

    /// Looks again at writes that found no room: trimmed pages may be what cleaning was short of, or
    /// another unit of their pool may have room now.
    pub(in crate::ssd) fn wake_stalled(&mut self, now: Time) {
        for unit in 0..self.units.queues.len() {
            if !self.units.queues[unit].stalled.is_empty() {
                self.dispatch(Unit(unit as u32), now);
            }
        }
    }

    /// Queues a page at the unit that will serve it.
    pub(in crate::ssd) fn enqueue(&mut self, mut op: PageOp, now: Time) {
        let pool = self.ftl.geometry().pool_of(op.lpn);
        let unit = match op.phase() {
            Phase::Write => self.choose_unit(pool),
            _ => self.unit_holding(op.lpn).expect("only mapped pages are read"),
        };
        op.enqueued = now;
        op.cleaning_mark = self.units.cleaning_ns(unit, now);
        self.units.queues[unit.at()].waiting.push_back(op);
        match self.units.bound_of.get(unit.at()) {
            Some(&set) if set != NONE => {
                if !self.units.offered.contains(&set) {
                    self.units.offered.push(set);
                }
            }
            _ => self.dispatch_unit(unit, now, None),
        }
    }

    /// Gives bound units what was queued at this instant: the pages of a request begin together, not
    /// the first of them alone.
    pub(in crate::ssd) fn dispatch_offered(&mut self, now: Time) {
        while let Some(set) = self.units.offered.pop() {
            self.dispatch_bound(set as usize, now);
        }
    }

    fn unit_holding(&self, lpn: Lpn) -> Option<Unit> {
        let geometry = self.ftl.geometry();
        let block = geometry.block_of(self.ftl.lookup(lpn)?);
        Some(geometry.unit_of(geometry.domain_of(block)))
    }

    /// Of the units that a pool spans: one with room, else one where cleaning makes some, and of
    /// those the one with the shortest queue, then the fewest valid pages.
    ///
    /// A unit that is bound to a busy one counts as busy: it would look free while it must wait for the
    /// other's cleaning, and take all writes.
    fn choose_unit(&self, pool: PoolId) -> Unit {
        let mut units = self.ftl.units_of(pool);
        if units.len() == 1 {
            return units.next().expect("it has one");
        }
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
    #[inline]
    pub(in crate::ssd) fn is_idle(&self, unit: Unit) -> bool {
        if self.units.granule.span == 1 {
            return self.timing.is_idle(unit.0)
                && self.units.queues[unit.at()].cleaning_since.is_none();
        }
        self.units.lanes_of(unit).all(|lane| self.timing.is_idle(lane))
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
        let plan = match op.kind {
            Kind::Read | Kind::ReadForWrite => Operation::read(1),
            Kind::Write => Operation::Program.plan(),
            Kind::Merge | Kind::MergeAcross => Operation::Merge.plan(),
        };
        let lanes = self.units.lanes_of(unit).enumerate();
        let refusing = lanes.filter(|(_, lane)| !self.timing.accepts(*lane, plan));
        refusing.fold(0, |set, (bit, _)| set | 1 << bit)
    }

    /// The drive has ended: what still waits to be written is answered, and lost.
    fn refuse_waiting(&mut self, now: Time) {
        for unit in 0..self.units.queues.len() {
            let queue = &mut self.units.queues[unit];
            let mut refused: Vec<PageOp> = queue.stalled.drain(..).collect();
            let (writes, others) = queue.waiting.drain(..).partition(|op| op.kind != Kind::Read);
            queue.waiting = others;
            let writes: VecDeque<PageOp> = writes;
            refused.extend(writes);
            for op in refused {
                self.page_refused(&op);
                let part = &mut self.active[op.slot as usize];
                let cleaning_wait = now - part.at_flash;
                let Breakdown { host_queue, host_link, .. } = part.breakdown;
                part.breakdown =
                    Breakdown { host_queue, host_link, cleaning_wait, ..Breakdown::default() };
                self.page_done(op.slot, now);
            }
        }
        self.pump(now);
    }

    // ---- what a unit does next ------------------------------------------------------------

    /// A lane is in the last stage of its operation and could begin another.
    pub(in crate::ssd) fn lane_accepts(&mut self, lane: u32, now: Time) {
        self.dispatch(Unit(lane / self.units.granule.span), now);
    }

    /// Gives a unit its next operation, if it can begin one and there is one.
    pub(in crate::ssd) fn dispatch(&mut self, unit: Unit, now: Time) {
        match self.units.bound_of.get(unit.at()) {
            Some(&set) if set != NONE => self.dispatch_bound(set as usize, now),
            _ => self.dispatch_unit(unit, now, None),
        }
    }

    /// Gives bound units that are idle operations of one kind. Cleaning that does not yield comes
    /// first, then the kind of the page that has waited longest, then the other, then the rest.
    fn dispatch_bound(&mut self, set: usize, now: Time) {
        let units = std::mem::take(&mut self.units.bound[set]);
        // Pages that a unit hands to another of the set may come too late for the first round.
        for _round in &units {
            if units.iter().any(|unit| !self.is_idle(*unit)) {
                break;
            }
            for phase in self.phases(&units) {
                for unit in &units {
                    self.dispatch_unit(*unit, now, Some(phase));
                }
                if units.iter().any(|unit| !self.is_idle(*unit)) {
                    break;
                }
            }
        }
        self.units.bound[set] = units;
    }

    fn phases(&self, units: &[Unit]) -> [Phase; 4] {
        use Phase::{Erase, Move, Read, Write};
        let heads = units.iter().filter_map(|unit| {
            let queue = &self.units.queues[unit.at()];
            queue.stalled.front().or(queue.waiting.front())
        });
        let first = heads.min_by_key(|op| op.enqueued).map_or(Read, PageOp::phase);
        let second = if first == Read { Write } else { Read };
        match self.config.cleaning.time {
            CleaningTime::Blocking => [Move, Erase, first, second],
            CleaningTime::Interleaved => [first, second, Move, Erase],
        }
    }

    /// Gives a unit its next operation, of kind `only` if one is given.
    fn dispatch_unit(&mut self, unit: Unit, now: Time, only: Option<Phase>) {
        let idle = self.is_idle(unit);
        if !(idle || self.units.overlaps) {
            return;
        }
        let blocking = self.config.cleaning.time == CleaningTime::Blocking;
        let queue = &self.units.queues[unit.at()];
        let waiting = !(queue.waiting.is_empty() && queue.stalled.is_empty());
        if queue.job.is_none() && self.wants_cleaning(unit, waiting) {
            self.units.queues[unit.at()].job = self.ftl.begin_cleaning(&self.flash, unit, waiting);
        }
        let queue = &self.units.queues[unit.at()];
        let cleaning = queue.job.is_some();
        if !(cleaning && blocking) && queue.cleaning_since.is_none() {
            self.serve_host(unit, now, only);
        }
        if cleaning && self.is_idle(unit) {
            self.serve_cleaning(unit, now, only);
        }
    }

    /// Whether a unit without a job should look for a victim.
    fn wants_cleaning(&self, unit: Unit, waiting: bool) -> bool {
        let cleaning = &self.config.cleaning;
        let low = self.ftl.needs_cleaning(unit)
            && (waiting || cleaning.background || cleaning.time == CleaningTime::Interleaved);
        low || !waiting && cleaning.background && self.ftl.can_use_idle_time(unit)
    }

    /// Starts the waiting pages that can start, the first first; writes without room step aside, in
    /// order.
    fn serve_host(&mut self, unit: Unit, now: Time, only: Option<Phase>) {
        if only.is_none_or(|only| only == Phase::Write) {
            while let Some(op) = self.units.queues[unit.at()].stalled.front().copied() {
                if self.lanes_refusing(unit, &op) != 0 {
                    // It comes next, unless it must wait for cleaning anyway.
                    let pool = self.ftl.geometry().pool_of(op.lpn);
                    if self.ftl.room_for(pool, unit) > 0 {
                        return;
                    }
                    break;
                }
                self.units.queues[unit.at()].stalled.pop_front();
                if !self.start_write(unit, op, now) {
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
            if op.phase() == Phase::Write {
                let first = self.units.queues[unit.at()].stalled.is_empty();
                if !(first && self.start_write(unit, op, now)) {
                    self.units.queues[unit.at()].stalled.push_back(op);
                }
            } else if let Some(other) = self.new_holder(op, unit) {
                self.hand_over(op, unit, other, now);
            } else {
                self.start(unit, op, None, now);
            }
        }
    }

    /// The place in the queue of the first page that can begin now: on each lane, pages are served in
    /// order.
    fn next_to_serve(&self, unit: Unit, only: Option<Phase>) -> Option<usize> {
        let waiting = &self.units.queues[unit.at()].waiting;
        let wanted = |op: &PageOp| only.is_none_or(|only| only == op.phase());
        if self.units.granule.span == 1 {
            let op = waiting.front().filter(|op| wanted(op))?;
            let begins = if self.units.overlaps {
                self.lanes_refusing(unit, op) == 0
            } else {
                self.timing.is_idle(unit.0)
            };
            return begins.then_some(0);
        }
        let all = u64::MAX >> (64 - self.units.granule.span);
        let mut claimed = 0;
        for (index, op) in waiting.iter().enumerate() {
            let needed = self.lanes_needed(op);
            if needed & claimed == 0 && needed & self.lanes_refusing(unit, op) == 0 {
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
    fn start_write(&mut self, unit: Unit, mut op: PageOp, now: Time) -> bool {
        let pool = self.ftl.geometry().pool_of(op.lpn);
        let domain = if op.kind == Kind::Merge {
            self.ftl.choose_domain_near(pool, unit, op.lpn).map(|(domain, near)| {
                op.kind = match (near, self.ftl.lookup(op.lpn)) {
                    // Trimmed while it waited: there is nothing left to merge with.
                    (_, None) => Kind::Write,
                    (true, _) => Kind::Merge,
                    (false, _) => Kind::MergeAcross,
                };
                domain
            })
        } else {
            self.ftl.choose_domain(pool, unit, op.lpn)
        };
        if let Some(domain) = domain {
            let programming = self.ftl.begin_program(domain, op.lpn);
            self.start(unit, op, Some(programming), now);
            return true;
        }
        if let Some(other) = self.better_unit(unit, op) {
            self.hand_over(op, unit, other, now);
            return true;
        }
        false
    }

    fn start(&mut self, unit: Unit, op: PageOp, programming: Option<Programming>, now: Time) {
        let queue = &mut self.units.queues[unit.at()];
        let mut op = op;
        op.cleaning_wait += queue.cleaning_ns - op.cleaning_mark;
        queue.waited_ns += now - op.enqueued;
        queue.served += 1;
        self.launch(unit, Work::Host(op, programming), now);
    }

    /// Begins an operation on the lanes that it needs.
    fn launch(&mut self, unit: Unit, work: Work, now: Time) {
        let units = &mut self.units;
        let id = units.take_off(work, unit, 0);
        let copy_back = self.config.cleaning.copy_back;
        let first = unit.0 * units.granule.span;
        let last = match &work {
            Work::Host(_, Some(programming)) | Work::Move(programming) => {
                self.ftl.geometry().is_last(programming.ppn)
            }
            _ => false,
        };
        for lane in 0..units.granule.span {
            let plan = match &work {
                Work::Host(op, _) => match op.plan(last, units.granule, lane) {
                    Some(plan) => plan,
                    None => continue,
                },
                Work::Move(_) if copy_back => Operation::CopyBack.closing(last).plan(),
                Work::Move(_) => Operation::Move.closing(last).plan(),
                Work::Erase(_) => Operation::Erase.plan(),
                Work::Stream(..) => unreachable!("a copy begins in `serve_stream`"),
            };
            self.timing.start(first + lane, plan, now);
            units.put_on_lane(first + lane, id);
            units.flights[id as usize].lanes_left += 1;
        }
    }

    /// The unit to which the page of a waiting read has moved, which only wide pools allow.
    fn new_holder(&self, op: PageOp, unit: Unit) -> Option<Unit> {
        if self.ftl.units_of(self.ftl.geometry().pool_of(op.lpn)).len() == 1 {
            return None;
        }
        self.unit_holding(op.lpn).filter(|holder| *holder != unit)
    }

    /// The unit that a write should wait at when its own has no room and nothing to clean.
    fn better_unit(&self, unit: Unit, op: PageOp) -> Option<Unit> {
        if self.units.queues[unit.at()].job.is_some() {
            return None;
        }
        let pool = self.ftl.geometry().pool_of(op.lpn);
        let other = self.choose_unit(pool);
        // From one that can do nothing about it the write would only come back.
        let (hopeless, ..) = self.ftl.standing(pool, other);
        (other != unit && !hopeless).then_some(other)
    }

    /// Moves a waiting page to another unit's queue; what it waited so far stays on its account.
    fn hand_over(&mut self, mut op: PageOp, from: Unit, to: Unit, now: Time) {
        op.cleaning_wait += self.units.cleaning_ns(from, now) - op.cleaning_mark;
        op.cleaning_mark = self.units.cleaning_ns(to, now);
        self.units.queues[from.at()].waited_ns += now - op.enqueued;
        op.enqueued = now;
        self.units.queues[to.at()].waiting.push_back(op);
        self.dispatch(to, now);
    }

    fn serve_cleaning(&mut self, unit: Unit, now: Time, only: Option<Phase>) {
        let mut job = self.units.queues[unit.at()].job.expect("the caller has seen it");
        if self.config.cleaning.stream && self.serve_stream(unit, now) {
            return;
        }
        if let Some(only) = only {
            let moves = self.ftl.has_valid_page(&self.flash, &job);
            if only != if moves { Phase::Move } else { Phase::Erase } {
                return;
            }
        }
        let work = match self.ftl.next_step(&mut self.flash, &mut job) {
            CleanStep::Move(programming) => Work::Move(programming),
            CleanStep::Erase if self.is_barred(job) => return self.bar_erase(unit, job, now),
            CleanStep::Erase => Work::Erase(job),
        };
        if !self.units.barred.is_empty() {
            self.units.barred.retain(|barred| *barred != unit);
        }
        let queue = &mut self.units.queues[unit.at()];
        queue.job = Some(job);
        queue.cleaning_since.get_or_insert(now);
        self.launch(unit, work, now);
    }

    /// Whether a victim still holds the newest programmed copy of a page: another unit is programming
    /// what supersedes it. A power cut would otherwise lose what was written long ago.
    fn is_barred(&self, job: Job) -> bool {
        let first = self.ftl.geometry().ppn(job.victim, 0).0;
        self.ftl.pools_span_units()
            && self.units.supersede_one_of(first..first + self.ftl.geometry().data_pages)
    }

    /// The erasure of a job waits. Cleaning that holds its unit goes on holding it, and counts the
    /// wait; else the unit serves what else there is.
    fn bar_erase(&mut self, unit: Unit, job: Job, now: Time) {
        self.units.bar(unit);
        let queue = &mut self.units.queues[unit.at()];
        queue.job = Some(job);
        if self.config.cleaning.time == CleaningTime::Blocking {
            queue.cleaning_since.get_or_insert(now);
        }
    }

    /// A program has ended, for which erasures may have waited.
    pub(in crate::ssd) fn retry_erases(&mut self, now: Time) {
        let units = std::mem::take(&mut self.units.barred);
        if self.config.cleaning.time == CleaningTime::Blocking {
            for unit in &units {
                self.units.end_cleaning_operation(*unit, now);
            }
        }
        for unit in units {
            self.dispatch(unit, now);
        }
    }

    // ---- from the flash back to the host --------------------------------------------------

    /// A lane has done its part of an operation.
    pub(in crate::ssd) fn operation_ended(&mut self, lane: u32, finished: Finished, now: Time) {
        let state = &mut self.units.lanes[lane as usize];
        state.busy_ns += now - finished.started.max(state.counted_to);
        state.counted_to = now;
        let id = state.flights[0];
        state.flights = [state.flights[1], NONE];
        let flight = &mut self.units.flights[id as usize];
        flight.lanes_left -= 1;
        let unit = flight.unit;
        if let Some(recorder) = &mut self.recorder {
            let word = timeline::word(flight, self.units.queues[unit.at()].job, &self.config);
            recorder.record(lane, word, finished, now);
        }
        if flight.lanes_left > 0 {
            if let Some(Work::Stream(programming, to)) = flight.work {
                let last = self.ftl.geometry().is_last(programming.ppn);
                return self.stream_crossed(id, unit, to, last, now);
            }
            return self.dispatch(unit, now);
        }
        let work = flight.work.take().expect("it was under way");
        self.units.free_flights.push(id);
        // Whether a block is closed or erased, and other units may have waited for that.
        let wide = self.ftl.pools_span_units();
        let mut closed = false;
        match work {
            Work::Host(op, programming) => {
                if let Some(programming) = programming {
                    self.ftl.complete_program(&mut self.flash, programming);
                    closed = wide && self.ftl.geometry().is_last(programming.ppn);
                }
                self.host_operation_ended(op, finished, now);
                self.pump(now);
            }
            Work::Stream(programming, to) => {
                return self.stream_arrived(programming, (unit, to), now);
            }
            Work::Move(programming) => {
                self.units.end_cleaning_operation(unit, now);
                self.ftl.complete_move(&mut self.flash, programming);
                closed = wide && self.ftl.geometry().is_last(programming.ppn);
            }
            Work::Erase(job) => {
                closed = wide;
                self.units.end_cleaning_operation(unit, now);
                self.units.queues[unit.at()].job = self.ftl.complete_erase(&mut self.flash, job);
                if self.ftl.has_ended() {
                    self.refuse_waiting(now);
                }
            }
        }
        if !self.units.barred.is_empty() {
            self.retry_erases(now);
        }
        self.dispatch_offered(now);
        self.dispatch(unit, now);
        if closed {
            self.wake_stalled(now);
        }
    }

    fn host_operation_ended(&mut self, mut op: PageOp, finished: Finished, now: Time) {
        op.bus += finished.bus_ns;
        op.cell += finished.cell_ns;
        self.ftl.counters.page_read(op.kind, op.range.1, self.units.granule);
        match op.kind {
            Kind::Read => {}
            Kind::Write | Kind::Merge | Kind::MergeAcross => {
                let bytes = self.host_bytes(&op);
                self.ftl.counters.page_written(op.touched, bytes);
            }
            Kind::ReadForWrite => {
                if !self.ftl.has_ended() {
                    op.kind = Kind::Write;
                    self.enqueue(op, now);
                    return;
                }
                self.page_refused(&op);
            }
        }
        let active = &mut self.active[op.slot as usize];
        let part = &mut active.breakdown;
        part.cleaning_wait = op.cleaning_wait;
        part.bus = op.bus;
        part.cell = op.cell;
        part.unit_wait = now - active.at_flash - op.cleaning_wait - op.bus - op.cell;
        self.page_done(op.slot, now);
    }

    /// Bytes of its request in a page.
    fn host_bytes(&self, op: &PageOp) -> u64 {
        cut::bytes(self.ftl.geometry(), &self.active[op.slot as usize].request, op.lpn)
    }

    fn page_refused(&mut self, op: &PageOp) {
        let bytes = self.host_bytes(op);
        self.ftl.counters.page_refused(op.touched, bytes);
        self.active[op.slot as usize].status = Status::ReadOnly;
    }
}
