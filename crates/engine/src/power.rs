//! Power cuts during a run. The host loses power together with the device.

use crate::{Completion, Device, Interrupt, Time};
use std::collections::VecDeque;

/// Power cuts at given times, or after given numbers of device events; the device must recover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerCuts {
    /// Times of cuts, in order.
    pub times: VecDeque<Time>,
    /// Interval from the device's readiness to the next cut.
    pub every: Option<Time>,
    /// Time at which the device became ready; `None` during recovery.
    pub ready: Option<Time>,
    /// Event numbers of cuts, in order.
    pub events: VecDeque<u64>,
    /// Duration without power.
    pub off: Time,
    /// Number of events so far.
    pub seen: u64,
    /// Times of the cuts made.
    pub made: Vec<Time>,
}

impl PowerCuts {
    /// No cuts yet; each will last `off`.
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

impl Interrupt for PowerCuts {
    fn at(&self) -> Option<Time> {
        let every = self.every.and_then(|every| Some(self.ready? + every));
        every.or_else(|| self.times.front().copied())
    }

    fn event(&mut self, now: Time, device: &dyn Device) -> bool {
        self.seen += 1;
        if device.standing().is_ready {
            self.ready.get_or_insert(now);
        }
        self.events.front().is_some_and(|event| *event <= self.seen)
    }

    fn begin(
        &mut self,
        now: Time,
        device: &mut dyn Device,
        completions: &mut Vec<Completion>,
    ) -> Time {
        device.cut(now, completions);
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

    fn end(&mut self, now: Time, device: &mut dyn Device) {
        device.power_on(now);
    }

    /// Not before the device is ready again.
    fn may_end(&self, device: &dyn Device) -> bool {
        device.standing().is_ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Request, Standing};

    /// A device that is ready or not.
    struct Ready(bool);

    impl Device for Ready {
        fn submit(&mut self, _: Time, _: Request) {}

        fn next_event(&self) -> Option<Time> {
            None
        }

        fn advance(&mut self, _: Time, _: &mut Vec<Completion>) {}

        fn cut(&mut self, _: Time, _: &mut Vec<Completion>) {
            self.0 = false;
        }

        fn standing(&self) -> Standing {
            Standing { is_ready: self.0, ..Standing::default() }
        }

        fn capacity_sectors(&self) -> u64 {
            8
        }
    }

    fn cut(cuts: &mut PowerCuts, now: Time) -> Time {
        cuts.begin(now, &mut Ready(true), &mut Vec::new())
    }

    #[test]
    fn regular_cuts_count_from_the_instant_at_which_the_device_is_ready() {
        let mut cuts = PowerCuts { every: Some(100), ..PowerCuts::new(50) };
        assert_eq!(cuts.at(), Some(100));
        assert_eq!(cut(&mut cuts, 100), 50);
        assert_eq!((cuts.event(160, &Ready(false)), cuts.at()), (false, None));
        assert_eq!((cuts.event(170, &Ready(true)), cuts.at()), (false, Some(270)));
        assert_eq!((cuts.event(200, &Ready(true)), cuts.at()), (false, Some(270)));
    }

    #[test]
    fn what_falls_into_a_cut_is_not_made_again() {
        let mut cuts = PowerCuts { times: [10, 20, 90].into(), ..PowerCuts::new(50) };
        assert_eq!((cuts.at(), cut(&mut cuts, 25), cuts.at()), (Some(10), 50, Some(90)));
        let mut cuts = PowerCuts { events: [2].into(), ..PowerCuts::new(50) };
        assert_eq!([1, 2].map(|at| cuts.event(at, &Ready(true))), [false, true]);
    }
}
