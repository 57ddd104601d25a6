//! Redundant arrays: drawn from a separate generator, so that experiments of existing seeds do not
//! change.

use super::Config;
use super::dice::Dice;
use super::generate::catalogue;
use super::values::value;

/// Keys to draw.
const OWN: [&str; 14] = [
    "redundancy",
    "copies",
    "read_copy",
    "parity_rotation",
    "parity_share",
    "write",
    "writes_together",
    "stripe_cache",
    "failed",
    "spares",
    "rebuild.rate",
    "rebuild.unit",
    "cleaning_together",
    "hole",
];

/// A later key, which is drawn separately.
const NOT_DRAWN: &str = "device.hole";

/// True if a key of an array is drawn here.
pub fn is_own(path: &str) -> bool {
    OWN.contains(&path.strip_prefix("device.").unwrap_or_default())
}

/// Gives some of the drawn arrays redundancy and related keys.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(16) ^ 0x5a1d);
    if config.get("device.kind") != Some("array") || seed < LATER || !dice.chance(0.6) {
        return;
    }
    let given = dice.pick(&[0.1, 0.3, 0.6]);
    let section = catalogue().iter().find(|section| section.title == "device, kind array");
    for key in &section.expect("there are arrays").keys {
        if is_own(&key.path) && key.path != NOT_DRAWN && dice.chance(given) {
            let value =
                value("array", key, config, &mut dice).expect("a test holds that all have rows");
            config.set(&key.path, value);
        }
    }
    // Only SSDs coordinate garbage collection.
    if config.get("device.member.kind") != Some("ssd") {
        config.0.retain(|(key, _)| key != "device.cleaning_together");
    }
    // Combinations that rarely fit by chance.
    if dice.chance(0.9) {
        let kinds = ["mirror", "parity", "parity-disk", "double-parity"];
        config.set("device.redundancy", dice.text(&kinds));
        config
            .0
            .retain(|(key, _)| !["device.layout", "device.parity_share"].contains(&key.as_str()));
        config.set("device.members", dice.whole(&[4, 6]));
        if config.get("device.copies").is_some() {
            config.set("device.copies", "2");
        }
        config.set("device.rebuild.unit", "\"192KiB\"");
    }
    let mut dice = Dice::new(seed.rotate_left(24) ^ 0x109);
    if dice.chance(0.4) {
        // Partial parity requires rotated parity.
        let rule = if config.get("device.redundancy") == Some("parity") || dice.chance(0.1) {
            dice.pick(&["journal", "partial-parity"])
        } else {
            "journal"
        };
        config.set(NOT_DRAWN, format!("\"{rule}\""));
    }
}

/// First seed with redundancy; the digests have rows of earlier seeds.
const LATER: u64 = 100_000;
