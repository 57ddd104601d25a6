//! Logs on the members: a write first logs its changes.
//!
//! A log lies behind its member's chunks. An entry is a header with data, written with FUA. Sizes
//! follow Linux md and mdadm for partial parity: a header of 4 KiB, and a log of at least 1 MiB or
//! a chunk.

use super::message::Place;
use crate::ArrayOptions;
use crate::redundancy::HoleRule;
use engine::SECTOR_BYTES;
use ssd::device::DeviceKind;
use ssd::device::kit::slots::Slot;
use std::collections::VecDeque;

/// Sectors of a header, which is also the allocation block.
pub const HEADER: u64 = 4096 / SECTOR_BYTES;
/// Minimum log size in sectors.
const LEAST: u64 = if cfg!(test) { 32 } else { (1 << 20) / SECTOR_BYTES };

/// Space for entries. A journal's entry takes the same blocks on every member.
#[derive(Debug, Clone, Default)]
pub struct Log {
    first_sector: u64,
    /// Used blocks of each log.
    taken: Vec<Vec<bool>>,
    /// Block behind the last entry, per log.
    next: Vec<usize>,
    /// Operations that wait for log space, in order.
    waiting: VecDeque<Slot>,
}

impl Log {
    /// Space for the log on each member, sectors; 0 without a log.
    pub fn sectors(config: &ArrayOptions<impl DeviceKind>) -> u64 {
        // One more block, because entries start at block boundaries.
        if config.hole.has_log() { Log::blocks(config) * HEADER + HEADER } else { 0 }
    }

    fn blocks(config: &ArrayOptions<impl DeviceKind>) -> u64 {
        let chunk = config.stripe.bytes() / SECTOR_BYTES;
        LEAST.max(HEADER + chunk).div_ceil(HEADER)
    }

    /// A log behind the first `sectors` sectors of each member.
    pub fn new(config: &ArrayOptions<impl DeviceKind>, sectors: u64) -> Log {
        let logs = match config.hole {
            HoleRule::Resync => return Log::default(),
            HoleRule::Journal => 1,
            HoleRule::PartialParity => config.members as usize,
        };
        Log {
            first_sector: sectors.next_multiple_of(HEADER),
            taken: memory::filled(memory::zeroed::<bool>(Log::blocks(config) as usize), logs),
            next: memory::zeroed(logs),
            waiting: VecDeque::new(),
        }
    }

    /// First sector of the logs on the members.
    pub fn first_sector(&self) -> u64 {
        self.first_sector
    }

    /// Lets an operation wait for log space.
    pub fn wait(&mut self, slot: Slot) {
        self.waiting.push_back(slot);
    }

    /// Number of operations that wait for log space.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Removes and returns the operation that has waited longest.
    pub fn next_waiting(&mut self) -> Option<Slot> {
        self.waiting.pop_front()
    }

    /// The next entry goes to the front, as in an array restored from a saved state.
    pub fn rewind(&mut self) {
        self.next.fill(0);
    }

    /// Allocates an entry, if there is space.
    pub fn take(&mut self, log: u32, blocks: u64) -> Option<Place> {
        let (taken, blocks) = (&mut self.taken[log as usize], blocks as usize);
        let next = &mut self.next[log as usize];
        let last = taken.len() - blocks;
        let mut starts = (*next..=last).chain(0..=last.min(*next));
        let first = starts.find(|first| !taken[*first..first + blocks].contains(&true))?;
        taken[first..first + blocks].fill(true);
        *next = first + blocks;
        Some(Place { log, first: first as u32, blocks: blocks as u32 })
    }

    pub fn free(&mut self, place: Place) {
        self.fill(place, false);
    }

    fn fill(&mut self, place: Place, is_taken: bool) {
        let first = place.first as usize;
        let taken = &mut self.taken[place.log as usize];
        taken[first..first + place.blocks as usize].fill(is_taken);
    }

    /// Frees all entries except these.
    pub fn keep_only(&mut self, places: impl Iterator<Item = Place>) {
        self.waiting.clear();
        self.taken.iter_mut().for_each(|it| it.fill(false));
        places.for_each(|place| self.fill(place, true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OfLaws;

    #[test]
    fn entries_take_turns_round_a_log_and_wait_when_it_is_full() {
        let config = OfLaws { hole: HoleRule::Journal, ..OfLaws::default() };
        let mut log = Log::new(&config, 100);
        assert_eq!(log.first_sector(), 104, "it begins with a block");
        let blocks = Log::blocks(&config);
        let first = log.take(0, 3).unwrap();
        let second = log.take(0, blocks - 3).unwrap();
        assert_eq!((first.range(), second.range()), (0..3, 3..blocks as u32));
        assert_eq!(log.take(0, 1), None);
        log.wait(7);
        log.wait(8);
        log.free(first);
        assert_eq!((log.waiting(), log.next_waiting(), log.waiting()), (2, Some(7), 1));
        // Entries are contiguous.
        assert_eq!((log.take(0, 4), log.take(0, 2).unwrap().range()), (None, 0..2));
        // After a cut only the listed entries remain.
        log.keep_only([second].into_iter());
        assert_eq!((log.waiting(), log.take(0, 3)), (0, Some(first)));
    }
}
