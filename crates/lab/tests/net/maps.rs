//! Map caches: drawn from a separate generator, so that experiments of existing seeds do not
//! change.

use super::Config;
use super::dice::Dice;

/// True if a key is drawn here.
pub fn is_own(path: &str) -> bool {
    path.starts_with("device.map.")
}

/// Gives some of the drives a map cache.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(48) ^ 0x0D_F71);
    let is_drive = config.get("device.kind") == Some("ssd");
    let is_other = |key: &str| {
        ["device.log_blocks.", "device.block_buffer."].iter().any(|it| key.starts_with(it))
    };
    if !is_drive || !dice.chance(0.08) || config.0.iter().any(|(key, _)| is_other(key)) {
        return;
    }
    config.set("device.map.page", dice.text(&["512B", "512B", "1KiB"]));
    config.set("device.map.memory", dice.text(&["512B", "1KiB", "4KiB", "64KiB", "all"]));
    if dice.chance(0.4) {
        config.set("device.map.place", dice.text(&["host"]));
        config.set("device.map.sram", dice.text(&["0B", "512B", "1KiB"]));
        config.set("device.map.host_latency", dice.text(&["0ns", "1us", "20us"]));
    }
}

/// A value of a key of a map cache.
pub fn of_map(path: &str, dice: &mut Dice) -> Option<String> {
    Some(match path.strip_prefix("device.map.")? {
        "memory" => dice.text(&["all", "512B", "4KiB", "64KiB", "1MiB", "100B"]),
        "place" => dice.text(&["sram", "host"]),
        "cells" => dice.text(&["native", "slc"]),
        "sram" => dice.text(&["0B", "512B", "8KiB", "1MiB"]),
        "entry" => dice.text(&["1B", "4B", "8B", "64B", "3B"]),
        "page" => dice.text(&["512B", "1KiB", "4KiB", "64KiB"]),
        "host_latency" => dice.text(&["0ns", "1ns", "1us", "50us"]),
        "read" => dice.text(&["1ns", "20us"]),
        _ => dice.text(&["1us", "100us"]),
    })
}
