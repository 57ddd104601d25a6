//! Segments of a buffer: their content, replacement order, and lookup by sector.
//!
//! A disk has many segments and queries them after every request. They are therefore indexed by the
//! [cell](super::cells) of their first sector, and clean ones also by last use.

use super::cells::Cells;
use std::collections::VecDeque;

/// Consecutive sectors in the buffer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Segment {
    start: u64,
    end: u64,
    /// Last use, as a sequence number.
    used: u64,
    /// True for data not yet on the media.
    is_dirty: bool,
}

/// Buffered part of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The whole range, in this segment.
    All(usize),
    /// The start of the range, in this segment.
    Some(usize),
    /// No data.
    Nothing,
}

/// Segments of a buffer.
#[derive(Debug, Clone)]
pub struct Segments {
    all: Vec<Segment>,
    /// Maximum sectors per segment.
    size: u64,
    uses: u64,
    /// Index of the segments with data.
    cells: Cells,
    /// Clean segments with data: last use and number.
    by_use: VecDeque<(u64, u32)>,
    /// Number of clean segments without data.
    empty: usize,
    /// Ranges of sectors whose buffering has changed.
    changes: Vec<(u64, u64)>,
}

impl Segments {
    /// Empty segments.
    pub fn new(count: u32, size: u64) -> Segments {
        Segments {
            all: memory::filled(Segment::default(), count as usize),
            size,
            uses: 0,
            cells: Cells::new(count, size),
            by_use: (0..count).map(|number| (0, number)).collect(),
            empty: count as usize,
            changes: Vec::new(),
        }
    }

    /// Maximum sectors per segment.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// First and end sector of a segment.
    #[inline]
    pub fn range(&self, number: usize) -> (u64, u64) {
        let Segment { start, end, .. } = self.all[number];
        (start, end)
    }

    /// True if a segment holds data not yet on the media.
    #[inline]
    pub fn is_dirty(&self, number: usize) -> bool {
        self.all[number].is_dirty
    }

    /// Number of segments with data not yet on the media.
    pub fn dirty(&self) -> usize {
        self.all.iter().filter(|segment| segment.is_dirty).count()
    }

    /// Largest buffered prefix of a range; the first segment among equals.
    #[inline]
    pub fn find(&self, start: u64, end: u64) -> Found {
        let (mut all, mut some) = (u32::MAX, u32::MAX);
        // Earlier segments end before the range, and no segment is longer than a cell.
        let first = (start + 1).saturating_sub(self.size);
        let chains = self.cells.chains(first, start).expect("it is in two cells at most");
        for number in chains.flat_map(|chain| self.cells.of(chain)) {
            let segment = &self.all[number];
            if segment.start > start {
                continue;
            }
            if end <= segment.end {
                all = all.min(number as u32);
            } else if start < segment.end && !segment.is_dirty {
                // Segments with data to write must not be extended.
                some = some.min(number as u32);
            }
        }
        match (all, some) {
            (u32::MAX, u32::MAX) => Found::Nothing,
            (u32::MAX, number) => Found::Some(number as usize),
            (number, _) => Found::All(number as usize),
        }
    }

    /// Marks a segment as most recently used.
    pub fn touch(&mut self, number: usize) {
        self.uses += 1;
        if !self.all[number].is_dirty {
            self.leave_uses(number);
            self.by_use.push_back((self.uses, number as u32));
        }
        self.all[number].used = self.uses;
    }

    fn leave_uses(&mut self, number: usize) {
        let key = (self.all[number].used, number as u32);
        if self.by_use.front() == Some(&key) {
            self.by_use.pop_front();
            return;
        }
        let place = self.by_use.binary_search(&key).expect("it is clean");
        self.by_use.remove(place);
    }

    /// Marks a segment's data as not yet on the media, or as written.
    pub fn set_dirty(&mut self, number: usize, is_dirty: bool) {
        if self.all[number].is_dirty == is_dirty {
            return;
        }
        let is_empty = usize::from(self.is_empty(number));
        if is_dirty {
            self.leave_uses(number);
            self.empty -= is_empty;
        } else {
            let key = (self.all[number].used, number as u32);
            let place = self.by_use.partition_point(|other| *other < key);
            self.by_use.insert(place, key);
            self.empty += is_empty;
        }
        self.all[number].is_dirty = is_dirty;
    }

    /// Segment to reuse next: an empty one, else the least recently used one except `last`, else
    /// `last`. `None` if all hold data not yet on the media.
    pub fn next(&self, last: Option<usize>) -> Option<usize> {
        let mut clean = self.by_use.iter().map(|(_, number)| *number as usize);
        let found = if self.empty > 0 {
            clean.find(|number| self.is_empty(*number))
        } else {
            clean.find(|number| Some(*number) != last)
        };
        found.or_else(|| last.filter(|number| !self.is_dirty(*number)))
    }

    /// Clears the clean segments that overlap a range; `tell` gets each of them.
    pub fn forget(&mut self, start: u64, end: u64, mut tell: impl FnMut(usize)) {
        if start >= end {
            return;
        }
        let from = (start + 1).saturating_sub(self.size);
        let Some(chains) = self.cells.chains(from, end - 1) else {
            for number in 0..self.all.len() {
                self.forget_one(number, (start, end), &mut tell);
            }
            return;
        };
        for chain in chains {
            let mut next = self.cells.first_of(chain);
            while let Some(number) = next {
                // The call may remove the segment from the chain.
                next = self.cells.behind(number);
                self.forget_one(number, (start, end), &mut tell);
            }
        }
    }

    fn forget_one(
        &mut self,
        number: usize,
        (start, end): (u64, u64),
        tell: &mut impl FnMut(usize),
    ) {
        let segment = self.all[number];
        if !segment.is_dirty && segment.start.max(start) < segment.end.min(end) {
            self.set(number, segment.start, segment.start);
            tell(number);
        }
    }

    fn is_empty(&self, number: usize) -> bool {
        let (start, end) = self.range(number);
        start == end
    }

    /// Sets the sectors of a segment.
    pub fn set(&mut self, number: usize, start: u64, end: u64) {
        debug_assert!(start <= end && end - start <= self.size, "a segment holds no more sectors");
        let before = self.all[number];
        let (was_empty, is_empty) = (before.start == before.end, start == end);
        if (before.start, before.end) == (start, end) {
            return;
        }
        if !before.is_dirty {
            self.empty = self.empty + usize::from(is_empty) - usize::from(was_empty);
        }
        self.reorder((!was_empty).then_some(before.start), (!is_empty).then_some(start), number);
        (self.all[number].start, self.all[number].end) = (start, end);
        if was_empty || is_empty || start >= before.end || before.start >= end {
            self.note(before.start, before.end);
            self.note(start, end);
        } else {
            self.note(start.min(before.start), end.max(before.end));
        }
    }

    /// Indexes a segment by its first sector.
    #[inline]
    fn reorder(&mut self, before: Option<u64>, after: Option<u64>, number: usize) {
        match (before, after) {
            // Usually both are in the same cell.
            (Some(before), Some(after)) if self.cells.are_alike(before, after) => return,
            _ => {}
        }
        if let Some(before) = before {
            self.cells.remove(number, before);
        }
        if let Some(after) = after {
            self.cells.add(number, after);
        }
    }

    /// Notes a change of buffering at a segment and at its end.
    pub fn note_at(&mut self, number: usize) {
        let (start, end) = self.range(number);
        self.note(start, end);
    }

    fn note(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        if let Some(last) = self.changes.last_mut()
            && start <= last.1
            && last.0 <= end
        {
            *last = (start.min(last.0), end.max(last.1));
        } else {
            self.changes.push((start, end));
        }
    }

    /// Next range of sectors whose buffering has changed since the last call.
    pub fn next_change(&mut self) -> Option<(u64, u64)> {
        self.changes.pop()
    }

    /// Clears the record of changes.
    pub fn forget_changes(&mut self) {
        self.changes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Random as _, Xoshiro256};

    /// `find` by a linear search.
    #[derive(Default)]
    struct Plain {
        all: Vec<Segment>,
        uses: u64,
    }

    impl Plain {
        fn find(&self, start: u64, end: u64) -> Found {
            let mut found = Found::Nothing;
            for (number, segment) in self.all.iter().enumerate() {
                if segment.start <= start && start < segment.end {
                    if end <= segment.end {
                        return Found::All(number);
                    }
                    if found == Found::Nothing && !segment.is_dirty {
                        found = Found::Some(number);
                    }
                }
            }
            found
        }

        fn take(&mut self, sector: u64, last: Option<usize>) -> Option<usize> {
            let clean = self.all.iter().enumerate().filter(|it| !it.1.is_dirty);
            let key = |number: usize, segment: &Segment| {
                (segment.start < segment.end, last == Some(number), segment.used)
            };
            let (number, _) = clean.min_by_key(|it| key(it.0, it.1))?;
            self.uses += 1;
            self.all[number] =
                Segment { start: sector, end: sector, used: self.uses, is_dirty: false };
            Some(number)
        }
    }

    #[test]
    fn segments_in_order_agree_with_a_search_through_all_of_them() {
        for seed in 0..40 {
            let mut random = Xoshiro256::new(seed, 0);
            let count = 1 + random.below(7);
            let mut segments = Segments::new(count as u32, 10);
            let mut plain =
                Plain { all: vec![Segment::default(); count as usize], ..Plain::default() };
            for _ in 0..2_000 {
                let number = random.below(count) as usize;
                let (start, length) = (random.below(50), 1 + random.below(10));
                let last = (!segments.is_dirty(number) && !segments.is_empty(number))
                    .then_some(number)
                    .filter(|_| random.below(2) == 0);
                match random.below(6) {
                    0 => {
                        let taken = segments.next(last);
                        assert_eq!(taken, plain.take(start, last));
                        if let Some(number) = taken {
                            segments.set(number, start, start);
                            segments.touch(number);
                        }
                    }
                    1 => {
                        segments.touch(number);
                        plain.uses += 1;
                        plain.all[number].used = plain.uses;
                    }
                    2 => {
                        let is_dirty = random.below(3) > 0;
                        segments.set_dirty(number, is_dirty);
                        plain.all[number].is_dirty = is_dirty;
                    }
                    3 => {
                        let mut told = Vec::new();
                        segments.forget(start, start + length, |number| told.push(number));
                        for (number, segment) in plain.all.iter_mut().enumerate() {
                            let overlaps = segment.start < start + length && start < segment.end;
                            if !segment.is_dirty && overlaps && segment.start < segment.end {
                                segment.end = segment.start;
                                assert!(told.contains(&number));
                            }
                        }
                    }
                    _ => {
                        segments.set(number, start, start + length);
                        (plain.all[number].start, plain.all[number].end) = (start, start + length);
                    }
                }
                let found = plain.find(start, start + 3);
                assert_eq!(segments.find(start, start + 3), found);
                let dirty = plain.all.iter().filter(|it| it.is_dirty).count();
                assert_eq!(segments.dirty(), dirty);
            }
        }
    }

    #[test]
    fn what_changes_is_told_once() {
        let mut segments = Segments::new(2, 10);
        segments.set(0, 5, 9);
        segments.set(0, 7, 12);
        segments.set(0, 30, 31);
        let told: Vec<_> = std::iter::from_fn(|| segments.next_change()).collect();
        // Overlapping ranges are joined.
        assert_eq!(told, [(30, 31), (5, 12)]);
    }
}
