//! Parses plain lines: fields of digits, letters and single words, eight bytes at a time.
//!
//! This parser may give up on valid lines: on signs, optional blanks, numbers of twenty digits, and
//! at the end of the text. Then the format's own parser reads the line; it accepts all valid forms
//! and explains errors.

use crate::record::Record;
use engine::{Op, SECTOR_BYTES};
use memchr::memchr;

/// A line being parsed, with the text after it.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a> {
    rest: &'a [u8],
    /// Bytes from the start of the line to the end of the text.
    bytes: usize,
}

const TENS: [u64; 19] = {
    let mut tens = [1; 19];
    let mut power = 1;
    while power < tens.len() {
        tens[power] = tens[power - 1] * 10;
        power += 1;
    }
    tens
};

/// Maximum digits that always fit 64 bits.
const DIGITS: usize = 19;

/// The same byte in each position.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The number formed by the leading digits of eight bytes, and the number of digits.
#[inline]
fn digits_of_eight(eight: [u8; 8]) -> (u64, usize) {
    // Digits become 0 to 9; other characters set the highest bit. A carry only affects bytes after
    // the first non-digit.
    let values = u64::from_le_bytes(eight) ^ each(b'0');
    let others = ((values.wrapping_add(each(0x76))) | values) & each(0x80);
    let count = others.trailing_zeros() as usize / 8;
    if count == 0 {
        return (0, 0);
    }
    // Leading zeros are shifted in, then neighbours are combined: to pairs, to fours, to eight.
    let values = values << (64 - 8 * count as u32);
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let low = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(100 + (1_000_000 << 32));
    let high = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(1 + (10_000 << 32));
    (low.wrapping_add(high) >> 32, count)
}

impl<'a> Plain<'a> {
    /// The line at the beginning of `text`.
    #[inline]
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Plain { rest: text, bytes: text.len() }
    }

    /// A number of at most 19 digits, and the number of digits.
    #[inline]
    fn digits(&mut self) -> Option<(u64, usize)> {
        let (mut number, mut count) = digits_of_eight(*self.rest.first_chunk()?);
        self.rest = &self.rest[count..];
        let mut found = count;
        while found == 8 {
            let more;
            (more, found) = digits_of_eight(*self.rest.first_chunk()?);
            self.rest = &self.rest[found..];
            count += found;
            if count > DIGITS {
                return None;
            }
            number = number * TENS[found] + more;
        }
        (count > 0).then_some((number, count))
    }

    /// A whole number.
    #[inline]
    pub(crate) fn number(&mut self) -> Option<u64> {
        self.digits().map(|(number, _)| number)
    }

    /// A whole number of 32 bits.
    #[inline]
    pub(crate) fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    /// A whole number of 32 bits above 0.
    #[inline]
    pub(crate) fn positive(&mut self) -> Option<u32> {
        self.small().filter(|number| *number > 0)
    }

    /// A number in units of ten to the power of `places` ns, with or without decimals, rounded at
    /// the first digit below.
    #[inline]
    pub(crate) fn decimal(&mut self, places: usize) -> Option<u64> {
        let units = self.number()?.checked_mul(TENS[places])?;
        if self.byte(b'.').is_none() {
            return Some(units);
        }
        let (fraction, count) = self.digits()?;
        let fraction = if count <= places {
            fraction * TENS[places - count]
        } else {
            (fraction / TENS[count - places - 1] + 5) / 10
        };
        units.checked_add(fraction)
    }

    /// Consumes the given byte.
    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        if *first != byte {
            return None;
        }
        self.rest = rest;
        Some(())
    }

    /// Consumes any byte but a line end.
    #[inline]
    pub(crate) fn any(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first().filter(|(byte, _)| **byte != b'\n')?;
        self.rest = rest;
        Some(*byte)
    }

    /// Consumes at least one blank or tab.
    #[inline]
    pub(crate) fn blanks(&mut self) -> Option<()> {
        let before = self.rest.len();
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
        (self.rest.len() < before).then_some(())
    }

    /// Text before the next `mark` in the line; the mark is consumed.
    #[inline]
    pub(crate) fn until(&mut self, mark: u8) -> Option<&'a [u8]> {
        let length = self.rest.iter().position(|byte| *byte == mark || *byte == b'\n')?;
        let (field, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.byte(mark)?;
        Some(field)
    }

    /// Skips a field of any content, up to the next `mark` in the line or, without a mark, a word.
    #[inline]
    pub(crate) fn field(&mut self, mark: Option<u8>) -> Option<()> {
        if self.rest.first() == Some(&b'"') {
            return None;
        }
        let Some(mark) = mark else { return self.word().map(|_| ()) };
        let length = self.rest.iter().position(|byte| *byte == mark || *byte == b'\n')?;
        self.rest = &self.rest[length..];
        Some(())
    }

    /// A word of graphic characters.
    #[inline]
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        let length = self.rest.iter().position(|byte| !byte.is_ascii_graphic())?;
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        (length > 0).then_some(word)
    }

    /// R, W, Read or Write, in upper or lower case.
    #[inline]
    pub(crate) fn direction(&mut self) -> Option<Op> {
        let (first, rest) = self.rest.split_first()?;
        let (op, word) = match first {
            b'R' | b'r' => (Op::Read, &b"ead"[..]),
            b'W' | b'w' => (Op::Write, &b"rite"[..]),
            _ => return None,
        };
        self.rest = rest.strip_prefix(word).unwrap_or(rest);
        Some(op)
    }

    /// 0 or 1.
    #[inline]
    pub(crate) fn bit(&mut self) -> Option<bool> {
        match self.any()? {
            b'0' => Some(false),
            b'1' => Some(true),
            _ => None,
        }
    }

    /// Consumes the end of the line; returns the line's length with its end.
    #[inline]
    pub(crate) fn end(mut self) -> Option<usize> {
        let _ = self.byte(b'\r');
        self.byte(b'\n')?;
        Some(self.bytes - self.rest.len())
    }

    /// Skips to the end of the line; returns its length with the end.
    #[inline]
    pub(crate) fn skip_to_end(self) -> Option<usize> {
        Some(self.bytes - self.rest.len() + memchr(b'\n', self.rest)? + 1)
    }
}

/// A request of whole sectors; `None` for any other range.
#[inline]
pub(crate) fn of_bytes(at: u64, device: u32, op: Op, offset: u64, bytes: u64) -> Option<Record> {
    let whole = (offset | bytes).is_multiple_of(SECTOR_BYTES) && bytes > 0;
    let sectors = u32::try_from(bytes / SECTOR_BYTES).ok().filter(|_| whole)?;
    offset.checked_add(bytes)?;
    Some(Record {
        at,
        device,
        op,
        sector: offset / SECTOR_BYTES,
        sectors,
        fua: false,
        handle: engine::Handle::NONE,
    })
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
