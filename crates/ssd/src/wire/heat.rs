//! Writes that wait because the drive is too hot.

use crate::Ssd;
use crate::clock::Event;

impl Ssd {
    /// True if heat holds writes; an event then comes when they are looked at again.
    pub fn is_too_hot(&mut self) -> bool {
        let now = self.clock.now;
        if self.thermal.as_ref().is_some_and(|thermal| thermal.is_due(now)) {
            let joules = self.joules_at(now);
            if let Some(thermal) = &mut self.thermal {
                thermal.look(now, joules);
            }
        }
        let pages = self.ftl.counters.host_programs;
        let Some(thermal) = &mut self.thermal else { return false };
        let Some(at) = thermal.holds(now, pages) else { return false };
        if thermal.calls() {
            self.clock.call(at.max(now + 1), Event::Heat);
        }
        true
    }

    /// Handles the end of a hold.
    pub fn cooled(&mut self) {
        if let Some(thermal) = &mut self.thermal {
            thermal.was_called();
        }
        // Without waiting writes, nothing happens.
        if self.cache.backlog() > 0 {
            self.cache.ask();
        }
        self.ask_machines();
    }
}
