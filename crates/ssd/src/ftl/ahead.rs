//! Prefetching for untimed cleaning: a little with each write of the host.
//!
//! Where the pages of a victim lie is all over the map. Prefetched all at once, their cache lines
//! would occupy all line-fill buffers of a core, and host writes would wait behind them. Prefetched
//! a few at a time during the preceding writes, they are in the cache when cleaning begins.

use crate::ids::{Domain, Ppn};
use std::collections::VecDeque;
use std::ops::Range;

/// Pages prefetched per write: the host writes at least a quarter of a block between two victims,
/// except without spare space, where the rest is prefetched at the end.
const PER_WRITE: u64 = 4;

/// Pages of victims whose places are being fetched. It affects only speed.
#[derive(Debug, Clone, Default)]
pub struct Ahead {
    /// Foreseen next pages to move, by domain.
    foreseen: Vec<Option<Range<u64>>>,
    /// Ranges that were not prefetched yet.
    left: VecDeque<Range<u64>>,
}

impl Ahead {
    pub fn new(domains: u32) -> Ahead {
        Ahead { foreseen: memory::filled(None, domains as usize), left: VecDeque::new() }
    }

    /// True if the next moves of a domain are foreseen.
    #[inline]
    pub fn knows(&self, domain: Domain) -> bool {
        self.foreseen[domain.at()].is_some()
    }

    /// Announces the next pages to move in a domain.
    pub fn begin(&mut self, domain: Domain, first: Ppn, count: u32) {
        let pages = first.0..first.0 + u64::from(count);
        self.foreseen[domain.at()] = Some(pages.clone());
        self.left.push_back(pages);
    }

    /// The next pages to prefetch.
    #[inline]
    pub fn some(&mut self) -> Option<Range<u64>> {
        let left = self.left.front_mut()?;
        let some = left.start..left.end.min(left.start + PER_WRITE);
        *left = some.end..left.end;
        if left.is_empty() {
            self.left.pop_front();
        }
        Some(some)
    }

    /// Starts moving pages of a domain; returns how many have been prefetched.
    pub fn take(&mut self, domain: Domain, first: Ppn) -> usize {
        let Some(foreseen) = self.foreseen[domain.at()].take() else { return 0 };
        // If another victim was chosen, or another group comes first, the prediction is dropped.
        let place = self.left.iter().position(|it| foreseen.contains(&it.start));
        let rest = place.and_then(|place| self.left.remove(place));
        match rest {
            _ if foreseen.start != first.0 => 0,
            Some(rest) => (rest.start - first.0) as usize,
            None => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_foreseen_is_asked_for_once_and_forgotten_when_it_is_moved() {
        let mut ahead = Ahead::new(2);
        assert_eq!(
            (ahead.some(), ahead.take(Domain(0), Ppn(64)), ahead.knows(Domain(0))),
            (None, 0, false)
        );
        ahead.begin(Domain(0), Ppn(64), 10);
        ahead.begin(Domain(1), Ppn(640), 3);
        assert!(ahead.knows(Domain(0)));
        assert_eq!((ahead.some(), ahead.some()), (Some(64..68), Some(68..72)));
        // Two pages are left, and those of other domains stay.
        assert_eq!(ahead.take(Domain(0), Ppn(64)), 8);
        assert_eq!((ahead.knows(Domain(0)), ahead.some()), (false, Some(640..643)));
        assert_eq!((ahead.take(Domain(1), Ppn(640)), ahead.some()), (usize::MAX, None));
        // All pages of one domain were prefetched, and those of other domains stay.
        ahead.begin(Domain(0), Ppn(0), 3);
        ahead.begin(Domain(1), Ppn(640), 3);
        assert_eq!((ahead.some(), ahead.take(Domain(0), Ppn(0))), (Some(0..3), usize::MAX));
        assert_eq!((ahead.some(), ahead.take(Domain(1), Ppn(640))), (Some(640..643), usize::MAX));
        // Another victim was chosen.
        ahead.begin(Domain(1), Ppn(128), 8);
        assert_eq!((ahead.take(Domain(1), Ppn(192)), ahead.some()), (0, None));
    }
}
