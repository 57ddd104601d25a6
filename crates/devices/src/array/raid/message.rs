//! Messages between the machines of an array with redundancy.

use engine::{Breakdown, Request, Status, Time};
use ssd::device::kit::slots::Slot;

/// No operation, no request.
pub const NONE: Slot = Slot::MAX;

/// Purpose of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Trim,
    Flush,
    /// A chunk of the member in whose place this drive is is made again.
    Rebuild(u32),
    /// A stripe torn by a power cut is resynchronised.
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

    /// The least that holds both.
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
    /// The requested data, or their old value.
    Own,
    /// A value from which another follows.
    Other,
    Write,
    /// A log write, and its read.
    Log,
    Recall,
}

impl Purpose {
    pub fn is_write(self) -> bool {
        matches!(self, Purpose::Write | Purpose::Log)
    }
}

/// Room of an entry in a log.
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

/// A request to a member, for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issue {
    pub slot: Slot,
    pub purpose: Purpose,
    pub place: u64,
    pub span: Span,
    pub member: usize,
    pub request: Request,
}

/// An operation to begin on a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Request of the operation; none of a rebuild or a resynchronisation.
    pub owner: Slot,
    pub kind: Kind,
    pub stripe: u64,
    /// First sector within the stripe's data.
    pub from: u64,
    pub to: u64,
    /// Position in a log.
    pub log: Option<Place>,
}

/// A message to the machine named in its row; `raid/mod.rs` hands them on, the last one first.
/// Every one is copied a few times: Messages are copied, so large and rare content is stored
/// elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Plans: an operation begins, or waits for its turn.
    Start(Start),
    /// Stripes: an operation waits for its turn.
    Queue(Slot),
    /// Stripes: Stripes: gives the operations that no longer wait their turn.
    Turn(u64),
    /// Plans: an operation is done with another one.
    Join(Slot, Slot),
    /// Plans: it is an operation's turn.
    Begin(Slot),
    /// Members: a request.
    Issue(Issue),
    /// Log: an operation is to be logged before it writes.
    Log(Slot),
    /// Plans: Plans: replaces the reads lost with a member, and continues.
    Recover(Slot),
    /// Recovery: a write makes the parity of these rows of a stripe anew.
    Mend(u64, Span),
    /// Recovery: a stripe is written anew.
    Anew(u64),
    /// Rebuilds: too much is missing for what this drive is to hold.
    Stop(u32),
    /// Everybody: an operation is over.
    Finish(Slot),
    /// Front: an operation of a request, if it is of one, is over.
    Answer { owner: Option<Slot>, status: Status, path: Box<Breakdown> },
    /// Plans: Plans: removes a completed operation, and informs its request.
    Close(Slot),
    /// `Close` for an operation merged with another, with its path and start.
    CloseJoined { slot: Slot, status: Status, path: Box<Breakdown>, arrived: Time },
    /// Plans: the stripe of a rebuilt chunk is unlocked.
    Release(Slot),
    /// Plans: an operation leaves.
    Forget(Slot),
    /// Log: Log: lets that many waiting operations retry.
    Retry(usize),
    /// Members: a flush that waits for nothing goes to all.
    Flush(Slot),
    /// Rebuilds: Rebuilds: ends a unit if it is complete.
    Unit(usize),
    /// Rebuilds and recovery: units that are over are followed by others.
    Units,
}
