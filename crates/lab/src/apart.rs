//! A run of an array on several threads: an open workload is read ahead, sides of some members each
//! run independently for a stretch of time, and their events are passed on in order while they run the
//! next stretch.
//!
//! The events are the same as in the loop for one thread, at the same instants and in the same order, so
//! statistics, samples and records are the same. Before anything that concerns the whole device, the
//! sides are joined: at the end of the warm-up, and before blocks may wear out.

use crate::commands;
use crate::config::{Experiment, Until};
use crate::threads::{Crew, Threads};
use crate::warm_up::WarmUp;
use devices::{Model, SharedSide, Stretch, Told, take};
use engine::{Device, Drive, Driven, Load, Never, Observer, Time, Workload, WorkloadError};
use std::collections::VecDeque;

/// Parts of requests in a stretch: enough that handing out is nothing beside them.
const PARTS: u64 = 1 << 13;

/// Why one thread asks and answers whatever the device, if that is so.
pub fn alone_running(
    experiment: &Experiment,
    workload: &dyn Workload,
    is_cut: bool,
) -> Option<&'static str> {
    let run = &experiment.run;
    let reasons = [
        (commands::are_asked(experiment, workload), "commands are done in steps before the device"),
        (!run.timed, "in an untimed run each request waits for the previous one"),
        (!workload.is_open(), "a closed loop waits for completions"),
        (is_cut, "a power cut affects the whole device"),
        (run.faults.is_some(), "faults affect the whole device"),
        (run.until == Until::Steady, "the run ends at steady state of the whole device"),
    ];
    reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
}

/// Runs `workload` on `device` as [`engine::drive`] does, with its sides on as many threads as there are.
///
/// Notes how many there were, and why not more.
pub(crate) fn drive(
    device: &mut dyn Model,
    workload: &mut dyn Workload,
    (until, warm_up): (Time, Time),
    observer: &mut dyn Observer,
    threads: &mut Threads,
) -> Result<Driven, WorkloadError> {
    let drive = Drive::begin(&*device, workload)?;
    let mut run = Run {
        drive,
        until,
        stop: Time::MAX,
        workload,
        observer,
        looks: VecDeque::new(),
        look_at: 0,
        given_at: 0,
        given: 0,
        is_over: false,
    };
    let mut warming = (warm_up > 0).then_some(warm_up);
    while let Some(next) = run.next(&*device) {
        // Nothing happens before then.
        run.drive.now = run.drive.now.max(next.saturating_sub(1));
        run.sample(&mut *device, next, &mut warming);
        if run.drive.next_arrival(until).is_none() {
            break;
        }
        let split = device.split(run.drive.now, threads.asked);
        threads.run(split.as_ref().map(|split| split.sides.len() as u32).map_err(|it| *it));
        let Ok(split) = split else { break };
        run.stop = warming.map_or(split.until, |ends| split.until.min(ends));
        let ended = run.go_through(device, &split.sides)?;
        device.join(run.drive.now);
        if run.is_over {
            return Ok(run.drive.broken_off());
        }
        if ended {
            return run.drive.end(until);
        }
    }
    let Run { drive, workload, observer, .. } = run;
    match warming {
        Some(ends) => {
            let device = &mut WarmUp::new(device, ends);
            drive.go_on(device, workload, until, observer, &mut Never)
        }
        None => drive.go_on(device, workload, until, observer, &mut Never),
    }
}

/// Why a stretch is the last of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Because {
    /// It is long enough.
    Full,
    /// The device must be whole for what comes next.
    Stop,
    /// Nothing is left to ask.
    Exhausted,
}

/// A run of which some requests were asked ahead.
struct Run<'a> {
    /// The part that was passed on.
    drive: Drive,
    until: Time,
    /// The sides go up to this instant.
    stop: Time,
    workload: &'a mut dyn Workload,
    observer: &'a mut dyn Observer,
    /// Sampling instants not yet passed on, and the next arrival after each.
    looks: VecDeque<(Time, Option<Time>)>,
    /// The next one after those.
    look_at: Time,
    /// When the latest request arrives that was given.
    given_at: Time,
    /// Parts of requests given so far.
    given: u64,
    /// The observer has ended it.
    is_over: bool,
}

impl Run<'_> {
    /// When something happens next on a device in one piece, unless the run is over.
    fn next(&self, device: &dyn Model) -> Option<Time> {
        let arrival = self.drive.next_arrival(self.until).map(|next| next.at);
        let event = device.next_event().filter(|_| self.drive.outstanding > 0 || arrival.is_some());
        event.into_iter().chain(arrival).min()
    }

    /// Shows the observer the device if it is due before what happens at `next`; then the account begins if
    /// the warm-up is over.
    fn sample(&mut self, device: &mut dyn Model, next: Time, warming: &mut Option<Time>) {
        let is_due = next >= self.drive.sample_at;
        let figures = match *warming {
            Some(ends) => {
                let mut device = WarmUp::new(device, ends);
                let figures = device.followed();
                device.pass(next);
                *warming = warming.filter(|ends| next < *ends);
                figures
            }
            None => device.followed(),
        };
        if is_due {
            let Drive { asked, outstanding, .. } = self.drive;
            let load = Load::of(&*self.workload, next, asked, outstanding);
            self.drive.sample_at = self.observer.sample(next, figures, load);
        }
    }

    /// Has the sides of a device go on, up to the stop or to the end of the run, which it returns.
    fn go_through(
        &mut self,
        device: &mut dyn Model,
        sides: &[SharedSide],
    ) -> Result<bool, WorkloadError> {
        self.look_at = self.drive.sample_at;
        self.given_at = self.drive.now;
        Crew::with(&sides[1..], |crew| {
            let (mut to, mut because) = self.fill(device)?;
            loop {
                device.hand_out(to);
                crew.go();
                self.tell(device);
                let next = match because {
                    Because::Full if !self.is_over => Some(self.fill(device)?),
                    _ => None,
                };
                take(&sides[0]).go();
                crew.wait();
                device.collect();
                match next {
                    Some(next) => (to, because) = next,
                    None => break,
                }
            }
            self.tell(device);
            if because == Because::Stop || self.is_over {
                self.drive.now = self.given_at;
                return Ok(false);
            }
            let ended = self.finish(device, |device, to| {
                device.hand_out(to);
                crew.go();
                take(&sides[0]).go();
                crew.wait();
                device.collect();
            });
            Ok(ended)
        })
    }

    /// Gives what the workload asks next, a stretch of it; how far that goes, and why not further.
    fn fill(&mut self, device: &mut dyn Model) -> Result<(Stretch, Because), WorkloadError> {
        // Short stretches at first, so that all threads soon have work.
        let (first, most) = (self.given, self.given.clamp(64, PARTS));
        while self.given < first + most {
            let Some(next) = self.drive.next_arrival(self.until) else {
                return Ok((Stretch::To(self.given_at), Because::Exhausted));
            };
            if next.at >= self.stop {
                self.given_at = self.stop - 1;
                self.look(device, self.given_at, Some(next.at));
                return Ok((Stretch::To(self.given_at), Because::Stop));
            }
            self.look(device, next.at, Some(next.at));
            self.given += device.ask(next.at, &next.request);
            self.given_at = next.at;
            self.drive.arrival = self.workload.next(next.at)?;
        }
        Ok((Stretch::To(self.given_at), Because::Full))
    }

    /// Wants figures at all instants up to `to` at which they may be due.
    fn look(&mut self, device: &mut dyn Model, to: Time, arrival: Option<Time>) {
        while self.look_at <= to {
            device.look(self.look_at);
            self.looks.push_back((self.look_at, arrival));
            self.look_at = self.observer.sample_after(self.look_at);
        }
    }

    /// Tells the observer what the sides did.
    fn tell(&mut self, device: &mut dyn Model) {
        let Run { drive, workload, observer, looks, is_over, .. } = self;
        device.tell(&mut |told| match told {
            Told::Asked(at) => drive.was_asked(at),
            Told::Answered(completion) => {
                drive.was_answered(completion, 0, &mut **workload, &mut **observer);
                *is_over |= drive.tick(&mut **observer).is_break();
            }
            Told::Looked(figures, next) => {
                let (at, arrival) = looks.pop_front().expect("it was wanted");
                // Where nothing happened for long, figures at fewer instants are due.
                let next = next.into_iter().chain(arrival).min();
                if let Some(now) = next.filter(|_| at >= drive.sample_at) {
                    assert!(at == drive.sample_at, "figures are wanted when they are due");
                    let load = Load::of(&**workload, now, drive.asked, drive.outstanding);
                    drive.sample_at = observer.sample(now, figures, load);
                }
            }
        });
    }

    /// Waits for the answers, when all is asked; whether that came before the stop.
    fn finish(
        &mut self,
        device: &mut dyn Model,
        mut go: impl FnMut(&mut dyn Model, Stretch),
    ) -> bool {
        while self.drive.outstanding > 0 {
            go(device, Stretch::Answered(self.look_at.min(self.stop)));
            self.tell(device);
            if self.drive.outstanding == 0 {
                break;
            }
            if self.look_at >= self.stop {
                go(device, Stretch::To(self.stop - 1));
                self.tell(device);
                self.drive.now = self.stop - 1;
                return false;
            }
            self.look(device, self.look_at, None);
        }
        // Background work of the other parts meanwhile.
        go(device, Stretch::To(self.drive.last));
        self.tell(device);
        self.drive.now = self.drive.last;
        true
    }
}
