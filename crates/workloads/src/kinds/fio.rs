//! A subset of fio's job files: the requests of a job, in fio's order and at fio's times.
//!
//! Follows fio's manual (version 3.33); `fio/compare.rs` compares with request logs of that
//! version. Every key is honoured, or ignored because it leaves requests unchanged (and counted in
//! the notices), or refused with its line. Properties:
//!
//! - The job's file is the device, regardless of `filename`; several jobs share it. Without `size`
//!   a job covers the whole device.
//! - `iodepth` applies unless the `ioengine` is one of fio's synchronous ones, which keep one
//!   request outstanding. It also applies without `ioengine`, although fio's default is
//!   synchronous.
//! - Without `norandommap` a job accesses every block once before it repeats one. For a single
//!   request size this is a permutation in constant memory. For several sizes it is a bitmap as in
//!   fio: a request that reaches blocks already accessed is truncated, and a loop over the map
//!   repeats the same order. Skewed distributions and `blockalign` disable the map, as in fio. So
//!   does `zoned`: fio checks its map before it adds the start of the zone, so blocks repeat.
//! - `zipf` draws with fio's approximation, not the exact law of the `closed` kind. A hash maps
//!   ranks to positions; unless the number of blocks is a power of two, several ranks share a
//!   block, as in fio. The number of positions of a direction follows from its block size.
//! - `thinktime` begins after all requests are completed; `thinktime_blocks` counts issued
//!   requests.
//! - A `rate` sets the earliest time of each request. fio also waits for all outstanding requests
//!   whenever it is ahead (unless `io_submit_mode=offload`); this is not modelled. `zonemode=zbd`
//!   writes at the write pointers of zones, reads written data, and resets full zones
//!   (`fio/zbd.rs`); a zone reset waits for the completion of all preceding requests.
//! - `rw=read:8k` leaves gaps, `rw=read:-8k` goes backwards, `rw=randread:8` issues eight
//!   consecutive requests from each random position (with `rw_sequencer=identical` all at that
//!   position), and `trimwrite` writes each range after its trim.
//! - A block size that includes protection information, such as `bs=4160`, counts only the data.
//!   `time_based` without a runtime is ignored.
//! - Skipped, and counted in the notices: jobs whose engine accesses no device, such as `cpuio`.
//! - Ignored, and counted in the notices: verification (fio's reads after writes), `flow`, latency
//!   targets, steady states, `zonemode=strided`, a mix of `write_mode`, several files, batched
//!   submissions, keys with undefined variables. `wait_for` waits for all preceding jobs.
//! - Refused: `zoned_abs`, start delays from a range, `read_iolog`.

mod commands;
mod distribution;
mod job;
mod keys;
mod map;
mod parse;
mod placement;
mod places;
mod run;
mod units;
mod zbd;

use crate::error::BuildError;
use crate::in_flight::InFlight;
use crate::kind::{Context, WorkloadKind};
use crate::script::{BadLine, Script};
use crate::{checks, streams};
use engine::{
    Arrival, Class, Completion, Lba, Request, SECTOR_BYTES, Time, Workload, WorkloadError,
};
use job::Job;
use keys::IGNORED;
use run::{Drawn, Runner};
use zbd::Zbd;

options::options! {
    /// A fio job file.
    pub struct Fio as FioPartial {
        /// The fio job file.
        path: String = String::new(),
        /// The job file as text, instead of a path.
        job: String = String::new(),
        /// Maximum number of requests; if not given, until every job ends.
        requests: Option<u64> = None,
    }
}

const WHOLE: &str = "; a part of it is simulated: device.scale=1 simulates the whole";
/// Maximum number of clones of all jobs.
const MOST_CLONES: u64 = 4096;

impl WorkloadKind for Fio {
    const SUMMARY: &'static str =
        "a fio job file: rw, bs, bssplit, rwmixread, iodepth, rate and more";

    fn reach(&self, context: &Context) -> Option<u64> {
        let capacity = context.capacity_sectors.saturating_mul(SECTOR_BYTES);
        let (_, jobs, _) = self.jobs(context).ok()?;
        let clones = jobs.iter().flat_map(|job| (0..job.clones).map(move |index| (job, index)));
        let mut ends = clones.map(|(job, index)| run::range(job, index, capacity).ok());
        let end = ends.try_fold(0, |most, range| Some(most.max(range?.1)))?;
        Some(end.div_ceil(SECTOR_BYTES))
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        let limit = checks::limit(self.requests)?;
        let (name, jobs, left_out) = self.jobs(context)?;
        let fault = |fault: BadLine| fault.of(&name);
        if jobs.iter().map(|job| job.clones).fold(0, u64::saturating_add) > MOST_CLONES {
            let problem = format!("{name}: the jobs have more than {MOST_CLONES} clones");
            return Err(BuildError::Input(problem));
        }
        let capacity = context.capacity_sectors.saturating_mul(SECTOR_BYTES);
        for job in &jobs {
            let zones = context.zones.as_ref();
            // A range beyond the device is refused below.
            let ranges = (0..job.clones).filter_map(|index| run::range(job, index, capacity).ok());
            let checked = job.zones.check_device(zones).and_then(|()| {
                ranges.into_iter().try_for_each(|range| job.zones.check_range(zones, range))
            });
            checked.map_err(|problem| {
                fault(BadLine::new(job.line, format!("job {}: {problem}", job.name)))
            })?;
        }
        let mut phases: Vec<Vec<Runner>> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let mut clones = 0;
        for job in &jobs {
            if job.stonewall || phases.is_empty() {
                phases.push(Vec::new());
                names.push(unused(&names, &job.name));
            }
            for index in 0..job.clones {
                let seed = streams::derived(context.seed, clones);
                let draws = streams::derived(context.draws(), clones);
                clones += 1;
                let runner =
                    Runner::new(job, index, capacity, (seed, draws)).map_err(|problem| {
                        let is_beyond = problem.contains("beyond the device");
                        let whole = is_beyond && context.scale > 1;
                        let hint = if whole { WHOLE } else { "" };
                        fault(BadLine::new(job.line, format!("job {}: {problem}{hint}", job.name)))
                    })?;
                phases.last_mut().expect("it was pushed").push(runner);
            }
        }
        phases.reverse();
        Ok(Box::new(JobFile {
            running: Vec::new(),
            phases,
            names,
            given: None,
            in_flight: InFlight::new(limit),
            notices: notices(&jobs, left_out),
            named: 0,
            has_rate: jobs.iter().any(Job::has_rate),
            needs_time: jobs.iter().any(Job::needs_time),
            has_commands: jobs.iter().any(|it| it.sent.has_steps()),
            zbd: context.zones.map(Zbd::new),
        }))
    }
}

impl Fio {
    /// The name of the job file, its jobs, and the number of skipped jobs.
    fn jobs(&self, context: &Context) -> Result<(String, Vec<Job>, usize), BuildError> {
        let (name, text) = SCRIPT.read(&self.path, &self.job, context)?;
        let fault = |fault: BadLine| fault.of(&name);
        let sections = parse::sections(&text).map_err(fault)?;
        let count = sections.len();
        let sections = parse::of_device(sections).map_err(fault)?;
        let left_out = count - sections.len();
        let jobs = sections.iter().map(Job::read).collect::<Result<Vec<_>, _>>();
        let mut jobs = jobs.map_err(fault)?;
        for job in &mut jobs {
            let of_device = context.zones.as_ref().map(|zones| zones.size * SECTOR_BYTES);
            let bytes = job.zones.zone_bytes().or(of_device);
            job.count_zones(bytes).map_err(|problem| {
                fault(BadLine::new(job.line, format!("job {}: {problem}", job.name)))
            })?;
        }
        Ok((name, jobs, left_out))
    }
}

/// Wording of messages about job files.
const SCRIPT: Script = Script {
    named: "fio job",
    what: "job file",
    key: "job",
    full_key: "workload.job",
    missing: "a fio workload needs the path of a job file, or its text as job",
};

/// Options of the jobs that are not followed exactly, with the number of jobs that have each.
fn notices(jobs: &[Job], left_out: usize) -> Vec<(&'static str, u64)> {
    let mut notices = Vec::new();
    for (index, (_, notice)) in IGNORED.iter().enumerate() {
        let count = jobs.iter().filter(|job| job.ignored.contains(&index)).count();
        notices.push((*notice, count as u64));
    }
    let capped = jobs.iter().filter(|job| job.synchronous && job.depth > 1).count();
    notices.push(("fio_iodepth_1_by_synchronous_ioengine", capped as u64));
    notices.push(("fio_jobs_without_device", left_out as u64));
    notices.retain(|(_, count)| *count > 0);
    notices
}

/// A name unused by other phases.
fn unused(names: &[String], name: &str) -> String {
    let mut found = name.to_owned();
    let mut number = 1;
    while names.contains(&found) {
        number += 1;
        found = format!("{name} {number}");
    }
    found
}

/// A running job file.
struct JobFile {
    /// Jobs up to the next one with `wait_for`.
    running: Vec<Runner>,
    /// Later phases, next one last.
    phases: Vec<Vec<Runner>>,
    /// Names of all phases in order, each from its first job.
    names: Vec<String>,
    /// Job of the last request.
    given: Option<usize>,
    in_flight: InFlight<usize>,
    notices: Vec<(&'static str, u64)>,
    /// Writes that named a placement handle.
    named: u64,
    /// A job has a rate.
    has_rate: bool,
    /// True if a job issues on each completion until its time is over.
    needs_time: bool,
    /// True if a job issues multi-step commands.
    has_commands: bool,
    /// State of the device's zones, if any.
    zbd: Option<Zbd>,
}

impl Workload for JobFile {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if self.in_flight.is_spent() {
            return Ok(None);
        }
        let (at, index) = loop {
            let zbd = &mut self.zbd;
            let jobs = self.running.iter_mut().enumerate();
            let ready =
                jobs.filter_map(|(index, job)| Some((job.ready(now, zbd.as_mut())?, index)));
            if let Some(first) = ready.min() {
                break first;
            }
            if !self.running.iter().all(Runner::idle) {
                return Ok(None);
            }
            let Some(phase) = self.phases.pop() else { return Ok(None) };
            self.running = phase;
            for job in &mut self.running {
                job.start(now);
            }
        };
        let asked = self.running[index].submit();
        self.given = Some(index);
        let id = self.in_flight.issue(index);
        let (sector, sectors) = asked.sectors();
        // Phases never overlap, so a phase's number can serve as its queue.
        let queue = (self.names.len() - 1 - self.phases.len()) as u16;
        let Drawn { op, handle, fua, .. } = asked;
        self.named += u64::from(handle.number().is_some());
        let request = Request { queue, handle, fua, ..Request::new(id, op, Lba(sector), sectors) };
        Ok(Some(Arrival { at, request }))
    }

    fn completed(&mut self, completion: &Completion) {
        let index = self.in_flight.complete(completion.request.id);
        self.running[index].completed(completion.at);
    }

    fn take_back(&mut self) -> bool {
        let Some(index) = self.given.take() else { return false };
        self.running[index].take_back();
        self.in_flight.withdraw();
        true
    }

    fn has_rate(&self) -> bool {
        self.has_rate
    }

    fn needs_time(&self) -> Option<&'static str> {
        (self.needs_time && self.in_flight.limit().is_none()).then_some("time_based of a fio job")
    }

    fn has_commands(&self) -> bool {
        self.has_commands
    }

    fn held_back(&self, now: Time) -> u64 {
        self.running.iter().map(|job| job.held_back(now)).sum()
    }

    fn expected_requests(&self) -> Option<u64> {
        self.in_flight.limit()
    }

    fn queues(&self) -> u32 {
        self.names.len() as u32
    }

    fn classes(&self) -> Vec<Class> {
        if self.names.len() < 2 {
            return Vec::new();
        }
        let numbered = self.names.iter().zip(0..);
        numbered
            .map(|(name, n)| Class { name: name.clone(), queues: n..n + 1, has_own_period: true })
            .collect()
    }

    fn notices(&self) -> Vec<(&'static str, u64)> {
        let named = (self.named > 0).then_some((checks::NAMED_HANDLES, self.named));
        self.notices.iter().copied().chain(named).collect()
    }
}

#[cfg(test)]
mod compare;
#[cfg(test)]
mod options_tests;
#[cfg(test)]
mod tests;
