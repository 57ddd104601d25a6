//! Zone commands: management and reports; and the check that a namespace supports a command.
//!
//! After the NVM Express Zoned Namespace Command Set specification 1.1 (3.4, and 5.1 for windows of
//! random writes), with its names.

use super::command::{Entry, SGL_TRANSPORT, Status, io};
use super::limits::MOST_BYTES;
use super::namespaces::Namespace;
use super::owed::{Owed, is_cut, plain, status};
use crate::local::Wanted;
use crate::zones::{ZoneList, ZoneQuery, ZoneSeen};
use engine::{Op, ZoneState};
use std::sync::Arc;

/// Sizes of a report's header and of a descriptor.
const HEAD_BYTES: usize = 64;
const ZONE_BYTES: usize = 64;

/// Actions of Zone Management Send, by number.
const ACTIONS: [(u8, Op); 6] = [
    (0x01, Op::Close),
    (0x02, Op::Finish),
    (0x03, Op::Open),
    (0x04, Op::Reset),
    (0x05, Op::Offline),
    (0x11, Op::Commit),
];
/// Flags of an action: all zones; open with a window of random writes.
const FOR_ALL: u32 = 1 << 8;
const WITH_WINDOW: u32 = 1 << 9;

/// Action of Zone Management Receive: a report without descriptor extensions.
const REPORT: u32 = 0;
/// Report filter: zones in any state.
const ANY: u8 = 0;
/// Zone states in report filters and descriptors.
const STATES: [(u8, u8, ZoneState); 7] = [
    (1, 0x1, ZoneState::Empty),
    (2, 0x2, ZoneState::Implicit),
    (3, 0x3, ZoneState::Explicit),
    (4, 0x4, ZoneState::Closed),
    (5, 0xe, ZoneState::Full),
    (6, 0xd, ZoneState::ReadOnly),
    (7, 0xf, ZoneState::Offline),
];
/// The count covers only the returned descriptors.
const PARTIAL: u32 = 1 << 16;

/// Zone type: sequential write required.
const SEQUENTIAL: u8 = 2;
/// Zone attributes: finished by the controller, and with a valid window.
const FINISHED: u8 = 1;
const HAS_WINDOW: u8 = 1 << 3;

/// Checks that a namespace supports a command: zone commands need zones, and zones cannot be marked
/// unreadable.
pub fn check_set(opcode: u8, namespace: &Namespace) -> Result<(), Status> {
    let is_there = match opcode {
        io::ZONE_SEND | io::ZONE_RECEIVE | io::ZONE_APPEND => namespace.zones.is_some(),
        io::WRITE_UNCORRECTABLE => namespace.zones.is_none(),
        _ => true,
    };
    if is_there { Ok(()) } else { Err(Status::INVALID_OPCODE) }
}

/// Byte offset of a zone command in its namespace.
fn place(entry: &Entry, namespace: &Namespace) -> Result<u64, Status> {
    let (first, _) = entry.blocks();
    let block = u64::from(namespace.part.wish.block);
    if first >= namespace.export.bytes / block {
        return Err(Status::LBA_OUT_OF_RANGE);
    }
    Ok(first * block)
}

/// Action of a management command; a window applies to one zone only.
fn action(entry: &Entry) -> Option<Op> {
    let word = entry.word(13);
    let (_, op) = ACTIONS.iter().find(|(number, _)| *number == word as u8)?;
    match (op, word & WITH_WINDOW != 0) {
        (Op::Open, true) => Some(Op::OpenWindow),
        (_, true) => None,
        (op, false) => Some(*op),
    }
}

/// Validates a zone management command before it waits.
pub fn check_send(entry: &Entry, namespace: &Namespace) -> Result<(), Status> {
    action(entry).ok_or(Status::INVALID_FIELD)?;
    if entry.word(13) & FOR_ALL == 0 {
        place(entry, namespace)?;
    }
    Ok(())
}

/// Validates a report command before it waits.
pub fn check_receive(entry: &Entry, namespace: &Namespace) -> Result<(), Status> {
    let (kind, _, room) = entry.data();
    if kind != SGL_TRANSPORT {
        return Err(Status::SGL_TYPE_INVALID);
    }
    let word = entry.word(13);
    let asked = (word >> 8) as u8;
    let is_known = word & 0xff == REPORT && (asked == ANY || state(word).is_some());
    if !is_known || room > MOST_BYTES || wanted(entry) > u64::from(MOST_BYTES) {
        return Err(Status::INVALID_FIELD);
    }
    place(entry, namespace).map(drop)
}

/// Zone state that a report selects.
fn state(word: u32) -> Option<ZoneState> {
    let asked = (word >> 8) as u8;
    STATES.iter().find(|it| it.0 == asked).map(|it| it.2)
}

/// Requested size of a report in bytes.
fn wanted(entry: &Entry) -> u64 {
    4 * (u64::from(entry.word(12)) + 1)
}

/// Executes a validated command.
pub fn begin(entry: &Entry, namespace: &Namespace, owed: Owed) -> Result<(), Status> {
    let Some(limits) = namespace.zones else { return Err(Status::INVALID_OPCODE) };
    if entry.opcode() == io::ZONE_RECEIVE {
        return report(entry, namespace, owed);
    }
    let op = action(entry).ok_or(Status::INVALID_FIELD)?;
    let (client, held_back) = (owed.client(namespace), owed.held_back);
    let wanted = if entry.word(13) & FOR_ALL != 0 {
        Wanted::zone(op, namespace.part.first, 0)
    } else {
        let offset = place(entry, namespace)?;
        let block = u64::from(namespace.part.wish.block);
        // A commit names its last block, and covers at most one zone.
        let long = if op == Op::Commit { block } else { limits.size };
        let length = long.min(namespace.export.bytes - offset);
        Wanted::zone(op, namespace.part.first + offset, length as u32)
    };
    client.ask_at_once(wanted, held_back, plain(entry, namespace, owed));
    Ok(())
}

/// Reports zones.
fn report(entry: &Entry, namespace: &Namespace, owed: Owed) -> Result<(), Status> {
    let from = namespace.part.first + place(entry, namespace)?;
    let state = state(entry.word(13));
    let (_, _, room) = entry.data();
    let bytes = wanted(entry).min(room.into()) as usize;
    let most = bytes.saturating_sub(HEAD_BYTES) / ZONE_BYTES;
    let (client, held_back) = (owed.client(namespace).clone(), owed.held_back);
    let (id, opcode, is_partial) = (entry.id(), entry.opcode(), entry.word(13) & PARTIAL != 0);
    let (first, block) = (namespace.part.first, u64::from(namespace.part.wish.block));
    let output = Arc::clone(&owed.output);
    let telling = owed.begin_telling();
    let asker = client.clone();
    let until = first + namespace.export.bytes;
    let query = ZoneQuery { from, until, state, most };
    let reply = Box::new(move |outcome: Result<ZoneList, _>| {
        // No other generated reply starts before this one is complete.
        let _telling = telling;
        match outcome {
            Ok(list) => {
                let mut page = page(&list, is_partial, (first, block));
                page.resize(bytes, 0);
                output.complete_with(id, &page);
            }
            Err(_) if is_cut(&asker, true, &output) => {}
            Err(refusal) => output.complete(id, 0, status(refusal, opcode)),
        }
    });
    client.see_zones(query, bytes as u32, held_back, reply);
    Ok(())
}

/// Report page for a namespace that starts at byte `first`, with blocks of `block` bytes.
pub fn page(list: &ZoneList, is_partial: bool, (first, block): (u64, u64)) -> Vec<u8> {
    let mut page = vec![0; HEAD_BYTES + ZONE_BYTES * list.zones.len()];
    let count = if is_partial { list.zones.len() as u64 } else { list.count };
    page[..8].copy_from_slice(&count.to_le_bytes());
    for (zone, it) in list.zones.iter().zip(page[HEAD_BYTES..].chunks_exact_mut(ZONE_BYTES)) {
        let ZoneSeen { state, begins, capacity, pointer, has_window, .. } = *zone;
        let number = STATES.iter().find(|known| known.2 == state).map_or(0, |known| known.1);
        (it[0], it[1]) = (SEQUENTIAL, number << 4);
        it[2] =
            u8::from(zone.finished_by_controller) * FINISHED + u8::from(has_window) * HAS_WINDOW;
        // A full zone has no write pointer.
        let pointer = match state {
            ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => u64::MAX,
            _ => (pointer - first) / block,
        };
        for (at, value) in [(8, capacity / block), (16, (begins - first) / block), (24, pointer)] {
            it[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
    page
}
