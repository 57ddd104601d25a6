//! Queue classes, in-order completions, two-plane commands and snapshots: drawn from a separate
//! generator, so that experiments of existing seeds do not change. Their own laws are in the tests
//! of the devices (`devices/tests/queue_classes.rs`, `in_order.rs`, `pair_commands.rs`,
//! `copy_on_write.rs`).

use super::Config;
use super::dice::Dice;

/// Gives some of the drives in-order completions, snapshots, or, without a write buffer, two-plane
/// commands.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(24) ^ 0x0_9EE5);
    if config.get("device.kind") != Some("ssd") {
        return;
    }
    if dice.chance(0.04) {
        config.set("device.host_link.completions", "\"in-order\"");
    }
    let is_buffered = config.get("device.buffer.size").is_some();
    if !is_buffered && dice.chance(0.04) {
        config.set("device.interleave", "\"plane\"");
        config.set("device.planes_per_die", dice.whole(&[2, 4]));
        config.set("device.pair_commands", "\"two-plane\"");
    }
    // Some buffered drives refuse them: with an SLC cache, handles or recovery.
    if dice.chance(if is_buffered { 0.1 } else { 0.04 }) {
        config.set("device.snapshots.most", dice.whole(&[1, 2, 5]));
        config.set("device.snapshots.every", dice.text(&["16KiB", "64KiB", "1MiB"]));
        config.set("device.snapshots.space", dice.number(&[0.05, 0.1, 0.2]));
        if dice.chance(0.5) {
            config.set("device.snapshots.queue", dice.whole(&[0, 1]));
            config.set("device.snapshots.back", dice.whole(&[1, 2]));
        }
        if dice.chance(0.5) {
            config.set("device.snapshots.orders", dice.text(&["0: make", "0: make, 1: drop"]));
        }
    }
}

/// True for one of these keys.
pub fn is_own(path: &str) -> bool {
    if path.starts_with("device.snapshots.") {
        return true;
    }
    ["burst", "priorities", "weights", "completions"]
        .map(|it| format!("host_link.{it}"))
        .iter()
        .chain(&["device.pair_commands".to_owned()])
        .any(|it| path.ends_with(it.as_str()))
}

/// A value of such a key.
pub fn of_queues(path: &str, dice: &mut Dice) -> Option<String> {
    Some(match path.rsplit('.').next()? {
        "burst" => dice.pick(&["1", "4", "64", "\"unlimited\""]).to_owned(),
        "completions" => dice.text(&["as-done", "in-order"]),
        "most" => dice.whole(&[0, 1, 3]),
        "every" => dice.text(&["64KiB", "1MiB", "100B"]),
        "space" => dice.number(&[0.05, 0.1]),
        "orders" => dice.text(&["none", "0: make, 1: drop", "1: make, 2: drop-all"]),
        "queue" => dice.whole(&[0, 1]),
        "back" => dice.whole(&[1, 2]),
        "pair_commands" => dice.text(&["separate", "two-plane"]),
        "priorities" => dice.text(&["medium", "urgent", "low"]),
        _ => dice.text(&["8, 4, 2", "0, 0, 0", "255, 1, 0"]),
    })
}
