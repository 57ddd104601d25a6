//! Sets of small numbers as bits in three levels, so that the first, last or next member is found
//! in a few instructions whatever the size.

use engine::{Random, Xoshiro256};

const WORD: u32 = 64;

/// Several sets over the same numbers 0..`universe`.
///
/// One bit per number and set, plus 1/64 of that for each of two levels of summary. The words of the third
/// level are looked through in turn: up to 262,144 numbers there is one a set.
#[derive(Debug, Clone, Default)]
pub struct Sets {
    universe: u32,
    /// Words of one set at each level.
    width: [usize; 3],
    bits: Vec<u64>,
    /// Bit w of a set's summary: word w of its bits is not zero.
    summary: Vec<u64>,
    /// Which words of its summary are not zero.
    top: Vec<u64>,
}

impl Sets {
    /// `sets` empty sets.
    pub fn new(sets: usize, universe: u32) -> Self {
        let words = universe.div_ceil(WORD) as usize;
        let groups = words.div_ceil(WORD as usize);
        let width = [words, groups, groups.div_ceil(WORD as usize)];
        Sets {
            universe,
            width,
            bits: vec![0; sets * width[0]],
            summary: vec![0; sets * width[1]],
            top: vec![0; sets * width[2]],
        }
    }

    /// Takes some of the sets as another list of as many has them.
    pub fn take_part(&mut self, other: &Sets, sets: std::ops::Range<usize>) {
        let words = |width: usize| sets.start * width..sets.end * width;
        let [bits, summary, top] = self.width.map(words);
        self.bits[bits.clone()].copy_from_slice(&other.bits[bits]);
        self.summary[summary.clone()].copy_from_slice(&other.summary[summary]);
        self.top[top.clone()].copy_from_slice(&other.top[top]);
    }

    /// Adds a number to a set.
    #[inline]
    pub fn insert(&mut self, set: usize, number: u32) {
        let (word, bit) = ((number / WORD) as usize, number % WORD);
        self.bits[set * self.width[0] + word] |= 1 << bit;
        self.summary[set * self.width[1] + word / 64] |= 1 << (word % 64);
        self.top[set * self.width[2] + word / 4096] |= 1 << (word / 64 % 64);
    }

    /// Takes a number out of a set.
    #[inline]
    pub fn remove(&mut self, set: usize, number: u32) {
        let (word, bit) = ((number / WORD) as usize, number % WORD);
        let bits = &mut self.bits[set * self.width[0] + word];
        *bits &= !(1 << bit);
        if *bits == 0 {
            let summary = &mut self.summary[set * self.width[1] + word / 64];
            *summary &= !(1 << (word % 64));
            if *summary == 0 {
                self.top[set * self.width[2] + word / 4096] &= !(1 << (word / 64 % 64));
            }
        }
    }

    /// Whether a number is in a set.
    pub fn contains(&self, set: usize, number: u32) -> bool {
        self.bits[set * self.width[0] + (number / WORD) as usize] >> (number % WORD) & 1 == 1
    }

    #[inline]
    fn tops(&self, set: usize) -> &[u64] {
        &self.top[set * self.width[2]..(set + 1) * self.width[2]]
    }

    /// Whether a set has no members.
    #[inline]
    pub fn is_empty(&self, set: usize) -> bool {
        self.tops(set).iter().all(|top| *top == 0)
    }

    /// The smallest member.
    pub fn first(&self, set: usize) -> Option<u32> {
        let place = self.tops(set).iter().position(|top| *top != 0)?;
        let group = place * 64 + self.tops(set)[place].trailing_zeros() as usize;
        let summary = self.summary[set * self.width[1] + group];
        let word = group * 64 + summary.trailing_zeros() as usize;
        let bits = self.bits[set * self.width[0] + word];
        Some(word as u32 * WORD + bits.trailing_zeros())
    }

    /// The largest member.
    pub fn last(&self, set: usize) -> Option<u32> {
        let place = self.tops(set).iter().rposition(|top| *top != 0)?;
        let group = place * 64 + 63 - self.tops(set)[place].leading_zeros() as usize;
        let summary = self.summary[set * self.width[1] + group];
        let word = group * 64 + 63 - summary.leading_zeros() as usize;
        let bits = self.bits[set * self.width[0] + word];
        Some(word as u32 * WORD + 63 - bits.leading_zeros())
    }

    /// The members, smallest first.
    pub fn iter(&self, set: usize) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.first(set), move |number| self.next(set, number + 1))
    }

    /// A member drawn uniformly, or nearly so where members are few.
    pub fn draw(&self, set: usize, random: &mut Xoshiro256) -> Option<u32> {
        // With a share of 1/16 of the universe as members, 128 draws all miss once in 4000 times.
        const DRAWS: u32 = 128;
        for _ in 0..DRAWS {
            let number = random.below(u64::from(self.universe)) as u32;
            if self.contains(set, number) {
                return Some(number);
            }
        }
        self.next_wrapping(set, random.below(u64::from(self.universe)) as u32)
    }

    /// The smallest member not below `from`, or else the smallest of all.
    pub fn next_wrapping(&self, set: usize, from: u32) -> Option<u32> {
        self.next(set, from).or_else(|| self.first(set))
    }

    fn next(&self, set: usize, from: u32) -> Option<u32> {
        if from >= self.universe {
            return None;
        }
        let above = |bits: u64, from: u32| if from < 64 { bits >> from << from } else { 0 };
        let word = (from / WORD) as usize;
        let bits = above(self.bits[set * self.width[0] + word], from % WORD);
        if bits != 0 {
            return Some(word as u32 * WORD + bits.trailing_zeros());
        }
        let group = word / 64;
        let summary = above(self.summary[set * self.width[1] + group], word as u32 % 64 + 1);
        let word = if summary != 0 {
            group * 64 + summary.trailing_zeros() as usize
        } else {
            let tops = self.tops(set);
            let mut place = group / 64;
            let mut top = above(tops[place], group as u32 % 64 + 1);
            while top == 0 {
                place += 1;
                top = *tops.get(place)?;
            }
            let group = place * 64 + top.trailing_zeros() as usize;
            let summary = self.summary[set * self.width[1] + group];
            group * 64 + summary.trailing_zeros() as usize
        };
        let bits = self.bits[set * self.width[0] + word];
        Some(word as u32 * WORD + bits.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// The bits answer as an ordered set of the standard library does.
        #[test]
        fn agrees_with_a_btree_set(
            // Up to three words of the third level.
            universe in prop_oneof![1u32..20_000, 262_000u32..700_000],
            steps in prop::collection::vec((any::<bool>(), any::<u32>(), 0usize..3), 1..200),
        ) {
            let mut sets = Sets::new(3, universe);
            let mut slow = vec![BTreeSet::new(); 3];
            for (insert, number, set) in steps {
                let number = number % universe;
                if insert {
                    sets.insert(set, number);
                    slow[set].insert(number);
                } else {
                    sets.remove(set, number);
                    slow[set].remove(&number);
                }
                prop_assert_eq!(sets.contains(set, number), insert);
                prop_assert_eq!(sets.is_empty(set), slow[set].is_empty());
                prop_assert_eq!(sets.first(set), slow[set].first().copied());
                prop_assert_eq!(sets.last(set), slow[set].last().copied());
                prop_assert!(sets.iter(set).eq(slow[set].iter().copied()));
                for from in [number, number + 1, universe - 1, universe] {
                    let wrapped = slow[set].range(from..).next().or(slow[set].first());
                    prop_assert_eq!(sets.next_wrapping(set, from), wrapped.copied());
                }
            }
        }
    }
}
