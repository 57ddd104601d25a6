//! Arrival statistics of a trace: gaps between requests, and irregularities of their order.

use engine::Time;
use workloads::Record;

/// The gaps between arrivals: mean and variation.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    count: u64,
    sum_ns: u128,
    sum_squares_ns2: f64,
    pub(super) largest_ns: Time,
}

impl Gaps {
    fn add(&mut self, gap: Time) {
        self.count += 1;
        self.sum_ns += u128::from(gap);
        self.sum_squares_ns2 += gap as f64 * gap as f64;
        self.largest_ns = self.largest_ns.max(gap);
    }

    pub(super) fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Coefficient of variation: 1 for a Poisson process, more for bursts.
    pub(super) fn variation(&self) -> Option<f64> {
        let mean = self.mean_ns().filter(|mean| *mean > 0.0)?;
        let variance = (self.sum_squares_ns2 / self.count as f64 - mean * mean).max(0.0);
        Some(variance.sqrt() / mean)
    }
}

/// Arrivals in file order.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    first: Option<Time>,
    pub(super) earliest: Time,
    newest: Time,
    pub(super) gaps: Gaps,
    previous: Option<Record>,
    pub(super) backward_steps: u64,
    pub(super) largest_backward_step: Time,
    /// Requests equal to their predecessor.
    pub(super) duplicates: u64,
}

impl Arrivals {
    /// Adds a request; returns its time since the first.
    pub(super) fn add(&mut self, record: &Record) -> Time {
        let at = record.at;
        let Some(previous) = self.previous.replace(*record) else {
            self.first = Some(at);
            (self.earliest, self.newest) = (at, at);
            return 0;
        };
        self.duplicates += u64::from(previous == *record);
        self.backward_steps += u64::from(at < previous.at);
        let back = previous.at.saturating_sub(at);
        self.largest_backward_step = self.largest_backward_step.max(back);
        self.gaps.add(at.saturating_sub(self.newest));
        self.earliest = self.earliest.min(at);
        self.newest = self.newest.max(at);
        at.saturating_sub(self.first.unwrap_or(at))
    }

    /// Time from the earliest to the latest arrival.
    pub(super) fn duration_ns(&self) -> Time {
        self.newest - self.earliest
    }
}
