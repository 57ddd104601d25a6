//! Several concurrent workloads, each with its own full section and its own part of the addresses.
//!
//! A stream without a weight keeps its own pace: its clock or its queue depth. Streams with weights
//! take turns: the next stream is drawn by weight, and the mix waits until that stream can issue.
//! Requests are thus divided by weight until the first stream ends. Streams draw from independent
//! random sources, and each is built as if its part were the device.

mod command;
mod config;

use super::WorkloadConfig;
use crate::error::BuildError;
use crate::in_flight::InFlight;
use crate::kind::{Context, WorkloadKind};
use crate::{checks, streams};
pub use command::AsCommand;
use command::Becoming;
pub use config::{MixStream, MixStreams, stream_keys};
use engine::{
    Arrival, Class, Completion, Handle, Lba, Op, Random, Request, SECTOR_BYTES, Time, Workload,
    WorkloadError, Xoshiro256,
};
use options::{Invalid, Size};

options::options! {
    /// Several workloads at once.
    pub struct Mix as MixPartial {
        /// Maximum number of requests; if not given, until every stream ends.
        requests: Option<u64> = None,
        /// The workloads to mix.
        streams: MixStreams = MixStreams::default(),
    }
}

/// Maximum number of streams, which bounds memory.
const MOST_STREAMS: usize = 1024;

/// Maximum number of submission queues: requests name theirs in 16 bits.
const MOST_QUEUES: u32 = 1 << 16;

impl WorkloadKind for Mix {
    const SUMMARY: &'static str = "several concurrent workloads, by weight or at their own rate, each on its part of the device";

    fn reach(&self, context: &Context) -> Option<u64> {
        let capacity = context.capacity_sectors;
        let end = |stream: &MixStream| {
            stream.to.map_or(Some(capacity), |to| to.sectors_of("workload.to", capacity).ok())
        };
        self.streams.0.iter().map(end).max().flatten()
    }

    fn guessed(&self) -> Vec<&'static str> {
        let mut keys: Vec<_> = self.streams.0.iter().flat_map(|it| it.workload.guessed()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        let limit = checks::limit(self.requests)?;
        let streams = &self.streams.0;
        if streams.is_empty() || streams.len() > MOST_STREAMS {
            let problem = format!(
                "a mix has 1 to {MOST_STREAMS} streams, each a table [[workload.streams]] with its \
                 kind; here are {}",
                streams.len()
            );
            return Err(Invalid::new(&["workload.streams"], problem).into());
        }
        let mut parts: Vec<Part> = Vec::with_capacity(streams.len());
        let mut queues = 0;
        for (index, stream) in streams.iter().enumerate() {
            let mut part =
                part(stream, index, context).map_err(|error| within_stream(index, error))?;
            part.first_queue = queues as u16;
            queues += part.workload.queues();
            if queues > MOST_QUEUES {
                let problem = format!("the streams have more than {MOST_QUEUES} submission queues");
                return Err(Invalid::new(&["workload.streams"], problem).into());
            }
            parts.push(part);
        }
        Ok(Box::new(Mixture {
            parts,
            turn: None,
            given: None,
            in_flight: InFlight::new(limit),
            named: 0,
            random: Xoshiro256::new(context.draws(), streams::MIX),
        }))
    }
}

/// Adds the stream to an error, and keeps the key `streams` for its position in the file.
fn within_stream(index: usize, error: BuildError) -> BuildError {
    match error {
        BuildError::Invalid(mut invalid) => {
            for key in &mut invalid.keys {
                *key = key.replacen("workload.", &format!("workload.streams[{index}]."), 1);
            }
            invalid.keys.push("workload.streams".to_owned());
            BuildError::Invalid(invalid)
        }
        BuildError::Input(message) => {
            BuildError::Input(format!("workload.streams[{index}]: {message}"))
        }
    }
}

/// Builds a stream on its part of the device.
fn part(stream: &MixStream, index: usize, context: &Context) -> Result<Part, BuildError> {
    let bound = |key: &str, bound: Option<crate::footprint::Footprint>| {
        bound.map(|bound| bound.sectors_of(key, context.capacity_sectors)).transpose()
    };
    let first = bound("workload.from", stream.from)?.unwrap_or(0);
    let end = bound("workload.to", stream.to)?.unwrap_or(context.capacity_sectors);
    if first >= end {
        let size = |sectors: u64| Size::from_bytes(sectors.saturating_mul(SECTOR_BYTES));
        let problem = format!("from {} to {} is nothing", size(first), size(end));
        return Err(Invalid::new(&["workload.from", "workload.to"], problem).into());
    }
    if let Some(weight) = stream.weight {
        if !(weight.is_finite() && weight > 0.0) {
            let problem = format!("{weight} is not a number above 0");
            return Err(Invalid::new(&["workload.weight"], problem).into());
        }
        if by_clock(&stream.workload) {
            let kind = stream.workload.kind();
            let problem = format!("{kind} asks by the clock and cannot wait for its turn");
            return Err(Invalid::new(&["workload.weight"], problem).into());
        }
    }
    let seed = streams::derived(context.seed, index as u64);
    let inner = Context {
        capacity_sectors: end - first,
        scale: context.scale,
        // A part of the device has no volumes.
        volumes: 1,
        zones: context.zones.filter(|_| first == 0 && end == context.capacity_sectors),
        seed,
        pass: context.pass,
        inputs: context.inputs.clone(),
    };
    Ok(Part {
        workload: stream.workload.build(&inner)?,
        first,
        first_queue: 0,
        handle: stream.handle.map_or(Handle::NONE, |it| Handle::new(it.into())),
        becoming: Becoming::new(stream.command, end - first),
        weight: stream.weight,
        outstanding: 0,
        held: None,
    })
}

/// True if a workload has its own arrival times, which turns would distort.
fn by_clock(workload: &WorkloadConfig) -> bool {
    match workload {
        WorkloadConfig::Open(_) | WorkloadConfig::Bursts(_) | WorkloadConfig::Trace(_) => true,
        WorkloadConfig::Mix(mix) => mix.streams.0.iter().any(|inner| by_clock(&inner.workload)),
        _ => false,
    }
}

/// A running stream.
struct Part {
    workload: Box<dyn Workload>,
    /// Start on the device, in sectors.
    first: u64,
    /// First submission queue; each stream has its own queues.
    first_queue: u16,
    /// Placement handle of writes, if any.
    handle: Handle,
    /// Command that replaces requests.
    becoming: Becoming,
    /// `None` for a stream with its own pace; removed when the stream has ended.
    weight: Option<f64>,
    outstanding: u64,
    /// Next arrival, not yet passed on.
    held: Option<Arrival>,
}

impl Part {
    /// Fetches the next arrival unless one is held.
    fn ask(&mut self, now: Time) -> Result<Option<Time>, WorkloadError> {
        if self.held.is_none() {
            self.held = self.workload.next(now)?;
        }
        Ok(self.held.map(|arrival| arrival.at))
    }

    /// The device address and the queue of a request.
    fn there(&self, request: &Request) -> (Lba, u16) {
        (Lba(self.first + request.lba.0), self.first_queue + request.queue)
    }
}

/// A running mix.
struct Mixture {
    parts: Vec<Part>,
    /// Weighted stream that issues next.
    turn: Option<usize>,
    /// The stream of the last arrival, and that arrival as the stream returned it.
    given: Option<(usize, Arrival)>,
    /// Stream, the stream's request number, and operation of each outstanding request; `None` for a
    /// range that precedes a copy.
    in_flight: InFlight<(usize, Option<(u64, Op)>)>,
    /// Number of writes with the stream's placement handle.
    named: u64,
    random: Xoshiro256,
}

impl Mixture {
    /// Arrival time and index of the next weighted stream; `None` if it has to wait or none is
    /// left.
    fn weighted(&mut self, now: Time) -> Result<Option<(Time, usize)>, WorkloadError> {
        loop {
            let Some(index) = self.turn.or_else(|| self.draw_turn()) else { return Ok(None) };
            self.turn = Some(index);
            let part = &mut self.parts[index];
            if let Some(at) = part.ask(now)? {
                return Ok(Some((at, index)));
            }
            if part.outstanding > 0 {
                return Ok(None);
            }
            // Without outstanding and further requests, the stream has ended.
            part.weight = None;
            self.turn = None;
        }
    }

    fn draw_turn(&mut self) -> Option<usize> {
        let weights = || self.parts.iter().enumerate().filter_map(|(i, p)| Some((i, p.weight?)));
        let total: f64 = weights().map(|(_, weight)| weight).sum();
        let last = weights().next_back()?.0;
        let mut left = self.random.unit() * total;
        let drawn = weights().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        Some(drawn.map_or(last, |(index, _)| index))
    }
}

impl Workload for Mixture {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if self.in_flight.is_spent() {
            return Ok(None);
        }
        let mut earliest = self.weighted(now)?;
        for (index, part) in self.parts.iter_mut().enumerate() {
            if part.weight.is_none()
                && let Some(at) = part.ask(now)?
                && earliest.is_none_or(|(other, _)| at < other)
            {
                earliest = Some((at, index));
            }
        }
        let Some((at, index)) = earliest else { return Ok(None) };
        let part = &mut self.parts[index];
        let before = part.held.and_then(|it| part.becoming.range_before(&it.request));
        if let Some(range) = before {
            self.given = None;
            let id = self.in_flight.issue((index, None));
            let (lba, queue) = part.there(&range);
            return Ok(Some(Arrival {
                at: at.max(now),
                request: Request { id, lba, queue, ..range },
            }));
        }
        let held = part.held.take().expect("it was asked for");
        self.given = Some((index, held));
        let request = held.request;
        part.outstanding += 1;
        if part.weight.is_some() {
            self.turn = None;
        }
        let id = self.in_flight.issue((index, Some((request.id, request.op))));
        let (lba, queue) = part.there(&request);
        let handle = match part.handle {
            Handle::NONE => request.handle,
            named if request.op == Op::Write => named,
            _ => Handle::NONE,
        };
        // Writes with the stream's handle share one notice.
        self.named += u64::from(part.handle != Handle::NONE && handle != Handle::NONE);
        let request = Request { id, lba, queue, handle, ..part.becoming.becomes(request) };
        Ok(Some(Arrival { at: at.max(now), request }))
    }

    fn completed(&mut self, completion: &Completion) {
        let (index, own) = self.in_flight.complete(completion.request.id);
        let Some((id, op)) = own else { return };
        let part = &mut self.parts[index];
        part.outstanding -= 1;
        let lba = Lba(completion.request.lba.0 - part.first);
        let queue = completion.request.queue - part.first_queue;
        let request = Request { id, op, lba, queue, ..completion.request };
        part.workload.completed(&Completion { request, ..*completion });
        // The completion may bring forward the stream's next request.
        if part.held.is_some_and(|held| held.at > completion.at) && part.workload.take_back() {
            part.held = None;
        }
    }

    fn take_back(&mut self) -> bool {
        let Some((index, held)) = self.given.take() else { return false };
        let part = &mut self.parts[index];
        part.outstanding -= 1;
        part.held = (!part.workload.take_back()).then_some(held);
        if part.weight.is_some() {
            self.turn = Some(index);
        }
        self.in_flight.withdraw();
        true
    }

    fn has_rate(&self) -> bool {
        self.parts.iter().any(|part| part.workload.has_rate())
    }

    fn held_back(&self, now: Time) -> u64 {
        self.parts.iter().map(|part| part.workload.held_back(now)).sum()
    }

    fn has_commands(&self) -> bool {
        let has = |it: &Part| it.becoming.command.has_steps() || it.workload.has_commands();
        self.parts.iter().any(has)
    }

    fn needs_time(&self) -> Option<&'static str> {
        let by_time = || self.parts.iter().find_map(|part| part.workload.needs_time());
        if self.in_flight.limit().is_some() { None } else { by_time() }
    }

    fn queues(&self) -> u32 {
        let parts = self.parts.iter();
        parts.map(|part| u32::from(part.first_queue) + part.workload.queues()).max().unwrap_or(1)
    }

    /// Classes of its streams, each with the number of its stream, from 1.
    fn classes(&self) -> Vec<Class> {
        let numbered = self.parts.iter().zip(1..);
        let of_part = |(part, number): (&Part, u32)| {
            let first = u32::from(part.first_queue);
            let classes = part.workload.classes().into_iter();
            classes.map(move |Class { name, queues, has_own_period }| Class {
                name: format!("stream {number} {name}"),
                queues: first + queues.start..first + queues.end,
                has_own_period,
            })
        };
        numbered.flat_map(of_part).collect()
    }

    fn expected_requests(&self) -> Option<u64> {
        let parts = self.parts.iter().map(|part| part.workload.expected_requests());
        let sum = parts.sum::<Option<u64>>();
        match self.in_flight.limit() {
            None => sum,
            Some(limit) => Some(sum.map_or(limit, |sum| sum.min(limit))),
        }
    }

    fn notices(&self) -> Vec<(&'static str, u64)> {
        let mut notices: Vec<(&'static str, u64)> = Vec::new();
        if self.named > 0 {
            notices.push((checks::NAMED_HANDLES, self.named));
        }
        for (what, count) in self.parts.iter().flat_map(|part| part.workload.notices()) {
            match notices.iter_mut().find(|(known, _)| *known == what) {
                Some((_, sum)) => *sum += count,
                None => notices.push((what, count)),
            }
        }
        notices
    }
}

#[cfg(test)]
mod tests;
