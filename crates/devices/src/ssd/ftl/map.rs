//! The map: where each logical page lies.
//!
//! An entry has the width of a page number and no more: 4 bytes, with the largest number for nowhere.
//! Nothing outside of this file knows that.

use crate::ssd::ids::{Lpn, Ppn};
use serde::{Deserialize, Serialize};

/// A place in the flash, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Place(u32);

impl Place {
    /// No place.
    pub const NOWHERE: Place = Place(u32::MAX);

    /// The page, if there is one.
    #[inline]
    pub fn ppn(self) -> Option<Ppn> {
        (self != Place::NOWHERE).then_some(Ppn(self.0))
    }

    /// Whether it is one of these pages, given by the first and past the last.
    #[inline]
    pub fn is_within(self, pages: &std::ops::Range<Ppn>) -> bool {
        (pages.start.0..pages.end.0).contains(&self.0)
    }
}

impl From<Ppn> for Place {
    #[inline]
    fn from(ppn: Ppn) -> Place {
        Place(ppn.0)
    }
}

/// The place of each logical page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageMap(Vec<Place>);

impl PageMap {
    /// So many pages, none of which was written.
    pub fn new(pages: u32) -> PageMap {
        let mut places = vec![Place::NOWHERE; pages as usize];
        memory::prefer_large_pages(&mut places);
        PageMap(places)
    }

    /// Where a page lies.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> Place {
        self.0[lpn.at()]
    }

    /// Whether a page lies there; padding lies nowhere.
    #[inline]
    pub fn holds(&self, lpn: Lpn, ppn: Ppn) -> bool {
        self.0.get(lpn.at()).is_some_and(|place| place.0 == ppn.0)
    }

    /// The page lies there from now on.
    #[inline]
    pub fn set(&mut self, lpn: Lpn, ppn: Ppn) {
        self.0[lpn.at()] = ppn.into();
    }

    /// The page lies nowhere from now on.
    #[inline]
    pub fn clear(&mut self, lpn: Lpn) {
        self.0[lpn.at()] = Place::NOWHERE;
    }

    /// Takes the places of some pages as another map of as many has them.
    pub fn take_part(&mut self, other: &PageMap, pages: std::ops::Range<Lpn>) {
        let pages = pages.start.at()..pages.end.at();
        self.0[pages.clone()].copy_from_slice(&other.0[pages]);
    }

    /// Begins to fetch the entry of a page, which will be wanted.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        memory::prefetch(&self.0, lpn.at());
    }

    /// The places of all pages that lie somewhere, in order of the logical pages.
    pub fn places(&self) -> impl Iterator<Item = Ppn> + '_ {
        self.0.iter().filter_map(|place| place.ppn())
    }

    /// Whether it is a map of as many pages as another, and names no page from `pages` on.
    pub fn fits(&self, other: &PageMap, pages: u32) -> bool {
        self.0.len() == other.0.len() && self.places().all(|ppn| ppn.0 < pages)
    }
}
