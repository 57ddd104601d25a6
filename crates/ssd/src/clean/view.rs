//! A policy's view of a domain, and its decision.

use super::{AgeOrder, VictimIndex};
use crate::config::{Cleaning, TieBreak};
use crate::ids::{Block, BlockState};
use engine::{Random, Xoshiro256};

/// Decision of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// No cleaning: no block is worth cleaning.
    Rest,
    /// Moves the valid pages of `victim` and erases it.
    Clean {
        /// A closed block of the domain.
        victim: Block,
    },
}

/// A policy's view of a domain.
///
/// Slices are indexed by block number on the whole drive; the domain's blocks are the `blocks`
/// entries from `first_block`.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Closed blocks of the domain by number of valid pages.
    pub index: &'a VictimIndex,
    /// Closed blocks of the domain by age.
    pub order: &'a AgeOrder,
    /// Number of the domain in `index` and `order`.
    pub domain: u32,
    /// The domain's first block; numbers in `index` are relative to it.
    pub first_block: Block,
    /// Blocks of the domain.
    pub blocks: u32,
    /// Data pages per block.
    pub data_pages: u32,
    /// Valid pages of each block.
    pub valid: &'a [u32],
    /// State of each block.
    pub state: &'a [BlockState],
    /// Opening sequence number of each block.
    pub sequence: &'a [u64],
    /// Number of blocks opened so far: the clock of ages.
    pub opened: u64,
    /// Erases of each block.
    pub erases: &'a [u32],
    /// Parameters of the policies, and the tie-break.
    pub config: &'a Cleaning,
}

impl View<'_> {
    /// The closed block with the fewest valid pages; ties go by the tie-break.
    pub fn emptiest(&self, random: &mut Xoshiro256) -> Option<Block> {
        let relative = self.index.emptiest(self.domain, self.config.tie_break, random)?;
        Some(Block(self.first_block.0 + relative))
    }

    /// The closed blocks, oldest first.
    pub fn oldest(&self) -> impl Iterator<Item = Block> + '_ {
        self.order.iter(self.domain).map(Block)
    }

    /// Valid pages of a block.
    pub fn valid(&self, block: Block) -> u32 {
        self.valid[block.at()]
    }

    /// True if some closed block is worth cleaning; otherwise a policy must rest.
    pub fn some_block_pays(&self) -> bool {
        self.index.least(self.domain).is_some_and(|valid| valid < self.data_pages)
    }

    /// True if a block has superseded pages, so that cleaning it gains space.
    pub fn pays(&self, block: Block) -> bool {
        self.valid(block) < self.data_pages
    }

    /// Number of blocks opened since a block was; at least 1 for a closed one.
    pub fn age(&self, block: Block) -> u64 {
        self.opened - self.sequence[block.at()] + 1
    }

    /// A uniformly random closed block, if the domain has any.
    pub fn draw(&self, random: &mut Xoshiro256) -> Option<Block> {
        self.oldest().next()?;
        // Nearly all blocks of a full drive are closed, so few draws miss.
        loop {
            let block = Block(self.first_block.0 + random.below(u64::from(self.blocks)) as u32);
            if self.state[block.at()] == BlockState::Closed {
                return Some(block);
            }
        }
    }

    /// The lowest-ranked block worth cleaning; ties go by the tie-break.
    pub fn best<R: PartialOrd>(
        &self,
        blocks: impl Iterator<Item = Block>,
        rank: impl Fn(Block) -> R,
    ) -> Action {
        let mut best: Option<(R, Block)> = None;
        for block in blocks.filter(|block| self.pays(*block)) {
            let rank = rank(block);
            let better = best.as_ref().is_none_or(|(other, incumbent)| {
                rank < *other
                    || rank == *other
                        && match self.config.tie_break {
                            TieBreak::Highest => block > *incumbent,
                            TieBreak::Lowest => block < *incumbent,
                            // The first of equals: policies that rank all blocks rarely have ties.
                            TieBreak::Random => false,
                        }
            });
            if better {
                best = Some((rank, block));
            }
        }
        best.map_or(Action::Rest, |(_, victim)| Action::Clean { victim })
    }
}
