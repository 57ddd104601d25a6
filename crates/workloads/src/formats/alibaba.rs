//! Alibaba's block traces of 2020: many virtual disks in one file, ordered by time.

use super::row::{Format, Reader};
use crate::read::fields::{DEVICE, Extent, Field, US, columns, commas};
use crate::read::head::{Head, comma_fields, is_digits};
use crate::read::lines::Each;
use crate::read::plain::{Plain, of_bytes};
use crate::record::{Clock, Line, LineError, Record};

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.mostly(has_shape)),
    clock: Clock::Epoch,
    ..Format::new(
        "alibaba",
        "Alibaba 2020 CSV: device, R|W, offset and length in bytes, Unix time in us",
        Reader::Lines(|_, _| Ok(Box::new(Each(parse, quick)))),
        || {
            b"419,W,8792731648,16384,1577808144360767\n\
              725,R,59110326272,360448,1577808144360813\n\
              12,R,350868463616,8192,1577808144360852\n"
                .to_vec()
        },
    )
};

const COLUMNS: &str = "5 columns separated by commas: \
     device number, R or W, offset in bytes, length in bytes, Unix time in us";
const OP: Field = Field::new("opcode", "R or W");
const TIME: Field = Field::new("time", "Unix time in us such as 1577808144360767");

fn has_shape(line: &str) -> bool {
    let fields = comma_fields(line);
    let [device, op, offset, length, time] = fields[..] else { return false };
    [device, offset, length, time].into_iter().all(is_digits) && matches!(op, "R" | "W")
}

fn parse(line: &[u8]) -> Result<Line, LineError> {
    if line.starts_with(b"device_id,") {
        return Ok(Line::Skip("header_lines"));
    }
    let [device, op, offset, length, time] =
        commas(line).map_err(|count| columns(count, COLUMNS))?;
    let (device, op) = (DEVICE.u32(device)?, OP.direction(op)?);
    Ok(Extent::parse(offset, length)?.line(TIME.time(time, US)?, device, op))
}

#[inline]
fn quick(text: &[u8]) -> Option<(Record, usize)> {
    let mut line = Plain::new(text);
    let device = line.small()?;
    line.byte(b',')?;
    let op = line.direction()?;
    line.byte(b',')?;
    let offset = line.number()?;
    line.byte(b',')?;
    let bytes = line.number()?;
    line.byte(b',')?;
    let at = line.decimal(3)?;
    Some((of_bytes(at, device, op, offset, bytes)?, line.end()?))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused};
    use super::*;
    use engine::Op;

    #[test]
    fn lines_are_read_exactly() {
        let expected = Record {
            at: 1_577_808_144_360_767_000,
            device: 419,
            op: Op::Write,
            sector: 17_173_304,
            sectors: 32,
            fua: false,
            handle: engine::Handle::NONE,
        };
        assert_eq!(read(&FORMAT, &(FORMAT.sample)())[0], expected);
        refused(&FORMAT, "1,T,0,512,1\n", "bad opcode \"T\"");
        refused(&FORMAT, "1,R,0,512,1,2\n", "6 columns, expected 5 columns");
    }
}
