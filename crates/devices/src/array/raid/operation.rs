//! An operation on a stripe, and its parts.

use crate::kit::slots::Slot;
use crate::latency::UNIT_WAIT;
use engine::{Breakdown, Status, Time};
use std::ops::Range;

/// No operation, no request.
pub(super) const NONE: Slot = Slot::MAX;

/// Room of an entry in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) log: u32,
    pub(super) first: u32,
    pub(super) blocks: u32,
}

#[cfg(test)]
impl Place {
    pub(super) fn range(self) -> std::ops::Range<u32> {
        self.first..self.first + self.blocks
    }
}

/// What an operation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    Trim,
    Flush,
    /// A chunk of this member is made again.
    Rebuild(u32),
    /// What a power cut left is put right.
    Resync,
}

/// Sectors within a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Span {
    pub(super) fn is_empty(self) -> bool {
        self.from >= self.to
    }

    pub(super) fn sectors(self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    /// The least that holds both.
    pub(super) fn hull(self, other: Span) -> Span {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Span { from: self.from.min(other.from), to: self.to.max(other.to) },
        }
    }

    pub(super) fn overlaps(self, other: Span) -> bool {
        self.from < other.to && other.from < self.to
    }

    /// What lies in this one and not in the other, which begins or ends where this one does, or holds it.
    pub(super) fn without(self, other: Span) -> Span {
        if !self.overlaps(other) {
            return self;
        }
        if other.from > self.from {
            return Span { to: other.from.min(self.to), ..self };
        }
        Span { from: other.to.min(self.to), ..self }
    }
}

/// An operation on a stripe; its fields are what it is for, its place in the queue, and its progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    /// The request that it belongs to; none of a rebuild.
    pub(super) owner: Slot,
    pub(super) kind: Kind,
    pub(super) stripe: u64,
    /// Its sectors among the data of the stripe.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The next in the queue of its stripe, and whether it is in one, and under way.
    pub(super) next: Slot,
    pub(super) is_queued: bool,
    /// The one that is done with it, and with that the next.
    pub(super) joined: Slot,
    pub(super) is_running: bool,
    pub(super) arrived: Time,
    pub(super) reads_left: u32,
    pub(super) writes_left: u32,
    pub(super) stage: Stage,
    /// A read that goes around members that clean.
    pub(super) around: bool,
    /// Where the log has it.
    pub(super) log: Option<Place>,
    /// Old values that went with their member.
    pub(super) lost: Span,
    /// Where the time up to the part done last went.
    pub(super) path: Breakdown,
    pub(super) status: Status,
}

/// How far an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Reads; nothing is written before they are done.
    Reading,
    /// Reads of old values, each followed by the write of the new one; parity waits for all.
    Chained,
    /// All has been read; nothing is written before the log has room for it.
    LogFull,
    /// Nothing is written before it is in the log.
    Logging,
    /// All writes have been issued, or there are none.
    Ending,
    /// A member went with a part: from the beginning, once nothing is outstanding.
    Again,
}

impl Operation {
    pub(super) fn new(owner: Slot, kind: Kind, stripe: u64, data: Range<u64>, now: Time) -> Self {
        Operation {
            owner,
            kind,
            stripe,
            from: data.start,
            to: data.end,
            next: NONE,
            joined: NONE,
            is_queued: false,
            is_running: false,
            arrived: now,
            reads_left: 0,
            writes_left: 0,
            stage: Stage::Reading,
            around: false,
            log: None,
            lost: Span::default(),
            path: Breakdown::default(),
            status: Status::Ok,
        }
    }

    /// What of a data chunk it touches.
    pub(super) fn span(&self, place: u64, chunk: u64) -> Span {
        let (first, end) = (place * chunk, (place + 1) * chunk);
        let (from, to) = (self.from.clamp(first, end), self.to.clamp(first, end));
        Span { from: from - first, to: to - first }
    }

    /// What of each parity chunk it touches: the hull of what it touches of the data.
    pub(super) fn hull(&self, chunk: u64) -> Span {
        let (first, last) = (self.from / chunk, (self.to - 1) / chunk);
        self.span(first, chunk).hull(self.span(last, chunk))
    }

    /// The data chunks that it touches.
    pub(super) fn touched(&self, chunk: u64) -> Range<u64> {
        self.from / chunk..self.to.div_ceil(chunk)
    }

    /// Where its time up to `now` went: what no part took it waited.
    pub(super) fn path_at(&self, now: Time) -> Breakdown {
        let mut path = self.path;
        path[UNIT_WAIT] += now - self.arrived - path.total();
        path
    }

    pub(super) fn outstanding(&self) -> u32 {
        self.reads_left + self.writes_left
    }
}

/// What a part is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The old value of what is written, or what is asked.
    Own,
    /// A value from which another follows.
    Other,
    Write,
    /// A write to the log, and a read of it.
    Log,
    Recall,
}

impl Purpose {
    pub(super) fn is_write(self) -> bool {
        matches!(self, Purpose::Write | Purpose::Log)
    }
}

/// A request to a member.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) operation: Slot,
    pub(super) purpose: Purpose,
    pub(super) place: u64,
    pub(super) span: Span,
    pub(super) drive: u32,
    /// Where the time of its operation went before it.
    pub(super) before: Breakdown,
    /// Under way; not so once its drive has failed.
    pub(super) is_live: bool,
}
