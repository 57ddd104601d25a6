//! Is it fast? The three figures that the engine is held to, on the baseline drive (32 GiB, 4 KiB
//! pages, 8,388,608 flash pages), one core: `cargo bench` (or `make bench`).
//!
//! The last run (2 shared vCPUs of an Intel Xeon; a noisy machine, so the best of three):
//!
//! ```text
//! figure                                                    goal         measured
//! random 4 KiB reads, closed loop of 32, requests/s         3.0 M        4.0 M
//! steady random writes, blocking, page operations/s         3.0 M        8.9 M
//! steady random writes, interleaved, page operations/s      3.0 M        6.7 M
//! memory per flash page, bytes (all of the process)         10 + 50 MB   8.8
//! ```
//!
//! A page operation is a flash page read or programmed, for the host or by cleaning.

use lab::{Experiment, RunSettings, preset_layer, run, set_layer};
use std::ops::ControlFlow;

const FLASH_PAGES: f64 = 8_388_608.0;

/// The best of three runs of `elapsed.<figure>`.
fn best(workload: &str, settings: &[&str], figure: &str) -> f64 {
    let mut layers = vec![preset_layer("workload", workload).expect("a preset")];
    layers.extend(settings.iter().map(|setting| set_layer(setting).expect("a key")));
    let experiment = Experiment::from_layers(&layers).expect("a valid experiment");
    let once = || {
        let results = run(&experiment, &RunSettings::default(), &mut |_| ControlFlow::Continue(()));
        let results: serde_json::Value =
            serde_json::from_str(&results.expect("it runs")).expect("results are JSON");
        results["elapsed"][figure].as_f64().expect("a number")
    };
    (0..3).map(|_| once()).fold(0.0, f64::max)
}

/// The most memory that this process ever had resident, bytes; `None` where the system does not say.
fn peak_memory() -> Option<f64> {
    #[expect(clippy::disallowed_methods, reason = "a bench may ask the system")]
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1024.0)
}

fn main() {
    let reads = best("random-read", &["workload.requests=4000000"], "requests_per_second");
    let figure = "page_operations_per_second";
    let write = |time: &str| {
        let time = format!("cleaning.time={time}");
        let settings = ["workload.requests=1000000", "run.precondition=random:1", &time];
        best("random-write", &settings, figure)
    };
    let (blocking, interleaved) = (write("blocking"), write("interleaved"));
    let rows = [
        ("random 4 KiB reads, closed loop of 32, requests/s", "3.0 M", millions(reads)),
        ("steady random writes, blocking, page operations/s", "3.0 M", millions(blocking)),
        ("steady random writes, interleaved, page operations/s", "3.0 M", millions(interleaved)),
        (
            "memory per flash page, bytes (all of the process)",
            "10 + 50 MB",
            peak_memory().map_or("unknown".into(), |b| format!("{:.1}", b / FLASH_PAGES)),
        ),
    ];
    println!("{:<57} {:<12} measured", "figure", "goal");
    for (figure, goal, measured) in rows {
        println!("{figure:<57} {goal:<12} {measured}");
    }
}

fn millions(rate: f64) -> String {
    format!("{:.1} M", rate / 1e6)
}
