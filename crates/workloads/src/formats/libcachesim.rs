//! The CSV form of the `CloudPhysics` traces from libCacheSim: SCSI codes in hex, times in whole
//! seconds.

use super::row::{Format, Reader};
use crate::read::fields::{BYTES, Extent, Fault, Field, S, SECTOR, columns, commas};
use crate::read::head::Head;
use crate::read::lines::Each;
use crate::read::plain::{Plain, of_bytes};
use crate::read::scsi;
use crate::record::{Clock, Line, LineError, Record};
use engine::{Op, SECTOR_BYTES};

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.starts(HEADER)),
    has_header: true,
    clock: Clock::Epoch,
    tick_ns: Some(S),
    ..Format::new(
        "libcachesim",
        "libCacheSim CSV: header version,time,op,size,lbn, time in s, SCSI opcode in hex, bytes",
        Reader::Lines(|_, _| Ok(Box::new(Each(parse, quick)))),
        || {
            b"version,time,op,size,lbn\n1,5633898,2a,512,42932745\n1,5633899,28,4096,42932752\n\
              1,5633899,91,0,0\n"
                .to_vec()
        },
    )
};

const HEADER: &str = "version,time,op,size,lbn";
const TIME: Field = Field::new("time", "a time in s");
const OPCODE: Field = Field::new("op", "a SCSI operation code in hex");

fn parse(line: &[u8]) -> Result<Line, LineError> {
    if line.starts_with(b"version,") {
        return Ok(Line::Skip("header_lines"));
    }
    let [_, time, op, size, sector] = commas(line).map_err(|count| columns(count, HEADER))?;
    let at = TIME.time(time, S)?;
    match scsi::operation(OPCODE.hex(op)?) {
        None => Ok(Line::Skip("other_commands")),
        Some(Op::Flush) => Ok(Line::Record(Record::flush(at, 0))),
        Some(op) => {
            let offset = SECTOR.u64(sector)?.checked_mul(SECTOR_BYTES);
            let offset = offset.ok_or_else(|| SECTOR.fault(Fault::TooLarge, sector))?;
            let extent = Extent::of(offset, BYTES.u64(size)?);
            Ok(extent.map_err(|fault| BYTES.fault(fault, size))?.line(at, 0, op))
        }
    }
}

/// Parses a line with a two-digit operation that has sectors.
#[inline]
fn quick(text: &[u8]) -> Option<(Record, usize)> {
    let mut line = Plain::new(text);
    line.number()?;
    line.byte(b',')?;
    let at = line.decimal(9)?;
    line.byte(b',')?;
    let mut digit = || char::from(line.any()?).to_digit(16);
    let code = digit()? * 16 + digit()?;
    let op = scsi::operation(u64::from(code)).filter(|op| *op != Op::Flush)?;
    line.byte(b',')?;
    let bytes = line.number()?;
    line.byte(b',')?;
    let offset = line.number()?.checked_mul(SECTOR_BYTES)?;
    Some((of_bytes(at, 0, op, offset, bytes)?, line.end()?))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused};
    use super::*;

    #[test]
    fn lines_are_read_exactly() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let first = Record {
            at: 5_633_898 * S,
            device: 0,
            op: Op::Write,
            sector: 42_932_745,
            sectors: 1,
            fua: false,
            handle: engine::Handle::NONE,
        };
        assert_eq!((all.len(), all[0], all[1].op, all[2].op), (3, first, Op::Read, Op::Flush));
        refused(&FORMAT, "1,1,2x,512,1\n", "bad op \"2x\"");
        refused(&FORMAT, "1,1,2a,0,1\n", "zero size");
    }
}
