//! Disk events of Event Tracing for Windows as text: the enterprise traces of Microsoft.
//!
//! The header between `BeginHeader` and `EndHeader` names the columns of each event. An event is
//! logged at completion, so the arrival is the logged time minus the elapsed time. Requests that
//! arrived before the trace began are skipped and counted.

use super::row::{Format, Reader};
use crate::read::fields::{DEVICE, Extent, Fault, Field, OFFSET, US, columns};
use crate::read::head::{Head, comma_fields};
use crate::read::lines::LineParser;
use crate::record::{Line, LineError, Record};
use engine::Op;

pub const FORMAT: Format = Format {
    detect: Some(detect),
    disorder_ns: 60_000_000_000,
    ..Format::new(
        "etw",
        "MSR enterprise ETW CSV: BeginHeader ... EndHeader, then DiskRead, DiskWrite, DiskFlush",
        Reader::Lines(|_, _| Ok(Box::new(Parser::default()))),
        || SAMPLE.to_vec(),
    )
};

const SAMPLE: &[u8] = b"BeginHeader\n\
    DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, \
    ElapsedTime, DiskNum, IrpFlags, DiskSvcTime, I/O Pri, VolSnap, FileObject, FileName\n\
    DiskFlush, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ElapsedTime, DiskNum, \
    IrpFlags, DiskSvcTime, I/O Pri\n\
    EndHeader\n\
    DiskRead, 4500, System ( 4), 92, 0xfa80, 0x0000001000, 0x00002000, 500, 1, 0x0, 400, 0, 0, 0\n\
    DiskWriteInit, 4600, System ( 4), 92, 0xfa80\n\
    DiskWrite, 5000, System ( 4), 92, 0xfa80, 0x0000002000, 0x00000200, 700, 0, 0x0, 600, 0, 0, 0\n\
    DiskFlush, 6000, System ( 4), 92, 0xfa80, 100, 0, 0x0, 90, 0\n";

const COLUMNS: &str = "a DiskRead or DiskWrite event with TimeStamp, ByteOffset, IOSize, \
     ElapsedTime and DiskNum where the header has them";
const TIME: Field = Field::new("TimeStamp", "a time in us");
const ELAPSED: Field = Field::new("ElapsedTime", "a time in us");
const SIZE: Field = Field::new("IOSize", "a size in bytes in hex, above 0");

fn detect(head: &Head) -> bool {
    let event = |line: &str| {
        matches!(comma_fields(line)[0], "DiskRead" | "DiskWrite") && line.contains("0x")
    };
    head.starts("BeginHeader") || head.mostly(event)
}

/// Columns of one event.
#[derive(Debug, Clone, Copy)]
struct Places {
    time: usize,
    offset: usize,
    size: usize,
    elapsed: usize,
    disk: usize,
}

struct Parser {
    in_header: bool,
    transfer: Places,
    flush: Places,
}

impl Default for Parser {
    /// Default parser with the columns of the published traces.
    fn default() -> Self {
        Parser {
            in_header: false,
            transfer: Places { time: 1, offset: 5, size: 6, elapsed: 7, disk: 8 },
            flush: Places { time: 1, offset: 0, size: 0, elapsed: 5, disk: 6 },
        }
    }
}

impl Parser {
    /// Reads the column names from a header line.
    fn header(&mut self, line: &[u8]) {
        let Ok(line) = std::str::from_utf8(line) else { return };
        let names = comma_fields(line);
        let place = |name: &str, before: usize| {
            names.iter().position(|other| *other == name).unwrap_or(before)
        };
        let places = match names[0] {
            "DiskRead" | "DiskWrite" => &mut self.transfer,
            "DiskFlush" => &mut self.flush,
            _ => return,
        };
        *places = Places {
            time: place("TimeStamp", places.time),
            offset: place("ByteOffset", places.offset),
            size: place("IOSize", places.size),
            elapsed: place("ElapsedTime", places.elapsed),
            disk: place("DiskNum", places.disk),
        };
    }
}

/// The comma-separated field at `place`.
fn field(line: &[u8], place: usize) -> Result<&[u8], LineError> {
    let mut fields = line.split(|byte| *byte == b',');
    match fields.nth(place) {
        Some(field) => Ok(field.trim_ascii()),
        None => Err(columns(line.split(|byte| *byte == b',').count(), COLUMNS)),
    }
}

impl LineParser for Parser {
    fn line(&mut self, line: &[u8]) -> Result<Line, LineError> {
        let kind = field(line, 0)?;
        if self.in_header {
            self.in_header = kind != b"EndHeader";
            self.header(line);
            return Ok(Line::Skip("header_lines"));
        }
        let (op, places) = match kind {
            b"BeginHeader" => {
                self.in_header = true;
                return Ok(Line::Skip("header_lines"));
            }
            b"DiskRead" => (Op::Read, self.transfer),
            b"DiskWrite" => (Op::Write, self.transfer),
            b"DiskFlush" => (Op::Flush, self.flush),
            _ if kind.first().is_some_and(u8::is_ascii_alphabetic) => {
                return Ok(Line::Skip("other_events"));
            }
            _ => return Err(Field::new("event", COLUMNS).fault(Fault::Bad, kind)),
        };
        let completed = TIME.time(field(line, places.time)?, US)?;
        let elapsed = ELAPSED.time(field(line, places.elapsed)?, US)?;
        let device = DEVICE.u32(field(line, places.disk)?)?;
        let Some(at) = completed.checked_sub(elapsed) else {
            return Ok(Line::Skip("issued_before_the_trace"));
        };
        if op == Op::Flush {
            return Ok(Line::Record(Record::flush(at, device)));
        }
        let (offset, size) = (field(line, places.offset)?, field(line, places.size)?);
        let extent = Extent::of(OFFSET.hex(offset)?, SIZE.hex(size)?);
        Ok(extent.map_err(|fault| SIZE.fault(fault, size))?.line(at, device, op))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused, skipped};
    use super::*;

    #[test]
    fn arrivals_are_the_elapsed_time_before_completion() {
        let sample = (FORMAT.sample)();
        let base = Record {
            at: 4_000_000,
            device: 1,
            op: Op::Read,
            sector: 8,
            sectors: 16,
            fua: false,
            handle: engine::Handle::NONE,
        };
        let write =
            Record { at: 4_300_000, device: 0, op: Op::Write, sector: 16, sectors: 1, ..base };
        assert_eq!(read(&FORMAT, &sample), [base, write, Record::flush(5_900_000, 0)]);
        assert_eq!(skipped(&FORMAT, &sample), [("header_lines", 4), ("other_events", 1)]);
        let early = b"DiskRead, 5, p, 1, 0x1, 0x0, 0x200, 6, 0\n";
        assert_eq!(skipped(&FORMAT, early), [("issued_before_the_trace", 1)]);
    }

    #[test]
    fn the_header_decides_where_columns_are() {
        let text = b"BeginHeader\nDiskRead, TimeStamp, ByteOffset, IOSize, ElapsedTime, DiskNum\n\
                     EndHeader\nDiskRead, 9, 0x200, 0x400, 2, 3\n";
        let all = read(&FORMAT, text);
        assert_eq!((all[0].at, all[0].device, all[0].sector, all[0].sectors), (7000, 3, 1, 2));
        refused(&FORMAT, "DiskRead, 9, 0x200\n", "3 columns, expected a DiskRead");
        refused(&FORMAT, "DiskRead, 9, p, 1, 0x1, 0x0, 0x0, 6, 0\n", "zero IOSize");
    }
}
