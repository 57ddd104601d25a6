//! Map pages in memory: look-ups of the host, updates by cleaning and trims, and evictions.
//!
//! The map itself is always whole (`map.rs`): the cache here only determines the cost of look-ups.
//! A missing page replaces the least recently used one at once, so that counts depend only on the
//! order of requests, and are equal in timed and untimed runs. The map occupies separate blocks
//! outside the spare space, whose erasures are not simulated.

use super::planted::Slip;
use crate::account::Counters;
use crate::config::SsdConfig;
use crate::shape::{Geometry, MapShape};
use std::ops::Range;

/// No page of the map, or no place.
const NONE: u32 = u32::MAX;

/// Location of a map page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// In memory of the controller.
    Near,
    /// In memory of the host.
    Far,
    /// Only on the flash.
    Missing,
}

/// Flash operations for the map, beside the reads that requests wait for.
#[derive(Debug, Clone, Default)]
pub struct MapWork {
    /// Map pages to read because cleaning moved their data pages.
    pub reads: Vec<u32>,
    /// Groups of pages of the map to be programmed.
    pub programs: u32,
}

/// A page in the order of use.
#[derive(Debug, Clone, Copy)]
struct Held {
    page: u32,
    newer: u32,
    older: u32,
    is_dirty: bool,
}

/// Map pages in one memory, the least recently used last.
#[derive(Debug, Clone)]
struct Lru {
    most: u32,
    /// The place of each page of the map in the list.
    place: Vec<u32>,
    held: Vec<Held>,
    newest: u32,
    oldest: u32,
}

impl Lru {
    fn new(pages: u32, most: u32) -> Lru {
        Lru {
            most,
            place: memory::filled(NONE, pages as usize),
            held: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    fn holds(&self, page: u32) -> bool {
        self.place[page as usize] != NONE
    }

    fn unlink(&mut self, at: u32) {
        let Held { newer, older, .. } = self.held[at as usize];
        match newer {
            NONE => self.newest = older,
            _ => self.held[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.held[older as usize].newer = newer,
        }
    }

    fn put_first(&mut self, at: u32) {
        let older = std::mem::replace(&mut self.newest, at);
        let held = &mut self.held[at as usize];
        (held.newer, held.older) = (NONE, older);
        match older {
            NONE => self.oldest = at,
            _ => self.held[older as usize].newer = at,
        }
    }

    /// A page is used. Inserts it clean if it is missing; returns the evicted page, and true if
    /// that was dirty.
    fn use_page(&mut self, page: u32) -> Option<(u32, bool)> {
        let at = self.place[page as usize];
        if at != NONE {
            if at != self.newest {
                self.unlink(at);
                self.put_first(at);
            }
            return None;
        }
        let new = Held { page, newer: NONE, older: NONE, is_dirty: false };
        if (self.held.len() as u32) < self.most {
            self.held.push(new);
            let at = self.held.len() as u32 - 1;
            self.place[page as usize] = at;
            self.put_first(at);
            return None;
        }
        let at = self.oldest;
        self.unlink(at);
        let left = std::mem::replace(&mut self.held[at as usize], new);
        self.place[left.page as usize] = NONE;
        self.place[page as usize] = at;
        self.put_first(at);
        Some((left.page, left.is_dirty))
    }

    /// Removes a page, if held.
    fn drop_page(&mut self, page: u32) {
        let at = std::mem::replace(&mut self.place[page as usize], NONE);
        if at == NONE {
            return;
        }
        self.unlink(at);
        let last = self.held.len() as u32 - 1;
        self.held.swap_remove(at as usize);
        if at == last {
            return;
        }
        // The last entry takes its place.
        let Held { page, newer, older, .. } = self.held[at as usize];
        self.place[page as usize] = at;
        match newer {
            NONE => self.newest = at,
            _ => self.held[newer as usize].older = at,
        }
        match older {
            NONE => self.oldest = at,
            _ => self.held[older as usize].newer = at,
        }
    }

    fn note_dirty(&mut self, page: u32) {
        let at = self.place[page as usize];
        self.held[at as usize].is_dirty = true;
    }

    /// Checks that each page is in the list exactly once.
    fn check(&self) -> Result<(), String> {
        let (mut at, mut count, mut newer) = (self.newest, 0, NONE);
        while at != NONE {
            let held = &self.held[at as usize];
            if held.newer != newer || self.place[held.page as usize] != at {
                return Err(format!("page {} of the map is not where its list says", held.page));
            }
            (newer, at, count) = (at, held.older, count + 1);
            if count > self.held.len() {
                return Err("the pages of the map in memory are a circle".to_owned());
            }
        }
        let placed = self.place.iter().filter(|at| **at != NONE).count();
        if count != self.held.len() || placed != count || count > self.most as usize {
            return Err(format!(
                "{count} pages of the map are in a list, {placed} have a place, and {} are held",
                self.held.len()
            ));
        }
        Ok(())
    }
}

/// The map cache.
#[derive(Debug, Clone)]
pub struct MapCache {
    shape: MapShape,
    /// All pages in memory, and the ones in the controller's SRAM in front of the host's memory.
    all: Lru,
    near: Option<Lru>,
    is_far: bool,
    /// Evicted pages waiting to be programmed together.
    gathered: u32,
    /// True for timed operation, which records the operations.
    is_timed: bool,
    work: MapWork,
}

impl MapCache {
    /// `None` without a map cache.
    pub fn new(config: &SsdConfig, geometry: &Geometry) -> Option<Box<MapCache>> {
        let shape = geometry.map_shape(config)?;
        let is_far = config.map.is_far();
        let mut cache = MapCache {
            shape,
            all: Lru::new(shape.pages, shape.held),
            near: (is_far && shape.near > 0).then(|| Lru::new(shape.pages, shape.near)),
            is_far,
            gathered: 0,
            is_timed: false,
            work: MapWork::default(),
        };
        cache.forget();
        Some(Box::new(cache))
    }

    /// Drops the content of the memory; a memory for all of the map is filled at the start.
    pub fn forget(&mut self) {
        self.all = Lru::new(self.shape.pages, self.shape.held);
        self.near = self.near.take().map(|near| Lru::new(self.shape.pages, near.most));
        (self.gathered, self.work) = (0, MapWork::default());
        if self.shape.is_whole() {
            for page in 0..self.shape.pages {
                self.all.use_page(page);
            }
        }
    }

    /// Map page of a logical page.
    pub fn page_of(&self, lpn: u64) -> u32 {
        (lpn / self.shape.entries) as u32
    }

    /// The map pages of a range of logical pages, each with its number of entries in the range.
    pub fn pages_of(&self, lpns: &Range<u64>) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (entries, lpns) = (self.shape.entries, lpns.clone());
        let pages =
            if lpns.is_empty() { 0..0 } else { lpns.start / entries..(lpns.end - 1) / entries + 1 };
        pages.map(move |page| {
            let from = lpns.start.max(page * entries);
            let to = lpns.end.min((page + 1) * entries);
            (page as u32, (to - from) as u32)
        })
    }

    /// The host looks up some entries of a page; a write changes them.
    pub fn look_up(
        &mut self,
        (page, entries): (u32, u32),
        writes: bool,
        counters: &mut Counters,
    ) -> Found {
        let found = self.find(page);
        let missing = u64::from(found == Found::Missing);
        counters.map_misses += missing;
        counters.map_hits += u64::from(entries) - missing;
        if found != Found::Far {
            counters.map_near_hits += u64::from(entries) - missing;
        } else if self.near.is_some() {
            // The first look-up loads it into the controller.
            counters.map_near_hits += u64::from(entries) - 1;
        }
        self.use_page(page, counters);
        if writes {
            self.all.note_dirty(page);
        }
        found
    }

    fn find(&self, page: u32) -> Found {
        if !self.all.holds(page) {
            return Found::Missing;
        }
        match &self.near {
            Some(near) if near.holds(page) => Found::Near,
            _ if self.is_far => Found::Far,
            _ => Found::Near,
        }
    }

    fn use_page(&mut self, page: u32, counters: &mut Counters) {
        if let Some((left, is_dirty)) = self.all.use_page(page) {
            counters.map_evictions += 1;
            if let Some(near) = &mut self.near {
                near.drop_page(left);
            }
            if is_dirty && !Slip::EvictionIsLost.is_planted() {
                self.gather(counters);
            }
        }
        if let Some(near) = &mut self.near {
            near.use_page(page);
        }
    }

    /// Adds a map page to those programmed together.
    fn gather(&mut self, counters: &mut Counters) {
        self.gathered += 1;
        if self.gathered == self.shape.gathered {
            self.gathered = 0;
            counters.map_programs += u64::from(self.shape.gathered);
            self.work.programs += u32::from(self.is_timed);
        }
    }

    /// Changes entries of a map page without reading it first. A missing page is read, unless all
    /// entries change, and programmed; it does not come into the cache.
    pub fn update(&mut self, (page, entries): (u32, u64), counters: &mut Counters) {
        if self.all.holds(page) {
            return self.all.note_dirty(page);
        }
        if entries < self.shape.entries {
            counters.map_reads += 1;
            if self.is_timed {
                self.work.reads.push(page);
            }
        }
        self.gather(counters);
    }

    /// Sets whether work is noted from now on.
    pub fn keep_time(&mut self, is_timed: bool) {
        self.is_timed = is_timed;
        if !is_timed {
            self.work = MapWork::default();
        }
    }

    /// Takes the noted work, which is done by then.
    pub fn take_work(&mut self) -> MapWork {
        std::mem::take(&mut self.work)
    }

    /// Checks the consistency of the cache.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), String> {
        self.all.check()?;
        let Some(near) = &self.near else { return Ok(()) };
        near.check()?;
        let is_beside = |it: &&Held| !self.all.holds(it.page);
        match near.held.iter().find(is_beside) {
            Some(it) => Err(format!("page {} of the map is in front of nothing", it.page)),
            None => Ok(()),
        }
    }
}
