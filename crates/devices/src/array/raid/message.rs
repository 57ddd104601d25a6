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

    /// This span without the other, which begins or ends where this one does, or holds it.
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
    /// The request that it belongs to; none of a rebuild or a resynchronisation.
    pub owner: Slot,
    pub kind: Kind,
    pub stripe: u64,
    /// Its sectors among the data of the stripe.
    pub from: u64,
    pub to: u64,
    /// Where a log has it.
    pub log: Option<Place>,
}

/// A message to the machine that its row names; `raid/mod.rs` hands them on, the last one first. Every one is
/// copied a few times: what is large and seldom said is elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Plans: an operation begins, or waits for its turn.
    Start(Start),
    /// Stripes: an operation waits for its turn.
    Queue(Slot),
    /// Stripes: those that need not wait any more have their turn.
    Turn(u64),
    /// Plans: an operation is done with another one.
    Join(Slot, Slot),
    /// Plans: it is an operation's turn.
    Begin(Slot),
    /// Members: a request.
    Issue(Issue),
    /// Log: an operation is to be logged before it writes.
    Log(Slot),
    /// Plans: what an operation lost with a member is read around, and it goes on.
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
    /// Plans: an operation that is over leaves, and its request hears of it.
    Close(Slot),
    /// As `Close`, for an operation done with another, which took this way and began then.
    CloseJoined { slot: Slot, status: Status, path: Box<Breakdown>, arrived: Time },
    /// Plans: the stripe of a rebuilt chunk is unlocked.
    Release(Slot),
    /// Plans: an operation leaves.
    Forget(Slot),
    /// Log: so many that wait for room try again.
    Retry(usize),
    /// Members: a flush that waits for nothing goes to all.
    Flush(Slot),
    /// Rebuilds: a unit is over if all of it is there.
    Unit(usize),
    /// Rebuilds and recovery: units that are over are followed by others.
    Units,
}
