//! Reads text line by line: in blocks, in bounded memory and without allocating per line.
//!
//! A parser can read a line in two ways. [`LineParser::line`] reads any line and explains errors;
//! [`LineParser::quick`] reads plain lines fast, and leaves all others to `line`. Both give equal
//! records, so `line` is the oracle of `quick` (`quick_tests.rs`).

use super::batch::Batch;
use super::decompress::Input;
use super::head::HEAD_BYTES;
use crate::record::{Line, LineError, Record};
use engine::Time;
use memchr::{memchr, memrchr};
use std::io::{self, ErrorKind, Read};

/// Bytes per read: few system calls, and a block's requests stay in the processor cache.
const BLOCK_BYTES: usize = 64 << 10;

/// Parser of response times, ns.
pub(crate) type ResponseOf = dyn Fn(&[u8]) -> Option<Time> + Send + Sync;

/// Parser of a trace's consecutive lines.
pub(crate) trait LineParser: Send {
    /// Parses the next line, passed without its line end.
    ///
    /// # Errors
    /// When the line is not valid in this format.
    fn line(&mut self, line: &[u8]) -> Result<Line, LineError>;

    /// The request in the first line of `text`, and the line's length with its end. Returns `None`
    /// and changes nothing if the line is not plain or incomplete.
    #[inline]
    fn quick(&mut self, _text: &[u8]) -> Option<(Record, usize)> {
        None
    }

    /// Parser of the response times in this trace's lines, if the format does not declare one.
    fn responses(&self) -> Option<Box<ResponseOf>> {
        None
    }

    /// Clock tick of this trace, ns, if the format does not declare one.
    fn tick_ns(&self) -> Option<Time> {
        None
    }

    /// Parses plain lines from `at` on; returns the offset of the first other line.
    fn quick_lines(&mut self, batch: &mut Batch, mut at: usize) -> usize {
        let text = std::mem::take(&mut batch.text);
        while let Some((record, bytes)) = self.quick(&text[at..batch.filled]) {
            if bytes > HEAD_BYTES {
                break;
            }
            batch.push(record, at as u64);
            at += bytes;
        }
        batch.text = text;
        at
    }
}

/// A stateless line parser with its fast path.
pub(crate) struct Each<L, Q>(pub(crate) L, pub(crate) Q);

impl<L, Q> LineParser for Each<L, Q>
where
    L: Fn(&[u8]) -> Result<Line, LineError> + Send,
    Q: Fn(&[u8]) -> Option<(Record, usize)> + Send,
{
    fn line(&mut self, line: &[u8]) -> Result<Line, LineError> {
        self.0(line)
    }

    #[inline]
    fn quick(&mut self, text: &[u8]) -> Option<(Record, usize)> {
        self.1(text)
    }
}

/// The lines of an input, as blocks of whole lines.
pub(crate) struct Blocks {
    input: Input,
    /// The beginning of a line that continues in the next block.
    rest: Vec<u8>,
    number: u64,
}

/// End of a block.
pub(crate) enum BlockEnd {
    /// The last complete line read so far.
    Line,
    /// The end of the input.
    Input,
    /// The beginning of an overlong line.
    TooLong,
    /// A read error; the bytes of the last, incomplete line are lost.
    Fault(io::Error),
}

impl Blocks {
    /// Lines of `input` from its current position.
    pub(crate) fn new(input: Input) -> Self {
        Blocks { input, rest: Vec::new(), number: 0 }
    }

    /// Number of lines consumed.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Counts consumed lines.
    pub(crate) fn took(&mut self, lines: u64) {
        self.number += lines;
    }

    /// Reads the next lines into the text of `batch`, as many as one read returns; at the end of
    /// the input the last one may lack its line end.
    pub(crate) fn fetch(&mut self, batch: &mut Batch) -> BlockEnd {
        let text = &mut batch.text;
        text.resize(HEAD_BYTES + BLOCK_BYTES, 0);
        text[..self.rest.len()].copy_from_slice(&self.rest);
        let mut filled = self.rest.len();
        self.rest.clear();
        let end = loop {
            let read = match self.input.read(&mut text[filled..][..BLOCK_BYTES]) {
                Ok(0) => break BlockEnd::Input,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    filled = 0;
                    break BlockEnd::Fault(error);
                }
            };
            let new = filled;
            filled += read;
            if let Some(last) = memrchr(b'\n', &text[new..filled]) {
                let whole = new + last + 1;
                self.rest.extend_from_slice(&text[whole..filled]);
                filled = whole;
                break BlockEnd::Line;
            }
            if filled >= HEAD_BYTES {
                break BlockEnd::TooLong;
            }
        };
        batch.filled = filled;
        batch.lines_before = self.number;
        end
    }
}

/// First line of `text` without its end, its length with the end, and true if it has an end.
pub(crate) fn first_line(text: &[u8]) -> (&[u8], usize, bool) {
    match memchr(b'\n', text) {
        Some(end) => (&text[..end], end + 1, true),
        None => (text, text.len(), false),
    }
}
