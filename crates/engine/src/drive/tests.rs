//! The run loop with scripted devices.

use super::*;
use crate::{Arrival, Breakdown, Lba, Op, Part, Request, Standing, Status};

/// Completes all requests together, 10 ns after the last submission.
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

/// One request per nanosecond, up to a number.
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

/// Completes each request after 10 ns, and rejects requests after its end of life.
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

    fn standing(&self) -> Standing {
        Standing::ended(self.now >= self.end)
    }

    fn capacity_sectors(&self) -> u64 {
        8
    }
}

/// Two clients: one submits every 25 ns, the other on each completion of its own.
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
    drive(&mut Tenfold::until(Time::MAX), &mut workload, Time::MAX, &mut Count::default()).unwrap();
    let early: Vec<_> = workload.asked.iter().filter(|(at, _)| *at <= 50).copied().collect();
    assert_eq!(early, [(0, 1), (10, 1), (20, 1), (25, 0), (30, 1), (40, 1), (50, 0), (50, 1)]);
}
#[test]
fn what_was_asked_of_a_device_that_ends_is_answered() {
    let mut count = Count::default();
    let run = drive(&mut Tenfold::until(45), &mut Steady(0, 1000), Time::MAX, &mut count);
    // A submission and a completion per nanosecond; it ends with the completion at 45.
    let run = run.unwrap();
    assert_eq!((run.asked, run.unanswered), (45, 0));
    assert_eq!((count.completions, count.failed), (45, 9));
    // A load on a device at end of life gets completions for all its requests.
    let mut count = Count::default();
    let run = drive(&mut Tenfold::until(0), &mut Steady(0, 1000), Time::MAX, &mut count);
    assert_eq!((run.unwrap().asked, count.failed), (1000, 1000));
}

/// Completes every request at once.
#[derive(Default)]
struct AtOnce(Vec<Completion>);

impl Device for AtOnce {
    fn submit(&mut self, now: Time, request: Request) {
        let (breakdown, status) = (Breakdown::default(), Status::Ok);
        self.0.push(Completion { request, submitted: now, at: now, breakdown, status });
    }

    fn next_event(&self) -> Option<Time> {
        self.0.first().map(|answer| answer.at)
    }

    fn advance(&mut self, _: Time, completions: &mut Vec<Completion>) {
        completions.append(&mut self.0);
    }

    fn capacity_sectors(&self) -> u64 {
        8
    }
}

/// Submits a request on each completion, up to a number; true if only time ends it.
struct Again(u64, bool);

impl Workload for Again {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if self.0 == 0 {
            return Ok(None);
        }
        self.0 -= 1;
        Ok(Some(Arrival { at: now, request: Request::new(self.0, Op::Trim, Lba(0), 1) }))
    }

    fn completed(&mut self, _: &Completion) {}

    fn needs_time(&self) -> Option<&'static str> {
        self.1.then_some("a clock")
    }

    fn expected_requests(&self) -> Option<u64> {
        None
    }
}

#[test]
fn a_load_that_only_time_ends_is_given_up_where_time_stands_still() {
    let run = |mut load: Again| {
        let run = drive(&mut AtOnce::default(), &mut load, Time::MAX, &mut Count::default());
        (run.map(|run| run.asked), load.0)
    };
    let (given_up, left) = run(Again(u64::MAX, true));
    let problem = given_up.unwrap_err().to_string();
    assert!(
        problem.contains("it ends by time (a clock)") && problem.contains("a trim"),
        "{problem}"
    );
    // Soon after `MOST_AT_ONCE` completions.
    assert!((u64::MAX - left) / 2 <= MOST_AT_ONCE, "{left}");
    // A load with its own end may have any number of requests at one point in time.
    assert_eq!(run(Again(3 * MOST_AT_ONCE, false)), (Ok(3 * MOST_AT_ONCE), 0));
}
