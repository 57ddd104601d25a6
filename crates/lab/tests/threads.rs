//! Results are bit-identical for any number of threads, and a run states why it used fewer than
//! requested.

use crate::common::{experiment, outcome};
use crate::depth::depth;
use crate::net::{Config, Outcome, generate, outcome_with};
use lab::{RunError, RunSettings, list, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

fn with(threads: u32) -> RunSettings {
    RunSettings { check: true, threads, ..RunSettings::default() }
}

/// Results without elapsed times, and the note on threads.
fn parted(outcome: Outcome) -> (Outcome, Value) {
    let Outcome::Results(mut results) = outcome else { return (outcome, Value::Null) };
    let elapsed = results.as_object_mut().and_then(|it| it.remove("elapsed"));
    (Outcome::Results(results), elapsed.unwrap_or_default()["threads"].take())
}

/// Checks an experiment with two threads against one, and with three if two share the work; returns
/// the least number of preparing threads, and the reason.
fn hold(config: &Config) -> (u64, Option<String>) {
    let (one, threads) = parted(outcome_with(config, &with(1)));
    assert!(threads.is_null(), "one thread is not worth a word");
    let several = |count| {
        let (other, threads) = parted(outcome_with(config, &with(count)));
        assert!(other == one, "{count} threads of {config}");
        let why = threads["preparing_alone"].as_str().map(str::to_owned);
        (threads["preparing"].as_u64().unwrap_or(0), why)
    };
    let (preparing, why) = several(2);
    if preparing > 1 {
        several(3);
    }
    (preparing, why)
}

#[test]
fn random_experiments_are_the_same_bits_with_any_number_of_threads() {
    let mut counts = BTreeMap::new();
    let mut shared = 0;
    let drawn = depth(20, 20, 1_000);
    for seed in 0..drawn {
        let mut config = generate::experiment(9_000_000 + seed);
        // A disk behind a cache is written completely, line by line, by a single thread before it
        // is steady.
        if [Some("law"), Some("cache")].contains(&config.get("device.kind")) {
            continue;
        }
        config.set("run.precondition", ["\"random:1.5\"", "\"steady\""][(seed % 2) as usize]);
        config.set("workload.requests", "100");
        let (preparing, why) = hold(&config);
        shared += u32::from(preparing > 1);
        *counts.entry(why).or_insert(0) += 1;
    }
    // A small sample may have none.
    assert!(u64::from(shared) * 40 > drawn || drawn < 80, "{shared} shared: {counts:?}");
}

/// Threads speed up drives whose pools lie within units, and arrays.
#[test]
fn presets_are_the_same_bits_with_any_number_of_threads() {
    let mut shared = Vec::new();
    for (device, _) in list("devices").expect("a category") {
        // The list contains kinds as well.
        if device.contains(' ') {
            continue;
        }
        let mut config = Config::default();
        config.set("device.preset", format!("\"{device}\""));
        match device.as_str() {
            name if name.contains("array") => config.set("device.member.blocks_per_plane", "64"),
            "agrawal2008" | "enterprise-ssd" | "iodrive" | "laptop-ssd" | "mlc-2008" | "mtron"
            | "samsung-2007" | "usb-stick" => {
                config.set("device.blocks_per_plane", "64");
            }
            _ => {}
        }
        // The device behind a cache has millions of lines, which are written one by one.
        let is_cache = config.with("device.replacement", "\"lru\"").experiment().is_ok();
        let share = if is_cache { 0.0001 } else { depth(2, 2, 25) as f64 / 100.0 };
        config.set("run.precondition", format!("\"random:{share}\""));
        config.set("workload.kind", "\"closed\"");
        config.set("workload.requests", "200");
        if hold(&config).0 > 1 {
            shared.push(device);
        }
    }
    let expected = [
        "agrawal2008",
        "agrawal2008-array-6",
        "agrawal2008-array-10",
        "enterprise-ssd",
        "laptop-ssd",
        "mlc-2008",
    ];
    assert_eq!(shared, expected);
}

const SMALL: &str = "
[device]
kind = 'ssd'
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 1024
[workload]
kind = 'closed'
requests = 100
[run]
precondition = 'random:4'
";

/// Progress is reported in order, by the waiting thread, which can end it.
#[test]
fn progress_comes_from_the_thread_that_waits_and_ends_the_run() {
    let experiment = experiment::<&str>(&[SMALL], &[]).unwrap();
    let mine = std::thread::current().id();
    let mut told = Vec::new();
    let settings = RunSettings { threads: 2, ..RunSettings::default() };
    run(&experiment, &settings, &mut |progress| {
        assert_eq!(std::thread::current().id(), mine);
        if progress.phase == "preconditioning" {
            told.push((progress.done, progress.expected));
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(told.len() > 3 && told.is_sorted() && told[0].0 == 0, "{told:?}");
    let mut calls = 0;
    let ended = run(&experiment, &settings, &mut |_| {
        calls += 1;
        if calls == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(ended, Err(RunError::Interrupted { requests: 0 })), "{ended:?}");
    assert_eq!(calls, 3);
}

#[test]
fn results_say_how_many_threads_worked_and_why_not_more() {
    let threads = |threads, sets: &[&str]| {
        let experiment = experiment(&[SMALL], sets).unwrap();
        let settings = RunSettings { threads, ..RunSettings::default() };
        outcome(&experiment, &settings).unwrap()["elapsed"]["threads"].take()
    };
    assert_eq!(threads(1, &[]), Value::Null);
    assert_eq!(threads(0, &[]), Value::Null);
    let two = json!({ "asked": 2, "preparing": 2, "preparing_alone": null });
    assert_eq!(threads(2, &[]), two);
    let more = threads(3, &[]);
    assert_eq!(more["preparing"], 2);
    assert_eq!(more["preparing_alone"], "the device has no more independent parts");
    assert_eq!(threads(2, &["run.precondition=none"])["preparing"], 0);
    let cat = threads(2, &["device.cleaning.policy=cat"]);
    assert_eq!(cat["preparing"], 1);
    let counted = "the cleaning policy counts age in blocks opened on the whole drive";
    assert_eq!(cat["preparing_alone"], counted);
    // It wears out before the preparation ends.
    let worn = threads(2, &["device.wear.rated_cycles=30"]);
    assert_eq!(worn["preparing_alone"], "blocks are about to wear out");
}
