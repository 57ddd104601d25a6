//! Retention: random experiments exclude these keys, because lost data end requests in ways that
//! the laws do not cover. `devices/tests/media.rs` has their laws.

use super::dice::Dice;

/// True for a retention key.
pub fn is_own(path: &str) -> bool {
    let own = [
        "device.media.",
        "device.ecc.",
        "device.retry.",
        "device.parity.stagger",
        "device.scrub.",
        "device.spares.",
        "device.health.",
        "device.thermal.",
    ];
    own.iter().any(|own| path.starts_with(own))
}

/// A value of a retention key.
pub fn of_media(path: &str, dice: &mut Dice) -> Option<String> {
    let value = match path.strip_prefix("device.")? {
        "media.temperature" => dice.text(&["30C", "-40C", "85.5C"]),
        "media.cycles" => dice.whole(&[0, 100, 3000]),
        "media.activation" => dice.number(&[0.0, 1.1]),
        "media.drift_month" => dice.number(&[0.5, 3.47]),
        "media.drift_cycles" => dice.number(&[500.0, 1780.0]),
        "media.drift_power" => dice.number(&[0.2, 0.4]),
        "media.errors_new" => dice.number(&[5e-4, 1.48e-3]),
        "media.errors_wear" | "media.errors_time" => dice.number(&[1e-4, 5e-4]),
        "media.errors_reads" => dice.number(&[0.0, 3.65e-8]),
        "media.errors_wear_power" | "media.errors_reads_power" => dice.number(&[1.0, 2.0]),
        "media.errors_reads_wear_power" => dice.number(&[0.0, 0.33]),
        "ecc.hard" => dice.number(&[8.8e-3, 6e-3]),
        "ecc.soft" => dice.text(&["none", "1.4e-2 in 6", "1.1e-2 in 2, 1.4e-2 in 6"]),
        "ecc.codeword" => dice.text(&["512B", "1KiB", "4KiB"]),
        "ecc.corrects" => dice.whole(&[40, 72]),
        "ecc.decode" => dice.text(&["0ns", "20us"]),
        "scrub.period" => dice.text(&["none", "1s", "7d"]),
        "thermal.limit" => dice.text(&["70C", "90C"]),
        "thermal.resume" => dice.text(&["40C", "65C"]),
        "thermal.resistance" => dice.number(&[1.0, 10.0]),
        "thermal.time_constant" => dice.text(&["1ms", "60s"]),
        "thermal.ambient" => dice.text(&["0C", "25C"]),
        "thermal.floor" => dice.number(&[0.1, 0.5]),
        "spares.factory_bad" => dice.number(&[0.0, 0.001]),
        "spares.grown" | "spares.program_fail" | "spares.erase_fail" => dice.number(&[0.0, 1e-4]),
        "spares.sick_dies" => dice.number(&[0.0, 0.06]),
        "spares.defects" => dice.number(&[0.0, 2.0]),
        "spares.defects_shape" => dice.number(&[0.2, 0.5]),
        "health.rate" => dice.number(&[1e-6, 0.5]),
        "health.fail_at_uncorrectable" => dice.whole(&[1, 1000]),
        "scrub.limit" => dice.number(&[0.3, 0.7, 1.0]),
        "scrub.drift_limit" => dice.number(&[1.0, 8.0]),
        "scrub.reclaim_reads" => dice.whole(&[1000, 1_000_000]),
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
