//! A running clone of a job: its next request, and the earliest time for it.

use super::job::{Job, OPS, READ, TRIM, WRITE};
use super::placement::Placing;
use super::places::Places;
use super::units::{Amount, DIRECTIONS};
use super::zbd::Zbd;
use crate::chance::Chance;
use crate::streams;
use engine::{Distribution, Handle, Op, Random, SECTOR_BYTES, Time, Xoshiro256};

/// A request in bytes; the range of a flush is ignored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    pub(super) op: Op,
    pub(super) at: u64,
    pub(super) bytes: u64,
    /// Earliest time allowed by the rate.
    not_before: Time,
    pub handle: Handle,
    pub fua: bool,
}

/// A running clone of a job. Each field is a part of the next request.
pub(super) struct Runner {
    job: Job,
    reads: Chance,
    random: Xoshiro256,
    /// Initial state of the random source.
    origin: Xoshiro256,
    places: Places,
    round: Round,
    placing: Placing,
    flushes: Flushes,
    pending: Option<Drawn>,
    /// Trimmed range to write next: start and length in bytes.
    to_rewrite: Option<(u64, u64)>,
    /// Number of requests that follow or repeat the last random position.
    to_follow: u64,
    repeated: (u64, u64),
    /// A write after the reset of its zone. The reset waits for all preceding requests, and all
    /// following ones wait for the reset.
    after_reset: Option<Drawn>,
    resets: bool,
    /// The request submitted last.
    submitted: Option<Drawn>,
    in_flight: u64,
    depth: u64,
    thinking: Thinking,
    pace: Pace,
    pub(super) done: bool,
    /// The clone's range of the device, bytes.
    range: (u64, u64),
}

/// Progress of the current loop.
struct Round {
    /// Bytes per loop.
    budget: u64,
    loops_left: u64,
    /// Bytes and requests in this loop.
    bytes: u64,
    requests: u64,
}

/// Flushes after a number of writes.
#[derive(Default)]
struct Flushes {
    writes: u64,
    due: bool,
}

/// Pauses after a number of requests.
#[derive(Default)]
struct Thinking {
    /// Requests since the last pause.
    since: u64,
    /// End of the pause.
    resume: Time,
}

/// Time limits and rates.
struct Pace {
    started: Time,
    /// Time at which issuing stops.
    until: Time,
    /// Earliest next request by direction as the rate allows, and the bytes counted for it.
    due: [Time; DIRECTIONS],
    bytes: [u64; DIRECTIONS],
    /// Requests drawn, by direction.
    drawn: [u64; DIRECTIONS],
}

/// The byte at a percentage of `whole`.
fn share(whole: u64, percent: u64) -> u64 {
    (u128::from(whole) * u128::from(percent) / 100) as u64
}

/// Start and end of the bytes used by clone `index` of a job on a device of `capacity` bytes.
/// Errors are sentences.
pub fn range(job: &Job, index: u64, capacity: u64) -> Result<(u64, u64), String> {
    let least = job.used().map(|direction| job.sizes[direction].least()).min().unwrap_or(1);
    let place = |amount| match amount {
        Amount::Bytes(bytes) | Amount::Zones(bytes) => bytes,
        Amount::Percent(percent) => share(capacity, percent).next_multiple_of(least),
    };
    let start = place(job.offset).saturating_add(place(job.offset_increment).saturating_mul(index));
    let rest = capacity.saturating_sub(start);
    let size = match job.size {
        None => rest,
        Some(Amount::Bytes(bytes) | Amount::Zones(bytes)) => bytes,
        Some(Amount::Percent(percent)) => share(capacity, percent) / least * least,
    };
    let largest = job.used().map(|direction| job.sizes[direction].largest()).max().unwrap_or(1);
    if size > rest {
        return Err(format!(
            "{size} bytes from byte {start} end beyond the device of {capacity} bytes"
        ));
    }
    if start >= capacity {
        return Err(format!("byte {start}, its first, lies beyond the device of {capacity} bytes"));
    }
    if size < largest {
        return Err(format!("{size} bytes from byte {start} hold no request of {largest}"));
    }
    Ok((start, start + size))
}

impl Runner {
    /// Clone `index` of a job on a device of `capacity` bytes; the seeds are for hot blocks and for
    /// requests. Errors are sentences.
    pub(super) fn new(
        job: &Job,
        index: u64,
        capacity: u64,
        (seed, draws): (u64, u64),
    ) -> Result<Self, String> {
        let (start, end) = range(job, index, capacity)?;
        let size = end - start;
        let budget = match job.io_size {
            None => size,
            Some(Amount::Bytes(bytes) | Amount::Zones(bytes)) => bytes,
            Some(Amount::Percent(percent)) => share(size, percent),
        };
        let mut random = Xoshiro256::new(seed, streams::FIO);
        let mut places =
            Places::new(job, start, end, &mut random).map_err(|invalid| invalid.problem)?;
        if draws != seed {
            random = Xoshiro256::new(draws, streams::FIO);
            places.reset(Some(&mut random));
        }
        let depth = if job.synchronous { 1 } else { job.depth };
        Ok(Runner {
            reads: Chance::new(job.read_percent as f64 / 100.0),
            origin: random.clone(),
            random,
            places,
            round: Round { budget, loops_left: job.loops - 1, bytes: 0, requests: 0 },
            placing: Placing::new(&job.placement, draws),
            flushes: Flushes::default(),
            pending: None,
            to_rewrite: None,
            to_follow: 0,
            repeated: (0, 0),
            after_reset: None,
            resets: false,
            range: (start, end),
            submitted: None,
            in_flight: 0,
            depth,
            thinking: Thinking::default(),
            pace: Pace {
                started: 0,
                until: Time::MAX,
                due: [0; DIRECTIONS],
                bytes: [0; DIRECTIONS],
                drawn: [0; DIRECTIONS],
            },
            done: false,
            job: job.clone(),
        })
    }

    /// Starts the job.
    pub(super) fn start(&mut self, now: Time) {
        self.pace.started = now.saturating_add(self.job.delay_ns);
        self.thinking.resume = self.pace.started;
        self.pace.due = [self.pace.started; DIRECTIONS];
        if let Some(runtime) = self.job.runtime_ns {
            self.pace.until = self.pace.started.saturating_add(runtime);
        }
    }

    /// True if no requests are left to issue or complete.
    pub(super) fn idle(&self) -> bool {
        self.done && self.in_flight == 0
    }

    /// Time of the next arrival, barring earlier completions; draws the request.
    pub(super) fn ready(&mut self, now: Time, zbd: Option<&mut Zbd>) -> Option<Time> {
        if self.resets && self.in_flight > 0 {
            return None;
        }
        if self.done || self.in_flight >= self.depth || self.thinking.since >= self.job.think_after
        {
            return None;
        }
        if self.pending.is_none() {
            self.resets = false;
            self.pending = match self.after_reset.take() {
                None => self.draw(now.max(self.thinking.resume), zbd),
                follows => follows,
            };
            if self.resets && self.in_flight > 0 {
                return None;
            }
        }
        let Some(asked) = self.pending else {
            self.done = true;
            return None;
        };
        let at = now.max(self.thinking.resume).max(asked.not_before);
        self.done = at >= self.pace.until;
        (!self.done).then_some(at)
    }

    /// Submits the request drawn by [`ready`](Runner::ready).
    pub(super) fn submit(&mut self) -> Drawn {
        let asked = self.pending.take().expect("it was ready");
        self.submitted = Some(asked);
        self.in_flight += 1;
        if self.job.think_ns > 0 && asked.op != Op::Flush {
            self.thinking.since += 1;
        }
        asked
    }

    /// Withdraws the last request.
    pub(super) fn take_back(&mut self) {
        let asked = self.submitted.take().expect("one was submitted");
        assert!(self.pending.is_none(), "another was drawn before");
        self.in_flight -= 1;
        if self.job.think_ns > 0 && asked.op != Op::Flush {
            self.thinking.since -= 1;
        }
        self.pending = Some(asked);
    }

    /// Handles a completion.
    pub(super) fn completed(&mut self, at: Time) {
        self.in_flight -= 1;
        // As in fio, think time begins after all completions.
        if self.thinking.since >= self.job.think_after && self.in_flight == 0 {
            self.thinking.since = 0;
            self.thinking.resume = self.thinking.resume.max(at.saturating_add(self.job.think_ns));
        }
    }

    /// Draws the next request; `None` at the end of the job.
    fn draw(&mut self, now: Time, zbd: Option<&mut Zbd>) -> Option<Drawn> {
        if std::mem::take(&mut self.flushes.due) {
            let handle = Handle::NONE;
            let (at, bytes) = (0, 0);
            return Some(Drawn { op: Op::Flush, at, bytes, not_before: now, handle, fua: false });
        }
        let spent = self.job.most_requests.is_some_and(|most| self.round.requests >= most);
        if (spent || self.round.bytes >= self.round.budget) && !self.again(spent) {
            return None;
        }
        let (direction, (at, bytes)) = if let Some(trimmed) = self.to_rewrite.take() {
            (WRITE, trimmed)
        } else {
            let direction = self.direction(now);
            let place = match self.place(direction) {
                Some(place) => place,
                None if self.again(false) => self.place(direction)?,
                None => return None,
            };
            (direction, place)
        };
        let mut reset = None;
        let (at, bytes) = match zbd.filter(|_| self.job.zones.is_on) {
            Some(zbd) if direction == READ => zbd.read((at, bytes), self.range)?,
            Some(zbd) if direction == WRITE => {
                let moved =
                    zbd.write(&self.job.zones, (at, bytes), self.range, &mut self.random)?;
                reset = moved.reset;
                (moved.at, moved.bytes)
            }
            _ => (at, bytes),
        };
        // As in fio, trims that are followed by a write are not counted.
        self.to_rewrite = (self.job.rewrites && direction == TRIM).then_some((at, bytes));
        self.round.bytes += if self.to_rewrite.is_some() { 0 } else { bytes };
        self.round.requests += 1;
        if direction == WRITE {
            self.flushes.writes += 1;
            let after = self.job.flush_after;
            self.flushes.due = after > 0 && self.flushes.writes.is_multiple_of(after);
        }
        let not_before = self.pace(direction, bytes);
        let handle = if direction == WRITE { self.placing.next() } else { Handle::NONE };
        let op = self.job.sent.becomes(OPS[direction], self.pace.drawn[direction]);
        let fua = direction == WRITE && self.job.sent.fua();
        let drawn = Drawn { op, at, bytes, not_before, handle, fua };
        let Some(zone) = reset else { return Some(drawn) };
        (self.after_reset, self.resets) = (Some(drawn), true);
        let (bytes, handle) = (SECTOR_BYTES, Handle::NONE);
        Some(Drawn { op: Op::Reset, at: zone, bytes, not_before, handle, fua: false })
    }

    /// Starts the next loop, if any: the bytes, the blocks or (`spent`) the requests of this loop
    /// are used up.
    fn again(&mut self, spent: bool) -> bool {
        let more_bytes =
            !spent && self.job.io_size.is_some() && self.round.bytes < self.round.budget;
        if !self.job.time_based && !more_bytes {
            if self.round.loops_left == 0 {
                return false;
            }
            self.round.loops_left -= 1;
        }
        if !more_bytes {
            self.round.bytes = 0;
            self.round.requests = 0;
        }
        // As in fio, loops over a map repeat the same order, unless only time limits the job.
        if !self.job.time_based && self.places.covered() {
            self.random = self.origin.clone();
        }
        self.places.reset(self.job.time_based.then_some(&mut self.random));
        true
    }

    fn direction(&mut self, now: Time) -> usize {
        if !self.job.mixed() {
            return self.job.used().next().expect("a job asks something");
        }
        let reads = self.reads.decide(self.random.below(1 << Chance::BITS));
        let (drawn, other) = if reads { (READ, WRITE) } else { (WRITE, READ) };
        let percent = if reads { 100 - self.job.read_percent } else { self.job.read_percent };
        // A direction ahead of its rate yields to the earlier one.
        let swap = self.pace.due[drawn] > now
            && percent > 0
            && self.pace.due[other] < self.pace.due[drawn];
        if swap { other } else { drawn }
    }

    fn place(&mut self, direction: usize) -> Option<(u64, u64)> {
        let sizes = &self.job.sizes[direction];
        let percent = self.job.random_percent[direction];
        if self.to_follow > 0 && self.job.repeats {
            self.to_follow -= 1;
            return Some(self.repeated);
        }
        if self.to_follow > 0
            && let Some(followed) = self.places.follow(direction, sizes, &mut self.random)
        {
            self.to_follow -= 1;
            return Some(followed);
        }
        self.to_follow = self.job.run - 1;
        let jumps = self.job.random && (percent == 100 || self.random.below(100) < percent);
        if !jumps {
            let followed = self.places.follow(direction, sizes, &mut self.random);
            if followed.is_some() || !self.job.random {
                return followed;
            }
        }
        let jumped = self.places.jump(direction, sizes, &mut self.random);
        self.repeated = jumped.unwrap_or(self.repeated);
        jumped
    }

    /// Earliest time of this request under the rate; counts the request.
    fn pace(&mut self, direction: usize, bytes: u64) -> Time {
        self.pace.drawn[direction] += 1;
        let Some(rate) = self.job.bytes_per_s(direction) else { return self.pace.started };
        let at = self.pace.due[direction];
        let seconds = 1_000_000_000;
        self.pace.due[direction] = if self.job.poisson {
            let least = self.job.sizes[direction].least();
            let mean = least as f64 / rate as f64 * 1e9;
            let gap = Distribution::Exponential { base: 0.0, mean }.sample(&mut self.random);
            at.saturating_add(gap.round() as Time)
        } else {
            self.pace.bytes[direction] += bytes;
            let ns = u128::from(self.pace.bytes[direction]) * seconds / u128::from(rate);
            self.pace.started.saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
        };
        at
    }

    /// Number of requests that the rates allowed before `now` but that wait for a completion. 0 for
    /// jobs with think time, which may be behind their rate for that reason.
    pub(super) fn held_back(&self, now: Time) -> u64 {
        if self.done || self.job.think_ns > 0 {
            return 0;
        }
        let late = |direction: usize| {
            let rate = self.job.bytes_per_s(direction)?;
            let drawn = self.pace.drawn[direction];
            // Time per request of mean size at this rate; Poisson gaps assume the smallest size.
            let bytes = if self.job.poisson || drawn == 0 {
                self.job.sizes[direction].least() as f64
            } else {
                self.pace.bytes[direction] as f64 / drawn as f64
            };
            let since = now.saturating_sub(self.pace.due[direction]) as f64;
            Some((since * 1e-9 * rate as f64 / bytes).ceil() as u64)
        };
        self.job.used().filter_map(late).sum()
    }
}

impl Drawn {
    /// First sector and length in sectors.
    pub(super) fn sectors(&self) -> (u64, u32) {
        (self.at / SECTOR_BYTES, (self.bytes / SECTOR_BYTES) as u32)
    }
}
