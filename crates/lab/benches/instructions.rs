//! How much work is a request? Instructions, which are the same on every run and beside any other work:
//! `cargo bench -p lab --bench instructions` (or `make bench`), where valgrind is installed.
//!
//! Each row is the difference of two runs that differ in their number of requests alone. A flash operation
//! is a page read or programmed, for the host or by cleaning. The drive is `agrawal2008` with 64 blocks a
//! plane, so that it is quickly written; the timed path does not depend on its size.
//!
//! The last run (rustc 1.95, x86-64, `--release`):
//!
//! ```text
//! load                                        a request   a flash operation
//! random 4 KiB reads, closed loop of 32            1737                1737
//! sequential reads of 256 KiB                     30292                 947
//! sequential writes of 256 KiB, cleaning         116559                 503
//! mixed, cleaning                                  3373                1055
//! random 4 KiB writes, blocking cleaning           4976                 595
//! random 4 KiB writes, interleaved cleaning        5498                 886
//! tlc-enterprise: random 4 KiB reads               2762                2762
//! mixed, cleaning                                  3047                1758
//! random 4 KiB writes, cleaning                    4128                1235
//! qlc-enterprise: random 4 KiB writes, cleaning    8354                1973
//! ```
//!
//! Of any random read about 190 are statistics, 100 the workload, 100 to 170 the loop and 200 what submits and completes
//! it. The rest of 2008's is thin: to queue a page takes 360, to begin its operation 300, to end it 400. A read of a
//! current drive has four events (a processor, the cells, the bus, the link), each of which costs 50 to take and to ask
//! for and 80 to follow; its floor is the map, 12 ns a page where the drive does not fit the cache. (Counted before reads
//! fetched their place in the map while a processor has them, which adds a few instructions and takes a quarter of the
//! time.)
//!
//! Disks, arrays with parity, and a cache:
//!
//! ```text
//! load                                        a request
//! nearline-24tb: random 4 KiB reads, one at a time  1984
//! closed loop of 32, sptf                           3803
//! the same by sstf, scan, c-look, fcfs              2866, 2840, 2798, 2545
//! random 4 KiB writes, closed loop of 32            6095
//! five of agrawal2008: random 4 KiB reads           2261
//! random 4 KiB writes                              12806
//! five of tlc-enterprise: random 4 KiB reads        4179
//! random 4 KiB writes                              18093
//! a law of service times: random 4 KiB reads         804
//! the same as the fast device of a cache            1189
//! ```
//!
//! Of a read among 32 five or six of those that wait are looked at, and of four the time is found. A read of an array
//! costs 1.3 to 1.5 times that of a member: with each event of a member the array looks whose event is next.

use lab::{Experiment, RunSettings, preset_layer, run, set_layer};
use std::ops::ControlFlow;
use std::process::Command;

/// Name, device, workload, requests of the two runs, settings.
type Load = (&'static str, &'static Device, &'static str, [u64; 2], &'static [&'static str]);

/// A device: its settings.
type Device = [&'static str];

const PAGES: &Device = &["device.preset=agrawal2008", "device.blocks_per_plane=64"];
const TLC: &Device =
    &["device.preset=tlc-enterprise", "device.blocks_per_plane=32", "device.spare_factor=0.3"];
const QLC: &Device =
    &["device.preset=qlc-enterprise", "device.blocks_per_plane=32", "device.spare_factor=0.3"];
const ARRAY: &Device = &[
    "device.kind=array",
    "device.members=12",
    "device.member.preset=agrawal2008",
    "device.member.blocks_per_plane=64",
    "workload.outstanding=384",
];

const DISK: &Device = &["device.preset=nearline-24tb"];
const PARITY: &Device = &[
    "device.kind=array",
    "device.members=5",
    "device.redundancy=parity",
    "device.member.preset=agrawal2008",
    "device.member.blocks_per_plane=64",
];
const PARITY_TLC: &Device = &[
    "device.kind=array",
    "device.members=5",
    "device.redundancy=parity",
    "device.member.preset=tlc-enterprise",
    "device.member.blocks_per_plane=32",
    "device.member.spare_factor=0.3",
];

const LOADS: [Load; 28] = [
    ("random 4 KiB reads, closed loop of 32", PAGES, "random-read", [20_000, 70_000], &[]),
    ("sequential reads of 256 KiB", PAGES, "sequential-read", [2_000, 7_000], &[]),
    (
        "sequential writes of 256 KiB, cleaning",
        PAGES,
        "sequential-write",
        [2_000, 7_000],
        &["run.precondition=random:1"],
    ),
    ("mixed, cleaning", PAGES, "mixed", [20_000, 50_000], &["run.precondition=random:1"]),
    (
        "random 4 KiB writes, blocking cleaning",
        PAGES,
        "random-write",
        [20_000, 50_000],
        &["run.precondition=random:1"],
    ),
    (
        "random 4 KiB writes, interleaved cleaning",
        PAGES,
        "random-write",
        [20_000, 50_000],
        &["run.precondition=random:1", "cleaning.time=interleaved"],
    ),
    ("random 4 KiB reads of twelve drives, striped", ARRAY, "random-read", [20_000, 70_000], &[]),
    (
        "random 4 KiB reads of twelve, with parity",
        ARRAY,
        "random-read",
        [20_000, 70_000],
        &["device.redundancy=parity"],
    ),
    (
        "random 4 KiB writes of twelve, with parity",
        ARRAY,
        "random-write",
        [20_000, 70_000],
        &["device.redundancy=parity"],
    ),
    ("tlc-enterprise: random 4 KiB reads", TLC, "random-read", [20_000, 70_000], &[]),
    ("mixed, cleaning", TLC, "mixed", [20_000, 50_000], &["run.precondition=random:1"]),
    (
        "random 4 KiB writes, cleaning",
        TLC,
        "random-write",
        [20_000, 50_000],
        &["run.precondition=random:1"],
    ),
    (
        "qlc-enterprise: random 4 KiB writes, cleaning",
        QLC,
        "random-write",
        [20_000, 50_000],
        &["run.precondition=random:1"],
    ),
    ("nearline-24tb: random 4 KiB reads, one at a time", DISK, "random-read", FEW, &[ALONE]),
    ("closed loop of 32, sptf", DISK, "random-read", FEW, &[]),
    ("sstf", DISK, "random-read", FEW, &["device.scheduler=sstf"]),
    ("scan", DISK, "random-read", FEW, &["device.scheduler=scan"]),
    ("c-look", DISK, "random-read", FEW, &["device.scheduler=c-look"]),
    ("fcfs", DISK, "random-read", FEW, &["device.scheduler=fcfs"]),
    ("random 4 KiB writes, closed loop of 32", DISK, "random-write", FEW, &[]),
    ("random 4 KiB reads of five, with parity", PARITY, "random-read", FEW, &[FIVE]),
    ("random 4 KiB writes of five, with parity", PARITY, "random-write", FEW, &[FIVE]),
    ("half reads of one, 32 outstanding", PAGES, "random-read", FEW, &[HALF]),
    ("random 4 KiB reads of five tlc, with parity", PARITY_TLC, "random-read", FEW, &[FIVE]),
    ("random 4 KiB writes of five tlc, with parity", PARITY_TLC, "random-write", FEW, &[FIVE]),
    ("half reads of one tlc, 32 outstanding", TLC, "random-read", FEW, &[HALF]),
    ("reads of a law of service times", LAW, "random-read", FEW, &[NEAR]),
    ("the same as the fast device of a cache, which they hit", CACHE, "random-read", FEW, &[NEAR]),
];

const LAW: &Device = &["device.kind=law", "device.size=64MiB"];
const CACHE: &Device = &[
    "device.kind=cache",
    "device.fast.kind=law",
    "device.fast.size=64MiB",
    "device.backing.kind=law",
    "device.backing.size=1GiB",
];

const FEW: [u64; 2] = [20_000, 50_000];
const ALONE: &str = "workload.outstanding=1";
const FIVE: &str = "workload.outstanding=160";
/// All lines are there after the shorter run.
const NEAR: &str = "workload.footprint=4MiB";
const HALF: &str = "workload.read_share=0.5";

/// One run, as whose instructions are counted; what it came to.
fn once((_, device, workload, _, settings): Load, requests: u64) -> serde_json::Value {
    let mut layers = vec![preset_layer("workload", workload).expect("a preset")];
    let requests = format!("workload.requests={requests}");
    let settings = device.iter().chain(settings).copied().chain([requests.as_str()]);
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
        let load = LOADS[load.parse::<usize>().expect("a number")];
        let (.., requests, _) = load;
        println!("{}", once(load, requests[run.parse::<usize>().expect("a number")]));
        return;
    }
    println!("{:<43} {:>10} {:>19}", "instructions", "a request", "a flash operation");
    for (number, load) in LOADS.into_iter().enumerate() {
        let (name, .., requests, _) = load;
        let (Some(few), Some(many)) = (instructions(number, 0), instructions(number, 1)) else {
            println!("not counted: no valgrind");
            return;
        };
        let operations = requests.map(|requests| {
            let elapsed = &once(load, requests)["elapsed"];
            let seconds = elapsed["wall_seconds"].as_f64().expect("a number");
            elapsed["page_operations_per_second"].as_f64().expect("a number") * seconds
        });
        let more = (many - few) as f64;
        let each = more / (requests[1] - requests[0]) as f64;
        println!("{name:<43} {each:>10.0} {:>19.0}", more / (operations[1] - operations[0]));
    }
}
