//! Beginning of a trace, from which its format is recognised.
//!
//! A head is short and bounded. As text it offers its first lines with data, without comments; a
//! head that is no text has no lines.

use super::stated::ReadOptions;
use crate::record::shown;

/// Lines with data that a format may read to recognise itself.
const LINES: usize = 16;

/// Maximum number of examined bytes; also the longest line that is read.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// The beginning of a trace.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    /// Raw bytes.
    pub(crate) bytes: &'a [u8],
    /// True if these are all the bytes there are.
    pub(crate) whole: bool,
    /// The first lines with data; none if this is no text.
    pub(crate) lines: Vec<&'a str>,
    /// The only format that has a declared property.
    stated: Option<&'static str>,
}

impl<'a> Head<'a> {
    /// The head that `bytes` are; `whole` says that the input ends with them.
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

    /// True with a declared property of this format alone.
    pub(crate) fn states(&self, format: &str) -> bool {
        self.stated == Some(format)
    }

    /// True if at least half of the lines have a shape.
    ///
    /// Half, so that one broken line is an error with its number rather than an unknown format.
    pub(crate) fn mostly(&self, shape: impl Fn(&str) -> bool) -> bool {
        let shaped = self.lines.iter().filter(|line| shape(line)).count();
        shaped > 0 && shaped * 2 >= self.lines.len()
    }

    /// True if the first line with data begins like this.
    pub(crate) fn starts(&self, with: &str) -> bool {
        self.lines.first().is_some_and(|line| line.trim_start().starts_with(with))
    }
}

/// True for a line with content: it is not blank and no comment.
pub(crate) fn is_data(line: &[u8]) -> bool {
    !matches!(line.trim_ascii_start().first(), None | Some(b'#'))
}

/// The first lines with data in `head`; its last one counts only if it is `complete` or alone.
pub(crate) fn first_lines(head: &[u8], complete: bool) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    if !complete && lines.len() > 1 {
        lines.pop();
    }
    lines.into_iter().filter(|line| is_data(line)).take(LINES).collect()
}

/// Line as text, without a truncated last character; `None` for binary data.
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

/// True if this is a whole number without a sign.
pub(crate) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// True if this is a number with digits on both sides of a point.
pub(crate) fn is_decimal(text: &str) -> bool {
    text.split_once('.').is_some_and(|(whole, rest)| is_digits(whole) && is_digits(rest))
}

/// True if this is a whole number, with or without a minus sign.
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

/// The form of a line: every word is `a` and every number `9`. A file that is no trace may be
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
