//! The command Copy: reads ranges of any namespace and writes them consecutively.

use super::command::{Entry, Status, io, le16, le32, le64};
use super::limits::{COPY_ANY, COPY_SAME, MOST_COPIED, MOST_COPIED_EACH, MOST_COPIED_RANGES};
use super::namespaces::{Namespace, Subsystem};
use super::owed::{Owed, bytes_of, plain, status};
use crate::local::{LocalClient, Reply, Wanted};
use crate::protocol::{Command, Refusal};
use std::sync::{Arc, Mutex, PoisonError};

/// Size of a range descriptor.
const RANGE_BYTES: usize = 32;

/// Size of a command's range descriptors; an error status if invalid.
pub fn sends(entry: &Entry) -> Result<usize, Status> {
    let ranges = (entry.word(12) as usize & 0xff) + 1;
    if !matches!(format(entry), COPY_SAME | COPY_ANY) {
        return Err(Status::INVALID_FIELD);
    }
    if ranges > MOST_COPIED_RANGES {
        Err(Status::COMMAND_SIZE_LIMIT)
    } else {
        Ok(ranges * RANGE_BYTES)
    }
}

fn format(entry: &Entry) -> u32 {
    entry.word(12) >> 8 & 0xf
}

/// A source range: client, offset, length.
type Source<'a> = (&'a LocalClient, u64, u32);

/// Reads the ranges, then writes them.
pub fn begin(
    entry: &Entry,
    data: &[u8],
    subsystem: &Subsystem,
    namespace: &Namespace,
    owed: Owed,
) -> Result<(), Status> {
    let mut sources: Vec<Source<'_>> = Vec::new();
    let block = namespace.part.wish.block;
    let mut all = 0;
    let ranges = (entry.word(12) as usize & 0xff) + 1;
    for range in data.chunks_exact(RANGE_BYTES).take(ranges) {
        let from = match format(entry) {
            COPY_ANY => subsystem.namespace(le32(range, 0))?,
            _ => namespace,
        };
        if from.part.wish.block != block {
            // Block sizes must agree.
            return Err(Status::INVALID_FIELD);
        }
        let count = u64::from(le16(range, 16)) + 1;
        if count > u64::from(MOST_COPIED_EACH / block) {
            return Err(Status::COMMAND_SIZE_LIMIT);
        }
        all += count;
        let (offset, bytes) = bytes_of(le64(range, 8), count, from)?;
        sources.push((owed.client(from), offset, bytes));
    }
    if all > u64::from(MOST_COPIED / block) {
        return Err(Status::COMMAND_SIZE_LIMIT);
    }
    let (to, bytes) = bytes_of(le64(&entry.0, 40), all, namespace)?;
    namespace.part.map(to - namespace.part.first, bytes.into())?;
    let (client, held_back, output) =
        (owed.client(namespace).clone(), owed.held_back, Arc::clone(&owed.output));
    let (id, fua, handle) = (entry.id(), entry.is_durable(), entry.handle(namespace.handles));
    let reply = plain(entry, namespace, owed);
    let whole: Whole = Box::new(move |outcome| match outcome {
        Ok(data) => {
            let wanted = Wanted { fua, handle, ..Wanted::write(to, data) };
            client.ask_at_once(wanted, held_back, reply);
        }
        // Some ranges were unreadable.
        Err(Refusal::Io) if !client.is_off() && !client.is_closed() => {
            output.complete(id, 0, status(Refusal::Io, io::READ));
        }
        Err(refusal) => reply(Err(refusal)),
    });
    for (source, reply) in sources.iter().zip(in_order(sources.len(), whole)) {
        let &(client, offset, bytes) = source;
        client.ask_at_once(Wanted::new(Command::Read, offset, bytes), held_back, reply);
    }
    Ok(())
}

/// Callback with all data, or with the first error.
type Whole = Box<dyn FnOnce(Result<Vec<u8>, Refusal>) + Send>;

/// Data parts that arrive in any order: number of missing parts, the parts, and the first error.
struct Parts {
    left: usize,
    data: Vec<Vec<u8>>,
    failed: Option<Refusal>,
    whole: Option<Whole>,
}

/// Replies to `count` reads, whose data are concatenated in the order of the reads.
fn in_order(count: usize, whole: Whole) -> Vec<Reply> {
    let (parts, whole) = (vec![Vec::new(); count], Some(whole));
    let shared = Arc::new(Mutex::new(Parts { left: count, data: parts, failed: None, whole }));
    let one = |number: usize| -> Reply {
        let shared = Arc::clone(&shared);
        Box::new(move |outcome| {
            let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
            match outcome {
                Ok(data) => state.data[number] = data.to_vec(),
                Err(refusal) => state.failed = state.failed.or(Some(refusal)),
            }
            state.left -= 1;
            if state.left == 0
                && let Some(whole) = state.whole.take()
            {
                let data = std::mem::take(&mut state.data).concat();
                let outcome = state.failed.map_or(Ok(data), Err);
                drop(state);
                whole(outcome);
            }
        })
    };
    (0..count).map(one).collect()
}
