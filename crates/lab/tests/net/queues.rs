//! Classes of submission queues: keys that no experiment draws by itself, so that those of other seeds stay as they
//! were. Their laws are among the tests of the devices (`devices/tests/queue_classes.rs`).

use super::dice::Dice;

/// Whether a key is of classes of queues.
pub fn is_own(path: &str) -> bool {
    ["host_link.burst", "host_link.priorities", "host_link.weights"]
        .iter()
        .any(|it| path.ends_with(it))
}

/// A value of such a key.
pub fn of_queues(path: &str, dice: &mut Dice) -> Option<String> {
    Some(match path.rsplit('.').next()? {
        "burst" => dice.pick(&["1", "4", "64", "\"unlimited\""]).to_owned(),
        "priorities" => dice.text(&["medium", "urgent", "low"]),
        _ => dice.text(&["8, 4, 2", "0, 0, 0", "255, 1, 0"]),
    })
}
