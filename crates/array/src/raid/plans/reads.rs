//! Reads of a stripe from the available members.

use crate::raid::message::{Purpose, Span};
use crate::raid::operation::{Operation, Want};
use crate::raid::sight::Sight;
use crate::redundancy::ReadCopy;
use engine::{Random as _, Xoshiro256};

/// Missing chunks of a stripe, and how an operation touches them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Missing {
    pub data: u64,
    pub checks: u64,
    pub touched: u64,
    /// Hull of the operation's spans in missing chunks.
    pub hull: Span,
    /// True if a missing chunk is touched in part.
    pub in_part: bool,
}

impl Missing {
    /// True if more chunks are missing than the redundancy tolerates.
    pub fn is_too_much(self, sight: Sight<'_>) -> bool {
        self.data + self.checks > sight.geometry.checks()
    }
}

/// Missing chunks of an operation's stripe.
#[inline]
pub fn missing(operation: &Operation, sight: Sight<'_>) -> Missing {
    if sight.members.is_whole() {
        return Missing::default();
    }
    missing_of(operation, sight, false)
}

/// `missing`; with `around`, chunks on cleaning members count as missing.
fn missing_of(operation: &Operation, sight: Sight<'_>, around: bool) -> Missing {
    let mut missing = Missing::default();
    let chunk = sight.geometry.chunk;
    let hull = if operation.is_empty() { Span::default() } else { operation.hull(chunk) };
    for place in 0..sight.geometry.width {
        if reads_from(operation, place, sight, around) {
            continue;
        }
        if place >= sight.geometry.data {
            missing.checks += 1;
            continue;
        }
        missing.data += 1;
        let span = operation.span(place, chunk);
        if !span.is_empty() {
            missing.touched += 1;
            missing.hull = missing.hull.hull(span);
            missing.in_part |= span != hull;
        }
    }
    missing
}

/// True if an operation may read at a place of its stripe.
fn reads_from(operation: &Operation, place: u64, sight: Sight<'_>, around: bool) -> bool {
    let stripe = operation.stripe();
    sight.has(stripe, place) && !(around && sight.avoids(stripe, place))
}

/// How a read is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Directly.
    AsAsked,
    /// By reconstruction of that many chunks.
    FromOthers(u64),
    /// By reconstruction, in turn with other operations of the stripe.
    InTurn,
    /// Not at all: the data are lost.
    Lost,
}

/// Adds the reads of an operation in a stripe with parity. Returns how it is served, and true if it
/// avoids cleaning members.
pub fn read(operation: &Operation, sight: Sight<'_>, wants: &mut Vec<Want>) -> (Reading, bool) {
    let mut missing = missing(operation, sight);
    let mut around = false;
    if sight.members.are_by_turns() && missing.touched == 0 {
        missing = missing_of(operation, sight, true);
        around = missing.touched > 0 && !missing.is_too_much(sight);
        if !around {
            missing = Missing::default();
        }
    }
    if missing.touched == 0 {
        let chunk = sight.geometry.chunk;
        let touched = operation.touched(chunk);
        wants.extend(touched.map(|place| (Purpose::Own, place, operation.span(place, chunk))));
        return (Reading::AsAsked, around);
    }
    if !operation.is_queued() {
        return (Reading::InTurn, around);
    }
    if missing.is_too_much(sight) {
        return (Reading::Lost, around);
    }
    read_sources(operation, missing.data, missing.hull, around, sight, wants);
    (Reading::FromOthers(missing.touched), around)
}

/// Reads all available data chunks (the requested spans and those needed for reconstruction), and
/// as many parity chunks as data chunks are missing.
pub fn read_sources(
    operation: &Operation,
    unknown: u64,
    lost: Span,
    around: bool,
    sight: Sight<'_>,
    wants: &mut Vec<Want>,
) {
    let (data, width) = (sight.geometry.data, sight.geometry.width);
    for place in 0..data {
        if reads_from(operation, place, sight, around) {
            let own = operation.span(place, sight.geometry.chunk);
            wants.push((Purpose::Other, place, own.hull(lost)));
        }
    }
    let checks = (data..width).filter(|place| reads_from(operation, *place, sight, around));
    wants.extend(checks.take(unknown as usize).map(|place| (Purpose::Other, place, lost)));
}

/// Reads the chunks needed to reconstruct a lost old value, except what the operation has read
/// itself.
pub fn read_around(operation: &Operation, lost: Span, sight: Sight<'_>, wants: &mut Vec<Want>) {
    for place in 0..sight.geometry.data {
        if sight.has(operation.stripe(), place) {
            let span = lost.without(operation.span(place, sight.geometry.chunk));
            wants.push((Purpose::Other, place, span));
        }
    }
}

/// A readable copy of a mirror, if any.
pub fn choose_copy(
    rule: ReadCopy,
    (random, turn): &mut (&mut Xoshiro256, &mut u64),
    sight: Sight<'_>,
    stripe: u64,
    span: Span,
) -> Option<u64> {
    let copies = sight.geometry.width;
    let quick = |copy: &u64| sight.has(stripe, *copy) && !sight.avoids(stripe, *copy);
    let by_turns = sight.members.are_by_turns() && (0..copies).any(|copy| quick(&copy));
    let there = |copy: &u64| if by_turns { quick(copy) } else { sight.has(stripe, *copy) };
    if sight.is_behind(stripe) {
        // Copies may differ after a cut, so the read uses the source of the resync.
        return (0..copies).find(|copy| sight.has(stripe, *copy));
    }
    let count = (0..copies).filter(there).count() as u64;
    if count == 0 {
        return None;
    }
    let nth = match rule {
        ReadCopy::Random if count > 1 => random.below(count),
        ReadCopy::RoundRobin => {
            **turn += 1;
            **turn % count
        }
        _ => 0,
    };
    let first = sight.geometry.member(stripe, 0);
    let lba = sight.geometry.row(stripe) * sight.geometry.chunk + span.from;
    let load = |copy: &u64| sight.members.queue_and_way((first + copy) as usize, lba);
    let mut choices = (0..copies).filter(there);
    match rule {
        ReadCopy::Nearest => choices.min_by_key(|copy| load(copy).1),
        ReadCopy::ShortestQueue => choices.min_by_key(load),
        ReadCopy::Primary | ReadCopy::Random | ReadCopy::RoundRobin => choices.nth(nth as usize),
    }
}
