//! Placement handles as controllers report them: FDP log pages, handle status, and directives.
//!
//! After the NVM Express base specification 2.1, 5.1.12.1.28 to 5.1.12.1.31, and 8.1.8, with its
//! names.

use super::command::{Entry, SGL_TRANSPORT, Status};
use super::limits::MOST_BYTES;
use super::namespaces::{Namespace, Subsystem};
use crate::placement::{Placement, PlacementEvent};
use engine::NAMESPACE_UNIT_BYTES;

/// Identifiers of the log pages.
pub const CONFIGURATIONS: u8 = 0x20;
pub const USAGE: u8 = 0x21;
pub const STATISTICS: u8 = 0x22;
pub const EVENTS: u8 = 0x23;

/// I/O management commands: report the handles' status, or start new reclaim units.
const HANDLE_STATUS: u8 = 1;
const UNIT_UPDATE: u8 = 1;
/// Size of an entry in a command's list of handles.
const HANDLE_BYTES: usize = 2;
const STATUS_BYTES: usize = 32;
const EVENT_BYTES: usize = 64;
/// Handle types: copies share reclaim units (initially isolated), or have their own (persistently
/// isolated).
const INITIALLY_ISOLATED: u8 = 1;
const PERSISTENTLY_ISOLATED: u8 = 2;
/// The host specified the handle.
const HOST_SPECIFIED: u8 = 1;
/// The configuration is valid.
const IS_VALID: u8 = 1 << 7;
/// Valid fields of an event: placement identifier, namespace, location.
const HAS_IDENTIFIER: u8 = 1;
const HAS_NAMESPACE: u8 = 1 << 1;
const HAS_PLACE: u8 = 1 << 2;

/// Types of directives, and their operations.
const IDENTIFY: u8 = 0;
const STREAMS: u8 = 1;
const PLACEMENT: u8 = 2;
const PARAMETERS: u8 = 1;
const STATUS: u8 = 2;
const ALLOCATE: u8 = 3;
const RELEASE: u8 = 1;
const RELEASE_ALL: u8 = 2;
const ENABLE: u8 = 1;

fn put(page: &mut [u8], at: usize, value: u64, bytes: usize) {
    page[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
}

/// An FDP log page of an endurance group; `None` for other log pages.
pub fn page(number: u8, entry: &Entry, subsystem: &Subsystem) -> Option<Result<Vec<u8>, Status>> {
    if !(CONFIGURATIONS..=EVENTS).contains(&number) || !subsystem.places() {
        return None;
    }
    let group = entry.word(11) >> 16;
    let members = subsystem.namespaces.iter().filter(|it| it.group == group).count();
    let found = subsystem.of_group(group);
    Some(found.and_then(Namespace::placement).map(|placement| match number {
        CONFIGURATIONS => configurations(&placement, members),
        USAGE => usage(&placement),
        STATISTICS => statistics(&placement),
        _ if entry.word(10) >> 8 & 1 != 0 => events(&placement.hosts_events, &placement, group),
        _ => events(&placement.own_events, &placement, group),
    }))
}

/// Log page of the only configuration.
fn configurations(placement: &Placement, namespaces: usize) -> Vec<u8> {
    let (naming, handles) = (placement.naming, placement.naming.handles as usize);
    let size = (64 + 4 * handles).next_multiple_of(8);
    let mut page = vec![0; 16 + size];
    put(&mut page, 4, (16 + size) as u64, 4);
    let it = &mut page[16..];
    put(it, 0, size as u64, 2);
    // With one reclaim group an identifier equals the handle's number.
    it[2] = IS_VALID | naming.bits_of_group() as u8;
    put(it, 4, naming.groups.into(), 4);
    put(it, 8, handles as u64, 2);
    put(it, 10, handles as u64 - 1, 2);
    put(it, 12, namespaces as u64, 4);
    put(it, 16, placement.unit_bytes, 8);
    put(it, 24, placement.limit_seconds.into(), 4);
    for (number, handle) in placement.handles.iter().take(handles).enumerate() {
        it[64 + 4 * number] =
            if handle.persistent { PERSISTENTLY_ISOLATED } else { INITIALLY_ISOLATED };
    }
    page
}

/// Log page of the handles' use: the namespace lists them all.
fn usage(placement: &Placement) -> Vec<u8> {
    let count = placement.naming.handles as usize;
    let mut page = vec![0; 8 + 8 * count];
    put(&mut page, 0, count as u64, 2);
    (0..count).for_each(|number| page[8 + 8 * number] = HOST_SPECIFIED);
    page
}

/// Log page of bytes written, programmed and erased.
fn statistics(placement: &Placement) -> Vec<u8> {
    let mut page = vec![0; 64];
    put(&mut page, 0, placement.host_bytes, 8);
    put(&mut page, 16, placement.media_bytes, 8);
    put(&mut page, 32, placement.erased_bytes, 8);
    page
}

/// Log page of the latest events. The drive's event log has no clock, so the timestamp is zero; the
/// vendor bytes hold the host bytes written.
fn events(events: &[PlacementEvent], placement: &Placement, group: u32) -> Vec<u8> {
    let mut page = vec![0; 64 + EVENT_BYTES * events.len()];
    put(&mut page, 0, events.len() as u64, 4);
    for (event, it) in events.iter().zip(page[64..].chunks_exact_mut(EVENT_BYTES)) {
        it[0] = event.code;
        it[1] = HAS_NAMESPACE;
        if let Some(named) = event.named {
            it[1] |= HAS_IDENTIFIER;
            put(it, 2, named.into(), 2);
        }
        put(it, 12, group.into(), 4);
        let is_reallocation = event.code == 0x80;
        if is_reallocation {
            put(it, 18, u64::from(event.sectors).min(0xffff), 2);
        }
        if let Some(sector) = event.sector {
            it[16] = u8::from(is_reallocation);
            put(it, 20, sector, 8);
        }
        if let Some(handle) = event.handle {
            it[1] |= HAS_PLACE;
            let (group, handle) = placement.naming.parts(handle.into());
            put(it, 32, group.into(), 2);
            put(it, 34, handle.into(), 2);
        }
        put(it, 40, event.after_bytes, 8);
    }
    page
}

/// Status of a namespace's handles: remaining blocks of each reclaim unit.
fn status(placement: &Placement, block: u32) -> Vec<u8> {
    let count = placement.handles.len();
    let mut page = vec![0; 16 + STATUS_BYTES * count];
    put(&mut page, 14, count as u64, 2);
    let all = placement.handles.iter().zip(page[16..].chunks_exact_mut(STATUS_BYTES));
    for (number, (handle, it)) in all.enumerate() {
        let placed = number as u32;
        put(it, 0, placement.naming.identifier(placed).into(), 2);
        put(it, 2, placement.naming.parts(placed).1.into(), 2);
        put(it, 4, handle.left_seconds.into(), 4);
        put(it, 8, handle.left_bytes / u64::from(block), 8);
    }
    page
}

/// Size of the data of a management command; an error status if invalid.
pub fn sends(entry: &Entry, namespace: &Namespace) -> Result<usize, Status> {
    let handles = namespace.handles.ok_or(Status::FDP_DISABLED)?;
    let count = (entry.word(10) >> 16) as usize + 1;
    if entry.word(10) as u8 != UNIT_UPDATE || count > handles.count() {
        return Err(Status::INVALID_FIELD);
    }
    Ok(count * HANDLE_BYTES)
}

/// Placements that need new reclaim units.
pub fn to_update(data: &[u8], namespace: &Namespace) -> Result<Vec<u16>, Status> {
    let (pairs, _) = data.as_chunks::<HANDLE_BYTES>();
    let naming = namespace.handles.unwrap_or_default();
    let all = pairs.iter().map(|it| naming.placement(u16::from_le_bytes(*it)));
    all.map(|it| it.map(|it| it as u16).ok_or(Status::INVALID_FIELD)).collect()
}

/// Validates a handle status query before it waits.
pub fn check_receive(entry: &Entry, namespace: &Namespace) -> Result<(), Status> {
    if namespace.handles.is_none() {
        return Err(Status::FDP_DISABLED);
    }
    if entry.data().0 != SGL_TRANSPORT {
        return Err(Status::SGL_TYPE_INVALID);
    }
    let (_, _, room) = entry.data();
    let is_known = entry.word(10) as u8 == HANDLE_STATUS && room <= MOST_BYTES;
    if is_known { Ok(()) } else { Err(Status::INVALID_FIELD) }
}

/// Reply to a handle status query.
pub fn receive(entry: &Entry, placement: &Placement, block: u32) -> Vec<u8> {
    let wanted = 4 * (u64::from(entry.word(11)) + 1);
    let (_, _, room) = entry.data();
    let mut page = status(placement, block);
    page.resize(wanted.min(room.into()) as usize, 0);
    page
}

/// Checks that the placement handle of a write exists.
pub fn check_write(entry: &Entry, namespace: &Namespace) -> Result<(), Status> {
    let kind = (entry.word(12) >> 20 & 0xf) as u8;
    let is_known = match kind {
        IDENTIFY => true,
        STREAMS | PLACEMENT => namespace.handles.is_some(),
        _ => false,
    };
    if is_known { Ok(()) } else { Err(Status::INVALID_FIELD) }
}

/// True for a directive without effect. Stream resources are never released or allocated: the next
/// write with a stream takes its handle.
fn is_nothing(kind: u8, operation: u8, receives: bool) -> bool {
    match (kind, operation) {
        (STREAMS, ALLOCATE) => receives,
        (IDENTIFY, ENABLE) | (STREAMS, RELEASE | RELEASE_ALL) => !receives,
        _ => false,
    }
}

/// Answer to a directive command of a namespace.
pub fn directive(entry: &Entry, namespace: &Namespace, receives: bool) -> Result<Vec<u8>, Status> {
    let (operation, kind) = (entry.word(11) as u8, (entry.word(11) >> 8) as u8);
    let handles = namespace.handles.ok_or(Status::INVALID_FIELD)?.count();
    let mut page = vec![0; 4096];
    match (kind, operation) {
        (IDENTIFY, PARAMETERS) if receives => {
            // Streams and data placement are both supported and enabled: a stream is a handle,
            // counted from 1.
            let all = 1 | 1 << STREAMS | 1 << PLACEMENT;
            (page[0], page[32], page[64]) = (all, all, all);
        }
        (STREAMS, PARAMETERS) if receives => {
            put(&mut page, 0, handles as u64, 2);
            put(
                &mut page,
                16,
                u64::from(NAMESPACE_UNIT_BYTES as u32 / namespace.part.wish.block),
                4,
            );
            put(&mut page, 22, handles as u64, 2);
        }
        (STREAMS, STATUS) if receives => {
            put(&mut page, 0, handles as u64, 2);
            for number in 0..handles {
                put(&mut page, 2 + 2 * number, number as u64 + 1, 2);
            }
        }
        _ if is_nothing(kind, operation, receives) => {}
        _ => return Err(Status::INVALID_FIELD),
    }
    Ok(page)
}
