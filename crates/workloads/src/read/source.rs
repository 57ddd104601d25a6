//! Building blocks of binary readers: a source of records, and its bytes.
//!
//! A source distinguishes faults of a single record, which may be tolerated, from faults after
//! which no record can be read.

use super::batch::Batch;
use super::decompress::Input;
use super::head::Head;
use super::inputs::Inputs;
use super::stated::ReadOptions;
use crate::record::{Clock, LineError, Record};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// Reasons for a source to fail.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// The record is faulty; the next one may be valid.
    Record(LineError),
    /// The input fails or ends inside a record.
    Input(io::Error),
    /// The rest of the input is invalid.
    Lost(String),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Unreadable::Input(error)
    }
}

impl From<LineError> for Unreadable {
    fn from(error: LineError) -> Self {
        Unreadable::Record(error)
    }
}

/// Maximum records per read of a source.
pub(crate) const BATCH_RECORDS: usize = 4096;

/// Records of a binary format, read in batches.
pub(crate) trait Source: Send {
    /// Adds the next records to the batch; `false` at the end.
    ///
    /// # Errors
    /// As in [`Unreadable`], about the record after the added ones.
    fn read(&mut self, batch: &mut Batch) -> Result<bool, Unreadable>;

    /// Number of records read, of any kind.
    fn number(&self) -> u64;

    /// Zero point of this file's times, if it is not common to all files of the format.
    fn clock(&self) -> Option<Clock> {
        None
    }

    /// True if the file states response times.
    fn states_responses(&self) -> bool {
        false
    }
}

/// A source that reads one record at a time.
pub(crate) trait OneByOne: Send {
    /// The next record, or `None` at the end; skipped lines are noted in `batch`, to which the
    /// record is added later.
    ///
    /// # Errors
    /// See [`Unreadable`].
    fn next(&mut self, batch: &mut Batch) -> Result<Option<Record>, Unreadable>;

    /// Number of records read, of any kind.
    fn number(&self) -> u64;
}

impl<S: OneByOne> Source for S {
    fn read(&mut self, batch: &mut Batch) -> Result<bool, Unreadable> {
        while batch.records.len() < BATCH_RECORDS {
            let Some(record) = self.next(batch)? else { return Ok(false) };
            batch.push(record, OneByOne::number(self));
        }
        Ok(true)
    }

    fn number(&self) -> u64 {
        OneByOne::number(self)
    }
}

/// Arguments for opening a binary reader.
pub(crate) struct Opening<'a> {
    /// The name of the input.
    pub(crate) name: &'a str,
    /// Source of further inputs.
    pub(crate) inputs: &'a Inputs,
    /// Decompressed input at its start.
    pub(crate) input: Input,
    /// Beginning of the input.
    pub(crate) head: &'a Head<'a>,
    /// Stated options.
    pub(crate) options: &'a ReadOptions,
}

/// Buffer size.
const BUFFER_BYTES: usize = 64 << 10;

/// A stream read in fixed-size pieces.
pub(crate) struct Bytes {
    input: BufReader<Input>,
    taken: u64,
}

impl Bytes {
    /// Reads `input` from its current position.
    pub(crate) fn new(input: Input) -> Self {
        Bytes { input: BufReader::with_capacity(BUFFER_BYTES, input), taken: 0 }
    }

    /// The next `N` bytes; `None` if the input ends before them, an error if it ends within them.
    pub(crate) fn take<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        let mut piece = [0; N];
        if let Some(ready) = self.input.buffer().first_chunk::<N>() {
            piece = *ready;
            self.input.consume(N);
            self.taken += N as u64;
            return Ok(Some(piece));
        }
        let mut filled = 0;
        while filled < N {
            match self.input.read(&mut piece[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(ended(self.taken, filled)),
                Ok(more) => filled += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.taken += N as u64;
        Ok(Some(piece))
    }

    /// Bytes buffered and not yet consumed.
    pub(crate) fn ready(&self) -> &[u8] {
        self.input.buffer()
    }

    /// Consumes `count` of the [ready](Bytes::ready) bytes.
    pub(crate) fn took(&mut self, count: usize) {
        self.input.consume(count);
        self.taken += count as u64;
    }

    /// Skips `count` bytes; an error if the input ends before.
    pub(crate) fn skip(&mut self, count: u64) -> io::Result<()> {
        if count <= self.input.buffer().len() as u64 {
            self.input.consume(count as usize);
            self.taken += count;
            return Ok(());
        }
        let passed = io::copy(&mut self.input.by_ref().take(count), &mut io::sink())?;
        self.taken += passed;
        if passed < count { Err(ended(self.taken, passed as usize)) } else { Ok(()) }
    }
}

#[cold]
fn ended(taken: u64, rest: usize) -> io::Error {
    let problem = format!("the input ends within a record, {rest} bytes after byte {taken}");
    io::Error::new(ErrorKind::UnexpectedEof, problem)
}

/// A little- or big-endian number at an offset in a record.
macro_rules! number_at {
    ($($name:ident: $type:ty),*) => {$(
        /// The number at `place`, which must lie in the record.
        pub(crate) fn $name(record: &[u8], place: usize, big_endian: bool) -> $type {
            let mut bytes = [0; size_of::<$type>()];
            bytes.copy_from_slice(&record[place..place + size_of::<$type>()]);
            if big_endian { <$type>::from_be_bytes(bytes) } else { <$type>::from_le_bytes(bytes) }
        }
    )*};
}

number_at! { u16_at: u16, u32_at: u32, u64_at: u64 }
