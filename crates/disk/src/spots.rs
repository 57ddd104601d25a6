//! Positions of the requests that wait for the heads: placed once when they come, and kept in the
//! order of the disk, so that the next of them is found from where the heads are.
//!
//! A search goes outwards from the heads, past what comes round later than the best that was found,
//! and ends where the seek alone takes longer than that. It goes through records of a few words;
//! The search uses short records, with exact values beside them. Of equals the one that came first
//! is taken.

use super::config::Scheduler;
use super::geometry::Place;
use super::mechanics::Mechanics;
use super::near::Near;
use super::spindle::{Spindle, Turn, Window};
use engine::Time;
use ssd::device::kit::slots::Slot;
use std::collections::VecDeque;

/// Position of a waiting request: what a search goes through, and nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    /// First sector.
    pub sector: u64,
    cylinder: u32,
    /// Rotational position of the start.
    turn: Turn,
    /// Slot in the table.
    pub slot: Slot,
    surface: u16,
    pub is_write: bool,
    /// True if no heads are needed: the buffer answers.
    is_free: bool,
}

/// Condition on a spot that a search considers.
#[derive(Debug, Clone, Copy, Default)]
struct Detail {
    /// Order of arrival.
    age: u64,
    /// Rotational position of the start, to the nanosecond.
    angle: u64,
}

/// A waiting request with a number that is unique here.
#[derive(Debug, Clone, Copy)]
pub struct Coming {
    pub sector: u64,
    pub age: u64,
    pub slot: Slot,
    pub is_write: bool,
    pub is_free: bool,
}

/// The present, and from when on the heads may move for a read and for a write.
#[derive(Debug, Clone, Copy)]
pub struct From {
    pub now: Time,
    pub read: Time,
    pub write: Time,
}

/// Everything that waits, in the order of the disk; of what begins with the same sector, the oldest first.
#[derive(Debug, Clone, Default)]
pub struct Spots {
    all: Vec<Spot>,
    /// Details by slot.
    details: Vec<Detail>,
    /// Ages and sectors of requests that need no heads, oldest first.
    free: VecDeque<(u64, u64)>,
    near: Near,
    /// Number of writes.
    writes: usize,
}

impl Spots {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// True if any request needs the heads.
    pub fn need_heads(&self) -> bool {
        self.free.len() < self.all.len()
    }

    pub fn spot(&self, place: usize) -> &Spot {
        &self.all[place]
    }

    /// Arrival order of a spot.
    pub fn age(&self, spot: &Spot) -> u64 {
        self.details[spot.slot as usize].age
    }

    /// Inserts a spot at a position; it is the youngest of all.
    pub fn insert(&mut self, coming: Coming, place: &Place) {
        let Coming { sector, age, slot, is_write, is_free } = coming;
        let angle = Spindle::angle(place.turn, place.on_track);
        let (cylinder, surface) = (place.cylinder, place.surface as u16);
        let turn = Turn::of(angle);
        let spot = Spot { sector, cylinder, turn, slot, surface, is_write, is_free };
        let number = slot as usize;
        if number >= self.details.len() {
            memory::grow(&mut self.details, number + 1, Detail::default());
        }
        self.details[number] = Detail { age, angle };
        let behind = self.all.partition_point(|other| other.sector <= sector);
        self.all.insert(behind, spot);
        self.near.add(sector);
        self.writes += usize::from(is_write);
        if is_free {
            self.free.push_back((age, sector));
        }
    }

    /// Takes out the spot at a place.
    pub fn remove(&mut self, place: usize) -> Spot {
        let spot = self.all.remove(place);
        self.near.remove(spot.sector);
        self.writes -= usize::from(spot.is_write);
        if spot.is_free {
            self.set_free(&spot, false);
        }
        spot
    }

    /// Positions of the requests that begin in a range of sectors.
    #[inline]
    pub fn within(&self, start: u64, end: u64) -> std::ops::Range<usize> {
        if start >= end || !self.near.may_have(start, end - 1) {
            return 0..0;
        }
        self.find_within(start, end)
    }

    fn find_within(&self, start: u64, end: u64) -> std::ops::Range<usize> {
        let first = self.all.partition_point(|spot| spot.sector < start);
        let mut behind = first;
        while self.all.get(behind).is_some_and(|spot| spot.sector < end) {
            behind += 1;
        }
        first..behind
    }

    /// The spot at a place needs no heads from now on, or does need them.
    pub fn free(&mut self, place: usize, is_free: bool) {
        let spot = self.all[place];
        if spot.is_free != is_free {
            self.all[place].is_free = is_free;
            self.set_free(&spot, is_free);
        }
    }

    fn set_free(&mut self, spot: &Spot, is_free: bool) {
        let key = (self.age(spot), spot.sector);
        match self.free.binary_search(&key) {
            Err(place) if is_free => self.free.insert(place, key),
            Ok(place) if !is_free => drop(self.free.remove(place)),
            _ => {}
        }
    }

    /// Position of the oldest request of a set that is not empty.
    pub fn oldest(&self) -> usize {
        self.oldest_but(NOBODY)
    }

    /// Oldest spot in another slot.
    fn oldest_but(&self, except: Slot) -> usize {
        let spots = self.all.iter().enumerate().filter(|(_, spot)| spot.slot != except);
        spots.min_by_key(|(_, spot)| self.age(spot)).expect("something waits").0
    }
}

/// Order of service of a disk.
#[derive(Debug, Clone)]
pub struct Order {
    scheduler: Scheduler,
    /// Start of the last request, and the direction of addresses.
    last: u64,
    rises: bool,
}

impl Order {
    /// An order that begins at the first sector.
    pub fn new(scheduler: Scheduler) -> Order {
        Order { scheduler, last: 0, rises: true }
    }

    /// Notes the served request.
    pub fn served(&mut self, sector: u64) {
        self.last = sector;
    }

    /// The place of the next of some spots, of which one is not that in a slot; the oldest of equals.
    pub fn choose(
        &mut self,
        spots: &Spots,
        except: Option<Slot>,
        from: From,
        mechanics: &Mechanics,
    ) -> usize {
        let all = Among { spots, except: except.unwrap_or(NOBODY) };
        let count = spots.len() - usize::from(except.is_some());
        if count == 1 || self.scheduler == Scheduler::Fcfs {
            return spots.oldest_but(all.except);
        }
        match self.scheduler {
            Scheduler::Fcfs | Scheduler::Sstf => all.nearest(mechanics.cylinder),
            Scheduler::Scan => {
                let found = |rises| {
                    if rises { all.rising(self.last) } else { all.falling(self.last) }
                };
                found(self.rises).unwrap_or_else(|| {
                    self.rises = !self.rises;
                    found(self.rises).expect("something waits")
                })
            }
            Scheduler::Clook => {
                all.rising(self.last).or_else(|| all.rising(0)).expect("something waits")
            }
            Scheduler::Sptf => all.first_under_the_head(from, mechanics),
        }
    }
}

/// No slot.
const NOBODY: Slot = Slot::MAX;

/// Waiting requests, one of which may be excluded.
#[derive(Clone, Copy)]
struct Among<'a> {
    spots: &'a Spots,
    except: Slot,
}

impl Among<'_> {
    /// The first from a sector on.
    fn rising(&self, sector: u64) -> Option<usize> {
        let all = &self.spots.all;
        let first = all.partition_point(|spot| spot.sector < sector);
        (first..all.len()).find(|place| all[*place].slot != self.except)
    }

    /// The last up to a sector; the oldest of those that begin with it.
    fn falling(&self, sector: u64) -> Option<usize> {
        let all = &self.spots.all;
        let behind = all.partition_point(|spot| spot.sector <= sector);
        let last = (0..behind).rev().find(|place| all[*place].slot != self.except)?;
        self.rising(all[last].sector)
    }

    /// The nearest by cylinder.
    fn nearest(&self, cylinder: u32) -> usize {
        let mut best = (u32::MAX, u64::MAX, 0);
        for (place, spot, distance) in Outwards::new(&self.spots.all, cylinder) {
            if distance > best.0 {
                break;
            }
            if spot.slot != self.except {
                best = best.min((distance, self.spots.age(spot), place));
            }
        }
        best.2
    }

    /// The request whose first sector comes under the head first; what needs no heads is there at
    /// once.
    fn first_under_the_head(&self, from: From, mechanics: &Mechanics) -> usize {
        let all = &self.spots.all;
        let mut best = (Time::MAX, u64::MAX, 0);
        if let Some((age, sector)) = self.spots.free.front().copied() {
            let mut place = all.partition_point(|spot| spot.sector < sector);
            while self.spots.age(&all[place]) != age {
                place += 1;
            }
            best = (from.now, age, place);
        }
        // Without writes one window suffices.
        let write = if self.spots.writes > 0 { from.write } else { from.read };
        let mut search = Search::new(best, From { write, ..from }, mechanics);
        for (place, spot, distance) in Outwards::new(all, mechanics.cylinder) {
            if distance > search.reach {
                break;
            }
            if search.may_be_first(spot) && !spot.is_free && spot.slot != self.except {
                search.look(place, spot, &self.spots.details[spot.slot as usize], distance);
            }
        }
        search.best.2
    }
}

/// Search for the first request to come under the head.
struct Search<'a> {
    mechanics: &'a Mechanics,
    /// Start times of reads and of writes: from when on the heads may move, and where the disk is
    /// then.
    starts: [Time; 2],
    angles: [u64; 2],
    /// The best candidate: when it is there, its age and place.
    best: (Time, u64, usize),
    /// Requests that come round earlier, and the range of the heads until then.
    windows: [Window; 2],
    reach: u32,
}

impl Search<'_> {
    fn new(best: (Time, u64, usize), from: From, mechanics: &Mechanics) -> Search<'_> {
        let starts = [from.read, from.write];
        let read = mechanics.spindle.at(from.read);
        let write = if from.read == from.write { read } else { mechanics.spindle.at(from.write) };
        let angles = [read, write];
        let first = mechanics.spindle.window(read);
        let second = if read == write { first } else { mechanics.spindle.window(write) };
        let windows = [first, second];
        let mut search = Search { mechanics, starts, angles, best, windows, reach: u32::MAX };
        if best.0 < Time::MAX {
            search.narrow();
        }
        search
    }

    /// There is a best: what cannot be before it is passed over.
    #[inline]
    fn narrow(&mut self) {
        let (until, spindle) = (self.best.0, self.mechanics.spindle);
        let [read, write] = self.starts;
        self.windows[0].narrow(&spindle, until.saturating_sub(read));
        if write == read {
            self.windows[1] = self.windows[0];
        } else {
            self.windows[1].narrow(&spindle, until.saturating_sub(write));
        }
        let earliest = read.min(write);
        self.reach = self.mechanics.curve.reach(until.saturating_sub(earliest));
    }

    /// True if a spot may come round before the best, if the heads are fast.
    #[inline]
    fn may_be_first(&self, spot: &Spot) -> bool {
        self.windows[usize::from(spot.is_write)].has(spot.turn)
    }

    /// Examines a spot.
    #[inline]
    fn look(&mut self, place: usize, spot: &Spot, detail: &Detail, distance: u32) {
        let (mechanics, which) = (self.mechanics, usize::from(spot.is_write));
        let seek = mechanics.curve.time(distance);
        let seek = mechanics.with_switch(seek, u32::from(spot.surface), spot.is_write);
        let wait = mechanics.spindle.wait_from(self.angles[which], seek, detail.angle);
        let begin = self.starts[which] + seek + wait;
        if (begin, detail.age) < (self.best.0, self.best.1) {
            self.best = (begin, detail.age, place);
            self.narrow();
        }
    }
}

/// Spots with their places, those on the nearest cylinders first, and how far these are.
struct Outwards<'a> {
    cylinder: u32,
    /// Spots that were not reported yet.
    below: &'a [Spot],
    above: &'a [Spot],
    /// The place of the first of those above.
    place: usize,
}

impl Outwards<'_> {
    fn new(spots: &[Spot], cylinder: u32) -> Outwards<'_> {
        let place = spots.partition_point(|spot| spot.cylinder < cylinder);
        let (below, above) = spots.split_at(place);
        Outwards { cylinder, below, above, place }
    }
}

impl<'a> Iterator for Outwards<'a> {
    type Item = (usize, &'a Spot, u32);

    #[inline]
    fn next(&mut self) -> Option<(usize, &'a Spot, u32)> {
        let above = self.above.split_first();
        if let Some((spot, rest)) = self.below.split_last() {
            let distance = self.cylinder - spot.cylinder;
            if above.is_none_or(|(other, _)| distance <= other.cylinder - self.cylinder) {
                self.below = rest;
                return Some((rest.len(), spot, distance));
            }
        }
        let (spot, rest) = above?;
        let place = self.place;
        (self.above, self.place) = (rest, place + 1);
        Some((place, spot, spot.cylinder - self.cylinder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DiskConfig;
    use engine::{Random as _, Xoshiro256};

    /// `nearest` by a linear search: a spot that needs no heads is there now, another when its
    /// first sector comes.
    fn searched(spots: &Spots, except: Option<Slot>, from: From, mechanics: &Mechanics) -> u64 {
        let may_be = spots.all.iter().filter(|spot| Some(spot.slot) != except);
        let when = may_be.map(|spot| {
            let start = if spot.is_write { from.write } else { from.read };
            let begin = mechanics.estimate(start, spot.sector, spot.is_write).begin;
            (if spot.is_free { from.now } else { begin }, spots.age(spot))
        });
        when.min().expect("something waits").1
    }

    /// Few sectors and cylinders, for frequent collisions: equal angles, heads that are there,
    /// sectors that begin now or began within the last nanoseconds.
    #[test]
    fn what_is_passed_over_is_never_the_first_under_the_head() {
        let mut random = Xoshiro256::new(7, 0);
        let mut below = |count: u64| random.below(count);
        for (cylinders, zones, table) in [
            (40, "0-19: 8 skew 1 2, 20-39: 5", "1: 400us, 20: 3ms, 30: 2ms"),
            (1000, "0-999: 700", "none"),
        ] {
            let zones = zones.parse().expect("zones");
            let mut config = DiskConfig { cylinders, zones, surfaces: 2, ..DiskConfig::default() };
            config.seek.table = table.parse().expect("seek times");
            for round in 0..3_000 {
                let mut mechanics = config.mechanics(round % 5).expect("a disk");
                let sectors = mechanics.geometry.sectors();
                let mut spots = Spots::default();
                let with_free = below(3) == 0;
                for age in 1..3 + below(30) {
                    let is_write = below(2) == 0;
                    let sector = below(sectors);
                    let place = mechanics.geometry.place(sector);
                    let is_free = with_free && below(9) == 0;
                    let slot = age as Slot;
                    spots.insert(Coming { sector, age, slot, is_write, is_free }, &place);
                }
                let near = *spots.spot(below(spots.len() as u64) as usize);
                mechanics.cylinder = if below(2) == 0 { near.cylinder } else { below(40) as u32 };
                mechanics.surface = below(2) as u32;
                let at = mechanics.estimate(below(1 << 30), near.sector, false).begin;
                let read = at + below(6);
                let write = read.saturating_sub(2) + below(5) * below(2_000_000);
                let from = From { now: read.min(write) - below(2), read, write };
                let except = (!with_free && below(2) == 0).then_some(near.slot);
                let mut order = Order::new(Scheduler::Sptf);
                let chosen = spots.spot(order.choose(&spots, except, from, &mechanics));
                let chosen = spots.age(chosen);
                assert_eq!(chosen, searched(&spots, except, from, &mechanics), "round {round}");
            }
        }
    }
}
