//! Read-ahead: after sequential reads the following pages are read in advance.
//!
//! One stream is followed. Its window begins at the page of the last read, and extends by the
//! configured distance; reads of pages in progress wait for them.

use crate::device::kit::slots::Slot;
use std::collections::VecDeque;
use std::ops::Range;

/// The read-ahead.
#[derive(Debug, Clone)]
pub struct Ahead {
    /// Sectors ahead of a read; sectors of a page of the flash, and of the drive.
    sectors: u64,
    page: u64,
    end: u64,
    /// The sector that the next read of the stream begins with.
    next: Option<u64>,
    /// The pages of the window: the first, and which of them are there.
    first: u64,
    there: VecDeque<bool>,
    /// Requests that wait for a page.
    waiting: Vec<(u64, Slot)>,
}

impl Ahead {
    pub fn new(sectors: u64, page: u64, end: u64) -> Ahead {
        let (there, waiting) = (VecDeque::new(), Vec::new());
        Ahead { sectors, page, end, next: None, first: 0, there, waiting }
    }

    /// A read: the pages to be read for its stream.
    pub fn follow(&mut self, sectors: &Range<u64>) -> Range<u64> {
        if self.sectors == 0 {
            return 0..0;
        }
        let continues = self.next == Some(sectors.start);
        self.next = Some(sectors.end);
        if !continues {
            self.there.clear();
            return 0..0;
        }
        let begin = sectors.start / self.page;
        if self.there.is_empty() {
            self.first = begin;
        }
        while self.first < begin && self.there.pop_front().is_some() {
            self.first += 1;
        }
        self.first = begin;
        let known = begin + self.there.len() as u64;
        let end = (sectors.end + self.sectors).min(self.end).div_ceil(self.page).max(known);
        self.there.resize((end - begin) as usize, false);
        known..end
    }

    /// True if a page is there; if it comes, the request waits for it.
    pub fn ask(&mut self, page: u64, slot: Slot) -> Option<bool> {
        let there = *self.there.get(page.checked_sub(self.first)? as usize)?;
        if !there {
            self.waiting.push((page, slot));
        }
        Some(there)
    }

    /// A page has come: who has waited for it.
    pub fn came(&mut self, page: u64) -> Vec<Slot> {
        if let Some(at) = page.checked_sub(self.first)
            && let Some(there) = self.there.get_mut(at as usize)
        {
            *there = true;
        }
        let who = self.waiting.iter().filter(|it| it.0 == page).map(|it| it.1).collect();
        self.waiting.retain(|it| it.0 != page);
        who
    }

    /// Written or trimmed data leave the read-ahead; its stream begins anew.
    pub fn forget(&mut self, sectors: &Range<u64>) {
        let window = self.first * self.page..(self.first + self.there.len() as u64) * self.page;
        if sectors.start < window.end && window.start < sectors.end {
            self.there.clear();
        }
    }

    /// Empties the window, without waiters.
    pub fn clear(&mut self) {
        (self.next, self.first) = (None, 0);
        self.there.clear();
        self.waiting.clear();
    }
}
