//! ASCII traces of `MQSim` and `SSDsim`: five columns of integers, with times in an unstated unit.
//!
//! `SSDsim` uses nanoseconds, `MQSim` the unit of its workload file, so the unit must be stated.
//! The sixth column of forks with fingerprints is refused.

use super::row::{Format, Reader};
use super::writing::Lost;
use crate::read::fields::{DEVICE, Fault, Field, SECTOR, SECTORS, blanks, columns};
use crate::read::head::{Head, blank_fields, is_digits};
use crate::read::lines::LineParser;
use crate::read::plain::Plain;
use crate::record::{Line, LineError, Losses, Record};
use engine::{Op, Time};
use std::io::{self, Write};

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.mostly(has_shape)),
    stated: &[("time_unit", "ns")],
    write: Some(write),
    ..Format::new(
        "mqsim",
        "MQSim or SSDsim ASCII: time, device, first sector, sectors, 0 = write or 1 = read",
        Reader::Lines(|options, _| {
            Ok(Box::new(Parser { unit_ns: options.stated_unit_ns("MQSim and SSDsim")? }))
        }),
        || b"11413000 0 657728 16 1\n11565000 1 31244784 64 0\n11721000 1 868784 16 1\n".to_vec(),
    )
};

const COLUMNS: &str = "5 columns separated by blanks: \
     time, device number, first sector, sectors, 0 for a write or 1 for a read";
const TIME: Field = Field::new("time", "a time as a whole number");
const OP: Field = Field::new("type", "0 for a write or 1 for a read");

fn has_shape(line: &str) -> bool {
    let fields = blank_fields(line);
    fields.len() == 5
        && fields.iter().all(|field| is_digits(field))
        && matches!(fields[4], "0" | "1")
}

struct Parser {
    unit_ns: Time,
}

impl LineParser for Parser {
    fn line(&mut self, line: &[u8]) -> Result<Line, LineError> {
        let [time, device, sector, size, op] =
            blanks(line).map_err(|count| columns(count, COLUMNS))?;
        let at = TIME.u64(time)?.checked_mul(self.unit_ns);
        let at = at.ok_or_else(|| TIME.fault(Fault::TooLarge, time))?;
        let device = DEVICE.u32(device)?;
        let sector = SECTOR.u64(sector)?;
        let sectors = SECTORS.positive(size)?;
        let op = match op {
            b"0" => Op::Write,
            b"1" => Op::Read,
            _ => return Err(OP.fault(Fault::Bad, op)),
        };
        Ok(Line::Record(Record {
            at,
            device,
            op,
            sector,
            sectors,
            fua: false,
            handle: engine::Handle::NONE,
        }))
    }

    #[inline]
    fn quick(&mut self, text: &[u8]) -> Option<(Record, usize)> {
        let mut line = Plain::new(text);
        let at = line.number()?.checked_mul(self.unit_ns)?;
        line.blanks()?;
        let device = line.small()?;
        line.blanks()?;
        let sector = line.number()?;
        line.blanks()?;
        let sectors = line.positive()?;
        line.blanks()?;
        let op = if line.bit()? { Op::Read } else { Op::Write };
        Some((
            Record { at, device, op, sector, sectors, fua: false, handle: engine::Handle::NONE },
            line.end()?,
        ))
    }
}

/// Reads and writes with times in ns; the format has no trims, flushes or FUA.
fn write(records: &mut dyn Iterator<Item = Record>, out: &mut dyn Write) -> io::Result<Losses> {
    let mut lost = Lost::default();
    for record in records {
        let Some(flag) = lost.direction(&record, 1, 0) else { continue };
        let Record { at, device, sector, sectors, .. } = record;
        writeln!(out, "{at} {device} {sector} {sectors} {flag}")?;
    }
    Ok(lost.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_with, refused};
    use super::*;
    use crate::read::stated::{ReadOptions, TimeUnit};

    #[test]
    fn the_unit_must_be_stated_and_counts() {
        let all = read(&FORMAT, b"5 3 100 8 1\n");
        let record = Record {
            at: 5,
            device: 3,
            op: Op::Read,
            sector: 100,
            sectors: 8,
            fua: false,
            handle: engine::Handle::NONE,
        };
        assert_eq!(all, [record]);
        let options = ReadOptions { time_unit: TimeUnit::Us, ..ReadOptions::default() };
        assert_eq!(read_with(b"5 3 100 8 1\n", &options).unwrap()[0].at, 5000);
        let error = read_with(b"5 3 100 8 1\n", &ReadOptions::default()).unwrap_err();
        assert!(error.starts_with("workload.time_unit: MQSim and SSDsim files do not say"));
        refused(&FORMAT, "5 3 100 8 2\n", "bad type \"2\", expected 0 for a write or 1");
        refused(&FORMAT, "5 3 100 8 1 ab\n", "6 columns, expected 5");
    }
}
