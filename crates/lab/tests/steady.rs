//! Untimed runs, and runs and preparations that end when the drive has settled.

use crate::common::{self, PACKAGE, audited, outcome};
use lab::Experiment;
use serde_json::Value;

const LOAD: &str = "
[device]
cleaning.time = 'blocking'
[workload]
kind = 'closed'
requests = 200000
outstanding = 4
read_share = 0.0
";

fn experiment(sets: &[&str]) -> Result<Experiment, String> {
    common::experiment(&[PACKAGE, LOAD], sets)
}

fn results(sets: &[&str]) -> Value {
    outcome(&experiment(sets).unwrap(), &audited()).unwrap()
}

#[test]
fn without_time_the_flash_wears_as_in_time() {
    // Some sizes write half pages, so that some writes read first.
    for size in ["4KiB", "2KiB", "64KiB"] {
        let size = format!("workload.block_size={size}");
        let common = ["workload.requests=40000", &size, "workload.outstanding=1"];
        let timed = results(&common);
        let untimed = results(&[&common[..], &["run.timed=false"]].concat());
        assert!(timed["simulated_seconds"].as_f64().unwrap() > 1.0);
        assert_eq!(untimed["simulated_seconds"].as_f64(), Some(0.0));
        assert_eq!(timed["host"]["all"]["requests"], untimed["host"]["all"]["requests"]);
        assert_eq!(timed["wear"]["max_erases"], untimed["wear"]["max_erases"], "{size}");
        for key in ["host_pages_written", "merge_reads", "page_programs"] {
            let [a, b] = [&timed, &untimed].map(|it| it["flash"][key].as_f64().unwrap());
            // Garbage collection for the last timed writes may be incomplete.
            assert!((a - b).abs() <= 64.0, "{size} {key}: {a} {b}");
        }
    }
}

#[test]
fn a_drive_is_prepared_until_it_has_settled() {
    let prepared = results(&["run.precondition=steady", "workload.requests=1000"]);
    let seen = &prepared["steady_state"]["preconditioning"];
    assert_eq!(seen["steady"], true);
    assert_eq!(seen["metric"], "write_amplification");
    let rounds: Vec<f64> =
        seen["rounds"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect();
    // After a sequential fill it rises at first; it settles at the theoretical 3.05.
    assert!(rounds.len() > 5 && rounds.len() < 25 && rounds[0] < 2.5, "{rounds:?}");
    let mean = seen["window_mean"].as_f64().unwrap();
    assert!((mean / 3.05 - 1.0).abs() < 0.05, "{mean}");
    assert!(prepared["steady_state"]["run"].is_null());
    // A wider range is reached earlier, and an unreachable one is given up.
    let count = |sets: &[&str]| {
        let with = [&["run.precondition=steady", "workload.requests=10"], sets].concat();
        let results = results(&with);
        let seen = &results["steady_state"]["preconditioning"];
        (seen["rounds"].as_array().unwrap().len(), seen["steady"].as_bool().unwrap())
    };
    assert!(count(&["steady.range=2", "steady.slope=2"]).0 < rounds.len());
    assert_eq!(count(&["steady.range=0.000001"]), (25, false));
    assert_eq!(count(&["steady.slope=0.000000001", "steady.rounds=7"]), (7, false));
    assert!(count(&["steady.window=2"]).0 < rounds.len());
    assert!(count(&["steady.round_writes=0.1"]).0 > rounds.len());
}

/// Untimed writes with a skew.
const SKEWED: [&str; 3] =
    ["run.timed=false", "workload.locality=hot-cold(0.9, 0.1)", "workload.requests=20000"];

fn amplification(results: &Value) -> f64 {
    results["flash"]["write_amplification_bytes"].as_f64().unwrap()
}

#[test]
fn a_drive_that_its_own_load_has_settled_stays_as_it_is() {
    // Members are written through the array's map.
    let array =
        PACKAGE.replace("[device]", "[device]\nkind = 'array'\nmembers = 3\n[device.member]");
    let striped = [&array, LOAD.split("[workload]").nth(1).unwrap()].join("[workload]\n");
    let redundant = striped.replacen("members = 3", "members = 3\nredundancy = 'parity'", 1);
    let zipf = ["run.timed=false", "workload.locality=zipf(0.99)", "workload.requests=20000"];
    let rows: [(&[&str], &[&str], f64); 4] = [
        (&[PACKAGE, LOAD], &SKEWED, 0.04),
        (&[PACKAGE, LOAD], &zipf, 0.04),
        (&[&striped], &SKEWED, 0.04),
        (&[&redundant], &SKEWED, 0.04),
    ];
    for (texts, sets, most) in rows {
        let run = |more: &[&str]| {
            let experiment = common::experiment(texts, &[sets, more].concat()).unwrap();
            outcome(&experiment, &audited()).unwrap()
        };
        let long = run(&["run.precondition=steady", "workload.requests=400000"]);
        let known = amplification(&long);
        let short = run(&["run.precondition=steady"]);
        let off = amplification(&short) / known - 1.0;
        assert!(off.abs() < most, "{sets:?}: {off}");
        let seen = &short["steady_state"]["preconditioning"];
        assert_eq!((&seen["steady"], &seen["load"]), (&true.into(), &"workload".into()), "{seen}");
        let settled = seen["window_mean"].as_f64().unwrap() / known - 1.0;
        assert!(settled.abs() < most, "{sets:?}: {settled}");
        assert!(seen["drift"].as_f64().unwrap().abs() <= 0.01, "{seen}");
        let capacities = seen["capacities_written"].as_f64().unwrap();
        let rounds = seen["rounds"].as_array().unwrap().len() as f64;
        assert!((2.5..12.6).contains(&capacities) && capacities >= 0.49 * rounds, "{seen}");
        assert_eq!(short["warnings"].as_array().unwrap().len(), 0, "{}", short["warnings"]);
    }
}

#[test]
fn results_say_how_the_drive_was_preconditioned() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.csv").display().to_string();
    let line = |number: u64| format!("0,{},8,W,{}\n", number * 7919 % 2000 * 8, number);
    std::fs::write(&trace, (0..3000).map(line).collect::<String>()).unwrap();
    let trace = format!("workload.path='{trace}'");
    let workload: (Value, Value) = ("workload".into(), Value::Null);
    let uniform = |why: &str| -> (Value, Value) { ("uniform".into(), why.into()) };
    let rows: [(&[&str], (Value, Value)); 9] = [
        (&[], uniform("the workload itself is uniform")),
        (&["workload.read_share=1.0"], uniform("the workload writes nothing")),
        (&["workload.random_share=0.0"], workload.clone()),
        (&["workload.block_size=8KiB"], workload.clone()),
        (&["workload.block_size=512B"], workload.clone()),
        (&["workload.footprint=0.3"], workload.clone()),
        (&["workload.kind=postmark", "workload.trim=true", "workload.files=300"], workload.clone()),
        (&["workload.kind=open", "workload.read_share=0.9"], workload.clone()),
        (
            &[
                "workload.kind=trace",
                &trace,
                "workload.format=csv",
                "workload.columns=time=5:s,op=4,offset=2:sectors,size=3:sectors",
            ],
            workload,
        ),
    ];
    for (sets, expected) in rows {
        let count = match sets.first() {
            Some(it) if it.contains("kind") => vec![],
            _ => vec!["workload.requests=1000"],
        };
        let sets = [sets, &["run.precondition=steady"], &count].concat();
        let load =
            if sets[0].contains("kind") { "[device]\ncleaning.time = 'blocking'" } else { LOAD };
        let experiment = common::experiment(&[PACKAGE, load], &sets).unwrap();
        let run = |threads| {
            let settings = lab::RunSettings { threads, ..audited() };
            let mut results = outcome(&experiment, &settings).unwrap();
            results.as_object_mut().unwrap().remove("elapsed");
            results
        };
        let results = run(1);
        let seen = &results["steady_state"]["preconditioning"];
        assert_eq!((seen["load"].clone(), seen["because"].clone()), expected, "{sets:?}");
        assert_eq!(seen["steady"], true, "{sets:?}: {seen}");
        assert!(seen["capacities_written"].as_f64().unwrap() > 2.0, "{sets:?}: {seen}");
        assert!(results == run(3), "{sets:?}");
    }
}

#[test]
fn a_run_ends_when_the_drive_has_settled() {
    let untimed = results(&["run.until=steady", "run.timed=false"]);
    let seen = &untimed["steady_state"]["run"];
    assert_eq!((&seen["metric"], &seen["steady"]), (&"write_amplification".into(), &true.into()));
    assert!(untimed["host"]["all"]["requests"].as_u64().unwrap() < 200_000);
    assert!((seen["window_mean"].as_f64().unwrap() / 3.05 - 1.0).abs() < 0.05);
    for (metric, falls) in [("iops", true), ("latency", false)] {
        let metric = format!("steady.metric={metric}");
        let timed = results(&["run.until=steady", "steady.round=3s", &metric]);
        let seen = &timed["steady_state"]["run"];
        assert_eq!(seen["steady"], true, "{seen}");
        let rounds = seen["rounds"].as_array().unwrap();
        let [first, last] = [&rounds[0], &rounds[rounds.len() - 1]].map(|it| it.as_f64().unwrap());
        assert_eq!(last < first, falls, "{rounds:?}");
        assert!(rounds.len() >= 5 && timed["host"]["all"]["requests"].as_u64().unwrap() < 200_000);
    }
    // Without the detector there is no such section.
    assert!(results(&["workload.requests=10"]).get("steady_state").is_none());
}

#[test]
fn a_run_ends_with_the_drive() {
    for timed in ["run.timed=true", "run.timed=false"] {
        let results = results(&["device.wear.rated_cycles=8", timed, "workload.requests=10000000"]);
        assert_eq!(results["wear"]["ended"], true);
        let lifetime = &results["wear"]["lifetime"];
        assert_eq!(lifetime["status"], "measured");
        // For a new drive without earlier writes, the estimated lifetime equals the actual one.
        let [took, may] = [&lifetime["spare_gone"], lifetime].map(|it| it["host_bytes"].as_f64());
        let ratio = may.unwrap() / took.unwrap();
        assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
        assert!(results["host"]["all"]["requests"].as_u64().unwrap() < 200_000);
    }
    assert_eq!(
        results(&["device.wear.rated_cycles=2", "run.precondition=random:9"])["wear"]["ended"],
        true
    );
    assert_eq!(
        results(&["device.wear.rated_cycles=2", "run.precondition=steady"])["wear"]["ended"],
        true
    );
}

#[test]
fn mistakes_are_refused() {
    let message = |sets: &[&str]| experiment(sets).unwrap_err();
    assert!(message(&["steady.window=1"]).contains("from 2 to run.steady.rounds, 25"));
    assert!(message(&["steady.window=26"]).contains("from 2 to run.steady.rounds, 25"));
    assert!(message(&["steady.round=0s"]).contains("expected a time above 0"));
    assert!(message(&["steady.round_writes=0"]).contains("not a number of capacities"));
    assert!(message(&["steady.range=0"]).contains("not a positive share"));
    assert!(message(&["steady.metric=write"]).contains("iops"));
    let untimed = message(&["device.kind=linear", "run.timed=false"]);
    assert!(untimed.contains("cannot run untimed"), "{untimed}");
}
