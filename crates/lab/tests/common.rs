//! Helpers shared by the tests: experiments from texts and `--set`, and their results.

use lab::{Experiment, Layer, RunError, RunSettings, run, set_layer};
use serde_json::Value;
use std::ops::ControlFlow;

/// A package of 258 blocks, 256 of which take part in garbage collection.
pub const PACKAGE: &str = "
[device]
kind = 'ssd'
channels = 1
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 258
summary_page = false
over_provisioning = 0.2094
cleaning.min_free = 0.0
";

/// The experiment from texts, lowest first, with `--set` above them; or its error.
pub fn experiment<S: AsRef<str>>(texts: &[&str], sets: &[S]) -> Result<Experiment, String> {
    let layers = texts.iter().map(|text| Layer::new("e.toml", *text));
    let layers = layers.chain(sets.iter().map(|set| set_layer(set.as_ref()).unwrap()));
    Experiment::from_layers(&layers.collect::<Vec<_>>()).map_err(|error| error.to_string())
}

/// The settings of a run that is audited at its end.
pub fn audited() -> RunSettings {
    RunSettings { check: true, ..RunSettings::default() }
}

/// The results of an uninterrupted experiment, or the error.
pub fn outcome(experiment: &Experiment, settings: &RunSettings) -> Result<Value, RunError> {
    let text = run(experiment, settings, &mut |_| ControlFlow::Continue(()))?;
    Ok(serde_json::from_str(&text).unwrap())
}
