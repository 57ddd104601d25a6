//! The run loop: the one place where simulated time is chosen.

use crate::{Arrival, Completion, Device, Followed, Time, Workload, WorkloadError};
use std::ops::ControlFlow;

/// Watches a run from outside: collects statistics, draws progress, ends it early.
pub trait Observer {
    /// Called once per completion, in order of completion.
    fn completed(&mut self, completion: &Completion);

    /// Called every few thousand completions; `Break` ends the run.
    fn tick(&mut self, now: Time) -> ControlFlow<()>;

    /// Called before the first arrival, and then before the first event or arrival at or after the
    /// instant that it returned last: the figures are those of the device at that instant, and the
    /// load counts requests that arrived and completed before it.
    fn sample(&mut self, _now: Time, _figures: Option<Followed>, _load: Load) -> Time {
        Time::MAX
    }
}

/// Requests of a run up to an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Due: submitted, or [held back](Workload::held_back) by the workload.
    pub due: u64,
    /// Answered.
    pub answered: u64,
}

impl Load {
    /// The load of a run that has submitted `asked` requests and waits for `outstanding`
    /// completions.
    fn of(workload: &dyn Workload, now: Time, asked: u64, outstanding: u64) -> Load {
        Load { due: asked + workload.held_back(now), answered: asked - outstanding }
    }
}

/// An interruption of a run between two events of the device: power cuts, or nothing.
///
/// While the device is interrupted the clock of the workload stands still. So a closed loop continues as
/// soon as the device is back, and timed arrivals are delayed by the time in between.
pub trait Interrupt {
    /// True if the interruption observes each event of the device.
    const WATCHES: bool = true;

    /// The instant of the next interruption, if it is known: it comes after all events of that
    /// instant, and before its arrivals.
    fn at(&self) -> Option<Time> {
        None
    }

    /// The device has had an event at `now`; whether the interruption comes at once.
    fn event(&mut self, _now: Time, _device: &dyn Device) -> bool {
        false
    }

    /// The interruption begins at `now`: appends what the device answers, and returns how long it
    /// lasts.
    fn begin(
        &mut self,
        _now: Time,
        _device: &mut dyn Device,
        _completions: &mut Vec<Completion>,
    ) -> Time {
        unreachable!("nothing interrupts the run")
    }

    /// The interruption ends at `now`.
    fn end(&mut self, _now: Time, _device: &mut dyn Device) {
        unreachable!("nothing interrupts the run")
    }

    /// True if a run without further and outstanding requests is over.
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

/// After this number of completions at one instant, a load that ends by time never ends.
const MOST_AT_ONCE: u64 = 1_000_000;

/// No request arrives later: 500 years. The clock could count 584, and operations in progress must
/// then end.
const LATEST: Time = 500 * 31_557_600 * 1_000_000_000;

/// Outcome of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Driven {
    /// Time of the last submission or completion, or of the device's end.
    pub last: Time,
    /// When the last request was submitted.
    pub last_asked: Time,
    /// Requests submitted.
    pub asked: u64,
    /// Requests without an answer, because the observer ended the run.
    pub unanswered: u64,
}

/// Runs `workload` on `device` until all requests are completed.
///
/// Background work that the device still has then is not waited for. Arrivals later than `until`
/// are not submitted, nor any once the device has come to its end during the run; what it was asked
/// before is still answered. A device that had ended before the run gets all requests: it still
/// reads. At equal times the device's events come before arrivals.
///
/// # Errors
/// When the workload's input is broken, or when it asks later than the clock can tell; what completed
/// before has been observed.
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
    Drive::begin(device, workload)?.go_on(device, workload, until, observer, interrupt)
}

/// A run under way, between two events.
#[derive(Debug, Clone, Copy)]
struct Drive {
    /// The present instant, or an earlier one since which nothing has happened.
    now: Time,
    /// Time of the last submission or completion.
    last: Time,
    /// When the last request was submitted.
    last_asked: Time,
    /// Requests submitted.
    asked: u64,
    /// Submitted requests without a completion.
    outstanding: u64,
    /// Next request of the workload.
    arrival: Option<Arrival>,
    /// When the observer wants to see the device next.
    sample_at: Time,
    /// Completions until the observer may stop the run.
    until_tick: u64,
    /// When the observer was asked last, and how many answers before that came at that instant at least.
    ticked_at: Time,
    at_once: u64,
    /// The device had ended before the run.
    had_ended: bool,
}

impl Drive {
    /// The beginning of a run.
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

    /// A request was submitted at `at`.
    #[inline]
    fn was_asked(&mut self, at: Time) {
        (self.now, self.last, self.last_asked) = (at, at, at);
        self.asked += 1;
        self.outstanding += 1;
    }

    /// A request has completed: the workload is told in its own time, `without` behind that of the device.
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

    /// Asks the observer whether to continue, when its interval has passed.
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

    /// Ends a load that waits for a time which does not come: the device has answered too much at one instant.
    ///
    /// # Errors
    /// If that is so.
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

    /// Shows the observer the device, if it is time for that at `now`.
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

    /// Arrival of the next request, if it arrives by then; else the end of time.
    #[inline]
    fn arrives(&self, without: Time, latest: Time) -> Time {
        let at = self.arrival.as_ref().map_or(Time::MAX, |next| next.at.saturating_add(without));
        if at <= latest { at } else { Time::MAX }
    }

    /// Outcome of the run, when no request is left and all are completed.
    ///
    /// # Errors
    /// When the workload asks later than the clock can tell.
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

    /// Continues to the end, as [`drive_with`] does.
    ///
    /// # Errors
    /// The errors of [`drive`].
    fn go_on<I: Interrupt>(
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
        // Time for which the clock of the workload stood still.
        let mut without: Time = 0;
        // The end of time, if no request arrives.
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
                // Some requests are answered at once; they then have an event at `now`.
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
                // Requests are outstanding: the device has something to do for them.
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
                    // Advance to the next possible event: an arrival, or a look at the device.
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
