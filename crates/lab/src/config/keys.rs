//! The reference of every key: what the documentation, the lists, the schema and the messages about
//! unknown keys are made of.

use super::run::RunConfig;
use options::{KeyInfo, Setting, nearest};
use workloads::WorkloadConfig;

/// The keys of one section for one kind of device or workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionKeys {
    /// Such as `device, kind ssd`.
    pub title: String,
    /// Its keys, in order.
    pub keys: Vec<KeyInfo>,
}

/// The reference of every key of an experiment.
pub fn keys() -> Vec<SectionKeys> {
    let mut sections = Vec::new();
    for (kind, _) in devices::kinds() {
        let mut keys = vec![choice("device.kind"), choice("device.preset")];
        devices::describe(kind, &mut keys);
        sections.push(SectionKeys { title: format!("device, kind {kind}"), keys });
    }
    for (kind, _) in workloads::kinds() {
        let mut keys = vec![choice("workload.kind"), choice("workload.preset")];
        if let Ok(config) = WorkloadConfig::of_kind(kind) {
            config.describe(&mut keys);
        }
        sections.push(SectionKeys { title: format!("workload, kind {kind}"), keys });
    }
    let mut keys = Vec::new();
    RunConfig::describe("run", "", &RunConfig::default(), &mut keys);
    sections.push(SectionKeys { title: "run".to_owned(), keys });
    sections
}

fn choice(path: &str) -> KeyInfo {
    KeyInfo {
        path: path.to_owned(),
        doc: "Which one; replaces what lower layers say of the section.".to_owned(),
        expected: "a name that `ssdlab list` shows".to_owned(),
        default: String::new(),
    }
}

/// The sentence for an unknown key of a section of that kind: which kind has it, or the nearest one;
/// and those of its table. `rest` is what serde says after the words "unknown field" and the opening
/// quote.
pub(crate) fn unknown_key(parent: &str, word: &str, rest: &str, kind: &str) -> String {
    let known: Vec<&str> = rest.split('`').skip(2).step_by(2).collect();
    let path = format!("{parent}.{word}");
    let kinds = kinds_with(&path.replace(".member.", "."));
    if !kinds.is_empty() {
        let (one, have) = if kinds.len() == 1 { ("kind", "has") } else { ("kinds", "have") };
        let section = parent.split('.').next().unwrap_or(parent);
        return format!(
            "unknown key {path}: a {section} of kind {kind} has none, {one} {} {have} it; \
             the keys of {parent} are {}",
            kinds.join(", "),
            known.join(", ")
        );
    }
    let hint = nearest(word, known.iter().copied())
        .map(|near| format!(" (did you mean {near}?)"))
        .unwrap_or_default();
    format!("unknown key {path}{hint}; the keys of {parent} are {}", known.join(", "))
}

/// The kinds of device or workload that have this key or section of keys.
fn kinds_with(path: &str) -> Vec<String> {
    let below = format!("{path}.");
    let has = |key: &KeyInfo| key.path == path || key.path.starts_with(&below);
    let sections = keys().into_iter().filter(|section| section.keys.iter().any(has));
    sections.filter_map(|it| Some(it.title.split_once(", kind ")?.1.to_owned())).collect()
}
