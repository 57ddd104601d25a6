//! Writes that wait for the buffer, and why the first of them does.

use crate::device::kit::slots::Slot;
use crate::page::HeldFor;
use engine::{Request, Time};

/// A write that waits for the buffer, or enters it page by page.
#[derive(Debug, Clone, Copy)]
pub struct Write {
    pub slot: Slot,
    pub request: Request,
    /// The logical pages that are still to be written.
    pub next: u64,
    pub end: u64,
    /// True once the pace has admitted it; its remaining pages need no admission.
    pub(super) begun: bool,
    /// True if it waited for room.
    pub(super) waited: bool,
    /// Hold times at its arrival: for cleaning, and for room.
    pub(super) marks: HeldFor,
}

/// Why the first of the writes that wait is held, since when, and for how long writes were before.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    reason: Option<(Reason, Time)>,
    before: HeldFor,
    /// Time of the meter's next query.
    pub(super) wake: Option<Time>,
    /// Time of a repeated query after a burst without gain.
    pub(super) asked_again: Option<Time>,
}

/// Condition that a write waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Cleaning,
    Room,
}

impl Held {
    /// Hold times of writes, for cleaning and for room.
    pub(super) fn totals(&self, now: Time) -> HeldFor {
        let HeldFor { cleaning, room } = self.before;
        match self.reason {
            Some((Reason::Cleaning, since)) => HeldFor { cleaning: cleaning + now - since, room },
            Some((Reason::Room, since)) => HeldFor { cleaning, room: room + now - since },
            None => self.before,
        }
    }

    pub(super) fn set(&mut self, reason: Option<Reason>, now: Time) {
        self.before = self.totals(now);
        self.reason = reason.map(|reason| (reason, now));
    }
}
