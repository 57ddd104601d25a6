//! An operation on a stripe: what it is for, what it touches, and how far it is.

use super::message::{Kind, NONE, Place, Purpose, Span, Start, span};
use super::stripes::{Claim, Use};
use crate::array::redundancy::{HoleRule, ReadCopy, WriteRule};
use engine::{Breakdown, Handle, Request, Status, Time};
use ssd::device::kit::slots::Slot;
use ssd::device::latency::UNIT_WAIT;

/// Keys that decide how the array is read and written.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub read_copy: ReadCopy,
    pub write: WriteRule,
    pub together: bool,
    pub hole: HoleRule,
    /// Start of the logs on the members.
    pub log_sector: u64,
}

/// Progress of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reads; nothing is written before they are done.
    Reading,
    /// Reads of old values, each followed by the write of the new one; parity waits for all.
    Chained,
    /// All reads are done; nothing is written before the log has room for it.
    LogFull,
    /// Logging precedes all writes.
    Logging,
    /// All writes are issued, or none is needed.
    Ending,
    /// A member went with a part: from the beginning, once nothing is outstanding.
    Again,
}

/// An operation on a stripe; its fields are what it is for, what it was asked, and its progress.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// Request of the operation; none of a rebuild.
    owner: Slot,
    kind: Kind,
    stripe: u64,
    /// First sector within the stripe's data.
    from: u64,
    to: u64,
    /// Submission queue and durability of the request.
    queue: u16,
    handle: Handle,
    fua: bool,
    /// True once the stripe is claimed.
    is_queued: bool,
    /// Link to the next merged operation.
    joined: Slot,
    arrived: Time,
    reads_left: u32,
    writes_left: u32,
    stage: Stage,
    /// Position in the log.
    log: Option<Place>,
    /// Old values lost with their member.
    lost: Span,
    /// Latency parts up to the last completed part.
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

    /// A new operation of a request.
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

    /// True without sectors.
    pub fn is_empty(&self) -> bool {
        self.from >= self.to
    }

    /// The queue of its request, whether that is to be durable, and its placement handle.
    pub fn demands(&self) -> (u16, bool, Handle) {
        (self.queue, self.fua, self.handle)
    }

    /// True once the stripe is claimed.
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

    /// True if the host's data change.
    pub fn is_change(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::Trim)
    }

    /// Its span of a data chunk.
    pub fn span(&self, place: u64, chunk: u64) -> Span {
        span(self.from, self.to, place, chunk)
    }

    /// Span of each parity chunk: the hull of its spans in the data.
    pub fn hull(&self, chunk: u64) -> Span {
        let (first, last) = (self.from / chunk, (self.to - 1) / chunk);
        self.span(first, chunk).hull(self.span(last, chunk))
    }

    /// Its data chunks.
    pub fn touched(&self, chunk: u64) -> std::ops::Range<u64> {
        self.from / chunk..self.to.div_ceil(chunk)
    }

    /// Latency parts up to `now`: what no part took it waited.
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

    /// True if reads are outstanding, and writes.
    pub fn outstanding(&self) -> (bool, bool) {
        (self.reads_left > 0, self.writes_left > 0)
    }

    /// Claims the stripe, and returns the claim.
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

    /// Fails the operation: its data are lost.
    pub fn refuse(&mut self) {
        (self.status, self.stage) = (Status::Unreadable, Stage::Ending);
    }

    /// Starts logging in the allocated space.
    pub fn log_in(&mut self, room: Place) {
        (self.log, self.stage) = (Some(room), Stage::Logging);
    }

    /// Counts an issued part.
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

    /// Counts a completed part, with its latency parts.
    #[inline]
    pub fn done(&mut self, purpose: Purpose, before: Breakdown, spent: Breakdown, how: Status) {
        self.path = before;
        self.path += spent;
        self.status = self.status.and(how);
        self.ended(purpose);
    }

    /// Notes the loss of a part with its member: a span of a data chunk, or parity.
    pub fn lose(&mut self, purpose: Purpose, data: Option<Span>) {
        self.ended(purpose);
        if purpose.is_write() {
            return;
        }
        if self.stage != Stage::Chained {
            self.stage = Stage::Again;
        } else if let Some(span) = data.filter(|_| purpose == Purpose::Own) {
            // Values read before may have been overwritten, so the operation cannot restart.
            self.lost = self.lost.hull(span);
        }
    }

    /// The old values that went with their member, which are known from now on.
    pub fn take_lost(&mut self) -> Span {
        std::mem::take(&mut self.lost)
    }

    /// Fails the operation: its purpose cannot be met.
    pub fn spoil(&mut self) {
        self.status = Status::Unreadable;
    }
}

/// A part that an operation is to have: what it is for, and what of which place of the stripe it reads or writes.
pub type Want = (Purpose, u64, Span);
