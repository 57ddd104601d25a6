//! The live device: an experiment's device behind a socket, and the results of what clients did.
//!
//! The server has a thread of its own, which also makes the device; this side can look at it and
//! stop it. What clients ask becomes results as in a simulation, and on request a trace, whose replay
//! gives the same results.

use crate::config::Experiment;
use crate::error::RunError;
use crate::results::{Collected, Ran};
use crate::session::Session;
use crate::trace::{Output, target_format};
use devices::{Model, Supplied};
use engine::{Completion, Followed, Op, Request, SECTOR_BYTES, Time};
use nbd::{
    Address, Control, Export, Floor, Listener, Punctuality, Recording, Scale, Server, Setup, Store,
    Verdict, Witness,
};
use options::{Invalid, Size};
use serde_json::{Map, Value, json};
use std::io;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use workloads::{Losses, Record};

/// Requests that wait to be written to the trace; with more, the device waits for its disk.
const MOST_UNWRITTEN: usize = 1 << 18;

/// Where a live device is to be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveAddress {
    /// A Unix socket with this path.
    Socket(PathBuf),
    /// A TCP port, 0 being any that is free, of an address of this machine.
    Port {
        /// Which.
        port: u16,
        /// The address as text.
        host: String,
        /// Whether others than this machine may reach it: NBD asks nobody who he is.
        allow_remote: bool,
    },
}

/// How a device is served.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveSettings {
    /// Where.
    pub address: LiveAddress,
    /// How large it is for its clients, such as "1GiB"; else as large as the backing file, or as the
    /// device.
    pub size: Option<String>,
    /// The file with the data; else they are in memory.
    pub backing: Option<PathBuf>,
    /// The trace that is written, in the format that its extension names.
    pub record: Option<String>,
    /// The file into which what clients change is recorded with its data.
    pub record_data: Option<PathBuf>,
    /// What takes the device 1 s takes so many on the clock.
    pub time_scale: f64,
    /// Whether to go before all other programs.
    pub realtime: bool,
}

/// What is known once clients can come.
#[derive(Debug, Clone)]
pub struct Ready {
    /// By what they find the device.
    pub uri: String,
    /// How large it is.
    pub size_bytes: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// How much has been recorded with its data: it counts on while the device is served.
    pub events: Option<Arc<AtomicU64>>,
}

/// What has happened since the device began to be served.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LiveStatus {
    /// Requests answered.
    pub requests: u64,
    /// Bytes read, written and trimmed.
    pub bytes: u64,
    /// The sum of their latencies in the model, ns.
    pub latency_ns: u64,
    /// Of the drive so far, where it has one.
    pub write_amplification: Option<f64>,
    /// The share of requests that were late; about once a second.
    pub late_share: f64,
}

type Outcome = Result<String, RunError>;

/// A device that is being served, or soon will be.
#[derive(Debug)]
pub struct Live {
    control: Control,
    status: Arc<Mutex<LiveStatus>>,
    ready: Receiver<Ready>,
    thread: JoinHandle<Outcome>,
}

impl Live {
    /// Begins to make the device and to serve it.
    ///
    /// # Errors
    /// When the system gives no thread.
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

    /// Waits until clients can come; `None` if that takes longer than `timeout`. An error is
    /// what [`finish`](Live::finish) then returns.
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

    /// What has happened so far.
    pub fn status(&self) -> LiveStatus {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers what was asked, ends, and returns the results as JSON text.
    ///
    /// # Errors
    /// Why there is no server: the input was wrong, or the system refused.
    pub fn finish(self) -> Outcome {
        self.control.stop();
        match self.thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn system(error: &io::Error) -> RunError {
    RunError::System(error.to_string())
}

fn from_nbd(error: nbd::Error) -> RunError {
    match error {
        nbd::Error::Input(problem) => RunError::Input(problem),
        nbd::Error::System(problem) => RunError::System(problem),
    }
}

/// Sees all requests: counts them and hands them to the recorder.
struct Watcher {
    simulated: Collected,
    measured: Collected,
    first: Option<Time>,
    last: Time,
    recorder: Option<SyncSender<Record>>,
    fresh: LiveStatus,
    status: Arc<Mutex<LiveStatus>>,
}

impl Witness<dyn Model> for Watcher {
    fn submitted(&mut self, at: Time, request: &Request, fua: bool) {
        self.first.get_or_insert(at);
        self.last = self.last.max(at);
        let Some(recorder) = &self.recorder else { return };
        let Request { op, lba, sectors, .. } = *request;
        let record = Record { at, device: 0, op, sector: lba.0, sectors, fua };
        // When the writer has given up, its error is reported at the end.
        let _ = recorder.send(record);
    }

    fn sample(&mut self, now: Time, figures: Option<Followed>) -> Time {
        self.simulated.sample(now, figures)
    }

    fn delivered(&mut self, completion: &Completion, measured: Time) {
        let at = completion.submitted + measured;
        self.measured.record(&Completion { at, ..*completion });
    }

    fn completed(&mut self, completion: &Completion) {
        self.last = self.last.max(completion.at);
        self.simulated.record(completion);
        self.fresh.requests += 1;
        self.fresh.bytes += completion.request.bytes();
        self.fresh.latency_ns += completion.latency();
        if let Ok(mut status) = self.status.try_lock() {
            *status = self.fresh;
        }
    }

    fn idle(&mut self, device: &mut (dyn Model + 'static), now: Time, timing: &Punctuality) {
        self.fresh.late_share = timing.late_share();
        let report = device.report(now);
        self.fresh.write_amplification = report.and_then(|report| report.write_amplification_bytes);
    }
}

/// A thread that writes the trace.
struct TraceWriter {
    records: SyncSender<Record>,
    thread: JoinHandle<io::Result<Losses>>,
    target: String,
}

impl TraceWriter {
    fn start(target: &str) -> Result<Self, RunError> {
        let (format, compression) = target_format(target, None)
            .map_err(|problem| RunError::Input(format!("--record {problem}")))?;
        let Some(write) = format.write else { unreachable!("only such formats are chosen") };
        let mut output = Output::create(target, compression).map_err(|error| {
            RunError::Input(format!("--record {target}: cannot be written: {error}"))
        })?;
        let (records, incoming) = sync_channel::<Record>(MOST_UNWRITTEN);
        let thread = std::thread::Builder::new().name("record".to_owned());
        let thread = thread.spawn(move || {
            let losses = write(&mut incoming.into_iter().fuse(), &mut output)?;
            output.finish()?;
            Ok(losses)
        });
        let thread = thread.map_err(|error| system(&error))?;
        Ok(TraceWriter { records, thread, target: target.to_owned() })
    }

    /// Ends the trace; what the format could not say.
    fn finish(self) -> Result<Losses, RunError> {
        drop(self.records);
        let outcome = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome.map_err(|error| {
            RunError::System(format!("{}: cannot be written: {error}", self.target))
        })
    }
}

fn address(settings: &LiveSettings, warnings: &mut Vec<String>) -> Result<Address, RunError> {
    match &settings.address {
        LiveAddress::Socket(path) => Ok(Address::Unix(path.clone())),
        LiveAddress::Port { port, host, allow_remote } => {
            let ip: IpAddr =
                if host == "localhost" { Ok([127, 0, 0, 1].into()) } else { host.parse() }
                    .map_err(|_| {
                        RunError::Input(format!("host {host}: neither an IP address nor localhost"))
                    })?;
            if !ip.is_loopback() {
                if !allow_remote {
                    return Err(RunError::Input(format!(
                        "host {host}: other machines could read and write the device, for NBD asks \
                         nobody who he is; use 127.0.0.1, or --allow-remote if that is meant"
                    )));
                }
                warnings.push(format!(
                    "listening on {host}: everyone who reaches it can read and write the device"
                ));
            }
            Ok(Address::Tcp(ip, *port))
        }
    }
}

/// How large the user wants the device to be for its clients.
fn wanted_bytes(settings: &LiveSettings, capacity: u64) -> Result<Option<u64>, RunError> {
    let Some(text) = &settings.size else { return Ok(None) };
    let size: Size = text.parse().map_err(|e| RunError::Input(format!("size: {e}")))?;
    let refuse = |problem: String| RunError::Input(format!("size {text}: {problem}"));
    if size.bytes() == 0 || !size.bytes().is_multiple_of(SECTOR_BYTES) {
        return Err(refuse(format!("not a multiple of {SECTOR_BYTES} bytes")));
    }
    if size.bytes() > capacity {
        let hint = "give a smaller size or a larger device";
        return Err(refuse(format!("the device has only {capacity} bytes; {hint}")));
    }
    Ok(Some(size.bytes()))
}

/// Where the data are, and how large the device is for its clients.
fn storage(
    settings: &LiveSettings,
    wanted: Option<u64>,
    capacity: u64,
) -> Result<(Store, u64), RunError> {
    let Some(path) = &settings.backing else {
        return Ok((Store::memory(), wanted.unwrap_or(capacity)));
    };
    let (store, bytes) = Store::file(path, wanted, capacity).map_err(from_nbd)?;
    if bytes > capacity || !bytes.is_multiple_of(SECTOR_BYTES) {
        return Err(RunError::Input(format!(
            "backing file {}: it has {bytes} bytes and the device {capacity}: give a size of at \
             most both, in whole sectors of {SECTOR_BYTES} bytes",
            path.display()
        )));
    }
    Ok((store, bytes))
}

/// The thread of a live device, from its beginning to its results.
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
    if experiment.run.warm_up.ns() > 0 {
        let problem = "a live device is measured from its first client on; leave the key out";
        return Err(experiment.blame(&Invalid::new(&["run.warm_up"], problem.to_owned())).into());
    }
    let address = address(settings, &mut warnings)?;
    let mut session = Session::new(experiment, supplied, 1)?;
    let capacity = session.capacity_bytes();
    let wanted = wanted_bytes(settings, capacity)?;
    let listener = Listener::new(&address).map_err(from_nbd)?;
    let recorder = settings.record.as_deref().map(TraceWriter::start).transpose()?;
    // Last, for it may make a file that stays.
    let (store, size_bytes) = storage(settings, wanted, capacity)?;
    session.prepare(&mut |_, _| {
        if control.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if settings.realtime {
        warnings.extend(nbd::realtime());
    }
    let floor = Floor::measure(listener.is_tcp()).map_err(from_nbd)?;
    let mut watcher = Watcher {
        simulated: Collected::default(),
        measured: Collected::default(),
        first: None,
        last: 0,
        recorder: recorder.as_ref().map(|recorder| recorder.records.clone()),
        fresh: LiveStatus::default(),
        status,
    };
    let recording = settings.record_data.as_deref().map(|path| Recording::create(path, size_bytes));
    let recording = recording.transpose().map_err(from_nbd)?;
    let events = recording.as_ref().map(Recording::events);
    let floor_of_server = floor.clone();
    let export = Export { bytes: size_bytes, read_only: false };
    let setup = Setup { store, export, scale, floor: floor_of_server, recording };
    let mut server =
        Server::new(session.device(), &mut watcher, setup, control).map_err(from_nbd)?;
    // Nobody listens any more when the user has given up.
    let uri = listener.uri();
    let ready = Ready { uri: uri.clone(), size_bytes, warnings: warnings.clone(), events };
    let _ = announce.send(ready);
    #[expect(clippy::disallowed_methods, reason = "a live device runs on the wall clock")]
    let started = Instant::now();
    let timing = server.run(Some(&listener));
    let wall_seconds = started.elapsed().as_secs_f64();
    server.finish_recording().map_err(|error| {
        RunError::System(format!("the recording of the data cannot be written: {error}"))
    })?;
    drop((server, listener));
    watcher.recorder = None;
    session.check_supplied(watcher.simulated.answered())?;
    let record = recorder.map(|recorder| {
        let target = recorder.target.clone();
        recorder.finish().map(|losses| (target, losses))
    });
    let record = record.transpose()?;
    let last = watcher.last;
    let simulated_ns = watcher.first.map_or(0, |first| last - first);
    let mut results = session.results(Ran {
        asked: watcher.simulated.answered(),
        collected: watcher.simulated,
        first: watcher.first,
        last,
        notices: Vec::new(),
        unanswered: 0,
        settled: None,
        wall_seconds,
        cuts: None,
    });
    results["experiment"] = replayable(experiment, settings.record.as_deref());
    let mut live = timing_section(&timing, &floor);
    live["measured"] = watcher.measured.host(simulated_ns);
    live["uri"] = json!(uri);
    live["size_bytes"] = json!(size_bytes);
    live["time_scale"] = json!(scale.factor());
    live["warnings"] = json!(warnings);
    live["record"] = record.map_or(Value::Null, |(file, losses)| {
        let lost: Map<String, Value> =
            losses.into_iter().map(|(what, count)| (what.to_owned(), json!(count))).collect();
        json!({ "file": file, "lost": lost })
    });
    results["live"] = live;
    serde_json::to_string(&results).map_err(|error| RunError::Check(error.to_string()))
}

/// The experiment as it was, its workload being what clients asked, if that was recorded.
fn replayable(experiment: &Experiment, record: Option<&str>) -> Value {
    let mut value = experiment.to_json();
    if let Value::Object(sections) = &mut value {
        sections.remove("workload");
        let title = experiment.title.split(" under ").next().unwrap_or_default();
        sections.insert("title".to_owned(), json!(format!("{title} under live requests")));
        if let Some(path) = record {
            sections.insert("workload".to_owned(), json!({ "kind": "trace", "path": path }));
        }
    }
    value
}

fn timing_section(timing: &Punctuality, floor: &Floor) -> Value {
    let per_request =
        |ns: u64| (timing.requests > 0).then(|| ns as f64 / 1e3 / timing.requests as f64);
    let (verdict, reason) = match timing.verdict() {
        Verdict::Valid => ("valid", None),
        Verdict::Invalid(reason) => ("invalid", Some(reason)),
    };
    let floors = |op: Op| -> Map<String, Value> {
        [512, 4096, 65_536, 1 << 20]
            .map(|bytes: u64| (bytes.to_string(), json!(floor.least(op, bytes) as f64 / 1e3)))
            .into_iter()
            .collect()
    };
    json!({
        "timing": verdict,
        "reason": reason,
        "requests": timing.requests,
        "late": timing.late,
        "late_share": timing.late_share(),
        "late_by_backing": timing.late_by_backing,
        "held_back": timing.held_back,
        "below_floor": timing.below_floor,
        "floor_excess_mean_us": per_request(timing.floor_excess_ns),
        "model_mean_us": per_request(timing.model_ns),
        "measured_mean_us": per_request(timing.measured_ns),
        "latest_us": timing.latest_ns as f64 / 1e3,
        "processor_wait_mean_us": timing.waited_ns.and_then(per_request),
        "floor_us": { "read": floors(Op::Read), "write": floors(Op::Write) },
    })
}
