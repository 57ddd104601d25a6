//! Warnings about results that are easily misread.
//!
//! One function per rule, from figures of the run to a [`Warning`] or `None`. Rules over time
//! compare stretches of the run ([`Piece`]): the bins of its time series or, for untimed runs,
//! equal numbers of requests. The limits of the rules were chosen on runs of known kind, which
//! `crates/lab/tests/warnings.rs` repeats.

mod spare;

use crate::overload::Overload;
use crate::steady::Prepared;
use devices::Report;
use devices::ssd::account::FlashCounts;
pub use devices::ssd::percent;
use engine::Bin;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use spare::{RunKind, cleaning_behind, effective_spare};
use std::borrow::Cow;

/// All warnings with their meaning. `docs/warnings.md` has a section for each.
pub(crate) const WARNINGS: &[(&str, &str)] = &[
    ("nothing_cleaned", "the run wrote data, but no block was cleaned"),
    ("unsettled", "preconditioning ended before write amplification had settled"),
    ("transient", "not in steady state: the drive was still changing during the run"),
    (
        "overloaded",
        "the offered load exceeded the throughput: the queue grew until the last request",
    ),
    ("scaled_buffer", "the write buffer absorbed requests that it would not on the whole drive"),
    ("effective_spare", "blocks kept free or open use most of the spare space"),
    (
        "spare_in_open_units",
        "open reclaim units use so much spare space that FDP may raise write amplification",
    ),
    ("handles_unused", "nothing was written with some placement handles"),
    ("foreign_invalidation", "data of a placement handle was superseded by other handles"),
    ("placement_ignored", "writes named placement handles, and the device has none"),
    (
        "buffer_untimed",
        "pages were overwritten in the write buffer of an untimed run, as many as at saturation",
    ),
    (
        "cleaning_behind",
        "cleaning that yields to requests keeps fewer blocks erased under load than without time",
    ),
    ("guessed_parameters", "parameters of the workload are guesses that no publication states"),
    ("mixed_volumes", "several volumes of a trace were mixed into one drive"),
    (
        "little_evidence",
        "the trace is short, of reads alone, or a small sample of what it goes over",
    ),
    ("wrapped", "trace requests beyond the capacity were wrapped around"),
    ("remapped", "addresses of a trace were scaled, compacted or shifted"),
    ("clipped", "long gaps of a trace were shortened"),
    ("truncated", "unreadable lines or records of a trace were skipped"),
];

/// For each workload counter: its warning, its key, and its description.
const COUNTS: [(&str, &str, &str); 7] = [
    ("wrapped_requests", "wrapped", "requests beyond the capacity were wrapped around"),
    ("scaled_requests", "remapped", "requests were moved by scaling addresses to the capacity"),
    ("compacted_requests", "remapped", "requests were moved by dense renumbering of pages"),
    ("shifted_requests", "remapped", "requests were shifted by workload.align_shift"),
    ("shortened_gaps", "clipped", "gaps were shortened to workload.max_gap"),
    ("unreadable_lines", "truncated", "unreadable lines were skipped"),
    ("unreadable_records", "truncated", "unreadable records were skipped"),
];

/// A warning in the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Warning {
    /// Name in [`WARNINGS`].
    pub(crate) name: Cow<'static, str>,
    /// The observation, its meaning and advice, in one or two sentences.
    pub(crate) message: String,
    /// The underlying figures.
    pub(crate) figures: Map<String, Value>,
}

impl Warning {
    pub fn new(name: &'static str, message: String, figures: Value) -> Warning {
        debug_assert!(WARNINGS.iter().any(|(known, _)| *known == name), "{name}");
        let Value::Object(figures) = figures else { unreachable!("figures are named") };
        Warning { name: name.into(), message, figures }
    }
}

/// A stretch of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Piece {
    /// Completed requests, and the sum of their latencies.
    pub(crate) requests: u64,
    pub(crate) latency_ns: f64,
    /// Flash pages written by the host, and all pages programmed.
    pub(crate) host_pages: u64,
    pub(crate) programs: u64,
    /// Erased blocks at the end.
    pub(crate) free_blocks: Option<u64>,
}

impl Piece {
    /// A bin of a time series.
    pub(crate) fn of_bin(bin: &Bin) -> Piece {
        let latency_ns = bin.latency_sum_ns as f64;
        Piece { requests: bin.requests, latency_ns, ..Piece::default() }
    }

    /// Adds the flash activity, from counters at the start and end.
    pub(crate) fn add_flash(&mut self, before: &FlashCounts, end: &FlashCounts) {
        self.host_pages = end.host_pages_written - before.host_pages_written;
        self.programs = end.page_programs - before.page_programs;
        self.free_blocks = Some(end.free_blocks);
    }
}

/// Facts of a run for the rules.
pub(crate) struct Facts<'a> {
    pub(crate) capacity_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) pieces: &'a [Piece],
    /// True for untimed requests.
    pub(crate) is_untimed: bool,
    /// Overload of the device, if any.
    pub(crate) overload: Option<Overload>,
    /// The report of a device whose flash receives all writes.
    pub(crate) device: Option<&'a Report>,
    pub(crate) notices: &'a [(&'static str, u64)],
    /// How the drive settled during preconditioning, if settling ended it.
    pub(crate) prepared: Option<&'a Prepared>,
    /// True if the drive was preconditioned, or loaded from a file.
    pub(crate) was_prepared: bool,
}

/// Every warning that applies, in the order of [`WARNINGS`].
pub(crate) fn warnings(run: &Facts<'_>) -> Vec<Warning> {
    let uncleaned = run.device.and_then(|flash| nothing_cleaned(run, flash));
    let overload = run.overload.as_ref().map(overloaded);
    // Without garbage collection the state also changes, and a growing queue changes latencies, so
    // one warning suffices.
    let changing = run.device.filter(|_| uncleaned.is_none());
    let changing = changing.and_then(|flash| transient(run, flash, overload.is_some()));
    let spare = run.device.and_then(|it| effective_spare(it.section("flash.spare")?));
    let spare = spare.map(|(message, figures)| Warning::new("effective_spare", message, figures));
    let unsettled = run.prepared.and_then(unsettled);
    let scaled = run.device.and_then(scaled_buffer);
    let untimed = run.device.filter(|_| run.is_untimed).and_then(buffer_untimed);
    let kind = match (run.is_untimed, run.was_prepared) {
        (true, _) => RunKind::Untimed,
        (false, true) => RunKind::TimedBehindUntimed,
        (false, false) => RunKind::Timed,
    };
    let behind = run.device.filter(|it| it.count("flash.block_erases") > 0);
    let behind = behind.and_then(|it| cleaning_behind(it.section("flash.spare")?, kind));
    let behind = behind.map(|(message, figures)| Warning::new("cleaning_behind", message, figures));
    let found = [uncleaned, unsettled, changing, overload, scaled, spare, untimed, behind];
    let found = found.into_iter().flatten();
    found.chain(of_trace(run.notices)).collect()
}

/// Warnings from the device's own sections.
pub(crate) fn of_device(report: &Report) -> Vec<Warning> {
    let found = report.all().into_iter().map(|section| section.value("warnings"));
    found.flat_map(|all| serde_json::from_value::<Vec<Warning>>(all).unwrap_or_default()).collect()
}

/// Advice for a drive that is not in steady state.
fn settle(was_prepared: bool) -> &'static str {
    if was_prepared {
        "run longer (workload.requests)"
    } else {
        "set run.precondition=steady to measure the drive in steady state"
    }
}

/// Warning about a run that wrote data but erased no block: the drive had free space for all
/// writes.
fn nothing_cleaned(run: &Facts<'_>, device: &Report) -> Option<Warning> {
    let erases = device.count("flash.block_erases");
    if run.written_bytes == 0 || erases > 0 {
        return None;
    }
    let capacity = run.written_bytes as f64 / run.capacity_bytes as f64;
    let nominal = device.number("flash.spare.nominal")?;
    let spare = capacity * (1.0 - nominal) / nominal;
    let message = format!(
        "no block was cleaned: the run wrote {} of the capacity, or {} of the spare space; write \
         amplification and latency are not in steady state; {}",
        percent(capacity),
        percent(spare),
        settle(run.was_prepared)
    );
    let figures = json!({
        "written_share_of_capacity": capacity,
        "written_share_of_spare": spare,
        "blocks_erased": erases,
    });
    Some(Warning::new("nothing_cleaned", message, figures))
}

/// Warning about preconditioning that ended unsettled.
fn unsettled(prepared: &Prepared) -> Option<Warning> {
    if !prepared.is_given_up {
        return None;
    }
    let state = &prepared.state;
    let (first, last) = (state.window().first()?, state.window().last()?);
    let message = format!(
        "after {} rounds of preconditioning, {:.1} capacities, write amplification had not settled: from \
         {first:.2} to {last:.2} in the last {} of them; the results depend on how long the drive was \
         preconditioned; raise run.steady.rounds, or run.steady.round_writes if it swings from round to \
         round",
        state.rounds().len(),
        prepared.capacities_written,
        state.window().len(),
    );
    let figures = json!({
        "window": state.window(),
        "drift": prepared.drift,
        "capacities_written": prepared.capacities_written,
    });
    Some(Warning::new("unsettled", message, figures))
}

/// Batches per fifth of a run, from which its noise is estimated.
const BATCHES: usize = 4;
/// Number of compared parts of a run.
const FIFTHS: usize = 5;
/// Minimum significant difference, in standard errors.
const LEAST_ERRORS: f64 = 6.0;
/// Minimum mean number of pages written, or requests completed, per batch. With fewer, figures are
/// random, because cleaning one block moves dozens of pages.
const LEAST_IN_BATCH: f64 = 100.0;
/// Minimum significant changes: of write amplification relative to its mean, of free blocks
/// relative to the spare blocks. Write amplification has an error of 1 %, and preconditioning with
/// another load is wrong by 5 %.
const LEAST_CHANGE: f64 = 0.05;
const LEAST_CHANGE_OF_BLOCKS: f64 = 0.1;
/// Latency also varies with the load, so its change must be larger and monotonic.
const LEAST_LATENCY_RATIO: f64 = 1.5;

/// A figure in the first and last fifth of a run.
struct Change {
    first: f64,
    last: f64,
    /// True if the figure rises or falls monotonically.
    is_steady: bool,
}

/// Significant change of a figure from the first to the last fifth of the run.
///
/// The standard error of the difference of two fifths follows from the batches within the fifths.
/// The median of the five variances is used, so that a change within one or two fifths does not
/// count as noise.
fn change(batches: &[Option<f64>]) -> Option<Change> {
    let fifths = batches.chunks(batches.len() / FIFTHS).take(FIFTHS);
    let (mut means, mut variances) = (Vec::new(), Vec::new());
    for fifth in fifths {
        let known: Vec<f64> = fifth.iter().copied().flatten().collect();
        if known.len() < 2 {
            return None;
        }
        let count = known.len() as f64;
        let mean = known.iter().sum::<f64>() / count;
        means.push(mean);
        let squares = known.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>();
        variances.push(squares / (count - 1.0) / count);
    }
    variances.sort_by(f64::total_cmp);
    let error = (2.0 * variances[FIFTHS / 2]).sqrt();
    let (first, last) = (means[0], means[FIFTHS - 1]);
    if (last - first).abs() <= LEAST_ERRORS * error {
        return None;
    }
    let is_steady =
        means.windows(2).all(|it| it[0] < it[1]) || means.windows(2).all(|it| it[0] > it[1]);
    Some(Change { first, last, is_steady })
}

/// The pieces in the number of batches required by the rules, with about equal numbers of requests;
/// `None` if there are too few pieces.
fn batches(pieces: &[Piece]) -> Option<Vec<Vec<Piece>>> {
    let busy = pieces.iter().filter(|piece| piece.requests > 0).count();
    let per_fifth = (busy / FIFTHS).min(BATCHES);
    if per_fifth < 2 {
        return None;
    }
    let count = per_fifth * FIFTHS;
    let mut batches = vec![Vec::new(); count];
    let all: u64 = pieces.iter().map(|piece| piece.requests).sum();
    let mut before = 0.0;
    for piece in pieces {
        let middle = before + 0.5 * piece.requests as f64;
        before += piece.requests as f64;
        let batch = (middle / all as f64 * count as f64) as usize;
        batches[batch.min(count - 1)].push(*piece);
    }
    Some(batches)
}

/// Sum over pieces.
fn sum(pieces: &[Piece], of: fn(&Piece) -> f64) -> f64 {
    pieces.iter().map(of).sum()
}

fn ratio(above: f64, below: f64) -> Option<f64> {
    (below > 0.0).then(|| above / below)
}

fn amplification(pieces: &[Piece]) -> Option<f64> {
    ratio(sum(pieces, |it| it.programs as f64), sum(pieces, |it| it.host_pages as f64))
}

fn free_blocks(pieces: &[Piece]) -> Option<f64> {
    let known: Vec<f64> = pieces.iter().filter_map(|it| Some(it.free_blocks? as f64)).collect();
    ratio(known.iter().sum(), known.len() as f64)
}

fn mean_us(pieces: &[Piece]) -> Option<f64> {
    ratio(sum(pieces, |it| it.latency_ns / 1e3), sum(pieces, |it| it.requests as f64))
}

/// Warning about a drive whose state changed during the run.
fn transient(run: &Facts<'_>, device: &Report, is_overloaded: bool) -> Option<Warning> {
    let batches = batches(run.pieces)?;
    let least = LEAST_IN_BATCH * batches.len() as f64;
    let has_writes = sum(run.pieces, |it| it.host_pages as f64) >= least;
    let has_requests = sum(run.pieces, |it| it.requests as f64) >= least;
    let changed = |is_enough: bool, of: fn(&[Piece]) -> Option<f64>| {
        let each = || batches.iter().map(|batch| of(batch)).collect::<Vec<_>>();
        if is_enough { change(&each()) } else { None }
    };
    let mean = amplification(run.pieces).unwrap_or(1.0);
    let by = |it: &Change, least: f64| (it.last - it.first).abs() > least;
    let mut figures = Map::new();
    let mut said = Vec::new();
    if let Some(it) = changed(has_writes, amplification).filter(|it| by(it, LEAST_CHANGE * mean)) {
        figures.insert("write_amplification".to_owned(), json!([it.first, it.last]));
        said.push(format!(
            "write amplification (in flash pages) from {:.2} to {:.2}",
            it.first, it.last
        ));
    }
    let spare = device.number("flash.spare.blocks").unwrap_or(0.0);
    if let Some(it) =
        changed(has_writes, free_blocks).filter(|it| by(it, LEAST_CHANGE_OF_BLOCKS * spare))
    {
        figures.insert("free_blocks".to_owned(), json!([it.first, it.last]));
        said.push(format!("erased blocks from {:.0} to {:.0}", it.first, it.last));
    }
    let slower = |it: &Change| it.last / it.first > LEAST_LATENCY_RATIO;
    let faster = |it: &Change| it.first / it.last > LEAST_LATENCY_RATIO;
    let latency =
        changed(has_requests, mean_us).filter(|it| it.is_steady && (slower(it) || faster(it)));
    if let Some(it) = latency.filter(|_| !is_overloaded) {
        figures.insert("mean_us".to_owned(), json!([it.first, it.last]));
        said.push(format!("mean latency from {} to {}", micros(it.first), micros(it.last)));
    }
    if said.is_empty() {
        return None;
    }
    // Only the flash state can be prepared; latency may change for other reasons.
    let flash_changed = figures.keys().any(|key| key != "mean_us");
    let advice =
        if flash_changed { settle(run.was_prepared) } else { "run longer (workload.requests)" };
    let message = format!(
        "not in steady state; between the first and the last fifth of the run: {}; the results depend on \
            the length of the run; {advice}",
        said.join(", "),
    );
    Some(Warning::new("transient", message, Value::Object(figures)))
}

/// Warning about more requests due than the device completed.
fn overloaded(overload: &Overload) -> Warning {
    let Overload { offered_iops, served_iops, waiting, requests } = overload;
    let times = match offered_iops / served_iops {
        times if times.is_finite() => format!(", {times:.2} times as many"),
        _ => String::new(),
    };
    let message = format!(
        "the offered load exceeded the throughput: {} requests/s were offered and {} served{times}; \
         the queue grew until the last request, to {}; latencies grow with the length \
         of the run",
        rate(*offered_iops),
        rate(*served_iops),
        waiting.last().copied().unwrap_or_default(),
    );
    let figures = json!({
        "offered_iops": offered_iops,
        "served_iops": served_iops,
        "waiting": waiting,
        "requests": requests,
    });
    Warning::new("overloaded", message, figures)
}

/// Minimum share of pages absorbed by the buffer for it to affect the results.
const LEAST_ABSORBED: f64 = 0.01;

/// Warning about a scaled drive with a full-size buffer, whose size follows from its dies. Under a
/// skewed load it holds a larger share of the hot pages than on the full-size drive.
fn scaled_buffer(device: &Report) -> Option<Warning> {
    let share = |part: &str, of: &str| match device.count(of) {
        0 => 0.0,
        of => device.count(part) as f64 / of as f64,
    };
    let scale = device.count("health.scale");
    let replaced = share("buffer.replaced_pages", "flash.host_pages_written");
    let hits = share("buffer.read_hits", "flash.host_pages_read");
    if scale == 1 || replaced.max(hits) < LEAST_ABSORBED {
        return None;
    }
    let amplification = device.number("flash.write_amplification");
    let programmed = amplification.map(|it| it / (1.0 - replaced).max(f64::EPSILON));
    let of_the_rest = programmed
        .map(|it| format!("; write amplification of the pages that were not replaced is {it:.2}"));
    let message = format!(
        "the write buffer is {scale} times as large for the drive as in reality (device.scale): {} of the \
         pages written were replaced in it, {} of the pages read were read from it, and on the whole drive \
         fewer; the results depend on the scale{}; compare with a smaller device.scale",
        percent(replaced),
        percent(hits),
        of_the_rest.unwrap_or_default(),
    );
    let figures = json!({
        "scale": scale,
        "replaced_share": replaced,
        "read_hit_share": hits,
        "write_amplification_not_replaced": programmed,
    });
    Some(Warning::new("scaled_buffer", message, figures))
}

/// Minimum share of host pages overwritten in the buffer; below it, the effect on write
/// amplification is less than the difference of timed and untimed runs.
const LEAST_REPLACED: f64 = 0.02;

/// Warning about an untimed buffer, which is as full as at saturation.
fn buffer_untimed(device: &Report) -> Option<Warning> {
    let written = device.count("flash.host_pages_written").max(1);
    let share = device.count("buffer.replaced_pages") as f64 / written as f64;
    if share < LEAST_REPLACED {
        return None;
    }
    let message = format!(
        "{} of the pages written were overwritten in the write buffer, which an untimed run fills as writes at \
         saturation do; at a lower load fewer are: use run.timed=true for write amplification under that load",
        percent(share)
    );
    let figures = json!({ "replaced_share": share });
    Some(Warning::new("buffer_untimed", message, figures))
}

/// Warnings about modified requests of a trace.
fn of_trace(notices: &[(&'static str, u64)]) -> Vec<Warning> {
    let mut found: Vec<Warning> = Vec::new();
    for (count_name, name, what) in COUNTS {
        let Some((_, count)) = notices.iter().find(|(it, _)| *it == count_name) else { continue };
        if *count == 0 {
            continue;
        }
        let message = format!("{count} {what}");
        if let Some(known) = found.iter_mut().find(|it| it.name == name) {
            known.message = format!("{}; {message}", known.message);
            known.figures.insert(count_name.to_owned(), json!(count));
        } else {
            found.push(Warning::new(name, message, json!({ (count_name): count })));
        }
    }
    found
}

/// A rate with at least three digits.
fn rate(per_second: f64) -> String {
    match per_second {
        100.0.. => format!("{per_second:.0}"),
        10.0.. => format!("{per_second:.1}"),
        _ => format!("{per_second:.2}"),
    }
}

/// A time in microseconds, as text.
fn micros(us: f64) -> String {
    if us >= 1e6 {
        format!("{:.3} s", us / 1e6)
    } else if us >= 1e3 {
        format!("{:.2} ms", us / 1e3)
    } else {
        format!("{us:.1} us")
    }
}
