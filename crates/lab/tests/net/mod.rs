//! Random experiments, shared by the tests of the laws, the digests and the fuzzer.
//!
//! An experiment is a list of keys with values, as for `--set`; it is run in this process, and its
//! outcome (results, a refusal, a panic) is a value.

mod blocks;
mod caches;
mod commands;
pub mod dice;
pub mod digest;
mod diskspd;
mod energy;
mod fdp;
pub mod features;
pub mod generate;
mod generators;
pub mod laws;
mod logs;
mod maps;
mod media;
pub mod mend;
mod queues;
mod redundancy;
pub mod shrink;
mod today;
pub mod values;
mod waits;
mod zones;

use lab::{Experiment, Layer, RunError, RunSettings, run};
use serde_json::Value;
use std::cell::RefCell;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Placeholder for the folder of traces in stored configurations.
pub const SAMPLES: &str = "SAMPLES/";

/// An experiment: full key paths with TOML values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config(pub Vec<(String, String)>);

impl Config {
    /// The value of a key without its quotes, if present.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(given, _)| given == key);
        found.map(|(_, value)| value.trim_matches('"'))
    }

    /// Sets the value of a key, replacing any previous one.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        self.0.retain(|(given, _)| given != key);
        self.0.push((key.to_owned(), value.into()));
    }

    /// A copy with one more key.
    pub fn with(&self, key: &str, value: impl Into<String>) -> Config {
        let mut config = self.clone();
        config.set(key, value);
        config
    }

    /// The configuration as a line of a file.
    pub fn line(&self) -> String {
        let pairs: Vec<String> =
            self.0.iter().map(|(key, value)| format!("{key}={value}")).collect();
        pairs.join("; ")
    }

    /// Parses the configuration from a line.
    pub fn from_line(line: &str) -> Config {
        let pairs = line.split("; ").map(|pair| pair.split_once('=').expect("KEY=VALUE"));
        Config(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    /// The experiment, or its error.
    pub fn experiment(&self) -> Result<Experiment, String> {
        let lines: Vec<String> =
            self.0.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        let text = lines.concat().replace(SAMPLES, &format!("{}/", samples().display()));
        // Keys are drawn, not stated by a user, so ineffective ones are dropped.
        let layer = Layer { gives_way: true, ..Layer::new("random", text) };
        Experiment::from_layers(&[layer]).map_err(|error| error.0)
    }
}

/// Formats the command that runs the experiment.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ssdlab run --check")?;
        let folder = format!("{}/", samples().display());
        self.0.iter().try_for_each(|(key, value)| {
            write!(f, " --set '{key}={}'", value.replace(SAMPLES, &folder).replace('\'', "'\\''"))
        })
    }
}

/// Outcome of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It completed.
    Results(Box<Value>),
    /// It was refused, with this message.
    Refused(String),
    /// It failed: a panic, a failed audit.
    Broken(String),
}

/// Runs an experiment with an audit at the end.
pub fn outcome(config: &Config) -> Outcome {
    outcome_with(config, &RunSettings { check: true, ..RunSettings::default() })
}

/// `outcome` with other settings.
pub fn outcome_with(config: &Config, settings: &RunSettings) -> Outcome {
    let whole = quietly(|| {
        let experiment = match config.experiment() {
            Ok(experiment) => experiment,
            Err(message) => return Outcome::Refused(message),
        };
        match run(&experiment, settings, &mut |_| ControlFlow::Continue(())) {
            Ok(text) => Outcome::Results(Box::new(serde_json::from_str(&text).expect("JSON"))),
            Err(RunError::Input(message)) => Outcome::Refused(message),
            Err(other) => Outcome::Broken(other.to_string()),
        }
    });
    whole.unwrap_or_else(|message| Outcome::Broken(format!("panic: {message}")))
}

thread_local! {
    /// Message of a panic in this thread, while it is captured.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Calls `work`; a panic becomes an error with message and position, and is not printed.
pub fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let watched = SAID.with_borrow_mut(|said| {
                let Some(said) = said else { return false };
                let payload = info.payload();
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
                let place = info.location().map_or_else(String::new, |place| {
                    format!(" ({}:{})", place.file(), place.line())
                });
                *said = format!("{}{place}", text.unwrap_or("?"));
                true
            });
            if !watched {
                usual(info);
            }
        }));
    });
    SAID.set(Some(String::new()));
    let done = catch_unwind(AssertUnwindSafe(work));
    let said = SAID.take().unwrap_or_default();
    done.map_err(|_| said)
}

/// The folder with one trace of each format, written on first use.
pub fn samples() -> PathBuf {
    static WRITTEN: Once = Once::new();
    let folder = std::env::temp_dir().join(format!("ssdlab-samples-{}", std::process::id()));
    WRITTEN.call_once(|| {
        std::fs::create_dir_all(&folder).expect("a folder for the traces");
        for format in workloads::FORMATS {
            std::fs::write(folder.join(format.name), (format.sample)()).expect("a trace");
        }
    });
    folder
}

/// Applies `work` to every item in two threads; returns the results in the order of the items.
pub fn on_two_threads<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return done };
            done.push((index, work(item)));
        }
    };
    let mut all = std::thread::scope(|scope| {
        let other = scope.spawn(worker);
        let mut mine = worker();
        mine.extend(other.join().expect("the other thread's work"));
        mine
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, answer)| answer).collect()
}
