//! What was programmed and why, and the SLC cache: their part of the results.

use crate::{aged, placed, power};
use devices::ssd::account::Section;
use devices::ssd::ftl::BadReport;
use devices::ssd::{SlcReport, SsdReport, ThermalReport};
use engine::{PowerCuts, Time};
use serde_json::{Map, Value, json};

/// Bytes programmed by cause; that of the map of drives with a map cache.
pub fn bytes(report: &SsdReport) -> Value {
    let is_of_drive = |cause: &str| cause != "map" || report.maps;
    let rows = report.media.rows().into_iter().filter(|(cause, _)| is_of_drive(cause));
    rows.map(|(cause, bytes)| (cause.to_owned(), json!(bytes))).collect()
}

/// Adds the sections of what only some drives have, in the order of the schema.
pub fn sections(flash: &SsdReport, cuts: Option<&PowerCuts>, results: &mut Value) {
    let power = flash.power.as_ref().and_then(|it| power::section(it, cuts));
    let queues = (!flash.queues.is_empty()).then(|| queues(flash));
    let found = [
        ("map", flash.maps.then(|| map(flash))),
        ("queues", queues),
        ("slc_cache", flash.slc_cache.as_ref().map(slc_cache)),
        ("media", aged::section(flash)),
        ("bad_blocks", flash.bad.as_ref().map(bad_blocks)),
        ("thermal", flash.thermal.as_ref().map(thermal)),
        ("fdp", flash.fdp.as_ref().map(placed::section)),
        ("power", power.map(|section| json!(section))),
    ];
    for (name, section) in found {
        if let Some(section) = section {
            results[name] = section;
        }
    }
}

/// The section `bad_blocks`: those that are not worn.
fn bad_blocks(report: &BadReport) -> Value {
    json!({
        "factory": report.factory,
        "grown": report.grown,
        "superblocks_retired": report.superblocks,
        "failed_programs": report.failed_programs,
    })
}

/// The section `thermal`: temperatures, and what writes waited for them.
fn thermal(report: &ThermalReport) -> Value {
    let seconds = |ns: Time| ns as f64 / 1e9;
    let series: Vec<Value> =
        report.series.iter().map(|(at, celsius)| json!([seconds(*at), celsius])).collect();
    json!({
        "highest_celsius": report.highest,
        "last_celsius": report.last,
        "limit_reached": report.times,
        "throttled_seconds": seconds(report.throttled_ns),
        "celsius_over_seconds": series,
    })
}

/// The section `map`: look-ups in the map, of a drive that caches it.
fn map(report: &SsdReport) -> Value {
    let all = report.counts.hits + report.counts.misses;
    let share = (all > 0).then(|| report.counts.hits as f64 / all as f64);
    let counts = report.counts.rows().filter(|(row, _)| row.section == Section::Map);
    let rows = counts.map(|(row, count)| (row.key.to_owned(), json!(count)));
    std::iter::once(("hit_share".to_owned(), json!(share))).chain(rows).collect()
}

/// The section `queues`: what the device took from each submission queue of the host. A queue starves if something
/// waits in it and nothing of it was ever taken.
fn queues(flash: &SsdReport) -> Value {
    let of = |(number, it): (usize, &devices::QueueAccount)| {
        json!({
            "queue": number,
            "class": it.class.name(),
            "fetched": it.fetched,
            "waited_mean_us": (it.fetched > 0).then(|| it.waited_ns as f64 / 1e3 / it.fetched as f64),
            "waited_max_us": it.longest_ns as f64 / 1e3,
            "waiting": it.waiting,
            "starved": it.waiting > 0 && it.fetched == 0,
        })
    };
    flash.queues.iter().enumerate().map(of).collect()
}

/// The section `slc_cache`: what went through it, and its states in order.
fn slc_cache(report: &SlcReport) -> Value {
    let seconds = |ns: Time| ns as f64 / 1e9;
    let states: Map<String, Value> = report
        .states
        .iter()
        .map(|(state, ns)| ((*state).to_owned(), json!(seconds(*ns))))
        .collect();
    let phases = report.phases.iter().map(|it| {
        json!({
            "state": it.state,
            "from_seconds": seconds(it.from),
            "seconds": seconds(it.time),
            "written_bytes": it.written,
            "held_bytes": it.held,
        })
    });
    json!({
        "written_bytes": report.written,
        "direct_bytes": report.direct,
        "forced_bytes": report.forced,
        "folded_bytes": report.folded,
        "cliff_at_bytes": report.cliff_at,
        "held_bytes": report.held,
        "states_seconds": states,
        "phases": phases.collect::<Vec<Value>>(),
    })
}
