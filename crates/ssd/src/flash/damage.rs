//! Damage by power cuts: torn pages and summaries, half-erased blocks, and blocks that ended early.
//!
//! Damage is physical and lasts until the block's erase, except for the content of boot records,
//! which are data written by the controller.

use crate::ids::Block;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Readability of a torn page.
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
    /// A page across several packages, present in only some of them.
    InPart,
}

/// A torn page, with the content that it has if readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Torn {
    /// Logical page.
    pub lpn: u64,
    /// Sequence number of its program.
    pub order: u64,
    /// Opening number of its block, if it is the first page.
    pub opening: u64,
    /// Full number of the block's first program, if it is the first page.
    pub first_order: u64,
    /// Readability.
    pub reading: Reading,
}

/// Consecutive pages behind the last valid one, programmed together with pages that were not
/// completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loose {
    /// First page within the block.
    pub page: u32,
    /// Logical page and program number of each page.
    pub pages: Vec<(u64, u32)>,
    /// Opening number of the block.
    pub opening: u64,
    /// Number of the block's first program.
    pub first_order: u64,
    /// Readability.
    pub reading: Reading,
}

/// A block that ended before its last page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Short {
    /// Fully programmed pages.
    pub pages: u32,
    /// The following page, if its program was cut.
    pub torn: Option<Torn>,
    /// Behind a write buffer: further pages.
    #[serde(default)]
    pub loose: Vec<Loose>,
    /// True if a boot record states the valid part, including the torn page as read then.
    pub recorded: bool,
}

/// Damage of all power cuts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Damage {
    /// Blocks that ended early.
    pub short: BTreeMap<u32, Short>,
    /// Blocks whose erase was interrupted.
    pub half_erased: BTreeSet<u32>,
}

impl Damage {
    /// Removes the damage of an erased block.
    pub(super) fn heal(&mut self, block: Block) {
        self.short.remove(&block.0);
        self.half_erased.remove(&block.0);
    }
}
