//! `NVMe` commands with several steps, and namespaces: a layer over any device, which receives
//! reads, writes, trims and flushes.
//!
//! A command takes at most two steps: reads or trims at once, then a write. No data are stored, so
//! the workload decides the outcome of a comparison. Other requests pass unchanged, so a workload
//! without commands has the same results.

mod report;
mod steps;

pub use report::CommandsReport;

use engine::{
    Breakdown, Completion, Device, Followed, Marks, Namespace, NamespaceWish, Op, Request,
    SECTOR_BYTES, Standing, Status, Time,
};
use std::collections::{BTreeMap, VecDeque};
use steps::{Range, Step, Steps, bytes, range};

/// Copy limits, as for a served device: number of ranges, sectors per range, and sectors in total.
const COPY_RANGES: usize = 128;
const COPY_EACH_BYTES: u64 = 1 << 20;
const COPY_BYTES: u64 = 4 << 20;
/// Trim limits: number of ranges, from the standard; and sectors per range, from the served device.
const TRIM_RANGES: usize = 256;
const TRIM_EACH_BYTES: u64 = 1 << 30;
/// Maximum size of a fused pair, bytes.
const FUSED_BYTES: u64 = 8 << 10;

/// Ids from here on belong to steps; workloads count from 0.
const STEPS: u64 = 1 << 63;

/// A device with commands and namespaces.
pub struct Commands<'a> {
    device: &'a mut dyn Device,
    namespaces: Vec<Namespace>,
    /// Sectors that are unreadable until rewritten.
    marks: Marks,
    /// Ranges for the next copy or trim of each queue.
    given: BTreeMap<u16, Vec<Range>>,
    steps: Steps,
    /// Completions without a request to the device, in order.
    answers: VecDeque<Completion>,
    report: CommandsReport,
    buffer: Vec<Completion>,
}

impl<'a> Commands<'a> {
    /// Commands over a device whose addresses are divided into consecutive namespaces; without
    /// wishes, one namespace.
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

    /// Command counts, and mapped bytes of each namespace that counts them.
    pub fn report(&self) -> CommandsReport {
        let used = |it: &Namespace| it.is_thin().then(|| it.used());
        self.report.with(self.namespaces.iter().map(used).collect())
    }

    /// Namespace that contains a range, in whole blocks.
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

    /// Maps a range for a write, if its namespace has capacity left.
    fn replace(&mut self, range: &Range) -> Result<(), Status> {
        if let Some(it) = self.namespace(range)? {
            it.map(range.start * SECTOR_BYTES - it.first, bytes(range))?;
        }
        self.marks.remove(range);
        Ok(())
    }

    /// Unmaps a range.
    fn give_up(&mut self, range: &Range) -> Result<(), Status> {
        if let Some(it) = self.namespace(range)? {
            it.unmap(range.start * SECTOR_BYTES - it.first, bytes(range));
        }
        self.marks.remove(range);
        Ok(())
    }

    /// Steps of a request; `None` if it passes unchanged.
    ///
    /// # Errors
    /// The status with which it ends at once.
    fn plan(&mut self, request: &Request) -> Result<Option<Step>, Status> {
        let own = range(request);
        let given = self.given.remove(&request.queue).unwrap_or_default();
        if !given.is_empty() && !matches!(request.op, Op::Range | Op::Copy | Op::Trim) {
            // Ranges belong to a command that takes ranges.
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
        // The host states the destination and the total length.
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

    /// Handles a completed part of a step: the next step, or the completion.
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
        // Components that only watch the clock must see the new time.
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

    fn standing(&self) -> Standing {
        self.device.standing()
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
