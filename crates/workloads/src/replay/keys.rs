//! The keys of a replay: what is stated about the trace, and what is done to its requests.
//!
//! What they do to the stream is in the files beside this one. A key that says what a file cannot say
//! of itself (unit, columns, direction) has no default: without it the file is refused.

use super::limit::Limit;
use super::placement::Beyond;
use super::selection::{Combine, Devices};
use crate::checks;
use crate::formats::{Format, format_named};
use crate::read::columns::Columns;
use crate::read::inputs::STANDARD_INPUT;
use crate::read::stated::{BlockEvent, ReadOptions, TimeUnit};
use options::Invalid;

options::choices! {
    /// When the first request of a trace is replayed.
    pub enum Start {
        /// At its recorded time if that counts from the start of the trace, at 0 if from a date.
        Format = "format",
        /// At its recorded time.
        Recorded = "recorded",
        /// At 0.
        Zero = "zero",
    }

    /// What the gaps between the recorded requests are.
    pub enum Gaps {
        /// What the format says: "answer" for validate, where the requests of a drive under test are
        /// told one by one; "arrival" for the others.
        Format = "format",
        /// From one arrival to the next: requests come at their recorded times, whatever the device does.
        Arrival = "arrival",
        /// From an answer to the next request: each waits for the answer to the one before it.
        Answer = "answer",
    }

    /// What becomes of requests that share a time because the trace's clock is coarse.
    pub enum Spreading {
        /// Even for formats whose clock counts whole seconds, none for others.
        Format = "format",
        /// They arrive together.
        None = "none",
        /// They are spread evenly over the clock's tick.
        Even = "even",
    }
}

options::options! {
    // As many fields as there are keys: their defaults and their reference are made from it.
    /// A recorded trace, plain or compressed (gzip, bzip2, xz or zstd).
    pub struct Trace as TracePartial {
        /// The trace file; "-" is standard input. Of a blktrace, the file of the first processor.
        path: String = String::new(),
        /// The trace's format; without it the beginning of the file decides.
        format: Option<String> = None,
        /// The unit of the times, for formats that leave it open.
        time_unit: TimeUnit = TimeUnit::Own,
        /// The columns of a table in no known format, as "time=1:us,op=3,offset=4:bytes,size=5".
        columns: Option<String> = None,
        /// What blkparse's lines look like, as its option -f says it.
        layout: Option<String> = None,
        /// Which event of a request is its arrival, in traces of Linux's block layer.
        event: BlockEvent = BlockEvent::Auto,
        /// Share of the requests that read, for formats that do not say which do.
        read_share: Option<f64> = None,
        /// So many unreadable lines or records are left out and counted; the next is an error.
        skip_bad: u64 = 0,
        /// The devices (volumes, units) of the trace that are replayed: all, first, or numbers.
        devices: Devices = Devices::All,
        /// How several devices become one.
        combine: Combine = Combine::Overlay,
        /// Sectors by which all addresses are moved up, to align them.
        align_shift: u64 = 0,
        /// What becomes of requests beyond the device's capacity.
        beyond: Beyond = Beyond::Error,
        /// When the first request is replayed.
        start: Start = Start::Format,
        /// What the gaps between requests are.
        gaps: Gaps = Gaps::Format,
        /// What becomes of requests that share a tick of a coarse clock.
        spread: Spreading = Spreading::Format,
        /// Longer gaps between requests are shortened to this, in the trace's time; "none" keeps
        /// them.
        max_gap: Limit = Limit::NONE,
        /// Factor on all arrival times: 0.5 asks twice as fast.
        time_scale: f64 = 1.0,
        /// How far a line's time may lie behind the newest before it, in the trace's time; within
        /// that, requests are put in order of time. With "none", as far as the format's files do.
        reorder_window: Limit = Limit::NONE,
        /// Only the first so many requests of the file; without it, all.
        requests: Option<u64> = None,
        /// Only the first so much of the trace's time; with "none", all.
        duration: Limit = Limit::NONE,
        /// How many times the trace is replayed, one after the other.
        loops: u64 = 1,
    }
}

/// The declared columns.
fn columns(text: &str) -> Result<Columns, Invalid> {
    text.parse().map_err(|problem: String| Invalid::new(&["workload.columns"], problem))
}

impl Trace {
    /// The format that is named, if one is.
    ///
    /// # Errors
    /// When there is no such format.
    pub fn named_format(&self) -> Result<Option<&'static Format>, Invalid> {
        self.format.as_deref().map(format_named).transpose()
    }

    /// What is stated for the reader, with the seed for what is drawn.
    ///
    /// # Errors
    /// When the columns are none.
    pub fn read_options(&self, seed: u64) -> Result<ReadOptions, Invalid> {
        Ok(ReadOptions {
            time_unit: self.time_unit,
            columns: self.columns.as_deref().map(columns).transpose()?,
            layout: self.layout.clone(),
            event: self.event,
            read_share: self.read_share,
            seed,
            skip_bad: self.skip_bad,
        })
    }

    /// Whether all addresses must be known before the first request.
    pub(super) fn needs_survey(&self) -> bool {
        self.beyond == Beyond::Scale || self.combine != Combine::Overlay
    }

    /// Refuses what no trace can be replayed with.
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
        ];
        for (key, reads_twice) in twice {
            if reads_twice && self.path == STANDARD_INPUT {
                let problem = "this reads the trace more than once, which standard input does not \
                               allow: name a file";
                return Err(Invalid::new(&[key, "workload.path"], problem));
            }
        }
        Ok(())
    }
}
