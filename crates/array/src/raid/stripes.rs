//! Queues of stripes: conflicting operations run in order of arrival.
//!
//! An operation claims sectors of a stripe. It runs at once if no earlier claim conflicts, and
//! otherwise after the conflicting ones have completed. Contiguous waiting writes may be merged.

use super::message::{Message, NONE};
use ssd::device::kit::slots::Slot;

/// Access of an operation to its stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Read,
    /// A write, which can be merged with writes of the same durability.
    Write {
        fua: bool,
    },
    Trim,
    /// Repair of the whole stripe.
    Repair,
}

/// Claim of an operation on a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    pub stripe: u64,
    /// First sector within the stripe's data.
    pub from: u64,
    pub to: u64,
    pub what: Use,
}

/// A claim in its stripe's queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    claim: Claim,
    /// Next claim on the stripe.
    next: Slot,
    /// For a stripe's first claim: first claim of the next stripe in the same list.
    beside: Slot,
    has_turn: bool,
}

/// Number of lists of first claims; the low bits of a stripe's number select its list.
const LISTS: usize = 1024;

/// Queues of the stripes in use.
#[derive(Debug, Clone)]
pub struct Stripes {
    /// Lists of first claims, each linked to its stripe's next claims; and the number of stripes.
    lists: Vec<Slot>,
    in_use: usize,
    /// Claims by operation; entries without a claim are unused.
    waiting: Vec<Waiting>,
    /// True for copies, where only overlapping claims conflict; with parity any two claims of a
    /// stripe do.
    is_mirror: bool,
    /// Maximum number of writes merged with a waiting one.
    most_joined: u32,
    /// Number of operations that waited, and of merged ones.
    waits: u64,
    joins: u64,
}

impl Stripes {
    pub fn new(is_mirror: bool, most_joined: u32) -> Stripes {
        let most_joined = if is_mirror { 0 } else { most_joined };
        let (lists, waiting) = (memory::filled(NONE, LISTS), Vec::new());
        Stripes { lists, in_use: 0, waiting, is_mirror, most_joined, waits: 0, joins: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.in_use == 0
    }

    /// First claim of a stripe, or `NONE`.
    #[inline]
    fn first(&self, stripe: u64) -> Slot {
        let mut at = self.lists[stripe as usize % LISTS];
        while at != NONE && self.at(at).claim.stripe != stripe {
            at = self.at(at).beside;
        }
        at
    }

    /// Replaces a stripe's first claim by the one that `follows`.
    fn replace_first(&mut self, stripe: u64, first: Slot, follows: Slot) {
        let list = stripe as usize % LISTS;
        let mut at = self.lists[list];
        if at == first {
            self.lists[list] = follows;
            return;
        }
        while self.at(at).beside != first {
            at = self.at(at).beside;
        }
        self.at_mut(at).beside = follows;
    }

    /// Number of operations that waited, and of merged ones.
    pub fn counts(&self) -> (u64, u64) {
        (self.waits, self.joins)
    }

    pub fn reset_counts(&mut self) {
        (self.waits, self.joins) = (0, 0);
    }

    /// True if two claims of a stripe must not run together.
    fn conflict(&self, one: Slot, other: Slot) -> bool {
        let (one, other) = (self.at(one).claim, self.at(other).claim);
        if one.what == Use::Read && other.what == Use::Read {
            return false;
        }
        let is_repair = one.what == Use::Repair || other.what == Use::Repair;
        !self.is_mirror || is_repair || one.from < other.to && other.from < one.to
    }

    fn at(&self, slot: Slot) -> &Waiting {
        &self.waiting[slot as usize]
    }

    fn at_mut(&mut self, slot: Slot) -> &mut Waiting {
        &mut self.waiting[slot as usize]
    }

    /// True if an operation may run.
    pub fn has_turn(&self, slot: Slot) -> bool {
        self.at(slot).has_turn
    }

    /// Appends an operation to its stripe's queue. Returns true if it may run.
    pub fn claim(&mut self, slot: Slot, claim: Claim) -> bool {
        let waiting = Waiting { claim, next: NONE, beside: NONE, has_turn: false };
        if self.waiting.len() <= slot as usize {
            memory::grow(&mut self.waiting, slot as usize + 1, waiting);
        }
        *self.at_mut(slot) = waiting;
        let first = self.first(claim.stripe);
        if first == NONE {
            self.in_use += 1;
            let others = std::mem::replace(&mut self.lists[claim.stripe as usize % LISTS], slot);
            let own = self.at_mut(slot);
            (own.beside, own.has_turn) = (others, true);
            return true;
        }
        let (mut waits, mut last) = (false, first);
        let mut at = first;
        while at != NONE {
            waits |= self.conflict(slot, at);
            (last, at) = (at, self.at(at).next);
        }
        self.at_mut(last).next = slot;
        self.at_mut(slot).has_turn = !waits;
        self.waits += u64::from(waits);
        !waits
    }

    /// Removes a completed operation. Returns its stripe if other operations wait there.
    pub fn leave(&mut self, slot: Slot) -> Option<u64> {
        let Waiting { claim: Claim { stripe, .. }, next, beside, .. } = *self.at(slot);
        let first = self.first(stripe);
        if first == slot {
            if next == NONE {
                self.in_use -= 1;
                self.replace_first(stripe, slot, beside);
                return None;
            }
            self.at_mut(next).beside = beside;
            self.replace_first(stripe, slot, next);
            return Some(stripe);
        }
        let mut before = first;
        while self.at(before).next != slot {
            before = self.at(before).next;
        }
        self.at_mut(before).next = next;
        Some(stripe)
    }

    /// Starts the first waiting operation of a stripe, with merged ones. Call it again for further
    /// operations.
    pub fn turn(&mut self, stripe: u64, out: &mut Vec<Message>) {
        if let Some(ready) = self.ready(stripe) {
            self.join(ready, out);
            self.at_mut(ready).has_turn = true;
            out.extend([Message::Begin(ready), Message::Turn(stripe)]);
        }
    }

    fn ready(&self, stripe: u64) -> Option<Slot> {
        let first = self.first(stripe);
        let mut at = first;
        while at != NONE {
            if !self.at(at).has_turn {
                let mut before = first;
                while before != at && !self.conflict(at, before) {
                    before = self.at(before).next;
                }
                if before == at {
                    return Some(at);
                }
            }
            at = self.at(at).next;
        }
        None
    }

    /// Merges a write with contiguous ones that wait behind it.
    fn join(&mut self, slot: Slot, out: &mut Vec<Message>) {
        for _ in 0..self.most_joined {
            let Waiting { claim: one, next, .. } = *self.at(slot);
            if next == NONE || !matches!(one.what, Use::Write { .. }) {
                return;
            }
            let Waiting { claim: other, next: behind, has_turn, .. } = *self.at(next);
            let is_alike = other.what == one.what && !has_turn;
            if !is_alike || other.from > one.to || other.to < one.from {
                return;
            }
            let joined = self.at_mut(slot);
            joined.next = behind;
            joined.claim.from = one.from.min(other.from);
            joined.claim.to = one.to.max(other.to);
            self.joins += 1;
            out.push(Message::Join(slot, next));
        }
    }

    /// Handles a power cut: removes all claims.
    pub fn clear(&mut self) {
        self.lists.fill(NONE);
        self.in_use = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIPE: u64 = 7;

    fn claim(what: Use, from: u64, to: u64) -> Claim {
        Claim { stripe: STRIPE, from, to, what }
    }

    /// Operations that may run after one has completed.
    fn left(stripes: &mut Stripes, slot: Slot) -> Vec<Message> {
        let mut all = Vec::new();
        if let Some(stripe) = stripes.leave(slot) {
            stripes.turn(stripe, &mut all);
            while all.pop_if(|last| *last == Message::Turn(stripe)).is_some() {
                stripes.turn(stripe, &mut all);
            }
        }
        all
    }

    #[test]
    fn writes_of_a_stripe_with_parity_take_turns_and_reads_share_it() {
        let mut stripes = Stripes::new(false, 0);
        let write = Use::Write { fua: false };
        assert!(stripes.claim(0, claim(write, 0, 4)), "it is the first");
        assert!(!stripes.claim(1, claim(Use::Read, 8, 9)));
        assert!(!stripes.claim(2, claim(Use::Read, 4, 5)));
        assert!(!stripes.claim(3, claim(Use::Repair, 0, 0)));
        assert!(stripes.claim(4, Claim { stripe: 8, ..claim(write, 0, 4) }), "another stripe");
        assert_eq!(stripes.counts(), (3, 0));
        assert_eq!(left(&mut stripes, 0), [Message::Begin(1), Message::Begin(2)]);
        assert!(stripes.has_turn(2) && !stripes.has_turn(3));
        assert_eq!(left(&mut stripes, 2), []);
        assert_eq!(left(&mut stripes, 1), [Message::Begin(3)]);
        assert_eq!((left(&mut stripes, 3), stripes.leave(4)), (vec![], None));
        assert!(stripes.is_empty());
    }

    /// Stripes that share a list keep separate queues, in any order of completion.
    #[test]
    fn stripes_of_one_list_do_not_meet() {
        let write = Use::Write { fua: false };
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]] {
            let mut stripes = Stripes::new(false, 0);
            for slot in 0..6 {
                let stripe = STRIPE + u64::from(slot % 3) * LISTS as u64;
                let is_first = stripes.claim(slot, Claim { stripe, ..claim(write, 0, 4) });
                assert_eq!(is_first, slot < 3);
            }
            for slot in order {
                let stripe = STRIPE + u64::from(slot) * LISTS as u64;
                assert_eq!(stripes.leave(slot), Some(stripe));
                let mut out = Vec::new();
                stripes.turn(stripe, &mut out);
                assert_eq!(out, [Message::Begin(slot + 3), Message::Turn(stripe)]);
            }
            for slot in order {
                assert!(!stripes.is_empty());
                assert_eq!(stripes.leave(slot + 3), None);
            }
            assert!(stripes.is_empty());
        }
    }

    #[test]
    fn copies_of_other_sectors_go_on_beside_each_other() {
        let mut stripes = Stripes::new(true, 9);
        let write = Use::Write { fua: false };
        let turns = [(0, 4), (4, 8), (3, 5), (8, 9)]
            .iter()
            .zip(0..)
            .map(|((from, to), slot)| stripes.claim(slot, claim(write, *from, *to)));
        assert_eq!(turns.collect::<Vec<_>>(), [true, true, false, true]);
        assert_eq!(left(&mut stripes, 1), [], "the first is still in its way");
        assert_eq!(left(&mut stripes, 0), [Message::Begin(2)]);
    }

    #[test]
    fn contiguous_writes_that_wait_are_done_as_one() {
        let mut stripes = Stripes::new(false, 2);
        let write = Use::Write { fua: false };
        for (slot, from) in (0..).zip([0, 10, 12, 8, 14]) {
            stripes.claim(slot, claim(write, from, from + 2));
        }
        // The contiguous writes before and after it, at most two.
        let expected = [Message::Join(1, 2), Message::Join(1, 3), Message::Begin(1)];
        assert_eq!(left(&mut stripes, 0), expected);
        assert_eq!((stripes.counts(), stripes.at(1).claim), ((4, 2), claim(write, 8, 14)));
        assert_eq!(left(&mut stripes, 1), [Message::Begin(4)]);
        // Not with a write of other durability, nor across a gap.
        stripes.claim(5, claim(write, 0, 2));
        stripes.claim(6, claim(Use::Write { fua: true }, 2, 4));
        stripes.claim(7, claim(write, 5, 6));
        assert_eq!(left(&mut stripes, 4), [Message::Begin(5)]);
    }
}
