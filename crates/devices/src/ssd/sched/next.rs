//! What a unit does next: the classes of work are asked in turn.
//!
//! A unit does one operation at a time; bound units begin operations together, and only of one kind.
//! Nothing here books the future: a unit is asked when it can begin something.

use super::Scheduler;
use super::class::Class;
use super::units::{NONE, PageOp, Phase};
use crate::ssd::clock::Clock;
use crate::ssd::ids::Unit;

impl Scheduler {
    /// Gives a unit its next operation, if it can begin one and there is one.
    #[inline]
    pub(super) fn dispatch(&mut self, unit: Unit, clock: &mut Clock) {
        match self.units.bound_of.get(unit.at()) {
            Some(&set) if set != NONE => self.dispatch_bound(set as usize, clock),
            _ => self.dispatch_unit(unit, clock, None),
        }
    }

    /// Gives bound units what was queued at this instant: the pages of a request begin together, not
    /// the first of them alone.
    #[inline]
    pub(in crate::ssd) fn dispatch_offered(&mut self, clock: &mut Clock) {
        while let Some(set) = self.units.offered.pop() {
            self.dispatch_bound(set as usize, clock);
        }
    }

    /// Gives bound units that are idle operations of one kind. Cleaning that does not yield comes
    /// first, then the kind of the page that has waited longest, then the other, then the rest.
    fn dispatch_bound(&mut self, set: usize, clock: &mut Clock) {
        let units = std::mem::take(&mut self.units.bound[set]);
        // Pages that a unit hands to another of the set may come too late for the first round.
        for _round in &units {
            if units.iter().any(|unit| !self.is_idle(*unit)) {
                break;
            }
            for phase in self.phases(&units) {
                for unit in &units {
                    self.dispatch_unit(*unit, clock, Some(phase));
                }
                if units.iter().any(|unit| !self.is_idle(*unit)) {
                    break;
                }
            }
        }
        self.units.bound[set] = units;
    }

    /// The kinds of operation that bound units are asked for, in turn.
    fn phases(&self, units: &[Unit]) -> [Phase; 4] {
        use Phase::{Erase, Move, Read, Write};
        let heads = units.iter().filter_map(|unit| {
            let queue = &self.units.queues[unit.at()];
            let first = queue.stalled.front().or(queue.waiting.front())?;
            Some(&self.units.ops[*first])
        });
        let first = heads.min_by_key(|op| op.enqueued).map_or(Read, PageOp::phase);
        let second = if first == Read { Write } else { Read };
        match self.classes[0] {
            Class::Cleaning => [Move, Erase, first, second],
            Class::Requests => [first, second, Move, Erase],
        }
    }

    /// Gives a unit its next operation, of kind `only` if one is given.
    #[inline]
    pub(super) fn dispatch_unit(&mut self, unit: Unit, clock: &mut Clock, only: Option<Phase>) {
        if !(self.units.overlaps || self.is_idle(unit)) {
            return;
        }
        let queue = &self.units.queues[unit.at()];
        if self.units.is_simple
            && queue.job.is_none()
            && queue.stalled.is_empty()
            && !self.ftl.needs_cleaning(unit)
            && self.begin_first_read(unit, clock)
        {
            return;
        }
        let queue = &self.units.queues[unit.at()];
        let waiting = !(queue.waiting.is_empty() && queue.stalled.is_empty());
        if queue.job.is_none() && self.wants_cleaning(unit, waiting) {
            self.choose_victim(unit, waiting);
        }
        let cleaning = self.units.queues[unit.at()].job.is_some();
        if !cleaning {
            if waiting {
                self.serve_requests(unit, clock, only);
            }
            return;
        }
        for class in self.classes {
            match class {
                Class::Requests if waiting => self.serve_requests(unit, clock, only),
                Class::Requests => {}
                Class::Cleaning => self.serve_cleaning(unit, clock, only),
            }
        }
    }
}
