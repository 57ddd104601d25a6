//! Redundancies of an array: mirrors and parity.
//!
//! A request is split into one operation per stripe, and an operation into parts. A part is a
//! request to a member: reads first, then the dependent writes. No data are stored; tests give each
//! write a number (`symbolic.rs`) and check that the right chunks are read and written. A read of
//! one chunk without conflicts passes straight to a member (`pass.rs`).
//!
//! Unlike module has private state: `stripes.rs` the stripe queues, `plans/` the operations, `log.rs`
//! the log space, `rebuilds.rs` and `recovery.rs` the repairs after failures and power cuts. They
//! exchange messages (`message.rs`), which this file delivers depth first. Only `geometry.rs` knows
//! the member of a chunk.

mod counts;
mod failures;
mod geometry;
#[cfg(test)]
mod hole_property;
mod log;
pub mod message;
mod operation;
mod pass;
mod plans;
mod power;
#[cfg(test)]
mod property;
mod rebuilds;
mod recovery;
mod sight;
mod stripes;
#[cfg(test)]
mod symbolic;
mod torn;
mod untimed;

use super::ArrayOptions;
use super::clock::{Clock, Event};
use super::front::Front;
use super::members::{Members, Part};
use engine::{Breakdown, Completion, Op, Request, Status, Time, Xoshiro256};
use geometry::Geometry;
use log::Log;
use message::{Kind, Message, NONE, Start};
use operation::{Operation, Rules};
use options::Invalid;
use plans::Plans;
use rebuilds::Rebuilds;
use recovery::{Pace, Recovery};
use sight::Sight;
use ssd::device::kit::slots::Slot;
use ssd::device::latency::UNIT_WAIT;
use ssd::device::{DeviceKind, Model};
use stripes::Stripes;

/// Random stream for the choice of a copy.
const COPY_STREAM: u64 = 13;

/// State of a redundant array, besides its front end and members.
#[derive(Clone)]
pub struct Raid {
    geometry: Geometry,
    /// Geometry in pages, for preparation.
    pages: Geometry,
    plans: Plans,
    stripes: Stripes,
    log: Log,
    rebuilds: Rebuilds,
    recovery: Recovery,
    /// Pending messages, next one last; empty between calls.
    agenda: Vec<Message>,
    /// Number of failed members, and data sectors lost with them, since the array was built.
    failures: u64,
    lost_sectors: u64,
    host_sectors_written: u64,
    /// Scheduled failures. While any is pending, every request is an operation, which survives a
    /// member's loss.
    failures_ahead: usize,
    /// Log of all actions, for the tests.
    #[cfg(test)]
    events: Vec<symbolic::Event>,
}

/// Access to the array for a message.
pub struct Desk<'a> {
    pub front: &'a mut Front,
    pub members: &'a mut Members,
    pub clock: &'a mut Clock,
    pub now: Time,
}

impl Raid {
    /// Redundancy over these drives.
    pub fn new(
        config: &ArrayOptions<impl DeviceKind>,
        seed: u64,
        drives: &[Box<dyn Model>],
    ) -> Result<Raid, Invalid> {
        recovery::check(config)?;
        let in_log = Log::sectors(config);
        let geometry =
            Geometry::new(config, super::members::smallest(drives).saturating_sub(in_log))?;
        let pace = Pace::new(config, &geometry)?;
        let log = Log::new(config, geometry.rows * geometry.chunk);
        let rules = Rules {
            read_copy: config.read_copy,
            write: config.write,
            together: config.writes_together,
            hole: config.hole,
            log_sector: log.first_sector(),
        };
        Ok(Raid {
            pages: geometry.in_pages(drives, in_log),
            plans: Plans::new(rules, Xoshiro256::new(seed, COPY_STREAM)),
            stripes: Stripes::new(geometry.is_mirror(), config.stripe_cache),
            log,
            rebuilds: Rebuilds::new(pace, config.members),
            recovery: Recovery::new(config, pace, seed),
            agenda: Vec::new(),
            failures: 0,
            lost_sectors: 0,
            host_sectors_written: 0,
            failures_ahead: config.failed.0.len(),
            geometry,
            #[cfg(test)]
            events: Vec::new(),
        })
    }

    pub fn capacity(&self) -> u64 {
        self.geometry.capacity()
    }

    pub fn is_mirror(&self) -> bool {
        self.geometry.is_mirror()
    }

    /// True once no recovery holds up requests.
    pub fn is_ready(&self) -> bool {
        !self.recovery.holds_up()
    }

    /// True if data may be lost.
    pub fn has_lost(&self) -> bool {
        self.lost_sectors > 0
    }

    pub fn reset_counts(&mut self) {
        self.plans.reset_counts();
        self.stripes.reset_counts();
        self.host_sectors_written = 0;
    }

    /// Counts a host request.
    fn count(&mut self, request: &Request) {
        if request.op == Op::Write {
            self.host_sectors_written += u64::from(request.sectors);
        }
    }

    /// Rewinds the logs to their front.
    pub fn rewind_logs(&mut self) {
        self.log.rewind();
    }

    /// Checks that an idle array has no locked stripe.
    pub fn audit(&self, members: &Members) -> Result<(), String> {
        if !self.stripes.is_empty() && members.is_whole() && !self.recovery.is_going_on() {
            return Err("a stripe is locked and no request is outstanding".to_owned());
        }
        Ok(())
    }

    // ---- external events -----------------------------------------------------------------------

    /// Handles a request at the members: starts an operation for each touched stripe.
    pub fn arrive(&mut self, slot: Slot, desk: &mut Desk<'_>) {
        let request = *desk.front.request(slot);
        let kind = match request.op {
            Op::Flush => {
                // Earlier changes may still be unwritten, so the members cannot flush them.
                if !desk.front.holds_flush(slot) {
                    self.agenda.push(Message::Flush(slot));
                    self.hand_on(desk);
                }
                return;
            }
            Op::Read => Kind::Read,
            Op::Trim => Kind::Trim,
            _ => Kind::Write,
        };
        let sectors = self.geometry.stripe_sectors();
        let (mut start, mut end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        if request.op == Op::Trim && !self.geometry.is_mirror() {
            // A partly trimmed stripe has no valid parity, so only whole stripes are trimmed.
            (start, end) = (start.next_multiple_of(sectors), end / sectors * sectors);
        }
        self.count(&request);
        if request.op != Op::Read {
            desk.front.count_change();
        }
        if start >= end {
            desk.front.answer(slot, desk.now);
            self.request_done(slot, desk);
            self.hand_on(desk);
            return;
        }
        let stripes = start / sectors..(end - 1) / sectors + 1;
        desk.front.expect(slot, stripes.end - stripes.start);
        for stripe in stripes.rev() {
            let first = stripe * sectors;
            let (from, to) = (start.max(first) - first, end.min(first + sectors) - first);
            let start = Start { owner: slot, kind, stripe, from, to, log: None };
            self.agenda.push(Message::Start(start));
        }
        self.hand_on(desk);
    }

    /// Handles a member's completion.
    #[inline]
    pub fn answered(&mut self, member: usize, answer: &Completion, desk: &mut Desk<'_>) {
        let part = desk.members.answered(member, answer);
        #[cfg(test)]
        self.events.push(symbolic::Event::Done { id: answer.request.id as Slot });
        let sight =
            Sight { geometry: &self.geometry, members: desk.members, recovery: &self.recovery };
        self.plans.part_done(&part, answer, sight, &mut self.agenda);
        self.agenda.reverse();
        self.hand_on(desk);
    }

    /// Called after all members have advanced. Returns true if the front end may have to react.
    #[inline]
    pub fn end_step(&mut self, desk: &mut Desk<'_>) -> bool {
        let follows = self.rebuilds.are_done() || self.recovery.is_going_on();
        if follows {
            self.agenda.push(Message::Units);
            self.hand_on(desk);
        }
        follows
    }

    /// Handles an event of the array other than the link's.
    pub fn happen(&mut self, event: Event, desk: &mut Desk<'_>) {
        match event {
            Event::Failure(member) => {
                self.failures_ahead = self.failures_ahead.saturating_sub(1);
                self.fail(member, desk);
            }
            Event::Rebuild(member) => {
                if let Some((drive, rows)) = self.rebuilds.next_unit(member, desk.now) {
                    let stripes = rows.map(|row| self.geometry.stripe_of(member as u64, row));
                    self.agenda.extend(stripes.map(|it| repair(Kind::Rebuild(drive), it)));
                    self.agenda.push(Message::Unit(member));
                }
            }
            Event::Resync => {
                let stripes = self.recovery.next_unit(desk.now);
                self.agenda.extend(stripes.map(|it| repair(Kind::Resync, it)));
            }
            Event::LinkFree | Event::Arrival => {}
        }
        self.agenda.reverse();
        self.hand_on(desk);
    }

    /// Fails a member, with its data and its outstanding parts.
    pub fn fail(&mut self, member: usize, desk: &mut Desk<'_>) {
        if desk.members.has_failed(member) {
            return;
        }
        let held = self.rebuilds.abandon(member);
        let lost: Vec<Part> = desk.members.fail(member);
        self.failures += 1;
        let sectors = failures::lost_sectors(&self.geometry, desk.members);
        self.lost_sectors = self.lost_sectors.max(sectors);
        self.recovery.count_wrong(&self.geometry, desk.members);
        let mut touched: Vec<Slot> = lost.iter().map(|part| part.operation).collect();
        for part in &lost {
            self.plans.lose(part, self.geometry.data);
        }
        if let Some(drive) = desk.members.replace(member) {
            self.rebuilds.begin(member, drive, desk.now);
            desk.clock.push(desk.now, Event::Rebuild(member));
        }
        touched.sort_unstable();
        touched.dedup();
        self.agenda.push(Message::Units);
        self.agenda.extend(touched.into_iter().rev().map(Message::Recover));
        self.agenda.extend(held.into_iter().rev().map(Message::Release));
        self.hand_on(desk);
    }

    // ---- the wire -----------------------------------------------------------------------------

    /// Delivers messages until none is left.
    #[inline]
    fn hand_on(&mut self, desk: &mut Desk<'_>) {
        while let Some(message) = self.agenda.pop() {
            let before = self.agenda.len();
            self.take(message, desk);
            if self.agenda.len() > before + 1 {
                self.agenda[before..].reverse();
            }
        }
    }

    fn take(&mut self, message: Message, desk: &mut Desk<'_>) {
        let now = desk.now;
        let out = &mut self.agenda;
        let sight =
            Sight { geometry: &self.geometry, members: desk.members, recovery: &self.recovery };
        match message {
            Message::Start(start) => {
                let asked = (start.owner != NONE).then(|| desk.front.request(start.owner));
                let slot = self.plans.start(start, asked, now);
                #[cfg(test)]
                self.events.push(symbolic::Event::Started { slot, stripe: start.stripe });
                if start.kind == Kind::Read && !self.recovery.is_replayed(start.stripe) {
                    // Available data are read without waiting: the old values or the new ones.
                    self.plans.begin(slot, sight, out);
                } else {
                    out.push(Message::Queue(slot));
                }
            }
            Message::Queue(slot) => {
                let claim = self.plans.claim(slot);
                if self.stripes.claim(slot, claim) {
                    self.plans.begin(slot, sight, out);
                }
            }
            Message::Turn(stripe) => self.stripes.turn(stripe, out),
            Message::Join(slot, other) => self.plans.join(slot, other),
            Message::Begin(slot) => self.plans.begin(slot, sight, out),
            Message::Issue(issue) => {
                let before = self.plans.of(issue.slot).path_at(now);
                #[cfg_attr(not(test), expect(unused_variables, reason = "a test notes the part"))]
                let id = desk.members.issue(&issue, before, now);
                #[cfg(test)]
                self.events.push(symbolic::Event::Issued {
                    id,
                    part: desk.members.part(id),
                    operation: *self.plans.of(issue.slot),
                    member: issue.member,
                });
            }
            Message::Log(slot) => match self.plans.entry(self.plans.of(slot), sight) {
                None => self.plans.write(slot, sight, out),
                Some((log, blocks)) => {
                    if let Some(room) = self.log.take(log, blocks) {
                        self.plans.log_in(slot, room, sight, out);
                    } else {
                        self.plans.wait_for_log(slot);
                        self.log.wait(slot);
                    }
                }
            },
            Message::Retry(0) => {}
            Message::Retry(count) => {
                let Some(slot) = self.log.next_waiting() else { return };
                match self.plans.entry(self.plans.of(slot), sight) {
                    Some(_) => out.push(Message::Log(slot)),
                    // Its parity has been lost since.
                    None => self.plans.needs_no_log(slot, sight, out),
                }
                out.push(Message::Retry(count - 1));
            }
            Message::Recover(slot) => self.plans.recover(slot, sight, out),
            Message::Mend(stripe, rows) => self.recovery.mend(stripe, rows),
            Message::Anew(stripe) => self.recovery.write_anew(stripe),
            Message::Stop(drive) => self.rebuilds.stop(drive),
            Message::Flush(slot) => {
                desk.front.expect(slot, 1);
                let asked = (desk.front.request(slot), desk.front.at_members(slot));
                self.plans.flush(slot, asked, sight, out);
            }
            Message::Finish(slot) => self.finish(slot, desk),
            Message::Answer { owner, status, path } => self.answer(owner, status, *path, desk),
            Message::Close(slot) => self.close(slot, desk),
            Message::CloseJoined { slot, status, path, arrived } => {
                self.tell_finished(slot, desk);
                let operation = self.plans.remove(slot);
                // The merged request arrived later, while the first one waited.
                let mut own = *path;
                own[UNIT_WAIT] -= operation.arrived() - arrived;
                self.answer(operation.owner(), status, own, desk);
                self.close_joined(operation.joined(), status, *path, arrived);
            }
            Message::Release(slot) => {
                self.tell_finished(slot, desk);
                self.agenda.extend(self.stripes.leave(slot).map(Message::Turn));
                self.agenda.push(Message::Forget(slot));
            }
            Message::Forget(slot) => {
                self.plans.remove(slot);
            }
            Message::Unit(member) => self.end_unit(member, desk),
            Message::Units => {
                if let Some(member) = self.rebuilds.next_done() {
                    out.extend([Message::Unit(member), Message::Units]);
                } else if self.recovery.is_going_on() {
                    let is_ready = desk.members.in_use().all(|drive| drive.standing().is_ready);
                    if let Some(at) = self.recovery.proceed(is_ready, now) {
                        desk.clock.push(at, Event::Resync);
                    }
                }
            }
        }
    }

    /// Handles the end of an operation.
    fn finish(&mut self, slot: Slot, desk: &mut Desk<'_>) {
        let operation = self.plans.of(slot);
        if let Kind::Rebuild(drive) = operation.kind()
            && self.rebuilds.rebuilt(drive, slot)
        {
            if self.geometry.checks() == 1 {
                // The stripe is consistent from now on, right or wrong.
                self.recovery.forget(operation.stripe());
            }
            return;
        }
        let is_queued = operation.is_queued();
        self.tell_finished(slot, desk);
        if is_queued && let Some(stripe) = self.stripes.leave(slot) {
            self.agenda.extend([Message::Turn(stripe), Message::Close(slot)]);
        } else {
            self.close(slot, desk);
        }
    }

    /// Removes a completed operation. Its data are written, so its log entries are obsolete.
    fn close(&mut self, slot: Slot, desk: &mut Desk<'_>) {
        let operation: Operation = self.plans.remove(slot);
        if operation.kind() == Kind::Resync {
            self.recovery.resynced(operation.stripe(), operation.log());
        } else if operation.is_queued() && !self.recovery.is_closed() {
            self.recovery.mended(operation.stripe());
        }
        let path = operation.path_at(desk.now);
        let (status, owner) = (operation.status(), operation.owner());
        if let Some(place) = operation.log() {
            self.log.free(place);
            let retry = Message::Retry(self.log.waiting());
            let path = Box::new(path);
            self.agenda.extend([retry, Message::Answer { owner, status, path }]);
        } else {
            self.answer(owner, status, path, desk);
        }
        self.close_joined(operation.joined(), status, path, operation.arrived());
    }

    fn close_joined(&mut self, slot: Slot, status: Status, path: Breakdown, arrived: Time) {
        if slot != NONE {
            let path = Box::new(path);
            self.agenda.push(Message::CloseJoined { slot, status, path, arrived });
        }
    }

    /// Completes an operation of a request.
    fn answer(
        &mut self,
        owner: Option<Slot>,
        status: Status,
        path: Breakdown,
        desk: &mut Desk<'_>,
    ) {
        if let Some(owner) = owner
            && desk.front.part_done(owner, status, path, desk.now)
        {
            self.request_done(owner, desk);
        }
    }

    /// Handles a completed request: releases flushes that waited for it.
    fn request_done(&mut self, slot: Slot, desk: &mut Desk<'_>) {
        let mut is_first = true;
        while let Some(flush) = desk.front.freed_flush(slot, is_first) {
            self.agenda.push(Message::Flush(flush));
            is_first = false;
        }
    }

    /// Ends a member's rebuild unit if it is complete.
    fn end_unit(&mut self, member: usize, desk: &mut Desk<'_>) {
        let Some(unit) = self.rebuilds.end_unit(member, desk.now) else { return };
        if unit.is_last {
            desk.members.complete(member);
        } else {
            desk.members.hold(member, unit.rows);
        }
        if let Some(at) = unit.next_at {
            desk.clock.push(at, Event::Rebuild(member));
        }
        self.agenda.extend(unit.done.into_iter().map(Message::Release));
    }

    /// Reports the end of an operation to the tests.
    #[cfg(test)]
    fn tell_finished(&mut self, slot: Slot, desk: &Desk<'_>) {
        let operation = *self.plans.of(slot);
        let owner = operation.owner().map(|owner| *desk.front.request(owner));
        self.events.push(symbolic::Event::Finished { slot, operation, owner });
    }

    #[cfg(not(test))]
    #[inline]
    #[expect(clippy::unused_self, reason = "only tests follow what happens")]
    fn tell_finished(&self, _: Slot, _: &Desk<'_>) {}
}

/// Message that starts the repair of a stripe's chunks.
fn repair(kind: Kind, stripe: u64) -> Message {
    Message::Start(Start { owner: NONE, kind, stripe, from: 0, to: 0, log: None })
}
