//! A batch of cleaning reads of a die.

use crate::ids::{Block, Domain};

/// Rows of a group of a victim that a die reads in one go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    domain: Domain,
    block: Block,
    group: u32,
    /// Bitmap of all rows to read, and of the remaining ones.
    rows: u32,
    left: u32,
    /// Buffer room reserved for its pages.
    reserved: u32,
}

impl Batch {
    /// A batch of rows of a group, as a bitmap.
    pub fn new((domain, block, group): (Domain, Block, u32), rows: u32, reserved: u32) -> Batch {
        Batch { domain, block, group, rows, left: rows, reserved }
    }

    /// The row that is read now.
    pub fn row(&self) -> u32 {
        self.left.trailing_zeros()
    }

    /// Advances to the next row, if any.
    pub(super) fn next(&mut self) -> bool {
        self.left &= self.left - 1;
        self.left != 0
    }

    /// True if it reads a row.
    pub fn has_row(&self, row: u32) -> bool {
        self.rows >> row & 1 != 0
    }

    /// Buffer room reserved for its pages.
    pub fn reserved(&self) -> u32 {
        self.reserved
    }

    /// Domain being cleaned.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Block and group of the batch.
    pub fn place(&self) -> (Block, u32) {
        (self.block, self.group)
    }
}
