//! The final report of a live device, in addition to the results of a simulation.

use crate::config::Experiment;
use engine::Op;
use nbd::{Overhead, Punctuality, Verdict};
use serde_json::{Map, Value, json};

/// The experiment, with the recorded trace as its workload.
pub(super) fn replayable(
    experiment: &Experiment,
    record: Option<&str>,
    faults: Option<&str>,
) -> Value {
    let mut value = experiment.to_json();
    if let Value::Object(sections) = &mut value {
        sections.remove("workload");
        let title = experiment.title.split(" under ").next().unwrap_or_default();
        sections.insert("title".to_owned(), json!(format!("{title} under live requests")));
        if let (Some(path), Some(run)) = (faults, sections.get_mut("run")) {
            run["faults"] = json!(path);
        }
        if let Some(path) = record {
            sections.insert("workload".to_owned(), json!({ "kind": "trace", "path": path }));
        }
    }
    value
}

pub(super) fn timing_section(timing: &Punctuality, overhead: &Overhead) -> Value {
    let per_request =
        |ns: u64| (timing.requests > 0).then(|| ns as f64 / 1e3 / timing.requests as f64);
    let (word, reason) = verdict(timing);
    let overheads = |op: Op| -> Map<String, Value> {
        [512, 4096, 65_536, 1 << 20]
            .map(|bytes: u64| (bytes.to_string(), json!(overhead.least(op, bytes) as f64 / 1e3)))
            .into_iter()
            .collect()
    };
    json!({
        "timing": word,
        "reason": reason,
        "requests": timing.requests,
        "late": timing.late,
        "late_share": timing.late_share(),
        "late_by_backing": timing.late_by_backing,
        "held_back": timing.held_back,
        "below_overhead": timing.below_overhead,
        "overhead_excess_mean_us": per_request(timing.overhead_excess_ns),
        "model_mean_us": per_request(timing.model_ns),
        "measured_mean_us": per_request(timing.measured_ns),
        "latest_us": timing.latest_ns as f64 / 1e3,
        "processor_wait_mean_us": timing.waited_ns.and_then(per_request),
        "overhead_us": { "read": overheads(Op::Read), "write": overheads(Op::Write) },
    })
}

/// Verdict on the timing in a word, with the reason.
pub(super) fn verdict(timing: &Punctuality) -> (&'static str, Option<String>) {
    match timing.verdict() {
        Verdict::Valid => ("valid", None),
        Verdict::Invalid(reason) => ("invalid", Some(reason)),
    }
}

/// Relative difference of measured latencies from the model's, for the mean and the 99th
/// percentile.
pub(super) fn error(host: &Value, measured: &Value, seen_by: &str) -> Value {
    let off = |place: &str| {
        let of = |it: &Value| it["all"].pointer(place).and_then(Value::as_f64);
        let (model, seen) = (of(host)?, of(measured)?);
        (model > 0.0).then_some(seen / model - 1.0)
    };
    json!({ "mean": off("/mean_us"), "p99": off("/percentiles_us/99"), "seen_by": seen_by })
}
