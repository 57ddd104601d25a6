//! The trace as evidence in the results: its address mapping, and the reliability of its answers.

use crate::warnings::Warning;
use engine::Replayed;
use serde_json::{Value, json};
use workloads::trace::Devices;

/// Minimum number of requests: with fewer, less than ten are slower than p99.
const FEW_REQUESTS: u64 = 1000;
/// Minimum duration, s, to observe rare events.
const SHORT_SECONDS: f64 = 1.0;

/// The part `trace` of the section `workload`, for a device of `capacity` bytes, simulated at
/// 1/`scale`.
pub fn section(replayed: &Replayed, capacity: u64, scale: u32) -> Value {
    let mut section = json!({
        "addresses": replayed.mapping,
        "span_bytes": replayed.span_bytes,
        "touched_bytes": replayed.touched_bytes,
        "volumes": replayed.volumes.len(),
        "scale": scale,
        "whole_capacity_bytes": capacity.saturating_mul(u64::from(scale)),
    });
    if let Some(bytes) = replayed.chunk_bytes {
        section["chunk_bytes"] = json!(bytes);
    }
    section
}

/// Facts about the run of a trace.
pub struct Evidence<'a> {
    pub replayed: &'a Replayed,
    /// Number of completed requests, and of reads among them.
    pub requests: u64,
    pub reads: u64,
    pub seconds: f64,
    /// True if the volumes of the trace share addresses.
    pub is_overlaid: bool,
    /// True if the whole drive was overwritten at random before the run.
    pub is_overwritten: bool,
}

/// Warnings about an answer from a trace.
pub fn warnings(run: &Evidence<'_>) -> Vec<Warning> {
    [mixed(run), little(run)].into_iter().flatten().collect()
}

/// Warning about volumes combined into one drive.
fn mixed(run: &Evidence<'_>) -> Option<Warning> {
    let volumes = &run.replayed.volumes;
    let (busiest, most) = volumes.iter().max_by_key(|it| it.1)?;
    if !run.is_overlaid || volumes.len() < 2 {
        return None;
    }
    let all: u64 = volumes.iter().map(|it| it.1).sum();
    let message = format!(
        "the trace is of {} volumes, and all use the same addresses of this drive; workload.devices={} replays \
         alone the one with the most requests, {most} of {all}, and workload.combine=concatenate sets them \
         one behind the other",
        volumes.len(),
        volume(*busiest)
    );
    let figures = json!({
        "volumes": volumes.len(),
        "busiest": volume(*busiest),
        "busiest_requests": most,
        "other_device_requests": all - most,
    });
    Some(Warning::new("mixed_volumes", message, figures))
}

/// A traced device in the form of `workload.devices`.
fn volume(number: u32) -> String {
    Devices::These(vec![number]).to_string()
}

/// Warning about a short or sparse trace.
fn little(run: &Evidence<'_>) -> Option<Warning> {
    let Evidence { requests, reads, seconds, replayed, .. } = *run;
    let (touched, span) = (replayed.touched_bytes, replayed.span_bytes);
    let only_reads = reads == requests;
    let is_sparse = touched < span / 2;
    let is_sample = is_sparse && !only_reads && !run.is_overwritten;
    if requests == 0
        || !(requests < FEW_REQUESTS || seconds <= SHORT_SECONDS || only_reads || is_sample)
    {
        return None;
    }
    let requests_said =
        if requests == 1 { "1 request".to_owned() } else { format!("{requests} requests") };
    let mut message = format!("the answer rests on {requests_said} in {}", time(seconds));
    if only_reads {
        message += if requests == 1 { ", a read" } else { ", all of them reads" };
    }
    if is_sparse {
        let said = format!(", which touch {} of a span of {}", size(touched), size(span));
        message += &said;
    }
    let mut lacks = Vec::new();
    if requests < FEW_REQUESTS {
        lacks.push(match requests / 100 {
            0 => "too few for a p99".to_owned(),
            slower => format!("its p99 depends on the slowest {slower}"),
        });
    }
    if seconds <= SHORT_SECONDS {
        lacks.push("what comes less often than each second is not in it".to_owned());
    }
    if only_reads {
        lacks.push("nothing is programmed, cleaned or worn out".to_owned());
    }
    if is_sample {
        lacks.push(
            "a load that goes on over the span cleans more; run.precondition=random:2 writes all of the drive first"
                .to_owned(),
        );
    }
    let message = format!("{message}: {}", lacks.join("; "));
    let figures = json!({
        "requests": requests,
        "reads": reads,
        "seconds": seconds,
        "touched_bytes": touched,
        "span_bytes": span,
    });
    Some(Warning::new("little_evidence", message, figures))
}

/// Bytes with three significant digits.
fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        (value, unit) = (value / 1000.0, unit + 1);
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{} {}", three(value), units[unit]) }
}

/// A time with three significant digits.
fn time(seconds: f64) -> String {
    match seconds {
        0.9995.. => format!("{} s", three(seconds)),
        0.000_999_5.. => format!("{} ms", three(seconds * 1e3)),
        _ => format!("{} us", three(seconds * 1e6)),
    }
}

/// A number with three significant digits, or its whole integer part.
fn three(value: f64) -> String {
    match value {
        99.95.. => format!("{value:.0}"),
        9.995.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(span_bytes: u64, touched_bytes: u64, volumes: &[(u32, u64)]) -> Replayed {
        let volumes = volumes.to_vec();
        Replayed { mapping: "recorded", span_bytes, touched_bytes, chunk_bytes: None, volumes }
    }

    fn of(run: &Evidence<'_>) -> Vec<String> {
        warnings(run).into_iter().map(|it| format!("{}: {}", it.name, it.message)).collect()
    }

    #[test]
    fn what_is_enough_is_not_talked_about() {
        let replayed = replayed(1 << 30, 1 << 30, &[(0, 1000)]);
        let run = Evidence {
            replayed: &replayed,
            requests: 1000,
            reads: 400,
            seconds: 10.0,
            is_overlaid: true,
            is_overwritten: false,
        };
        assert_eq!(of(&run), [""; 0]);
    }

    #[test]
    fn one_read_says_how_little_it_is() {
        let replayed = replayed(4096, 4096, &[(0, 1)]);
        let run = Evidence {
            replayed: &replayed,
            requests: 1,
            reads: 1,
            seconds: 80e-6,
            is_overlaid: true,
            is_overwritten: false,
        };
        assert_eq!(
            of(&run),
            [
                "little_evidence: the answer rests on 1 request in 80.0 us, a read: too few for a p99; what comes less often than each second is not in it; nothing is programmed, cleaned or worn out"
            ]
        );
    }

    #[test]
    fn a_sparse_sample_of_mixed_volumes_is_named() {
        let replayed =
            replayed(4_000_000_000_000, 570_000_000, &[(3, 10_000), (8 << 20 | 16, 30_000)]);
        let mut run = Evidence {
            replayed: &replayed,
            requests: 40_000,
            reads: 100,
            seconds: 60.0,
            is_overlaid: true,
            is_overwritten: false,
        };
        let found = of(&run);
        assert!(
            found[0].contains("of 2 volumes") && found[0].contains("workload.devices=8:16 "),
            "{found:?}"
        );
        assert!(found[0].contains("30000 of 40000"), "{found:?}");
        assert!(found[1].contains("touch 570 MB of a span of 4.00 TB"), "{found:?}");
        run.is_overlaid = false;
        assert_eq!(of(&run).len(), 1);
        run.is_overwritten = true;
        assert_eq!(of(&run), [""; 0], "the advice of the warning was followed");
    }
}
