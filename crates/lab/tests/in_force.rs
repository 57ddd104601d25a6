//! Every key stated by the user takes effect or is refused.

use crate::common::outcome;
use crate::net::dice::Dice;
use crate::net::generate::catalogue;
use crate::net::values::value;
use crate::net::{Config, on_two_threads};
use lab::{Experiment, Layer, RunSettings, preset_layer, set_layer, set_layers};
use options::{KeyInfo, Values};
use serde_json::Value;
use std::collections::BTreeSet;

/// Message about a key without effect.
const NO_EFFECT: &str = "this has no effect here";

/// Keys whose effect is invisible under the load below, with the reason; `options.rs` of the
/// devices has a load for each key.
const UNSEEN: &[(&str, &str)] = &[
    ("device.buffer.power_loss_protected", "shows at flushes and power cuts"),
    ("device.block_buffer.power_loss_protected", "shows at flushes and power cuts"),
    ("device.cleaning.levelling.rule", "shows on worn blocks"),
    ("device.host_link.queues", "shows where threads of several classes have queues of their own"),
    ("device.host_link.burst", "shows where threads of several classes have queues of their own"),
    ("device.host_link.priorities", "shows where queues have classes"),
    ("device.host_link.weights", "shows where queues have classes"),
    ("device.slc_cache.dynamic", "needs the times of its pages beside it"),
    ("device.persistence.order", "is what an audit rebuilds the map from"),
    ("device.persistence.recovery", "shows when the power is cut"),
    ("device.persistence.ready", "shows when the power is cut"),
    ("device.persistence.tear", "shows when the power is cut"),
    ("device.persistence.checkpoint", "shows when the power is cut"),
];

/// The drive with fewer slots than requests, and a load that reads, writes and triggers garbage
/// collection; on a drive with a buffer it writes several superblocks.
fn layers(device: &str, sets: &[String]) -> Result<Vec<Layer>, String> {
    let (link, load) = match device {
        "tlc-enterprise" => {
            ("host_link.queue_depth = 8\n", "requests = 12000\nblock_size = '16KiB'\n")
        }
        _ => ("", "requests = 3000\n"),
    };
    let own = format!(
        "[device]\nblocks_per_plane = 32\nspare_factor = 0.3\n{link}[run]\nprecondition = 'random:1'\n\
         [workload]\nkind = 'closed'\nread_share = 0.5\noutstanding = 16\nthreads = 4\n\
         think_time = '1us'\n{load}"
    );
    let below = preset_layer("device", device).expect("a preset");
    let set = set_layers(sets).map_err(|error| error.to_string())?;
    Ok(vec![below, Layer::new("load", own), set])
}

/// The results without the experiment's description.
fn results(device: &str, sets: &[String]) -> Result<Value, String> {
    let experiment =
        Experiment::from_layers(&layers(device, sets)?).map_err(|error| error.to_string())?;
    let mut results =
        outcome(&experiment, &RunSettings::default()).map_err(|error| error.to_string())?;
    let object = results.as_object_mut().expect("an object");
    object.retain(|key, _| !["experiment", "elapsed", "version"].contains(&key.as_str()));
    Ok(results)
}

/// Values of a key: its default, and some other valid ones.
fn values_of(key: &KeyInfo) -> BTreeSet<String> {
    let quoted = |text: &str| {
        if text.is_empty() || matches!(key.values, Values::Boolean) || text.parse::<f64>().is_ok() {
            text.to_owned()
        } else {
            format!("\"{text}\"")
        }
    };
    let mut values = BTreeSet::from([quoted(&key.default)]);
    let more: &[&str] = match key.path.as_str() {
        "device.spare_factor" | "device.over_provisioning" => &["0.3", "0.5"],
        "device.spare_blocks_per_plane" => &["8", "10"],
        "device.cell.preset" => &["\"xl-flash\"", "\"z-nand\"", "\"tlc-2024\""],
        "device.capacity" => &["\"100MiB\"", "\"90MiB\""],
        "device.power.capacitance" => &["\"1.2mF\"", "\"2mF\""],
        "device.power.voltage" | "device.power.cutoff" => &["\"6V\"", "\"9V\""],
        "device.power.watts" => &["\"6W\"", "\"9W\""],
        "device.power.efficiency" => &["0.8", "0.5"],
        _ => &[],
    };
    values.extend(more.iter().map(|value| (*value).to_owned()));
    let mut dice = Dice::new(5);
    for _ in 0..12 {
        values.extend(value("ssd", key, &Config::default(), &mut dice));
    }
    values.remove("");
    values
}

/// The fault of a key on a device, if any.
fn fault(device: &str, key: &KeyInfo) -> Option<String> {
    let all: Vec<(String, Result<Value, String>)> = values_of(key)
        .into_iter()
        .map(|value| {
            let found = results(device, &[format!("{}={value}", key.path)]);
            (value, found)
        })
        .collect();
    let is_refused = |it: &&(String, Result<Value, String>)| {
        it.1.as_ref().is_err_and(|message| message.contains(NO_EFFECT))
    };
    let refused = all.iter().filter(is_refused).count();
    if refused == all.len() {
        return None;
    }
    let path = &key.path;
    if refused > 0 {
        let words = |(value, found): &(String, Result<Value, String>)| match found {
            Ok(_) => format!("{value} runs"),
            Err(message) => format!("{value}: {message}"),
        };
        let list: Vec<String> = all.iter().map(words).collect();
        return Some(format!("{device}, {path}: in force or not by its value: {list:#?}"));
    }
    let ran: Vec<&Value> = all.iter().filter_map(|(_, found)| found.as_ref().ok()).collect();
    let differs = ran.windows(2).any(|pair| pair[0] != pair[1]);
    let is_unseen = UNSEEN.iter().any(|(unseen, _)| unseen == path);
    // A key with only one possible value contradicts others, and the errors say so.
    if differs || ran.len() < 2 || is_unseen {
        return None;
    }
    let values: Vec<&str> = all.iter().map(|(value, _)| value.as_str()).collect();
    Some(format!("{device}, {path}: {} give the same results", values.join(", ")))
}

/// Ensures that the test below does not find differences in all keys.
#[test]
fn two_equal_runs_have_equal_results() {
    assert_eq!(results("agrawal2008", &[]), results("agrawal2008", &[]));
}

#[test]
fn a_key_of_a_drive_is_refused_or_changes_results_whatever_its_value() {
    let section = catalogue().iter().find(|section| section.title == "device, kind ssd").unwrap();
    let keys = section.keys.iter().filter(|key| key.path.rsplit('.').next() != Some("kind"));
    let keys: Vec<&KeyInfo> = keys.filter(|key| key.path != "device.preset").collect();
    let cases: Vec<(&str, &KeyInfo)> = ["agrawal2008", "tlc-enterprise"]
        .into_iter()
        .flat_map(|device| keys.iter().map(move |key| (device, *key)))
        .collect();
    let faults = on_two_threads(&cases, |(device, key)| fault(device, key));
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn resolved(layers: &[Layer]) -> Result<String, String> {
    Experiment::from_layers(layers).map(|it| it.to_toml()).map_err(|error| error.to_string())
}

fn on(device: &str, sets: &[&str]) -> Result<String, String> {
    resolved(&[preset_layer("device", device).unwrap(), set_layers(sets).unwrap()])
}

#[test]
fn a_refusal_names_who_the_key_and_what_would_make_it_apply() {
    for (key, value) in [("cleaning.reclaim", "superblock"), ("cleaning.pace", "burst")] {
        assert_eq!(
            on("agrawal2008", &[&format!("{key}={value}")]).unwrap_err(),
            format!(
                "--set {key}={value}: device.{key} = \"{value}\": this has no effect here, the key applies \
                 with a write buffer (device.buffer.size)"
            )
        );
    }
    let several = on("agrawal2008", &["buffer.linger=8ms", "cleaning.background_free=0.1"]);
    assert_eq!(
        several.unwrap_err(),
        "--set buffer.linger=8ms: device.buffer.linger = \"8ms\": this has no effect here, the key applies with \
         a write buffer (device.buffer.size); nor have device.cleaning.background_free an effect"
    );
    let file = Layer::new("mine.toml", "[device]\nparity.of = 8\n[workload]\nrequests = 5");
    let refused = resolved(&[preset_layer("device", "agrawal2008").unwrap(), file]).unwrap_err();
    assert!(refused.starts_with("mine.toml:2: device.parity.of = 8: "), "{refused}");
    let member = on("agrawal2008-array-6", &["device.member.cleaning.pace=token"]).unwrap_err();
    assert!(
        member.contains("device.member.cleaning.pace = \"token\": this has no effect"),
        "{member}"
    );
}

#[test]
fn what_a_layer_below_has_gives_way_to_what_is_switched_off_above() {
    let off = on("tlc-enterprise", &["suspend.program=none"]).unwrap();
    assert!(!off.contains("\nstep = ") && off.contains("\nlimit = 8"), "{off}");
    let file = |text: &str| Layer::new("mine.toml", text);
    let preset = preset_layer("device", "tlc-enterprise").unwrap();
    let own = "[device]\nsuspend.step = '30us'\n[workload]\nrequests = 5";
    let below = [preset.clone(), file(own), set_layer("suspend.program=none").unwrap()];
    assert!(!resolved(&below).unwrap().contains("\nstep = "));
    // Within one layer it is a contradiction.
    let own = "[device]\nsuspend.step = '30us'\nsuspend.program = 'none'";
    assert!(resolved(&[preset.clone(), file(own)]).unwrap_err().contains("step = '30us'"));
    // A key made effective by a higher layer is accepted.
    let layers =
        [file("[device]\ncleaning.quantum = 40"), set_layer("cleaning.pace=burst").unwrap()];
    assert!(resolved(&[[preset].as_slice(), &layers].concat()).unwrap().contains("quantum = 40"));
}

/// Results are bit-identical to a run without the ineffective keys.
#[test]
fn keys_that_give_way_are_not_in_the_resolved_experiment() {
    let sets = |sets: &[&str]| sets.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let off = results("tlc-enterprise", &sets(&["suspend.program=none"])).unwrap();
    let experiment = layers("tlc-enterprise", &sets(&["suspend.program=none"])).unwrap();
    let text = resolved(&experiment).unwrap();
    let again = Experiment::from_layers(&[Layer::new("experiment.toml", &*text)]).unwrap();
    assert_eq!(again.to_toml(), text);
    let again = outcome(&again, &RunSettings::default()).unwrap();
    assert_eq!(again["host"], off["host"]);
    assert_ne!(results("tlc-enterprise", &[]).unwrap()["host"], off["host"]);
}

#[test]
fn presets_state_what_is_in_force_and_their_experiments_run_again() {
    for section in ["device", "workload"] {
        let category = format!("{section}s");
        for (name, _) in lab::list(&category).unwrap() {
            let Some(text) = lab::preset_text(section, &name) else { continue };
            let text =
                resolved(&[Layer::new(&*name, text)]).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(resolved(&[Layer::new("again", &*text)]).unwrap(), text, "{name}");
            let chosen = preset_layer(section, &name).unwrap();
            let text = resolved(&[chosen]).unwrap();
            assert_eq!(resolved(&[Layer::new("again", &*text)]).unwrap(), text, "{name}");
        }
    }
}

/// A preset that refines another keeps all keys that it does not change, including energy.
#[test]
fn a_preset_that_begins_with_another_has_its_keys() {
    for name in ["laptop-ssd", "mtron", "enterprise-ssd", "usb-stick", "samsung-2007", "iodrive"] {
        let text = resolved(&[preset_layer("device", name).unwrap()]).unwrap();
        let energy = &text.parse::<toml::Table>().unwrap()["device"]["energy"];
        assert_eq!(energy["read"].as_str(), Some("25mA"), "{name}");
        assert_eq!(energy["controller"].as_str(), Some("240mW"), "{name}");
        assert!(
            text.starts_with(&format!("version = 1\ntitle = \"{name} under mixed\"")),
            "{text}"
        );
    }
}

#[test]
fn the_schema_says_where_a_key_applies() {
    let schema = lab::schema().to_string();
    assert!(schema.contains("Applies with a write buffer (device.buffer.size)."));
}

#[test]
fn a_percentage_without_its_sign_is_refused_with_the_share() {
    for (assignment, hint) in [
        ("over_provisioning=28", "at most 3 (300 %) (did you mean 0.28 or \"28%\"?)"),
        ("over_provisioning=7", "(did you mean 0.07 or \"7%\"?)"),
        ("spare_factor=15", "(did you mean 0.15 or \"15%\"?)"),
        ("cleaning.min_free=5", "(did you mean 0.05 or \"5%\"?)"),
        ("workload.read_share=70", "(did you mean 0.7 or \"70%\"?)"),
    ] {
        let layers = [set_layer(assignment).unwrap()];
        let experiment = Experiment::from_layers(&layers).unwrap();
        let refused = outcome(&experiment, &RunSettings::default()).unwrap_err().to_string();
        assert!(refused.ends_with(hint), "{refused}");
    }
}

#[test]
fn hints_name_keys_of_the_same_section() {
    let refused = |text: &str| set_layer(text).unwrap_err().to_string();
    let latency = refused("read_latency=50us");
    assert!(latency.contains("here it is device.timing.read"), "{latency}");
    assert!(!refused("device.read_lately=50us").contains("read_ahead"));
}
