//! What is still to be done at an instant, and what answers have come of it.

use super::cache::{Phase, Reason};
use super::ids::{Domain, Unit};
use super::page::HeldFor;
use crate::device::kit::slots::Slot;
use engine::Status;

/// Where bound units are in their turn: which kind of operation they are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetTurn {
    pub(crate) set: u32,
    pub(crate) round: u32,
    pub(crate) phases: [Phase; 4],
    pub(crate) phase: u8,
}

/// What is still to be done at this instant; the last is done first.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Due {
    /// Writes wait for the buffer: a turn of them is to be taken.
    Admit,
    /// The first of them is looked at, for the first time or again; or with its next page.
    Look,
    Next,
    /// A page has come in, for which this domain may have to clean.
    CameIn(Domain),
    /// The first has to wait, and what can be done about that is done.
    Hold(Reason),
    /// No block had room for it, and cleaning has gone as far as it goes; not even the end of a burst helped.
    Stuck,
    StuckAgain,
    /// The turn is over.
    Over,
    /// A domain, or every domain, is cleaned as far as it is asked for.
    Clean(Domain),
    CleanAll,
    /// The host waits for cleaning; if that does not help, it gets by with less.
    CleanOn,
    GetBy,
    /// What the pace allows has changed: dies that held programs of the host, cleaning and writes go on.
    PaceChanged,
    RunAll,
    /// A burst may be over, or do nothing any more.
    BurstOver,
    EndIdleBurst,
    /// Nothing else may look at the writes that wait again.
    AdmitIfStuck,
    /// A die is free for what waits.
    Run(u32),
    /// Requests may have become durable.
    Settle,
    /// Erasures that waited for programs may begin.
    Erasures,
    /// A unit, alone or with those that it is bound to, may begin an operation.
    Serve(Unit),
    /// The same of one unit, of one kind; or of what else it may do; or of the pages that wait for it.
    Unit(Unit, Option<Phase>),
    Class(Unit, Option<Phase>, u8),
    Stalled(Unit, Option<Phase>),
    Waiting(Unit, Option<Phase>),
    /// Bound units are asked for operations of a kind, and were.
    SetPhase(SetTurn),
    SetPhaseOver(SetTurn),
}

/// An answer to the host, or to the drive itself, which is given when all that belongs to an event is done.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// A request is done; how long it was held for cleaning, and for room.
    Done { slot: Slot, status: Status, held: HeldFor },
    /// All that was written before a flush is durable.
    Flushed(Slot),
    /// A page of the drive's own is written on a die.
    Own(Unit),
}
