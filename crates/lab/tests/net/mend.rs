//! Mends refused experiments, so that a search covers experiments rather than refusals.
//!
//! A refusal names the contradicting keys. One of them is removed at random, so that each of two
//! keys stays half of the time; if none can be removed, the drive gets more space.

use super::dice::Dice;
use super::generate::{ALWAYS, whole};
use super::laws::{Verdict, judge_outcome};
use super::{Config, Outcome, outcome};

/// Keys that determine the spare space.
const SPARE: [&str; 4] =
    ["spare_factor", "over_provisioning", "spare_blocks_per_plane", "capacity"];
/// Parts of refusals that are fixed by a given value of a key.
const ANSWERS: [(&str, &str, &str); 4] = [
    ("inode do not fit", "workload.file_size", "\"64KiB\""),
    ("workload.beyond = \"error\" refuses", "workload.beyond", "\"wrap\""),
    ("in which unit their times are", "workload.time_unit", "\"us\""),
    ("files of up to", "workload.files", "4"),
];
/// Maximum number of mending steps.
const STEPS: u64 = 24;

/// Judges an experiment, mended if refused; returns the judged experiment with the verdict.
pub fn judge_mended(mut config: Config, seed: u64) -> (Config, Verdict) {
    let mut dice = Dice::new(seed.rotate_left(16) ^ 0x3e4d);
    let mut step = 0;
    loop {
        let found = outcome(&config);
        match &found {
            Outcome::Refused(message) if step < STEPS => {
                let mended = mended(&config, message, step, &mut dice);
                if mended == config {
                    return (config.clone(), judge_outcome(&config, found, |_| true));
                }
                config = mended;
            }
            _ => return (config.clone(), judge_outcome(&config, found, |_| true)),
        }
        step += 1;
    }
}

/// The experiment without the cause of one refusal.
fn mended(config: &Config, message: &str, step: u64, dice: &mut Dice) -> Config {
    let is_free = |key: &str| {
        let last = key.rsplit('.').next().unwrap_or(key);
        let of_device = ALWAYS.iter().filter_map(|it| it.strip_prefix("device."));
        !of_device.chain(["kind", "path", "requests", "streams"]).any(|it| it == last)
    };
    let names: Vec<&str> = message
        .split(|c: char| !(c.is_alphanumeric() || "._".contains(c)))
        .map(|word| word.trim_matches('.'))
        .filter(|word| word.contains('.'))
        .collect();
    // A refusal of a member names the member's keys, or keys of a device.
    let is_named = |key: &str| {
        let short = key.replace(".member", "");
        names
            .iter()
            .any(|name| *name == key || *name == short || key.starts_with(&format!("{name}.")))
    };
    let named: Vec<&String> =
        config.0.iter().map(|(key, _)| key).filter(|key| is_named(key) && is_free(key)).collect();
    let mut mended = config.clone();
    let answer = |(part, key, value): &&(&str, &str, &str)| {
        message.contains(part) && config.get(key) != Some(*value)
    };
    if let Some((_, key, value)) = ANSWERS.iter().find(answer) {
        mended.set(key, *value);
        return mended;
    }
    if message.starts_with("device.seek.") || message.contains(": device.seek.") {
        mended.0.retain(|(key, _)| !key.contains(".seek.") && !key.contains("cylinders"));
        return mended;
    }
    // The refusal states the minimum size of a buffer at its end.
    let buffer =
        names.iter().find(|name| name.ends_with("buffer.size") && config.get(name).is_some());
    if let Some(key) = buffer
        && message.contains(" is less than ")
        && let Some((_, least)) = message.rsplit_once(" = ")
    {
        mended.set(key, format!("\"{least}\""));
        return mended;
    }
    if message.contains("500 years") {
        // Requests fall back to their defaults.
        let stays =
            ["kind", "requests", "path", "job", "command"].map(|it| format!("workload.{it}"));
        mended.0.retain(|(key, _)| !key.starts_with("workload.") || stays.contains(key));
        return mended;
    }
    if named.is_empty() || step > STEPS / 2 && dice.chance(0.5) {
        return wider(mended);
    }
    let key = dice.pick(&named).clone();
    mended.0.retain(|(given, _)| *given != key);
    mended
}

/// The experiment with more space on its drives: more spare space, more blocks, more pages per
/// block.
fn wider(mut config: Config) -> Config {
    for at in ["device", "device.member", "device.member.member"] {
        if config.get(&format!("{at}.kind")) != Some("ssd") {
            continue;
        }
        config.0.retain(|(key, _)| !SPARE.iter().any(|it| *key == format!("{at}.{it}")));
        config.set(&format!("{at}.spare_factor"), "0.5");
        for (key, least) in [("blocks_per_plane", 16), ("pages_per_block", 8)] {
            let key = format!("{at}.{key}");
            // With several bits per cell, whole word lines.
            let more = whole(&config, &key).max(1) * 2;
            if more / 2 < least {
                config.set(&key, more.to_string());
            }
        }
    }
    config
}
