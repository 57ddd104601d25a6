//! Maps the addresses of a trace to a device that may be smaller than the traced one.
//!
//! All results lie within the capacity. Requests that fit stay in place unless the whole trace is
//! scaled; a request larger than the device is always refused.

use crate::units::PAGE_SECTORS;
use std::collections::HashMap;

options::choices! {
    /// Mapping of the addresses of a trace to the device.
    pub enum Beyond {
        /// Keep the trace's share of the drive. A drive whose part alone a preset simulates
        /// (device.scale) is simulated whole where that takes 2 GiB of memory at most and it is not
        /// preconditioned. Where it is not, and where the trace goes beyond the whole drive, all
        /// addresses are scaled as by "scale".
        Span = "span",
        /// Recorded addresses; a request beyond the device's capacity stops the run.
        Error = "error",
        /// Addresses modulo the capacity.
        Wrap = "wrap",
        /// If any request is beyond the capacity, all addresses are scaled down by the same factor,
        /// in chunks of about a thousandth of the device: sequential requests within a chunk stay
        /// sequential.
        Scale = "scale",
        /// Dense renumbering: each 4 KiB page accessed for the first time takes the next page of the device.
        /// A request whose pages end up apart is split; needs about 30 B of memory per page accessed.
        Dense = "dense",
    }
}

/// The address mapping for a given capacity.
#[derive(Debug)]
pub(crate) enum FixedPlace {
    /// Refuse addresses beyond the capacity.
    Refuse {
        /// Capacity of the device, sectors.
        capacity: u64,
    },
    /// Addresses modulo the capacity.
    Wrap {
        /// Capacity of the device, sectors.
        capacity: u64,
    },
    /// Addresses times capacity over span, in chunks.
    Shrink {
        /// Capacity of the device, sectors.
        capacity: u64,
        /// The end of all requests, sectors; more than `capacity`.
        span: u64,
    },
}

/// A request that cannot be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misplaced {
    /// The request ends beyond the capacity.
    Beyond,
    /// The request exceeds the capacity.
    TooLarge,
    /// The trace touches more pages than the device has.
    Full,
}

impl FixedPlace {
    /// Start of a request recorded at `sector`.
    pub(crate) fn place(&self, sector: u64, sectors: u32) -> Result<u64, Misplaced> {
        let sectors = u64::from(sectors);
        let fits = |capacity: u64| {
            sector.checked_add(sectors).is_some_and(|end| end <= capacity).then_some(sector)
        };
        match *self {
            FixedPlace::Refuse { capacity } => fits(capacity).ok_or(Misplaced::Beyond),
            FixedPlace::Wrap { capacity } => {
                let last = capacity.checked_sub(sectors).ok_or(Misplaced::TooLarge)?;
                Ok(fits(capacity).unwrap_or_else(|| (sector % capacity).min(last)))
            }
            FixedPlace::Shrink { capacity, span } => {
                let last = capacity.checked_sub(sectors).ok_or(Misplaced::TooLarge)?;
                let end = sector.checked_add(sectors).filter(|end| *end <= span);
                end.map(|_| shrink(sector, capacity, span, last)).ok_or(Misplaced::Beyond)
            }
        }
    }
}

/// Compaction of a trace's pages: device pages are assigned in order of first touch.
#[derive(Debug)]
pub(crate) struct Dense {
    capacity: u64,
    /// Device page by trace page; at most the capacity.
    places: HashMap<u64, u64>,
}

impl Dense {
    /// An empty device of `capacity` sectors.
    pub(crate) fn new(capacity: u64) -> Self {
        Dense { capacity, places: HashMap::new() }
    }

    /// Parts of a request recorded at `sector`, as sectors and lengths.
    pub(crate) fn place(
        &mut self,
        sector: u64,
        sectors: u32,
        pieces: &mut Vec<(u64, u32)>,
    ) -> Result<(), Misplaced> {
        let end = sector.checked_add(u64::from(sectors)).ok_or(Misplaced::Beyond)?;
        if u64::from(sectors) > self.capacity {
            return Err(Misplaced::TooLarge);
        }
        let mut at = sector;
        while at < end {
            let page = at / PAGE_SECTORS;
            let new = self.places.len() as u64;
            let place = *self.places.entry(page).or_insert(new);
            if place >= self.capacity / PAGE_SECTORS {
                return Err(Misplaced::Full);
            }
            let next = end.min((page + 1) * PAGE_SECTORS);
            let start = place * PAGE_SECTORS + at % PAGE_SECTORS;
            let length = (next - at) as u32;
            match pieces.last_mut() {
                Some((first, before)) if *first + u64::from(*before) == start => *before += length,
                _ => pieces.push((start, length)),
            }
            at = next;
        }
        Ok(())
    }
}

/// Minimum chunks of a device with enough pages.
const CHUNKS: u64 = 1024;

/// Sectors per chunk: the largest power of two of pages for which the device has [`CHUNKS`] chunks.
pub(crate) fn chunk(capacity: u64) -> u64 {
    let pages = (capacity / PAGE_SECTORS / CHUNKS).max(1);
    PAGE_SECTORS << pages.ilog2()
}

/// Scales the chunk number of `sector` and keeps the sector's offset in the chunk; then moves back
/// by whole pages until the request begins at `last` or before. Several chunks of the trace may
/// share one of the device.
fn shrink(sector: u64, capacity: u64, span: u64, last: u64) -> u64 {
    let chunk = chunk(capacity);
    let place = u128::from(sector / chunk) * u128::from(capacity / chunk)
        / u128::from(span.div_ceil(chunk));
    // `place` is below capacity / chunk, because the sector is below the span.
    let scaled = place as u64 * chunk + sector % chunk;
    let back = scaled.saturating_sub(last).next_multiple_of(PAGE_SECTORS);
    // Only a request nearly as large as the device has no aligned position.
    scaled.checked_sub(back).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_beyond_the_capacity_are_refused_wrapped_or_scaled() {
        let refuse = FixedPlace::Refuse { capacity: 100 };
        let wrap = FixedPlace::Wrap { capacity: 100 };
        let shrink = FixedPlace::Shrink { capacity: 800, span: 1600 };
        let rows = [
            (&refuse, 92, 8, Ok(92)),
            (&refuse, 93, 8, Err(Misplaced::Beyond)),
            (&refuse, u64::MAX, 8, Err(Misplaced::Beyond)),
            (&wrap, 92, 8, Ok(92)),
            (&wrap, 93, 8, Ok(92)),
            (&wrap, 250, 8, Ok(50)),
            (&wrap, 299, 8, Ok(92)),
            (&wrap, 0, 100, Ok(0)),
            (&wrap, 0, 101, Err(Misplaced::TooLarge)),
            (&shrink, 0, 8, Ok(0)),
            (&shrink, 1592, 8, Ok(792)),
            (&shrink, 801, 8, Ok(401)),
            (&shrink, 1597, 3, Ok(797)),
            (&shrink, 1597, 4, Err(Misplaced::Beyond)),
            (&shrink, 1, 800, Ok(0)),
            (&shrink, 0, 801, Err(Misplaced::TooLarge)),
        ];
        for (placement, sector, sectors, expected) in rows {
            let placed = placement.place(sector, sectors);
            assert_eq!(placed, expected, "{placement:?}: {sector} + {sectors}");
        }
    }

    #[test]
    fn pages_take_their_places_in_order_of_first_touch() {
        let mut dense = Dense::new(48);
        let mut place = |sector, sectors| {
            let mut pieces = Vec::new();
            dense.place(sector, sectors, &mut pieces).map(|()| pieces)
        };
        assert_eq!(place(8005, 8), Ok(vec![(5, 8)]));
        assert_eq!(place(4000, 8), Ok(vec![(16, 8)]));
        assert_eq!(place(8004, 1), Ok(vec![(4, 1)]));
        // Two new pages around an old one: three pieces.
        assert_eq!(place(3992, 24), Ok(vec![(24, 8), (16, 8), (32, 8)]));
        assert_eq!(place(0, 49), Err(Misplaced::TooLarge));
        assert_eq!(place(u64::MAX, 8), Err(Misplaced::Beyond));
        assert_eq!(place(80_000, 16), Err(Misplaced::Full));
    }

    proptest! {
        #[test]
        fn placed_requests_lie_within_the_capacity(
            capacity in 1..=u64::MAX / 2, more in 1..=u64::MAX / 2,
            part in 0..=u64::MAX, sectors in 1..=u32::MAX,
        ) {
            let span = capacity + more;
            let length = u64::from(sectors);
            prop_assume!(length <= span);
            let sector = part % (span - length + 1);
            for placement in
                [FixedPlace::Wrap { capacity }, FixedPlace::Shrink { capacity, span }]
            {
                match placement.place(sector, sectors) {
                    Ok(placed) => prop_assert!(placed + length <= capacity),
                    Err(error) => {
                        prop_assert_eq!(error, Misplaced::TooLarge);
                        prop_assert!(length > capacity);
                    }
                }
            }
        }
    }
}
