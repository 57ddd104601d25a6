//! The saved state of the FTL in a snapshot; the rest is derived from it.

use super::ageing::AgeingState;
use super::bad_blocks::BadState;
use super::free::FreeBlocks;
use super::heat::HeatState;
use super::placement::Reserve;
use super::streams::Frontier;
use super::{Ftl, PageMap};
use crate::clean::{AgeOrder, VictimIndex};
use crate::flash::Flash;
use crate::ids::{Block, BlockState, Domain, Unit};
use crate::numbers::Numbers;
use crate::room::read_within;
use engine::Xoshiro256;
use serde::Serialize;

/// Number of a missing block in a saved frontier.
const NO_BLOCK: u32 = u32::MAX;

/// The state of an FTL that is not cleaning. It has the fields of the FTL that cannot be derived.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FtlState {
    map: PageMap,
    opened: u64,
    programs: u64,
    /// Block and next page of each frontier, and the number of the block's opening, which the flash
    /// does not have while the block is empty.
    frontiers: Vec<(u32, u32, u64)>,
    /// Erased blocks of each domain in order, and where the search for the next begins.
    free: Vec<(Vec<u32>, u32)>,
    /// Closed blocks of each domain, oldest first.
    closed: Vec<Vec<u32>>,
    moved_age: Vec<u64>,
    ageing: AgeingState,
    heat: HeatState,
    write_pointer: Vec<u32>,
    clean_pointer: Vec<u32>,
    random: Xoshiro256,
    /// Writers of pages, with placement handles: the handle of each page, and the stream of each
    /// block.
    writers: Vec<u8>,
    streams: Vec<u8>,
    /// Empty if only worn blocks fail.
    bad: Option<BadState>,
    /// Free blocks reserved for the SLC cache; empty if they must be found again.
    aside: Option<u32>,
}

read_within!(FtlState {
    map: table,
    opened: any,
    programs: any,
    frontiers: list,
    free: list,
    closed: list,
    moved_age: list,
    ageing: any,
    heat: any,
    write_pointer: list,
    clean_pointer: list,
    random: any,
    writers: list,
    streams: list,
    bad: any,
    aside: any,
});

impl FtlState {
    /// The tables of pages.
    pub fn tables(&mut self) -> [&mut Numbers; 1] {
        [self.map.table()]
    }
}

impl Ftl {
    /// The tables of pages.
    pub fn tables(&mut self) -> [&mut Numbers; 1] {
        [self.map.table()]
    }

    /// State for saving.
    pub(crate) fn keep(&self) -> FtlState {
        let domains = || (0..self.geometry.domains).map(Domain);
        let frontiers =
            self.streams.frontier[..self.kept_frontiers()].iter().map(|it| match it.block {
                Some(block) => (block.0, it.next, self.blocks.sequence[block.at()]),
                None => (NO_BLOCK, it.next, 0),
            });
        let (writers, streams) = self.keep_handles();
        FtlState {
            map: self.map.clone(),
            opened: self.blocks.opened,
            programs: self.programs,
            frontiers: frontiers.collect(),
            free: domains().map(|domain| self.free.list(domain)).collect(),
            closed: domains().map(|domain| self.blocks.order.iter(domain.0).collect()).collect(),
            moved_age: self.blocks.moved_age.clone(),
            ageing: self.ageing.keep(self.counters.host_bytes),
            heat: self.streams.heat.keep(),
            write_pointer: self.placement.write_pointer.clone(),
            clean_pointer: self.marks.clean_pointer.clone(),
            random: self.random.clone(),
            writers,
            streams,
            bad: self.keep_bad(),
            aside: Some(self.free.aside()),
        }
    }

    /// Saved frontiers: those of cold data are empty at rest.
    fn kept_frontiers(&self) -> usize {
        (self.geometry.domains * self.streams.count) as usize
    }

    /// Maximum length of any list of the state or the flash: lists of blocks, groups of blocks,
    /// frontiers, pages remembered by the hot-page detector, or handles of pages.
    pub(crate) fn longest_list(&self) -> usize {
        let blocks = self.geometry.blocks() as usize;
        let others = self.streams.frontier.len() + self.streams.heat.entries();
        blocks + others + self.handle_entries()
    }

    /// True if every block is free, open, closed or retired: none is being cleaned.
    pub(crate) fn has_no_victim(&self, flash: &Flash) -> bool {
        let domains = || (0..self.geometry.domains).map(Domain);
        let free: usize = domains().map(|domain| self.free.list(domain).0.len()).sum();
        let closed: usize = domains().map(|it| self.blocks.order.iter(it.0).count()).sum();
        let is_open = |it: &&Frontier| it.block.is_some() && it.next < self.geometry.data_pages;
        let open = self.streams.frontier.iter().filter(is_open).count();
        let all = self.geometry.blocks();
        let retired = (0..all).filter(|block| flash.is_retired(Block(*block))).count();
        let merges = self.logs.as_ref().is_some_and(|logs| logs.merge());
        free + closed + open + retired == all as usize && !merges
    }

    /// Restores a state saved from a drive of the same shape.
    pub(crate) fn restore(&mut self, flash: &Flash, state: FtlState) -> Result<(), String> {
        let pages = self.geometry.pages();
        let blocks = self.geometry.blocks();
        let numbers = || {
            let lists = state.free.iter().map(|(list, _)| list).chain(&state.closed);
            let frontiers = state.frontiers.iter().map(|(block, ..)| block);
            let frontiers = frontiers.filter(|block| **block != NO_BLOCK);
            lists.flatten().chain(frontiers).copied()
        };
        let fits = state.map.fits(&self.map, pages)
            && state.frontiers.len() == self.kept_frontiers()
            && state.free.len() == self.geometry.domains as usize
            && state.closed.len() == self.geometry.domains as usize
            && state.moved_age.len() == self.blocks.moved_age.len()
            && state.write_pointer.len() == self.placement.write_pointer.len()
            && state.clean_pointer.len() == self.marks.clean_pointer.len()
            && self.handles_fit(&state.writers, &state.streams)
            && numbers().all(|block| block < blocks);
        if !fits {
            return Err("its state does not fit this drive".to_owned());
        }
        self.forget_untimed();
        self.find_slc(flash, &memory::filled(crate::device::UNKNOWN_STREAM, blocks as usize));
        self.restore_handles(&state.writers, &state.streams);
        self.map = state.map;
        self.blocks.valid.fill(0);
        let (valid, geometry) = (&mut self.blocks.valid, &self.geometry);
        self.map.each_mapped(|ppn| valid[geometry.block_of(ppn).at()] += 1);
        let mapped: u64 = valid.iter().map(|pages| u64::from(*pages)).sum();
        self.count_mapped(mapped);
        self.blocks.sequence.copy_from_slice(flash.openings());
        (self.blocks.opened, self.programs) = (state.opened, state.programs);
        self.blocks.moved_age = state.moved_age;
        self.ageing.restore(state.ageing)?;
        self.streams.heat.restore(state.heat)?;
        (self.placement.write_pointer, self.marks.clean_pointer) =
            (state.write_pointer, state.clean_pointer);
        self.random = state.random;
        self.reserve = match self.ageing.end {
            Some(_) => Reserve::Everything,
            None => Reserve::Pages(self.geometry.reserved_pages()),
        };
        self.blocks.state.fill(BlockState::Closed);
        let none = Frontier { block: None, next: self.geometry.data_pages };
        self.streams.frontier.fill(none);
        for (frontier, (block, next, opening)) in
            self.streams.frontier.iter_mut().zip(state.frontiers)
        {
            let block = (block != NO_BLOCK).then_some(Block(block));
            *frontier = Frontier { block, next };
            let Some(block) = block else { continue };
            self.blocks.sequence[block.at()] = opening;
            if next < self.geometry.data_pages {
                self.blocks.state[block.at()] = BlockState::Open;
            }
        }
        for block in (0..blocks).map(Block).filter(|block| flash.is_retired(*block)) {
            self.blocks.state[block.at()] = BlockState::Retired;
        }
        for unit in 0..self.placement.reclaimable.len() as u32 {
            self.placement.reclaimable[unit as usize] = self.count_reclaimable(Unit(unit));
        }
        self.restore_lists(flash, &state.free, &state.closed);
        self.restore_aside(state.aside);
        self.find_logs(flash);
        self.restore_bad(state.bad);
        Ok(())
    }

    /// Numbers earlier programs: block by block, and only valid pages keep their logical page, so
    /// that no other copy can seem newer.
    pub(crate) fn derive_order(&mut self, flash: &mut Flash) {
        let mut blocks: Vec<Block> = (0..self.geometry.blocks()).map(Block).collect();
        blocks.sort_by_key(|block| flash.opening(*block));
        for block in blocks {
            if flash.programmed(block) > 0 {
                flash.order_from(block, self.programs, |ppn, lpn| self.map.holds(lpn, ppn));
                self.programs += u64::from(flash.programmed(block));
            }
        }
    }

    /// Wakes after a power cut with a map and the number of the next program: everything else follows from
    /// the flash, in which every block that is not erased is closed. The detector of hot pages has
    /// forgotten, and pointers and free lists begin afresh; wear's account is kept with erase counts.
    pub(crate) fn wake(&mut self, flash: &Flash, map: PageMap, programs: u64) {
        self.note_reset();
        let full = self.geometry.data_pages;
        let count = self.streams.count as usize;
        let mut frontiers = memory::filled((NO_BLOCK, full, 0), self.kept_frontiers());
        let mut free = memory::filled((Vec::new(), 0), self.geometry.domains as usize);
        let mut closed = memory::filled(Vec::new(), self.geometry.domains as usize);
        for block in (0..self.geometry.blocks()).map(Block) {
            let domain = self.geometry.domain_of(block).at();
            match flash.programmed(block) {
                _ if flash.is_retired(block) => {}
                0 => free[domain].0.push(block.0),
                // Only a planted mistake leaves a block open.
                pages
                    if pages < self.geometry.data_pages
                        && frontiers[domain * count].0 == NO_BLOCK =>
                {
                    frontiers[domain * count] = (block.0, pages, flash.opening(block));
                }
                _ => closed[domain].push(block.0),
            }
        }
        for closed in &mut closed {
            closed.sort_by_key(|block| flash.opening(Block(*block)));
        }
        // Open blocks without pages have numbers too.
        let unseen = self.streams.frontier.len() as u64;
        let opened = flash.openings().iter().copied().max().unwrap_or(0) + unseen;
        let (writers, kept) = self.keep_handles();
        let state = FtlState {
            map,
            opened,
            programs,
            frontiers,
            free,
            closed,
            moved_age: memory::zeroed(self.blocks.moved_age.len()),
            // The counters of the drive are kept.
            ageing: self.ageing.keep(0),
            heat: self.streams.heat.forgotten(),
            write_pointer: memory::zeroed(self.placement.write_pointer.len()),
            clean_pointer: memory::zeroed(self.marks.clean_pointer.len()),
            random: self.random.clone(),
            writers,
            streams: kept,
            bad: None,
            aside: None,
        };
        self.victim.fill(None);
        let streams = self.blocks.stream.clone();
        self.restore(flash, state).expect("it is a state of this drive");
        self.find_slc(flash, &streams);
        self.settle_groups();
        let least = self.geometry.least_free_after_cut();
        if (0..self.geometry.domains).any(|domain| self.free.count(Domain(domain)) < least) {
            self.end_without_room();
        }
    }

    /// Pages of a unit that hold no valid data, erased or superseded, counted.
    pub(crate) fn count_reclaimable(&self, unit: Unit) -> u64 {
        let blocks = self.geometry.domains_per_unit * self.geometry.blocks_per_domain;
        let blocks = (unit.0 * blocks..(unit.0 + 1) * blocks).map(Block);
        let used = blocks.filter(|block| !self.is_retired(*block));
        used.map(|block| u64::from(self.geometry.data_pages - self.valid(block))).sum()
    }

    /// Restores the lists of free and closed blocks, and derived values.
    fn restore_lists(&mut self, flash: &Flash, free: &[(Vec<u32>, u32)], closed: &[Vec<u32>]) {
        let geometry = self.geometry.clone();
        self.free = FreeBlocks::new(&geometry, self.free.order());
        self.blocks.index =
            VictimIndex::new(geometry.domains, geometry.blocks_per_domain, geometry.data_pages);
        self.blocks.order = AgeOrder::new(geometry.domains, geometry.blocks());
        self.marks.low_domains.fill(0);
        self.marks.idle_domains.fill(0);
        for domain in (0..geometry.domains).map(Domain) {
            let (list, cursor) = &free[domain.at()];
            for block in list.iter().copied().map(Block) {
                self.blocks.state[block.at()] = BlockState::Free;
                self.free.insert(domain, block, flash.erases()[block.at()]);
            }
            self.free.begin_at(domain, *cursor);
            for block in closed[domain.at()].iter().copied().map(Block) {
                let relative = block.0.wrapping_sub(geometry.first_block(domain).0);
                if relative < geometry.blocks_per_domain {
                    self.blocks.index.insert(domain.0, relative, self.valid(block));
                    self.blocks.order.push(domain.0, block.0);
                }
            }
            let (count, unit) = (self.free.count(domain), geometry.unit_of(domain));
            self.marks.low_domains[unit.at()] += u32::from(count <= geometry.low_blocks);
            self.marks.idle_domains[unit.at()] += u32::from(count <= geometry.idle_blocks);
        }
    }
}
