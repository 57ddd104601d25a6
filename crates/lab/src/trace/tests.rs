//! Traces written to files and read back, and refused inputs.

use super::*;
use std::path::PathBuf;
use tempfile::TempDir;

const DISKSIM: &str = "0.5 0 0 8 1\n# a comment\n1.25 1 64 16 0\n1.0 0 8 8 0\n";

fn never(_: &TraceProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A directory with a trace, and its path.
fn directory(text: &str) -> (TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.trace");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (directory, path)
}

fn files(directory: &TempDir) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

fn info(path: &str, options: &str) -> Result<Value, String> {
    let text = trace_info(path, options, &mut never).map_err(|error| error.to_string())?;
    Ok(serde_json::from_str(&text).unwrap())
}

#[test]
fn info_reads_what_was_chosen() {
    let (_directory, path) = directory(DISKSIM);
    let all = info(&path, "{}").unwrap();
    assert_eq!((&all["format"], &all["requests"]), (&json!("disksim"), &json!(3)));
    assert_eq!(all["backward_steps"], 1);
    let one = info(&path, r#"{"devices": "1"}"#).unwrap();
    assert_eq!(one["requests"], 1);
    assert_eq!(one["skipped"], json!({"left_out_device_requests": 2}));
    assert_eq!(info(&path, r#"{"requests": 2}"#).unwrap()["writes"], 1);
    assert_eq!(info(&path, r#"{"duration": "600us"}"#).unwrap()["requests"], 1);
}

#[test]
fn head_shows_lines_beside_requests() {
    let (_directory, path) = directory(DISKSIM);
    let head: Value =
        serde_json::from_str(&trace_head(&path, "{}", 2, &mut never).unwrap()).unwrap();
    assert_eq!(head["requests"].as_array().unwrap().len(), 2);
    let second = json!({
        "number": 3, "raw": "1.25 1 64 16 0", "at_ns": 1_250_000, "device": 1, "op": "write",
        "sector": 64, "sectors": 16, "fua": false,
    });
    assert_eq!(head["requests"][1], second);
}

#[test]
fn converted_traces_are_read_back_unchanged() {
    let (directory, path) = directory(DISKSIM);
    let original = info(&path, "{}").unwrap();
    for (name, options) in [
        ("a.parquet", "{}"),
        ("a.csv.gz", "{}"),
        ("a.disksim.zst", "{}"),
        ("a.iolog", "{}"),
        ("a.mqsim", r#"{"time_unit": "ns"}"#),
    ] {
        let target = directory.path().join(name);
        let target = target.to_str().unwrap();
        let said = trace_convert(&path, target, None, "{}", &mut never).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&said["requests"], &said["lost"]), (&json!(3), &json!({})), "{name}");
        let mut again = info(target, options).unwrap();
        assert_eq!(again["format"], said["to"], "{name}");
        again["format"] = json!("disksim");
        again["skipped"] = json!({});
        assert_eq!(again, original, "{name}");
    }
}

#[test]
fn a_failed_conversion_leaves_no_file() {
    let (directory, path) = directory("0.5 0 0 8 1\n0.6 0 0 8 1\nrubbish\n");
    let before = files(&directory);
    for name in ["a.parquet", "a.disksim.gz"] {
        let target = directory.path().join(name);
        let target = target.to_str().unwrap();
        let error = trace_convert(&path, target, None, "{}", &mut never).unwrap_err();
        let TraceError::Input(message) = error else { panic!("{error:?}") };
        assert!(message.contains("line 3: "), "{message}");
        assert_eq!(files(&directory), before, "{name}");
    }
    let target = directory.path().join("none/a.parquet");
    let error = trace_convert(&path, target.to_str().unwrap(), None, "{}", &mut never);
    assert!(matches!(error, Err(TraceError::Output(_))), "{error:?}");
}

#[test]
fn an_interruption_ends_the_work() {
    let (directory, path) = directory(&"0.5 0 0 8 1\n".repeat(10_000));
    let mut stop = |progress: &TraceProgress| {
        assert!(progress.bytes > 0 && progress.bytes <= progress.expected_bytes.unwrap());
        ControlFlow::Break(())
    };
    let expected = Err(TraceError::Interrupted { requests: 4096 });
    assert_eq!(trace_info(&path, "{}", &mut stop), expected);
    let target = directory.path().join("a.parquet");
    assert_eq!(trace_convert(&path, target.to_str().unwrap(), None, "{}", &mut stop), expected);
    assert_eq!(files(&directory).len(), 1);
}

#[test]
fn wrong_options_are_named() {
    let (_directory, path) = directory(DISKSIM);
    let rows = [
        (r#"{"time_unit": "fortnights"}"#, "workload.time_unit: \"fortnights\" is not one of own"),
        (r#"{"time_unit": "us"}"#, "traces in format disksim say this themselves"),
        (r#"{"format": "disksin"}"#, "workload.format: \"disksin\" is none of its "),
        (r#"{"beyond": "wrap"}"#, "workload.beyond does not affect how a trace is read"),
        (r#"{"skip_bd": 3}"#, "(did you mean workload.skip_bad?)"),
        (r#"{"skip_bad": -1}"#, "workload.skip_bad: invalid value"),
        (r#"{"columns": "time=1"}"#, "workload.columns: the unit of time is missing"),
        ("[]", "the options are not a JSON object"),
    ];
    for (options, part) in rows {
        let message = info(&path, options).unwrap_err();
        assert!(message.contains(part) && !message.contains('\n'), "{options}: {message}");
    }
}
