//! Preconditioning a drive with its own workload, untimed.
//!
//! The workload is repeated, each time with new draws, until write amplification has settled. Its
//! writes and trims change the drive's state, reads do not. Closed and open loops progress at
//! consistent rates, because every request has the same short latency.

use crate::config::{Experiment, Precondition};
use crate::error::RunError;
use crate::inputs::{Opened, inputs, noting_inputs, repeatable_inputs};
use crate::quoting;
use crate::untimed::Amplification;
use crate::zones::OnZones;
use devices::ssd::zoned::Zones;
use devices::{DeviceKind as _, Model};
use engine::{
    Breakdown, Completion, Device, Observer, Op, Part, Request, Standing, Status, Time, Workload,
    drive,
};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use workloads::{BuildError, Context};

/// Reason for uniform pages that are equivalent to the workload.
pub(crate) const UNIFORM: &str = "the workload itself is uniform";

/// Builds the workload of a pass, from 1 on.
pub(crate) type Passes<'a> = dyn FnMut(u64) -> Result<Box<dyn Workload>, RunError> + 'a;

/// Latency of every request: about that of a write during garbage collection.
const ANSWER_NS: Time = 100_000;
/// Requests without a write after which a workload is considered to have finished writing.
const MOST_QUIET: u64 = 1 << 22;
/// Rounds end with the workload if it writes at most this number of rounds.
const LONGEST_PASS: u64 = 5;
/// Pages written between two calls of `tick`.
const TICK: u64 = 1 << 8;

/// Context in which the workload of an experiment is built.
pub(crate) fn context(experiment: &Experiment, device: &dyn Model) -> Context {
    Context {
        capacity_sectors: device.capacity_sectors(),
        scale: experiment.device.scale(),
        volumes: device.facts().volumes,
        zones: device.facts().zones.map(Zones::shape),
        seed: experiment.run.seed,
        pass: 0,
        inputs: inputs(),
    }
}

/// Builds the load.
///
/// # Errors
/// A key that contradicts the device, or unreadable input.
pub(crate) fn build(
    experiment: &Experiment,
    context: &Context,
) -> Result<Box<dyn Workload>, RunError> {
    let built = experiment.workload.build(context).map_err(|error| match error {
        BuildError::Invalid(invalid) => experiment.blame(&invalid).into(),
        BuildError::Input(message) => RunError::Input(quoting::said(experiment, message)),
    })?;
    Ok(if context.zones.is_some() { Box::new(OnZones::new(built)) } else { built })
}

/// Number of leading sectors that contain all accesses of the workload, if known.
pub fn reach(experiment: &Experiment, device: &dyn Model) -> Option<u64> {
    if matches!(experiment.run.precondition, Precondition::None) {
        return None;
    }
    let context =
        Context { inputs: repeatable_inputs(&Arc::default()), ..context(experiment, device) };
    let reach = experiment.workload.reach(&context)?;
    (reach < context.capacity_sectors).then_some(reach)
}

/// The workload of an experiment for preconditioning, or the reason for not using it. The inputs
/// that it reads are recorded.
///
/// # Errors
/// See [`build`].
pub(crate) fn of<'a>(
    experiment: &'a Experiment,
    device: &dyn Model,
    is_served: bool,
    opened: &Opened,
) -> Result<Result<Box<Passes<'a>>, &'static str>, RunError> {
    let pages = device.facts().pages;
    if is_served {
        return Ok(Err("a live device has no workload of its own"));
    }
    if experiment.run.precondition != Precondition::Steady || pages == 0 {
        return Ok(Err("there is nothing to settle"));
    }
    let once = Arc::default();
    let mut context = context(experiment, device);
    context.inputs = noting_inputs(repeatable_inputs(&once), opened);
    let sectors = context.capacity_sectors;
    if sectors.is_multiple_of(pages)
        && experiment.workload.writes_uniformly(sectors, sectors / pages)
    {
        return Ok(Err(UNIFORM));
    }
    context.pass = 1;
    let first = build(experiment, &context);
    if once.load(Ordering::Relaxed) {
        return Ok(Err("the workload can be read only once"));
    }
    let mut first = Some(first?);
    Ok(Ok(Box::new(move |pass| {
        if let Some(first) = first.take() {
            return Ok(first);
        }
        context.pass = pass;
        build(experiment, &context)
    })))
}

/// Repeats the workload, built by `passes` for each pass from 1 on, until the drive has settled.
/// The drive's counts must be 0. Timed requests after `until` are skipped. Returns the bytes
/// written.
///
/// # Errors
/// Corrupt input.
pub(crate) fn write(
    device: &mut dyn Model,
    passes: &mut Passes<'_>,
    until: Time,
    amplification: &mut Amplification,
    tick: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<ControlFlow<(), u64>, RunError> {
    let page_bytes = device.capacity_sectors() * engine::SECTOR_BYTES / device.facts().pages;
    let mut asked = Asked {
        device,
        amplification,
        tick,
        page_bytes,
        answers: VecDeque::new(),
        written: 0,
        until_tick: TICK,
        quiet: 0,
        is_interrupted: false,
    };
    for pass in 1.. {
        let mut workload = passes(pass)?;
        let until = if workload.is_open() { until } else { Time::MAX };
        let before = asked.written;
        asked.quiet = 0;
        drive(&mut asked, &mut *workload, until, &mut Unseen)
            .map_err(|error| RunError::Input(error.to_string()))?;
        asked.tick();
        if asked.is_interrupted {
            return Ok(ControlFlow::Break(()));
        }
        asked.pass_ended(pass, asked.written - before);
        if asked.is_over() || asked.written == before {
            break;
        }
    }
    Ok(ControlFlow::Continue(asked.written))
}

/// A drive on which every request has the same latency and takes effect immediately.
struct Asked<'a> {
    device: &'a mut dyn Model,
    amplification: &'a mut Amplification,
    /// Called with the number of pages written.
    tick: &'a mut dyn FnMut(u64) -> ControlFlow<()>,
    page_bytes: u64,
    answers: VecDeque<Completion>,
    written: u64,
    /// Pages until the next call of `tick`.
    until_tick: u64,
    /// Requests since the last write.
    quiet: u64,
    is_interrupted: bool,
}

impl Asked<'_> {
    fn is_over(&self) -> bool {
        self.device.has_ended() || self.amplification.rounds.is_over()
    }

    fn serve(&mut self, request: &Request) -> Status {
        self.quiet += 1;
        if !matches!(request.op, Op::Write | Op::Trim) {
            return Status::Ok;
        }
        let status = self.device.serve_untimed(request);
        if request.op == Op::Write && status.is_ok() {
            self.quiet = 0;
            self.written += request.bytes();
            self.amplification.written(request.bytes(), &*self.device);
            self.until_tick =
                self.until_tick.saturating_sub(request.bytes().div_ceil(self.page_bytes));
            if self.until_tick == 0 {
                self.tick();
            }
        }
        status
    }

    fn tick(&mut self) {
        self.until_tick = TICK;
        self.is_interrupted |= (self.tick)(self.written / self.page_bytes).is_break();
    }

    /// Ends a pass that wrote this many bytes.
    fn pass_ended(&mut self, pass: u64, bytes: u64) {
        let amplification = &mut *self.amplification;
        if pass == 1 && bytes <= LONGEST_PASS * amplification.round_bytes {
            amplification.by_pass = true;
            if bytes > amplification.round_bytes {
                amplification.begin_round(&*self.device);
            }
        }
        amplification.pass_ended(&*self.device);
    }
}

impl Device for Asked<'_> {
    fn submit(&mut self, now: Time, request: Request) {
        let status = self.serve(&request);
        let breakdown = Breakdown::of(Part(0), ANSWER_NS);
        let at = now + ANSWER_NS;
        self.answers.push_back(Completion { request, submitted: now, at, breakdown, status });
    }

    fn next_event(&self) -> Option<Time> {
        self.answers.front().map(|answer| answer.at)
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        let due = self.answers.partition_point(|answer| answer.at <= to);
        completions.extend(self.answers.drain(..due));
    }

    fn standing(&self) -> Standing {
        Standing::ended(self.is_interrupted || self.quiet >= MOST_QUIET || self.is_over())
    }

    fn capacity_sectors(&self) -> u64 {
        self.device.capacity_sectors()
    }
}

/// No observer.
struct Unseen;

impl Observer for Unseen {
    fn completed(&mut self, _: &Completion) {}

    fn tick(&mut self, _: Time) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
