//! Categories of `ssdlab list`.

use crate::config::{keys, presets_of};
use crate::warnings::WARNINGS;
use devices::ssd::config::Policy;
use devices::ssd::config::parts::PARTS;
use devices::ssd::timeline::Word;
use engine::Op;
use options::{Choice, KeyInfo, Link};

/// The categories that can be listed.
pub fn list_categories() -> &'static [&'static str] {
    &["devices", "cleaners", "workloads", "formats", "links", "cells", "warnings", "keys"]
}

/// Names and summaries of a category; `None` if there is no such category.
pub fn list(what: &str) -> Option<Vec<(String, String)>> {
    let of_presets = |section| {
        let presets = presets_of(section).iter();
        presets.map(|preset| (preset.name.to_owned(), preset.summary())).collect()
    };
    let kinds = |kinds: &[(&str, &str)]| -> Vec<(String, String)> {
        kinds
            .iter()
            .map(|(word, what)| (format!("kind = \"{word}\""), (*what).to_owned()))
            .collect()
    };
    let mut rows: Vec<(String, String)> = match what {
        "devices" => of_presets("device"),
        "workloads" => of_presets("workload"),
        "cleaners" => {
            Policy::WORDS.iter().map(|(w, d)| ((*w).to_owned(), d.trim().to_owned())).collect()
        }
        "formats" => workloads::FORMATS
            .iter()
            .map(|format| (format.name.to_owned(), format.summary.to_owned()))
            .collect(),
        "links" => options::LINKS.iter().map(link_row).collect(),
        "cells" => PARTS.iter().map(|part| (part.name.to_owned(), part.summary())).collect(),
        "warnings" => {
            WARNINGS.iter().map(|(name, what)| ((*name).to_owned(), (*what).to_owned())).collect()
        }
        "keys" => keys().into_iter().flat_map(|s| s.keys).map(key_row).collect(),
        _ => return None,
    };
    match what {
        "keys" => {
            rows.sort();
            rows.dedup();
        }
        "devices" => rows.extend(kinds(devices::kinds())),
        "workloads" => rows.extend(kinds(workloads::kinds())),
        _ => {}
    }
    Some(rows)
}

/// The kinds of flash operation in a recorded window, in chart order.
pub fn operations() -> Vec<&'static str> {
    Word::ALL.map(Word::name).to_vec()
}

/// Kinds of requests, in the order of results.
pub fn request_kinds() -> Vec<&'static str> {
    Op::ALL.map(Op::name).to_vec()
}

/// A key with its meaning, values and default.
fn key_row(key: KeyInfo) -> (String, String) {
    let doc = key.doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let default = match key.default.as_str() {
        "" => String::new(),
        default => format!("; default {default}"),
    };
    (key.path, format!("{doc} ({}{default})", key.expected))
}

/// A host link with its rate and source.
fn link_row(link: &Link) -> (String, String) {
    let rate = link.bytes_per_second as f64 / 1e6;
    (link.name.to_owned(), format!("{} MB/s ({})", (rate * 10.0).round() / 10.0, link.source))
}
