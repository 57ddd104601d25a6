//! The record of a run's requests is complete, correct, and a trace that repeats the run.

use crate::common::{experiment, outcome};
use lab::{Experiment, Layer, RunError, RunSettings, run, trace_info};
use serde_json::Value;
use std::ops::ControlFlow;
use std::path::Path;

const DEVICE: &str = "
[device]
kind = 'ssd'
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 64
host_link.queue_depth = 4
";

const LOAD: &str = "
[workload]
kind = 'open'
requests = 150000
";

fn run_to(path: &str, workload: &str, keys: &[&str]) -> Result<Value, RunError> {
    let settings = RunSettings { requests: Some(path.to_owned()), ..RunSettings::default() };
    outcome(&experiment(&[DEVICE, workload], keys).unwrap(), &settings)
}

fn names(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

#[test]
fn a_record_replayed_is_the_same_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (first, second) = (path("first.parquet"), path("second.parquet"));
    let results = run_to(&first, LOAD, &[]).unwrap();
    let replay = format!("[workload]\nkind = 'trace'\npath = '{first}'\n");
    let again = run_to(&second, &replay, &[]).unwrap();
    assert_eq!(results["host"], again["host"]);
    assert_eq!(results["flash"], again["flash"]);
    // Arrivals, completions and breakdowns are identical, to the byte.
    assert!(std::fs::read(&first).unwrap() == std::fs::read(&second).unwrap());
    let info = trace_info(&first, "{}", &mut |_| ControlFlow::Continue(())).unwrap();
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!((&info["format"], &info["requests"]), (&"parquet".into(), &150_000.into()));
    assert_eq!(info["reads"], results["host"]["read"]["requests"]);
    assert_eq!(info["backward_steps"], 0);
    assert_eq!(names(directory.path()), 2);
}

#[test]
fn a_run_that_does_not_end_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.parquet").to_str().unwrap().to_owned();
    let layers = [Layer::new("d.toml", DEVICE), Layer::new("w.toml", LOAD)];
    let experiment = Experiment::from_layers(&layers).unwrap();
    let settings = RunSettings { requests: Some(path.clone()), ..RunSettings::default() };
    let mut ticks = 0;
    let ended = run(&experiment, &settings, &mut |_| {
        ticks += 1;
        if ticks > 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(ended, Err(RunError::Interrupted { requests }) if requests > 80_000));
    assert_eq!(names(directory.path()), 0);
    let broken = directory.path().join("t.disksim");
    std::fs::write(&broken, "1.0 0 0 8 1\n2.0 0 8 8 1\nthree\n").unwrap();
    let replay = format!("[workload]\nkind = 'trace'\npath = '{}'\n", broken.display());
    let message = run_to(&path, &replay, &[]).unwrap_err().to_string();
    assert!(message.contains("line 3"), "{message}");
    assert_eq!(names(directory.path()), 1);
}

#[test]
fn an_unwritable_record_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let message = run_to("requests.csv", LOAD, &[]).unwrap_err();
    assert!(matches!(message, RunError::Input(text) if text.contains("must end in .parquet")));
    let path = directory.path().join("no/r.parquet").to_str().unwrap().to_owned();
    let message = run_to(&path, LOAD, &[]).unwrap_err();
    assert!(matches!(&message, RunError::System(text) if text.contains("cannot be written")));
    // A full disk costs the record, not the results.
    if Path::new("/dev/full").exists() {
        let link = directory.path().join("full.parquet");
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        let ended = run_to(link.to_str().unwrap(), LOAD, &["workload.requests=200000"]);
        let Err(RunError::Unwritten { problem, results }) = ended else { panic!("{ended:?}") };
        assert!(problem.contains("full.parquet: cannot be written: No space"), "{problem}");
        let results: serde_json::Value = serde_json::from_str(&results).unwrap();
        assert_eq!(results["host"]["all"]["requests"], 200_000);
    }
}
