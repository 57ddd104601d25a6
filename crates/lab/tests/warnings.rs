//! Results warn if a number is easily misread, and only then.

use crate::common::{self, PACKAGE as DRIVE, experiment};
use crate::depth::depth;
use lab::{RunSettings, list};
use serde_json::Value;

const WRITES: &str = "
[workload]
kind = 'closed'
requests = 20000
outstanding = 4
read_share = 0.0
";
/// One server with a service time of 246.548 us for a read of 4 KiB.
const SERVER: &str = "
[device]
kind = 'linear'
";

fn outcome(texts: &[&str], sets: &[&str]) -> Result<Value, String> {
    let experiment = experiment(texts, sets)?;
    common::outcome(&experiment, &RunSettings::default()).map_err(|error| error.to_string())
}

fn results(texts: &[&str], sets: &[&str]) -> Value {
    outcome(texts, sets).unwrap()
}

/// The names of the warnings, separated by blanks.
fn names(results: &Value) -> String {
    let warnings = results["warnings"].as_array().unwrap();
    warnings.iter().map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

fn warning<'a>(results: &'a Value, name: &str) -> &'a Value {
    let warnings = results["warnings"].as_array().unwrap();
    let found = warnings.iter().find(|it| it["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} among {warnings:?}"))
}

/// A page of the guides.
#[expect(clippy::disallowed_methods, reason = "reads files of the repository")]
fn file(path: &str) -> String {
    std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn every_warning_is_explained_and_tested() {
    let (page, tests) = (file("../../docs/warnings.md"), file("tests/warnings.rs"));
    let warnings = list("warnings").unwrap();
    assert!(warnings.len() >= 8);
    for (name, summary) in warnings {
        assert!(page.contains(&format!("\n## {name}\n")), "docs/warnings.md on {name}");
        assert!(tests.contains(&format!("\"{name}\",")), "no row of `raised` for {name}");
        assert!(!summary.is_empty());
    }
}

/// Each warning with an experiment that raises it, and a similar experiment that does not.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_is_raised_where_it_applies_and_not_beside() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let trace = |name: &str, lines: &str| {
        let file = path(name);
        std::fs::write(&file, format!("0,0,8,R,0.001\n0,8,8,W,0.002\n{lines}")).unwrap();
        format!(
            "[workload]\nkind = 'trace'\npath = '{file}'\nformat = 'csv'\ncolumns = 'time=5:s,op=4,\
             offset=2:sectors,size=3:sectors'\n"
        )
    };
    let plain = trace("plain.csv", "");
    let beyond = trace("beyond.csv", "0,90000000000,8,W,0.003\n");
    let volumes = trace("volumes.csv", "1,8,8,R,0.003\n").replace("time=5", "device=1,time=5");
    let gap = trace("gap.csv", "0,16,8,R,5000\n");
    let bad = trace("bad.csv", "no line\n0,16,8,R,0.004\n");
    let server = SERVER.to_owned();
    let writes = [DRIVE, WRITES].concat();
    let buffered =
        format!("[device]\nkind = 'ssd'\nblocks_per_plane = 256\nbuffer.size = '1MiB'\n{WRITES}");
    // Two handles write to the same addresses.
    let stream = |handle: u32| {
        format!("[[workload.streams]]\nkind = 'closed'\nread_share = 0.0\nhandle = {handle}\n")
    };
    let both =
        format!("{DRIVE}[workload]\nkind = 'mix'\nrequests = 20000\n{}{}", stream(0), stream(1));
    let raised: Vec<(&str, &str, Vec<&str>, Vec<&str>)> = vec![
        (
            "nothing_cleaned",
            &writes,
            vec!["workload.requests=500"],
            vec!["run.precondition=steady"],
        ),
        (
            "unsettled",
            &writes,
            vec!["run.precondition=steady", "steady.range=0.0001"],
            vec!["run.precondition=steady"],
        ),
        ("transient", &writes, vec![], vec!["run.precondition=steady"]),
        (
            "overloaded",
            &server,
            vec!["workload.kind=open", "workload.interarrival=constant(0.2)"],
            vec!["workload.kind=open", "workload.interarrival=constant(0.3)"],
        ),
        (
            "scaled_buffer",
            "[device]\npreset = 'tlc-enterprise'\n",
            vec![
                "workload.kind=closed",
                "workload.read_share=0",
                "workload.locality=zipf(0.99)",
                "workload.requests=20000",
            ],
            vec!["workload.kind=closed", "workload.read_share=0", "workload.requests=20000"],
        ),
        (
            "effective_spare",
            &writes,
            vec![
                "cleaning.time=blocking",
                "device.over_provisioning=0.07",
                "cleaning.min_free=0.05",
            ],
            vec![
                "cleaning.time=blocking",
                "device.over_provisioning=0.07",
                "cleaning.min_free=0.01",
            ],
        ),
        (
            "spare_in_open_units",
            &writes,
            vec!["device.fdp.handles=16", "device.fdp.place=address(0-5%:1, 5-50%:2, 50-80%:3)"],
            vec!["device.fdp.handles=1"],
        ),
        (
            "handles_unused",
            &writes,
            vec!["device.fdp.handles=2"],
            vec!["device.fdp.handles=2", "device.fdp.place=address(0-50%:1)"],
        ),
        ("placement_ignored", &both, vec![], vec!["device.fdp.handles=2"]),
        ("foreign_invalidation", &both, vec!["device.fdp.handles=2"], vec!["device.fdp.handles=1"]),
        (
            "buffer_untimed",
            &buffered,
            vec!["run.timed=false", "workload.locality=zipf(1.2)"],
            vec!["run.timed=false"],
        ),
        (
            "cleaning_behind",
            &writes,
            vec!["run.timed=false", "cleaning.time=interleaved", "cleaning.min_free=0.05"],
            vec!["run.timed=false", "cleaning.time=blocking", "cleaning.min_free=0.05"],
        ),
        (
            "guessed_parameters",
            &server,
            vec!["workload.kind=cache", "workload.requests=100"],
            vec!["workload.kind=closed", "workload.requests=100"],
        ),
        ("mixed_volumes", DRIVE, vec![], vec!["workload.devices=first"]),
        ("little_evidence", DRIVE, vec![], vec![]),
        ("wrapped", &server, vec!["workload.beyond=wrap"], vec![]),
        ("remapped", &server, vec!["workload.beyond=dense"], vec![]),
        ("clipped", &server, vec!["workload.max_gap=1s"], vec![]),
        ("truncated", &server, vec!["workload.skip_bad=1"], vec![]),
    ];
    for (name, text, with, without) in raised {
        let (load, other) = match name {
            "wrapped" | "remapped" => (&*beyond, &*plain),
            "clipped" => (&*gap, &*plain),
            "truncated" => (&*bad, &*plain),
            "mixed_volumes" => (&*volumes, &*volumes),
            "little_evidence" => (&*plain, ""),
            _ => ("", ""),
        };
        let found = results(&[text, load], &with);
        let it = warning(&found, name);
        assert!(it["message"].as_str().unwrap().len() > 20, "{it}");
        assert!(!it["figures"].as_object().unwrap().is_empty(), "{it}");
        let found = results(&[text, other], &without);
        assert!(!names(&found).contains(name), "{name}: {}", found["warnings"]);
    }
}

/// Loads under which a settled drive stays settled.
const STEADY: [&[&str]; 6] = [
    &["cleaning.time=blocking"],
    &["cleaning.time=interleaved", "workload.outstanding=16"],
    &["run.timed=false", "workload.requests=60000"],
    &["workload.read_share=0.7", "workload.requests=60000"],
    &["cleaning.policy=fifo", "workload.outstanding=1"],
    &[
        "workload.kind=open",
        "workload.requests=40000",
        "workload.read_share=0.6",
        "workload.interarrival=exponential(0, 1.9)",
    ],
];

#[test]
fn steady_runs_raise_no_warning() {
    let mut alarms = Vec::new();
    let mut runs = 0;
    for sets in STEADY {
        for seed in 0..depth(10, 10, 30) {
            let seed = format!("run.seed={seed}");
            let prepare = ["run.precondition=random:3", "run.precondition=steady"][runs % 2];
            let workload = if sets[0] == "workload.kind=open" { "" } else { WRITES };
            let found = results(&[DRIVE, workload], &[sets, &[&*seed, prepare]].concat());
            if !names(&found).is_empty() {
                alarms.push(format!("{sets:?} {seed} {prepare} {}", found["warnings"]));
            }
            runs += 1;
        }
    }
    assert!(runs >= 60 && alarms.is_empty(), "{} of {runs}: {alarms:#?}", alarms.len());
}

#[test]
fn runs_in_which_the_drive_changes_are_all_found() {
    let fresh: [&[&str]; 7] = [
        // The spare space is used up and garbage collection starts, early or late.
        &["workload.requests=4000"],
        &["workload.requests=10000", "cleaning.time=blocking"],
        &["workload.requests=30000"],
        &["workload.requests=30000", "run.timed=false"],
        &["workload.requests=10000", "workload.read_share=0.5"],
        // The drive fills.
        &["device.fill=empty", "workload.requests=20000"],
        // The drive was written sequentially, and now at random.
        &["workload.requests=20000", "run.precondition=sequential"],
    ];
    let mut missed = Vec::new();
    for sets in fresh {
        for seed in 0..10 {
            let seed = format!("run.seed={seed}");
            let found = results(&[DRIVE, WRITES], &[sets, &[&*seed]].concat());
            if names(&found) != "transient" {
                missed.push(format!("{sets:?} {seed} {}", found["warnings"]));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_run_that_cleans_nothing_says_how_little_it_wrote() {
    let found = results(&[DRIVE, WRITES], &["workload.requests=500"]);
    assert_eq!(names(&found), "nothing_cleaned");
    let share = warning(&found, "nothing_cleaned")["figures"]["written_share_of_capacity"].as_f64();
    let capacity = found["capacity_bytes"].as_f64().unwrap();
    assert!((share.unwrap() - 500.0 * 4096.0 / capacity).abs() < 1e-12);
    let message = warning(&found, "nothing_cleaned")["message"].as_str().unwrap();
    assert!(message.contains("run.precondition=steady"), "{message}");
    // Reads cause no garbage collection either, and need no warning.
    let found = results(&[DRIVE, WRITES], &["workload.requests=500", "workload.read_share=1.0"]);
    assert_eq!(names(&found), "");
}

#[test]
fn a_queue_that_grows_to_the_end_is_told_from_one_that_is_long() {
    let load = |share: f64, seed: u64| {
        let gap = 0.246_548 / share;
        let sets = [
            "workload.kind=open".to_owned(),
            "workload.requests=30000".to_owned(),
            "workload.size=constant(8)".to_owned(),
            format!("workload.interarrival=exponential(0, {gap})"),
            format!("run.seed={seed}"),
        ];
        names(&results(&[SERVER], &sets.each_ref().map(String::as_str)))
    };
    for seed in 0..20 {
        for share in [0.5, 0.9, 0.95] {
            assert_eq!(load(share, seed), "", "{share} of the capacity, seed {seed}");
        }
        for share in [1.05, 1.2, 2.0] {
            assert_eq!(load(share, seed), "overloaded", "{share} of the capacity, seed {seed}");
        }
    }
}

/// Results of 4 KiB reads at a multiple of the drive's capacity.
fn at_share(device: &str, load: &str, share: f64, seed: u64, sets: &[&str]) -> Value {
    let all =
        [sets, &["workload.kind=closed", "workload.outstanding=512", "workload.requests=20000"]];
    let device = format!("[device]\npreset = '{device}'\n");
    // The capacity, with a queue deep enough to keep all units busy.
    let capacity = results(&[&device], &all.concat())["host"]["all"]["iops"].as_f64().unwrap();
    let rate = capacity * share;
    let load = match load {
        "open" => format!(
            "kind = 'open'\nread_share = 1.0\nsize = 'constant(8)'\n\
            interarrival = 'exponential(0, {})'",
            1e3 / rate
        ),
        "bursts" => {
            format!("kind = 'bursts'\nread_share = 1.0\non_rate = {rate}\noff_rate = {rate}")
        }
        "threads" => format!(
            "kind = 'threads'\n[workload.classes.readers]\nthreads = 8\n\
            depth = 16\nrate = {rate}"
        ),
        "mix" => format!(
            "kind = 'mix'\n[[workload.streams]]\nkind = 'bursts'\nread_share = 1.0\n\
            on_rate = {rate}\noff_rate = {rate}"
        ),
        _ => format!(
            "kind = 'fio'\njob = \"\"\"\n[reads]\nrw=randread\nbs=4k\niodepth=128\nsize=100%\n\
            ioengine=libaio\nrate_process=poisson\nrate_iops={}\n\"\"\"",
            rate.round()
        ),
    };
    let seed = format!("run.seed={seed}");
    let requests = "workload.requests=20000";
    results(&[&device, &format!("[workload]\n{load}\n")], &[sets, &[&*seed, requests]].concat())
}

#[test]
fn every_load_by_the_clock_is_compared_with_what_is_served() {
    for load in ["open", "bursts", "threads", "mix", "fio"] {
        for (share, seed) in [(0.5, 1), (0.9, 2), (0.95, 3)] {
            let found = at_share("agrawal2008", load, share, seed, &[]);
            assert_eq!(names(&found), "", "{load} at {share}: {}", found["warnings"]);
        }
        for (share, seed) in [(1.1, 4), (1.3, 5), (2.0, 6)] {
            let found = at_share("agrawal2008", load, share, seed, &[]);
            // This replaces the warning about a transient: latencies rise because requests queue.
            assert_eq!(names(&found), "overloaded", "{load} at {share}: {}", found["warnings"]);
            let it = warning(&found, "overloaded");
            let figure = |key: &str| it["figures"][key].as_f64().unwrap();
            let ratio = figure("offered_iops") / figure("served_iops");
            assert!((ratio / share - 1.0).abs() < 0.06, "{load} at {share}: {ratio}");
            let offered = found["workload"]["offered_iops"].as_f64().unwrap();
            assert!((figure("offered_iops") / offered - 1.0).abs() < 0.05, "{load}: {it}");
        }
    }
}

#[test]
fn an_overload_is_one_whatever_ends_the_run_and_whatever_is_loaded() {
    let prepared = "run.precondition=steady";
    for (device, sets) in [
        ("agrawal2008", vec!["run.until=200ms"]),
        ("agrawal2008", vec![prepared, "device.blocks_per_plane=64"]),
        ("agrawal2008-array-6", vec![]),
        ("barracuda", vec![]),
    ] {
        for (share, expected) in [(0.9, ""), (1.3, "overloaded")] {
            let found = at_share(device, "open", share, 7, &sets);
            assert_eq!(names(&found), expected, "{device} {sets:?}: {}", found["warnings"]);
        }
    }
}

/// A warning, the settings that raise it, its advice, and the settings that are common and that
/// follow the advice.
type Case<'a> = (&'a str, &'a [&'a str], &'a str, &'a [&'a str], &'a [&'a str]);

#[test]
fn what_a_warning_advises_ends_it() {
    let steady = "run.precondition=steady";
    let blocking = "cleaning.time=blocking";
    let small = ["device.over_provisioning=0.07", "cleaning.min_free=0.05", blocking, steady];
    let cases: [Case<'_>; 4] = [
        (
            "nothing_cleaned",
            &["workload.requests=500"],
            "set run.precondition=steady",
            &["workload.requests=500"],
            &[steady],
        ),
        ("transient", &[], "set run.precondition=steady", &[], &[steady]),
        (
            "nothing_cleaned",
            &["workload.requests=10", steady],
            "run longer (workload.requests)",
            &[steady],
            &["workload.requests=20000"],
        ),
        (
            "effective_spare",
            &small,
            "set device.cleaning.min_free=",
            &["device.over_provisioning=0.07", blocking],
            &[],
        ),
    ];
    for (name, sets, advised, kept, done) in cases {
        let found = results(&[DRIVE, WRITES], sets);
        let message = warning(&found, name)["message"].as_str().unwrap();
        let (_, rest) = message.rsplit_once(advised).unwrap_or_else(|| panic!("{message}"));
        let value = format!("cleaning.min_free={}", rest.split_whitespace().next().unwrap_or("0"));
        let done = if done.is_empty() { vec![&*value] } else { done.to_vec() };
        let after = results(&[DRIVE, WRITES], &[kept, &done[..]].concat());
        assert!(!names(&after).contains(name), "{name}, {done:?}: {}", after["warnings"]);
    }
}

#[test]
fn bursts_that_are_served_are_no_overload() {
    // The server completes 4,056 requests per second.
    let loads = [
        (20_000, 20, 180, "fixed"),
        (20_000, 20, 180, "exponential"),
        (8_000, 100, 200, "fixed"),
        (8_000, 100, 200, "exponential"),
        (30_000, 1_000, 9_000, "fixed"),
    ];
    for (on, on_ms, off_ms, phases) in loads {
        for seed in 0..8 {
            let sets = [
                "workload.kind=bursts".to_owned(),
                "workload.requests=300000".to_owned(),
                format!("workload.on_rate={on}"),
                format!("workload.on_time={on_ms}ms"),
                format!("workload.off_time={off_ms}ms"),
                format!("workload.phases={phases}"),
                format!("run.seed={seed}"),
            ];
            let found = results(&[SERVER], &sets.each_ref().map(String::as_str));
            assert_eq!(names(&found), "", "{sets:?}: {}", found["warnings"]);
        }
    }
}

#[test]
fn effective_spare_space_is_what_the_threshold_and_open_blocks_leave() {
    let spare = |sets: &[&str]| {
        let found = results(&[DRIVE, WRITES], &[sets, &["workload.requests=10"]].concat());
        let spare = &found["flash"]["spare"];
        let [nominal, effective] = ["nominal", "effective"].map(|key| spare[key].as_f64().unwrap());
        let kept = spare["blocks_kept_erased"].as_u64().unwrap();
        (nominal, effective, kept, names(&found).contains("effective_spare"))
    };
    let (nominal, effective, kept, is_warned) = spare(&["device.spare_factor=0.15"]);
    assert!((nominal - 0.15).abs() < 1e-4 && (nominal - effective - 2.0 / 258.0).abs() < 1e-12);
    assert_eq!((kept, is_warned), (1, false));
    let half = ["device.over_provisioning=0.07", "cleaning.min_free=0.05"];
    let (nominal, effective, kept, is_warned) = spare(&half);
    assert!((nominal - effective - 13.0 / 258.0).abs() < 1e-12);
    assert_eq!((kept, is_warned), (12, true));
    let open = ["device.spare_factor=0.15", "cleaning.frontiers=separate-moved"];
    let (nominal, effective, _, _) = spare(&open);
    assert!((nominal - effective - 3.0 / 258.0).abs() < 1e-12);
}

#[test]
fn the_default_threshold_leaves_small_spare_space_its_effect() {
    // The minimum is one block of the 258; 0.05 are 12.
    let drive = DRIVE.replace("cleaning.min_free = 0.0\n", "").replace("= 258", "= 1000");
    let kept = |spare: &str| {
        let found = results(&[&drive, WRITES], &[spare, "workload.requests=10"]);
        found["flash"]["spare"]["blocks_kept_erased"].as_u64().unwrap()
    };
    assert_eq!(kept("device.spare_factor=0.15"), 50);
    assert_eq!(kept("device.over_provisioning=0.28"), 50);
    // 1000 x 0.05 x (0.0654 / 0.15)^2, and with 0.111.
    assert_eq!(kept("device.over_provisioning=0.07"), 9);
    assert_eq!(kept("device.over_provisioning=0.125"), 27);
    let amplification = |sets: &[&str]| {
        let common = [
            "device.over_provisioning=0.07",
            "cleaning.time=blocking",
            "run.precondition=random:3",
            "run.timed=false",
            "workload.requests=100000",
        ];
        let found = results(&[&drive, WRITES], &[&common, sets].concat());
        found["flash"]["write_amplification"].as_f64().unwrap()
    };
    let (derived, paper) = (amplification(&[]), amplification(&["cleaning.min_free=0.05"]));
    assert!(derived < 9.0 && paper > 18.0, "{derived} {paper}");
}

#[test]
fn requests_beyond_the_range_of_the_clock_are_an_error() {
    let load = "[workload]\nkind = 'closed'\noutstanding = 1\nrequests = 300\n";
    let error = outcome(&[SERVER, load], &["workload.think_time=9000000000s"]).unwrap_err();
    assert!(error.contains("request 2 would arrive after more than 500 years"), "{error}");
    // Within the clock's range the run continues, and an earlier end is possible.
    let long = outcome(&[SERVER, load], &["workload.think_time=50000000s"]).unwrap();
    assert!((long["simulated_seconds"].as_f64().unwrap() / (299.0 * 5e7) - 1.0).abs() < 1e-6);
    let sets = ["workload.think_time=9000000000s", "run.until=10000000000s"];
    let ended = outcome(&[SERVER, load], &sets).unwrap();
    assert_eq!(ended["host"]["all"]["requests"], 2);
}
