//! Answer owed to a command: its lane, the data that may come, and the answer.

use super::command::{Entry, Status, io};
use super::namespaces::Namespace;
use super::output::Output;
use crate::local::{LocalClient, Reply};
use crate::protocol::Refusal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The number of an I/O queue among all; it is free again when all that it asked is answered.
pub struct Lane {
    pub number: usize,
    taken: Arc<Vec<AtomicBool>>,
    /// An answer with data made here is under way.
    tells: AtomicBool,
}

impl Lane {
    /// A free lane.
    pub fn take(taken: &Arc<Vec<AtomicBool>>) -> Option<Self> {
        let number = taken.iter().position(|it| !it.swap(true, Ordering::AcqRel))?;
        Some(Lane { number, taken: Arc::clone(taken), tells: AtomicBool::new(false) })
    }

    /// True if an answer may be made whose data are kept until the host takes them: one at a time, so that a queue that
    /// is not read has not many of them.
    pub fn may_tell(&self) -> bool {
        !self.tells.load(Ordering::Acquire)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.taken[self.number].store(false, Ordering::Release);
    }
}

/// Bytes of writes that may come, until these are answered.
pub struct Grant {
    bytes: usize,
    all: Arc<AtomicUsize>,
    own: Arc<AtomicUsize>,
}

impl Grant {
    /// A grant of bytes, beside those of all queues and of this one.
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

/// Byte range of some blocks.
pub fn bytes_of(first: u64, count: u64, namespace: &Namespace) -> Result<(u64, u32), Status> {
    let block = u64::from(namespace.part.wish.block);
    let most = namespace.export.bytes / block;
    if first.checked_add(count).is_none_or(|end| end > most) {
        return Err(Status::LBA_OUT_OF_RANGE);
    }
    Ok((namespace.part.first + first * block, (count * block) as u32))
}

/// The answer that a command is owed.
pub struct Owed {
    pub output: Arc<Output>,
    pub lane: Arc<Lane>,
    pub grant: Option<Grant>,
    /// True if it waited for room.
    pub held_back: bool,
}

impl Owed {
    /// An answer is made whose data are kept until the host takes them; no other is made until the
    /// result is dropped.
    pub fn begin_telling(self) -> Telling {
        self.lane.tells.store(true, Ordering::Release);
        Telling(self)
    }

    /// The client that serves it.
    pub fn client<'a>(&self, namespace: &'a Namespace) -> &'a LocalClient {
        namespace.client(self.lane.number)
    }
}

/// Owed answer that is made here.
pub struct Telling(Owed);

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.lane.tells.store(false, Ordering::Release);
        // The next may begin.
        self.0.output.ring();
    }
}

/// The reply to a command without data for the host; that to an append is where the data are.
pub fn plain(entry: &Entry, namespace: &Namespace, owed: Owed) -> Reply {
    let (id, opcode) = (entry.id(), entry.opcode());
    let has_ended = Arc::clone(&namespace.has_ended);
    let client = owed.client(namespace).clone();
    let (first, block) = (namespace.part.first, u64::from(namespace.part.wish.block));
    Box::new(move |outcome| {
        // The lane and the grant are held until now.
        let mut owed = owed;
        if is_cut(&client, outcome.is_err(), &owed.output) {
            return;
        }
        // Data may follow as soon as the host knows of the end.
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

/// True if a request failed because the power was cut: then its connection ends without an answer.
pub fn is_cut(client: &LocalClient, failed: bool, output: &Output) -> bool {
    let is_cut = failed && (client.is_off() || client.is_closed());
    if is_cut {
        output.close();
    }
    is_cut
}

/// The status for an error of the server.
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
