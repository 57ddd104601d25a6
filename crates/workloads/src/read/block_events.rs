//! Common parts of Linux's text and binary block-layer traces: the event that counts as a request,
//! and the names of skipped events.
//!
//! A request passes several events, so exactly one kind counts. A remap repeats a request whose
//! queue event is also traced, and a merge joins a queued request to another; neither counts.

use super::stated::BlockEvent;
use crate::record::Record;
use engine::{Op, Time};

/// Kinds of events seen at the beginning of a trace.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    queue: bool,
    issue: bool,
    complete: bool,
}

impl Seen {
    /// Records an event, by blkparse's letter.
    pub(crate) fn note(&mut self, action: u8) {
        match action {
            b'Q' => self.queue = true,
            b'D' => self.issue = true,
            b'C' => self.complete = true,
            _ => {}
        }
    }

    /// The letter of the event that counts.
    pub(crate) fn chosen(self, stated: BlockEvent) -> u8 {
        match (stated, self) {
            (BlockEvent::Issue, _) | (BlockEvent::Auto, Seen { queue: false, issue: true, .. }) => {
                b'D'
            }
            (BlockEvent::Complete, _)
            | (BlockEvent::Auto, Seen { queue: false, complete: true, .. }) => b'C',
            (BlockEvent::Queue | BlockEvent::Auto, _) => b'Q',
        }
    }
}

/// Name under which a skipped event is counted.
pub(crate) fn left_out(action: u8) -> &'static str {
    match action {
        b'A' => "remap_events",
        b'M' | b'F' => "merge_events",
        b'X' => "split_events",
        b'R' => "requeue_events",
        b'Q' => "queue_events",
        b'G' => "get_events",
        b'I' => "insert_events",
        b'D' => "issue_events",
        b'C' => "complete_events",
        b'P' | b'U' | b'T' => "plug_events",
        b'm' => "messages",
        _ => "other_events",
    }
}

/// Flags of an event's request.
#[expect(clippy::struct_excessive_bools, reason = "the bits as the kernel has them")]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventFlags {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) discard: bool,
    pub(crate) flush: bool,
    pub(crate) fua: bool,
}

/// Meaning of a counted event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventRequest {
    /// One request.
    One(Record),
    /// A flush and then this request.
    AfterFlush(Record),
    /// No request: the event neither moves data nor flushes.
    Nothing,
}

impl EventFlags {
    /// The request of `sectors` sectors, starting at `sector`.
    pub(crate) fn request(self, at: Time, device: u32, sector: u64, sectors: u32) -> EventRequest {
        if sectors == 0 {
            return if self.flush {
                EventRequest::One(Record::flush(at, device))
            } else {
                EventRequest::Nothing
            };
        }
        let op = match self {
            EventFlags { discard: true, .. } => Op::Trim,
            EventFlags { write: true, .. } => Op::Write,
            EventFlags { read: true, .. } => Op::Read,
            _ => return EventRequest::Nothing,
        };
        let record =
            Record { at, device, op, sector, sectors, fua: self.fua, handle: engine::Handle::NONE };
        if self.flush { EventRequest::AfterFlush(record) } else { EventRequest::One(record) }
    }
}

/// The request from an event's letters (kernel/trace/blktrace.c, `fill_rwbs`), of `sectors`
/// sectors, starting at `sector`.
pub(crate) fn requested(
    letters: &[u8],
    at: Time,
    device: u32,
    sector: u64,
    sectors: u32,
) -> EventRequest {
    if let Some(op) = zone_op(letters) {
        // Zone commands except appends have no length; ZRA resets all zones.
        let sectors = if letters.starts_with(b"ZRA") { 0 } else { sectors.max(1) };
        return EventRequest::One(Record { op, sector, sectors, ..Record::flush(at, device) });
    }
    // An F before the operation is a preceding flush, an F after it is forced unit access.
    let at_op = letters.iter().position(|letter| b"RWD".contains(letter));
    let (before, behind) = letters.split_at(at_op.unwrap_or(letters.len()));
    let asked = EventFlags {
        read: behind.first() == Some(&b'R'),
        write: behind.first() == Some(&b'W'),
        discard: behind.first() == Some(&b'D'),
        flush: before.contains(&b'F'),
        fua: behind.contains(&b'F'),
    };
    asked.request(at, device, sector, sectors)
}

/// The zone command for these letters, as newer kernels write them.
fn zone_op(letters: &[u8]) -> Option<Op> {
    let letter = letters.strip_prefix(b"Z")?.first()?;
    Some(match letter {
        b'A' => Op::Append,
        b'R' => Op::Reset,
        b'F' => Op::Finish,
        b'O' => Op::Open,
        b'C' => Op::Close,
        _ => return None,
    })
}
