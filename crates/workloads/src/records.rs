//! Reads a trace record by record: decompresses it, finds its format, and says where it is broken.
//!
//! Memory stays bounded whatever the file holds, and every error is one line that names the file,
//! the place in it and the offending text. Order, range and meaning of the records are left to
//! others.

use crate::error::BuildError;
use crate::formats::{FORMATS, Format, Reader, detect};
use crate::read::columns::Columns;
use crate::read::decompress::{Input, decompress};
use crate::read::head::{HEAD_BYTES, Head, first_lines, is_data};
use crate::read::inputs::{Inputs, reason};
use crate::read::lines::{Fetched, LineParser, TextLines};
use crate::read::siblings;
use crate::read::source::{Counted, Opening, Source, Unreadable};
use crate::read::stated::{BlockEvent, ReadOptions};
use crate::record::{Clock, Line, LineError, Record, shown};
use crate::{checks, streams};
use engine::{Op, Random, Time, WorkloadError, Xoshiro256};
use options::Invalid;
use std::io::{self, Cursor, Read};

/// The records of one trace, in the order of its file.
pub struct Records {
    name: String,
    format: &'static Format,
    tick_ns: Option<Time>,
    body: Body,
    counted: Counted,
    tolerated: u64,
    directions: Option<Directions>,
    behind_flush: Option<Record>,
}

/// How the file is read.
enum Body {
    Lines { lines: TextLines, parser: Box<dyn LineParser> },
    Bytes(Box<dyn Source>),
}

/// Draws what a file without directions does not say.
struct Directions {
    read_share: f64,
    random: Xoshiro256,
}

/// What Windows programs begin a text with.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What a draw of the direction replaces is counted as.
const DRAWN: &str = "drawn_directions";

impl Records {
    /// Starts to read the trace `name` of `inputs`, plain or compressed, in the format that is named;
    /// without one, its beginning decides.
    ///
    /// # Errors
    /// When what is stated cannot be; when the input cannot be opened or read, is empty, is in no
    /// known format or in several, or when its format needs something stated that is not.
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
        // What came before a fault is still delivered.
        let input: Input = match read {
            Err(error) if bytes.iter().all(u8::is_ascii_whitespace) || bytes.len() < 24 => {
                return Err(input_error(broken(name, "", &error)));
            }
            Err(error) => Box::new(Cursor::new(bytes.clone()).chain(Broken(error))),
            Ok(_) => Box::new(Cursor::new(bytes.clone()).chain(input)),
        };
        let head = Head::new(&bytes, whole, options);
        let format = recognise(&head, name, format)
            .map_err(|problem| BuildError::Input(format!("trace {name}: {problem}")))?;
        check_stated(format, options)?;
        let body = match &format.reader {
            Reader::Line(parse) => {
                Body::Lines { lines: TextLines::new(input), parser: Box::new(*parse) }
            }
            Reader::Lines(parser) => {
                Body::Lines { lines: TextLines::new(input), parser: parser(options, &head)? }
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
        let tick_ns = match format.reader {
            Reader::Lines(_) => format.tick_ns.or(options.columns.as_ref().map(Columns::time_ns)),
            _ => format.tick_ns,
        };
        Ok(Records {
            name: name.to_owned(),
            format,
            tick_ns,
            body,
            counted: Counted::default(),
            tolerated: options.skip_bad,
            directions,
            behind_flush: None,
        })
    }

    /// The format that the trace is read in.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// From when its times count.
    pub fn clock(&self) -> Clock {
        let own = match &self.body {
            Body::Lines { .. } => None,
            Body::Bytes(source) => source.clock(),
        };
        own.unwrap_or(self.format.clock)
    }

    /// How coarse its clock is, ns, if many requests share a time for that reason.
    pub fn tick_ns(&self) -> Option<Time> {
        self.tick_ns
    }

    /// The number of the line or binary record that the last record came from, counted from 1.
    pub fn number(&self) -> u64 {
        match &self.body {
            Body::Lines { lines, .. } => lines.number(),
            Body::Bytes(source) => source.number(),
        }
    }

    /// The line that the last record came from, without its end, if the format is text.
    pub fn raw_line(&self) -> Option<&[u8]> {
        match &self.body {
            Body::Lines { lines, .. } => Some(lines.line()),
            Body::Bytes(_) => None,
        }
    }

    /// Whether the trace states the response times of its requests.
    pub fn states_responses(&self) -> bool {
        match &self.body {
            Body::Lines { .. } => self.format.response.is_some(),
            Body::Bytes(source) => source.states_responses(),
        }
    }

    /// The response time of the last record, ns, if it is stated.
    pub fn response(&self) -> Option<Time> {
        match &self.body {
            Body::Lines { lines, .. } => self.format.response?(lines.line()),
            Body::Bytes(source) => source.response(),
        }
    }

    /// What was left out or changed so far, by reason.
    pub fn counted(&self) -> &[(&'static str, u64)] {
        self.counted.all()
    }

    /// The same, to be added up.
    pub(crate) fn counts(&self) -> &Counted {
        &self.counted
    }

    /// The next record, or `None` at the end of the trace.
    ///
    /// # Errors
    /// When the next line or record cannot be read and no more are tolerated, or the input ends
    /// early or fails.
    pub fn next_record(&mut self) -> Result<Option<Record>, WorkloadError> {
        let found = match &mut self.body {
            Body::Lines { .. } => self.next_of_lines(),
            Body::Bytes(_) => self.next_of_bytes(),
        };
        match (&mut self.directions, found) {
            (Some(directions), Ok(Some(mut record))) => {
                let read = directions.random.unit() < directions.read_share;
                record.op = if read { Op::Read } else { Op::Write };
                self.counted.add(DRAWN);
                Ok(Some(record))
            }
            (_, found) => found,
        }
    }

    fn next_of_lines(&mut self) -> Result<Option<Record>, WorkloadError> {
        if let Some(record) = self.behind_flush.take() {
            return Ok(Some(record));
        }
        let Body::Lines { lines, parser } = &mut self.body else { return Ok(None) };
        loop {
            if parser.ended() {
                return Ok(None);
            }
            let whole = match lines.fetch() {
                Ok(Fetched::End) => return Ok(None),
                Ok(Fetched::Line { ended }) => ended,
                Ok(Fetched::TooLong) => {
                    let problem = format!(
                        "the line is longer than {} KiB, expected a trace; it begins with \"{}\"",
                        HEAD_BYTES >> 10,
                        shown(lines.line())
                    );
                    return Err(self.error(&problem));
                }
                Err(error) => {
                    let place = format!("line {}", lines.number());
                    let place = if lines.number() == 0 { "" } else { &place };
                    return Err(broken(&self.name, place, &error));
                }
            };
            let line = lines.line();
            if !is_data(line) {
                continue;
            }
            match parser.line(line) {
                Ok(Line::Record(record)) => return Ok(Some(record)),
                Ok(Line::AfterFlush(record)) => {
                    self.behind_flush = Some(record);
                    return Ok(Some(Record::flush(record.at, record.device)));
                }
                Ok(Line::Rounded(record)) => {
                    self.counted.add("rounded_to_sectors");
                    return Ok(Some(record));
                }
                Ok(Line::Skip(why)) => self.counted.add(why),
                Err(_) if self.tolerated > 0 => {
                    self.tolerated -= 1;
                    self.counted.add("unreadable_lines");
                }
                Err(LineError { problem, expected }) => {
                    let truncated = if whole {
                        ""
                    } else {
                        "; the line has no end, so the file is probably truncated"
                    };
                    let line = shown(line);
                    return Err(self.error(&format!(
                        "{problem}, expected {expected}; the line is \"{line}\"{truncated}"
                    )));
                }
            }
        }
    }

    fn next_of_bytes(&mut self) -> Result<Option<Record>, WorkloadError> {
        let Body::Bytes(source) = &mut self.body else { return Ok(None) };
        loop {
            match source.next(&mut self.counted) {
                Ok(found) => return Ok(found),
                Err(Unreadable::Record(_)) if self.tolerated > 0 => {
                    self.tolerated -= 1;
                    self.counted.add("unreadable_records");
                }
                Err(Unreadable::Record(LineError { problem, expected })) => {
                    return Err(self.error(&format!("{problem}, expected {expected}")));
                }
                Err(Unreadable::Lost(problem)) => return Err(self.error(&problem)),
                Err(Unreadable::Input(error)) => {
                    let place = format!("record {}", source.number());
                    let place = if source.number() == 0 { "" } else { &place };
                    return Err(broken(&self.name, place, &error));
                }
            }
        }
    }

    /// An error about the line or record read last.
    #[cold]
    pub(crate) fn error(&self, problem: &str) -> WorkloadError {
        let (name, number) = (&self.name, self.number());
        let unit = if self.raw_line().is_some() { "line" } else { "record" };
        WorkloadError(format!("trace {name}, {unit} {number}: {problem}"))
    }
}

fn input_error(error: WorkloadError) -> BuildError {
    BuildError::Input(error.0)
}

/// An input that only repeats the fault at which another one ended.
struct Broken(io::Error);

impl Read for Broken {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(self.0.kind(), self.0.to_string()))
    }
}

/// Decides the format from the beginning of the file, or refuses what cannot be any.
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
        // Of the files of a blktrace, those of idle processors are empty.
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
    let start = shown(first);
    detect(head).map_err(|problem| {
        let beginning = if head.lines.is_empty() { "it begins with" } else { "the first line is" };
        format!("{problem}; {beginning} \"{start}\"")
    })
}

/// Refuses statements that the format has no use for.
fn check_stated(format: &Format, options: &ReadOptions) -> Result<(), Invalid> {
    let used = |key: &str| format.stated.iter().any(|(known, _)| *known == key);
    let stated = [
        ("time_unit", options.time_unit.ns().is_some()),
        ("columns", options.columns.is_some()),
        ("layout", options.layout.is_some()),
        ("read_share", options.read_share.is_some()),
        ("event", options.event != BlockEvent::Auto),
    ];
    for (key, is_stated) in stated {
        if is_stated && !used(key) && !format.may_state.contains(&key) {
            let problem = format!("traces in format {} say this themselves", format.name);
            return Err(Invalid::new(&[&format!("workload.{key}"), "workload.format"], problem));
        }
    }
    Ok(())
}

/// The error for input that fails after a `place`, which is empty for the start.
fn broken(name: &str, place: &str, error: &io::Error) -> WorkloadError {
    let place = if place.is_empty() { "at its start".to_owned() } else { format!("after {place}") };
    let reason = reason(error);
    WorkloadError(if error.kind() == io::ErrorKind::UnexpectedEof {
        format!("trace {name} is truncated {place}: the data end early ({reason})")
    } else {
        format!("trace {name} cannot be read {place}: {reason}")
    })
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
