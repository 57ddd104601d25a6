//! The event queue: the earliest event first, equal times in order of insertion.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A priority queue of events, each a small number that its owner knows how to read.
///
/// Time, insertion number and payload are packed in one integer, so that comparing two events is
/// one comparison and ties can only fall in order of insertion. An event that is
/// [cancelled](EventQueue::cancel) stays in the heap until its time and is then passed over, so that
/// what is never cancelled costs nothing.
#[derive(Debug, Clone, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<u128>>,
    inserted: u64,
    /// Numbers of the events that wait in the heap to be passed over; never that of the earliest.
    cancelled: Vec<u64>,
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
        self.heap.push(Reverse(key));
        EventId(order)
    }

    /// Takes back an event that has not happened yet.
    pub fn cancel(&mut self, event: EventId) {
        debug_assert!(!self.cancelled.contains(&event.0), "an event is cancelled once");
        self.cancelled.push(event.0);
        self.pass_over();
    }

    /// Removes cancelled events from the front, so that the earliest is always one that happens.
    #[cold]
    fn pass_over(&mut self) {
        while let Some(Reverse(key)) = self.heap.peek() {
            let order = (*key >> PAYLOAD_BITS) as u64 & ((1 << ORDER_BITS) - 1);
            let Some(found) = self.cancelled.iter().position(|number| *number == order) else {
                return;
            };
            self.cancelled.swap_remove(found);
            self.heap.pop();
        }
    }

    /// When the earliest event happens.
    pub fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|key| (key.0 >> (PAYLOAD_BITS + ORDER_BITS)) as Time)
    }

    /// Removes the earliest event if it happens at or before `to`.
    #[inline]
    pub fn pop_until(&mut self, to: Time) -> Option<(Time, u32)> {
        let at = self.next_at()?;
        if at > to {
            return None;
        }
        let key = self.heap.pop()?.0;
        if !self.cancelled.is_empty() {
            self.pass_over();
        }
        Some((at, (key as u32) & ((1 << PAYLOAD_BITS) - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
