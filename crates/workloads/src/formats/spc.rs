//! The SPC trace format of the `UMass` repository: one line of comma-separated fields per request.
//!
//! An application storage unit (ASU) is a device with its own address space. Fields after the fifth
//! are optional and ignored, as the specification requires. Addresses are in blocks of 512 B, sizes
//! in bytes.

use super::row::{Format, Reader};
use crate::read::fields::{BYTES, Extent, Fault, Field, S, SECTOR, columns};
use crate::read::head::{Head, comma_fields, is_decimal, is_digits};
use crate::read::lines::Each;
use crate::read::plain::{Plain, of_bytes};
use crate::record::{Line, LineError, Record};
use engine::SECTOR_BYTES;

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.mostly(has_shape)),
    ..Format::new(
        "spc",
        "SPC or UMass: ASU, first sector, bytes, R|W, time in s, separated by commas",
        Reader::Lines(|_, _| Ok(Box::new(Each(parse, quick)))),
        || b"0,303567,3584,w,0.000000\n1,55590,3072,R,0.000000\n0,303574,512,w,0.026214\n".to_vec(),
    )
};

const COLUMNS: &str =
    "5 or more columns separated by commas: ASU, first sector, bytes, R or W, time in s";
const ASU: Field = Field::new("ASU", "the number of an application storage unit");
const OP: Field = Field::new("opcode", "R or W");
const TIME: Field = Field::new("time", "a time in s such as 0.026214");

fn has_shape(line: &str) -> bool {
    let fields = comma_fields(line);
    let [asu, sector, bytes, op, time, ..] = fields[..] else { return false };
    [asu, sector, bytes].into_iter().all(is_digits)
        && matches!(op, "r" | "R" | "w" | "W")
        && is_decimal(time)
}

fn parse(line: &[u8]) -> Result<Line, LineError> {
    let mut fields = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let mut count = 0;
    let [asu, sector, bytes, op, time] =
        [(); 5].map(|()| fields.next().inspect(|_| count += 1).unwrap_or_default());
    if count < 5 {
        return Err(columns(count, COLUMNS));
    }
    let at = TIME.time(time, S)?;
    let (asu, op) = (ASU.u32(asu)?, OP.direction(op)?);
    let (first, length) = (SECTOR.u64(sector)?, BYTES.u64(bytes)?);
    let offset = first.checked_mul(SECTOR_BYTES);
    let offset = offset.ok_or_else(|| SECTOR.fault(Fault::TooLarge, sector))?;
    let extent = Extent::of(offset, length).map_err(|fault| BYTES.fault(fault, bytes))?;
    Ok(extent.line(at, asu, op))
}

#[inline]
fn quick(text: &[u8]) -> Option<(Record, usize)> {
    let mut line = Plain::new(text);
    let asu = line.small()?;
    line.byte(b',')?;
    let offset = line.number()?.checked_mul(SECTOR_BYTES)?;
    line.byte(b',')?;
    let bytes = line.number()?;
    line.byte(b',')?;
    let op = line.direction()?;
    line.byte(b',')?;
    let at = line.decimal(9)?;
    Some((of_bytes(at, asu, op, offset, bytes)?, line.end()?))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused};
    use super::*;
    use engine::Op;

    #[test]
    fn lines_of_the_specification_are_read() {
        let text = b"0, 20941264, 8192, W, 0.551706, Alpha/NT\n1,1,100,r,1.5\n";
        let expected = [
            Record {
                at: 551_706_000,
                device: 0,
                op: Op::Write,
                sector: 20_941_264,
                sectors: 16,
                fua: false,
                handle: engine::Handle::NONE,
            },
            Record {
                at: 1_500_000_000,
                device: 1,
                op: Op::Read,
                sector: 1,
                sectors: 1,
                fua: false,
                handle: engine::Handle::NONE,
            },
        ];
        assert_eq!(read(&FORMAT, text), expected);
        refused(&FORMAT, "0,1,512,w\n", "4 columns, expected 5 or more");
        refused(&FORMAT, "0,1,0,w,0.1\n", "zero size");
        refused(&FORMAT, "0,99999999999999999,512,w,0.1\n", "too large a sector");
        refused(&FORMAT, "0,1,512,x,0.1\n", "bad opcode \"x\", expected R or W");
    }
}
