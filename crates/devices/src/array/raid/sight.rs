//! View of the array for plans: places of chunks, state of members, progress of recovery after a
//! power cut.

use super::geometry::Geometry;
use super::message::Span;
use super::recovery::Recovery;
use crate::array::members::Members;

/// The array at an instant.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    pub geometry: &'a Geometry,
    pub members: &'a Members,
    pub recovery: &'a Recovery,
}

impl Sight<'_> {
    /// True if a place of a stripe is readable.
    #[inline]
    pub fn has(self, stripe: u64, place: u64) -> bool {
        let member = self.geometry.member(stripe, place) as usize;
        self.members.holds(member, self.geometry.row(stripe))
    }

    /// True if the member at a place of a stripe cleans, and is better read around.
    pub fn avoids(self, stripe: u64, place: u64) -> bool {
        self.members.avoids(self.geometry.member(stripe, place) as usize)
    }

    /// True if a stripe has not been gone through since the last cut, so that its parity may not fit.
    #[inline]
    pub fn is_behind(self, stripe: u64) -> bool {
        self.recovery.is_behind(self.geometry.row(stripe))
    }

    /// True if a write of a stripe makes its parity anew, of all its data.
    pub fn is_mended(self, stripe: u64) -> bool {
        self.is_behind(stripe) && self.has_all(stripe)
    }

    /// True without missing members in a stripe.
    pub fn has_all(self, stripe: u64) -> bool {
        (0..self.geometry.width).all(|place| self.has(stripe, place))
    }

    /// A whole chunk.
    pub fn whole(self) -> Span {
        Span { from: 0, to: self.geometry.chunk }
    }
}
