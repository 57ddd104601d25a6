//! A row of the table of formats: its name, detection, reading and writing.

use super::known::Known;
use super::writing::Writer;
use crate::error::BuildError;
use crate::read::head::Head;
use crate::read::lines::LineParser;
use crate::read::source::{Opening, Source};
use crate::read::stated::ReadOptions;
use crate::record::Clock;
use engine::Time;
use options::Invalid;

/// Reader of a format.
pub(crate) enum Reader {
    /// Line by line, by code.
    Lines(ParserOf),
    /// Line by line, by the pattern of a line.
    Known(&'static Known),
    /// From bytes.
    Bytes(fn(Opening<'_>) -> Result<Box<dyn Source>, BuildError>),
}

/// Constructor of a parser, from declared properties and the beginning of the file.
pub(crate) type ParserOf = fn(&ReadOptions, &Head) -> Result<Box<dyn LineParser>, Invalid>;

/// Parser of response times, ns.
pub(crate) type Response = fn(&[u8]) -> Option<Time>;

/// Description of a trace format.
pub struct Format {
    /// Name of the format.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// True if the beginning of a file matches this format; `None` if the format must be named.
    pub(crate) detect: Option<fn(&Head) -> bool>,
    /// `detect` for files that no other format recognises.
    pub(crate) otherwise: Option<fn(&Head) -> bool>,
    /// True if files begin with column names.
    pub(crate) has_header: bool,
    /// Reader.
    pub(crate) reader: Reader,
    /// Zero point of the times.
    pub clock: Clock,
    /// Clock tick in ns, if many requests share a time because of a coarse clock.
    pub tick_ns: Option<Time>,
    /// Maximum step back in time of intact files, ns.
    pub disorder_ns: Time,
    /// True if the time in a line is the gap from a completion to the next request.
    pub gaps_after_answers: bool,
    /// Required keys, with values for the sample.
    pub(crate) stated: &'static [(&'static str, &'static str)],
    /// Optional keys.
    pub(crate) may_state: &'static [&'static str],
    /// The response time in a line, ns, from arrival to completion.
    pub(crate) response: Option<Response>,
    /// A short valid trace that only this format recognises.
    pub sample: fn() -> Vec<u8>,
    /// Writer, if supported.
    pub write: Option<Writer>,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Format").field(&self.name).finish()
    }
}

/// One millisecond: bound on the disorder of events from several processors.
const NEARLY_ORDERED_NS: Time = 1_000_000;

impl Format {
    /// A row with common properties; fields for special formats are set afterwards.
    pub(super) const fn new(
        name: &'static str,
        summary: &'static str,
        reader: Reader,
        sample: fn() -> Vec<u8>,
    ) -> Self {
        Format {
            name,
            summary,
            detect: None,
            otherwise: None,
            has_header: false,
            reader,
            clock: Clock::Start,
            tick_ns: None,
            disorder_ns: NEARLY_ORDERED_NS,
            gaps_after_answers: false,
            stated: &[],
            may_state: &[],
            response: None,
            sample,
            write: None,
        }
    }

    /// True if lines state response times.
    pub fn states_responses(&self) -> bool {
        self.response.is_some() || matches!(self.reader, Reader::Known(known) if known.times_ends())
    }

    /// True if the beginning of a file is recognised as this format.
    pub(crate) fn claims(&self, head: &Head) -> bool {
        match self.reader {
            Reader::Known(known) if self.detect.is_none() => known.is_of(head),
            _ => self.detect.is_some_and(|detect| detect(head)),
        }
    }

    /// True if requests have separate issue and completion events.
    pub fn has_events(&self) -> bool {
        self.may_state.contains(&"event")
    }

    /// True if the beginning of a file identifies the format; otherwise the format must be named.
    pub fn is_recognised(&self) -> bool {
        self.detect.is_some() || matches!(self.reader, Reader::Known(_))
    }

    /// Keys required for reading.
    pub fn must_state(&self) -> impl Iterator<Item = &'static str> {
        self.stated.iter().map(|(key, _)| *key)
    }
}
