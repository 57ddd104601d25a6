//! What was programmed and why, and the SLC cache: their part of the results.

use devices::ssd::{SlcReport, SsdReport};
use engine::Time;
use serde_json::{Map, Value, json};

/// Bytes programmed by cause.
pub fn bytes(report: &SsdReport) -> Value {
    report.media.rows().iter().map(|(cause, bytes)| ((*cause).to_owned(), json!(bytes))).collect()
}

/// The section `slc_cache`: what went through it, and its states in order.
pub fn slc_cache(report: &SlcReport) -> Value {
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
