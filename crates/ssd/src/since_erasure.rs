//! Time since the last erasure of each block (section 5 of the 2008 paper): data in a block that was erased long ago are
//! cold. Only the clock of requests counts; untimed writes take no time.

use crate::ids::Block;
use engine::Time;

/// When each block was last erased, as far as this run knows.
#[derive(Debug, Clone)]
pub struct SinceErasure {
    at: Vec<Time>,
    now: Time,
    /// Data that have not been erased for so long are cold.
    least: Time,
}

impl SinceErasure {
    pub fn new(blocks: u32, least: Time) -> SinceErasure {
        SinceErasure { at: memory::zeroed(blocks as usize), now: 0, least }
    }

    /// It is so late.
    pub fn set_time(&mut self, now: Time) {
        self.now = now;
    }

    /// A block has been erased.
    pub fn erased(&mut self, block: Block) {
        self.at[block.at()] = self.now;
    }

    /// True if a block was not erased for long enough.
    pub fn is_cold(&self, block: Block) -> bool {
        self.now - self.at[block.at()] >= self.least
    }
}
