//! Budget of instructions per request. Counts are the same in every run, whatever else the machine does.
//! `make test-valgrind`; the counts of the release build are in `benches/instructions.rs`.

use crate::common::{experiment, outcome};
use lab::RunSettings;
use std::process::Command;

/// What the run under valgrind is asked, by the name of the variable.
const ASKED: &str = "SSDLAB_TEST_RUN";

/// Workload, the requests of two runs, settings, and the most instructions that one request more may
/// take in the build of the tests, which checks every sum: a tenth above what it took last.
const BUDGETS: [(&str, [u32; 2], &str, u64); 3] = [
    ("random-read", [10_000, 40_000], "", 2_150),
    ("random-write", [10_000, 30_000], "[run]\nprecondition = 'random:1'", 6_100),
    (
        "random-write",
        [10_000, 30_000],
        "[run]\nprecondition = 'random:1'\n[device.cleaning]\ntime = 'interleaved'",
        6_100,
    ),
];

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
    for (load, (workload, requests, settings, budget)) in BUDGETS.iter().enumerate() {
        let more = counted(load, 1) - counted(load, 0);
        let each = more / u64::from(requests[1] - requests[0]);
        println!("{workload} {settings:?}: {each} instructions a request, at most {budget}");
        // A request that costs next to nothing was not counted.
        if each > *budget || each < budget / 4 {
            over.push((workload, each));
        }
    }
    assert!(over.is_empty(), "{over:?}");
}

#[test]
#[ignore = "is run by a_request_keeps_within_its_budget"]
fn the_run_that_is_counted() {
    let Ok(asked) = std::env::var(ASKED) else { return };
    let (load, run_number) = asked.split_once(' ').expect("two numbers");
    let (workload, requests, settings, _) = BUDGETS[load.parse::<usize>().expect("a number")];
    let requests = requests[run_number.parse::<usize>().expect("a number")];
    let device = "[device]\npreset = 'agrawal2008'\nblocks_per_plane = 64";
    let asked = format!("[workload]\npreset = '{workload}'\nrequests = {requests}");
    let experiment = experiment::<&str>(&[device, &asked, settings], &[]).expect("it is valid");
    outcome(&experiment, &RunSettings::default()).expect("it runs");
}
