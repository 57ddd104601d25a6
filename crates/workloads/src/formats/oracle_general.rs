//! libCacheSim's oracleGeneral: time, object, size and next access, without a direction.
//!
//! The format is for cache simulation: times are whole seconds, an object's number serves as its
//! first 512 B sector, and the share of reads must be stated.

use super::row::{Format, Reader};
use crate::error::BuildError;
use crate::read::batch::Batch;
use crate::read::fields::{Extent, Fault, Field, S};
use crate::read::head::Head;
use crate::read::source::{Bytes, OneByOne, Opening, Source, Unreadable, u32_at, u64_at};
use crate::record::{Clock, Record};
use engine::{Op, SECTOR_BYTES};
use options::Invalid;

pub const FORMAT: Format = Format {
    detect: Some(detect),
    clock: Clock::Epoch,
    tick_ns: Some(S),
    stated: &[("read_share", "1.0")],
    ..Format::new(
        "oracle_general",
        "libCacheSim oracleGeneral binary: time in s, object (first sector), bytes; no direction",
        Reader::Bytes(open),
        || {
            let record = |time, object, size, next| record(time, object, size, next).to_vec();
            [record(100, 64, 512, 3), record(101, 72, 4096, -1), record(101, 64, 512, -1)].concat()
        },
    )
};

const RECORD_BYTES: usize = 24;
const EXAMINED: usize = 256;
const SIZE: Field = Field::new("size", "a size in bytes, above 0, that ends within 2^64");

/// The format has no magic number: all records at the beginning must have non-decreasing times, a
/// size, and a next access that is none or in the future.
fn detect(head: &Head) -> bool {
    let mut before = 0;
    let mut records = 0;
    let plausible = head.bytes.chunks_exact(RECORD_BYTES).take(EXAMINED).all(|record| {
        let (time, size) = (u32_at(record, 0, false), u32_at(record, 12, false));
        let next = u64_at(record, 16, false).cast_signed();
        let rises = time >= before;
        before = time;
        records += 1;
        rises && (1..1 << 30).contains(&size) && (next == -1 || next > records) && next < 1 << 48
    });
    head.lines.is_empty() && records > 0 && plausible
}

fn open(opening: Opening<'_>) -> Result<Box<dyn Source>, BuildError> {
    if opening.options.read_share.is_none() {
        let problem = "oracle_general traces do not say which requests read and which write: state \
                       the share of reads, 0 to 1, to have it drawn";
        return Err(Invalid::new(&["workload.read_share"], problem).into());
    }
    Ok(Box::new(OracleGeneral { bytes: Bytes::new(opening.input), records: 0 }))
}

struct OracleGeneral {
    bytes: Bytes,
    records: u64,
}

impl OneByOne for OracleGeneral {
    fn next(&mut self, batch: &mut Batch) -> Result<Option<Record>, Unreadable> {
        let Some(record) = self.bytes.take::<RECORD_BYTES>()? else { return Ok(None) };
        self.records += 1;
        let (sector, bytes) = (u64_at(&record, 4, false), u32_at(&record, 12, false));
        let faulty = |fault| SIZE.fault(fault, format!("{bytes} B at {sector}").as_bytes());
        let offset = sector.checked_mul(SECTOR_BYTES).ok_or_else(|| faulty(Fault::TooLarge))?;
        let extent = Extent::of(offset, u64::from(bytes)).map_err(faulty)?;
        if extent.rounded {
            batch.note("rounded_to_sectors");
        }
        let at = u64::from(u32_at(&record, 0, false)) * S;
        let sectors = extent.sectors;
        Ok(Some(Record {
            at,
            device: 0,
            op: Op::Read,
            sector,
            sectors,
            fua: false,
            handle: engine::Handle::NONE,
        }))
    }

    fn number(&self) -> u64 {
        self.records
    }
}

fn record(time: u32, object: u64, size: u32, next: i64) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[..4].copy_from_slice(&time.to_le_bytes());
    record[4..12].copy_from_slice(&object.to_le_bytes());
    record[12..16].copy_from_slice(&size.to_le_bytes());
    record[16..].copy_from_slice(&next.to_le_bytes());
    record
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read_as, read_with};
    use super::*;
    use crate::read::stated::ReadOptions;

    #[test]
    fn the_share_of_reads_must_be_stated_and_is_drawn() {
        let error = read_with(&(FORMAT.sample)(), &ReadOptions::default()).unwrap_err();
        assert!(error.starts_with("workload.read_share: oracle_general traces do not"), "{error}");
        let many: Vec<u8> = (0..1000).flat_map(|time| record(time, 8, 512, -1)).collect();
        let reads = |read_share, seed| {
            let options =
                ReadOptions { read_share: Some(read_share), seed, ..ReadOptions::default() };
            let all = read_with(&many, &options).unwrap();
            all.iter().map(|record| record.op == Op::Read).collect::<Vec<_>>()
        };
        let count = |drawn: Vec<bool>| drawn.into_iter().filter(|read| *read).count();
        assert_eq!((count(reads(0.0, 1)), count(reads(1.0, 1))), (0, 1000));
        assert!((200..300).contains(&count(reads(0.25, 1))));
        assert_eq!(reads(0.5, 7), reads(0.5, 7));
        assert_ne!(reads(0.5, 7), reads(0.5, 8));
        let broken = [record(1, 8, 512, -1), record(2, 8, 0, -1)].concat();
        let options = ReadOptions { read_share: Some(1.0), ..ReadOptions::default() };
        let error = read_as(&FORMAT, &broken, &options).unwrap_err();
        assert!(error.contains("record 2: zero size"), "{error}");
    }
}
