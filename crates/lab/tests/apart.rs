//! An open workload of an array has the same results, bit for bit, on several threads, and a run says why
//! it has one.

use crate::net::dice::Dice;
use crate::net::{Config, Outcome, generate, outcome_with};
use lab::RunSettings;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What a run came to but for what was elapsed, with the record of its requests; and its threads.
fn come_to(config: &Config, folder: &Path, threads: u32) -> (Outcome, Vec<u8>, Value) {
    let path = folder.join(format!("{threads}.parquet"));
    let _ = std::fs::remove_file(&path);
    let requests = Some(path.to_str().unwrap().to_owned());
    let settings = RunSettings { check: true, requests, threads, ..RunSettings::default() };
    let mut outcome = outcome_with(config, &settings);
    let mut elapsed = Value::Null;
    if let Outcome::Results(results) = &mut outcome {
        elapsed = results.as_object_mut().and_then(|it| it.remove("elapsed")).unwrap();
    }
    (outcome, std::fs::read(path).unwrap_or_default(), elapsed["threads"].take())
}

/// In which section two outcomes differ first.
fn difference(one: &Outcome, other: &Outcome) -> String {
    let (Outcome::Results(one), Outcome::Results(other)) = (one, other) else {
        let said = [one, other].map(|it| format!("{it:?}").chars().take(300).collect::<String>());
        return said.join("\nand: ");
    };
    let mut path = String::new();
    let (mut one, mut other): (&Value, &Value) = (one, other);
    while let (Some(fields), Some(_)) = (one.as_object(), other.as_object()) {
        let differs = |key: &&String| one[key.as_str()] != other[key.as_str()];
        let Some(key) = fields.keys().find(differs) else { break };
        path += "/";
        path += key;
        (one, other) = (&one[key.as_str()], &other[key.as_str()]);
    }
    format!("{path}: {one} and {other}")
}

/// Holds an experiment with two and three threads against one; how many ran it, and why not more.
fn hold(config: &Config, folder: &Path) -> (u64, Option<String>) {
    let (one, record, _) = come_to(config, folder, 1);
    let several = [2, 3].map(|count| {
        let (other, its_record, threads) = come_to(config, folder, count);
        assert!(other == one, "{count} threads of {config}: {}", difference(&other, &one));
        assert!(record == its_record, "the record of {count} threads of {config}");
        let why = threads["running_alone"].as_str().map(str::to_owned);
        (threads["running"].as_u64().unwrap_or(0), why)
    });
    let [first, _] = several;
    first
}

/// A trace of all kinds of requests, often at one instant.
fn trace(dice: &mut Dice, sectors: u64) -> String {
    let requests = dice.pick(&[30, 300, 1500]);
    let step = dice.pick(&[0, 1, 10, 25, 100, 400]);
    let mut text = String::new();
    let mut at = dice.pick(&[0, 5, 100_000]);
    for _ in 0..requests {
        at += step * dice.below(4);
        if dice.chance(0.01) {
            at += 3_000;
        }
        let op = dice.pick(&["R", "R", "R", "W", "W", "W", "W", "trim", "flush"]);
        let size = dice.pick(&[1, 4, 8, 8, 8, 16, 64, 200]).min(sectors);
        let place = dice.below(sectors - size + 1);
        let place = if dice.chance(0.7) { place / 8 * 8 } else { place };
        writeln!(text, "{at},{op},{place},{size}").unwrap();
    }
    text
}

/// A drive whose units share little, and an open workload.
fn draw(seed: u64, folder: &Path) -> Config {
    let mut dice = Dice::new(seed);
    let mut config = Config::default();
    let mut set = |key: &str, value: String| config.set(key, value);
    set("device.kind", "\"ssd\"".into());
    let channels = dice.pick(&[2, 2, 3, 5]);
    set("device.channels", channels.to_string());
    set("device.packages_per_channel", dice.pick(&["1", "1", "2"]).into());
    set("device.dies_per_package", dice.pick(&["1", "2"]).into());
    set("device.planes_per_die", "1".into());
    set("device.blocks_per_plane", dice.pick(&["24", "48"]).into());
    set("device.pages_per_block", dice.pick(&["4", "8"]).into());
    set("device.pool", dice.pick(&["\"package\"", "\"die\""]).into());
    set("device.interleave", dice.pick(&["\"none\"", "\"die\""]).into());
    set("device.spare_factor", dice.pick(&["0.4", "0.5"]).into());
    set("device.logical_page", dice.pick(&["\"4KiB\"", "\"4KiB\"", "\"8KiB\""]).into());
    set("device.summary_page", dice.pick(&["true", "false"]).into());
    set("device.cleaning.time", dice.pick(&["\"blocking\"", "\"interleaved\""]).into());
    set("device.cleaning.background", dice.pick(&["true", "false"]).into());
    set("device.cleaning.policy", dice.pick(&["\"greedy\"", "\"fifo\""]).into());
    // Transfers take a multiple of what lies between arrivals, or nearly.
    set("device.spare_size", "\"0B\"".into());
    set("device.timing.bus_per_byte", dice.pick(&["\"25ns\"", "\"15625ps\"", "\"1ps\""]).into());
    set("device.timing.program", dice.pick(&["\"200us\"", "\"64us\""]).into());
    set("run.precondition", dice.pick(&["\"none\"", "\"random:1\"", "\"random:2\""]).into());
    if dice.chance(0.3) {
        set("run.warm_up", dice.pick(&["\"1ms\"", "\"20ms\"", "\"300ms\""]).into());
    }
    if dice.chance(0.2) {
        set("run.until", dice.pick(&["\"2ms\"", "\"150ms\""]).into());
    }
    if dice.chance(0.15) {
        set("device.wear.rated_cycles", dice.pick(&["20", "200", "800", "2000"]).into());
    }
    if dice.chance(0.6) {
        let path = folder.join("trace.csv");
        std::fs::write(&path, trace(&mut dice, 1500)).unwrap();
        set("workload.kind", "\"trace\"".into());
        set("workload.format", "\"csv\"".into());
        set("workload.columns", "\"time=1:us,op=2,offset=3:sectors,size=4:sectors\"".into());
        set("workload.path", format!("\"{}\"", path.display()));
        set("workload.beyond", "\"wrap\"".into());
        set("workload.loops", dice.pick(&["1", "1", "3"]).into());
    } else {
        set("workload.kind", "\"open\"".into());
        set("workload.requests", dice.pick(&["200", "3000", "12000"]).into());
        set("workload.read_share", dice.pick(&["0.0", "0.5", "1.0"]).into());
        set(
            "workload.interarrival",
            dice.pick(&["\"uniform(0, 0.1)\"", "\"uniform(0, 1)\""]).into(),
        );
    }
    config
}

/// The same with an array of such drives, or of others.
fn draw_array(seed: u64, folder: &Path) -> Config {
    let mut dice = Dice::new(!seed);
    let drive = draw(seed, folder);
    let mut config = Config::default();
    let other = dice.pick(&["ssd", "ssd", "law", "law"]);
    for (key, value) in drive.0 {
        match key.strip_prefix("device.") {
            Some("kind") => config.set("device.member.kind", format!("\"{other}\"")),
            Some(own) if other == "ssd" => config.set(&format!("device.member.{own}"), value),
            Some(_) => {}
            None if other != "ssd" && key == "run.precondition" => {}
            None => config.set(&key, value),
        }
    }
    config.set("device.kind", "\"array\"");
    config.set("device.members", dice.pick(&["2", "3", "5"]));
    config.set("device.layout", dice.pick(&["\"striped\"", "\"concatenated\""]));
    config.set("device.stripe", dice.pick(&["\"512B\"", "\"4KiB\"", "\"16KiB\""]));
    if other == "ssd" && dice.chance(0.5) {
        // Members may have whatever they like between their controller and their flash.
        config.set("device.member.host_link.queue_depth", dice.pick(&["1", "4"]));
        config.set("device.member.host_link.latency", dice.pick(&["\"0us\"", "\"5us\""]));
    }
    config
}

#[test]
fn open_workloads_of_arrays_are_the_same_bits_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let mut counts = BTreeMap::new();
    let mut shared = 0;
    for seed in 0..80 {
        let (running, why) = hold(&draw_array(seed, folder.path()), folder.path());
        shared += u32::from(running > 1);
        *counts.entry(why).or_insert(0) += 1;
    }
    assert!(shared > 40, "{shared} shared: {counts:?}");
}

/// Experiments as the test of the laws draws them, asked by the clock.
#[test]
fn random_experiments_asked_by_the_clock_are_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let mut counts = BTreeMap::new();
    for seed in 0..250 {
        let mut config = generate::experiment(60_000 + seed);
        if ["open", "bursts", "trace"].contains(&config.get("workload.kind").unwrap_or_default()) {
            config.0.retain(|(key, _)| !key.contains("host_link"));
            let (running, _) = hold(&config, folder.path());
            *counts.entry(running).or_insert(0) += 1;
        }
    }
    assert!(counts.get(&2).is_some_and(|shared| *shared > 3), "{counts:?}");
}

/// Members unlike each other go on by themselves as well.
#[test]
fn unlike_members_are_the_same_bits_with_any_number_of_threads() {
    let text = "[device]\nkind = 'array'\nmembers = 4\n\
                [device.member]\npreset = 'agrawal2008'\nblocks_per_plane = 32\n\
                [[device.each]]\nmember = 1\npreset = 'sata-2008'\n\
                [[device.each]]\nmember = 2\nchannels = 4\n\
                [workload]\nkind = 'open'\nrequests = 4000\nread_share = 0.5\n\
                interarrival = 'exponential(0, 0.5)'\n";
    let experiment = crate::common::experiment::<&str>(&[text], &[]).unwrap();
    let on = |threads| {
        let settings = RunSettings { threads, ..crate::common::audited() };
        let mut results = crate::common::outcome(&experiment, &settings).unwrap();
        let elapsed = results.as_object_mut().unwrap().remove("elapsed").unwrap();
        (results, elapsed["threads"]["running"].clone())
    };
    let (one, _) = on(1);
    assert_eq!(one["disk"]["disks"], 1);
    for threads in [2, 3] {
        let (other, running) = on(threads);
        assert!(other == one, "{threads} threads");
        assert!(running.as_u64() > Some(1), "{running}");
    }
}
