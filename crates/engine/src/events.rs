//! The event queue: the earliest event first, equal times in order of insertion.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A priority queue of events, each a small number that its owner knows how to read.
///
/// Time, insertion number and payload are packed in one integer, so that comparing two events is
/// one comparison and ties can only fall in order of insertion. The earliest events are in a short list in
/// order, all others in a heap: most of what is asked for comes after everything that is asked for
/// already, and then costs hardly more than to write it down. An event that is
/// [cancelled](EventQueue::cancel) stays until its time and is then passed over, so that what is never
/// cancelled costs nothing.
#[derive(Debug, Clone)]
pub struct EventQueue {
    /// A ring: `soon` events from `first` on, in order; none only when there are no events at all.
    ring: Box<[u128; RING]>,
    first: usize,
    soon: usize,
    /// Those that come after all in the ring.
    heap: BinaryHeap<Reverse<u128>>,
    inserted: u64,
    /// Numbers of the events that wait to be passed over; never that of the earliest.
    cancelled: Vec<u64>,
}

/// Maximum number of events in the ring, a power of two. Inserting an event before all others moves all
/// of them.
const RING: usize = 64;

/// Events that the ring takes from the heap when it is empty; the rest of it is room for others.
const REFILL: usize = RING / 2;

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue {
            ring: Box::new([0; RING]),
            first: 0,
            soon: 0,
            heap: BinaryHeap::new(),
            inserted: 0,
            cancelled: Vec::new(),
        }
    }
}

/// One event of a queue, for as long as it has not happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId(u64);

const PAYLOAD_BITS: u32 = 24;
const ORDER_BITS: u32 = 40;

impl EventQueue {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event at `at`; `payload` must fit 24 bits.
    #[inline]
    pub fn push(&mut self, at: Time, payload: u32) -> EventId {
        debug_assert!(payload < 1 << PAYLOAD_BITS);
        // 2^40 insertions wrap after more than 10^12 events; ties then only lose their order.
        let order = self.inserted & ((1 << ORDER_BITS) - 1);
        self.inserted += 1;
        let key = (u128::from(at) << (PAYLOAD_BITS + ORDER_BITS))
            | (u128::from(order) << PAYLOAD_BITS)
            | u128::from(payload);
        self.insert(key);
        EventId(order)
    }

    /// Takes back an event that has not happened yet.
    pub fn cancel(&mut self, event: EventId) {
        debug_assert!(!self.cancelled.contains(&event.0), "an event is cancelled once");
        self.cancelled.push(event.0);
        self.pass_over();
    }

    #[inline]
    fn insert(&mut self, key: u128) {
        let last = self.ring[(self.first + self.soon).wrapping_sub(1) % RING];
        if self.soon > 0 && key > last {
            // Behind the ring; in it only if nothing is in the heap, where it would have to be compared.
            if self.soon == RING || !self.heap.is_empty() {
                self.heap.push(Reverse(key));
                return;
            }
        } else if self.soon == RING {
            self.heap.push(Reverse(last));
            self.soon -= 1;
        }
        let mut at = self.soon;
        while at > 0 {
            let before = self.ring[(self.first + at - 1) % RING];
            if before < key {
                break;
            }
            self.ring[(self.first + at) % RING] = before;
            at -= 1;
        }
        self.ring[(self.first + at) % RING] = key;
        self.soon += 1;
    }

    /// Removes the earliest event; there is one.
    #[inline]
    fn take_first(&mut self) {
        self.first = (self.first + 1) % RING;
        self.soon -= 1;
        if self.soon == 0 && !self.heap.is_empty() {
            self.refill();
        }
    }

    #[cold]
    fn refill(&mut self) {
        while self.soon < REFILL
            && let Some(Reverse(key)) = self.heap.pop()
        {
            self.ring[(self.first + self.soon) % RING] = key;
            self.soon += 1;
        }
    }

    /// Removes cancelled events from the front, so that the earliest is always one that happens.
    #[cold]
    fn pass_over(&mut self) {
        while self.soon > 0 {
            let key = self.ring[self.first];
            let order = (key >> PAYLOAD_BITS) as u64 & ((1 << ORDER_BITS) - 1);
            let Some(found) = self.cancelled.iter().position(|number| *number == order) else {
                return;
            };
            self.cancelled.swap_remove(found);
            self.take_first();
        }
    }

    /// When the earliest event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        let key = self.ring[self.first % RING];
        (self.soon > 0).then_some((key >> (PAYLOAD_BITS + ORDER_BITS)) as Time)
    }

    /// Removes the earliest event if it happens at or before `to`.
    #[inline]
    pub fn pop_until(&mut self, to: Time) -> Option<(Time, u32)> {
        let at = self.next_at()?;
        if at > to {
            return None;
        }
        let key = self.ring[self.first % RING];
        self.take_first();
        if !self.cancelled.is_empty() {
            self.pass_over();
        }
        Some((at, (key as u32) & ((1 << PAYLOAD_BITS) - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn equal_times_leave_in_order_of_insertion() {
        let mut queue = EventQueue::new();
        for (at, payload) in [(5, 1), (3, 9), (5, 0), (3, 2)] {
            queue.push(at, payload);
        }
        assert_eq!(queue.next_at(), Some(3));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_until(5)).collect();
        assert_eq!(order, [(3, 9), (3, 2), (5, 1), (5, 0)]);
    }

    #[test]
    fn later_events_stay() {
        let mut queue = EventQueue::new();
        queue.push(10, 7);
        assert_eq!(queue.pop_until(9), None);
        assert_eq!(queue.pop_until(10), Some((10, 7)));
        assert_eq!(queue.next_at(), None);
    }

    #[test]
    fn a_cancelled_event_never_happens_and_the_others_keep_their_order() {
        let mut queue = EventQueue::new();
        let events: Vec<_> = (0..6).map(|n| queue.push(10 + Time::from(n / 2), n)).collect();
        // One that is not the earliest, then the earliest itself with the one behind it.
        queue.cancel(events[3]);
        queue.cancel(events[1]);
        queue.cancel(events[0]);
        assert_eq!(queue.next_at(), Some(11));
        // The same payload at the same time again is another event.
        queue.push(11, 3);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_until(Time::MAX)).collect();
        assert_eq!(order, [(11, 2), (11, 3), (12, 4), (12, 5)]);
        assert!(queue.cancelled.is_empty());
    }

    /// Against a list that is sorted: few events and many, near ones and far ones, cancelled ones.
    #[test]
    fn whatever_is_asked_for_leaves_in_order() {
        let mut random = crate::Xoshiro256::new(3, 5);
        for most in [1, 3, RING as u64 - 1, RING as u64, RING as u64 + 1, 500] {
            let mut queue = EventQueue::new();
            let mut wanted: Vec<(Time, u64, u32, EventId)> = Vec::new();
            let mut now = 0;
            for number in 0..20_000 {
                if (wanted.len() as u64) < 1 + random.below(most) {
                    let span = if random.below(9) == 0 { 1000 } else { 40 };
                    let at = now + random.below(span);
                    let payload = random.below(1 << 24) as u32;
                    wanted.push((at, number, payload, queue.push(at, payload)));
                } else if random.below(20) == 0 {
                    let taken = random.below(wanted.len() as u64) as usize;
                    queue.cancel(wanted.remove(taken).3);
                } else {
                    wanted.sort_unstable_by_key(|(at, number, ..)| (*at, *number));
                    let (at, _, payload, _) = wanted.remove(0);
                    assert_eq!(
                        (queue.next_at(), queue.pop_until(at)),
                        (Some(at), Some((at, payload)))
                    );
                    now = at;
                }
                assert_eq!(queue.next_at(), wanted.iter().map(|(at, ..)| *at).min());
            }
        }
    }
}
