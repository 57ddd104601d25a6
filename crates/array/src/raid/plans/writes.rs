//! Reads before a stripe's write, and its writes.

use super::reads::{Missing, missing};
use crate::raid::message::Purpose;
use crate::raid::operation::{Operation, Rules, Stage, Want};
use crate::raid::sight::Sight;
use crate::redundancy::WriteRule;

/// Reads before a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// No reads: no parity is available.
    NothingPlain,
    /// No reads: the whole stripe is written.
    Nothing,
    /// Old data and old parity (read-modify-write).
    Old,
    /// The rest of the stripe (reconstruct-write).
    Others,
    /// All available chunks.
    All,
}

/// Reads before a write; `None` if the target is lost.
pub fn reads_before(operation: &Operation, rules: &Rules, sight: Sight<'_>) -> Option<Reads> {
    let Missing { data, checks, touched, in_part, .. } = missing(operation, sight);
    let chunk = sight.geometry.chunk;
    let checks = sight.geometry.checks() - checks;
    if touched > 0 && data > checks {
        return None;
    }
    if checks == 0 {
        return Some(Reads::NothingPlain);
    }
    if touched > 0 {
        let from_others = touched == data && !in_part;
        return Some(if from_others { Reads::Others } else { Reads::All });
    }
    if data > 0 {
        return Some(Reads::Old);
    }
    let hull = operation.hull(chunk);
    let touched = operation.touched(chunk);
    let old = touched.end - touched.start + checks;
    let whole = touched.filter(|place| operation.span(*place, chunk) == hull).count() as u64;
    let others = sight.geometry.data - whole;
    if others == 0 {
        return Some(Reads::Nothing);
    }
    if sight.is_behind(operation.stripe()) {
        // The old parity may be wrong.
        return Some(Reads::Others);
    }
    Some(match rules.write {
        WriteRule::ReadModifyWrite => Reads::Old,
        WriteRule::Auto if old <= others => Reads::Old,
        WriteRule::Auto | WriteRule::Reconstruct => Reads::Others,
    })
}

/// Adds the reads before a write.
pub fn read(operation: &Operation, reads: Reads, sight: Sight<'_>, wants: &mut Vec<Want>) {
    let (chunk, stripe) = (sight.geometry.chunk, operation.stripe());
    let (data, width) = (sight.geometry.data, sight.geometry.width);
    let hull = operation.hull(chunk);
    match reads {
        Reads::NothingPlain | Reads::Nothing => {}
        Reads::Old => {
            for place in operation.touched(chunk).chain(data..width) {
                if sight.has(stripe, place) {
                    let span = if place < data { operation.span(place, chunk) } else { hull };
                    wants.push((Purpose::Own, place, span));
                }
            }
        }
        Reads::Others => {
            for place in 0..data {
                if sight.has(stripe, place) {
                    let span = hull.without(operation.span(place, chunk));
                    wants.push((Purpose::Other, place, span));
                }
            }
        }
        Reads::All => {
            for place in 0..width {
                if sight.has(stripe, place) {
                    wants.push((Purpose::Other, place, hull));
                }
            }
        }
    }
}

/// Adds the data writes with their copies or parity. Data already written behind their own reads
/// are skipped.
pub fn write(operation: &Operation, sight: Sight<'_>, wants: &mut Vec<Want>) {
    let chunk = sight.geometry.chunk;
    if sight.geometry.is_mirror() {
        let there = (0..sight.geometry.width).filter(|copy| sight.has(operation.stripe(), *copy));
        let span = operation.span(0, chunk);
        wants.extend(there.map(|copy| (Purpose::Write, copy, span)));
        return;
    }
    for place in operation.touched(chunk) {
        if sight.has(operation.stripe(), place) {
            wants.push((Purpose::Write, place, operation.span(place, chunk)));
        }
    }
    write_checks(operation, sight, wants);
}

/// Adds the parity writes.
pub fn write_checks(operation: &Operation, sight: Sight<'_>, wants: &mut Vec<Want>) {
    debug_assert!(operation.stage() == Stage::Ending);
    let hull = operation.hull(sight.geometry.chunk);
    for place in sight.geometry.data..sight.geometry.width {
        if sight.has(operation.stripe(), place) {
            wants.push((Purpose::Write, place, hull));
        }
    }
}

/// Adds the trims of the range and of its copies or parity.
pub fn trim(operation: &Operation, sight: Sight<'_>, wants: &mut Vec<Want>) {
    let chunk = sight.geometry.chunk;
    for place in 0..sight.geometry.width {
        let of_chunk =
            if sight.geometry.is_mirror() { 0 } else { place.min(sight.geometry.data - 1) };
        if sight.has(operation.stripe(), place) {
            wants.push((Purpose::Write, place, operation.span(of_chunk, chunk)));
        }
    }
}
