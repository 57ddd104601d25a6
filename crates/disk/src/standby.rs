//! Spin-down of an idle disk. It needs no events: a stop follows from the last use, and is computed
//! when the heads are needed.

use super::config::DiskConfig;
use engine::Time;
use ssd::device::{Field, Report};

/// State of the spindle.
#[derive(Debug, Clone)]
#[expect(clippy::struct_field_names, reason = "the time in standby, as results call it")]
pub struct Standby {
    /// Idle time before spin-down, if enabled.
    after: Option<Time>,
    spin_up: Time,
    /// End of the last use.
    used: Time,
    /// Start of the counters.
    since: Time,
    standby: Time,
    spin_ups: u64,
}

impl Standby {
    pub fn new(config: &DiskConfig) -> Standby {
        Standby {
            after: config.standby.after.ns(),
            spin_up: config.standby.spin_up.ns(),
            used: 0,
            since: 0,
            standby: 0,
            spin_ups: 0,
        }
    }

    /// Start of the standby, if the spindle is stopped at `now`.
    fn stands_since(&self, now: Time) -> Option<Time> {
        self.after.map(|after| self.used + after).filter(|stops| *stops < now)
    }

    /// Notes use of the spindle up to a point in time; a spinning disk keeps spinning.
    pub fn busy_until(&mut self, end: Time) {
        if self.stands_since(end).is_none() {
            self.used = self.used.max(end);
        }
    }

    /// Spins up for a use from `from`. Returns the time when the disk is ready.
    pub fn wake(&mut self, from: Time) -> Time {
        let Some(stops) = self.stands_since(from) else {
            self.used = self.used.max(from);
            return from;
        };
        self.standby += from.saturating_sub(stops.max(self.since));
        self.spin_ups += 1;
        self.used = from + self.spin_up;
        self.used
    }

    /// Resets the counters.
    pub fn reset(&mut self, now: Time) {
        (self.standby, self.spin_ups, self.since) = (0, 0, now);
    }

    /// Time in standby, and time spinning up, until `end`.
    pub fn times(&self, end: Time) -> (Time, Time) {
        let now =
            self.stands_since(end).map_or(0, |stops| end.saturating_sub(stops.max(self.since)));
        (self.standby + now, self.spin_ups * self.spin_up)
    }

    /// Report section `standby` of a run of `time_ns`, for a disk with spin-down.
    pub fn section(&self, end: Time, time_ns: Time) -> Option<Report> {
        let standby_ns = self.times(end).0;
        self.after.map(|_| {
            ssd::section! {
                "share": Field::share(standby_ns, time_ns),
                "hours": Field::Time(standby_ns, 3.6e12),
                "spin_ups": self.spin_ups,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_from_the_end_of_its_patience_to_the_next_use() {
        let mut standby =
            Standby { after: Some(10), spin_up: 4, used: 0, since: 0, standby: 0, spin_ups: 0 };
        assert_eq!((standby.wake(10), standby.times(10)), (10, (0, 0)));
        standby.busy_until(12);
        assert_eq!(standby.times(30), (8, 0));
        // Stopped from 22 to 50, spinning at 54.
        assert_eq!((standby.wake(50), standby.times(54)), (54, (28, 4)));
        standby.busy_until(60);
        // Buffer hits do not spin up the disk.
        standby.busy_until(90);
        assert_eq!(standby.times(100), (28 + 30, 4));
        standby.reset(100);
        assert_eq!(standby.times(105), (5, 0));
    }
}
