//! A request's way through an array with redundancy: over the link, in operations on stripes, and back.

use super::Raid;
use super::operation::{Kind, NONE, Operation, Purpose, Span, Stage};
use crate::array::active::LINK_FREE;
use crate::kit::link::Turn;
use crate::kit::slots::Slot;
use crate::latency::{HOST_LINK, UNIT_WAIT};
use engine::{Breakdown, Completion, Op, Request, Status, Time};
use std::ops::Range;

impl Raid {
    /// Lets the link take its turns until nothing can cross it now.
    pub(super) fn pump(&mut self, now: Time) {
        loop {
            match self.link.turn(now) {
                Turn::Arrived(slot) => self.reach_members(slot, now),
                Turn::Answered(slot) => self.complete(slot, now),
                Turn::Busy(end) => {
                    self.events.push(end, LINK_FREE);
                }
                Turn::Idle => return,
            }
        }
    }

    fn reach_members(&mut self, slot: Slot, now: Time) {
        let waits_for = self.writes_under_way;
        let number = self.arrivals;
        self.arrivals += 1;
        let active = &mut self.active[slot];
        (active.at_members, active.number) = (now, number);
        let request = active.request;
        match request.op {
            Op::Flush if waits_for > 0 => {
                // Their parts may not have been written yet, so the members cannot answer for them.
                active.left = waits_for;
                self.flushes.push(slot);
            }
            Op::Flush => self.flush(slot, now),
            Op::Read | Op::Write | Op::Trim => self.cut(slot, request, now),
        }
    }

    /// Makes an operation of what a request touches of each stripe.
    fn cut(&mut self, slot: Slot, request: Request, now: Time) {
        let sectors = self.geometry.stripe_sectors();
        let (mut start, mut end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        if request.op == Op::Trim && !self.geometry.is_mirror() {
            // Parity says nothing of a stripe of which a part is worthless: whole ones only.
            (start, end) = (start.next_multiple_of(sectors), end / sectors * sectors);
        }
        if request.op == Op::Write {
            self.counts.host_sectors_written += u64::from(request.sectors);
        }
        let stripes = if start < end { start / sectors..(end - 1) / sectors + 1 } else { 0..0 };
        let is_write = request.op != Op::Read;
        self.writes_under_way += u64::from(is_write);
        self.active[slot].left = stripes.end - stripes.start;
        if stripes.is_empty() {
            self.request_done(slot, now);
            return;
        }
        let kind = match request.op {
            Op::Read => Kind::Read,
            Op::Write => Kind::Write,
            _ => Kind::Trim,
        };
        for stripe in stripes {
            let first = stripe * sectors;
            let data = start.max(first) - first..end.min(first + sectors) - first;
            self.start(slot, kind, stripe, data, now);
        }
    }

    /// Begins an operation, or has it wait.
    pub(super) fn start(
        &mut self,
        owner: Slot,
        kind: Kind,
        stripe: u64,
        data: Range<u64>,
        now: Time,
    ) {
        let slot = self.operations.insert(Operation::new(owner, kind, stripe, data, now));
        #[cfg(test)]
        self.log.push(super::symbolic::Event::Started { slot, stripe });
        if kind == Kind::Read && !self.is_replayed(stripe) {
            // What is there is read without waiting: it is the old value, or the new one.
            self.begin(slot, now);
        } else {
            self.enqueue(slot, now);
        }
    }

    /// Every drive answers for what it has been given.
    fn flush(&mut self, owner: Slot, now: Time) {
        self.active[owner].left = 1;
        let at = self.active[owner].at_members;
        let slot = self.operations.insert(Operation::new(owner, Kind::Flush, 0, 0..0, at));
        self.operations[slot].stage = Stage::Ending;
        for member in 0..self.members.len() {
            if !self.members[member].has_failed() {
                let request = self.active[owner].request;
                self.submit_part(slot, Purpose::Write, 0, Span::default(), member, request, now);
            }
        }
        if self.operations[slot].outstanding() == 0 {
            self.finish(slot, now);
        }
    }

    // ---- and back -----------------------------------------------------------------------------

    /// An operation is over.
    pub(super) fn finish(&mut self, slot: Slot, now: Time) {
        let operation = self.operations[slot];
        if let Kind::Rebuild(drive) = operation.kind
            && self.rebuilt(slot, drive)
        {
            return;
        }
        #[cfg(test)]
        self.log_finished(slot);
        if operation.is_queued {
            self.dequeue(slot, now);
        }
        self.operations.remove(slot);
        if !self.hole.is_closed() || operation.log.is_some() {
            self.written(&operation, now);
        }
        if operation.owner == NONE {
            return;
        }
        let path = operation.path_at(now);
        self.answer(operation.owner, operation.status, path, now);
        let mut joined = operation.joined;
        while joined != NONE {
            #[cfg(test)]
            self.log_finished(joined);
            let other = self.operations.remove(joined);
            // It came later, while the first one waited.
            let mut path = path;
            path[UNIT_WAIT] -= other.arrived - operation.arrived;
            self.answer(other.owner, operation.status, path, now);
            joined = other.joined;
        }
    }

    /// An operation of a request is over.
    fn answer(&mut self, owner: Slot, status: Status, path: Breakdown, now: Time) {
        let active = &mut self.active[owner];
        active.left -= 1;
        active.status = active.status.and(status);
        active.breakdown = path;
        if active.left == 0 {
            self.request_done(owner, now);
        }
    }

    fn request_done(&mut self, slot: Slot, now: Time) {
        self.active[slot].done = now;
        let active = self.active[slot];
        let bytes = if active.request.op == Op::Read { active.request.bytes() } else { 0 };
        self.link.answer(slot, bytes);
        if !matches!(active.request.op, Op::Write | Op::Trim) {
            return;
        }
        self.writes_under_way -= 1;
        for flush in 0..self.flushes.len() {
            let waiting = &mut self.active[self.flushes[flush]];
            waiting.left -= u64::from(waiting.number > active.number);
        }
        while let Some(ready) = self.flushes.iter().position(|it| self.active[*it].left == 0) {
            let flush = self.flushes.remove(ready);
            self.flush(flush, now);
        }
    }

    fn complete(&mut self, slot: Slot, now: Time) {
        let active = self.active.remove(slot);
        let mut breakdown = active.breakdown;
        breakdown[HOST_LINK] += active.at_members - active.submitted + (now - active.done);
        #[cfg(test)]
        self.log.push(super::symbolic::Event::Answered(active.request, active.status));
        self.done.push(Completion {
            request: active.request,
            submitted: active.submitted,
            at: now,
            breakdown,
            status: active.status,
        });
    }

    /// Tells the tests that an operation is over.
    #[cfg(test)]
    pub(super) fn log_finished(&mut self, slot: Slot) {
        let operation = self.operations[slot];
        let owner = (operation.owner != NONE).then(|| self.active[operation.owner].request);
        self.log.push(super::symbolic::Event::Finished { slot, operation, owner });
    }
}
