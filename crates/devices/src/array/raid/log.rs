//! The logs of the members: a write first logs what it is about to change.
//!
//! A log lies behind the chunks of its member. An entry is a header and what follows it, written
//! through any cache. Header and size follow Linux md and mdadm for partial parity: 4 KiB, and 1
//! MiB or a chunk if that is more.

use super::message::Place;
use crate::array::ArrayConfig;
use crate::array::redundancy::HoleRule;
use engine::SECTOR_BYTES;
use ssd::device::kit::slots::Slot;
use std::collections::VecDeque;

/// Sectors of a header, and of the blocks of which room is given out.
pub const HEADER: u64 = 4096 / SECTOR_BYTES;
/// Sectors of a log, at least.
const LEAST: u64 = if cfg!(test) { 32 } else { (1 << 20) / SECTOR_BYTES };

/// Room for entries. Of a journal all members have the same: an entry lies at the same place of each.
#[derive(Debug, Clone, Default)]
pub struct Log {
    first_sector: u64,
    /// Used blocks by log.
    taken: Vec<Vec<bool>>,
    /// Position behind the last allocated entry, by log.
    next: Vec<usize>,
    /// Operations that wait for room, in order.
    waiting: VecDeque<Slot>,
}

impl Log {
    /// Space of the logs on each member, sectors; nothing where there are none.
    pub fn sectors(config: &ArrayConfig) -> u64 {
        // One more block, since entries begin at whole ones.
        if config.hole.has_log() { Log::blocks(config) * HEADER + HEADER } else { 0 }
    }

    fn blocks(config: &ArrayConfig) -> u64 {
        let chunk = config.stripe.bytes() / SECTOR_BYTES;
        LEAST.max(HEADER + chunk).div_ceil(HEADER)
    }

    /// A log that begins behind the first `sectors` sectors of each member.
    pub fn new(config: &ArrayConfig, sectors: u64) -> Log {
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

    /// Start of the logs on the members.
    pub fn first_sector(&self) -> u64 {
        self.first_sector
    }

    /// An operation waits for room.
    pub fn wait(&mut self, slot: Slot) {
        self.waiting.push_back(slot);
    }

    /// Operations that wait for room.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The operation that has waited longest, which no longer does.
    pub fn next_waiting(&mut self) -> Option<Slot> {
        self.waiting.pop_front()
    }

    /// The next entry goes to the front, as in an array whose drives were saved and loaded.
    pub fn rewind(&mut self) {
        self.next.fill(0);
    }

    /// Room for an entry, if there is any.
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

    #[test]
    fn entries_take_turns_round_a_log_and_wait_when_it_is_full() {
        let config = ArrayConfig { hole: HoleRule::Journal, ..ArrayConfig::default() };
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
