//! Block buffers: drawn from a separate generator, so that experiments of existing seeds do not
//! change.

use super::Config;
use super::dice::Dice;

/// True if a key is drawn here.
pub fn is_own(path: &str) -> bool {
    path.starts_with("device.block_buffer.")
}

/// Gives some of the drives without a write buffer a block buffer, or read-ahead.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(24) ^ 0xB10C);
    let is_plain =
        config.get("device.kind") == Some("ssd") && config.get("device.buffer.size").is_none();
    if !is_plain || !dice.chance(0.08) {
        return;
    }
    let ahead = dice.text(&["0B", "512B", "20KiB", "256KiB"]);
    config.set("device.block_buffer.read_ahead", ahead);
    if dice.chance(0.2) {
        return;
    }
    config.set("device.block_buffer.block", dice.text(&["12KiB", "24KiB", "192KiB"]));
    config.set("device.block_buffer.size", dice.text(&["384KiB", "768KiB", "1536KiB"]));
    for key in ["page_padding", "compensation", "power_loss_protected"] {
        if dice.chance(0.5) {
            config.set(&format!("device.block_buffer.{key}"), "false".to_owned());
        }
    }
}

/// A value of a key of a block buffer.
pub fn of_blocks(path: &str, dice: &mut Dice) -> Option<String> {
    Some(match path.strip_prefix("device.block_buffer.")? {
        "size" => dice.text(&["0B", "64KiB", "1MiB", "3MiB", "5000B"]),
        "block" => dice.text(&["0B", "4KiB", "64KiB", "1MiB"]),
        "flushes" => dice.whole(&[0, 1, 2, 100]),
        _ => dice.text(&["0B", "512B", "64KiB", "100B"]),
    })
}
