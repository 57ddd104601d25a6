//! Rebuilds the map from the flash, as a controller does that has lost its memory.
//!
//! Of the programmed copies of a logical page the newest counts: the one with the largest order where
//! an order per page is kept, else the one in the block opened last, and there the last. The second
//! rule is right where a pool is one domain with one frontier, whose pages are written one behind the
//! other; elsewhere a later copy may lie in a block that was opened earlier.
//!
//! Two events leave no trace: trims, so that a trimmed page that still lies in the flash is mapped
//! again; and which of two copies the map meant while cold data moves into a worn block, which
//! takes its numbers page by page. Either copy holds the same data.

use super::{Ftl, PageMap};
use crate::flash::Flash;
use crate::ids::{Block, BlockState, Domain, Lpn, Ppn};
use crate::power::planted::Bug;
use crate::shape::Geometry;

/// State of a drive rebuilt from its flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// Position of each logical page.
    map: PageMap,
    /// Valid pages of each block.
    valid: Vec<u32>,
    /// Free, open, closed or retired.
    state: Vec<BlockState>,
    /// Free blocks of each domain, by number.
    free: Vec<Vec<Block>>,
    /// Blocks of each domain that are programmed in part, by number.
    open: Vec<Vec<Block>>,
    /// Closed blocks of each domain, opened longest ago first.
    closed: Vec<Vec<Block>>,
}

impl Rebuilt {
    /// Position of each logical page.
    pub fn map(&self) -> &PageMap {
        &self.map
    }

    /// The map, taken.
    pub(crate) fn into_map(self) -> PageMap {
        self.map
    }

    /// Valid pages of a block.
    pub fn valid(&self, block: Block) -> u32 {
        self.valid[block.at()]
    }

    /// Use of a block; a block being cleaned is closed, one being filled is open.
    pub fn state(&self, block: Block) -> BlockState {
        self.state[block.at()]
    }

    /// Free blocks of a domain, by number.
    pub fn free(&self, domain: Domain) -> &[Block] {
        &self.free[domain.at()]
    }

    /// Blocks of a domain that are programmed in part, by number.
    pub fn open(&self, domain: Domain) -> &[Block] {
        &self.open[domain.at()]
    }

    /// Closed blocks of a domain, opened longest ago first.
    pub fn closed(&self, domain: Domain) -> &[Block] {
        &self.closed[domain.at()]
    }
}

/// Rebuilds the state of the FTL from the flash. Of blocks whose erasure was begun and not
/// completed no page is trusted.
pub fn rebuild(geometry: &Geometry, flash: &Flash, being_erased: &[Block]) -> Rebuilt {
    let blocks = geometry.blocks() as usize;
    let lists = || memory::filled(Vec::new(), geometry.domains as usize);
    let mut rebuilt = Rebuilt {
        map: PageMap::new(geometry.exported_pages(), geometry.wide),
        valid: memory::zeroed(blocks),
        state: memory::with_capacity(blocks),
        free: lists(),
        open: lists(),
        closed: lists(),
    };
    for block in (0..geometry.blocks()).map(Block) {
        let domain = geometry.domain_of(block).at();
        let state = match flash.programmed(block) {
            _ if flash.is_retired(block) => BlockState::Retired,
            0 => BlockState::Free,
            programmed if programmed == geometry.pages_per_block => BlockState::Closed,
            _ => BlockState::Open,
        };
        rebuilt.state.push(state);
        match state {
            BlockState::Free => rebuilt.free[domain].push(block),
            BlockState::Open => rebuilt.open[domain].push(block),
            BlockState::Closed => rebuilt.closed[domain].push(block),
            _ => {}
        }
        if !being_erased.contains(&block) {
            take_newer(&mut rebuilt.map, geometry, flash, block);
        }
    }
    for (_, ppn) in rebuilt.map.mapped() {
        rebuilt.valid[geometry.block_of(ppn).at()] += 1;
    }
    for closed in &mut rebuilt.closed {
        closed.sort_by_key(|block| flash.opening(*block));
    }
    rebuilt
}

/// Maps the logical pages of a block that are newer than the copies found so far.
fn take_newer(map: &mut PageMap, geometry: &Geometry, flash: &Flash, block: Block) {
    for page in 0..flash.programmed(block).min(geometry.data_pages) {
        let ppn = geometry.ppn(block, page);
        let lpn = flash.stamp(ppn);
        if lpn == Lpn::PADDING {
            continue;
        }
        let is_newer = |found| age(geometry, flash, ppn) > age(geometry, flash, found);
        if map.get(lpn).ppn().is_none_or(is_newer) {
            map.set(lpn, ppn);
        }
    }
}

/// Order of the copies of a logical page.
fn age(geometry: &Geometry, flash: &Flash, ppn: Ppn) -> (u64, u32) {
    if flash.is_ordered() && !Bug::BlockNumberOnly.is_planted() {
        return (flash.full_order(ppn), 0);
    }
    (flash.opening(geometry.block_of(ppn)), geometry.page_in_block(ppn))
}

impl Ftl {
    /// True if the flash identifies the newest copy of each page: by an order per page, or because
    /// the pages of a pool are written one behind the other.
    pub(crate) fn can_be_rebuilt(&self, flash: &Flash) -> bool {
        let in_turn = self.geometry.frontiers == 1 && self.geometry.domains == self.geometry.pools;
        flash.is_ordered() || in_turn
    }

    /// True if two physical pages hold the same data: cold data that is being moved into a worn block.
    pub(crate) fn are_twins(&self, flash: &Flash, one: Ppn, other: Ppn) -> bool {
        let block = |ppn| self.geometry.block_of(ppn);
        let page = |ppn: Ppn| self.geometry.page_in_block(ppn);
        page(one) == page(other)
            && flash.opening(block(one)) == flash.opening(block(other))
            && flash.stamp(one) == flash.stamp(other)
    }

    /// The closed blocks of a domain, opened longest ago first.
    pub(crate) fn closed(&self, domain: Domain) -> impl Iterator<Item = Block> + '_ {
        self.blocks.order.iter(domain.0).map(Block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        Cleaning, Frontiers, Levelling, LevellingRule, Persistence, SsdConfig, Wear,
    };
    use crate::device::building::proceed;
    use engine::{Random, Xoshiro256};

    /// Worn blocks are filled with cold data, and two frontiers mix the ages of blocks.
    fn config() -> SsdConfig {
        SsdConfig {
            channels: 1,
            dies_per_package: 1,
            planes_per_die: 1,
            blocks_per_plane: 32,
            pages_per_block: 8,
            spare_factor: Some(0.3),
            cleaning: Cleaning {
                levelling: Levelling {
                    rule: LevellingRule::Migrate,
                    retirement_age: 1.0,
                    cold_life: 0.5,
                    ..Levelling::default()
                },
                frontiers: Frontiers::SeparateMoved,
                ..Cleaning::default()
            },
            wear: Wear { rated_cycles: 40, spread: 0.2, ..Wear::default() },
            persistence: Persistence { order: true, ..Persistence::default() },
            ..SsdConfig::default()
        }
    }

    /// Only 32 bits of a page's number are stored: drives that programmed 2^32 pages and more, some
    /// of them between the writing of cold data and its move into a worn block.
    #[test]
    fn the_order_goes_on_past_32_bits() {
        let config = config();
        let geometry = Geometry::new(&config).unwrap();
        let (mut ftl, mut flash) =
            Ftl::new(&config, &geometry, 1, &mut proceed).continue_value().unwrap();
        let random = &mut Xoshiro256::new(1, 0);
        let hot = geometry.exported_pages() / 4;
        // A block is filled within 2^32 programs of its opening: no leap is longer.
        let long = (1 << 32) - 2000;
        for leap in [0, long, long, 1 << 31, 123, long] {
            ftl.programs += leap;
            for _ in 0..500 {
                ftl.overwrite_untimed(&mut flash, &[random.below(hot)]);
                assert!(rebuild(&geometry, &flash, &[]).map == ftl.map, "after {leap}");
            }
        }
        assert!(ftl.counters.migrated_blocks > 10);
    }
}
