//! `CloudPhysics`' VSCSI traces: fixed-size binary records of SCSI commands, versions 1 and 2.
//!
//! The files have no magic number. They are recognised if all records at the beginning have the
//! same version and nearly sorted times; a later record of another version is an error.

use super::row::{Format, Reader};
use crate::read::batch::Batch;
use crate::read::fields::{Extent, Fault, Field, US};
use crate::read::head::Head;
use crate::read::scsi;
use crate::read::source::{Bytes, OneByOne, Unreadable, u16_at, u32_at, u64_at};
use crate::record::{Clock, LineError, Record};
use engine::{Op, SECTOR_BYTES};

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.lines.is_empty() && version(head.bytes).is_some()),
    clock: Clock::Epoch,
    ..Format::new(
        "vscsi",
        "CloudPhysics VSCSI binary, versions 1 and 2: SCSI command, sector, bytes, time in us",
        Reader::Bytes(|opening| {
            let layout = version(opening.head.bytes).unwrap_or(&LAYOUTS[0]);
            Ok(Box::new(Vscsi { bytes: Bytes::new(opening.input), layout, records: 0 }))
        }),
        || sample(&LAYOUTS[0]),
    )
};

/// Positions of fields in one version.
struct Layout {
    version: u8,
    record_bytes: usize,
    length: usize,
    command: usize,
    version_at: usize,
}

/// Version 1 is sn, len, nSG, cmd, ver, lbn, ts; version 2 is cmd, ver, sn, len, nSG, lbn, ts, rt.
const LAYOUTS: &[Layout; 2] = &[
    Layout { version: 1, record_bytes: V1_BYTES, length: 4, command: 12, version_at: 15 },
    Layout { version: 2, record_bytes: V2_BYTES, length: 8, command: 0, version_at: 3 },
];
const V1_BYTES: usize = 32;
const V2_BYTES: usize = 40;
/// Sector and time have the same offsets in both versions.
const SECTOR_AT: usize = 16;
const TIME_AT: usize = 24;
const EXAMINED: usize = 64;

const SIZE: Field = Field::new("size", "a size in bytes, above 0, that ends within 2^64");
const TIME: Field = Field::new("time", "a time in us below 500 years");
const VERSION: &str = "a record of the version that the trace begins with";

/// The layout common to all records at the beginning of the file.
fn version(head: &[u8]) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| {
        let mut records = head.chunks_exact(layout.record_bytes).take(EXAMINED).peekable();
        let (mut count, mut steps_back, mut before) = (0, 0, 0);
        records.peek().is_some()
            && records.all(|record| {
                let at = u64_at(record, TIME_AT, false);
                steps_back += usize::from(at < before);
                before = at;
                count += 1;
                record[layout.version_at] == layout.version
                    && record[layout.command + 1] == 0
                    && record[layout.command] != 0
            })
            && steps_back * 4 <= count
    })
}

struct Vscsi {
    bytes: Bytes,
    layout: &'static Layout,
    records: u64,
}

impl Vscsi {
    fn parse(&self, record: &[u8]) -> Result<Option<(Record, bool)>, LineError> {
        let layout = self.layout;
        if record[layout.version_at] != layout.version {
            let version = record[layout.version_at];
            return Err(LineError { problem: format!("version {version}"), expected: VERSION });
        }
        let Some(op) = scsi::operation(u64::from(u16_at(record, layout.command, false))) else {
            return Ok(None);
        };
        let time = u64_at(record, TIME_AT, false);
        let at = time.checked_mul(US);
        let at = at.ok_or_else(|| TIME.fault(Fault::TooLarge, time.to_string().as_bytes()))?;
        if op == Op::Flush {
            return Ok(Some((Record::flush(at, 0), false)));
        }
        let (sector, bytes) =
            (u64_at(record, SECTOR_AT, false), u32_at(record, layout.length, false));
        let faulty = |fault| SIZE.fault(fault, format!("{bytes} B at {sector}").as_bytes());
        let offset = sector.checked_mul(SECTOR_BYTES).ok_or_else(|| faulty(Fault::TooLarge))?;
        let extent = Extent::of(offset, u64::from(bytes)).map_err(faulty)?;
        let sectors = extent.sectors;
        let record =
            Record { at, device: 0, op, sector, sectors, fua: false, handle: engine::Handle::NONE };
        Ok(Some((record, extent.rounded)))
    }
}

impl OneByOne for Vscsi {
    fn next(&mut self, batch: &mut Batch) -> Result<Option<Record>, Unreadable> {
        loop {
            let mut record = [0; V2_BYTES];
            let bytes = &mut self.bytes;
            let there = if self.layout.version == 1 {
                bytes.take::<V1_BYTES>()?.map(|taken| record[..V1_BYTES].copy_from_slice(&taken))
            } else {
                bytes.take::<V2_BYTES>()?.map(|taken| record = taken)
            };
            if there.is_none() {
                return Ok(None);
            }
            self.records += 1;
            match self.parse(&record)? {
                Some((found, rounded)) => {
                    if rounded {
                        batch.note("rounded_to_sectors");
                    }
                    return Ok(Some(found));
                }
                None => batch.note("other_commands"),
            }
        }
    }

    fn number(&self) -> u64 {
        self.records
    }
}

fn record(layout: &Layout, command: u8, bytes: u32, sector: u64, time_us: u64) -> Vec<u8> {
    let mut record = vec![0; layout.record_bytes];
    record[layout.command] = command;
    record[layout.version_at] = layout.version;
    record[layout.length..layout.length + 4].copy_from_slice(&bytes.to_le_bytes());
    record[SECTOR_AT..SECTOR_AT + 8].copy_from_slice(&sector.to_le_bytes());
    record[TIME_AT..TIME_AT + 8].copy_from_slice(&time_us.to_le_bytes());
    record
}

fn sample(layout: &Layout) -> Vec<u8> {
    [
        record(layout, 0x2A, 512, 42_932_745, 5_633_898_611_441_442),
        record(layout, 0x88, 4096, 42_932_752, 5_633_898_611_441_500),
        record(layout, 0x12, 36, 0, 5_633_898_611_441_501),
        record(layout, 0x91, 0, 0, 5_633_898_611_441_502),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_as, read_with, skipped};
    use super::*;
    use crate::read::stated::ReadOptions;

    #[test]
    fn both_versions_are_recognised_and_read_alike() {
        let write = Record {
            at: 5_633_898_611_441_442_000,
            device: 0,
            op: Op::Write,
            sector: 42_932_745,
            sectors: 1,
            fua: false,
            handle: engine::Handle::NONE,
        };
        let read_16 =
            Record { at: write.at + 58_000, op: Op::Read, sector: 42_932_752, sectors: 8, ..write };
        let expected = [write, read_16, Record::flush(write.at + 60_000, 0)];
        for layout in LAYOUTS {
            let bytes = sample(layout);
            assert_eq!(read_with(&bytes, &ReadOptions::default()).unwrap(), expected);
            assert_eq!(skipped(&FORMAT, &bytes), [("other_commands", 1)]);
        }
    }

    #[test]
    fn errors_in_broken_traces_name_the_place() {
        let first = &LAYOUTS[0];
        let good = sample(first).repeat(EXAMINED);
        let error = |tail: Vec<u8>| {
            let bytes = [good.clone(), tail].concat();
            read_as(&FORMAT, &bytes, &ReadOptions::default()).unwrap_err()
        };
        let number = 4 * EXAMINED + 1;
        let zero = error(record(first, 0x28, 0, 1, 1));
        assert!(zero.contains(&format!("record {number}: zero size")), "{zero}");
        let huge = error(record(first, 0x28, 512, u64::MAX, 1));
        assert!(huge.contains("too large a size \"512 B at 18446744073709551615\""), "{huge}");
        let late = error(record(first, 0x28, 512, 1, u64::MAX));
        assert!(late.contains("too large a time"), "{late}");
        let other = error(record(&LAYOUTS[1], 0x28, 512, 1, 1)[..32].to_vec());
        assert!(other.contains("version 0, expected a record of the version"), "{other}");
        let short = error(vec![0; 31]);
        assert!(short.contains("is truncated after record 256"), "{short}");
        assert_eq!(read(&FORMAT, &good).len(), 3 * EXAMINED);
    }
}
