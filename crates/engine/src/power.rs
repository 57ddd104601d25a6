//! Power cuts during a run.
//!
//! The host has no power either: while the device is without, the clock of the workload stands still. So
//! a closed loop continues as soon as power is back, and timed arrivals are delayed by the time without
//! power.

use crate::{Completion, Device, Driven, Load, Observer, Time, Workload, WorkloadError};
use std::collections::VecDeque;

/// It goes at instants, or after events of the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerCuts {
    /// Instants, in order.
    pub times: VecDeque<Time>,
    /// From the instant at which the device is ready to the next cut.
    pub every: Option<Time>,
    /// Since when it is ready; `None` during recovery.
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

impl PowerCuts {
    /// At which instant it goes next, if that is known.
    fn at(&self) -> Option<Time> {
        let every = self.every.and_then(|every| Some(self.ready? + every));
        every.or_else(|| self.times.front().copied())
    }

    /// The device has had an event, and is ready or not; whether the power goes now.
    fn event(&mut self, now: Time, is_ready: bool) -> bool {
        self.seen += 1;
        if is_ready {
            self.ready.get_or_insert(now);
        }
        self.events.front().is_some_and(|event| *event <= self.seen)
    }

    /// The power has gone; for how long.
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

/// How many completions pass between two calls of [`Observer::tick`].
const TICK: u64 = 8192;

/// No request arrives later: 500 years.
const LATEST: Time = 500 * 31_557_600 * 1_000_000_000;

/// Runs `workload` on `device` as [`drive`](crate::drive) does, with power cuts. A run is not over before the
/// device is ready again.
///
/// # Errors
/// Those of [`drive`](crate::drive).
///
/// # Panics
/// When the power goes of a device that does not recover from that.
pub fn drive_with_cuts(
    device: &mut dyn Device,
    workload: &mut dyn Workload,
    until: Time,
    observer: &mut dyn Observer,
    cuts: &mut PowerCuts,
) -> Result<Driven, WorkloadError> {
    let mut now: Time = 0;
    let (mut last, mut last_asked): (Time, Time) = (0, 0);
    let mut asked: u64 = 0;
    let mut outstanding: u64 = 0;
    let had_ended = device.has_ended();
    let mut ended = false;
    let mut completions = Vec::new();
    let mut until_tick = TICK;
    let is_clock_the_limit = until > LATEST;
    let until = until.min(LATEST);
    let mut sample_at: Time = 0;
    // How long there was no power so far: the delay of the workload's clock.
    let mut without: Time = 0;
    let mut arrival = workload.next(now)?;
    loop {
        let event = device.next_event();
        match arrival {
            Some(next)
                if next.at + without <= until
                    && event.is_none_or(|at| at > next.at + without)
                    && cuts.at().is_none_or(|at| at > next.at + without) =>
            {
                assert!(next.at + without >= now, "an arrival lies before the present");
                now = next.at + without;
                (last, last_asked) = (now, now);
                if now >= sample_at {
                    let load = Load::of(workload, now - without, asked, outstanding);
                    sample_at = observer.sample(now, device.followed(), load);
                }
                device.submit(now, next.request);
                outstanding += 1;
                asked += 1;
                arrival = workload.next(now - without)?;
                // Some requests are answered at once; they then have an event at `now`.
                continue;
            }
            _ => {}
        }
        let more = arrival.is_some_and(|next| next.at + without <= until);
        if outstanding == 0 && !more && device.is_ready() {
            if is_clock_the_limit && let Some(late) = arrival {
                let number = late.request.id;
                let problem =
                    format!("workload: request {number} would arrive after more than 500 years");
                return Err(WorkloadError(problem));
            }
            return Ok(Driven { last, last_asked, asked, unanswered: 0 });
        }
        let cut_at = cuts.at();
        let mut goes = cut_at.is_some_and(|cut| event.is_none_or(|at| at > cut));
        if let (true, Some(cut)) = (goes, cut_at) {
            now = now.max(cut);
        } else {
            let Some(event) = event else {
                // Requests are outstanding, but the device has nothing left to do for them.
                panic!("the device holds {outstanding} requests and has no next event");
            };
            now = event;
            if now >= sample_at {
                let load = Load::of(workload, now - without, asked, outstanding);
                sample_at = observer.sample(now, device.followed(), load);
            }
            device.advance(now, &mut completions);
            goes = cuts.event(now, device.is_ready());
        }
        if goes {
            device.cut(now, &mut completions);
        }
        if !had_ended && !ended && device.has_ended() {
            ended = true;
            arrival = None;
            last = now;
        }
        if completions.is_empty() && !goes {
            continue;
        }
        last = now;
        for completion in &completions {
            outstanding -= 1;
            let Completion { submitted, at, .. } = *completion;
            let (submitted, at) = (submitted - without, at - without);
            workload.completed(&Completion { submitted, at, ..*completion });
            observer.completed(completion);
            until_tick = until_tick.saturating_sub(1);
        }
        completions.clear();
        if until_tick == 0 {
            until_tick = TICK;
            if observer.tick(now).is_break() {
                return Ok(Driven { last, last_asked, asked, unanswered: outstanding });
            }
        }
        let present = now - without;
        if goes {
            let off = cuts.cut(now);
            now += off;
            without += off;
            device.power_on(now);
        }
        if !ended && arrival.is_none_or(|next| next.at > present && workload.take_back()) {
            arrival = workload.next(present)?;
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
