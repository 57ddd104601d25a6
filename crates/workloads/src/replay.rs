//! The replay of a trace: the effect of every key of the trace kind on the stream of records.
//!
//! Files of any size become a stream of requests in time order, within the device. Each request
//! is selected by device (`feed`), moved and mapped to the device (`targets`), sorted (`reorder`),
//! spread over a clock tick (`tick_spread`), retimed (`retiming`), and scaled. Skipped or changed
//! requests are counted.

mod answered;
mod covered;
mod feed;
mod keys;
mod limit;
mod moves;
mod placement;
mod reorder;
mod retiming;
mod selection;
mod targets;
mod tick_spread;

use crate::checks;
use crate::error::BuildError;
use crate::formats::Format;
use crate::kind::Context;
use crate::record::{Clock, Record};
use crate::records::Records;
use crate::time_scale::TimeScale;
use answered::Answered;
use engine::{
    Arrival, Completion, Handle, Lba, Op, Replayed, Request, Time, Workload, WorkloadError,
};
use feed::{Feed, Survey, TraceFile};
pub use keys::{Gaps, Spreading, Start, Trace};
pub use limit::Limit;
use options::{Duration, Invalid};
pub use placement::Beyond;
use reorder::{Late, Reorder};
use retiming::Retiming;
pub use selection::{Combine, Devices};
use targets::Targets;
use tick_spread::TickSpread;

/// A running replay.
pub struct TraceReader {
    feed: Feed,
    /// Remaining repetitions.
    loops_left: u64,
    expected: Option<u64>,
    targets: Targets,
    window: Duration,
    order: Reorder<Placed>,
    /// Backward steps of earlier repetitions.
    backward_steps: u64,
    spread: Option<TickSpread<Placed>>,
    retiming: Retiming,
    scale: TimeScale,
    has_zones: bool,
    has_commands: bool,
    /// State for gaps that begin at completions, if replayed that way.
    answered: Option<Answered>,
    issued: u64,
    /// Number of writes with a placement handle.
    named: u64,
}

/// A pending request with its device address.
#[derive(Debug, Clone, Copy)]
struct Placed {
    op: Op,
    sector: u64,
    sectors: u32,
    fua: bool,
    handle: Handle,
}

impl TraceReader {
    /// Starts the replay of a trace on a device; the context's seed determines random draws.
    ///
    /// # Errors
    /// When an option is invalid, or the input cannot be opened or is not a trace.
    pub fn new(options: &Trace, context: &Context) -> Result<Self, BuildError> {
        let scale = checks::time_scale(options.time_scale)?;
        let file = TraceFile::new(options, context)?;
        let is_surveyed = options.needs_survey() || options.wants_survey() && file.is_repeatable();
        let survey = is_surveyed.then(|| Survey::new(&file, options)).transpose()?;
        let feed = Feed::new(file, options)?;
        let targets = Targets::new(options, context, survey.as_ref().map(|survey| &survey.spans))?;
        let whole = options.duration.ns().is_none() && options.beyond != Beyond::Dense;
        let expected =
            survey.filter(|_| whole).and_then(|survey| survey.requests.checked_mul(options.loops));
        let records = feed.records();
        let window_ns = options.reorder_window.ns().unwrap_or(records.format().disorder_ns);
        let window = Duration::from_ns(window_ns);
        let recorded = match options.start {
            Start::Format => records.clock() == Clock::Start,
            Start::Recorded => true,
            Start::Zero => false,
        };
        let waits = match options.gaps {
            Gaps::Format => records.format().gaps_after_answers,
            Gaps::Arrival => false,
            Gaps::Answer => true,
        };
        let max_gap = options.max_gap.ns().unwrap_or(Time::MAX);
        let duration = options.duration.ns().unwrap_or(Time::MAX);
        Ok(TraceReader {
            loops_left: options.loops.saturating_sub(1),
            expected,
            targets,
            window,
            order: Reorder::new(window.ns()),
            backward_steps: 0,
            spread: spread(options, records)?,
            retiming: Retiming::new(recorded, max_gap, duration),
            scale,
            has_zones: context.zones.is_some(),
            has_commands: options.commands,
            answered: waits.then(Answered::default),
            issued: 0,
            named: 0,
            feed,
        })
    }

    /// The format in which the trace is read.
    pub fn format(&self) -> &'static Format {
        self.feed.records().format()
    }

    /// Reads one more record into the reorder buffer; `false` at the end.
    fn read(&mut self) -> Result<bool, WorkloadError> {
        let Some(record) = self.feed.next()? else { return Ok(false) };
        let Record { at, op, fua, handle, .. } = record;
        // A flush has no sectors, even if its record states some.
        let (place, sectors) = match op {
            Op::Flush => (Ok(Some(0)), 0),
            _ if op.is_zoned() && !self.has_zones => {
                return Err(self.error(&format!(
                    "a request to {} a zone, and this device has none; use a device of kind \"zoned\"",
                    op.name()
                )));
            }
            _ if op.is_command() && !self.has_commands => {
                return Err(self.error(&format!(
                    "{} is a command that is done in steps, and those are off; set workload.commands = true",
                    op.name()
                )));
            }
            // The command applies to all zones.
            _ if op.is_zoned() && record.sectors == 0 => (Ok(Some(0)), 0),
            _ => (self.targets.place(&record), record.sectors),
        };
        let taken = match place {
            Ok(Some(sector)) => self.order.push(at, Placed { op, sector, sectors, fua, handle }),
            Ok(None) => self.targets.pieces().iter().try_for_each(|&(sector, sectors)| {
                self.order.push(at, Placed { op, sector, sectors, fua, handle })
            }),
            Err(misplaced) => {
                return Err(self.error(&self.targets.explain(misplaced, &record)));
            }
        };
        match taken {
            Ok(()) => Ok(true),
            Err(late) => Err(self.late(late, at)),
        }
    }

    /// An error about the last record.
    #[cold]
    fn error(&self, problem: &str) -> WorkloadError {
        self.feed.records().error(problem)
    }

    #[cold]
    fn late(&self, late: Late, at: Time) -> WorkloadError {
        let at_text = Duration::from_ns(at);
        self.error(&match late {
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

    /// The next request of this repetition in time order.
    fn ordered(&mut self) -> Result<Option<(Time, Placed)>, WorkloadError> {
        loop {
            if let Some(settled) = self.order.pop(false) {
                return Ok(Some(settled));
            }
            if !self.read()? {
                return Ok(self.order.pop(true));
            }
        }
    }

    /// The next request, spread over the ticks of a coarse clock.
    fn spread_out(&mut self) -> Result<Option<(Time, Placed)>, WorkloadError> {
        loop {
            let Some(spread) = &mut self.spread else { return self.ordered() };
            if let Some(ready) = spread.pop() {
                return Ok(Some(ready));
            }
            let Some((at, placed)) = self.ordered()? else {
                let Some(spread) = &mut self.spread else { return Ok(None) };
                spread.settle();
                return Ok(spread.pop());
            };
            if self.spread.as_mut().is_some_and(|spread| !spread.push(at, placed)) {
                return Err(self.error(&format!(
                    "more than {} requests share one time; workload.spread = \"none\" lets them \
                     arrive together",
                    TickSpread::<Placed>::CAPACITY
                )));
            }
        }
    }

    /// Reopens the trace for its next repetition.
    fn repeat(&mut self) -> Result<(), WorkloadError> {
        self.loops_left -= 1;
        self.backward_steps += self.order.backward_steps();
        self.order = Reorder::new(self.window.ns());
        self.retiming.repeat();
        self.targets.repeat();
        self.feed.repeat()
    }

    /// Skips the rest of this repetition.
    fn finish(&mut self) {
        self.feed.finish();
        while self.order.pop(true).is_some() {}
        if let Some(spread) = &mut self.spread {
            spread.clear();
        }
    }
}

/// The buffer that spreads requests, if configured.
fn spread(options: &Trace, records: &Records) -> Result<Option<TickSpread<Placed>>, Invalid> {
    let own_tick = records.format().tick_ns;
    match (options.spread, own_tick, records.tick_ns()) {
        (Spreading::Format, Some(tick_ns), _) | (Spreading::Even, _, Some(tick_ns)) => {
            Ok(Some(TickSpread::new(tick_ns)))
        }
        (Spreading::Even, _, None) => {
            let name = records.format().name;
            let problem = format!("the clock of format {name} is not coarse");
            Err(Invalid::new(&["workload.spread"], problem))
        }
        (Spreading::None, ..) | (Spreading::Format, None, _) => Ok(None),
    }
}

#[cfg(test)]
#[path = "replay/span_tests.rs"]
mod span_tests;

impl Workload for TraceReader {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if self.answered.is_some_and(|it| it.waits) {
            return Ok(None);
        }
        let (at, placed) = loop {
            let next = self.spread_out()?;
            let placed = next.and_then(|(at, placed)| Some((self.retiming.place(at)?, placed)));
            if let Some(found) = placed {
                break found;
            }
            self.finish();
            // Repetitions of a trace without requests would never end.
            if self.loops_left == 0 || self.issued == 0 {
                return self.feed.nothing().map_or(Ok(None), Err);
            }
            self.repeat()?;
        };
        let Some(at) = self.scale.apply(at) else {
            return Err(self.error(&format!(
                "{} times workload.time_scale is more than 500 years",
                Duration::from_ns(at)
            )));
        };
        let at = self.answered.as_mut().map_or(at, |it| it.ask(at));
        let Placed { op, sector, sectors, fua, handle } = placed;
        let fua = fua && matches!(op, Op::Write | Op::CompareWrite | Op::Copy);
        let request =
            Request { fua, handle, ..Request::new(self.issued, op, Lba(sector), sectors) };
        self.issued += 1;
        self.named += u64::from(handle != Handle::NONE);
        Ok(Some(Arrival { at: at.max(now), request }))
    }

    fn completed(&mut self, completion: &Completion) {
        if let Some(answered) = &mut self.answered {
            answered.answer(completion.at);
        }
    }

    fn is_open(&self) -> bool {
        self.answered.is_none()
    }

    fn has_commands(&self) -> bool {
        self.has_commands
    }

    fn expected_requests(&self) -> Option<u64> {
        self.expected
    }

    fn replayed(&self) -> Option<Replayed> {
        let (mapping, chunk_bytes) = self.targets.mapping();
        Some(self.feed.covered().replayed(mapping, chunk_bytes))
    }

    fn notices(&self) -> Vec<(&'static str, u64)> {
        let mut notices =
            vec![("backward_steps", self.backward_steps + self.order.backward_steps())];
        notices.extend(self.feed.notices());
        notices.extend(self.targets.notices());
        notices.push(("spread_requests", self.spread.as_ref().map_or(0, TickSpread::moved)));
        notices.push((checks::NAMED_HANDLES, self.named));
        notices.push(("shortened_gaps", self.retiming.shortened()));
        notices.extend(self.feed.counted().all());
        notices.retain(|(_, count)| *count > 0);
        notices
    }
}
