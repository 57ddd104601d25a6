//! Spreads requests that share a time, because of the trace's coarse clock, over the clock's tick.
//!
//! The first of n requests in a tick stays; each next one follows a further nth of a tick later.

use engine::Time;
use std::collections::VecDeque;

/// Maximum number of requests in a tick: about 30 MB.
const CAPACITY: usize = 1 << 20;

/// A buffer of the requests of one tick.
pub(crate) struct TickSpread<T> {
    tick_ns: Time,
    tick: Time,
    waiting: VecDeque<T>,
    ready: VecDeque<T>,
    ready_at: Time,
    ready_count: u64,
    moved: u64,
}

impl<T> TickSpread<T> {
    /// Requests in a tick that can be spread.
    pub(crate) const CAPACITY: usize = CAPACITY;

    /// An empty buffer for a clock with tick `tick_ns`.
    pub(crate) fn new(tick_ns: Time) -> Self {
        TickSpread {
            tick_ns,
            tick: 0,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            ready_at: 0,
            ready_count: 0,
            moved: 0,
        }
    }

    /// Number of moved requests.
    pub(crate) fn moved(&self) -> u64 {
        self.moved
    }

    /// Adds the next request, in time order; `false` if there are too many in its tick.
    pub(crate) fn push(&mut self, at: Time, item: T) -> bool {
        if at != self.tick {
            self.settle();
            self.tick = at;
        }
        self.waiting.push_back(item);
        self.waiting.len() < CAPACITY
    }

    /// Ends the tick: all its requests are known.
    pub(crate) fn settle(&mut self) {
        if self.ready.is_empty() {
            std::mem::swap(&mut self.ready, &mut self.waiting);
            self.ready_at = self.tick;
            self.ready_count = self.ready.len() as u64;
        }
    }

    /// Discards pending requests.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.ready.clear();
    }

    /// Next request of a completed tick, with its time.
    pub(crate) fn pop(&mut self) -> Option<(Time, T)> {
        let item = self.ready.pop_front()?;
        let index = self.ready_count - self.ready.len() as u64 - 1;
        self.moved += u64::from(index > 0);
        let share = u128::from(self.tick_ns) * u128::from(index) / u128::from(self.ready_count);
        Some((self.ready_at.saturating_add(share as Time), item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_one_tick_are_spread_evenly_over_it() {
        let mut spread = TickSpread::new(100);
        let mut left = Vec::new();
        for (index, at) in [0, 100, 100, 100, 100, 300].into_iter().enumerate() {
            assert!(spread.push(at, index));
            left.extend(std::iter::from_fn(|| spread.pop()));
        }
        spread.settle();
        left.extend(std::iter::from_fn(|| spread.pop()));
        assert_eq!(left, [(0, 0), (100, 1), (125, 2), (150, 3), (175, 4), (300, 5)]);
        assert_eq!(spread.moved(), 3);
    }
}
