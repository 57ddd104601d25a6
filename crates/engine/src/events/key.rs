//! Keys of events: time, insertion number, source and payload in one integer.

use crate::Time;

/// From the highest bit: time, insertion number (37 bits), source (3 bits), payload.
pub(super) const PAYLOAD_BITS: u32 = 24;
pub(super) const ORDER_SHIFT: u32 = PAYLOAD_BITS + 3;
pub(super) const TIME_SHIFT: u32 = 64;

/// Time of an event: the upper half of its key.
#[inline]
pub(super) fn time_of(key: u128) -> Time {
    (key >> TIME_SHIFT) as Time
}

/// True if an event precedes an event inserted earlier. At equal times the older one precedes, so
/// comparing half of the keys suffices.
#[inline]
pub(super) fn is_before(key: u128, older: u128) -> bool {
    time_of(key) < time_of(older)
}

/// True if two keys are the same event; insertion numbers are unique.
#[inline]
pub(super) fn is_same(key: u128, other: u128) -> bool {
    key as u64 == other as u64
}
