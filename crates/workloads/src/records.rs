//! Reads a trace line by line: decompresses it, finds its format, and says where it is broken.
//!
//! Memory stays bounded whatever the file holds, and every error is one line that names the file,
//! the line and the offending text. Order, range and meaning of the records are left to others.

use crate::decompress::{Input, decompress};
use crate::formats::{FORMATS, Format, Record, detect};
use engine::WorkloadError;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// The longest line that is read, bytes; a longer one is no text of a trace.
const LINE_LIMIT: usize = 64 << 10;

/// How many lines with data a format may look at to recognise itself.
const SNIFFED_LINES: usize = 16;

/// Bytes read at once: few system calls for a plain file. From 8 KiB to 512 KiB the speed is the
/// same, 15 million lines a second from memory (10 million when they are also put in order).
const BUFFER_BYTES: usize = 64 << 10;

/// The records of one trace, in the order of its lines.
pub struct Records {
    name: String,
    format: &'static Format,
    input: BufReader<Input>,
    line: Vec<u8>,
    line_number: u64,
}

impl Records {
    /// Starts to read `input`, plain or compressed, which messages call `name`.
    ///
    /// Without a `format` the first lines decide which it is.
    ///
    /// # Errors
    /// When the input cannot be read, is empty, is binary, or is in no known format.
    pub fn new(
        input: Input,
        name: &str,
        format: Option<&'static Format>,
    ) -> Result<Self, WorkloadError> {
        let mut input = decompress(input).map_err(|error| broken(name, 0, &error))?;
        let mut head = Vec::new();
        let read = input.by_ref().take(LINE_LIMIT as u64).read_to_end(&mut head);
        let lines = first_lines(&head, head.len() < LINE_LIMIT && read.is_ok());
        let format = match (format, &read) {
            (_, Err(error)) if lines.is_empty() => return Err(broken(name, 0, error)),
            _ => recognise(&head, &lines, format)
                .map_err(|problem| WorkloadError(format!("trace {name}: {problem}")))?,
        };
        let rest: Input = match read {
            Ok(_) => input,
            // What came before the fault is still delivered.
            Err(error) => Box::new(Broken(error)),
        };
        Ok(Records {
            name: name.to_owned(),
            format,
            input: BufReader::with_capacity(BUFFER_BYTES, Box::new(Cursor::new(head).chain(rest))),
            line: Vec::new(),
            line_number: 0,
        })
    }

    /// The format that the trace is read in.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// The number of the line that the last record came from, counted from 1.
    pub fn line_number(&self) -> u64 {
        self.line_number
    }

    /// The next record, or `None` at the end of the trace.
    ///
    /// # Errors
    /// When the line is no record, or the input ends early or cannot be read.
    pub fn next_record(&mut self) -> Result<Option<Record>, WorkloadError> {
        while self.read_line()? {
            let ended = self.line.pop_if(|last| *last == b'\n').is_some();
            if !is_data(&self.line) {
                continue;
            }
            return match (self.format.parse)(&self.line) {
                Ok(record) => Ok(Some(record)),
                Err(error) => {
                    let truncated = if ended {
                        ""
                    } else {
                        "; the line has no end, so the file is probably truncated"
                    };
                    let (problem, expected) = (error.problem, error.expected);
                    let line = shown(&self.line);
                    Err(self.error(&format!(
                        "{problem}, expected {expected}; the line is \"{line}\"{truncated}"
                    )))
                }
            };
        }
        Ok(None)
    }

    /// Fetches the next line with its end; `false` at the end of the input.
    fn read_line(&mut self) -> Result<bool, WorkloadError> {
        self.line.clear();
        let mut limited = self.input.by_ref().take(LINE_LIMIT as u64);
        match limited.read_until(b'\n', &mut self.line) {
            Ok(0) => return Ok(false),
            Ok(_) => self.line_number += 1,
            Err(error) => return Err(broken(&self.name, self.line_number, &error)),
        }
        if self.line.len() == LINE_LIMIT && self.line.last() != Some(&b'\n') {
            let start = shown(&self.line);
            return Err(self.error(&format!(
                "the line is longer than {} KiB, expected a trace; it begins with \"{start}\"",
                LINE_LIMIT >> 10
            )));
        }
        Ok(true)
    }

    /// An error about the line read last.
    #[cold]
    pub(crate) fn error(&self, problem: &str) -> WorkloadError {
        WorkloadError(format!("trace {}, line {}: {problem}", self.name, self.line_number))
    }
}

/// An input that only repeats the fault at which another one ended.
struct Broken(io::Error);

impl Read for Broken {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(self.0.kind(), self.0.to_string()))
    }
}

/// Whether a line says something: it is not blank and no comment.
fn is_data(line: &[u8]) -> bool {
    !matches!(line.trim_ascii_start().first(), None | Some(b'#'))
}

/// The first lines with data in `head`; its last one counts only if it is `complete` or alone.
fn first_lines(head: &[u8], complete: bool) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    if !complete && lines.len() > 1 {
        lines.pop();
    }
    lines.into_iter().filter(|line| is_data(line)).take(SNIFFED_LINES).collect()
}

/// Decides the format from the first lines, or refuses what is no text at all.
fn recognise(
    head: &[u8],
    lines: &[&[u8]],
    format: Option<&'static Format>,
) -> Result<&'static Format, String> {
    if head.is_empty() {
        return Err("the file is empty, expected a trace".to_owned());
    }
    let Some(first) = lines.first() else {
        return Err(format!(
            "there are no requests, only blank lines and comments in its first {} KiB",
            LINE_LIMIT >> 10
        ));
    };
    let start = shown(first);
    let texts: Option<Vec<&str>> = lines.iter().map(|line| text(line)).collect();
    let Some(texts) = texts else {
        return Err(format!(
            "looks like binary data, not a trace in a known format; it begins with \"{start}\""
        ));
    };
    match format {
        Some(format) => Ok(format),
        None => detect(FORMATS, &texts)
            .map_err(|problem| format!("{problem}; the first line is \"{start}\"")),
    }
}

/// The line as text, without a character cut off at its end; `None` for binary data.
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

/// Bytes as a message shows them: escaped and shortened.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const SHOWN_BYTES: usize = 60;
    let bytes = bytes.trim_ascii_end();
    let cut = if bytes.len() > SHOWN_BYTES { "..." } else { "" };
    format!("{}{cut}", bytes[..bytes.len().min(SHOWN_BYTES)].escape_ascii())
}

/// What the system says of a fault, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// The error for input that fails after `line` whole lines.
fn broken(name: &str, line: u64, error: &io::Error) -> WorkloadError {
    let place = if line == 0 { "at its start".to_owned() } else { format!("after line {line}") };
    let reason = reason(error);
    WorkloadError(if error.kind() == io::ErrorKind::UnexpectedEof {
        format!("trace {name} is truncated {place}: the compressed data end early ({reason})")
    } else {
        format!("trace {name} cannot be read {place}: {reason}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decompress::compressed;
    use proptest::prelude::*;
    use std::fmt::Write;

    fn read(bytes: &[u8], format: Option<&'static Format>) -> Result<Vec<Record>, WorkloadError> {
        let mut records = Records::new(Box::new(Cursor::new(bytes.to_vec())), "t", format)?;
        std::iter::from_fn(|| records.next_record().transpose()).collect()
    }

    fn refused(bytes: &[u8]) -> String {
        read(bytes, None).unwrap_err().0
    }

    #[test]
    fn blank_lines_and_comments_are_skipped_and_counted() {
        let text = b"# made by hand\n\n  \n1.5 0 100 8 1\r\n # more\n2.5 0 108 8 0";
        assert_eq!(read(text, None).unwrap().len(), 2);
        let error = refused(b"# one\n1.5 0 100 8 1\n\n1.5 0 100\n1.5 0 100 8 1\n");
        assert!(error.starts_with("trace t, line 4: 3 columns, expected 5 columns"), "{error}");
        assert!(error.ends_with("the line is \"1.5 0 100\""), "{error}");
    }

    #[test]
    fn what_is_no_trace_is_told_apart() {
        let good = b"1.5 0 100 8 1\n".repeat(4);
        let long_line = [&good[..], &b"1".repeat(1 << 17)].concat();
        let rows: [(&[u8], &str); 9] = [
            (b"", "trace t: the file is empty, expected a trace"),
            (b"\n# x\n", "trace t: there are no requests, only blank lines and comments in"),
            (b"\x7fELF\x02\0\0", "looks like binary data, not a trace in a known format"),
            (b"1.5 0 \xff 8 1\n", "begins with \"1.5 0 \\xff 8 1\""),
            (b"hello world\n", "in no known format; the formats are: disksim (DiskSim ASCII"),
            (b"hello \"world\"\n", "the first line is \"hello \\\"world\\\"\""),
            (&b"y".repeat(1 << 17), &format!("the first line is \"{}...\"", "y".repeat(60))),
            (&b"\0".repeat(1 << 17), "looks like binary data"),
            (&long_line, "trace t, line 5: the line is longer than 64 KiB"),
        ];
        for (bytes, part) in rows {
            let error = refused(bytes);
            assert!(error.contains(part) && !error.contains('\n'), "{part}: {error}");
        }
    }

    #[test]
    fn a_format_can_be_named() {
        let text = b"1 0 100 8 1\n";
        assert!(read(text, None).is_err());
        assert_eq!(read(text, Some(&FORMATS[0])).unwrap().len(), 1);
    }

    #[test]
    fn a_last_line_without_end_counts_if_it_is_whole() {
        assert_eq!(read(b"1.5 0 100 8 1\n2.5 0 100 8 1", None).unwrap().len(), 2);
        let error = refused(b"1.5 0 100 8 1\n2.5 0 10");
        assert!(error.starts_with("trace t, line 2: 3 columns"), "{error}");
        assert!(error.ends_with("so the file is probably truncated"), "{error}");
    }

    #[test]
    fn truncated_compressed_files_are_told_with_the_last_whole_line() {
        // Lines without a pattern, so that half of the file is about half of the lines.
        let mut text = String::new();
        for line in 0..40_000_u64 {
            let noise = line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 34;
            writeln!(text, "{line}.0 0 {noise} 8 1").unwrap();
        }
        for (name, bytes) in compressed(text.as_bytes()) {
            assert_eq!(read(&bytes, None).unwrap().len(), 40_000, "{name}");
            for keep in [bytes.len() / 2, bytes.len() - 1] {
                let cut = Cursor::new(bytes[..keep].to_vec());
                let mut records = Records::new(Box::new(cut), "t", None).unwrap();
                let mut whole = 0;
                let error = loop {
                    match records.next_record() {
                        Ok(Some(_)) => whole += 1,
                        Ok(None) => panic!("{name}: the cut at {keep} went unnoticed"),
                        Err(error) => break error.0,
                    }
                };
                let start = format!("trace t is truncated after line {whole}: ");
                assert!(error.starts_with(&start) && whole > 0, "{name}, {keep}: {error}");
            }
            let error = refused(&bytes[..12]);
            assert!(error.starts_with("trace t is truncated at its start: "), "{name}: {error}");
        }
    }

    #[test]
    fn corrupt_compressed_files_are_errors() {
        let text = b"1.5 0 100 8 1\n".repeat(1000);
        for (name, mut bytes) in compressed(&text) {
            let middle = bytes.len() / 2;
            bytes[middle..].fill(0x55);
            let error = refused(&bytes);
            assert!(error.starts_with("trace t") && !error.contains('\n'), "{name}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes, None);
            let _ = read(&bytes, Some(&FORMATS[0]));
        }

        #[test]
        fn any_compressed_bytes_are_survived(
            which in 0..4_usize, tail in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let mut bytes = compressed(b"1.5 0 100 8 1\n").swap_remove(which).1;
            bytes.truncate(bytes.len() - 4);
            bytes.extend(tail);
            let _ = read(&bytes, None);
        }
    }
}
