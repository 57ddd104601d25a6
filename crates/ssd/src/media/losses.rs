//! Known data losses: flash pages with copies of unreadable data, and logical pages with a partial
//! write in progress.

use super::planted::Mistake;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Known lost pages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Losses {
    poisoned: BTreeSet<u64>,
    /// Number of partial writes in progress on unreadable logical pages.
    partial: BTreeMap<u64, u32>,
}

impl Losses {
    /// Marks a flash page as a poisoned copy.
    pub fn poison(&mut self, ppn: u64) {
        self.poisoned.insert(ppn);
    }

    /// True if a flash page holds a copy of unreadable data.
    #[inline]
    pub fn is_poisoned(&self, ppn: u64) -> bool {
        !self.poisoned.is_empty() && self.poisoned.contains(&ppn)
    }

    /// Records a partial write to an unreadable logical page; the rest of the page stays lost.
    pub fn begin_part(&mut self, lpn: u64) {
        *self.partial.entry(lpn).or_default() += 1;
    }

    /// True if a logical page has a partial write in progress over lost data.
    #[inline]
    pub fn is_partial(&self, lpn: u64) -> bool {
        !self.partial.is_empty() && self.partial.contains_key(&lpn)
    }

    /// Notes that a partial write was programmed: if the old page was lost, the new copy is
    /// poisoned.
    pub fn end_part(&mut self, lpn: u64, ppn: u64) {
        let Some(under_way) = self.partial.get_mut(&lpn) else { return };
        *under_way -= 1;
        if *under_way == 0 {
            self.partial.remove(&lpn);
        }
        if !Mistake::PartHeals.is_planted() {
            self.poisoned.insert(ppn);
        }
    }

    /// Notes that a logical page was written in full, or trimmed.
    #[inline]
    pub fn heal(&mut self, lpn: u64, ppn: Option<u64>) {
        if Mistake::NothingHeals.is_planted() {
            return;
        }
        if !self.partial.is_empty() {
            self.partial.remove(&lpn);
        }
        // A copy still in the buffer was replaced there.
        if let Some(ppn) = ppn.filter(|_| !self.poisoned.is_empty()) {
            self.poisoned.remove(&ppn);
        }
    }

    /// True with known losses.
    #[inline]
    pub fn are_known(&self) -> bool {
        !self.poisoned.is_empty() || !self.partial.is_empty()
    }

    /// Handles a power cut: drops copies that did not reach the flash.
    pub fn lose_power(&mut self, is_programmed: impl Fn(u64) -> bool) {
        self.poisoned.retain(|ppn| is_programmed(*ppn));
    }

    /// Drops the poisoned copies of an erased block.
    pub fn erased(&mut self, pages: Range<u64>) {
        if self.poisoned.is_empty() || Mistake::PoisonStays.is_planted() {
            return;
        }
        // Pages behind the block stay.
        let mut behind = self.poisoned.split_off(&pages.start);
        self.poisoned.append(&mut behind.split_off(&pages.end));
    }

    /// Number of poisoned copies in the flash.
    pub fn poisoned(&self) -> u64 {
        self.poisoned.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_writes_in_part_none_heals_a_page() {
        let mut losses = Losses::default();
        losses.begin_part(7);
        losses.begin_part(7);
        losses.end_part(7, 100);
        assert!(losses.is_partial(7) && losses.is_poisoned(100));
        losses.end_part(7, 101);
        assert!(!losses.is_partial(7) && losses.is_poisoned(101));
    }

    #[test]
    fn a_write_in_full_heals_what_writes_in_part_have_begun() {
        let mut losses = Losses::default();
        losses.begin_part(7);
        losses.heal(7, Some(100));
        losses.end_part(7, 101);
        assert!(!losses.are_known());
    }
}
