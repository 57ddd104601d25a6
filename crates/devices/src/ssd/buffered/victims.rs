//! Cleaning in progress: batches of reads, victims, and blocks being erased.

use crate::ssd::ftl::Relocation;
use crate::ssd::ids::{Block, Domain};

/// Rows of a group of a victim that a die reads in one go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch {
    pub(super) domain: Domain,
    pub(super) block: Block,
    pub(super) group: u32,
    /// Rows to read, as bits, and the remaining ones.
    pub(super) rows: u32,
    pub(super) left: u32,
    /// Room of the buffer that is kept for its pages.
    pub(super) reserved: u32,
}

impl Batch {
    pub(super) fn row(&self) -> u32 {
        self.left.trailing_zeros()
    }

    /// Goes to the next row, if there is one.
    pub(super) fn next(&mut self) -> bool {
        self.left &= self.left - 1;
        self.left != 0
    }
}

/// A block that is being cleaned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Victim {
    pub(super) job: Relocation,
    /// The group that is scanned next, and batches that are being read.
    pub(super) next: u32,
    pub(super) reading: u32,
}

/// A block that is being erased, or is due for erasure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Erasing {
    pub(super) job: Relocation,
    /// Groups of copies that were begun before this number must be programmed first.
    pub(super) after: u64,
    /// Dies that are not done; all, as long as it has not begun.
    pub(super) left: u32,
    pub(super) begun: bool,
    pub(super) there: bool,
}
