//! When the power goes during a run.
//!
//! The host has no power either: while the device is without, the clock of the workload stands still. So
//! a closed loop asks anew as soon as power is back, and everything that comes by the clock comes so much
//! later.

use crate::Time;
use std::collections::VecDeque;

/// Says when the power goes, to the run loop.
pub trait Cuts {
    /// Whether it ever may: where not, the run loop has nothing to do with it.
    const ANY: bool;

    /// At which instant it goes next, if that is known.
    fn at(&self) -> Option<Time>;

    /// The device has had an event, and is ready or not; whether the power goes now.
    fn event(&mut self, now: Time, is_ready: bool) -> bool;

    /// The power has gone, at `now`; for how long.
    fn cut(&mut self, now: Time) -> Time;
}

/// It never goes.
#[derive(Debug, Clone, Copy)]
pub struct NoCuts;

impl Cuts for NoCuts {
    const ANY: bool = false;

    fn at(&self) -> Option<Time> {
        None
    }

    fn event(&mut self, _now: Time, _is_ready: bool) -> bool {
        false
    }

    fn cut(&mut self, _now: Time) -> Time {
        0
    }
}

/// It goes at instants, or after events of the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerCuts {
    /// Instants, in order.
    pub times: VecDeque<Time>,
    /// From the instant at which the device is ready to the next cut.
    pub every: Option<Time>,
    /// Since when it is ready; not at all on its way back.
    pub ready: Option<Time>,
    /// Numbers of events, in order.
    pub events: VecDeque<u64>,
    /// How long it stays away.
    pub off: Time,
    /// Events so far.
    pub seen: u64,
    /// When it went.
    pub made: Vec<Time>,
}

impl Cuts for PowerCuts {
    const ANY: bool = true;

    fn at(&self) -> Option<Time> {
        let every = self.every.and_then(|every| Some(self.ready? + every));
        every.or_else(|| self.times.front().copied())
    }

    fn event(&mut self, now: Time, is_ready: bool) -> bool {
        self.seen += 1;
        if is_ready {
            self.ready.get_or_insert(now);
        }
        self.events.front().is_some_and(|event| *event <= self.seen)
    }

    fn cut(&mut self, now: Time) -> Time {
        while self.times.front().is_some_and(|at| *at <= now) {
            self.times.pop_front();
        }
        while self.events.front().is_some_and(|event| *event <= self.seen) {
            self.events.pop_front();
        }
        self.made.push(now);
        self.ready = None;
        self.off
    }
}

impl PowerCuts {
    /// None yet, and away for so long each time.
    pub fn new(off: Time) -> PowerCuts {
        PowerCuts {
            times: VecDeque::new(),
            every: None,
            ready: Some(0),
            events: VecDeque::new(),
            off,
            seen: 0,
            made: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_cuts_count_from_the_instant_at_which_the_device_is_ready() {
        let mut cuts = PowerCuts { every: Some(100), ..PowerCuts::new(50) };
        assert_eq!(cuts.at(), Some(100));
        assert_eq!(cuts.cut(100), 50);
        assert_eq!((cuts.event(160, false), cuts.at()), (false, None));
        assert_eq!((cuts.event(170, true), cuts.at()), (false, Some(270)));
        assert_eq!((cuts.event(200, true), cuts.at()), (false, Some(270)));
    }

    #[test]
    fn what_falls_into_a_cut_is_not_made_again() {
        let mut cuts = PowerCuts { times: [10, 20, 90].into(), ..PowerCuts::new(50) };
        assert_eq!((cuts.at(), cuts.cut(25), cuts.at()), (Some(10), 50, Some(90)));
        let mut cuts = PowerCuts { events: [2].into(), ..PowerCuts::new(50) };
        assert_eq!([1, 2].map(|at| cuts.event(at, true)), [false, true]);
    }
}
