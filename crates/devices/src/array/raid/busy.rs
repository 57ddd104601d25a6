//! The stripes in use: operations that would spoil each other's parity, in order of arrival.

use super::Raid;
use super::operation::{Kind, NONE, Operation};
use crate::kit::slots::Slot;
use engine::Time;

impl Raid {
    /// Whether an operation must wait for another one of its stripe that came before.
    fn conflict(&self, one: &Operation, other: &Operation) -> bool {
        if one.kind == Kind::Read && other.kind == Kind::Read {
            return false;
        }
        let is_rebuild = |it: &Operation| matches!(it.kind, Kind::Rebuild(_) | Kind::Resync);
        if !self.geometry.is_mirror() || is_rebuild(one) || is_rebuild(other) {
            return true;
        }
        one.from < other.to && other.from < one.to
    }

    /// Puts an operation behind those of its stripe, and begins it if it need not wait.
    pub(super) fn enqueue(&mut self, slot: Slot, now: Time) {
        let stripe = self.operations[slot].stripe;
        self.operations[slot].is_queued = true;
        self.operations[slot].next = NONE;
        let Some(first) = self.busy.first.get(&stripe).copied() else {
            self.busy.first.insert(stripe, slot);
            self.run(slot, now);
            return;
        };
        let (mut waits, mut last) = (false, first);
        let mut at = first;
        while at != NONE {
            waits |= self.conflict(&self.operations[slot], &self.operations[at]);
            (last, at) = (at, self.operations[at].next);
        }
        self.operations[last].next = slot;
        if waits {
            self.counts.stripe_waits += 1;
        } else {
            self.run(slot, now);
        }
    }

    fn run(&mut self, slot: Slot, now: Time) {
        self.operations[slot].is_running = true;
        self.begin(slot, now);
    }

    /// Takes an operation that is done out of the queue of its stripe, and begins those that waited for
    /// it alone.
    pub(super) fn dequeue(&mut self, slot: Slot, now: Time) {
        let Operation { stripe, next, .. } = self.operations[slot];
        self.operations[slot].is_queued = false;
        let first = self.busy.first[&stripe];
        if first == slot {
            if next == NONE {
                self.busy.first.remove(&stripe);
                return;
            }
            self.busy.first.insert(stripe, next);
        } else {
            let mut before = first;
            while self.operations[before].next != slot {
                before = self.operations[before].next;
            }
            self.operations[before].next = next;
        }
        // An operation that begins may be over at once and leave the queue: then from the start again.
        while let Some(ready) = self.ready(stripe) {
            self.join(ready);
            self.run(ready, now);
        }
    }

    /// Does with a write those that wait behind it and go on from it.
    fn join(&mut self, slot: Slot) {
        let is_write = self.operations[slot].kind == Kind::Write;
        let mut room = if is_write && !self.geometry.is_mirror() { self.rules.cache } else { 0 };
        while room > 0 {
            let one = self.operations[slot];
            if one.next == NONE {
                return;
            }
            let other = self.operations[one.next];
            let is_alike = other.kind == Kind::Write && !other.is_running && {
                let asked = |it: &Operation| self.active[it.owner].request.fua;
                asked(&one) == asked(&other)
            };
            if !is_alike || other.from > one.to || other.to < one.from {
                return;
            }
            let joined = &mut self.operations[one.next];
            (joined.is_queued, joined.joined) = (false, one.joined);
            let first = &mut self.operations[slot];
            (first.next, first.joined) = (other.next, one.next);
            (first.from, first.to) = (one.from.min(other.from), one.to.max(other.to));
            self.counts.stripe_joins += 1;
            room -= 1;
        }
    }

    /// The first operation of a stripe that waits and need not.
    fn ready(&self, stripe: u64) -> Option<Slot> {
        let first = self.busy.first.get(&stripe).copied()?;
        let mut at = first;
        while at != NONE {
            let it = &self.operations[at];
            if !it.is_running {
                let mut before = first;
                while before != at && !self.conflict(it, &self.operations[before]) {
                    before = self.operations[before].next;
                }
                if before == at {
                    return Some(at);
                }
            }
            at = it.next;
        }
        None
    }
}
