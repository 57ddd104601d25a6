//! Least frequently used: evicts the line with the fewest uses, and among equals the least recently
//! used. Use counts saturate at 63 and never decay, so formerly popular lines stay long.

use super::kept::{self, Kept};
use super::lists::{Lists, Slot};
use super::replacement::{LOOKED_AT, Replacement};

/// Number of distinct use counts.
const MOST: usize = 64;

/// Lines by use count.
#[derive(Debug, Clone)]
pub struct Lfu {
    by_uses: Lists,
    /// Bitmap of nonempty lists.
    used: u64,
}

impl Lfu {
    pub fn new(slots: u32) -> Lfu {
        Lfu { by_uses: Lists::new(MOST, slots), used: 0 }
    }

    fn note(&mut self, uses: usize) {
        let bit = 1 << uses;
        self.used = if self.by_uses.len(uses) > 0 { self.used | bit } else { self.used & !bit };
    }
}

impl Replacement for Lfu {
    #[inline]
    fn hit(&mut self, slot: Slot) {
        let Some(uses) = self.by_uses.list_of(slot) else { return };
        let more = (uses + 1).min(MOST - 1);
        self.by_uses.renew(more, slot);
        self.note(uses);
        self.note(more);
    }

    fn admit(&mut self, slot: Slot, _line: u64) {
        self.by_uses.push(0, slot);
        self.note(0);
    }

    fn victim(&mut self, _line: u64, may: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let (mut left, mut rest) = (LOOKED_AT, self.used);
        while rest != 0 && left > 0 {
            let uses = rest.trailing_zeros() as usize;
            let found = self.by_uses.first(uses, left, may);
            if found.is_some() {
                return found;
            }
            left = left.saturating_sub(self.by_uses.len(uses));
            rest &= rest - 1;
        }
        None
    }

    fn leave(&mut self, slot: Slot, _line: u64, _evicted: bool) {
        let Some(uses) = self.by_uses.list_of(slot) else { return };
        self.by_uses.remove(slot);
        self.note(uses);
    }

    fn keep(&self) -> Kept {
        (0..MOST).map(|uses| self.by_uses.kept(uses)).collect()
    }

    fn restore_state(
        &mut self,
        lists: &mut dyn Iterator<Item = Vec<u64>>,
        holds: &dyn Fn(Slot) -> bool,
    ) -> Result<(), String> {
        for uses in 0..MOST {
            self.by_uses.restore_state(uses, &kept::next(lists)?, holds)?;
            self.note(uses);
        }
        Ok(())
    }

    fn audit(&self) -> Result<u32, String> {
        let wrong = (0..MOST).find(|it| (self.by_uses.len(*it) > 0) != (self.used >> it & 1 == 1));
        match wrong {
            Some(uses) => Err(format!("lines of {uses} uses are in another list")),
            None => Ok((0..MOST).map(|uses| self.by_uses.len(uses)).sum()),
        }
    }
}
