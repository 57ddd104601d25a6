//! Blocks that were open while data aged: later pages of these blocks are younger.

use crate::ids::Block;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Younger parts of blocks. Only blocks that were open while time passed without requests have any.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Resumed {
    /// For each block its younger parts, ascending: first group, and number of the part.
    parts: BTreeMap<u32, Vec<(u32, u32)>>,
    /// Number of parts ever used, and free part numbers.
    count: u32,
    free: Vec<u32>,
}

impl Resumed {
    /// True if no block has younger parts.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Younger part of a block that contains a group, if any.
    pub fn younger_part(&self, block: Block, group: u32) -> Option<u32> {
        let parts = self.parts.get(&block.0)?;
        parts.iter().rev().find(|(from, _)| *from <= group).map(|(_, part)| *part)
    }

    /// Splits a block at a group, from which data are younger. Returns the number of the part.
    pub fn split(&mut self, block: Block, from: u32) -> u32 {
        let parts = self.parts.entry(block.0).or_default();
        if let Some((_, part)) = parts.last().filter(|(last, _)| *last == from) {
            return *part;
        }
        let part = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        parts.push((from, part));
        part
    }

    /// Blocks with younger parts.
    pub fn blocks(&self) -> impl Iterator<Item = Block> {
        self.parts.keys().map(|block| Block(*block))
    }

    /// Drops the parts of an erased block.
    #[inline]
    pub fn forget(&mut self, block: Block) {
        if !self.is_empty()
            && let Some(parts) = self.parts.remove(&block.0)
        {
            self.free.extend(parts.into_iter().map(|(_, part)| part));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_as_old_as_its_parts_and_numbers_are_used_again() {
        let mut resumed = Resumed::default();
        let block = Block(3);
        assert_eq!(resumed.split(block, 4), 0);
        assert_eq!(resumed.split(block, 4), 0, "nothing was written since");
        assert_eq!(resumed.split(block, 9), 1);
        let parts = [0, 3, 4, 8, 9, 20].map(|group| resumed.younger_part(block, group));
        assert_eq!(parts, [None, None, Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(resumed.younger_part(Block(2), 9), None);
        resumed.forget(block);
        assert!(resumed.is_empty());
        assert!(resumed.split(Block(7), 1) < 2);
    }
}
