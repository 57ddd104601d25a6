//! A block whose pages are being moved: what for, and how far that is.

use crate::ssd::ids::{Block, Domain};

/// Why the pages of a block are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// For the space of its superseded pages.
    Space,
    /// It is of the SLC cache, and its data are to lie in native blocks.
    Fold,
    /// The same; the block is worn, and cold data is to follow into it when it is erased.
    SpaceThenColdData,
    /// Its data is cold and takes, page by page, the place of what a worn block held.
    Wear {
        /// The worn block.
        into: Block,
    },
}

/// A block whose pages are being moved, until it is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Where.
    pub domain: Domain,
    /// The block.
    pub source: Block,
    /// What for.
    pub reason: Reason,
    pub(super) next_page: u32,
    /// Pages moved out of it so far.
    pub(super) moved: u32,
}

impl Relocation {
    /// Counts `pages` more pages as moved out of the block for its space.
    pub(in crate::ssd) fn note_moved(&mut self, pages: u32) {
        if !self.levels_wear() {
            self.moved += pages;
        }
    }

    /// Whether cold data is to follow into the block when it is erased.
    pub(in crate::ssd) fn is_followed(&self) -> bool {
        self.reason == Reason::SpaceThenColdData
    }

    /// Whether it moves cold data into a worn block.
    pub fn levels_wear(&self) -> bool {
        matches!(self.reason, Reason::Wear { .. })
    }
}
