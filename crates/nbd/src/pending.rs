//! A request on its way from the client to the device.

use crate::local::Owed;
use crate::protocol::{Asked, Command, Refusal};
use crate::zones::ZoneWish;
use engine::{Completion, Op, SECTOR_BYTES, Status, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Buffers that are kept for later requests, and how large one may be.
const KEPT_BUFFERS: usize = 64;
const KEPT_BYTES: usize = 2 << 20;

/// Conditions that a reply waits for.
pub(crate) const MODEL: u8 = 1;
pub(crate) const DATA: u8 = 2;
pub(crate) const BACKING: u8 = 4;

/// A request without a reply yet: all fields that its way through the server needs.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) connection: usize,
    pub(crate) serial: u64,
    /// The reply callback of a client without a socket.
    pub(crate) local: Option<Owed>,
    pub(crate) asked: Asked,
    pub(crate) op: Op,
    /// When it arrived, and when it was submitted to the device, in model time.
    pub(crate) received: u64,
    pub(crate) submitted: Time,
    /// The sectors of a long trim that were not submitted yet.
    pub(crate) rest: Range<u64>,
    pub(crate) completion: Option<Completion>,
    /// When the reply is due, once that is known.
    pub(crate) target: u64,
    pub(crate) waits_for: u8,
    pub(crate) held_by_backing: bool,
    /// The device may refuse the write, so the data are stored only when it completes.
    pub(crate) held: bool,
    pub(crate) refusal: Option<Refusal>,
    /// The number under which its completion is recorded.
    pub(crate) recorded: Option<u64>,
    /// For a write, the data that arrived and are not in the store, and the number of bytes that are.
    pub(crate) data: Vec<u8>,
    pub(crate) stored: u32,
    /// Zones shown when it is answered.
    pub sees: Option<ZoneWish>,
}

impl Pending {
    /// When the device has done what it has, it gets this too.
    pub fn is_followed_by(&mut self, rest: Range<u64>) {
        self.rest = rest;
    }

    /// The device has appended the data there.
    pub fn was_appended(&mut self, sector: u64) {
        self.asked = Asked { offset: sector * SECTOR_BYTES, ..self.asked };
    }

    /// When it is answered it shows this of the zones.
    pub fn shows(&mut self, wish: ZoneWish) {
        self.sees = Some(wish);
    }

    /// It ends with an error, unless it does already.
    pub fn refuse(&mut self, refusal: Refusal) {
        self.refusal = self.refusal.or(Some(refusal));
    }
}

/// All requests without a reply yet, each in a slot of its own.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    slots: Vec<Option<Pending>>,
    free: Vec<u32>,
    /// Requests that only wait until they are due: due time, order in which they became ready, slot.
    ready: BinaryHeap<Reverse<(u64, u64, u32)>>,
    readied: u64,
    buffers: Vec<Vec<u8>>,
}

impl Requests {
    /// True if all were answered.
    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// An empty buffer for the data of a request.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Keeps a buffer for a later request.
    pub(crate) fn keep(&mut self, mut buffer: Vec<u8>) {
        if self.buffers.len() < KEPT_BUFFERS && buffer.capacity() <= KEPT_BYTES {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    /// Gives a request its slot.
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

    /// A request only waits until it is due.
    pub(crate) fn make_ready(&mut self, slot: u32) {
        let Some(pending) = &self.slots[slot as usize] else { return };
        self.readied += 1;
        self.ready.push(Reverse((pending.target, self.readied, slot)));
    }

    /// When the next answer is due.
    pub(crate) fn due(&self) -> Option<u64> {
        self.ready.peek().map(|Reverse((target, ..))| *target)
    }

    /// Takes the request whose answer is due next.
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
        // After a power cut the client is disconnected anyway.
        Status::PowerLost | Status::Unreadable => Some(Refusal::Io),
        _ => Some(Refusal::Zone(status)),
    }
}

/// The request to the device: the sectors that it touches; for a trim, those completely within the
/// range. `None` if there are none.
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
