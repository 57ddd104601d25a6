//! Zoned drives: drawn from a separate generator, so that experiments of existing seeds do not
//! change.

use super::Config;
use super::dice::Dice;

/// The kind of device that is drawn only here.
pub const KIND: &str = "zoned";

/// Keys to draw, most of them rarely.
const KEYS: [&str; 30] = [
    "channels",
    "dies_per_channel",
    "planes_per_die",
    "pages_per_block",
    "bits",
    "zones.open",
    "zones.active",
    "zones.width",
    "zones.parity_of",
    "zones.read_across",
    "zones.reset",
    "zones.reset_page",
    "zones.close",
    "zones.erase",
    "timing.read",
    "timing.program",
    "timing.erase",
    "timing.bus_rate",
    "suspend.step",
    "firmware.write",
    "firmware.append",
    "firmware.spread",
    "firmware.path_write",
    "firmware.path_read",
    "firmware.manage",
    "link.command",
    "link.queue_depth",
    "buffer.power_loss_protected",
    "log.free",
    "log.batch",
];

/// Replaces the device of some experiments by a zoned drive, mostly below a host log.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(40) ^ 0x20E5);
    if config.get("device.kind") == Some("array") || !dice.chance(0.04) {
        return;
    }
    config.0.retain(|(key, _)| !key.starts_with("device.") && !key.starts_with("run.precondition"));
    config.set("device.kind", format!("\"{KIND}\""));
    config.set("device.zones.count", dice.whole(&[16, 24, 40]));
    config.set("device.zones.size", dice.text(&["2MiB", "4MiB"]));
    config.set("device.zones.capacity", dice.text(&["1MiB", "1536KiB"]));
    let adapt = dice.pick(&["log", "log", "log", "none"]);
    config.set("device.adapt", format!("\"{adapt}\""));
    for key in KEYS {
        let of_log = key.starts_with("log.");
        if dice.chance(0.2) && (!of_log || adapt == "log") {
            let path = format!("device.{key}");
            if let Some(value) = of_zones(&path, &mut dice) {
                config.set(&path, value);
            }
        }
    }
    if adapt == "log" {
        config.set("device.log.spare", dice.number(&[0.5, 0.7]));
    }
}

/// A value of a key of a zoned drive.
pub fn of_zones(path: &str, dice: &mut Dice) -> Option<String> {
    Some(match path.strip_prefix("device.")? {
        "channels" => dice.whole(&[1, 2, 8]),
        "dies_per_channel" | "planes_per_die" => dice.whole(&[1, 2, 4]),
        "page_size" => dice.text(&["4KiB", "16KiB"]),
        "pages_per_block" => dice.whole(&[48, 96, 768]),
        "bits" => dice.whole(&[1, 2, 3]),
        "zones.count" => dice.whole(&[16, 24, 64]),
        "zones.size" => dice.text(&["4MiB", "64MiB"]),
        "zones.capacity" => dice.text(&["1MiB", "3MiB"]),
        "zones.open" => dice.whole(&[2, 4, 14]),
        "zones.active" => dice.whole(&[4, 8, 14]),
        "zones.append_limit" => dice.text(&["4KiB", "128KiB"]),
        "zones.width" => dice.whole(&[1, 2]),
        "zones.parity_of" => dice.whole(&[0, 4, 8]),
        "zones.fill" => dice.number(&[0.0, 0.5]),
        "zones.reset" | "zones.close" => dice.text(&["0ns", "1ms"]),
        "zones.reset_page" => dice.text(&["0ns", "50ns"]),
        "zones.zrwa.resources" => dice.whole(&[0, 1, 4]),
        "zones.zrwa.size" => dice.text(&["64KiB", "1MiB"]),
        "zones.zrwa.granularity" => dice.text(&["4KiB", "64KiB"]),
        "timing.read" => dice.text(&["1us", "50us", "40us, 50us, 60us"]),
        "timing.program" | "timing.erase" => dice.text(&["10us", "2ms"]),
        "timing.bus_rate" => dice.text(&["100MT/s", "800MT/s"]),
        "suspend.step" => dice.text(&["none", "10us", "256us"]),
        "suspend.limit" => dice.whole(&[1, 8]),
        "firmware.write"
        | "firmware.append"
        | "firmware.path_write"
        | "firmware.path_append"
        | "firmware.path_read"
        | "firmware.manage"
        | "link.command"
        | "link.page" => dice.text(&["0ns", "1ns", "5us"]),
        "link.queue_depth" => {
            dice.text(&["unlimited", "1", "8"]).replace("\"1\"", "1").replace("\"8\"", "8")
        }
        "firmware.spread" => dice.text(&["constant", "exponential"]),
        "zones.erase" => dice.text(&["at-reset", "at-open"]),
        "zones.read_across"
        | "timing.cache_reads"
        | "buffer.power_loss_protected"
        | "wear.variable_capacity" => dice.pick(&["true", "false"]).to_owned(),
        "wear.rated_cycles" => dice.whole(&[1_000, 100_000]),
        "wear.program_failures" => dice.number(&[0.0]),
        "buffer.size" => dice.text(&["16MiB", "64MiB"]),
        "log.spare" => dice.number(&[0.4, 0.7]),
        "log.free" => dice.whole(&[2, 3, 5]),
        "log.batch" => dice.text(&["4KiB", "1MiB"]),
        _ => return None,
    })
}
