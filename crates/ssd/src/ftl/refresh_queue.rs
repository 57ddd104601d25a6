//! Blocks to refresh or reclaim, with the reason. The controller remembers this without its flash:
//! a power cut takes it.

use crate::config::SsdConfig;
use crate::ids::Block;
use crate::media::planted::Mistake;
use crate::shape::{Geometry, Groups};
use std::collections::BTreeMap;

/// Reason to move the data of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveReason {
    /// Too old according to the patrol.
    Refresh,
    /// Read too often.
    Reclaim,
    /// A program of the block failed.
    Failed,
}

/// Blocks to move to preserve their data.
#[derive(Debug, Clone)]
pub struct RefreshQueue {
    /// Blocks to move, and blocks being moved.
    due: BTreeMap<u32, MoveReason>,
    moving: BTreeMap<u32, MoveReason>,
    /// Pages of each block that the host has read since its erasure, and after how many it is moved.
    reads: Vec<u64>,
    most_reads: u64,
}

impl RefreshQueue {
    pub fn new(config: &SsdConfig, geometry: &Geometry) -> Option<Box<RefreshQueue>> {
        let scrubs = config.scrub.is_used() && config.ages();
        if !(scrubs || config.spares.program_fail > 0.0) {
            return None;
        }
        let of_superblock = |shape: &Groups| u64::from(shape.width) * u64::from(shape.planes);
        let of_each = geometry.groups.as_ref().map_or(1, of_superblock);
        let most = config.scrub.reclaim_reads.filter(|_| scrubs);
        Some(Box::new(RefreshQueue {
            due: BTreeMap::new(),
            moving: BTreeMap::new(),
            reads: memory::zeroed(if most.is_some() { geometry.blocks() as usize } else { 0 }),
            most_reads: most.map_or(u64::MAX, |reads| u64::from(reads) * of_each),
        }))
    }

    /// Counts a read of a page; true if its block has now been read too often.
    pub fn count_read(&mut self, block: Block) -> bool {
        let Some(reads) = self.reads.get_mut(block.at()) else { return false };
        *reads += 1;
        // Repeatedly, until it is moved: a block that is open cannot be.
        *reads >= self.most_reads
            && (*reads - self.most_reads).is_multiple_of(1 + self.most_reads / 8)
    }

    /// Schedules the move of a block, or cancels it.
    pub fn set_due(&mut self, block: Block, reason: Option<MoveReason>) {
        match reason {
            Some(reason) => {
                self.due.entry(block.0).or_insert(reason);
            }
            None => {
                self.due.remove(&block.0);
            }
        }
    }

    pub fn begin(&mut self, block: Block, reason: MoveReason) {
        self.due.remove(&block.0);
        self.moving.insert(block.0, reason);
    }

    /// A block is erased; returns the reason of its preventive move, if any.
    pub fn erased(&mut self, block: Block) -> Option<MoveReason> {
        if let Some(reads) = self.reads.get_mut(block.at())
            && !Mistake::ReadsOfTheErased.is_planted()
        {
            *reads = 0;
        }
        self.due.remove(&block.0);
        self.moving.remove(&block.0)
    }

    /// Drops the controller's memory.
    pub fn forget(&mut self) {
        self.due.clear();
        self.moving.clear();
        self.reads.fill(0);
    }

    /// The first of these blocks that is to be moved.
    pub fn next_due(&self, blocks: std::ops::Range<u32>) -> Option<(Block, MoveReason)> {
        self.due.range(blocks).next().map(|(block, reason)| (Block(*block), *reason))
    }

    /// True if the data of a block are being moved for their own sake.
    #[inline]
    pub fn moves(&self, block: Block) -> bool {
        self.moving.contains_key(&block.0)
    }
}
