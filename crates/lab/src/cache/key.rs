//! The text that identifies a prepared state: runs with equal texts have bit-identical states.
//!
//! It includes everything that may affect the state, and omits only keys known to have no effect. A
//! new key is therefore included until a test shows that it has no effect.

use crate::config::{Experiment, Precondition, Until};
use crate::inputs::content_hash;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Version of the program and its engine at compile time.
const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("SSDLAB_ENGINE"));

/// Key of a prepared state.
#[derive(Debug, Clone)]
pub struct Key {
    text: String,
}

impl Key {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Name of the entry, a hash of the text.
    pub fn name(&self) -> String {
        blake3::hash(self.text.as_bytes()).to_hex()[..32].to_owned()
    }
}

/// The load that prepares a drive.
#[derive(Debug, Clone, Copy)]
pub enum PreparingLoad<'a> {
    /// The workload itself, with the files that it reads.
    Own(&'a BTreeSet<String>),
    /// Sequential or random pages, with the reason; and the number of leading sectors written, if
    /// not all are.
    Uniform(&'static str, Option<u64>),
}

/// The key of an experiment for every seed, and the key for its own seed; `None` if they cannot be
/// determined.
pub fn keys(experiment: &Experiment, load: PreparingLoad<'_>) -> Option<(Key, Key)> {
    let whole = experiment.to_json();
    let run = &experiment.run;
    let mut text = Map::new();
    text.insert("engine".to_owned(), json!(ENGINE));
    text.insert("device".to_owned(), decisive(whole.get("device")?.clone()));
    text.insert("precondition".to_owned(), json!(run.precondition.to_string()));
    text.insert("pace".to_owned(), json!(run.pace.to_string()));
    if let PreparingLoad::Uniform(_, Some(reach)) = load {
        text.insert("reach".to_owned(), json!(reach));
    }
    if run.precondition == Precondition::Steady {
        let steady = &run.steady;
        let rules =
            json!([steady.round_writes, steady.window, steady.rounds, steady.range, steady.slope]);
        text.insert("steady".to_owned(), rules);
        match load {
            PreparingLoad::Uniform(because, _) => {
                text.insert("because".to_owned(), json!(because));
            }
            PreparingLoad::Own(files) => {
                let mut workload = whole.get("workload")?.clone();
                if let Some(path) = workload.get_mut("path")
                    && let Some(name) = path.as_str().map(Path::new).and_then(Path::file_name)
                {
                    *path = json!(name.to_string_lossy());
                }
                text.insert("workload".to_owned(), workload);
                text.insert("files".to_owned(), contents(files)?);
                if let Until::Time(time) = run.until {
                    text.insert("until".to_owned(), json!(time.ns()));
                }
            }
        }
    }
    let with = |seed: Value| {
        let mut text = text.clone();
        text.insert("seed".to_owned(), seed);
        Key { text: Value::Object(text).to_string() }
    };
    Some((with(Value::Null), with(json!(run.seed))))
}

/// Sections of a device that only affect timing: the FTL and the flash state do not depend on them.
const TIMED: [&str; 5] = ["timing", "host_link", "suspend", "firmware", "energy"];
/// Further keys that affect timed preparations.
const TIMED_KEYS: [(&str, &str); 5] = [
    ("buffer", "linger"),
    ("cleaning", "read_batch"),
    ("cleaning", "read_order"),
    ("cleaning", "meter_depth"),
    ("cleaning", "meter_above"),
];
/// Keys of a device that may affect its prepared state.
fn decisive(device: Value) -> Value {
    let mut keys = match device {
        Value::Object(keys) => keys,
        Value::Array(devices) => return devices.into_iter().map(decisive).collect(),
        other => return other,
    };
    keys.retain(|key, _| !TIMED.contains(&key.as_str()));
    for (section, key) in TIMED_KEYS {
        if let Some(Value::Object(section)) = keys.get_mut(section) {
            section.remove(key);
        }
    }
    // Of the pace settings, only `burst` affects the content of the buffer.
    if let Some(pace) = keys.get_mut("cleaning").and_then(|it| it.get_mut("pace")) {
        *pace = json!(*pace == json!("burst"));
    }
    for within in devices::SECTIONS_WITHIN {
        if let Some(device) = keys.get_mut(within) {
            *device = decisive(device.take());
        }
    }
    Value::Object(keys)
}

/// Names of files without folders, and hashes of their contents.
fn contents(files: &BTreeSet<String>) -> Option<Value> {
    let each = files.iter().map(|path| {
        let name = Path::new(path).file_name()?.to_string_lossy();
        content_hash(path).ok().map(|hash| json!([name, hash]))
    });
    each.collect::<Option<Vec<_>>>().map(Value::Array)
}

/// True if, judging by the load, another seed could give another state.
pub fn load_draws(experiment: &Experiment, load: PreparingLoad<'_>) -> bool {
    match (experiment.run.precondition, load) {
        (Precondition::None | Precondition::Sequential, _) => false,
        (Precondition::Steady, PreparingLoad::Own(_)) => experiment.workload.draws(),
        (Precondition::Random(_) | Precondition::Steady, _) => true,
    }
}
