//! The beginning of a run is excluded from its results, and from nothing else.

use crate::common::{PACKAGE, audited, experiment, outcome};
use lab::{RunError, RunSettings, trace_info};
use serde_json::Value;
use std::ops::ControlFlow;

/// Random writes to a preconditioned drive.
const WRITES: &str = "
[workload]
kind = 'closed'
requests = 6000
outstanding = 4
read_share = 0.3
[run]
precondition = 'random:1'
";

/// One request at a time to a server with constant service time.
const SERVER: &str = "
[device]
kind = 'linear'
[workload]
kind = 'closed'
requests = 1000
outstanding = 1
read_share = 1.0
random_share = 1.0
block_size = '4KiB'
";

/// A drive with a write buffer.
const BUFFERED: &str = "
[device]
preset = 'samsung-pm9a3'
scale = 384
[workload]
preset = 'ssdiq-load'
rate = 60000
requests = 4000
";

fn run(texts: &[&str], sets: &[&str]) -> Value {
    outcome(&experiment(texts, sets).unwrap(), &audited()).unwrap()
}

fn refusal(texts: &[&str], sets: &[&str]) -> String {
    match experiment(texts, sets) {
        Err(message) => message,
        Ok(experiment) => outcome(&experiment, &audited()).unwrap_err().to_string(),
    }
}

fn figure(results: &Value, path: &str) -> f64 {
    results.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: no number"))
}

fn count(results: &Value, path: &str) -> u64 {
    results.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: no count"))
}

/// Results without elapsed time, experiment and workload.
fn found(mut results: Value) -> Value {
    for key in ["elapsed", "experiment", "workload"] {
        results[key] = Value::Null;
    }
    results
}

#[test]
fn without_a_warm_up_nothing_is_left_out() {
    let results = run(&[PACKAGE, WRITES], &[]);
    assert_eq!(count(&results, "/workload/warm_up"), 0);
    assert_eq!(results["experiment"]["run"]["warm_up"], "0ns");
    assert_eq!(found(results), found(run(&[PACKAGE, WRITES], &["run.warm_up=0s"])));
}

#[test]
fn a_server_is_measured_from_the_instant_on() {
    let results = run(&[SERVER], &["run.warm_up=100ms"]);
    let service = figure(&results, "/host/read/mean_us") / 1e6;
    let before = (0.1 / service).ceil() as u64;
    let rest = 1000 - before;
    assert!((400..500).contains(&before), "{before}");
    assert_eq!(count(&results, "/workload/warm_up"), before);
    assert_eq!(count(&results, "/host/read/requests"), rest);
    let seconds = 1000.0 * service - 0.1;
    assert!((figure(&results, "/simulated_seconds") - seconds).abs() < 1e-9);
    assert!((figure(&results, "/host/read/iops") - rest as f64 / seconds).abs() < 1e-3);
    let bins = results["time_series"]["requests"].as_array().unwrap();
    assert_eq!(bins.iter().filter_map(Value::as_u64).sum::<u64>(), rest);
    // The time series begins with the measurement, not with the run.
    assert!(bins.len() as f64 * figure(&results, "/time_series/bin_seconds") < seconds + 0.002);
}

/// Every count of the whole run is from before a time or after it. The run up to that time is a run
/// of its own, because later events do not affect it.
#[test]
fn counts_and_times_are_of_the_rest_of_the_run() {
    let package = [PACKAGE, WRITES].concat();
    for (text, warm_up) in [(&*package, "run.warm_up=300ms"), (BUFFERED, "run.warm_up=20ms")] {
        let whole = run(&[text], &[]);
        let rest = run(&[text], &[warm_up]);
        let left_out = count(&rest, "/workload/warm_up");
        let total = count(&whole, "/host/all/requests");
        assert!(left_out > 100 && left_out < total / 2, "{left_out} of {total}");
        assert_eq!(left_out + count(&rest, "/host/all/requests"), total);
        assert_eq!(count(&rest, "/workload/asked"), total);
        let (all, after) =
            (figure(&whole, "/simulated_seconds"), figure(&rest, "/simulated_seconds"));
        for key in ["page_programs", "host_pages_written", "host_pages_read", "page_reads"] {
            let of = |results: &Value| count(results, &format!("/flash/{key}")) as f64;
            let share = of(&rest) / of(&whole);
            assert!((share / (after / all) - 1.0).abs() < 0.25, "{key}: {share}");
        }
        // Erases are part of the drive's age.
        assert_eq!(whole["wear"]["mean_erases"], rest["wear"]["mean_erases"]);
        for (series, total) in [
            ("requests", "/host/all/requests"),
            ("pages_programmed", "/flash/page_programs"),
            ("blocks_erased", "/flash/block_erases"),
        ] {
            let bins = rest["time_series"][series].as_array().unwrap();
            let sum: u64 = bins.iter().filter_map(Value::as_u64).sum();
            assert_eq!(sum, count(&rest, total), "{series}");
        }
        for (unit, before) in
            rest["units"].as_array().unwrap().iter().zip(whole["units"].as_array().unwrap())
        {
            let (busy, was) = (figure(unit, "/busy"), figure(before, "/busy"));
            assert!(busy > 0.5 * was && busy <= 1.0, "{busy}, {was} of the whole run");
            assert!(figure(unit, "/cleaning") <= busy);
        }
    }
}

/// A drive under a uniform load at queue depth 1 is as busy in a part of the run as in all of it.
#[test]
fn busy_shares_are_of_the_time_after_the_warm_up() {
    let even = "
[workload]
kind = 'closed'
requests = 2000
read_share = 1.0
block_size = '4KiB'
";
    let shares = |sets: &[&str]| {
        let results = run(&[PACKAGE, even], sets);
        (figure(&results, "/units/0/busy"), figure(&results, "/buses/busy/0"))
    };
    let whole = shares(&[]);
    let rest = shares(&["run.warm_up=100ms"]);
    assert!((rest.0 / whole.0 - 1.0).abs() < 0.001, "{rest:?}, {whole:?}");
    assert!((rest.1 / whole.1 - 1.0).abs() < 0.001, "{rest:?}, {whole:?}");
}

#[test]
fn classes_breakdowns_and_arrays_leave_out_the_same_requests() {
    let array = "
[device]
kind = 'array'
members = 2
[device.member]
preset = 'agrawal2008'
blocks_per_plane = 32
[workload]
preset = 'ssdiq-load'
rate = 8000
requests = 2000
";
    let results = run(&[array], &["run.warm_up=50ms"]);
    let left_out = count(&results, "/workload/warm_up");
    assert!(left_out > 100, "{left_out}");
    let classes: u64 = ["measured", "others"]
        .iter()
        .map(|class| count(&results, &format!("/classes/{class}/all/requests")))
        .sum();
    assert_eq!(classes, count(&results, "/host/all/requests"));
    assert_eq!(classes + left_out, 2000);
    let parts = results["host"]["all"]["breakdown_us"].as_object().unwrap();
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    assert!((sum - figure(&results, "/host/all/mean_us")).abs() < 1e-3);
}

#[test]
fn the_record_of_requests_leaves_out_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.parquet").to_str().unwrap().to_owned();
    let settings = RunSettings { requests: Some(path.clone()), ..RunSettings::default() };
    let load = experiment(&[PACKAGE, WRITES], &["run.warm_up=20ms"]).unwrap();
    let results = outcome(&load, &settings).unwrap();
    let info = trace_info(&path, "{}", &mut |_| ControlFlow::Continue(())).unwrap();
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["requests"], results["host"]["all"]["requests"]);
    assert!(figure(&info, "/start_seconds") >= 0.02);
}

#[test]
fn a_run_ends_where_it_would_have_and_settles_after_the_warm_up() {
    let timed = ["run.until=100ms", "run.warm_up=40ms"];
    let results = run(&[SERVER], &timed);
    let whole = run(&[SERVER], &timed[..1]);
    assert_eq!(results["workload"]["asked"], whole["workload"]["asked"]);
    assert!((figure(&results, "/simulated_seconds") - 0.06).abs() < 0.0003);
    let steady = ["run.until=steady", "run.steady.round=10ms", "workload.requests=100000"];
    let rounds = |more: &[&str]| {
        let results = run(&[SERVER], &[&steady[..], more].concat());
        results["steady_state"]["run"]["rounds"].as_array().unwrap().len()
    };
    assert_eq!(rounds(&["run.warm_up=1s"]), rounds(&[]));
}

#[test]
fn a_warm_up_that_leaves_nothing_is_refused() {
    let rows: [(&[&str], &str); 4] = [
        (&["run.warm_up=1s", "run.until=1s"], "run.until"),
        (&["run.warm_up=1s"], "nothing was asked once the warm-up was over"),
        (&["run.warm_up=soon"], "run.warm_up"),
        (&["run.warm_up=1s", "run.timed=false"], "run.timed"),
    ];
    for (sets, said) in rows {
        let text = if said == "run.timed" { PACKAGE } else { SERVER };
        let message = refusal(&[text], sets);
        assert!(message.contains("run.warm_up") && message.contains(said), "{message}");
    }
    let load = experiment(&[SERVER], &["run.warm_up=1s"]).unwrap();
    assert!(matches!(outcome(&load, &audited()), Err(RunError::Input(_))));
}
