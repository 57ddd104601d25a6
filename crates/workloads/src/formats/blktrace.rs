//! Binary files of blktrace, one per processor, in either byte order, or a tar of them.
//!
//! Given `NAME.blktrace.0` (or `NAME`), the files of the other processors are found by their
//! numbers, and all events are merged by time. A tar is opened once for each file in it, so only
//! one buffer per file is in memory. Layout: `blktrace_api.h` of the kernel.

use super::row::{Format, Reader};
use crate::error::BuildError;
use crate::read::batch::Batch;
use crate::read::block_events::{EventFlags, EventRequest, Seen, left_out};
use crate::read::head::Head;
use crate::read::siblings::{self, MAGIC, byte_order};
use crate::read::source::{
    BATCH_RECORDS, Bytes, OneByOne, Opening, Source, Unreadable, u16_at, u32_at, u64_at,
};
use crate::record::{Clock, Record};
use engine::SECTOR_BYTES;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub const FORMAT: Format = Format {
    detect: Some(detect),
    clock: Clock::Epoch,
    may_state: &["event"],
    ..Format::new(
        siblings::FORMAT,
        "blktrace binary: a file for each processor (name the .0 and the rest follows), or a tar",
        Reader::Bytes(open),
        || sample(false),
    )
};

/// Size of `struct blk_io_trace` without its payload.
const EVENT_BYTES: usize = 48;

fn detect(head: &Head) -> bool {
    byte_order(head.bytes).is_some() || siblings::tar_holds_events(head.bytes)
}

/// Letters of the actions by number, as blkparse prints them.
const LETTERS: &[u8; 18] = b".QMFGSRDCPUTIXBAx.";

/// One event of the file.
struct Event {
    action: u8,
    notify: bool,
    category: u32,
    at: u64,
    sector: u64,
    bytes: u32,
    device: u32,
}

impl Event {
    fn parse(record: &[u8; EVENT_BYTES], big: bool) -> Self {
        let action = u32_at(record, 28, big);
        let (act, category) = (action & 0xFFFF, action >> 16);
        Event {
            action: LETTERS.get(act as usize).copied().unwrap_or(b'.'),
            notify: category & 0x400 != 0,
            category,
            at: u64_at(record, 8, big),
            sector: u64_at(record, 16, big),
            bytes: u32_at(record, 24, big),
            device: u32_at(record, 36, big),
        }
    }

    fn request(&self) -> EventRequest {
        let has = |bit: u32| self.category & bit != 0;
        let asked = EventFlags {
            read: has(1),
            write: has(2),
            flush: has(4),
            discard: has(0x2000),
            fua: has(0x8000),
        };
        let sectors = u64::from(self.bytes).div_ceil(SECTOR_BYTES) as u32;
        // The category of pass-through commands (BLK_TC_PC).
        if has(0x200) {
            return EventRequest::Nothing;
        }
        asked.request(self.at, self.device, self.sector, sectors)
    }
}

/// Events of one processor.
struct Stream {
    bytes: Bytes,
    big: bool,
    events: u64,
}

impl Stream {
    /// The next event of any kind.
    fn next(&mut self) -> Result<Option<Event>, Unreadable> {
        let Some(record) = self.bytes.take::<EVENT_BYTES>()? else { return Ok(None) };
        let magic = u32_at(&record, 0, self.big);
        if magic != MAGIC {
            return Err(Unreadable::Lost(format!(
                "an event begins with {magic:#010x}, expected the magic number {MAGIC:#010x}"
            )));
        }
        self.bytes.skip(u64::from(u16_at(&record, 46, self.big)))?;
        self.events += 1;
        Ok(Some(Event::parse(&record, self.big)))
    }

    /// Parses a run of complete, valid events that issue at most one request each.
    fn quick_requests(&mut self, chosen: u8, batch: &mut Batch) {
        if self.big {
            self.quick::<true>(chosen, batch);
        } else {
            self.quick::<false>(chosen, batch);
        }
    }

    #[inline]
    fn quick<const BIG: bool>(&mut self, chosen: u8, batch: &mut Batch) {
        let ready = self.bytes.ready();
        let (mut rest, mut events) = (ready, self.events);
        while batch.records.len() < BATCH_RECORDS {
            let Some(record) = rest.first_chunk::<EVENT_BYTES>() else { break };
            let length = EVENT_BYTES + usize::from(u16_at(record, 46, BIG));
            let Some(behind) = rest.get(length..) else { break };
            if u32_at(record, 0, BIG) != MAGIC {
                break;
            }
            let event = Event::parse(record, BIG);
            if event.notify {
                batch.note("messages");
            } else if event.action != chosen {
                batch.note(left_out(event.action));
            } else {
                match event.request() {
                    EventRequest::Nothing => batch.note("without_data"),
                    EventRequest::One(record) => batch.push(record, events + 1),
                    EventRequest::AfterFlush(_) => break,
                }
            }
            (rest, events) = (behind, events + 1);
        }
        let taken = ready.len() - rest.len();
        self.events = events;
        self.bytes.took(taken);
    }

    /// The next event with a request.
    fn next_request(
        &mut self,
        chosen: u8,
        batch: &mut Batch,
    ) -> Result<Option<EventRequest>, Unreadable> {
        while let Some(event) = self.next()? {
            if event.notify {
                batch.note("messages");
            } else if event.action != chosen {
                batch.note(left_out(event.action));
            } else {
                match event.request() {
                    EventRequest::Nothing => batch.note("without_data"),
                    request => return Ok(Some(request)),
                }
            }
        }
        Ok(None)
    }
}

/// The events of all processors, merged by time.
struct Merged {
    streams: Vec<Stream>,
    waiting: Vec<Option<EventRequest>>,
    order: BinaryHeap<Reverse<(u64, usize)>>,
    chosen: u8,
    started: bool,
    behind_flush: Option<Record>,
}

fn open(opening: Opening<'_>) -> Result<Box<dyn Source>, BuildError> {
    let stated = opening.options.event;
    let mut seen = Seen::default();
    let mut streams = Vec::new();
    for (input, head) in siblings::all(opening)? {
        let Some(big) = byte_order(&head) else {
            // A processor without events.
            if head.is_empty() {
                continue;
            }
            let problem = "a file of the trace does not begin with the magic number of blktrace, \
                           version 7";
            return Err(BuildError::Input(problem.to_owned()));
        };
        let mut rest = &head[..];
        while let Some(record) = rest.first_chunk::<EVENT_BYTES>() {
            let event = Event::parse(record, big);
            if !event.notify {
                seen.note(event.action);
            }
            let length = EVENT_BYTES + usize::from(u16_at(record, 46, big));
            rest = rest.get(length..).unwrap_or_default();
        }
        streams.push(Stream { bytes: Bytes::new(input), big, events: 0 });
    }
    let is_alone = streams.len() == 1;
    let merged = Merged {
        waiting: streams.iter().map(|_| None).collect(),
        streams,
        order: BinaryHeap::new(),
        chosen: seen.chosen(stated),
        started: false,
        behind_flush: None,
    };
    Ok(if is_alone { Box::new(Alone(merged)) } else { Box::new(merged) })
}

/// The events of one processor: complete events are parsed in one loop, all others one at a time.
struct Alone(Merged);

impl Source for Alone {
    fn read(&mut self, batch: &mut Batch) -> Result<bool, Unreadable> {
        loop {
            if self.0.behind_flush.is_none() {
                let chosen = self.0.chosen;
                self.0.streams.iter_mut().for_each(|stream| stream.quick_requests(chosen, batch));
            }
            if batch.records.len() >= BATCH_RECORDS {
                return Ok(true);
            }
            let Some(record) = OneByOne::next(&mut self.0, batch)? else { return Ok(false) };
            batch.push(record, OneByOne::number(&self.0));
        }
    }

    fn number(&self) -> u64 {
        OneByOne::number(&self.0)
    }
}

impl Merged {
    /// Fetches the next request of a processor and inserts it in time order.
    fn fetch(&mut self, index: usize, batch: &mut Batch) -> Result<(), Unreadable> {
        let found = self.streams[index].next_request(self.chosen, batch)?;
        if let Some(EventRequest::One(record) | EventRequest::AfterFlush(record)) = found {
            self.order.push(Reverse((record.at, index)));
            self.waiting[index] = found;
        }
        Ok(())
    }

    /// Returns a request, preceded by its flush.
    fn give(&mut self, request: EventRequest) -> Option<Record> {
        match request {
            EventRequest::One(record) => Some(record),
            EventRequest::AfterFlush(record) => {
                self.behind_flush = Some(record);
                Some(Record::flush(record.at, record.device))
            }
            EventRequest::Nothing => None,
        }
    }
}

impl OneByOne for Merged {
    fn next(&mut self, batch: &mut Batch) -> Result<Option<Record>, Unreadable> {
        if let Some(record) = self.behind_flush.take() {
            return Ok(Some(record));
        }
        if let [stream] = &mut self.streams[..] {
            let found = stream.next_request(self.chosen, batch)?;
            return Ok(found.and_then(|request| self.give(request)));
        }
        if !self.started {
            self.started = true;
            for index in 0..self.streams.len() {
                self.fetch(index, batch)?;
            }
        }
        let Some(Reverse((_, index))) = self.order.pop() else { return Ok(None) };
        let request = self.waiting[index].take();
        self.fetch(index, batch)?;
        Ok(request.and_then(|request| self.give(request)))
    }

    fn number(&self) -> u64 {
        self.streams.iter().map(|stream| stream.events).sum()
    }
}

/// An event in binary form.
fn event(big: bool, at: u64, sector: u64, bytes: u32, action: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let put32 = |out: &mut Vec<u8>, value: u32| {
        out.extend(if big { value.to_be_bytes() } else { value.to_le_bytes() });
    };
    put32(&mut out, MAGIC);
    put32(&mut out, 1);
    out.extend(if big { at.to_be_bytes() } else { at.to_le_bytes() });
    out.extend(if big { sector.to_be_bytes() } else { sector.to_le_bytes() });
    for value in [bytes, action, 77, (8 << 20) + 1, 0, 0] {
        put32(&mut out, value);
    }
    out
}

fn sample(big: bool) -> Vec<u8> {
    let queue = |category: u32| ((category | 0x10) << 16) | 1;
    [
        event(big, 1000, 0, 0, 0x400 << 16),
        event(big, 1000, 64, 4096, queue(1)),
        event(big, 1500, 64, 4096, (0x41 << 16) | 7),
        event(big, 2000, 128, 8192, queue(0x800A)),
    ]
    .concat()
}

#[cfg(test)]
#[path = "blktrace_tests.rs"]
mod tests;
