//! Pages of a program: location, LRU order, and slots in the swap space.

use crate::extents::Extent;

/// Neither a page nor a slot.
const NONE: u32 = u32::MAX;

/// Location of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Only in the swap space.
    Out,
    /// In memory.
    In,
    /// In memory, being written out.
    Leaving,
}

/// All pages, those in memory in the order of access, and the slots of the swap space.
pub struct Pages {
    place: Vec<Place>,
    is_changed: Vec<bool>,
    /// Previous and next page in LRU order; a ring closed by `ring`.
    older: Vec<u32>,
    newer: Vec<u32>,
    /// Swap slot of each unchanged page; changed pages have none.
    slot: Vec<u32>,
    /// Bitmap of used slots.
    taken: Vec<u64>,
    slots: u32,
    /// The page of each slot.
    held: Vec<u32>,
    /// Slot at which the search for a free one begins.
    hand: u32,
    /// Number of free page frames.
    free: u32,
}

impl Pages {
    /// `count` pages with a slot each, the first `memory` of them in memory and unchanged; `slots`
    /// slots in total.
    pub fn new(count: u32, memory: u32, slots: u32) -> Self {
        let each = count as usize;
        let mut pages = Pages {
            place: vec![Place::Out; each],
            is_changed: vec![false; each],
            // The extra entry is the start and end of the ring.
            older: (0..=count).collect(),
            newer: (0..=count).collect(),
            slot: (0..count).collect(),
            taken: vec![0; slots.div_ceil(64) as usize],
            slots,
            held: (0..slots).map(|slot| if slot < count { slot } else { NONE }).collect(),
            hand: if count < slots { count } else { 0 },
            free: memory,
        };
        for page in 0..count {
            pages.taken[page as usize / 64] |= 1 << (page % 64);
        }
        for page in 0..memory {
            pages.free -= 1;
            pages.place[page as usize] = Place::In;
            pages.link(page);
        }
        pages
    }

    /// Number of pages.
    pub fn count(&self) -> u32 {
        self.place.len() as u32
    }

    /// Location of a page.
    pub fn place(&self, page: u32) -> Place {
        self.place[page as usize]
    }

    /// The entry that marks the start and end of the ring.
    fn ring(&self) -> u32 {
        self.count()
    }

    /// Moves a page to the newest end.
    fn link(&mut self, page: u32) {
        let ring = self.ring();
        let last = self.older[ring as usize];
        self.older[page as usize] = last;
        self.newer[page as usize] = ring;
        self.newer[last as usize] = page;
        self.older[ring as usize] = page;
    }

    fn unlink(&mut self, page: u32) {
        let (older, newer) = (self.older[page as usize], self.newer[page as usize]);
        self.newer[older as usize] = newer;
        self.older[newer as usize] = older;
    }

    /// The least recently touched page in memory that is not being written out.
    fn oldest(&self) -> Option<u32> {
        let page = self.newer[self.ring() as usize];
        (page != self.ring()).then_some(page)
    }

    /// Touches a page in memory; a page that was being written out stays.
    pub fn touch(&mut self, page: u32) {
        if self.place(page) == Place::In {
            self.unlink(page);
        }
        self.place[page as usize] = Place::In;
        self.link(page);
    }

    /// Marks a page in memory as changed: its slot is freed.
    pub fn change(&mut self, page: u32) {
        self.is_changed[page as usize] = true;
        let slot = std::mem::replace(&mut self.slot[page as usize], NONE);
        if slot != NONE {
            self.taken[slot as usize / 64] &= !(1 << (slot % 64));
            self.held[slot as usize] = NONE;
        }
    }

    /// Frees a page frame: an unused one, or the oldest page's if that is unchanged.
    fn frame(&mut self) -> bool {
        if self.free > 0 {
            self.free -= 1;
            return true;
        }
        match self.oldest() {
            Some(page) if !self.is_changed[page as usize] => {
                self.unlink(page);
                self.place[page as usize] = Place::Out;
                true
            }
            _ => false,
        }
    }

    /// Loads a page and its neighbours within `window` slots, and returns the range to read. `None`
    /// if no page frame is free.
    pub fn fetch(&mut self, page: u32, window: u32) -> Option<Extent> {
        if !self.frame() {
            return None;
        }
        let slot = self.slot[page as usize];
        let (first, end) = (slot / window * window, (slot / window + 1) * window);
        let (mut from, mut to) = (slot, slot + 1);
        while to < end.min(self.slots) && self.fetch_beside(to) {
            to += 1;
        }
        while from > first && self.fetch_beside(from - 1) {
            from -= 1;
        }
        // Inserted last, as the newest page.
        self.place[page as usize] = Place::In;
        self.link(page);
        Some(Extent { first: u64::from(from), blocks: u64::from(to - from) })
    }

    /// Loads the page of a slot if it is swapped out and a page frame is free.
    fn fetch_beside(&mut self, slot: u32) -> bool {
        let page = self.held[slot as usize];
        if page == NONE || self.place(page) != Place::Out || !self.frame() {
            return false;
        }
        self.place[page as usize] = Place::In;
        self.link(page);
        true
    }

    /// Evicts the oldest pages until `cluster` page frames are free, unchanged pages immediately.
    /// Returns the changed pages, at most `cluster`, which must be written, and their slots,
    /// adjacent if possible.
    pub fn evict(&mut self, cluster: u32) -> (Vec<u32>, Vec<Extent>) {
        let mut leaving = Vec::new();
        let mut slots = Vec::new();
        if self.free >= cluster {
            return (leaving, Vec::new());
        }
        while self.free < cluster && (leaving.len() as u32) < cluster {
            let Some(page) = self.oldest() else { break };
            self.unlink(page);
            if std::mem::take(&mut self.is_changed[page as usize]) {
                let slot = self.take_slot();
                self.slot[page as usize] = slot;
                self.held[slot as usize] = page;
                self.place[page as usize] = Place::Leaving;
                leaving.push(page);
                slots.push(slot);
            } else {
                self.place[page as usize] = Place::Out;
                self.free += 1;
            }
        }
        slots.sort_unstable();
        let mut places: Vec<Extent> = Vec::new();
        for slot in slots {
            match places.last_mut() {
                Some(last) if last.first + last.blocks == u64::from(slot) => {
                    *last = Extent { first: last.first, blocks: last.blocks + 1 };
                }
                _ => places.push(Extent { first: u64::from(slot), blocks: 1 }),
            }
        }
        (leaving, places)
    }

    /// Takes the next free slot, which always exists because changed pages have none.
    fn take_slot(&mut self) -> u32 {
        let words = self.taken.len() as u32;
        let (mut word, below) = (self.hand / 64, self.hand % 64);
        // The first word is examined twice: its bits below the hand come last.
        let mut free = !self.taken[word as usize] & (u64::MAX << below);
        for _ in 0..=words {
            let slot = word * 64 + free.trailing_zeros();
            if free != 0 && slot < self.slots {
                self.taken[word as usize] |= 1 << (slot % 64);
                self.hand = if slot + 1 == self.slots { 0 } else { slot + 1 };
                return slot;
            }
            word = if word + 1 == words { 0 } else { word + 1 };
            free = !self.taken[word as usize];
        }
        unreachable!("as many places as pages, and a changed page has none")
    }

    /// Completes a write: pages not touched in the meantime are swapped out.
    pub fn written(&mut self, pages: &[u32]) {
        for &page in pages {
            if self.place(page) == Place::Leaving {
                self.place[page as usize] = Place::Out;
                self.free += 1;
            }
        }
    }

    /// Asserts that memory, pages and slots are consistent.
    #[cfg(test)]
    pub fn check(&self, memory: u32) {
        let count = |place| self.place.iter().filter(|it| **it == place).count() as u32;
        assert_eq!(self.free + count(Place::In) + count(Place::Leaving), memory);
        let mut taken = 0;
        for page in 0..self.count() {
            let slot = self.slot[page as usize];
            assert_eq!(slot == NONE, self.is_changed[page as usize], "page {page}");
            if slot != NONE {
                taken += 1;
                assert_eq!(self.held[slot as usize], page);
                assert_ne!(self.taken[slot as usize / 64] & (1 << (slot % 64)), 0);
            }
            assert!(slot != NONE || self.place(page) == Place::In, "page {page} is nowhere");
        }
        assert_eq!(taken, self.taken.iter().map(|it| it.count_ones()).sum::<u32>());
        assert_eq!(taken, self.held.iter().filter(|it| **it != NONE).count() as u32);
    }
}
