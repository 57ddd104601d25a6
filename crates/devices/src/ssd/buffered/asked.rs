//! Requests in the back end, what it answers, and why writes wait.

use crate::kit::slots::Slot;
use crate::ssd::ids::Unit;
use engine::{Part, Request, Status, Time};

/// What the back end has to tell the host.
#[derive(Debug, Clone, Copy)]
pub(in crate::ssd) enum Answer {
    /// A request is done, and where its time went.
    Done { slot: Slot, status: Status, spent: [(Part, Time); 6] },
    /// All that was written before a flush is durable.
    Flushed(Slot),
    /// A page of the drive's own is written on a die.
    Own(Unit),
}

/// A request in the back end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) request: Request,
    /// Reads of the flash that it waits for.
    pub(super) reads_left: u32,
    /// The logical pages that are still to be written.
    pub(super) next: u64,
    pub(super) end: u64,
    /// The pace has let the write begin; it is not asked again for the rest.
    pub(super) begun: bool,
    /// The write has waited for room.
    pub(super) waited: bool,
    /// How long writes had been held when it came: for cleaning, and for room.
    pub(super) marks: [Time; 2],
    pub(super) firmware_ns: Time,
    pub(super) arrived: Time,
    pub(super) spent: Spent,
}

/// Where the time of a read went, ns.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) cleaning: Time,
    pub(super) suspend: Time,
    pub(super) bus: Time,
    pub(super) cell: Time,
}

/// Why the first of the writes that wait is held, since when, and for how long writes were before.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    reason: Option<(Reason, Time)>,
    before: [Time; 2],
    /// When the meter is asked again.
    pub(super) wake: Option<Time>,
    /// Writes are being admitted, and must be checked again.
    pub(super) admitting: bool,
    pub(super) again: bool,
    /// When a write asked again because a burst gained nothing.
    pub(super) asked_again: Option<Time>,
}

/// What a write waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Cleaning = 0,
    Room = 1,
}

impl Held {
    /// How long writes have been held, for cleaning and for room.
    pub(super) fn totals(&self, now: Time) -> [Time; 2] {
        let mut totals = self.before;
        if let Some((reason, since)) = self.reason {
            totals[reason as usize] += now - since;
        }
        totals
    }

    pub(super) fn set(&mut self, reason: Option<Reason>, now: Time) {
        self.before = self.totals(now);
        self.reason = reason.map(|reason| (reason, now));
    }
}
