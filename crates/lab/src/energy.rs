//! The section `energy` of the results, and watts over time.

use devices::EnergyReport;
use devices::energy::FOLLOWED;
use engine::{Followed, Time};
use serde_json::{Value, json};

/// Counts and bytes of successful requests, for energy per request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answered {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
}

/// The section: total energy, energy per request, and the load, for comparison.
pub(crate) fn section(report: &EnergyReport, answered: &Answered, simulated_ns: Time) -> Value {
    let seconds = simulated_ns as f64 / 1e9;
    let joules = report.joules();
    let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    let Answered { reads, writes, requests, bytes } = *answered;
    let iops = ratio(requests as f64, seconds);
    let watts = ratio(joules, report.time_ns as f64 / 1e9);
    // If all requests are of one kind, they account for all operation energy.
    let of_reads = if writes == 0 { Some(report.operations()) } else { report.reads };
    let of_writes = if reads == 0 {
        Some(report.operations())
    } else {
        report.reads.map(|reads| report.operations() - reads)
    };
    json!({
        "joules": joules,
        "mean_watts": watts,
        "joules_per_request": {
            "read": of_reads.and_then(|joules| ratio(joules, reads as f64)),
            "write": of_writes.and_then(|joules| ratio(joules, writes as f64)),
            "all": ratio(joules, requests as f64),
        },
        "joules_per_gb": ratio(joules, bytes as f64 / 1e9),
        "iops_per_watt": iops.zip(watts).and_then(|(iops, watts)| ratio(iops, watts)),
        "iops": iops,
        "utilisation": report.utilisation,
        "parts": {
            "flash": report.flash,
            "bus": report.bus,
            "mechanics": report.mechanics,
            "service": report.service,
            "controller": report.controller,
            "idle": report.idle,
        },
    })
}

/// Mean power per bin in watts, from cumulative energy at the start and at each bin's end. The last
/// bin ends with the run.
pub(crate) fn watts(
    report: &EnergyReport,
    before: &Followed,
    ends: &[Followed],
    bin_seconds: f64,
    simulated_ns: Time,
) -> Value {
    let begins = std::iter::once(before).chain(ends);
    let bins = ends.len();
    let last = simulated_ns as f64 / 1e9 - bins.saturating_sub(1) as f64 * bin_seconds;
    let of_bin = |(bin, (end, begin)): (usize, (&Followed, &Followed))| {
        let seconds = if bin + 1 == bins { last } else { bin_seconds };
        let joules = end.0[FOLLOWED].saturating_sub(begin.0[FOLLOWED]) as f64 / 1e9;
        (seconds > 0.0).then(|| report.constant_watts + joules / seconds)
    };
    json!(ends.iter().zip(begins).enumerate().map(of_bin).collect::<Vec<_>>())
}
