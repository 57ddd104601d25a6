//! A request's way through an array: over the link, in parts through the members, and back.

use super::Array;
use super::active::LINK_FREE;
use crate::kit::link::Turn;
use crate::kit::slots::Slot;
use crate::latency::HOST_LINK;
use engine::{Completion, Op, Request, Time};

/// Asserts that a request is valid.
pub(super) fn check(request: &Request, capacity_sectors: u64) {
    let end = request.lba.0.checked_add(u64::from(request.sectors));
    let inside = end.is_some_and(|end| end <= capacity_sectors);
    assert!(inside || request.op == Op::Flush, "a request lies within the capacity");
    assert!(request.sectors > 0 || request.op == Op::Flush, "a request has a length");
}

/// Data that a request sends to the controller, bytes.
pub(super) fn inward_bytes(request: &Request) -> u64 {
    if request.op == Op::Write { request.bytes() } else { 0 }
}

impl Array {
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
        let active = &mut self.active[slot];
        active.at_members = now;
        let request = active.request;
        let id = u64::from(slot);
        if request.op == Op::Flush {
            // Everything sent before has reached its member before, so each can answer for its own.
            active.parts_left = self.members.len() as u32;
            for (member, due) in self.members.iter_mut().zip(&mut self.due) {
                member.submit(now, Request { id, ..request });
                *due = member.next_event().unwrap_or(Time::MAX);
            }
            return;
        }
        let part = Request { id, ..request };
        active.parts_left = self.stripes.parts(part).count() as u32;
        for (member, part) in self.stripes.parts(part) {
            self.members[member].submit(now, part);
            self.due[member] = self.members[member].next_event().unwrap_or(Time::MAX);
        }
    }

    // ---- and back -----------------------------------------------------------------------------

    pub(super) fn part_done(&mut self, part: &Completion, now: Time) {
        let slot = part.request.id as Slot;
        let active = &mut self.active[slot];
        active.parts_left -= 1;
        active.status = active.status.and(part.status);
        if active.parts_left > 0 {
            return;
        }
        active.done = now;
        active.breakdown = part.breakdown;
        let Request { op, .. } = active.request;
        let bytes = if op == Op::Read { active.request.bytes() } else { 0 };
        self.link.answer(slot, bytes);
        self.pump(now);
    }

    fn complete(&mut self, slot: Slot, now: Time) {
        let active = self.active.remove(slot);
        let mut breakdown = active.breakdown;
        breakdown[HOST_LINK] += active.at_members - active.submitted + (now - active.done);
        self.done.push(Completion {
            request: active.request,
            submitted: active.submitted,
            at: now,
            breakdown,
            status: active.status,
        });
    }

    /// The earliest event of the link and the members.
    pub(super) fn next_inside(&self) -> Option<Time> {
        let members = self.due.iter().copied().min().filter(|at| *at < Time::MAX);
        members.into_iter().chain(self.events.next_at()).min()
    }
}
