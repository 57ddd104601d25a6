//! The class of cleaning: a victim is chosen, its valid pages are moved, and it is erased.

use super::Scheduler;
use super::units::{Flight, Phase, Work};
use crate::ssd::clock::Clock;
use crate::ssd::config::CleaningTime;
use crate::ssd::flash::{FlashOp, OpKind};
use crate::ssd::ftl::{Programming, Relocation, Step};
use crate::ssd::ids::{BlockMode, Unit};
use crate::ssd::power::planted::Bug;

impl Scheduler {
    /// Lets a unit without a victim look for one.
    pub(super) fn choose_victim(&mut self, unit: Unit, waiting: bool) {
        let job = self.ftl.begin_cleaning(&self.flash, unit, waiting);
        self.units.queues[unit.at()].job = job;
        if let Some(job) = job {
            // Each page is looked up when its turn comes.
            let geometry = self.ftl.geometry();
            let first = geometry.ppn(job.source, 0);
            self.ftl.prefetch_places(&self.flash, first, geometry.data_pages);
        }
    }

    /// Whether a unit without a job should look for a victim.
    #[inline]
    pub(super) fn wants_cleaning(&self, unit: Unit, waiting: bool) -> bool {
        let cleaning = &self.cleaning;
        if self.puts_off && self.ftl.can_put_off_cleaning(unit) {
            return false;
        }
        let low = self.ftl.needs_cleaning(unit)
            && (waiting || cleaning.background || cleaning.time == CleaningTime::Interleaved);
        low || !waiting && cleaning.background && self.ftl.can_use_idle_time(unit)
    }

    /// Units that are cleaning.
    pub(in crate::ssd) fn units_cleaning(&self) -> u32 {
        self.units.queues.iter().map(|queue| u32::from(queue.job.is_some())).sum()
    }

    /// Whether a unit should be cleaning.
    pub(in crate::ssd) fn needs_cleaning(&self) -> bool {
        (0..self.ftl.geometry().units).any(|unit| self.ftl.needs_cleaning(Unit(unit)))
    }

    /// Every unit that would clean soon cleans a block now.
    pub(in crate::ssd) fn clean_now(&mut self, clock: &mut Clock) {
        for unit in (0..self.ftl.geometry().units).map(Unit) {
            if self.units.queues[unit.at()].job.is_none() {
                let soon = self.ftl.geometry().low_blocks + 1;
                let job = self.ftl.begin_cleaning_below(&self.flash, unit, soon);
                self.units.queues[unit.at()].job = job;
                self.dispatch(unit, clock);
            }
        }
    }

    /// Gives an idle unit the next operation of its cleaning, of kind `only` if one is given.
    pub(super) fn serve_cleaning(&mut self, unit: Unit, clock: &mut Clock, only: Option<Phase>) {
        if !self.is_idle(unit) || self.cleaning.stream && self.serve_stream(unit, clock) {
            return;
        }
        let Some(job) = &mut self.units.queues[unit.at()].job else { return };
        if let Some(only) = only {
            let moves = self.ftl.has_valid_page(&self.flash, job);
            if only != if moves { Phase::Move } else { Phase::Erase } {
                return;
            }
        }
        let work = match self.ftl.next_step(&mut self.flash, job) {
            Step::Move(programming) => Work::Move(programming),
            Step::Erase => {
                let job = *job;
                if self.is_barred(job) {
                    return self.bar_erase(unit, clock);
                }
                Work::Erase(job)
            }
        };
        if !self.units.barred.is_empty() {
            self.units.barred.retain(|barred| *barred != unit);
        }
        let queue = &mut self.units.queues[unit.at()];
        queue.cleaning_since.get_or_insert(clock.now);
        self.launch(unit, work, clock);
    }

    /// Time of moving a page within a unit.
    #[inline]
    pub(super) fn kind_of_move(&self) -> OpKind {
        if self.cleaning.copy_back { OpKind::CopyBack } else { OpKind::Move }
    }

    /// A move has ended on a unit where nothing else may begin before the victim is erased: the next page
    /// follows at once, in the same place.
    #[inline]
    pub(super) fn move_ended(&mut self, lane: u32, id: u32, ended: Programming, clock: &mut Clock) {
        let unit = Unit(lane);
        self.units.end_cleaning_operation(unit, clock.now);
        self.ftl.complete_move(&mut self.flash, ended);
        let queue = &mut self.units.queues[unit.at()];
        queue.cleaning_since = Some(clock.now);
        let job = queue.job.as_mut().expect("it is cleaning");
        let Step::Move(next) = self.ftl.next_step(&mut self.flash, job) else {
            let job = *job;
            self.units.flights[id as usize].work = None;
            self.units.free_flights.push(id);
            return self.launch(unit, Work::Erase(job), clock);
        };
        self.units.flights[id as usize] =
            Flight { work: Some(Work::Move(next)), unit, lanes_left: 1 };
        let (at, last) = (next.ppn, self.ftl.geometry().is_last(next.ppn));
        let op = FlashOp { kind: self.kind_of_move(), at, mode: BlockMode::NATIVE, count: 1, last };
        self.begin_on_lane(lane, id, &op, clock);
    }

    /// Whether a victim still holds the newest programmed copy of a page: another unit is programming
    /// what supersedes it. A power cut would otherwise lose what was written long ago.
    fn is_barred(&self, job: Relocation) -> bool {
        let geometry = self.ftl.geometry();
        let pages = geometry.ppn(job.source, 0)..geometry.ppn(job.source, geometry.data_pages);
        let is_watched = self.ftl.pools_span_units() && !Bug::NoEraseBarrier.is_planted();
        is_watched && self.units.supersede_one_of(&pages)
    }

    /// The erasure of a job waits. Blocking cleaning keeps holding its unit, and counts the wait; else
    /// the unit serves what else there is.
    fn bar_erase(&mut self, unit: Unit, clock: &mut Clock) {
        self.units.bar(unit);
        let blocks = self.blocks_for_cleaning();
        if blocks {
            self.units.queues[unit.at()].cleaning_since.get_or_insert(clock.now);
        }
    }

    /// A program has ended, for which erasures may have waited.
    pub(super) fn retry_erases(&mut self, clock: &mut Clock) {
        let units = std::mem::take(&mut self.units.barred);
        if self.blocks_for_cleaning() {
            for unit in &units {
                self.units.end_cleaning_operation(*unit, clock.now);
            }
        }
        for unit in units {
            self.dispatch(unit, clock);
        }
    }
}
