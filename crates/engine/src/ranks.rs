//! Latency breakdown of fast and slow requests, without storing requests.
//!
//! Latency parts are summed in eight latency bins per octave; a sum over all bins is exact. A range
//! between two ranks takes whole bins, and a proportional share of the bins at its ends.

use crate::latencies::Latencies;
use crate::{Breakdown, Time};

/// Sums of latencies and of latency parts, ns.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums<T> {
    pub(crate) latency: T,
    pub(crate) parts: [T; Breakdown::PARTS],
}

impl Sums<u128> {
    fn add<T: Copy>(&mut self, more: &Sums<T>)
    where
        u128: From<T>,
    {
        self.latency += u128::from(more.latency);
        for (sum, part) in self.parts.iter_mut().zip(more.parts) {
            *sum += u128::from(part);
        }
    }
}

/// Sums by bin of latency.
#[derive(Debug, Clone, Default)]
pub(crate) struct SumsByLatency {
    /// Sums of recent requests, up to 64 bits; older ones are in `before`.
    latest: Vec<Sums<u64>>,
    before: Vec<Sums<u128>>,
}

impl SumsByLatency {
    /// Counts a request; `place` is its latency's place in [`Latencies`].
    #[inline]
    pub(crate) fn record(&mut self, place: usize, latency: Time, breakdown: &Breakdown) {
        let bin = place / Latencies::PLACES_OF_A_BIN;
        // The parts add up to the latency: if its sum fits, their sums do.
        if let Some(sums) = self.latest.get_mut(bin)
            && let Some(latency) = sums.latency.checked_add(latency)
        {
            sums.latency = latency;
            for (sum, part) in sums.parts.iter_mut().zip(breakdown.parts()) {
                *sum += *part;
            }
            return;
        }
        self.make_room(bin);
        self.record(place, latency, breakdown);
    }

    /// Creates the bin if needed, and adds its latest sums to its totals.
    #[cold]
    fn make_room(&mut self, bin: usize) {
        self.reach(bin + 1);
        self.before[bin].add(&std::mem::take(&mut self.latest[bin]));
    }

    fn reach(&mut self, bins: usize) {
        let bins = bins.max(self.latest.len());
        self.latest.resize(bins, Sums::default());
        self.before.resize(bins, Sums::default());
    }

    /// Adds the sums of another object.
    pub(crate) fn merge(&mut self, other: &SumsByLatency) {
        self.reach(other.latest.len());
        for (sums, more) in self.before.iter_mut().zip(other.bins()) {
            sums.add(&more);
        }
    }

    /// Sums of each bin.
    fn bins(&self) -> impl Iterator<Item = Sums<u128>> + '_ {
        self.latest.iter().zip(&self.before).map(|(latest, before)| {
            let mut sums = *before;
            sums.add(latest);
            sums
        })
    }

    /// Sums over all requests.
    pub(crate) fn all(&self) -> Sums<u128> {
        let mut all = Sums::default();
        self.bins().for_each(|sums| all.add(&sums));
        all
    }

    /// Requests between consecutive ranks, fastest first, with the sums of their parts, ns.
    /// `latencies` has counted the same requests.
    pub(crate) fn between(&self, ranks: &[u64], latencies: &Latencies) -> Vec<Between> {
        let mut found: Vec<Between> = ranks
            .windows(2)
            .map(|pair| Between { requests: pair[1] - pair[0], parts_ns: [0.0; Breakdown::PARTS] })
            .collect();
        let mut begin = 0;
        for (count, sums) in latencies.bins().zip(self.bins()) {
            let end = begin + count;
            for (pair, band) in ranks.windows(2).zip(&mut found) {
                let within = end.min(pair[1]).saturating_sub(begin.max(pair[0]));
                if within > 0 {
                    let share = within as f64 / count as f64;
                    for (sum, part) in band.parts_ns.iter_mut().zip(sums.parts) {
                        *sum += share * part as f64;
                    }
                }
            }
            begin = end;
        }
        found
    }
}

/// Requests between two ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between {
    /// Number of requests.
    pub requests: u64,
    /// Sum of each latency part, ns.
    pub parts_ns: [f64; Breakdown::PARTS],
}
