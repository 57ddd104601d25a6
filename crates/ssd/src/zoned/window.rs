//! Window of random writes of a zone (ZRWA, TP4076): its content beyond the write pointer, and
//! commits by writes. Sectors are counted within the zone.

use std::collections::BTreeSet;
use std::ops::Range;

/// Content of a window: sectors written but not committed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    written: BTreeSet<u64>,
}

/// Outcome of a write to a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Sectors new to the window.
    pub fresh: u64,
    /// Sectors that replace sectors in the window.
    pub absorbed: u64,
}

impl Window {
    /// Writes sectors into the window.
    pub fn write(&mut self, sectors: Range<u64>) -> Taken {
        let all = sectors.end - sectors.start;
        let fresh = sectors.filter(|sector| self.written.insert(*sector)).count() as u64;
        Taken { fresh, absorbed: all - fresh }
    }

    /// Commits everything before `end`. Returns the number of written sectors.
    pub fn commit(&mut self, end: u64) -> u64 {
        let rest = self.written.split_off(&end);
        std::mem::replace(&mut self.written, rest).len() as u64
    }

    /// Number of sectors in the window.
    pub fn len(&self) -> u64 {
        self.written.len() as u64
    }

    /// End sector of the window.
    pub fn end(&self) -> Option<u64> {
        self.written.last().map(|last| last + 1)
    }

    /// True if the window contains a sector.
    pub fn has(&self, sector: u64) -> bool {
        self.written.contains(&sector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_takes_each_sector_once_and_gives_up_what_is_committed() {
        let mut window = Window::default();
        assert_eq!(window.write(8..16), Taken { fresh: 8, absorbed: 0 });
        assert_eq!(window.write(12..20), Taken { fresh: 4, absorbed: 4 });
        assert_eq!((window.len(), window.end()), (12, Some(20)));
        assert_eq!(window.commit(16), 8);
        assert!(window.has(16) && !window.has(15));
        assert_eq!((window.commit(64), window.end()), (4, None));
    }
}
