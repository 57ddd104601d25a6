//! How data age: random experiments leave these keys alone, because losses end requests in other ways than the laws
//! know. `devices/tests/media.rs` has their laws.

use super::dice::Dice;

/// Whether a key is of ageing.
pub fn is_own(path: &str) -> bool {
    let own = ["device.media.", "device.ecc.", "device.retry.", "device.parity.stagger"];
    own.iter().any(|own| path.starts_with(own))
}

/// A value of a key of ageing.
pub fn of_media(path: &str, dice: &mut Dice) -> Option<String> {
    let value = match path.strip_prefix("device.")? {
        "media.temperature" => dice.text(&["30C", "-40C", "85.5C"]),
        "media.cycles" => dice.whole(&[0, 100, 3000]),
        "ecc.hard" => dice.number(&[8.8e-3, 6e-3]),
        "ecc.soft" => dice.text(&["none", "1.4e-2 in 6", "1.1e-2 in 2, 1.4e-2 in 6"]),
        "ecc.decode" => dice.text(&["0ns", "20us"]),
        "retry.steps" => dice.whole(&[0, 5, 40]),
        "retry.search" => dice.text(&["none", "1ms"]),
        "retry.window" => dice.number(&[0.1, 0.5, 2.0]),
        spread if spread.contains("spread") || spread.contains("estimate") => {
            dice.number(&[0.0, 0.1, 0.3])
        }
        _ => return None,
    };
    Some(value)
}
