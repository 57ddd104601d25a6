//! Threads in classes: each class has its own rate, mix of reads and writes, and statistics.
//!
//! A thread issues by the clock or as fast as possible, with at most `depth` requests outstanding.
//! A request due at full depth is submitted on the next completion, so a late thread catches up.
//! Latency is measured from submission, not from the scheduled time. Each thread has its own
//! submission queue; queues are numbered in the order of the class names.

mod config;

use crate::chance::Chance;
use crate::error::BuildError;
use crate::kind::{Context, WorkloadKind};
use crate::pattern::{AccessPattern, Cursor, PatternKeys};
use crate::{checks, streams};
pub use config::{Arrivals, ClassRate, ThreadClass, ThreadClassPartial, Threads, ThreadsPartial};
use engine::{
    Arrival, Class, Completion, Distribution, Lba, Op, Random, Request, Time, Workload,
    WorkloadError, Xoshiro256,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl WorkloadKind for Threads {
    const SUMMARY: &'static str =
        "classes of threads, each with its own rate, queue depth, submission queue and statistics";
    const IS_STATIONARY: bool = true;

    fn reach(&self, context: &Context) -> Option<u64> {
        let capacity = context.capacity_sectors;
        let each = self.classes.0.values().map(|class| class.footprint.sectors(capacity).ok());
        each.max().flatten()
    }

    fn writes_uniformly(&self, capacity_sectors: u64, page_sectors: u64) -> bool {
        let mut writing = self.classes.0.values().map(|it| it.keys()).filter(|it| !it.only_reads());
        let is_uniform = |it: PatternKeys<'_>| it.writes_uniformly(capacity_sectors, page_sectors);
        writing.next().is_some_and(is_uniform) && writing.all(is_uniform)
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        checks::positive("workload.requests", self.requests)?;
        self.check()?;
        let mut load = Load {
            classes: Vec::new(),
            threads: Vec::new(),
            limit: self.requests,
            issued: 0,
            waiting: BinaryHeap::new(),
            turns: 0,
            given: None,
        };
        for (index, (name, class)) in self.classes.0.iter().enumerate() {
            // Each class and each thread has its own random source.
            let pattern = class
                .pattern(context.capacity_sectors, streams::derived(context.seed, index as u64))
                .map_err(|it| config::within(name, it))?;
            let draws = streams::derived(context.draws(), index as u64);
            load.add(name, class, self.rate_of(class), pattern, draws);
        }
        for thread in 0..load.threads.len() {
            load.wait(thread as u16, 0);
        }
        Ok(Box::new(load))
    }
}

/// State shared by the threads of a class.
struct Shared {
    class: Class,
    pattern: AccessPattern,
    arrivals: Arrivals,
    /// Mean time between two requests of a thread, ns; 0 for an unlimited rate.
    period_ns: f64,
    durable: Chance,
    flush_every: u64,
}

/// A running thread.
struct Thread {
    /// Index of its class.
    of: u16,
    /// Time of the next request, ns.
    due_ns: f64,
    /// Number of requests that may be issued before a completion.
    free: u32,
    /// True while the thread waits for its scheduled time.
    is_waiting: bool,
    /// Writes since its last flush.
    writes: u64,
    /// True if the next request is a flush.
    flushes: bool,
    /// A drawn request, withdrawn before submission.
    held: Option<Request>,
    cursor: Cursor,
    gaps: Xoshiro256,
    durability: Xoshiro256,
}

/// Running threads.
struct Load {
    classes: Vec<Shared>,
    /// Threads by queue number.
    threads: Vec<Thread>,
    limit: u64,
    issued: u64,
    /// Threads ready to issue, by time and insertion, with their numbers.
    waiting: BinaryHeap<Reverse<(Time, u64, u16)>>,
    /// Insertions into `waiting`.
    turns: u64,
    /// The last arrival, while it can be withdrawn.
    given: Option<Arrival>,
}

impl Load {
    /// Adds the threads of a class with a total rate in requests per second; `None` is unlimited.
    fn add(
        &mut self,
        name: &str,
        config: &ThreadClass,
        rate: Option<f64>,
        pattern: AccessPattern,
        seed: u64,
    ) {
        let period_ns = rate.map_or(0.0, |rate| 1e9 * f64::from(config.threads) / rate);
        let first = self.threads.len() as u32;
        for index in 0..config.threads {
            let own = streams::derived(seed, u64::from(index));
            let mut gaps = Xoshiro256::new(own, streams::THREAD_GAPS);
            // With even spacing, the threads of a class alternate.
            let due_ns = match config.arrivals {
                Arrivals::Fixed => period_ns * f64::from(index) / f64::from(config.threads),
                Arrivals::Poisson => gap(Arrivals::Poisson, period_ns, &mut gaps),
            };
            self.threads.push(Thread {
                of: self.classes.len() as u16,
                due_ns,
                free: config.depth,
                is_waiting: false,
                writes: 0,
                flushes: false,
                held: None,
                cursor: pattern.cursor(index, config.threads, seed),
                gaps,
                durability: Xoshiro256::new(own, streams::THREAD_DURABILITY),
            });
        }
        self.classes.push(Shared {
            class: Class {
                name: name.to_owned(),
                queues: first..first + config.threads,
                has_own_period: false,
            },
            pattern,
            arrivals: config.arrivals,
            period_ns,
            durable: Chance::new(config.fua),
            flush_every: config.flush_every,
        });
    }

    /// Schedules a thread's next request, not before `now`.
    fn wait(&mut self, number: u16, now: Time) {
        let thread = &mut self.threads[usize::from(number)];
        thread.is_waiting = true;
        self.waiting.push(Reverse((now.max(thread.due_ns.round() as Time), self.turns, number)));
        self.turns += 1;
    }

    /// Submits the last request returned: its thread continues.
    fn submitted(&mut self, Arrival { at, request }: Arrival) {
        let thread = &mut self.threads[usize::from(request.queue)];
        let shared = &self.classes[usize::from(thread.of)];
        thread.writes += u64::from(request.op == Op::Write);
        // A flush immediately follows the last write.
        thread.flushes = request.op == Op::Write && thread.writes == shared.flush_every;
        if thread.flushes {
            thread.writes = 0;
        } else {
            thread.due_ns += gap(shared.arrivals, shared.period_ns, &mut thread.gaps);
        }
        if thread.free > 0 {
            self.wait(request.queue, at);
        }
    }

    fn draw(&mut self, number: u16) -> Request {
        let thread = &mut self.threads[usize::from(number)];
        if let Some(request) = thread.held.take() {
            return request;
        }
        let queue = number;
        if thread.flushes {
            return Request { queue, ..Request::new(0, Op::Flush, Lba(0), 0) };
        }
        let shared = &self.classes[usize::from(thread.of)];
        let request = shared.pattern.draw(&mut thread.cursor, 0);
        let is_write = request.op == Op::Write;
        let bits = if is_write && shared.durable.needs_bits() {
            thread.durability.below(1 << Chance::BITS)
        } else {
            0
        };
        Request { queue, fua: is_write && shared.durable.decide(bits), ..request }
    }
}

/// Draws the time between two requests of a thread, ns.
fn gap(arrivals: Arrivals, mean: f64, random: &mut Xoshiro256) -> f64 {
    match arrivals {
        _ if mean == 0.0 => 0.0,
        Arrivals::Fixed => mean,
        Arrivals::Poisson => Distribution::Exponential { base: 0.0, mean }.sample(random),
    }
}

impl Workload for Load {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if let Some(given) = self.given.take() {
            self.submitted(given);
        }
        if self.issued == self.limit {
            return Ok(None);
        }
        let Some(Reverse((at, _, number))) = self.waiting.pop() else { return Ok(None) };
        let request = Request { id: self.issued, ..self.draw(number) };
        self.issued += 1;
        let thread = &mut self.threads[usize::from(number)];
        thread.is_waiting = false;
        thread.free -= 1;
        let arrival = Arrival { at: at.max(now), request };
        self.given = Some(arrival);
        Ok(Some(arrival))
    }

    fn completed(&mut self, completion: &Completion) {
        let number = completion.request.queue;
        let thread = &mut self.threads[usize::from(number)];
        thread.free += 1;
        // A thread's next request is scheduled only after its previous one is submitted.
        let is_given = self.given.is_some_and(|given| given.request.queue == number);
        if !thread.is_waiting && !is_given {
            self.wait(number, completion.at);
        }
    }

    fn take_back(&mut self) -> bool {
        let Some(given) = self.given else { return false };
        let earlier = self.waiting.peek().is_some_and(|Reverse((at, ..))| *at < given.at);
        if earlier {
            self.given = None;
            self.issued -= 1;
            let thread = &mut self.threads[usize::from(given.request.queue)];
            thread.held = Some(given.request);
            thread.free += 1;
            self.wait(given.request.queue, given.at);
        }
        earlier
    }

    fn has_rate(&self) -> bool {
        self.classes.iter().any(|shared| shared.period_ns > 0.0)
    }

    fn held_back(&self, now: Time) -> u64 {
        let late = |thread: &Thread| {
            let period_ns = self.classes[usize::from(thread.of)].period_ns;
            let since = now as f64 - thread.due_ns;
            if period_ns > 0.0 && since > 0.0 { (since / period_ns).ceil() as u64 } else { 0 }
        };
        self.threads.iter().map(late).sum()
    }

    fn expected_requests(&self) -> Option<u64> {
        Some(self.limit)
    }

    fn queues(&self) -> u32 {
        self.threads.len() as u32
    }

    fn classes(&self) -> Vec<Class> {
        self.classes.iter().map(|shared| shared.class.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
