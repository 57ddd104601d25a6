//! `DiskSim`'s ASCII traces: five columns a line, as its manual and its `iotrace` reader have them.
//!
//! Times are read exactly, from decimal text to whole nanoseconds, and a line costs no allocation.
//! Of the flags only the direction is used; the sixth column of the batch variant is refused.

use super::{Format, LineError, Record};
use engine::{Op, Time};

pub(super) const FORMAT: Format = Format {
    name: "disksim",
    summary: "DiskSim ASCII: time in ms, device, first sector, sectors, hex flags (1 = read)",
    sniff,
    parse,
    sample: "5265.313 0 6357144 8 0\n5265.703 0 6307768 8 1\n5297.450 1 33701824 64 4\n",
};

const COLUMNS: usize = 5;
const COLUMNS_EXPECTED: &str = "5 columns separated by blanks: \
     time in ms, device number, first sector, sectors, flags in hex (bit 0 set for a read)";
const TIME_EXPECTED: &str = "a time in ms such as 5265.313";
const DEVICE_EXPECTED: &str = "a device number";
const SECTOR_EXPECTED: &str = "the first sector as a whole number";
const SIZE_EXPECTED: &str = "a number of sectors from 1 to 4294967295";
const FLAGS_EXPECTED: &str = "flags in hex, bit 0 set for a read";

/// Half of the lines must have the shape, so that one broken line is an error with its number
/// rather than an unknown format. The decimal point tells these lines from those of formats that
/// have the same columns in integers.
fn sniff(lines: &[&str]) -> bool {
    let shaped = lines.iter().filter(|line| has_shape(line)).count();
    shaped * 2 >= lines.len()
}

fn has_shape(line: &str) -> bool {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [time, integers @ .., flags] = &fields[..] else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let signless = |text: &str| digits(text.strip_prefix('-').unwrap_or(text));
    fields.len() == COLUMNS
        && time.split_once('.').is_some_and(|(whole, rest)| signless(whole) && digits(rest))
        && integers.iter().all(|text| signless(text))
        && flags.bytes().all(|b| b.is_ascii_hexdigit() || b == b'x')
}

fn parse(line: &[u8]) -> Result<Record, LineError> {
    let mut fields: [&[u8]; COLUMNS] = [&[]; COLUMNS];
    let mut count = 0;
    for field in line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()) {
        if let Some(slot) = fields.get_mut(count) {
            *slot = field;
        }
        count += 1;
    }
    if count != COLUMNS {
        let plural = if count == 1 { "" } else { "s" };
        let problem = format!("{count} column{plural}");
        return Err(LineError { problem, expected: COLUMNS_EXPECTED });
    }
    let [time, device, sector, size, flags] = fields;
    let at = milliseconds(time).map_err(|fault| fault.of("time", time, TIME_EXPECTED))?;
    let device = integer(device, 10)
        .and_then(|number| u32::try_from(number).map_err(|_| Fault::TooLarge))
        .map_err(|fault| fault.of("device number", device, DEVICE_EXPECTED))?;
    let sector =
        integer(sector, 10).map_err(|fault| fault.of("sector", sector, SECTOR_EXPECTED))?;
    let sectors = integer(size, 10)
        .and_then(|number| u32::try_from(number).map_err(|_| Fault::TooLarge))
        .and_then(|number| if number == 0 { Err(Fault::Zero) } else { Ok(number) })
        .map_err(|fault| fault.of("size", size, SIZE_EXPECTED))?;
    let digits = flags.strip_prefix(b"0x").unwrap_or(flags);
    let bits = integer(digits, 16).map_err(|fault| fault.of("flags", flags, FLAGS_EXPECTED))?;
    let op = if bits & 1 == 1 { Op::Read } else { Op::Write };
    Ok(Record { at, device, op, sector, sectors })
}

/// What can be wrong with a number.
enum Fault {
    Bad,
    Negative,
    TooLarge,
    Zero,
}

impl Fault {
    #[cold]
    fn of(self, what: &str, field: &[u8], expected: &'static str) -> LineError {
        let field = crate::records::shown(field);
        let problem = match self {
            Fault::Bad => format!("bad {what} \"{field}\""),
            Fault::Negative => format!("negative {what} \"{field}\""),
            Fault::TooLarge => format!("too large a {what} \"{field}\""),
            Fault::Zero => format!("zero {what}"),
        };
        LineError { problem, expected }
    }
}

/// A whole number in `base` (10 or 16); a minus sign is told apart from other rubbish.
fn integer(field: &[u8], base: u32) -> Result<u64, Fault> {
    let digits = match field {
        [b'-', rest @ ..] => rest,
        _ => field,
    };
    if digits.is_empty() {
        return Err(Fault::Bad);
    }
    let mut value: u64 = 0;
    let mut overflow = false;
    for &byte in digits {
        let digit = char::from(byte).to_digit(base).ok_or(Fault::Bad)?;
        let next = value
            .checked_mul(u64::from(base))
            .and_then(|product| product.checked_add(u64::from(digit)));
        overflow |= next.is_none();
        value = next.unwrap_or(value);
    }
    match (digits.len() == field.len(), overflow) {
        (false, _) => Err(Fault::Negative),
        (true, true) => Err(Fault::TooLarge),
        (true, false) => Ok(value),
    }
}

/// Decimal milliseconds in whole nanoseconds: the six first decimals, rounded by the seventh.
fn milliseconds(field: &[u8]) -> Result<Time, Fault> {
    const NS_DIGITS: usize = 6;
    let point = field.iter().position(|&byte| byte == b'.').unwrap_or(field.len());
    let (whole, fraction) = (&field[..point], field.get(point + 1..).unwrap_or_default());
    if !fraction.iter().all(u8::is_ascii_digit) {
        return Err(Fault::Bad);
    }
    let whole_ms = match whole {
        // ".5" and "-.5" are what some printers write for a half.
        [] | [b'-'] if !fraction.is_empty() => 0,
        _ => match integer(whole, 10) {
            Err(Fault::Negative) => 0,
            other => other?,
        },
    };
    if whole.starts_with(b"-") {
        return Err(Fault::Negative);
    }
    let mut fraction_ns: u64 = 0;
    for place in 0..NS_DIGITS {
        let digit = fraction.get(place).map_or(0, |byte| byte - b'0');
        fraction_ns = fraction_ns * 10 + u64::from(digit);
    }
    let round_up = fraction.get(NS_DIGITS).is_some_and(|&byte| byte >= b'5');
    whole_ms
        .checked_mul(1_000_000)
        .and_then(|ns| ns.checked_add(fraction_ns + u64::from(round_up)))
        .ok_or(Fault::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(at: Time, device: u32, op: Op, sector: u64, sectors: u32) -> Record {
        Record { at, device, op, sector, sectors }
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
            ("1.5 0 100", "3 columns", COLUMNS_EXPECTED),
            ("1.5 0 100 8 1 0", "6 columns", COLUMNS_EXPECTED),
            ("1.5", "1 column", COLUMNS_EXPECTED),
            ("-1.5 0 100 8 1", "negative time \"-1.5\"", TIME_EXPECTED),
            ("-.5 0 100 8 1", "negative time \"-.5\"", TIME_EXPECTED),
            ("1e3 0 100 8 1", "bad time \"1e3\"", TIME_EXPECTED),
            (". 0 100 8 1", "bad time \".\"", TIME_EXPECTED),
            ("1.2.3 0 100 8 1", "bad time \"1.2.3\"", TIME_EXPECTED),
            ("18446744073709.6 0 1 8 1", "too large a time \"18446744073709.6\"", TIME_EXPECTED),
            ("1.5 x 100 8 1", "bad device number \"x\"", DEVICE_EXPECTED),
            ("1.5 0 -1 8 1", "negative sector \"-1\"", SECTOR_EXPECTED),
            ("1.5 0 100 -8 1", "negative size \"-8\"", SIZE_EXPECTED),
            ("1.5 0 100 0 1", "zero size", SIZE_EXPECTED),
            ("1.5 0 100 4294967296 1", "too large a size \"4294967296\"", SIZE_EXPECTED),
            ("1.5 0 100 8 read", "bad flags \"read\"", FLAGS_EXPECTED),
            ("1.5 0 100 8 0x", "bad flags \"0x\"", FLAGS_EXPECTED),
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
        fn any_bytes_are_survived(line in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = parse(&line);
        }

        #[test]
        fn near_misses_are_survived(line in "[-0-9.x a]{0,40}") {
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
