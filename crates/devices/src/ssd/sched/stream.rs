//! Copies between two packages of a gang (section 2.2 and Figure 2 of the 2008 paper): what one of them
//! shifts out, the other shifts in at the same time, so that a page crosses the bus once. The source
//! is free again when its page has crossed, and the next page may follow at once: with enough planes
//! on both sides a page arrives in every transfer time.

use super::Scheduler;
use super::units::Work;
use crate::ssd::clock::Clock;
use crate::ssd::flash::{FlashOp, OpKind};
use crate::ssd::ftl::Programming;
use crate::ssd::ids::{BlockMode, Unit};

/// What cleaning does about the next page of a victim.
enum Target {
    /// It goes to this unit.
    Unit(Unit),
    /// Units that could take it are busy with other copies.
    Later,
    /// No other unit takes it: it stays in its own unit.
    Nobody,
}

impl Scheduler {
    /// Gives the cleaning of an idle unit its next step as a copy to another package, if that is
    /// possible. Returns whether there is nothing else for it to do now.
    pub(super) fn serve_stream(&mut self, unit: Unit, clock: &mut Clock) -> bool {
        let mut job = self.units.job(unit).expect("the caller has seen it");
        if job.levels_wear() {
            return false;
        }
        if !self.ftl.has_valid_page(&self.flash, &job) {
            // What is on its way is not lost until it has arrived: the erasure waits.
            return self.units.streaming(unit) > 0;
        }
        let to = match self.stream_target(unit) {
            Target::Unit(to) => to,
            Target::Later => return true,
            Target::Nobody => return false,
        };
        let Some((from, programming)) = self.ftl.begin_stream(&self.flash, &mut job, to) else {
            return false;
        };
        self.units.begin_stream(unit, job, to, clock.now);
        let id = self.units.start(Work::Stream(programming, to), unit, 2);
        let (kind, mode) = (OpKind::Read, BlockMode::NATIVE);
        let op = FlashOp { kind, at: from, mode, count: 1, last: false };
        self.begin_on_lane(unit.0, id, &op, clock);
        true
    }

    /// Of the other packages of the gang, the idle unit with the most room.
    fn stream_target(&self, unit: Unit) -> Target {
        let geometry = self.ftl.geometry();
        let pool = geometry.domain_pool[self.units.job(unit).expect("it cleans").domain.at()];
        let blocking = self.blocks_for_cleaning();
        let mut target = Target::Nobody;
        let mut most = 0;
        for to in self.ftl.units_of(pool).filter(|to| geometry.share_bus(unit, *to)) {
            let room = self.ftl.room_for(pool, to);
            if room == 0 || self.units.is_held(to, blocking) {
                continue;
            }
            if self.is_idle(to) {
                if room > most {
                    most = room;
                    target = Target::Unit(to);
                }
            } else if most == 0 && self.units.takes_part_in_streams(to) {
                target = Target::Later;
            }
        }
        target
    }

    /// The page has crossed the bus: its source is free, and its destination programs it.
    pub(super) fn stream_crossed(
        &mut self,
        id: u32,
        from: Unit,
        to: Unit,
        programming: Programming,
        clock: &mut Clock,
    ) {
        let (kind, mode) = (OpKind::StreamIn, BlockMode::NATIVE);
        let last = self.ftl.geometry().is_last(programming.ppn);
        let op = FlashOp { kind, at: programming.ppn, mode, count: 1, last };
        self.begin_on_lane(to.0, id, &op, clock);
        self.units.end_cleaning_operation(from, clock.now);
        self.dispatch(from, clock);
    }

    /// The page has arrived. Others may have waited for its destination, or for the last page.
    pub(super) fn stream_arrived(
        &mut self,
        programming: Programming,
        (from, to): (Unit, Unit),
        clock: &mut Clock,
    ) {
        self.ftl.complete_move(&mut self.flash, programming);
        self.units.end_stream(from, to, clock.now);
        self.retry_erases(clock);
        for unit in 0..self.ftl.geometry().units {
            if self.units.job(Unit(unit)).is_some() {
                self.dispatch(Unit(unit), clock);
            }
        }
        self.dispatch(to, clock);
        if self.ftl.geometry().is_last(programming.ppn) {
            self.wake_stalled(clock);
        }
    }
}
