//! The live device: an experiment's device behind a socket, and results of the clients' requests.
//!
//! The server runs in a separate thread, which also builds the device; this side can query and stop
//! it. Requests of clients are reported as in a simulation. On request they are recorded as a
//! trace, whose replay gives equal results.

mod doors;
mod keep;
mod looks;
mod map;
mod overhead;
mod parts;
mod place;
mod report;
mod settings;
mod shared;
mod trace_writer;
mod watcher;
mod zoned;

use crate::config::Experiment;
use crate::error::{RunError, reason};
use crate::faults::{self, Faulty};
use crate::results::{Collected, Ran};
use crate::session::Session;
use crate::trace::Output;
use devices::Supplied;
use devices::ssd::zoned::Zones;
use doors::Doors;
use keep::Keeper;
use nbd::{Control, Export, Orders, Recording, Scale, Server, Setup};
use options::Invalid;
use serde_json::{Map, Value, json};
pub use settings::{LiveAddress, LiveNvme, LiveSettings, LiveStatus, Ready};
use settings::{from_nbd, system};
pub use shared::{LiveDoor, LiveTarget, LiveTls};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trace_writer::TraceWriter;
use watcher::{Alone, Watcher};
use workloads::Losses;

type Outcome = Result<String, RunError>;

/// A device that is being prepared or served.
#[derive(Debug)]
pub struct Live {
    control: Control,
    status: Arc<Mutex<LiveStatus>>,
    ready: Receiver<Ready>,
    thread: JoinHandle<Outcome>,
}

impl Live {
    /// Starts to build and serve the device.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(
        experiment: Experiment,
        supplied: Supplied,
        settings: LiveSettings,
    ) -> Result<Live, RunError> {
        let control = Control::new().map_err(|error| system(&error))?;
        let status = Arc::<Mutex<LiveStatus>>::default();
        let (announce, ready) = channel();
        let (its_control, its_status) = (control.clone(), Arc::clone(&status));
        let thread = std::thread::Builder::new().name("live".to_owned());
        let thread = thread
            .spawn(move || {
                serve(&experiment, &supplied, &settings, &its_control, its_status, &announce)
            })
            .map_err(|error| system(&error))?;
        Ok(Live { control, status, ready, thread })
    }

    /// Waits until clients can connect; `None` after `timeout`. After an error,
    /// [`finish`](Live::finish) returns its cause.
    ///
    /// # Errors
    /// When the server has ended before that.
    pub fn ready(&self, timeout: Duration) -> Result<Option<Ready>, RecvTimeoutError> {
        match self.ready.recv_timeout(timeout) {
            Ok(ready) => Ok(Some(ready)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Current status.
    pub fn status(&self) -> LiveStatus {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handle for orders from any thread, equivalent to the control socket.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Completes outstanding requests, ends, and returns the results as JSON text.
    ///
    /// # Errors
    /// When the server failed: the input was invalid, or the system refused an operation.
    pub fn finish(self) -> Outcome {
        self.control.stop();
        match self.thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Refuses to age a restored drive, which already has an age.
fn refuse_age(experiment: &Experiment) -> Result<bool, RunError> {
    let Some(age) = experiment.run.age.0 else { return Ok(true) };
    let problem =
        format!("{age}: the drive is restored, as old as it was; use the order `age {age}`");
    Err(experiment.blame(&Invalid::new(&["run.age"], problem)).into())
}

/// Thread of a live device, from start to results.
#[expect(
    clippy::too_many_lines,
    reason = "a device of a live server has many parts, each built once"
)]
fn serve(
    experiment: &Experiment,
    supplied: &Supplied,
    settings: &LiveSettings,
    control: &Control,
    status: Arc<Mutex<LiveStatus>>,
    announce: &Sender<Ready>,
) -> Outcome {
    let mut warnings = Vec::new();
    let scale = Scale::new(settings.time_scale).map_err(from_nbd)?;
    check_warm_up(experiment)?;
    let script = faults::of(experiment)?;
    let wanted_still =
        || if control.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let mut session = Session::new(experiment, supplied, 1, None, &mut || wanted_still())?;
    session.is_served();
    let zones = session.device().facts().zones.map(Zones::shape);
    if let Some(zones) = &zones {
        zoned::check(experiment, settings, zones)?;
    }
    let capacity = session.capacity_bytes();
    let wanted = place::wanted_bytes(settings, capacity)?;
    let mut doors = Doors::check(settings, &mut warnings)?;
    let given_overhead = settings.overhead.as_deref().map(overhead::read).transpose()?;
    let recorder = settings.record.as_deref().map(TraceWriter::start).transpose()?;
    // Created last, because it may leave a file behind.
    let (store, size_bytes) = place::storage(settings, wanted, capacity)?;
    let backing = settings.backing.as_deref().filter(|_| settings.record_data.is_none());
    let mut keeper = keeper_of(experiment, backing, &mut session)?;
    let found =
        keeper.as_ref().map(|it| it.find(session.device(), &mut || wanted_still())).transpose()?;
    let is_restored = found == Some(true) && refuse_age(experiment)?;
    if !is_restored {
        session.prepare(&mut |_, _, _| wanted_still())?;
    }
    if settings.realtime {
        warnings.extend(nbd::realtime());
    }
    let seen_by = if given_overhead.is_some() { "client" } else { "server" };
    let overhead = doors.measure(settings, given_overhead)?;
    let orders = settings.control.as_deref().map(Orders::new).transpose().map_err(from_nbd)?;
    let mut watcher = Watcher {
        simulated: Collected::of(Vec::new(), 0, capacity / engine::SECTOR_BYTES),
        measured: Collected::of(Vec::new(), 0, capacity / engine::SECTOR_BYTES),
        first: None,
        last: 0,
        recorder: recorder.as_ref().map(|recorder| recorder.records.clone()),
        keeper: keeper.take(),
        fresh: LiveStatus::default(),
        status,
        alone: None,
    };
    let recording = settings.record_data.as_deref().map(|path| Recording::create(path, size_bytes));
    let recording = recording.transpose().map_err(from_nbd)?;
    let events = recording.as_ref().map(Recording::events);
    let export = Export { bytes: size_bytes, read_only: settings.read_only };
    let setup = Setup { store, export, scale, overhead: overhead.clone(), orders, recording };
    let is_stopped = || control.is_stopped();
    let mut device = Faulty::new(session.device(), experiment, script, &is_stopped);
    let mut server = Server::new(&mut device, &mut watcher, setup, control).map_err(from_nbd)?;
    doors.open((settings, experiment.run.namespaces.as_ref()), export, &mut server)?;
    // The send fails if the user has stopped waiting.
    let _ = announce.send(doors.ready(size_bytes, warnings.clone(), events));
    #[expect(clippy::disallowed_methods, reason = "a live device runs on the wall clock")]
    let started = Instant::now();
    let timing = server.run(doors.entrance());
    let wall_seconds = started.elapsed().as_secs_f64();
    let mut unwritten = Vec::new();
    if let Err(error) = server.finish_recording() {
        unwritten.push(format!("the recording of the data cannot be written: {error}"));
    }
    drop(server);
    let Ready { uri, nvme, file, .. } = doors.ready(size_bytes, Vec::new(), None);
    warnings.extend(doors.close());
    // An invalid order does not discard the clients' work.
    warnings.extend(device.script_problem());
    let given = device.has_script().then(|| device.given());
    watcher.recorder = None;
    session.check_supplied(watcher.simulated.answered())?;
    let record = recorder.map(TraceWriter::finish);
    let simulated_ns = watcher.first.map_or(0, |first| watcher.last - first);
    let ran = Ran {
        asked: watcher.simulated.answered(),
        collected: watcher.simulated,
        first: watcher.first,
        last: watcher.last,
        notices: Vec::new(),
        replayed: None,
        guessed: Vec::new(),
        offered: None,
        unanswered: 0,
        settled: None,
        wall_seconds,
        cuts: None,
        sections: Vec::new(),
    };
    let mut results = session.results(ran, watcher.alone.take().map(Alone::end));
    // Each output is written even if others fail, and the results are always returned.
    let kept = watcher.keeper.as_mut().map(|it| it.finish(session.device()));
    unwritten.extend(kept.and_then(Result::err));
    let record = or_unwritten(record.transpose(), &mut unwritten);
    let faults = or_unwritten(write_faults(record.as_ref(), given.as_deref()), &mut unwritten);
    results["experiment"] =
        report::replayable(experiment, settings.record.as_deref(), faults.as_deref());
    let mut live = report::timing_section(&timing, &overhead);
    live["measured"] = watcher.measured.host(simulated_ns);
    live["error"] = report::error(&results["host"], &live["measured"], seen_by);
    live["orders"] = given.map_or(Value::Null, Value::String);
    live["drive"] = told(watcher.keeper.as_ref().map(Keeper::path));
    live["uri"] = json!(uri);
    live["nvme"] = json!(nvme);
    live["vhost_user"] = told(settings.vhost_user.as_deref());
    live["file"] = told(file.as_deref());
    live["size_bytes"] = json!(size_bytes);
    live["time_scale"] = json!(scale.factor());
    live["warnings"] = json!(warnings);
    live["record"] = record.map_or(Value::Null, |it| recorded(it, faults.as_deref()));
    results["live"] = live;
    RunError::or_results(&results, &unwritten)
}

/// The output, or `None` with the problem added to `unwritten`.
fn or_unwritten<T>(written: Result<Option<T>, String>, unwritten: &mut Vec<String>) -> Option<T> {
    written.unwrap_or_else(|problem| {
        unwritten.push(problem);
        None
    })
}

/// Refuses a warm-up, which a live device does not support.
fn check_warm_up(experiment: &Experiment) -> Result<(), RunError> {
    if experiment.run.warm_up.ns() == 0 {
        return Ok(());
    }
    let problem = "a live device is measured from its first client on; remove the key";
    Err(experiment.blame(&Invalid::new(&["run.warm_up"], problem.to_owned())).into())
}

/// A path as shown in results.
fn told(path: Option<&Path>) -> Value {
    json!(path.map(|it| it.display().to_string()))
}

/// Storage of the drive's state, if any.
fn keeper_of(
    experiment: &Experiment,
    backing: Option<&Path>,
    session: &mut Session<'_>,
) -> Result<Option<Keeper>, RunError> {
    let keeper = Keeper::new(&experiment.run, backing, session.device());
    if keeper.is_none() && experiment.run.save_drive.is_some() {
        let problem = "this device has no state to save".to_owned();
        return Err(experiment.blame(&Invalid::new(&["run.save_drive"], problem)).into());
    }
    Ok(keeper)
}

/// The section of the results on the recorded trace.
fn recorded((file, losses): (String, Losses), faults: Option<&str>) -> Value {
    let lost: Map<String, Value> =
        losses.into_iter().map(|(what, count)| (what.to_owned(), json!(count))).collect();
    json!({ "file": file, "faults": faults, "lost": lost })
}

/// Writes the executed orders beside the trace, for its replay; returns the path.
fn write_faults(
    record: Option<&(String, Losses)>,
    given: Option<&str>,
) -> Result<Option<String>, String> {
    let record = record.map(|(target, _)| target).filter(|it| *it != "-");
    let (Some(record), Some(given)) = (record, given) else { return Ok(None) };
    let path = format!("{record}.faults");
    let written = Output::create_file(Path::new(&path)).and_then(|mut output| {
        output.write_all(given.as_bytes())?;
        output.finish()
    });
    written.map_err(|error| format!("{path}: cannot be written: {}", reason(&error)))?;
    Ok(Some(path))
}
