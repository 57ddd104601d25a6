//! fio's I/O logs: version 3 with a time on each line, version 2 with waits, version 1 with
//! neither.
//!
//! Times of version 3 are in microseconds, as fio writes them, unless another unit is stated. Each
//! file in a log is a device, numbered in order of appearance. A sync is a flush.

use super::row::{Format, Reader};
use super::writing::{FUA_LOST, HANDLE_LOST, Lost, TIMES_ROUNDED, TOO_FAR, ZONES_LOST};
use crate::read::fields::{Extent, Fault, Field, Names, US};
use crate::read::head::Head;
use crate::read::lines::LineParser;
use crate::read::plain::{Plain, of_bytes};
use crate::read::stated::ReadOptions;
use crate::record::{Line, LineError, Losses, Record};
use engine::{Op, SECTOR_BYTES, Time};
use options::Invalid;
use std::io::{self, Write};

pub const FORMAT: Format = Format {
    detect: Some(detect),
    may_state: &["time_unit"],
    write: Some(write),
    ..Format::new(
        "fio",
        "fio iolog, versions 1 to 3: file, action, offset and length in bytes, perhaps time",
        Reader::Lines(parser),
        || {
            b"fio version 3 iolog\n2 Nvme1n1 add\n872 Nvme1n1 open\n878 Nvme1n1 write 0 16384\n\
              901 Nvme1n1 read 16384 4096\n905 Nvme1n1 sync 0 0\n910 Nvme1n1 trim 0 512\n\
              920 Nvme1n1 close\n"
                .to_vec()
        },
    )
};

/// fio ignores shorter waits.
const SHORTEST_WAIT_US: u64 = 100;
const LINE: &str = "a file, an action (add, open, close, read, write, trim, sync, datasync, wait) \
     and for requests offset and length in bytes; in version 3 a time before them";
const LINE_V1: &str = "rw, offset, length: 0 for a read or 1 for a write, and bytes";
const ACTION: Field = Field::new("action", LINE);
const FILE: Field = Field::new("file", "one of at most 4096 short names");
const TIME: Field = Field::new("time", "a time as a whole number");
const WAIT: Field = Field::new("wait", "a time in us that adds up to less than 500 years");

fn detect(head: &Head) -> bool {
    let v1 = |line: &str| {
        let mut fields = line.split(", ");
        let direction = matches!(fields.next(), Some("0" | "1"));
        direction && fields.clone().count() == 2 && fields.all(crate::read::head::is_digits)
    };
    (head.starts("fio version ") && head.lines[0].trim_end().ends_with(" iolog")) || head.mostly(v1)
}

fn parser(options: &ReadOptions, head: &Head) -> Result<Box<dyn LineParser>, Invalid> {
    let version = match head.lines.first().map(|line| line.trim()) {
        Some("fio version 2 iolog") => 2,
        Some("fio version 3 iolog") => 3,
        Some(line) if line.starts_with("fio version") => {
            let problem = format!("\"{line}\" is no version that is known; there are 2 and 3");
            return Err(Invalid::new(&["workload.path"], problem));
        }
        _ => 1,
    };
    if options.time_unit.ns().is_some() && version < 3 {
        let problem = format!("version {version} of a fio log has no times");
        return Err(Invalid::new(&["workload.time_unit"], problem));
    }
    let unit_ns = options.time_unit.ns().unwrap_or(US);
    Ok(Box::new(Parser { version, unit_ns, now: 0, files: Names::default() }))
}

struct Parser {
    version: u32,
    unit_ns: Time,
    now: Time,
    files: Names,
}

impl LineParser for Parser {
    fn line(&mut self, line: &[u8]) -> Result<Line, LineError> {
        if line.starts_with(b"fio version") {
            return Ok(Line::Skip("header_lines"));
        }
        if self.version == 1 {
            return first_version(line);
        }
        let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let mut next = || fields.next().unwrap_or_default();
        if self.version == 3 {
            let time = next();
            let at = TIME.u64(time)?.checked_mul(self.unit_ns);
            self.now = at.ok_or_else(|| TIME.fault(Fault::TooLarge, time))?;
        }
        let (file, action, offset, length) = (next(), next(), next(), next());
        let op = match action {
            b"add" | b"open" | b"close" => return Ok(Line::Skip("file_actions")),
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            b"wait" if self.version == 2 => {
                // The unit follows fio's manual.
                let wait = WAIT.u64(offset)?;
                if wait < SHORTEST_WAIT_US {
                    return Ok(Line::Skip("waits_below_100_us"));
                }
                self.now = wait
                    .checked_mul(US)
                    .and_then(|wait| self.now.checked_add(wait))
                    .ok_or_else(|| WAIT.fault(Fault::TooLarge, offset))?;
                return Ok(Line::Skip("waits"));
            }
            _ => return Err(ACTION.fault(Fault::Bad, action)),
        };
        let number = self.files.number(file);
        let device = number.ok_or_else(|| FILE.fault(Fault::TooLarge, file))?;
        if op == Op::Flush {
            return Ok(Line::Record(Record::flush(self.now, device)));
        }
        Ok(Extent::parse(offset, length)?.line(self.now, device, op))
    }

    /// A read or write of version 3.
    #[inline]
    fn quick(&mut self, text: &[u8]) -> Option<(Record, usize)> {
        if self.version != 3 {
            return None;
        }
        let mut line = Plain::new(text);
        let at = line.number()?.checked_mul(self.unit_ns)?;
        line.blanks()?;
        let file = line.word()?;
        line.blanks()?;
        let op = match line.word()? {
            b"read" => Op::Read,
            b"write" => Op::Write,
            _ => return None,
        };
        line.blanks()?;
        let offset = line.number()?;
        line.blanks()?;
        let record = of_bytes(at, 0, op, offset, line.number()?)?;
        let bytes = line.end()?;
        let device = self.files.number(file)?;
        self.now = at;
        Some((Record { device, ..record }, bytes))
    }
}

fn first_version(line: &[u8]) -> Result<Line, LineError> {
    let [op, offset, length] = crate::read::fields::commas(line)
        .map_err(|count| crate::read::fields::columns(count, LINE_V1))?;
    let op = match op {
        b"0" => Op::Read,
        b"1" => Op::Write,
        _ => return Err(Field::new("rw", LINE_V1).fault(Fault::Bad, op)),
    };
    Ok(Extent::parse(offset, length)?.line(0, 0, op))
}

/// Writes everything but FUA flags, with times in us; each device becomes a file.
fn write(records: &mut dyn Iterator<Item = Record>, out: &mut dyn Write) -> io::Result<Losses> {
    let mut lost = Lost::default();
    let mut opened = std::collections::HashSet::new();
    writeln!(out, "fio version 3 iolog")?;
    for Record { at, device, op, sector, sectors, fua, handle } in records {
        lost.count(FUA_LOST, fua);
        lost.count(HANDLE_LOST, handle != engine::Handle::NONE);
        lost.count(TIMES_ROUNDED, at % US != 0);
        let Some(offset) = sector.checked_mul(SECTOR_BYTES) else {
            lost.count(TOO_FAR, true);
            continue;
        };
        let (time, bytes) = (at / US, u64::from(sectors) * SECTOR_BYTES);
        if opened.insert(device) {
            writeln!(out, "{time} device{device} add\n{time} device{device} open")?;
        }
        let action = match op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "sync",
            _ => {
                lost.count(ZONES_LOST, true);
                continue;
            }
        };
        writeln!(out, "{time} device{device} {action} {offset} {bytes}")?;
    }
    Ok(lost.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_with, refused};
    use super::*;
    use crate::read::fields::MS;
    use crate::read::stated::TimeUnit;

    fn times_and_devices(all: &[Record]) -> Vec<(Time, u32, Op)> {
        all.iter().map(|record| (record.at, record.device, record.op)).collect()
    }

    #[test]
    fn all_three_versions_are_read() {
        let third = read(&FORMAT, &(FORMAT.sample)());
        let expected = [
            (878_000, 0, Op::Write),
            (901_000, 0, Op::Read),
            (905_000, 0, Op::Flush),
            (910_000, 0, Op::Trim),
        ];
        assert_eq!(times_and_devices(&third), expected);
        let second = b"fio version 2 iolog\na add\nb add\na open\na write 0 512\nb wait 300 0\nb wait 99 0\n\
                       b datasync\nb read 512 512\na close\n";
        let expected = [(0, 0, Op::Write), (300_000, 1, Op::Flush), (300_000, 1, Op::Read)];
        assert_eq!(times_and_devices(&read(&FORMAT, second)), expected);
        let first = read(&FORMAT, b"0, 512, 1024\n1, 4096, 512\n");
        assert_eq!(times_and_devices(&first), [(0, 0, Op::Read), (0, 0, Op::Write)]);
        assert_eq!((first[0].sector, first[0].sectors), (1, 2));
    }

    #[test]
    fn malformed_lines_of_each_version_are_refused() {
        let third = "fio version 3 iolog\n1 f ";
        refused(&FORMAT, &format!("{third}wait 3 0\n"), "line 2: bad action \"wait\"");
        refused(&FORMAT, &format!("{third}read 3\n"), "bad size \"\"");
        refused(&FORMAT, "fio version 2 iolog\nf wait 18446744073709551615\n", "too large a wait");
        refused(&FORMAT, "2, 0, 512\n", "bad rw \"2\"");
        let error = read_with(b"fio version 4 iolog\n", &ReadOptions::default()).unwrap_err();
        assert!(error.contains("\"fio version 4 iolog\" is no version"), "{error}");
        let options = ReadOptions { time_unit: TimeUnit::Ms, ..ReadOptions::default() };
        assert_eq!(
            read_with(b"fio version 3 iolog\n7 f read 0 512", &options).unwrap()[0].at,
            7 * MS
        );
        assert!(read_with(b"fio version 2 iolog\n", &options).unwrap_err().contains("no times"));
    }
}
