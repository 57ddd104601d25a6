//! The write buffer of untimed runs: the pages that a write can still replace, and the ends of groups.
//!
//! Without a clock the buffer holds the pages of a load at saturation: the latest groups of the
//! host, except groups taken by the dies. As in timed runs, the address of a page and the first
//! buffered page of its block tell if it is in the buffer. Its use is in [`untimed`](super::untimed).

use super::Relocation;
use crate::ids::{Block, Domain};
use crate::shape::Groups;
use std::collections::VecDeque;

/// No page, or no block.
pub(super) const NONE: u32 = u32::MAX;

/// Groups that wait for their dies, per group of the host that these have taken, where a meter spaces the writes; and
/// per group of the buffer that they have not, where cleaning comes in bursts. Fitted to timed runs of
/// `tlc-enterprise` at saturation: of 7.6, 7.5 and 10.7 groups at the dies (uniform writes, zipf(0.99), zipf(1.2)) 1.9,
/// 1.6 and 2.1 more wait, and in bursts 4 to 8 of 24.
const WAITING: f64 = 0.2;

/// Load-independent size of a write buffer, in groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferRoom {
    /// Maximum groups of the host.
    pub(crate) groups: f64,
    /// Groups that are between two passes of programming.
    pub(crate) between: f64,
    /// Groups that the dies program, or program next, for the host and for cleaning.
    pub(crate) at_dies: f64,
    /// True for bursts of cleaning, during which the host's groups wait.
    pub(crate) in_bursts: bool,
    /// True for a volatile buffer: flushes and erasures wait for its content.
    pub(crate) volatile: bool,
}

/// A block that is being cleaned without time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Victim {
    pub(super) job: Relocation,
    /// The group that is moved next.
    pub(super) next: u32,
    /// Expected gain in pages, and host pages written since.
    pub(super) gains: u64,
    pub(super) written: u64,
}

impl Victim {
    /// Host pages left before its next group is cleaned: cleaning keeps the moved share of its
    /// pages equal to the used share of its gain.
    pub fn writes_before_due(&self, units: u32, data_pages: u32) -> u64 {
        let moved = u64::from(self.next) * u64::from(units);
        (moved * self.gains / u64::from(data_pages)).saturating_sub(self.written)
    }
}

/// Groups of the host that wait for their dies, or are being filled; and the victims being cleaned.
#[derive(Debug, Clone)]
pub(super) struct Window {
    pub(super) shape: Groups,
    pub(super) room: BufferRoom,
    /// First buffered page of each block.
    pub(super) from: Vec<u32>,
    /// Block of each group, and its index in the block; oldest first.
    pub(super) groups: VecDeque<(Block, u32)>,
    /// The block of the group with pages of the host that fills, by stream.
    pub(super) filling: Vec<u32>,
    /// Mean share of valid pages of the last victims.
    pub(super) valid: f64,
    most: usize,
    /// True after a write since the last rest.
    pub(super) is_used: bool,
    /// The victim of each domain.
    pub(super) victims: Vec<Option<Victim>>,
}

impl Window {
    pub(super) fn new(
        shape: Groups,
        room: BufferRoom,
        (blocks, domains): (u32, u32),
        streams: u32,
    ) -> Window {
        let mut window = Window {
            shape,
            room,
            from: memory::filled(NONE, blocks as usize),
            groups: VecDeque::new(),
            filling: memory::filled(NONE, streams as usize),
            valid: 0.0,
            most: 1,
            is_used: false,
            victims: memory::filled(None, domains as usize),
        };
        window.measure();
        window
    }

    /// Measures the number of replaceable groups: the one being filled, and the waiting ones. Of
    /// the groups at the dies the host has the share that it has of all programs, 1 / A = 1 - v
    /// with v the share of valid pages of a victim.
    pub(super) fn measure(&mut self) {
        let at_dies = self.room.at_dies * (1.0 - self.valid);
        let left = self.room.groups - self.room.between - at_dies;
        let waiting = WAITING * if self.room.in_bursts { left } else { at_dies };
        self.most = (1.0 + waiting).min(left).round().max(1.0) as usize;
    }

    /// End of a group's pages.
    pub fn end_of(&self, group: u32) -> u32 {
        group * self.shape.units + self.shape.units_of(group)
    }

    #[inline]
    pub(super) fn holds(&self, block: Block, page: u32) -> bool {
        page >= self.from[block.at()]
    }

    /// Pages of the host have their places in a domain, within a group.
    pub fn note_written(&mut self, domain: Domain, pages: u64) {
        if let Some(victim) = &mut self.victims[domain.at()] {
            victim.written += pages;
        }
    }

    /// Places a host page; whether its group is full.
    #[inline]
    pub fn wrote(&mut self, filling: usize, block: Block, page: u32) -> bool {
        if self.filling[filling] != block.0 {
            self.filling[filling] = block.0;
            self.begin(block, page, page / self.shape.units);
        }
        self.ends_group(block, page)
    }

    /// A page of a block has been written, of the host or not; whether its group is full.
    #[inline]
    pub(super) fn ends_group(&mut self, block: Block, page: u32) -> bool {
        let is_full = page + 1 == self.end_of(page / self.shape.units);
        if is_full {
            self.filling.iter_mut().filter(|it| **it == block.0).for_each(|it| *it = NONE);
        }
        is_full
    }

    fn begin(&mut self, block: Block, page: u32, group: u32) {
        self.is_used = true;
        let from = &mut self.from[block.at()];
        if *from == NONE {
            *from = page;
        }
        self.groups.push_back((block, group));
        while self.groups.len() > self.most {
            self.leave();
        }
    }

    /// Sends the oldest group to its die.
    pub(super) fn leave(&mut self) {
        let Some((block, _)) = self.groups.pop_front() else { return };
        // Groups of copies are not counted as waiting.
        let next = self.groups.iter().find(|(held, _)| *held == block);
        self.from[block.at()] = next.map_or(NONE, |(_, next)| next * self.shape.units);
    }

    /// A block has been erased.
    pub(super) fn forget(&mut self, block: Block) {
        if self.from[block.at()] != NONE {
            self.from[block.at()] = NONE;
            self.groups.retain(|(held, _)| *held != block);
        }
    }

    /// Groups that end within the first `pages` pages of a row of blocks.
    pub(super) fn groups_in(&self, pages: u64) -> u64 {
        let block = u64::from(self.shape.units_per_block());
        let whole = pages / block * u64::from(self.shape.per_block);
        whole + pages % block / u64::from(self.shape.units)
    }
}
