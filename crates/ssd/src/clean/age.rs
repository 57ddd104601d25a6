//! Closed blocks of each domain in order of their opening.

use std::ops::Range;

/// End of a list, and unlisted block. Listed blocks have their number plus 1, so zeroed memory,
/// which the system allocates only when touched, lists nothing.
const NONE: u32 = 0;

/// A doubly linked list per domain, oldest first; every operation takes constant time.
#[derive(Debug, Clone, Default)]
pub struct AgeOrder {
    oldest: Vec<u32>,
    newest: Vec<u32>,
    older: Vec<u32>,
    newer: Vec<u32>,
}

impl AgeOrder {
    /// Empty lists.
    pub fn new(domains: u32, blocks: u32) -> Self {
        AgeOrder {
            oldest: memory::zeroed(domains as usize),
            newest: memory::zeroed(domains as usize),
            older: memory::zeroed(blocks as usize),
            newer: memory::zeroed(blocks as usize),
        }
    }

    /// Copies the lists and blocks of some domains from an identical drive.
    pub fn take_part(&mut self, other: &AgeOrder, domains: Range<usize>, blocks: Range<usize>) {
        self.oldest[domains.clone()].copy_from_slice(&other.oldest[domains.clone()]);
        self.newest[domains.clone()].copy_from_slice(&other.newest[domains]);
        self.older[blocks.clone()].copy_from_slice(&other.older[blocks.clone()]);
        self.newer[blocks.clone()].copy_from_slice(&other.newer[blocks]);
    }

    /// Appends a closed block as the newest of its domain.
    pub fn push(&mut self, domain: u32, block: u32) {
        let newest = std::mem::replace(&mut self.newest[domain as usize], block + 1);
        self.older[block as usize] = newest;
        self.newer[block as usize] = NONE;
        match newest {
            NONE => self.oldest[domain as usize] = block + 1,
            newest => self.newer[newest as usize - 1] = block + 1,
        }
    }

    /// Removes a block that will be cleaned.
    pub fn remove(&mut self, domain: u32, block: u32) {
        let (older, newer) = (self.older[block as usize], self.newer[block as usize]);
        match older {
            NONE => self.oldest[domain as usize] = newer,
            older => self.newer[older as usize - 1] = newer,
        }
        match newer {
            NONE => self.newest[domain as usize] = older,
            newer => self.older[newer as usize - 1] = older,
        }
    }

    /// Prefetches the list entry of a block.
    pub fn prefetch(&self, block: u32) {
        memory::prefetch(&self.older, block as usize);
        memory::prefetch(&self.newer, block as usize);
    }

    /// Prefetches the neighbours that a removal changes.
    pub fn prefetch_neighbours(&self, block: u32) {
        let (older, newer) = (self.older[block as usize], self.newer[block as usize]);
        // Nothing is prefetched at the end of a list, because the index lies past the end of the
        // table.
        memory::prefetch(&self.newer, (older as usize).wrapping_sub(1));
        memory::prefetch(&self.older, (newer as usize).wrapping_sub(1));
    }

    /// Undoes the latest [`remove`](AgeOrder::remove) not yet undone: the block returns to its
    /// place.
    pub fn put_back(&mut self, domain: u32, block: u32) {
        match self.older[block as usize] {
            NONE => self.oldest[domain as usize] = block + 1,
            older => self.newer[older as usize - 1] = block + 1,
        }
        match self.newer[block as usize] {
            NONE => self.newest[domain as usize] = block + 1,
            newer => self.older[newer as usize - 1] = block + 1,
        }
    }

    /// Puts the unlisted block `new` in the place of `old`.
    pub fn replace(&mut self, domain: u32, old: u32, new: u32) {
        self.older[new as usize] = self.older[old as usize];
        self.newer[new as usize] = self.newer[old as usize];
        self.put_back(domain, new);
    }

    /// The listed blocks of a domain, oldest first.
    pub fn iter(&self, domain: u32) -> impl Iterator<Item = u32> + '_ {
        let some = |listed: u32| listed.checked_sub(1);
        let first = some(self.oldest[domain as usize]);
        std::iter::successors(first, move |block| some(self.newer[*block as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::AgeOrder;

    #[test]
    fn order_is_that_of_closing_whatever_is_taken_out() {
        let mut order = AgeOrder::new(2, 10);
        for block in [3, 1, 4, 5, 9] {
            order.push(1, block);
        }
        order.push(0, 2);
        let blocks = |order: &AgeOrder| order.iter(1).collect::<Vec<_>>();
        assert_eq!(blocks(&order), [3, 1, 4, 5, 9]);
        order.remove(1, 4);
        order.remove(1, 3);
        order.remove(1, 9);
        assert_eq!(blocks(&order), [1, 5]);
        order.push(1, 3);
        assert_eq!(blocks(&order), [1, 5, 3]);
        order.replace(1, 5, 7);
        assert_eq!(blocks(&order), [1, 7, 3]);
        for taken in [[1, 7, 3], [3, 1, 7], [7, 3, 1]] {
            for block in taken {
                order.remove(1, block);
            }
            assert!(blocks(&order).is_empty());
            for block in taken.into_iter().rev() {
                order.put_back(1, block);
            }
            assert_eq!(blocks(&order), [1, 7, 3]);
        }
        for block in [1, 7, 3] {
            order.remove(1, block);
        }
        assert!(blocks(&order).is_empty());
        assert_eq!(order.iter(0).collect::<Vec<_>>(), [2]);
    }
}
