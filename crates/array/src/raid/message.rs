//! Messages between the modules of an array with redundancy.

use engine::{Breakdown, Request, Status, Time};
use ssd::device::kit::slots::Slot;

/// No operation, or no request.
pub const NONE: Slot = Slot::MAX;

/// Purpose of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Trim,
    Flush,
    /// Reconstructs a chunk of the member whose place this drive takes.
    Rebuild(u32),
    /// Resynchronises a stripe torn by a power cut.
    Resync,
}

/// Sectors within a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub from: u64,
    pub to: u64,
}

impl Span {
    pub fn is_empty(self) -> bool {
        self.from >= self.to
    }

    pub fn sectors(self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    /// Smallest span that contains both.
    pub fn hull(self, other: Span) -> Span {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Span { from: self.from.min(other.from), to: self.to.max(other.to) },
        }
    }

    pub fn overlaps(self, other: Span) -> bool {
        self.from < other.to && other.from < self.to
    }

    /// Difference of this span and another that shares a boundary with it or contains it.
    pub fn without(self, other: Span) -> Span {
        if !self.overlaps(other) {
            return self;
        }
        if other.from > self.from {
            return Span { to: other.from.min(self.to), ..self };
        }
        Span { from: other.to.min(self.to), ..self }
    }

    pub fn has(self, row: u64) -> bool {
        (self.from..self.to).contains(&row)
    }

    pub fn within(self, other: Span) -> Span {
        Span { from: self.from.max(other.from), to: self.to.min(other.to) }
    }
}

/// Span of a data chunk within the sectors `from` to `to` of a stripe's data.
#[inline]
pub fn span(from: u64, to: u64, place: u64, chunk: u64) -> Span {
    let first = place * chunk;
    let within = |sector: u64| sector.saturating_sub(first).min(chunk);
    Span { from: within(from), to: within(to) }
}

/// Purpose of a part of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The requested data, or their old values.
    Own,
    /// A value needed to compute another.
    Other,
    Write,
    /// A log write, and a log read.
    Log,
    Recall,
}

impl Purpose {
    pub fn is_write(self) -> bool {
        matches!(self, Purpose::Write | Purpose::Log)
    }
}

/// Space of a log entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub log: u32,
    pub first: u32,
    pub blocks: u32,
}

#[cfg(test)]
impl Place {
    pub fn range(self) -> std::ops::Range<u32> {
        self.first..self.first + self.blocks
    }
}

/// A request to a member for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issue {
    pub slot: Slot,
    pub purpose: Purpose,
    pub place: u64,
    pub span: Span,
    pub member: usize,
    pub request: Request,
}

/// Start of an operation on a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Request of the operation; `NONE` for a rebuild or resync.
    pub owner: Slot,
    pub kind: Kind,
    pub stripe: u64,
    /// First sector within the stripe's data.
    pub from: u64,
    pub to: u64,
    /// Its log entry.
    pub log: Option<Place>,
}

/// Message to the module named first; `raid/mod.rs` delivers them, latest first. Messages are
/// copied, so large and rare content is stored elsewhere.
/// elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Plans: start an operation, at once or in turn.
    Start(Start),
    /// Stripes: queue an operation on its stripe.
    Queue(Slot),
    /// Stripes: start operations of a stripe that no longer wait.
    Turn(u64),
    /// Plans: merge an operation with another.
    Join(Slot, Slot),
    /// Plans: begin an operation that has its turn.
    Begin(Slot),
    /// Members: submit a request.
    Issue(Issue),
    /// Log: log an operation before its writes.
    Log(Slot),
    /// Plans: replace the reads lost with a member, and continue.
    Recover(Slot),
    /// Recovery: a write recomputes the parity of these rows of a stripe.
    Mend(u64, Span),
    /// Recovery: a stripe is rewritten.
    Anew(u64),
    /// Rebuilds: stop the rebuild to this drive, because data are lost.
    Stop(u32),
    /// All modules: an operation has completed.
    Finish(Slot),
    /// Front: an operation has completed, for its request if any.
    Answer { owner: Option<Slot>, status: Status, path: Box<Breakdown> },
    /// Plans: remove a completed operation, and inform its request.
    Close(Slot),
    /// `Close` for an operation merged with another one, with that one's latency breakdown and
    /// arrival.
    CloseJoined { slot: Slot, status: Status, path: Box<Breakdown>, arrived: Time },
    /// Plans: unlock the stripe of a rebuilt chunk.
    Release(Slot),
    /// Plans: remove an operation.
    Forget(Slot),
    /// Log: let that many waiting operations retry.
    Retry(usize),
    /// Members: send a flush to all of them.
    Flush(Slot),
    /// Rebuilds: end a member's unit if it is complete.
    Unit(usize),
    /// Rebuilds and recovery: start the units after completed ones.
    Units,
}
