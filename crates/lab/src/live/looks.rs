//! Queries of a served device. They change no state.

use super::{map, report};
use crate::faults::Faulty;
use crate::results::Collected;
use crate::zones;
use devices::ssd::account::Counter;
use devices::{Looks, Report};
use engine::{Device, SECTOR_BYTES, Time};
use nbd::Punctuality;
use serde_json::{Map, Value, json};

/// Counts of a served device.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    pub(super) simulated: &'a Collected,
    pub(super) measured: &'a Collected,
    /// From the first arrival to the latest event.
    pub(super) simulated_ns: Time,
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

/// Answer to a named query, if there is one.
pub(super) fn look(
    counted: Counted<'_>,
    device: &Faulty<'_>,
    now: Time,
    what: &str,
    timing: &Punctuality,
) -> Option<Result<Value, String>> {
    match what {
        "stats" => Some(Ok(stats(counted, device, now, timing))),
        "health" => Some(health(device, now)),
        "about" => Some(Ok(about(device, now))),
        "map" => {
            let mut looks = Looks::default();
            device.device.blocks(&mut looks);
            Some(map::map(&looks).ok_or_else(|| "map: this device has no flash".to_owned()))
        }
        "placement" => Some(placement(device, now)),
        "zones" => Some(zones(device)),
        "counts" => Some(Ok(counts(counted, device, now, timing))),
        _ => None,
    }
}

fn stats(counted: Counted<'_>, device: &Faulty<'_>, now: Time, timing: &Punctuality) -> Value {
    let report = device.device.report(now);
    json!({
        "at_seconds": now as f64 / 1e9,
        "requests": counted.requests,
        "bytes": counted.bytes,
        "host": counted.simulated.host(counted.simulated_ns),
        "write_amplification": report.value("flash.write_amplification_bytes"),
        "timing": report::verdict(timing).0,
        "late_share": timing.late_share(),
    })
}

fn health(device: &Faulty<'_>, now: Time) -> Result<Value, String> {
    let report = device.device.report(now);
    let section = report.section("health").ok_or("health: this device has no flash")?;
    let mut health = json!({
        "percentage_used": section.value("percentage_used"),
        "available_spare": section.value("available_spare"),
        "critical_warnings": section.value("critical_warnings"),
        "mean_erases": report.value("wear.mean_erases"),
        "max_erases": report.value("wear.max_erases"),
        "capacity_bytes": device.device.capacity_sectors() * SECTOR_BYTES,
    });
    if section.field("media_errors").is_some() {
        health["media_errors"] = section.value("media_errors");
    }
    Ok(health)
}

/// Current section `fdp` of the results.
fn placement(device: &Faulty<'_>, now: Time) -> Result<Value, String> {
    let report = device.device.report(now);
    let section = report.section("fdp");
    let none = "placement: this device has no placement handles (device.fdp.handles)";
    section.map(Report::to_json).ok_or_else(|| none.to_owned())
}

/// Zones with data, and common properties.
fn zones(device: &Faulty<'_>) -> Result<Value, String> {
    let states = device.device.facts().zones;
    states.map(zones::listed).ok_or_else(|| "zones: this device has none".to_owned())
}

/// Adds retention figures, if the data age: the clock, and the shares of pages that need retries
/// and that are lost.
pub(super) fn add_age(answer: &mut Value, device: &Faulty<'_>, now: Time) {
    let report = device.device.report(now);
    let Some(aged) = report.section("media") else { return };
    answer["clock_days"] = aged.value("clock_days");
    if let Some(shares) = aged.section("now") {
        answer["retried_share"] = shares.value("retried_share");
        answer["lost_share"] = shares.value("lost_share");
    }
}

/// Constant properties of a served device.
fn about(device: &Faulty<'_>, now: Time) -> Value {
    let report = device.device.report(now);
    let flash = report.section("flash").map(|flash| {
        json!({
            "blocks": report.count("wear.blocks_by_erases"),
            "blocks_kept_erased": flash.value("spare.blocks_kept_erased"),
            "spare_share": flash.value("spare.nominal"),
            "units": report.list("units").len(),
        })
    });
    json!({
        "device": device.title(),
        "bins": bin_bounds(),
        "flash": flash,
    })
}

/// Upper bounds of the latency bins, ns, up to an hour.
fn bin_bounds() -> Vec<Time> {
    const LONGEST_NS: Time = 3600 * 1_000_000_000;
    let bounds = (0..).map(engine::LatencyStats::bin_bound_ns);
    bounds.take_while(|bound| *bound < LONGEST_NS).collect()
}

/// All counters since the start; the difference of two queries is the activity in between.
fn counts(counted: Counted<'_>, device: &Faulty<'_>, now: Time, timing: &Punctuality) -> Value {
    let (word, reason) = report::verdict(timing);
    json!({
        "at_seconds": now as f64 / 1e9,
        "model": counted.simulated.so_far(),
        "measured": counted.measured.so_far(),
        "flash": flash(device),
        "timing": {
            "verdict": word,
            "reason": reason,
            "requests": timing.requests,
            "late": timing.late,
            "below_overhead": timing.below_overhead,
        },
        "in_force": device.in_force(now),
    })
}

/// Figures of the flash over time, if any.
fn flash(device: &Faulty<'_>) -> Option<Map<String, Value>> {
    let figures = device.followed().filter(|_| device.device.facts().pages > 0)?;
    let rows = Counter::over_time().into_iter();
    Some(rows.map(|(_, place, name)| (name.to_owned(), json!(figures.0[place]))).collect())
}
