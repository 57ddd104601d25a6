//! Queries of a live device while it is served. They change nothing.

use super::{map, report};
use crate::faults::Faulty;
use crate::results::Collected;
use crate::{placed, zones};
use devices::Looks;
use devices::ssd::account::Counter;
use engine::{Device, SECTOR_BYTES, Time};
use nbd::Punctuality;
use serde_json::{Map, Value, json};

/// What was counted while it is served.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    pub(super) simulated: &'a Collected,
    pub(super) measured: &'a Collected,
    /// From the first arrival to the latest event.
    pub(super) simulated_ns: Time,
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

/// What is seen, if that is the name of something to be seen.
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
        "placement" => Some(placement(device)),
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
        "write_amplification": report.and_then(|it| it.write_amplification_bytes),
        "timing": report::verdict(timing).0,
        "late_share": timing.late_share(),
    })
}

fn health(device: &Faulty<'_>, now: Time) -> Result<Value, String> {
    let report = device.device.report(now).ok_or("health: this device has no flash")?;
    let mut health = json!({
        "percentage_used": report.health.percentage_used,
        "available_spare": report.health.available_spare,
        "critical_warnings": report.health.critical_warnings().collect::<Vec<_>>(),
        "mean_erases": report.wear.mean_erases,
        "max_erases": report.wear.max_erases,
        "capacity_bytes": device.device.capacity_sectors() * SECTOR_BYTES,
    });
    if let Some(errors) = report.health.media_errors {
        health["media_errors"] = json!(errors);
    }
    Ok(health)
}

/// The section `fdp` of the results as it is now.
fn placement(device: &Faulty<'_>) -> Result<Value, String> {
    let report = device.device.fdp_report();
    let report =
        report.ok_or("placement: this device has no placement handles (device.fdp.handles)")?;
    Ok(placed::section(&report))
}

/// The zones that are not empty, and what all are like.
fn zones(device: &Faulty<'_>) -> Result<Value, String> {
    let states = device.device.zone_states();
    states.map(zones::listed).ok_or_else(|| "zones: this device has none".to_owned())
}

/// Adds how old data are, where they age: the clock, and the shares of pages that take retries and that are lost.
pub(super) fn add_age(answer: &mut Value, device: &Faulty<'_>, now: Time) {
    let Some(aged) = device.device.report(now).and_then(|report| report.aged) else { return };
    answer["clock_days"] = json!(aged.clock_days);
    if let Some([retried, lost]) = aged.shares_now() {
        answer["retried_share"] = json!(retried);
        answer["lost_share"] = json!(lost);
    }
}

/// What does not change while it is served.
fn about(device: &Faulty<'_>, now: Time) -> Value {
    let flash = device.device.report(now).map(|report| {
        let blocks: u64 = report.wear.blocks_by_erases.iter().map(|(_, blocks)| blocks).sum();
        json!({
            "blocks": blocks,
            "blocks_kept_erased": report.spare.blocks_kept_erased,
            "spare_share": report.spare.nominal,
            "units": report.units.len(),
        })
    });
    json!({
        "device": device.title(),
        "bins": bin_bounds(),
        "flash": flash,
    })
}

/// The bounds of the bins of latencies, ns, up to an hour.
fn bin_bounds() -> Vec<Time> {
    const LONGEST_NS: Time = 3600 * 1_000_000_000;
    let bounds = (0..).map(engine::LatencyStats::bin_bound_ns);
    bounds.take_while(|bound| *bound < LONGEST_NS).collect()
}

/// All counters since the start; two queries give the change in between.
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
            "below_floor": timing.below_floor,
        },
        "in_force": device.in_force(now),
    })
}

/// What is followed of the flash, where there is some.
fn flash(device: &Faulty<'_>) -> Option<Map<String, Value>> {
    let figures = device.followed().filter(|_| device.device.preparable_pages() > 0)?;
    let rows = Counter::over_time().into_iter();
    Some(rows.map(|(_, place, name)| (name.to_owned(), json!(figures.0[place]))).collect())
}
