//! `docs/configuration.md` and its subpages list the keys that the program reads, and
//! `docs/counters.md` lists its counters. They are generated from the tables of keys and counters;
//! `SSDLAB_UPDATE=1 cargo test -p ssdlab-lab reference::` updates them.

use lab::SectionKeys;
use options::KeyInfo;
use std::fmt::Write;

const HEAD: &str = "# Configuration

An experiment is a TOML file of the sections `[device]`, `[workload]`, `[run]` and `[cost]`. Every key has
a default; a file needs only its changes:

| page | keys |
|---|---|
";

const LAYERS: &str = "
`ssdlab keys WORD` finds a key, and `ssdlab run --show` lists those in force. `--set KEY=VALUE` sets a key
from the command line and may abbreviate it to an unambiguous end (`--set cleaning.min_free=0.1`). These
pages are generated from the program's own tables, as is the schema for [editors](editor.md).

## Layers

Later layers override earlier ones: presets, the file, `--device`, `--workload` or `--trace`, then all `--set`
together, in any order. `device.preset` and `workload.preset` begin from a built-in one, by default
`agrawal2008` and `mixed`. A layer that names a `kind` or a `preset` resets the section before its other keys
apply. In a sweep, `--vary` and `--set` are one layer.

Contradictions within a layer are errors, such as two definitions of the spare space. Setting a key that the
kind does not have, or that has no effect on this drive, is an error. `--set suspend.program=none` switches
the suspension of programs off, whatever a preset or a file says.

A file is data: it loads a policy in Python only with `--allow-code` ([security](security.md)).

## Values

| value | examples |
|---|---|
";

const COMMON_HEAD: &str = "
## The keys that people change

The examples, the docs and the recipes change these forty most; they are **bold** in the reference.

";

/// The keys that users change most: in the examples, the docs and the recipes.
const COMMON: [&str; 40] = [
    "device.preset",
    "device.channels",
    "device.dies_per_package",
    "device.blocks_per_plane",
    "device.interleave",
    "device.logical_page",
    "device.spare_factor",
    "device.over_provisioning",
    "device.capacity",
    "device.scale",
    "device.timing.read",
    "device.timing.program",
    "device.host_link.queue_depth",
    "device.suspend.program",
    "device.buffer.size",
    "device.buffer.power_loss_protected",
    "device.cleaning.policy",
    "device.cleaning.pace",
    "device.cleaning.min_free",
    "device.fdp.handles",
    "device.map.memory",
    "device.media.model",
    "device.wear.rated_cycles",
    "device.persistence.recovery",
    "device.members",
    "device.redundancy",
    "workload.preset",
    "workload.requests",
    "workload.outstanding",
    "workload.read_share",
    "workload.block_size",
    "workload.locality",
    "workload.footprint",
    "workload.beyond",
    "workload.gaps",
    "workload.time_scale",
    "run.precondition",
    "run.seed",
    "run.timed",
    "run.save_drive",
];

/// A page of the reference.
struct Page {
    name: &'static str,
    title: &'static str,
    /// Sections, such as `device`.
    sections: &'static [&'static str],
    /// The kind whose keys are listed; `None` for all kinds.
    kind: Option<&'static str>,
}

const fn of_device(name: &'static str, title: &'static str) -> Page {
    Page { name, title, sections: &["device"], kind: Some(name) }
}

const PAGES: [Page; 8] = [
    of_device("ssd", "Keys of an SSD"),
    of_device("zoned", "Keys of a zoned drive"),
    of_device("law", "Keys of a law of service times"),
    of_device("array", "Keys of an array"),
    of_device("disk", "Keys of a hard disk"),
    of_device("cache", "Keys of a cache in front of a device"),
    Page { name: "workload", title: "Keys of workloads", sections: &["workload"], kind: None },
    Page { name: "run", title: "Keys of runs and costs", sections: &["run", "cost"], kind: None },
];

/// Short names for long descriptions of values in the tables.
const VALUES: [(&str, &str); 25] = [
    ("integer", "a whole number"),
    ("number", "a number"),
    ("boolean", "true or false"),
    ("name", "a name that `ssdlab list` shows"),
    ("share", "a share, such as 0.28 or \"28%\""),
    ("size", "a size with its unit, such as \"4KiB\" or \"128B\""),
    (
        "share or size",
        "a share of the device above 0 and up to 1, such as 0.5, or a size such as \"1GiB\"",
    ),
    ("time", "a time with its unit, such as \"25us\" or \"1.5ms\""),
    ("time or none", "a time with its unit, such as \"35us\", or \"none\""),
    ("time or none", "\"none\", or a time such as \"7d\" or \"500ms\""),
    ("time or none", "a time with its unit, such as \"1ms\", or \"none\""),
    (
        "times",
        "a time with its unit, such as \"45us\", or one for each type of page, such as \"38us, 45us, 62us\"",
    ),
    ("limit", "a positive whole number, or \"unlimited\""),
    ("voltage", "a voltage with its unit, such as \"3.3V\""),
    ("voltage", "a voltage with its unit, such as \"3.3V\", or a number of volts"),
    ("capacitance", "a capacitance with its unit, such as \"1.2mF\" or \"680uF\""),
    ("rate", "transfers a second with the unit, such as \"1200MT/s\""),
    ("power", "a power with its unit, such as \"0.9W\""),
    ("current", "a current with its unit, such as \"25mA\""),
    ("energy", "an energy with its unit, such as \"16.5uJ\""),
    ("temperature", "a temperature with its unit, such as \"40C\""),
    (
        "link",
        "a rate with its unit, such as \"300MB/s\"; a link by name, such as \"sata-300\"; or \"unlimited\"",
    ),
    (
        "law",
        "a law: a line such as \"230us + 4us/KiB\", times by size such as \"512B: 240us, 4KiB: 250us, 1MiB: \
         4.3ms\", or either by number outstanding, such as \"1: 230us + 4us/KiB, 4: 400us + 9us/KiB\"",
    ),
    (
        "locality",
        "\"uniform\"; \"hot-cold(R, F)\", share R of the requests to share F of the blocks; \"zipf(THETA)\"; \
         or \"zones(R/F, R/F, ...)\" with as many zones as needed, in the order of addresses",
    ),
    (
        "distribution",
        "a distribution: \"constant(value)\", \"uniform(low, high)\", \"exponential(base, mean)\", \
         \"normal(mean, deviation)\" or \"poisson(base, mean)\"",
    ),
];

/// The table of a key, such as `device.timing`.
fn table_of(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(table, _)| table)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentences that state where a key applies.
fn conditions(doc: &str) -> impl Iterator<Item = &str> {
    doc.split_inclusive(". ").map(str::trim).filter(|sentence| sentence.starts_with("Applies "))
}

/// The conditions of a key that are not stated above its section.
fn own_conditions(key: &KeyInfo, above: &[String]) -> Vec<String> {
    let doc = one_line(&key.doc);
    conditions(&doc).filter(|it| !above.iter().any(|that| that == it)).map(str::to_owned).collect()
}

/// The conditions that every key of a section has; none for a single key.
fn common_conditions(keys: &[&KeyInfo]) -> Vec<String> {
    let mut all: Vec<Vec<String>> = keys.iter().map(|key| own_conditions(key, &[])).collect();
    let first = all.pop().unwrap_or_default();
    let in_all = |it: &String| !all.is_empty() && all.iter().all(|of| of.contains(it));
    first.into_iter().filter(in_all).collect()
}

/// A key as a list item: name, value and default, and meaning without the conditions stated
/// above it.
fn item(key: &KeyInfo, above: &[String]) -> String {
    let whole = one_line(&key.doc);
    let doc = above.iter().fold(whole, |doc, condition| one_line(&doc.replace(condition, "")));
    let named = VALUES.iter().find(|(_, long)| *long == key.expected);
    let expected = named.map_or(key.expected.as_str(), |(name, _)| *name).replace(" |", ",");
    let default = match key.default.as_str() {
        "" => String::new(),
        default => format!("; `{default}`"),
    };
    let mark = if COMMON.contains(&key.path.as_str()) { "**" } else { "" };
    format!("- {mark}`{}`{mark} ({expected}{default}): {doc}\n", key.path)
}

/// Lists of keys, by section: conditions of all its keys first, then the keys without further
/// conditions, then groups of keys below the conditions that they share.
fn lists(page: &mut String, keys: &[&KeyInfo], level: &str) {
    let mut names: Vec<&str> = Vec::new();
    for name in keys.iter().map(|key| table_of(&key.path)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in &names {
        let below: Vec<&KeyInfo> =
            keys.iter().filter(|key| table_of(&key.path) == *name).copied().collect();
        if names.len() > 1 {
            let _ = write!(page, "\n{level} {name}\n");
        }
        let common = common_conditions(&below);
        if !common.is_empty() {
            let _ = write!(page, "\n{}\n", common.join(" "));
        }
        let further: Vec<Vec<String>> =
            below.iter().map(|key| own_conditions(key, &common)).collect();
        let mut groups: Vec<Vec<String>> = vec![Vec::new()];
        for of in &further {
            if !groups.contains(of) && further.iter().filter(|it| *it == of).count() > 1 {
                groups.push(of.clone());
            }
        }
        for group in &groups {
            let is_here =
                |of: &Vec<String>| of == group || group.is_empty() && !groups.contains(of);
            let mut items = below.iter().zip(&further).filter(|(_, of)| is_here(of)).peekable();
            if items.peek().is_none() {
                continue;
            }
            if !group.is_empty() {
                let _ = write!(page, "\n{}\n", group.join(" "));
            }
            page.push('\n');
            let above: Vec<String> = common.iter().chain(group).cloned().collect();
            for (key, _) in items {
                page.push_str(&item(key, &above));
            }
        }
    }
}

/// The keys that all sections have.
fn of_all<'a>(sections: &[&'a SectionKeys]) -> Vec<&'a KeyInfo> {
    let [first, others @ ..] = sections else { return Vec::new() };
    let has = |key: &&KeyInfo| others.iter().all(|it| it.keys.contains(key));
    first.keys.iter().filter(|key| !others.is_empty() && has(key)).collect()
}

/// True if two kinds have the key alike.
fn is_alike(key: &KeyInfo, other: &KeyInfo) -> bool {
    let parts = |it: &KeyInfo| [&it.path, &it.doc, &it.expected, &it.default].map(Clone::clone);
    parts(key) == parts(other)
}

/// The keys that are alike in three sections or more.
fn of_several<'a>(sections: &[&'a SectionKeys]) -> Vec<&'a KeyInfo> {
    let mut found: Vec<&KeyInfo> = Vec::new();
    for key in sections.iter().flat_map(|it| &it.keys) {
        let has = |it: &&&SectionKeys| it.keys.iter().any(|other| is_alike(key, other));
        if sections.iter().filter(has).count() > 2 && !found.iter().any(|it| is_alike(key, it)) {
            found.push(key);
        }
    }
    found
}

fn text_of(it: &Page, all: &[SectionKeys]) -> String {
    let has = |section: &&SectionKeys| {
        it.sections.contains(&section.section) && (it.kind.is_none() || section.kind == it.kind)
    };
    let sections: Vec<&SectionKeys> = all.iter().filter(has).collect();
    let mut page = format!(
        "# {}\n\nEach key has its value and default in brackets; **bold** keys are changed most. \
         [Configuration](../configuration.md) explains values and layers.\n",
        it.title
    );
    let all_have = of_all(&sections);
    if !all_have.is_empty() {
        page.push_str("\n## Keys of all kinds\n");
        lists(&mut page, &all_have, "");
    }
    let mut several = of_several(&sections);
    several.retain(|key| !all_have.contains(key));
    if !several.is_empty() {
        page.push_str("\n## Keys of several kinds\n");
        lists(&mut page, &several, "");
    }
    for section in &sections {
        if sections.len() > 1 {
            let _ = write!(page, "\n## {}\n", section.title);
        }
        let is_shared = |key: &&KeyInfo| several.iter().any(|it| is_alike(key, it));
        let shared: Vec<String> = (section.keys.iter().filter(is_shared))
            .map(|key| format!("`{}`", key.path.rsplit('.').next().unwrap_or_default()))
            .collect();
        if !shared.is_empty() {
            let _ = write!(page, "\nAlso {}.\n", shared.join(", "));
        }
        let own = |key: &&KeyInfo| !all_have.contains(key) && !is_shared(key);
        let keys: Vec<&KeyInfo> = section.keys.iter().filter(own).collect();
        lists(&mut page, &keys, if sections.len() > 1 { "###" } else { "##" });
    }
    page
}

#[test]
fn the_key_reference_is_fresh() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let all = lab::keys();
    let mut index = HEAD.to_owned();
    for page in &PAGES {
        let of = match page.kind {
            Some(kind) => format!("`[device]` with `kind = \"{kind}\"`"),
            None => {
                page.sections.iter().map(|it| format!("`[{it}]`")).collect::<Vec<_>>().join(", ")
            }
        };
        let _ = writeln!(index, "| [{}](configuration/{}.md) | {of} |", page.title, page.name);
        is_fresh(&format!("{docs}/configuration/{}.md", page.name), &text_of(page, &all));
    }
    index.push_str(LAYERS);
    for (at, (name, long)) in VALUES.iter().enumerate() {
        if VALUES[..at].iter().all(|(before, _)| before != name) {
            let _ = writeln!(index, "| {name} | {long} |");
        }
    }
    index.push_str(COMMON_HEAD);
    let has = |page: &Page, path: &str| {
        let mut sections = all.iter().filter(|it| {
            page.sections.contains(&it.section) && (page.kind.is_none() || it.kind == page.kind)
        });
        sections.any(|it| it.keys.iter().any(|key| key.path == path))
    };
    let mut left = COMMON.to_vec();
    for page in &PAGES {
        let (here, elsewhere): (Vec<_>, Vec<_>) = left.into_iter().partition(|it| has(page, it));
        left = elsewhere;
        if !here.is_empty() {
            let title = page.title;
            let _ = write!(index, "- [{title}](configuration/{}.md): ", page.name);
            let _ = writeln!(index, "`{}`.", here.join("`, `"));
        }
    }
    assert!(left.is_empty(), "no keys {left:?}");
    is_fresh(&format!("{docs}/configuration.md"), &index);
}

const COUNTERS_HEAD: &str = "# Counters

The counters of a drive, and their place in the results. Counters are reset after preconditioning, and
are the same in timed and untimed runs; an array reports sums over its members. A page is a flash
page, or a logical page where that is smaller.

This page is generated from the program's own table.

| in the results | meaning | unit | over time |
|---|---|---|---|
";

#[test]
fn the_counter_reference_is_fresh() {
    let mut page = COUNTERS_HEAD.to_owned();
    for counter in devices::ssd::account::COUNTERS {
        let path = match counter.section.path() {
            "" => String::new(),
            section => format!("`{section}.{}`", counter.key),
        };
        let over_time = counter.over_time.map(|(_, name)| format!("`time_series.{name}`"));
        let (doc, unit) = (counter.doc, counter.measure.unit());
        let _ = writeln!(page, "| {path} | {doc} | {unit} | {} |", over_time.unwrap_or_default());
    }
    is_fresh(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/counters.md"), &page);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "looks into a file of the repository")]
fn the_model_says_where_each_part_of_a_latency_is_spent() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model.md");
    let page = std::fs::read_to_string(path).unwrap();
    for part in devices::latency::LATENCY_PARTS {
        let row = format!("| `{}` | {} |", part.key, part.doc);
        assert!(page.contains(&row), "{path} lacks \"{row}\"");
    }
}

#[expect(clippy::disallowed_methods, reason = "compares a file of the repository")]
fn is_fresh(path: &str, page: &str) {
    if std::env::var_os("SSDLAB_UPDATE").is_some() {
        std::fs::write(path, page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(page == written, "{path} is stale; run with SSDLAB_UPDATE=1");
}
