//! Classes of submission queues, answers in order, two-plane commands and snapshots: keys that no experiment draws by itself, so
//! that those of other seeds stay as they were. Their laws are among the tests of the devices
//! (`devices/tests/queue_classes.rs`, `in_order.rs`, `pair_commands.rs`, `copy_on_write.rs`).

use super::dice::Dice;

/// Whether a key is one of these.
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
        "queue" => dice.whole(&[0, 1]),
        "back" => dice.whole(&[1, 2]),
        "pair_commands" => dice.text(&["separate", "two-plane"]),
        "priorities" => dice.text(&["medium", "urgent", "low"]),
        _ => dice.text(&["8, 4, 2", "0, 0, 0", "255, 1, 0"]),
    })
}
