//! Command lines of `DiskSpd`: the requests that its threads ask, at its times.
//!
//! Follows `DiskSpd`'s own help and its manual (2.0 to 2.2). Every option either affects
//! requests, or is counted by name in the notices, or is refused with its line. Properties:
//!
//! - The device is the target. Several targets are consecutive parts of the device: of the size of
//!   `-c`, or else equal ones. Targets with equal names share one part.
//! - Several command lines run one after another. The warm-up (`-W`, 5 s unless given), the
//!   measurement (`-d`, 10 s) and the cool-down (`-C`) have statistics of their own, as classes; a
//!   request counts at its submission.
//! - Each thread on a target has its own `-o` outstanding requests, position, rate and bursts,
//!   under both `-F` and `-t`; the order of threads differs.
//! - A thread that reaches the end of its target wraps to the base, not to its own start, as in
//!   `DiskSpd`.
//! - `-rs`: each request jumps with that probability, else it follows its thread's previous one.
//! - `-Sh`, `-Sw` and `-h` make writes durable (forced unit access); the cache of the operating
//!   system is not simulated, and a notice says so if it would be used.
//! - A pause (`-j`) begins at the submission of a burst's last request. Randomness comes from the
//!   seed of the run and `-z`, so addresses differ from `DiskSpd`'s.

mod command;
mod parse;
mod worker;

use crate::chance::Chance;
use crate::error::BuildError;
use crate::in_flight::InFlight;
use crate::kind::{Context, WorkloadKind};
use crate::script::{BadLine, Script};
use crate::{checks, streams};
use command::{Command, Seconds, Threads};
use engine::{Arrival, Class, Completion, Request, SECTOR_BYTES, Time, Workload, WorkloadError};
use worker::Worker;

options::options! {
    /// Command lines of `DiskSpd`.
    pub struct Diskspd as DiskspdPartial {
        /// The file with command lines of DiskSpd.
        path: String = String::new(),
        /// The command lines as text, instead of a path.
        command: String = String::new(),
        /// Maximum number of requests; if not given, until every command line ends.
        requests: Option<u64> = None,
    }
}

/// Wording of messages about command lines.
const SCRIPT: Script = Script {
    named: "DiskSpd file",
    what: "file of command lines",
    key: "command",
    full_key: "workload.command",
    missing: "a diskspd workload needs the path of a file, or command lines as command",
};

/// Maximum number of threads, counted once per target.
const MOST_WORKERS: u64 = 4096;

impl WorkloadKind for Diskspd {
    const SUMMARY: &'static str = "command lines of DiskSpd: -b, -o, -t, -r, -s, -w, -g and more";

    fn reach(&self, context: &Context) -> Option<u64> {
        let capacity = context.capacity_sectors.saturating_mul(SECTOR_BYTES);
        let (_, text) = SCRIPT.read(&self.path, &self.command, context).ok()?;
        let lines = parse::commands(&text).ok()?;
        let mut regions = lines.iter().map(|words| {
            let command = Command::read(words).ok()?;
            let regions = worker::regions(&command, capacity).ok()?;
            regions.iter().map(|region| region.end(command.block)).max()
        });
        let end = regions.try_fold(0, |most: u64, end| Some(most.max(end?)))?;
        Some(end.div_ceil(SECTOR_BYTES))
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        let limit = checks::limit(self.requests)?;
        let (name, text) = SCRIPT.read(&self.path, &self.command, context)?;
        let capacity = context.capacity_sectors.saturating_mul(SECTOR_BYTES);
        let mut runs = Vec::new();
        let mut phases: Vec<String> = Vec::new();
        let mut notices: Vec<(&'static str, u64)> = Vec::new();
        let mut workers = 0;
        let lines = parse::commands(&text).map_err(|fault| fault.of(&name))?;
        for words in &lines {
            let fault = |problem: String| BadLine::new(words.line, problem).of(&name);
            let command = Command::read(words).map_err(fault)?;
            for notice in &command.ignored {
                match notices.iter_mut().find(|(it, _)| it == notice) {
                    Some((_, count)) => *count += 1,
                    None => notices.push((notice, 1)),
                }
            }
            let first_phase = phases.len();
            let begin =
                if lines.len() > 1 { format!("line {} ", words.line) } else { String::new() };
            for (word, _) in command.seconds.phases() {
                phases.push(format!("{begin}{word}"));
            }
            let run = Run::new(command, first_phase as u16, capacity, &mut workers, context);
            runs.push(run.map_err(fault)?);
        }
        runs.reverse();
        let needs_time = runs.iter().any(|run| run.command.needs_time());
        let has_rate = runs.iter().any(|run| run.command.rate.is_some());
        let in_flight = InFlight::new(limit);
        Ok(Box::new(Load {
            running: None,
            runs,
            phases,
            given: None,
            in_flight,
            notices,
            needs_time,
            has_rate,
        }))
    }
}

impl Seconds {
    /// Names of the nonempty phases, and their end in seconds.
    fn phases(self) -> impl Iterator<Item = (&'static str, u64)> {
        let Seconds { warm_up, measured, cool_down } = self;
        let mut end = 0;
        let all = [("warm-up", warm_up), ("measured", measured), ("cool-down", cool_down)];
        all.into_iter().filter(|(_, seconds)| *seconds > 0).map(move |(name, seconds)| {
            end += seconds;
            (name, end)
        })
    }
}

/// A running command line.
struct Run {
    command: Command,
    writes: Chance,
    workers: Vec<Worker>,
    /// Next sequential position of each target, shared by its threads.
    shared: Vec<u64>,
    /// Index of the first phase, and the end time of each phase.
    first_phase: u16,
    ends: Vec<Time>,
    started: Time,
    in_flight: u64,
}

impl Run {
    /// Threads of a command line; `first_phase` is the index of its first phase. Errors are
    /// sentences.
    fn new(
        command: Command,
        first_phase: u16,
        capacity: u64,
        before: &mut u64,
        context: &Context,
    ) -> Result<Self, String> {
        let regions = worker::regions(&command, capacity)?;
        let targets = regions.len() as u64;
        let (Threads::PerTarget(threads) | Threads::InAll(threads)) = command.threads;
        let count = threads.saturating_mul(targets);
        if before.saturating_add(count) > MOST_WORKERS {
            return Err(format!(
                "there are more than {MOST_WORKERS} threads, each counted for each target"
            ));
        }
        let mut workers = Vec::new();
        for index in 0..count {
            let (target, thread) = match command.threads {
                Threads::PerTarget(threads) => (index / threads, index % threads),
                Threads::InAll(_) => (index % targets, index / targets),
            };
            let mut seed = streams::derived(context.draws(), *before + index);
            if command.seed > 0 {
                // Seeds count down from the maximum, so that they never equal a thread's number.
                seed = streams::derived(seed, u64::MAX - command.seed);
            }
            let region = regions[target as usize];
            workers.push(Worker::new(&command, (target as usize, region), thread, seed));
        }
        *before += count;
        Ok(Run {
            writes: Chance::new(command.write_percent as f64 / 100.0),
            workers,
            shared: vec![0; regions.len()],
            first_phase,
            ends: Vec::new(),
            started: 0,
            in_flight: 0,
            command,
        })
    }

    /// Starts the command line.
    fn start(&mut self, now: Time) {
        self.started = now;
        let end = |seconds: u64| now.saturating_add(seconds.saturating_mul(1_000_000_000));
        self.ends = self.command.seconds.phases().map(|(_, seconds)| end(seconds)).collect();
    }

    /// Time and thread of the next arrival, barring earlier completions.
    fn ready(&self, now: Time) -> Option<(Time, usize)> {
        let ready = self.workers.iter().enumerate().filter_map(|(index, worker)| {
            Some((worker.ready(&self.command, self.started, now)?, index))
        });
        let end = self.ends.last().copied().unwrap_or_default();
        ready.min().filter(|(at, _)| *at < end)
    }

    fn submit(&mut self, at: Time, index: usize) -> Request {
        self.in_flight += 1;
        let worker = &mut self.workers[index];
        let request = worker.submit(&self.command, self.writes, &mut self.shared, at);
        let phase = self.ends.iter().take_while(|end| **end <= at).count();
        Request { queue: self.first_phase + phase as u16, ..request }
    }
}

/// Running command lines.
struct Load {
    running: Option<Run>,
    /// Later runs, next one last.
    runs: Vec<Run>,
    /// Names of the phases in order.
    phases: Vec<String>,
    /// Thread and content of the last request.
    given: Option<(usize, Request)>,
    in_flight: InFlight<usize>,
    notices: Vec<(&'static str, u64)>,
    /// True if a command line without rate and pause issues on each completion until its time is
    /// over.
    needs_time: bool,
    has_rate: bool,
}

impl Workload for Load {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if self.in_flight.is_spent() {
            return Ok(None);
        }
        loop {
            if let Some(run) = &mut self.running {
                if let Some((at, index)) = run.ready(now) {
                    let request = run.submit(at, index);
                    self.given = Some((index, request));
                    let request = Request { id: self.in_flight.issue(index), ..request };
                    return Ok(Some(Arrival { at, request }));
                }
                if run.in_flight > 0 {
                    return Ok(None);
                }
            }
            self.running = self.runs.pop();
            let Some(run) = &mut self.running else { return Ok(None) };
            run.start(now);
        }
    }

    fn completed(&mut self, completion: &Completion) {
        let index = self.in_flight.complete(completion.request.id);
        let run = self.running.as_mut().expect("a command line ends with its answers");
        run.in_flight -= 1;
        run.workers[index].in_flight -= 1;
    }

    fn take_back(&mut self) -> bool {
        let Some((index, request)) = self.given.take() else { return false };
        let run = self.running.as_mut().expect("it asked");
        run.workers[index].take_back(request);
        run.in_flight -= 1;
        self.in_flight.withdraw();
        true
    }

    fn has_rate(&self) -> bool {
        self.has_rate
    }

    fn needs_time(&self) -> Option<&'static str> {
        let is_limited = self.in_flight.limit().is_some();
        (self.needs_time && !is_limited).then_some("-d of a DiskSpd command line")
    }

    fn held_back(&self, now: Time) -> u64 {
        let Some(run) = &self.running else { return 0 };
        let now = run.ends.last().map_or(now, |end| now.min(*end));
        let late = |worker: &Worker| worker.held_back(&run.command, run.started, now);
        run.workers.iter().map(late).sum()
    }

    fn expected_requests(&self) -> Option<u64> {
        self.in_flight.limit()
    }

    fn queues(&self) -> u32 {
        self.phases.len() as u32
    }

    fn classes(&self) -> Vec<Class> {
        if self.phases.len() < 2 {
            return Vec::new();
        }
        let numbered = self.phases.iter().zip(0..);
        numbered
            .map(|(name, n)| Class { name: name.clone(), queues: n..n + 1, has_own_period: true })
            .collect()
    }

    fn notices(&self) -> Vec<(&'static str, u64)> {
        self.notices.clone()
    }
}

#[cfg(test)]
mod tests;
