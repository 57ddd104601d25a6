//! Results, schema 1: the findings of a run, ready to be written as JSON.
//!
//! Times are microseconds as floats, counts are integers. Undefined values (the write amplification
//! of a run without writes) are null, never zero.
//!
//! A rejected request is counted by its status only: latencies, rates, bytes and time series cover
//! successful requests. So
//! `workload.asked = workload.warm_up + host.all.requests + host.all.failed + workload.unanswered`,
//! where `workload.warm_up` counts the completed requests that arrived during the warm-up.

use crate::answers::{Answers, Classes};
use crate::overload::{Backlog, Offered};
use crate::reach::{Reach, Reached};
use crate::steady::{Prepared, SteadyState};
use crate::threads::Threads;
use crate::warnings::{self, Piece};
use crate::{energy, guessed, lifetime, placed, replayed};
use devices::ssd::account::{Counter, FlashCounts};
use devices::ssd::data_units;
use devices::{EnergyReport, Report};
use engine::{Class, Completion, Followed, Load, Op, PowerCuts, Replayed, Time, TimeSeries};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The schema of results that this version writes.
pub const SCHEMA: u32 = 1;

/// Statistics of a run, collected completion by completion.
#[derive(Debug, Clone, Default)]
pub(crate) struct Collected {
    answers: Answers,
    /// Statistics of the workload's classes, if any.
    classes: Classes,
    series: TimeSeries,
    start: Option<Time>,
    /// End of the warm-up, and the number of requests excluded because they arrived before it.
    warm_up: Time,
    left_out: u64,
    /// Followed figures of the device, before the first arrival and at the end.
    followed: Option<(Followed, Followed)>,
    /// Requests due and completed over time.
    backlog: Backlog,
    /// Stretches of an untimed run, which has no time series.
    untimed: Vec<Piece>,
    /// Address coverage of all writes.
    reach: Reach,
}

impl Collected {
    /// Statistics by class, for requests that arrive at `warm_up` or later, on a device of
    /// `capacity_sectors`.
    pub(crate) fn of(classes: Vec<Class>, warm_up: Time, capacity_sectors: u64) -> Self {
        let reach = Reach::new(capacity_sectors);
        Collected { classes: Classes::new(classes), warm_up, reach, ..Collected::default() }
    }

    /// Counts a request. Returns true unless it belongs to the warm-up.
    pub(crate) fn record(&mut self, completion: &Completion) -> bool {
        self.reach.record(completion);
        if completion.submitted < self.warm_up {
            self.left_out += 1;
            return false;
        }
        let start = *self.start.get_or_insert(completion.submitted);
        self.classes.record(completion, true);
        if self.answers.record(completion) {
            self.series.record(completion.at.saturating_sub(start), completion);
        }
        true
    }

    /// Counts a request of unknown latency.
    pub(crate) fn pass(&mut self, completion: &Completion) {
        self.reach.record(completion);
        let start = *self.start.get_or_insert(completion.submitted);
        self.classes.record(completion, false);
        if self.answers.pass(completion) {
            self.series.pass(completion.at.saturating_sub(start), completion);
        }
    }

    /// Samples the device before the events at `now`. Returns the time of the next sample.
    pub(crate) fn sample(&mut self, now: Time, figures: Option<Followed>, load: Load) -> Time {
        if now < self.warm_up {
            self.start = Some(self.warm_up);
            return self.warm_up;
        }
        let start = *self.start.get_or_insert(now);
        self.backlog.sample(now - start, load);
        if let Some(figures) = figures {
            self.followed.get_or_insert((figures, figures));
            self.series.sample(now - start, figures);
        }
        self.sample_after(now)
    }

    /// Time of the next sample, outside the warm-up.
    pub(crate) fn sample_after(&self, now: Time) -> Time {
        let start = self.start.unwrap_or(now);
        let since = now - start;
        start + self.series.end_of_bin(since).min(Backlog::end_of_step(since))
    }

    /// Records the state of the device at the end.
    pub(crate) fn sample_end(&mut self, figures: Option<Followed>) {
        if let (Some((_, last)), Some(figures)) = (&mut self.followed, figures) {
            *last = figures;
        }
    }

    /// Records the stretches of an untimed run.
    pub(crate) fn untimed(&mut self, pieces: Vec<Piece>) {
        self.untimed = pieces;
    }

    /// Followed figures at the end of each bin, if any.
    fn followed_at_ends(&self) -> Option<Vec<Followed>> {
        let (_, last) = self.followed?;
        let bins = self.series.bins().len();
        let mut ends: Vec<_> = self.series.followed().iter().take(bins).copied().collect();
        ends.resize(bins, last);
        // Events after the last completion belong to the last bin, regardless of their duration.
        if let Some(end) = ends.last_mut() {
            *end = last;
        }
        Some(ends)
    }

    /// Stretches of the run, for the rules of warnings.
    fn pieces(&self, has_flash: bool) -> Vec<Piece> {
        if !self.untimed.is_empty() {
            return self.untimed.clone();
        }
        let mut pieces: Vec<Piece> = self.series.bins().iter().map(Piece::of_bin).collect();
        let followed = self.followed.zip(self.followed_at_ends()).filter(|_| has_flash);
        if let Some(((before, _), ends)) = followed {
            let mut before = FlashCounts::from(before);
            for (piece, end) in pieces.iter_mut().zip(ends.into_iter().map(FlashCounts::from)) {
                piece.add_flash(&before, &end);
                before = end;
            }
        }
        pieces
    }

    /// Completed requests, including unmeasured and unsuccessful ones.
    pub(crate) fn answered(&self) -> u64 {
        self.answers.count() + self.left_out
    }

    /// True if all completions belong to the warm-up.
    pub(crate) fn has_only_warmed_up(&self) -> bool {
        self.left_out > 0 && self.answers.count() == 0
    }

    /// The `host` object.
    pub(crate) fn host(&self, simulated_ns: Time) -> Value {
        self.answers.to_json(simulated_ns)
    }

    /// Counts so far by operation.
    pub(crate) fn so_far(&self) -> Value {
        self.answers.so_far()
    }

    fn time_series(&self, of: &Results, simulated_ns: Time) -> Value {
        let bins = self.series.bins();
        let seconds = self.series.bin_ns() as f64 / 1e9;
        let mean = |sum: u128, n: u64| (n > 0).then(|| sum as f64 / n as f64 / 1e3);
        let us = |ns: Option<Time>| ns.map(|ns| ns as f64 / 1e3);
        let percentile = |share| -> Vec<Option<f64>> {
            self.series.at_share(share).into_iter().map(us).collect()
        };
        let mut series = json!({
            "bin_seconds": seconds,
            "requests": bins.iter().map(|bin| bin.requests).collect::<Vec<_>>(),
            "mb_per_s": bins.iter().map(|b| b.bytes as f64 / 1e6 / seconds).collect::<Vec<_>>(),
            "mean_us": bins.iter().map(|b| mean(b.latency_sum_ns, b.requests - b.untimed)).collect::<Vec<_>>(),
            "p50_us": percentile(0.5),
            "p99_us": percentile(0.99),
            "max_us": bins.iter().map(|b| b.latency_max_ns as f64 / 1e3).collect::<Vec<_>>(),
        });
        let Some(((before, _), ends)) = self.followed.zip(self.followed_at_ends()) else {
            return series;
        };
        if of.has_flash() {
            for (counter, place, name) in Counter::over_time() {
                let begins = std::iter::once(&before).chain(&ends).map(|it| it.0[place]);
                let each = ends.iter().map(|it| it.0[place]).zip(begins);
                let level = counter.is_level();
                let each = each.map(|(end, begin)| if level { end } else { end - begin });
                series[name] = each.collect();
            }
        }
        if let Some(energy) = &of.energy {
            series["watts"] = energy::watts(energy, &before, &ends, seconds, simulated_ns);
        }
        series
    }
}

/// Wall-clock time of a run; the only part of the results that differs between repeats.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Elapsed {
    pub(crate) wall_seconds: f64,
    pub(crate) requests_per_second: f64,
    pub(crate) page_operations_per_second: f64,
    /// The number of threads used, and the reason if fewer than requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) threads: Option<Threads>,
}

/// The outcome of a run, as seen by the driver of the device.
pub(crate) struct Ran {
    pub(crate) collected: Collected,
    /// First arrival, if any, and end of the run.
    pub(crate) first: Option<Time>,
    pub(crate) last: Time,
    pub(crate) notices: Vec<(&'static str, u64)>,
    /// Replayed part of a trace, if any.
    pub replayed: Option<Replayed>,
    /// Keys of the workload without a source.
    pub(crate) guessed: Vec<&'static str>,
    /// Outcome of timed arrivals.
    pub(crate) offered: Option<Offered>,
    /// Submitted requests, and those without a completion.
    pub(crate) asked: u64,
    pub(crate) unanswered: u64,
    /// How the drive settled, if that ended the run.
    pub(crate) settled: Option<SteadyState>,
    pub(crate) wall_seconds: f64,
    /// Requested power cuts, if any.
    pub(crate) cuts: Option<PowerCuts>,
    /// Sections that few runs have: `commands`, `sample`.
    pub(crate) sections: Vec<(&'static str, Value)>,
}

/// Input of the results of one run.
pub(crate) struct Results {
    pub(crate) experiment: Value,
    pub(crate) capacity_bytes: u64,
    /// Bytes of the whole device per simulated byte.
    pub scale: u32,
    /// True if the drive was preconditioned or loaded before the run, and how it settled.
    pub(crate) was_prepared: bool,
    pub(crate) prepared: Option<Prepared>,
    pub(crate) ran: Ran,
    pub(crate) report: Report,
    pub(crate) energy: Option<EnergyReport>,
    pub(crate) threads: Threads,
}

impl Results {
    /// The results as JSON, keys in the order of the schema.
    pub(crate) fn to_json(&self) -> Value {
        let ran = &self.ran;
        let began = ran.first.map_or(ran.last, |first| first.max(ran.collected.warm_up));
        let simulated_ns = ran.last - began;
        // Flash page operations: reads and programs.
        let operations = ["page_reads", "page_programs", "summary_programs"]
            .map(|name| self.report.count(&format!("flash.{name}")));
        let per_second = |count: u64| count as f64 / ran.wall_seconds.max(1e-9);
        let elapsed = Elapsed {
            wall_seconds: ran.wall_seconds,
            requests_per_second: per_second(ran.collected.answered()),
            page_operations_per_second: per_second(operations.iter().sum()),
            threads: Some(self.threads).filter(|threads| threads.asked > 1),
        };
        // On a device with placement handles, writes that name handles need no notice.
        let places = self.report.section("fdp").is_some();
        let noticed =
            ran.notices.iter().filter(|(name, _)| !places || *name != placed::NAMED_HANDLES);
        let notices: Map<String, Value> =
            noticed.map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        let mut results = json!({
            "schema": SCHEMA,
            "version": env!("CARGO_PKG_VERSION"),
            "experiment": self.experiment,
            "capacity_bytes": self.capacity_bytes,
            "simulated_seconds": simulated_ns as f64 / 1e9,
            "elapsed": elapsed,
            "host": ran.collected.host(simulated_ns),
            "workload": {
                "asked": ran.asked - ran.collected.answers.ranges(),
                "warm_up": ran.collected.left_out,
                "unanswered": ran.unanswered,
                "notices": notices,
            },
        });
        if let Some(offered) = self.offered_iops(began) {
            results["workload"]["offered_iops"] = json!(offered);
        }
        if let Some(replayed) = &ran.replayed {
            let trace = replayed::section(replayed, self.capacity_bytes, self.scale);
            results["workload"]["trace"] = trace;
        }
        if let Some(classes) = ran.collected.classes.to_json(simulated_ns) {
            results["classes"] = classes;
        }
        results["warnings"] = json!(self.warnings(simulated_ns));
        if let (Value::Object(own), Some(all)) = (self.report.to_json(), results.as_object_mut()) {
            all.extend(own);
        }
        self.complete(&mut results);
        for (name, section) in &ran.sections {
            results[*name] = section.clone();
        }
        if self.prepared.is_some() || ran.settled.is_some() {
            results["steady_state"] =
                json!({ "preconditioning": self.prepared, "run": ran.settled });
        }
        if let Some(report) = &self.energy {
            let answered = ran.collected.answers.answered();
            results["energy"] = energy::section(report, &answered, simulated_ns);
        }
        results["time_series"] = ran.collected.time_series(self, simulated_ns);
        results
    }

    fn has_flash(&self) -> bool {
        self.report.section("flash").is_some()
    }

    /// Adds figures of the run to the device's sections: reads, power cuts, and uncertainties.
    fn complete(&self, results: &mut Value) {
        let ran = &self.ran;
        let cuts = ran.cuts.as_ref().map_or(&[][..], |it| &it.made);
        if let Some(lifetime) = self.report.section("wear.lifetime") {
            let pieces = ran.collected.pieces(true);
            results["wear"]["lifetime"] = lifetime::section(lifetime, &pieces, self.reached());
        }
        if let Some(health) = self.report.section("health") {
            let read = ran.collected.answers.bytes(Op::Read);
            let units = data_units(read, health.count("scale") as u32);
            results["health"]["data_units_read"] = json!(units);
            results["health"]["unsafe_shutdowns"] = json!(cuts.len());
        }
        if self.report.section("power").is_some() {
            let seconds = cuts.iter().map(|at| *at as f64 / 1e9);
            results["power"]["cut_at_seconds"] = seconds.collect();
        }
    }

    /// Coverage of the writes. A preconditioning trace repeats equal writes; other loads are
    /// samples of longer ones.
    fn reached(&self) -> Reached {
        let is_trace = self.experiment["workload"]["kind"] == "trace";
        let is_repeated = is_trace && self.prepared.as_ref().is_some_and(Prepared::is_own_load);
        self.ran.collected.reach.reached(is_repeated)
    }

    /// The rate at which requests were due, for timed arrivals.
    fn offered_iops(&self, began: Time) -> Option<f64> {
        let Offered { last, held_back } = self.ran.offered?;
        let span = last.saturating_sub(began);
        let due = self.ran.collected.answers.count() + self.ran.unanswered + held_back;
        (span > 0 && due > 1).then(|| (due - 1) as f64 / (span as f64 / 1e9))
    }

    fn warnings(&self, simulated_ns: Time) -> Vec<warnings::Warning> {
        let collected = &self.ran.collected;
        let overload = self.ran.offered.and_then(|offered| {
            let last = offered.last.saturating_sub(collected.start?);
            collected.backlog.overload(last)
        });
        // A cache reports its front flash, which has neither the capacity nor all writes of the
        // device.
        let is_all = self.has_flash() && self.report.section("cache").is_none();
        let mut found = warnings::warnings(&warnings::Facts {
            capacity_bytes: self.capacity_bytes,
            written_bytes: collected.answers.bytes(Op::Write),
            pieces: &collected.pieces(self.has_flash()),
            is_untimed: !collected.untimed.is_empty(),
            overload,
            device: is_all.then_some(&self.report),
            notices: &self.ran.notices,
            prepared: self.prepared.as_ref(),
            was_prepared: self.was_prepared,
        });
        found.extend(warnings::of_device(&self.report));
        found.extend(guessed::warning(&self.ran.guessed));
        found.extend(self.ran.replayed.iter().flat_map(|replayed| {
            replayed::warnings(&replayed::Evidence {
                replayed,
                requests: collected.answers.count(),
                reads: collected.answers.answered().reads,
                seconds: simulated_ns as f64 / 1e9,
                is_overlaid: self.experiment["workload"]["combine"] == "overlay",
                is_overwritten: self.experiment["run"]["precondition"]
                    .as_str()
                    .is_some_and(|it| it.starts_with("random")),
            })
        }));
        found.extend(placed::ignored(&self.report, &self.ran.notices));
        found
    }
}
