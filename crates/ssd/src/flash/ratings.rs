//! Rated erases of each block.

use crate::config::Wear;
use crate::ids::Block;
use engine::{Distribution, Xoshiro256};
use serde::{Deserialize, Serialize};

/// Random stream of the ratings.
const RATING_STREAM: u64 = 10;

/// Rated erases of a drive's blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratings {
    all: u32,
    /// Rating of each block, if they differ.
    own: Vec<u32>,
}

impl Ratings {
    /// Ratings from the configuration; if blocks differ, drawn with `seed`.
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

    /// True if the ratings fit a drive of `blocks` blocks.
    pub(crate) fn fit(&self, blocks: usize) -> bool {
        self.own.is_empty() || self.own.len() == blocks
    }

    /// Rated erases of a block.
    #[inline]
    pub fn of(&self, block: Block) -> u32 {
        self.own.get(block.at()).copied().unwrap_or(self.all)
    }
}
