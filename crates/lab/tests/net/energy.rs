//! Power keys of devices: drawn from a separate generator, so that experiments of existing seeds do
//! not change.

use super::Config;
use super::dice::Dice;
use super::generate::catalogue;
use super::values::value;

/// True if a key is drawn here.
pub fn is_own(path: &str) -> bool {
    path.starts_with("device.energy.")
}

/// Sets the power of some of the devices.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(48) ^ 0xe6e7);
    if !dice.chance(0.2) {
        return;
    }
    let mut at = "device".to_owned();
    while config.get(&format!("{at}.kind")) == Some("\"array\"") {
        at += ".member";
    }
    let Some(kind) =
        config.get(&format!("{at}.kind")).map(|kind| kind.trim_matches('"').to_owned())
    else {
        return;
    };
    let title = format!("device, kind {kind}");
    let section = catalogue().iter().find(|section| section.title == title);
    for key in section.into_iter().flat_map(|section| &section.keys) {
        if is_own(&key.path) && dice.chance(0.5) {
            let value =
                value(&kind, key, config, &mut dice).expect("a test holds that all have rows");
            config.set(&key.path.replacen("device", &at, 1), value);
        }
    }
}

/// A value of an energy key.
pub fn of_energy(path: &str, dice: &mut Dice) -> Option<String> {
    let value = match path.strip_prefix("device.energy.")? {
        "voltage" => dice.text(&["3.3V", "1.8V", "0V"]),
        "read" | "program" | "erase" | "bus" | "standby" => {
            dice.text(&["0mA", "25mA", "50uA", "1nA"])
        }
        "page_read" | "page_program" | "block_erase" => dice.text(&["0J", "3uJ", "1mJ"]),
        "idle" => dice.text(&["0W", "1uW", "500mW"]),
        // At least the idle power.
        "active" => dice.text(&["500mW", "10W"]),
        "controller" | "seek" | "transfer" => dice.text(&["0W", "900mW", "8W"]),
        _ => return None,
    };
    Some(value)
}
