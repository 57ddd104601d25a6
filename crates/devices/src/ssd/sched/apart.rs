//! The flash back end in sides: units that share no bus, no pool and no decision with those of other sides,
//! each side on a copy of the state in which only its own units are valid.

use super::Scheduler;
use super::units::{NONE, OpId, Units, Work};
use crate::kit::slots::{Slot, Slots};
use crate::ssd::ids::Unit;

impl Scheduler {
    /// Why sides would not do in time what the whole does, if they would not.
    pub(in crate::ssd) fn whole_because(&self) -> Option<&'static str> {
        let reasons = [
            (!self.units.is_simple, "units begin operations together, or several at a time"),
            (self.cleaning.stream, "cleaning copies pages between units"),
            (self.recorder.is_some(), "flash operations are recorded in one list"),
            (self.lanes.has_empty_stage(), "a stage of an operation takes no time"),
        ];
        let own = reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason));
        own.or_else(|| self.ftl.whole_because(&self.flash))
    }

    /// The units of each bus.
    pub(in crate::ssd) fn units_by_bus(&self) -> Vec<Vec<Unit>> {
        let mut buses = vec![Vec::new(); self.lanes.buses()];
        for unit in (0..self.ftl.geometry().units).map(Unit) {
            // A lane each: units are simple.
            buses[self.lanes.bus_of(unit.0)].push(unit);
        }
        buses.retain(|units| !units.is_empty());
        buses
    }

    /// The back end of a side with these units. The first takes the tables of pages and the counts with it,
    /// and so is made last; `rename` gives owners of requests other names.
    pub(in crate::ssd) fn side(
        &mut self,
        units: &[Unit],
        first: bool,
        rename: &mut dyn FnMut(Slot) -> Slot,
    ) -> Scheduler {
        let mut lanes = self.lanes.clone();
        lanes.reset_effort();
        let parts: Vec<_> = units.iter().map(|unit| self.ftl.part_of(*unit)).collect();
        let (ftl, flash) = if first {
            (self.ftl.first_side(), self.flash.first_side())
        } else {
            (self.ftl.other_side(), self.flash.side(parts.iter().map(|part| part.blocks().clone())))
        };
        Scheduler {
            ftl,
            flash,
            lanes,
            units: self.units.side(units, rename),
            recorder: None,
            costs: self.costs.clone(),
            copies_for_summary: self.copies_for_summary,
            classes: self.classes,
            cleaning: self.cleaning.clone(),
            cleans_alone: self.cleans_alone,
            puts_off: self.puts_off,
            refused: Vec::new(),
        }
    }

    /// Takes back what [`side`](Scheduler::side) gave: all sides with their units, the first of them first.
    pub(in crate::ssd) fn take_sides<'a>(
        &mut self,
        sides: impl Iterator<Item = (&'a mut Scheduler, &'a [Unit])>,
        rename: &dyn Fn(Slot) -> Slot,
    ) {
        self.units.clear();
        let before = self.ftl.numbers();
        for (number, (side, units)) in sides.enumerate() {
            if number == 0 {
                std::mem::swap(&mut self.ftl, &mut side.ftl);
                std::mem::swap(&mut self.flash, &mut side.flash);
            } else {
                self.ftl.take_side(&side.ftl, before);
                for unit in units {
                    let part = self.ftl.part_of(*unit);
                    self.ftl.take_part(&side.ftl, &part);
                    self.flash.take_part(&side.flash, part.blocks());
                }
            }
            self.lanes.add_effort(&side.lanes);
            for unit in units {
                self.lanes.take_lane(&side.lanes, unit.0);
                self.units.take_unit(&mut side.units, *unit, rename);
            }
        }
    }
}

impl Units {
    /// The same with the work of some units alone.
    fn side(&self, own: &[Unit], rename: &mut dyn FnMut(Slot) -> Slot) -> Units {
        let mut side = self.clone();
        let mut is_own = vec![false; side.queues.len()];
        for unit in own {
            is_own[unit.at()] = true;
        }
        for (unit, own) in (0..).map(Unit).zip(is_own) {
            if own {
                let owned: Vec<OpId> = side.ops_of(unit).collect();
                for op in owned {
                    let owner = &mut side.ops[op].owner;
                    *owner = owner.map(&mut *rename);
                }
            } else {
                let queue = &mut side.queues[unit.at()];
                queue.waiting.clear();
                queue.stalled.clear();
                queue.job = None;
            }
        }
        side
    }

    /// The page requests that wait for a unit or use it.
    fn ops_of(&self, unit: Unit) -> impl Iterator<Item = OpId> {
        let queue = &self.queues[unit.at()];
        let [flight, _] = self.lanes[unit.at()].flights;
        let work = self.flights.get(flight as usize).and_then(|flight| flight.work);
        let under_way = match work {
            Some(Work::Host(op, _)) => Some(op),
            _ => None,
        };
        queue.stalled.iter().chain(&queue.waiting).copied().chain(under_way)
    }

    /// Forgets all work, which is elsewhere.
    fn clear(&mut self) {
        self.ops = Slots::new();
        self.flights.clear();
        self.free_flights.clear();
    }

    /// Takes a unit with its work from a side.
    fn take_unit(&mut self, side: &mut Units, unit: Unit, rename: &dyn Fn(Slot) -> Slot) {
        let ops = &mut self.ops;
        let mut take = |op: OpId| {
            let mut op = side.ops[op];
            op.owner = op.owner.map(rename);
            ops.insert(op)
        };
        let mut queue = side.queues[unit.at()].clone();
        queue.stalled.iter_mut().chain(&mut queue.waiting).for_each(|op| *op = take(*op));
        self.queues[unit.at()] = queue;
        let mut lane = side.lanes[unit.at()];
        if lane.flights[0] != NONE {
            let mut flight = side.flights[lane.flights[0] as usize];
            if let Some(Work::Host(op, _)) = &mut flight.work {
                *op = take(*op);
            }
            self.flights.push(flight);
            lane.flights[0] = self.flights.len() as u32 - 1;
        }
        self.lanes[unit.at()] = lane;
    }
}
