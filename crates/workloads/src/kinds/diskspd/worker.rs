//! A running thread on one target: its next request, and the earliest time for it.

use super::command::{Bounds, Command, Pattern, Threads};
use crate::chance::Chance;
use crate::streams;
use engine::{Lba, Op, Random, Request, SECTOR_BYTES, Time, Xoshiro256};

/// Targets begin at multiples of this many bytes.
const ALIGNMENT: u64 = 4096;

/// Part of the device used by a command line for one target, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Offset of its first request.
    base: u64,
    /// Distance from the base to the last possible position of a request.
    last: u64,
}

impl Region {
    /// End of the last possible request of this size.
    pub fn end(&self, block: u64) -> u64 {
        self.base + self.last + block
    }
}

/// The regions of the targets. Errors are sentences.
pub fn regions(command: &Command, capacity: u64) -> Result<Vec<Region>, String> {
    let Bounds { size, most, base, thread_stride } = command.bounds;
    let same = |index: usize| {
        let name = &command.targets[index];
        command.targets.iter().position(|it| it.eq_ignore_ascii_case(name)).unwrap_or(index)
    };
    let different =
        (0..command.targets.len()).filter(|index| same(*index) == *index).count() as u64;
    let length = match size {
        Some(size) => size,
        None if different == 1 => capacity,
        None => capacity / different / ALIGNMENT * ALIGNMENT,
    };
    let step = length.div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT);
    if step.saturating_mul(different - 1).saturating_add(length) > capacity {
        return Err(format!(
            "-c: {different} targets of {length} bytes do not fit on {capacity} bytes"
        ));
    }
    if let Some(most) = most.filter(|most| *most > length) {
        return Err(format!("-f: {most} bytes are more than the {length} of a target"));
    }
    let end = most.unwrap_or(length);
    let Some(last) = end.checked_sub(base).and_then(|room| room.checked_sub(command.block)) else {
        let problem = format!(
            "-b: from byte {base} to byte {end} of a target no request of {} fits",
            command.block
        );
        return Err(problem);
    };
    let most_of_a_target = match command.threads {
        Threads::PerTarget(count) | Threads::InAll(count) => count,
    };
    if thread_stride.saturating_mul(most_of_a_target - 1) > last {
        return Err(format!("-T: the last thread would begin beyond the {end} bytes of a target"));
    }
    let mut found: Vec<Region> = Vec::new();
    let mut next = 0;
    for index in 0..command.targets.len() {
        let first = same(index);
        if first < index {
            found.push(found[first]);
            continue;
        }
        found.push(Region { base: next * step + base, last });
        next += 1;
    }
    Ok(found)
}

/// A running thread on a target.
pub struct Worker {
    /// Number of the target.
    target: usize,
    region: Region,
    /// Start, relative to the base.
    start: u64,
    /// Next sequential position, relative to the base.
    next: u64,
    random: Xoshiro256,
    pub in_flight: u64,
    issued: u64,
    /// Requests issued in this burst.
    burst: u64,
    /// End of the pause.
    resume: Time,
    /// Burst and pause before the last request, for its withdrawal.
    before: (u64, Time),
    /// A drawn request, withdrawn before submission.
    held: Option<Request>,
}

impl Worker {
    /// Thread `thread` on a target, with its own random stream.
    pub fn new(
        command: &Command,
        (target, region): (usize, Region),
        thread: u64,
        seed: u64,
    ) -> Self {
        let start = command.bounds.thread_stride * thread;
        Worker {
            target,
            region,
            start,
            next: start,
            random: Xoshiro256::new(seed, streams::DISKSPD),
            in_flight: 0,
            issued: 0,
            burst: 0,
            resume: 0,
            before: (0, 0),
            held: None,
        }
    }

    /// Time of the next arrival, barring earlier completions.
    pub fn ready(&self, command: &Command, started: Time, now: Time) -> Option<Time> {
        if self.in_flight >= command.outstanding {
            return None;
        }
        let due = command.rate.map_or(0, |rate| {
            // As in DiskSpd, a request waits until its own bytes are allowed.
            let bytes = u128::from(self.issued + 1) * u128::from(command.block);
            let ns = (bytes * 1_000_000_000).div_ceil(u128::from(rate));
            started.saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
        });
        Some(now.max(self.resume).max(due))
    }

    /// Returns the next request, submitted at `at`; `shared` has the positions of all targets.
    pub fn submit(
        &mut self,
        command: &Command,
        writes: Chance,
        shared: &mut [u64],
        at: Time,
    ) -> Request {
        self.before = (self.burst, self.resume);
        self.in_flight += 1;
        self.issued += 1;
        if let Some((most, pause)) = command.burst {
            self.burst += 1;
            if self.burst == most {
                self.burst = 0;
                self.resume = at.saturating_add(pause);
            }
        }
        if let Some(held) = self.held.take() {
            return held;
        }
        let bits = if writes.needs_bits() { self.random.below(1 << Chance::BITS) } else { 0 };
        let is_write = writes.decide(bits);
        let place = self.region.base + self.place(command.pattern, shared);
        let op = if is_write { Op::Write } else { Op::Read };
        let sectors = (command.block / SECTOR_BYTES) as u32;
        let request = Request::new(0, op, Lba(place / SECTOR_BYTES), sectors);
        Request { fua: is_write && command.durable, ..request }
    }

    /// Withdraws the last request.
    pub fn take_back(&mut self, request: Request) {
        (self.burst, self.resume) = self.before;
        self.in_flight -= 1;
        self.issued -= 1;
        self.held = Some(request);
    }

    fn place(&mut self, pattern: Pattern, shared: &mut [u64]) -> u64 {
        let last = self.region.last;
        match pattern {
            Pattern::Sequential { stride } => self.follow(stride),
            Pattern::Interlocked { stride } => {
                let places = last / stride + 1;
                let at = shared[self.target] % places;
                shared[self.target] = at + 1;
                at * stride
            }
            Pattern::Random { align, percent } => {
                if percent == 100 || self.random.below(100) < percent {
                    let at = self.random.below(last / align + 1) * align;
                    self.next = at + align;
                    return at;
                }
                self.follow(align)
            }
        }
    }

    /// The next sequential position; after the last one it wraps to the base.
    fn follow(&mut self, stride: u64) -> u64 {
        let at = if self.next > self.region.last { self.start % stride } else { self.next };
        self.next = at + stride;
        at
    }

    /// Number of requests that the rate allowed before `now` but that were not issued.
    pub fn held_back(&self, command: &Command, started: Time, now: Time) -> u64 {
        let Some(rate) = command.rate else { return 0 };
        let bytes = u128::from(now.saturating_sub(started)) * u128::from(rate) / 1_000_000_000;
        let due = (bytes / u128::from(command.block)) as u64;
        due.saturating_sub(self.issued)
    }
}
