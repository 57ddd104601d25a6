//! How much work is a request? Instructions, which are the same on every run and beside any other work:
//! `cargo bench -p lab --bench instructions` (or `make bench`), where valgrind is installed.
//!
//! Each row is the difference of two runs that differ in their number of requests alone. A flash operation
//! is a page read or programmed, for the host or by cleaning. The drive is `agrawal2008` with 64 blocks a
//! plane, so that it is quickly written; the timed path does not depend on its size.
//!
//! The last run (rustc 1.95, x86-64, `--release`), and the same before page operations became leaner:
//!
//! ```text
//! load                                        a request   before   a flash operation
//! random 4 KiB reads, closed loop of 32            1641     2029                1641
//! sequential reads of 256 KiB                     29696    36157                 928
//! sequential writes of 256 KiB, cleaning         120329   151551                 519
//! mixed, cleaning                                  3194     3809                 999
//! random 4 KiB writes, blocking cleaning           4940     6254                 591
//! random 4 KiB writes, interleaved cleaning        5242     5500                 845
//! ```
//!
//! Of a random read about 190 are statistics, 90 the workload, 80 the loop; the rest is thin: to queue a page
//! takes 360, to begin its operation 300, to end it 400. Since other ways through the drive share its code
//! (sides on threads, power cuts), less of that is inlined: reads took 1,535 before.

use lab::{Experiment, RunSettings, preset_layer, run, set_layer};
use std::ops::ControlFlow;
use std::process::Command;

/// Name, workload, requests of the two runs, settings.
type Load = (&'static str, &'static str, [u64; 2], &'static [&'static str]);

const ARRAY: [&str; 3] =
    ["device.kind=array", "device.members=12", "device.member.preset=agrawal2008"];

const LOADS: [Load; 9] = [
    ("random 4 KiB reads, closed loop of 32", "random-read", [20_000, 70_000], &[]),
    ("sequential reads of 256 KiB", "sequential-read", [2_000, 7_000], &[]),
    (
        "sequential writes of 256 KiB, cleaning",
        "sequential-write",
        [2_000, 7_000],
        &["run.precondition=random:1"],
    ),
    ("mixed, cleaning", "mixed", [20_000, 50_000], &["run.precondition=random:1"]),
    (
        "random 4 KiB writes, blocking cleaning",
        "random-write",
        [20_000, 50_000],
        &["run.precondition=random:1"],
    ),
    (
        "random 4 KiB writes, interleaved cleaning",
        "random-write",
        [20_000, 50_000],
        &["run.precondition=random:1", "cleaning.time=interleaved"],
    ),
    (
        "random 4 KiB reads of twelve drives, striped",
        "random-read",
        [20_000, 70_000],
        &[ARRAY[0], ARRAY[1], ARRAY[2], "workload.outstanding=384"],
    ),
    (
        "random 4 KiB reads of twelve, with parity",
        "random-read",
        [20_000, 70_000],
        &[ARRAY[0], ARRAY[1], ARRAY[2], "workload.outstanding=384", "device.redundancy=parity"],
    ),
    (
        "random 4 KiB writes of twelve, with parity",
        "random-write",
        [20_000, 70_000],
        &[ARRAY[0], ARRAY[1], ARRAY[2], "workload.outstanding=384", "device.redundancy=parity"],
    ),
];

/// One run, as whose instructions are counted; what it came to.
fn once(workload: &str, requests: u64, settings: &[&str]) -> serde_json::Value {
    let presets = [("device", "agrawal2008"), ("workload", workload)];
    let presets = presets.map(|(kind, name)| preset_layer(kind, name).expect("a preset"));
    let mut layers = Vec::from(presets);
    let is_array = settings.contains(&ARRAY[0]);
    let blocks =
        if is_array { "device.member.blocks_per_plane" } else { "device.blocks_per_plane" };
    let small = [format!("{blocks}=64"), format!("workload.requests={requests}")];
    let settings = small.iter().map(String::as_str).chain(settings.iter().copied());
    layers.extend(settings.map(|setting| set_layer(setting).expect("a key")));
    let experiment = Experiment::from_layers(&layers).expect("a valid experiment");
    let results = run(&experiment, &RunSettings::default(), &mut |_| ControlFlow::Continue(()));
    serde_json::from_str(&results.expect("it runs")).expect("results are JSON")
}

/// Instructions of this program when it is asked for one run; `None` where they cannot be counted.
fn instructions(load: usize, run: usize) -> Option<u64> {
    let counted = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["one", &load.to_string(), &run.to_string()])
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&counted.stderr).into_owned();
    let line = said.lines().find(|line| line.contains("refs:"))?;
    let digits: String = line.rsplit(':').next()?.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, load, run] = &arguments[..]
        && word == "one"
    {
        let (_, workload, requests, settings) = LOADS[load.parse::<usize>().expect("a number")];
        once(workload, requests[run.parse::<usize>().expect("a number")], settings);
        return;
    }
    println!("{:<43} {:>10} {:>19}", "instructions", "a request", "a flash operation");
    for (number, (name, workload, requests, settings)) in LOADS.iter().enumerate() {
        let (Some(few), Some(many)) = (instructions(number, 0), instructions(number, 1)) else {
            println!("not counted: no valgrind");
            return;
        };
        let operations = requests.map(|requests| {
            let elapsed = &once(workload, requests, settings)["elapsed"];
            let seconds = elapsed["wall_seconds"].as_f64().expect("a number");
            elapsed["page_operations_per_second"].as_f64().expect("a number") * seconds
        });
        let more = (many - few) as f64;
        let each = more / (requests[1] - requests[0]) as f64;
        println!("{name:<43} {each:>10.0} {:>19.0}", more / (operations[1] - operations[0]));
    }
}
