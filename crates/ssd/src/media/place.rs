//! Flash pages, and their variation.

use crate::ids::Block;

/// Standard deviations of logarithms between word lines, blocks and pages.
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
    /// Logarithm of mean / median of a lognormal variable.
    pub fn above(self) -> f64 {
        (self.layer * self.layer + self.block * self.block + self.page * self.page) / 2.0
    }

    /// Deviation of a page, combined from word line, block and page.
    #[inline]
    pub fn of(self, layer: f64, block: f64, page: f64) -> f64 {
        self.layer * layer + self.block * block + self.page * page
    }
}

/// State of a block besides its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Erasures.
    pub erases: u32,
    /// Programmed logical pages, counted from the first.
    pub programmed: u32,
}

/// Result of a block's patrol: the worst of the pages read.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Found {
    /// Raw error rate at the best reference.
    pub errors: f64,
    /// Drift of the best reference, in steps.
    pub drift: f64,
}

/// A flash page: block, group, row and plane.
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
