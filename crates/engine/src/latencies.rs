//! A latency histogram with three significant digits.

use crate::Time;
use hdrhistogram::Histogram;

/// Dense latency counters: one per value distinguishable at three significant digits.
///
/// The places equal a high-dynamic-range histogram's, to which the counters are added on demand.
/// Counting a latency takes two shifts and an increment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies(Vec<u64>);

impl Latencies {
    /// Distinguished leading bits: 2,048 values, while three digits need 2,000.
    const BITS: u32 = 11;
    /// Places per bin; there are eight bins per octave.
    pub(crate) const PLACES_OF_A_BIN: usize = 1 << (Self::BITS - 4);

    /// Counts a latency. Returns its place.
    #[inline]
    pub(crate) fn record(&mut self, latency: Time) -> usize {
        let place = Self::place(latency);
        match self.0.get_mut(place) {
            Some(count) => *count += 1,
            None => self.record_beyond(place),
        }
        place
    }

    /// Number of latencies in each bin.
    pub(crate) fn bins(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.chunks(Self::PLACES_OF_A_BIN).map(|places| places.iter().sum())
    }

    #[cold]
    fn record_beyond(&mut self, place: usize) {
        self.0.resize(place + 1, 0);
        self.0[place] = 1;
    }

    /// Latencies below 2^11 have a place each; higher octaves have 2^10 places.
    #[inline]
    pub(crate) fn place(latency: Time) -> usize {
        let shift = (64 - Self::BITS).saturating_sub((latency | 1).leading_zeros());
        ((shift as usize) << (Self::BITS - 1)) + (latency >> shift) as usize
    }

    /// Smallest latency of a place.
    pub(crate) fn least(place: usize) -> Time {
        let octave = 1 << (Self::BITS - 1);
        let shift = (place / octave).saturating_sub(1);
        ((place - shift * octave) as Time) << shift
    }

    /// Adds the counters of another histogram.
    pub(crate) fn add(&mut self, other: &Latencies) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        for (count, more) in self.0.iter_mut().zip(&other.0) {
            *count += more;
        }
    }

    fn histogram(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).expect("three digits are a valid precision");
        histogram.auto(true);
        let counted = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        for (place, count) in counted {
            histogram.record_n(Self::least(place), *count).expect("resizing covers every u64");
        }
        histogram
    }
}

/// Latencies of a class of requests, for quantiles.
#[derive(Debug, Clone)]
pub struct LatencyHistogram {
    histogram: Histogram<u64>,
    max_ns: Time,
}

impl LatencyHistogram {
    pub(crate) fn new(latencies: &Latencies, max_ns: Time) -> LatencyHistogram {
        LatencyHistogram { histogram: latencies.histogram(), max_ns }
    }

    /// Latency percentile in ns, to 0.1 %.
    pub fn percentile_ns(&self, percent: f64) -> Time {
        self.histogram.value_at_percentile(percent).min(self.max_ns)
    }

    /// Nonempty bins: upper bound of the latencies, ns, and number of requests.
    ///
    /// There are eight bins per octave, so a bin is at most an eighth wider than its lower bound.
    pub fn bins(&self) -> Vec<(Time, u64)> {
        let mut bins: Vec<(Time, u64)> = Vec::new();
        for step in self.histogram.iter_recorded() {
            let shift = step.value_iterated_to().max(8).ilog2() - 3;
            let bound = ((step.value_iterated_to() >> shift) + 1) << shift;
            let count = step.count_since_last_iteration();
            match bins.last_mut() {
                Some((last, requests)) if *last == bound => *requests += count,
                _ => bins.push((bound, count)),
            }
        }
        bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counters agree with a histogram of single latencies.
    #[test]
    fn the_counts_are_those_of_a_histogram() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        histogram.auto(true);
        let mut counts = Latencies::default();
        let mut latency = 0;
        while latency < Time::MAX / 8 {
            for near in [latency, latency + 1, latency + latency / 700] {
                histogram.record(near).unwrap();
                counts.record(near);
            }
            latency += 1 + latency / 13;
        }
        assert_eq!(counts.histogram(), histogram);
        let mut twice = Latencies::default();
        twice.record(5);
        twice.add(&counts);
        histogram.record(5).unwrap();
        assert_eq!(twice.histogram(), histogram);
    }

    #[test]
    fn a_place_begins_where_the_one_before_it_ends() {
        for place in 1..40_000 {
            let least = Latencies::least(place);
            assert_eq!((Latencies::place(least), Latencies::place(least - 1)), (place, place - 1));
        }
    }
}
