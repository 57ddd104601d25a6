//! The write buffer without time: which pages a write can still replace, and where groups end.
//!
//! There is no clock here, so the buffer holds what it holds under a load that the drive just keeps up with: the
//! groups that the host began last, all but those that the dies have taken already. As in time, where a page lies
//! tells whether it is in the buffer: of each block the first page that is.
//!
//! Cleaning goes on as in time, a group of a victim whenever the host has written as much as that gains: what the
//! host supersedes meanwhile need not be moved.

use super::{Ftl, Relocation};
use crate::ssd::flash::Flash;
use crate::ssd::ids::{Block, Domain, Lpn, Stream, Unit};
use crate::ssd::shape::Groups;
use std::collections::VecDeque;

/// No page, or no block.
const NONE: u32 = u32::MAX;
/// How much of what is known of victims the last one is, as for the pace of cleaning.
const LAST_VICTIM: f64 = 0.125;

/// Groups that wait for their dies, per group of the host that these have taken, where a meter spaces the writes; and
/// per group of the buffer that they have not, where cleaning comes in bursts. Fitted to timed runs of
/// `tlc-enterprise` at saturation: of 7.6, 7.5 and 10.7 groups at the dies (uniform writes, zipf(0.99), zipf(1.2)) 1.9,
/// 1.6 and 2.1 more wait, and in bursts 4 to 8 of 24.
const WAITING: f64 = 0.2;

/// The room of a write buffer, in groups, as far as it does not depend on the load.
#[derive(Debug, Clone, Copy)]
pub(in crate::ssd) struct BufferRoom {
    /// Groups of the host that it holds.
    pub(in crate::ssd) groups: f64,
    /// Groups that are between two passes of programming.
    pub(in crate::ssd) between: f64,
    /// Groups that the dies program or have taken to be next, for the host and for cleaning.
    pub(in crate::ssd) at_dies: f64,
    /// Cleaning comes in bursts, during which the host's groups wait.
    pub(in crate::ssd) in_bursts: bool,
    /// A power cut empties it: flushes and erasures wait for what is in it.
    pub(in crate::ssd) volatile: bool,
}

/// A block that is being cleaned without time.
#[derive(Debug, Clone, Copy)]
struct Victim {
    job: Relocation,
    /// The group that is moved next.
    next: u32,
    /// Pages that it was to gain when it was chosen, and those that the host has written since.
    gains: u64,
    written: u64,
}

/// The groups of the host that wait for their dies, or fill; and what is being cleaned.
#[derive(Debug, Clone)]
pub(super) struct Window {
    shape: Groups,
    room: BufferRoom,
    /// Of each block the first page that is in the buffer.
    from: Vec<u32>,
    /// The block of each group, and its place among those of the block; oldest first.
    groups: VecDeque<(Block, u32)>,
    /// The block of the group that fills.
    filling: u32,
    /// Mean share of valid pages of the last victims.
    valid: f64,
    most: usize,
    /// Something was written since the drive rested.
    is_used: bool,
    /// What is being cleaned in each domain.
    victims: Vec<Option<Victim>>,
}

impl Window {
    fn new(shape: Groups, room: BufferRoom, (blocks, domains): (u32, u32)) -> Window {
        let mut window = Window {
            shape,
            room,
            from: vec![NONE; blocks as usize],
            groups: VecDeque::new(),
            filling: NONE,
            valid: 0.0,
            most: 1,
            is_used: false,
            victims: vec![None; domains as usize],
        };
        window.measure();
        window
    }

    /// How many groups can be replaced: the one that fills, and those that wait. Of the groups at the dies the host
    /// has the share that it has of all programs, 1 / A = 1 - v with v the share of valid pages of a victim.
    fn measure(&mut self) {
        let at_dies = self.room.at_dies * (1.0 - self.valid);
        let left = self.room.groups - self.room.between - at_dies;
        let waiting = WAITING * if self.room.in_bursts { left } else { at_dies };
        self.most = (1.0 + waiting).min(left).round().max(1.0) as usize;
    }

    /// Behind the last page of a group.
    fn end_of(&self, group: u32) -> u32 {
        group * self.shape.units + self.shape.units_of(group)
    }

    #[inline]
    fn holds(&self, block: Block, page: u32) -> bool {
        page >= self.from[block.at()]
    }

    /// A page of the host has its place; whether its group is full.
    #[inline]
    fn wrote(&mut self, block: Block, page: u32) -> bool {
        let group = page / self.shape.units;
        if self.filling == NONE {
            self.begin(block, page, group);
        }
        let is_full = page + 1 == self.end_of(group);
        if is_full {
            self.filling = NONE;
        }
        is_full
    }

    fn begin(&mut self, block: Block, page: u32, group: u32) {
        (self.filling, self.is_used) = (block.0, true);
        let from = &mut self.from[block.at()];
        if *from == NONE {
            *from = page;
        }
        self.groups.push_back((block, group));
        while self.groups.len() > self.most {
            self.leave();
        }
    }

    /// The oldest group goes to its die.
    fn leave(&mut self) {
        let Some((block, group)) = self.groups.pop_front() else { return };
        let end = self.end_of(group);
        self.from[block.at()] = if end == self.shape.units_per_block() { NONE } else { end };
    }

    /// A block has been erased.
    fn forget(&mut self, block: Block) {
        if self.from[block.at()] != NONE {
            self.from[block.at()] = NONE;
            self.groups.retain(|(held, _)| *held != block);
        }
    }

    /// Groups that end within the first `pages` pages of a row of blocks.
    fn groups_in(&self, pages: u64) -> u64 {
        let block = u64::from(self.shape.units_per_block());
        let whole = pages / block * u64::from(self.shape.per_block);
        whole + pages % block / u64::from(self.shape.units)
    }
}

impl Ftl {
    /// What the host writes without time goes through a write buffer.
    pub(in crate::ssd) fn write_through(&mut self, room: BufferRoom) {
        let shape = self.geometry.groups;
        let counts = (self.geometry.blocks(), self.geometry.domains);
        self.window = shape.map(|shape| Window::new(shape, room, counts));
    }

    /// The drive rests: what untimed writes are in the middle of is over, the buffer is empty and no block is being
    /// cleaned.
    #[inline]
    pub(in crate::ssd) fn end_untimed(&mut self, flash: &mut Flash) {
        if self.window.as_ref().is_some_and(|window| window.is_used) {
            self.rest(flash);
        }
    }

    /// Whether untimed writes are in the middle of nothing.
    pub(in crate::ssd) fn rests_untimed(&self) -> bool {
        self.window.as_ref().is_none_or(|window| !window.is_used)
    }

    #[cold]
    fn rest(&mut self, flash: &mut Flash) {
        for domain in 0..self.window.as_ref().map_or(0, |window| window.victims.len()) {
            while self.clean_group(flash, Domain(domain as u32)) {}
        }
        self.forget_untimed();
    }

    /// Nothing is known of the buffer.
    pub(super) fn forget_untimed(&mut self) {
        if let Some(window) = &mut self.window {
            window.groups.clear();
            window.filling = NONE;
            window.from.fill(NONE);
            window.victims.fill(None);
            (window.is_used, window.valid) = (false, 0.0);
            window.measure();
        }
    }

    /// Whether a logical page is in the buffer of untimed writes.
    #[inline]
    pub(super) fn is_waiting(&self, lpn: Lpn) -> bool {
        let Some(window) = &self.window else { return false };
        let Some(ppn) = self.map.get(lpn).ppn() else { return false };
        window.holds(self.geometry.block_of(ppn), self.geometry.page_in_block(ppn))
    }

    /// The domain whose group fills, if one does.
    pub(super) fn filling_untimed(&self) -> Option<Domain> {
        let block = self.window.as_ref()?.filling;
        (block != NONE).then(|| self.geometry.domain_of(Block(block)))
    }

    /// A page that the host wrote without time has its place.
    #[inline]
    pub(super) fn note_place(&mut self, block: Block, page: u32) {
        let domain = self.geometry.domain_of(block);
        if let Some(window) = &mut self.window {
            if let Some(victim) = &mut window.victims[domain.at()] {
                victim.written += 1;
            }
            self.counters.groups += u64::from(window.wrote(block, page));
        }
    }

    pub(super) fn note_erased(&mut self, block: Block) {
        if let Some(window) = &mut self.window {
            window.forget(block);
        }
    }

    /// All that was written without time becomes durable: of a buffer that a power cut empties the group that
    /// fills is padded, and it is empty.
    pub(in crate::ssd) fn flush_untimed(&mut self, flash: &mut Flash) {
        if !self.is_volatile_untimed() {
            return;
        }
        self.pad_untimed(flash);
        if let Some(window) = &mut self.window {
            while !window.groups.is_empty() {
                window.leave();
            }
        }
    }

    fn is_volatile_untimed(&self) -> bool {
        self.window.as_ref().is_some_and(|window| window.room.volatile)
    }

    /// Fills what is left of the host's group with nothing.
    fn pad_untimed(&mut self, flash: &mut Flash) {
        while let Some(domain) = self.filling_untimed() {
            let programming = self.begin_padding(domain, Stream::FIRST);
            self.complete_program(flash, programming);
            self.counters.padding += 1;
            self.note_place(programming.block, self.geometry.page_in_block(programming.ppn));
        }
    }

    /// Cleans a domain as far as untimed writes have come, and until the host has room.
    pub(super) fn clean_steadily(&mut self, flash: &mut Flash, unit: Unit) {
        // Behind a buffer a unit is one domain.
        let domain = Domain(unit.0);
        let pages = u64::from(self.geometry.data_pages);
        loop {
            let Some(window) = &self.window else { return };
            if let Some(victim) = window.victims[domain.at()] {
                let moved = u64::from(victim.next) * u64::from(window.shape.units);
                let is_due = moved * victim.gains < victim.written * pages;
                if !is_due && self.accepts(domain) {
                    return;
                }
                self.clean_group(flash, domain);
                continue;
            }
            if !self.needs_cleaning(unit) || self.gains_nothing(domain) {
                return;
            }
            let Some(job) = self.begin_cleaning(flash, unit, true) else { return };
            let gains = pages - u64::from(self.blocks.valid[job.source.at()]);
            let victim = Victim { job, next: 0, gains, written: 0 };
            if let Some(window) = &mut self.window {
                window.victims[domain.at()] = Some(victim);
            }
        }
    }

    /// Moves what is valid in the next group of a domain's victim, and erases it behind the last; whether there is
    /// one.
    fn clean_group(&mut self, flash: &mut Flash, domain: Domain) -> bool {
        let Some(window) = &mut self.window else { return false };
        let Some(victim) = &mut window.victims[domain.at()] else { return false };
        let (first, count) = (victim.next * window.shape.units, window.shape.units_of(victim.next));
        victim.next += 1;
        let (mut job, is_last) = (victim.job, victim.next == window.shape.per_block);
        self.move_pages(flash, &mut job, (first, count));
        let Some(window) = &mut self.window else { return false };
        if let Some(victim) = &mut window.victims[domain.at()] {
            victim.job = job;
        }
        if is_last {
            window.victims[domain.at()] = None;
            self.victim_moved(flash, domain, job.moved);
            let levelling = self.complete_erase(flash, job);
            debug_assert!(levelling.is_none(), "wear levelling goes without a buffer");
        }
        true
    }

    /// All that was valid in a victim has been moved: what that means for the groups. Before an erasure a buffer
    /// that a power cut empties is padded: of copies, and of what supersedes the rest.
    fn victim_moved(&mut self, flash: &mut Flash, domain: Domain, moved: u32) {
        let Some(window) = &mut self.window else { return };
        let pages = self.geometry.data_pages;
        window.valid += LAST_VICTIM * (f64::from(moved) / f64::from(pages) - window.valid);
        window.measure();
        let frontier = self.streams.of(domain, Stream::SECOND);
        let end = u64::from(self.streams.frontier[frontier.at()].next) + u64::from(pages);
        let begin = end - u64::from(moved);
        self.counters.groups += window.groups_in(end) - window.groups_in(begin);
        if !window.room.volatile {
            return;
        }
        let (units, shape) = (window.shape.units, window.shape);
        loop {
            let next = self.streams.frontier[frontier.at()].next;
            if next == pages || next.is_multiple_of(units) {
                break;
            }
            let programming = self.begin_padding(domain, Stream::SECOND);
            self.complete_program(flash, programming);
            self.counters.padding += 1;
            let end = next / units * units + shape.units_of(next / units);
            self.counters.groups += u64::from(next + 1 == end);
        }
        self.pad_untimed(flash);
    }

    /// Whether a victim would gain no more than the padding of a group of each stream, and the host has room.
    fn gains_nothing(&self, domain: Domain) -> bool {
        if !self.is_volatile_untimed() || !self.accepts(domain) {
            return false;
        }
        let pages = self.geometry.data_pages;
        let units = self.window.as_ref().map_or(0, |window| window.shape.units);
        pages - self.least_valid(domain).min(pages) <= 2 * units
    }
}
