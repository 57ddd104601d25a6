//! The run loop: the only place that advances simulated time.

use crate::{Arrival, Completion, Device, Followed, Time, Workload, WorkloadError};
use std::ops::ControlFlow;

/// Observer of a run: collects statistics, draws progress, may end the run early.
pub trait Observer {
    /// Called for each completion, in order.
    fn completed(&mut self, completion: &Completion);

    /// Called every few thousand completions; `Break` ends the run.
    fn tick(&mut self, now: Time) -> ControlFlow<()>;

    /// Samples the device; returns the time of the next sample. Called before the first arrival,
    /// and then before the first event or arrival at or after the returned time. `load` counts the
    /// requests that arrived and completed before it.
    fn sample(&mut self, _now: Time, _figures: Option<Followed>, _load: Load) -> Time {
        Time::MAX
    }
}

/// Number of requests of a run up to a point in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Requests that are due: submitted, or [held back](Workload::held_back) by the workload.
    pub due: u64,
    /// Completed requests.
    pub answered: u64,
}

impl Load {
    /// Load of a run that has submitted `asked` requests, of which `outstanding` are uncompleted.
    fn of(workload: &dyn Workload, now: Time, asked: u64, outstanding: u64) -> Load {
        Load { due: asked + workload.held_back(now), answered: asked - outstanding }
    }
}

/// An interruption of a run between two events of the device, such as a power cut.
///
/// During the interruption the workload's clock stands still. A closed loop so continues as soon as
/// the device is ready, and timed arrivals are delayed by the interruption.
pub trait Interrupt {
    /// True if the interruption must see every event of the device.
    const WATCHES: bool = true;

    /// Time of the next interruption, if known. It follows all events of that time and precedes its
    /// arrivals.
    fn at(&self) -> Option<Time> {
        None
    }

    /// Called after an event of the device at `now`. Returns true to interrupt at once.
    fn event(&mut self, _now: Time, _device: &dyn Device) -> bool {
        false
    }

    /// Starts the interruption at `now`. Appends completions of the device, and returns the
    /// duration.
    fn begin(
        &mut self,
        _now: Time,
        _device: &mut dyn Device,
        _completions: &mut Vec<Completion>,
    ) -> Time {
        unreachable!("nothing interrupts the run")
    }

    /// Ends the interruption at `now`.
    fn end(&mut self, _now: Time, _device: &mut dyn Device) {
        unreachable!("nothing interrupts the run")
    }

    /// True if a run without outstanding and further requests may end.
    fn may_end(&self, _device: &dyn Device) -> bool {
        true
    }
}

/// A run without interruptions.
#[derive(Debug, Clone, Copy)]
struct Never;

impl Interrupt for Never {
    const WATCHES: bool = false;
}

/// Completions between two calls of [`Observer::tick`].
const TICK: u64 = 8192;

/// A load that ends by time is stuck after this number of completions at one point in time.
const MOST_AT_ONCE: u64 = 1_000_000;

/// Latest arrival time: 500 years. The clock counts up to 584, and outstanding operations must end
/// before.
const LATEST: Time = 500 * 31_557_600 * 1_000_000_000;

/// Outcome of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Driven {
    /// Time of the last submission or completion, or of the device's end of life.
    pub last: Time,
    /// Time of the last submission.
    pub last_asked: Time,
    /// Number of submitted requests.
    pub asked: u64,
    /// Requests left uncompleted because the observer ended the run.
    pub unanswered: u64,
}

/// Runs `workload` on `device` until all requests are completed.
///
/// The run does not wait for background work of the device after the last completion. Arrivals
/// later than `until` are not submitted, and none are once the device reaches end of life; earlier
/// requests still complete. A device that was at end of life before the run gets all requests,
/// because it still reads. At equal times the device's events come before arrivals.
///
/// # Errors
/// When the workload's input is broken, or an arrival exceeds the clock; earlier completions have
/// been observed.
pub fn drive(
    device: &mut dyn Device,
    workload: &mut dyn Workload,
    until: Time,
    observer: &mut dyn Observer,
) -> Result<Driven, WorkloadError> {
    drive_with(device, workload, until, observer, &mut Never)
}

/// [`drive`] with interruptions.
///
/// # Errors
/// The errors of [`drive`].
pub fn drive_with(
    device: &mut dyn Device,
    workload: &mut dyn Workload,
    until: Time,
    observer: &mut dyn Observer,
    interrupt: &mut impl Interrupt,
) -> Result<Driven, WorkloadError> {
    Drive::begin(device, workload)?.proceed(device, workload, until, observer, interrupt)
}

/// A run in progress, between two events.
#[derive(Debug, Clone, Copy)]
struct Drive {
    /// Current time, or an earlier time since which nothing has happened.
    now: Time,
    /// Time of the last submission or completion.
    last: Time,
    /// Time of the last submission.
    last_asked: Time,
    /// Number of submitted requests.
    asked: u64,
    /// Submitted requests without a completion.
    outstanding: u64,
    /// Next request of the workload.
    arrival: Option<Arrival>,
    /// Time of the next sample for the observer.
    sample_at: Time,
    /// Remaining completions until the observer's next tick.
    until_tick: u64,
    /// Time of the observer's last tick, and a lower bound of the completions at that time before
    /// it.
    ticked_at: Time,
    at_once: u64,
    /// True if the device was at end of life before the run.
    had_ended: bool,
}

impl Drive {
    /// Starts a run.
    ///
    /// # Errors
    /// When the workload's input is broken.
    fn begin(device: &dyn Device, workload: &mut dyn Workload) -> Result<Drive, WorkloadError> {
        Ok(Drive {
            now: 0,
            last: 0,
            last_asked: 0,
            asked: 0,
            outstanding: 0,
            arrival: workload.next(0)?,
            sample_at: 0,
            until_tick: TICK,
            ticked_at: 0,
            at_once: 0,
            had_ended: device.has_ended(),
        })
    }

    /// Notes a submission at `at`.
    #[inline]
    fn was_asked(&mut self, at: Time) {
        (self.now, self.last, self.last_asked) = (at, at, at);
        self.asked += 1;
        self.outstanding += 1;
    }

    /// Handles a completion. The workload's clock is `without` ns behind the device's.
    #[inline]
    fn was_answered(
        &mut self,
        completion: &Completion,
        without: Time,
        workload: &mut dyn Workload,
        observer: &mut dyn Observer,
    ) {
        (self.now, self.last) = (completion.at, completion.at);
        self.outstanding -= 1;
        if without == 0 {
            workload.completed(completion);
        } else {
            let Completion { submitted, at, .. } = *completion;
            let (submitted, at) = (submitted - without, at - without);
            workload.completed(&Completion { submitted, at, ..*completion });
        }
        observer.completed(completion);
        self.until_tick = self.until_tick.saturating_sub(1);
    }

    /// Calls the observer's tick after its interval; it may end the run.
    #[inline]
    fn tick(&mut self, observer: &mut dyn Observer) -> ControlFlow<()> {
        if self.until_tick > 0 {
            return ControlFlow::Continue(());
        }
        self.until_tick = TICK;
        self.at_once = if self.now == self.ticked_at { self.at_once + TICK } else { 0 };
        self.ticked_at = self.now;
        observer.tick(self.now)
    }

    /// Ends a load that waits for time to pass although the device completes too many requests at
    /// one point in time.
    ///
    /// # Errors
    /// In that case.
    fn check_time(
        &self,
        workload: &dyn Workload,
        answers: &[Completion],
    ) -> Result<(), WorkloadError> {
        let Some(by) = workload.needs_time() else { return Ok(()) };
        let last = answers.last().map_or("", |it| it.request.op.name());
        Err(WorkloadError(format!(
            "workload: it ends by time ({by}), and time stands still: at {} ns the device has answered \
             {MOST_AT_ONCE} requests, the last of them a {last}, which takes it no time; give the device a link or a \
             firmware that takes time, or end the workload after a number of requests",
            self.now
        )))
    }

    /// Samples the device for the observer, if it is time.
    #[inline]
    fn sample(
        &mut self,
        now: Time,
        without: Time,
        device: &dyn Device,
        workload: &dyn Workload,
        observer: &mut dyn Observer,
    ) {
        if now >= self.sample_at {
            let load = Load::of(workload, now - without, self.asked, self.outstanding);
            self.sample_at = observer.sample(now, device.followed(), load);
        }
    }

    /// Time of the next arrival, or the end of time if it is later than `latest`.
    #[inline]
    fn arrives(&self, without: Time, latest: Time) -> Time {
        let at = self.arrival.as_ref().map_or(Time::MAX, |next| next.at.saturating_add(without));
        if at <= latest { at } else { Time::MAX }
    }

    /// Outcome of the run, once no request is left and all are completed.
    ///
    /// # Errors
    /// When the workload's next arrival exceeds the clock.
    fn end(&self, until: Time) -> Result<Driven, WorkloadError> {
        if until > LATEST
            && let Some(late) = self.arrival
        {
            let number = late.request.id;
            let problem =
                format!("workload: request {number} would arrive after more than 500 years");
            return Err(WorkloadError(problem));
        }
        Ok(self.broken_off())
    }

    /// Outcome so far.
    fn broken_off(&self) -> Driven {
        let Drive { last, last_asked, asked, outstanding, .. } = *self;
        Driven { last, last_asked, asked, unanswered: outstanding }
    }

    /// Runs to the end, as [`drive_with`] does.
    ///
    /// # Errors
    /// The errors of [`drive`].
    fn proceed<I: Interrupt>(
        mut self,
        device: &mut dyn Device,
        workload: &mut dyn Workload,
        until: Time,
        observer: &mut dyn Observer,
        interrupt: &mut I,
    ) -> Result<Driven, WorkloadError> {
        let mut ended = false;
        let mut completions = Vec::new();
        let latest = until.min(LATEST);
        // Total time for which the workload's clock stood still.
        let mut without: Time = 0;
        // The end of time without an arrival.
        let mut arrival = self.arrives(without, latest);
        loop {
            let event = device.next_event().unwrap_or(Time::MAX);
            let comes = interrupt.at().filter(|at| event > *at);
            if arrival < event
                && comes.is_none_or(|at| at > arrival)
                && let Some(Arrival { at, request }) = self.arrival
            {
                assert!(arrival >= self.now, "an arrival lies before the present");
                self.sample(arrival, without, device, workload, observer);
                self.was_asked(arrival);
                device.submit(arrival, request);
                self.arrival = workload.next(at)?;
                arrival = self.arrives(without, latest);
                // Some requests complete at once, with an event at `now`.
                continue;
            }
            if self.outstanding == 0 && arrival == Time::MAX && interrupt.may_end(device) {
                return self.end(until);
            }
            let goes = if let Some(at) = comes {
                self.now = self.now.max(at);
                true
            } else {
                let now = event;
                // With outstanding requests the device must have an event.
                let waiting = self.outstanding;
                assert!(
                    now < Time::MAX,
                    "the device holds {waiting} requests and has no next event"
                );
                self.now = now;
                self.sample(now, without, device, workload, observer);
                if I::WATCHES {
                    device.advance(now, &mut completions);
                    interrupt.event(now, device)
                } else {
                    // Advances to the next possible event: an arrival or a sample.
                    let to = arrival.min(self.sample_at.saturating_sub(1)).max(now);
                    self.now =
                        device.advance_to_answer(to, &mut completions).expect("it has an event");
                    false
                }
            };
            let now = self.now;
            let lasts = if goes { interrupt.begin(now, device, &mut completions) } else { 0 };
            if !self.had_ended && !ended && device.has_ended() {
                ended = true;
                self.arrival = None;
                arrival = Time::MAX;
                self.last = now;
            }
            if completions.is_empty() && !goes {
                continue;
            }
            for completion in &completions {
                self.was_answered(completion, without, workload, observer);
            }
            (self.now, self.last) = (now, now);
            if self.tick(observer).is_break() {
                return Ok(self.broken_off());
            }
            if self.at_once >= MOST_AT_ONCE {
                self.check_time(workload, &completions)?;
            }
            completions.clear();
            let present = now - without;
            if goes {
                self.now += lasts;
                without += lasts;
                interrupt.end(self.now, device);
            }
            let may_change = |next: &Arrival| next.at > present && workload.take_back();
            if !ended && self.arrival.as_ref().is_none_or(may_change) {
                self.arrival = workload.next(present)?;
            }
            arrival = self.arrives(without, latest);
        }
    }
}

#[cfg(test)]
mod tests;
