//! Pending reply to a command, with its lane and its grant of write data.

use super::command::{Entry, Status, io};
use super::namespaces::Namespace;
use super::output::Output;
use crate::local::{LocalClient, Reply};
use crate::protocol::Refusal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Index of an I/O queue among all; free again once all its requests have replies.
pub struct Lane {
    pub number: usize,
    taken: Arc<Vec<AtomicBool>>,
    /// True while a generated reply is under way.
    tells: AtomicBool,
}

impl Lane {
    /// Takes a free lane.
    pub fn take(taken: &Arc<Vec<AtomicBool>>) -> Option<Self> {
        let number = taken.iter().position(|it| !it.swap(true, Ordering::AcqRel))?;
        Some(Lane { number, taken: Arc::clone(taken), tells: AtomicBool::new(false) })
    }

    /// True if another generated reply may start. Its data are buffered until the host receives
    /// them, so a queue has at most one.
    pub fn may_tell(&self) -> bool {
        !self.tells.load(Ordering::Acquire)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.taken[self.number].store(false, Ordering::Release);
    }
}

/// Granted bytes of write data, counted until the writes have replies.
pub struct Grant {
    bytes: usize,
    all: Arc<AtomicUsize>,
    own: Arc<AtomicUsize>,
}

impl Grant {
    /// Adds a grant of `bytes` to the totals of all queues and of this one.
    pub fn new(bytes: usize, all: &Arc<AtomicUsize>, own: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(bytes, Ordering::Relaxed);
        own.fetch_add(bytes, Ordering::Relaxed);
        Grant { bytes, all: Arc::clone(all), own: Arc::clone(own) }
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
        self.own.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Byte range of a range of blocks.
pub fn bytes_of(first: u64, count: u64, namespace: &Namespace) -> Result<(u64, u32), Status> {
    let block = u64::from(namespace.part.wish.block);
    let most = namespace.export.bytes / block;
    if first.checked_add(count).is_none_or(|end| end > most) {
        return Err(Status::LBA_OUT_OF_RANGE);
    }
    Ok((namespace.part.first + first * block, (count * block) as u32))
}

/// Pending reply to a command.
pub struct Owed {
    pub output: Arc<Output>,
    pub lane: Arc<Lane>,
    pub grant: Option<Grant>,
    /// True if the command waited for room.
    pub held_back: bool,
}

impl Owed {
    /// Starts a generated reply, whose data are buffered until the host receives them. No other one
    /// starts until the result is dropped.
    pub fn begin_telling(self) -> Telling {
        self.lane.tells.store(true, Ordering::Release);
        Telling(self)
    }

    /// Client of the command's queue at a namespace.
    pub fn client<'a>(&self, namespace: &'a Namespace) -> &'a LocalClient {
        namespace.client(self.lane.number)
    }
}

/// A generated reply under way.
pub struct Telling(Owed);

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.lane.tells.store(false, Ordering::Release);
        // The next generated reply may start.
        self.0.output.ring();
    }
}

/// Reply callback of a command without data for the host. An append returns the address of its
/// data.
pub fn plain(entry: &Entry, namespace: &Namespace, owed: Owed) -> Reply {
    let (id, opcode) = (entry.id(), entry.opcode());
    let has_ended = Arc::clone(&namespace.has_ended);
    let client = owed.client(namespace).clone();
    let (first, block) = (namespace.part.first, u64::from(namespace.part.wish.block));
    Box::new(move |outcome| {
        // Keeps the lane and the grant until this reply.
        let mut owed = owed;
        if is_cut(&client, outcome.is_err(), &owed.output) {
            return;
        }
        // The host may send more data once it knows of the completion.
        drop(owed.grant.take());
        let status = outcome.err().map_or(Status::SUCCESS, |refusal| status(refusal, opcode));
        let result = outcome.ok().and_then(|words| words.first_chunk().copied());
        let result = result.map_or(0, |place| (u64::from_le_bytes(place) - first) / block);
        owed.output.complete(id, result, status);
        if status == Status::READ_ONLY_RANGE {
            has_ended.store(true, Ordering::Relaxed);
            owed.output.ring();
        }
    })
}

/// True if the request failed because of a power cut; the connection then ends without a reply.
pub fn is_cut(client: &LocalClient, failed: bool, output: &Output) -> bool {
    let is_cut = failed && (client.is_off() || client.is_closed());
    if is_cut {
        output.close();
    }
    is_cut
}

/// Status of a server error.
pub fn status(refusal: Refusal, opcode: u8) -> Status {
    match refusal {
        Refusal::NotPermitted => Status::READ_ONLY_RANGE,
        Refusal::NoSpace => Status::CAPACITY_EXCEEDED,
        Refusal::Zone(refused) => Status::of_device(refused),
        Refusal::Invalid | Refusal::NotSupported => Status::INVALID_FIELD,
        Refusal::Io => match opcode {
            io::READ | io::COMPARE | io::VERIFY => Status::UNRECOVERED_READ_ERROR,
            io::FLUSH => Status::INTERNAL_ERROR,
            _ => Status::WRITE_FAULT,
        },
    }
}
