//! Running an experiment: build, precondition, drive, audit, report.

use crate::error::{InputError, RunError};
use crate::experiment::{Experiment, RunConfig, Until};
use crate::inputs::inputs;
use crate::requests::RequestLog;
use crate::results::{Collected, Results};
use crate::snapshot;
use crate::steady::{Detector, Seen, Settling};
use crate::timeline;
use crate::untimed::Untimed;
use devices::{Model, Supplied};
use engine::{Completion, Device, Observer, Time, drive};
use std::ops::ControlFlow;
use std::time::Instant;
use workloads::{BuildError, Context};

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done: `preconditioning` or `running`.
    pub phase: &'static str,
    /// Requests (or preconditioning writes) done in this phase.
    pub done: u64,
    /// How many there will be, when that is known.
    pub expected: Option<u64>,
    /// Simulated time, ns.
    pub simulated_ns: Time,
}

/// What a caller may ask of a run beside the experiment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunSettings {
    /// Audit the device at the end.
    pub check: bool,
    /// Write every request, its times and its breakdown to this Parquet file.
    pub requests: Option<String>,
}

/// Collects statistics and passes progress on.
struct Watch<'a> {
    collected: Collected,
    settling: Option<Settling<'a>>,
    expected: Option<u64>,
    first: Option<Time>,
    log: Option<RequestLog>,
    log_failed: bool,
    interrupted: bool,
    supplied: &'a Supplied,
    progress: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
}

impl Observer for Watch<'_> {
    fn completed(&mut self, completion: &Completion) {
        let first = self.first.get_or_insert(completion.submitted);
        *first = (*first).min(completion.submitted);
        self.collected.record(completion);
        if let Some(log) = &mut self.log {
            self.log_failed |= !log.record(completion);
        }
        if let Some(settling) = &mut self.settling
            && completion.status.is_ok()
        {
            settling.record(completion);
        }
    }

    fn sample(&mut self, now: Time, device: &dyn Device) -> Time {
        self.collected.sample(now, device.followed())
    }

    fn tick(&mut self, now: Time) -> ControlFlow<()> {
        let flow = (self.progress)(&Progress {
            phase: "running",
            done: self.collected.answered(),
            expected: self.expected,
            simulated_ns: now,
        });
        self.interrupted |= flow.is_break();
        let settled = self.settling.as_ref().is_some_and(|it| it.detector.is_over());
        // There is no use in going on without the policy or the record.
        let gone = self.supplied.failure().is_some();
        if settled || gone || self.log_failed { ControlFlow::Break(()) } else { flow }
    }
}

/// Runs an experiment and returns its results as JSON text.
///
/// `progress` is called every few thousand requests and may end the run.
///
/// # Errors
/// Input that only shows to be wrong now (a contradiction, a broken trace), an interruption, or a
/// failed audit.
pub fn run(
    experiment: &Experiment,
    settings: &RunSettings,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<String, RunError> {
    run_with(experiment, &Supplied::default(), settings, progress)
}

/// The same with the live objects that the experiment can only name, as
/// [`Experiment::supply_policy`] makes them.
///
/// # Errors
/// Also when one of them fails.
pub fn run_with(
    experiment: &Experiment,
    supplied: &Supplied,
    settings: &RunSettings,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<String, RunError> {
    let mut device = experiment.build_device(supplied)?;
    let mut workload = experiment.workload.build(&Context {
        capacity_sectors: device.capacity_sectors(),
        volumes: device.volumes(),
        seed: experiment.run.seed,
        inputs: inputs(),
    });
    let workload = match &mut workload {
        Ok(workload) => &mut **workload,
        Err(BuildError::Invalid(invalid)) => return Err(experiment.blame(invalid).into()),
        Err(BuildError::Input(message)) => return Err(RunError::Input(message.clone())),
    };
    let prepared = prepare(experiment, supplied, &mut *device, progress)?;
    let window = experiment.run.timeline.window();
    if let Some(window) = window {
        device.record_operations(window);
    }
    let log = settings.requests.as_ref().map(|path| open_log(path)).transpose()?;
    let RunConfig { timed, steady, .. } = &experiment.run;
    let (until, to_settle) = match experiment.run.until {
        Until::End => (Time::MAX, false),
        Until::Steady => (Time::MAX, true),
        Until::Time(time) => (time.ns(), false),
    };
    let metric = if *timed { steady.metric.word() } else { "write_amplification" };
    let mut detector = to_settle.then(|| Detector::new(steady, metric));
    let mut watch = Watch {
        settling: None,
        log,
        log_failed: false,
        collected: Collected::default(),
        expected: workload.expected_requests(),
        first: None,
        interrupted: false,
        supplied,
        progress,
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "reports the run's speed; no result depends on it"
    )]
    let started = Instant::now();
    let driven = if *timed {
        watch.settling = detector.as_mut().map(|it| Settling::new(it, steady));
        drive(&mut *device, workload, until, &mut watch)
    } else {
        let watched = detector.as_mut().map(|it| (it, steady.round_writes));
        let mut device = Untimed::new(&mut *device, watched);
        let driven = drive(&mut device, workload, until, &mut watch);
        watch.collected.untimed(device.into_pieces());
        driven
    };
    let driven = driven.map_err(|error| RunError::Input(error.to_string()))?;
    let last = driven.last;
    let wall_seconds = started.elapsed().as_secs_f64();
    check_policy(experiment, supplied, watch.collected.answered())?;
    if watch.interrupted {
        return Err(RunError::Interrupted { requests: watch.collected.answered() });
    }
    if settings.check {
        device.audit().map_err(RunError::Check)?;
    }
    if let (Some(log), Some(path)) = (watch.log.take(), &settings.requests) {
        log.finish().map_err(|error| unwritable(path, &error))?;
    }
    watch.collected.sample_end(device.followed());
    let recorded = device.take_operations();
    let results = Results {
        experiment: experiment.to_json(),
        capacity_bytes: device.capacity_sectors() * engine::SECTOR_BYTES,
        collected: &watch.collected,
        first: watch.first.unwrap_or(last),
        last,
        notices: workload.notices(),
        asked: driven.asked,
        unanswered: driven.unanswered,
        was_prepared: experiment.run.prepares(),
        flash: device.report(last),
        prepared,
        settled: detector.map(|it| it.seen()),
        timeline: window.zip(recorded).map(|(window, it)| timeline::section(window, &it)),
        wall_seconds,
    };
    serde_json::to_string(&results.to_json()).map_err(|error| RunError::Check(error.to_string()))
}

/// Brings the device into the state from which the run begins, and saves it where that is asked. What
/// was seen of its settling, where that decided when to stop.
fn prepare(
    experiment: &Experiment,
    supplied: &Supplied,
    device: &mut dyn Model,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Option<Seen>, RunError> {
    snapshot::load_drive(&experiment.run, device)?;
    let prepared = experiment.run.precondition.apply(
        device,
        experiment.run.seed,
        &experiment.run.steady,
        &mut |done, expected| {
            let expected = Some(expected);
            if supplied.failure().is_some() {
                return ControlFlow::Break(());
            }
            progress(&Progress { phase: "preconditioning", done, expected, simulated_ns: 0 })
        },
    );
    check_policy(experiment, supplied, 0)?;
    let ControlFlow::Continue(prepared) = prepared else {
        return Err(RunError::Interrupted { requests: 0 });
    };
    snapshot::save_drive(&experiment.run, device)?;
    Ok(prepared)
}

/// Fails when the policy that was supplied has failed: the drive then goes on with another, and what
/// comes of it must not be shown.
pub(crate) fn check_policy(
    experiment: &Experiment,
    supplied: &Supplied,
    requests: u64,
) -> Result<(), RunError> {
    let failure = experiment.device.policy_name().zip(supplied.failure());
    failure.map_or(Ok(()), |(name, problem)| {
        let problem = format!("the cleaning policy {} failed: {problem}", name.as_str());
        Err(RunError::Policy { problem, requests })
    })
}

fn open_log(path: &str) -> Result<RequestLog, RunError> {
    if !path.ends_with(".parquet") {
        let problem = "the record of requests is a Parquet file; its name must end in .parquet";
        return Err(RunError::Input(format!("{path}: {problem}")));
    }
    RequestLog::create(path).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &str, error: &std::io::Error) -> RunError {
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    RunError::Output(format!("{path}: cannot be written: {reason}"))
}

impl From<InputError> for RunError {
    fn from(error: InputError) -> Self {
        RunError::Input(error.0)
    }
}
