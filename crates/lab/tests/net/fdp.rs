//! Placement handles: excluded from random experiments, so that experiments of existing seeds do
//! not change. Their laws are in the tests of the devices (`devices/tests/fdp/laws.rs`), on drives
//! of each kind.

use super::dice::Dice;

/// True for a placement key.
pub fn is_own(path: &str) -> bool {
    path.starts_with("device.fdp.")
}

/// A value of a placement key.
pub fn of_fdp(path: &str, dice: &mut Dice) -> Option<String> {
    Some(match path.strip_prefix("device.fdp.")? {
        "handles" => dice.whole(&[0, 1, 2, 3, 8, 64]),
        "groups" => dice.whole(&[0, 1, 2, 3, 4, 8, 200]),
        "time_limit" => dice.text(&["none", "1us", "1ms", "10s"]),
        "isolation" => dice.text(&["initial", "persistent"]),
        _ => dice.text(&["none", "queue", "address(0-10%:1)", "size(<=4KiB:1)"]),
    })
}
