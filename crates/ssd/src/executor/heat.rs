//! Writes that wait because the drive is too hot.

use super::{Buffered, Cx, Executor};
use crate::clock::Event;

impl Buffered {
    /// True if heat holds writes; an event is then scheduled for their next attempt.
    pub fn is_too_hot(&mut self, cx: &mut Cx<'_>) -> bool {
        let now = cx.clock.now;
        if self.thermal.as_ref().is_some_and(|thermal| thermal.is_due(now)) {
            let joules = self.joules.at(&self.dies.effort()[0], now);
            if let Some(thermal) = &mut self.thermal {
                thermal.look(now, joules);
            }
        }
        let pages = cx.ftl.counters.host_programs;
        let Some(thermal) = &mut self.thermal else { return false };
        let Some(at) = thermal.holds(now, pages) else { return false };
        if thermal.calls() {
            cx.clock.call(at.max(now + 1), Event::Heat);
        }
        true
    }

    /// Handles the end of a hold.
    pub fn cooled(&mut self, cx: &mut Cx<'_>) {
        if let Some(thermal) = &mut self.thermal {
            thermal.was_called();
        }
        // Without waiting writes, nothing happens.
        if self.cache.backlog() > 0 {
            self.cache.ask();
        }
        self.settle(cx);
    }
}
