//! The life of a device in an experiment: it is built, preconditioned, used and examined. The
//! sequence is common to the workload of a run ([`run`]) and the clients of a live device.

use crate::cache::CacheSettings;
use crate::commands::drive_through;
use crate::config::{Experiment, Precondition, RunConfig, Until};
use crate::error::{InputError, RunError, reason};
use crate::faults::{self, Faulty};
use crate::figures::Figures;
use crate::overload::Offered;
use crate::own_load::{build, context};
use crate::preparation::{PhaseTick, Preparation};
use crate::requests::RequestLog;
use crate::results::{Collected, Ran, Results};
use crate::sampled::{MeasuredIds, SamplePlan, Sampled};
pub(crate) use crate::snapshot::{check_place, save as write_state};
use crate::steady::{Prepared, Rounds, Settling, SteadyState};
use crate::threads::Threads;
use crate::untimed::Untimed;
use crate::view::{Gate, Gated};
use crate::warm_up::WarmUp;
use crate::{commands, endless, fits, operations, power, quoting, snapshot};
use devices::{DeviceKind as _, Instruction, MOST_MEMORY, Model, Supplied, Tick};
use engine::{
    Completion, Device, Driven, Followed, Load, Observer, PowerCuts, SECTOR_BYTES, Time, Workload,
};
use options::{Duration, Invalid, Size};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::time::Instant;

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Current phase: `building` (the device), `loading`, `preconditioning`, `saving` or `running`.
    pub phase: &'static str,
    /// Requests (or preconditioning writes) completed in this phase.
    pub done: u64,
    /// Expected number, if known.
    pub expected: Option<u64>,
    /// Simulated time, ns.
    pub simulated_ns: Time,
}

/// Options of a run besides the experiment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunSettings {
    /// Audit the device at the end.
    pub check: bool,
    /// Parquet file for every request with times and latency parts.
    pub requests: Option<String>,
    /// Number of threads, 0 being equivalent to 1: affects only the duration of the run.
    pub threads: u32,
    /// Cache of prepared states, if any; results do not depend on it.
    pub cache: Option<CacheSettings>,
}

/// A device of an experiment, with supplied objects.
pub(crate) struct Session<'a> {
    experiment: &'a Experiment,
    supplied: &'a Supplied,
    preparation: Preparation<'a>,
    device: Box<dyn Model>,
    /// How the drive settled during preparation, if settling ended it.
    prepared: Option<Prepared>,
    threads: Threads,
    is_served: bool,
    /// Messages about outputs that cannot be written; the run continues without them.
    unwritten: Vec<String>,
}

impl<'a> Session<'a> {
    /// Builds the device; `tick` is called at intervals and may end it.
    pub(crate) fn new(
        experiment: &'a Experiment,
        supplied: &'a Supplied,
        threads: u32,
        cache: Option<&'a CacheSettings>,
        tick: Tick<'_>,
    ) -> Result<Self, RunError> {
        let preparation = Preparation::new(experiment, supplied, cache);
        let device = preparation.device(tick)?;
        let threads = Threads::new(threads);
        Ok(Session {
            experiment,
            supplied,
            preparation,
            device,
            prepared: None,
            threads,
            is_served: false,
            unwritten: Vec::new(),
        })
    }

    pub(crate) fn device(&mut self) -> &mut (dyn Model + 'static) {
        &mut *self.device
    }

    pub(crate) fn capacity_bytes(&self) -> u64 {
        self.device.capacity_sectors() * SECTOR_BYTES
    }

    /// Prepares the device's initial state, and saves it if requested. `tick` is called
    /// periodically with the name of the phase, the writes done and, if known, expected; it may end
    /// the preparation.
    pub(crate) fn prepare(&mut self, tick: PhaseTick<'_>) -> Result<(), RunError> {
        let run = &self.experiment.run;
        snapshot::load_drive(run, &mut *self.device, &mut || tick("loading", 0, None))?;
        refuse_memory(self.experiment, &*self.device)?;
        if self.experiment.device.check_pace().is_ok() {
            let (capacity, scale) = (self.capacity_bytes(), self.experiment.device.scale());
            let pace = Instruction::Pace(run.pace.ns_per_byte(capacity, scale));
            self.device.instruct(0, pace).expect("it was checked");
        }
        let (device, threads) = (&mut self.device, &mut self.threads);
        let prepared = self.preparation.prepare(device, threads, self.is_served, tick);
        let prepared = prepared.map_err(|error| quoting::told(self.experiment, error))?;
        self.check_supplied(0)?;
        let ControlFlow::Continue(prepared) = prepared else {
            return Err(RunError::Interrupted { requests: 0 });
        };
        self.prepared = prepared;
        if let Some(age) = run.age.0 {
            let refuse = |problem: String| {
                let problem = format!("{age}: {problem}");
                self.experiment.blame(&Invalid::new(&["run.age", "device.media.model"], problem))
            };
            self.device.instruct(0, Instruction::Age(age)).map_err(refuse)?;
        }
        // A served device is saved at the end.
        if self.is_served {
            return Ok(());
        }
        let unsaved = snapshot::save_drive(run, &*self.device, &mut || tick("saving", 0, None))?;
        self.unwritten.extend(unsaved);
        Ok(())
    }

    /// Marks the device as served: it is saved at the end.
    pub(crate) fn is_served(&mut self) {
        self.is_served = true;
    }

    /// Fails if the supplied policy has failed: the drive then continued with another policy, so
    /// its results are invalid.
    pub(crate) fn check_supplied(&self, requests: u64) -> Result<(), RunError> {
        let failure = self.experiment.device.policy_name().zip(self.supplied.failure());
        failure.map_or(Ok(()), |(name, problem)| {
            let problem = format!("the cleaning policy {} failed: {problem}", name.as_str());
            Err(RunError::Policy { problem, requests })
        })
    }

    /// Checks all invariants of the device.
    fn audit(&self) -> Result<(), RunError> {
        self.device.audit().map_err(RunError::Check)
    }

    /// The results as JSON, keys in the order of the schema. The device's figures are taken now
    /// unless `figures` are given.
    pub(crate) fn results(&mut self, ran: Ran, figures: Option<Figures>) -> Value {
        let timed = self.experiment.run.timed;
        let figures = figures.unwrap_or_else(|| Figures::of(&*self.device, ran.last, timed));
        let window = self.experiment.run.timeline.window();
        let recorded = window.zip(self.device.take_operations());
        let mut results = results_of(
            self.experiment,
            &*self.device,
            (self.prepared.clone(), self.threads),
            ran,
            figures,
        );
        if let Some((window, it)) = recorded {
            results["timeline"] = operations::section(window, &it);
        }
        results
    }

    /// The device, its settling, and the preparing threads.
    pub(crate) fn into_parts(self) -> (Box<dyn Model>, Option<Prepared>, Threads) {
        (self.device, self.prepared, self.threads)
    }
}

/// The results of a run on the device of an experiment, keys in the order of the schema.
pub(crate) fn results_of(
    experiment: &Experiment,
    device: &dyn Model,
    (prepared, threads): (Option<Prepared>, Threads),
    mut ran: Ran,
    figures: Figures,
) -> Value {
    ran.collected.sample_end(figures.followed);
    let results = Results {
        experiment: experiment.to_json(),
        capacity_bytes: device.capacity_sectors() * SECTOR_BYTES,
        scale: experiment.device.scale(),
        was_prepared: experiment.run.prepares(),
        prepared,
        report: figures.report,
        energy: figures.energy,
        threads,
        ran,
    };
    results.to_json()
}

/// Collects statistics and passes progress on.
struct Monitor<'a> {
    collected: Collected,
    settling: Option<Settling>,
    expected: Option<u64>,
    first: Option<Time>,
    log: Option<RequestLog>,
    interrupted: bool,
    /// Requests that a sampled run measures.
    measured: Option<&'a MeasuredIds>,
    supplied: &'a Supplied,
    progress: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
}

impl Observer for Monitor<'_> {
    fn completed(&mut self, completion: &Completion) {
        let first = self.first.get_or_insert(completion.submitted);
        *first = (*first).min(completion.submitted);
        if let Some(measured) = self.measured {
            let (from, to) = measured.get();
            if !(from..to).contains(&completion.request.id) {
                return self.collected.pass(completion);
            }
        }
        let is_measured = self.collected.record(completion);
        if let Some(log) = &mut self.log {
            log.record(completion);
        }
        if let Some(settling) = &mut self.settling
            && is_measured
            && completion.status.is_ok()
        {
            settling.record(completion);
        }
    }

    fn sample(&mut self, now: Time, figures: Option<Followed>, load: Load) -> Time {
        // The main drive of a sampled run has no time series.
        if self.measured.is_some() { Time::MAX } else { self.collected.sample(now, figures, load) }
    }

    fn tick(&mut self, now: Time) -> ControlFlow<()> {
        let flow = (self.progress)(&Progress {
            phase: "running",
            done: self.collected.answered(),
            expected: self.expected,
            simulated_ns: now,
        });
        self.interrupted |= flow.is_break();
        let settled = self.settling.as_ref().is_some_and(|it| it.rounds.is_over());
        // Results without the policy would be useless.
        let gone = self.supplied.failure().is_some();
        if settled || gone { ControlFlow::Break(()) } else { flow }
    }
}

/// Runs an experiment and returns its results as JSON text.
///
/// `progress` is called every few thousand requests and may stop the run.
///
/// # Errors
/// Input errors detected only now (a contradiction, a corrupt trace), an interruption, or a failed
/// audit.
pub fn run(
    experiment: &Experiment,
    settings: &RunSettings,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<String, RunError> {
    run_with(experiment, &Supplied::default(), settings, progress)
}

/// `run` with supplied live objects, as for [`Experiment::supply_policy`].
///
/// # Errors
/// See [`run`]; also when a supplied object fails.
pub fn run_with(
    experiment: &Experiment,
    supplied: &Supplied,
    settings: &RunSettings,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<String, RunError> {
    run_gated(experiment, supplied, settings, None, progress)
}

/// `run_with`, with the device behind a gate from its first request on.
pub(crate) fn run_gated(
    experiment: &Experiment,
    supplied: &Supplied,
    settings: &RunSettings,
    gate: Option<Gate>,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<String, RunError> {
    let warm_up = experiment.run.warm_up.ns();
    let log = settings.requests.as_ref().map(|path| open_log(path, warm_up)).transpose()?;
    let building = Progress { phase: "building", done: 0, expected: None, simulated_ns: 0 };
    let cache = settings.cache.as_ref();
    let mut session =
        Session::new(experiment, supplied, settings.threads, cache, &mut || progress(&building))?;
    let mut workload = build(experiment, &context(experiment, &*session.device))?;
    let workload = &mut *workload;
    // All refusals precede the first output.
    commands::of(experiment, workload, &*session.device)?;
    endless::refuse(experiment, workload).map_err(|invalid| experiment.blame(&invalid))?;
    session.prepare(&mut |phase, done, expected| {
        progress(&Progress { phase, done, expected, simulated_ns: 0 })
    })?;
    if let Some(window) = experiment.run.timeline.window() {
        let recorded = session.device.instruct(0, Instruction::Record(window));
        recorded.expect("any device can be recorded");
    }
    let sectors = session.device.capacity_sectors();
    let mut monitor = Monitor {
        settling: None,
        log,
        collected: Collected::of(workload.classes(), warm_up, sectors),
        expected: workload.expected_requests(),
        first: None,
        interrupted: false,
        measured: None,
        supplied,
        progress,
    };
    let measured = MeasuredIds::default();
    let plan = SamplePlan::of(experiment, workload, &*session.device);
    monitor.measured = matches!(plan, Some(Ok(_))).then_some(&measured);
    let mut cuts = power::cuts(experiment, &mut || {
        rehearse(experiment, (supplied, cache), until(experiment).0, &mut || monitor.tick(0))
    })?;
    if let Some(gate) = gate {
        session.device = Box::new(Gated::new(session.device, gate));
    }
    if let Some(Ok(_)) = plan {
        let copied = session.device.memory(1.0);
        let checked =
            fits::check_written(experiment.device.kind(), "a copy for slices of the run", copied);
        checked.map_err(|invalid| experiment.blame(&invalid))?;
    }
    let sample = plan.and_then(Result::ok).map(|plan| (plan, &measured));
    let mut ended = ask(&mut session, workload, &mut monitor, cuts.as_mut(), sample)?;
    if let Some(Err(because)) = plan {
        ended.sections.push(("sample", json!({ "whole": because })));
    }
    session.check_supplied(monitor.collected.answered())?;
    if monitor.interrupted {
        return Err(RunError::Interrupted { requests: monitor.collected.answered() });
    }
    if let Some(cuts) = &cuts {
        power::check_made(experiment, cuts, ended.driven.last)?;
    }
    if monitor.collected.has_only_warmed_up() {
        return Err(experiment.blame(&all_warm_up(ended.driven.last)).into());
    }
    if settings.check {
        session.audit()?;
    }
    if let (Some(log), Some(path)) = (monitor.log, &settings.requests) {
        session.unwritten.extend(match log.finish() {
            Ok(moved) => moved.map(|moved| format!("{path}: {moved}")),
            Err(error) => Some(unwritable(path, &error)),
        });
    }
    let ran = Ran {
        collected: monitor.collected,
        first: monitor.first,
        last: ended.driven.last,
        notices: workload.notices(),
        replayed: workload.replayed(),
        guessed: experiment.workload.guessed(),
        offered: Offered::of(&*workload, &ended.driven),
        asked: ended.driven.asked,
        unanswered: ended.driven.unanswered,
        settled: ended.settled,
        wall_seconds: ended.wall_seconds,
        cuts,
        sections: ended.sections,
    };
    let results = session.results(ran, None);
    RunError::or_results(&results, &session.unwritten)
}

/// Outcome of a driven workload.
struct Drove {
    driven: Driven,
    settled: Option<SteadyState>,
    wall_seconds: f64,
    sections: Vec<(&'static str, Value)>,
}

/// Rehearses the run without power cuts: returns its outcome and the number of device events.
fn rehearse(
    experiment: &Experiment,
    (supplied, cache): (&Supplied, Option<&CacheSettings>),
    until: Time,
    tick: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<(Driven, u64), RunError> {
    let mut experiment = experiment.clone();
    experiment.run.save_drive = None;
    let mut session = Session::new(&experiment, supplied, 1, cache, tick)?;
    let mut workload = build(&experiment, &context(&experiment, &*session.device))?;
    session.prepare(&mut |_, _, _| tick())?;
    let mut observer = power::Rehearsal(tick, false);
    let mut counted = PowerCuts::new(0);
    let mut commands = commands::of(&experiment, &*workload, &*session.device)?;
    let (device, commands) = (session.device(), commands.as_mut());
    let cuts = Some(&mut counted);
    let driven = drive_through(commands, device, &mut *workload, until, &mut observer, cuts)
        .map_err(|error| RunError::Input(quoting::said(&experiment, error.to_string())))?;
    if observer.1 {
        return Err(RunError::Interrupted { requests: driven.asked });
    }
    Ok((driven, counted.seen))
}

/// Latest arrival of a request, and true if the run ends when the drive has settled.
fn until(experiment: &Experiment) -> (Time, bool) {
    match experiment.run.until {
        Until::End => (Time::MAX, false),
        Until::Steady => (Time::MAX, true),
        Until::Time(time) => (time.ns(), false),
    }
}

/// Runs the workload on the device, timed or untimed.
fn ask(
    session: &mut Session<'_>,
    workload: &mut dyn Workload,
    monitor: &mut Monitor<'_>,
    cuts: Option<&mut PowerCuts>,
    sample: Option<(SamplePlan, &MeasuredIds)>,
) -> Result<Drove, RunError> {
    let RunConfig { timed, steady, warm_up, faults: run_faults, .. } = &session.experiment.run;
    let faults = faults::of(session.experiment)?;
    let mut commands = commands::of(session.experiment, workload, &*session.device)?;
    let (until, to_settle) = until(session.experiment);
    let metric = if *timed { steady.metric.word() } else { "write_amplification" };
    let rounds = to_settle.then(|| Rounds::new(steady, metric));
    #[expect(
        clippy::disallowed_methods,
        reason = "reports the run's speed; no result depends on it"
    )]
    let started = Instant::now();
    let mut sections = Vec::new();
    let (driven, settled) = if let Some((plan, measured)) = sample {
        let seed = session.experiment.run.seed;
        let mut device = Sampled::new(&mut *session.device, plan, seed, measured);
        let driven = drive_through(None, &mut device, workload, until, monitor, None);
        let (section, pieces) = device.finish();
        monitor.collected.untimed(pieces);
        sections.push(("sample", section));
        (driven, None)
    } else if *timed {
        monitor.settling = rounds.map(|it| Settling::new(it, steady));
        let warm_up = warm_up.ns();
        let mut warming;
        let driven = if run_faults.is_some() {
            let (inner, experiment) = (&mut *session.device, session.experiment);
            let mut device = Faulty::new(inner, experiment, faults, &|| false);
            let commands = commands.as_mut();
            let driven = drive_through(commands, &mut device, workload, until, monitor, cuts);
            device.check_script()?;
            driven
        } else {
            let device: &mut dyn Device = if warm_up > 0 {
                warming = WarmUp::new(&mut *session.device, warm_up);
                &mut warming
            } else {
                &mut *session.device
            };
            drive_through(commands.as_mut(), device, workload, until, monitor, cuts)
        };
        (driven, monitor.settling.take().map(|it| it.rounds.state()))
    } else {
        let watched = rounds.map(|it| (it, steady.round_writes));
        let mut device = Untimed::new(&mut *session.device, watched);
        let commands = commands.as_mut();
        let driven = drive_through(commands, &mut device, workload, until, monitor, None);
        let (pieces, settled) = device.finish();
        monitor.collected.untimed(pieces);
        (driven, settled)
    };
    let driven = driven
        .map_err(|error| RunError::Input(quoting::said(session.experiment, error.to_string())))?;
    sections.extend(commands.map(|it| ("commands", it.section())));
    Ok(Drove { driven, settled, wall_seconds: started.elapsed().as_secs_f64(), sections })
}

/// Refuses a preconditioning that exceeds the memory left.
fn refuse_memory(experiment: &Experiment, device: &dyn Model) -> Result<(), InputError> {
    let run = &experiment.run;
    let share = match run.precondition {
        Precondition::None => return Ok(()),
        Precondition::Random(overwrites) => overwrites.min(1.0),
        Precondition::Sequential | Precondition::Steady => 1.0,
    };
    let needed = device.memory(share);
    if needed <= MOST_MEMORY {
        // The memory of the initial state is already allocated.
        let more = needed.saturating_sub(experiment.device.first_memory());
        let what = format!("run.precondition = \"{}\"", run.precondition);
        let checked = fits::check_written(experiment.device.kind(), &what, more);
        return checked.map_err(|invalid| experiment.blame(&invalid));
    }
    let pages = device.facts().pages;
    let each = device.capacity_sectors() * SECTOR_BYTES / pages;
    let problem = format!(
        "{} of {pages} pages of {} takes {needed} bytes of memory, and {MOST_MEMORY} is the most; write \
         less, or use larger pages (device.logical_page)",
        run.precondition,
        Size::from_bytes(each)
    );
    Err(experiment.blame(&Invalid::new(&["run.precondition", "device.logical_page"], problem)))
}

/// The error for a run without requests after its warm-up.
fn all_warm_up(last: Time) -> Invalid {
    let problem = format!(
        "the run ended after {}, and nothing was asked once the warm-up was over; make that shorter \
         or the run longer",
        Duration::from_ns(last)
    );
    Invalid::new(&["run.warm_up"], problem)
}

fn open_log(path: &str, from: Time) -> Result<RequestLog, RunError> {
    if !path.ends_with(".parquet") {
        let problem = "the record of requests is a Parquet file; its name must end in .parquet";
        return Err(RunError::Input(format!("{path}: {problem}")));
    }
    RequestLog::create(path, from).map_err(|error| RunError::System(unwritable(path, &error)))
}

fn unwritable(path: &str, error: &std::io::Error) -> String {
    format!("{path}: cannot be written: {}", reason(error))
}

impl From<InputError> for RunError {
    fn from(error: InputError) -> Self {
        RunError::Input(error.0)
    }
}
