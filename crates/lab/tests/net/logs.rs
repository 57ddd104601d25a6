//! Log blocks, and persistent maps: drawn from a separate generator, so that experiments of
//! existing seeds do not change.

use super::Config;
use super::dice::Dice;

/// True if a key is drawn here.
pub fn is_own(path: &str) -> bool {
    path.starts_with("device.log_blocks.") || path == "device.persistence.map_write"
}

/// Keys that are incompatible with log blocks, or are drawn with them.
const OTHERS: [&str; 13] = [
    "gang",
    "interleave",
    "cache_commands",
    "logical_page",
    "page_span",
    "pool",
    "active_blocks",
    "stripe",
    "fill_order",
    "cell",
    "cleaning",
    "spare_blocks_per_plane",
    "over_provisioning",
];

/// Gives some of the drives without a write buffer log blocks, and removes incompatible keys.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(40) ^ 0x106);
    let is_plain =
        config.get("device.kind") == Some("ssd") && config.get("device.buffer.size").is_none();
    if !is_plain || !dice.chance(0.08) {
        return;
    }
    let is_other = |key: &str| {
        let rest = key.strip_prefix("device.").unwrap_or_default();
        OTHERS.iter().any(|other| rest.starts_with(other)) && rest != "cleaning.time"
    };
    config.0.retain(|(key, _)| !is_other(key));
    for (key, value) in [
        ("scheme", dice.text(&["replacement", "bast", "fast"])),
        ("count", dice.whole(&[1, 1, 2, 3, 5])),
    ] {
        config.set(&format!("device.log_blocks.{key}"), value);
    }
    config.set("device.blocks_per_plane", dice.whole(&[20, 24, 33]));
    config.set("device.spare_factor", dice.number(&[0.5, 0.6]));
}

/// A value of a key of log blocks, or of a persistent map.
pub fn of_logs(path: &str, dice: &mut Dice) -> Option<String> {
    Some(match path.strip_prefix("device.")? {
        "log_blocks.count" => dice.whole(&[1, 2, 8, 200, 0]),
        "persistence.map_write" => dice.text(&["0ns", "1ns", "2us", "1ms"]),
        _ => dice.text(&["none", "replacement", "bast", "fast"]),
    })
}
