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

/// A priority queue of events, small numbers with a meaning for the owner.
///
/// Time, insertion number and payload are packed in one integer, so that comparing two events is
/// one comparison and ties can only fall in order of insertion. While few events wait, all are in a
/// list in order, where most come last and the first is at hand. With more events, those of the
/// next four milliseconds are in a wheel of short intervals, each of which has its few events in
/// order: to insert one, to take the next and to [cancel](EventQueue::cancel) one cost the same
/// however many there are. All others are in a heap, from which they are taken when their turn
/// comes; there a cancelled one is passed over. Events that arrive nearly in order of time, as
/// after a constant delay, are in a [line](EventQueue::push_in_line). The many fields are these
/// tables, with the earliest event of each, of which a tournament knows the first: an event that
/// comes behind others in its line changes nothing there, and one that leaves is followed by three
/// matches. An event knows in its number where it waits, so that the matches are of keys alone.
#[derive(Debug, Clone)]
pub struct EventQueue {
    /// All events, while they are few; all else is empty then.
    few: Few,
    are_few: bool,
    /// The last event of each interval, which links to the first; or `NONE`.
    wheel: Box<[u16; INTERVALS]>,
    /// Intervals that have events, as bits, and which of these words are not zero.
    used: [u64; WORDS],
    used_words: u64,
    /// The events of the wheel, each with the next of its interval, the last with the first; and the free places.
    keys: Box<[u128; PLACES]>,
    next: Box<[u16; PLACES]>,
    free: u16,
    /// Interval of the event taken last: events in the wheel belong to it and the intervals that
    /// follow.
    base: u64,
    /// The earliest event of all, of the wheel, and of the heap.
    first: u128,
    soon: u128,
    later: u128,
    /// In its second half the earliest of each line, and of the wheel and the heap together; of places 2n and 2n + 1
    /// the earlier is at place n.
    tree: [u128; 2 * SOURCES],
    lines: [Line; EventQueue::LINES],
    /// The events of each line, in a ring; behind the last there is none.
    in_line: Box<[[u128; IN_LINE]; EventQueue::LINES]>,
    heap: BinaryHeap<Reverse<u128>>,
    /// The cancelled ones of the heap, of which the earliest is not one.
    cancelled: BinaryHeap<Reverse<u128>>,
    inserted: u64,
    /// `inserted` less the waiting events, unless they are few.
    left: u64,
}

/// Events in order of time: from where to where they are in their ring, and when the last that came happens.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    from: u32,
    to: u32,
    last: Time,
}

/// Places in the ring of a line, one of them free.
const IN_LINE: usize = 64;

/// The place of a ring behind another, by `more`.
#[inline]
fn behind(place: u32, more: u32) -> u32 {
    place.wrapping_add(more) % IN_LINE as u32
}

/// Intervals of the wheel, of 1,024 ns each.
const INTERVALS: usize = 4096;
const INTERVAL_SHIFT: u32 = 10;
const WORDS: usize = INTERVALS / 64;

/// Capacity in events; more go to the heap.
const PLACES: usize = 1024;

/// No event.
const NONE: u16 = u16::MAX;
const NEVER: u128 = u128::MAX;

/// The lines, and last the source of all other events.
const SOURCES: usize = EventQueue::LINES + 1;
const REST: usize = EventQueue::LINES;
const ROUNDS: u32 = 3;

const _: () = assert!(SOURCES == 1 << ROUNDS && SOURCES == 1 << (ORDER_SHIFT - PAYLOAD_BITS));

/// The number of the source in the key of an event that is in no line: all its bits are set.
const IN_NONE: u128 = (REST as u128) << PAYLOAD_BITS;

/// At most this many events return to the short list. There is a good deal between this and the
/// length of the list, so that events do not go to and fro.
const FEW_AGAIN: u64 = 8;

/// An event that is found to come after more than this many of its interval goes to the heap.
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

/// Handle of an event that has not happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId(u128);

/// The interval of an event, as counted from the beginning of time.
#[inline]
fn interval_of(key: u128) -> u64 {
    time_of(key) >> INTERVAL_SHIFT
}

/// The place of a number in the table of places: all are within it.
#[inline]
fn at(place: u16) -> usize {
    usize::from(place) % PLACES
}

impl EventQueue {
    /// Lines that there are.
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

    /// Key of an event that is not cancelled and follows all events in a line: it then costs less.
    /// One that does not is as good as any other.
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

    /// Inserts an event out of its line's order.
    #[inline(never)]
    fn push_in_none(&mut self, at: Time, payload: u32) {
        self.push(at, payload);
    }

    #[inline]
    fn next_key(&mut self, at: Time, source: usize, payload: u32) -> u128 {
        debug_assert!(payload < 1 << PAYLOAD_BITS);
        debug_assert!(at < Time::MAX, "nothing happens at the end of time");
        // 2^37 insertions wrap after more than 10^11 events; ties then only lose their order.
        let low = self.inserted << ORDER_SHIFT | ((source as u64) << PAYLOAD_BITS);
        self.inserted = self.inserted.wrapping_add(1);
        u128::from(at) << TIME_SHIFT | u128::from(low | u64::from(payload))
    }

    /// Notes the earliest event of a source: the matches on its way to the first of all are played
    /// again.
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

    /// The earliest event of the wheel or of the heap is another one.
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

    /// An event that was inserted last may be the earliest.
    #[inline]
    fn note_first(&mut self, key: u128) {
        if is_before(key, self.first) {
            self.first = key;
        }
    }

    /// The list is full: its events and one more go to the wheel.
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

    /// Returns to the short list: they go to the list.
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

    /// Inserts an event before the last of its interval, unless too many precede it.
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
            // The empty wheel can move.
            self.base = interval_of(key);
            return self.insert(key);
        }
        self.heap.push(Reverse(key));
        self.later = self.later.min(key);
        self.play_rest();
    }

    /// Takes back an event that has not happened yet.
    pub fn cancel(&mut self, event: EventId) {
        let EventId(key) = event;
        if self.are_few {
            let is_there = self.few.remove(key);
            debug_assert!(is_there, "an event is cancelled once, and before it happens");
            self.first = self.few.first().unwrap_or(NEVER);
            return;
        }
        self.left = self.left.wrapping_add(1);
        if self.take_out(key) {
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

    /// Removes an event from the wheel, if it is there.
    fn take_out(&mut self, key: u128) -> bool {
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
            // The following words; then, round the wheel, those before it and the rest of its own.
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

    /// When the earliest event happens.
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

    /// Takes the earliest event, which is not in the list; whether the wheel or a line has run empty, which is when
    /// it is worth a look whether they are few again.
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

    /// `push` for an event without a line.
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
