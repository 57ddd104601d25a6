//! Damage by power cuts beyond the state of the flash: pages and summaries that were
//! being programmed, blocks that were being erased, blocks that ended early.
//!
//! They are physical, and last until the block is erased; the one exception is what a boot record
//! says, which is data that the controller has written.

use crate::ids::Block;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Remainder of a page whose programming was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reading {
    /// The page appears erased.
    Erased,
    /// The page is unreadable.
    Nothing,
    /// The page is readable at times.
    Unstable,
    /// The page is readable.
    Whole,
    /// A page over several packages that only some of them have.
    InPart,
}

/// A page whose programming was cut: what it would say if it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Torn {
    /// The logical page.
    pub lpn: u64,
    /// Sequence number of its program.
    pub order: u64,
    /// Header of its block, in the first page.
    pub opening: u64,
    /// And the number of the first program of the block.
    pub first_order: u64,
    /// Readable remainder.
    pub reading: Reading,
}

/// Pages in a row behind the last one that counts, which were programmed at once: side by side with others
/// that were not, or not to their end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loose {
    /// First page within the block.
    pub page: u32,
    /// Logical page and program number of each.
    pub pages: Vec<(u64, u32)>,
    /// Header of the block.
    pub opening: u64,
    /// Number of its first program.
    pub first_order: u64,
    /// Readable remainder.
    pub reading: Reading,
}

/// A block that ended before its last page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Short {
    /// Fully programmed pages.
    pub pages: u32,
    /// The following page, if its program was cut.
    pub torn: Option<Torn>,
    /// With a write buffer: what else is there.
    #[serde(default)]
    pub loose: Vec<Loose>,
    /// True if a boot record states its valid part: the torn page as it was read then.
    pub recorded: bool,
}

/// The damage of all cuts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Damage {
    /// Blocks that ended early.
    pub short: BTreeMap<u32, Short>,
    /// Blocks whose erasure was cut.
    pub half_erased: BTreeSet<u32>,
}

impl Damage {
    /// A block has been erased to the end.
    pub(super) fn heal(&mut self, block: Block) {
        self.short.remove(&block.0);
        self.half_erased.remove(&block.0);
    }
}
