//! Generators that wait for some of their requests, on a number of processors.
//!
//! This is the synthetic load of `DiskSim` 4.0 with its processes. A generator computes for the time between two
//! arrivals and issues its request. It waits at once for a time-critical request, and for a time-limited one after it
//! has computed for the limit. A processor runs one generator at a time.
//!
//! The first processor takes all completions, as in the original. A generator that has waited continues there, or on
//! a processor that another one leaves. Other idle processors stay idle.

use crate::distribution::DistributionSpec;
use crate::error::BuildError;
use crate::footprint::Footprint;
use crate::generator::{
    Generator, GeneratorDraws, NOWHERE, RandomSource, never_negative, no_request, no_size,
};
use crate::kind::{Context, WorkloadKind};
use crate::{checks, streams};
use engine::{Arrival, Completion, Random as _, Time, Workload, WorkloadError};
use options::{Invalid, Size};
use std::collections::{BTreeSet, VecDeque};

options::conditions! { Generators:
    WAITS = "with time-limited requests (workload.limited_share)", |it| it.limited_share > 0.0;
    LOCAL = "with local requests (workload.local_share)", |it| it.local_share > 0.0;
    FOLLOWS = "with sequential requests (workload.sequential_share)", |it| it.sequential_share > 0.0;
}

options::options! {
    /// Generators that compute, issue requests, and wait for some of them, as `DiskSim`'s processes do.
    pub struct Generators as GeneratorsPartial {
        /// Total number of requests.
        requests: u64 = 100_000,
        /// Number of generators, which are alike.
        generators: u32 = 4,
        /// Number of processors: each runs one generator at a time.
        processors: u32 = 4,
        /// Probability that a generator waits for its request at once.
        critical_share: f64 as Ratio = 0.5,
        /// Probability that a generator waits for its request after a time limit.
        limited_share: f64 as Ratio = 0.0,
        /// Time limit in ms, counted in computation of the generator; negative draws are drawn again.
        time_limit: DistributionSpec where WAITS = DistributionSpec::exponential(0.0, 10.0),
        /// Probability that a request is sequential to the generator's previous one, with the same size and
        /// direction.
        sequential_share: f64 as Ratio = 0.0,
        /// Probability that a request lies near the generator's previous one.
        local_share: f64 as Ratio = 0.0,
        /// Probability that a request is a read, unless it is sequential.
        read_share: f64 as Ratio = 1.0,
        /// Computation before a request, in ms; negative draws count as 0.
        interarrival: DistributionSpec = DistributionSpec::exponential(0.0, 10.0),
        /// Computation before a sequential request, in ms; negative draws count as 0.
        sequential_interarrival: DistributionSpec where FOLLOWS = DistributionSpec::exponential(0.0, 10.0),
        /// Computation before a local request, in ms; negative draws count as 0.
        local_interarrival: DistributionSpec where LOCAL = DistributionSpec::exponential(0.0, 10.0),
        /// Distance of a local request from the previous one, in sectors of 512 B.
        local_distance: DistributionSpec where LOCAL = DistributionSpec::uniform(-1000.0, 1000.0),
        /// Size in sectors of 512 B, truncated to a whole number and rounded up to whole blocks; sizes of 0
        /// and requests beyond the footprint are drawn again.
        size: DistributionSpec = DistributionSpec::exponential(0.0, 8.0),
        /// Unit of addresses and sizes, a multiple of 512B.
        block_size: Size = Size::from_bytes(4096),
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
        /// Random number generator.
        generator: Generator = Generator::Xoshiro,
    }
}

/// Maximum number of generators, and of processors.
const MOST: u32 = 4096;

/// Maximum draws of a time limit.
const TRIES: u32 = 1000;

impl WorkloadKind for Generators {
    const SUMMARY: &'static str =
        "generators that compute and wait for some of their requests, as DiskSim's processes";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        checks::positive("workload.requests", self.requests)?;
        for (key, number) in
            [("workload.generators", self.generators), ("workload.processors", self.processors)]
        {
            if !(1..=MOST).contains(&number) {
                return Err(Invalid::new(&[key], format!("{number} is not 1 to {MOST}")).into());
            }
        }
        let shares = [
            ("workload.critical_share", self.critical_share),
            ("workload.limited_share", self.limited_share),
            ("workload.sequential_share", self.sequential_share),
            ("workload.local_share", self.local_share),
            ("workload.read_share", self.read_share),
        ];
        for (key, share) in shares {
            checks::share(key, share)?;
        }
        for pair in [&shares[..2], &shares[2..4]] {
            if pair[0].1 + pair[1].1 > 1.0 {
                let keys = [pair[0].0, pair[1].0];
                return Err(Invalid::new(&keys, "the sum is above 1".to_owned()).into());
            }
        }
        never_negative("workload.interarrival", self.interarrival)?;
        never_negative("workload.sequential_interarrival", self.sequential_interarrival)?;
        never_negative("workload.local_interarrival", self.local_interarrival)?;
        never_negative("workload.time_limit", self.time_limit)?;
        let footprint = self.footprint.sectors(context.capacity_sectors)?;
        let block_sectors = checks::block_sectors(self.block_size, footprint)?;
        let draws = GeneratorDraws {
            sequential_share: self.sequential_share,
            local_share: self.local_share,
            read_share: self.read_share,
            interarrival: self.interarrival,
            sequential_interarrival: self.sequential_interarrival,
            local_interarrival: self.local_interarrival,
            local_distance: self.local_distance,
            size: self.size,
            block_sectors,
            blocks: footprint / u64::from(block_sectors),
            now: NOWHERE,
        };
        let mut state = Processes {
            critical_share: self.critical_share,
            limited_share: self.limited_share,
            time_limit: self.time_limit,
            generators: vec![GeneratorProcess::new(draws); self.generators as usize],
            processors: vec![None; self.processors as usize],
            ready: VecDeque::new(),
            incomplete: BTreeSet::new(),
            random: self.generator.first(context, streams::GENERATORS),
        };
        state.begin().map_err(no_request)?;
        state.random = self.generator.later(context, state.random);
        Ok(Box::new(GeneratorLoad { requests: self.requests, issued: 0, given: None, state }))
    }
}

/// An act of a generator.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ProcessAct {
    /// Issues the request drawn last.
    Issue,
    /// Waits for a request, unless it is complete.
    Wait(u64),
    /// Draws the next request.
    Draw,
}

/// How a generator waits for its request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum WaitRule {
    Never,
    AtOnce,
    /// After computing for a number of ms.
    After(f64),
}

/// A running generator.
#[derive(Debug, Clone)]
struct GeneratorProcess {
    draws: GeneratorDraws,
    wait: WaitRule,
    /// Its next acts, each with the computation before it in ms.
    acts: VecDeque<(f64, ProcessAct)>,
    /// Time-limited requests, by the computation left before it waits for them, in ms.
    limits: Vec<(f64, u64)>,
    /// The request that it waits for.
    asleep: Option<u64>,
}

impl GeneratorProcess {
    fn new(draws: GeneratorDraws) -> GeneratorProcess {
        let (acts, limits) = (VecDeque::new(), Vec::new());
        GeneratorProcess { draws, wait: WaitRule::Never, acts, limits, asleep: None }
    }

    /// Plans the request drawn last, after computing for `pause_ms`, and the waits before it.
    fn plan(&mut self, pause_ms: f64) {
        self.limits.sort_by(|one, other| one.0.total_cmp(&other.0));
        let before = self.limits.partition_point(|(left, _)| *left < pause_ms);
        let mut computed = 0.0;
        for (left, id) in self.limits.drain(..before) {
            self.acts.push_back((left - computed, ProcessAct::Wait(id)));
            computed = left;
        }
        self.acts.push_back((pause_ms - computed, ProcessAct::Issue));
        for (left, _) in &mut self.limits {
            *left -= pause_ms;
        }
    }
}

/// Generators and processors at a point in time.
#[derive(Debug, Clone)]
struct Processes {
    critical_share: f64,
    limited_share: f64,
    time_limit: DistributionSpec,
    generators: Vec<GeneratorProcess>,
    /// For each processor, its generator and the time of its next act in ms.
    processors: Vec<Option<(usize, f64)>>,
    /// Generators that wait for a processor.
    ready: VecDeque<usize>,
    /// Requests under way for which a generator waits or may wait.
    incomplete: BTreeSet<u64>,
    random: RandomSource,
}

impl Processes {
    /// Draws the first request of each generator, and starts them; the last one is the first, as in
    /// the original.
    fn begin(&mut self) -> Result<(), String> {
        for number in (0..self.generators.len()).rev() {
            let pause_ms = self.generators[number].draws.jump(&mut self.random)?;
            self.plan(number, pause_ms)?;
            self.ready.push_back(number);
        }
        for processor in 0..self.processors.len() {
            self.leave(processor, 0.0);
        }
        Ok(())
    }

    /// Decides how a generator waits for the request drawn last, and plans it.
    fn plan(&mut self, number: usize, pause_ms: f64) -> Result<(), String> {
        let class = self.random.unit() - self.critical_share;
        let wait = if class < 0.0 {
            WaitRule::AtOnce
        } else if class < self.limited_share {
            let mut draws = (0..TRIES).map(|_| self.random.sample(self.time_limit));
            let limit = draws.find(|limit| *limit >= 0.0);
            WaitRule::After(limit.ok_or("workload.time_limit gave no positive time")?)
        } else {
            WaitRule::Never
        };
        let process = &mut self.generators[number];
        process.wait = wait;
        process.plan(pause_ms);
        Ok(())
    }

    /// The processor with the next act, and its time in ms.
    fn first(&self) -> Option<(usize, f64)> {
        let acts = self.processors.iter().enumerate();
        let acts = acts.filter_map(|(number, it)| it.map(|(_, at)| (number, at)));
        acts.min_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// Lets a generator run on a processor from `at` ms.
    fn run(&mut self, processor: usize, number: usize, at: f64) {
        let after = self.generators[number].acts.front().map_or(0.0, |(after, _)| *after);
        self.processors[processor] = Some((number, at + after));
    }

    /// Gives a free processor to the next generator that waits for one.
    fn leave(&mut self, processor: usize, at: f64) {
        self.processors[processor] = None;
        if let Some(number) = self.ready.pop_front() {
            self.run(processor, number, at);
        }
    }

    /// Carries out all acts up to `until` ms that precede the next request; returns its generator and
    /// its time.
    fn go_on(&mut self, until: f64) -> Result<Option<(usize, f64)>, String> {
        while let Some((processor, at)) = self.first() {
            let (number, _) = self.processors[processor].expect("it has an act");
            let act = self.generators[number].acts.front().map(|(_, act)| *act);
            if at > until || act == Some(ProcessAct::Issue) {
                return Ok((act == Some(ProcessAct::Issue)).then_some((number, at)));
            }
            self.generators[number].acts.pop_front();
            match act.expect("it has acts") {
                ProcessAct::Wait(id) if self.incomplete.contains(&id) => {
                    self.generators[number].asleep = Some(id);
                    self.leave(processor, at);
                    continue;
                }
                ProcessAct::Draw => {
                    let pause_ms = self.generators[number].draws.draw(&mut self.random)?;
                    self.plan(number, pause_ms)?;
                }
                _ => {}
            }
            self.run(processor, number, at);
        }
        Ok(None)
    }

    /// Issues a generator's request at `at` ms.
    fn issue(&mut self, number: usize, at: f64, id: u64) {
        let process = &mut self.generators[number];
        process.acts.pop_front();
        match process.wait {
            WaitRule::Never => {}
            WaitRule::AtOnce => process.acts.push_back((0.0, ProcessAct::Wait(id))),
            WaitRule::After(limit) => process.limits.push((limit, id)),
        }
        process.acts.push_back((0.0, ProcessAct::Draw));
        if process.wait != WaitRule::Never {
            self.incomplete.insert(id);
        }
        let on = |it: &Option<(usize, f64)>| it.is_some_and(|(on, _)| on == number);
        let processor = self.processors.iter().position(on).expect("it runs");
        self.run(processor, number, at);
    }

    /// Wakes the generators that wait for a request, which is complete at `at` ms.
    fn complete(&mut self, id: u64, at: f64) {
        if !self.incomplete.remove(&id) {
            return;
        }
        for number in 0..self.generators.len() {
            if self.generators[number].asleep == Some(id) {
                self.generators[number].asleep = None;
                self.ready.push_back(number);
            }
        }
        if self.processors[0].is_none() {
            self.leave(0, at);
        }
    }
}

/// A request that is returned and may be taken back, with its generator and its time in ms.
#[derive(Debug, Clone, Copy, PartialEq)]
struct NextIssue {
    number: usize,
    at_ms: f64,
}

/// A running load.
struct GeneratorLoad {
    requests: u64,
    issued: u64,
    given: Option<NextIssue>,
    state: Processes,
}

impl GeneratorLoad {
    /// Submits the request that was returned last.
    fn submit(&mut self) -> Result<(), WorkloadError> {
        if let Some(NextIssue { number, at_ms }) = self.given.take() {
            self.state.go_on(at_ms).map_err(no_size)?;
            self.state.issue(number, at_ms, self.issued);
            self.issued += 1;
        }
        Ok(())
    }

    /// The next request, if no other completes before it.
    fn ahead(&self) -> Result<Option<(NextIssue, Processes)>, WorkloadError> {
        let mut state = self.state.clone();
        let next = state.go_on(f64::INFINITY).map_err(no_size)?;
        Ok(next.map(|(number, at_ms)| (NextIssue { number, at_ms }, state)))
    }
}

impl Workload for GeneratorLoad {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        self.submit()?;
        if self.issued == self.requests {
            return Ok(None);
        }
        let Some((given, state)) = self.ahead()? else { return Ok(None) };
        let clock_ns = (given.at_ms * 1e6).round();
        if clock_ns >= Time::MAX as f64 {
            return Err(WorkloadError(format!(
                "workload.interarrival: request {} would arrive after more than 500 years",
                self.issued
            )));
        }
        self.given = Some(given);
        let request = state.generators[given.number].draws.request(self.issued);
        Ok(Some(Arrival { at: (clock_ns as Time).max(now), request }))
    }

    fn completed(&mut self, completion: &Completion) {
        let at_ms = completion.at as f64 / 1e6;
        if completion.request.id == self.issued && self.submit().is_err() {
            return;
        }
        // The generators draw as they go on; a draw that fails does so again in `next`.
        if self.state.go_on(at_ms).is_ok() {
            self.state.complete(completion.request.id, at_ms);
        }
    }

    fn take_back(&mut self) -> bool {
        let Some(given) = self.given else { return false };
        let is_other = self.ahead().map_or(true, |next| next.is_none_or(|(next, _)| next != given));
        if is_other {
            self.given = None;
        }
        is_other
    }

    fn has_rate(&self) -> bool {
        self.state.critical_share + self.state.limited_share < 1.0
    }

    fn expected_requests(&self) -> Option<u64> {
        Some(self.requests)
    }
}

#[cfg(test)]
mod tests;
