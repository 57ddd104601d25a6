//! Latency statistics: exact moments, percentiles to 0.1 %, the breakdown, and a time series.

use crate::latencies::{Latencies, LatencyHistogram};
use crate::{Breakdown, Completion, Followed, Time};

/// Statistics of the latencies of one class of requests.
///
/// Count, bytes, mean, standard deviation, extremes and breakdown are exact; percentiles come from
/// a high-dynamic-range histogram of three significant digits.
#[derive(Debug, Clone)]
pub struct LatencyStats {
    latencies: Latencies,
    requests: u64,
    bytes: u64,
    sum_squares_ns2: f64,
    min_ns: Time,
    max_ns: Time,
    /// Of the latest requests, as many as 64 bits hold; the rest is in `before`.
    latest: Sums<u64>,
    before: Sums<u128>,
}

/// Sums of latencies and of their parts, ns.
#[derive(Debug, Clone, Copy, Default)]
struct Sums<T> {
    latency: T,
    parts: [T; Breakdown::MOST],
}

impl Sums<u128> {
    fn add(&mut self, latest: &Sums<u64>) {
        self.latency += u128::from(latest.latency);
        for (sum, part) in self.parts.iter_mut().zip(latest.parts) {
            *sum += u128::from(part);
        }
    }
}

impl Default for LatencyStats {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyStats {
    /// No requests yet.
    pub fn new() -> Self {
        LatencyStats {
            latencies: Latencies::default(),
            requests: 0,
            bytes: 0,
            sum_squares_ns2: 0.0,
            min_ns: Time::MAX,
            max_ns: 0,
            latest: Sums::default(),
            before: Sums::default(),
        }
    }

    /// Counts one completion.
    #[inline]
    pub fn record(&mut self, completion: &Completion) {
        let latency = completion.latency();
        self.latencies.record(latency);
        self.requests += 1;
        self.bytes += completion.request.bytes();
        self.sum_squares_ns2 += latency as f64 * latency as f64;
        self.min_ns = self.min_ns.min(latency);
        self.max_ns = self.max_ns.max(latency);
        // The parts add up to the latency: where its sum fits, theirs do.
        if self.latest.latency.checked_add(latency).is_none() {
            self.put_by();
        }
        self.latest.latency += latency;
        for (sum, part) in self.latest.parts.iter_mut().zip(completion.breakdown.parts()) {
            *sum += *part;
        }
    }

    /// Adds the latest sums to those before.
    #[cold]
    fn put_by(&mut self) {
        self.before.add(&std::mem::take(&mut self.latest));
    }

    fn sums(&self) -> Sums<u128> {
        let mut sums = self.before;
        sums.add(&self.latest);
        sums
    }

    /// Adds everything that `other` has seen.
    pub fn merge(&mut self, other: &LatencyStats) {
        self.latencies.add(&other.latencies);
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.sum_squares_ns2 += other.sum_squares_ns2;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        let sums = other.sums();
        self.before.latency += sums.latency;
        for (sum, part) in self.before.parts.iter_mut().zip(sums.parts) {
            *sum += part;
        }
    }

    /// Requests counted.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Bytes they asked for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Mean latency, ns; 0 without requests.
    pub fn mean_ns(&self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.sums().latency as f64 / self.requests as f64 }
    }

    /// Standard deviation of the latency over the requests counted, ns.
    pub fn std_ns(&self) -> f64 {
        if self.requests == 0 {
            return 0.0;
        }
        let mean = self.mean_ns();
        (self.sum_squares_ns2 / self.requests as f64 - mean * mean).max(0.0).sqrt()
    }

    /// Smallest latency, ns; 0 without requests.
    pub fn min_ns(&self) -> Time {
        if self.requests == 0 { 0 } else { self.min_ns }
    }

    /// Largest latency, ns.
    pub fn max_ns(&self) -> Time {
        self.max_ns
    }

    /// The latencies, for percentiles and bins.
    pub fn histogram(&self) -> LatencyHistogram {
        LatencyHistogram::new(&self.latencies, self.max_ns)
    }

    /// Mean of each part of the breakdown, ns, in the order of the devices' table; the parts add up
    /// to the mean latency.
    pub fn mean_breakdown_ns(&self) -> [f64; Breakdown::MOST] {
        if self.requests == 0 {
            return [0.0; Breakdown::MOST];
        }
        self.sums().parts.map(|sum| sum as f64 / self.requests as f64)
    }
}

/// Completions over time in a bounded number of bins, whose width doubles as the run grows.
#[derive(Debug, Clone)]
pub struct TimeSeries {
    bin_ns: Time,
    /// The bin of the latest instant, and when it begins.
    latest: (usize, Time),
    bins: Vec<Bin>,
    /// At the end of each bin that has ended.
    followed: Vec<Followed>,
}

/// One interval of a [`TimeSeries`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bin {
    /// Requests that completed in it.
    pub requests: u64,
    /// Bytes that they asked for.
    pub bytes: u64,
    /// Sum of their latencies, ns.
    pub latency_sum_ns: u128,
    /// Largest of their latencies, ns.
    pub latency_max_ns: Time,
}

impl TimeSeries {
    const BINS: usize = 256;

    /// An empty series that begins with bins of 1 ms.
    pub fn new() -> Self {
        TimeSeries {
            bin_ns: 1_000_000,
            latest: (0, 0),
            bins: Vec::with_capacity(Self::BINS),
            followed: Vec::new(),
        }
    }

    /// Counts a completion `since_start` after the start of the measurement.
    pub fn record(&mut self, since_start: Time, completion: &Completion) {
        let index = self.bin_at(since_start);
        if index >= self.bins.len() {
            self.bins.resize(index + 1, Bin::default());
        }
        let latency = completion.latency();
        let bin = &mut self.bins[index];
        bin.requests += 1;
        bin.bytes += completion.request.bytes();
        bin.latency_sum_ns += u128::from(latency);
        bin.latency_max_ns = bin.latency_max_ns.max(latency);
    }

    /// Notes the figures of the device at the end of every bin that has ended by then and was not
    /// noted yet. Returns when the next bin ends.
    pub fn sample(&mut self, since_start: Time, figures: Followed) -> Time {
        let index = self.bin_at(since_start);
        if self.followed.len() < index {
            self.followed.resize(index, figures);
        }
        (index as Time + 1) * self.bin_ns
    }

    /// When the bin ends that an instant will be in.
    pub fn end_of_bin(&self, since_start: Time) -> Time {
        let mut bin_ns = self.bin_ns;
        while since_start / bin_ns >= Self::BINS as Time {
            bin_ns *= 2;
        }
        (since_start / bin_ns + 1) * bin_ns
    }

    /// The bin of an instant, which is made to lie within the series.
    #[inline]
    fn bin_at(&mut self, since_start: Time) -> usize {
        if since_start.wrapping_sub(self.latest.1) < self.bin_ns {
            return self.latest.0;
        }
        self.find_bin(since_start)
    }

    fn find_bin(&mut self, since_start: Time) -> usize {
        while since_start / self.bin_ns >= Self::BINS as Time {
            self.halve();
        }
        let bin = since_start / self.bin_ns;
        self.latest = (bin as usize, bin * self.bin_ns);
        bin as usize
    }

    /// Joins neighbouring bins, so that each covers twice the time.
    fn halve(&mut self) {
        self.bin_ns *= 2;
        let joined = self.bins.chunks(2).map(|pair| {
            let mut bin = pair[0];
            if let Some(next) = pair.get(1) {
                bin.requests += next.requests;
                bin.bytes += next.bytes;
                bin.latency_sum_ns += next.latency_sum_ns;
                bin.latency_max_ns = bin.latency_max_ns.max(next.latency_max_ns);
            }
            bin
        });
        self.bins = joined.collect();
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

    /// The figures of the device at the end of the bins that had ended when it was last sampled.
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
mod tests {
    use super::*;
    use crate::{Lba, Op, Part, Request, Status};

    fn completion(at: Time, latency: Time) -> Completion {
        let request = Request::new(0, Op::Read, Lba(0), 8);
        let breakdown = Breakdown::of(Part(5), latency);
        Completion { request, submitted: at - latency, at, breakdown, status: Status::Ok }
    }

    #[test]
    fn moments_are_exact_and_percentiles_close() {
        let mut stats = LatencyStats::new();
        for latency in 1..=1000 {
            stats.record(&completion(2_000_000, latency * 1000));
        }
        assert_eq!(stats.requests(), 1000);
        assert_eq!(stats.bytes(), 4_096_000);
        assert!((stats.mean_ns() - 500_500.0).abs() < 1e-9);
        assert!((stats.std_ns() - 288_674.99).abs() < 0.01);
        assert_eq!((stats.min_ns(), stats.max_ns()), (1000, 1_000_000));
        let p99 = stats.histogram().percentile_ns(99.0) as f64;
        assert!((p99 / 990_000.0 - 1.0).abs() < 0.001, "{p99}");
        assert!((stats.mean_breakdown_ns().iter().sum::<f64>() - stats.mean_ns()).abs() < 1e-6);
    }

    #[test]
    fn the_histogram_counts_every_request_once_in_bins_of_an_eighth_octave() {
        let mut stats = LatencyStats::new();
        for latency in [0, 7, 8, 100, 103, 104, 1_000_000, 1_000_001] {
            stats.record(&completion(2_000_000, latency));
        }
        let bins = stats.histogram().bins();
        assert_eq!(bins, [(1, 1), (8, 1), (9, 1), (104, 2), (112, 1), (1_048_576, 2)]);
        for latency in 1..5000 {
            stats.record(&completion(2_000_000, latency * 377));
        }
        let bins = stats.histogram().bins();
        assert_eq!(bins.iter().map(|(_, requests)| requests).sum::<u64>(), stats.requests());
        assert!(bins.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(bins.len() < 8 * 22);
    }

    #[test]
    fn merging_equals_recording_together() {
        let (mut left, mut right, mut both) =
            (LatencyStats::new(), LatencyStats::new(), LatencyStats::new());
        for latency in 1..100 {
            let side = if latency % 3 == 0 { &mut left } else { &mut right };
            side.record(&completion(1000, latency));
            both.record(&completion(1000, latency));
        }
        left.merge(&right);
        assert_eq!(left.requests(), both.requests());
        assert_eq!(left.histogram().percentile_ns(50.0), both.histogram().percentile_ns(50.0));
        assert_eq!((left.min_ns(), left.max_ns()), (both.min_ns(), both.max_ns()));
    }

    #[test]
    fn figures_are_sampled_at_the_ends_of_bins_whatever_their_width() {
        let mut series = TimeSeries::new();
        let counts = |erases| Followed([0, erases, 0, 0, 0, 0, 0, 0]);
        // An erasure every 300 us; between 100 ms and 150 ms nothing happens.
        let mut next = 0;
        for number in 0..2000u64 {
            let now =
                number * 300_000 + if number * 300_000 > 100_000_000 { 50_000_000 } else { 0 };
            if now >= next {
                next = series.sample(now, counts(number));
            }
        }
        assert_eq!(series.bin_ns(), 4_000_000);
        for (bin, figures) in series.followed().iter().enumerate() {
            let end = (bin as Time + 1) * 4_000_000;
            let expected = match end {
                0..=100_000_000 => end.div_ceil(300_000),
                100_000_001..=150_000_000 => 334,
                _ => (end - 50_000_000).div_ceil(300_000),
            };
            assert_eq!(figures.0[1], expected, "bin {bin}");
        }
        assert_eq!(series.followed().len(), 162);
    }

    #[test]
    fn a_series_loses_nothing_as_it_grows() {
        let mut series = TimeSeries::new();
        for i in 0..10_000u64 {
            series.record(i * 1_000_000, &completion(i * 1_000_000 + 5000, 5000));
        }
        assert!(series.bins().len() <= TimeSeries::BINS);
        assert_eq!(series.bins().iter().map(|bin| bin.requests).sum::<u64>(), 10_000);
    }
}
