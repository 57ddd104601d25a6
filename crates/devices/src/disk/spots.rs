//! Where the things lie that wait for the heads: placed once when they come, and kept in the order of the
//! disk, so that the next of them is found from where the heads are.
//!
//! A search goes outwards from the heads, past what comes round later than the best that was found, and ends
//! where the seek alone takes longer than that. Of equals the one that came first is taken.

use super::config::Scheduler;
use super::geometry::Place;
use super::mechanics::Mechanics;
use super::spindle::Spindle;
use crate::kit::slots::Slot;
use engine::Time;
use std::collections::VecDeque;

/// The place of something that waits.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    /// Its first sector, and the order in which it came.
    pub sector: u64,
    pub age: u64,
    /// Its number where it is kept.
    pub slot: Slot,
    pub is_write: bool,
    /// It needs no heads: the buffer answers.
    is_free: bool,
    surface: u32,
    cylinder: u32,
    /// Where on the turn it begins.
    angle: u64,
}

impl Spot {
    /// The spot of what begins at a sector, which lies at that place.
    pub fn new((sector, age): (u64, u64), slot: Slot, is_write: bool, place: &Place) -> Spot {
        let (cylinder, surface) = (place.cylinder, place.surface);
        let angle = Spindle::angle(place.turn, place.on_track);
        Spot { sector, age, slot, is_write, is_free: false, surface, cylinder, angle }
    }

    fn key(&self) -> (u64, u64) {
        (self.sector, self.age)
    }
}

/// The present, and from when on the heads may move for a read and for a write.
#[derive(Debug, Clone, Copy)]
pub struct From {
    pub now: Time,
    pub read: Time,
    pub write: Time,
}

/// Everything that waits, in the order of the disk.
#[derive(Debug, Clone, Default)]
pub struct Spots {
    all: Vec<Spot>,
    /// Ages and sectors of those that need no heads, the oldest first.
    free: VecDeque<(u64, u64)>,
}

impl Spots {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether any of them needs the heads.
    pub fn need_heads(&self) -> bool {
        self.free.len() < self.all.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Spot> {
        self.all.iter()
    }

    pub fn spot(&self, place: usize) -> &Spot {
        &self.all[place]
    }

    /// Takes in a spot; it is the youngest of all, if it needs no heads.
    pub fn insert(&mut self, spot: Spot, is_free: bool) {
        let mut place = self.all.partition_point(|other| other.sector < spot.sector);
        while self.all.get(place).is_some_and(|other| other.key() < spot.key()) {
            place += 1;
        }
        self.all.insert(place, Spot { is_free, ..spot });
        if is_free {
            self.free.push_back((spot.age, spot.sector));
        }
    }

    /// Takes out the spot at a place.
    pub fn remove(&mut self, place: usize) -> Spot {
        let spot = self.all.remove(place);
        if spot.is_free {
            self.set_free(&spot, false);
        }
        spot
    }

    /// The places of those that begin in a range of sectors.
    pub fn within(&self, start: u64, end: u64) -> std::ops::Range<usize> {
        let first = self.all.partition_point(|spot| spot.sector < start);
        let count = self.all[first..].iter().take_while(|spot| spot.sector < end).count();
        first..first + count
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
        let key = (spot.age, spot.sector);
        match self.free.binary_search(&key) {
            Err(place) if is_free => self.free.insert(place, key),
            Ok(place) if !is_free => drop(self.free.remove(place)),
            _ => {}
        }
    }

    /// The place of the oldest, of which there is one.
    pub fn oldest(&self) -> usize {
        let ages = self.all.iter().enumerate().map(|(place, spot)| (spot.age, place));
        ages.min().expect("something waits").1
    }
}

/// The order in which a disk serves what waits.
#[derive(Debug, Clone)]
pub struct Order {
    scheduler: Scheduler,
    /// Where what was served last began, and whether addresses rise.
    last: u64,
    rises: bool,
}

impl Order {
    /// An order that begins at the first sector.
    pub fn new(scheduler: Scheduler) -> Order {
        Order { scheduler, last: 0, rises: true }
    }

    /// Notes what is served.
    pub fn served(&mut self, sector: u64) {
        self.last = sector;
    }

    /// The place of the next of some spots, of which one is not that of age `except`; the oldest of equals.
    pub fn choose(
        &mut self,
        spots: &Spots,
        except: Option<u64>,
        from: From,
        mechanics: &Mechanics,
    ) -> usize {
        let all = Among { spots: &spots.all, except: except.unwrap_or(NOBODY) };
        let count = spots.len() - usize::from(except.is_some());
        if count == 1 || self.scheduler == Scheduler::Fcfs {
            return all.oldest();
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
            Scheduler::Sptf => {
                let free = spots.free.front().copied();
                all.first_under_the_head(free, from, mechanics)
            }
        }
    }
}

/// No age.
const NOBODY: u64 = u64::MAX;

/// Spots in the order of the disk, one of which may not be chosen.
#[derive(Clone, Copy)]
struct Among<'a> {
    spots: &'a [Spot],
    except: u64,
}

impl Among<'_> {
    fn may_be(&self, spot: &Spot) -> bool {
        spot.age != self.except
    }

    fn oldest(&self) -> usize {
        let spots = self.spots.iter().enumerate().filter(|(_, spot)| self.may_be(spot));
        spots.min_by_key(|(_, spot)| spot.age).expect("something waits").0
    }

    /// The first from a sector on.
    fn rising(&self, sector: u64) -> Option<usize> {
        let first = self.spots.partition_point(|spot| spot.sector < sector);
        (first..self.spots.len()).find(|place| self.may_be(&self.spots[*place]))
    }

    /// The last up to a sector; of those that begin with it the oldest.
    fn falling(&self, sector: u64) -> Option<usize> {
        let behind = self.spots.partition_point(|spot| spot.sector <= sector);
        let last = (0..behind).rev().find(|place| self.may_be(&self.spots[*place]))?;
        self.rising(self.spots[last].sector)
    }

    /// By distance in cylinders.
    fn nearest(&self, cylinder: u32) -> usize {
        let mut best = (u32::MAX, u64::MAX, 0);
        for (place, spot, distance) in Outwards::new(self.spots, cylinder) {
            if distance > best.0 {
                break;
            }
            if self.may_be(spot) {
                best = best.min((distance, spot.age, place));
            }
        }
        best.2
    }

    /// By the instant at which the first sector comes under the head; what needs no heads is there at once,
    /// `free` is the oldest of it.
    fn first_under_the_head(
        &self,
        free: Option<(u64, u64)>,
        from: From,
        mechanics: &Mechanics,
    ) -> usize {
        let now = from.now;
        let mut best = (Time::MAX, u64::MAX, 0);
        if let Some((age, sector)) = free {
            let place = self.spots.partition_point(|spot| spot.key() < (sector, age));
            best = (now, age, place);
        }
        let mut search = Search::new(best, from, mechanics);
        for (place, spot, distance) in Outwards::new(self.spots, mechanics.cylinder) {
            let is_out = search.is_late(spot) || spot.is_free || !self.may_be(spot);
            if !is_out && !search.look(place, spot, distance) {
                break;
            }
        }
        search.best.2
    }
}

/// A search for what comes under the head first.
struct Search<'a> {
    mechanics: &'a Mechanics,
    /// Of reads and of writes: from when on the heads may move, and where the disk is then.
    starts: [Time; 2],
    angles: [u64; 2],
    /// The best so far: when it is there, its age and place; and how far the disk turns until then.
    best: (Time, u64, usize),
    most: [u64; 2],
}

impl Search<'_> {
    fn new(best: (Time, u64, usize), from: From, mechanics: &Mechanics) -> Search<'_> {
        let starts = [from.read, from.write];
        let angles = starts.map(|at| mechanics.spindle.at(at));
        let mut search = Search { mechanics, starts, angles, best, most: [0; 2] };
        search.find_most();
        search
    }

    fn find_most(&mut self) {
        let (until, spindle) = (self.best.0, self.mechanics.spindle);
        self.most = self.starts.map(|at| spindle.turned(until.saturating_sub(at)));
    }

    /// Whether a spot comes round later than the best, however fast the heads are.
    #[inline]
    fn is_late(&self, spot: &Spot) -> bool {
        let which = usize::from(spot.is_write);
        self.mechanics.spindle.is_beyond(self.angles[which], spot.angle, self.most[which])
    }

    /// Looks at a spot; whether those that are no nearer may be better than the best.
    #[inline]
    fn look(&mut self, place: usize, spot: &Spot, distance: u32) -> bool {
        let (mechanics, which) = (self.mechanics, usize::from(spot.is_write));
        let seek = mechanics.curve.time(distance);
        let earliest = self.starts[0].min(self.starts[1]);
        if earliest + mechanics.curve.least(distance, seek) > self.best.0 {
            return false;
        }
        let seek = mechanics.with_switch(seek, spot.surface, spot.is_write);
        let wait = mechanics.spindle.wait_from(self.angles[which], seek, spot.angle);
        let begin = self.starts[which] + seek + wait;
        if (begin, spot.age) < (self.best.0, self.best.1) {
            self.best = (begin, spot.age, place);
            self.find_most();
        }
        true
    }
}

/// Spots with their places, those on the nearest cylinders first, and how far these are.
struct Outwards<'a> {
    cylinder: u32,
    /// What has not been told.
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
    use crate::disk::DiskConfig;
    use engine::{Random as _, Xoshiro256};

    /// The same by a search through all: what needs no heads is there now, all else when its first sector comes.
    fn searched(spots: &Spots, except: Option<u64>, from: From, mechanics: &Mechanics) -> u64 {
        let may_be = spots.iter().filter(|spot| Some(spot.age) != except);
        let when = may_be.map(|spot| {
            let start = if spot.is_write { from.write } else { from.read };
            let begin = mechanics.estimate(start, spot.sector, spot.is_write).begin;
            (if spot.is_free { from.now } else { begin }, spot.age)
        });
        when.min().expect("something waits").1
    }

    /// Few sectors and cylinders, so that things meet: equal angles, heads that are there, sectors that begin now
    /// or began within the last nanoseconds.
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
                    let spot = Spot::new((sector, age), age as Slot, is_write, &place);
                    spots.insert(spot, with_free && below(9) == 0);
                }
                let near = *spots.spot(below(spots.len() as u64) as usize);
                mechanics.cylinder = if below(2) == 0 { near.cylinder } else { below(40) as u32 };
                mechanics.surface = below(2) as u32;
                let at = mechanics.estimate(below(1 << 30), near.sector, false).begin;
                let read = at + below(6);
                let write = read.saturating_sub(2) + below(5) * below(2_000_000);
                let from = From { now: read.min(write) - below(2), read, write };
                let except = (!with_free && below(2) == 0).then_some(near.age);
                let mut order = Order::new(Scheduler::Sptf);
                let chosen = spots.spot(order.choose(&spots, except, from, &mechanics)).age;
                assert_eq!(chosen, searched(&spots, except, from, &mechanics), "round {round}");
            }
        }
    }
}
