//! A device whose statistics start after the warm-up, in the middle of a run.

use devices::ssd::account::Counter;
use devices::{Instruction, Model};
use engine::{Completion, Device, Followed, Request, Standing, Time};

/// Forwards requests, and starts the accounting before the events at the end of the warm-up.
pub(crate) struct WarmUp<'a> {
    device: &'a mut dyn Model,
    ends: Time,
    is_over: bool,
}

impl<'a> WarmUp<'a> {
    pub(crate) fn new(device: &'a mut dyn Model, ends: Time) -> WarmUp<'a> {
        WarmUp { device, ends, is_over: false }
    }

    /// Advances to `to`; no events have occurred since the last one.
    #[inline]
    pub(crate) fn pass(&mut self, to: Time) {
        if !self.is_over && to >= self.ends {
            self.is_over = true;
            let begun = self.device.instruct(self.ends, Instruction::BeginAccount);
            begun.expect("an account can begin");
        }
    }
}

impl Device for WarmUp<'_> {
    fn submit(&mut self, now: Time, request: Request) {
        self.pass(now);
        self.device.submit(now, request);
    }

    fn next_event(&self) -> Option<Time> {
        self.device.next_event()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        self.pass(to);
        self.device.advance(to, completions);
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.pass(now);
        self.device.cut(now, completions);
    }

    fn power_on(&mut self, now: Time) {
        self.pass(now);
        self.device.power_on(now);
    }

    fn standing(&self) -> Standing {
        self.device.standing()
    }

    fn has_ended(&self) -> bool {
        self.device.has_ended()
    }

    /// During the warm-up, counters are zero although the drive's state exists.
    fn followed(&self) -> Option<Followed> {
        let mut followed = self.device.followed()?;
        if !self.is_over {
            let counts = Counter::over_time().into_iter().filter(|(row, ..)| !row.is_level());
            counts.for_each(|(_, place, _)| followed.0[place] = 0);
            followed.0[devices::energy::FOLLOWED] = 0;
        }
        Some(followed)
    }

    fn capacity_sectors(&self) -> u64 {
        self.device.capacity_sectors()
    }
}
