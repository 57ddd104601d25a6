//! Latency percentiles per interval of a time series, to three per cent.
//!
//! The current interval has dense counters by latency. Completed intervals keep only nonempty
//! places, so that neighbours can be merged later.

use crate::Time;
use crate::latencies::Latencies;
use std::cmp::Ordering;

/// Latency counters of each interval, with 32 places per octave.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spread {
    latest: Vec<u32>,
    /// Bitmap of nonempty places in the current interval.
    used: Vec<u64>,
    /// Completed intervals: nonempty places in ascending order, with counts.
    ended: Vec<Vec<(u16, u32)>>,
}

impl Spread {
    /// Number of [`Latencies`] places that one place here covers.
    const TOGETHER: usize = 32;

    /// Counts a latency in the current interval.
    #[inline]
    pub(crate) fn record(&mut self, latency: Time) {
        let place = Latencies::place(latency) / Self::TOGETHER;
        match self.latest.get_mut(place) {
            Some(count) if *count > 0 => *count += 1,
            _ => self.record_first(place),
        }
    }

    #[cold]
    fn record_first(&mut self, place: usize) {
        if place >= self.latest.len() {
            self.latest.resize(place + 1, 0);
            self.used.resize(place / 64 + 1, 0);
        }
        self.latest[place] = 1;
        self.used[place / 64] |= 1 << (place % 64);
    }

    /// Nonempty places of the current interval in ascending order, with counts.
    fn of_latest(&self) -> Vec<(u16, u32)> {
        let bits = self.used.iter().map(|word| word.count_ones() as usize).sum();
        let mut counts = Vec::with_capacity(bits);
        for (number, word) in self.used.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                let place = number * 64 + left.trailing_zeros() as usize;
                counts.push((place as u16, self.latest[place]));
                left &= left - 1;
            }
        }
        counts
    }

    /// Adds the current counters to a completed interval.
    pub(crate) fn end(&mut self, interval: usize) {
        let counts = self.of_latest();
        if counts.is_empty() {
            return;
        }
        for (place, _) in &counts {
            self.latest[usize::from(*place)] = 0;
        }
        self.used.fill(0);
        self.ended.resize(self.ended.len().max(interval + 1), Vec::new());
        let there = &mut self.ended[interval];
        *there = if there.is_empty() { counts } else { joined(there, &counts) };
    }

    /// Merges neighbouring intervals; the current one is already completed.
    pub(crate) fn halve(&mut self) {
        let pairs = self.ended.chunks(2);
        self.ended =
            pairs.map(|pair| joined(&pair[0], pair.get(1).map_or(&[], Vec::as_slice))).collect();
    }

    /// Latency quantile of an interval, ns; `None` without requests. `latest` is true for the
    /// current interval.
    pub(crate) fn at(&self, interval: usize, latest: bool, share: f64) -> Option<Time> {
        let mut counts = self.ended.get(interval).cloned().unwrap_or_default();
        if latest {
            let more = self.of_latest();
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

/// Sum of two lists of counts, by place.
fn joined(left: &[(u16, u32)], right: &[(u16, u32)]) -> Vec<(u16, u32)> {
    let mut all = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        match one.0.cmp(&other.0) {
            Ordering::Less => all.extend(left.next()),
            Ordering::Greater => all.extend(right.next()),
            Ordering::Equal => {
                all.push((one.0, one.1 + other.1));
                left.next();
                right.next();
            }
        }
    }
    all.extend(left);
    all.extend(right);
    all
}
