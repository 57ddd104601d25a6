//! How latencies spread within each interval of a time series, to three per cent.
//!
//! The latest interval has a dense count by latency, to which a request adds one; an interval that has
//! ended keeps the places that are not empty, so that neighbours can be joined later.

use crate::Time;
use crate::latencies::Latencies;

/// Counts by latency, 32 places to an octave, of each interval.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spread {
    latest: Vec<u32>,
    /// Of the intervals that have ended: places, ascending, and their counts.
    ended: Vec<Vec<(u16, u32)>>,
}

impl Spread {
    /// Places of [`Latencies`] that are one here.
    const TOGETHER: usize = 32;

    /// Counts a latency in the latest interval.
    #[inline]
    pub(crate) fn record(&mut self, latency: Time) {
        let place = Latencies::place(latency) / Self::TOGETHER;
        match self.latest.get_mut(place) {
            Some(count) => *count += 1,
            None => self.record_beyond(place),
        }
    }

    #[cold]
    fn record_beyond(&mut self, place: usize) {
        self.latest.resize(place + 1, 0);
        self.latest[place] = 1;
    }

    /// Puts by what was counted, as that of this interval.
    pub(crate) fn end(&mut self, interval: usize) {
        let counts = self.latest.iter_mut().map(std::mem::take).enumerate();
        let counts: Vec<_> = counts.filter(|it| it.1 > 0).map(|(at, n)| (at as u16, n)).collect();
        if counts.is_empty() {
            return;
        }
        self.ended.resize(self.ended.len().max(interval + 1), Vec::new());
        self.ended[interval] = joined(&self.ended[interval], &counts);
    }

    /// Joins neighbouring intervals; the latest has been put by.
    pub(crate) fn halve(&mut self) {
        let pairs = self.ended.chunks(2);
        self.ended =
            pairs.map(|pair| joined(&pair[0], pair.get(1).map_or(&[], Vec::as_slice))).collect();
    }

    /// The latency that a share of the requests of an interval does not exceed, ns; `None` without
    /// requests. `latest` says whether it is the one that has not been put by.
    pub(crate) fn at(&self, interval: usize, latest: bool, share: f64) -> Option<Time> {
        let mut counts = self.ended.get(interval).cloned().unwrap_or_default();
        if latest {
            let more = self.latest.iter().enumerate().filter(|(_, count)| **count > 0);
            let more: Vec<_> = more.map(|(at, count)| (at as u16, *count)).collect();
            counts = joined(&counts, &more);
        }
        let all: u64 = counts.iter().map(|(_, count)| u64::from(*count)).sum();
        let rank = ((share * all as f64).ceil() as u64).max(1);
        let mut below = 0;
        let found = counts.iter().find(|(_, count)| {
            below += u64::from(*count);
            below >= rank
        });
        found.map(|(at, _)| {
            let place = usize::from(*at) * Self::TOGETHER;
            let (low, high) = (Latencies::least(place), Latencies::least(place + Self::TOGETHER));
            low + (high - low) / 2
        })
    }
}

/// The counts of both, by place.
fn joined(left: &[(u16, u32)], right: &[(u16, u32)]) -> Vec<(u16, u32)> {
    let mut all: Vec<(u16, u32)> = left.iter().chain(right).copied().collect();
    all.sort_unstable();
    all.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    all
}
