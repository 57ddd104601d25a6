//! The tables of a mix's streams: each a workload section with a few additional keys.

use super::super::{ResolveError, WorkloadConfig};
use super::command::AsCommand;
use crate::footprint::Footprint;
use options::{KeyInfo, Setting, Values, nearest};
use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

/// One stream of a mix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MixStream {
    /// Requests of a stream.
    #[serde(flatten)]
    pub workload: WorkloadConfig,
    /// Share among the weighted streams; without a weight, the stream keeps its own pace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Start of the stream's part of the device: a share of the device or a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Footprint>,
    /// End of the stream's part of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Footprint>,
    /// Placement handle of writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<u32>,
    /// Command that replaces requests.
    #[serde(skip_serializing_if = "AsCommand::is_none")]
    pub command: AsCommand,
}

/// The workloads of a mix.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MixStreams(pub Vec<MixStream>);

impl MixStreams {
    /// Form of a value.
    pub const EXPECTED: &'static str = "tables `[[workload.streams]]`, each with the `kind` of a \
         workload and its keys; and where wanted a `weight` (a number: the streams with weights \
         take turns), `from` and `to`, the part of the device (shares of it or sizes), the placement `handle` of \
         its writes, and the `command` that its requests become";
}

impl<'de> Deserialize<'de> for MixStreams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tables = Vec::<Value>::deserialize(deserializer)?;
        let stream = |(index, table)| {
            stream(table)
                .map_err(|problem| de::Error::custom(format!("stream {}: {problem}", index + 1)))
        };
        tables.into_iter().enumerate().map(stream).collect::<Result<_, _>>().map(MixStreams)
    }
}

/// The reference of the keys that a stream has in addition to its workload's.
pub fn stream_keys() -> Vec<KeyInfo> {
    let mut rows = Vec::new();
    let weight = "Its share among the streams with weights; without it, it keeps its own pace.";
    <Option<f64> as Setting>::describe("weight", weight, &None, &mut rows);
    let from = "Where its part of the device begins: a share of the device or a size.";
    let to = "Where its part of the device ends: a share of the device or a size.";
    for (name, doc) in [("from", from), ("to", to)] {
        Footprint::describe(name, doc, &Footprint::WHOLE, &mut rows);
    }
    let handle =
        "The placement handle of its writes; without it, the drive's rule (device.fdp.place).";
    <Option<u32> as Setting>::describe("handle", handle, &None, &mut rows);
    let command = "The command of NVMe that its reads or writes become.";
    AsCommand::describe("command", command, &AsCommand::None, &mut rows);
    // These keys have no default.
    for row in &mut rows {
        row.default.clear();
    }
    rows
}

impl MixStreams {
    /// A list of sections named `stream`.
    fn values() -> Values {
        Values::List(Box::new(Values::Section("stream")))
    }
}

impl options::Setting for MixStreams {
    options::leaf_body!(Self::EXPECTED, Self::values(), |_: &Self| String::new());
}

/// Reads a table. Its values stay TOML until the kind is known; all configs are converted to TOML.
fn stream(table: Value) -> Result<MixStream, String> {
    let Value::Table(mut table) = table else {
        return Err("it is not a table of keys".to_owned());
    };
    let from = take(&mut table, "from")?;
    let command: Option<AsCommand> = take(&mut table, "command")?;
    let handle = take(&mut table, "handle")?;
    let kind: Option<String> = take(&mut table, "kind")?;
    let to = take(&mut table, "to")?;
    let weight = take(&mut table, "weight")?;
    let kind = kind.ok_or("it has no `kind`")?;
    let workload = WorkloadConfig::resolve(&kind, [table]).map_err(|error| match error {
        ResolveError::Kind(invalid) => invalid.to_string(),
        ResolveError::Layer { error, .. } => with_nearest(error.message()),
    })?;
    let command = command.unwrap_or(AsCommand::None);
    Ok(MixStream { workload, weight, from, to, handle, command })
}

/// Removes a key from a table and parses it.
fn take<T: DeserializeOwned>(table: &mut Table, key: &str) -> Result<Option<T>, String> {
    let value = table.remove(key).map(T::deserialize).transpose();
    value.map_err(|error| error.message().to_owned())
}

/// Adds the most similar key to serde's list of all keys.
fn with_nearest(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let hint = match message.strip_prefix("unknown field ") {
        Some(_) => quoted.next().and_then(|word| nearest(word, quoted)),
        None => None,
    };
    hint.map_or_else(|| message.to_owned(), |near| format!("{message} (did you mean {near}?)"))
}
