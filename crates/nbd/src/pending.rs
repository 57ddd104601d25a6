//! Requests between client and device.

use crate::local::Owed;
use crate::protocol::{Asked, Command, Refusal};
use crate::zones::ZoneWish;
use engine::{Completion, Op, SECTOR_BYTES, Status, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Maximum number of reused buffers, and maximum size of one.
const KEPT_BUFFERS: usize = 64;
const KEPT_BYTES: usize = 2 << 20;

/// Bits of the conditions that a reply waits for.
pub(crate) const MODEL: u8 = 1;
pub(crate) const DATA: u8 = 2;
pub(crate) const BACKING: u8 = 4;

/// A request without a reply, with its state in the server.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) connection: usize,
    pub(crate) serial: u64,
    /// Reply callback of a client without a socket.
    pub(crate) local: Option<Owed>,
    pub(crate) asked: Asked,
    pub(crate) op: Op,
    /// Arrival time, and submission time in model time.
    pub(crate) received: u64,
    pub(crate) submitted: Time,
    /// Unsubmitted sectors of a long trim.
    pub(crate) rest: Range<u64>,
    pub(crate) completion: Option<Completion>,
    /// Time of the reply, once known.
    pub(crate) target: u64,
    pub(crate) waits_for: u8,
    pub(crate) held_by_backing: bool,
    /// The device may refuse the write, so its data are stored on completion.
    pub(crate) held: bool,
    pub(crate) refusal: Option<Refusal>,
    /// Id of the request in the recording.
    pub(crate) recorded: Option<u64>,
    /// For a write: data that arrived but are not stored yet, and the number of stored bytes.
    pub(crate) data: Vec<u8>,
    pub(crate) stored: u32,
    /// Zones to report with the answer.
    pub sees: Option<ZoneWish>,
}

impl Pending {
    /// Adds a range to submit after the current one.
    pub fn is_followed_by(&mut self, rest: Range<u64>) {
        self.rest = rest;
    }

    /// Notes the sector to which the device appended the data.
    pub fn was_appended(&mut self, sector: u64) {
        self.asked = Asked { offset: sector * SECTOR_BYTES, ..self.asked };
    }

    /// Adds a zone report to the reply.
    pub fn shows(&mut self, wish: ZoneWish) {
        self.sees = Some(wish);
    }

    /// Sets the error, unless one is set.
    pub fn refuse(&mut self, refusal: Refusal) {
        self.refusal = self.refusal.or(Some(refusal));
    }
}

/// All requests without a reply, by slot.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    slots: Vec<Option<Pending>>,
    free: Vec<u32>,
    /// Requests waiting for their reply time: reply time, order of readiness, slot.
    ready: BinaryHeap<Reverse<(u64, u64, u32)>>,
    readied: u64,
    buffers: Vec<Vec<u8>>,
}

impl Requests {
    /// True if every request has its reply.
    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// An empty buffer for the data of a request.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Keeps a buffer for reuse.
    pub(crate) fn keep(&mut self, mut buffer: Vec<u8>) {
        if self.buffers.len() < KEPT_BUFFERS && buffer.capacity() <= KEPT_BYTES {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    /// Assigns a slot.
    pub(crate) fn add(&mut self, pending: Pending) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(pending);
        slot
    }

    /// The request in a slot.
    pub(crate) fn at(&mut self, slot: u32) -> Option<&mut Pending> {
        self.slots[slot as usize].as_mut()
    }

    /// Queues a request for its reply time.
    pub(crate) fn make_ready(&mut self, slot: u32) {
        let Some(pending) = &self.slots[slot as usize] else { return };
        self.readied += 1;
        self.ready.push(Reverse((pending.target, self.readied, slot)));
    }

    /// Time of the next reply.
    pub(crate) fn due(&self) -> Option<u64> {
        self.ready.peek().map(|Reverse((target, ..))| *target)
    }

    /// Takes the request with the next reply, if its time has come.
    pub(crate) fn take_due(&mut self) -> Option<Pending> {
        let Reverse((_, _, slot)) = self.ready.pop()?;
        let pending = self.slots[slot as usize].take()?;
        self.free.push(slot);
        Some(pending)
    }
}

/// The error for a client, from the status of the completion.
pub(crate) fn refusal(status: Status) -> Option<Refusal> {
    match status {
        Status::Ok => None,
        Status::ReadOnly => Some(Refusal::NotPermitted),
        // A power cut disconnects the client anyway.
        Status::PowerLost | Status::Unreadable => Some(Refusal::Io),
        _ => Some(Refusal::Zone(status)),
    }
}

/// Operation and sectors for the device: all touched sectors; for a trim, the fully covered ones.
/// `None` if there are none.
pub(crate) fn for_device(asked: &Asked) -> (Op, Option<Range<u64>>) {
    let end = asked.offset + u64::from(asked.length);
    let outer = asked.offset / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES);
    let inner = asked.offset.div_ceil(SECTOR_BYTES)..end / SECTOR_BYTES;
    let (op, range) = match asked.command {
        Command::Flush => return (Op::Flush, Some(0..0)),
        Command::Zone(Op::Report) => return (Op::Report, Some(outer.start..outer.start)),
        Command::Zone(op) => return (op, Some(outer)),
        Command::Read | Command::Extents { .. } => (Op::Read, outer),
        Command::Write | Command::WriteZeroes { keep: true } => (Op::Write, outer),
        Command::WriteZeroes { keep: false } if inner.is_empty() => (Op::Write, outer),
        Command::Trim | Command::WriteZeroes { keep: false } => (Op::Trim, inner),
    };
    (op, (!range.is_empty()).then_some(range))
}
