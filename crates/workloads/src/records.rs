//! Reads a trace record by record: decompresses it, detects its format, and reports the position of
//! errors.
//!
//! Memory is bounded for every file, and every error is one line that names the file, the position
//! and the offending text. Order, range and meaning of the records are not checked here.

mod ahead;
mod doubt;
mod producer;

use crate::error::BuildError;
use crate::formats::{FORMATS, Format, Reader, detect};
use crate::read::batch::{Batch, Counted};
use crate::read::decompress::{Input, decompress};
use crate::read::faults::{broken, error_at};
use crate::read::head::{HEAD_BYTES, Head, first_lines, form_of};
use crate::read::inputs::{Inputs, STANDARD_INPUT, reason};
use crate::read::lines::{Blocks, ResponseOf};
use crate::read::siblings;
use crate::read::source::Opening;
use crate::read::stated::ReadOptions;
use crate::record::{Clock, Record};
use crate::{checks, streams};
use ahead::Feeder;
use engine::{Time, WorkloadError, Xoshiro256};
use options::Invalid;
use producer::{Body, Directions, Producer};
use std::io::{self, Cursor, Read};

/// The records of a trace in file order.
pub struct Records {
    name: String,
    format: &'static Format,
    clock: Clock,
    tick_ns: Option<Time>,
    is_text: bool,
    certainty: Certainty,
    states_responses: bool,
    responses: Option<Box<ResponseOf>>,
    feeder: Feeder,
    batch: Batch,
    /// Number of records returned from the batch.
    given: usize,
    /// True after a request beyond the last record.
    is_over: bool,
    /// Counts of earlier batches.
    counted: Counted,
}

/// Certainty of the format.
#[derive(PartialEq, Eq)]
enum Certainty {
    /// Stated by the user, or confirmed by the first requests.
    Sure,
    /// Detected from the beginning of the text, not yet confirmed.
    Detected,
}

/// Byte order mark of Windows texts.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Records {
    /// Opens the trace `name` of `inputs`, plain or compressed, in the named format or, without
    /// one, the format detected from its beginning.
    ///
    /// # Errors
    /// When a declaration is invalid; when the input cannot be opened or read, is empty,
    /// matches no known format or several, or when its format needs a property that is not stated.
    pub fn open(
        inputs: &Inputs,
        name: &str,
        format: Option<&'static Format>,
        options: &ReadOptions,
    ) -> Result<Self, BuildError> {
        let (input, name) = siblings::open_first(inputs, name).map_err(|error| {
            BuildError::Input(format!("cannot open trace {name}: {}", reason(&error)))
        })?;
        let name = &name[..];
        let mut input = decompress(input).map_err(|error| input_error(broken(name, "", &error)))?;
        let mut bytes = Vec::new();
        let read = input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut bytes);
        let whole = bytes.len() < HEAD_BYTES && read.is_ok();
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        // Records before a read error are still delivered.
        let input: Input = match read {
            Err(error) if bytes.iter().all(u8::is_ascii_whitespace) || bytes.len() < 24 => {
                return Err(input_error(broken(name, "", &error)));
            }
            Err(error) => Box::new(Cursor::new(bytes.clone()).chain(Broken(error))),
            Ok(_) => Box::new(Cursor::new(bytes.clone()).chain(input)),
        };
        let head = Head::new(&bytes, whole, options);
        let is_detected = format.is_none() && options.columns.is_none();
        let format = recognise(&head, name, format)
            .map_err(|problem| BuildError::Input(format!("trace {name}: {problem}")))?;
        check_stated(format, options)?;
        let is_text = !matches!(format.reader, Reader::Bytes(_));
        let body = match &format.reader {
            Reader::Lines(parser) => {
                Body::Lines { blocks: Blocks::new(input), parser: parser(options, &head)? }
            }
            Reader::Known(known) => {
                Body::Lines { blocks: Blocks::new(input), parser: known.parser(options, &head)? }
            }
            Reader::Bytes(open) => {
                Body::Bytes(open(Opening { name, inputs, input, head: &head, options })?)
            }
        };
        let directions = match options.read_share {
            None => None,
            Some(read_share) => {
                checks::share("workload.read_share", read_share)?;
                let random = Xoshiro256::new(options.seed, streams::TRACE_DIRECTIONS);
                Some(Directions { read_share, random })
            }
        };
        let (own_clock, tick_ns) = match &body {
            Body::Lines { parser, .. } => (None, format.tick_ns.or(parser.tick_ns())),
            Body::Bytes(source) => (source.clock(), format.tick_ns),
        };
        let responses = match &body {
            Body::Lines { parser, .. } => parser
                .responses()
                .or_else(|| format.response.map(|response| Box::new(response) as Box<ResponseOf>)),
            Body::Bytes(_) => None,
        };
        let states_responses = match &body {
            Body::Lines { .. } => responses.is_some(),
            Body::Bytes(source) => source.states_responses(),
        };
        let tolerated = options.skip_bad;
        let producer = Producer { name: name.to_owned(), body, tolerated, directions };
        // Buffered data need no thread, and a thread blocked on standard input could not be
        // stopped.
        let may_read_ahead = inputs.threads > 1 && !whole && name != STANDARD_INPUT;
        Ok(Records {
            name: name.to_owned(),
            format,
            clock: own_clock.unwrap_or(format.clock),
            tick_ns,
            is_text,
            certainty: if is_detected && is_text { Certainty::Detected } else { Certainty::Sure },
            states_responses,
            responses,
            feeder: Feeder::new(producer, may_read_ahead),
            batch: Batch::default(),
            given: 0,
            is_over: false,
            counted: Counted::default(),
        })
    }

    /// The format in which the trace is read.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Zero point of times.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Resolution of a coarse clock, ns, on which requests share times.
    pub fn tick_ns(&self) -> Option<Time> {
        self.tick_ns
    }

    /// Index of the last returned record in the batch; `None` before the first record and after the
    /// end.
    fn last(&self) -> Option<usize> {
        self.given.checked_sub(1).filter(|_| !self.is_over)
    }

    /// The number of the line or binary record of the last returned record, counted from 1.
    pub fn number(&self) -> u64 {
        self.last().map_or(self.batch.number, |last| self.batch.number_of(last))
    }

    /// Source line of the last record, without its end, in a text format.
    pub fn raw_line(&self) -> Option<&[u8]> {
        self.is_text.then(|| self.last().map_or(&[][..], |last| self.batch.line_of(last)))
    }

    /// True if the trace states response times.
    pub fn states_responses(&self) -> bool {
        self.states_responses
    }

    /// Response time of the last record, ns, if stated.
    pub fn response(&self) -> Option<Time> {
        match self.raw_line() {
            Some(line) => self.responses.as_ref()?(line),
            None => self.batch.responses.get(self.last()?).copied().filter(|ns| *ns > 0),
        }
    }

    /// Skipped or changed records, by reason.
    pub fn counted(&self) -> Vec<(&'static str, u64)> {
        self.counts().all().to_vec()
    }

    /// The counts, in a form that can be merged.
    pub(crate) fn counts(&self) -> Counted {
        let mut counted = self.counted.clone();
        let given = if self.is_over { usize::MAX } else { self.given };
        self.batch.notes.count_into(&mut counted, given);
        counted
    }

    /// The next record, or `None` at the end of the trace.
    ///
    /// # Errors
    /// When the next line or record cannot be read and no more are tolerated, or the input ends
    /// early or fails. No record follows an error.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record>, WorkloadError> {
        match self.batch.records.get(self.given) {
            Some(record) => {
                self.given += 1;
                Ok(Some(*record))
            }
            None => self.next_batch(),
        }
    }

    /// The first record of the next batch.
    #[cold]
    fn next_batch(&mut self) -> Result<Option<Record>, WorkloadError> {
        if let Some(end) = &mut self.batch.end {
            self.is_over = true;
            return std::mem::replace(end, Ok(())).map(|()| None);
        }
        self.batch.notes.count_into(&mut self.counted, usize::MAX);
        self.given = 0;
        self.feeder.next(&mut self.batch);
        if std::mem::replace(&mut self.certainty, Certainty::Sure) == Certainty::Detected
            && let Some(doubt) = doubt::of(&self.batch.records)
        {
            return Err(self.doubted(&doubt));
        }
        self.next_record()
    }

    /// Refuses a trace whose numbers are implausible in its format.
    #[cold]
    fn doubted(&mut self, doubt: &str) -> WorkloadError {
        self.is_over = true;
        self.batch.give_up();
        let (trace, format) = (&self.name, self.format.name);
        WorkloadError(format!(
            "trace {trace}: read as {format}, {doubt}: perhaps bytes were taken for sectors; --columns with \
             offset=N:bytes and size=N:bytes reads them as bytes, workload.format={format} as they are"
        ))
    }

    /// An error about the last returned line or record.
    #[cold]
    pub(crate) fn error(&self, problem: &str) -> WorkloadError {
        error_at(&self.name, self.is_text, self.number(), problem)
    }
}

fn input_error(error: WorkloadError) -> BuildError {
    BuildError::Input(error.0)
}

/// An input that repeats the error with which another one ended.
struct Broken(io::Error);

impl Read for Broken {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(self.0.kind(), self.0.to_string()))
    }
}

/// Detects the format from the beginning of the file, or returns an error.
fn recognise(
    head: &Head,
    name: &str,
    named: Option<&'static Format>,
) -> Result<&'static Format, String> {
    if let Some(format) = named {
        return if head.bytes.is_empty() && siblings::prefix(name).is_none() {
            Err("the file is empty, expected a trace".to_owned())
        } else {
            Ok(format)
        };
    }
    if head.bytes.is_empty() {
        // The files of idle processors in a blktrace are empty.
        return match FORMATS.iter().find(|row| row.name == siblings::FORMAT) {
            Some(format) if siblings::prefix(name).is_some() => Ok(format),
            _ => Err("the file is empty, expected a trace".to_owned()),
        };
    }
    let data = first_lines(head.bytes, head.whole);
    let Some(first) = data.first() else {
        return Err(format!(
            "there are no requests, only blank lines and comments in its first {} KiB",
            HEAD_BYTES >> 10
        ));
    };
    let form = form_of(first);
    detect(head).map_err(|problem| {
        if problem.starts_with("this is ") {
            // A known kind says more than the first line; the command can be copied.
            let is_word = !name.contains(char::is_whitespace) && name != STANDARD_INPUT;
            return if is_word { problem.replace("FILE", name) } else { problem };
        }
        let beginning = match head.lines.is_empty() {
            // A line of unprintable bytes is not shown.
            true if form.contains("\\x") => return problem,
            true => "it begins like",
            false => "the first line is like",
        };
        format!("{problem}; {beginning} \"{form}\" (a: a word, 9: a number)")
    })
}

/// Refuses stated properties that the format does not use.
fn check_stated(format: &Format, options: &ReadOptions) -> Result<(), Invalid> {
    let used = |key: &str| format.stated.iter().any(|(known, _)| *known == key);
    for (key, is_stated) in options.stated() {
        if is_stated && !used(key) && !format.may_state.contains(&key) {
            let problem = format!("traces in format {} say this themselves", format.name);
            return Err(Invalid::new(&[&format!("workload.{key}"), "workload.format"], problem));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "records/oracle_tests.rs"]
mod oracle_tests;
