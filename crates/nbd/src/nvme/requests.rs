//! I/O commands: from a command to client requests, and from their outcome to a status.

use super::command::{
    EVERY_NAMESPACE, Entry, SGL_IN_CAPSULE, SGL_TRANSPORT, Status, io, le32, le64,
};
use super::copying;
use super::limits::{ATOMIC_BYTES, MOST_BYTES, MOST_RANGE_BYTES};
use super::namespaces::{Namespace, Subsystem};
use super::output::Reading;
use super::owed::{Lane, Owed, bytes_of, is_cut, plain, status};
use super::{placement, zones};
use crate::local::{LocalClient, Reply, Wanted, together};
use crate::protocol::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const RANGE_BYTES: usize = 16;
/// Maximum bytes of range descriptors.
const MOST_DESCRIBED: usize = 4096;

/// Size of the data of an I/O command; an error status if invalid.
pub fn sends(entry: &Entry, subsystem: &Subsystem) -> Result<usize, Status> {
    let every = entry.opcode() == io::FLUSH && entry.namespace() == EVERY_NAMESPACE;
    if every {
        return Ok(0);
    }
    let opcode = entry.opcode();
    let known = [
        io::FLUSH,
        io::WRITE,
        io::READ,
        io::COMPARE,
        io::WRITE_ZEROES,
        io::DATASET_MANAGEMENT,
        io::VERIFY,
        io::WRITE_UNCORRECTABLE,
        io::COPY,
        io::MANAGEMENT_RECEIVE,
        io::MANAGEMENT_SEND,
        io::ZONE_SEND,
        io::ZONE_RECEIVE,
        io::ZONE_APPEND,
    ];
    if !known.contains(&opcode) {
        return Err(Status::INVALID_OPCODE);
    }
    let namespace = subsystem.namespace(entry.namespace())?;
    let changes = matches!(
        opcode,
        io::WRITE
            | io::WRITE_ZEROES
            | io::DATASET_MANAGEMENT
            | io::WRITE_UNCORRECTABLE
            | io::COPY
            | io::ZONE_SEND
            | io::ZONE_APPEND
    );
    zones::check_set(opcode, namespace)?;
    if changes && namespace.export.read_only {
        return Err(Status::WRITE_PROTECTED);
    }
    match opcode {
        io::FLUSH => Ok(0),
        io::ZONE_SEND => zones::check_send(entry, namespace).map(|()| 0),
        io::ZONE_RECEIVE => zones::check_receive(entry, namespace).map(|()| 0),
        io::COPY => copying::sends(entry),
        io::MANAGEMENT_SEND => placement::sends(entry, namespace),
        io::MANAGEMENT_RECEIVE => placement::check_receive(entry, namespace).map(|()| 0),
        io::DATASET_MANAGEMENT => Ok((entry.word(10) as usize & 0xff) * RANGE_BYTES + RANGE_BYTES),
        _ => {
            let (_, bytes) = extent(entry, namespace)?;
            let carries =
                !matches!(opcode, io::WRITE_ZEROES | io::WRITE_UNCORRECTABLE | io::VERIFY);
            if opcode == io::WRITE {
                placement::check_write(entry, namespace)?;
            }
            if carries && bytes > MOST_BYTES {
                return Err(Status::INVALID_FIELD);
            }
            if opcode == io::READ {
                let (kind, _, room) = entry.data();
                if kind != SGL_TRANSPORT {
                    return Err(Status::SGL_TYPE_INVALID);
                }
                if room != bytes {
                    return Err(Status::SGL_LENGTH_INVALID);
                }
            }
            let sends = matches!(opcode, io::WRITE | io::COMPARE | io::ZONE_APPEND);
            Ok(if sends { bytes as usize } else { 0 })
        }
    }
}

/// Size of a command's data, at least `least`, given the host's length `said`. Range descriptors
/// may have unused entries: Linux always sends the maximum number.
pub fn comes(entry: &Entry, least: usize, said: usize) -> Result<usize, Status> {
    let may_be_longer = matches!(entry.opcode(), io::DATASET_MANAGEMENT | io::COPY);
    let fits = said == least || may_be_longer && (least..=MOST_DESCRIBED).contains(&said);
    if fits { Ok(said) } else { Err(Status::SGL_LENGTH_INVALID) }
}

/// First byte and number of bytes of a command's blocks.
fn extent(entry: &Entry, namespace: &Namespace) -> Result<(u64, u32), Status> {
    let (first, count) = entry.blocks();
    bytes_of(first, count, namespace)
}

/// Checks that a command may be the first or second of a fused pair.
pub fn check_fused(entry: &Entry, is_first: bool, subsystem: &Subsystem) -> Result<(), Status> {
    let opcode = if is_first { io::COMPARE } else { io::WRITE };
    if entry.opcode() != opcode {
        return Err(Status::INVALID_FIELD);
    }
    let block = subsystem.namespace(entry.namespace())?.part.wish.block;
    if entry.blocks().1 * u64::from(block) > ATOMIC_BYTES {
        return Err(Status::ATOMIC_UNIT_EXCEEDED);
    }
    if entry.data().0 == SGL_IN_CAPSULE { Ok(()) } else { Err(Status::SGL_TYPE_INVALID) }
}

/// Executes a checked fused pair: a write conditional on the comparison.
pub fn execute_fused(
    first: &Entry,
    expected: Vec<u8>,
    (entry, data): (&Entry, Vec<u8>),
    subsystem: &Subsystem,
    owed: Owed,
) {
    let output = Arc::clone(&owed.output);
    let (first, second) = (first.id(), entry.id());
    let found = subsystem.namespace(entry.namespace()).and_then(|it| {
        let (offset, bytes) = extent(entry, it)?;
        it.part.map(offset - it.part.first, bytes.into())?;
        Ok((it, (offset, bytes)))
    });
    let (namespace, (offset, _)) = match found {
        Ok(found) => found,
        Err(status) => {
            output.complete(first, 0, status);
            return output.complete(second, 0, Status::FAILED_FUSED);
        }
    };
    let (client, held_back) = (owed.client(namespace).clone(), owed.held_back);
    let differs = Arc::<AtomicBool>::default();
    let (told, asker) = (Arc::clone(&differs), client.clone());
    let plain = plain(entry, namespace, owed);
    let wanted = Wanted {
        fua: entry.is_durable(),
        handle: entry.handle(namespace.handles),
        ..Wanted::write(offset, data)
    };
    let reply: Reply = Box::new(move |outcome| {
        if is_cut(&asker, outcome.is_err(), &output) {
            return plain(outcome);
        }
        let is_written = !told.load(Ordering::Relaxed);
        let status = match outcome {
            Ok(_) if is_written => Status::SUCCESS,
            Ok(_) => Status::COMPARE_FAILURE,
            Err(refusal) => status(refusal, io::COMPARE),
        };
        output.complete(first, 0, status);
        if is_written {
            return plain(outcome);
        }
        output.complete(second, 0, Status::FAILED_FUSED);
    });
    client.write_if_same((expected, differs), wanted, held_back, reply);
}

/// True if the clients of a command have room.
pub fn has_room(entry: &Entry, lane: &Lane, subsystem: &Subsystem) -> bool {
    let client = subsystem.namespace(entry.namespace()).ok().map(|it| it.client(lane.number));
    client.is_none_or(LocalClient::has_room)
}

/// True for commands with a generated reply, buffered until the host receives it.
pub fn is_reported(entry: &Entry) -> bool {
    matches!(entry.opcode(), io::ZONE_RECEIVE | io::MANAGEMENT_RECEIVE)
}

/// Executes an I/O command that [`sends`] accepted, with its data.
pub fn execute(entry: &Entry, data: Vec<u8>, subsystem: &Subsystem, owed: Owed) {
    let id = entry.id();
    let output = Arc::clone(&owed.output);
    if let Err(status) = begin(entry, data, subsystem, owed) {
        output.complete(id, 0, status);
    }
}

fn begin(entry: &Entry, data: Vec<u8>, subsystem: &Subsystem, owed: Owed) -> Result<(), Status> {
    let opcode = entry.opcode();
    if opcode == io::FLUSH {
        let every = entry.namespace() == EVERY_NAMESPACE;
        let all: Vec<&Namespace> = if every {
            subsystem.namespaces.iter().collect()
        } else {
            vec![subsystem.namespace(entry.namespace())?]
        };
        let clients: Vec<&LocalClient> = all.iter().map(|it| owed.client(it)).collect();
        let held_back = owed.held_back;
        let reply = plain(entry, all[0], owed);
        for (client, reply) in clients.iter().zip(together(clients.len(), reply)) {
            client.ask_at_once(Wanted::new(Command::Flush, 0, 0), held_back, reply);
        }
        return Ok(());
    }
    let namespace = subsystem.namespace(entry.namespace())?;
    let (client, held_back) = (owed.client(namespace), owed.held_back);
    if opcode == io::DATASET_MANAGEMENT {
        let ranges = ranges(entry, &data, namespace)?;
        for (offset, bytes) in &ranges {
            namespace.part.unmap(offset - namespace.part.first, u64::from(*bytes));
        }
        let reply = plain(entry, namespace, owed);
        for ((offset, bytes), reply) in ranges.iter().zip(together(ranges.len(), reply)) {
            let wanted = Wanted::new(Command::Trim, *offset, *bytes);
            client.ask_at_once(wanted, held_back, reply);
        }
        return Ok(());
    }
    if opcode == io::COPY {
        return copying::begin(entry, &data, subsystem, namespace, owed);
    }
    if opcode == io::MANAGEMENT_SEND {
        let handles = placement::to_update(&data, namespace)?;
        client.next_units(handles, plain(entry, namespace, owed));
        return Ok(());
    }
    if opcode == io::MANAGEMENT_RECEIVE {
        let (output, entry) = (Arc::clone(&owed.output), *entry);
        let block = namespace.part.wish.block;
        let (client, telling) = (client.clone(), owed.begin_telling());
        client.see_placement(Box::new(move |seen| {
            // No other generated reply starts before this one is complete.
            let _telling = telling;
            match seen {
                Some(it) => {
                    output.complete_with(entry.id(), &placement::receive(&entry, &it, block));
                }
                None => output.complete(entry.id(), 0, Status::INTERNAL_ERROR),
            }
        }));
        return Ok(());
    }
    if matches!(opcode, io::ZONE_SEND | io::ZONE_RECEIVE) {
        return zones::begin(entry, namespace, owed);
    }
    let (offset, bytes) = extent(entry, namespace)?;
    let (within, all) = (offset - namespace.part.first, u64::from(bytes));
    match opcode {
        io::WRITE => namespace.part.map(within, all)?,
        io::WRITE_ZEROES | io::WRITE_UNCORRECTABLE => namespace.part.unmap(within, all),
        _ => {}
    }
    let fua = entry.is_durable();
    match opcode {
        io::WRITE => {
            let handle = entry.handle(namespace.handles);
            let wanted = Wanted { fua, handle, ..Wanted::write(offset, data) };
            client.ask_at_once(wanted, held_back, plain(entry, namespace, owed));
        }
        io::ZONE_APPEND => {
            let wanted = Wanted { fua, ..Wanted::append(offset, data) };
            client.ask_at_once(wanted, held_back, plain(entry, namespace, owed));
        }
        io::WRITE_UNCORRECTABLE => {
            client.mark((offset, bytes), held_back, plain(entry, namespace, owed));
        }
        io::WRITE_ZEROES => {
            // Zeroes are trimmed, not programmed: the drive unmaps the blocks, which then read as
            // zeroes. Zones are written instead.
            let command = Command::WriteZeroes { keep: namespace.zones.is_some() };
            let wanted = Wanted { fua, ..Wanted::new(command, offset, bytes) };
            client.ask_at_once(wanted, held_back, plain(entry, namespace, owed));
        }
        _ => {
            let reading = (offset, bytes);
            let reply = read(entry, reading, data, client.clone(), owed);
            pieces(client, offset, bytes, held_back, opcode == io::VERIFY, reply);
        }
    }
    Ok(())
}

/// Reads blocks; `cut` splits the range at the server's limit, for long verifications.
fn pieces(client: &LocalClient, offset: u64, bytes: u32, held_back: bool, cut: bool, reply: Reply) {
    if !cut {
        return client.ask_at_once(Wanted::new(Command::Read, offset, bytes), held_back, reply);
    }
    let starts: Vec<u32> = (0..bytes).step_by(MOST_BYTES as usize).collect();
    for (start, reply) in starts.iter().zip(together(starts.len(), reply)) {
        let count = (bytes - start).min(MOST_BYTES);
        let wanted = Wanted::new(Command::Read, offset + u64::from(*start), count);
        client.ask_at_once(wanted, held_back, reply);
    }
}

/// Ranges that a command deallocates.
fn ranges(entry: &Entry, data: &[u8], namespace: &Namespace) -> Result<Vec<(u64, u32)>, Status> {
    let block = namespace.part.wish.block;
    let most = namespace.export.bytes / u64::from(block);
    let mut found = Vec::new();
    let ranges = (entry.word(10) as usize & 0xff) + 1;
    for range in data.chunks_exact(RANGE_BYTES).take(ranges) {
        let (count, first) = (le32(range, 4), le64(range, 8));
        if first.checked_add(count.into()).is_none_or(|end| end > most) {
            return Err(Status::LBA_OUT_OF_RANGE);
        }
        if count > MOST_RANGE_BYTES / block {
            return Err(Status::COMMAND_SIZE_LIMIT);
        }
        if count > 0 {
            let from = namespace.part.first + first * u64::from(block);
            found.push((from, count * block));
        }
    }
    // The other attributes are hints without effect here.
    if entry.word(11) & 1 << 2 == 0 {
        found.clear();
    }
    Ok(found)
}

/// Reply callback of a command that reads: the data, or the result of a comparison with `data`.
fn read(
    entry: &Entry,
    (offset, length): (u64, u32),
    data: Vec<u8>,
    client: LocalClient,
    owed: Owed,
) -> Reply {
    let (id, opcode) = (entry.id(), entry.opcode());
    Box::new(move |outcome| {
        // Keeps the lane and the grant until this reply.
        let owed = owed;
        if is_cut(&client, outcome.is_err(), &owed.output) {
            return;
        }
        let status = match outcome {
            Err(refusal) => status(refusal, opcode),
            Ok(found) if opcode == io::READ => {
                let reading = Reading { id, client, offset, length, done: 0 };
                return owed.output.deliver(reading, found);
            }
            Ok(found) if opcode == io::COMPARE && found != data => Status::COMPARE_FAILURE,
            Ok(_) => Status::SUCCESS,
        };
        owed.output.complete(id, 0, status);
    })
}
