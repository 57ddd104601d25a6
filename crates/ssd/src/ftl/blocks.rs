//! The FTL's state of every block.

use crate::clean::{AgeOrder, VictimIndex};
use crate::device::UNKNOWN_STREAM;
use crate::ids::{Block, BlockState, Unit};
use crate::shape::Geometry;

/// The opening of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening {
    /// Host pages written before its opening; later the number of the write.
    pub(crate) write: u64,
    pub(crate) block: Block,
}

/// Every block: its use, its valid pages, its age; and the closed ones in order.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    /// Valid pages of each block, counting those still being programmed.
    pub(super) valid: Vec<u32>,
    pub(super) state: Vec<BlockState>,
    /// Ascending number of each block's opening; 0 when erased. The block's first page stores it.
    pub(super) sequence: Vec<u64>,
    /// The stream for which each block was opened.
    pub(super) stream: Vec<u8>,
    /// Blocks opened so far.
    pub(super) opened: u64,
    /// The closed blocks of each domain by valid pages, and by age.
    pub(super) index: VictimIndex,
    pub(super) order: AgeOrder,
    /// For each block, the excess age of its moved data over the block's, summed over pages; empty
    /// unless a rule needs it.
    pub(super) moved_age: Vec<u64>,
    /// Opened blocks, if recorded.
    pub(super) openings: Option<Vec<Opening>>,
}

impl Blocks {
    /// Prefetches the state of a closed block to be cleaned.
    pub fn prefetch(&self, block: Block) {
        memory::prefetch(&self.valid, block.at());
        memory::prefetch(&self.state, block.at());
        memory::prefetch(&self.sequence, block.at());
        self.order.prefetch(block.0);
    }

    /// All blocks free.
    pub(super) fn new(geometry: &Geometry, keeps_moved_age: bool) -> Blocks {
        let blocks = geometry.blocks() as usize;
        let Geometry { domains, blocks_per_domain, data_pages, .. } = *geometry;
        Blocks {
            valid: memory::zeroed(blocks),
            state: memory::filled(BlockState::Free, blocks),
            sequence: memory::zeroed(blocks),
            stream: memory::filled(UNKNOWN_STREAM, blocks),
            opened: 0,
            index: VictimIndex::new(domains, blocks_per_domain, data_pages),
            order: AgeOrder::new(domains, geometry.blocks()),
            moved_age: memory::zeroed(if keeps_moved_age { blocks } else { 0 }),
            openings: None,
        }
    }
}

impl Blocks {
    /// Closes a block of a domain, given the domain's first block.
    pub fn close(&mut self, block: Block, domain: u32, first: u32) {
        self.state[block.at()] = BlockState::Closed;
        self.index.insert(domain, block.0 - first, self.valid[block.at()]);
        self.order.push(domain, block.0);
    }

    /// Restores the stream of each block's opening.
    pub fn restore_streams(&mut self, streams: &[u8]) {
        self.stream.copy_from_slice(streams);
    }

    /// For which stream a block was opened.
    pub fn opened_for(&mut self, block: Block, stream: u8) {
        self.stream[block.at()] = stream;
    }
}

/// Number of domains of each unit with few erased blocks.
#[derive(Debug, Clone)]
pub(super) struct LowMarks {
    /// Domains of each unit at or below the cleaning threshold.
    pub(super) low_domains: Vec<u32>,
    /// Domains of each unit at or below the threshold of background cleaning.
    pub(super) idle_domains: Vec<u32>,
    /// The domain of each unit at which the next search for a low one begins.
    pub(super) clean_pointer: Vec<u32>,
}

impl LowMarks {
    /// No block is erased.
    pub(super) fn new(geometry: &Geometry) -> LowMarks {
        let all = memory::filled(geometry.domains_per_unit, geometry.units as usize);
        let clean_pointer = memory::zeroed(geometry.units as usize);
        LowMarks { low_domains: all.clone(), idle_domains: all, clean_pointer }
    }

    /// Notes a change of the number of free blocks in a unit's domain.
    pub fn note(&mut self, unit: Unit, (before, now): (u32, u32), geometry: &Geometry) {
        let all = [
            (&mut self.low_domains, geometry.low_blocks),
            (&mut self.idle_domains, geometry.idle_blocks),
        ];
        for (domains, most) in all {
            let count = &mut domains[unit.at()];
            *count += u32::from(now <= most && before > most);
            *count -= u32::from(now > most && before <= most);
        }
    }
}
