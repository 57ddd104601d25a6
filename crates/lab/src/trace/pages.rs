//! The accessed pages: an exact set that is compact for adjacent pages.
//!
//! Pages are stored as bits in groups of 64, and complete regions of 64 groups as a single entry.
//! So a request over terabytes needs neither time nor memory in proportion to its size.

use std::collections::{HashMap, HashSet};

const GROUP_PAGES: u64 = 64;
const REGION_PAGES: u64 = 64 * GROUP_PAGES;

/// A set of pages of several devices.
#[derive(Debug, Default)]
pub(super) struct Pages {
    groups: HashMap<(u32, u64), u64>,
    full_regions: HashSet<(u32, u64)>,
    count: u64,
}

impl Pages {
    /// Number of pages.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Adds the pages from `first` to before `end`.
    pub(super) fn insert(&mut self, device: u32, first: u64, end: u64) {
        let mut at = first;
        while at < end {
            let region = at / REGION_PAGES;
            let region_end = (region + 1).saturating_mul(REGION_PAGES);
            if at.is_multiple_of(REGION_PAGES) && region_end <= end {
                self.fill_region(device, region);
                at = region_end;
                continue;
            }
            let group = at / GROUP_PAGES;
            let next = end.min((group + 1).saturating_mul(GROUP_PAGES));
            if self.full_regions.is_empty() || !self.full_regions.contains(&(device, region)) {
                let ones = u64::MAX >> (GROUP_PAGES - (next - at));
                let bits = self.groups.entry((device, group)).or_default();
                let before = bits.count_ones();
                *bits |= ones << (at % GROUP_PAGES);
                self.count += u64::from(bits.count_ones() - before);
            }
            at = next;
        }
    }

    fn fill_region(&mut self, device: u32, region: u64) {
        if !self.full_regions.insert((device, region)) {
            return;
        }
        let groups = REGION_PAGES / GROUP_PAGES;
        let first = region * groups;
        let mut known = 0;
        if !self.groups.is_empty() {
            for group in first..first + groups {
                let bits = self.groups.remove(&(device, group)).unwrap_or(0);
                known += u64::from(bits.count_ones());
            }
        }
        self.count += REGION_PAGES - known;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn pages_count_once_for_each_device() {
        let mut pages = Pages::default();
        pages.insert(0, 3, 5);
        pages.insert(0, 4, 6);
        pages.insert(1, 4, 6);
        pages.insert(0, 0, 0);
        assert_eq!(pages.count(), 5);
        pages.insert(0, (u64::MAX >> 3) - 1, u64::MAX >> 3);
        assert_eq!(pages.count(), 6);
    }

    #[test]
    fn whole_regions_count_like_their_pages() {
        let mut pages = Pages::default();
        let mut oracle = BTreeSet::new();
        let ranges = [(100, 200), (0, 4096), (4000, 9000), (8192, 12288), (5000, 20000), (1, 2)];
        for (first, end) in ranges {
            pages.insert(7, first, end);
            oracle.extend(first..end);
            assert_eq!(pages.count(), oracle.len() as u64, "{first}..{end}");
        }
        pages.insert(0, 0, 1 << 29);
        assert_eq!(pages.count(), oracle.len() as u64 + (1 << 29));
    }
}
