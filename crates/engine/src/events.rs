//! The event queue: the earliest event first, equal times in order of insertion.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A priority queue of events, each a small number that its owner knows how to read.
///
/// Time, insertion number and payload are packed in one integer, so that comparing two events is
/// one comparison and ties can only fall in order of insertion. The earliest events are in a short list in
/// order, all others in a heap: most of what is asked for comes after everything that is asked for
/// already or before nearly all of it, and then costs hardly more than to write it down. An event that is
/// [cancelled](EventQueue::cancel) is found by a binary search and marked, and passed over later.
#[derive(Debug, Clone)]
pub struct EventQueue {
    /// The list: events in order from `first` to `end`, with room on both sides; none only when there are
    /// no events at all. The earliest is never a cancelled one.
    list: Box<[u128; ROOM]>,
    first: usize,
    end: usize,
    /// Cancelled events in the list.
    marked: usize,
    /// Those that come after all in the list.
    heap: BinaryHeap<Reverse<u128>>,
    /// The cancelled ones of the heap.
    cancelled: BinaryHeap<Reverse<u128>>,
    inserted: u64,
}

/// Maximum number of events in the list. Inserting an event in its middle moves half of them.
const MOST: usize = 64;

/// Places for them: the list wanders towards the end, and is brought back to the middle.
const ROOM: usize = 2 * MOST;

/// Events that the list takes from the heap when it is empty; the rest of it is left for others.
const REFILL: usize = MOST / 2;

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue {
            list: Box::new([0; ROOM]),
            first: 0,
            end: 0,
            marked: 0,
            heap: BinaryHeap::new(),
            cancelled: BinaryHeap::new(),
            inserted: 0,
        }
    }
}

/// One event of a queue, for as long as it has not happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId(u128);

/// From the highest bit: when, the insertion number, the payload, and whether it is cancelled.
const PAYLOAD_BITS: u32 = 24;
const ORDER_BITS: u32 = 39;
const TIME_SHIFT: u32 = 1 + PAYLOAD_BITS + ORDER_BITS;
const CANCELLED: u128 = 1;

impl EventQueue {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event at `at`; `payload` must fit 24 bits.
    #[inline]
    pub fn push(&mut self, at: Time, payload: u32) -> EventId {
        debug_assert!(payload < 1 << PAYLOAD_BITS);
        // 2^39 insertions wrap after more than 5 x 10^11 events; ties then only lose their order.
        let order = self.inserted & ((1 << ORDER_BITS) - 1);
        self.inserted += 1;
        let key = (u128::from(at) << TIME_SHIFT)
            | (u128::from(order) << (1 + PAYLOAD_BITS))
            | (u128::from(payload) << 1);
        self.insert(key);
        EventId(key)
    }

    /// Takes back an event that has not happened yet.
    pub fn cancel(&mut self, event: EventId) {
        let EventId(key) = event;
        let soon = &mut self.list[self.first..self.end];
        let place = soon.partition_point(|it| *it < key);
        let Some(found) = soon.get_mut(place) else {
            debug_assert!(
                self.heap.iter().any(|it| it.0 == key)
                    && self.cancelled.iter().all(|it| it.0 != key),
                "an event is cancelled once, and before it happens"
            );
            self.cancelled.push(Reverse(key));
            return;
        };
        debug_assert!(*found == key, "an event is cancelled once, and before it happens");
        *found |= CANCELLED;
        self.marked += 1;
        self.pass_over();
    }

    #[inline]
    fn insert(&mut self, key: u128) {
        if self.first == 0 || self.end == ROOM {
            self.centre();
        }
        let soon = &self.list[self.first..self.end];
        let Some(last) = soon.last().filter(|last| key < **last) else {
            // Behind the list; in it only if nothing is in the heap, where it would have to be compared.
            if soon.len() == MOST || !self.heap.is_empty() {
                self.heap.push(Reverse(key));
            } else {
                self.list[self.end] = key;
                self.end += 1;
            }
            return;
        };
        if soon.len() == MOST {
            let last = *last;
            self.spill(last);
        }
        let soon = &self.list[self.first..self.end];
        // The shorter half makes room.
        let place = if key < soon[soon.len() / 2] {
            let before = soon.iter().take_while(|it| **it < key).count();
            self.list.copy_within(self.first..self.first + before, self.first - 1);
            self.first -= 1;
            self.first + before
        } else {
            let behind = soon.iter().rev().take_while(|it| **it > key).count();
            let place = self.end - behind;
            self.list.copy_within(place..self.end, place + 1);
            self.end += 1;
            place
        };
        self.list[place] = key;
    }

    /// Makes room on both sides of the list.
    #[cold]
    fn centre(&mut self) {
        let count = self.end - self.first;
        let first = (ROOM - count) / 2;
        self.list.copy_within(self.first..self.end, first);
        (self.first, self.end) = (first, first + count);
    }

    /// The last event of a full list goes to the heap.
    fn spill(&mut self, last: u128) {
        if last & CANCELLED == 0 {
            self.heap.push(Reverse(last));
        } else {
            self.marked -= 1;
        }
        self.end -= 1;
    }

    /// Removes the earliest event; there is one.
    #[inline]
    fn take_first(&mut self) {
        self.first += 1;
        if self.first == self.end && !self.heap.is_empty() {
            self.refill();
        }
    }

    #[cold]
    fn refill(&mut self) {
        (self.first, self.end) = (MOST / 2, MOST / 2);
        while self.end - self.first < REFILL
            && let Some(Reverse(key)) = self.heap.pop()
        {
            if self.cancelled.peek() == Some(&Reverse(key)) {
                self.cancelled.pop();
                continue;
            }
            self.list[self.end] = key;
            self.end += 1;
        }
    }

    /// Removes cancelled events from the front, so that the earliest is always one that happens.
    #[inline]
    fn pass_over(&mut self) {
        while self.marked > 0 && self.list[self.first] & CANCELLED != 0 {
            self.marked -= 1;
            self.take_first();
        }
    }

    /// When the earliest event happens.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        (self.first < self.end).then(|| (self.list[self.first] >> TIME_SHIFT) as Time)
    }

    /// Removes the earliest event if it happens at or before `to`.
    #[inline]
    pub fn pop_until(&mut self, to: Time) -> Option<(Time, u32)> {
        let at = self.next_at().filter(|at| *at <= to)?;
        let key = self.list[self.first];
        self.take_first();
        self.pass_over();
        Some((at, (key as u32 >> 1) & ((1 << PAYLOAD_BITS) - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use std::collections::BTreeMap;

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
        assert_eq!((queue.marked, queue.cancelled.len()), (0, 0));
    }

    /// Against a sorted map: few events and many, near ones and far ones, cancelled ones.
    #[test]
    fn whatever_is_asked_for_leaves_in_order() {
        let mut random = crate::Xoshiro256::new(3, 5);
        let list = MOST as u64;
        for most in [1, 3, list - 1, list, list + 1, 3 * list, 500] {
            for cancelled in [0, 20, 3] {
                let mut queue = EventQueue::new();
                let mut wanted = BTreeMap::new();
                let mut now = 0;
                for number in 0..20_000 {
                    if (wanted.len() as u64) < 1 + random.below(most) {
                        let span = [40, 40, 40, 1000, 1][random.below(5) as usize];
                        let at = now + random.below(span);
                        let payload = random.below(1 << PAYLOAD_BITS) as u32;
                        wanted.insert((at, number), (payload, queue.push(at, payload)));
                    } else if cancelled > 0 && random.below(cancelled) == 0 {
                        let which = random.below(wanted.len() as u64) as usize;
                        let key = *wanted.keys().nth(which).unwrap();
                        let (_, event) = wanted.remove(&key).unwrap();
                        queue.cancel(event);
                    } else {
                        let ((at, _), (payload, _)) = wanted.pop_first().unwrap();
                        let before = at.checked_sub(1).and_then(|before| queue.pop_until(before));
                        assert_eq!((before, queue.pop_until(at)), (None, Some((at, payload))));
                        now = at;
                    }
                    let next = wanted.first_key_value().map(|((at, _), _)| *at);
                    assert_eq!(queue.next_at(), next);
                }
                let left: Vec<_> = std::iter::from_fn(|| queue.pop_until(Time::MAX)).collect();
                let wanted = wanted.into_iter().map(|((at, _), (payload, _))| (at, payload));
                assert_eq!(left, wanted.collect::<Vec<_>>());
                assert_eq!((queue.marked, queue.cancelled.len()), (0, 0));
            }
        }
    }
}
