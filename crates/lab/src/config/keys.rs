//! The reference of every key: source of the documentation, lists, the schema and messages about
//! unknown keys.

use super::cost::Cost;
use super::presets;
use super::run::RunConfig;
use super::synonyms;
use options::{ANY_NAME, KeyInfo, Setting, Values, nearest};
use std::sync::LazyLock;
use workloads::WorkloadConfig;

/// Keys that select the section refined by the other keys.
pub(crate) const CHOOSING: [&str; 2] = ["kind", "preset"];

/// Keys of one section, for one kind of device or workload.
#[derive(Debug, Clone, PartialEq)]
pub struct SectionKeys {
    /// Title, such as `device, kind ssd`.
    pub title: String,
    /// Section, such as `device`.
    pub section: &'static str,
    /// Kind, such as `ssd`.
    pub kind: Option<&'static str>,
    /// Keys in order.
    pub keys: Vec<KeyInfo>,
}

impl SectionKeys {
    /// The keys within a table of the section, such as `device.timing`, by their relative paths.
    pub(crate) fn below(&self, table: &str) -> Vec<(&str, &KeyInfo)> {
        let keys = self.keys.iter();
        keys.filter_map(|key| Some((key.path.strip_prefix(table)?.strip_prefix('.')?, key)))
            .collect()
    }

    /// Names of a table in the section besides the selecting ones.
    fn names_in(&self, table: &str) -> Vec<&str> {
        let below = self.below(table).into_iter();
        let mut names: Vec<&str> =
            below.map(|(path, _)| path.split('.').next().unwrap_or(path)).collect();
        names.dedup();
        names.retain(|name| table != self.section || !CHOOSING.contains(name));
        names
    }
}

/// Computed once: it visits every section, and takes as long as a short run.
static KEYS: LazyLock<Vec<SectionKeys>> = LazyLock::new(made);

/// Tables whose entries are named by the user, in key order.
static NAMED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mark = format!(".{ANY_NAME}");
    let paths = all_keys().iter().flat_map(|section| &section.keys).map(|key| &key.path);
    let mut tables: Vec<String> =
        paths.filter_map(|path| Some(path.split_once(&mark)?.0.to_owned())).collect();
    tables.dedup();
    tables
});

/// The reference of every key of an experiment.
pub fn keys() -> Vec<SectionKeys> {
    all_keys().to_vec()
}

/// The keys by reference.
pub fn all_keys() -> &'static [SectionKeys] {
    &KEYS
}

fn made() -> Vec<SectionKeys> {
    let mut sections = Vec::new();
    let also: Vec<(&str, String)> = devices::other_words()
        .iter()
        .map(|(word, kind)| (*word, format!("A way to write the kind {kind}.")))
        .collect();
    let also = also.iter().map(|(word, what)| (*word, what.as_str()));
    let of_devices: Vec<(&str, &str)> = devices::kinds().iter().copied().chain(also).collect();
    for (kind, _) in devices::kinds() {
        let mut keys = choosing("device", &of_devices);
        devices::describe(kind, &mut keys);
        sections.push(of_kind("device", kind, keys));
    }
    for (kind, _) in workloads::kinds() {
        let mut keys = choosing("workload", workloads::kinds());
        if let Ok(config) = WorkloadConfig::of_kind(kind) {
            config.describe(&mut keys);
        }
        sections.push(of_kind("workload", kind, keys));
    }
    let mut of_one_kind = |section: &'static str, keys| {
        let title = section.to_owned();
        sections.push(SectionKeys { title, section, kind: None, keys });
    };
    let mut keys = Vec::new();
    RunConfig::describe("run", "", &RunConfig::default(), &mut keys);
    of_one_kind("run", keys);
    let mut keys = Vec::new();
    Cost::describe("cost", "", &Cost::default(), &mut keys);
    of_one_kind("cost", keys);
    sections
}

fn of_kind(section: &'static str, kind: &'static str, keys: Vec<KeyInfo>) -> SectionKeys {
    SectionKeys { title: format!("{section}, kind {kind}"), section, kind: Some(kind), keys }
}

/// Keys that select a section's kind.
fn choosing(section: &str, kinds: &[(&str, &str)]) -> Vec<KeyInfo> {
    let row = |word: &str, doc: &str, values: Values| KeyInfo {
        path: format!("{section}.{word}"),
        doc: doc.to_owned(),
        expected: "a name that `ssdlab list` shows".to_owned(),
        values,
        default: String::new(),
        section: String::new(),
    };
    let presets = presets::of(section).iter();
    let presets = presets.map(|preset| (preset.name.to_owned(), preset.summary())).collect();
    vec![
        row(CHOOSING[0], &format!("Kind of {section}; resets this section."), Values::words(kinds)),
        row(CHOOSING[1], "Preset to start from; resets this section.", Values::Words(presets)),
    ]
}

/// Path of an inner device's key, as a key of `device`.
pub(crate) fn of_device(path: &str) -> String {
    let words = path.split('.').filter(|word| !devices::SECTIONS_WITHIN.contains(word));
    words.collect::<Vec<_>>().join(".")
}

/// Reference form of a path, with `*` for user-defined table names: `workload.classes.logs.rate`
/// becomes `workload.classes.*.rate`.
pub(crate) fn in_reference(path: &str) -> String {
    for table in NAMED.iter() {
        if let Some(rest) = path.strip_prefix(table).and_then(|rest| rest.strip_prefix('.')) {
            let below =
                rest.split_once('.').map_or(String::new(), |(_, below)| format!(".{below}"));
            return format!("{table}.{ANY_NAME}{below}");
        }
    }
    path.to_owned()
}

/// The message for the unknown key `word` of the table `parent`, in a section of this kind: the
/// kind that has the key or the nearest key, and the keys of the table.
pub(crate) fn unknown_key(parent: &str, word: &str, kind: &str) -> String {
    let all = all_keys();
    let table = in_reference(&of_device(parent));
    let section = table.split('.').next().unwrap_or(&table);
    let own = all.iter().find(|it| it.section == section && it.kind.is_none_or(|it| it == kind));
    let known = own.map(|own| own.names_in(&table)).unwrap_or_default();
    let path = format!("{parent}.{word}");
    let has = |keys: &&SectionKeys| keys.names_in(&table).contains(&word);
    let kinds: Vec<&str> = all.iter().filter(has).filter_map(|it| it.kind).collect();
    if !kinds.is_empty() {
        let (one, have) = if kinds.len() == 1 { ("kind", "has") } else { ("kinds", "have") };
        return format!(
            "unknown key {path}: a {section} of kind {kind} has none, {one} {} {have} it; \
             the keys of {parent} are {}",
            kinds.join(", "),
            known.join(", ")
        );
    }
    // A list of all keys would hide the most similar one.
    let near = || nearest(word, known.iter().copied());
    let mut paths: Vec<&str> =
        all.iter().flat_map(|it| &it.keys).map(|key| key.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let hint = synonyms::hint(word, Some(section), &paths)
        .or_else(|| near().map(|near| format!(" (did you mean {near}?)")));
    match hint {
        Some(hint) => format!("unknown key {path}{hint}"),
        None => format!("unknown key {path}; the keys of {parent} are {}", known.join(", ")),
    }
}
