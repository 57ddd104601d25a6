//! Rejected requests are counted by status only, and an array is run like a drive.

use crate::common::{audited, experiment, outcome};
use lab::{RunSettings, trace_info};
use serde_json::Value;
use std::ops::ControlFlow;

const SMALL: &str = "
[device]
kind = 'ssd'
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 64
pages_per_block = 16
[workload]
kind = 'closed'
requests = 20000
outstanding = 16
read_share = 0.3
";

fn results(base: &str, sets: &[&str], requests: Option<&str>) -> Value {
    let settings = RunSettings { requests: requests.map(str::to_owned), ..audited() };
    outcome(&experiment(&[base], sets).unwrap(), &settings).unwrap()
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} in {value}"))
}

fn sum(value: &Value, path: &str) -> u64 {
    value.pointer(path).unwrap().as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).sum()
}

/// Every request was completed or rejected, and the figures cover the completed ones.
fn assert_accounted(results: &Value) {
    let [asked, unanswered] =
        ["asked", "unanswered"].map(|key| number(results, &format!("/workload/{key}")));
    let [done, failed] =
        ["requests", "failed"].map(|key| number(results, &format!("/host/all/{key}")));
    assert_eq!(asked, done + failed + unanswered);
    let of_ops = |key: &str| -> u64 {
        let ops = ["read", "write", "trim", "flush"];
        ops.iter().map(|op| number(results, &format!("/host/{op}/{key}"))).sum()
    };
    assert_eq!((of_ops("requests"), of_ops("failed")), (done, failed));
    assert_eq!(number(results, "/host/all/failures/read_only"), failed);
    assert_eq!(sum(results, "/host/all/histogram/requests"), done);
    assert_eq!(sum(results, "/time_series/requests"), done);
    assert_eq!((of_ops("bytes"), of_ops("failed_bytes")), (done * 4096, failed * 4096));
    // Each byte was written or rejected, regardless of its request's status.
    let of_flash =
        number(results, "/flash/host_bytes_written") + number(results, "/wear/refused_bytes");
    let of_host = |key: &str| number(results, &format!("/host/write/{key}"));
    assert_eq!(of_flash, of_host("bytes") + of_host("failed_bytes"));
}

#[test]
fn the_requests_of_a_drive_that_ends_are_accounted_for() {
    for timed in [true, false] {
        let timed = format!("run.timed={timed}");
        let sets = ["device.wear.rated_cycles=3", &timed, "workload.requests=1000000"];
        let results = results(SMALL, &sets, None);
        assert_accounted(&results);
        assert_eq!(results["wear"]["ended"], true);
        assert!(number(&results, "/workload/asked") < 100_000, "it ended with the drive");
        assert!(number(&results, "/host/write/failed") > 0);
        assert!(number(&results, "/wear/refused_pages") > 0);
        assert_eq!(number(&results, "/host/read/failed"), 0);
    }
    let well = results(SMALL, &["workload.requests=500"], None);
    assert_accounted(&well);
    assert_eq!((number(&well, "/host/all/failed"), number(&well, "/workload/asked")), (0, 500));
}

#[test]
fn an_ended_drive_answers_reads_and_refuses_the_rest() {
    let array = array_of(2);
    let rows = [(SMALL, "device", true), (SMALL, "device", false), (&array, "device.member", true)];
    for (base, section, timed) in rows {
        let (timed, worn) =
            (format!("run.timed={timed}"), format!("{section}.wear.rated_cycles=2"));
        let results = results(base, &[&worn, "run.precondition=random:9", &timed], None);
        assert_accounted(&results);
        assert_eq!(number(&results, "/workload/asked"), 20_000, "it is asked everything");
        assert!(number(&results, "/host/read/requests") > 5000);
        assert!(number(&results, "/host/write/failed") > 13_000);
        assert_eq!(number(&results, "/host/write/requests"), 0);
        assert!(results["host"]["write"]["mean_us"].is_null());
        assert_eq!(number(&results, "/flash/page_programs"), 0);
    }
}

#[test]
fn the_record_says_what_was_refused_and_is_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] =
        ["a.parquet", "b.parquet"].map(|name| folder.path().join(name).display().to_string());
    let worn = ["device.wear.rated_cycles=2", "run.precondition=random:9"];
    let ran = results(SMALL, &worn, Some(&first));
    let info = trace_info(&first, "{}", &mut |_| ControlFlow::Continue(())).unwrap();
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["requests"], ran["workload"]["asked"]);
    let device = SMALL.split("[workload]").next().unwrap();
    let replay = format!("{device}[workload]\nkind = 'trace'\npath = '{first}'\n");
    let again = results(&replay, &worn, Some(&second));
    assert_eq!(ran["host"], again["host"]);
    assert!(std::fs::read(&first).unwrap() == std::fs::read(&second).unwrap());
}

fn array_of(members: u32) -> String {
    let member = SMALL.split("[workload]").next().unwrap().replace("[device]", "[device.member]");
    let load = SMALL.split("[workload]").nth(1).unwrap();
    format!("[device]\nkind = 'array'\nmembers = {members}\n{member}[workload]{load}")
}

#[test]
fn an_array_is_saved_and_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let drives = folder.path().join("a.drives").display().to_string();
    for policy in ["d-choices", "random"] {
        let base = array_of(3);
        let policy = format!("device.member.cleaning.policy={policy}");
        let save = format!("run.save_drive='{drives}'");
        let prepared = [&policy[..], "run.precondition=random:3"];
        let alone = results(&base, &prepared, None);
        let saved = results(&base, &[&prepared[..], &[&save]].concat(), None);
        let load = format!("run.load_drive='{drives}'");
        let taken_up = results(&base, &[&policy, &load], None);
        for section in ["host", "flash", "wear", "units"] {
            assert_eq!(alone[section], saved[section], "{section}");
            assert_eq!(alone[section], taken_up[section], "{section}");
        }
        assert!(number(&alone, "/flash/block_erases") > 100);
        assert_accounted(&alone);
    }
}

#[test]
fn an_array_runs_without_time_until_it_has_settled() {
    let base = array_of(3);
    let sets = ["run.timed=false", "run.until=steady", "workload.requests=1000000"];
    let load = ["workload.read_share=0"];
    let settled = results(&base, &[&sets[..], &load].concat(), None);
    assert_accounted(&settled);
    assert_eq!(settled["steady_state"]["run"]["steady"], true);
    assert!(number(&settled, "/workload/asked") < 1_000_000);
    let ratio = |results: &Value| results["flash"]["write_amplification"].as_f64().unwrap();
    assert!(ratio(&settled) > 1.5);
    let prepared = results(&base, &[&load[..], &["run.precondition=steady"]].concat(), None);
    assert_eq!(prepared["steady_state"]["preconditioning"]["steady"], true);
    // The preparation writes the same load: uniform random pages.
    let mean = |results: &Value, phase: &str| {
        results["steady_state"][phase]["window_mean"].as_f64().unwrap()
    };
    let (run, prepared) = (mean(&settled, "run"), mean(&prepared, "preconditioning"));
    assert!((prepared / run - 1.0).abs() < 0.05, "{prepared} {run}");
}
