//! Sorts nearly sorted arrivals by time.
//!
//! An item is released once no later item can precede it; equal times keep their order. Memory is
//! bounded: an item that steps back further than the window, or than the full buffer has released,
//! is refused.

use engine::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// Maximum number of buffered items: enough for the window of a busy trace, and a few MB.
const CAPACITY: usize = 1 << 16;

/// A buffer of items that step back in time by at most a window.
pub(crate) struct Reorder<T> {
    window_ns: Time,
    /// Items in order: each no earlier than its predecessor.
    ordered: VecDeque<Held<T>>,
    /// The other items, few in a nearly ordered trace.
    others: BinaryHeap<Reverse<Held<T>>>,
    /// Newest time from which the earliest item may be released, if the buffer is not empty.
    due: Option<Time>,
    pushed: u64,
    previous: Time,
    newest: Time,
    released: Time,
    backward_steps: u64,
}

/// Errors when sorting an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    /// The item precedes the newest time by more than the window.
    BeyondWindow {
        /// The newest time seen, ns.
        newest: Time,
    },
    /// The item is within the window, but the full buffer has released later items.
    BeyondBuffer {
        /// Time of the last released item, ns.
        released: Time,
        /// Capacity of the buffer, items.
        capacity: usize,
    },
}

struct Held<T> {
    at: Time,
    number: u64,
    item: T,
}

impl<T> Held<T> {
    fn key(&self) -> (Time, u64) {
        (self.at, self.number)
    }
}

impl<T> Ord for Held<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Held<T> {}

impl<T> Reorder<T> {
    /// An empty buffer that allows steps back of up to `window_ns`.
    pub(crate) fn new(window_ns: Time) -> Self {
        Reorder {
            window_ns,
            ordered: VecDeque::new(),
            others: BinaryHeap::new(),
            due: None,
            pushed: 0,
            previous: 0,
            newest: 0,
            released: 0,
            backward_steps: 0,
        }
    }

    /// Number of items earlier than their predecessor.
    pub(crate) fn backward_steps(&self) -> u64 {
        self.backward_steps
    }

    /// Adds the next item.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, item: T) -> Result<(), Late> {
        if self.newest.saturating_sub(at) > self.window_ns {
            return Err(Late::BeyondWindow { newest: self.newest });
        }
        if at < self.released {
            return Err(Late::BeyondBuffer { released: self.released, capacity: CAPACITY });
        }
        self.backward_steps += u64::from(at < self.previous);
        self.previous = at;
        self.newest = self.newest.max(at);
        let held = Held { at, number: self.pushed, item };
        self.pushed += 1;
        if self.ordered.back().is_some_and(|last| at < last.at) {
            self.others.push(Reverse(held));
            self.find_due();
        } else {
            self.ordered.push_back(held);
            let is_full = self.ordered.len() + self.others.len() >= CAPACITY;
            if self.ordered.len() == 1 || is_full {
                self.find_due();
            }
        }
        Ok(())
    }

    /// Returns the earliest item if no later one can precede it; with `ended`, no items follow.
    #[inline]
    pub(crate) fn pop(&mut self, ended: bool) -> Option<(Time, T)> {
        let is_settled = self.due.is_some_and(|due| self.newest >= due);
        if is_settled || ended { self.take() } else { None }
    }

    /// Removes the earliest item.
    fn take(&mut self) -> Option<(Time, T)> {
        let held = if self.is_next_out_of_order() {
            self.others.pop()?.0
        } else {
            self.ordered.pop_front()?
        };
        self.released = held.at;
        self.find_due();
        Some((held.at, held.item))
    }

    fn is_next_out_of_order(&self) -> bool {
        let Some(Reverse(other)) = self.others.peek() else { return false };
        self.ordered.front().is_none_or(|first| other.key() < first.key())
    }

    /// Determines when the earliest item may be released.
    #[inline]
    fn find_due(&mut self) {
        let mut earliest = self.ordered.front().map(|first| first.at);
        if let Some(Reverse(other)) = self.others.peek() {
            earliest = Some(earliest.map_or(other.at, |first| first.min(other.at)));
        }
        let is_full = self.ordered.len() + self.others.len() >= CAPACITY;
        let due = earliest.and_then(|at| at.checked_add(self.window_ns));
        self.due = if is_full { Some(0) } else { due };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ordered(window_ns: Time, times: &[Time]) -> Result<Vec<(Time, usize)>, Late> {
        let mut reorder = Reorder::new(window_ns);
        let mut left = Vec::new();
        for (index, &at) in times.iter().enumerate() {
            reorder.push(at, index)?;
            left.extend(std::iter::from_fn(|| reorder.pop(false)));
        }
        left.extend(std::iter::from_fn(|| reorder.pop(true)));
        Ok(left)
    }

    #[test]
    fn requests_are_reordered_exactly_within_the_window() {
        assert_eq!(ordered(3, &[10, 7, 10]), Ok(vec![(7, 1), (10, 0), (10, 2)]));
        assert_eq!(ordered(2, &[10, 7]), Err(Late::BeyondWindow { newest: 10 }));
        assert_eq!(ordered(0, &[5, 5, 6]), Ok(vec![(5, 0), (5, 1), (6, 2)]));
    }

    #[test]
    fn no_request_is_held_longer_than_the_window() {
        let mut reorder = Reorder::new(5);
        for at in [10, 14] {
            reorder.push(at, ()).unwrap();
            assert_eq!(reorder.pop(false), None);
        }
        reorder.push(15, ()).unwrap();
        assert_eq!(reorder.pop(false), Some((10, ())));
        assert_eq!(reorder.pop(false), None);
        assert_eq!(reorder.backward_steps(), 0);
    }

    #[test]
    fn the_buffer_is_bounded() {
        let mut reorder = Reorder::new(1000);
        for _ in 0..CAPACITY {
            assert_eq!(reorder.pop(false), None);
            reorder.push(7, ()).unwrap();
        }
        assert_eq!(reorder.pop(false), Some((7, ())));
        assert_eq!(
            reorder.push(6, ()),
            Err(Late::BeyondBuffer { released: 7, capacity: CAPACITY })
        );
    }

    proptest! {
        #[test]
        fn within_the_window_order_is_by_time_then_number(
            gaps in proptest::collection::vec((0..20_u64, 0..=50_u64), 0..200),
        ) {
            let mut newest = 0;
            let times: Vec<Time> = gaps
                .iter()
                .map(|(gap, back)| {
                    let at = (newest + gap).saturating_sub(*back);
                    newest = newest.max(at);
                    at
                })
                .collect();
            let mut expected: Vec<_> = times.iter().enumerate().map(|(i, t)| (*t, i)).collect();
            expected.sort_unstable();
            prop_assert_eq!(ordered(50, &times), Ok(expected));
        }
    }
}
