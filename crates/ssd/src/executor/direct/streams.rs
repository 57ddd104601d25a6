//! Copies between two packages of a gang.
//!
//! Section 2.2 and Figure 2 of the 2008 paper: the destination shifts a page in while the source
//! shifts it out, so that it crosses the bus once. The source is free again when its page has
//! crossed, and the next page may follow at once: with enough planes on both sides a page arrives
//! in every transfer time.

use super::{Cx, Direct};
use crate::ftl::Programming;
use crate::ids::Unit;

/// Treatment of a victim's next page.
enum Target {
    /// Destination unit.
    Unit(Unit),
    /// Suitable units are busy with other copies.
    Later,
    /// No other unit takes it: it stays in its own unit.
    Nobody,
}

impl Direct {
    /// Gives the cleaning of an idle unit its next step as a copy to another package, if that is
    /// possible. Returns whether there is nothing else for it to do now.
    pub(super) fn serve_stream(&mut self, unit: Unit, cx: &mut Cx<'_>) -> bool {
        let mut job = self.jobs.job(unit).expect("the caller has seen it");
        if job.levels_wear() {
            return false;
        }
        if !cx.ftl.has_valid_page(cx.flash, &job) {
            // Pages in transit are safe until they arrive: the erasure waits.
            return self.jobs.streaming(unit) > 0;
        }
        let to = match self.stream_target(unit, cx) {
            Target::Unit(to) => to,
            Target::Later => return true,
            Target::Nobody => return false,
        };
        let Some((from, programming)) = cx.ftl.begin_stream(cx.flash, &mut job, to) else {
            return false;
        };
        self.jobs.begin_stream(unit, job, to, cx.clock.now);
        self.units.launch_stream((unit, from), (to, programming), cx.clock);
        self.count_pair_copies(cx);
        true
    }

    /// The idle unit with the most room in the gang's other packages.
    fn stream_target(&self, unit: Unit, cx: &Cx<'_>) -> Target {
        let geometry = cx.ftl.geometry();
        let pool = geometry.domain_pool[self.jobs.job(unit).expect("it cleans").domain.at()];
        let mut target = Target::Nobody;
        let mut most = 0;
        for to in cx.ftl.units_of(pool).filter(|to| geometry.share_bus(unit, *to)) {
            let room = cx.ftl.room_for(pool, to);
            // Pages that wait go before copies, and so does cleaning that does not yield.
            let held = self.queues.has_waiting(to) || self.jobs.block() && self.jobs.has_job(to);
            if room == 0 || held {
                continue;
            }
            if self.is_idle(to) {
                if room > most {
                    most = room;
                    target = Target::Unit(to);
                }
            } else if most == 0 && self.jobs.takes_part_in_streams(to) {
                target = Target::Later;
            }
        }
        target
    }

    /// The page has arrived. Others may have waited for its destination, or for the last page.
    pub(super) fn stream_arrived(
        &mut self,
        programming: Programming,
        (from, to): (Unit, Unit),
        cx: &mut Cx<'_>,
    ) {
        self.complete_move(programming, cx);
        self.jobs.end_stream(from, to, cx.clock.now);
        self.retry_erases(cx);
        for unit in (0..cx.ftl.geometry().units).map(Unit) {
            if self.jobs.has_job(unit) {
                self.serve(unit, cx);
            }
        }
        self.serve(to, cx);
        if cx.ftl.geometry().is_last(programming.ppn) {
            self.wake_stalled(cx);
        }
    }
}
