//! The logs of the members: a write lays down first what it is about to change.
//!
//! A log lies behind the chunks of its member. An entry is a header and what follows it, written through
//! any cache. Header and size are those of Linux md and mdadm for partial parity: 4 KiB, and 1 MiB or a
//! chunk if that is more.

use super::Raid;
use super::operation::{Kind, Operation, Purpose, Span, Stage};
use crate::array::ArrayConfig;
use crate::array::redundancy::HoleRule;
use crate::kit::slots::Slot;
use engine::{Lba, Op, Request, SECTOR_BYTES, Time};
use std::collections::VecDeque;

/// Sectors of a header, and of the blocks of which room is given out.
const HEADER: u64 = 4096 / SECTOR_BYTES;
/// Sectors of a log, at least.
const LEAST: u64 = if cfg!(test) { 32 } else { (1 << 20) / SECTOR_BYTES };

/// Room of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    log: u32,
    first: u32,
    blocks: u32,
}

#[cfg(test)]
impl Place {
    pub(super) fn range(self) -> std::ops::Range<u32> {
        self.first..self.first + self.blocks
    }
}

/// Room for entries. Of a journal all members have the same: an entry lies at the same place of each.
#[derive(Debug, Default)]
pub(super) struct Log {
    first_sector: u64,
    /// By log and block, whether something is there.
    taken: Vec<Vec<bool>>,
    /// By log, behind the entry that was given room last.
    next: Vec<usize>,
    /// Operations that wait for room, in order.
    waiting: VecDeque<Slot>,
}

impl Log {
    /// What the logs take of each member, sectors; nothing where there are none.
    pub(super) fn sectors(config: &ArrayConfig) -> u64 {
        // A block more, since entries begin at whole ones.
        if config.hole.has_log() { Log::blocks(config) * HEADER + HEADER } else { 0 }
    }

    fn blocks(config: &ArrayConfig) -> u64 {
        let chunk = config.stripe.bytes() / SECTOR_BYTES;
        LEAST.max(HEADER + chunk).div_ceil(HEADER)
    }

    /// Behind so many sectors of each member.
    pub(super) fn new(config: &ArrayConfig, sectors: u64) -> Log {
        let logs = match config.hole {
            HoleRule::Resync => return Log::default(),
            HoleRule::Journal => 1,
            HoleRule::PartialParity => config.members as usize,
        };
        Log {
            first_sector: sectors.next_multiple_of(HEADER),
            taken: vec![vec![false; Log::blocks(config) as usize]; logs],
            next: vec![0; logs],
            waiting: VecDeque::new(),
        }
    }

    /// Room for an entry, if there is any.
    fn take(&mut self, log: u32, blocks: u64) -> Option<Place> {
        let (taken, blocks) = (&mut self.taken[log as usize], blocks as usize);
        let next = &mut self.next[log as usize];
        let last = taken.len() - blocks;
        let mut starts = (*next..=last).chain(0..=last.min(*next));
        let first = starts.find(|first| !taken[*first..first + blocks].contains(&true))?;
        taken[first..first + blocks].fill(true);
        *next = first + blocks;
        Some(Place { log, first: first as u32, blocks: blocks as u32 })
    }

    pub(super) fn free(&mut self, place: Place) {
        self.fill(place, false);
    }

    fn fill(&mut self, place: Place, is_taken: bool) {
        let first = place.first as usize;
        let taken = &mut self.taken[place.log as usize];
        taken[first..first + place.blocks as usize].fill(is_taken);
    }

    /// Of all entries only these are still of use.
    pub(super) fn keep_only(&mut self, places: impl Iterator<Item = Place>) {
        self.waiting.clear();
        self.taken.iter_mut().for_each(|it| it.fill(false));
        places.for_each(|place| self.fill(place, true));
    }
}

impl Raid {
    /// What an operation writes to a place of its stripe.
    pub(super) fn written_span(&self, operation: &Operation, place: u64) -> Span {
        let chunk = self.geometry.chunk;
        if self.geometry.is_mirror() {
            return operation.span(0, chunk);
        }
        if place < self.geometry.data {
            operation.span(place, chunk)
        } else {
            operation.hull(chunk)
        }
    }

    /// Whether the log has an entry of an operation at a place of its stripe.
    fn is_logged(&self, operation: &Operation, place: u64) -> bool {
        self.has(operation.stripe, place)
            && match self.hole.rule {
                HoleRule::Resync => false,
                HoleRule::Journal => self.is_written(operation, place),
                HoleRule::PartialParity => place == self.geometry.data,
            }
    }

    /// Sectors behind the header: none of a trim, or of a stripe of which nothing is left as it was.
    pub(super) fn logged_sectors(&self, operation: &Operation, place: u64) -> u64 {
        let chunk = self.geometry.chunk;
        let hull = operation.hull(chunk);
        let by_parity = self.hole.rule == HoleRule::PartialParity;
        let is_full = |place: u64| operation.span(place, chunk) == hull;
        if operation.kind == Kind::Trim || by_parity && (0..self.geometry.data).all(is_full) {
            return 0;
        }
        self.written_span(operation, place).sectors()
    }

    /// Logs what a write is about to change, or has it wait for room; false if there is nothing to log.
    pub(super) fn log_first(&mut self, slot: Slot, now: Time) -> bool {
        let operation = self.operations[slot];
        let width = self.geometry.width;
        let is_change = matches!(operation.kind, Kind::Write | Kind::Trim);
        if !is_change || !(0..width).any(|place| self.is_logged(&operation, place)) {
            return false;
        }
        let parity = self.geometry.data.min(width - 1);
        let log = match self.hole.rule {
            HoleRule::PartialParity => self.geometry.member(operation.stripe, parity) as u32,
            HoleRule::Resync | HoleRule::Journal => 0,
        };
        let sectors = self.logged_sectors(&operation, parity);
        let Some(room) = self.hole.log.take(log, 1 + sectors.div_ceil(HEADER)) else {
            self.operations[slot].stage = Stage::LogFull;
            self.hole.log.waiting.push_back(slot);
            return true;
        };
        (self.operations[slot].log, self.operations[slot].stage) = (Some(room), Stage::Logging);
        for place in 0..width {
            if self.is_logged(&operation, place) {
                let sectors = self.logged_sectors(&operation, place);
                self.submit_log(slot, Purpose::Log, place, room, sectors, now);
            }
        }
        true
    }

    /// Reads from the log what it has of an operation at a place of its stripe.
    pub(super) fn recall(&mut self, slot: Slot, place: u64, now: Time) {
        let operation = self.operations[slot];
        let room = operation.log.expect("what is written again is in the log");
        let most = u64::from(room.blocks - 1) * HEADER;
        let sectors = self.logged_sectors(&operation, place).min(most);
        self.submit_log(slot, Purpose::Recall, place, room, sectors, now);
    }

    fn submit_log(
        &mut self,
        slot: Slot,
        purpose: Purpose,
        place: u64,
        room: Place,
        sectors: u64,
        now: Time,
    ) {
        let operation = self.operations[slot];
        let op = if purpose == Purpose::Log { Op::Write } else { Op::Read };
        let lba = Lba(self.hole.log.first_sector + u64::from(room.first) * HEADER);
        let fua = purpose == Purpose::Log;
        let request = Request { fua, ..Request::new(0, op, lba, (HEADER + sectors) as u32) };
        let span = self.written_span(&operation, place);
        let member = self.geometry.member(operation.stripe, place) as usize;
        self.submit_part(slot, purpose, place, span, member, request, now);
    }

    /// Room has become free.
    pub(super) fn log_what_waits(&mut self, now: Time) {
        for _ in 0..self.hole.log.waiting.len() {
            let Some(slot) = self.hole.log.waiting.pop_front() else { return };
            if !self.log_first(slot, now) {
                // Its parity has gone meanwhile.
                self.operations[slot].stage = Stage::Reading;
                self.settle(slot, now);
            }
        }
    }
}
