//! Cleaning policies: which block is cleaned next.
//!
//! A policy is one pure function from a read-only [`View`] of a domain to an [`Action`]. It changes
//! nothing and charges nothing: the FTL acts, the timing charges. Adding a policy is one file in
//! this folder and one row in the table below; the config key, the listing and the tests follow.

mod greedy;
mod index;

pub use index::VictimIndex;

use super::config::TieBreak;
use super::geometry::Block;

/// What a policy wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing: no block is worth cleaning.
    Rest,
    /// Move the valid pages out of `victim` and erase it.
    Clean {
        /// A closed block of the domain.
        victim: Block,
    },
}

/// What a policy sees of a domain.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The domain's closed blocks by number of valid pages.
    pub index: &'a VictimIndex,
    /// Number of the domain in the index.
    pub domain: u32,
    /// The domain's first block; block numbers in the index are relative to it.
    pub first_block: Block,
    /// Data pages of a block.
    pub data_pages: u32,
    /// Which of equally good victims to take.
    pub tie_break: TieBreak,
}

impl View<'_> {
    /// The closed block with the fewest valid pages, and how many those are.
    pub fn emptiest(&self) -> Option<(Block, u32)> {
        let (relative, valid) = self.index.emptiest(self.domain, self.tie_break)?;
        Some((Block(self.first_block.0 + relative), valid))
    }
}

macro_rules! cleaners {
    ($($module:ident: $variant:ident = $word:literal, $summary:literal;)+) => {
        options::choices! {
            /// The cleaning policies, by the names of the literature.
            pub enum Policy {
                $(#[doc = $summary] $variant = $word,)+
            }
        }

        impl Policy {
            /// The policy's decision for a domain.
            #[inline]
            pub fn step(self, view: &View<'_>) -> Action {
                match self {
                    $(Policy::$variant => $module::step(view),)+
                }
            }
        }
    };
}

cleaners! {
    greedy: Greedy = "greedy", "The block with the fewest valid pages.";
}
