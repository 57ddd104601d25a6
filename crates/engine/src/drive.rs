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
    /// load is what was due and answered before it.
    fn sample(&mut self, _now: Time, _figures: Option<Followed>, _load: Load) -> Time {
        Time::MAX
    }

    /// What [`sample`](Observer::sample) would return at `now`; it has been called before.
    fn sample_after(&self, _now: Time) -> Time {
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
    /// Of a run that has submitted `asked` requests and waits for the answers of `outstanding`.
    pub fn of(workload: &dyn Workload, now: Time, asked: u64, outstanding: u64) -> Load {
        Load { due: asked + workload.held_back(now), answered: asked - outstanding }
    }
}

/// What breaks into a run between two events of the device: power cuts, or nothing.
///
/// While the device is interrupted the clock of the workload stands still. So a closed loop continues as
/// soon as the device is back, and timed arrivals are delayed by the time in between.
pub trait Interrupt {
    /// The instant of the next one, if that is known: it comes after all events of that instant, and
    /// before its arrivals.
    fn at(&self) -> Option<Time> {
        None
    }

    /// The device has had an event at `now`; whether the interruption comes at once.
    fn event(&mut self, _now: Time, _device: &dyn Device) -> bool {
        false
    }

    /// It comes at `now`: appends what the device answers, and returns how long it lasts.
    fn begin(
        &mut self,
        _now: Time,
        _device: &mut dyn Device,
        _completions: &mut Vec<Completion>,
    ) -> Time {
        unreachable!("nothing interrupts the run")
    }

    /// It is over at `now`.
    fn end(&mut self, _now: Time, _device: &mut dyn Device) {
        unreachable!("nothing interrupts the run")
    }

    /// Whether a run with nothing left to ask and to answer is over.
    fn may_end(&self, _device: &dyn Device) -> bool {
        true
    }
}

/// Nothing interrupts the run.
#[derive(Debug, Clone, Copy)]
pub struct Never;

impl Interrupt for Never {}

/// How many completions pass between two calls of [`Observer::tick`].
const TICK: u64 = 8192;

/// No request arrives later: 500 years. The clock could count 584, and what is under way then must end.
const LATEST: Time = 500 * 31_557_600 * 1_000_000_000;

/// What a run came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Driven {
    /// The last instant at which something was submitted or completed, or at which the device ended.
    pub last: Time,
    /// When the last request was submitted.
    pub last_asked: Time,
    /// Requests submitted.
    pub asked: u64,
    /// Of those, the ones without an answer, because the observer ended the run.
    pub unanswered: u64,
}

/// Runs `workload` on `device` until nothing is left to ask and everything asked is answered.
///
/// Background work that the device still has then is not waited for. Arrivals later than `until`
/// are not submitted, nor any once the device has come to its end during the run; what it was asked
/// before is still answered. A device that had ended before the run is asked everything: it still
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

/// The same with interruptions.
///
/// # Errors
/// Those of [`drive`].
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
pub struct Drive {
    /// The present instant, or one before it since which nothing has happened.
    pub now: Time,
    /// The last instant at which something was submitted or completed.
    pub last: Time,
    /// When the last request was submitted.
    pub last_asked: Time,
    /// Requests submitted.
    pub asked: u64,
    /// Of those, the ones that wait for their answer.
    pub outstanding: u64,
    /// What the workload asks next.
    pub arrival: Option<Arrival>,
    /// When the observer wants to see the device next.
    pub sample_at: Time,
    /// Completions until the observer is asked whether to go on.
    until_tick: u64,
    /// The device had ended before the run.
    had_ended: bool,
}

impl Drive {
    /// The beginning of a run.
    ///
    /// # Errors
    /// When the workload's input is broken.
    pub fn begin(device: &dyn Device, workload: &mut dyn Workload) -> Result<Drive, WorkloadError> {
        Ok(Drive {
            now: 0,
            last: 0,
            last_asked: 0,
            asked: 0,
            outstanding: 0,
            arrival: workload.next(0)?,
            sample_at: 0,
            until_tick: TICK,
            had_ended: device.has_ended(),
        })
    }

    /// The next arrival, unless it comes too late for a run that lasts `until` then.
    pub fn next_arrival(&self, until: Time) -> Option<Arrival> {
        self.arrival.filter(|next| next.at <= until.min(LATEST))
    }

    /// A request was submitted at `at`.
    #[inline]
    pub fn was_asked(&mut self, at: Time) {
        (self.now, self.last, self.last_asked) = (at, at, at);
        self.asked += 1;
        self.outstanding += 1;
    }

    /// A request has completed: the workload is told in its own time, `without` behind that of the device.
    #[inline]
    pub fn was_answered(
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

    /// Asks the observer whether to go on, if it is time for that.
    #[inline]
    pub fn tick(&mut self, observer: &mut dyn Observer) -> ControlFlow<()> {
        if self.until_tick > 0 {
            return ControlFlow::Continue(());
        }
        self.until_tick = TICK;
        observer.tick(self.now)
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

    /// What it came to, when nothing is left to ask for and everything is answered.
    ///
    /// # Errors
    /// When the workload asks later than the clock can tell.
    pub fn end(&self, until: Time) -> Result<Driven, WorkloadError> {
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

    /// What it came to so far.
    pub fn broken_off(&self) -> Driven {
        let Drive { last, last_asked, asked, outstanding, .. } = *self;
        Driven { last, last_asked, asked, unanswered: outstanding }
    }

    /// Continues to the end, as [`drive_with`] does.
    ///
    /// # Errors
    /// Those of [`drive`].
    pub fn go_on(
        mut self,
        device: &mut dyn Device,
        workload: &mut dyn Workload,
        until: Time,
        observer: &mut dyn Observer,
        interrupt: &mut impl Interrupt,
    ) -> Result<Driven, WorkloadError> {
        let mut ended = false;
        let mut completions = Vec::new();
        let latest = until.min(LATEST);
        // How long the clock of the workload has stood still.
        let mut without: Time = 0;
        loop {
            let event = device.next_event();
            let arrival = self.arrival.filter(|next| next.at + without <= latest);
            let comes = interrupt.at().filter(|at| event.is_none_or(|event| event > *at));
            if let Some(next) = arrival
                && event.is_none_or(|at| at > next.at + without)
                && comes.is_none_or(|at| at > next.at + without)
            {
                let now = next.at + without;
                assert!(now >= self.now, "an arrival lies before the present");
                self.sample(now, without, device, workload, observer);
                self.was_asked(now);
                device.submit(now, next.request);
                self.arrival = workload.next(next.at)?;
                // Some requests are answered at once; they then have an event at `now`.
                continue;
            }
            if self.outstanding == 0 && arrival.is_none() && interrupt.may_end(device) {
                return self.end(until);
            }
            let goes = if let Some(at) = comes {
                self.now = self.now.max(at);
                true
            } else {
                let Some(now) = event else {
                    // Requests are outstanding, but the device has nothing left to do for them.
                    panic!("the device holds {} requests and has no next event", self.outstanding);
                };
                self.now = now;
                self.sample(now, without, device, workload, observer);
                device.advance(now, &mut completions);
                interrupt.event(now, device)
            };
            let now = self.now;
            let lasts = if goes { interrupt.begin(now, device, &mut completions) } else { 0 };
            if !self.had_ended && !ended && device.has_ended() {
                ended = true;
                self.arrival = None;
                self.last = now;
            }
            if completions.is_empty() && !goes {
                continue;
            }
            for completion in &completions {
                self.was_answered(completion, without, workload, observer);
            }
            completions.clear();
            (self.now, self.last) = (now, now);
            if self.tick(observer).is_break() {
                return Ok(self.broken_off());
            }
            let present = now - without;
            if goes {
                self.now += lasts;
                without += lasts;
                interrupt.end(self.now, device);
            }
            if !ended && self.arrival.is_none_or(|next| next.at > present && workload.take_back()) {
                self.arrival = workload.next(present)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrival, Breakdown, Lba, Op, Part, Request, Status};

    /// Answers everything it was asked together, 10 ns after the last submission.
    #[derive(Default)]
    struct Together(Vec<(Time, Request)>);

    impl Device for Together {
        fn submit(&mut self, now: Time, request: Request) {
            self.0.push((now, request));
        }

        fn next_event(&self) -> Option<Time> {
            self.0.last().map(|(now, _)| now + 10)
        }

        fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
            if self.next_event().is_some_and(|at| at <= to) {
                let answer = |(submitted, request)| Completion {
                    request,
                    submitted,
                    at: to,
                    breakdown: Breakdown::of(Part(0), to - submitted),
                    status: Status::Ok,
                };
                completions.extend(self.0.drain(..).map(answer));
            }
        }

        fn capacity_sectors(&self) -> u64 {
            1 << 20
        }
    }

    /// One request every nanosecond up to a number.
    struct Steady(u64, u64);

    impl Workload for Steady {
        fn next(&mut self, _: Time) -> Result<Option<Arrival>, WorkloadError> {
            let id = self.0;
            self.0 += 1;
            let request = Request::new(id, Op::Read, Lba(id), 1);
            Ok((id < self.1).then_some(Arrival { at: id, request }))
        }

        fn completed(&mut self, _: &Completion) {}

        fn expected_requests(&self) -> Option<u64> {
            Some(self.1)
        }
    }

    #[derive(Default)]
    struct Count {
        completions: u64,
        failed: u64,
        ticks: u64,
        stop_after: Option<u64>,
    }

    impl Observer for Count {
        fn completed(&mut self, completion: &Completion) {
            self.completions += 1;
            self.failed += u64::from(!completion.status.is_ok());
        }

        fn tick(&mut self, _: Time) -> ControlFlow<()> {
            self.ticks += 1;
            if Some(self.ticks) == self.stop_after {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }
    }

    #[test]
    fn any_number_may_complete_together() {
        let mut count = Count::default();
        let mut load = Steady(0, 3 * TICK);
        let run = drive(&mut Together::default(), &mut load, Time::MAX, &mut count).unwrap();
        assert_eq!((count.completions, count.ticks), (3 * TICK, 1));
        let (last_asked, asked) = (3 * TICK - 1, 3 * TICK);
        assert_eq!(run, Driven { last: last_asked + 10, last_asked, asked, unanswered: 0 });
    }

    #[test]
    fn arrivals_after_the_end_are_not_submitted() {
        let mut count = Count::default();
        drive(&mut Together::default(), &mut Steady(0, 1000), 99, &mut count).unwrap();
        assert_eq!(count.completions, 100);
    }

    #[test]
    fn the_observer_can_end_a_run() {
        let mut count = Count { stop_after: Some(1), ..Count::default() };
        let mut device = Together::default();
        let run = drive(&mut device, &mut Steady(0, 2 * TICK), Time::MAX, &mut count).unwrap();
        assert_eq!((count.ticks, run.last), (1, 2 * TICK - 1 + 10));
        assert_eq!((run.asked, run.unanswered), (2 * TICK, 0));
    }

    /// Answers each request after 10 ns, and refuses it after its end.
    struct Tenfold {
        waiting: Vec<(Time, Request)>,
        end: Time,
        now: Time,
    }

    impl Tenfold {
        fn until(end: Time) -> Self {
            Tenfold { waiting: Vec::new(), end, now: 0 }
        }
    }

    impl Device for Tenfold {
        fn submit(&mut self, now: Time, request: Request) {
            self.waiting.push((now, request));
        }

        fn next_event(&self) -> Option<Time> {
            self.waiting.first().map(|(at, _)| at + 10)
        }

        fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
            self.now = to;
            let (submitted, request) = self.waiting.remove(0);
            let breakdown = Breakdown::of(Part(0), 10);
            let status = if to > self.end { Status::ReadOnly } else { Status::Ok };
            completions.push(Completion { request, submitted, at: to, breakdown, status });
        }

        fn has_ended(&self) -> bool {
            self.now >= self.end
        }

        fn capacity_sectors(&self) -> u64 {
            8
        }
    }

    /// A clock that asks every 25 ns, and a loop that asks on each answer to its own request.
    #[derive(Default)]
    struct ClockAndLoop {
        clock: Time,
        waiting: bool,
        given: Option<u64>,
        asked: Vec<(Time, u64)>,
    }

    impl Workload for ClockAndLoop {
        fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
            let (at, id) = if self.waiting { (self.clock, 0) } else { (now, 1) };
            self.given = Some(id);
            if id == 0 {
                self.clock += 25;
            } else {
                self.waiting = true;
            }
            self.asked.push((at, id));
            let request = Request::new(id, Op::Read, Lba(0), 1);
            Ok((at <= 50).then_some(Arrival { at, request }))
        }

        fn completed(&mut self, completion: &Completion) {
            self.waiting &= completion.request.id != 1;
        }

        fn take_back(&mut self) -> bool {
            self.asked.pop();
            self.clock -= 25;
            assert_eq!(self.given.take(), Some(0), "a loop asks at once");
            true
        }

        fn expected_requests(&self) -> Option<u64> {
            None
        }
    }

    #[test]
    fn an_answer_may_bring_the_next_arrival_forward() {
        let mut workload = ClockAndLoop { clock: 25, ..ClockAndLoop::default() };
        drive(&mut Tenfold::until(Time::MAX), &mut workload, Time::MAX, &mut Count::default())
            .unwrap();
        let early: Vec<_> = workload.asked.iter().filter(|(at, _)| *at <= 50).copied().collect();
        assert_eq!(early, [(0, 1), (10, 1), (20, 1), (25, 0), (30, 1), (40, 1), (50, 0), (50, 1)]);
    }
    #[test]
    fn what_was_asked_of_a_device_that_ends_is_answered() {
        let mut count = Count::default();
        let run = drive(&mut Tenfold::until(45), &mut Steady(0, 1000), Time::MAX, &mut count);
        // A request and an answer each ns; it ends with the answer at 45.
        let run = run.unwrap();
        assert_eq!((run.asked, run.unanswered), (45, 0));
        assert_eq!((count.completions, count.failed), (45, 9));
        // One that has ended before is asked everything.
        let mut count = Count::default();
        let run = drive(&mut Tenfold::until(0), &mut Steady(0, 1000), Time::MAX, &mut count);
        assert_eq!((run.unwrap().asked, count.failed), (1000, 1000));
    }
}
