//! Budget of instructions per request. Counts are the same in every run, whatever else the machine does.
//! `make test-valgrind`; the counts of the release build are in `benches/instructions.rs`.

use crate::common::{experiment, outcome};
use lab::RunSettings;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the run under valgrind is asked, by the name of the variable.
const ASKED: &str = "SSDLAB_TEST_RUN";

/// Device, workload, the requests of two runs, settings, and the most instructions that one request
/// more may take in the build of the tests, which checks every sum: a tenth above what it took last.
type Budget = (&'static str, &'static str, [u32; 2], &'static str, u64);

const PAGES: &str = "preset = 'agrawal2008'\nblocks_per_plane = 64";
const TLC: &str = "preset = 'tlc-enterprise'\nblocks_per_plane = 32\nspare_factor = 0.3";
const QLC: &str = "preset = 'qlc-enterprise'\nblocks_per_plane = 32\nspare_factor = 0.3";

const MICRON: &str = "preset = 'micron-7450-pro'\nblocks_per_plane = 32\nspare_factor = 0.3";
const SAMSUNG: &str = "preset = 'samsung-pm9a3'\nblocks_per_plane = 32\nspare_factor = 0.3";
/// On dies that program plane by plane: the header of `devices/src/ssd/die/mod.rs` compares both executors.
const DIES: &str = "preset = 'agrawal2008'\nblocks_per_plane = 64\n[device.buffer]\nsize = '16MiB'";

const FULL: &str = "[run]\nprecondition = 'random:1'";

const DISK: &str = "preset = 'nearline-24tb'";
const PARITY: &str = "kind = 'array'\nmembers = 5\nredundancy = 'parity'\n\
                      member = { preset = 'agrawal2008', blocks_per_plane = 64 }";

const BUDGETS: [Budget; 18] = [
    (PAGES, "random-read", [10_000, 40_000], "", 2_390),
    (PAGES, "mixed", [10_000, 30_000], FULL, 4_530),
    (PAGES, "random-write", [10_000, 30_000], FULL, 6_610),
    (
        PAGES,
        "random-write",
        [10_000, 30_000],
        "[run]\nprecondition = 'random:1'\n[device.cleaning]\ntime = 'interleaved'",
        6_940,
    ),
    (TLC, "random-read", [10_000, 40_000], "", 3_510),
    (TLC, "mixed", [10_000, 30_000], FULL, 4_050),
    (TLC, "random-write", [10_000, 30_000], FULL, 5_720),
    (QLC, "random-write", [10_000, 30_000], FULL, 11_370),
    (MICRON, "random-read", [10_000, 40_000], "", 3_510),
    (MICRON, "random-write", [10_000, 30_000], FULL, 6_050),
    (SAMSUNG, "random-read", [10_000, 40_000], "", 3_480),
    (SAMSUNG, "random-write", [10_000, 30_000], FULL, 5_740),
    (DIES, "random-read", [10_000, 40_000], "", 2_750),
    (DISK, "random-read", [2_000, 8_000], "", 5_930),
    (DISK, "random-read", [2_000, 8_000], "[workload]\noutstanding = 1", 3_330),
    (DISK, "random-write", [2_000, 8_000], "", 8_600),
    (PARITY, "random-read", [10_000, 30_000], "[workload]\noutstanding = 160", 3_000),
    (PARITY, "random-write", [10_000, 30_000], "[workload]\noutstanding = 160", 16_740),
];

/// What ageing costs a request: device, workload, the requests of two runs, settings without it and with
/// it, and the most that it may add, as a share in thousandths of the count without. Wanted of a new drive are 30 for a read
/// and 50 for a write; builds differ by a few.
type Added = (&'static str, &'static str, [u32; 2], [&'static str; 2], u64);

const AGEING: &str = "[device.media]\nmodel = 'tlc-3d'";
const AGEING_FULL: &str = "[run]\nprecondition = 'random:1'\n[device.media]\nmodel = 'tlc-3d'";

/// Half an hour at 30 C: no read in thousands is repeated, but every page is asked whether it must be.
const OLDER: &str = "[run]\nage = '30min at 30C'\n[device.media]\nmodel = 'tlc-3d'";

/// A year: each write asks whether the page that it covers is lost.
const OLD_FULL: &str =
    "[run]\nprecondition = 'random:1'\nage = '1y at 30C'\n[device.media]\nmodel = 'tlc-3d'";

const ADDED: [Added; 4] = [
    (TLC, "random-read", [10_000, 40_000], ["", AGEING], 35),
    (TLC, "random-write", [10_000, 30_000], [FULL, AGEING_FULL], 45),
    (TLC, "random-read", [10_000, 40_000], ["", OLDER], 120),
    (TLC, "random-write", [10_000, 30_000], [FULL, OLD_FULL], 440),
];

/// What a read that hits costs beyond the fast device: that alone, and behind a cache. It took 468 last.
const HITS: [&str; 2] = [
    "kind = 'law'\nsize = '64MiB'",
    "kind = 'cache'\nfast = { kind = 'law', size = '64MiB' }\nbacking = { kind = 'law', size = '1GiB' }",
];
/// All lines are there after the shorter run.
const HITS_LOAD: (&str, [u32; 2], &str) =
    ("random-read", [20_000, 50_000], "[workload]\nfootprint = '4MiB'");
const HIT_BUDGET: u64 = 520;
/// The number of the first of these loads.
const FIRST_HIT: usize = BUDGETS.len() + 2 * ADDED.len();

/// The loads that are counted, by their number.
fn load(number: usize) -> (&'static str, &'static str, [u32; 2], &'static str) {
    if let Some(hit) = number.checked_sub(FIRST_HIT) {
        let (workload, requests, settings) = HITS_LOAD;
        return (HITS[hit], workload, requests, settings);
    }
    match number.checked_sub(BUDGETS.len()) {
        None => {
            let (device, workload, requests, settings, _) = BUDGETS[number];
            (device, workload, requests, settings)
        }
        Some(added) => {
            let (device, workload, requests, settings, _) = ADDED[added / 2];
            (device, workload, requests, settings[added % 2])
        }
    }
}

/// Instructions that one request more takes, of each of these loads; several are counted at once.
fn each(numbers: std::ops::Range<usize>) -> Vec<u64> {
    let next = AtomicUsize::new(numbers.start);
    let work = || {
        let mut counts = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return counts;
            }
            let (_, _, requests, _) = load(number);
            let more = counted(number, 1) - counted(number, 0);
            counts.push((number, more / u64::from(requests[1] - requests[0])));
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, u64)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|it| it.join().expect("it counts")).collect()
    });
    all.sort_unstable();
    all.into_iter().map(|(_, each)| each).collect()
}

fn counted(load: usize, run: usize) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().expect("a program knows where it is"))
        .args(["--ignored", "--exact", "instructions::the_run_that_is_counted"])
        .env(ASKED, format!("{load} {run}"))
        .output()
        .expect("valgrind is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let line = said.lines().find(|line| line.contains("refs:")).expect("callgrind counts");
    let digits: String = line.rsplit(':').next().into_iter().flat_map(str::chars).collect();
    digits.replace(',', "").trim().parse().expect("a number")
}

#[test]
#[ignore = "needs valgrind"]
fn a_request_keeps_within_its_budget() {
    let mut over = Vec::new();
    for ((device, workload, _, settings, budget), each) in
        BUDGETS.iter().zip(each(0..BUDGETS.len()))
    {
        println!(
            "{device:?} {workload} {settings:?}: {each} instructions a request, {budget} at most"
        );
        // A request that costs next to nothing was not counted.
        if each > *budget || each < budget / 4 {
            over.push((device, workload, each));
        }
    }
    assert!(over.is_empty(), "{over:?}");
}

#[test]
#[ignore = "needs valgrind"]
fn a_request_pays_little_for_data_that_age() {
    let mut over = Vec::new();
    let counts = each(BUDGETS.len()..BUDGETS.len() + 2 * ADDED.len());
    for ((_, workload, _, settings, most), pair) in ADDED.iter().zip(counts.chunks(2)) {
        let (without, with) = (pair[0], pair[1]);
        println!("{workload} {:?}: {without} instructions a request, {with} with it", settings[1]);
        // Ageing that costs nothing was not on.
        if with <= without || with * 1_000 > without * (1_000 + most) {
            over.push((workload, settings[1], without, with));
        }
    }
    assert!(over.is_empty(), "{over:?}");
}

#[test]
#[ignore = "needs valgrind"]
fn a_request_that_hits_a_cache_costs_little_beyond_its_fast_device() {
    let counts = each(FIRST_HIT..FIRST_HIT + 2);
    let (alone, behind) = (counts[0], counts[1]);
    println!("a hit: {alone} instructions on the fast device, {behind} behind a cache");
    // A cache that costs nothing was not there.
    assert!(behind > alone && behind - alone <= HIT_BUDGET, "{}", behind - alone);
}

#[test]
#[ignore = "is run by a_request_keeps_within_its_budget"]
fn the_run_that_is_counted() {
    let Ok(asked) = std::env::var(ASKED) else { return };
    let (number, run_number) = asked.split_once(' ').expect("two numbers");
    let (device, workload, requests, settings) = load(number.parse().expect("a number"));
    let requests = requests[run_number.parse::<usize>().expect("a number")];
    let device = format!("[device]\n{device}");
    let asked = format!("[workload]\npreset = '{workload}'\nrequests = {requests}");
    let experiment = experiment::<&str>(&[&device, &asked, settings], &[]).expect("it is valid");
    outcome(&experiment, &RunSettings::default()).expect("it runs");
}
