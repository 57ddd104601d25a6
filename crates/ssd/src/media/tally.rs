//! Read counters of a drive whose data age.

use super::ladder::Outcome;

/// Length of the histogram of retries; the last entry includes all above.
const HISTOGRAM: usize = 42;

/// Read counters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// Reads without retries.
    plain: u64,
    retries: Vec<u64>,
    pub soft: u64,
    pub searched: u64,
    pub uncorrectable: u64,
    pub rebuilt: u64,
    pub unreadable: u64,
    pub healed: u64,
}

impl Tally {
    /// Counts a host read.
    #[inline]
    pub fn count(&mut self, outcome: Outcome) {
        if outcome.is_plain() {
            return self.count_plain();
        }
        let place = (outcome.steps as usize).min(HISTOGRAM - 1);
        if self.retries.len() <= place {
            memory::grow(&mut self.retries, place + 1, 0);
        }
        self.retries[place] += 1;
        self.soft += u64::from(outcome.soft > 0);
        self.searched += u64::from(outcome.searched);
        let rebuilt = outcome.rebuilt.is_some();
        self.rebuilt += u64::from(rebuilt);
        self.uncorrectable += u64::from(outcome.lost || rebuilt);
    }

    /// Counts a host read without retries.
    #[inline]
    pub fn count_plain(&mut self) {
        self.plain += 1;
    }

    /// Reads by number of retries, up to the largest number that occurred.
    pub fn retries(&self) -> Vec<u64> {
        let mut retries = self.retries.clone();
        if self.plain > 0 && retries.is_empty() {
            retries.push(0);
        }
        if let Some(first) = retries.first_mut() {
            *first += self.plain;
        }
        retries
    }

    /// Counts a flash page made uncorrectable by a poisoned copy.
    pub fn count_uncorrectable(&mut self) {
        self.uncorrectable += 1;
    }

    /// Counts a failed host read of a logical page.
    pub fn count_unreadable(&mut self) {
        self.unreadable += 1;
    }

    /// Counts a rewrite of an unreadable page.
    pub fn count_healed(&mut self) {
        self.healed += 1;
    }
}
