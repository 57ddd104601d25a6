//! Flash pages, and their variation.

use crate::ids::Block;

/// Spread between word lines, blocks and pages: standard deviations of logarithms.
#[derive(Debug, Clone, Copy)]
pub struct Spreads {
    /// Variation of word lines.
    pub layer: f64,
    /// Variation of blocks.
    pub block: f64,
    /// Variation of pages.
    pub page: f64,
}

impl Spreads {
    /// Logarithm of mean over median of a lognormal variable.
    pub fn above(self) -> f64 {
        (self.layer * self.layer + self.block * self.block + self.page * self.page) / 2.0
    }

    /// Deviation of a page, from those of its word line, its block and itself.
    #[inline]
    pub fn of(self, layer: f64, block: f64, page: f64) -> f64 {
        self.layer * layer + self.block * block + self.page * page
    }
}

/// State of a block besides its age: its erasures, and its programmed logical pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Erasures.
    pub erases: u32,
    /// Programmed logical pages, from the first on.
    pub programmed: u32,
}

/// Finding of a patrol in a block: the worst of the pages that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Found {
    /// Raw error rate at the best reference.
    pub errors: f64,
    /// Steps that this has moved.
    pub drift: f64,
}

/// A page of the flash: its block, the group in that, its row in the group, and its plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlashPage {
    /// The block, of all dies.
    pub block: Block,
    /// The group.
    pub group: u32,
    /// Row of that group.
    pub row: u32,
    /// The plane.
    pub plane: u32,
}
