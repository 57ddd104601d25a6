//! `DiskSim`'s validation traces: a real drive under test, with the service time of each request.
//!
//! The last column is the time from the completion to the next request, as in `DiskSim`'s own
//! replay: the drive had one request at a time. The first request arrives at 0. Hits in the drive's
//! cache are ignored.

use super::row::{Format, Reader};
use crate::read::fields::{Field, SECTOR, SECTORS, US, blanks, columns};
use crate::read::head::{Head, blank_fields, is_decimal, is_digits};
use crate::read::lines::LineParser;
use crate::read::plain::Plain;
use crate::record::{Line, LineError, Record};
use engine::Time;

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.mostly(has_shape)),
    response: Some(response),
    gaps_after_answers: true,
    ..Format::new(
        "validate",
        "DiskSim validate: R|W, Hit|Miss|Doub, block, sectors, service and time to next in us",
        Reader::Lines(|_, _| Ok(Box::new(Clock(0)))),
        || {
            b"R Miss  1975456   4  15362.00000  56074.00000\n\
              W Hit   1975280   4   3024.00000  27896.50000\n\
              R Doub  8702844   8   7285.00000  45192.00000\n"
                .to_vec()
        },
    )
};

const COLUMNS: &str = "6 columns separated by blanks: \
     R or W, Hit or Miss or Doub, first sector, sectors, service time in us, time to next in us";
const OP: Field = Field::new("direction", "R or W");
const GAP: Field = Field::new("time to the next request", "a time in us such as 56074.00000");

fn has_shape(line: &str) -> bool {
    let fields = blank_fields(line);
    let [op, hit, block, size, service, gap] = fields[..] else { return false };
    matches!(op, "R" | "W")
        && matches!(hit, "Hit" | "Miss" | "Doub")
        && [block, size].into_iter().all(is_digits)
        && [service, gap].into_iter().all(is_decimal)
}

/// Arrival time of the next request.
struct Clock(Time);

impl LineParser for Clock {
    fn line(&mut self, line: &[u8]) -> Result<Line, LineError> {
        let [op, _, block, size, _, gap] = blanks(line).map_err(|count| columns(count, COLUMNS))?;
        let (op, sector) = (OP.direction(op)?, SECTOR.u64(block)?);
        let sectors = SECTORS.positive(size)?;
        let next = self.0.checked_add(GAP.time(gap, US)?);
        let next = next.ok_or_else(|| GAP.fault(crate::read::fields::Fault::TooLarge, gap))?;
        let at = std::mem::replace(&mut self.0, next);
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
    fn quick(&mut self, text: &[u8]) -> Option<(Record, usize)> {
        let mut line = Plain::new(text);
        let op = line.direction()?;
        line.blanks()?;
        line.word()?;
        line.blanks()?;
        let sector = line.number()?;
        line.blanks()?;
        let sectors = line.positive()?;
        line.blanks()?;
        line.word()?;
        line.blanks()?;
        let next = self.0.checked_add(line.decimal(3)?)?;
        let bytes = line.end()?;
        let at = std::mem::replace(&mut self.0, next);
        Some((
            Record { at, device: 0, op, sector, sectors, fua: false, handle: engine::Handle::NONE },
            bytes,
        ))
    }
}

fn response(line: &[u8]) -> Option<Time> {
    let [_, _, _, _, service, _] = blanks(line).ok()?;
    GAP.time(service, US).ok().filter(|ns| *ns > 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused};
    use super::*;
    use engine::Op;

    #[test]
    fn the_last_column_leads_to_the_next_request() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let times: Vec<_> = all.iter().map(|record| (record.at, record.op)).collect();
        assert_eq!(times, [(0, Op::Read), (56_074_000, Op::Write), (83_970_500, Op::Read)]);
        assert_eq!(response(b"R Hit 1 1 3060.5 1.0"), Some(3_060_500));
        refused(&FORMAT, "X Hit 1 1 1.0 1.0\n", "line 1: bad direction \"X\", expected R or W");
        refused(&FORMAT, "R Hit 1 1 1.0\n", "line 1: 5 columns, expected 6 columns");
    }
}
