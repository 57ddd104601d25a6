//! Tencent's cloud block storage traces of 2018: many volumes in one file, with times in whole
//! seconds.
//!
//! The direction is the opposite of `SSDsim`'s: 0 is a read. The requests of a second share one
//! time; the replay can spread them.

use super::row::{Format, Reader};
use crate::read::fields::{DEVICE, Fault, Field, S, SECTOR, SECTORS, columns, commas};
use crate::read::head::{Head, comma_fields, is_digits};
use crate::read::lines::Each;
use crate::read::plain::Plain;
use crate::record::{Clock, Line, LineError, Record};
use engine::Op;

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.mostly(has_shape)),
    clock: Clock::Epoch,
    tick_ns: Some(S),
    disorder_ns: 2 * S,
    ..Format::new(
        "tencent",
        "Tencent CBS 2018 CSV: Unix time in s, first sector, sectors, 0 = read, 1 = write, volume",
        Reader::Lines(|_, _| Ok(Box::new(Each(parse, quick)))),
        || b"1538323200,4247200,128,1,1058\n1538323199,13896880,128,0,1063\n".to_vec(),
    )
};

const COLUMNS: &str = "5 columns separated by commas: \
     Unix time in s, first sector, sectors, 0 for a read or 1 for a write, volume";
const TIME: Field = Field::new("time", "Unix time in whole s such as 1538323200");
const TYPE: Field = Field::new("type", "0 for a read or 1 for a write");

fn has_shape(line: &str) -> bool {
    let fields = comma_fields(line);
    let [time, sector, sectors, op, volume] = fields[..] else { return false };
    time.len() == 10
        && [time, sector, sectors, volume].into_iter().all(is_digits)
        && matches!(op, "0" | "1")
}

fn parse(line: &[u8]) -> Result<Line, LineError> {
    let [time, sector, size, op, volume] = commas(line).map_err(|count| columns(count, COLUMNS))?;
    let at = TIME.u64(time)?.checked_mul(S).ok_or_else(|| TIME.fault(Fault::TooLarge, time))?;
    let op = match op {
        b"0" => Op::Read,
        b"1" => Op::Write,
        _ => return Err(TYPE.fault(Fault::Bad, op)),
    };
    let (device, sector) = (DEVICE.u32(volume)?, SECTOR.u64(sector)?);
    let sectors = SECTORS.positive(size)?;
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
fn quick(text: &[u8]) -> Option<(Record, usize)> {
    let mut line = Plain::new(text);
    let at = line.number()?.checked_mul(S)?;
    line.byte(b',')?;
    let sector = line.number()?;
    line.byte(b',')?;
    let sectors = line.positive()?;
    line.byte(b',')?;
    let op = if line.bit()? { Op::Write } else { Op::Read };
    line.byte(b',')?;
    let device = line.small()?;
    Some((
        Record { at, device, op, sector, sectors, fua: false, handle: engine::Handle::NONE },
        line.end()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused};
    use super::*;

    #[test]
    fn a_type_of_0_is_a_read() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let expected = Record {
            at: 1_538_323_200 * S,
            device: 1058,
            op: Op::Write,
            sector: 4_247_200,
            sectors: 128,
            fua: false,
            handle: engine::Handle::NONE,
        };
        assert_eq!((all[0], all[1].op), (expected, Op::Read));
        refused(&FORMAT, "1538323200,1,0,1,2\n", "zero size");
        refused(&FORMAT, "1538323200,1,1,2,2\n", "bad type \"2\"");
    }
}
