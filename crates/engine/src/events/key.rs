//! The keys of events: time, insertion number, source and payload in one integer.

use crate::Time;

/// From the highest bit: when, the insertion number in 37 bits, where it waits in 3, the payload.
pub(super) const PAYLOAD_BITS: u32 = 24;
pub(super) const ORDER_SHIFT: u32 = PAYLOAD_BITS + 3;
pub(super) const TIME_SHIFT: u32 = 64;

/// When an event happens: the upper half of its key.
#[inline]
pub(super) fn time_of(key: u128) -> Time {
    (key >> TIME_SHIFT) as Time
}

/// True if an event precedes one inserted earlier: of equal times that is first, so that half of
/// the keys tells.
#[inline]
pub(super) fn is_before(key: u128, older: u128) -> bool {
    time_of(key) < time_of(older)
}

/// True if two keys belong to one event: insertion numbers differ.
#[inline]
pub(super) fn is_same(key: u128, other: u128) -> bool {
    key as u64 == other as u64
}
