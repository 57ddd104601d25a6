//! Arrays with redundancy: drawn apart, so that the experiments of other seeds stay as they were.

use super::Config;
use super::dice::Dice;
use super::generate::catalogue;
use super::values::value;

/// Keys that are drawn here.
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

/// It came later, and is drawn apart.
const NOT_DRAWN: &str = "device.hole";

/// Whether a key of an array is drawn here.
pub fn is_own(path: &str) -> bool {
    OWN.contains(&path.strip_prefix("device.").unwrap_or_default())
}

/// Gives some of the arrays that were drawn redundancy, and what belongs to it.
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
    // Only drives can be coordinated.
    if config.get("device.member.kind") != Some("ssd") {
        config.0.retain(|(key, _)| key != "device.cleaning_together");
    }
    // What seldom agrees by chance.
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
        // Partial parity is of rotated parity alone.
        let rule = if config.get("device.redundancy") == Some("parity") || dice.chance(0.1) {
            dice.pick(&["journal", "partial-parity"])
        } else {
            "journal"
        };
        config.set(NOT_DRAWN, format!("\"{rule}\""));
    }
}

/// The digests have rows of the seeds before, of when there was no redundancy.
const LATER: u64 = 100_000;
