//! Reads and writes that restore chunks: those lost with a member, and those left inconsistent by a
//! power cut.

use super::logging::{is_written, written_span};
use super::reads::{missing, read_sources};
use crate::raid::message::{Purpose, Span};
use crate::raid::operation::{Operation, Rules, Want};
use crate::raid::sight::Sight;
use crate::redundancy::HoleRule;

/// Reads the chunks from which a member's chunk is rebuilt, in a stripe with parity. False if too
/// many are missing.
pub fn rebuild(
    operation: &Operation,
    member: usize,
    sight: Sight<'_>,
    wants: &mut Vec<Want>,
) -> bool {
    let missing = missing(operation, sight);
    if missing.is_too_much(sight) {
        return false;
    }
    let place = sight.geometry.place_of(operation.stripe(), member as u64);
    // A parity chunk depends only on the data chunks.
    let unknown = missing.data;
    debug_assert!(place >= sight.geometry.data || unknown > 0);
    read_sources(operation, unknown, sight.whole(), false, sight, wants);
    true
}

/// Reads the chunks needed for a resync; false if it is impossible.
pub fn resync(
    operation: &Operation,
    rules: &Rules,
    sight: Sight<'_>,
    wants: &mut Vec<Want>,
) -> bool {
    let (stripe, chunk) = (operation.stripe(), sight.geometry.chunk);
    let (data, width) = (sight.geometry.data, sight.geometry.width);
    match rules.hole {
        HoleRule::Resync => {
            let there = (0..width).filter(|place| sight.has(stripe, *place)).count() as u64;
            let is_mirror = sight.geometry.is_mirror();
            if is_mirror && there > 1 {
                let source = source(stripe, sight).expect("two are there");
                wants.push((Purpose::Other, source, sight.whole()));
            } else if !is_mirror && there == width {
                wants.extend((0..data).map(|place| (Purpose::Other, place, sight.whole())));
            } else {
                // Parity that may be wrong cannot reconstruct a missing chunk.
                return false;
            }
        }
        HoleRule::PartialParity => {
            let rows = replayed_rows(operation, sight);
            if rows.is_empty() {
                return false;
            }
            for place in operation.touched(chunk) {
                if sight.has(stripe, place) {
                    let span = operation.span(place, chunk).within(rows);
                    wants.push((Purpose::Other, place, span));
                }
            }
            wants.push((Purpose::Recall, data, written_span(operation, data, sight)));
        }
        HoleRule::Journal => {
            for place in 0..width {
                if is_written(operation, place, sight) && sight.has(stripe, place) {
                    wants.push((Purpose::Recall, place, written_span(operation, place, sight)));
                }
            }
        }
    }
    true
}

/// The copy to which the others are made equal.
fn source(stripe: u64, sight: Sight<'_>) -> Option<u64> {
    (0..sight.geometry.width).find(|place| sight.has(stripe, *place))
}

/// Rows whose parity follows from the log and the data: rows without a missing chunk in progress.
fn replayed_rows(operation: &Operation, sight: Sight<'_>) -> Span {
    let (chunk, stripe) = (sight.geometry.chunk, operation.stripe());
    if !sight.has(stripe, sight.geometry.data) {
        return Span::default();
    }
    let missing = operation.touched(chunk).find(|place| !sight.has(stripe, *place));
    let hull = operation.hull(chunk);
    missing.map_or(hull, |place| {
        let own = operation.span(place, chunk);
        if own == hull { Span::default() } else { hull.without(own) }
    })
}

/// Writes the chunks left inconsistent by a cut; false if a member has failed since the reads.
pub fn write_resynced(
    operation: &Operation,
    rules: &Rules,
    sight: Sight<'_>,
    wants: &mut Vec<Want>,
) -> bool {
    let stripe = operation.stripe();
    let (data, width) = (sight.geometry.data, sight.geometry.width);
    let is_mirror = sight.geometry.is_mirror();
    if !is_mirror && !rules.hole.has_log() && !sight.has_all(stripe) {
        return false;
    }
    match rules.hole {
        HoleRule::Resync => {
            let first =
                if is_mirror { source(stripe, sight).map_or(width, |it| it + 1) } else { data };
            let there = (first..width).filter(|place| sight.has(stripe, *place));
            wants.extend(there.map(|place| (Purpose::Write, place, sight.whole())));
        }
        HoleRule::PartialParity => {
            wants.push((Purpose::Write, data, replayed_rows(operation, sight)));
        }
        HoleRule::Journal => {
            for place in 0..width {
                if is_written(operation, place, sight) && sight.has(stripe, place) {
                    wants.push((Purpose::Write, place, written_span(operation, place, sight)));
                }
            }
        }
    }
    true
}
