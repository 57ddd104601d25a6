//! Log entries of writes, and their reads after a cut.

use crate::raid::log::HEADER;
use crate::raid::message::{Kind, Place, Purpose, Span};
use crate::raid::operation::{Operation, Rules, Want};
use crate::raid::sight::Sight;
use crate::redundancy::HoleRule;
use engine::{Lba, Op, Request};

/// Span that an operation writes at a place of its stripe.
pub fn written_span(operation: &Operation, place: u64, sight: Sight<'_>) -> Span {
    let chunk = sight.geometry.chunk;
    if sight.geometry.is_mirror() {
        return operation.span(0, chunk);
    }
    if place < sight.geometry.data { operation.span(place, chunk) } else { operation.hull(chunk) }
}

/// True if an operation writes at a place of its stripe.
pub fn is_written(operation: &Operation, place: u64, sight: Sight<'_>) -> bool {
    sight.geometry.is_mirror()
        || place >= sight.geometry.data
        || operation.touched(sight.geometry.chunk).contains(&place)
}

/// True if an operation's log entry covers a place of its stripe.
fn is_logged(operation: &Operation, place: u64, rules: &Rules, sight: Sight<'_>) -> bool {
    sight.has(operation.stripe(), place)
        && match rules.hole {
            HoleRule::Resync => false,
            HoleRule::Journal => is_written(operation, place, sight),
            HoleRule::PartialParity => place == sight.geometry.data,
        }
}

/// Sectors behind the header: 0 for a trim, or if nothing of the stripe stays unchanged.
fn logged_sectors(operation: &Operation, place: u64, rules: &Rules, sight: Sight<'_>) -> u64 {
    let chunk = sight.geometry.chunk;
    let hull = operation.hull(chunk);
    let by_parity = rules.hole == HoleRule::PartialParity;
    let is_full = |place: u64| operation.span(place, chunk) == hull;
    if operation.kind() == Kind::Trim || by_parity && (0..sight.geometry.data).all(is_full) {
        return 0;
    }
    written_span(operation, place, sight).sectors()
}

/// Log of an operation's entry, and the entry's blocks; `None` if there is nothing to log.
pub fn entry(operation: &Operation, rules: &Rules, sight: Sight<'_>) -> Option<(u32, u64)> {
    let width = sight.geometry.width;
    let is_logged = |place| is_logged(operation, place, rules, sight);
    if !operation.is_change() || !(0..width).any(is_logged) {
        return None;
    }
    let parity = sight.geometry.data.min(width - 1);
    let log = match rules.hole {
        HoleRule::PartialParity => sight.geometry.member(operation.stripe(), parity) as u32,
        HoleRule::Resync | HoleRule::Journal => 0,
    };
    let sectors = logged_sectors(operation, parity, rules, sight);
    Some((log, 1 + sectors.div_ceil(HEADER)))
}

/// Adds the writes of an operation's log entry.
pub fn log(operation: &Operation, rules: &Rules, sight: Sight<'_>, wants: &mut Vec<Want>) {
    let places = 0..sight.geometry.width;
    let logged = places.filter(|place| is_logged(operation, *place, rules, sight));
    let want = |place| (Purpose::Log, place, written_span(operation, place, sight));
    wants.extend(logged.map(want));
}

/// Member request for an operation's log entry, including the header.
pub fn request(
    operation: &Operation,
    place: u64,
    op: Op,
    rules: &Rules,
    sight: Sight<'_>,
) -> Request {
    let room = operation.log().expect("the record has room in the log");
    let mut sectors = logged_sectors(operation, place, rules, sight);
    if op == Op::Read {
        sectors = sectors.min(u64::from(room.blocks - 1) * HEADER);
    }
    of_room(room, op, sectors, rules)
}

fn of_room(room: Place, op: Op, sectors: u64, rules: &Rules) -> Request {
    let lba = Lba(rules.log_sector + u64::from(room.first) * HEADER);
    let fua = op == Op::Write;
    Request { fua, ..Request::new(0, op, lba, (HEADER + sectors) as u32) }
}

/// Untimed member requests that log an operation's changes, with their members.
pub fn untimed(
    operation: &Operation,
    room: Place,
    rules: &Rules,
    sight: Sight<'_>,
) -> Vec<(usize, Request)> {
    let places = 0..sight.geometry.width;
    let logged = places.filter(|place| is_logged(operation, *place, rules, sight));
    let request = |place| {
        let sectors = logged_sectors(operation, place, rules, sight);
        let member = sight.geometry.member(operation.stripe(), place) as usize;
        (member, of_room(room, Op::Write, sectors, rules))
    };
    logged.map(request).collect()
}

/// True if an operation's log entry at a place is only a header; for tests.
#[cfg(test)]
pub fn is_header(operation: &Operation, place: u64, rules: &Rules, sight: Sight<'_>) -> bool {
    logged_sectors(operation, place, rules, sight) == 0
}
