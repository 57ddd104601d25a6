//! A drive stepped by another program, which submits requests with their times, queries the next
//! event, and advances time in steps of any size.
//!
//! The steps do not change results: they divide the loop of a run (`engine::drive`), which proceeds
//! by events and arrivals. A request waits here until its arrival time, so it may be submitted
//! early. Every mistake of the caller is a [`StepError`] and leaves the drive unchanged.

use crate::cache::CacheSettings;
use crate::commands;
use crate::config::{Experiment, RunConfig};
use crate::error::{RunError, reason};
use crate::figures::Figures;
use crate::fits;
use crate::preparation::PhaseTick;
use crate::results::{Collected, Ran};
use crate::session::{Session, check_place, results_of, write_state};
use crate::steady::Prepared;
use crate::threads::Threads;
use devices::{DeviceKind as _, Instruction, Model, Supplied};
use engine::{Arrival, Completion, Handle, Lba, Load, Op, Request, SECTOR_BYTES, Time};
use options::Invalid;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use std::{fmt, mem};

/// Events between two calls of `tick`.
const TICK: u32 = 1 << 13;
/// Shutdowns of a drive that does not come to rest, before it is left as it is.
const MOST_SHUTDOWNS: u32 = 1000;
/// Latest valid arrival: 500 years, as in a run.
const LATEST: Time = 500 * 31_557_600 * 1_000_000_000;

/// A host request to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRequest {
    /// The operation.
    pub op: Op,
    /// Start, bytes; a multiple of 512.
    pub offset: u64,
    /// Length, bytes; a multiple of 512, and 0 only for operations without a range.
    pub bytes: u64,
    /// The placement handle of a write; 255 means none.
    pub handle: Option<u8>,
    /// The submission queue.
    pub queue: u16,
    /// True for a write durable on completion.
    pub fua: bool,
}

impl HostRequest {
    /// A request on queue 0, without a handle.
    pub fn new(op: Op, offset: u64, bytes: u64) -> HostRequest {
        HostRequest { op, offset, bytes, handle: None, queue: 0, fua: false }
    }
}

/// Error of a stepped drive, which stays unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepError {
    /// The time precedes the drive's current time: both, ns.
    Past(Time, Time),
    /// The time exceeds the latest valid time, ns.
    Late(Time),
    /// An offset or a length is not a multiple of a sector: its name, and its bytes.
    Unaligned(&'static str, u64),
    /// The request has no length.
    Empty(Op),
    /// The range exceeds the capacity: its first byte, its length, and the capacity.
    Beyond(u64, u64, u64),
    /// The drive does not support the operation: its name, and the supported ones.
    Unknown(String, String),
    /// The drive is at work, and only one that was shut down can be saved.
    AtWork,
    /// A file would not have the whole state of the drive, with the reason.
    Partial(&'static str),
    /// The device has no state to save or clone, with the reason.
    Stateless(&'static str),
    /// The caller has stopped the step; completions so far are kept.
    Interrupted,
    /// The user's file or policy, or the system, has failed.
    Run(RunError),
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepError::Past(at, now) => {
                write!(f, "{at} ns is in the past: the drive has come to {now} ns")
            }
            StepError::Late(at) => {
                write!(f, "{at} ns is too late: a drive is used for 500 years, {LATEST} ns")
            }
            StepError::Unaligned(what, bytes) => {
                write!(f, "{what} {bytes}: expected a multiple of {SECTOR_BYTES} bytes")
            }
            StepError::Empty(op) => {
                write!(f, "bytes 0: a {} has a length, at least {SECTOR_BYTES}", op.name())
            }
            StepError::Beyond(offset, bytes, capacity) => write!(
                f,
                "offset {offset}, bytes {bytes}: beyond the end of the drive, which has {capacity} bytes"
            ),
            StepError::Unknown(op, known) => write!(f, "op \"{op}\": expected one of {known}"),
            StepError::AtWork => f.write_str(
                "the drive is at work or was not shut down: let it answer all, shut it down, and let time pass until it has \
                 no next event; it can be cloned at any time",
            ),
            StepError::Partial(why) => write!(f, "a file would not have the whole state of the drive: {why}"),
            StepError::Stateless(why) => f.write_str(why),
            StepError::Interrupted => f.write_str("interrupted"),
            StepError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StepError {}

impl From<RunError> for StepError {
    fn from(error: RunError) -> StepError {
        match error {
            RunError::Interrupted { .. } => StepError::Interrupted,
            other => StepError::Run(other),
        }
    }
}

/// The prepared drive of an experiment, stepped by its owner.
///
/// ```
/// use lab::{Experiment, HostRequest, Op, SteppedDrive, set_layer};
/// let layers = ["device.preset=tlc-client", "run.precondition=sequential"];
/// let layers = layers.map(|it| set_layer(it).unwrap());
/// let experiment = Experiment::from_layers(&layers).unwrap();
/// let mut drive = SteppedDrive::new(experiment, Default::default(), 1, None, &mut |_, _, _| {
///     std::ops::ControlFlow::Continue(())
/// })
/// .unwrap();
/// let tag = drive.submit(1_000, HostRequest::new(Op::Read, 4096, 4096)).unwrap();
/// let answers = drive.answer_all(&mut || std::ops::ControlFlow::Continue(())).unwrap();
/// assert_eq!(answers[0].request.id, tag);
/// assert_eq!(answers[0].at, 1_000 + answers[0].breakdown.total());
/// ```
pub struct SteppedDrive {
    experiment: Arc<Experiment>,
    supplied: Supplied,
    device: Box<dyn Model>,
    prepared: Option<Prepared>,
    threads: Threads,
    /// Future requests by time and order of submission.
    coming: VecDeque<Arrival>,
    /// Current time: all earlier events have occurred.
    now: Time,
    next_tag: u64,
    /// Number of requests submitted to the device, and of outstanding ones.
    asked: u64,
    outstanding: u64,
    first: Option<Time>,
    sample_at: Time,
    collected: Collected,
    answers: Vec<Completion>,
    /// True if the completions are from a stopped step, and the caller has not seen them.
    are_unseen: bool,
    /// Number of shutdowns since the last request; 0 while the drive is on.
    shutdowns: u32,
    /// When it was saved since then.
    saved: Option<Time>,
    started: Instant,
}

impl SteppedDrive {
    /// Builds and prepares the device of an experiment (`run.precondition`, `run.load_drive`,
    /// `run.age`), with `threads` threads, 0 being equivalent to 1. The workload is not used.
    /// `tick` gets the phase, the writes done and the writes expected, and may end the preparation.
    ///
    /// # Errors
    /// A contradiction, an unreadable file, an interruption, or a run key without effect here.
    pub fn new(
        experiment: Experiment,
        supplied: Supplied,
        threads: u32,
        cache: Option<&CacheSettings>,
        tick: PhaseTick<'_>,
    ) -> Result<SteppedDrive, RunError> {
        refuse_keys(&experiment)?;
        let mut session = Session::new(&experiment, &supplied, threads, cache, &mut || {
            tick("building", 0, None)
        })?;
        session.is_served();
        session.prepare(tick)?;
        let (device, prepared, threads) = session.into_parts();
        #[expect(clippy::disallowed_methods, reason = "reports the speed; no result depends on it")]
        let started = Instant::now();
        Ok(SteppedDrive {
            collected: Collected::of(Vec::new(), 0, device.capacity_sectors()),
            experiment: Arc::new(experiment),
            supplied,
            device,
            prepared,
            threads,
            coming: VecDeque::new(),
            now: 0,
            next_tag: 0,
            asked: 0,
            outstanding: 0,
            first: None,
            sample_at: 0,
            answers: Vec::new(),
            are_unseen: false,
            shutdowns: 0,
            saved: None,
            started,
        })
    }

    /// Capacity in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.device.capacity_sectors() * SECTOR_BYTES
    }

    /// The current time, ns: all earlier events have occurred.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Requests without a completion, including future ones.
    pub fn outstanding(&self) -> u64 {
        self.outstanding + self.coming.len() as u64
    }

    /// Operation by its name in results.
    ///
    /// # Errors
    /// When the drive does not support it.
    pub fn op(&self, name: &str) -> Result<Op, StepError> {
        let found = Op::ALL.into_iter().find(|op| op.name() == name);
        found.filter(|op| self.knows(*op)).ok_or_else(|| self.unknown(name))
    }

    fn knows(&self, op: Op) -> bool {
        op.is_block() || commands::knows(&*self.device, op)
    }

    fn unknown(&self, name: &str) -> StepError {
        let known = Op::ALL.into_iter().filter(|op| self.knows(*op)).map(Op::name);
        StepError::Unknown(name.to_owned(), known.collect::<Vec<_>>().join(", "))
    }

    /// Submits a request that arrives at time `at`, ns, possibly in the future. Returns its tag:
    /// 0, 1, ... in the order of the calls. Requests with equal times keep that order.
    ///
    /// # Errors
    /// A time in the past, an unsupported operation, or a range beyond the capacity.
    pub fn submit(&mut self, at: Time, asked: HostRequest) -> Result<u64, StepError> {
        let arrival = self.arrival(at, asked)?;
        if self.coming.back().is_none_or(|last| last.at <= at) {
            self.coming.push_back(arrival);
        } else {
            let place = self.coming.partition_point(|other| other.at <= at);
            self.coming.insert(place, arrival);
        }
        self.next_tag += 1;
        Ok(arrival.request.id)
    }

    /// Submits many requests in any time order, all or none. Returns the tag of the first; the
    /// other tags are consecutive.
    ///
    /// # Errors
    /// See [`submit`](Self::submit), with the index of the request, from 0.
    pub fn submit_many(
        &mut self,
        asked: impl IntoIterator<Item = (Time, HostRequest)>,
    ) -> Result<u64, (usize, StepError)> {
        let (first, before) = (self.next_tag, self.coming.len());
        let mut latest = self.coming.back().map_or(0, |last| last.at);
        let mut in_order = true;
        for (number, (at, asked)) in asked.into_iter().enumerate() {
            match self.arrival(at, asked) {
                Ok(arrival) => self.coming.push_back(arrival),
                Err(error) => {
                    self.coming.truncate(before);
                    self.next_tag = first;
                    return Err((number, error));
                }
            }
            in_order &= latest <= at;
            latest = latest.max(at);
            self.next_tag += 1;
        }
        if !in_order {
            self.coming.make_contiguous().sort_by_key(|arrival| arrival.at);
        }
        Ok(first)
    }

    /// The request with the next tag, if valid.
    fn arrival(&self, at: Time, asked: HostRequest) -> Result<Arrival, StepError> {
        let HostRequest { op, offset, bytes, handle, queue, fua } = asked;
        if at < self.now {
            return Err(StepError::Past(at, self.now));
        }
        if at > LATEST {
            return Err(StepError::Late(at));
        }
        if !op.is_block() && !self.knows(op) {
            return Err(self.unknown(op.name()));
        }
        if !offset.is_multiple_of(SECTOR_BYTES) {
            return Err(StepError::Unaligned("offset", offset));
        }
        if !bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(StepError::Unaligned("bytes", bytes));
        }
        if bytes == 0 && matches!(op, Op::Read | Op::Write | Op::Trim | Op::Append) {
            return Err(StepError::Empty(op));
        }
        let (first, length) = (offset / SECTOR_BYTES, bytes / SECTOR_BYTES);
        let capacity = self.device.capacity_sectors();
        let is_within = first < capacity && length <= capacity - first;
        let Some(sectors) = u32::try_from(length).ok().filter(|_| is_within) else {
            return Err(StepError::Beyond(offset, bytes, self.capacity_bytes()));
        };
        let handle = handle.map_or(Handle::NONE, |it| Handle::new(it.into()));
        let request =
            Request { id: self.next_tag, op, lba: Lba(first), sectors, queue, fua, handle };
        Ok(Arrival { at, request })
    }

    /// Time of the next event, ns: an arrival, or an event of the drive, which may not be a
    /// completion. `None` while the drive only waits for requests.
    pub fn next_event(&self) -> Option<Time> {
        let coming = self.coming.front().map(|arrival| arrival.at);
        self.device.next_event().into_iter().chain(coming).min()
    }

    /// Advances to an instant, ns, and returns the completions in order. `tick` is called at intervals, and may stop
    /// early; the next call returns the completions so far.
    ///
    /// # Errors
    /// A time in the past, an interruption, or the failure of an external cleaning policy.
    pub fn advance(
        &mut self,
        to: Time,
        tick: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<&[Completion], StepError> {
        self.step(Some(to), false, tick)?;
        self.now = to;
        Ok(&self.answers)
    }

    /// Advances to the next completion, and at most to `to`, ns, by default until all submitted
    /// requests are completed. Fewer and longer steps than from event to event: a closed loop has
    /// about the cost of a run. Further completions of the same instant may be left to the next
    /// step.
    ///
    /// # Errors
    /// See [`advance`](Self::advance).
    pub fn advance_to_answer(
        &mut self,
        to: Option<Time>,
        tick: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<&[Completion], StepError> {
        self.step(to, true, tick)?;
        if self.answers.is_empty() {
            self.now = to.unwrap_or(self.now);
        }
        Ok(&self.answers)
    }

    /// Advances until all submitted requests are completed, as at the end of a run.
    ///
    /// # Errors
    /// See [`advance`](Self::advance).
    pub fn answer_all(
        &mut self,
        tick: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<&[Completion], StepError> {
        self.step(None, false, tick)?;
        Ok(&self.answers)
    }

    /// Takes the completions of the last step.
    pub fn take_answers(&mut self) -> Vec<Completion> {
        mem::take(&mut self.answers)
    }

    /// Advances to `to`, or until all requests are completed, or to the next completion: the loop
    /// of a run whose completions affect no requests.
    fn step(
        &mut self,
        to: Option<Time>,
        is_to_answer: bool,
        tick: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(), StepError> {
        let (until_answered, to) = (to.is_none(), to.unwrap_or(Time::MAX));
        if to < self.now {
            return Err(StepError::Past(to, self.now));
        }
        if to > LATEST && !until_answered {
            return Err(StepError::Late(to));
        }
        if !mem::take(&mut self.are_unseen) {
            self.answers.clear();
        }
        let mut left = TICK;
        loop {
            let event = self.device.next_event().unwrap_or(Time::MAX);
            let arrival = self.coming.front().map_or(Time::MAX, |next| next.at);
            if arrival < event {
                if arrival > to {
                    break;
                }
                let Some(Arrival { at, request }) = self.coming.pop_front() else { break };
                self.sample(at);
                self.now = at;
                if self.shutdowns > 0 {
                    self.turn_on();
                }
                self.asked += 1;
                self.outstanding += 1;
                self.device.submit(at, request);
                continue;
            }
            if event == Time::MAX && self.shuts_down_again() {
                continue;
            }
            let is_over = until_answered && self.outstanding == 0 && arrival == Time::MAX;
            if is_over || event > to || event == Time::MAX {
                break;
            }
            self.sample(event);
            // Advance to the next possible event: an arrival, a sample, or the end of the step.
            let limit = arrival.min(self.sample_at.saturating_sub(1)).min(to).max(event);
            let known = self.answers.len();
            let Some(at) = self.device.advance_to_answer(limit, &mut self.answers) else {
                break;
            };
            self.now = at;
            for answer in &self.answers[known..] {
                let first = self.first.get_or_insert(answer.submitted);
                *first = (*first).min(answer.submitted);
                self.outstanding -= 1;
                self.collected.record(answer);
            }
            if is_to_answer && self.answers.len() > known {
                break;
            }
            left -= 1;
            if left == 0 {
                left = TICK;
                self.check_supplied()?;
                if tick().is_break() {
                    self.are_unseen = true;
                    return Err(StepError::Interrupted);
                }
            }
        }
        self.check_supplied()
    }

    /// Samples the device before the events at `now`, when due.
    #[inline]
    fn sample(&mut self, now: Time) {
        if now >= self.sample_at {
            let load = Load { due: self.asked, answered: self.asked - self.outstanding };
            self.sample_at = self.collected.sample(now, self.device.followed(), load);
        }
    }

    /// Fails if the external policy has failed: the drive then continues with another policy.
    fn check_supplied(&self) -> Result<(), StepError> {
        let Some(problem) = self.supplied.failure() else { return Ok(()) };
        let name = self.experiment.device.policy_name().map_or("", |it| it.as_str());
        let problem = format!("the cleaning policy {name} failed: {problem}");
        let requests = self.asked - self.outstanding;
        Err(StepError::Run(RunError::Policy { problem, requests }))
    }

    /// The results up to the current time, as JSON in the schema of a run; the experiment has no
    /// workload.
    pub fn report(&self) -> Value {
        let figures = Figures::of(&*self.device, self.now, true);
        let ran = Ran {
            collected: self.collected.clone(),
            first: self.first,
            last: self.now,
            notices: Vec::new(),
            replayed: None,
            guessed: Vec::new(),
            offered: None,
            asked: self.asked,
            unanswered: self.outstanding,
            settled: None,
            wall_seconds: self.started.elapsed().as_secs_f64(),
            cuts: None,
            sections: Vec::new(),
        };
        let (prepared, threads) = (self.prepared.clone(), self.threads);
        let mut results =
            results_of(&self.experiment, &*self.device, (prepared, threads), ran, figures);
        if let Some(experiment) = results["experiment"].as_object_mut() {
            experiment.remove("workload");
            let title = self.experiment.title.split(" under ").next().unwrap_or_default();
            experiment.insert("title".to_owned(), json!(format!("{title} in another program")));
        }
        results
    }

    /// Writes the drive, which was [shut down](Self::shut_down), to a file atomically; any experiment of such a drive
    /// begins with it (`run.load_drive`), and continues as this one does.
    ///
    /// # Errors
    /// When the drive is at work, has no state, or has one that a file does not keep, or the file cannot be written.
    pub fn save(
        &mut self,
        path: &Path,
        tick: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(), StepError> {
        self.check_rest()?;
        // Data age until now.
        self.device.advance(self.now, &mut self.answers);
        let state = self.device.save().ok_or(STATELESS)?;
        let named = |problem: &str| format!("{}: {problem}", path.display());
        check_place(path).map_err(|problem| StepError::Run(RunError::Input(named(problem))))?;
        let mut ended = false;
        let saved = write_state(&state, path, &[], &mut || {
            let flow = tick();
            ended |= flow.is_break();
            flow
        });
        if ended {
            return Err(StepError::Interrupted);
        }
        let problem = match saved {
            Ok(None) => {
                self.saved = Some(self.now);
                return Ok(());
            }
            Ok(Some(moved)) => named(&moved),
            Err(error) => named(&format!("cannot be written: {}", reason(&error))),
        };
        Err(StepError::Run(RunError::System(problem)))
    }

    /// The host shuts the drive down: its write buffer is written to the flash and half-cleaned blocks are cleaned, in
    /// time. The drive has events until it rests. The next request turns it on: of cached parts of its map, of what it
    /// read ahead, and of the load that it measured it knows nothing then, as a drive that was [saved](Self::save).
    ///
    /// # Errors
    /// When requests are outstanding.
    pub fn shut_down(&mut self) -> Result<(), StepError> {
        if self.outstanding() > 0 {
            return Err(StepError::AtWork);
        }
        self.shutdowns = 1;
        self.instruct(Instruction::ShutDown, self.now);
        Ok(())
    }

    fn instruct(&mut self, instruction: Instruction, at: Time) {
        self.device.instruct(at, instruction).expect("any device can be turned off and on");
    }

    /// Shuts the drive down once more where it was and does not rest: cleaning has filled its buffer again.
    #[cold]
    fn shuts_down_again(&mut self) -> bool {
        let again = (1..MOST_SHUTDOWNS).contains(&self.shutdowns) && !self.device.condition().rests;
        if again {
            self.shutdowns += 1;
            self.instruct(Instruction::ShutDown, self.now);
        }
        again
    }

    /// Turns a drive on that was shut down: the next request is there.
    #[cold]
    fn turn_on(&mut self) {
        self.shutdowns = 0;
        // Another drive begins with the file at its time 0.
        let since = self.saved.take().unwrap_or(self.now);
        if self.device.condition().rests {
            self.instruct(Instruction::TurnOn, since);
        }
    }

    /// An independent clone of the drive at any time, with its report.
    ///
    /// # Errors
    /// When it has an external cleaning policy, or memory is insufficient for a clone.
    pub fn try_clone(&self) -> Result<SteppedDrive, StepError> {
        if self.supplied.policy.is_some() {
            return Err(StepError::Stateless(
                "a drive with a cleaning policy of your own has one owner: save it, and begin another with the file",
            ));
        }
        let (experiment, config) = (&self.experiment, &self.experiment.device);
        let copied = fits::built(config.kind(), config.first_memory(), || self.device.copied());
        let copied = copied.map_err(|invalid| StepError::Run(experiment.blame(&invalid).into()))?;
        Ok(SteppedDrive {
            device: copied.ok_or(STATELESS)?,
            experiment: Arc::clone(experiment),
            supplied: self.supplied.clone(),
            prepared: self.prepared.clone(),
            threads: self.threads,
            coming: self.coming.clone(),
            now: self.now,
            next_tag: self.next_tag,
            asked: self.asked,
            outstanding: self.outstanding,
            first: self.first,
            sample_at: self.sample_at,
            collected: self.collected.clone(),
            answers: self.answers.clone(),
            are_unseen: self.are_unseen,
            shutdowns: self.shutdowns,
            saved: self.saved,
            started: self.started,
        })
    }

    fn check_rest(&self) -> Result<(), StepError> {
        let has_begun = self.asked > 0 || self.now > 0;
        let is_on = self.asked > 0 && self.shutdowns == 0;
        if self.outstanding() > 0 || is_on || has_begun && !self.device.condition().rests {
            return Err(StepError::AtWork);
        }
        // A prepared state is kept as by a run.
        let lost = if has_begun { self.device.condition().loses } else { None };
        lost.map_or(Ok(()), |why| Err(StepError::Partial(why)))
    }
}

const STATELESS: StepError =
    StepError::Stateless("this device has no state that could be saved or cloned");

/// Refuses run keys that have no effect on a stepped drive.
fn refuse_keys(experiment: &Experiment) -> Result<(), RunError> {
    let (run, default) = (&experiment.run, RunConfig::default());
    let stated = [
        ("run.timed", !run.timed),
        ("run.until", run.until != default.until),
        ("run.warm_up", run.warm_up != default.warm_up),
        ("run.timeline", run.timeline != default.timeline),
        ("run.power_cut", run.power_cut != default.power_cut),
        ("run.faults", run.faults.is_some()),
        ("run.namespaces", run.namespaces.is_some()),
        ("run.save_drive", run.save_drive.is_some()),
    ];
    let Some((key, _)) = stated.into_iter().find(|(_, is_stated)| *is_stated) else {
        return Ok(());
    };
    let problem =
        "a drive that another program steps does not have this; remove the key".to_owned();
    Err(experiment.blame(&Invalid::new(&[key], problem)).into())
}
