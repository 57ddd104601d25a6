//! Namespaces and commands: left out of random experiments, so that those of all seeds stay as they were.
//! `commands.rs` draws its own.

use super::dice::Dice;

/// Whether a key belongs to them.
pub fn is_own(path: &str) -> bool {
    ["run.namespaces", "workload.commands"].contains(&path)
}

/// Namespaces of any device.
pub fn of_namespaces(dice: &mut Dice) -> String {
    dice.text(&["100%", "50%, 50%", "40% lba 4KiB, 40% thin 64KiB", "4KiB"])
}
