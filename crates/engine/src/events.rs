//! The event queue: the earliest event first, equal times in order of insertion.

mod few;
mod key;
#[cfg(test)]
mod tests;

use crate::Time;
use few::Few;
use key::{ORDER_SHIFT, PAYLOAD_BITS, TIME_SHIFT, is_before, is_same, time_of};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A priority queue of events, which are small numbers with a meaning for the owner.
///
/// Time, insertion number and payload are packed into one integer, so two events compare in one
/// operation and ties keep insertion order. Few events are in a sorted list, where most are
/// appended. With more events, those within the next four milliseconds are in a wheel of short
/// intervals, each sorted: inserting, taking and [cancelling](EventQueue::cancel) an event take
/// constant time. Later events are in a heap, where cancelled events are skipped. Nearly sorted
/// events, such as after a constant delay, are in [lines](EventQueue::push_in_line). A tournament
/// tree over the earliest event of each table yields the first event. An event appended to a line
/// changes nothing in the tree, and an event taken costs three comparisons. The number of an event
/// contains its table, so the tree compares keys only.
#[derive(Debug, Clone)]
pub struct EventQueue {
    /// All events while they are few; the other tables are then empty.
    few: Few,
    are_few: bool,
    /// Last event of each interval, which links to the first; `NONE` if empty.
    wheel: Box<[u16; INTERVALS]>,
    /// Bitmap of nonempty intervals, and bitmap of its nonzero words.
    used: [u64; WORDS],
    used_words: u64,
    /// Events of the wheel, linked in a circle per interval; and the free places.
    keys: Box<[u128; PLACES]>,
    next: Box<[u16; PLACES]>,
    free: u16,
    /// Interval of the last event taken; the wheel holds this interval and the following ones.
    base: u64,
    /// Earliest event of all, of the wheel, and of the heap.
    first: u128,
    soon: u128,
    later: u128,
    /// Tournament tree. The second half holds the earliest event of each line, and of wheel and
    /// heap together; place n holds the earlier of places 2n and 2n + 1.
    tree: [u128; 2 * SOURCES],
    lines: [Line; EventQueue::LINES],
    /// Events of each line in a ring buffer; `NEVER` follows the last.
    in_line: Box<[[u128; IN_LINE]; EventQueue::LINES]>,
    heap: BinaryHeap<Reverse<u128>>,
    /// Cancelled events in the heap; the heap's earliest event is never cancelled.
    cancelled: BinaryHeap<Reverse<u128>>,
    inserted: u64,
    /// `inserted` less the number of waiting events, unless they are few.
    left: u64,
}

/// A line: start and end in its ring, and time of its last event.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    from: u32,
    to: u32,
    last: Time,
}

/// Ring size of a line; one place stays free.
const IN_LINE: usize = 64;

/// The ring place `more` places behind another.
#[inline]
fn behind(place: u32, more: u32) -> u32 {
    place.wrapping_add(more) % IN_LINE as u32
}

/// Number of intervals in the wheel, of 1,024 ns each.
const INTERVALS: usize = 4096;
const INTERVAL_SHIFT: u32 = 10;
const WORDS: usize = INTERVALS / 64;

/// Capacity of the wheel in events; more go to the heap.
const PLACES: usize = 1024;

/// No event.
const NONE: u16 = u16::MAX;
const NEVER: u128 = u128::MAX;

/// Number of sources: the lines, and one for all other events.
const SOURCES: usize = EventQueue::LINES + 1;
const REST: usize = EventQueue::LINES;
const ROUNDS: u32 = 3;

const _: () = assert!(SOURCES == 1 << ROUNDS && SOURCES == 1 << (ORDER_SHIFT - PAYLOAD_BITS));

/// Source number in the key of an event outside all lines: all bits set.
const IN_NONE: u128 = (REST as u128) << PAYLOAD_BITS;

/// At this number of events the queue returns to the short list. It is well below the list's
/// capacity, so that the queue does not switch back and forth.
const FEW_AGAIN: u64 = 8;

/// An event that would follow more than this many of its interval goes to the heap.
const MOST_PASSED: u32 = 24;

impl Default for EventQueue {
    fn default() -> Self {
        let free = |place: usize| if place + 1 < PLACES { place as u16 + 1 } else { NONE };
        EventQueue {
            few: Few::default(),
            are_few: true,
            wheel: Box::new([NONE; INTERVALS]),
            used: [0; WORDS],
            used_words: 0,
            keys: Box::new([0; PLACES]),
            next: Box::new(std::array::from_fn(free)),
            free: 0,
            base: 0,
            first: NEVER,
            soon: NEVER,
            later: NEVER,
            tree: [NEVER; 2 * SOURCES],
            lines: Default::default(),
            in_line: Box::new([[NEVER; IN_LINE]; EventQueue::LINES]),
            heap: BinaryHeap::new(),
            cancelled: BinaryHeap::new(),
            inserted: 0,
            left: 0,
        }
    }
}

/// Handle of a pending event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId(u128);

/// Interval of an event, counted from time 0.
#[inline]
fn interval_of(key: u128) -> u64 {
    time_of(key) >> INTERVAL_SHIFT
}

/// Index of a place; always within the table.
#[inline]
fn at(place: u16) -> usize {
    usize::from(place) % PLACES
}

impl EventQueue {
    /// Number of lines.
    pub const LINES: usize = 7;

    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event at `at`; `payload` must fit 24 bits.
    #[inline]
    pub fn push(&mut self, at: Time, payload: u32) -> EventId {
        let key = self.next_key(at, REST, payload);
        if self.are_few {
            self.insert_few(key);
        } else {
            self.insert(key);
        }
        EventId(key)
    }

    /// Adds an event that is never cancelled and usually follows all events of its line, which
    /// makes it cheaper. An event that does not follow them is queued normally.
    #[expect(
        clippy::inline_always,
        reason = "most events pass here, their line and kind known beforehand"
    )]
    #[inline(always)]
    pub fn push_in_line(&mut self, line: usize, at: Time, payload: u32) {
        let Line { from, to, last } = self.lines[line];
        let next = behind(to, 1);
        if self.are_few || at < last || behind(to, 2) == from {
            return self.push_in_none(at, payload);
        }
        let key = self.next_key(at, line, payload);
        self.lines[line] = Line { from, to: next, last: at };
        let ring = &mut self.in_line[line];
        ring[to as usize % IN_LINE] = key;
        ring[next as usize % IN_LINE] = NEVER;
        if from == to {
            self.play_line(line, key);
        }
    }

    /// Queues an event outside its line.
    #[inline(never)]
    fn push_in_none(&mut self, at: Time, payload: u32) {
        self.push(at, payload);
    }

    #[inline]
    fn next_key(&mut self, at: Time, source: usize, payload: u32) -> u128 {
        debug_assert!(payload < 1 << PAYLOAD_BITS);
        debug_assert!(at < Time::MAX, "nothing happens at the end of time");
        // Insertion numbers wrap after 2^37, more than 10^11 events; ties then only lose their
        // order.
        let low = self.inserted << ORDER_SHIFT | ((source as u64) << PAYLOAD_BITS);
        self.inserted = self.inserted.wrapping_add(1);
        u128::from(at) << TIME_SHIFT | u128::from(low | u64::from(payload))
    }

    /// Updates a source's earliest event, and the tree on the path to the root.
    #[inline]
    fn play(&mut self, source: usize, mut key: u128) {
        let mut place = SOURCES + source % SOURCES;
        self.tree[place] = key;
        for _ in 0..ROUNDS {
            key = key.min(self.tree[place ^ 1]);
            place /= 2;
            self.tree[place] = key;
        }
        self.first = key;
    }

    /// `pop` for a line, not inlined to keep the caller short.
    #[inline(never)]
    fn play_line(&mut self, line: usize, key: u128) {
        self.play(line, key);
    }

    /// Updates the earliest event of wheel and heap.
    #[inline(never)]
    fn play_rest(&mut self) {
        self.play(REST, self.soon.min(self.later));
    }

    #[inline]
    fn insert_few(&mut self, key: u128) {
        if !self.few.push(key) && !self.few.insert(key) {
            return self.become_many(key);
        }
        self.note_first(key);
    }

    /// Updates the earliest event after an insertion.
    #[inline]
    fn note_first(&mut self, key: u128) {
        if is_before(key, self.first) {
            self.first = key;
        }
    }

    /// Moves all events of the full list, and one more, to the wheel.
    #[cold]
    fn become_many(&mut self, key: u128) {
        self.are_few = false;
        self.left = self.inserted.wrapping_sub(self.few.len() as u64 + 1);
        // Leaves room for events before the earliest.
        self.base = interval_of(self.first.min(key)).saturating_sub(INTERVALS as u64 / 4);
        while let Some(key) = self.few.take_first() {
            self.insert(key);
        }
        self.insert(key);
    }

    /// Moves all events back to the short list.
    #[cold]
    fn become_few(&mut self) {
        let first = self.first;
        while self.first != NEVER {
            let key = self.first;
            let of_none = key | IN_NONE;
            let has_room = self.few.push(of_none) || self.few.insert(of_none);
            debug_assert!(has_room);
            self.take(key);
        }
        self.lines = Default::default();
        self.first = first | IN_NONE;
        self.are_few = true;
    }

    #[inline]
    fn insert(&mut self, key: u128) {
        let interval = interval_of(key);
        let node = self.free;
        if interval.wrapping_sub(self.base) >= INTERVALS as u64 || node == NONE {
            return self.insert_late(key);
        }
        let place = interval as usize % INTERVALS;
        let last = self.wheel[place];
        if last == NONE {
            self.free = std::mem::replace(&mut self.next[at(node)], node);
            self.wheel[place] = node;
            self.used[place / 64] |= 1 << (place % 64);
            self.used_words |= 1 << (place / 64);
        } else if !is_before(key, self.keys[at(last)]) {
            let first = std::mem::replace(&mut self.next[at(last)], node);
            self.free = std::mem::replace(&mut self.next[at(node)], first);
            self.wheel[place] = node;
        } else if !self.insert_between(last, node, key) {
            return self.insert_late(key);
        }
        self.keys[at(node)] = key;
        if is_before(key, self.soon) {
            self.soon = key;
            self.play_rest();
        }
    }

    /// Inserts an event before the last of its interval. Returns false if it would follow too many.
    fn insert_between(&mut self, last: u16, node: u16, key: u128) -> bool {
        let mut before = last;
        for _ in 0..MOST_PASSED {
            let next = self.next[at(before)];
            if is_before(key, self.keys[at(next)]) {
                self.free = std::mem::replace(&mut self.next[at(node)], next);
                self.next[at(before)] = node;
                return true;
            }
            before = next;
        }
        false
    }

    #[cold]
    fn insert_late(&mut self, key: u128) {
        if self.used_words == 0 && interval_of(key) < self.base {
            // The empty wheel may start at any interval.
            self.base = interval_of(key);
            return self.insert(key);
        }
        self.heap.push(Reverse(key));
        self.later = self.later.min(key);
        self.play_rest();
    }

    /// Cancels a pending event.
    pub fn cancel(&mut self, event: EventId) {
        let EventId(key) = event;
        if self.are_few {
            let is_there = self.few.remove(key);
            debug_assert!(is_there, "an event is cancelled once, and before it happens");
            self.first = self.few.first().unwrap_or(NEVER);
            return;
        }
        self.left = self.left.wrapping_add(1);
        if self.remove_key(key) {
            if is_same(self.soon, key) {
                self.find_soon();
            }
        } else {
            debug_assert!(key >= self.later, "an event is cancelled once, and before it happens");
            self.cancelled.push(Reverse(key));
            self.find_later();
        }
        self.play_rest();
    }

    /// Removes an event from the wheel. Returns false if it is not there.
    fn remove_key(&mut self, key: u128) -> bool {
        let interval = interval_of(key);
        let place = interval as usize % INTERVALS;
        let last = self.wheel[place];
        if interval.wrapping_sub(self.base) >= INTERVALS as u64 || last == NONE {
            return false;
        }
        let mut before = last;
        loop {
            let node = self.next[at(before)];
            if is_same(self.keys[at(node)], key) {
                self.unlink(place, before, node);
                return true;
            }
            if node == last {
                return false;
            }
            before = node;
        }
    }

    /// Removes an event, given its predecessor in the interval.
    #[inline]
    fn unlink(&mut self, place: usize, before: u16, node: u16) {
        if before == node {
            self.wheel[place] = NONE;
            let word = &mut self.used[place / 64];
            *word &= !(1 << (place % 64));
            self.used_words &= !(u64::from(*word == 0) << (place / 64));
        } else {
            self.next[at(before)] = self.next[at(node)];
            if self.wheel[place] == node {
                self.wheel[place] = before;
            }
        }
        self.next[at(node)] = self.free;
        self.free = node;
    }

    /// Finds the earliest event of the wheel.
    #[inline]
    fn find_soon(&mut self) {
        let place = self.base as usize % INTERVALS;
        let (word, bit) = (place / 64, place % 64);
        let here = self.used[word] >> bit;
        let place = if here != 0 {
            place.wrapping_add(here.trailing_zeros() as usize)
        } else {
            // The following words; then, around the wheel, the preceding ones and the rest of its
            // own.
            let behind = self.used_words & (u64::MAX << 1 << word);
            let words = if behind != 0 { behind } else { self.used_words };
            if words == 0 {
                self.soon = NEVER;
                return;
            }
            let word = words.trailing_zeros() as usize % WORDS;
            word * 64 + self.used[word].trailing_zeros() as usize
        };
        let last = self.wheel[place % INTERVALS];
        self.soon = self.keys[at(self.next[at(last)])];
    }

    /// Finds the earliest event of the heap, dropping cancelled events.
    fn find_later(&mut self) {
        while let Some(Reverse(key)) = self.heap.peek().copied() {
            if self.cancelled.peek() != Some(&Reverse(key)) {
                self.later = key;
                return;
            }
            self.heap.pop();
            self.cancelled.pop();
        }
        self.later = NEVER;
    }

    /// Time of the earliest event.
    #[inline]
    pub fn next_at(&self) -> Option<Time> {
        let at = time_of(self.first);
        (at < Time::MAX).then_some(at)
    }

    /// Removes the earliest event if it happens at or before `to`.
    #[expect(clippy::inline_always, reason = "every event passes here")]
    #[inline(always)]
    pub fn pop_until(&mut self, to: Time) -> Option<(Time, u32)> {
        let key = self.first;
        let at_time = time_of(key);
        if at_time > to || at_time == Time::MAX {
            return None;
        }
        if self.are_few {
            self.first = self.few.pass_first().unwrap_or(NEVER);
        } else if self.take(key) && self.inserted.wrapping_sub(self.left) <= FEW_AGAIN {
            self.become_few();
        }
        Some((at_time, key as u32 & ((1 << PAYLOAD_BITS) - 1)))
    }

    /// Removes the earliest event, which is not in the list. Returns true if the wheel or a line is
    /// empty afterwards, so that the list may suffice again.
    #[expect(clippy::inline_always, reason = "every event passes here")]
    #[inline(always)]
    fn take(&mut self, key: u128) -> bool {
        self.left = self.left.wrapping_add(1);
        let source = (key as u64 >> PAYLOAD_BITS) as usize % SOURCES;
        if source < EventQueue::LINES {
            let from = behind(self.lines[source].from, 1);
            self.lines[source].from = from;
            let next = self.in_line[source][from as usize % IN_LINE];
            self.play(source, next);
            return time_of(next) == Time::MAX;
        }
        let ran_empty = self.take_rest(key);
        self.play_rest();
        ran_empty
    }

    /// Removes an event outside the lines.
    #[inline]
    fn take_rest(&mut self, key: u128) -> bool {
        if !is_same(key, self.soon) {
            self.take_late(key);
            return false;
        }
        self.base = interval_of(key);
        let place = self.base as usize % INTERVALS;
        let last = self.wheel[place];
        self.unlink(place, last, self.next[at(last)]);
        self.find_soon();
        self.used_words == 0
    }

    #[cold]
    fn take_late(&mut self, key: u128) {
        self.base = self.base.max(interval_of(key));
        self.heap.pop();
        self.find_later();
    }
}
