//! The front of the drive: requests in, page requests out; pages done in, completions out.
//!
//! A request waits in the host for a place in the device, crosses the link, takes a processor of
//! the controller, and is cut into page requests; when the last of them is done its answer crosses
//! the link. The host interface does not know the flash.

mod cores;
mod cut;
mod flush;
mod unit_ages;

pub use cut::{check, covered, covers, page_request, part, touched};

use crate::clock::{Clock, Event, Line};
use crate::config::{Recovery, SsdConfig};
use crate::device::kit::arbitration::QueueAccount;
use crate::device::kit::config::HostOrder;
use crate::device::kit::in_order::InOrder;
use crate::device::kit::link::{HostQueue, Link, TRIM_BYTES, Turn};
use crate::device::kit::slots::{Slot, Slots};
use crate::device::latency::{
    BUFFER, BUS, CELL, CLEANING_WAIT, FIRMWARE, HOST_LINK, HOST_QUEUE, MAP, REBUILD, RETRY,
    SUSPEND, UNIT_WAIT,
};
use crate::page::{HeldFor, Longer, Owner, PageDone, Spent};
use cores::Cores;
use engine::{Breakdown, Completion, Op, Request, Status, Time};
use flush::Epochs;
use unit_ages::UnitAges;

/// A request inside the device.
#[derive(Debug, Clone, Copy)]
struct Active {
    request: Request,
    submitted: Time,
    /// Time of sending to the device.
    sent: Time,
    /// When its pages were queued, and later when the last of them was done.
    at_flash: Time,
    done: Time,
    pages_left: u32,
    /// Latency parts; those of the flash are from the last completed page.
    breakdown: Breakdown,
    /// Combined status of the parts.
    status: Status,
    /// Number of its epoch between flushes.
    epoch: u64,
    /// True once its completion waits for the link.
    answered: bool,
}

/// The requests of the host, from submission to completion. It has a queue for each step of a
/// request, hence its many fields.
#[expect(clippy::struct_excessive_bools, reason = "each says by itself what there is")]
#[derive(Debug, Clone)]
pub struct Front {
    link: Link,
    queue: HostQueue,
    /// Order of completions, if they are in order.
    in_order: Option<InOrder>,
    queue_depth: u32,
    in_device: u32,
    /// Requests that wait in the host.
    in_host: u32,
    active: Slots<Active>,
    epochs: Epochs,
    /// True if the back end completes writes before they are durable, so that it executes flushes.
    volatile: bool,
    /// Flushes to request from the back end.
    flushes: Vec<Slot>,
    /// The device is not ready, after a power cut: nothing enters it; and the flushes that wait for that.
    holds: bool,
    held_flushes: Vec<Slot>,
    done: Vec<Completion>,
    cores: Cores,
    has_work_for_cores: bool,
    tells_queues: bool,
    /// Open times of the host's units, where limited.
    unit_ages: Option<Box<UnitAges>>,
}

impl Front {
    pub fn new(config: &SsdConfig) -> Front {
        let volatile = config.is_volatile() || config.records_trims();
        let has_more_to_do = config.records_trims()
            || config.block_buffer.is_volatile()
            || config.persistence.recovery == Recovery::Checkpoint;
        let cores = Cores::new(&config.firmware);
        let ages = |limit| Box::new(UnitAges::new(limit, config.fdp.placements()));
        let unit_ages = config.fdp.time_limit.ns().map(ages);
        let config = &config.host_link;
        let mut link = Link::new(config);
        if has_more_to_do {
            // Flushes and checkpoints are checked after each transfer.
            link.takes_turns();
        }
        Front {
            link,
            queue: HostQueue::new(config),
            in_order: InOrder::of(config),
            queue_depth: config.queue_depth.requests(),
            in_device: 0,
            in_host: 0,
            active: Slots::new(),
            epochs: Epochs::new(),
            volatile,
            flushes: Vec::new(),
            holds: false,
            held_flushes: Vec::new(),
            done: Vec::new(),
            has_work_for_cores: cores.have_work(),
            cores,
            tells_queues: config.order == HostOrder::Weighted,
            unit_ages,
        }
    }

    /// Accounts of the host's submission queues, where classes distinguish them.
    pub fn queues(&self) -> Vec<QueueAccount> {
        if self.tells_queues { self.queue.accounts() } else { Vec::new() }
    }

    /// Queues count from zero.
    pub fn reset_queues(&mut self) {
        self.queue.reset();
    }

    /// True if the open unit of a write has exceeded its time: `openings` units of its handle have
    /// been opened.
    pub fn is_over_time(&mut self, handle: u8, openings: u64, now: Time) -> bool {
        self.unit_ages.as_mut().is_some_and(|ages| ages.is_over(handle, openings, now))
    }

    /// Remaining time of a handle's unit, if limited.
    pub fn unit_time_left(&self, handle: u32, openings: u64, now: Time) -> Option<Time> {
        self.unit_ages.as_ref().map(|ages| ages.left(handle, openings, now))
    }

    /// True without requests in the device; flushes do not count.
    pub fn is_idle(&self) -> bool {
        self.in_device == 0
    }

    /// Delivers the answered requests, in order.
    #[inline]
    pub fn hand_over(&mut self, completions: &mut Vec<Completion>) {
        if completions.is_empty() {
            std::mem::swap(completions, &mut self.done);
        } else {
            completions.append(&mut self.done);
        }
    }

    /// True with waiting requests.
    #[inline]
    pub fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// Time of the first answer not yet delivered.
    #[inline]
    pub fn first_done(&self) -> Option<Time> {
        self.done.first().map(|completion| completion.at)
    }

    // ---- towards the flash ----------------------------------------------------------------

    /// The host submits a request: it is sent, or waits for a place in the device. Returns its slot if
    /// it is at the flash already; else the link's [turn](Front::turn) comes next.
    #[expect(clippy::inline_always, reason = "every request passes here, from two places")]
    #[inline(always)]
    pub fn submit(&mut self, request: Request, clock: &mut Clock) -> Option<Slot> {
        let now = clock.now;
        let slot = self.active.insert(Active {
            request,
            submitted: now,
            sent: now,
            at_flash: now,
            done: now,
            pages_left: 0,
            breakdown: Breakdown::default(),
            status: Status::Ok,
            epoch: self.epochs.current(),
            answered: false,
        });
        match request.op {
            // A flush takes no slot, or it could block the requests it waits for.
            Op::Flush => {
                self.epochs.begin_flush(slot);
                if self.holds {
                    self.held_flushes.push(slot);
                } else {
                    self.send(slot, clock);
                }
            }
            op => {
                if op == Op::Write {
                    self.epochs.begin_write();
                }
                if self.in_device < self.queue_depth {
                    self.in_device += 1;
                    if let Some(order) = &mut self.in_order {
                        order.came(slot, request.queue);
                    }
                    if self.link.may_pass(inward_bytes(&request), now) {
                        // Costs of sending, and of a turn of the link.
                        self.queue.sent(&request, 0);
                        return Some(slot);
                    }
                    let bytes = inward_bytes(&request);
                    if let Some(end) = self.link.bring(slot, bytes, now) {
                        self.queue.sent(&request, 0);
                        clock.call_in_line(Line::Link, end, Event::LinkFree);
                    } else {
                        self.send(slot, clock);
                    }
                } else {
                    self.queue.push(slot, &request);
                    self.in_host += 1;
                }
            }
        }
        None
    }

    /// True without work at the link and without flushes to request.
    #[inline]
    pub fn rests(&self, now: Time) -> bool {
        self.link.rests(now) && self.flushes.is_empty()
    }

    /// True if the link is idle, and transfers take no time.
    #[inline]
    pub fn is_link_clear(&self) -> bool {
        self.link.is_clear()
    }

    /// True if the link is idle at present.
    #[inline]
    pub fn is_link_idle(&self, now: Time) -> bool {
        self.link.is_idle(now)
    }

    /// A request that waited in the host has a place in the device.
    #[inline]
    fn enter(&mut self, slot: Slot, clock: &mut Clock) {
        if let Some(order) = &mut self.in_order {
            order.came(slot, self.active[slot].request.queue);
        }
        self.send(slot, clock);
    }

    #[inline]
    fn send(&mut self, slot: Slot, clock: &mut Clock) {
        let active = &mut self.active[slot];
        active.sent = clock.now;
        active.breakdown[HOST_QUEUE] = clock.now - active.submitted;
        if active.request.op != Op::Flush {
            self.queue.sent(&active.request, active.breakdown[HOST_QUEUE]);
        }
        let bytes = inward_bytes(&active.request);
        if let Some(at) = self.link.send(slot, bytes, clock.now) {
            clock.call(at, Event::RequestArrives);
        }
    }

    /// Handles the arrival of the oldest request in transit.
    pub fn request_arrives(&mut self) {
        let active = &self.active;
        self.link.arrive(|slot| inward_bytes(&active[slot].request));
    }

    /// Lets the link take its turns until a read, write or trim reaches the flash, or nothing can
    /// cross it now; to be called until there is none.
    #[inline]
    pub fn turn(&mut self, clock: &mut Clock) -> Option<(Slot, Request)> {
        loop {
            match self.link.turn(clock.now) {
                Turn::Arrived(slot) => {
                    let active = &mut self.active[slot];
                    active.at_flash = clock.now;
                    if active.request.op != Op::Flush {
                        return Some((slot, active.request));
                    }
                    if self.process(slot, 0, clock) {
                        self.flush_processed(slot, clock);
                    }
                }
                Turn::Answered(slot) => self.complete(slot, clock),
                Turn::Busy(end) => {
                    clock.call_in_line(Line::Link, end, Event::LinkFree);
                }
                Turn::Idle => return None,
            }
        }
    }

    /// The link has finished a transfer. If it was a completion whose end is the next turn, it is
    /// delivered and the next one starts; the turns after that follow as far as the link does not
    /// [rest](Front::rests).
    #[inline]
    pub fn answer_crosses(&mut self, clock: &mut Clock) -> bool {
        let Some(slot) = self.link.take_crossed(clock.now) else { return false };
        self.complete(slot, clock);
        if let Some(end) = self.link.take_next_answer(clock.now) {
            clock.call_in_line(Line::Link, end, Event::LinkFree);
        }
        true
    }

    /// A request has reached the controller: the end of its processing, and its processor; `None`
    /// if it waits for a core, and also if it needs no core time, so that it [starts](Front::begin)
    /// at once.
    pub fn process(&mut self, slot: Slot, pages: u32, clock: &mut Clock) -> bool {
        let ns = self.cores.time(&self.active[slot].request, pages);
        if ns == 0 {
            return true;
        }
        if let Some((core, end)) = self.cores.take(slot, ns, clock.now) {
            clock.call_in_line(Line::Cores, end, Event::Core(core));
        }
        false
    }

    /// A processor is done with a flush, or it takes no time of any: it now waits for its writes.
    pub fn flush_processed(&mut self, slot: Slot, clock: &mut Clock) {
        self.epochs.flush_arrived(self.active[slot].epoch);
        self.release_flushes(clock);
    }

    /// True if some command takes core time.
    #[inline]
    pub fn has_work_for_cores(&self) -> bool {
        self.has_work_for_cores
    }

    /// A processor is done with a request, which is returned, and takes the next.
    pub fn core_done(&mut self, core: u32, clock: &mut Clock) -> (Slot, Request) {
        let (slot, next) = self.cores.done(core, clock.now);
        if let Some(end) = next {
            clock.call_in_line(Line::Cores, end, Event::Core(core));
        }
        let active = &mut self.active[slot];
        active.breakdown[FIRMWARE] = clock.now - active.at_flash;
        (slot, active.request)
    }

    /// The request of a slot.
    #[inline]
    pub fn request(&self, slot: Slot) -> &Request {
        &self.active[slot].request
    }

    /// True if the request is in the device and not completed.
    pub fn is_open(&self, slot: Slot, request: u64) -> bool {
        let is_this = |active: &Active| active.request.id == request && !active.answered;
        self.active.is_taken(slot) && is_this(&self.active[slot])
    }

    /// The answer to a request is decided: status queries report it as answered.
    pub fn decide(&mut self, slot: Slot) {
        self.active[slot].answered = true;
    }

    /// Makes a request wait for map look-ups.
    pub fn await_map(&mut self, slot: Slot, count: u32, now: Time) {
        let active = &mut self.active[slot];
        active.pages_left = count;
        // Holds the start until the look-ups end.
        active.breakdown[MAP] = now;
    }

    /// Ends a look-up of a request; the request, if that was the last. To everything else it has
    /// come to the flash later.
    pub fn map_came(&mut self, slot: Slot, now: Time) -> Option<Request> {
        let active = &mut self.active[slot];
        active.pages_left -= 1;
        if active.pages_left > 0 {
            return None;
        }
        let waited = now - active.breakdown[MAP];
        active.breakdown[MAP] = waited;
        active.sent += waited;
        active.at_flash += waited;
        Some(active.request)
    }

    /// A request waits for `pages` more page requests.
    #[inline]
    pub fn expect(&mut self, slot: Slot, pages: u32) {
        self.active[slot].pages_left = pages;
    }

    /// Adds an outstanding read.
    #[inline]
    pub fn expect_read(&mut self, slot: Slot) {
        self.active[slot].pages_left += 1;
    }

    /// True without outstanding pages.
    #[inline]
    pub fn expects_nothing(&self, slot: Slot) -> bool {
        self.active[slot].pages_left == 0
    }

    /// Ends one of its outstanding reads: where its time went, which counts if it is the last.
    #[inline]
    pub fn read_done(&mut self, slot: Slot, spent: Spent) {
        let active = &mut self.active[slot];
        let part = &mut active.breakdown;
        note(part, spent);
        active.pages_left -= 1;
    }

    /// `page_done` for a read; returns true if it was the last one, which completes the request.
    #[inline]
    pub fn last_read_done(&mut self, slot: Slot, spent: Spent) -> bool {
        let active = &mut self.active[slot];
        let part = &mut active.breakdown;
        note(part, spent);
        active.pages_left -= 1;
        active.answered |= active.pages_left == 0;
        active.pages_left == 0
    }

    /// `read_done` for a read with retries and parity.
    pub fn aged_read_done(&mut self, slot: Slot, spent: Spent, longer: Longer) {
        self.read_done(slot, spent);
        let part = &mut self.active[slot].breakdown;
        part[CELL] -= longer.in_all();
        (part[RETRY], part[REBUILD]) = (longer.retry, longer.repair);
    }

    /// A page of a request took longer to read, which counts if it is the last.
    pub fn took_longer(&mut self, slot: Slot, longer: Longer) {
        let active = &mut self.active[slot];
        if active.pages_left == 1 {
            let part = &mut active.breakdown;
            (part[RETRY], part[REBUILD]) = (longer.retry, longer.repair);
            active.sent += longer.in_all();
            active.at_flash += longer.in_all();
        }
    }

    /// Marks a request with an uncorrectable read as failed.
    pub fn fail(&mut self, slot: Slot) {
        self.active[slot].status = Status::Unreadable;
    }

    // ---- and back -------------------------------------------------------------------------

    /// A page request is done; an internal one has no answer to the host.
    #[inline]
    pub fn page_done(&mut self, page: &PageDone, clock: &mut Clock) {
        let Owner::Host(slot) = page.owner else { return };
        let now = clock.now;
        let active = &mut self.active[slot];
        let part = &mut active.breakdown;
        let in_flash = now - active.at_flash - part[FIRMWARE];
        let in_vain = || Spent { cleaning: in_flash, ..Spent::default() };
        let spent = page.spent.unwrap_or_else(in_vain);
        note(part, spent);
        part[UNIT_WAIT] = in_flash - spent.cleaning - spent.suspend - spent.bus - spent.cell;
        if !page.status.is_ok() {
            active.status = page.status;
        }
        active.pages_left -= 1;
        if active.pages_left == 0 {
            self.leave_flash(slot, clock);
        }
    }

    /// The flash part of a request is over; its answer goes to the link, or waits for those before it.
    #[inline]
    fn leave_flash(&mut self, slot: Slot, clock: &mut Clock) {
        let active = &mut self.active[slot];
        active.done = clock.now;
        if self.in_order.is_some() {
            return self.leave_in_order(slot, clock);
        }
        self.leave(slot, clock);
    }

    /// Delivers all completions of its queue that are in order.
    fn leave_in_order(&mut self, slot: Slot, clock: &mut Clock) {
        let queue = self.active[slot].request.queue;
        let mut is_new = Some(slot);
        while let Some(order) = &mut self.in_order {
            if let Some(slot) = is_new.take() {
                order.is_ready(slot);
            }
            let Some(next) = order.next(queue) else { return };
            let active = &mut self.active[next];
            active.breakdown[HOST_QUEUE] += clock.now - active.done;
            active.done = clock.now;
            self.leave(next, clock);
        }
    }

    #[inline]
    fn leave(&mut self, slot: Slot, clock: &mut Clock) {
        let Active { request, epoch, .. } = self.active[slot];
        self.go_out(slot, if request.op == Op::Read { request.bytes() } else { 0 }, clock);
        if request.op == Op::Write && self.epochs.write_done(epoch) {
            self.release_flushes(clock);
        }
    }

    /// Sends a completion of `bytes` over the link, or past it.
    #[inline]
    fn go_out(&mut self, slot: Slot, bytes: u64, clock: &mut Clock) {
        if self.link.is_clear() {
            self.complete(slot, clock);
        } else {
            self.link.answer(slot, bytes);
        }
    }

    /// Releases every flush whose writes and all before are durable.
    fn release_flushes(&mut self, clock: &mut Clock) {
        while let Some(slot) = self.epochs.next_flush() {
            if self.volatile {
                self.flushes.push(slot);
            } else {
                self.flushed(slot, clock);
            }
        }
    }

    /// True with a flush to request from the back end.
    #[inline]
    pub fn has_flushes(&self) -> bool {
        !self.flushes.is_empty()
    }

    /// A flush to request from the back end, if any.
    pub fn next_flush(&mut self) -> Option<Slot> {
        self.flushes.pop()
    }

    /// Everything that was written before a flush is durable.
    pub fn flushed(&mut self, slot: Slot, clock: &mut Clock) {
        let active = &mut self.active[slot];
        let part = &mut active.breakdown;
        part[UNIT_WAIT] = clock.now - active.at_flash - part[FIRMWARE];
        active.done = clock.now;
        // Its completion delays no other request, in any order.
        self.go_out(slot, 0, clock);
    }

    /// Completes a request, with its waits for the buffer, for cleaning and for room.
    pub fn answer(&mut self, slot: Slot, status: Status, held: HeldFor, clock: &mut Clock) {
        self.account(slot, status, held, clock.now);
        self.leave_flash(slot, clock);
    }

    /// `answer` for the only completion of an instant, which takes an idle link directly.
    #[inline]
    pub fn answer_alone(&mut self, slot: Slot, status: Status, held: HeldFor, clock: &mut Clock) {
        self.account(slot, status, held, clock.now);
        self.leave_alone(slot, clock);
    }

    /// `answer` for a read with ageing, with its outcome.
    pub fn answer_aged(&mut self, slot: Slot, clock: &mut Clock) {
        self.account(slot, self.active[slot].status, HeldFor::default(), clock.now);
        let part = &mut self.active[slot].breakdown;
        part[UNIT_WAIT] -= part[RETRY] + part[REBUILD];
        self.leave_alone(slot, clock);
    }

    #[inline]
    fn leave_alone(&mut self, slot: Slot, clock: &mut Clock) {
        let now = clock.now;
        let Active { request, epoch, .. } = &mut self.active[slot];
        if self.in_order.is_some() {
            return self.leave_flash(slot, clock);
        }
        if request.op == Op::Read {
            let bytes = request.bytes();
            if let Some(end) = self.link.carry(slot, bytes, now) {
                self.active[slot].done = now;
                return clock.call_in_line(Line::Link, end, Event::LinkFree);
            }
        } else if request.op == Op::Write && self.link.lets_out(now) {
            let epoch = *epoch;
            self.active[slot].done = now;
            self.complete(slot, clock);
            if self.epochs.write_done(epoch) {
                self.release_flushes(clock);
            }
            return;
        }
        self.leave_flash(slot, clock);
    }

    /// Accounts for the time of a request behind a write buffer.
    #[inline]
    fn account(&mut self, slot: Slot, status: Status, held: HeldFor, now: Time) {
        let active = &mut self.active[slot];
        let part = &mut active.breakdown;
        part[CLEANING_WAIT] += held.cleaning;
        part[BUFFER] = held.room;
        let known = [FIRMWARE, CLEANING_WAIT, BUFFER, SUSPEND, BUS, CELL];
        let rest: Time = known.iter().map(|known| part[*known]).sum();
        part[UNIT_WAIT] = now - active.at_flash - rest;
        active.status = status;
    }

    // ---- power cuts -----------------------------------------------------------------------

    /// Handles a power cut: whatever is not answered never will be.
    pub fn lose_power(&mut self, config: &SsdConfig, now: Time) {
        let mut done = std::mem::take(&mut self.done);
        let mut lost: Vec<Active> =
            self.active.taken().into_iter().map(|slot| self.active[slot]).collect();
        lost.sort_by_key(|active| (active.submitted, active.request.id));
        let (status, at) = (Status::PowerLost, now);
        done.extend(lost.into_iter().map(|Active { request, submitted, .. }| Completion {
            request,
            submitted,
            at,
            breakdown: Breakdown::of(UNIT_WAIT, at - submitted),
            status,
        }));
        *self = Front { done, ..Front::new(config) };
    }

    /// Holds all submissions in the host until [released](Front::release).
    pub fn hold(&mut self) {
        self.holds = true;
        self.in_device = self.queue_depth;
    }

    /// Releases submissions held in the host.
    pub fn release(&mut self, clock: &mut Clock) {
        self.holds = false;
        self.in_device = 0;
        for slot in std::mem::take(&mut self.held_flushes) {
            self.send(slot, clock);
        }
        while self.in_device < self.queue_depth
            && let Some(next) = self.queue.pop()
        {
            self.in_host -= 1;
            self.in_device += 1;
            self.enter(next, clock);
        }
    }

    #[inline]
    fn complete(&mut self, slot: Slot, clock: &mut Clock) {
        let active = &mut self.active[slot];
        let at = clock.now;
        active.breakdown[HOST_LINK] = (active.at_flash - active.sent) + (at - active.done);
        debug_assert_eq!(at - active.submitted, active.breakdown.total());
        let is_flush = active.request.op == Op::Flush;
        let Active { request, submitted, breakdown, status, .. } = *active;
        // Moved directly: it is as large as several requests.
        self.done.push(Completion { request, submitted, at, breakdown, status });
        self.active.release(slot);
        if is_flush {
            return;
        }
        self.in_device -= 1;
        if self.in_host > 0 {
            self.send_next(clock);
        }
    }

    /// A request that waits in the host is sent.
    #[inline]
    fn send_next(&mut self, clock: &mut Clock) {
        if let Some(next) = self.queue.pop() {
            self.in_host -= 1;
            self.in_device += 1;
            self.enter(next, clock);
        }
    }
}

/// Latency parts of a request in the flash.
#[inline]
fn note(part: &mut Breakdown, spent: Spent) {
    part[CLEANING_WAIT] = spent.cleaning;
    part[SUSPEND] = spent.suspend;
    part[BUS] = spent.bus;
    part[CELL] = spent.cell;
}

/// Data that a request sends to the device, bytes.
#[inline]
fn inward_bytes(request: &Request) -> u64 {
    match request.op {
        Op::Write => request.bytes(),
        Op::Trim => TRIM_BYTES,
        _ => 0,
    }
}
