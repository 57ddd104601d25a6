//! An operation on a stripe: its purpose, its sectors and its progress.

use super::message::{Kind, NONE, Place, Purpose, Span, Start, span};
use super::stripes::{Claim, Use};
use crate::redundancy::{HoleRule, ReadCopy, WriteRule};
use engine::{Breakdown, Handle, Request, Status, Time};
use ssd::device::kit::slots::Slot;
use ssd::device::latency::UNIT_WAIT;

/// Options that decide how the array reads and writes.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub read_copy: ReadCopy,
    pub write: WriteRule,
    pub together: bool,
    pub hole: HoleRule,
    /// First sector of the logs on the members.
    pub log_sector: u64,
}

/// Progress of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reads are outstanding; writes follow after all of them.
    Reading,
    /// Reads of old values; each data write follows its own read, the parity write all of them.
    Chained,
    /// All reads are complete; the writes wait for log space.
    LogFull,
    /// The log entry is written before all other writes.
    Logging,
    /// All writes are submitted, or none is needed.
    Ending,
    /// A member failed with a part: restarts once nothing is outstanding.
    Again,
}

/// An operation on a stripe: its purpose, its request's parameters, and its progress.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// Request of the operation; `NONE` for a rebuild.
    owner: Slot,
    kind: Kind,
    stripe: u64,
    /// First sector within the stripe's data.
    from: u64,
    to: u64,
    /// Submission queue and durability of its request.
    queue: u16,
    handle: Handle,
    fua: bool,
    /// True once it is queued on its stripe.
    is_queued: bool,
    /// Next operation merged with this one.
    joined: Slot,
    arrived: Time,
    reads_left: u32,
    writes_left: u32,
    stage: Stage,
    /// Its log entry.
    log: Option<Place>,
    /// Old values lost with their member.
    lost: Span,
    /// Latency breakdown up to the last completed part.
    path: Breakdown,
    status: Status,
}

impl Operation {
    /// A new operation.
    pub fn new(start: Start, now: Time) -> Self {
        Operation {
            owner: start.owner,
            kind: start.kind,
            stripe: start.stripe,
            from: start.from,
            to: start.to,
            queue: 0,
            handle: Handle::NONE,
            fua: false,
            is_queued: false,
            joined: NONE,
            arrived: now,
            reads_left: 0,
            writes_left: 0,
            stage: Stage::Reading,
            log: start.log,
            lost: Span::default(),
            path: Breakdown::default(),
            status: Status::Ok,
        }
    }

    /// This operation with the parameters of its request.
    pub fn asked(self, request: &Request) -> Self {
        let Request { queue, fua, handle, .. } = *request;
        Operation { queue, handle, fua, ..self }
    }

    // ---- purpose -----------------------------------------------------------------------------

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Request of the operation, if any.
    pub fn owner(&self) -> Option<Slot> {
        (self.owner != NONE).then_some(self.owner)
    }

    pub fn stripe(&self) -> u64 {
        self.stripe
    }

    /// Its sectors within the stripe's data.
    pub fn sectors(&self) -> std::ops::Range<u64> {
        self.from..self.to
    }

    /// True for an empty range.
    pub fn is_empty(&self) -> bool {
        self.from >= self.to
    }

    /// Parameters of its request: submission queue, FUA, and placement handle.
    pub fn demands(&self) -> (u16, bool, Handle) {
        (self.queue, self.fua, self.handle)
    }

    /// True once it is queued on its stripe.
    pub fn is_queued(&self) -> bool {
        self.is_queued
    }

    pub fn joined(&self) -> Slot {
        self.joined
    }

    pub fn arrived(&self) -> Time {
        self.arrived
    }

    pub fn log(&self) -> Option<Place> {
        self.log
    }

    pub fn status(&self) -> Status {
        self.status
    }

    /// True if it changes host data.
    pub fn is_change(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::Trim)
    }

    /// Its span of a data chunk.
    pub fn span(&self, place: u64, chunk: u64) -> Span {
        span(self.from, self.to, place, chunk)
    }

    /// Its span of each parity chunk: the hull of its data spans.
    pub fn hull(&self, chunk: u64) -> Span {
        let (first, last) = (self.from / chunk, (self.to - 1) / chunk);
        self.span(first, chunk).hull(self.span(last, chunk))
    }

    /// Data chunks that it touches.
    pub fn touched(&self, chunk: u64) -> std::ops::Range<u64> {
        self.from / chunk..self.to.div_ceil(chunk)
    }

    /// Latency breakdown up to `now`; time without a part counts as waiting.
    pub fn path_at(&self, now: Time) -> Breakdown {
        let mut path = self.path;
        path[UNIT_WAIT] += now - self.arrived - path.total();
        path
    }

    // ---- progress ----------------------------------------------------------------------------

    pub fn stage(&self) -> Stage {
        self.stage
    }

    pub fn go_to(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// True with outstanding reads, and true with outstanding writes.
    pub fn outstanding(&self) -> (bool, bool) {
        (self.reads_left > 0, self.writes_left > 0)
    }

    /// Queues it on its stripe, and returns the claim.
    pub fn claim(&mut self) -> Claim {
        self.is_queued = true;
        let Operation { stripe, from, to, fua, .. } = *self;
        let what = match self.kind {
            Kind::Read => Use::Read,
            Kind::Write => Use::Write { fua },
            Kind::Trim | Kind::Flush => Use::Trim,
            Kind::Rebuild(_) | Kind::Resync => Use::Repair,
        };
        Claim { stripe, from, to, what }
    }

    /// Merges it with another operation.
    pub fn join(&mut self, slot: Slot, first: &mut Operation) {
        (self.is_queued, self.joined) = (false, first.joined);
        first.joined = slot;
        (first.from, first.to) = (first.from.min(self.from), first.to.max(self.to));
    }

    /// Fails it: its data are lost.
    pub fn refuse(&mut self) {
        (self.status, self.stage) = (Status::Unreadable, Stage::Ending);
    }

    /// Starts logging in the allocated space.
    pub fn log_in(&mut self, room: Place) {
        (self.log, self.stage) = (Some(room), Stage::Logging);
    }

    /// Counts a submitted part.
    #[inline]
    pub fn issued(&mut self, purpose: Purpose) {
        if purpose.is_write() {
            self.writes_left += 1;
        } else {
            self.reads_left += 1;
        }
    }

    fn ended(&mut self, purpose: Purpose) {
        if purpose.is_write() {
            self.writes_left -= 1;
        } else {
            self.reads_left -= 1;
        }
    }

    /// Counts a completed part, with its latency breakdown.
    #[inline]
    pub fn done(&mut self, purpose: Purpose, before: Breakdown, spent: Breakdown, how: Status) {
        self.path = before;
        self.path += spent;
        self.status = self.status.and(how);
        self.ended(purpose);
    }

    /// Handles the loss of a part with its member: a span of a data chunk, or parity.
    pub fn lose(&mut self, purpose: Purpose, data: Option<Span>) {
        self.ended(purpose);
        if purpose.is_write() {
            return;
        }
        if self.stage != Stage::Chained {
            self.stage = Stage::Again;
        } else if let Some(span) = data.filter(|_| purpose == Purpose::Own) {
            // Its old values may be overwritten by now, so it cannot restart.
            self.lost = self.lost.hull(span);
        }
    }

    /// Takes the lost old values, which will be reconstructed.
    pub fn take_lost(&mut self) -> Span {
        std::mem::take(&mut self.lost)
    }

    /// Fails it: its purpose cannot be met.
    pub fn spoil(&mut self) {
        self.status = Status::Unreadable;
    }
}

/// A part to submit: its purpose, its place in the stripe, and its span.
pub type Want = (Purpose, u64, Span);
