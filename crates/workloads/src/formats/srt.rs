//! HP's SRT traces (hplajw, cello): a text header up to a form feed, then big-endian records.
//!
//! Each record contains its own length. Short I/Os and suspect I/Os are requests; other records are
//! skipped and counted. Fields as in `DiskSim`'s reader.

use super::row::{Format, Reader};
use crate::error::BuildError;
use crate::read::batch::Batch;
use crate::read::fields::{Extent, Fault, Field, S, US};
use crate::read::head::Head;
use crate::read::source::{Bytes, OneByOne, Opening, Source, Unreadable, u32_at};
use crate::record::{LineError, Record};
use engine::{Op, SECTOR_BYTES};

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.bytes.starts_with(MAGIC)),
    disorder_ns: S,
    ..Format::new("srt", "HP SRT binary (hplajw, cello)", Reader::Bytes(open), || {
        let header = b"$$TR_IOREC-1.3 (IOAdaptor Upgrade Version)\0\nversion = 1.3;\n\x0C";
        let io = |second, sector, flags| {
            [56, 0x0004_0001, second, 250, 174, 19687, 4096, sector, 7, 4, 1, flags, 0, 1]
        };
        let words = [io(0, 1056, 0x1B), io(1, 2112, 0x100)].concat();
        header.iter().copied().chain(words.iter().flat_map(|w: &u32| w.to_be_bytes())).collect()
    })
};

const MAGIC: &[u8] = b"$$TR_IOREC";
const END_OF_HEADER: u8 = 0x0C;
/// Bytes of the fields up to the flags.
const FIELD_BYTES: usize = 48;
const RECORD: &str = "a record of 48 to 65536 bytes";
const SIZE: Field = Field::new("size", "a size in bytes, above 0");

fn open(opening: Opening<'_>) -> Result<Box<dyn Source>, BuildError> {
    let header = opening.head.bytes.iter().position(|byte| *byte == END_OF_HEADER);
    let Some(end) = header else {
        let problem = format!(
            "trace {}: the header has no end (a form feed) in its first {} KiB",
            opening.name,
            crate::read::head::HEAD_BYTES >> 10
        );
        return Err(BuildError::Input(problem));
    };
    let mut bytes = Bytes::new(opening.input);
    bytes.skip(end as u64 + 1).map_err(|error| BuildError::Input(error.to_string()))?;
    Ok(Box::new(Srt { bytes, records: 0 }))
}

struct Srt {
    bytes: Bytes,
    records: u64,
}

impl OneByOne for Srt {
    fn next(&mut self, batch: &mut Batch) -> Result<Option<Record>, Unreadable> {
        loop {
            let Some(start) = self.bytes.take::<8>()? else { return Ok(None) };
            self.records += 1;
            let (length, id) = (u32_at(&start, 0, true), u32_at(&start, 4, true));
            if !(8..=1 << 16).contains(&length) {
                let problem = format!("a record of {length} bytes, expected {RECORD}");
                return Err(Unreadable::Lost(problem));
            }
            // Short and suspect I/Os.
            if !matches!(id & 0xFFFF, 1 | 4) {
                self.bytes.skip(u64::from(length) - 8)?;
                batch.note("other_records");
                continue;
            }
            let Some(rest) = (length as usize).checked_sub(FIELD_BYTES) else {
                self.bytes.skip(u64::from(length) - 8)?;
                let problem = format!("a request of {length} bytes");
                return Err(LineError { problem, expected: RECORD }.into());
            };
            let Some(fields) = self.bytes.take::<{ FIELD_BYTES - 8 }>()? else {
                return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
            };
            self.bytes.skip(rest as u64)?;
            return Ok(Some(request(&fields, batch)?));
        }
    }

    fn number(&self) -> u64 {
        self.records
    }
}

/// Parses a request from the fields after the record's header, starting with the seconds.
fn request(fields: &[u8; FIELD_BYTES - 8], batch: &mut Batch) -> Result<Record, LineError> {
    let word = |index: usize| u32_at(fields, 4 * index, true);
    let (bytes, sector) = (word(4), u64::from(word(5)));
    let extent = Extent::of(sector * SECTOR_BYTES, u64::from(bytes));
    let extent = extent.map_err(|fault: Fault| SIZE.fault(fault, bytes.to_string().as_bytes()))?;
    if extent.rounded {
        batch.note("rounded_to_sectors");
    }
    let at = u64::from(word(0)) * S + u64::from(word(1)) * US;
    let op = if word(9) & 1 == 1 { Op::Read } else { Op::Write };
    Ok(Record {
        at,
        device: word(6),
        op,
        sector,
        sectors: extent.sectors,
        fua: false,
        handle: engine::Handle::NONE,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_with};
    use super::*;
    use crate::read::stated::ReadOptions;

    #[test]
    fn records_are_read_by_their_own_length() {
        let sample = (FORMAT.sample)();
        let first = Record {
            at: 250_000,
            device: 7,
            op: Op::Read,
            sector: 1056,
            sectors: 8,
            fua: false,
            handle: engine::Handle::NONE,
        };
        let second = Record { at: S + 250_000, op: Op::Write, sector: 2112, ..first };
        assert_eq!(read(&FORMAT, &sample), [first, second]);
        let error = |bytes: &[u8]| read_with(bytes, &ReadOptions::default()).unwrap_err();
        let cut = error(&sample[..sample.len() - 1]);
        assert!(cut.starts_with("trace t is truncated after record 2"), "{cut}");
        let wild = error(&[&sample[..], &[0xFF; 8]].concat());
        assert!(wild.contains("record 3: a record of 4294967295 bytes, expected"), "{wild}");
        let endless = error(b"$$TR_IOREC-1.3\n");
        assert!(endless.contains("the header has no end"), "{endless}");
    }
}
