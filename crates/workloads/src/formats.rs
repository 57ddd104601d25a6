//! The table of trace formats: what each is called, how it is recognised, read and written.
//!
//! A new format is one file in `formats/` with a `FORMAT` row, and its word in the table below.
//! Readers of text see one line at a time, readers of binary formats a stream of bytes; none sees
//! a file. They accept any bytes without panicking, and what they cannot read they describe.

use crate::head::Head;
use crate::lines::LineParser;
use crate::reading::ReadOptions;
use crate::source::{Opening, Source};
use engine::{Op, Time};
use options::Invalid;
use std::io::{self, Write};

/// What a trace says of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Arrival, ns, as the trace counts it.
    pub at: Time,
    /// The trace's number for the device that was asked.
    pub device: u32,
    /// What was asked.
    pub op: Op,
    /// First sector of 512 B.
    pub sector: u64,
    /// Length in sectors: at least 1, except for a flush, which has none.
    pub sectors: u32,
    /// Whether the data had to be durable at completion (forced unit access).
    pub fua: bool,
}

impl Record {
    /// A flush: it asks for no sectors.
    pub(crate) fn flush(at: Time, device: u32) -> Self {
        Record { at, device, op: Op::Flush, sector: 0, sectors: 0, fua: false }
    }
}

/// What one line of a trace turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// A request.
    Record(Record),
    /// A flush and, once that is done, this request.
    AfterFlush(Record),
    /// A request whose bytes do not end at sectors; the sectors that it touches.
    Rounded(Record),
    /// No request, and why not.
    Skip(&'static str),
}

/// Why a line or record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// What is wrong, with the offending text.
    pub problem: String,
    /// What a correct line or field looks like.
    pub expected: &'static str,
}

/// From when a format's times count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// From the start of the trace: times are replayed as they stand.
    Start,
    /// From a date or a boot: the first request is replayed at 0.
    Epoch,
}

/// How a format is read.
pub(crate) enum Reader {
    /// Line by line, each by itself.
    Line(fn(&[u8]) -> Result<Line, LineError>),
    /// Line by line, with something remembered or stated.
    Lines(ParserOf),
    /// From bytes.
    Bytes(fn(Opening<'_>) -> Result<Box<dyn Source>, crate::BuildError>),
}

/// Makes the parser of a trace by what is stated about it and by its beginning.
pub(crate) type ParserOf = fn(&ReadOptions, &Head) -> Result<Box<dyn LineParser>, Invalid>;

/// What a writer could not say in its format, as (what, how many).
pub type Losses = Vec<(&'static str, u64)>;

/// Finds the response time in a line, ns, if there is one.
pub(crate) type Response = fn(&[u8]) -> Option<Time>;

/// Writes records as a file of a format.
pub type Writer = fn(&mut dyn Iterator<Item = Record>, &mut dyn Write) -> io::Result<Losses>;

/// One row of the table of formats.
pub struct Format {
    /// The word that names it.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Whether the beginning of a file looks like this format; without it, it must be named.
    pub(crate) detect: Option<fn(&Head) -> bool>,
    /// How it is read.
    pub(crate) reader: Reader,
    /// From when its times count.
    pub clock: Clock,
    /// How coarse its clock is, ns, if many requests share a time for that reason.
    pub tick_ns: Option<Time>,
    /// How far its files step back in time without being broken, ns.
    pub disorder_ns: Time,
    /// What must be stated for it, as keys and values that read its sample.
    pub(crate) stated: &'static [(&'static str, &'static str)],
    /// The keys that may be stated beside those.
    pub(crate) may_state: &'static [&'static str],
    /// The response time that a line states, ns: its request's time from arrival to completion.
    pub(crate) response: Option<Response>,
    /// A short valid trace; its beginning is recognised as this format and as no other.
    pub sample: fn() -> Vec<u8>,
    /// Writes it, if that is supported.
    pub write: Option<Writer>,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Format").field(&self.name).finish()
    }
}

/// One millisecond: interrupts on several processors mix up no more.
const NEARLY_ORDERED_NS: Time = 1_000_000;

impl Format {
    /// A row with nothing special; what is special is laid over it.
    const fn new(
        name: &'static str,
        summary: &'static str,
        reader: Reader,
        sample: fn() -> Vec<u8>,
    ) -> Self {
        Format {
            name,
            summary,
            detect: None,
            reader,
            clock: Clock::Start,
            tick_ns: None,
            disorder_ns: NEARLY_ORDERED_NS,
            stated: &[],
            may_state: &[],
            response: None,
            sample,
            write: None,
        }
    }

    /// Whether its lines state the response times of their requests.
    pub fn states_responses(&self) -> bool {
        self.response.is_some()
    }

    /// Whether it has issues and completions of requests as events of their own.
    pub fn has_events(&self) -> bool {
        self.may_state.contains(&"event")
    }

    /// Whether the beginning of a file tells the format; otherwise it must be named.
    pub fn is_recognised(&self) -> bool {
        self.detect.is_some()
    }

    /// The keys that must be stated to read it.
    pub fn must_state(&self) -> impl Iterator<Item = &'static str> {
        self.stated.iter().map(|(key, _)| *key)
    }
}

/// Declares the module and the row of each format.
macro_rules! formats {
    ($($format:ident),* $(,)?) => {
        $(mod $format;)*

        /// Every trace format, in the order in which lists show them.
        pub static FORMATS: &[Format] = &[$($format::FORMAT),*];
    };
}

formats! {
    disksim,
    validate,
    mqsim,
    flashsim,
    spc,
    msr,
    etw,
    blkparse,
    blktrace,
    fio,
    srt,
    systor17,
    alibaba,
    tencent,
    fiu,
    vscsi,
    libcachesim,
    oracle_general,
    nexus5,
    wiscsee,
    csv,
    parquet,
}

pub(crate) use blktrace::byte_order;

/// The format of that name.
///
/// # Errors
/// When there is none: names the formats there are, and the nearest.
pub fn format_named(name: &str) -> Result<&'static Format, Invalid> {
    FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        let words = FORMATS.iter().map(|format| format.name);
        crate::checks::unknown_word("workload.format", name, words)
    })
}

/// The only format that recognises the beginning of a file, or why there is none.
pub(crate) fn detect(head: &Head) -> Result<&'static Format, String> {
    only(FORMATS, head)
}

fn only<'a>(formats: &'a [Format], head: &Head) -> Result<&'a Format, String> {
    let claims: Vec<&Format> =
        formats.iter().filter(|row| row.detect.is_some_and(|detect| detect(head))).collect();
    let binary = head.lines.is_empty();
    match claims[..] {
        [format] => Ok(format),
        [] => {
            let rows: Vec<String> = formats
                .iter()
                .filter(|row| matches!(row.reader, Reader::Bytes(_)) == binary)
                .map(|row| format!("{} ({})", row.name, row.summary))
                .collect();
            let what = if binary { "looks like binary data, which is" } else { "the lines are" };
            Err(format!(
                "{what} in no known format; the formats are: {}; if it is one of them, name it \
                 with workload.format",
                rows.join(", ")
            ))
        }
        _ => {
            let names: Vec<&str> = claims.iter().map(|format| format.name).collect();
            let names = names.join(" or ");
            Err(format!("its beginning could be {names}: name one with workload.format"))
        }
    }
}

/// The number of a Linux device: 12 bits of major over 20 of minor, as in its traces.
pub(crate) fn device_number(major: u32, minor: u32) -> u32 {
    (major << 20) | (minor & 0xF_FFFF)
}

/// What formats without trims and flushes lose.
const NOT_READ_OR_WRITE: &str = "trims_and_flushes";
/// What formats without forced unit access lose.
const FUA_LOST: &str = "fua_flags";
/// Requests whose place in bytes is no number of 64 bits.
const TOO_FAR: &str = "unaddressable_requests";
/// What formats with coarse times lose.
const TIMES_ROUNDED: &str = "rounded_times";

/// Counts what a writer leaves out.
#[derive(Default)]
struct Lost(Losses);

impl Lost {
    /// Counts one `what` if it `happened`.
    fn count(&mut self, what: &'static str, happened: bool) {
        if !happened {
            return;
        }
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.0.push((what, 1)),
        }
    }
}

#[cfg(test)]
#[path = "formats_tests.rs"]
mod tests;
