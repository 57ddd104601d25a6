//! Caches in front of other devices: drawn from a separate generator, so that experiments of
//! existing seeds do not change.

use super::Config;
use super::dice::Dice;

/// The kind of device that is drawn only here.
pub const KIND: &str = "cache";

/// Keys to draw, most of them rarely.
const KEYS: [&str; 11] = [
    "mode",
    "replacement",
    "line",
    "bypass",
    "pinned",
    "destage.pause",
    "destage.high",
    "destage.low",
    "destage.max_age",
    "destage.in_flight",
    "destage.run_lines",
];

/// Replaces the device of some experiments by a cache over two devices without flash.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(24) ^ 0xCAC4E);
    let kind = config.get("device.kind");
    if kind == Some("array") || kind == Some("zoned") || !dice.chance(0.04) {
        return;
    }
    config.0.retain(|(key, _)| !key.starts_with("device.") && !key.starts_with("run.precondition"));
    config.set("device.kind", format!("\"{KIND}\""));
    config.set("device.fast.kind", "\"law\"");
    config.set("device.fast.size", dice.text(&["64KiB", "256KiB", "4MiB"]));
    config.set("device.fast.random_write", dice.text(&["20us + 1us/KiB", "0ns + 0ns/KiB"]));
    let backing = dice.text(&["law", "law", "disk"]);
    if backing == "\"law\"" {
        config.set("device.backing.size", dice.text(&["16MiB", "1GiB"]));
    }
    config.set("device.backing.kind", backing);
    let mode = dice.text(&["write-back", "write-back", "write-through", "read-only"]);
    config.set("device.mode", mode.clone());
    for key in &KEYS[1..] {
        if dice.chance(0.3) && (!key.starts_with("destage.") || mode == "\"write-back\"") {
            let path = format!("device.{key}");
            if let Some(value) = of_caches(&path, &mut dice) {
                config.set(&path, value);
            }
        }
    }
    vary(config, seed);
}

/// Makes some of the caches tiers, and gives others hints.
fn vary(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(24) ^ 0x71E5);
    let (is_tiered, has_hints) = (dice.chance(0.5), dice.chance(0.5));
    if is_tiered {
        let of_copies = ["replacement", "bypass", "pinned", "destage."];
        let is_of_copies = |key: &str| {
            let key = key.strip_prefix("device.");
            key.is_some_and(|key| of_copies.iter().any(|it| key.starts_with(it)))
        };
        config.0.retain(|(key, _)| !is_of_copies(key));
        config.set("device.mode", "\"tiered\"");
        for key in ["device.tier.half_life", "device.tier.gain", "device.tier.swaps"] {
            if let Some(value) = of_caches(key, &mut dice) {
                config.set(key, value);
            }
        }
    } else if has_hints {
        config.set("device.hints", dice.text(&["0: pin", "1: pin, 2: unpin, 3: flush"]));
    }
}

/// A value of a key of such a device.
pub fn of_caches(path: &str, dice: &mut Dice) -> Option<String> {
    Some(match path.strip_prefix("device.")? {
        "mode" => dice.text(&["write-back", "write-through", "read-only"]),
        "replacement" => dice.text(&["lru", "lfu", "arc"]),
        "restart" => dice.text(&["none", "warm"]),
        "line" => dice.text(&["512B", "4KiB", "12KiB", "32KiB"]),
        "share" => dice.number(&[0.5, 1.0]),
        "bypass" => dice.text(&["0B", "64KiB", "1MiB"]),
        "pinned" => dice.text(&["none", "0B-8KiB", "4KiB-8KiB, 16KiB-24KiB"]),
        "destage.pause" => dice.text(&["none", "0ns", "1ms", "1s"]),
        "destage.max_age" => dice.text(&["none", "1ms", "10s"]),
        "destage.high" => dice.number(&[0.5, 0.75, 1.0]),
        "destage.low" => dice.number(&[0.0, 0.25, 0.5]),
        "hints" => dice.text(&["none", "1: pin", "1: pin, 2: unpin, 3: flush"]),
        "tier.half_life" => dice.text(&["1ms", "1s", "60s"]),
        "tier.gain" => dice.number(&[1.0, 2.0, 10.0]),
        "tier.swaps" => dice.whole(&[1, 2, 8]),
        "destage.in_flight" => dice.whole(&[1, 2, 8, 32]),
        "destage.run_lines" => dice.whole(&[1, 7, 64]),
        _ => return None,
    })
}
