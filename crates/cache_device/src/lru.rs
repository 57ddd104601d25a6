//! Least recently used: evicts the line whose last use is oldest.

use super::kept::{self, Kept};
use super::lists::{Lists, Slot};
use super::replacement::{LOOKED_AT, Replacement};

/// Lines ordered by last use.
#[derive(Debug, Clone)]
pub struct Lru {
    lines: Lists,
}

impl Lru {
    pub fn new(slots: u32) -> Lru {
        Lru { lines: Lists::new(1, slots) }
    }
}

impl Replacement for Lru {
    #[inline]
    fn hit(&mut self, slot: Slot) {
        self.lines.renew(0, slot);
    }

    fn admit(&mut self, slot: Slot, _line: u64) {
        self.lines.push(0, slot);
    }

    fn victim(&mut self, _line: u64, may: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        self.lines.first(0, LOOKED_AT, may)
    }

    fn leave(&mut self, slot: Slot, _line: u64, _evicted: bool) {
        self.lines.remove(slot);
    }

    fn keep(&self) -> Kept {
        vec![self.lines.kept(0)]
    }

    fn restore_state(
        &mut self,
        lists: &mut dyn Iterator<Item = Vec<u64>>,
        holds: &dyn Fn(Slot) -> bool,
    ) -> Result<(), String> {
        self.lines.restore_state(0, &kept::next(lists)?, holds)
    }

    fn audit(&self) -> Result<u32, String> {
        Ok(self.lines.len(0))
    }
}
