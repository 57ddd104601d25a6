//! Acknowledged data not yet on the media: their addresses, and the order in which they are
//! written.

use super::mechanics::Mechanics;
use super::spots::{Coming, From, Order, Spot, Spots};
use ssd::device::kit::slots::Slot;

/// Consecutive sectors in a segment, not yet on the media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dirty {
    pub segment: usize,
    pub sector: u64,
    pub end: u64,
}

/// Dirty segments by number and by address.
#[derive(Debug, Clone)]
pub struct Dirties {
    spots: Spots,
    /// End sector of each segment's dirty data; 0 without any.
    ends: Vec<u64>,
    arrivals: u64,
}

impl Dirties {
    /// An empty set for `segments` segments.
    pub fn new(segments: usize) -> Dirties {
        Dirties { spots: Spots::default(), ends: memory::zeroed(segments), arrivals: 0 }
    }

    pub fn len(&self) -> usize {
        self.spots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.spots.is_empty()
    }

    /// Oldest segment whose data directly precede a range, with room for it.
    pub fn before(&self, sector: u64, end: u64, size: u64) -> Option<usize> {
        let near = self.spots.within(end.saturating_sub(size), sector);
        let near = near.map(|place| self.spots.spot(place));
        let joins = near.filter(|spot| self.ends[spot.slot as usize] == sector);
        joins.min_by_key(|spot| self.spots.age(spot)).map(|spot| spot.slot as usize)
    }

    /// Removes dirty data in a range; `tell` gets each affected segment.
    pub fn supersede(&mut self, sector: u64, end: u64, mut tell: impl FnMut(usize)) {
        let within = self.spots.within(sector, end);
        for place in within.rev() {
            let segment = self.spots.spot(place).slot as usize;
            if self.ends[segment] <= end {
                tell(self.remove(place).segment);
            }
        }
    }

    /// Adds data of a segment: an extension, or the whole segment.
    pub fn add(&mut self, Dirty { segment, sector, end }: Dirty, mechanics: &Mechanics) {
        if self.ends[segment] == 0 {
            self.arrivals += 1;
            let place = mechanics.geometry.place(sector);
            let (age, slot) = (self.arrivals, segment as Slot);
            let coming = Coming { sector, age, slot, is_write: true, is_free: false };
            self.spots.insert(coming, &place);
        }
        self.ends[segment] = end;
    }

    /// True if another segment than `filling` has dirty data.
    pub fn has_other(&self, filling: Option<usize>) -> bool {
        self.len() > usize::from(filling.is_some_and(|segment| self.ends[segment] > 0))
    }

    /// Takes the next segment to write, other than the one being [filled](Dirties::has_other).
    pub fn take(
        &mut self,
        filling: Option<usize>,
        order: &mut Order,
        from: From,
        mechanics: &Mechanics,
    ) -> Dirty {
        let filling = filling.filter(|segment| self.ends[*segment] > 0);
        let except = filling.map(|segment| segment as Slot);
        let place = order.choose(&self.spots, except, from, mechanics);
        self.remove(place)
    }

    fn remove(&mut self, place: usize) -> Dirty {
        let Spot { slot, sector, .. } = self.spots.remove(place);
        let segment = slot as usize;
        Dirty { segment, sector, end: std::mem::take(&mut self.ends[segment]) }
    }
}
