//! Beginning of a trace, from which its format is recognised.
//!
//! A head is short and bounded. For text it has the first data lines, without comments; for binary
//! data it has no lines.

use super::stated::ReadOptions;
use crate::record::shown;

/// Number of data lines used to recognise a format.
const LINES: usize = 16;

/// Maximum number of examined bytes, and maximum length of a line.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// The beginning of a trace.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    /// Raw bytes.
    pub(crate) bytes: &'a [u8],
    /// True if the head is the whole input.
    pub(crate) whole: bool,
    /// The first data lines; empty for binary data.
    pub(crate) lines: Vec<&'a str>,
    /// The only format with a property that the user has stated.
    stated: Option<&'static str>,
}

impl<'a> Head<'a> {
    /// Creates a head from `bytes`; `whole` means that the input ends with them.
    pub(crate) fn new(bytes: &'a [u8], whole: bool, options: &ReadOptions) -> Self {
        let lines = first_lines(bytes, whole).into_iter().map(text).collect::<Option<Vec<_>>>();
        let stated = [
            (options.pattern.is_some(), "pattern"),
            (options.layout.is_some(), "blkparse"),
            (options.columns.is_some(), "csv"),
        ];
        let stated = stated.into_iter().find(|(is, _)| *is).map(|(_, name)| name);
        Head { bytes, whole, lines: lines.unwrap_or_default(), stated }
    }

    /// True if the user stated a property that only this format has.
    pub(crate) fn states(&self, format: &str) -> bool {
        self.stated == Some(format)
    }

    /// True if at least half of the lines match `shape`.
    ///
    /// The threshold is half, so that one broken line is an error with its number rather than an
    /// unknown format.
    pub(crate) fn mostly(&self, shape: impl Fn(&str) -> bool) -> bool {
        let shaped = self.lines.iter().filter(|line| shape(line)).count();
        shaped > 0 && shaped * 2 >= self.lines.len()
    }

    /// True if the first data line begins with `with`.
    pub(crate) fn starts(&self, with: &str) -> bool {
        self.lines.first().is_some_and(|line| line.trim_start().starts_with(with))
    }
}

/// True if a line is neither blank nor a comment.
pub(crate) fn is_data(line: &[u8]) -> bool {
    !matches!(line.trim_ascii_start().first(), None | Some(b'#'))
}

/// The first data lines in `head`; the last line counts only if it is `complete` or alone.
pub(crate) fn first_lines(head: &[u8], complete: bool) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    if !complete && lines.len() > 1 {
        lines.pop();
    }
    lines.into_iter().filter(|line| is_data(line)).take(LINES).collect()
}

/// A line as text, without a truncated last character; `None` for binary data.
fn text(line: &[u8]) -> Option<&str> {
    if line.contains(&0) {
        return None;
    }
    match std::str::from_utf8(line) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&line[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// True for a whole number without a sign.
pub(crate) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// True for a number with digits on both sides of a point.
pub(crate) fn is_decimal(text: &str) -> bool {
    text.split_once('.').is_some_and(|(whole, rest)| is_digits(whole) && is_digits(rest))
}

/// True for a whole number, with or without a minus sign.
pub(crate) fn is_integer(text: &str) -> bool {
    is_digits(text.strip_prefix('-').unwrap_or(text))
}

/// Trimmed fields between commas.
pub(crate) fn comma_fields(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

/// The fields between blanks.
pub(crate) fn blank_fields(line: &str) -> Vec<&str> {
    line.split_ascii_whitespace().collect()
}

/// The form of a line: every word becomes `a` and every number `9`, because the content may be
/// confidential.
pub(crate) fn form_of(line: &[u8]) -> String {
    let mut form: Vec<u8> = Vec::new();
    for byte in line.trim_ascii_end() {
        let kind = match byte {
            b'0'..=b'9' => b'9',
            b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => b'a',
            other => *other,
        };
        let is_more = form.last() == Some(&kind) && matches!(kind, b'9' | b'a');
        if !is_more {
            form.push(kind);
        }
    }
    shown(&form)
}
