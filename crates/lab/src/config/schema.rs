//! A JSON Schema of experiment files, generated from the reference of the keys, for completion and
//! checks in editors. The program refuses everything that the schema refuses; contradictions
//! between keys are beyond the schema.
//!
//! A section with a kind describes each of its keys once; `if` and `then` select the keys of a
//! kind, so that an editor marks an error at its position.

use super::keys::{SectionKeys, keys};
use super::layer::{TITLE, VERSION};
use super::presets;
use options::{ANY_NAME, KeyInfo, PERCENT, Values};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Path of shared section definitions.
const DEFINITIONS: &str = "#/$defs/";

/// The schema of an experiment file, in draft 2020-12.
pub fn schema() -> Value {
    let all = keys();
    let of = |section: &str| -> Vec<&SectionKeys> {
        all.iter().filter(|keys| keys.section == section).collect()
    };
    let in_table = |name: &str, description: &str| {
        let keys: Vec<(&str, &KeyInfo)> =
            of(name).iter().flat_map(|keys| keys.below(name)).collect();
        table(&keys, description)
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:ssdlab:experiment:1", // of the format's version, that of the key `version`
        "title": "An experiment of ssdlab",
        "description": "A device, a workload, and how to run one on the other.",
        "type": "object",
        "properties": {
            VERSION: { "description": "Version of the file's format.", "const": 1 },
            TITLE: {
                "description": "Name of the experiment; by default its device and workload.",
                "type": "string",
            },
            "device": reference("device"),
            "workload": reference("workload"),
            "run": in_table("run", "How an experiment is run."),
            "cost": in_table("cost", "Prices."),
        },
        "additionalProperties": false,
        "$defs": {
            "device": section("device", &of("device"), "The device."),
            "workload": section("workload", &of("workload"), "The load."),
            "stream": stream(&of("workload")),
            "each": each(),
        },
    })
}

/// A member with its own keys: the kind of the other members determines the allowed keys.
fn each() -> Value {
    json!({
        "description": "The number of a member, and keys of a device that it has of its own.",
        "type": "object",
        "required": ["member"],
        "properties": {
            "member": { "description": "Its number, from 0.", "type": "integer", "minimum": 0 },
        },
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{DEFINITIONS}{name}") })
}

/// A table of keys, each with its path relative to the table.
fn table(keys: &[(&str, &KeyInfo)], description: &str) -> Value {
    let mut properties: Map<String, Value> = properties(keys).into_iter().collect();
    // Tables named by the user.
    let named = properties.remove(ANY_NAME);
    json!({
        "description": description,
        "type": "object",
        "properties": properties,
        "additionalProperties": named.unwrap_or(Value::Bool(false)),
    })
}

/// Properties of a table: its keys, and the tables within it.
fn properties(keys: &[(&str, &KeyInfo)]) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let mut rest = keys;
    while let Some((path, key)) = rest.first() {
        let Some((name, _)) = path.split_once('.') else {
            all.push(((*path).to_owned(), property(key)));
            rest = &rest[1..];
            continue;
        };
        let below = |path: &'_ str| path.strip_prefix(name).is_some_and(|it| it.starts_with('.'));
        let count = rest.iter().take_while(|(path, _)| below(path)).count();
        let (within, others) = rest.split_at(count);
        let within: Vec<_> =
            within.iter().map(|(path, key)| (&path[name.len() + 1..], *key)).collect();
        // A table's description comes from its own keys, otherwise from its inner tables.
        let own =
            within.iter().find(|(path, _)| !path.contains('.')).map_or("", |it| &it.1.section);
        let table = table(&within, &one_line(own));
        match all.last_mut().filter(|(before, _)| before == name) {
            // The key accepts a single value, or a table of its components.
            Some((_, value)) => *value = either(value.take(), table),
            None => all.push((name.to_owned(), table)),
        }
        rest = others;
    }
    all
}

/// A key that accepts a value or a table, with the description of the value.
fn either(mut value: Value, mut table: Value) -> Value {
    let description = value["description"].take();
    for one in [&mut value, &mut table] {
        one.as_object_mut().and_then(|one| one.remove("description"));
    }
    json!({ "description": description, "anyOf": [value, table] })
}

/// The description and values of a key.
fn property(key: &KeyInfo) -> Value {
    if let Values::Section(name) = key.values {
        return reference(name);
    }
    let mut property = json!({ "description": describe(key) });
    if let (Some(property), Value::Object(mut takes)) =
        (property.as_object_mut(), takes(&key.values))
    {
        property.append(&mut takes);
        property.extend(default(key).map(|value| ("default".to_owned(), value)));
    }
    property
}

fn describe(key: &KeyInfo) -> String {
    let mut text = one_line(&key.doc);
    let meaning = words(&key.values);
    for (word, meaning) in meaning.iter().filter(|(_, meaning)| !meaning.is_empty()) {
        let _ = write!(text, "\n- `{word}`: {meaning}");
    }
    if meaning.is_empty() && !matches!(key.values, Values::Boolean | Values::Text) {
        let _ = write!(text, "\nExpected: {}.", key.expected);
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words that a key accepts.
fn words(values: &Values) -> Vec<(String, String)> {
    match values {
        Values::Words(words) => words.clone(),
        Values::Either(several) => several.iter().flat_map(words).collect(),
        _ => Vec::new(),
    }
}

fn takes(values: &Values) -> Value {
    match values {
        Values::Boolean => json!({ "type": "boolean" }),
        Values::Whole(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Values::Number => json!({ "type": "number" }),
        Values::Share => part(json!({ "minimum": 0, "maximum": 1 })),
        Values::PositiveShare => part(json!({ "exclusiveMinimum": 0, "maximum": 1 })),
        Values::Ratio => part(json!({})),
        Values::Words(words) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
            json!({ "type": "string", "enum": words })
        }
        Values::Pattern(pattern) => {
            json!({ "type": "string", "pattern": format!("^(?:{pattern})$") })
        }
        Values::Text => json!({ "type": "string" }),
        Values::Either(several) => {
            json!({ "anyOf": several.iter().map(takes).collect::<Vec<_>>() })
        }
        Values::List(one) => json!({ "type": "array", "items": takes(one) }),
        Values::Section(name) => reference(name),
    }
}

/// A number within limits, or a text in percent.
fn part(mut limits: Value) -> Value {
    limits["type"] = json!(["number", "string"]);
    limits["pattern"] = format!("^{PERCENT}$").into();
    limits
}

/// The default as a value, if any.
fn default(key: &KeyInfo) -> Option<Value> {
    let text = key.default.as_str();
    let is_word = words(&key.values).iter().any(|(word, _)| word == text);
    match key.values {
        _ if text.is_empty() => None,
        Values::Words(_) | Values::Pattern(_) | Values::Text => Some(text.into()),
        Values::Either(_) if is_word => Some(text.into()),
        _ => Some(serde_json::from_str(text).unwrap_or_else(|_| text.into())),
    }
}

/// A section with a kind or a preset, or with neither, which then builds on the default preset.
fn section(name: &str, all: &[&SectionKeys], description: &str) -> Value {
    let tables: Vec<KindKeys> = all
        .iter()
        .filter_map(|keys| Some(KindKeys { kind: keys.kind?, keys: properties(&keys.below(name)) }))
        .collect();
    let default = presets::default_of(name).kind(name);
    let mut parts = by_kind(&tables, |kind| {
        let presets = presets::of(name).iter().filter(|preset| preset.kind(name) == kind);
        let presets: Vec<&str> = presets.map(|preset| preset.name).collect();
        let mut ways = vec![
            json!({ "properties": { "kind": { "enum": words_of(kind) } }, "required": ["kind"] }),
            json!({ "properties": { "preset": { "enum": presets } }, "required": ["preset"] }),
        ];
        if kind == default {
            let named = [json!({ "required": ["kind"] }), json!({ "required": ["preset"] })];
            ways.push(json!({ "not": { "anyOf": named } }));
        }
        json!({ "anyOf": ways })
    });
    parts.push(json!({
        "description": "A section has a kind or a preset, which has its own kind.",
        "not": { "required": ["kind", "preset"] },
    }));
    json!({ "description": description, "type": "object", "allOf": parts })
}

/// All words for a kind.
fn words_of(kind: &str) -> Vec<&str> {
    let others = devices::other_words().iter().filter(|(_, it)| *it == kind);
    std::iter::once(kind).chain(others.map(|(word, _)| *word)).collect()
}

/// A stream of a mix: the keys of its workload kind, and the keys common to all streams.
fn stream(workloads: &[&SectionKeys]) -> Value {
    let own = workloads::stream_keys();
    let own: Vec<_> = own.iter().map(|key| (key.path.as_str(), key)).collect();
    let tables: Vec<KindKeys> = workloads
        .iter()
        .filter_map(|keys| {
            let mut all = keys.below("workload");
            all.retain(|(path, _)| *path != "preset");
            all.extend(&own);
            Some(KindKeys { kind: keys.kind?, keys: properties(&all) })
        })
        .collect();
    let parts = by_kind(
        &tables,
        |kind| json!({ "properties": { "kind": { "const": kind } }, "required": ["kind"] }),
    );
    json!({
        "description": "A workload of a mix.",
        "type": "object",
        "required": ["kind"],
        "allOf": parts,
    })
}

/// The keys of a section of one kind.
struct KindKeys<'a> {
    kind: &'a str,
    keys: Vec<(String, Value)>,
}

/// Rules of a section whose keys depend on its kind: the values of each key and, if `chosen` states
/// the kind, the exclusion of other keys.
fn by_kind(tables: &[KindKeys<'_>], chosen: impl Fn(&str) -> Value) -> Vec<Value> {
    let every = every_key(tables);
    let of_kind = tables.iter().map(|table| {
        // A description common to all kinds is not repeated, so an editor shows a violation only
        // once.
        let own = |(name, value): &(String, Value)| {
            let value = if every[name] == *value { Value::Bool(true) } else { value.clone() };
            (name.clone(), value)
        };
        let own: Map<String, Value> = table.keys.iter().map(own).collect();
        let only = json!({ "properties": own, "additionalProperties": false });
        json!({ "if": chosen(table.kind), "then": only })
    });
    std::iter::once(json!({ "properties": every })).chain(of_kind).collect()
}

/// The keys of all kinds, with the values allowed for any kind.
fn every_key(tables: &[KindKeys<'_>]) -> Map<String, Value> {
    let mut every: Map<String, Value> = Map::new();
    for (name, value) in tables.iter().flat_map(|table| &table.keys) {
        let Some(Value::Array(several)) = every.get_mut(name) else {
            every.insert(name.clone(), json!([value]));
            continue;
        };
        if !several.contains(value) {
            several.push(value.clone());
        }
    }
    for value in every.values_mut() {
        *value = match value.take() {
            Value::Array(mut several) if several.len() == 1 => several.remove(0),
            several => json!({ "anyOf": several }),
        };
    }
    every
}
