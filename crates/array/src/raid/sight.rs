//! View of the array for plans: places of chunks, state of members, and progress of the recovery.

use super::geometry::Geometry;
use super::message::Span;
use super::recovery::Recovery;
use crate::members::Members;

/// The array at one instant.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    pub geometry: &'a Geometry,
    pub members: &'a Members,
    pub recovery: &'a Recovery,
}

impl Sight<'_> {
    /// True if the chunk at a place of a stripe is readable.
    #[inline]
    pub fn has(self, stripe: u64, place: u64) -> bool {
        let member = self.geometry.member(stripe, place) as usize;
        self.members.holds(member, self.geometry.row(stripe))
    }

    /// True if the member at a place of a stripe is cleaning, so that reads should avoid it.
    pub fn avoids(self, stripe: u64, place: u64) -> bool {
        self.members.avoids(self.geometry.member(stripe, place) as usize)
    }

    /// True if a stripe is not yet resynchronised, so that its parity may be wrong.
    #[inline]
    pub fn is_behind(self, stripe: u64) -> bool {
        self.recovery.is_behind(self.geometry.row(stripe))
    }

    /// True if a write recomputes a stripe's parity from all data.
    pub fn is_mended(self, stripe: u64) -> bool {
        self.is_behind(stripe) && self.has_all(stripe)
    }

    /// True if no chunk of a stripe is missing.
    pub fn has_all(self, stripe: u64) -> bool {
        (0..self.geometry.width).all(|place| self.has(stripe, place))
    }

    /// A whole chunk.
    pub fn whole(self) -> Span {
        Span { from: 0, to: self.geometry.chunk }
    }
}
