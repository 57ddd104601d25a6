//! Positions of the requests that wait for the heads, in disk order. The next request is found by a
//! search from the position of the heads.
//!
//! The search moves outwards from the heads, skips requests that pass later than the best one
//! found, and ends when the seek alone would take longer. It scans short records, with exact values
//! beside them. Ties go to the oldest request.

use super::config::Scheduler;
use super::geometry::Place;
use super::mechanics::Mechanics;
use super::near::Near;
use super::spindle::{Spindle, Turn, Window};
use engine::Time;
use ssd::device::kit::slots::Slot;
use std::collections::VecDeque;

/// Position of a waiting request: the fields that a search scans.
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
    /// True if the buffer serves the request without a seek.
    is_free: bool,
}

/// Exact values of a spot.
#[derive(Debug, Clone, Copy, Default)]
struct Detail {
    /// Sequence number of arrival.
    age: u64,
    /// Rotational position of the start, to the nanosecond.
    angle: u64,
}

/// A waiting request, with a unique number.
#[derive(Debug, Clone, Copy)]
pub struct Coming {
    pub sector: u64,
    pub age: u64,
    pub slot: Slot,
    pub is_write: bool,
    pub is_free: bool,
}

/// Current time, and times from which the heads may move for reads and for writes.
#[derive(Debug, Clone, Copy)]
pub struct From {
    pub now: Time,
    pub read: Time,
    pub write: Time,
}

/// All waiting requests, in disk order; among equal start sectors, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Spots {
    all: Vec<Spot>,
    /// Exact values by slot.
    details: Vec<Detail>,
    /// Ages and sectors of requests that need no seek, oldest first.
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

    /// Inserts the newest request, at its position.
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

    /// Removes the spot at an index.
    pub fn remove(&mut self, place: usize) -> Spot {
        let spot = self.all.remove(place);
        self.near.remove(spot.sector);
        self.writes -= usize::from(spot.is_write);
        if spot.is_free {
            self.set_free(&spot, false);
        }
        spot
    }

    /// Indexes of the requests that start in a range of sectors.
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

    /// Marks whether the spot at an index needs no seek.
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

    /// Index of the oldest request; at least one must wait.
    pub fn oldest(&self) -> usize {
        self.oldest_but(NOBODY)
    }

    /// Oldest spot in another slot.
    fn oldest_but(&self, except: Slot) -> usize {
        let spots = self.all.iter().enumerate().filter(|(_, spot)| spot.slot != except);
        spots.min_by_key(|(_, spot)| self.age(spot)).expect("something waits").0
    }
}

/// Scheduling order of a disk.
#[derive(Debug, Clone)]
pub struct Order {
    scheduler: Scheduler,
    /// Start of the last served request, and the direction of movement.
    last: u64,
    rises: bool,
}

impl Order {
    /// An order that starts at the first sector.
    pub fn new(scheduler: Scheduler) -> Order {
        Order { scheduler, last: 0, rises: true }
    }

    /// Notes the served request.
    pub fn served(&mut self, sector: u64) {
        self.last = sector;
    }

    /// Index of the next spot to serve, except the one in slot `except`; ties go to the oldest.
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

/// Excludes no slot.
const NOBODY: Slot = Slot::MAX;

/// Waiting requests, without an excluded one.
#[derive(Clone, Copy)]
struct Among<'a> {
    spots: &'a Spots,
    except: Slot,
}

impl Among<'_> {
    /// First spot at or behind a sector.
    fn rising(&self, sector: u64) -> Option<usize> {
        let all = &self.spots.all;
        let first = all.partition_point(|spot| spot.sector < sector);
        (first..all.len()).find(|place| all[*place].slot != self.except)
    }

    /// Last spot at or before a sector; the oldest among equals.
    fn falling(&self, sector: u64) -> Option<usize> {
        let all = &self.spots.all;
        let behind = all.partition_point(|spot| spot.sector <= sector);
        let last = (0..behind).rev().find(|place| all[*place].slot != self.except)?;
        self.rising(all[last].sector)
    }

    /// Nearest spot by cylinder.
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

    /// Spot whose first sector passes the heads first; requests that need no seek come at once.
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

/// Search for the first request to pass the heads.
struct Search<'a> {
    mechanics: &'a Mechanics,
    /// For reads and for writes: time from which the heads may move, and the angle at that time.
    starts: [Time; 2],
    angles: [u64; 2],
    /// Best candidate: time of passing, age, index.
    best: (Time, u64, usize),
    /// Windows of positions that pass earlier than the best, and maximum seek distance.
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

    /// Narrows windows and distance to the best candidate's time.
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

    /// True if a spot may pass before the best candidate, ignoring the seek.
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

/// Spots and indexes by rising cylinder distance, with the distance.
struct Outwards<'a> {
    cylinder: u32,
    /// Spots not reported yet.
    below: &'a [Spot],
    above: &'a [Spot],
    /// Index of the first spot above.
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

    /// `nearest` by linear search: a spot that needs no seek passes now, others when their first
    /// sector does.
    fn searched(spots: &Spots, except: Option<Slot>, from: From, mechanics: &Mechanics) -> u64 {
        let may_be = spots.all.iter().filter(|spot| Some(spot.slot) != except);
        let when = may_be.map(|spot| {
            let start = if spot.is_write { from.write } else { from.read };
            let begin = mechanics.estimate(start, spot.sector, spot.is_write).begin;
            (if spot.is_free { from.now } else { begin }, spots.age(spot))
        });
        when.min().expect("something waits").1
    }

    /// Few sectors and cylinders, so that collisions are frequent: equal angles, heads already in
    /// place, sectors that start now or just before.
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
