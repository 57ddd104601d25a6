//! Later keys of disks, and generators that wait: drawn from separate generators, so that experiments of
//! existing seeds do not change.

use super::Config;
use super::dice::Dice;

/// The kind of workload that is drawn only here.
pub const KIND: &str = "generators";

/// True if a key is drawn here.
pub fn is_own(path: &str) -> bool {
    ["device.angle", "device.buffer.keep_writes", "device.overhead.write_completion"]
        .contains(&path)
}

/// A value of a key of a disk or of the generators; `None` for other keys.
pub fn value(path: &str, dice: &mut Dice) -> Option<String> {
    let value = match path {
        "device.angle" => dice.share(),
        "device.buffer.keep_writes" => dice.pick(&["true", "false"]).to_owned(),
        "device.overhead.write_completion" => dice.text(&["0ns", "1ns", "3ms"]),
        "workload.generators" => dice.whole(&[1, 2, 5]),
        "workload.processors" => dice.whole(&[1, 2, 7]),
        "workload.critical_share" | "workload.limited_share" | "workload.local_share" => {
            dice.number(&[0.0, 0.1, 0.5])
        }
        "workload.time_limit" => dice.text(&["normal(30, 100)", "constant(0)", "uniform(0, 1)"]),
        "workload.local_interarrival" => dice.text(&["constant(0)", "exponential(0, 1)"]),
        "workload.local_distance" => dice.text(&["normal(0, 1000)", "uniform(-9, 9)"]),
        _ => return None,
    };
    Some(value)
}

/// Sets keys of some disks, and replaces the load of some experiments by generators.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(31) ^ 0x7E7E);
    if config.get("device.kind") == Some("\"disk\"") {
        for path in ["angle", "buffer.keep_writes", "overhead.write_completion"] {
            let path = format!("device.{path}");
            if dice.chance(0.3) {
                config.set(&path, value(&path, &mut dice).expect("it has a row"));
            }
        }
    }
    if !dice.chance(0.03) {
        return;
    }
    config.0.retain(|(key, _)| !key.starts_with("workload.") || key == "workload.requests");
    config.set("workload.kind", format!("\"{KIND}\""));
    for key in ["generators", "processors", "critical_share", "limited_share", "local_share"] {
        let path = format!("workload.{key}");
        config.set(&path, value(&path, &mut dice).expect("it has a row"));
    }
    config.set("workload.read_share", dice.share());
    for (key, share) in [
        ("time_limit", "limited_share"),
        ("local_interarrival", "local_share"),
        ("local_distance", "local_share"),
    ] {
        let path = format!("workload.{key}");
        if config.get(&format!("workload.{share}")) != Some("0.0") {
            config.set(&path, value(&path, &mut dice).expect("it has a row"));
        }
    }
}
