//! Parses the fields of a line: numbers, times and sizes, exactly and without allocating.
//!
//! A [`Field`] has a name and a description, so that every error names the field, the offending
//! text and the expectation. No floating point is used.

use crate::record::{Line, LineError, Record, shown};
use engine::{Op, SECTOR_BYTES, Time};

/// Nanoseconds in a microsecond.
pub(crate) const US: u64 = 1_000;
/// Nanoseconds in a millisecond.
pub(crate) const MS: u64 = 1_000_000;
/// Nanoseconds in a second.
pub(crate) const S: u64 = 1_000_000_000;

/// A field: its name in messages, and its expected form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    what: &'static str,
    expected: &'static str,
}

/// The first sector of a request.
pub(crate) const SECTOR: Field = Field::new("sector", "the first sector as a whole number");
/// The length of a request in sectors.
pub(crate) const SECTORS: Field = Field::new("size", "a number of sectors from 1 to 4294967295");
/// The offset of a request in bytes.
pub(crate) const OFFSET: Field = Field::new("offset", "an offset in bytes as a whole number");
/// The length of a request in bytes.
pub(crate) const BYTES: Field =
    Field::new("size", "a size in bytes, above 0 and below 2 TiB, that ends within 2^64");
/// The number of a device.
pub(crate) const DEVICE: Field = Field::new("device number", "a device number");

/// Errors of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The field is not a number.
    Bad,
    /// The number is negative.
    Negative,
    /// The number is out of range.
    TooLarge,
    /// The number must not be zero.
    Zero,
}

impl Field {
    /// A field named `what`.
    pub(crate) const fn new(what: &'static str, expected: &'static str) -> Self {
        Field { what, expected }
    }

    /// Expected form.
    #[cfg(test)]
    pub(crate) const fn expected(self) -> &'static str {
        self.expected
    }

    /// The error for a `text` that is not a valid field.
    #[cold]
    pub(crate) fn fault(self, fault: Fault, text: &[u8]) -> LineError {
        let (what, text) = (self.what, shown(text));
        let problem = match fault {
            Fault::Bad => format!("bad {what} \"{text}\""),
            Fault::Negative => format!("negative {what} \"{text}\""),
            Fault::TooLarge => format!("too large a {what} \"{text}\""),
            Fault::Zero => format!("zero {what}"),
        };
        LineError { problem, expected: self.expected }
    }

    /// A whole number.
    pub(crate) fn u64(self, text: &[u8]) -> Result<u64, LineError> {
        integer(text, 10).map_err(|fault| self.fault(fault, text))
    }

    /// A whole number of 32 bits.
    pub(crate) fn u32(self, text: &[u8]) -> Result<u32, LineError> {
        u32::try_from(self.u64(text)?).map_err(|_| self.fault(Fault::TooLarge, text))
    }

    /// A whole number of 32 bits that is not 0.
    pub(crate) fn positive(self, text: &[u8]) -> Result<u32, LineError> {
        match self.u32(text)? {
            0 => Err(self.fault(Fault::Zero, text)),
            number => Ok(number),
        }
    }

    /// A whole number in hex, with or without `0x`.
    pub(crate) fn hex(self, text: &[u8]) -> Result<u64, LineError> {
        let digits = text.strip_prefix(b"0x").unwrap_or(text);
        integer(digits, 16).map_err(|fault| self.fault(fault, text))
    }

    /// A decimal number of units of `unit_ns`, in whole ns.
    pub(crate) fn time(self, text: &[u8], unit_ns: u64) -> Result<Time, LineError> {
        decimal(text, unit_ns).map_err(|fault| self.fault(fault, text))
    }

    /// A letter or word for a read or a write.
    pub(crate) fn direction(self, text: &[u8]) -> Result<Op, LineError> {
        match text {
            [b'r' | b'R'] => Ok(Op::Read),
            [b'w' | b'W'] => Ok(Op::Write),
            _ if text.eq_ignore_ascii_case(b"read") => Ok(Op::Read),
            _ if text.eq_ignore_ascii_case(b"write") => Ok(Op::Write),
            _ => Err(self.fault(Fault::Bad, text)),
        }
    }
}

/// A whole number in `base` (10 or 16); a minus sign has its own error.
pub(crate) fn integer(field: &[u8], base: u32) -> Result<u64, Fault> {
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

/// A decimal number of units in whole nanoseconds, rounded at the first digit below.
///
/// `unit_ns` is a power of ten.
pub(crate) fn decimal(field: &[u8], unit_ns: u64) -> Result<Time, Fault> {
    let point = field.iter().position(|&byte| byte == b'.').unwrap_or(field.len());
    let (whole, fraction) = (&field[..point], field.get(point + 1..).unwrap_or_default());
    if !fraction.iter().all(u8::is_ascii_digit) {
        return Err(Fault::Bad);
    }
    let units = match whole {
        // Some printers write ".5" and "-.5" for a half.
        [] | [b'-'] if !fraction.is_empty() => 0,
        _ => match integer(whole, 10) {
            Err(Fault::Negative) => 0,
            other => other?,
        },
    };
    if whole.starts_with(b"-") {
        return Err(Fault::Negative);
    }
    let (mut digits, mut place, mut fraction_ns) = (fraction.iter(), unit_ns, 0);
    while place > 1 {
        place /= 10;
        fraction_ns += u64::from(digits.next().map_or(0, |byte| byte - b'0')) * place;
    }
    let round_up = digits.next().is_some_and(|&byte| byte >= b'5');
    units
        .checked_mul(unit_ns)
        .and_then(|ns| ns.checked_add(fraction_ns + u64::from(round_up)))
        .ok_or(Fault::TooLarge)
}

/// Splits at runs of blanks into exactly `N` fields; otherwise returns their number.
pub(crate) fn blanks<const N: usize>(line: &[u8]) -> Result<[&[u8]; N], usize> {
    exactly(line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()))
}

/// Splits at commas into exactly `N` trimmed fields.
pub(crate) fn commas<const N: usize>(line: &[u8]) -> Result<[&[u8]; N], usize> {
    exactly(line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii))
}

fn exactly<'a, const N: usize>(
    fields: impl Iterator<Item = &'a [u8]>,
) -> Result<[&'a [u8]; N], usize> {
    let mut found: [&[u8]; N] = [&[]; N];
    let mut count = 0;
    for field in fields {
        if let Some(slot) = found.get_mut(count) {
            *slot = field;
        }
        count += 1;
    }
    if count == N { Ok(found) } else { Err(count) }
}

/// The error for a line with `count` columns.
#[cold]
pub(crate) fn columns(count: usize, expected: &'static str) -> LineError {
    let plural = if count == 1 { "" } else { "s" };
    LineError { problem: format!("{count} column{plural}"), expected }
}

/// The sectors covered by a range of bytes, and a flag for partial sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The first sector.
    pub(crate) sector: u64,
    /// Number of sectors.
    pub(crate) sectors: u32,
    /// True if the range begins or ends within a sector.
    pub(crate) rounded: bool,
}

impl Extent {
    /// The sectors of `bytes` bytes, starting at byte `offset`.
    pub(crate) fn of(offset: u64, bytes: u64) -> Result<Self, Fault> {
        if bytes == 0 {
            return Err(Fault::Zero);
        }
        let end = offset.checked_add(bytes).ok_or(Fault::TooLarge)?;
        let sector = offset / SECTOR_BYTES;
        let sectors =
            u32::try_from(end.div_ceil(SECTOR_BYTES) - sector).map_err(|_| Fault::TooLarge)?;
        let rounded = !(offset | bytes).is_multiple_of(SECTOR_BYTES);
        Ok(Extent { sector, sectors, rounded })
    }

    /// `of` for textual numbers.
    pub(crate) fn parse(offset: &[u8], bytes: &[u8]) -> Result<Self, LineError> {
        let (start, length) = (OFFSET.u64(offset)?, BYTES.u64(bytes)?);
        Extent::of(start, length).map_err(|fault| BYTES.fault(fault, bytes))
    }

    /// The request of this extent.
    pub(crate) fn line(self, at: Time, device: u32, op: Op) -> Line {
        let Extent { sector, sectors, rounded } = self;
        let record =
            Record { at, device, op, sector, sectors, fua: false, handle: engine::Handle::NONE };
        if rounded { Line::Noted(record, "rounded_to_sectors") } else { Line::Record(record) }
    }
}

/// Numbers for names in order of appearance, at most `limit`.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<Box<[u8]>>);

/// Maximum number of names, which bounds memory.
const NAMES_LIMIT: usize = 4096;

impl Names {
    /// Number of a new or known `name`; `None` if there are too many names or it is too long.
    pub(crate) fn number(&mut self, name: &[u8]) -> Option<u32> {
        if let Some(known) = self.0.iter().position(|other| **other == *name) {
            return Some(known as u32);
        }
        if self.0.len() == NAMES_LIMIT || name.len() > NAMES_LIMIT {
            return None;
        }
        self.0.push(name.into());
        Some(self.0.len() as u32 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_exact_in_every_unit() {
        let rows: [(&[u8], u64, Result<Time, Fault>); 8] = [
            (b"1.5", 1, Ok(2)),
            (b"1.4", 1, Ok(1)),
            (b"1.0005", US, Ok(1001)),
            (b"0.000000001", S, Ok(1)),
            (b"12816637.2003061629", S, Ok(12_816_637_200_306_163)),
            (b"18446744073.709551615", S, Ok(u64::MAX)),
            (b"18446744073.709551616", S, Err(Fault::TooLarge)),
            (b"1.x", S, Err(Fault::Bad)),
        ];
        for (text, unit, expected) in rows {
            assert_eq!(decimal(text, unit), expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn bytes_touch_whole_sectors() {
        let extent = |sector, sectors, rounded| Ok(Extent { sector, sectors, rounded });
        let rows = [
            (512, 1024, extent(1, 2, false)),
            (511, 2, extent(0, 2, true)),
            (0, 1, extent(0, 1, true)),
            (0, 0, Err(Fault::Zero)),
            (u64::MAX, 1, Err(Fault::TooLarge)),
            (0, 1 << 41, Err(Fault::TooLarge)),
            (u64::MAX - 511, 511, extent((u64::MAX - 511) / 512, 1, true)),
        ];
        for (offset, bytes, expected) in rows {
            assert_eq!(Extent::of(offset, bytes), expected, "{offset} + {bytes}");
        }
    }

    #[test]
    fn names_keep_their_numbers_and_are_bounded() {
        let mut names = Names::default();
        assert_eq!([b"a", b"b", b"a"].map(|name| names.number(name)), [Some(0), Some(1), Some(0)]);
        for number in 2..NAMES_LIMIT {
            assert_eq!(names.number(number.to_string().as_bytes()), Some(number as u32));
        }
        assert_eq!((names.number(b"new"), names.number(b"b")), (None, Some(1)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_without_a_panic(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = (integer(&text, 10), integer(&text, 16), decimal(&text, S));
            let _ = (blanks::<3>(&text), commas::<3>(&text));
        }
    }
}
