//! Trim log. The flash itself does not record trims: the newest copy of a trimmed page stays until
//! it is erased, and then an older copy may be found.
//!
//! A record is a logical page and the number of the next program: copies with lower numbers are
//! invalid. It is kept until the page is written and trimmed again. The log's pages lie outside the
//! data blocks.

use super::planted::Bug;
use crate::config::{SsdConfig, Trims};
use std::collections::BTreeMap;
use std::ops::Range;

/// Size of a record: first page, number of pages, program number.
const RECORD_BYTES: u64 = 16;

/// Logged and pending trims.
#[derive(Debug, Clone)]
pub(crate) struct TrimLog {
    policy: Trims,
    /// True for a non-volatile map.
    at_once: bool,
    per_page: u64,
    /// Pending trims, in order.
    waiting: Vec<(Range<u64>, u64)>,
    /// Records in progress: number of pending trims per log page.
    under_way: Vec<u64>,
    /// Logged trims by page: minimum number of a valid copy.
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

    /// True if trims complete only once logged.
    pub(crate) fn is_logged(&self) -> bool {
        self.policy == Trims::Logged && !self.at_once
    }

    /// Adds trimmed pages before the program of that number.
    pub(crate) fn add(&mut self, pages: Range<u64>, program: u64) {
        if self.at_once {
            self.recorded.extend(pages.map(|page| (page, program)));
            return;
        }
        if self.policy != Trims::Volatile && !pages.is_empty() {
            self.waiting.push((pages, program));
        }
    }

    /// Starts logging pending trims. Returns the number of log pages.
    pub(crate) fn begin(&mut self) -> u64 {
        let begun: u64 = self.under_way.iter().sum();
        let records = self.waiting.len() as u64 - begun;
        if records == 0 {
            return 0;
        }
        self.under_way.push(records);
        records.div_ceil(self.per_page)
    }

    /// Completes the first log page in progress.
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

    /// Number of log pages that a start reads.
    pub(super) fn pages(&self) -> u64 {
        if self.at_once {
            return 0;
        }
        (self.recorded.len() as u64).div_ceil(self.per_page)
    }

    /// Trims that survive a cut: page, and minimum number of a valid copy.
    pub(super) fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.recorded.iter().map(|(page, program)| (*page, *program))
    }

    /// Removes trims that a checkpoint covers: all before the program of that number. A trim with
    /// exactly that number may have come during the checkpoint without a program in between, so it
    /// stays.
    pub(super) fn covered(&mut self, program: u64) {
        self.recorded.retain(|_, recorded| *recorded >= program);
    }

    /// Drops records in progress.
    pub(super) fn lose_power(&mut self) {
        self.waiting.clear();
        self.under_way.clear();
    }
}
