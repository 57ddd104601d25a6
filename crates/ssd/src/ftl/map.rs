//! The map: where each logical page lies.
//!
//! An entry is the number of the physical page plus 1, so that zeroed memory is a map in which no
//! page lies anywhere. This is private to this file.

use crate::flash::Flash;
use crate::ids::{Lpn, Ppn};
use crate::numbers::Numbers;
use serde::Serialize;
use std::ops::Range;

/// A position in the flash, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(u64);

impl Place {
    /// No place.
    pub const NOWHERE: Place = Place(0);

    /// The page, if mapped.
    #[inline]
    pub fn ppn(self) -> Option<Ppn> {
        self.0.checked_sub(1).map(Ppn)
    }

    /// True if it is one of these pages, given by the first and past the last.
    #[inline]
    pub fn is_within(self, pages: &Range<Ppn>) -> bool {
        // Nowhere is past every page.
        (pages.start.0..pages.end.0).contains(&self.0.wrapping_sub(1))
    }
}

impl From<Ppn> for Place {
    #[inline]
    fn from(ppn: Ppn) -> Place {
        Place(ppn.0 + 1)
    }
}

/// The place of each logical page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PageMap(Numbers);

impl From<Numbers> for PageMap {
    fn from(entries: Numbers) -> PageMap {
        PageMap(entries)
    }
}

impl PageMap {
    /// A map of `pages` unwritten pages; `wide` where a page number takes more than 32 bits.
    pub fn new(pages: u64, wide: bool) -> PageMap {
        PageMap(Numbers::new(pages, wide))
    }

    /// An empty map of the same size.
    pub fn alike(&self) -> PageMap {
        PageMap(self.0.alike())
    }

    /// Position of a page.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> Place {
        Place(self.0.get(lpn.0))
    }

    /// True if a page lies there; padding lies nowhere.
    #[inline]
    pub fn holds(&self, lpn: Lpn, ppn: Ppn) -> bool {
        self.0.find(lpn.0) == ppn.0 + 1
    }

    /// The page lies there from now on.
    #[inline]
    pub fn set(&mut self, lpn: Lpn, ppn: Ppn) {
        self.0.set(lpn.0, ppn.0 + 1);
    }

    /// The page lies there from now on; where it lay before.
    #[inline]
    pub fn replace(&mut self, lpn: Lpn, ppn: Ppn) -> Place {
        Place(self.0.replace(lpn.0, ppn.0 + 1))
    }

    /// The page lies at a place from now on, or nowhere.
    pub(crate) fn put(&mut self, lpn: Lpn, place: Place) {
        self.0.set(lpn.0, place.0);
    }

    /// The page lies nowhere from now on.
    pub fn clear(&mut self, lpn: Lpn) {
        // Pages that were never written are not touched.
        if self.0.get(lpn.0) != 0 {
            self.0.set(lpn.0, 0);
        }
    }

    /// Takes the places of some pages as another map of as many has them.
    pub fn take_part(&mut self, other: &PageMap, pages: Range<Lpn>) {
        self.0.take(&other.0, pages.start.0..pages.end.0);
    }

    /// Begins to fetch the entry of a page, which will be wanted.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.0.prefetch(lpn.0);
    }

    /// Entries of the pages that were written to these places.
    #[inline]
    pub fn prefetch_all(&self, flash: &Flash, places: Range<u64>) {
        self.0.prefetch_named(flash.all_stamps(), places);
    }

    /// Counts the pages that are still where they were written consecutively, and moves them to the
    /// front.
    #[inline]
    pub fn keep_held(&self, lpns: &mut [u64], from: Ppn) -> usize {
        let places = self.0.narrow();
        let mut held = 0;
        for (at, place) in (0..lpns.len()).zip(from.0 + 1..) {
            let lpn = lpns[at];
            lpns[held] = lpn;
            let lies = match places {
                Some(places) => places.get(lpn as usize).copied().map_or(0, u64::from),
                None => self.0.find(lpn),
            };
            held += usize::from(lies == place);
        }
        held
    }

    /// The pages that lie somewhere, in order, and where.
    pub fn mapped(&self) -> impl Iterator<Item = (Lpn, Ppn)> + '_ {
        self.0.entries().map(|(lpn, place)| (Lpn(lpn), Ppn(place - 1)))
    }

    /// Calls `each` with every mapped position; a loop that is as fast as the memory of a large
    /// map.
    pub fn each_mapped(&self, mut each: impl FnMut(Ppn)) {
        match self.0.narrow() {
            Some(places) => {
                places.iter().filter(|it| **it != 0).for_each(|it| each(Ppn(u64::from(*it) - 1)));
            }
            None => self.mapped().for_each(|(_, ppn)| each(ppn)),
        }
    }

    /// The table, taken until it is returned.
    pub fn table(&mut self) -> &mut Numbers {
        &mut self.0
    }

    /// True if it is a map of as many pages as another, and names no page from `pages` on.
    pub fn fits(&self, other: &PageMap, pages: u64) -> bool {
        self.0.is_like(&other.0) && self.0.largest() <= pages
    }
}
