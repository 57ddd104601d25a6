//! Latency statistics: exact moments, percentiles to 0.1 %, breakdown, and time series.

use crate::latencies::{Latencies, LatencyHistogram};
use crate::ranks::{Between, SumsByLatency};
use crate::spread::Spread;
use crate::{Breakdown, Completion, Followed, Time};

/// Latency statistics of a class of requests.
///
/// Count, bytes, mean, standard deviation, extremes and breakdown are exact; percentiles come from
/// a high-dynamic-range histogram of three significant digits.
#[derive(Debug, Clone)]
pub struct LatencyStats {
    latencies: Latencies,
    requests: u64,
    bytes: u64,
    /// Requests of unknown latency.
    untimed: u64,
    sum_squares_ns2: f64,
    min_ns: Time,
    max_ns: Time,
    sums: SumsByLatency,
}

impl Default for LatencyStats {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyStats {
    /// Statistics without requests.
    pub fn new() -> Self {
        LatencyStats {
            latencies: Latencies::default(),
            requests: 0,
            bytes: 0,
            untimed: 0,
            sum_squares_ns2: 0.0,
            min_ns: Time::MAX,
            max_ns: 0,
            sums: SumsByLatency::default(),
        }
    }

    /// Counts one completion.
    #[inline]
    pub fn record(&mut self, completion: &Completion) {
        let latency = completion.latency();
        let place = self.latencies.record(latency);
        self.requests += 1;
        self.bytes += completion.request.bytes();
        self.sum_squares_ns2 += latency as f64 * latency as f64;
        self.min_ns = self.min_ns.min(latency);
        self.max_ns = self.max_ns.max(latency);
        self.sums.record(place, latency, &completion.breakdown);
    }

    /// Counts a completion of unknown latency.
    #[inline]
    pub fn pass(&mut self, completion: &Completion) {
        self.requests += 1;
        self.untimed += 1;
        self.bytes += completion.request.bytes();
    }

    /// Adds the statistics of `other`.
    pub fn merge(&mut self, other: &LatencyStats) {
        self.latencies.add(&other.latencies);
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.untimed += other.untimed;
        self.sum_squares_ns2 += other.sum_squares_ns2;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sums.merge(&other.sums);
    }

    /// Number of requests.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Number of requests of known latency: in a sampled run only the measured ones.
    pub fn timed(&self) -> u64 {
        self.requests - self.untimed
    }

    /// Bytes requested.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Mean latency, ns; 0 without requests.
    pub fn mean_ns(&self) -> f64 {
        if self.timed() == 0 { 0.0 } else { self.sums.all().latency as f64 / self.timed() as f64 }
    }

    /// Standard deviation of the latency, ns.
    pub fn std_ns(&self) -> f64 {
        if self.timed() == 0 {
            return 0.0;
        }
        let mean = self.mean_ns();
        (self.sum_squares_ns2 / self.timed() as f64 - mean * mean).max(0.0).sqrt()
    }

    /// Smallest latency, ns; 0 without requests.
    pub fn min_ns(&self) -> Time {
        if self.timed() == 0 { 0 } else { self.min_ns }
    }

    /// Largest latency, ns.
    pub fn max_ns(&self) -> Time {
        self.max_ns
    }

    /// Latency histogram, for percentiles and bins.
    pub fn histogram(&self) -> LatencyHistogram {
        LatencyHistogram::new(&self.latencies, self.max_ns)
    }

    /// Number of latencies per bin, shortest first, with eight bins per octave. A bin's latencies
    /// lie below [its bound](Self::bin_bound_ns), and at or above its predecessor's.
    pub fn bins(&self) -> impl Iterator<Item = u64> + '_ {
        self.latencies.bins()
    }

    /// Upper bound of a bin, ns.
    pub fn bin_bound_ns(bin: usize) -> Time {
        Latencies::least((bin + 1) * Latencies::PLACES_OF_A_BIN)
    }

    /// Sum of latencies, ns.
    pub fn sum_ns(&self) -> f64 {
        self.sums.all().latency as f64
    }

    /// Mean of each latency part, ns, in the order of the devices' table; the parts add up to the
    /// mean latency.
    pub fn mean_breakdown_ns(&self) -> [f64; Breakdown::PARTS] {
        if self.timed() == 0 {
            return [0.0; Breakdown::PARTS];
        }
        self.sums.all().parts.map(|sum| sum as f64 / self.timed() as f64)
    }

    /// Requests between consecutive shares, fastest first, with the sums of their parts. Exact to
    /// the width of a histogram bin at each share.
    pub fn between(&self, shares: &[f64]) -> Vec<Between> {
        let rank = |share: &f64| (share * self.timed() as f64).floor() as u64;
        let ranks: Vec<u64> = shares.iter().map(rank).collect();
        self.sums.between(&ranks, &self.latencies)
    }
}

/// Completions over time in a bounded number of bins; the bin width doubles as the run grows.
#[derive(Debug, Clone)]
pub struct TimeSeries {
    bin_ns: Time,
    /// Current bin, and its start time.
    latest: (usize, Time),
    bins: Vec<Bin>,
    spread: Spread,
    /// Device figures at the end of each completed bin.
    followed: Vec<Followed>,
}

/// One interval of a [`TimeSeries`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bin {
    /// Number of completed requests.
    pub requests: u64,
    /// Number of completed requests of unknown latency.
    pub untimed: u64,
    /// Bytes requested.
    pub bytes: u64,
    /// Sum of latencies, ns.
    pub latency_sum_ns: u128,
    /// Maximum latency, ns.
    pub latency_max_ns: Time,
}

impl TimeSeries {
    const BINS: usize = 256;

    /// An empty series with bins of 1 ms.
    pub fn new() -> Self {
        TimeSeries {
            bin_ns: 1_000_000,
            latest: (0, 0),
            bins: Vec::with_capacity(Self::BINS),
            spread: Spread::default(),
            followed: Vec::new(),
        }
    }

    /// Counts a completion `since_start` after the start of the measurement.
    #[inline]
    pub fn record(&mut self, since_start: Time, completion: &Completion) {
        let index = self.bin_at(since_start);
        if index >= self.bins.len() {
            self.begin_bins(index);
        }
        let latency = completion.latency();
        let bin = &mut self.bins[index];
        bin.requests += 1;
        bin.bytes += completion.request.bytes();
        bin.latency_sum_ns += u128::from(latency);
        bin.latency_max_ns = bin.latency_max_ns.max(latency);
        self.spread.record(latency);
    }

    /// Counts a completion of unknown latency.
    #[inline]
    pub fn pass(&mut self, since_start: Time, completion: &Completion) {
        let index = self.bin_at(since_start);
        if index >= self.bins.len() {
            self.begin_bins(index);
        }
        let bin = &mut self.bins[index];
        bin.requests += 1;
        bin.untimed += 1;
        bin.bytes += completion.request.bytes();
    }

    /// Latency quantile of each bin, ns, to 2 %; `None` for bins without completions.
    pub fn at_share(&self, share: f64) -> Vec<Option<Time>> {
        let bins = self.bins.iter().enumerate();
        bins.map(|(bin, of)| {
            let ns = self.spread.at(bin, bin == self.latest.0, share)?;
            Some(ns.min(of.latency_max_ns))
        })
        .collect()
    }

    /// Records the device's figures at the end of every completed bin not recorded yet. Returns the
    /// end of the next bin.
    pub fn sample(&mut self, since_start: Time, figures: Followed) -> Time {
        let index = self.bin_at(since_start);
        if self.followed.len() < index {
            self.followed.resize(index, figures);
        }
        (index as Time + 1) * self.bin_ns
    }

    /// End of the bin that contains a point in time.
    pub fn end_of_bin(&self, since_start: Time) -> Time {
        let mut bin_ns = self.bin_ns;
        while since_start / bin_ns >= Self::BINS as Time {
            bin_ns *= 2;
        }
        (since_start / bin_ns + 1) * bin_ns
    }

    /// Bin of a point in time; extends the series to it.
    #[inline]
    fn bin_at(&mut self, since_start: Time) -> usize {
        if since_start.wrapping_sub(self.latest.1) < self.bin_ns {
            return self.latest.0;
        }
        self.find_bin(since_start)
    }

    #[cold]
    fn begin_bins(&mut self, last: usize) {
        self.bins.resize(last + 1, Bin::default());
    }

    #[cold]
    fn find_bin(&mut self, since_start: Time) -> usize {
        self.spread.end(self.latest.0);
        while since_start / self.bin_ns >= Self::BINS as Time {
            self.halve();
        }
        let bin = since_start / self.bin_ns;
        self.latest = (bin as usize, bin * self.bin_ns);
        bin as usize
    }

    /// Merges neighbouring bins, so that each covers twice the time.
    fn halve(&mut self) {
        self.bin_ns *= 2;
        let joined = self.bins.chunks(2).map(|pair| {
            let mut bin = pair[0];
            if let Some(next) = pair.get(1) {
                bin.requests += next.requests;
                bin.untimed += next.untimed;
                bin.bytes += next.bytes;
                bin.latency_sum_ns += next.latency_sum_ns;
                bin.latency_max_ns = bin.latency_max_ns.max(next.latency_max_ns);
            }
            bin
        });
        self.bins = joined.collect();
        self.spread.halve();
        self.followed = self.followed.iter().skip(1).step_by(2).copied().collect();
    }

    /// Width of a bin, ns.
    pub fn bin_ns(&self) -> Time {
        self.bin_ns
    }

    /// The bins from the start to the last completion.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// Device figures at the ends of completed bins, up to the last sample.
    pub fn followed(&self) -> &[Followed] {
        &self.followed
    }
}

impl Default for TimeSeries {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
