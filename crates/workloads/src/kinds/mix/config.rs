//! The tables of a mix's streams: a workload section each, with a few keys of the mix beside it.

use super::super::WorkloadConfig;
use super::value::Value;
use crate::footprint::Footprint;
use options::nearest;
use serde::de;
use serde::de::value::{Error as Problem, MapDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

/// One workload of a mix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stream {
    /// What it asks.
    #[serde(flatten)]
    pub workload: WorkloadConfig,
    /// Its share among the streams with weights; without it, it keeps its own pace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Where its part of the device begins: a share of the device or a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Footprint>,
    /// Where its part of the device ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Footprint>,
}

/// The workloads of a mix.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Streams(pub Vec<Stream>);

impl Streams {
    /// What a config value of this type must look like.
    pub const EXPECTED: &'static str = "tables `[[workload.streams]]`, each with the `kind` of a \
         workload and its keys; and where wanted a `weight` (a number: the streams with weights \
         take turns), and `from` and `to`, the part of the device (shares of it or sizes)";
}

impl<'de> Deserialize<'de> for Streams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tables = Vec::<Value>::deserialize(deserializer)?;
        let stream = |(index, table)| {
            stream(table)
                .map_err(|problem| de::Error::custom(format!("stream {}: {problem}", index + 1)))
        };
        tables.into_iter().enumerate().map(stream).collect::<Result<_, _>>().map(Streams)
    }
}

impl options::Setting for Streams {
    options::leaf_body!(Self::EXPECTED, |_: &Self| String::new());
}

fn stream(table: Value) -> Result<Stream, Problem> {
    let Value::Map(table) = table else {
        return Err(de::Error::custom("it is not a table of keys"));
    };
    let (mut kind, mut weight, mut from, mut to) = (None, None, None, None);
    let mut rest = Vec::new();
    for (key, value) in table {
        match key.as_str() {
            "kind" => kind = Some(String::deserialize(value)?),
            "weight" => weight = Some(f64::deserialize(value)?),
            "from" => from = Some(Footprint::deserialize(value)?),
            "to" => to = Some(Footprint::deserialize(value)?),
            _ => rest.push((key, value)),
        }
    }
    let kind = kind.ok_or_else(|| de::Error::custom("it has no `kind`"))?;
    let layer = MapDeserializer::new(rest.into_iter());
    let workload = WorkloadConfig::resolve(&kind, [layer])
        .map_err(|error| de::Error::custom(with_nearest(&error.to_string())))?;
    Ok(Stream { workload, weight, from, to })
}

/// Adds to serde's list of all keys the one that was probably meant.
fn with_nearest(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let hint = match message.strip_prefix("unknown field ") {
        Some(_) => quoted.next().and_then(|word| nearest(word, quoted)),
        None => None,
    };
    hint.map_or_else(|| message.to_owned(), |near| format!("{message} (did you mean {near}?)"))
}
