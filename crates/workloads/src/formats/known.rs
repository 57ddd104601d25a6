//! Formats described by line patterns: the reader for captures and for user patterns.
//!
//! A row is a regular expression with named groups, and the mapping of groups to columns. In a
//! capture, lines without a match (other events and headers) are skipped and counted. Formats in
//! which every line is a request refuse unmatched lines.

use crate::read::block_events::Seen;
use crate::read::columns::Columns;
use crate::read::head::{Head, is_data};
use crate::read::lines::{LineParser, ResponseOf};
use crate::read::reading::Reading;
use crate::read::resolve::{self, Sample};
use crate::read::stated::ReadOptions;
use crate::record::{Line, LineError};
use engine::Time;
use options::Invalid;
use regex::bytes::{CaptureLocations, Regex, RegexBuilder};

/// A format with several patterns; the first one that matches a line at the beginning of the file
/// is used.
pub(crate) struct Known(pub(crate) &'static [Pattern]);

/// Pattern of a line.
pub(crate) struct Pattern {
    /// Text at the beginning of every file of this pattern; the header of a format alone in its file. If
    /// empty, most lines must match.
    pub(crate) needs: &'static str,
    /// The regular expression.
    pub(crate) line: &'static str,
    /// Meaning of the groups.
    pub(crate) columns: &'static str,
    /// Pattern of every line in a file of this format; empty for captures, where other lines are
    /// skipped.
    pub(crate) every: &'static str,
}

const KEY: &str = "workload.pattern";

/// A regular expression over bytes: digits and letters are ASCII.
fn compiled(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).unicode(false).build()
}

impl Known {
    /// True if a line at the beginning of the file matches.
    pub(crate) fn is_of(&self, head: &Head) -> bool {
        !head.lines.is_empty() && self.chosen(head).is_some()
    }

    /// True if lines state response times.
    pub(crate) fn times_ends(&self) -> bool {
        let states = |columns: &str| {
            columns.contains("latency=") || (columns.contains("end=") && columns.contains("time="))
        };
        self.0.iter().any(|pattern| states(pattern.columns))
    }

    fn chosen(&self, head: &Head) -> Option<(&Pattern, Regex)> {
        self.0.iter().find_map(|pattern| {
            memchr::memmem::find(head.bytes, pattern.needs.as_bytes())?;
            let line = compiled(pattern.line).ok()?;
            let has = if pattern.every.is_empty() && !pattern.needs.is_empty() {
                let lines = || head.bytes.split(|byte| *byte == b'\n').filter(|it| is_data(it));
                lines().any(|it| line.is_match(it))
            } else {
                head.mostly(|it| line.is_match(it.trim_end().as_bytes()))
            };
            has.then_some((pattern, line))
        })
    }

    /// The parser for a file with this beginning.
    pub(crate) fn parser(
        &self,
        options: &ReadOptions,
        head: &Head,
    ) -> Result<Box<dyn LineParser>, Invalid> {
        let (pattern, line) = match self.chosen(head) {
            Some(chosen) => chosen,
            // If no line matches, the first strict pattern determines the error message.
            None => self.first_strict().ok_or_else(|| {
                let problem = "no line of the beginning of the trace is in this format";
                Invalid::new(&["workload.format"], problem)
            })?,
        };
        let own: Columns =
            pattern.columns.parse().map_err(|it: String| Invalid::new(&[KEY], it))?;
        let columns = own.under(options.columns.as_ref());
        let mut parser = Parser::new(line, &columns, options, head)?;
        if pattern.every.is_empty() {
            parser.reading.capture();
        }
        Ok(Box::new(Parser { every: pattern.every, header: pattern.needs, ..parser }))
    }

    fn first_strict(&self) -> Option<(&Pattern, Regex)> {
        let pattern = self.0.iter().find(|pattern| !pattern.every.is_empty())?;
        Some((pattern, compiled(pattern.line).ok()?))
    }
}

/// The parser for lines that match the user's pattern.
pub(super) fn of_user(options: &ReadOptions, head: &Head) -> Result<Box<dyn LineParser>, Invalid> {
    let refuse = |problem: String| Invalid::new(&[KEY], problem);
    let Some(text) = &options.pattern else {
        return Err(refuse("a pattern of lines is needed, with named groups".to_owned()));
    };
    let line = compiled(text).map_err(|error| {
        let said = error.to_string();
        let last = said.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        refuse(format!("\"{text}\" is no regular expression: {last}"))
    })?;
    if line.capture_names().flatten().next().is_none() {
        return Err(refuse(format!(
            "\"{text}\" names no group: (?<time_us>[0-9]+), (?<op>...), (?<sector>...), (?<sectors>...)"
        )));
    }
    if !head.bytes.split(|byte| *byte == b'\n').any(|it| line.is_match(it.trim_ascii_end())) {
        return Err(refuse(format!("no line of the beginning of the trace matches \"{text}\"")));
    }
    let columns = options.columns.as_ref();
    let given = Columns::default().under(columns);
    Ok(Box::new(Parser::new(line, &given, options, head)?))
}

struct Parser {
    /// Beginning of a header, where files have one.
    header: &'static str,
    /// Pattern of every line; empty if other lines are skipped.
    every: &'static str,
    line: Regex,
    places: CaptureLocations,
    /// Group index of each column.
    groups: Vec<usize>,
    reading: Reading,
}

impl Parser {
    fn new(
        line: Regex,
        columns: &Columns,
        options: &ReadOptions,
        head: &Head,
    ) -> Result<Self, Invalid> {
        let named = line.capture_names().enumerate();
        let (groups, names): (Vec<usize>, Vec<String>) =
            named.filter_map(|(group, name)| Some((group, name?.to_owned()))).unzip();
        let lines = || head.bytes.split(|byte| *byte == b'\n').filter(|it| is_data(it));
        let matching = lines().filter_map(|it| line.captures(it.trim_ascii_end()));
        let mut rows: Vec<Vec<&[u8]>> = Vec::new();
        for found in matching {
            let value = |group: &usize| found.get(*group).map_or(&b""[..], |it| it.as_bytes());
            rows.push(groups.iter().map(value).collect());
        }
        let draws = options.read_share.is_some();
        let mut seen = Seen::default();
        let sample = Sample { names: &names, rows };
        let given = (!columns.0.is_empty()).then_some(columns);
        let mut reading = resolve::reading(given, draws, &sample)?;
        for row in &sample.rows {
            if let Some(letter) = reading.event(|index| row.get(index).copied()) {
                seen.note(letter);
            }
        }
        reading.choose(seen.chosen(options.event));
        let places = line.capture_locations();
        Ok(Parser { every: "", header: "", line, places, groups, reading })
    }
}

impl LineParser for Parser {
    fn line(&mut self, line: &[u8]) -> Result<Line, LineError> {
        let line = line.trim_ascii_end();
        let Parser { every, header, line: pattern, places, groups, reading } = self;
        if pattern.captures_read(places, line).is_none() {
            if every.is_empty() {
                return Ok(Line::Skip("other_lines"));
            }
            if !header.is_empty() && line.starts_with(header.as_bytes()) {
                return Ok(Line::Skip("header_lines"));
            }
            let problem = "it is no line of this format".to_owned();
            return Err(LineError { problem, expected: every });
        }
        reading.line(|index| {
            let (from, to) = places.get(*groups.get(index)?).unwrap_or((0, 0));
            line.get(from..to)
        })
    }

    fn responses(&self) -> Option<Box<ResponseOf>> {
        let reading = self.reading.stating_responses()?;
        let (pattern, groups) = (self.line.clone(), self.groups.clone());
        Some(Box::new(move |line| {
            let found = pattern.captures(line.trim_ascii_end())?;
            reading.response(|index| found.get(*groups.get(index)?).map(|it| it.as_bytes()))
        }))
    }

    fn tick_ns(&self) -> Option<Time> {
        // The format states the tick of such a clock.
        self.reading.tick_ns().filter(|_| self.every.is_empty())
    }
}
