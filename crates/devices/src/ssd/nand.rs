//! The flash itself: what survives a power cut.
//!
//! A page is programmed once per erasure, in ascending order within its block, and carries the
//! number of the logical page that was written to it in its spare area. State changes only when an
//! operation completes; the rules of NAND are asserted on every one.

use super::config::Wear;
use super::geometry::{Block, Geometry, Lpn, Ppn};
use super::wear::Ratings;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The flash as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FlashState {
    stamp: Vec<u32>,
    programmed: Vec<u16>,
    erases: Vec<u32>,
    ratings: Ratings,
}

/// All flash of a drive.
#[derive(Debug, Clone)]
pub struct Flash {
    pages_per_block: u32,
    /// Logical page number in the spare area of each page; meaningless beyond `programmed`.
    stamp: Vec<u32>,
    /// Pages programmed since the erasure of each block.
    programmed: Vec<u16>,
    /// Erasures of each block; shared with a cleaning policy while it is asked.
    erases: Arc<Vec<u32>>,
    /// Erasures that each block is rated for.
    ratings: Ratings,
}

impl Flash {
    /// Factory-new flash: erased, never worn.
    pub fn new(geometry: &Geometry, wear: &Wear, seed: u64) -> Self {
        let blocks = geometry.blocks() as usize;
        Flash {
            pages_per_block: geometry.pages_per_block,
            stamp: vec![0; blocks * geometry.pages_per_block as usize],
            programmed: vec![0; blocks],
            erases: Arc::new(vec![0; blocks]),
            ratings: Ratings::new(wear, geometry.blocks(), seed),
        }
    }

    /// Completes the programming of a page with the data of `lpn`.
    #[inline]
    pub fn program(&mut self, ppn: Ppn, lpn: Lpn) {
        let block = (ppn.0 / self.pages_per_block) as usize;
        let page = ppn.0 % self.pages_per_block;
        assert!(u32::from(self.programmed[block]) == page, "pages are programmed in order, once");
        self.programmed[block] += 1;
        self.stamp[ppn.at()] = lpn.0;
    }

    /// Completes the programming of the summary page, the last of its block.
    #[inline]
    pub fn program_summary(&mut self, block: Block) {
        let programmed = &mut self.programmed[block.at()];
        assert!(u32::from(*programmed) + 1 == self.pages_per_block, "the summary page comes last");
        *programmed += 1;
    }

    /// Completes the erasure of a block.
    pub fn erase(&mut self, block: Block) {
        assert!(self.programmed[block.at()] > 0, "an erased block is not erased again");
        self.programmed[block.at()] = 0;
        Arc::make_mut(&mut self.erases)[block.at()] += 1;
    }

    /// The logical page that was written to a programmed page.
    #[inline]
    pub fn stamp(&self, ppn: Ppn) -> Lpn {
        Lpn(self.stamp[ppn.at()])
    }

    /// Pages programmed in a block since its erasure.
    #[inline]
    pub fn programmed(&self, block: Block) -> u32 {
        u32::from(self.programmed[block.at()])
    }

    /// Erasures of each block, by block number.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// The same, to be kept: a later erasure changes a copy.
    pub fn shared_erases(&self) -> Arc<Vec<u32>> {
        Arc::clone(&self.erases)
    }

    /// Erasures that the blocks are rated for.
    pub fn ratings(&self) -> &Ratings {
        &self.ratings
    }

    /// Erasures that a block has left.
    #[inline]
    pub fn life(&self, block: Block) -> u32 {
        self.ratings.of(block).saturating_sub(self.erases[block.at()])
    }

    /// The state, to be kept.
    pub(super) fn keep(&self) -> FlashState {
        FlashState {
            stamp: self.stamp.clone(),
            programmed: self.programmed.clone(),
            erases: self.erases.to_vec(),
            ratings: self.ratings.clone(),
        }
    }

    /// Takes up a state that was kept of flash of the same shape, or says that it is not.
    pub(super) fn take_up(&mut self, state: FlashState) -> Result<(), String> {
        let fits = state.stamp.len() == self.stamp.len()
            && state.programmed.len() == self.programmed.len()
            && state.erases.len() == self.erases.len()
            && state.ratings.fit(state.erases.len());
        if !fits {
            return Err("its flash is not that of such a drive".to_owned());
        }
        self.stamp = state.stamp;
        self.programmed = state.programmed;
        self.erases = Arc::new(state.erases);
        self.ratings = state.ratings;
        Ok(())
    }
}
