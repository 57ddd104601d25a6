//! Requests that wait for pages of the map.
//!
//! A state machine: it gets requests that wait for map pages, and arrived pages, and returns the
//! requests to continue. Where on the flash a page of the map lies follows from its number.

use crate::config::SsdConfig;
use crate::device::kit::slots::Slot;
use crate::ids::Unit;
use engine::Time;
use std::collections::{BTreeMap, VecDeque};

/// Requests that wait for the map.
#[derive(Debug, Clone)]
pub struct MapReads {
    /// Pages being read, with their waiting requests.
    arriving: BTreeMap<u32, Vec<Slot>>,
    /// Requests that wait for memory of the host, in order; each for an equal time.
    delayed: VecDeque<Slot>,
    host_ns: Time,
    /// Units, or dies, and planes over which the map is spread; and the one that programs next.
    places: u32,
    planes: u32,
    turn: u32,
    /// Buffer for a request's missing pages; empty between requests.
    misses: Vec<u32>,
}

impl MapReads {
    /// Without waiting requests. The map is spread over the units or dies.
    pub fn new(config: &SsdConfig, places: u32) -> MapReads {
        MapReads {
            arriving: BTreeMap::new(),
            delayed: VecDeque::new(),
            host_ns: config.map.host_ns(),
            places,
            planes: config.planes_per_die,
            turn: 0,
            misses: Vec::new(),
        }
    }

    /// Begins again with the first place.
    pub fn begin_anew(&mut self) {
        self.turn = 0;
    }

    /// The unit or die that has a page, and the plane of a die.
    pub fn place(&self, page: u32) -> (Unit, u32) {
        (Unit(page % self.places), page / self.places % self.planes)
    }

    /// The unit or die that programs next.
    pub fn next_unit(&mut self) -> Unit {
        self.turn = (self.turn + 1) % self.places;
        Unit(self.turn)
    }

    /// Time of a look-up in memory of the host, ns.
    pub fn host_ns(&self) -> Time {
        self.host_ns
    }

    /// True if a page is being read; then this request waits for it too.
    pub fn joins(&mut self, page: u32, slot: Slot) -> bool {
        let waiting = self.arriving.get_mut(&page);
        waiting.map(|slots| slots.push(slot)).is_some()
    }

    /// A page is to be read, for which a request waits.
    pub fn ask(&mut self, page: u32, slot: Slot) {
        self.arriving.insert(page, vec![slot]);
    }

    /// A page has come: who waited for it.
    pub fn came(&mut self, page: u32) -> Vec<Slot> {
        self.arriving.remove(&page).unwrap_or_default()
    }

    /// A request waits for memory of the host.
    pub fn delay(&mut self, slot: Slot) {
        self.delayed.push_back(slot);
    }

    /// The longest waiting request.
    pub fn next_delayed(&mut self) -> Option<Slot> {
        self.delayed.pop_front()
    }

    /// Lends the buffer for missing pages.
    pub fn lend_misses(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.misses)
    }

    pub fn return_misses(&mut self, mut misses: Vec<u32>) {
        misses.clear();
        self.misses = misses;
    }

    /// Drops all waiters.
    pub fn lose_power(&mut self) {
        self.arriving.clear();
        self.delayed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_misses_a_page_that_is_on_its_way_waits_for_the_same_read() {
        let mut reads = MapReads::new(&SsdConfig::default(), 3);
        assert!(!reads.joins(7, 1));
        reads.ask(7, 1);
        assert!(reads.joins(7, 2) && !reads.joins(8, 2));
        assert_eq!(reads.came(7), [1, 2]);
        assert!(reads.came(7).is_empty() && !reads.joins(7, 3));
        let places: Vec<u32> = (0..6).map(|_| reads.next_unit().0).collect();
        assert_eq!(places, [1, 2, 0, 1, 2, 0]);
    }
}
