//! A read of a die, and the requests that wait for it.

use super::victims::Batch;
use crate::kit::slots::Slot;
use engine::Time;

/// A read that a die does in one go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    /// The waiting request.
    pub(super) owner: Owner,
    pub(super) die: u32,
    /// The planes that take part.
    pub(super) planes: u32,
    /// What it senses next, ns, and what of it crosses the bus.
    pub(super) sense_ns: Time,
    pub(super) bus_ns: Time,
    /// When it began to wait, and how long the die had been cleaning and stopping then.
    pub(super) queued: Time,
    pub(super) marks: [Time; 2],
    pub(super) started: Time,
    pub(super) sensed: Time,
}

/// What waits for a read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner {
    /// A request, and its number of logical pages.
    Request(Slot, u32),
    /// Cleaning.
    Copies(Batch),
}
