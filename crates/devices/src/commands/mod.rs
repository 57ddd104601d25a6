//! Commands of `NVMe` that take several steps, and namespaces: a device in front of any device, which asks it for
//! reads, writes, trims and flushes.
//!
//! A command takes at most two steps: reads or trims at once, then a write. No data are held, so the workload
//! decides how a comparison ends. All other requests are passed on unchanged, so a workload without commands has
//! the same results.

mod report;
mod steps;

pub use report::CommandsReport;

use engine::{
    Breakdown, Completion, Device, Followed, Marks, Namespace, NamespaceWish, Op, Request,
    SECTOR_BYTES, Status, Time,
};
use std::collections::{BTreeMap, VecDeque};
use steps::{Range, Step, Steps, bytes, range};

/// Limits of a copy: number of ranges, sectors of each, and total, as for a served device.
const COPY_RANGES: usize = 128;
const COPY_EACH_BYTES: u64 = 1 << 20;
const COPY_BYTES: u64 = 4 << 20;
/// Limits of a trim: number of ranges, and sectors of each: the standard's number, and the length
/// that a served device takes.
const TRIM_RANGES: usize = 256;
const TRIM_EACH_BYTES: u64 = 1 << 30;
/// Limit of a fused pair.
const FUSED_BYTES: u64 = 8 << 10;

/// Numbers of requests from here on are of steps; workloads count from 0.
const STEPS: u64 = 1 << 63;

/// A device with support for commands.
pub struct Commands<'a> {
    device: &'a mut dyn Device,
    namespaces: Vec<Namespace>,
    /// Sectors that are unreadable until rewritten.
    marks: Marks,
    /// Ranges for the next copy or trim of a queue.
    given: BTreeMap<u16, Vec<Range>>,
    steps: Steps,
    /// Answers without the device, in order.
    answers: VecDeque<Completion>,
    report: CommandsReport,
    buffer: Vec<Completion>,
}

impl<'a> Commands<'a> {
    /// In front of a device, whose addresses the namespaces divide, one behind the other; none: it is one.
    pub fn new(device: &'a mut dyn Device, wishes: &[NamespaceWish]) -> Commands<'a> {
        let mut first = 0;
        let mut next = |wish: &NamespaceWish| {
            let namespace = Namespace::new(first, *wish);
            first += wish.bytes;
            namespace
        };
        Commands {
            device,
            namespaces: wishes.iter().map(&mut next).collect(),
            marks: Marks::default(),
            given: BTreeMap::new(),
            steps: Steps::default(),
            answers: VecDeque::new(),
            report: CommandsReport::default(),
            buffer: Vec::new(),
        }
    }

    /// Number of commands, and mapped bytes of each namespace where they are counted.
    pub fn report(&self) -> CommandsReport {
        let used = |it: &Namespace| it.is_thin().then(|| it.used());
        self.report.with(self.namespaces.iter().map(used).collect())
    }

    /// The namespace in which a range lies as a whole, in whole blocks.
    fn namespace(&self, range: &Range) -> Result<Option<&Namespace>, Status> {
        if self.namespaces.is_empty() {
            return Ok(None);
        }
        let (first, end) = (range.start * SECTOR_BYTES, range.end * SECTOR_BYTES);
        let has = |it: &&Namespace| (it.first..it.first + it.wish.bytes).contains(&first);
        let found = self.namespaces.iter().find(has).ok_or(Status::OutOfRange)?;
        let block = u64::from(found.wish.block);
        if end > found.first + found.wish.bytes {
            Err(Status::OutOfRange)
        } else if !first.is_multiple_of(block) || !end.is_multiple_of(block) {
            Err(Status::InvalidField)
        } else {
            Ok(Some(found))
        }
    }

    /// Replaces the data of a range, if its namespace can map it.
    fn replace(&mut self, range: &Range) -> Result<(), Status> {
        if let Some(it) = self.namespace(range)? {
            it.map(range.start * SECTOR_BYTES - it.first, bytes(range))?;
        }
        self.marks.remove(range);
        Ok(())
    }

    /// A range is given up.
    fn give_up(&mut self, range: &Range) -> Result<(), Status> {
        if let Some(it) = self.namespace(range)? {
            it.unmap(range.start * SECTOR_BYTES - it.first, bytes(range));
        }
        self.marks.remove(range);
        Ok(())
    }

    /// Steps of a request that is not forwarded unchanged.
    ///
    /// # Errors
    /// What it ends with at once.
    fn plan(&mut self, request: &Request) -> Result<Option<Step>, Status> {
        let own = range(request);
        let given = self.given.remove(&request.queue).unwrap_or_default();
        if !given.is_empty() && !matches!(request.op, Op::Range | Op::Copy | Op::Trim) {
            // Ranges are part of a command that takes some.
            return Err(Status::InvalidField);
        }
        let reading = |ends| Step::of(request, Op::Read, std::slice::from_ref(&own)).ending(ends);
        Ok(match request.op {
            Op::Read => {
                self.namespace(&own)?;
                self.marks.meet(&own).then(|| reading(Status::Unreadable))
            }
            Op::Write => {
                self.replace(&own)?;
                None
            }
            Op::Trim => {
                let mut ranges = given;
                ranges.push(own);
                self.trims(request, &ranges)?
            }
            Op::Zeroes => {
                self.give_up(&own)?;
                self.report.begins(request.op, bytes(&own));
                Some(Step::of(request, Op::Trim, &[own]))
            }
            Op::Uncorrectable => {
                self.give_up(&own)?;
                if !self.marks.add(own.clone()) {
                    return Err(Status::CapacityExceeded);
                }
                self.report.begins(request.op, bytes(&own));
                Some(Step::of(request, Op::Trim, &[own]))
            }
            Op::Verify | Op::Compare | Op::Miscompare => {
                self.namespace(&own)?;
                let ends = match request.op {
                    _ if self.marks.meet(&own) => Status::Unreadable,
                    Op::Miscompare => Status::CompareFailure,
                    _ => Status::Ok,
                };
                self.report.begins(request.op, bytes(&own));
                Some(reading(ends))
            }
            Op::CompareWrite | Op::MiscompareWrite => Some(self.fused(request)?),
            Op::Range => {
                self.namespace(&own)?;
                let mut ranges = given;
                if ranges.len() >= TRIM_RANGES {
                    return Err(Status::SizeLimit);
                }
                ranges.push(own);
                self.given.insert(request.queue, ranges);
                self.report.begins(request.op, 0);
                Some(Step::nothing(request))
            }
            Op::Copy => Some(self.copy(request, &given)?),
            // Zone operations, and operations on all addresses.
            _ => None,
        })
    }

    fn trims(&mut self, request: &Request, ranges: &[Range]) -> Result<Option<Step>, Status> {
        if ranges.len() > TRIM_RANGES {
            return Err(Status::InvalidField);
        }
        for range in ranges {
            self.namespace(range)?;
        }
        if ranges.len() > 1 && ranges.iter().any(|it| bytes(it) > TRIM_EACH_BYTES) {
            return Err(Status::SizeLimit);
        }
        for range in ranges {
            self.give_up(range)?;
        }
        Ok((ranges.len() > 1).then(|| Step::of(request, Op::Trim, ranges)))
    }

    fn fused(&mut self, request: &Request) -> Result<Step, Status> {
        let own = range(request);
        self.namespace(&own)?;
        if bytes(&own) > FUSED_BYTES {
            return Err(Status::AtomicExceeded);
        }
        self.report.begins(request.op, bytes(&own));
        let step = Step::of(request, Op::Read, std::slice::from_ref(&own));
        if self.marks.meet(&own) {
            return Ok(step.ending(Status::Unreadable));
        }
        if request.op == Op::MiscompareWrite {
            return Ok(step.ending(Status::CompareFailure));
        }
        self.replace(&own)?;
        Ok(step.then_write(request))
    }

    fn copy(&mut self, request: &Request, sources: &[Range]) -> Result<Step, Status> {
        let (own, all) = (range(request), sources.iter().map(bytes).sum::<u64>());
        self.namespace(&own)?;
        if sources.len() > COPY_RANGES
            || all > COPY_BYTES
            || sources.iter().any(|it| bytes(it) > COPY_EACH_BYTES)
        {
            return Err(Status::SizeLimit);
        }
        // The host states the destination and the ranges' length.
        if all != bytes(&own) {
            return Err(Status::InvalidField);
        }
        let step = Step::of(request, Op::Read, sources);
        if sources.iter().any(|it| self.marks.meet(it)) {
            return Ok(step.ending(Status::Unreadable));
        }
        self.replace(&own)?;
        self.report.begins(request.op, all);
        Ok(step.then_write(request))
    }

    fn answer(&mut self, completion: Completion) {
        self.report.ended(completion.status);
        self.answers.push_back(completion);
    }

    /// A part of a step has ended: the next step, or the answer.
    fn part_ended(&mut self, part: &Completion) {
        match self.steps.part_ended(part, STEPS) {
            steps::After::Nothing => {}
            steps::After::Ask(request) => self.device.submit(part.at, request),
            steps::After::Answer(completion) => self.answer(completion),
        }
    }
}

impl Device for Commands<'_> {
    fn submit(&mut self, now: Time, request: Request) {
        match self.plan(&request) {
            Ok(None) => self.device.submit(now, request),
            Ok(Some(step)) if step.is_empty() => self.answer(at_once(request, now, Status::Ok)),
            Ok(Some(step)) => {
                for part in self.steps.begin(step, now, STEPS) {
                    self.device.submit(now, part);
                }
            }
            Err(status) => self.answer(at_once(request, now, status)),
        }
    }

    fn next_event(&self) -> Option<Time> {
        let own = self.answers.front().map(|it| it.at);
        self.device.next_event().into_iter().chain(own).min()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(at) = self.next_event().filter(|at| *at <= to) {
            completions.extend(self.answers.drain(..));
            if self.device.next_event().is_some_and(|event| event <= at) {
                let mut ended = std::mem::take(&mut self.buffer);
                self.device.advance(at, &mut ended);
                for completion in ended.drain(..) {
                    if completion.request.id < STEPS {
                        completions.push(completion);
                    } else {
                        self.part_ended(&completion);
                        completions.extend(self.answers.drain(..));
                    }
                }
                self.buffer = ended;
            }
        }
        // Components that observe only the clock see the new time.
        self.device.advance(to, completions);
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        completions.extend(self.answers.drain(..));
        let mut ended = Vec::new();
        self.device.cut(now, &mut ended);
        for completion in ended {
            if completion.request.id < STEPS {
                completions.push(completion);
            } else {
                self.part_ended(&completion);
                completions.extend(self.answers.drain(..));
            }
        }
        self.given.clear();
    }

    fn power_on(&mut self, now: Time) {
        self.device.power_on(now);
    }

    fn is_ready(&self) -> bool {
        self.device.is_ready()
    }

    fn has_ended(&self) -> bool {
        self.device.has_ended()
    }

    fn may_refuse(&self) -> bool {
        self.device.may_refuse()
    }

    fn followed(&self) -> Option<Followed> {
        self.device.followed()
    }

    fn capacity_sectors(&self) -> u64 {
        self.device.capacity_sectors()
    }
}

fn at_once(request: Request, now: Time, status: Status) -> Completion {
    Completion { request, submitted: now, at: now, breakdown: Breakdown::default(), status }
}

#[cfg(test)]
mod tests;
