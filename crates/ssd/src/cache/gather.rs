//! The write buffer: groups that fill, wait and are being programmed.
//!
//! A page has its place in the flash from the moment that it comes into the buffer, so that where
//! it lies says whether it is still here: no other table is needed. The flash learns of a group
//! when it is programmed, in the order of the block's groups.

use crate::ftl::Programming;
use crate::ids::{Block, Stream};
use crate::shape::{Geometry, Groups};
use std::collections::VecDeque;

/// No group, or no block.
pub(super) const NONE: u32 = u32::MAX;

/// Owner of a buffered page, which determines its part of the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The host's.
    Host = 0,
    /// A page moved by cleaning.
    Copies = 1,
}

/// Progress of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Filling,
    /// Full, waiting for its transfer to the die.
    Waiting,
    /// Being transferred or programmed.
    Programming,
    Done,
}

/// A group in the buffer.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) block: Block,
    /// Index among the groups of its block.
    pub(super) index: u32,
    pub(super) die: u32,
    pub(super) stream: Stream,
    /// Pages by class, with their padding.
    of_class: [u32; 2],
    pub(super) stage: Stage,
    /// Pages filled before the buffer existed: a drive that was prepared without time.
    before: u32,
    /// Remaining programming passes.
    pub(super) passes: u32,
    /// The last pass has been requested.
    pub(super) ends: bool,
    /// Sequence number of its start.
    pub(super) number: u64,
    pub(super) pages: Vec<Programming>,
}

impl Group {
    /// True with data of the host, besides moved pages.
    pub(super) fn is_hosts(&self) -> bool {
        self.has(Class::Host)
    }

    /// True with pages of a class.
    pub(super) fn has(&self, class: Class) -> bool {
        self.of_class[class as usize] > 0
    }

    /// Pages of either class, without padding in cells of one bit.
    pub fn counted(&self) -> u64 {
        u64::from(self.of_class[0]) + u64::from(self.of_class[1])
    }

    /// Number of filled pages.
    pub(super) fn filled(&self) -> u32 {
        self.before + self.pages.len() as u32
    }
}

/// A block of which groups are in the buffer: these, from the oldest on.
#[derive(Debug, Clone, Default)]
struct Open {
    first: u32,
    groups: VecDeque<u32>,
}

/// The buffer.
#[derive(Debug, Clone)]
pub(super) struct Gather {
    shape: Groups,
    groups: Vec<Group>,
    free: Vec<u32>,
    open: Vec<Open>,
    free_open: Vec<u32>,
    /// Index in `open` by block, or `NONE`.
    open_of: Vec<u32>,
    /// Occupied and reserved pages by class, and their maximum.
    used: [u32; 2],
    room: [u32; 2],
    begun: u64,
}

impl Gather {
    pub(super) fn new(geometry: &Geometry, shape: Groups, room: [u32; 2]) -> Gather {
        Gather {
            shape,
            groups: Vec::new(),
            free: Vec::new(),
            open: Vec::new(),
            free_open: Vec::new(),
            // Without a buffer no block has groups.
            open_of: memory::filled(
                NONE,
                if shape.dies > 0 { geometry.blocks() as usize } else { 0 },
            ),
            used: [0; 2],
            room,
            begun: 0,
        }
    }

    #[inline]
    pub(super) fn group(&self, group: u32) -> &Group {
        &self.groups[group as usize]
    }

    #[inline]
    pub(super) fn group_mut(&mut self, group: u32) -> &mut Group {
        &mut self.groups[group as usize]
    }

    /// Room for pages of a class.
    #[inline]
    pub(super) fn room(&self, class: Class) -> u32 {
        self.room[class as usize].saturating_sub(self.used[class as usize])
    }

    /// The share of the room of a class that is in use.
    pub(super) fn used_share(&self, class: Class) -> f64 {
        f64::from(self.used[class as usize]) / f64::from(self.room[class as usize])
    }

    /// Reserves or releases pages of a class.
    pub(super) fn reserve(&mut self, class: Class, pages: u32) {
        self.used[class as usize] += pages;
    }

    pub(super) fn unreserve(&mut self, class: Class, pages: u32) {
        self.used[class as usize] -= pages;
    }

    /// The number that the next group will have.
    pub(super) fn next_number(&self) -> u64 {
        self.begun
    }

    /// The group in the buffer in which a page of a block is, if it is not programmed yet.
    #[inline]
    pub(super) fn holding(&self, block: Block, page: u32) -> Option<u32> {
        let open = self.open_of[block.at()];
        if open == NONE { None } else { self.holding_in(open, page) }
    }

    /// `group` for a superblock with groups in the buffer.
    #[inline(never)]
    fn holding_in(&self, open: u32, page: u32) -> Option<u32> {
        let open = &self.open[open as usize];
        let index = page / self.shape.units;
        let group = *open.groups.get(index.checked_sub(open.first)? as usize)?;
        let kept = &self.groups[group as usize];
        let unit = page % self.shape.units;
        let here = kept.stage != Stage::Done && unit >= kept.before;
        here.then_some(group)
    }

    /// Begins the group that has page `page` of a block.
    pub(super) fn begin(&mut self, block: Block, page: u32, die: u32, stream: Stream) -> u32 {
        let index = page / self.shape.units;
        let before = page % self.shape.units;
        let number = self.begun;
        self.begun += 1;
        let group = self.free.pop().unwrap_or_else(|| {
            self.groups.push(Group {
                block,
                index,
                die,
                stream,
                of_class: [0; 2],
                stage: Stage::Filling,
                before,
                passes: 0,
                ends: false,
                number,
                pages: memory::with_capacity(self.shape.units as usize),
            });
            self.groups.len() as u32 - 1
        });
        let kept = &mut self.groups[group as usize];
        (kept.block, kept.index, kept.die, kept.stream) = (block, index, die, stream);
        (kept.stage, kept.before, kept.number) = (Stage::Filling, before, number);
        kept.ends = false;
        kept.of_class = [0; 2];
        kept.pages.clear();
        let slot = &mut self.open_of[block.at()];
        if *slot == NONE {
            *slot = self.free_open.pop().unwrap_or_else(|| {
                self.open.push(Open::default());
                self.open.len() as u32 - 1
            });
            self.open[*slot as usize].first = index;
        }
        self.open[*slot as usize].groups.push_back(group);
        group
    }

    /// Adds a page to a group with room; whether the group is full.
    #[inline]
    pub(super) fn add(&mut self, group: u32, class: Class, programming: Programming) -> bool {
        self.used[class as usize] += 1;
        let kept = &mut self.groups[group as usize];
        kept.of_class[class as usize] += 1;
        kept.pages.push(programming);
        kept.filled() == self.shape.units_of(kept.index)
    }

    /// The next page of a group does not exist, its cells having one bit; whether the group is full.
    pub fn add_nothing(&mut self, group: u32, programming: Programming) -> bool {
        let kept = &mut self.groups[group as usize];
        kept.pages.push(programming);
        kept.filled() == self.shape.units_of(kept.index)
    }

    /// A group has been programmed: it leaves the buffer. Removes the groups that may be recorded
    /// in the flash now, and passes them to `learn` in order.
    pub(super) fn programmed(&mut self, group: u32, mut learn: impl FnMut(&Group)) {
        let kept = &mut self.groups[group as usize];
        kept.stage = Stage::Done;
        let block = kept.block;
        for (used, pages) in self.used.iter_mut().zip(kept.of_class) {
            *used -= pages;
        }
        let slot = self.open_of[block.at()];
        let open = &mut self.open[slot as usize];
        while let Some(first) = open.groups.front().copied() {
            if self.groups[first as usize].stage != Stage::Done {
                return;
            }
            learn(&self.groups[first as usize]);
            open.groups.pop_front();
            open.first += 1;
            self.free.push(first);
        }
        // A block with room continues later at another place in the list.
        self.open_of[block.at()] = NONE;
        self.free_open.push(slot);
    }

    /// A group of a block that is still in the buffer.
    pub(super) fn of_block(&self, block: Block, index: u32) -> Option<u32> {
        let open = self.open_of[block.at()];
        let open = self.open.get(open as usize)?;
        open.groups.get(index.checked_sub(open.first)? as usize).copied()
    }

    /// The groups that are not programmed yet, of those begun before a number.
    pub(super) fn unfinished(&self, before: u64) -> impl Iterator<Item = u32> + '_ {
        let all = self.open.iter().flat_map(|open| open.groups.iter().copied());
        all.filter(move |group| {
            let group = self.group(*group);
            group.number < before && group.stage != Stage::Done
        })
    }

    /// All buffered groups, in order within a block; some are programmed, and wait for others of
    /// their block.
    pub(super) fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.open.iter().flat_map(|open| open.groups.iter().copied())
    }

    /// Pages known to the map, not to the flash.
    pub(super) fn programming(&self) -> impl Iterator<Item = Programming> + '_ {
        let all = self.open.iter().flat_map(|open| open.groups.iter());
        all.flat_map(|group| self.group(*group).pages.iter().copied())
    }
}
