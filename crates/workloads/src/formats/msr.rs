//! The traces of MSR Cambridge: comma-separated, with Windows file times of 100 ns as integers.
//!
//! Times have 18 digits, too many for a double. Each pair of host and disk number is a device: the
//! disk number for the first host, plus 65536 for each further host.

use super::row::{Format, Reader};
use super::writing::{Lost, TIMES_ROUNDED, TOO_FAR};
use crate::read::fields::{Extent, Fault, Field, Names, columns, commas, integer};
use crate::read::head::{Head, comma_fields, is_digits};
use crate::read::lines::LineParser;
use crate::read::plain::{Plain, of_bytes};
use crate::record::{Clock, Line, LineError, Losses, Record};
use engine::{SECTOR_BYTES, Time};
use std::io::{self, Write};

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.mostly(has_shape)),
    clock: Clock::Epoch,
    disorder_ns: 60_000_000_000,
    write: Some(write),
    response: Some(response),
    ..Format::new(
        "msr",
        "MSR Cambridge CSV: file time, host, disk, Read|Write, offset and size in bytes, response",
        Reader::Lines(|_, _| Ok(Box::new(Parser::default()))),
        || {
            b"128166385295514663,hm,0,Write,9056014336,2048,2833\n\
              128166385295514878,hm,0,Read,11855351808,512,2617\n\
              128166385295515175,hm,1,Write,5548077056,4096,2320\n"
                .to_vec()
        },
    )
};

/// A Windows file time counts 100 ns.
const TICK_NS: Time = 100;
const DISKS_PER_HOST: u32 = 1 << 16;
const COLUMNS: &str = "7 columns separated by commas: \
     file time in 100 ns, host, disk number, Read or Write, offset in bytes, bytes, response time";
const TIME: Field = Field::new("time", "a Windows file time such as 128166385295514663");
const HOST: Field = Field::new("host", "one of at most 4096 short names");
const DISK: Field = Field::new("disk number", "a disk number below 65536");
const TYPE: Field = Field::new("type", "Read or Write");

fn has_shape(line: &str) -> bool {
    let fields = comma_fields(line);
    let [time, _, disk, op, offset, bytes, response] = fields[..] else { return false };
    [time, disk, offset, bytes, response].into_iter().all(is_digits)
        && (op.eq_ignore_ascii_case("read") || op.eq_ignore_ascii_case("write"))
}

#[derive(Default)]
struct Parser {
    hosts: Names,
}

impl LineParser for Parser {
    fn line(&mut self, line: &[u8]) -> Result<Line, LineError> {
        let [time, host, disk, op, offset, bytes, _] =
            commas(line).map_err(|count| columns(count, COLUMNS))?;
        let at = TIME.u64(time)?.checked_mul(TICK_NS);
        let at = at.ok_or_else(|| TIME.fault(Fault::TooLarge, time))?;
        let number = self.hosts.number(host).ok_or_else(|| HOST.fault(Fault::TooLarge, host))?;
        let device = match DISK.u32(disk)? {
            small if small < DISKS_PER_HOST => number * DISKS_PER_HOST + small,
            _ => return Err(DISK.fault(Fault::TooLarge, disk)),
        };
        let op = TYPE.direction(op)?;
        Ok(Extent::parse(offset, bytes)?.line(at, device, op))
    }

    #[inline]
    fn quick(&mut self, text: &[u8]) -> Option<(Record, usize)> {
        let mut line = Plain::new(text);
        let at = line.number()?.checked_mul(TICK_NS)?;
        line.byte(b',')?;
        let host = line.until(b',')?;
        let disk = line.small().filter(|disk| *disk < DISKS_PER_HOST)?;
        line.byte(b',')?;
        let op = line.direction()?;
        line.byte(b',')?;
        let offset = line.number()?;
        line.byte(b',')?;
        let record = of_bytes(at, disk, op, offset, line.number()?)?;
        line.byte(b',')?;
        line.number()?;
        let bytes = line.end()?;
        // Names with leading or trailing blanks take the slow path, which trims them.
        let stands = host.first()?.is_ascii_graphic() && host.last()?.is_ascii_graphic();
        let number = Some(host).filter(|_| stands).and_then(|host| self.hosts.number(host))?;
        Some((Record { device: number * DISKS_PER_HOST + disk, ..record }, bytes))
    }
}

/// Response time from the last column; none if it is 0 (no completion).
fn response(line: &[u8]) -> Option<Time> {
    let ticks = integer(line.rsplit(|byte| *byte == b',').next()?.trim_ascii(), 10).ok()?;
    ticks.checked_mul(TICK_NS).filter(|ns| *ns > 0)
}

/// Writes reads and writes with times in 100 ns; hosts are named by number. Completions are
/// unknown, so the response time is 0.
fn write(records: &mut dyn Iterator<Item = Record>, out: &mut dyn Write) -> io::Result<Losses> {
    let mut lost = Lost::default();
    for record in records {
        let Some(word) = lost.direction(&record, "Read", "Write") else { continue };
        let Record { at, device, sector, sectors, .. } = record;
        lost.count(TIMES_ROUNDED, at % TICK_NS != 0);
        let Some(offset) = sector.checked_mul(SECTOR_BYTES) else {
            lost.count(TOO_FAR, true);
            continue;
        };
        let (host, disk) = (device / DISKS_PER_HOST, device % DISKS_PER_HOST);
        let bytes = u64::from(sectors) * SECTOR_BYTES;
        writeln!(out, "{},host{host},{disk},{word},{offset},{bytes},0", at / TICK_NS)?;
    }
    Ok(lost.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, refused};
    use super::*;
    use engine::Op;

    #[test]
    fn file_times_are_exact_and_hosts_apart() {
        let text = b"128166385295514663,hm,1,Write,1024,512,2833\n\
                     128166385295514664,usr,1,Read,513,1,0\n";
        let first = Record {
            at: 12_816_638_529_551_466_300,
            device: 1,
            op: Op::Write,
            sector: 2,
            sectors: 1,
            fua: false,
            handle: engine::Handle::NONE,
        };
        let second = Record { at: first.at + 100, device: 65537, op: Op::Read, sector: 1, ..first };
        assert_eq!(read(&FORMAT, text), [first, second]);
        assert_eq!(response(b"1,h,0,Write,0,512,2833\r"), Some(283_300));
        assert_eq!(response(b"1,h,0,Write,0,512,0"), None);
        refused(&FORMAT, "1,h,0,Write,0,0,1\n", "zero size");
        refused(&FORMAT, "184467440737095517,h,0,Write,0,1,1\n", "too large a time");
        refused(&FORMAT, "1,h,0,Erase,0,1,1\n", "bad type \"Erase\", expected Read or Write");
        refused(&FORMAT, "1.2816e17,h,0,Write,0,1,1\n", "bad time \"1.2816e17\"");
    }
}
