//! The events of the back end, as the clock holds them.

use crate::ssd::clock::Event;

/// The events of the back end: a kind above the number of the object.
#[derive(Debug, Clone, Copy)]
pub(super) enum Happens {
    CoreDone = 0,
    Crossed = 1,
    Sensed = 2,
    CellDone = 3,
    Stopped = 4,
    Lingered = 5,
    MeterOpens = 6,
}

pub(super) const KIND_SHIFT: u32 = 20;

pub(super) fn event(kind: Happens, number: u32) -> Event {
    debug_assert!(number < 1 << KIND_SHIFT, "what an event is about has 20 bits");
    Event::Flash((kind as u32) << KIND_SHIFT | number)
}
