//! `DiskSim`'s ASCII traces: five columns per line, as in its manual and its `iotrace` reader.
//!
//! Times are parsed exactly, from decimal text to whole nanoseconds, without allocations. Of the
//! flags only the direction is used; the sixth column of the batch variant is refused.

use super::row::{Format, Reader};
use super::writing::Lost;
use crate::read::fields::{DEVICE, Field, MS, SECTOR, SECTORS, blanks, columns};
use crate::read::head::{Head, blank_fields, is_digits, is_integer};
use crate::read::lines::Each;
use crate::read::plain::Plain;
use crate::record::{Line, LineError, Losses, Record};
use engine::Op;
use std::io::{self, Write};

pub const FORMAT: Format = Format {
    detect: Some(|head: &Head| head.mostly(has_shape)),
    write: Some(write),
    ..Format::new(
        "disksim",
        "DiskSim ASCII: time in ms, device, first sector, sectors, hex flags (1 = read)",
        Reader::Lines(|_, _| Ok(Box::new(Each(parse, quick)))),
        || b"5265.313 0 6357144 8 0\n5265.703 0 6307768 8 1\n5297.450 1 33701824 64 4\n".to_vec(),
    )
};

const COLUMNS: &str = "5 columns separated by blanks: \
     time in ms, device number, first sector, sectors, flags in hex (bit 0 set for a read)";
const TIME: Field = Field::new("time", "a time in ms such as 5265.313");
const FLAGS: Field = Field::new("flags", "flags in hex, bit 0 set for a read");

/// True if a line has five valid fields, ignoring signs. The decimal point distinguishes the format
/// from others with the same columns in integers.
fn has_shape(line: &str) -> bool {
    let fields = blank_fields(line);
    let [time, integers @ .., flags] = &fields[..] else { return false };
    let signless = |text: &str| is_digits(text.strip_prefix('-').unwrap_or(text));
    fields.len() == 5
        && time.split_once('.').is_some_and(|(whole, rest)| signless(whole) && is_digits(rest))
        && integers.iter().all(|text| is_integer(text))
        && flags.bytes().all(|b| b.is_ascii_hexdigit() || b == b'x')
}

fn parse(line: &[u8]) -> Result<Line, LineError> {
    let [time, device, sector, size, flags] =
        blanks(line).map_err(|count| columns(count, COLUMNS))?;
    let at = TIME.time(time, MS)?;
    let device = DEVICE.u32(device)?;
    let sector = SECTOR.u64(sector)?;
    let sectors = SECTORS.positive(size)?;
    let op = if FLAGS.hex(flags)? & 1 == 1 { Op::Read } else { Op::Write };
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

/// Parses a line whose flags are one digit.
#[inline]
fn quick(text: &[u8]) -> Option<(Record, usize)> {
    let mut line = Plain::new(text);
    let at = line.decimal(6)?;
    line.blanks()?;
    let device = line.small()?;
    line.blanks()?;
    let sector = line.number()?;
    line.blanks()?;
    let sectors = line.positive()?;
    line.blanks()?;
    let flags = char::from(line.any()?).to_digit(16)?;
    let op = if flags & 1 == 1 { Op::Read } else { Op::Write };
    Some((
        Record { at, device, op, sector, sectors, fua: false, handle: engine::Handle::NONE },
        line.end()?,
    ))
}

/// Reads and writes with exact times; the format has no trims, flushes or FUA.
fn write(records: &mut dyn Iterator<Item = Record>, out: &mut dyn Write) -> io::Result<Losses> {
    let mut lost = Lost::default();
    for record in records {
        let Some(flag) = lost.direction(&record, 1, 0) else { continue };
        let Record { at, device, sector, sectors, .. } = record;
        writeln!(out, "{}.{:06} {device} {sector} {sectors} {flag}", at / MS, at % MS)?;
    }
    Ok(lost.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::stated::ReadOptions;
    use engine::Time;
    use proptest::prelude::*;

    fn record(at: Time, device: u32, op: Op, sector: u64, sectors: u32) -> Line {
        Line::Record(Record {
            at,
            device,
            op,
            sector,
            sectors,
            fua: false,
            handle: engine::Handle::NONE,
        })
    }

    fn sniff(lines: &[&str]) -> bool {
        Head::new(lines.join("\n").as_bytes(), true, &ReadOptions::default()).mostly(has_shape)
    }

    #[test]
    fn lines_are_read_exactly() {
        let rows = [
            ("5265.313 0 6357144 8 0", record(5_265_313_000, 0, Op::Write, 6_357_144, 8)),
            ("0.744525\t0\t197072\t16\t1\r", record(744_525, 0, Op::Read, 197_072, 16)),
            ("  7 3 0 1 0x13 ", record(7_000_000, 3, Op::Read, 0, 1)),
            ("0.1234564 0 0 1 a", record(123_456, 0, Op::Write, 0, 1)),
            ("0.1234565 0 0 1 B", record(123_457, 0, Op::Read, 0, 1)),
            ("0.9999999999 0 0 1 0", record(1_000_000, 0, Op::Write, 0, 1)),
            (".5 0 0 1 0", record(500_000, 0, Op::Write, 0, 1)),
            // A double would be off by hundreds of ns here.
            ("9007199254740.993001 0 0 1 0", record(9_007_199_254_740_993_001, 0, Op::Write, 0, 1)),
        ];
        for (line, expected) in rows {
            assert_eq!(parse(line.as_bytes()), Ok(expected), "{line}");
        }
    }

    #[test]
    fn faults_name_the_field() {
        let rows = [
            ("1.5 0 100", "3 columns", COLUMNS),
            ("1.5 0 100 8 1 0", "6 columns", COLUMNS),
            ("1.5", "1 column", COLUMNS),
            ("-1.5 0 100 8 1", "negative time \"-1.5\"", TIME.expected()),
            ("-.5 0 100 8 1", "negative time \"-.5\"", TIME.expected()),
            ("1e3 0 100 8 1", "bad time \"1e3\"", TIME.expected()),
            (". 0 100 8 1", "bad time \".\"", TIME.expected()),
            ("1.2.3 0 100 8 1", "bad time \"1.2.3\"", TIME.expected()),
            ("18446744073709.6 0 1 8 1", "too large a time \"18446744073709.6\"", TIME.expected()),
            ("1.5 x 100 8 1", "bad device number \"x\"", DEVICE.expected()),
            ("1.5 0 -1 8 1", "negative sector \"-1\"", SECTOR.expected()),
            ("1.5 0 100 -8 1", "negative size \"-8\"", SECTORS.expected()),
            ("1.5 0 100 0 1", "zero size", SECTORS.expected()),
            ("1.5 0 100 4294967296 1", "too large a size \"4294967296\"", SECTORS.expected()),
            ("1.5 0 100 8 read", "bad flags \"read\"", FLAGS.expected()),
            ("1.5 0 100 8 0x", "bad flags \"0x\"", FLAGS.expected()),
        ];
        for (line, problem, expected) in rows {
            let error = LineError { problem: problem.to_owned(), expected };
            assert_eq!(parse(line.as_bytes()), Err(error), "{line}");
        }
    }

    #[test]
    fn only_lines_with_a_decimal_point_are_recognised() {
        assert!(sniff(&["1.5 0 100 8 0"]));
        assert!(!sniff(&["1.5 0 100 8 0", "hello", "world"]));
        assert!(sniff(&["1.5 0 100 -8 0", "1.5 0 100", "1.6 0 100 8 1f"]));
        assert!(!sniff(&["11413000 0 657728 16 1", "11565000 1 31244784 64 1"]));
        assert!(!sniff(&["0,303567,3584,w,0.000000"]));
        assert!(!sniff(&["1.5 0 100 8"]));
        assert!(!sniff(&["1.5 0 100 8 R"]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_without_a_panic(line in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = parse(&line);
        }

        #[test]
        fn lines_with_small_faults_are_read_or_refused_without_a_panic(line in "[-0-9.x a]{0,40}") {
            let _ = parse(line.as_bytes());
            let _ = sniff(&[&line]);
        }

        #[test]
        fn written_records_read_back(
            at in any::<u64>(), device in any::<u32>(), sector in any::<u64>(),
            sectors in 1..=u32::MAX, flags in any::<u32>(),
        ) {
            let (ms, rest) = (at / 1_000_000, at % 1_000_000);
            let line = format!("{ms}.{rest:06} {device} {sector} {sectors} {flags:x}");
            let op = if flags & 1 == 1 { Op::Read } else { Op::Write };
            prop_assert_eq!(parse(line.as_bytes()), Ok(record(at, device, op, sector, sectors)));
        }
    }
}
