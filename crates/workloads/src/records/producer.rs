//! Produces batches of requests from a trace: parses lines or binary records in order, skips
//! tolerated unreadable ones, draws missing values, and reports the position of errors.

use crate::read::batch::Batch;
use crate::read::faults::{broken, error_at};
use crate::read::head::{HEAD_BYTES, is_data};
use crate::read::lines::{BlockEnd, Blocks, LineParser, first_line};
use crate::read::source::{Source, Unreadable};
use crate::record::{Line, LineError, Record, shown};
use engine::{Op, Random, WorkloadError, Xoshiro256};

/// A trace read in order.
pub(super) struct Producer {
    pub(super) name: String,
    pub(super) body: Body,
    /// Number of further unreadable lines or records to tolerate.
    pub(super) tolerated: u64,
    pub(super) directions: Option<Directions>,
}

/// Reader of the file.
pub(super) enum Body {
    Lines { blocks: Blocks, parser: Box<dyn LineParser> },
    Bytes(Box<dyn Source>),
}

/// Draws the directions missing in a file.
pub(super) struct Directions {
    pub(super) read_share: f64,
    pub(super) random: Xoshiro256,
}

/// Name of the count of drawn directions.
const DRAWN: &str = "drawn_directions";

impl Directions {
    fn draw(&mut self) -> Op {
        if self.random.unit() < self.read_share { Op::Read } else { Op::Write }
    }

    /// Draws directions for the requests of the batch from `first` on.
    fn draw_all(&mut self, batch: &mut Batch, first: usize) {
        for index in first..batch.records.len() {
            batch.records[index].op = self.draw();
            batch.notes.add_before(index, DRAWN);
        }
    }
}

/// Reason for the end of reading.
enum Stop {
    End,
    Error(WorkloadError),
}

impl Producer {
    /// Fills the batch with the next requests; only the last batch may be empty.
    pub(super) fn fill(&mut self, batch: &mut Batch) {
        batch.clear();
        let stop = match self.body {
            Body::Lines { .. } => self.fill_from_lines(batch),
            Body::Bytes(_) => self.fill_from_bytes(batch),
        };
        batch.end = stop.map(|stop| match stop {
            Stop::End => Ok(()),
            Stop::Error(error) => Err(error),
        });
        batch.number = self.number();
    }

    fn number(&self) -> u64 {
        match &self.body {
            Body::Lines { blocks, .. } => blocks.number(),
            Body::Bytes(source) => source.number(),
        }
    }

    fn fill_from_lines(&mut self, batch: &mut Batch) -> Option<Stop> {
        batch.is_text = true;
        while batch.records.is_empty() {
            let Body::Lines { blocks, .. } = &mut self.body else { return Some(Stop::End) };
            let end = blocks.fetch(batch);
            if let BlockEnd::TooLong = end {
                blocks.took(1);
                return Some(self.too_long(&batch.text[..batch.filled]));
            }
            let stop = self.take_lines(batch).or_else(|| match end {
                BlockEnd::Line | BlockEnd::TooLong => None,
                BlockEnd::Input => Some(Stop::End),
                BlockEnd::Fault(error) => {
                    let number = self.number();
                    let place = format!("line {number}");
                    let place = if number == 0 { "" } else { &place };
                    Some(Stop::Error(broken(&self.name, place, &error)))
                }
            });
            if stop.is_some() {
                return stop;
            }
        }
        None
    }

    /// Parses every line of the batch's text.
    fn take_lines(&mut self, batch: &mut Batch) -> Option<Stop> {
        let mut at = 0;
        while at < batch.filled {
            let Body::Lines { blocks, parser } = &mut self.body else { return Some(Stop::End) };
            let first = batch.records.len();
            at = parser.quick_lines(batch, at);
            blocks.took((batch.records.len() - first) as u64);
            if let Some(directions) = &mut self.directions {
                directions.draw_all(batch, first);
            }
            if at < batch.filled {
                blocks.took(1);
                match self.take_line(batch, at) {
                    Ok(bytes) => at += bytes,
                    Err(stop) => return Some(stop),
                }
            }
        }
        None
    }

    /// Parses any kind of line at `at`; returns its length with the line end.
    fn take_line(&mut self, batch: &mut Batch, at: usize) -> Result<usize, Stop> {
        let Body::Lines { parser, .. } = &mut self.body else { return Err(Stop::End) };
        let (line, bytes, has_end) = first_line(&batch.text[at..batch.filled]);
        if line.len() >= HEAD_BYTES {
            return Err(self.too_long(line));
        }
        if !is_data(line) {
            return Ok(bytes);
        }
        match parser.line(line) {
            Ok(Line::Record(record)) => self.push(batch, record, at),
            Ok(Line::AfterFlush(record)) => {
                self.push(batch, Record::flush(record.at, record.device), at);
                self.push(batch, record, at);
            }
            Ok(Line::Noted(record, what)) => {
                batch.note(what);
                self.push(batch, record, at);
            }
            Ok(Line::Skip(why)) => batch.note(why),
            Err(_) if self.tolerated > 0 => {
                self.tolerated -= 1;
                batch.note("unreadable_lines");
            }
            Err(LineError { problem, expected }) => {
                let truncated = if has_end {
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
        Ok(bytes)
    }

    fn push(&mut self, batch: &mut Batch, mut record: Record, mark: usize) {
        if let Some(directions) = &mut self.directions {
            record.op = directions.draw();
            batch.note(DRAWN);
        }
        batch.push(record, mark as u64);
    }

    fn fill_from_bytes(&mut self, batch: &mut Batch) -> Option<Stop> {
        batch.is_text = false;
        loop {
            let Body::Bytes(source) = &mut self.body else { return Some(Stop::End) };
            let first = batch.records.len();
            let read = source.read(batch);
            if let Some(directions) = &mut self.directions {
                directions.draw_all(batch, first);
            }
            match read {
                Ok(true) => return None,
                Ok(false) => return Some(Stop::End),
                Err(Unreadable::Record(_)) if self.tolerated > 0 => {
                    self.tolerated -= 1;
                    batch.note("unreadable_records");
                }
                Err(Unreadable::Record(LineError { problem, expected })) => {
                    return Some(self.error(&format!("{problem}, expected {expected}")));
                }
                Err(Unreadable::Lost(problem)) => return Some(self.error(&problem)),
                Err(Unreadable::Input(error)) => {
                    let number = self.number();
                    let place = format!("record {number}");
                    let place = if number == 0 { "" } else { &place };
                    return Some(Stop::Error(broken(&self.name, place, &error)));
                }
            }
        }
    }

    #[cold]
    fn too_long(&self, line: &[u8]) -> Stop {
        self.error(&format!(
            "the line is longer than {} KiB, expected a trace; it begins with \"{}\"",
            HEAD_BYTES >> 10,
            shown(&line[..HEAD_BYTES])
        ))
    }

    /// An error about the last line or record.
    #[cold]
    fn error(&self, problem: &str) -> Stop {
        let is_text = matches!(self.body, Body::Lines { .. });
        Stop::Error(error_at(&self.name, is_text, self.number(), problem))
    }
}
