//! Detection of hot logical pages in bounded memory: by address, by how often or by how recently
//! they were written.
//!
//! The tables are indexed by a hash of the page number, so pages share entries and some cold ones
//! pass for hot; more memory makes that rarer. Counting follows Hsieh, Kuo and Chang (Efficient
//! identification of hot data for flash memory storage systems, ACM TOS 2006) with two hash functions.

use crate::config::{Detector, HotCold};
use crate::ids::Lpn;
use serde::{Deserialize, Serialize};

/// Writes to a page, since they were last halved, from which on it is hot.
const HOT_COUNT: u8 = 4;

/// Saved state of a detector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeatState {
    counts: Vec<u8>,
    recent: Vec<u32>,
    until_decay: u64,
}

/// The detector of one drive.
#[derive(Debug, Clone)]
pub(crate) struct Heat {
    detector: Detector,
    /// Pages below this one are hot for the detector `address`.
    hot_pages: u64,
    counts: Vec<u8>,
    /// Low 32 bits of the page last written in each slot.
    recent: Vec<u32>,
    /// Writes until the counts are halved.
    until_decay: usize,
}

/// Two hashes of a page number (multiplicative, Knuth volume 3, section 6.4).
fn places(lpn: Lpn, entries: usize) -> [usize; 2] {
    let scale = |hash: u64| (((hash >> 32) * entries as u64) >> 32) as usize;
    let hash = lpn.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    [scale(hash), scale(hash.rotate_left(32) ^ 0x5555_5555_0000_0000)]
}

impl Heat {
    /// A new detector for `pages` logical pages. Without hot and cold frontiers it takes no memory.
    pub(crate) fn new(config: &HotCold, used: bool, pages: u64) -> Heat {
        let bytes = if used { config.memory.bytes() as usize } else { 0 };
        let size = |detector, entry| if config.detector == detector { bytes / entry } else { 0 };
        let counts = memory::zeroed(size(Detector::Writes, 1));
        Heat {
            detector: config.detector,
            hot_pages: (pages as f64 * config.hot_addresses) as u64,
            until_decay: counts.len(),
            counts,
            recent: memory::filled(u32::MAX, size(Detector::Recency, 4)),
        }
    }

    /// Number of entries.
    pub(crate) fn entries(&self) -> usize {
        self.counts.len() + self.recent.len()
    }

    pub(crate) fn keep(&self) -> HeatState {
        HeatState {
            counts: self.counts.clone(),
            recent: self.recent.clone(),
            until_decay: self.until_decay as u64,
        }
    }

    /// Initial state of a detector of this size.
    pub(crate) fn forgotten(&self) -> HeatState {
        HeatState {
            counts: memory::zeroed(self.counts.len()),
            recent: memory::filled(u32::MAX, self.recent.len()),
            until_decay: self.counts.len() as u64,
        }
    }

    pub(crate) fn restore(&mut self, state: HeatState) -> Result<(), String> {
        let fits = state.counts.len() == self.counts.len()
            && state.recent.len() == self.recent.len()
            && (1..=self.counts.len().max(1) as u64).contains(&state.until_decay.max(1));
        if !fits {
            return Err("its hot-page detector does not fit this drive".to_owned());
        }
        self.counts = state.counts;
        self.recent = state.recent;
        self.until_decay = state.until_decay as usize;
        Ok(())
    }

    /// True if a page is hot.
    pub(crate) fn is_hot(&self, lpn: Lpn) -> bool {
        match self.detector {
            Detector::Address => lpn.0 < self.hot_pages,
            Detector::Recency => {
                let [place, _] = places(lpn, self.recent.len());
                self.recent[place] == lpn.0 as u32
            }
            Detector::Writes => {
                let [a, b] = places(lpn, self.counts.len());
                self.counts[a].min(self.counts[b]) >= HOT_COUNT
            }
        }
    }

    /// The host is writing a page, which is remembered.
    pub(crate) fn note_written(&mut self, lpn: Lpn) {
        match self.detector {
            Detector::Address => {}
            Detector::Recency => {
                let [place, _] = places(lpn, self.recent.len());
                self.recent[place] = lpn.0 as u32;
            }
            Detector::Writes => {
                let [a, b] = places(lpn, self.counts.len());
                self.counts[a] = self.counts[a].saturating_add(1);
                if a != b {
                    self.counts[b] = self.counts[b].saturating_add(1);
                }
                self.decay();
            }
        }
    }

    /// Halves the counts after as many writes as there are counts, so that the past is forgotten.
    fn decay(&mut self) {
        self.until_decay -= 1;
        if self.until_decay == 0 {
            self.until_decay = self.counts.len();
            for count in &mut self.counts {
                *count /= 2;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Random, Xoshiro256};
    use options::Size;

    /// Shares of the hot and of the cold writes that are found hot: nine writes of ten go to a tenth
    /// of 100,000 pages.
    fn found(detector: Detector, memory: u64) -> (f64, f64) {
        let config = HotCold { detector, memory: Size::from_bytes(memory), hot_addresses: 0.1 };
        let mut heat = Heat::new(&config, true, 100_000);
        let mut random = Xoshiro256::new(1, 0);
        let mut counts = [[0.0; 2]; 2];
        for n in 0..600_000 {
            let hot = random.below(10) > 0;
            let page =
                random.below(10_000) + if hot { 0 } else { random.below(9) * 10_000 + 10_000 };
            let found = heat.is_hot(Lpn(page));
            heat.note_written(Lpn(page));
            if n > 200_000 {
                counts[usize::from(hot)][usize::from(found)] += 1.0;
            }
        }
        let share = |[missed, found]: [f64; 2]| found / (missed + found);
        (share(counts[1]), share(counts[0]))
    }

    #[test]
    fn hot_pages_are_found_and_memory_helps() {
        assert_eq!(found(Detector::Address, 1), (1.0, 0.0));
        for (detector, small, large) in
            [(Detector::Writes, 20_000, 100_000), (Detector::Recency, 20_000, 100_000)]
        {
            let (few, many) = (found(detector, small), found(detector, large));
            println!("{detector}: {few:?} of {small} bytes, {many:?} of {large}");
            assert!(many.0 > 0.8 && many.1 < 0.2, "{detector}: {many:?}");
            assert!(many.0 - many.1 > few.0 - few.1, "{detector}: {few:?} {many:?}");
        }
    }
}
