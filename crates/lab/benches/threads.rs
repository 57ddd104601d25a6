//! What do threads gain for an open workload of an array? Instructions of the whole run on one thread
//! against those of the busiest of two: neither the number of cores nor what else they do matters.
//! `cargo bench -p lab --bench threads`, where valgrind is installed.
//!
//! Each row is the difference of two runs that differ in their number of requests alone. The array is
//! `agrawal2008-array-6` with 64 blocks a plane.
//!
//! The thread that drives the array draws requests, hands them out, puts answers in order and has the
//! statistics, beside its own members.

use lab::{Experiment, RunSettings, preset_layer, run, set_layer};
use std::ops::ControlFlow;
use std::process::Command;

/// Name, requests of the two runs, settings.
type Load = (&'static str, [u64; 2], &'static [&'static str]);

const LOADS: [Load; 3] = [
    ("random 4 KiB reads", [20_000, 70_000], &["workload.read_share=1.0"]),
    (
        "half of them writes, cleaning",
        [20_000, 70_000],
        &["workload.read_share=0.5", "run.precondition=random:1"],
    ),
    (
        "random 4 KiB writes, cleaning",
        [20_000, 70_000],
        &["workload.read_share=0.0", "run.precondition=random:1"],
    ),
];

/// One run, as whose instructions are counted.
fn once(requests: u64, settings: &[&str], threads: u32) {
    let mut layers = vec![preset_layer("device", "agrawal2008-array-6").expect("a preset")];
    let always = [
        "device.member.blocks_per_plane=64",
        "workload.kind=bursts",
        "workload.on_rate=20e3",
        "workload.block_size=4KiB",
        "workload.random_share=1.0",
    ];
    let settings = always.iter().chain(settings).map(|setting| (*setting).to_owned());
    let settings = settings.chain([format!("workload.requests={requests}")]);
    layers.extend(settings.map(|setting| set_layer(&setting).expect("a key")));
    let experiment = Experiment::from_layers(&layers).expect("a valid experiment");
    let settings = RunSettings { threads, ..RunSettings::default() };
    let results = run(&experiment, &settings, &mut |_| ControlFlow::Continue(()));
    let results: serde_json::Value =
        serde_json::from_str(&results.expect("it runs")).expect("results are JSON");
    let running = results["elapsed"]["threads"]["running"].as_u64().unwrap_or(1);
    assert_eq!(running, u64::from(threads), "{}", results["elapsed"]);
}

/// Instructions of each thread of this program when it is asked for one run.
fn instructions(load: usize, run: usize, threads: u32) -> Option<Vec<u64>> {
    let out = std::env::temp_dir().join(format!("ssdlab-threads-{}", std::process::id()));
    std::fs::create_dir_all(&out).ok()?;
    let counted = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes"])
        .arg(format!("--callgrind-out-file={}", out.join("out").display()))
        .arg(std::env::current_exe().ok()?)
        .args(["one", &load.to_string(), &run.to_string(), &threads.to_string()])
        .output()
        .ok()?;
    assert!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
    let mut each = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(&out).ok()?.filter_map(Result::ok).collect();
    files.sort_unstable_by_key(std::fs::DirEntry::file_name);
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(file.path()).ok()?).into_owned();
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        each.extend(total.and_then(|total| total.trim().parse::<u64>().ok()));
    }
    std::fs::remove_dir_all(&out).ok()?;
    Some(each.into_iter().filter(|count| *count > 0).collect())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, load, run, threads] = &arguments[..]
        && word == "one"
    {
        let (_, requests, settings) = LOADS[load.parse::<usize>().expect("a number")];
        let requests = requests[run.parse::<usize>().expect("a number")];
        once(requests, settings, threads.parse().expect("a number"));
        return;
    }
    println!(
        "{:<32} {:>12} {:>24} {:>8}",
        "instructions a request", "one thread", "each of two", "gain"
    );
    for (number, (name, requests, _)) in LOADS.iter().enumerate() {
        let more = (requests[1] - requests[0]) as f64;
        let of = |threads| {
            let runs = [0, 1].map(|run| instructions(number, run, threads));
            let [few, many] = runs.map(Option::unwrap_or_default);
            let pair =
                few.into_iter().zip(many).map(|(few, many)| (many as f64 - few as f64) / more);
            pair.collect::<Vec<f64>>()
        };
        let (one, two) = (of(1), of(2));
        let (Some(one), [main, others @ ..]) = (one.first(), &two[..]) else {
            println!("not counted: no valgrind");
            return;
        };
        let other: f64 = others.iter().sum();
        let gain = one / main.max(other);
        println!("{name:<32} {one:>12.0} {:>24} {gain:>8.2}", format!("{main:.0} and {other:.0}"));
    }
}
