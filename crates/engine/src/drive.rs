//! The run loop: the one place where simulated time is chosen.

use crate::{Completion, Device, Time, Workload, WorkloadError};
use std::ops::ControlFlow;

/// Watches a run from outside: collects statistics, draws progress, ends it early.
pub trait Observer {
    /// Called once per completion, in order of completion.
    fn completed(&mut self, completion: &Completion);

    /// Called every few thousand completions; `Break` ends the run.
    fn tick(&mut self, now: Time) -> ControlFlow<()>;
}

/// How many completions pass between two calls of [`Observer::tick`].
const TICK: u64 = 8192;

/// Runs `workload` on `device` until nothing is left to ask and everything asked is answered.
///
/// Background work that the device still has then is not waited for. Arrivals later than `until`
/// are not submitted. At equal times the device's events come before arrivals. Returns the last
/// instant at which something was submitted or completed.
///
/// # Errors
/// When the workload's input is broken; what completed before has been observed.
pub fn drive(
    device: &mut dyn Device,
    workload: &mut dyn Workload,
    until: Time,
    observer: &mut dyn Observer,
) -> Result<Time, WorkloadError> {
    let mut now: Time = 0;
    let mut last: Time = 0;
    let mut outstanding: u64 = 0;
    let mut completions = Vec::new();
    let mut until_tick = TICK;
    let mut arrival = workload.next(now)?;
    loop {
        let event = device.next_event();
        match arrival {
            Some(next) if next.at <= until && event.is_none_or(|at| at > next.at) => {
                assert!(next.at >= now, "an arrival lies before the present");
                now = next.at;
                last = now;
                device.submit(now, next.request);
                outstanding += 1;
                arrival = workload.next(now)?;
                // Some requests are answered at once; they then have an event at `now`.
                continue;
            }
            _ => {}
        }
        let more = arrival.is_some_and(|next| next.at <= until);
        if outstanding == 0 && !more {
            return Ok(last);
        }
        let Some(event) = event else {
            // Requests are outstanding, but the device has nothing left to do for them.
            panic!("the device holds {outstanding} requests and has no next event");
        };
        now = event;
        device.advance(now, &mut completions);
        if completions.is_empty() {
            continue;
        }
        last = now;
        for completion in &completions {
            outstanding -= 1;
            workload.completed(completion);
            observer.completed(completion);
            until_tick -= 1;
        }
        completions.clear();
        if until_tick < 64 {
            until_tick = TICK;
            if observer.tick(now).is_break() {
                return Ok(last);
            }
        }
        if arrival.is_none() {
            arrival = workload.next(now)?;
        }
    }
}
