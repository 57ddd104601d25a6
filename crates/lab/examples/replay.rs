//! Speed of feeding a trace to a device with zero latency: `cargo run --release -p ssdlab-lab --example
//! replay -- FILE [KEY=VALUE ...]`, or, to count instructions, under `valgrind --tool=callgrind`
//! with two traces of different lengths.

use lab::{Experiment, RunSettings, preset_layer, run, set_layer};
use std::ops::ControlFlow;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("the file of a trace");
    let mut layers = vec![preset_layer("device", "null").expect("a preset")];
    let mut settings = vec!["workload.kind=trace".to_owned(), format!("workload.path={path}")];
    settings.push("workload.beyond=wrap".to_owned());
    settings.extend(arguments);
    layers.extend(settings.iter().map(|setting| set_layer(setting).expect("a key")));
    let experiment = Experiment::from_layers(&layers).expect("a valid experiment");
    let results = run(&experiment, &RunSettings::default(), &mut |_| ControlFlow::Continue(()));
    let mut results: serde_json::Value =
        serde_json::from_str(&results.expect("it runs")).expect("results are JSON");
    let rate = results["elapsed"]["requests_per_second"].as_f64().expect("a number");
    results["elapsed"] = 0.into();
    let text = results.to_string();
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    println!(
        "{:.2} million requests a second; {} MB at most; results {hash:016x}",
        rate / 1e6,
        peak_mb()
    );
}

/// Peak memory of this process, MB, if the system reports it.
fn peak_mb() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "asks the system, not for a trace")]
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) >> 10
}
