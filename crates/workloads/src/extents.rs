//! Allocation of space for files, in blocks of 4 KiB.

use std::collections::BTreeMap;

/// Consecutive blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub first: u64,
    pub blocks: u64,
}

/// Free space, allocated from the lowest address.
#[derive(Debug)]
pub struct Allocator {
    /// First block and length of each free extent; adjacent extents are merged.
    free: BTreeMap<u64, u64>,
}

impl Allocator {
    /// `blocks` free blocks, starting at `first`.
    pub fn new(first: u64, blocks: u64) -> Self {
        Allocator { free: BTreeMap::from([(first, blocks)]) }
    }

    /// Allocates `blocks` blocks, in one extent if possible, otherwise in several.
    ///
    /// Returns `None` and allocates nothing if fewer blocks are free.
    pub fn take(&mut self, blocks: u64) -> Option<Vec<Extent>> {
        if let Some(first) = self.free.iter().find(|(_, free)| **free >= blocks).map(|(f, _)| *f) {
            return Some(vec![self.cut(first, blocks)]);
        }
        if self.free_blocks() < blocks {
            return None;
        }
        let (mut left, mut extents) = (blocks, Vec::new());
        while left > 0 {
            let (first, free) = self.free.first_key_value().map(|(f, n)| (*f, *n))?;
            let extent = self.cut(first, free.min(left));
            left -= extent.blocks;
            extents.push(extent);
        }
        Some(extents)
    }

    /// Takes the first blocks of a free extent.
    fn cut(&mut self, first: u64, blocks: u64) -> Extent {
        let free = self.free.remove(&first).expect("it was free");
        if free > blocks {
            self.free.insert(first + blocks, free - blocks);
        }
        Extent { first, blocks }
    }

    /// Frees an extent and merges it with adjacent free extents.
    pub fn give(&mut self, extent: Extent) {
        let Extent { mut first, mut blocks } = extent;
        if let Some(after) = self.free.remove(&(first + blocks)) {
            blocks += after;
        }
        if let Some((before, free)) = self.free.range(..first).next_back().map(|(f, n)| (*f, *n))
            && before + free == first
        {
            first = before;
            blocks += free;
        }
        self.free.insert(first, blocks);
    }

    /// Number of free blocks.
    pub fn free_blocks(&self) -> u64 {
        self.free.values().sum()
    }

    /// The free extents, by address.
    #[cfg(test)]
    pub fn free(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.free.iter().map(|(first, blocks)| (*first, *blocks))
    }
}
