//! However many threads a run has, its results are the same bits, and it says why it has not more.

use crate::common::{experiment, outcome};
use crate::net::{Config, Outcome, generate, outcome_with};
use lab::{RunError, RunSettings, list, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

fn with(threads: u32) -> RunSettings {
    RunSettings { check: true, threads, ..RunSettings::default() }
}

/// Results without what was elapsed, and what came of the threads.
fn parted(outcome: Outcome) -> (Outcome, Value) {
    let Outcome::Results(mut results) = outcome else { return (outcome, Value::Null) };
    let elapsed = results.as_object_mut().and_then(|it| it.remove("elapsed"));
    (Outcome::Results(results), elapsed.unwrap_or_default()["threads"].take())
}

/// Holds an experiment with two and three threads against one; the fewest that prepared it, and why.
fn hold(config: &Config) -> (u64, Option<String>) {
    let (one, threads) = parted(outcome_with(config, &with(1)));
    assert!(threads.is_null(), "one thread is not worth a word");
    let several = [2, 3].map(|count| {
        let (other, threads) = parted(outcome_with(config, &with(count)));
        assert!(other == one, "{count} threads of {config}");
        let why = threads["preparing_alone"].as_str().map(str::to_owned);
        (threads["preparing"].as_u64().unwrap_or(0), why)
    });
    let [first, _] = several;
    first
}

#[test]
fn random_experiments_are_the_same_bits_with_any_number_of_threads() {
    let mut counts = BTreeMap::new();
    let mut shared = 0;
    for seed in 0..400 {
        let mut config = generate::experiment(9_000_000 + seed);
        if config.get("device.kind") == Some("\"linear\"") {
            continue;
        }
        config.set("run.precondition", ["\"random:1.5\"", "\"steady\""][(seed % 2) as usize]);
        config.set("workload.requests", "100");
        let (preparing, why) = hold(&config);
        shared += u32::from(preparing > 1);
        *counts.entry(why).or_insert(0) += 1;
    }
    println!("{shared} shared, of the others {counts:#?}");
    assert!(shared > 20, "{shared} shared: {counts:?}");
}

/// The presets that a thread more helps are those whose pools are confined to units, and arrays.
#[test]
fn presets_are_the_same_bits_with_any_number_of_threads() {
    let mut shared = Vec::new();
    for (device, _) in list("devices").unwrap() {
        let mut config = Config::default();
        config.set("device.preset", format!("\"{device}\""));
        let small: &[(&str, &str)] = match device.as_str() {
            name if name.contains("array") => &[("device.member.blocks_per_plane", "64")],
            "null" | "intel-p4800x" | "zeus-linear" => &[],
            name if name.contains("ssd") || name.contains("agrawal") || name == "usb-stick" => {
                &[("device.blocks_per_plane", "64")]
            }
            _ => &[],
        };
        small.iter().for_each(|(key, value)| config.set(key, (*value).to_owned()));
        config.set("run.precondition", "\"random:0.5\"");
        config.set("workload.kind", "\"closed\"");
        config.set("workload.requests", "200");
        let (preparing, why) = hold(&config);
        println!("{device}: {preparing} {why:?}");
        if preparing > 1 {
            shared.push(device);
        }
    }
    println!("{shared:?}");
}
