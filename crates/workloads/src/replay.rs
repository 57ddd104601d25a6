//! A trace while it is replayed: what every key of the trace kind does to the stream of records.
//!
//! Requests are streamed in order of time and within the device, whatever the file's size. The way
//! of each: chosen by device, moved, placed on the device, put in order, spread over a tick, placed
//! in time, scaled. What is left out or changed on the way is counted.

use crate::checks;
use crate::formats::{Clock, Format, Record};
use crate::kinds::trace::{Beyond, Combine, Spreading, Start, Trace};
use crate::placement::{Dense, Misplaced, PAGE_SECTORS, Placement};
use crate::reading::{Inputs, ReadOptions};
use crate::records::Records;
use crate::reorder::{Late, Reorder};
use crate::selection::{Selection, Spans};
use crate::source::Counted;
use crate::spread::Spread;
use crate::time_scale::TimeScale;
use crate::timeline::Timeline;
use crate::{BuildError, Context};
use engine::{Arrival, Completion, Lba, Op, Request, SECTOR_BYTES, Time, Workload, WorkloadError};
use options::{Duration, Invalid};
use std::collections::BTreeMap;

/// A trace while it is replayed.
pub struct TraceReader {
    inputs: Inputs,
    path: String,
    read_options: ReadOptions,
    records: Records,
    /// Requests of a repetition that are still to be read.
    left: u64,
    limit: u64,
    /// Repetitions that follow.
    loops_left: u64,
    expected: Option<u64>,
    devices: crate::Devices,
    selection: Selection,
    /// Where each device goes, if not all to the start of the first volume.
    places: BTreeMap<u32, Place>,
    align_shift: u64,
    /// Each volume of the device that is used.
    volumes: Vec<Target>,
    volume_sectors: u64,
    window: Duration,
    order: Reorder<Placed>,
    spread: Option<Spread<Placed>>,
    timeline: Timeline,
    scale: TimeScale,
    issued: u64,
    first_device: Option<u32>,
    pieces: Vec<(u64, u32)>,
    counts: Counts,
    /// Of the repetitions before this one.
    earlier: Counted,
}

/// Where requests go.
enum Target {
    Fixed(Placement),
    Dense(Dense, u64),
}

impl Target {
    fn capacity(&self) -> u64 {
        match *self {
            Target::Dense(_, capacity)
            | Target::Fixed(
                Placement::Refuse { capacity }
                | Placement::Wrap { capacity }
                | Placement::Shrink { capacity, .. },
            ) => capacity,
        }
    }
}

/// Where a device of the trace begins.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    volume: usize,
    sector: u64,
}

/// What happened to requests.
#[derive(Debug, Default)]
struct Counts {
    backward_steps: u64,
    other_device: u64,
    left_out_device: u64,
    shifted: u64,
    misaligned: u64,
    moved: u64,
    split: u64,
}

/// A request that lies within the device and waits for its turn.
#[derive(Debug, Clone, Copy)]
struct Placed {
    op: Op,
    sector: u64,
    sectors: u32,
}

impl TraceReader {
    /// Starts to replay a trace on a device; the seed decides what must be drawn.
    ///
    /// # Errors
    /// When an option breaks a rule, the input cannot be opened, or is no trace.
    pub fn new(options: &Trace, context: &Context) -> Result<Self, BuildError> {
        let inputs = &context.inputs;
        let scale = checks::time_scale(options.time_scale)?;
        let read_options = options.read_options(context.seed)?;
        let limit = options.requests.unwrap_or(u64::MAX);
        let open = || Records::open(inputs, &options.path, &read_options);
        let survey = options.needs_survey().then(|| Survey::new(open()?, options)).transpose()?;
        let records = open()?;
        let (volumes, places) = places(options, context, survey.as_ref())?;
        let whole = options.duration.ns().is_none() && options.beyond != Beyond::Dense;
        let expected =
            survey.filter(|_| whole).and_then(|survey| survey.requests.checked_mul(options.loops));
        let window_ns = options.reorder_window.ns().unwrap_or(records.format().disorder_ns);
        let window = Duration::from_ns(window_ns);
        let recorded = match options.start {
            Start::Format => records.clock() == Clock::Start,
            Start::Recorded => true,
            Start::Zero => false,
        };
        let max_gap = options.max_gap.ns().unwrap_or(Time::MAX);
        let duration = options.duration.ns().unwrap_or(Time::MAX);
        Ok(TraceReader {
            inputs: inputs.clone(),
            path: options.path.clone(),
            left: limit,
            limit,
            loops_left: options.loops.saturating_sub(1),
            expected,
            devices: options.devices.clone(),
            selection: Selection::new(&options.devices),
            places,
            align_shift: options.align_shift,
            volume_sectors: context.capacity_sectors / u64::from(context.volumes),
            volumes,
            window,
            order: Reorder::new(window.ns()),
            spread: spread(options, &records)?,
            timeline: Timeline::new(recorded, max_gap, duration),
            scale,
            issued: 0,
            first_device: None,
            pieces: Vec::new(),
            counts: Counts::default(),
            earlier: Counted::default(),
            records,
            read_options,
        })
    }

    /// The format that the trace is read in.
    pub fn format(&self) -> &'static Format {
        self.records.format()
    }

    /// Takes one more record into the order; `false` at the end.
    fn read(&mut self) -> Result<bool, WorkloadError> {
        let record = loop {
            if self.left == 0 {
                return Ok(false);
            }
            let Some(record) = self.records.next_record()? else {
                self.left = 0;
                return Ok(false);
            };
            if self.selection.takes(record.device) {
                break record;
            }
            self.counts.left_out_device += 1;
        };
        self.left -= 1;
        let first = *self.first_device.get_or_insert(record.device);
        self.counts.other_device += u64::from(record.device != first);
        self.pieces.clear();
        if record.op == Op::Flush {
            self.pieces.push((0, 0));
        } else {
            self.place(&record)?;
        }
        for &(sector, sectors) in &self.pieces {
            let placed = Placed { op: record.op, sector, sectors };
            if let Err(late) = self.order.push(record.at, placed) {
                return Err(self.late(late, record.at));
            }
        }
        Ok(true)
    }

    /// Finds the places of a request that has any.
    fn place(&mut self, record: &Record) -> Result<(), WorkloadError> {
        let start = self.places.get(&record.device).copied().unwrap_or_default();
        let moved = start.sector.checked_add(self.align_shift);
        let Some(sector) = moved.and_then(|by| record.sector.checked_add(by)) else {
            return Err(self.misplaced(Misplaced::Beyond, record));
        };
        self.counts.shifted += u64::from(self.align_shift > 0);
        let misaligned = (sector | u64::from(record.sectors)) % PAGE_SECTORS != 0;
        self.counts.misaligned += u64::from(misaligned);
        let found = match &mut self.volumes[start.volume] {
            Target::Dense(dense, _) => dense.place(sector, record.sectors, &mut self.pieces),
            Target::Fixed(placement) => placement
                .place(sector, record.sectors)
                .map(|place| self.pieces.push((place, record.sectors))),
        };
        found.map_err(|misplaced| self.misplaced(misplaced, record))?;
        let target = &self.volumes[start.volume];
        let everything = matches!(target, Target::Fixed(Placement::Shrink { .. }));
        self.counts.moved += u64::from(everything || self.pieces[0].0 != sector);
        self.counts.split += u64::from(self.pieces.len() > 1);
        let volume = start.volume as u64 * self.volume_sectors;
        self.pieces.iter_mut().for_each(|(place, _)| *place += volume);
        Ok(())
    }

    #[cold]
    fn misplaced(&self, misplaced: Misplaced, record: &Record) -> WorkloadError {
        // They are all alike.
        let capacity = self.volumes[0].capacity();
        let what = if self.volumes.len() > 1 { "volume" } else { "device" };
        let device = format!(
            "the {what}'s {capacity} sectors ({:.2} GiB)",
            capacity as f64 * SECTOR_BYTES as f64 / f64::from(1 << 30)
        );
        let Record { sector, sectors, .. } = *record;
        self.records.error(&match misplaced {
            Misplaced::Beyond => format!(
                "the request of {sectors} sectors from sector {sector} ends beyond {device}; \
                 workload.beyond = \"error\" refuses that, \"wrap\" takes addresses modulo the \
                 capacity, \"scale\" shrinks all addresses to it, \"dense\" closes the gaps \
                 between the pages that are touched"
            ),
            Misplaced::TooLarge => format!("the request of {sectors} sectors exceeds {device}"),
            Misplaced::Full => format!(
                "the pages touched up to here are more than {device} hold; workload.beyond = \
                 \"wrap\" takes addresses modulo the capacity, \"scale\" shrinks them to it"
            ),
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

    /// The next request of this repetition in order of time.
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

    /// The same, spread over the ticks of a coarse clock.
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
                return Err(self.records.error(&format!(
                    "more than {} requests share one time; workload.spread = \"none\" lets them \
                     arrive together",
                    Spread::<Placed>::CAPACITY
                )));
            }
        }
    }

    /// Opens the trace once more for its next repetition.
    fn repeat(&mut self) -> Result<(), WorkloadError> {
        self.loops_left -= 1;
        self.left = self.limit;
        self.earlier.merge(self.records.counts());
        self.counts.backward_steps += self.order.backward_steps();
        self.order = Reorder::new(self.window.ns());
        self.selection = Selection::new(&self.devices);
        self.timeline.repeat();
        let opened = Records::open(&self.inputs, &self.path, &self.read_options);
        self.records = opened.map_err(|error| WorkloadError(error.to_string()))?;
        Ok(())
    }

    /// Leaves out what is left of this repetition.
    fn finish(&mut self) {
        self.left = 0;
        while self.order.pop(true).is_some() {}
        if let Some(spread) = &mut self.spread {
            spread.clear();
        }
    }
}

/// What a pass over the trace finds.
struct Survey {
    spans: Spans,
    requests: u64,
}

impl Survey {
    fn new(mut records: Records, options: &Trace) -> Result<Self, BuildError> {
        let mut survey = Survey { spans: Spans::default(), requests: 0 };
        let mut selection = Selection::new(&options.devices);
        let limit = options.requests.unwrap_or(u64::MAX);
        let input = |error: WorkloadError| BuildError::Input(error.0);
        while survey.requests < limit {
            let Some(record) = records.next_record().map_err(input)? else { break };
            if !selection.takes(record.device) {
                continue;
            }
            survey.requests += 1;
            let end = record.sector.saturating_add(u64::from(record.sectors));
            if !survey.spans.note(record.device, end) {
                let problem = format!("there are more than {} devices", Spans::LIMIT);
                return Err(input(records.error(&problem)));
            }
        }
        Ok(survey)
    }
}

/// The volumes that requests go to, and where in them each device begins.
fn places(
    options: &Trace,
    context: &Context,
    survey: Option<&Survey>,
) -> Result<(Vec<Target>, BTreeMap<u32, Place>), Invalid> {
    let mut capacity = context.capacity_sectors;
    let mut volumes = 1;
    let (span, places) = match (survey, options.combine) {
        (Some(survey), Combine::Concatenate) => {
            let (span, starts) = survey.spans.concatenated(PAGE_SECTORS);
            let place = |(device, sector)| (device, Place { volume: 0, sector });
            (span, starts.into_iter().map(place).collect())
        }
        (Some(survey), Combine::Separate) => {
            let devices = survey.spans.devices();
            volumes = devices.len().max(1);
            capacity /= u64::from(context.volumes);
            if volumes > context.volumes as usize {
                return Err(too_few_volumes(volumes, context.volumes));
            }
            let place = |(volume, device)| (device, Place { volume, sector: 0 });
            (survey.spans.largest(), devices.enumerate().map(place).collect())
        }
        (Some(survey), Combine::Overlay) => (survey.spans.largest(), BTreeMap::new()),
        (None, _) => (0, BTreeMap::new()),
    };
    let span = span.saturating_add(options.align_shift);
    let target = || match options.beyond {
        Beyond::Wrap => Target::Fixed(Placement::Wrap { capacity }),
        Beyond::Scale if span > capacity => Target::Fixed(Placement::Shrink { capacity, span }),
        Beyond::Error | Beyond::Scale => Target::Fixed(Placement::Refuse { capacity }),
        Beyond::Dense => Target::Dense(Dense::new(capacity), capacity),
    };
    Ok(((0..volumes).map(|_| target()).collect(), places))
}

#[cold]
fn too_few_volumes(devices: usize, volumes: u32) -> Invalid {
    let has = match volumes {
        1 => "the device is one piece".to_owned(),
        _ => format!("the device has {volumes} volumes"),
    };
    let problem = format!(
        "the trace has {devices} devices and {has}; each needs a volume of its own, which an array \
         (device.kind = \"array\") of at least {devices} members with device.layout = \
         \"concatenated\" has"
    );
    Invalid::new(&["workload.combine", "device.layout", "device.members"], problem)
}

/// The buffer that spreads requests, if they are to be.
fn spread(options: &Trace, records: &Records) -> Result<Option<Spread<Placed>>, Invalid> {
    let own_tick = records.format().tick_ns;
    match (options.spread, own_tick, records.tick_ns()) {
        (Spreading::Format, Some(tick_ns), _) | (Spreading::Even, _, Some(tick_ns)) => {
            Ok(Some(Spread::new(tick_ns)))
        }
        (Spreading::Even, _, None) => {
            let name = records.format().name;
            let problem = format!("the clock of format {name} is not coarse");
            Err(Invalid::new(&["workload.spread"], problem))
        }
        (Spreading::None, ..) | (Spreading::Format, None, _) => Ok(None),
    }
}

impl Workload for TraceReader {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        let (at, placed) = loop {
            let next = self.spread_out()?;
            let placed = next.and_then(|(at, placed)| Some((self.timeline.place(at)?, placed)));
            if let Some(found) = placed {
                break found;
            }
            self.finish();
            // A trace without requests has no end of repetitions either.
            if self.loops_left == 0 || self.issued == 0 {
                return Ok(None);
            }
            self.repeat()?;
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
        let moved = match self.volumes[0] {
            Target::Fixed(Placement::Shrink { .. }) => "scaled_requests",
            Target::Fixed(Placement::Refuse { .. } | Placement::Wrap { .. }) => "wrapped_requests",
            Target::Dense(..) => "compacted_requests",
        };
        let counts = &self.counts;
        let mut read = self.earlier.clone();
        read.merge(self.records.counts());
        let mut notices = vec![
            ("backward_steps", counts.backward_steps + self.order.backward_steps()),
            ("other_device_requests", counts.other_device),
            ("left_out_device_requests", counts.left_out_device),
            ("shifted_requests", counts.shifted),
            ("misaligned_requests", counts.misaligned),
            (moved, counts.moved),
            ("split_requests", counts.split),
            ("spread_requests", self.spread.as_ref().map_or(0, Spread::moved)),
            ("shortened_gaps", self.timeline.shortened()),
        ];
        notices.extend(read.all());
        notices.retain(|(_, count)| *count > 0);
        notices
    }
}
