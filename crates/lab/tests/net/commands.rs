//! Namespaces and commands: excluded from random experiments, so that experiments of existing seeds
//! do not change. `commands.rs` draws its own.

use super::dice::Dice;

/// True for a key of namespaces or commands.
pub fn is_own(path: &str) -> bool {
    ["run.namespaces", "workload.commands"].contains(&path)
}

/// Namespaces of any device.
pub fn of_namespaces(dice: &mut Dice) -> String {
    dice.text(&["100%", "50%, 50%", "40% lba 4KiB, 40% thin 64KiB", "4KiB"])
}
