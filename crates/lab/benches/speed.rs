//! Is it fast? The three figures that the engine is held to, on the baseline drive (32 GiB, 4 KiB
//! pages, 8,388,608 flash pages), one core: `cargo bench` (or `make bench`).
//!
//! The last run (2 shared vCPUs of an Intel Xeon, on which others compiled; a quiet machine does up to twice as much):
//!
//! ```text
//! figure                                                    goal         measured
//! random 4 KiB reads, closed loop of 32, requests/s         3.0 M        6.9 M
//! steady random writes, blocking, page operations/s         3.0 M        11.4 M
//! steady random writes, interleaved, page operations/s      3.0 M        8.3 M
//! memory per flash page, bytes (all of the process)         10 + 50 MB   10.4
//! ```
//!
//! A page operation is a flash page read or programmed, for the host or by cleaning.
//!
//! Devices under like loads, each drive in steady state: M requests a CPU second. Sequential requests are of 256 KiB on
//! drives and on arrays.
//!
//! ```text
//!                           agrawal2008   tlc     qlc     nearline-24tb   five of 2008   five of tlc
//! random 4 KiB reads              7.41    2.69    2.83            1.93           4.60          1.36
//! steady random writes            1.47    1.24    0.50            1.15           0.26          0.21
//! sequential reads                0.44    0.16    0.77            3.07           0.31          0.09
//! sequential writes              0.067   0.084   0.186            6.15          0.017         0.018
//! ```
//!
//! Instructions, which other work does not change, are in `instructions.rs`.
//!
//! A steady random write of `tlc-enterprise` programs 4.2 pages. A drive with a buffer needs 8 bytes a logical page: 4 of the map, and 4 for the stamp in
//! the flash of each page that was ever programmed.

use lab::{Experiment, Progress, RunSettings, preset_layer, run, set_layer};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const FLASH_PAGES: f64 = 8_388_608.0;
const FIGURES: [&str; 2] = ["requests_per_second", "page_operations_per_second"];

/// A device that is measured: its name and settings.
type Device = (&'static str, &'static [&'static str]);

/// The baseline, drives of today, a disk, and arrays with parity of both kinds of drives.
const DEVICES: [Device; 6] = [
    ("agrawal2008", &["device.preset=agrawal2008", STEADY]),
    ("tlc-enterprise", &["device.preset=tlc-enterprise", STEADY]),
    ("qlc-enterprise", &["device.preset=qlc-enterprise", STEADY]),
    ("nearline-24tb", &["device.preset=nearline-24tb"]),
    (
        "five of agrawal2008",
        &[ARRAY, FIVE, PARITY, "device.member.preset=agrawal2008", STEADY, DEEP],
    ),
    (
        "five of tlc-enterprise",
        &[ARRAY, FIVE, PARITY, "device.member.preset=tlc-enterprise", STEADY, DEEP],
    ),
];
const STEADY: &str = "run.precondition=random:1";
const ARRAY: &str = "device.kind=array";
const FIVE: &str = "device.members=5";
const PARITY: &str = "device.redundancy=parity";
const DEEP: &str = "workload.outstanding=160";

/// What all of them are asked: name, workload, requests.
const LOADS: [(&str, &str, u64); 4] = [
    ("random 4 KiB reads", "random-read", 400_000),
    ("steady random writes", "random-write", 200_000),
    ("sequential reads", "sequential-read", 40_000),
    ("sequential writes", "sequential-write", 40_000),
];
/// Rounds in which all take their turn.
const ROUNDS: usize = 3;

/// The best of three runs on the baseline drive, by `elapsed.<figure>`.
fn best(workload: &str, settings: &[&str], figure: &str) -> f64 {
    best_on("agrawal2008", workload, settings)[figure]
}

/// The best of three runs on a device: `elapsed.<figure>` by figure.
fn best_on(device: &str, workload: &str, settings: &[&str]) -> BTreeMap<&'static str, f64> {
    let presets = [("device", device), ("workload", workload)];
    let presets = presets.map(|(kind, name)| preset_layer(kind, name).expect("a preset"));
    let mut layers = Vec::from(presets);
    layers.extend(settings.iter().map(|setting| set_layer(setting).expect("a key")));
    let experiment = Experiment::from_layers(&layers).expect("a valid experiment");
    let once = || {
        let results = run(&experiment, &RunSettings::default(), &mut |_| ControlFlow::Continue(()));
        let results: serde_json::Value =
            serde_json::from_str(&results.expect("it runs")).expect("results are JSON");
        FIGURES.map(|figure| results["elapsed"][figure].as_f64().expect("a number"))
    };
    let runs = [once(), once(), once()];
    let best = |place: usize| runs.iter().map(|run| run[place]).fold(0.0, f64::max);
    FIGURES.iter().enumerate().map(|(place, figure)| (*figure, best(place))).collect()
}

/// The most memory that this process ever had resident, bytes; `None` where the system does not say.
fn peak_memory() -> Option<f64> {
    #[expect(clippy::disallowed_methods, reason = "a bench may ask the system")]
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1024.0)
}

fn main() {
    // `cargo bench -p lab --bench speed -- only tlc-enterprise`
    let mut arguments = std::env::args().skip_while(|word| word != "only");
    if let Some(only) = arguments.nth(1) {
        return compare(Some(&only));
    }
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
    compare(None);
}

/// How long this thread has had a core (Linux), s.
fn on_core() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next().and_then(|it| it.parse::<f64>().ok());
    first.expect("the kernel counts it") / 1e9
}

/// Requests a CPU second of a run once it is under way: neither building nor preparing the device counts.
fn rate_on(settings: &[&str], workload: &str, requests: u64) -> f64 {
    let mut layers = vec![preset_layer("workload", workload).expect("a preset")];
    let requests = format!("workload.requests={requests}");
    let settings = settings.iter().copied().chain([requests.as_str()]);
    layers.extend(settings.map(|setting| set_layer(setting).expect("a key")));
    let experiment = Experiment::from_layers(&layers).expect("a valid experiment");
    let mut seen = Vec::new();
    let mut look = |progress: &Progress| {
        if progress.phase == "running" {
            seen.push((progress.done, on_core()));
        }
        ControlFlow::Continue(())
    };
    run(&experiment, &RunSettings::default(), &mut look).expect("it runs");
    let [(from, began), .., (to, ended)] = seen[..] else { panic!("a run of some length") };
    (to - from) as f64 / (ended - began)
}

/// Devices under like loads, all of them or one: medians of rounds in turn.
fn compare(only: Option<&str>) {
    println!("\n{:<24} {:<24} {:>24}", "load", "device", "requests a CPU second");
    let devices = || DEVICES.iter().filter(|(name, _)| only.is_none_or(|only| *name == only));
    let rows = || LOADS.iter().flat_map(|load| devices().map(move |device| (load, device)));
    let mut rates = vec![Vec::new(); rows().count()];
    for _ in 0..ROUNDS {
        for (((_, workload, requests), (_, settings)), rates) in rows().zip(&mut rates) {
            rates.push(rate_on(settings, workload, *requests));
        }
    }
    for (((load, ..), (device, _)), mut rates) in rows().zip(rates) {
        rates.sort_by(f64::total_cmp);
        let median = rates[rates.len() / 2];
        println!("{load:<24} {device:<24} {:>24}", format!("{:.3} M", median / 1e6));
    }
}

fn millions(rate: f64) -> String {
    format!("{:.1} M", rate / 1e6)
}
