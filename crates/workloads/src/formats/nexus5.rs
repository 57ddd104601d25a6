//! The traces of a Nexus 5 telephone (Zhou et al.): eight columns separated by tabs.
//!
//! A request arrives when it was generated. Bit 0 of the status is set for a write.

use super::row::{Format, Reader};
use crate::read::fields::{Field, S, SECTOR, SECTORS, blanks, columns};
use crate::read::head::{Head, blank_fields, is_decimal, is_digits};
use crate::read::lines::Each;
use crate::read::plain::Plain;
use crate::record::{Clock, Line, LineError, Record};
use engine::{Op, Time};

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.mostly(has_shape)),
    clock: Clock::Epoch,
    disorder_ns: 60_000_000_000,
    response: Some(response),
    ..Format::new(
        "nexus5",
        "Nexus 5: first sector, sectors, bytes, status (1 = write), four times in s",
        Reader::Lines(|_, _| Ok(Box::new(Each(parse, quick)))),
        || {
            b"0\t\t8\t\t4096\t\t4\t\t1.740780627\t\t1.740812815\t\t1.740851877\t\t1.741075471\n\
              8\t\t8\t\t4096\t\t5\t\t1.741165940\t\t1.741177190\t\t1.741193648\t\t1.741418961\n"
                .to_vec()
        },
    )
};

const COLUMNS: &str = "8 columns separated by tabs: first sector, sectors, bytes, status, \
     times in s of generation, processing, submission and end";
const STATUS: Field = Field::new("status", "a number, odd for a write");
const TIME: Field = Field::new("time", "a time in s such as 1.740780627");

fn has_shape(line: &str) -> bool {
    let fields = blank_fields(line);
    fields.len() == 8
        && fields[..4].iter().all(|field| is_digits(field))
        && fields[4..].iter().all(|field| is_decimal(field) || *field == "0")
}

fn parse(line: &[u8]) -> Result<Line, LineError> {
    let [sector, size, _, status, generated, _, _, _] =
        blanks(line).map_err(|count| columns(count, COLUMNS))?;
    let (sector, sectors) = (SECTOR.u64(sector)?, SECTORS.positive(size)?);
    let op = if STATUS.u64(status)? & 1 == 1 { Op::Write } else { Op::Read };
    let at = TIME.time(generated, S)?;
    Ok(Line::Record(Record {
        at,
        device: 0,
        op,
        sector,
        sectors,
        fua: false,
        handle: engine::Handle::NONE,
    }))
}

#[inline]
fn quick(text: &[u8]) -> Option<(Record, usize)> {
    let mut line = Plain::new(text);
    let sector = line.number()?;
    line.blanks()?;
    let sectors = line.positive()?;
    line.blanks()?;
    line.number()?;
    line.blanks()?;
    let op = if line.number()? & 1 == 1 { Op::Write } else { Op::Read };
    line.blanks()?;
    let at = line.decimal(9)?;
    for _ in 0..3 {
        line.blanks()?;
        line.word()?;
    }
    Some((
        Record { at, device: 0, op, sector, sectors, fua: false, handle: engine::Handle::NONE },
        line.end()?,
    ))
}

/// From generation to end.
fn response(line: &[u8]) -> Option<Time> {
    let [_, _, _, _, generated, _, _, end] = blanks(line).ok()?;
    TIME.time(end, S).ok()?.checked_sub(TIME.time(generated, S).ok()?).filter(|ns| *ns > 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused};
    use super::*;

    #[test]
    fn requests_arrive_when_they_are_generated() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let expected = Record {
            at: 1_741_165_940,
            device: 0,
            op: Op::Write,
            sector: 8,
            sectors: 8,
            fua: false,
            handle: engine::Handle::NONE,
        };
        assert_eq!((all[0].op, all[1]), (Op::Read, expected));
        assert_eq!(response(b"0\t8\t4096\t4\t1.5\t1.6\t1.7\t1.500250"), Some(250_000));
        refused(&FORMAT, "0\t8\t4096\t4\t1.7\t1.7\t1.7\n", "7 columns, expected 8 columns");
    }
}
