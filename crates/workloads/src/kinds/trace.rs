//! Replays a trace: the requests of a recorded workload at their recorded times.
//!
//! Requests are streamed in order of time and within the device, whatever the file's size; what
//! was put in order, wrapped or scaled is counted. Devices of the trace are not told apart: all
//! their requests go to one address space, and those not of the first line's device are counted.

use super::{BuildError, Context, Kind};
use crate::checks;
use crate::formats::{Format, Record, format_named};
pub use crate::placement::Beyond;
use crate::placement::{Misplaced, Placement};
use crate::records::{Records, reason};
use crate::reorder::{Late, Reorder};
use crate::time_scale::TimeScale;
use engine::{Arrival, Completion, Lba, Op, Request, SECTOR_BYTES, Time, Workload, WorkloadError};
use options::{Duration, Invalid};
use std::io::{self, Read};

options::options! {
    /// A recorded trace, plain or compressed (gzip, bzip2, xz or zstd).
    pub struct Trace as TracePartial {
        /// The trace file.
        path: String = String::new(),
        /// The trace's format; without it the first lines decide.
        format: Option<String> = None,
        /// What becomes of requests beyond the device's capacity.
        beyond: Beyond = Beyond::Error,
        /// Factor on all arrival times: 0.5 asks twice as fast.
        time_scale: f64 = 1.0,
        /// How far a line's time may lie behind the newest before it, in the trace's time; within
        /// that, requests are put in order of time.
        reorder_window: Duration = Duration::from_ns(1_000_000),
        /// Only the first so many requests of the file; without it, all.
        requests: Option<u64> = None,
    }
}

impl Kind for Trace {
    const SUMMARY: &'static str = "a recorded trace, replayed at its recorded times";

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        if self.path.is_empty() {
            return Err(Invalid::new(&["workload.path"], "a trace needs the path of a file").into());
        }
        let open = || (context.open)(&self.path);
        Ok(Box::new(TraceReader::new(&open, self, context.capacity_sectors)?))
    }
}

/// A trace while it is replayed.
pub struct TraceReader {
    records: Records,
    left: u64,
    expected: Option<u64>,
    placement: Placement,
    scale: TimeScale,
    window: Duration,
    order: Reorder<Placed>,
    issued: u64,
    first_device: Option<u32>,
    other_device: u64,
    moved: u64,
}

/// A request that lies within the device and waits for its turn.
#[derive(Debug, Clone, Copy)]
struct Placed {
    op: Op,
    sector: u64,
    sectors: u32,
}

impl TraceReader {
    /// Starts to replay what `open` gives, on a device of `capacity_sectors`.
    ///
    /// `open` starts from the beginning each time; it is called twice if addresses are scaled.
    ///
    /// # Errors
    /// When an option breaks a rule, the input cannot be opened, or is no trace.
    pub fn new(
        open: &dyn Fn() -> io::Result<Box<dyn Read + Send>>,
        options: &Trace,
        capacity_sectors: u64,
    ) -> Result<Self, BuildError> {
        let limit = options.requests.unwrap_or(u64::MAX);
        checks::positive("workload.requests", limit)?;
        let scale = checks::time_scale(options.time_scale)?;
        let format = options.format.as_deref().map(format_named).transpose()?;
        let start = || start(open, &options.path, format);
        let mut expected = None;
        let placement = match options.beyond {
            Beyond::Error => Placement::Refuse { capacity: capacity_sectors },
            Beyond::Wrap => Placement::Wrap { capacity: capacity_sectors },
            Beyond::Scale => {
                let (span, requests) = survey(start()?, limit).map_err(input)?;
                expected = Some(requests);
                if span > capacity_sectors {
                    Placement::Shrink { capacity: capacity_sectors, span }
                } else {
                    Placement::Refuse { capacity: capacity_sectors }
                }
            }
        };
        Ok(TraceReader {
            records: start()?,
            left: limit,
            expected,
            placement,
            scale,
            window: options.reorder_window,
            order: Reorder::new(options.reorder_window.ns()),
            issued: 0,
            first_device: None,
            other_device: 0,
            moved: 0,
        })
    }

    /// The format that the trace is read in.
    pub fn format(&self) -> &'static Format {
        self.records.format()
    }

    /// Takes one more record into the order; `false` at the end.
    fn read(&mut self) -> Result<bool, WorkloadError> {
        if self.left == 0 {
            return Ok(false);
        }
        let Some(record) = self.records.next_record()? else {
            self.left = 0;
            return Ok(false);
        };
        self.left -= 1;
        let sector = self
            .placement
            .place(record.sector, record.sectors)
            .map_err(|misplaced| self.misplaced(misplaced, &record))?;
        let scaled = matches!(self.placement, Placement::Shrink { .. });
        self.moved += u64::from(scaled || sector != record.sector);
        let first = *self.first_device.get_or_insert(record.device);
        self.other_device += u64::from(record.device != first);
        let placed = Placed { op: record.op, sector, sectors: record.sectors };
        self.order.push(record.at, placed).map_err(|late| self.late(late, record.at))?;
        Ok(true)
    }

    #[cold]
    fn misplaced(&self, misplaced: Misplaced, record: &Record) -> WorkloadError {
        let (Placement::Refuse { capacity }
        | Placement::Wrap { capacity }
        | Placement::Shrink { capacity, .. }) = self.placement;
        let device = format!(
            "the device's {capacity} sectors ({:.2} GiB)",
            capacity as f64 * SECTOR_BYTES as f64 / f64::from(1 << 30)
        );
        let Record { sector, sectors, .. } = *record;
        self.records.error(&match misplaced {
            Misplaced::Beyond => format!(
                "the request of {sectors} sectors from sector {sector} ends beyond {device}; \
                 workload.beyond = \"error\" refuses that, \"wrap\" takes addresses modulo the \
                 capacity, \"scale\" shrinks all addresses to it"
            ),
            Misplaced::TooLarge => format!("the request of {sectors} sectors exceeds {device}"),
        })
    }

    #[cold]
    fn late(&self, late: Late, at: Time) -> WorkloadError {
        let at_text = Duration::from_ns(at);
        self.records.error(&match late {
            Late::BeyondWindow { newest } => format!(
                "time steps back from {} to {at_text}, further than workload.reorder_window = \
                 \"{}\"; set it to at least \"{}\" to have such requests put in order",
                Duration::from_ns(newest),
                self.window,
                Duration::from_ns(newest - at)
            ),
            Late::BeyondBuffer { released, capacity } => format!(
                "time steps back to {at_text}, behind the request of {} that has left already; \
                 within workload.reorder_window at most {capacity} requests are held, so sort \
                 the trace by time",
                Duration::from_ns(released)
            ),
        })
    }
}

fn input(error: WorkloadError) -> BuildError {
    BuildError::Input(error.0)
}

/// Opens the trace at its beginning.
fn start(
    open: &dyn Fn() -> io::Result<Box<dyn Read + Send>>,
    path: &str,
    format: Option<&'static Format>,
) -> Result<Records, BuildError> {
    let opened = open().map_err(|error| {
        BuildError::Input(format!("cannot open trace {path}: {}", reason(&error)))
    })?;
    Records::new(opened, path, format).map_err(input)
}

/// The largest end sector among the first `limit` requests, and how many there are.
fn survey(mut records: Records, limit: u64) -> Result<(u64, u64), WorkloadError> {
    let (mut span, mut requests) = (0, 0);
    while requests < limit {
        let Some(record) = records.next_record()? else { break };
        span = span.max(record.sector.saturating_add(u64::from(record.sectors)));
        requests += 1;
    }
    Ok((span, requests))
}

impl Workload for TraceReader {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        let (at, placed) = loop {
            if let Some(settled) = self.order.pop(false) {
                break settled;
            }
            if !self.read()? {
                match self.order.pop(true) {
                    Some(last) => break last,
                    None => return Ok(None),
                }
            }
        };
        let Some(at) = self.scale.apply(at) else {
            return Err(self.records.error(&format!(
                "{} times workload.time_scale is more than 500 years",
                Duration::from_ns(at)
            )));
        };
        let Placed { op, sector, sectors } = placed;
        let request = Request { id: self.issued, op, lba: Lba(sector), sectors };
        self.issued += 1;
        Ok(Some(Arrival { at: at.max(now), request }))
    }

    fn completed(&mut self, _completion: &Completion) {}

    fn expected_requests(&self) -> Option<u64> {
        self.expected
    }

    fn notices(&self) -> Vec<(&'static str, u64)> {
        let moved = match self.placement {
            Placement::Shrink { .. } => "scaled_requests",
            Placement::Refuse { .. } | Placement::Wrap { .. } => "wrapped_requests",
        };
        let mut notices = vec![
            ("backward_steps", self.order.backward_steps()),
            ("other_device_requests", self.other_device),
            (moved, self.moved),
        ];
        notices.retain(|(_, count)| *count > 0);
        notices
    }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
