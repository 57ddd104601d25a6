//! The traces of Florida International University (homes, mail, web): blocks with content hashes.
//!
//! The hash is not used. A process name may contain blanks, so fields are counted from both ends.

use super::row::{Format, Reader};
use crate::read::fields::{DEVICE, Field, SECTOR, SECTORS, columns};
use crate::read::head::{Head, blank_fields, is_digits};
use crate::read::lines::Each;
use crate::read::plain::Plain;
use crate::record::{Clock, Line, LineError, Record, device_number};

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.mostly(has_shape)),
    clock: Clock::Epoch,
    ..Format::new(
        "fiu",
        "FIU: time in ns, pid, process, first sector, sectors, R|W, major, minor, content hash",
        Reader::Lines(|_, _| Ok(Box::new(Each(parse, quick)))),
        || {
            b"0 4892 syslogd 904265560 8 W 6 0 531e779e01d4a4b2f0b4d2d9b5a0c1d2\n\
              89968195792462 20782 gzip -9 283193184 8 R 6 1 56f11b711d91a065a2b6458eca924523\n"
                .to_vec()
        },
    )
};

const COLUMNS: &str = "9 columns separated by blanks: time in ns, pid, process, first sector, \
     sectors, R or W, major, minor, hash of the content";
const TIME: Field = Field::new("time", "a time in whole ns");
const OP: Field = Field::new("direction", "R or W");

fn has_shape(line: &str) -> bool {
    let fields = blank_fields(line);
    let [time, pid, .., sector, size, op, major, minor, hash] = fields[..] else { return false };
    fields.len() >= 9
        && [time, pid, sector, size, major, minor].into_iter().all(is_digits)
        && matches!(op, "R" | "W")
        && hash.bytes().all(|b| b.is_ascii_hexdigit() || b == b'.')
}

fn parse(line: &[u8]) -> Result<Line, LineError> {
    let fields = || line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let time = fields().next().unwrap_or_default();
    let mut back = fields().rev();
    let [_, minor, major, op, size, sector] = [(); 6].map(|()| back.next().unwrap_or_default());
    if back.count() < 3 {
        return Err(columns(fields().count(), COLUMNS));
    }
    let (at, op) = (TIME.u64(time)?, OP.direction(op)?);
    let (major, minor) = (DEVICE.u32(major)?, DEVICE.u32(minor)?);
    let device = device_number(major, minor);
    let (sector, sectors) = (SECTOR.u64(sector)?, SECTORS.positive(size)?);
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

/// Parses a line whose process name is one word.
#[inline]
fn quick(text: &[u8]) -> Option<(Record, usize)> {
    let mut line = Plain::new(text);
    let at = line.number()?;
    line.blanks()?;
    line.number()?;
    line.blanks()?;
    line.word()?;
    line.blanks()?;
    let sector = line.number()?;
    line.blanks()?;
    let sectors = line.positive()?;
    line.blanks()?;
    let op = line.direction()?;
    line.blanks()?;
    let major = line.small()?;
    line.blanks()?;
    let device = device_number(major, line.small()?);
    line.blanks()?;
    line.word()?;
    Some((
        Record { at, device, op, sector, sectors, fua: false, handle: engine::Handle::NONE },
        line.end()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused};
    use super::*;
    use engine::Op;

    #[test]
    fn process_names_may_have_blanks() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let expected = Record {
            at: 89_968_195_792_462,
            device: (6 << 20) + 1,
            op: Op::Read,
            sector: 283_193_184,
            sectors: 8,
            fua: false,
            handle: engine::Handle::NONE,
        };
        assert_eq!(all[1], expected);
        refused(&FORMAT, "0 4892 syslogd 9 8 W 6 0\n", "8 columns, expected 9 columns");
    }
}
