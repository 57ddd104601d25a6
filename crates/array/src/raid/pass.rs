//! Reads within one chunk of a healthy array: they pass straight to one member, without an
//! operation, because nothing can conflict.

use super::message::Span;
use super::sight::Sight;
use super::{Desk, Raid};
use engine::{Completion, Lba, Op, Request};
use ssd::device::kit::slots::Slot;

/// Bit that marks a forwarded request's number; the other bits are the host request's number.
const PASSED: Slot = 1 << 31;

impl Raid {
    /// True if reads need no operation: no member is missing, torn, avoided, or about to fail.
    #[inline]
    fn passes(&self, desk: &Desk<'_>) -> bool {
        desk.members.is_whole()
            && self.failures_ahead == 0
            && self.recovery.is_closed()
            && !desk.members.are_by_turns()
    }

    /// Forwards a read to the member with all of its data. Returns false if it needs an operation.
    #[inline]
    pub fn pass(&mut self, slot: Slot, desk: &mut Desk<'_>) -> bool {
        let request = desk.front.request(slot);
        if request.op != Op::Read || !self.passes(desk) {
            return false;
        }
        let (chunk, data) = (self.geometry.chunk, self.geometry.data);
        let (number, from) = (request.lba.0 / chunk, request.lba.0 % chunk);
        let span = Span { from, to: from + u64::from(request.sectors) };
        if span.to > chunk {
            return false;
        }
        let (stripe, mut place) = (number / data, number % data);
        if self.geometry.is_mirror() {
            let Raid { geometry, recovery, plans, .. } = self;
            let sight = Sight { geometry, members: desk.members, recovery };
            place = plans.choose_copy(stripe, span, sight).expect("all copies are there");
        }
        let member = self.geometry.member(stripe, place) as usize;
        let part = Request {
            id: u64::from(PASSED | slot),
            lba: Lba(self.geometry.row(stripe) * chunk + from),
            fua: false,
            ..*request
        };
        desk.front.expect(slot, 1);
        #[cfg(test)]
        self.tell_passed(slot, (stripe, place, span), member, desk);
        desk.members.pass(member, part, desk.now);
        true
    }

    /// Completes a forwarded read. Returns false for other requests.
    #[inline]
    #[cfg_attr(
        not(test),
        expect(clippy::unused_self, reason = "the tests follow requests passed on")
    )]
    pub fn passed(&mut self, member: usize, answer: &Completion, desk: &mut Desk<'_>) -> bool {
        let number = answer.request.id as Slot;
        if number & PASSED == 0 {
            return false;
        }
        #[cfg(test)]
        self.tell_answered(number, desk);
        desk.members.left(member);
        desk.front.pass_on(number & !PASSED, answer, desk.now);
        true
    }
}

/// Tests follow forwarded requests like operations.
#[cfg(test)]
mod told {
    use super::*;
    use crate::members::Part;
    use crate::raid::message::{Kind, Purpose, Start};
    use crate::raid::operation::Operation;
    use crate::raid::symbolic::Event;
    use engine::Breakdown;

    impl Raid {
        fn operation(&self, request: &Request, slot: Slot, desk: &Desk<'_>) -> Operation {
            let sectors = self.geometry.stripe_sectors();
            let (stripe, from) = (request.lba.0 / sectors, request.lba.0 % sectors);
            let to = from + u64::from(request.sectors);
            let start = Start { owner: slot, kind: Kind::Read, stripe, from, to, log: None };
            Operation::new(start, desk.now)
        }

        pub(super) fn tell_passed(
            &mut self,
            slot: Slot,
            (stripe, place, span): (u64, u64, Span),
            member: usize,
            desk: &Desk<'_>,
        ) {
            let (id, drive) = (PASSED | slot, desk.members.drive(member));
            let part = Part::of(id, Purpose::Own, place, span, Breakdown::default()).on(drive);
            let operation = self.operation(desk.front.request(slot), slot, desk);
            self.events.push(Event::Started { slot: id, stripe });
            self.events.push(Event::Issued { id, part, operation, member });
        }

        pub(super) fn tell_answered(&mut self, id: Slot, desk: &Desk<'_>) {
            let slot = id & !PASSED;
            let owner = *desk.front.request(slot);
            let operation = self.operation(&owner, slot, desk);
            self.events.push(Event::Done { id });
            self.events.push(Event::Finished { slot: id, operation, owner: Some(owner) });
        }
    }
}
