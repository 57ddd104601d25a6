//! A block whose pages are being moved, with purpose and progress.

use crate::ids::{Block, Domain};

/// Why the pages of a block are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Garbage collection, for the space of superseded pages.
    Space,
    /// Data of the SLC cache, to move into native blocks.
    Fold,
    /// Old data, or a block read often.
    Refresh,
    /// For the space; the block is worn, and cold data is to follow into it when it is erased.
    SpaceThenColdData,
    /// Cold data that replace, page by page, the former content of a worn block.
    Wear {
        /// The worn block.
        into: Block,
    },
    /// A logical block is put together: its newest pages are copied, each to its place. Nothing is erased.
    Merge(Merge),
}

/// Copies of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Logical block, numbered within its pool.
    pub logical: u32,
    /// The frontier being filled: a log block's, or behind these the one of full merges.
    pub slot: u32,
    /// The first page that is not copied.
    pub until: u32,
}

/// A block being emptied, until it is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Where.
    pub domain: Domain,
    /// The block.
    pub source: Block,
    /// Reason.
    pub reason: Reason,
    pub(super) next_page: u32,
    /// Pages moved so far.
    pub(super) moved: u32,
}

impl Relocation {
    /// Counts `pages` more pages as moved out of the block for its space.
    pub(crate) fn note_moved(&mut self, pages: u32) {
        if !self.levels_wear() {
            self.moved += pages;
        }
    }

    /// True if cold data is to follow into the block when it is erased.
    pub(crate) fn is_followed(&self) -> bool {
        self.reason == Reason::SpaceThenColdData
    }

    /// Takes the next page.
    pub fn take_next(&mut self) -> u32 {
        self.next_page += 1;
        self.next_page - 1
    }

    /// True for a merge.
    pub fn merges(&self) -> bool {
        matches!(self.reason, Reason::Merge(_))
    }

    /// True for a migration of cold data into a worn block.
    pub fn levels_wear(&self) -> bool {
        matches!(self.reason, Reason::Wear { .. })
    }
}
