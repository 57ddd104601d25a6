//! Shrinks an experiment that violates a law to few keys that still violate it.

use super::Config;
use super::laws::{Broken, LAWS, Verdict, judge_by};

/// Smaller values for keys that cannot be removed, because a drive without them is large.
const SMALLER: [(&str, &[&str]); 9] = [
    ("channels", &["1", "2"]),
    ("packages_per_channel", &["1", "2"]),
    ("dies_per_package", &["1", "2"]),
    ("planes_per_die", &["1", "2"]),
    ("blocks_per_plane", &["4", "8", "16", "32"]),
    ("pages_per_block", &["2", "4", "8"]),
    ("page_size", &["\"4KiB\""]),
    ("requests", &["1", "10", "100", "500", "1000"]),
    ("members", &["1", "2"]),
];

/// The smallest experiment found that violates the same law, with the violation.
pub fn shrink(config: &Config, broken: &Broken) -> (Config, Broken) {
    // Only the law in question is checked, because the others would need further runs.
    let known = LAWS.iter().any(|(law, _)| *law == broken.law);
    let breaks = |config: &Config| match judge_by(config, |law| known && law == broken.law) {
        Verdict::Breaks(all) => all.into_iter().find(|it| it.law == broken.law),
        Verdict::Refused | Verdict::Holds => None,
    };
    let (mut config, mut broken) = (config.clone(), broken.clone());
    loop {
        let before = config.clone();
        for (key, value) in before.0.clone() {
            for candidate in candidates(&config, &key, &value) {
                if let Some(still) = breaks(&candidate) {
                    (config, broken) = (candidate, still);
                    break;
                }
            }
        }
        if config == before {
            return (config, broken);
        }
    }
}

/// Replacements for a key: its removal, or smaller values.
fn candidates(config: &Config, key: &str, value: &str) -> Vec<Config> {
    let last = key.rsplit('.').next().unwrap_or(key);
    if last == "kind" {
        return Vec::new();
    }
    let smaller = SMALLER.iter().find(|(name, _)| *name == last);
    match smaller {
        Some((_, values)) => {
            let below = values.iter().take_while(|it| **it != value && !larger(it, value));
            below.map(|it| config.with(key, *it)).collect()
        }
        None if last == "path" || last == "size" => Vec::new(),
        None => {
            let mut without = config.clone();
            without.0.retain(|(given, _)| given != key);
            vec![without]
        }
    }
}

fn larger(one: &str, than: &str) -> bool {
    match (one.parse::<u64>(), than.parse::<u64>()) {
        (Ok(one), Ok(than)) => one > than,
        _ => false,
    }
}
