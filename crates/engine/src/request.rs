//! Requests, completions, and the traits of their two ends.

use crate::{Op, Replayed, Status, Time};
use std::fmt;
use std::ops::{AddAssign, Index, IndexMut, Range};

/// Bytes in a sector, the unit of every host address.
pub const SECTOR_BYTES: u64 = 512;

/// A logical block address in sectors of [`SECTOR_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lba(pub u64);

/// Placement handle of a write, if any: what the host says belongs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle(u8);

impl Handle {
    /// No handle.
    pub const NONE: Handle = Handle(u8::MAX);
    /// The largest number that can be named; larger ones are no handle of any device.
    pub const LARGEST: u8 = u8::MAX - 1;

    /// The handle of that number, or the largest, which no device has.
    #[inline]
    pub fn new(number: u64) -> Handle {
        Handle(number.min(u64::from(Handle::LARGEST)) as u8)
    }

    /// Number of the handle, if any.
    #[inline]
    pub fn number(self) -> Option<u8> {
        (self.0 != u8::MAX).then_some(self.0)
    }
}

/// One request of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Request number in its workload, from 0; returned with the completion.
    pub id: u64,
    /// Operation.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Length in sectors; at least 1 except for a flush.
    pub sectors: u32,
    /// Submission queue in the host; 0 where there is one.
    pub queue: u16,
    /// True for a write that is durable on completion (forced unit access).
    pub fua: bool,
    /// The placement handle of a write; of no meaning to devices without such.
    pub handle: Handle,
}

impl Request {
    /// A request on queue 0 that is durable when the device likes.
    pub fn new(id: u64, op: Op, lba: Lba, sectors: u32) -> Request {
        Request { id, op, lba, sectors, queue: 0, fua: false, handle: Handle::NONE }
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR_BYTES
    }
}

/// A part of a latency: its place in the table that the devices declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part(pub u8);

/// Latency of one request by part, in nanoseconds; the parts add up to the latency.
///
/// The devices declare the parts. A request of several pages has the parts of its last page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Breakdown([Time; Breakdown::PARTS]);

impl Breakdown {
    /// Number of rows in the devices' table: it does not compile with another number.
    pub const PARTS: usize = 14;

    /// The whole time in one part.
    pub fn of(part: Part, time: Time) -> Breakdown {
        let mut breakdown = Breakdown::default();
        breakdown[part] = time;
        breakdown
    }

    /// Every part, in the order of the devices' table.
    #[inline]
    pub fn parts(&self) -> &[Time; Breakdown::PARTS] {
        &self.0
    }

    /// The sum of all parts: the latency.
    pub fn total(&self) -> Time {
        self.0.iter().sum()
    }
}

impl Index<Part> for Breakdown {
    type Output = Time;

    #[inline]
    fn index(&self, part: Part) -> &Time {
        &self.0[part.0 as usize]
    }
}

impl IndexMut<Part> for Breakdown {
    #[inline]
    fn index_mut(&mut self, part: Part) -> &mut Time {
        &mut self.0[part.0 as usize]
    }
}

impl AddAssign for Breakdown {
    #[inline]
    fn add_assign(&mut self, other: Breakdown) {
        let pairs = self.0.iter_mut().zip(other.0);
        pairs.for_each(|(sum, time)| *sum += time);
    }
}

/// The answer to one [`Request`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The request that is answered.
    pub request: Request,
    /// Submission time.
    pub submitted: Time,
    /// Completion time: `submitted + breakdown.total()`.
    pub at: Time,
    /// Latency by part.
    pub breakdown: Breakdown,
    /// Status.
    pub status: Status,
}

impl Completion {
    /// From submission to completion, nanoseconds.
    pub fn latency(&self) -> Time {
        self.at - self.submitted
    }
}

/// Completes requests: a state machine that gets the time as input.
///
/// The caller guarantees that time never goes backwards over all calls, and that it calls
/// [`advance`](Device::advance) up to every [`next_event`](Device::next_event) before it submits
/// at a later instant. The implementor must be deterministic: same calls, same answers.
pub trait Device {
    /// Hands over a request at `now`. Its range must lie within the capacity.
    fn submit(&mut self, now: Time, request: Request);

    /// Time of the device's next own event; `None` while it waits for requests only.
    ///
    /// An event need not complete a request (background work also has events).
    fn next_event(&self) -> Option<Time>;

    /// Processes all events up to and including `to`, and appends completions in order.
    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>);

    /// Processes events up to `to`, while they concern only the device: to the first instant at
    /// which a request completes or the device is at its end, or to any before. Returns the
    /// instant, up to which everything is processed; `None` where there is no event.
    fn advance_to_answer(&mut self, to: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        let at = self.next_event().filter(|at| *at <= to)?;
        self.advance(at, completions);
        Some(at)
    }

    /// [Submits](Device::submit) a request, and returns the next event.
    fn submit_and_look(&mut self, now: Time, request: Request) -> Outlook {
        self.submit(now, request);
        Outlook { next: self.next_event(), has_ended: self.has_ended() }
    }

    /// [`advance`](Device::advance), returning the next event.
    fn advance_and_look(&mut self, to: Time, completions: &mut Vec<Completion>) -> Outlook {
        self.advance(to, completions);
        Outlook { next: self.next_event(), has_ended: self.has_ended() }
    }

    /// Cuts the power at `now`, after all events of that instant: what was asked and is not
    /// answered is appended as [`Status::PowerLost`]. The device gets no requests before power is
    /// [on](Device::power_on) again.
    ///
    /// # Panics
    /// On a device that does not recover from power cuts; the caller must check that before.
    fn cut(&mut self, _now: Time, _completions: &mut Vec<Completion>) {
        panic!("this device does not recover from power cuts");
    }

    /// The power is on again: the device takes requests, and answers them when it is ready.
    ///
    /// # Panics
    /// As [`cut`](Device::cut).
    fn power_on(&mut self, _now: Time) {
        panic!("this device does not recover from power cuts");
    }

    /// True if the device accepts requests: always, except during recovery from a power cut.
    fn is_ready(&self) -> bool {
        true
    }

    /// True if the device has reached end of life: it answers writes and trims with
    /// [`Status::ReadOnly`], and a run during which that happens asks for nothing more.
    fn has_ended(&self) -> bool {
        false
    }

    /// True if the device may refuse a write or trim that is submitted now: it has ended, or is so
    /// worn that it might end before it answers.
    fn may_refuse(&self) -> bool {
        self.has_ended()
    }

    /// The figures that are followed over time; `None` where there are none.
    fn followed(&self) -> Option<Followed> {
        None
    }

    /// Sectors that the host may address; constant.
    fn capacity_sectors(&self) -> u64;
}

/// Next event of a device that is a part of another, which reads all of them often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// The [next event](Device::next_event).
    pub next: Option<Time>,
    /// True at [end of life](Device::has_ended).
    pub has_ended: bool,
}

/// Figures of a device that are followed over time: what it has done since its counts were reset, and
/// how things stand. How many there are, and what each of them is, the devices declare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Followed(pub [u64; Followed::FIGURES]);

impl Followed {
    /// Number of figures that devices declare: their tables do not compile with another number.
    pub const FIGURES: usize = 7;
}

impl AddAssign for Followed {
    fn add_assign(&mut self, other: Followed) {
        let pairs = self.0.iter_mut().zip(other.0);
        pairs.for_each(|(sum, figure)| *sum += figure);
    }
}

/// Division of the addresses of a device into zones; sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneShape {
    /// Distance between the starts of consecutive zones.
    pub size: u64,
    /// Writable bytes of a zone, from its start.
    pub capacity: u64,
    /// Zones.
    pub count: u64,
    /// Zones that may be open at a time.
    pub open: u64,
    /// Zones that are full before the first request, from the first one on.
    pub full: u64,
}

/// A request together with the instant at which the workload wants it submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When to submit; never before the previous arrival.
    pub at: Time,
    /// The request.
    pub request: Request,
}

/// A class of requests with separate statistics: those on a range of submission queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Name.
    pub name: String,
    /// Submission queues of the class; no other class has them.
    pub queues: Range<u32>,
    /// True for a load within a period of its own, to which its rates refer: from its first request
    /// to its last answer.
    pub in_turn: bool,
}

/// The input behind a workload could not be read: the user's mistake, never the device's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadError(pub String);

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WorkloadError {}

/// A source of requests: a source of arrivals, open (by the clock) or closed (by completions).
pub trait Workload {
    /// The next request, or `None` when nothing can be submitted before another completion.
    ///
    /// `now` is the current instant; the arrival's time must not lie before it.
    ///
    /// # Errors
    /// When the input that describes the requests is broken at this point.
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError>;

    /// Reports a completion to the workload.
    fn completed(&mut self, completion: &Completion);

    /// Takes back the arrival given last, which lies in the future and was not submitted, because
    /// an answer came in before its time: it then counts as never given, and
    /// [`next`](Workload::next) is asked again. `false` keeps it.
    ///
    /// Only for workloads in which an answer can bring the next arrival forward.
    fn take_back(&mut self) -> bool {
        false
    }

    /// True for a load of timed arrivals alone: no answer changes what it asks, nor when, and it
    /// has a next request until it has no more. It may then be asked ahead of the answers.
    fn is_open(&self) -> bool {
        false
    }

    /// True if some requests have arrival times independent of completions: a device can then be
    /// asked for more than it can do.
    fn has_rate(&self) -> bool {
        self.is_open()
    }

    /// True if it may ask for commands that are done in steps ([`Op::is_command`]).
    fn has_commands(&self) -> bool {
        false
    }

    /// Requests that were due by the clock before `now` and wait for an answer to be submitted, because
    /// no more may be outstanding.
    fn held_back(&self, _now: Time) -> u64 {
        0
    }

    /// Requests that will have been issued at the end, when that is known beforehand.
    fn expected_requests(&self) -> Option<u64>;

    /// The part of a load that continues without limit until time has passed, if there is one:
    /// where no time passes, it has no end.
    fn needs_time(&self) -> Option<&'static str> {
        None
    }

    /// Number of submission queues, counted from 0.
    fn queues(&self) -> u32 {
        1
    }

    /// Classes of requests, if any.
    fn classes(&self) -> Vec<Class> {
        Vec::new()
    }

    /// Outcome of the replay, for a recorded trace.
    fn replayed(&self) -> Option<Replayed> {
        None
    }

    /// Events, changes and losses on the way, as (kind, count), for the results.
    fn notices(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
