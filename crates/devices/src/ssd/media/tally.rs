//! What was counted of the reads of a drive whose data age.

use super::ladder::Outcome;

/// Retries that the histogram tells apart; the last place has all above.
const HISTOGRAM: usize = 42;

/// What was counted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    pub retries: Vec<u64>,
    pub soft: u64,
    pub searched: u64,
    pub uncorrectable: u64,
    pub rebuilt: u64,
    pub unreadable: u64,
    pub healed: u64,
}

impl Tally {
    /// A read of the host.
    pub fn count(&mut self, outcome: Outcome) {
        let place = (outcome.steps as usize).min(HISTOGRAM - 1);
        if self.retries.len() <= place {
            self.retries.resize(place + 1, 0);
        }
        self.retries[place] += 1;
        self.soft += u64::from(outcome.soft > 0);
        self.searched += u64::from(outcome.searched);
        let rebuilt = outcome.rebuilt.is_some();
        self.rebuilt += u64::from(rebuilt);
        self.uncorrectable += u64::from(outcome.lost || rebuilt);
    }

    /// A read of the host whose first sense was enough; always true.
    #[inline]
    pub fn count_plain(&mut self) -> bool {
        match self.retries.first_mut() {
            Some(reads) => *reads += 1,
            None => self.retries.push(1),
        }
        true
    }

    /// A flash page is beyond correction by what was copied to it.
    pub fn count_uncorrectable(&mut self) {
        self.uncorrectable += 1;
    }

    /// The host could not read a logical page.
    pub fn count_unreadable(&mut self) {
        self.unreadable += 1;
    }

    /// It wrote one anew that it could not have read.
    pub fn count_healed(&mut self) {
        self.healed += 1;
    }
}
