//! The traces of SYSTOR '17: block requests of a virtual desktop infrastructure, with a header.
//!
//! Times are Unix times with nine decimals. Requests without a type were not completed within the
//! trace; they are skipped and counted. Lines are not sorted by time.

use super::row::{Format, Reader};
use crate::read::fields::{Extent, Field, S, columns, commas};
use crate::read::head::Head;
use crate::read::lines::Each;
use crate::read::plain::{Plain, of_bytes};
use crate::record::{Clock, Line, LineError, Record};
use engine::Time;

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.starts(HEADER)),
    has_header: true,
    clock: Clock::Epoch,
    disorder_ns: 60_000_000_000,
    response: Some(response),
    ..Format::new(
        "systor17",
        "SYSTOR '17 CSV: header Timestamp,Response,IOType,LUN,Offset,Size, times in s, bytes",
        Reader::Lines(|_, _| Ok(Box::new(Each(parse, quick)))),
        || {
            b"Timestamp,Response,IOType,LUN,Offset,Size\n\
              1456095145.133076000,0.000806000,R,0,899056122368,131072\n\
              1456095145.126285000,0.008044000,W,1,4256049987072,122880\n\
              1456095145.126285001,,,1,4256049987072,122880\n"
                .to_vec()
        },
    )
};

const HEADER: &str = "Timestamp,Response,IOType,LUN,Offset,Size";
const COLUMNS: &str = HEADER;
const TIME: Field = Field::new("Timestamp", "Unix time in s such as 1456095145.133076000");
const TYPE: Field = Field::new("IOType", "R, W or nothing");
const LUN: Field = Field::new("LUN", "a device number");

fn parse(line: &[u8]) -> Result<Line, LineError> {
    if line.starts_with(b"Timestamp,") {
        return Ok(Line::Skip("header_lines"));
    }
    let [time, _, op, lun, offset, size] = commas(line).map_err(|count| columns(count, COLUMNS))?;
    if op.is_empty() {
        return Ok(Line::Skip("without_response"));
    }
    let at = TIME.time(time, S)?;
    let (op, device) = (TYPE.direction(op)?, LUN.u32(lun)?);
    Ok(Extent::parse(offset, size)?.line(at, device, op))
}

#[inline]
fn quick(text: &[u8]) -> Option<(Record, usize)> {
    let mut line = Plain::new(text);
    let at = line.decimal(9)?;
    line.byte(b',')?;
    line.decimal(9)?;
    line.byte(b',')?;
    let op = line.direction()?;
    line.byte(b',')?;
    let device = line.small()?;
    line.byte(b',')?;
    let offset = line.number()?;
    line.byte(b',')?;
    let bytes = line.number()?;
    Some((of_bytes(at, device, op, offset, bytes)?, line.end()?))
}

fn response(line: &[u8]) -> Option<Time> {
    let [_, response, ..]: [&[u8]; 6] = commas(line).ok()?;
    TIME.time(response, S).ok().filter(|ns| *ns > 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused, skipped};
    use super::*;
    use engine::Op;

    #[test]
    fn lines_are_read_exactly_and_what_got_no_response_is_left_out() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let first = Record {
            at: 1_456_095_145_133_076_000,
            device: 0,
            op: Op::Read,
            sector: 899_056_122_368 / 512,
            sectors: 256,
            fua: false,
            handle: engine::Handle::NONE,
        };
        assert_eq!((all.len(), all[0], all[1].device), (2, first, 1));
        let counted = skipped(&FORMAT, &(FORMAT.sample)());
        assert_eq!(counted, [("header_lines", 1), ("without_response", 1)]);
        assert_eq!(response(b"1.5,0.000250000,R,0,0,512"), Some(250_000));
        refused(&FORMAT, "1.5,0.1,D,0,0,512\n", "bad IOType \"D\", expected R, W or nothing");
    }
}
