//! State of operations at a power cut.
//!
//! An uncompleted member write survives or vanishes as a whole, at random: the member guarantees
//! neither. A stripe may therefore contain some of its writes and lack others.

use super::logging::is_written;
use crate::raid::message::{Kind, Purpose};
use crate::raid::operation::{Operation, Stage};
use crate::raid::sight::Sight;
use crate::raid::torn::{Cut, Torn};

/// A part outstanding at the cut: place, purpose, and true if its write survived.
pub type CutPart = (u64, Purpose, bool);

/// Torn state of an operation with the given outstanding parts; `None` if its stripe is unchanged.
pub fn cut(operation: &Operation, parts: &[CutPart], sight: Sight<'_>) -> Option<Cut> {
    let stripe = operation.stripe();
    let is_ending = operation.stage() == Stage::Ending;
    let all_there = parts.iter().all(|it| it.2);
    if operation.kind() == Kind::Resync && is_ending && all_there {
        return Some(Cut::Repaired(stripe));
    }
    if !operation.is_change() || !(is_ending || operation.stage() == Stage::Chained) {
        return None;
    }
    let (data, width) = (sight.geometry.data, sight.geometry.width);
    let first_check = if sight.geometry.is_mirror() { 1 } else { data };
    if !(first_check..width).any(|place| sight.has(stripe, place)) {
        // Nothing can be inconsistent.
        return None;
    }
    let mut begun = false;
    let there = |place: u64| {
        if !is_written(operation, place, sight) || !sight.has(stripe, place) {
            return None;
        }
        let mut of_place = parts.iter().filter(|it| it.0 == place);
        let write = of_place.clone().find(|it| it.1 == Purpose::Write);
        let is_read = of_place.any(|it| it.1 == Purpose::Own);
        let done = is_ending || place < data && !is_read;
        let is_there = write.map_or(done, |it| it.2);
        begun |= is_there || write.is_some();
        Some(is_there)
    };
    let there = (0..width).map(there).collect();
    let torn = Torn {
        from: operation.sectors().start,
        to: operation.sectors().end,
        hull: operation.hull(sight.geometry.chunk),
        there,
        log: operation.log(),
    };
    begun.then_some(Cut::Torn { stripe, torn, all_there })
}
