//! Cleaning reads of a die, taken together.

use crate::ids::{Block, Domain};

/// Rows of a group of a victim that a die reads in one go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    domain: Domain,
    block: Block,
    group: u32,
    /// Rows to read, as bits, and the remaining ones.
    rows: u32,
    left: u32,
    /// Room of the buffer that is kept for its pages.
    reserved: u32,
}

impl Batch {
    /// These rows of a group, as bits.
    pub fn new((domain, block, group): (Domain, Block, u32), rows: u32, reserved: u32) -> Batch {
        Batch { domain, block, group, rows, left: rows, reserved }
    }

    /// The row that is read now.
    pub fn row(&self) -> u32 {
        self.left.trailing_zeros()
    }

    /// Goes to the next row, if there is one.
    pub(super) fn next(&mut self) -> bool {
        self.left &= self.left - 1;
        self.left != 0
    }

    /// True if it reads a row.
    pub fn has_row(&self, row: u32) -> bool {
        self.rows >> row & 1 != 0
    }

    /// Room of the buffer that is kept for its pages.
    pub fn reserved(&self) -> u32 {
        self.reserved
    }

    /// Domain that is cleaned with it.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// The block, and the group in it.
    pub fn place(&self) -> (Block, u32) {
        (self.block, self.group)
    }
}
