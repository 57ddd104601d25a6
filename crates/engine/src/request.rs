//! Requests, completions, and the traits of devices and workloads.

use crate::{Op, Replayed, Status, Time};
use std::fmt;
use std::ops::{AddAssign, Index, IndexMut, Range};

/// Bytes in a sector, the unit of every host address.
pub const SECTOR_BYTES: u64 = 512;

/// A logical block address in sectors of [`SECTOR_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lba(pub u64);

/// Placement handle of a write, if any: the host's hint that data belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle(u8);

impl Handle {
    /// No handle.
    pub const NONE: Handle = Handle(u8::MAX);
    /// Largest number of a handle; no device has larger ones.
    pub const LARGEST: u8 = u8::MAX - 1;

    /// Handle with a number; numbers above the largest become the largest, which no device has.
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
    /// Submission queue of the host; 0 with a single queue.
    pub queue: u16,
    /// True for a write that is durable on completion (forced unit access).
    pub fua: bool,
    /// Placement handle of a write; ignored by devices without handles.
    pub handle: Handle,
}

impl Request {
    /// A request on queue 0, without forced unit access.
    pub fn new(id: u64, op: Op, lba: Lba, sectors: u32) -> Request {
        Request { id, op, lba, sectors, queue: 0, fua: false, handle: Handle::NONE }
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR_BYTES
    }
}

/// Latency part: its row in the devices' table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part(pub u8);

/// Latency of one request by part, in nanoseconds; the parts add up to the latency.
///
/// Devices declare the parts. A request of several pages has its last page's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Breakdown([Time; Breakdown::PARTS]);

impl Breakdown {
    /// Number of rows in the devices' table, enforced at compile time.
    pub const PARTS: usize = 14;

    /// A breakdown with all time in one part.
    pub fn of(part: Part, time: Time) -> Breakdown {
        let mut breakdown = Breakdown::default();
        breakdown[part] = time;
        breakdown
    }

    /// All parts, in the order of the devices' table.
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

/// Completion of a [`Request`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The completed request.
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
    /// Latency in nanoseconds.
    pub fn latency(&self) -> Time {
        self.at - self.submitted
    }
}

/// A device completes requests: a state machine with the time as input.
///
/// The caller guarantees that time never decreases over all calls. It calls
/// [`advance`](Device::advance) up to every [`next_event`](Device::next_event) before a later
/// submission. The device must be deterministic: same calls, same results.
pub trait Device {
    /// Submits a request at `now`. Its range must lie within the capacity.
    fn submit(&mut self, now: Time, request: Request);

    /// Time of the next event; `None` while the device only waits for requests.
    ///
    /// An event need not complete a request; background work has events too.
    fn next_event(&self) -> Option<Time>;

    /// Processes all events up to and including `to`, and appends completions in order.
    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>);

    /// Processes events up to `to` while they concern only the device. It stops at the first
    /// completion or at end of life, or earlier. Returns the time reached; `None` without an event.
    fn advance_to_answer(&mut self, to: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        let at = self.next_event().filter(|at| *at <= to)?;
        self.advance(at, completions);
        Some(at)
    }

    /// Cuts the power at `now`, after all events of that time. Outstanding requests complete with
    /// [`Status::PowerLost`]. The device gets no requests until [`power_on`](Device::power_on).
    ///
    /// # Panics
    /// On a device without power-cut support; the caller must check that before.
    fn cut(&mut self, _now: Time, _completions: &mut Vec<Completion>) {
        panic!("this device does not recover from power cuts");
    }

    /// Restores the power: the device accepts requests, and completes them once it is ready.
    ///
    /// # Panics
    /// As [`cut`](Device::cut).
    fn power_on(&mut self, _now: Time) {
        panic!("this device does not recover from power cuts");
    }

    /// Which requests the device serves.
    fn standing(&self) -> Standing {
        Standing::default()
    }

    /// [`Standing::has_ended`] alone, which a run asks after every event.
    fn has_ended(&self) -> bool {
        self.standing().has_ended
    }

    /// Figures for the time series; `None` without any.
    fn followed(&self) -> Option<Followed> {
        None
    }

    /// Capacity for the host in sectors; constant.
    fn capacity_sectors(&self) -> u64;
}

/// Which requests a device serves; by default all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// True if the device accepts requests: always, except during recovery from a power cut.
    pub is_ready: bool,
    /// True at end of life: writes and trims complete with [`Status::ReadOnly`], and a run in which
    /// this happens submits no more requests.
    pub has_ended: bool,
    /// True if the device may refuse a write or trim submitted now: it is at end of life, or so
    /// worn that it may reach it before completion.
    pub may_refuse: bool,
}

impl Default for Standing {
    fn default() -> Self {
        Standing { is_ready: true, has_ended: false, may_refuse: false }
    }
}

impl Standing {
    /// Ready, and at end of life or not.
    pub fn ended(has_ended: bool) -> Standing {
        Standing { has_ended, may_refuse: has_ended, ..Standing::default() }
    }
}

/// Figures of a device for the time series: counters since the last reset, and current state.
/// Devices declare their number and meaning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Followed(pub [u64; Followed::FIGURES]);

impl Followed {
    /// Number of figures, enforced at compile time.
    pub const FIGURES: usize = 7;
}

impl AddAssign for Followed {
    fn add_assign(&mut self, other: Followed) {
        let pairs = self.0.iter_mut().zip(other.0);
        pairs.for_each(|(sum, figure)| *sum += figure);
    }
}

/// Division of a device's addresses into zones; sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneShape {
    /// Distance between the starts of consecutive zones.
    pub size: u64,
    /// Writable sectors of a zone, from its start.
    pub capacity: u64,
    /// Number of zones.
    pub count: u64,
    /// Maximum number of open zones.
    pub open: u64,
    /// Number of zones that are full before the first request, from the first one on.
    pub full: u64,
}

/// A request with its submission time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Submission time; never before the previous arrival.
    pub at: Time,
    /// The request.
    pub request: Request,
}

/// A class of requests with its own statistics: all requests on a range of submission queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Name.
    pub name: String,
    /// Submission queues of the class; classes do not overlap.
    pub queues: Range<u32>,
    /// True for a load with its own period, from its first request to its last completion, to which
    /// its rates refer.
    pub has_own_period: bool,
}

/// Unreadable input of a workload: an error of the user, not of the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadError(pub String);

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WorkloadError {}

/// A source of requests: open (timed arrivals) or closed (driven by completions).
pub trait Workload {
    /// The next request; `None` if the workload must wait for a completion.
    ///
    /// `now` is the current time; the arrival must not be earlier.
    ///
    /// # Errors
    /// When the input is broken at this point.
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError>;

    /// Reports a completion to the workload.
    fn completed(&mut self, completion: &Completion);

    /// Takes back the last arrival, which lies in the future, because a completion came before its
    /// time. It then counts as never returned, and [`next`](Workload::next) is called again.
    /// `false` keeps it.
    ///
    /// Only for workloads whose next arrival can be moved forward by a completion.
    fn take_back(&mut self) -> bool {
        false
    }

    /// True for purely timed arrivals: completions change neither requests nor times, so requests
    /// may be fetched ahead of completions.
    fn is_open(&self) -> bool {
        false
    }

    /// True if some arrival times do not depend on completions, so that the device can be
    /// overloaded.
    fn has_rate(&self) -> bool {
        self.is_open()
    }

    /// True if it may issue commands of several steps ([`Op::is_command`]).
    fn has_commands(&self) -> bool {
        false
    }

    /// Number of requests due before `now` that wait for a completion, because the limit of
    /// outstanding requests is reached.
    fn held_back(&self, _now: Time) -> u64 {
        0
    }

    /// Total number of requests, if known beforehand.
    fn expected_requests(&self) -> Option<u64>;

    /// The part of a load, if any, that ends only by time; on an untimed device it never ends.
    fn needs_time(&self) -> Option<&'static str> {
        None
    }

    /// Number of submission queues.
    fn queues(&self) -> u32 {
        1
    }

    /// Classes of requests.
    fn classes(&self) -> Vec<Class> {
        Vec::new()
    }

    /// Outcome of a trace replay.
    fn replayed(&self) -> Option<Replayed> {
        None
    }

    /// Notable events during the run for the results, as (kind, count).
    fn notices(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
