//! Checkpoints: the map is written alternately to two places outside the data blocks, page by page
//! between the pages of requests. A start reads the last complete one, and the blocks opened since.
//!
//! A controller knows these blocks by their opening order; here they are found by changes in the
//! flash. A checkpoint maps each page as of the last completed program before it, and lists the
//! programs in progress that were to become newest copies. Trimmed copies do not count if they are
//! programmed later. A checkpoint therefore makes earlier trim records unnecessary.

use super::planted::Bug;
use crate::config::{Recovery, SsdConfig};
use crate::flash::Flash;
use crate::ftl::{Ftl, PageMap, Programming};
use crate::ids::{Block, Lpn, Unit};
use crate::shape::Geometry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Event at which a checkpoint starts.
pub(super) const DUE: u32 = 1;

/// A checkpoint.
#[derive(Debug, Clone)]
pub(super) struct Checkpoint {
    map: PageMap,
    /// All programs below this number had completed.
    pub(super) horizon: u64,
    /// Number of the next program at its start.
    next: u64,
    /// Numbers of the programs in progress that were to become newest copies of their pages; moved
    /// cold data keep them.
    awaited: BTreeSet<u64>,
    /// State by block: erases, and programmed pages.
    blocks: Vec<(u32, u32)>,
    /// Opening number of each block.
    openings: Vec<u64>,
}

impl Checkpoint {
    /// A checkpoint of a map, with the programs in progress that will be newest copies. All
    /// programs below `horizon` have completed.
    pub(super) fn new(
        (ftl, flash): (&Ftl, &Flash),
        map: PageMap,
        awaited: &[Programming],
        horizon: Option<u64>,
    ) -> Checkpoint {
        let next = ftl.next_program();
        Checkpoint {
            map,
            horizon: horizon.unwrap_or(next),
            next,
            awaited: awaited.iter().map(|it| ftl.header_of(flash, it).2).collect(),
            blocks: (0..ftl.geometry().blocks()).map(|it| state(flash, Block(it))).collect(),
            openings: flash.openings().to_vec(),
        }
    }
}

impl Checkpoint {
    /// True if a block that had pages has been erased since, and opened or not.
    fn was_opened_anew(&self, flash: &Flash, block: Block) -> bool {
        let opening = self.openings[block.at()];
        opening != 0 && opening != flash.opening(block)
    }
}

/// The checkpoint being written.
#[derive(Debug, Clone)]
pub(super) struct Writing {
    pub(super) checkpoint: Checkpoint,
    /// Remaining pages, by unit and in total.
    pub(super) by_unit: Vec<u64>,
    pub(super) left: u64,
    /// Idle units with remaining pages.
    pub(super) free: VecDeque<Unit>,
}

/// The checkpoints of a drive.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoints {
    pub(super) is_used: bool,
    /// Flash pages of a checkpoint.
    pub(super) pages: u64,
    /// Flash pages written at once.
    pub(super) at_a_time: u64,
    pub(super) places: [Option<Checkpoint>; 2],
    /// Position of the last complete checkpoint.
    pub(super) last: usize,
    pub(super) writing: Option<Writing>,
    pub(super) is_due: bool,
    /// Number of the next program at the start of the last checkpoint.
    pub(super) programs: Option<u64>,
}

impl Checkpoints {
    pub(super) fn new(config: &SsdConfig, geometry: &Geometry) -> Checkpoints {
        let entry = if geometry.wide { 5 } else { 4 };
        let bytes = geometry.exported_pages() * entry;
        Checkpoints {
            is_used: config.persistence.recovery == Recovery::Checkpoint,
            pages: bytes.div_ceil(config.page_size.bytes()),
            at_a_time: u64::from(geometry.granule.flash_pages),
            places: [None, None],
            last: 1,
            writing: None,
            is_due: false,
            programs: None,
        }
    }

    /// Drops an incomplete checkpoint.
    pub(super) fn lose_power(&mut self) {
        self.is_due = false;
        let Some(writing) = self.writing.take() else { return };
        if Bug::HalfCheckpoint.is_planted() {
            let mut half = writing.checkpoint;
            let pages = half.map.mapped().map(|(lpn, _)| lpn).collect::<Vec<_>>();
            let all: u64 = self.pages.div_ceil(self.at_a_time).max(1);
            let there = pages.len() as u64 * (all - writing.left) / all;
            for lpn in &pages[there as usize..] {
                half.map.clear(*lpn);
            }
            self.last = 1 - self.last;
            self.places[self.last] = Some(half);
        }
    }

    fn last(&self) -> Option<&Checkpoint> {
        self.places[self.last].as_ref()
    }

    /// True with a complete checkpoint.
    pub(super) fn is_there(&self) -> bool {
        self.last().is_some()
    }

    /// True if a block has changed since the last checkpoint.
    pub(super) fn has_changed(&self, flash: &Flash, block: Block) -> bool {
        self.last().is_none_or(|last| {
            // An erasure of one bit a cell may not count as one.
            last.blocks[block.at()] != state(flash, block) || last.was_opened_anew(flash, block)
        })
    }

    /// Map of the last checkpoint updated with later programs; `None` without a checkpoint.
    pub(super) fn find_map(&self, geometry: &Geometry, flash: &Flash) -> Option<PageMap> {
        let last = self.last()?;
        let mut map = last.map.clone();
        // Moved cold data keep their opening number, and each page its index in the block.
        let changed = (0..geometry.blocks()).map(Block).filter(|it| self.has_changed(flash, *it));
        let mut moved: BTreeMap<u64, Vec<Block>> = BTreeMap::new();
        changed.for_each(|it| moved.entry(flash.opening(it)).or_default().push(it));
        for (lpn, ppn) in last.map.mapped() {
            let block = geometry.block_of(ppn);
            let erased = last.blocks[block.at()].0 != flash.erases()[block.at()]
                || last.was_opened_anew(flash, block);
            if erased || self.has_changed(flash, block) && flash.stamp(ppn) != lpn {
                map.clear(lpn);
                let page = geometry.page_in_block(ppn);
                let twins = moved.get(&last.openings[block.at()]).into_iter().flatten();
                let mut twins = twins.filter(|it| {
                    page < flash.programmed(**it).min(geometry.data_pages)
                        && flash.stamp(geometry.ppn(**it, page)) == lpn
                });
                if let Some(twin) = twins.next() {
                    map.set(lpn, geometry.ppn(*twin, page));
                }
            }
        }
        for block in (0..geometry.blocks()).map(Block) {
            if !self.has_changed(flash, block) {
                continue;
            }
            for page in 0..flash.programmed(block).min(geometry.data_pages) {
                let ppn = geometry.ppn(block, page);
                let (lpn, order) = (flash.stamp(ppn), flash.full_order(ppn));
                let is_known = order < last.next && !last.awaited.contains(&order);
                if lpn == Lpn::PADDING || order < last.horizon || is_known {
                    continue;
                }
                if map.get(lpn).ppn().is_none_or(|found| flash.full_order(found) < order) {
                    map.set(lpn, ppn);
                }
            }
        }
        Some(map)
    }
}

/// Erases and programmed pages of a block.
fn state(flash: &Flash, block: Block) -> (u32, u32) {
    (flash.erases()[block.at()], flash.programmed(block))
}
