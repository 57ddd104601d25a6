//! Sets of small numbers as bits in three levels, so that the first, last or next member is found
//! in a few instructions whatever the size.

use engine::{Random, Xoshiro256};

const WORD: u32 = 64;

/// Several sets over the same numbers 0..`universe`, in families of as many sets.
///
/// One bit per number and set, plus 1/64 of that for each of two levels of summary. The words of
/// the third level are searched in turn: up to 262,144 numbers there is one a set. The words of a
/// family that stand for the same numbers lie side by side, so that a number which goes from one
/// set to the next changes one line of the cache, not two.
#[derive(Debug, Clone, Default)]
pub struct Sets {
    universe: u32,
    /// Sets of a family.
    members: usize,
    /// Words of a set by level.
    width: [usize; 3],
    bits: Vec<u64>,
    /// Bit w of a set's summary: word w of its bits is not zero.
    summary: Vec<u64>,
    /// Nonzero words of its summary.
    top: Vec<u64>,
}

/// A set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Set {
    /// Family.
    pub family: u32,
    /// Index of the set in the family.
    pub member: u32,
}

impl Set {
    /// The set of a family with only one.
    #[inline]
    pub fn only(family: u32) -> Set {
        Set { family, member: 0 }
    }
}

impl Sets {
    /// Empty sets: `families` families of `members` empty sets each.
    pub fn new(families: u32, members: u32, universe: u32) -> Self {
        let words = universe.div_ceil(WORD) as usize;
        let groups = words.div_ceil(WORD as usize);
        let width = [words, groups, groups.div_ceil(WORD as usize)];
        let (families, members) = (families as usize, members as usize);
        let table = |width: usize| memory::zeroed(families * members * width);
        Sets {
            universe,
            members,
            width,
            bits: table(width[0]),
            summary: table(width[1]),
            top: table(width[2]),
        }
    }

    /// Takes some of the families as another list of as many has them.
    pub fn take_part(&mut self, other: &Sets, families: std::ops::Range<usize>) {
        let words = |width: usize| {
            families.start * width * self.members..families.end * width * self.members
        };
        let [bits, summary, top] = self.width.map(words);
        self.bits[bits.clone()].copy_from_slice(&other.bits[bits]);
        self.summary[summary.clone()].copy_from_slice(&other.summary[summary]);
        self.top[top.clone()].copy_from_slice(&other.top[top]);
    }

    /// Index of a set's word at a level.
    #[inline]
    fn at(&self, level: usize, set: Set, word: usize) -> usize {
        debug_assert!((set.member as usize) < self.members && word < self.width[level]);
        (set.family as usize * self.width[level] + word) * self.members + set.member as usize
    }

    /// Adds a number to a set.
    #[inline]
    pub fn insert(&mut self, set: Set, number: u32) {
        let (word, bit) = ((number / WORD) as usize, number % WORD);
        let at = self.at(0, set, word);
        self.set_bit(set, word, at, bit);
    }

    /// Sets a bit of the word of a set that lies at a place.
    #[inline]
    fn set_bit(&mut self, set: Set, word: usize, at: usize, bit: u32) {
        let bits = &mut self.bits[at];
        let was_empty = *bits == 0;
        *bits |= 1 << bit;
        if was_empty {
            let at = self.at(1, set, word / 64);
            let was_empty = self.summary[at] == 0;
            self.summary[at] |= 1 << (word % 64);
            if was_empty {
                let at = self.at(2, set, word / 4096);
                self.top[at] |= 1 << (word / 64 % 64);
            }
        }
    }

    /// Takes a number out of a set.
    #[inline]
    pub fn remove(&mut self, set: Set, number: u32) {
        let (word, bit) = ((number / WORD) as usize, number % WORD);
        let at = self.at(0, set, word);
        self.bits[at] &= !(1 << bit);
        if self.bits[at] == 0 {
            self.empty_word(set, word);
        }
    }

    /// A word of a set has become zero.
    #[inline]
    fn empty_word(&mut self, set: Set, word: usize) {
        let at = self.at(1, set, word / 64);
        self.summary[at] &= !(1 << (word % 64));
        if self.summary[at] == 0 {
            let at = self.at(2, set, word / 4096);
            self.top[at] &= !(1 << (word / 64 % 64));
        }
    }

    /// Takes a number out of a set and adds it to the one before in the same family.
    ///
    /// # Panics
    /// It is the first of its family.
    #[inline]
    pub fn step_down(&mut self, set: Set, number: u32) {
        let before = Set { member: set.member - 1, ..set };
        let (word, bit) = ((number / WORD) as usize, number % WORD);
        let at = self.at(0, set, word);
        self.set_bit(before, word, at - 1, bit);
        self.bits[at] &= !(1 << bit);
        if self.bits[at] == 0 {
            self.empty_word(set, word);
        }
    }

    /// Prefetches the word of a number in a set.
    #[inline]
    pub fn prefetch(&self, set: Set, number: u32) {
        memory::prefetch(&self.bits, self.at(0, set, (number / WORD) as usize));
    }

    /// True if a number is in a set.
    pub fn contains(&self, set: Set, number: u32) -> bool {
        self.bits[self.at(0, set, (number / WORD) as usize)] >> (number % WORD) & 1 == 1
    }

    /// A word of the third level of a set.
    #[inline]
    fn top(&self, set: Set, place: usize) -> u64 {
        self.top[self.at(2, set, place)]
    }

    /// True if a set has no members.
    #[inline]
    pub fn is_empty(&self, set: Set) -> bool {
        (0..self.width[2]).all(|place| self.top(set, place) == 0)
    }

    /// The smallest member.
    pub fn first(&self, set: Set) -> Option<u32> {
        let place = (0..self.width[2]).find(|place| self.top(set, *place) != 0)?;
        let group = place * 64 + self.top(set, place).trailing_zeros() as usize;
        let summary = self.summary[self.at(1, set, group)];
        let word = group * 64 + summary.trailing_zeros() as usize;
        let bits = self.bits[self.at(0, set, word)];
        Some(word as u32 * WORD + bits.trailing_zeros())
    }

    /// The largest member.
    pub fn last(&self, set: Set) -> Option<u32> {
        let place = (0..self.width[2]).rfind(|place| self.top(set, *place) != 0)?;
        let group = place * 64 + 63 - self.top(set, place).leading_zeros() as usize;
        let summary = self.summary[self.at(1, set, group)];
        let word = group * 64 + 63 - summary.leading_zeros() as usize;
        let bits = self.bits[self.at(0, set, word)];
        Some(word as u32 * WORD + 63 - bits.leading_zeros())
    }

    /// The members, smallest first.
    pub fn iter(&self, set: Set) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.first(set), move |number| self.next(set, number + 1))
    }

    /// A member drawn uniformly, or nearly so for few members.
    pub fn draw(&self, set: Set, random: &mut Xoshiro256) -> Option<u32> {
        let contains = |number| self.contains(set, number);
        drawn(self.universe, random, contains, |from| self.next_wrapping(set, from))
    }

    /// The smallest member not below `from`, or otherwise the smallest.
    pub fn next_wrapping(&self, set: Set, from: u32) -> Option<u32> {
        self.next(set, from).or_else(|| self.first(set))
    }

    fn next(&self, set: Set, from: u32) -> Option<u32> {
        if from >= self.universe {
            return None;
        }
        let above = |bits: u64, from: u32| if from < 64 { bits >> from << from } else { 0 };
        let word = (from / WORD) as usize;
        let bits = above(self.bits[self.at(0, set, word)], from % WORD);
        if bits != 0 {
            return Some(word as u32 * WORD + bits.trailing_zeros());
        }
        let group = word / 64;
        let summary = above(self.summary[self.at(1, set, group)], word as u32 % 64 + 1);
        let word = if summary != 0 {
            group * 64 + summary.trailing_zeros() as usize
        } else {
            let mut place = group / 64;
            let mut top = above(self.top(set, place), group as u32 % 64 + 1);
            while top == 0 {
                place += 1;
                if place == self.width[2] {
                    return None;
                }
                top = self.top(set, place);
            }
            let group = place * 64 + top.trailing_zeros() as usize;
            let summary = self.summary[self.at(1, set, group)];
            group * 64 + summary.trailing_zeros() as usize
        };
        let bits = self.bits[self.at(0, set, word)];
        Some(word as u32 * WORD + bits.trailing_zeros())
    }
}

/// A member of a set of numbers below `universe`, drawn uniformly, or nearly so where members are few: given whether a
/// number is one, and the smallest not below a number, or else of all.
pub fn drawn(
    universe: u32,
    random: &mut Xoshiro256,
    contains: impl Fn(u32) -> bool,
    next_wrapping: impl Fn(u32) -> Option<u32>,
) -> Option<u32> {
    // With 1/16 of the universe as members, 128 draws all miss once in 4000 times.
    const DRAWS: u32 = 128;
    for _ in 0..DRAWS {
        let number = random.below(u64::from(universe)) as u32;
        if contains(number) {
            return Some(number);
        }
    }
    next_wrapping(random.below(u64::from(universe)) as u32)
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
            steps in prop::collection::vec((0u8..3, any::<u32>(), 0usize..6), 1..200),
        ) {
            let mut sets = Sets::new(2, 3, universe);
            let mut slow = vec![BTreeSet::new(); 6];
            for (step, number, at) in steps {
                let number = number % universe;
                let set = Set { family: at as u32 / 3, member: at as u32 % 3 };
                let inside = match step {
                    0 => {
                        sets.insert(set, number);
                        slow[at].insert(number);
                        true
                    }
                    1 if set.member > 0 && slow[at].remove(&number) => {
                        sets.step_down(set, number);
                        slow[at - 1].insert(number);
                        let before = Set { member: set.member - 1, ..set };
                        prop_assert!(sets.contains(before, number));
                        prop_assert_eq!(sets.last(before), slow[at - 1].last().copied());
                        false
                    }
                    _ => {
                        sets.remove(set, number);
                        slow[at].remove(&number);
                        false
                    }
                };
                prop_assert_eq!(sets.contains(set, number), inside);
                prop_assert_eq!(sets.is_empty(set), slow[at].is_empty());
                prop_assert_eq!(sets.first(set), slow[at].first().copied());
                prop_assert_eq!(sets.last(set), slow[at].last().copied());
                prop_assert!(sets.iter(set).eq(slow[at].iter().copied()));
                for from in [number, number + 1, universe - 1, universe] {
                    let wrapped = slow[at].range(from..).next().or(slow[at].first());
                    prop_assert_eq!(sets.next_wrapping(set, from), wrapped.copied());
                }
            }
        }
    }
}
