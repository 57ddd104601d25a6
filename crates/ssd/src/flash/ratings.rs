//! Rated erasures of each block.

use crate::config::Wear;
use crate::ids::Block;
use engine::{Distribution, Xoshiro256};
use serde::{Deserialize, Serialize};

/// Stream of the drive's randomness from which the ratings are drawn.
const RATING_STREAM: u64 = 10;

/// Rated erasures of the blocks of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratings {
    all: u32,
    /// Rating of each block, if they differ.
    own: Vec<u32>,
}

impl Ratings {
    /// Ratings of the configuration; where blocks differ, `seed` decides how.
    pub fn new(config: &Wear, blocks: u32, seed: u64) -> Ratings {
        let all = config.rated_cycles;
        if config.spread == 0.0 {
            return Ratings { all, own: Vec::new() };
        }
        let mut random = Xoshiro256::new(seed, RATING_STREAM);
        let mean = f64::from(all);
        let curve = Distribution::Normal { mean, deviation: mean * config.spread };
        let draw = |_| curve.sample(&mut random).round().clamp(1.0, 2.0 * mean) as u32;
        Ratings { all, own: (0..blocks).map(draw).collect() }
    }

    /// True if there is a rating for each of `blocks` blocks.
    pub(crate) fn fit(&self, blocks: usize) -> bool {
        self.own.is_empty() || self.own.len() == blocks
    }

    /// Erasures that a block is rated for.
    #[inline]
    pub fn of(&self, block: Block) -> u32 {
        self.own.get(block.at()).copied().unwrap_or(self.all)
    }
}
