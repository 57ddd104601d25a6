//! The keys of a replay: statements about the trace, and changes to its requests.
//!
//! The other files of this folder implement the changes. A key for information that a file lacks
//! (unit, columns, direction) has no default: without it the file is refused.

use super::limit::Limit;
use super::moves::LoopPlaces;
use super::placement::Beyond;
use super::selection::{Combine, Devices};
use crate::checks;
use crate::formats::{Format, format_named};
use crate::read::columns::Columns;
use crate::read::inputs::STANDARD_INPUT;
use crate::read::stated::{BlockEvent, ReadOptions, TimeUnit};
use options::Invalid;

options::choices! {
    /// Arrival time of the first request of a trace.
    pub enum Start {
        /// Recorded time if relative to the trace's start, 0 for dates.
        Format = "format",
        /// Recorded time.
        Recorded = "recorded",
        /// 0.
        Zero = "zero",
    }

    /// Meaning of the gaps between recorded requests.
    pub enum Gaps {
        /// Format's default: "answer" for validate, which records the requests of a drive under
        /// test one by one; "arrival" for the others.
        Format = "format",
        /// Arrival to arrival: requests arrive at their recorded times, whatever the device does.
        Arrival = "arrival",
        /// Completion to request: each request waits for the completion of the previous one.
        Answer = "answer",
    }

    /// Spreading of requests with equal times of a coarse trace clock.
    pub enum Spreading {
        /// Even for formats with a clock of whole seconds, else none.
        Format = "format",
        /// Simultaneous arrivals.
        None = "none",
        /// Arrivals evenly spaced within the clock's tick.
        Even = "even",
    }
}

options::options! {
    // One field per key: their defaults and their reference are made from it.
    /// A recorded trace, plain or compressed (gzip, bzip2, xz or zstd).
    pub struct Trace as TracePartial {
        /// The trace file; "-" is standard input. For blktrace, the file of the first CPU.
        path: String = String::new(),
        /// Trace format; detected from the start of the file if not given.
        format: Option<String> = None,
        /// Unit of times, for formats that lack one.
        time_unit: TimeUnit = TimeUnit::Own,
        /// Columns of a table, or groups of the pattern, such as "time=1:us,op=3,offset=4:bytes,size=5" or
        /// "time=ts,op=opcode:1=write,2=read,offset=slba*4096,size=(nlb+1)*4096".
        columns: Option<String> = None,
        /// Regular expression of the lines that are requests, whose named groups are columns:
        /// "(?<time_us>[0-9]+) (?<op>[RW]) (?<sector>[0-9]+) (?<sectors>[0-9]+)".
        pattern: Option<String> = None,
        /// Line format of blkparse output (its option -f).
        layout: Option<String> = None,
        /// Event that counts as the arrival, in Linux block-layer traces.
        event: BlockEvent = BlockEvent::Auto,
        /// Share of reads, for formats that do not record reads and writes.
        read_share: Option<f64> as Ratio = None,
        /// Number of unreadable lines or records to skip (and count) before an error.
        skip_bad: u64 = 0,
        /// Devices (volumes, units) of the trace to replay: all, first, or numbers.
        devices: Devices = Devices::All,
        /// Combination of several traced devices into one.
        combine: Combine = Combine::Overlay,
        /// Sectors by which all addresses are shifted up, for alignment.
        align_shift: u64 = 0,
        /// True if the trace has commands of NVMe beside reads, writes, trims and flushes: zeroes, compare,
        /// miscompare, compare_write, miscompare_write, verify, uncorrectable, range and copy.
        commands: bool = false,
        /// Mapping of the trace's addresses, and treatment of those beyond the capacity.
        beyond: Beyond = Beyond::Span,
        /// Arrival time of the first request.
        start: Start = Start::Format,
        /// Meaning of recorded times: arrivals, or gaps after answers.
        gaps: Gaps = Gaps::Format,
        /// Spreading of requests within one tick of a coarse clock.
        spread: Spreading = Spreading::Format,
        /// Longer gaps between requests are shortened to this limit, in the trace's time; "none"
        /// keeps them.
        max_gap: Limit = Limit::NONE,
        /// Factor on all arrival times: 0.5 doubles the request rate.
        time_scale: f64 = 1.0,
        /// Reorder window in the trace's time: requests that far behind the newest one are sorted by time.
        /// With "none", the default of the format.
        reorder_window: Limit = Limit::NONE,
        /// Only the first N requests of the file; all if not given.
        requests: Option<u64> = None,
        /// Only the first part of the trace, in the trace's time; "none": all.
        duration: Limit = Limit::NONE,
        /// Number of consecutive replays of the trace.
        loops: u64 = 1,
        /// The places of the replays after the first, preconditioning included.
        loop_places: LoopPlaces = LoopPlaces::Same,
    }
}

/// The declared columns.
fn columns(text: &str) -> Result<Columns, Invalid> {
    text.parse().map_err(|problem: String| Invalid::new(&["workload.columns"], problem))
}

impl Trace {
    /// The named format, if any.
    ///
    /// # Errors
    /// When the format does not exist.
    pub fn named_format(&self) -> Result<Option<&'static Format>, Invalid> {
        self.format.as_deref().map(format_named).transpose()
    }

    /// Options of the reader, with the seed for drawn values.
    ///
    /// # Errors
    /// When the columns are invalid.
    pub fn read_options(&self, seed: u64) -> Result<ReadOptions, Invalid> {
        Ok(ReadOptions {
            time_unit: self.time_unit,
            columns: self.columns.as_deref().map(columns).transpose()?,
            layout: self.layout.clone(),
            pattern: self.pattern.clone(),
            event: self.event,
            read_share: self.read_share,
            seed,
            skip_bad: self.skip_bad,
        })
    }

    /// True if the spans of addresses must be known before the first request.
    pub(super) fn needs_survey(&self) -> bool {
        self.beyond == Beyond::Scale
            || self.combine != Combine::Overlay
            || self.loop_places == LoopPlaces::Moved
    }

    /// True if known spans are useful, provided that the trace can be reread.
    pub(super) fn wants_survey(&self) -> bool {
        self.beyond == Beyond::Span
    }

    /// Refuses keys that are invalid for every trace.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        if self.path.is_empty() {
            let problem = "a trace needs the path of a file";
            return Err(Invalid::new(&["workload.path"], problem));
        }
        checks::positive("workload.requests", self.requests.unwrap_or(1))?;
        checks::positive("workload.loops", self.loops)?;
        checks::positive("workload.duration", self.duration.ns().unwrap_or(1))?;
        let twice = [
            ("workload.beyond", self.beyond == Beyond::Scale),
            ("workload.combine", self.combine != Combine::Overlay),
            ("workload.loops", self.loops > 1),
            ("workload.loop_places", self.loop_places == LoopPlaces::Moved),
        ];
        for (key, reads_twice) in twice {
            if reads_twice && self.path == STANDARD_INPUT {
                let problem = "this reads the trace more than once, which standard input does not \
                               allow: name a file";
                return Err(Invalid::new(&[key, "workload.path"], problem));
            }
        }
        if self.loop_places == LoopPlaces::Moved && self.beyond == Beyond::Dense {
            let problem = "\"dense\" renumbers the pages in the order of their first touch, so that replays at other \
                           places would fill the device";
            return Err(Invalid::new(&["workload.loop_places", "workload.beyond"], problem));
        }
        Ok(())
    }
}
