//! Address shifts of a trace's repetitions: repetitions of a sample cover the whole span.

use crate::units::PAGE_SECTORS;

options::choices! {
    /// The places of the repetitions of a trace.
    pub enum LoopPlaces {
        /// The places of the first repetition.
        Same = "same",
        /// New places in each repetition: a part of the span is added to all addresses. Repetitions
        /// of a sample then cover the span, as the load itself would.
        Moved = "moved",
    }
}

/// Unit of a shift, sectors. No drive has larger mapping units, so aligned requests stay aligned.
const UNIT: u64 = 128;
/// 2^64 over the golden ratio: any number of its multiples is evenly spread (Knuth, TAOCP 6.4).
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;

/// The address shift of a repetition.
#[derive(Debug)]
pub(super) struct Moves {
    /// The end of all requests, sectors.
    span: u64,
    repetition: u64,
    /// Sectors.
    by: u64,
}

impl Moves {
    /// The shift of a repetition of a trace with this span, sectors. Repetition 0 is not shifted.
    pub(super) fn new(span: u64, repetition: u64) -> Self {
        let mut moves = Moves { span, repetition, by: 0 };
        moves.aim();
        moves
    }

    /// Begins the next repetition.
    pub(super) fn repeat(&mut self) {
        self.repetition += 1;
        self.aim();
    }

    fn aim(&mut self) {
        let part = u128::from(self.repetition.wrapping_mul(GOLDEN_RATIO));
        self.by = ((part * u128::from(self.span / UNIT)) >> 64) as u64 * UNIT;
    }

    /// The shifted first sector of a request at `sector`. A request that ends beyond the span is
    /// not shifted.
    #[inline]
    pub(super) fn place(&self, sector: u64, sectors: u32) -> u64 {
        let Some(last) = self.span.checked_sub(u64::from(sectors)).filter(|it| *it >= sector)
        else {
            return sector;
        };
        let round = self.span / UNIT * UNIT;
        let moved = sector + self.by;
        let moved = if moved > last && moved >= round { moved - round } else { moved };
        // Near the end of the span the offset within a page may not fit.
        if moved <= last { moved } else { last - last % PAGE_SECTORS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_first_repetition_stays_and_many_cover_the_span() {
        let mut moves = Moves::new(UNIT * 1000, 0);
        assert_eq!(moves.place(77, 8), 77);
        let mut units = BTreeSet::new();
        let mut covered = |repetitions| {
            for _ in 0..repetitions {
                units.insert(moves.place(0, 8) / UNIT);
                moves.repeat();
            }
            units.len()
        };
        // Random draws would cover 632 different places, then 865.
        assert!(covered(1000) > 800);
        assert_eq!(covered(1000), 1000);
    }

    #[test]
    fn what_is_sequential_and_aligned_stays_so() {
        let moves = Moves::new(UNIT * 1000, 3);
        let places: Vec<u64> = (0..10).map(|it| moves.place(4096 + it * 8, 8)).collect();
        assert!(places.windows(2).all(|pair| pair[1] == pair[0] + 8), "{places:?}");
        assert_eq!(places[0] % UNIT, 4096 % UNIT);
        assert_ne!(places[0], 4096);
    }

    proptest! {
        #[test]
        fn moved_requests_lie_within_the_span(
            span in 1..=1_u64 << 40, part in 0..=u64::MAX, sectors in 1..=1_u32 << 12, repetition in 0..=u64::MAX,
        ) {
            let length = u64::from(sectors);
            prop_assume!(length <= span);
            let sector = part % (span - length + 1);
            let place = Moves::new(span, repetition).place(sector, sectors);
            prop_assert!(place + length <= span, "{place}");
        }
    }
}
