//! Closed blocks of each domain by number of valid pages.

use super::few::Few;
use crate::config::TieBreak;
use crate::sets::{Set, Sets};
use engine::Xoshiro256;

/// For each domain and number of valid pages, the set of closed blocks. With one bit per block and
/// number, updating a superseded page and finding the block with the fewest valid pages take
/// constant time. Domains with few, large blocks are searched instead.
#[derive(Debug, Clone, Default)]
pub struct VictimIndex {
    few: Option<Few>,
    /// For each domain, a set for each number of valid pages.
    sets: Sets,
    data_pages: u32,
    /// Lower bound of the nonempty sets, by domain.
    least: Vec<u32>,
}

impl VictimIndex {
    /// No closed blocks.
    pub fn new(domains: u32, blocks_per_domain: u32, data_pages: u32) -> Self {
        let few = Few::new(domains, blocks_per_domain, data_pages);
        if few.is_some() {
            return VictimIndex { few, data_pages, ..VictimIndex::default() };
        }
        VictimIndex {
            few,
            sets: Sets::new(domains, data_pages + 1, blocks_per_domain),
            data_pages,
            least: memory::filled(data_pages, domains as usize),
        }
    }

    /// Copies the closed blocks of some domains from an identical drive.
    pub fn take_part(&mut self, other: &VictimIndex, domains: std::ops::Range<usize>) {
        if let (Some(few), Some(other)) = (&mut self.few, &other.few) {
            return few.take_part(other, domains);
        }
        self.sets.take_part(&other.sets, domains.clone());
        self.least[domains.clone()].copy_from_slice(&other.least[domains]);
    }

    /// Adds a closed block with `valid` valid pages.
    #[inline]
    pub fn insert(&mut self, domain: u32, block: u32, valid: u32) {
        if let Some(few) = &mut self.few {
            return few.insert(domain, block, valid);
        }
        self.sets.insert(Set { family: domain, member: valid }, block);
        let least = &mut self.least[domain as usize];
        *least = (*least).min(valid);
    }

    /// Removes a block that will be cleaned.
    pub fn remove(&mut self, domain: u32, block: u32, valid: u32) {
        if let Some(few) = &mut self.few {
            return few.remove(domain, block);
        }
        self.sets.remove(Set { family: domain, member: valid }, block);
    }

    /// Moves a closed block with `valid` valid pages to the next lower set.
    #[inline]
    pub fn superseded(&mut self, domain: u32, block: u32, valid: u32) {
        match &mut self.few {
            Some(few) => few.superseded(domain, block),
            None => self.step_down(domain, block, valid),
        }
    }

    #[inline(never)]
    fn step_down(&mut self, domain: u32, block: u32, valid: u32) {
        self.sets.step_down(Set { family: domain, member: valid }, block);
        let least = &mut self.least[domain as usize];
        *least = (*least).min(valid - 1);
    }

    /// True if superseding a page needs no distant memory.
    #[inline]
    pub fn is_near(&self) -> bool {
        self.few.is_some()
    }

    /// Prefetches the entries that change when one of a block's `valid` pages is superseded.
    #[inline]
    pub fn prefetch(&self, domain: u32, block: u32, valid: u32) {
        self.sets.prefetch(Set { family: domain, member: valid }, block);
    }

    /// Fewest valid pages of any closed block in the domain.
    pub fn least(&self, domain: u32) -> Option<u32> {
        if let Some(few) = &self.few {
            return few.least(domain);
        }
        let mut all = self.least[domain as usize]..=self.data_pages;
        all.find(|valid| !self.sets.is_empty(Set { family: domain, member: *valid }))
    }

    /// Highest-numbered block with the fewest valid pages, if known without a search.
    pub fn last_of_least(&self, domain: u32) -> Option<u32> {
        if let Some(few) = &self.few {
            return few.last_of_least(domain);
        }
        self.sets.last(Set { family: domain, member: self.least(domain)? })
    }

    /// Records that no block has fewer than `valid` valid pages, as found by [`least`].
    ///
    /// [`least`]: VictimIndex::least
    pub fn raise_least(&mut self, domain: u32, valid: u32) {
        if self.few.is_none() {
            self.least[domain as usize] = valid;
        }
    }

    /// A block with the fewest valid pages.
    pub fn emptiest(
        &self,
        domain: u32,
        tie_break: TieBreak,
        random: &mut Xoshiro256,
    ) -> Option<u32> {
        if let Some(few) = &self.few {
            return few.emptiest(domain, tie_break, random);
        }
        let set = Set { family: domain, member: self.least(domain)? };
        match tie_break {
            TieBreak::Highest => self.sets.last(set),
            TieBreak::Lowest => self.sets.first(set),
            TieBreak::Random => self.sets.draw(set, random),
        }
    }

    /// Blocks with superseded pages, fewest valid pages first; ties in numerical order.
    pub fn emptiest_first(&self, domain: u32) -> Box<dyn Iterator<Item = u32> + '_> {
        if let Some(few) = &self.few {
            return Box::new(few.emptiest_first(domain, self.data_pages).into_iter());
        }
        let all = self.least[domain as usize]..self.data_pages;
        Box::new(all.flat_map(move |valid| self.sets.iter(Set { family: domain, member: valid })))
    }

    /// True if a block is listed as closed with `valid` valid pages.
    pub fn contains(&self, domain: u32, block: u32, valid: u32) -> bool {
        if let Some(few) = &self.few {
            return few.contains(domain, block, valid);
        }
        self.sets.contains(Set { family: domain, member: valid }, block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(one: &mut VictimIndex, other: &mut VictimIndex, does: impl Fn(&mut VictimIndex)) {
        does(one);
        does(other);
    }

    proptest! {
        /// Both indexes list the same blocks.
        #[test]
        fn looked_through_or_sorted_the_answers_are_the_same(
            steps in prop::collection::vec((0u8..8, 0u32..2, 0u32..9), 1..300),
        ) {
            let mut one = VictimIndex::new(2, 9, 80);
            prop_assert!(one.is_near());
            let mut other = VictimIndex {
                few: None,
                sets: Sets::new(2, 81, 9),
                data_pages: 80,
                least: vec![80; 2],
            };
            let (mut valid, mut listed) = ([[0; 9]; 2], [[false; 9]; 2]);
            for (step, domain, block) in steps {
                let of = &mut valid[domain as usize][block as usize];
                let is_listed = &mut listed[domain as usize][block as usize];
                match (step, *is_listed) {
                    (_, false) => {
                        *of = 80 - 7 * u32::from(step);
                        both(&mut one, &mut other, |it| it.insert(domain, block, *of));
                        *is_listed = true;
                    }
                    (0, true) => {
                        both(&mut one, &mut other, |it| it.remove(domain, block, *of));
                        *is_listed = false;
                    }
                    (_, true) if *of > 0 => {
                        both(&mut one, &mut other, |it| it.superseded(domain, block, *of));
                        *of -= 1;
                    }
                    (_, true) => {}
                }
                for domain in 0..2 {
                    prop_assert_eq!(one.least(domain), other.least(domain));
                    prop_assert_eq!(one.last_of_least(domain), other.last_of_least(domain));
                    prop_assert!(one.emptiest_first(domain).eq(other.emptiest_first(domain)));
                    for tie_break in [TieBreak::Highest, TieBreak::Lowest, TieBreak::Random] {
                        let draws = [&one, &other].map(|it| {
                            let mut random = Xoshiro256::new(1, u64::from(block));
                            (it.emptiest(domain, tie_break, &mut random), random)
                        });
                        prop_assert_eq!(&draws[0], &draws[1]);
                    }
                }
                for block in 0..9 {
                    let valid = valid[domain as usize][block as usize];
                    let is_listed = listed[domain as usize][block as usize];
                    prop_assert_eq!(one.contains(domain, block, valid), is_listed);
                    prop_assert_eq!(other.contains(domain, block, valid), is_listed);
                }
            }
            let mut part = VictimIndex::new(2, 9, 80);
            part.take_part(&one, 1..2);
            prop_assert_eq!((part.least(0), part.least(1)), (None, other.least(1)));
        }
    }
}
