//! The solid-state disk: requests in, flash operations in between, completions out.
//!
//! This file is the timed gear. It cuts requests into pages, queues them at their units, lets the
//! [`Ftl`] decide and the [`Timing`] charge, and keeps account of where each nanosecond went.
//! Data content is not modelled: a page is its number.

pub mod alloc;
mod audit;
pub mod clean;
pub mod config;
mod divisor;
pub mod ftl;
pub mod geometry;
mod lifetime;
pub(crate) mod link;
pub mod nand;
mod report;
mod sets;
pub mod timing;
mod wear;

pub use config::SsdConfig;
pub use geometry::Geometry;
pub use lifetime::{LifetimeReport, Milestone};
pub use report::{CleaningReport, REMAINING_STEPS, SsdReport, UnitReport, WearReport};

use crate::Model;
use clean::Policy;
use config::CleaningTime;
use engine::{Breakdown, Completion, Device, Op, Request, Time};
use ftl::{CleanStep, Ftl, Job, Programming};
use geometry::{Lpn, PoolId, Unit};
use link::{HostQueue, Link, Slot, Turn};
use nand::Flash;
use options::Invalid;
use std::collections::VecDeque;
use timing::{Finished, Operation, Timing};

/// Event payloads that are not units.
const LINK_FREE: u32 = (1 << 24) - 1;
const LINK_ARRIVAL: u32 = (1 << 24) - 2;

/// What a page needs from its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    /// The read half of a write that covers only part of its page.
    ReadForWrite,
}

/// One page of a request, waiting for or using a unit.
#[derive(Debug, Clone, Copy)]
struct PageOp {
    slot: Slot,
    lpn: Lpn,
    kind: Kind,
    enqueued: Time,
    /// The unit's cleaning time when the page was queued; the difference is what it waited for.
    cleaning_mark: Time,
    /// Of this page so far, ns.
    cleaning_wait: Time,
    bus: Time,
    cell: Time,
}

/// What a unit is doing.
#[derive(Debug, Clone, Copy)]
enum Current {
    Idle,
    Host(PageOp, Option<Programming>),
    Move(Programming),
    Erase(Job),
}

/// A unit's queues and its account.
#[derive(Debug, Clone)]
struct UnitQueue {
    waiting: VecDeque<PageOp>,
    /// Writes that found no room, ahead of everything that waits.
    stalled: VecDeque<PageOp>,
    current: Current,
    job: Option<Job>,
    busy_ns: Time,
    cleaning_ns: Time,
    waited_ns: Time,
    served: u64,
}

/// A request inside the device.
#[derive(Debug, Clone, Copy)]
struct Active {
    request: Request,
    submitted: Time,
    /// When it was sent to the device.
    sent: Time,
    /// When its pages were queued, and later when the last of them was done.
    at_flash: Time,
    done: Time,
    pages_left: u32,
    /// The flash part is that of the last page done.
    breakdown: Breakdown,
    epoch: u64,
}

/// Writes submitted between two flushes, and the flush that waits for them.
#[derive(Debug, Clone, Copy, Default)]
struct Epoch {
    writes_left: u64,
    flush: Option<Slot>,
    flush_arrived: bool,
}

/// What has been counted at the level of pages, since the start or the last reset.
#[derive(Debug, Clone, Copy, Default)]
struct PageCounts {
    host_reads: u64,
    host_writes: u64,
    merge_reads: u64,
    unmapped_reads: u64,
    trims: u64,
    refused_writes: u64,
}

/// A simulated solid-state disk.
#[derive(Debug, Clone)]
pub struct Ssd {
    config: SsdConfig,
    flash: Flash,
    ftl: Ftl,
    timing: Timing,
    units: Vec<UnitQueue>,
    link: Link,
    host_queue: HostQueue,
    in_device: u32,
    active: Vec<Active>,
    free_slots: Vec<Slot>,
    epochs: VecDeque<Epoch>,
    first_epoch: u64,
    done: Vec<Completion>,
    counts: PageCounts,
    now: Time,
}

impl Ssd {
    /// A drive in its initial state, which depends on `seed` if it is filled in random order.
    ///
    /// # Errors
    /// When the configuration contradicts itself; the error names the keys.
    pub fn new(config: &SsdConfig, seed: u64) -> Result<Ssd, Invalid> {
        let geometry = Geometry::new(config)?;
        if let Policy::Custom(custom) = &config.cleaning.policy
            && !custom.is_handed_in()
        {
            let problem = "a policy from outside must be handed in before the drive is built";
            return Err(Invalid::new(&["device.cleaning.policy"], problem));
        }
        let (ftl, flash) = Ftl::new(config, &geometry, seed);
        let unit_bus: Vec<u32> =
            (0..geometry.units).map(|unit| geometry.channel_of(Unit(unit))).collect();
        let unit = UnitQueue {
            waiting: VecDeque::new(),
            stalled: VecDeque::new(),
            current: Current::Idle,
            job: None,
            busy_ns: 0,
            cleaning_ns: 0,
            waited_ns: 0,
            served: 0,
        };
        Ok(Ssd {
            flash,
            ftl,
            timing: Timing::new(Operation::plans(config), &unit_bus),
            units: vec![unit; unit_bus.len()],
            link: Link::new(&config.host_link),
            host_queue: HostQueue::new(config.host_link.order),
            in_device: 0,
            active: Vec::new(),
            free_slots: Vec::new(),
            epochs: VecDeque::from([Epoch::default()]),
            first_epoch: 0,
            done: Vec::new(),
            counts: PageCounts::default(),
            now: 0,
            config: config.clone(),
        })
    }

    /// Erased blocks in the free list of domain `domain`.
    pub fn free_blocks(&self, domain: u32) -> u32 {
        self.ftl.free_blocks(geometry::Domain(domain))
    }

    // ---- from the host to the flash -------------------------------------------------------

    fn activate(&mut self, active: Active) -> Slot {
        if let Some(slot) = self.free_slots.pop() {
            self.active[slot as usize] = active;
            return slot;
        }
        self.active.push(active);
        self.active.len() as Slot - 1
    }

    fn send(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot as usize];
        active.sent = now;
        active.breakdown.host_queue = now - active.submitted;
        if active.request.op != Op::Flush {
            self.host_queue.sent(active.request.lba);
        }
        let bytes = inward_bytes(&active.request);
        if let Some(at) = self.link.send(slot, bytes, now) {
            self.timing.events.push(at, LINK_ARRIVAL);
        }
    }

    /// Lets the link take its turns until it is busy or idle.
    fn pump(&mut self, now: Time) {
        loop {
            match self.link.turn(now) {
                Turn::Arrived(slot) => self.reach_flash(slot, now),
                Turn::Answered(slot) => self.complete(slot, now),
                Turn::Busy(end) => {
                    self.timing.events.push(end, LINK_FREE);
                    return;
                }
                Turn::Idle => return,
            }
        }
    }

    fn reach_flash(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot as usize];
        active.at_flash = now;
        let request = active.request;
        let sectors_per_page = u64::from(self.ftl.geometry().sectors_per_page);
        let (start, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        match request.op {
            Op::Flush => {
                let index = (active.epoch - self.first_epoch) as usize;
                self.epochs[index].flush_arrived = true;
                self.release_flushes(now);
            }
            Op::Trim => {
                // Only pages that are covered whole can be forgotten.
                for page in start.div_ceil(sectors_per_page)..end / sectors_per_page {
                    self.ftl.trim(Lpn(page as u32));
                    self.counts.trims += 1;
                }
                self.leave_flash(slot, now);
                self.wake_stalled(now);
            }
            Op::Read | Op::Write => {
                let (first, last) = (start / sectors_per_page, (end - 1) / sectors_per_page);
                active.pages_left = (last - first + 1) as u32;
                for page in first..=last {
                    let covered =
                        start <= page * sectors_per_page && end >= (page + 1) * sectors_per_page;
                    self.begin_page(slot, Lpn(page as u32), request.op, covered, now);
                }
            }
        }
    }

    /// Trimmed pages may be what cleaning was short of.
    fn wake_stalled(&mut self, now: Time) {
        for unit in 0..self.units.len() {
            if !self.units[unit].stalled.is_empty() {
                self.dispatch(Unit(unit as u32), now);
            }
        }
    }

    /// The drive has ended: what still waits to be written is answered, and lost.
    fn refuse_waiting(&mut self, now: Time) {
        for unit in 0..self.units.len() {
            let queue = &mut self.units[unit];
            let mut refused: Vec<PageOp> = queue.stalled.drain(..).collect();
            let (writes, others) = queue.waiting.drain(..).partition(|op| op.kind != Kind::Read);
            queue.waiting = others;
            let writes: VecDeque<PageOp> = writes;
            refused.extend(writes);
            for op in refused {
                self.counts.refused_writes += 1;
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

    fn begin_page(&mut self, slot: Slot, lpn: Lpn, op: Op, covered: bool, now: Time) {
        let mapped = self.ftl.lookup(lpn);
        let kind = match (op, mapped.is_some()) {
            (Op::Read, true) => Kind::Read,
            (Op::Read, false) => {
                // Nothing was ever written there: the controller answers without the flash.
                self.counts.unmapped_reads += 1;
                self.page_done(slot, now);
                return;
            }
            (Op::Write, _) if self.ftl.has_ended() => {
                self.counts.refused_writes += 1;
                self.page_done(slot, now);
                return;
            }
            (_, true) if !covered => Kind::ReadForWrite,
            _ => Kind::Write,
        };
        let op = PageOp {
            slot,
            lpn,
            kind,
            enqueued: now,
            cleaning_mark: 0,
            cleaning_wait: 0,
            bus: 0,
            cell: 0,
        };
        self.enqueue(op, now);
    }

    /// Queues a page at the unit that will serve it.
    fn enqueue(&mut self, mut op: PageOp, now: Time) {
        let pool = self.ftl.geometry().pool_of(op.lpn);
        let unit = match op.kind {
            Kind::Write => self.choose_unit(pool),
            _ => self.unit_holding(op.lpn).expect("only mapped pages are read"),
        };
        op.enqueued = now;
        op.cleaning_mark = self.cleaning_ns(unit, now);
        self.units[unit.at()].waiting.push_back(op);
        self.dispatch(unit, now);
    }

    fn unit_holding(&self, lpn: Lpn) -> Option<Unit> {
        let geometry = self.ftl.geometry();
        let block = geometry.block_of(self.ftl.lookup(lpn)?);
        Some(geometry.unit_of(geometry.domain_of(block)))
    }

    /// Of the units that a pool spans: one with room, else one where cleaning makes some, and of
    /// those the one with the shortest queue, then the most room.
    fn choose_unit(&self, pool: PoolId) -> Unit {
        let mut units = self.ftl.units_of(pool);
        if units.len() == 1 {
            return units.next().expect("it has one");
        }
        let rank = |unit: &Unit| {
            let queue = &self.units[unit.at()];
            let busy = usize::from(!self.timing.is_idle(unit.0));
            let room = self.ftl.room_for(pool, *unit);
            let hopeless = room == 0 && queue.job.is_none() && !self.ftl.can_clean(*unit);
            let length = queue.waiting.len() + queue.stalled.len() + busy;
            (room == 0, hopeless, length, std::cmp::Reverse(room))
        };
        units.min_by_key(rank).expect("a pool has a unit")
    }

    /// How long a unit has been cleaning up to now, ns.
    fn cleaning_ns(&self, unit: Unit, now: Time) -> Time {
        let queue = &self.units[unit.at()];
        let running = match queue.current {
            Current::Move(_) | Current::Erase(_) => {
                now.saturating_sub(self.timing.running_since(unit.0).expect("it is busy"))
            }
            Current::Idle | Current::Host(..) => 0,
        };
        queue.cleaning_ns + running
    }

    // ---- what a unit does next ------------------------------------------------------------

    /// Gives an idle unit its next operation, if there is one.
    fn dispatch(&mut self, unit: Unit, now: Time) {
        if !self.timing.is_idle(unit.0) {
            return;
        }
        let blocking = self.config.cleaning.time == CleaningTime::Blocking;
        let queue = &self.units[unit.at()];
        let waiting = !(queue.waiting.is_empty() && queue.stalled.is_empty());
        if queue.job.is_none() && self.ftl.needs_cleaning(unit) && (waiting || !blocking) {
            self.units[unit.at()].job = self.ftl.begin_cleaning(&self.flash, unit);
        }
        let cleaning = self.units[unit.at()].job.is_some();
        let cleaning_first = cleaning && blocking;
        if !cleaning_first && self.serve_host(unit, now) {
            return;
        }
        if cleaning {
            self.serve_cleaning(unit, now);
        }
    }

    /// Starts the first waiting page that can start; writes without room step aside, in order.
    /// Returns whether the unit is busy now: what it hands over may come back as other work.
    fn serve_host(&mut self, unit: Unit, now: Time) -> bool {
        while self.timing.is_idle(unit.0)
            && let Some(op) = self.units[unit.at()].stalled.pop_front()
        {
            if !self.start_write(unit, op, now) {
                self.units[unit.at()].stalled.push_front(op);
                break;
            }
        }
        while self.timing.is_idle(unit.0)
            && let Some(op) = self.units[unit.at()].waiting.pop_front()
        {
            if op.kind == Kind::Write {
                let first = self.units[unit.at()].stalled.is_empty();
                if !(first && self.start_write(unit, op, now)) {
                    self.units[unit.at()].stalled.push_back(op);
                }
            } else if let Some(other) = self.new_holder(op, unit) {
                self.hand_over(op, unit, other, now);
            } else {
                self.start(unit, op, None, now);
            }
        }
        !self.timing.is_idle(unit.0)
    }

    /// Starts a write on an idle unit or hands it to a better one, unless it must wait for
    /// cleaning here.
    fn start_write(&mut self, unit: Unit, op: PageOp, now: Time) -> bool {
        let pool = self.ftl.geometry().pool_of(op.lpn);
        if let Some(domain) = self.ftl.choose_domain(pool, unit, op.lpn) {
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
        let operation = match programming {
            Some(programming) => Operation::Program.closing(programming.last),
            None => Operation::Read,
        };
        let queue = &mut self.units[unit.at()];
        let mut op = op;
        op.cleaning_wait += queue.cleaning_ns - op.cleaning_mark;
        queue.waited_ns += now - op.enqueued;
        queue.served += 1;
        queue.current = Current::Host(op, programming);
        self.timing.start(unit.0, operation as u8, now);
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
        if self.units[unit.at()].job.is_some() {
            return None;
        }
        let other = self.choose_unit(self.ftl.geometry().pool_of(op.lpn));
        (other != unit).then_some(other)
    }

    /// Moves a waiting page to another unit's queue; what it waited so far stays on its account.
    fn hand_over(&mut self, mut op: PageOp, from: Unit, to: Unit, now: Time) {
        op.cleaning_wait += self.cleaning_ns(from, now) - op.cleaning_mark;
        op.cleaning_mark = self.cleaning_ns(to, now);
        self.units[from.at()].waited_ns += now - op.enqueued;
        op.enqueued = now;
        self.units[to.at()].waiting.push_back(op);
        self.dispatch(to, now);
    }

    fn serve_cleaning(&mut self, unit: Unit, now: Time) {
        let mut job = self.units[unit.at()].job.expect("the caller has seen it");
        let step = self.ftl.next_step(&mut self.flash, &mut job);
        let (current, operation) = match step {
            CleanStep::Move(programming) => {
                let operation = if self.config.cleaning.copy_back {
                    Operation::CopyBack
                } else {
                    Operation::Move
                };
                (Current::Move(programming), operation.closing(programming.last))
            }
            CleanStep::Erase => (Current::Erase(job), Operation::Erase),
        };
        let queue = &mut self.units[unit.at()];
        queue.job = Some(job);
        queue.current = current;
        self.timing.start(unit.0, operation as u8, now);
    }

    // ---- from the flash back to the host --------------------------------------------------

    fn operation_ended(&mut self, unit: Unit, finished: Finished, now: Time) {
        let queue = &mut self.units[unit.at()];
        let busy = now - finished.started;
        queue.busy_ns += busy;
        match std::mem::replace(&mut queue.current, Current::Idle) {
            Current::Idle => unreachable!("an idle unit has no event"),
            Current::Host(op, programming) => {
                if let Some(programming) = programming {
                    self.ftl.complete_program(&mut self.flash, programming);
                }
                self.host_operation_ended(op, finished, now);
                self.pump(now);
            }
            Current::Move(programming) => {
                queue.cleaning_ns += busy;
                self.ftl.complete_move(&mut self.flash, programming);
            }
            Current::Erase(job) => {
                queue.cleaning_ns += busy;
                queue.job = self.ftl.complete_erase(&mut self.flash, job);
                if self.ftl.has_ended() {
                    self.refuse_waiting(now);
                }
            }
        }
        self.dispatch(unit, now);
    }

    fn host_operation_ended(&mut self, mut op: PageOp, finished: Finished, now: Time) {
        op.bus += finished.bus_ns;
        op.cell += finished.cell_ns;
        match op.kind {
            Kind::Read => self.counts.host_reads += 1,
            Kind::Write => {
                self.counts.host_writes += 1;
                self.ftl.counters.host_programs += 1;
            }
            Kind::ReadForWrite if self.ftl.has_ended() => {
                self.counts.merge_reads += 1;
                self.counts.refused_writes += 1;
            }
            Kind::ReadForWrite => {
                self.counts.merge_reads += 1;
                op.kind = Kind::Write;
                self.enqueue(op, now);
                return;
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

    fn page_done(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot as usize];
        active.pages_left -= 1;
        if active.pages_left == 0 {
            self.leave_flash(slot, now);
        }
    }

    /// The flash part of a request is over; its answer goes to the link.
    fn leave_flash(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot as usize];
        active.done = now;
        let request = active.request;
        self.link.answer(slot, if request.op == Op::Read { request.bytes() } else { 0 });
        if request.op == Op::Write {
            let index = (active.epoch - self.first_epoch) as usize;
            self.epochs[index].writes_left -= 1;
            if self.epochs.len() > 1 {
                self.release_flushes(now);
            }
        }
    }

    /// Lets every flush go whose writes, and all before them, are durable.
    fn release_flushes(&mut self, now: Time) {
        while let Some(Epoch { writes_left: 0, flush: Some(slot), flush_arrived: true }) =
            self.epochs.front().copied()
        {
            self.epochs.pop_front();
            self.first_epoch += 1;
            let active = &mut self.active[slot as usize];
            active.breakdown.unit_wait = now - active.at_flash;
            self.leave_flash(slot, now);
        }
    }

    fn complete(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot as usize];
        let link = (active.at_flash - active.sent) + (now - active.done);
        active.breakdown.host_link = link;
        let (request, submitted) = (active.request, active.submitted);
        let completion = Completion { request, submitted, at: now, breakdown: active.breakdown };
        debug_assert_eq!(completion.latency(), completion.breakdown.total());
        self.done.push(completion);
        self.free_slots.push(slot);
        if request.op == Op::Flush {
            return;
        }
        self.in_device -= 1;
        if let Some(next) = self.host_queue.pop() {
            self.in_device += 1;
            self.send(next, now);
        }
    }
}

/// Data that a request sends to the device, bytes.
fn inward_bytes(request: &Request) -> u64 {
    if request.op == Op::Write { request.bytes() } else { 0 }
}

impl Device for Ssd {
    fn submit(&mut self, now: Time, request: Request) {
        assert!(now >= self.now, "time does not go backwards");
        let end = request.lba.0.checked_add(u64::from(request.sectors));
        let inside = end.is_some_and(|end| end <= self.capacity_sectors());
        assert!(inside || request.op == Op::Flush, "a request lies within the capacity");
        assert!(request.sectors > 0 || request.op == Op::Flush, "a request has a length");
        self.now = now;
        let epoch = self.first_epoch + self.epochs.len() as u64 - 1;
        let slot = self.activate(Active {
            request,
            submitted: now,
            sent: now,
            at_flash: now,
            done: now,
            pages_left: 0,
            breakdown: Breakdown::default(),
            epoch,
        });
        let last = self.epochs.back_mut().expect("there is always a current epoch");
        match request.op {
            // A flush takes no place in the device, or it could keep out what it waits for.
            Op::Flush => {
                last.flush = Some(slot);
                self.epochs.push_back(Epoch::default());
                self.send(slot, now);
            }
            op => {
                last.writes_left += u64::from(op == Op::Write);
                if self.in_device < self.config.host_link.queue_depth.requests() {
                    self.in_device += 1;
                    self.send(slot, now);
                } else {
                    self.host_queue.push(slot, request.lba);
                }
            }
        }
        self.pump(now);
    }

    fn next_event(&self) -> Option<Time> {
        if let Some(done) = self.done.first() {
            return Some(done.at);
        }
        self.timing.events.next_at()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some((now, payload)) = self.timing.events.pop_until(to) {
            self.now = now;
            match payload {
                LINK_FREE => self.pump(now),
                LINK_ARRIVAL => {
                    let active = &self.active;
                    self.link.arrive(|slot| inward_bytes(&active[slot as usize].request));
                    self.pump(now);
                }
                unit => {
                    if let Some(finished) = self.timing.stage_ended(unit, now) {
                        self.operation_ended(Unit(unit), finished, now);
                    }
                }
            }
        }
        self.now = to;
        completions.append(&mut self.done);
    }

    fn has_ended(&self) -> bool {
        self.ftl.has_ended()
    }

    fn capacity_sectors(&self) -> u64 {
        let geometry = self.ftl.geometry();
        u64::from(geometry.exported_pages()) * u64::from(geometry.sectors_per_page)
    }
}

impl Model for Ssd {
    fn preparable_pages(&self) -> u32 {
        self.ftl.geometry().exported_pages()
    }

    fn overwrite_untimed(&mut self, pages: &[u32]) {
        assert!(
            self.now == 0 && self.in_device == 0,
            "fast-forward comes before the first request"
        );
        self.ftl.overwrite_untimed(&mut self.flash, pages);
    }

    /// Erase counts stay: they are the drive's age.
    fn reset_counts(&mut self) {
        self.ftl.reset_counters(&self.flash);
        self.counts = PageCounts::default();
    }

    fn audit(&self) -> Result<(), String> {
        self.check()
    }

    fn report(&self, end: Time) -> Option<SsdReport> {
        Some(self.account(end))
    }
}
