//! The record of trims. The flash says nothing of them by itself: the newest copy of a page that was
//! trimmed is there until it is cleaned away, and then an older one, if there is one.
//!
//! A record is a page and the number of the next program: copies with a lower number are worthless. It is
//! kept until the page is written and trimmed again; its pages are written outside of the blocks for data.

use super::planted::Bug;
use crate::config::{SsdConfig, Trims};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a record: first page, number of pages, number of the program.
const RECORD_BYTES: u64 = 16;

/// Logged and unlogged trims.
#[derive(Debug, Clone)]
pub(crate) struct TrimLog {
    policy: Trims,
    /// True for a non-volatile map.
    at_once: bool,
    per_page: u64,
    /// Not recorded yet, in order.
    waiting: Vec<(Range<u64>, u64)>,
    /// Being recorded: number of waiting trims by record page.
    under_way: Vec<u64>,
    /// Recorded trims by page: the number that a copy must reach.
    recorded: BTreeMap<u64, u64>,
}

impl TrimLog {
    pub(super) fn new(config: &SsdConfig) -> TrimLog {
        TrimLog {
            policy: config.persistence.trims,
            at_once: config.persistence.keeps_map(),
            per_page: (config.page_size.bytes() / RECORD_BYTES).max(1),
            waiting: Vec::new(),
            under_way: Vec::new(),
            recorded: BTreeMap::new(),
        }
    }

    /// True if trims complete when recorded.
    pub(crate) fn is_logged(&self) -> bool {
        self.policy == Trims::Logged && !self.at_once
    }

    /// Pages have been trimmed before the program of that number.
    pub(crate) fn add(&mut self, pages: Range<u64>, program: u64) {
        if self.at_once {
            self.recorded.extend(pages.map(|page| (page, program)));
            return;
        }
        if self.policy != Trims::Volatile && !pages.is_empty() {
            self.waiting.push((pages, program));
        }
    }

    /// Begins to record waiting trims; the number of pages needed.
    pub(crate) fn begin(&mut self) -> u64 {
        let begun: u64 = self.under_way.iter().sum();
        let records = self.waiting.len() as u64 - begun;
        if records == 0 {
            return 0;
        }
        self.under_way.push(records);
        records.div_ceil(self.per_page)
    }

    /// The first begun record is complete.
    pub(crate) fn end(&mut self) {
        let records = self.under_way.remove(0) as usize;
        for (pages, program) in self.waiting.drain(..records) {
            if Bug::NoTrimRecords.is_planted() {
                continue;
            }
            for page in pages {
                self.recorded.insert(page, program);
            }
        }
    }

    /// Pages of records that a start reads.
    pub(super) fn pages(&self) -> u64 {
        if self.at_once {
            return 0;
        }
        (self.recorded.len() as u64).div_ceil(self.per_page)
    }

    /// The trims that survive a cut: each a page, and the number that a copy must reach.
    pub(super) fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.recorded.iter().map(|(page, program)| (*page, *program))
    }

    /// A checkpoint has all trims before the program of that number. One with that very number may have come
    /// while the checkpoint was written, with no program between them: it stays.
    pub(super) fn covered(&mut self, program: u64) {
        self.recorded.retain(|_, recorded| *recorded >= program);
    }

    /// Records under way are lost.
    pub(super) fn lose_power(&mut self) {
        self.waiting.clear();
        self.under_way.clear();
    }
}
