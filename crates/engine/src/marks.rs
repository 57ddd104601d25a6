//! Ranges that a host has marked as unreadable (Write Uncorrectable), until they are rewritten or
//! deallocated.

use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum number of ranges, because each takes memory.
const MOST_MARKS: usize = 1 << 14;

/// Disjoint ranges: start and end.
#[derive(Debug, Default)]
pub struct Marks(BTreeMap<u64, u64>);

impl Marks {
    /// True if no range is marked.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if part of a range is marked.
    pub fn meet(&self, range: &Range<u64>) -> bool {
        self.0.range(..range.end).next_back().is_some_and(|(_, end)| *end > range.start)
    }

    /// Marks a range. Returns false if there are too many ranges.
    pub fn add(&mut self, range: Range<u64>) -> bool {
        self.remove(&range);
        if self.0.len() >= MOST_MARKS || range.is_empty() {
            return range.is_empty();
        }
        self.0.insert(range.start, range.end);
        true
    }

    /// Unmarks a range.
    pub fn remove(&mut self, range: &Range<u64>) {
        while let Some((&start, &end)) = self.0.range(..range.end).next_back() {
            if end <= range.start {
                return;
            }
            self.0.remove(&start);
            if start < range.start {
                self.0.insert(start, range.start);
            }
            if range.end < end {
                self.0.insert(range.end, end);
            }
            if start < range.start {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_are_as_a_set_of_places(steps in prop::collection::vec((0..3u8, 0..64u64, 0..20u64), 1..60)) {
            let (mut marks, mut bytes) = (Marks::default(), [false; 96]);
            for (what, start, length) in steps {
                let range = start..start + length;
                let places = start as usize..(start + length) as usize;
                match what {
                    0 => {
                        prop_assert!(marks.add(range));
                        bytes[places].fill(true);
                    }
                    1 => {
                        marks.remove(&range);
                        bytes[places].fill(false);
                    }
                    _ => {}
                }
                for at in 0..96 {
                    prop_assert_eq!(marks.meet(&(at..at + 1)), bytes[at as usize], "{}", at);
                }
            }
        }
    }

    #[test]
    fn there_are_not_too_many() {
        let mut marks = Marks::default();
        for number in 0..MOST_MARKS as u64 {
            assert!(marks.add(2 * number..2 * number + 1));
        }
        assert!(!marks.add(1 << 40..(1 << 40) + 1) && marks.add(0..1));
    }
}
