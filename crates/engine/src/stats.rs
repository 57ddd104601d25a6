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

    /// Adds the statistics of `other`.
    pub fn merge(&mut self, other: &LatencyStats) {
        self.latencies.add(&other.latencies);
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.sum_squares_ns2 += other.sum_squares_ns2;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sums.merge(&other.sums);
    }

    /// Number of requests.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Bytes requested.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Mean latency, ns; 0 without requests.
    pub fn mean_ns(&self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.sums.all().latency as f64 / self.requests as f64 }
    }

    /// Standard deviation of the latency, ns.
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
        if self.requests == 0 {
            return [0.0; Breakdown::PARTS];
        }
        self.sums.all().parts.map(|sum| sum as f64 / self.requests as f64)
    }

    /// Requests between consecutive shares, fastest first, with the sums of their parts. Exact to
    /// the width of a histogram bin at each share.
    pub fn between(&self, shares: &[f64]) -> Vec<Between> {
        let rank = |share: &f64| (share * self.requests as f64).floor() as u64;
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

    /// Percentiles and merging, compared with a sorted list.
    #[test]
    fn percentiles_are_those_of_a_sorted_list_and_parts_make_the_whole() {
        for count in [1_usize, 2, 3, 7, 100, 1001] {
            let mut latencies: Vec<Time> = (1..=count as u64)
                .map(|it| 1 + it.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << (8 + it % 20)))
                .collect();
            let (mut whole, mut parts) =
                (LatencyStats::new(), [(); 3].map(|()| LatencyStats::new()));
            for (number, latency) in latencies.iter().enumerate() {
                let it = completion(1 << 40, *latency);
                whole.record(&it);
                parts[number % 3].record(&it);
            }
            let mut merged = LatencyStats::new();
            for part in &parts {
                merged.merge(part);
            }
            latencies.sort_unstable();
            let exact = latencies.iter().map(|it| *it as f64);
            let mean = exact.clone().sum::<f64>() / count as f64;
            let variance = exact.map(|it| (it - mean).powi(2)).sum::<f64>() / count as f64;
            for stats in [&whole, &merged] {
                assert_eq!(stats.requests(), count as u64);
                assert!((stats.mean_ns() - mean).abs() <= 1e-9 * mean);
                assert!((stats.std_ns() - variance.sqrt()).abs() <= 1e-6 * mean + 1e-6);
                assert_eq!(stats.min_ns(), latencies[0]);
                assert_eq!(stats.max_ns(), latencies[count - 1]);
                for percent in [0.1, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 100.0] {
                    // The smallest sorted value that covers the percentage.
                    let rank = ((percent / 100.0 * count as f64).ceil() as usize).max(1);
                    let (found, exact) =
                        (stats.histogram().percentile_ns(percent), latencies[rank - 1]);
                    assert!(found >= exact, "{count}, p{percent}: {found} < {exact}");
                    assert!(found <= exact + exact / 500, "{count}, p{percent}: {found} > {exact}");
                }
            }
        }
    }

    #[test]
    fn what_lies_between_ranks_adds_up_and_tells_slow_requests_from_fast_ones() {
        let mut stats = LatencyStats::new();
        for number in 0..1000 {
            let (part, latency) = if number < 900 { (5, 1000 + number) } else { (3, 60_000) };
            let mut it = completion(2_000_000, latency);
            it.breakdown = Breakdown::of(Part(part), latency);
            stats.record(&it);
        }
        let bands = stats.between(&[0.0, 0.5, 0.9, 0.99, 0.999, 1.0]);
        assert_eq!(bands.iter().map(|it| it.requests).collect::<Vec<_>>(), [500, 400, 90, 9, 1]);
        for (place, sum) in stats.mean_breakdown_ns().iter().enumerate() {
            let parts: f64 = bands.iter().map(|it| it.parts_ns[place]).sum();
            assert!((parts / 1000.0 - sum).abs() < 1e-6, "part {place}");
        }
        assert!(bands[..2].iter().all(|it| it.parts_ns[3] == 0.0 && it.parts_ns[5] > 0.0));
        for slow in &bands[2..] {
            assert_eq!(
                (slow.parts_ns[3], slow.parts_ns[5]),
                (60_000.0 * slow.requests as f64, 0.0)
            );
        }
        // Ranks within a bin are interpolated: exact to the width of a bin, an eighth.
        let half: f64 = (1000..1500).map(f64::from).sum();
        assert!((bands[0].parts_ns[5] / half - 1.0).abs() < 0.125);
        let mut merged = LatencyStats::new();
        merged.merge(&stats);
        assert_eq!(merged.between(&[0.0, 0.5, 1.0]), stats.between(&[0.0, 0.5, 1.0]));
        assert_eq!(LatencyStats::new().between(&[0.0, 1.0])[0].requests, 0);
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
        let counts = |erases| Followed([0, erases, 0, 0, 0, 0, 0]);
        // An erase every 300 us; nothing happens between 100 ms and 150 ms.
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
    fn the_median_of_a_bin_is_that_of_its_requests_however_often_bins_are_joined() {
        let mut series = TimeSeries::new();
        // Half of each bin's requests take 5 us, 40 % take 50 us, 10 % take 2 ms. In the last tenth
        // of the run all take 1 ms.
        for number in 0..10_000u64 {
            let latency = match number % 10 {
                _ if number >= 9_000 => 1_000_000,
                0..5 => 5_000,
                5..9 => 50_000,
                _ => 2_000_000,
            };
            series.record(number * 1_000_000, &completion(number * 1_000_000 + latency, latency));
        }
        assert_eq!(series.bin_ns(), 64_000_000);
        let near = |found: Option<Time>, ns: f64| (found.unwrap() as f64 / ns - 1.0).abs() < 0.02;
        let (median, slow) = (series.at_share(0.4), series.at_share(0.99));
        assert_eq!(median.len(), series.bins().len());
        for bin in 0..140 {
            assert!(near(median[bin], 5e3) && near(slow[bin], 2e6), "{bin}: {:?}", median[bin]);
            assert!(near(series.at_share(0.8)[bin], 5e4));
        }
        for bin in 141..median.len() {
            assert!(near(median[bin], 1e6) && near(slow[bin], 1e6), "{bin}: {:?}", median[bin]);
        }
        let mut gaps = TimeSeries::new();
        gaps.record(0, &completion(5_000, 5_000));
        gaps.record(3_000_000, &completion(3_005_000, 5_000));
        assert_eq!(gaps.at_share(0.5)[1..3], [None, None]);
        assert!(near(gaps.at_share(0.5)[3], 5e3));
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
