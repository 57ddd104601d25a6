//! Sampled runs: the whole load passes untimed, and a copy of the drive serves each slice in time as well.
//!
//! The drive itself meets no time, so write amplification, wear and all flash counts are of the whole load. A slice
//! begins with a copy of its present state, warms that up, and measures. Requests outside of slices take the mean
//! latency of the slices before, so closed loops keep their rate.

use crate::config::{Experiment, Precondition, Sample, Until};
use crate::untimed::Steps;
use crate::warnings::Piece;
use devices::{DeviceKind as _, Model};
use engine::{
    Breakdown, Completion, Device, Followed, Op, Part, Random, Request, Standing, Status, Time,
    Workload, Xoshiro256,
};
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::collections::VecDeque;

/// Requests of a slice that warm the copy up, and that are measured. A copy of a resting drive begins with all dies in
/// step; on current drives they are apart after 20,000 writes.
const WARMING: u64 = 24_000;
const MEASURED: u64 = 12_000;
/// Slices for which a run is sampled: with fewer, their spread is not known well.
const FEWEST: usize = 20;
/// Slices become rarer when the intervals of means and 99th percentiles are this narrow, half the width to the value.
const NARROW: f64 = 0.03;
/// Latency of untimed requests before the first slice, ns.
const FIRST_NS: Time = 100_000;
/// Pages that are overwritten at a time.
const BATCH: usize = 1 << 8;
/// Two-sided 95 % quantile of the normal distribution; with 20 slices Student's t is 7 % larger.
const NORMAL: f64 = 1.96;
/// Systematic difference of a copy that begins at rest: up to 0.9 % of 99th percentiles on six drives under
/// random writes, hot and cold writes and JESD219.
const BIAS: f64 = 0.01;
/// Random stream of the places of slices.
const SAMPLE_STREAM: u64 = 51;
/// Quantiles with an interval.
const QUANTILES: [(&str, f64); 3] = [("p50_us", 0.5), ("p99_us", 0.99), ("p99.9_us", 0.999)];

/// Requests that are measured: from the first number to before the second.
pub(crate) type MeasuredIds = Cell<(u64, u64)>;

/// How a run is sampled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SamplePlan {
    /// Mean number of requests between slices.
    gap: u64,
    /// True if the run ends when its intervals are narrow: its stretches are alike.
    ends: bool,
}

impl SamplePlan {
    /// The plan of an experiment; `None` if it asks for none.
    ///
    /// # Errors
    /// Why the run cannot be sampled, and is simulated in time as a whole.
    pub(crate) fn of(
        experiment: &Experiment,
        workload: &dyn Workload,
        device: &dyn Model,
    ) -> Option<Result<SamplePlan, &'static str>> {
        let run = &experiment.run;
        let share = run.sample.share()?;
        let slice = (WARMING + MEASURED) as f64;
        let ends = run.sample == Sample::Auto
            && run.precondition == Precondition::Steady
            && experiment.workload.is_stationary();
        let share = if ends { 0.5 } else { share };
        let fewest = FEWEST as f64 * slice / share;
        let many = workload.expected_requests().is_none_or(|all| all as f64 >= fewest);
        let whole = [
            (run.until == Until::Steady, "it ends when the drive has settled"),
            (experiment.device.check_pace().is_ok(), "data age with time"),
            (device.facts().zones.is_some(), "zones are opened and reset in time"),
            (workload.has_commands(), "commands of several steps take time"),
            (run.warm_up.ns() > 0, "its warm-up is a time"),
            (run.age.0.is_some(), "data have aged"),
            (!many, "the load is too short for 20 slices of 36,000 requests"),
        ];
        if let Some((_, because)) = whole.into_iter().find(|(is_so, _)| *is_so) {
            return Some(Err(because));
        }
        Some(Ok(SamplePlan { gap: (slice / share - slice) as u64, ends }))
    }
}

/// The present part of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlicePhase {
    Untimed,
    Warming,
    Measuring,
    /// All measured requests are being answered, while the load continues.
    Ending,
}

/// Latencies of a slice, ns: of reads and of writes.
type SliceLatencies = [Vec<Time>; 2];

/// The drive itself, which meets no time.
struct MainDrive<'a> {
    model: &'a mut dyn Model,
    /// Pages to be overwritten, and sectors of each.
    batch: Vec<u64>,
    page_sectors: u64,
    steps: Steps,
    requests: u64,
}

impl MainDrive<'_> {
    fn new(model: &mut dyn Model) -> MainDrive<'_> {
        let page_sectors = model.capacity_sectors() / model.facts().pages.max(1);
        let steps = Steps::new(&*model);
        MainDrive { model, batch: Vec::with_capacity(BATCH), page_sectors, steps, requests: 0 }
    }

    /// Serves a request. Pages that are wholly overwritten gather, so that the drive can fetch their places from memory
    /// ahead.
    fn serve(&mut self, request: &Request) -> Status {
        self.requests += 1;
        let status = self.pass(request);
        self.steps.served(&*self.model);
        status
    }

    fn pass(&mut self, request: &Request) -> Status {
        let (first, sectors) = (request.lba.0, u64::from(request.sectors));
        let is_whole = request.op == Op::Write
            && first.is_multiple_of(self.page_sectors)
            && sectors.is_multiple_of(self.page_sectors)
            && request.handle.number().is_none()
            && !request.fua;
        if is_whole {
            let first = first / self.page_sectors;
            self.batch.extend(first..first + sectors / self.page_sectors);
            if self.batch.len() >= BATCH {
                self.write_batch();
            }
            return if self.model.has_ended() { Status::ReadOnly } else { Status::Ok };
        }
        if request.op != Op::Read {
            self.write_batch();
        }
        self.model.serve_untimed(request)
    }

    fn write_batch(&mut self) {
        if !self.batch.is_empty() {
            self.model.overwrite_untimed(&self.batch, 0);
            self.batch.clear();
        }
    }
}

/// Estimated to untimed requests.
#[derive(Default)]
struct Estimated {
    /// Of reads and of all others, each in the order of their times.
    waiting: [VecDeque<Completion>; 2],
    /// Sum and number of measured latencies.
    means: [(u64, u64); 2],
}

/// Reads, or all other requests.
fn class(op: Op) -> usize {
    usize::from(op != Op::Read)
}

impl Estimated {
    /// A request will be answered after the mean latency of its class.
    fn push(&mut self, now: Time, (request, submitted): (Request, Time), status: Status) {
        let class = class(request.op);
        let (sum, count) = self.means[class];
        let latency = sum.checked_div(count).unwrap_or(FIRST_NS).max(1);
        let after = self.waiting[class].back().map_or(0, |last| last.at);
        let at = (now + latency).max(after);
        let breakdown = Breakdown::of(Part(0), at - submitted);
        self.waiting[class].push_back(Completion { request, submitted, at, breakdown, status });
    }

    fn next_at(&self) -> Option<Time> {
        self.waiting.iter().filter_map(|it| it.front()).map(|answer| answer.at).min()
    }

    fn take(&mut self, to: Time, completions: &mut Vec<Completion>) {
        for waiting in &mut self.waiting {
            let due = waiting.partition_point(|answer| answer.at <= to);
            completions.extend(waiting.drain(..due));
        }
    }
}

/// A drive that is sampled.
pub(crate) struct Sampled<'a> {
    main: MainDrive<'a>,
    plan: SamplePlan,
    random: Xoshiro256,
    phase: SlicePhase,
    /// Requests until the phase ends.
    left: u64,
    /// The copy that serves a slice, and when its time began.
    copy: Option<Box<dyn Model>>,
    began: Time,
    /// Requests at the copy, and how many of them are measured.
    outstanding: Vec<(Request, Time)>,
    awaited: u64,
    measured: &'a MeasuredIds,
    scratch: Vec<Completion>,
    untimed: Estimated,
    slices: Vec<SliceLatencies>,
    /// True if the intervals are narrow and the run ends with that.
    is_over: bool,
    /// Requests that copies served.
    timed: u64,
}

impl<'a> Sampled<'a> {
    pub(crate) fn new(
        main: &'a mut dyn Model,
        plan: SamplePlan,
        seed: u64,
        measured: &'a MeasuredIds,
    ) -> Sampled<'a> {
        let random = Xoshiro256::new(seed, SAMPLE_STREAM);
        Sampled {
            main: MainDrive::new(main),
            plan,
            random,
            phase: SlicePhase::Untimed,
            left: 0,
            copy: None,
            began: 0,
            outstanding: Vec::new(),
            awaited: 0,
            measured,
            scratch: Vec::new(),
            untimed: Estimated::default(),
            slices: Vec::new(),
            is_over: false,
            timed: 0,
        }
    }

    fn begin_slice(&mut self, now: Time) {
        self.main.write_batch();
        self.copy = self.main.model.copied();
        self.began = now;
        self.slices.push(SliceLatencies::default());
        (self.phase, self.left) = (SlicePhase::Warming, WARMING);
    }

    /// The slice ends: what the copy has not answered is answered as if untimed.
    fn end_slice(&mut self, now: Time) {
        self.copy = None;
        for open in std::mem::take(&mut self.outstanding) {
            self.untimed.push(now, open, Status::Ok);
        }
        // Seldom: all latencies are sorted for it.
        let times = self.slices.len() / FEWEST;
        let is_asked = self.slices.len().is_multiple_of(FEWEST) && times.is_power_of_two();
        if is_asked && self.are_narrow() {
            self.is_over = self.plan.ends;
            self.plan.gap = self.plan.gap.saturating_mul(2);
        }
        let gap = self.plan.gap;
        (self.phase, self.left) = (SlicePhase::Untimed, gap / 2 + self.random.below(gap + 1));
    }

    /// Takes the answers of the copy.
    fn take(&mut self, completions: &mut Vec<Completion>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut last = 0;
        for mut it in scratch.drain(..) {
            (it.submitted, it.at) = (it.submitted + self.began, it.at + self.began);
            last = it.at;
            let place = self.outstanding.iter().position(|(open, _)| open.id == it.request.id);
            self.outstanding.swap_remove(place.expect("the copy was asked"));
            let (from, to) = self.measured.get();
            if (from..to).contains(&it.request.id) {
                self.awaited -= 1;
                if it.status.is_ok() {
                    let class = class(it.request.op);
                    let (sum, count) = &mut self.untimed.means[class];
                    (*sum, *count) = (*sum + it.latency(), *count + 1);
                    let slice = self.slices.last_mut().expect("it is measured in a slice");
                    // Intervals are of reads and writes; a flush or a trim is neither.
                    if matches!(it.request.op, Op::Read | Op::Write | Op::Append) {
                        slice[class].push(it.latency());
                    }
                }
            }
            completions.push(it);
        }
        self.scratch = scratch;
        if self.phase == SlicePhase::Ending && self.awaited == 0 {
            self.outstanding.sort_unstable_by_key(|(request, _)| request.id);
            self.end_slice(last);
        }
    }

    fn are_narrow(&self) -> bool {
        let is_narrow = |it: &LatencyInterval| it.high - it.low <= 2.0 * NARROW * it.value;
        let of = |class| intervals(&self.slices, class, &[0.99]);
        let mut all = [0, 1].into_iter().flat_map(of).peekable();
        all.peek().is_some() && all.all(|it| is_narrow(&it))
    }

    /// The section of the results, and stretches of the run.
    pub(crate) fn finish(mut self) -> (Value, Vec<Piece>) {
        self.main.write_batch();
        let mut section = Map::new();
        section.insert("is_complete".to_owned(), json!(!self.is_over));
        section.insert("slices".to_owned(), json!(self.slices.len()));
        section.insert(
            "requests".to_owned(),
            json!(self.slices.iter().flatten().map(Vec::len).sum::<usize>()),
        );
        section.insert(
            "timed_share".to_owned(),
            json!(self.timed as f64 / self.main.requests.max(1) as f64),
        );
        for (class, name) in ["read", "write"].into_iter().enumerate() {
            let all = intervals(&self.slices, class, &QUANTILES.map(|it| it.1));
            let names = std::iter::once("mean_us").chain(QUANTILES.map(|it| it.0));
            let us = |it: LatencyInterval| json!([it.value / 1e3, it.low / 1e3, it.high / 1e3]);
            let each: Map<_, _> = names.map(str::to_owned).zip(all.into_iter().map(us)).collect();
            if !each.is_empty() {
                section.insert(name.to_owned(), each.into());
            }
        }
        (Value::Object(section), self.main.steps.pieces())
    }
}

/// An estimate with its 95 % interval.
struct LatencyInterval {
    value: f64,
    low: f64,
    high: f64,
}

/// The mean latency of a class, then quantiles, ns; nothing with less than two slices. The slices are the sampling
/// units, so requests that wait together count as one.
fn intervals(slices: &[SliceLatencies], class: usize, quantiles: &[f64]) -> Vec<LatencyInterval> {
    let some: Vec<&Vec<Time>> =
        slices.iter().map(|it| &it[class]).filter(|it| !it.is_empty()).collect();
    if some.len() < 2 {
        return Vec::new();
    }
    let mut all: Vec<Time> = some.iter().flat_map(|it| it.iter().copied()).collect();
    all.sort_unstable();
    let sums = some.iter().map(|it| it.iter().map(|ns| *ns as f64).sum());
    let (mean, error) = ratio(&some, sums);
    let widened = |value: f64, low: f64, high: f64| {
        let bias = BIAS * value;
        LatencyInterval { value, low: (low - bias).max(0.0), high: high + bias }
    };
    let mut found = vec![widened(mean, mean - error, mean + error)];
    for share in quantiles {
        let at = |share: f64| {
            let rank = (share.clamp(0.0, 1.0) * all.len() as f64).ceil() as usize;
            all[rank.clamp(1, all.len()) - 1] as f64
        };
        let value = at(*share);
        let below =
            some.iter().map(|it| it.iter().filter(|ns| **ns as f64 <= value).count() as f64);
        let (_, error) = ratio(&some, below);
        found.push(widened(value, at(share - error), at(share + error)));
    }
    found
}

/// A figure per request over slices of unlike lengths, and half the width of its 95 % interval.
fn ratio(slices: &[&Vec<Time>], figures: impl Iterator<Item = f64>) -> (f64, f64) {
    let pairs: Vec<(f64, f64)> = slices.iter().map(|it| it.len() as f64).zip(figures).collect();
    let (count, sum) = pairs.iter().fold((0.0, 0.0), |all, it| (all.0 + it.0, all.1 + it.1));
    let ratio = sum / count;
    let squares: f64 = pairs.iter().map(|(count, figure)| (figure - ratio * count).powi(2)).sum();
    let number = pairs.len() as f64;
    (ratio, NORMAL * (squares * number / (number - 1.0)).sqrt() / count)
}

impl Device for Sampled<'_> {
    fn submit(&mut self, now: Time, request: Request) {
        let status = self.main.serve(&request);
        if self.left == 0 {
            let next = (request.id, u64::MAX);
            match self.phase {
                SlicePhase::Untimed => self.begin_slice(now),
                SlicePhase::Warming => {
                    self.measured.set(next);
                    (self.phase, self.left) = (SlicePhase::Measuring, MEASURED);
                }
                SlicePhase::Measuring => {
                    self.measured.set((self.measured.get().0, request.id));
                    (self.phase, self.left) = (SlicePhase::Ending, u64::MAX);
                    if self.awaited == 0 {
                        self.end_slice(now);
                    }
                }
                SlicePhase::Ending => {}
            }
        }
        self.left -= 1;
        if let Some(copy) = &mut self.copy {
            self.timed += 1;
            self.awaited += u64::from(self.phase == SlicePhase::Measuring);
            self.outstanding.push((request, now));
            copy.submit(now - self.began, request);
        } else {
            self.untimed.push(now, (request, now), status);
        }
    }

    fn next_event(&self) -> Option<Time> {
        let first = self.untimed.next_at();
        let Some(copy) = &self.copy else { return first };
        let event = copy.next_event().map(|at| at + self.began);
        match (first, event) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        if let Some(copy) = &mut self.copy {
            copy.advance(to - self.began, &mut self.scratch);
            if !self.scratch.is_empty() {
                self.take(completions);
            }
        }
        self.untimed.take(to, completions);
    }

    fn advance_to_answer(&mut self, to: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        let at = self.next_event().filter(|at| *at <= to)?;
        if self.untimed.next_at().is_none()
            && let Some(copy) = &mut self.copy
        {
            let reached = copy.advance_to_answer(to - self.began, &mut self.scratch)?;
            if !self.scratch.is_empty() {
                self.take(completions);
            }
            return Some(reached + self.began);
        }
        self.advance(at, completions);
        Some(at)
    }

    fn standing(&self) -> Standing {
        Standing::ended(self.is_over || self.main.model.has_ended())
    }

    fn followed(&self) -> Option<Followed> {
        self.main.model.followed()
    }

    fn capacity_sectors(&self) -> u64 {
        self.main.model.capacity_sectors()
    }
}
