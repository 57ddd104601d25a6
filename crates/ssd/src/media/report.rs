//! Report of a drive's media.

use super::spread::CODEWORD_BITS;
use crate::device::{Field, Formula, Report};
use serde_json::{Value, json};

/// Upper 95 % bound of the mean for a count of 0 (Poisson), and its increment per count.
const NONE_SEEN: f64 = 3.0;

/// Uncorrectable bit error rate by JESD218: uncorrectable codewords / bits read. Each page read
/// counts as one codeword, as in the closed form.
pub fn uber(lost: f64, reads: f64) -> f64 {
    lost / (reads * CODEWORD_BITS)
}

/// Upper 95 % bound of a count's mean; above a few counts by the normal approximation.
fn most_of(count: f64) -> f64 {
    if count > 0.0 { count + 2.0 * count.sqrt() + 2.0 } else { NONE_SEEN }
}

/// Pages that the host could not read, excluding pages restored from parity.
fn lost(of: &Report) -> f64 {
    (of.count("uncorrectable") - of.count("rebuilt")) as f64
}

fn uber_of(section: &Report, lost: f64) -> Value {
    let reads = section.count("page_reads");
    json!((reads > 0).then(|| uber(lost, reads as f64)))
}

/// Media counters, in the order of the results section `media`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MediaReport {
    /// Days on the retention clock, at 30 degrees.
    pub clock_days: f64,
    /// Raw bit error rates of pages with data: mean, 99th percentile, maximum.
    pub rber: [f64; 3],
    /// Drift of the best references in steps: mean, maximum.
    pub drift: [f64; 2],
    /// Spread of error rates between pages.
    pub spread_errors: f64,
    /// Sample of pages with data: size, pages that need retries now, and pages unreadable even with
    /// parity.
    pub sample: [u64; 3],
    /// Flash pages read by the host, by number of retries.
    pub retries: Vec<u64>,
    /// Reads with soft decoding.
    pub soft_reads: u64,
    /// Reads with a search for the best reference.
    pub searched: u64,
    /// Uncorrectable reads, including reads of poisoned copies.
    pub uncorrectable: u64,
    /// Pages restored from parity.
    pub rebuilt: u64,
    /// Failed reads of logical pages.
    pub unreadable: u64,
    /// Uncorrectable logical pages that the host rewrote.
    pub healed: u64,
    /// Copies in the flash of pages that were unreadable when moved.
    pub poisoned: u64,
    /// Lost dies, bad blocks of failing dies, and defects; `None` without modelled failures.
    pub failures: Option<[u64; 3]>,
    /// Pages read on patrol.
    pub patrol_reads: u64,
    /// Blocks refreshed, and blocks reclaimed because of read disturb.
    pub moved_blocks: [u64; 2],
}

impl MediaReport {
    /// Flash pages read by the host, and pages with retries.
    pub fn reads(&self) -> [u64; 2] {
        let all: u64 = self.retries.iter().sum();
        [all, all - self.retries.first().copied().unwrap_or(0)]
    }

    /// Results section `media`, with the bytes programmed for refresh.
    pub(crate) fn section(&self, refreshed_bytes: u64) -> Report {
        let [reads, retried] = self.reads();
        let mean = self.retries.iter().enumerate().map(|(steps, count)| steps as u64 * count);
        let [rber_mean, rber_p99, rber_max] = self.rber;
        let [drift_mean, drift_max] = self.drift;
        let [sample, would_retry, would_fail] = self.sample;
        let failures = self.failures.map(|[dies, blocks, defects]| {
            section! {
                "lost_dies": dies,
                "bad_blocks_of_sick_dies": blocks,
                "defects": defects,
            }
        });
        let now = section! {
            "retried_share": Field::share(would_retry, sample),
            "lost_share": Field::share(would_fail, sample),
        };
        let section = section! {
            "clock_days": Field::most(self.clock_days),
            "rber": section! {
                "mean": Field::most(rber_mean),
                "p99": Field::most(rber_p99),
                "max": Field::most(rber_max),
            },
            "drift": section! { "mean": Field::most(drift_mean), "max": Field::most(drift_max) },
            "now": (sample > 0).then_some(now),
            "spread_errors": Field::same(self.spread_errors),
            "page_reads": reads,
            "reads_retried": retried,
            "mean_retries": Field::share(mean.sum(), reads),
            "retries": Field::Histogram(self.retries.clone()),
            "soft_reads": self.soft_reads,
            "searched": self.searched,
            "uncorrectable": self.uncorrectable,
            "rebuilt": self.rebuilt,
            "unreadable": self.unreadable,
            "healed": self.healed,
            "poisoned": self.poisoned,
            "patrol_reads": self.patrol_reads,
            "refreshed_blocks": self.moved_blocks[0],
            "refresh_bytes": refreshed_bytes,
            "reclaimed_blocks": self.moved_blocks[1],
            "uber": Field::Follows(Formula(|it| uber_of(it, lost(it)))),
            "uber_upper95": Field::Follows(Formula(|it| uber_of(it, most_of(lost(it))))),
        };
        section.and(failures.unwrap_or_default())
    }
}
