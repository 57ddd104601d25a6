//! Drives with a write buffer: their keys are drawn together, so that part of the experiments has a
//! buffer.
//!
//! Without a buffer these keys are refused, and with a buffer some keys of unbuffered drives are.
//! They have their own generator, so other draws of a seed do not change.

use super::Config;
use super::dice::Dice;
use super::generate::{ALWAYS, catalogue, whole};
use super::values::{page_size, value};

/// Prefixes of the keys of drives with a write buffer.
const OWN: [&str; 19] = [
    "scale",
    "capacity",
    "cell.",
    "suspend.",
    "firmware.",
    "buffer.",
    "parity.",
    "slc_cache.",
    "timing.read_part",
    "timing.bus_rate",
    "timing.command",
    "cleaning.reclaim",
    "cleaning.pace",
    "cleaning.quantum",
    "cleaning.host_room",
    "cleaning.read_batch",
    "cleaning.read_order",
    "cleaning.meter_depth",
    "cleaning.meter_above",
];
/// Prefixes of the keys of drives without a buffer.
const OTHERS: [&str; 13] = [
    "interleave",
    "gang",
    "page_span",
    "pool",
    "active_blocks",
    "stripe",
    "summary_page",
    "persistence.order",
    "persistence.recovery",
    "cleaning.time",
    "cleaning.background",
    "cleaning.copy_back",
    "cleaning.stream",
];

/// True if a key is drawn here.
pub fn is_own(path: &str) -> bool {
    let key = path.strip_prefix("device.").unwrap_or_default();
    OWN.iter().any(|own| key.starts_with(own))
}

/// Converts some drawn drives to buffered ones, and gives other drives a few of their keys.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(32) ^ 0xb0f);
    let at = ["device", "device.member", "device.member.member"];
    let is_ssd = |at: &&&str| config.get(&format!("{at}.kind")) == Some("ssd");
    let Some(at) = at.iter().find(is_ssd) else { return };
    if !dice.chance(0.3) {
        if dice.chance(0.02) {
            // Keys that need a buffer on a drive without one.
            own_keys(config, at, 0.05, &mut dice);
        }
        unbuffered(config, at, &mut Dice::new(seed.rotate_left(24) ^ 0x0_1d));
        return;
    }
    let mut own = Config::default();
    for (key, value) in std::mem::take(&mut config.0) {
        match key.strip_prefix(at).filter(|rest| !rest.starts_with(".member")) {
            Some(rest) => own.set(&format!("device{rest}"), value),
            None => config.set(&key, value),
        }
    }
    let given = dice.pick(&[0.1, 0.3, 0.6]);
    buffered(&mut own, given, &mut dice);
    for (key, value) in own.0 {
        config.set(&key.replacen("device", at, 1), value);
    }
    saturate(config, &mut dice);
}

/// Gives some of the unbuffered drives features that need no buffer: processors, bus commands,
/// several bits per cell, partial blocks, and reads that suspend programs and erases.
fn unbuffered(config: &mut Config, at: &str, dice: &mut Dice) {
    if !dice.chance(0.2) {
        return;
    }
    let mut set = |key: &str, text: String| config.set(&format!("{at}.{key}"), text);
    if dice.chance(0.5) {
        set("firmware.read", dice.text(&["1ns", "13us", "1ms"]));
        set("firmware.write", dice.text(&["0ns", "7us"]));
        set("firmware.cores", dice.whole(&[1, 1, 2, 8]));
    }
    if dice.chance(0.3) {
        set("timing.command", dice.text(&["1ns", "2us"]));
    }
    if dice.chance(0.2) {
        set("cell.bits", dice.whole(&[2, 3]));
        set("timing.program", dice.text(&["900us", "1.8ms"]));
    }
    if dice.chance(0.6) {
        set("suspend.program", dice.text(&["0ns", "5us", "35us", "1ms"]));
        if dice.chance(0.7) {
            set("cleaning.time", "\"interleaved\"".to_owned());
            set("suspend.erase", dice.text(&["0ns", "5us", "35us", "1ms"]));
        }
        set("suspend.limit", dice.whole(&[0, 1, 2, 8]));
        if dice.chance(0.4) {
            set("suspend.step", dice.text(&["1ns", "20us", "90us"]));
        }
        set("suspend.resume", dice.text(&["0ns", "1ns", "5us", "200us"]));
        // Operations that cannot be suspended are incompatible.
        let depend = ["cache_commands", "gang", "interleave", "page_span", "packages_per_channel"];
        for key in depend {
            config.0.retain(|(given, _)| *given != format!("{at}.{key}"));
        }
    }
}

/// Makes some of the experiments write at saturation with a skewed load, which maximises the hot
/// pages in the buffer.
fn saturate(config: &mut Config, dice: &mut Dice) {
    if config.get("workload.kind") != Some("closed") || !dice.chance(0.3) {
        return;
    }
    config.set("workload.read_share", "0.0");
    config.set("workload.outstanding", dice.whole(&[32, 64]));
    config.set("workload.requests", dice.whole(&[3_000, 10_000]));
    let localities = ["uniform", "zipf(0.5)", "zipf(0.99)", "zipf(1.2)", "hot-cold(0.9, 0.1)"];
    config.set("workload.locality", dice.text(&localities));
    config.0.retain(|(key, _)| key != "workload.think_time");
}

fn own_keys(config: &mut Config, at: &str, given: f64, dice: &mut Dice) {
    let section = catalogue().iter().find(|section| section.title == "device, kind ssd");
    for key in &section.expect("there are drives").keys {
        // Cell pairing requires an unbuffered drive.
        let wanted = is_own(&key.path)
            && key.path != "device.capacity"
            && !key.path.starts_with("device.slc_cache.")
            && !key.path.starts_with("device.cell.pairing");
        if wanted && dice.chance(given) {
            let value = value("ssd", key, config, dice).expect("a test holds that all have rows");
            config.set(&key.path.replacen("device", at, 1), value);
        }
    }
}

/// The buffered drive and the keys that its other keys require; a few drives contradict themselves.
fn buffered(own: &mut Config, given: f64, dice: &mut Dice) {
    if dice.chance(0.98) {
        let other = |key: &str| OTHERS.iter().any(|it| key.starts_with(it));
        own.0.retain(|(key, _)| !other(key.strip_prefix("device.").unwrap_or_default()));
    }
    own.set("device.summary_page", "false");
    own_keys(own, "device", given, dice);
    if dice.chance(0.7) {
        own.set("device.cell.bits", dice.whole(&[1, 2, 3, 3, 4, 5]));
    }
    let page = if dice.chance(0.6) { "16KiB" } else { "4KiB" };
    own.set("device.page_size", format!("\"{page}\""));
    if dice.chance(0.85) {
        own.0.retain(|(key, _)| key != "device.cell.preset");
    } else if own.get("device.cell.preset").is_some() {
        // The cell preset determines all of these.
        let said = ["cell.bits", "planes_per_die", "timing.", "page_size"];
        own.0.retain(|(key, _)| !said.iter().any(|it| key["device.".len()..].starts_with(it)));
    }
    if dice.chance(0.1) && own.get("device.cell.preset").is_none() {
        own.set("device.planes_per_die", "6");
    }
    let (bits, planes, page) = shape(own);
    // Whole word lines, in multiples of the scale.
    let scale =
        if own.get("device.scale").is_some() { whole(own, "device.scale").max(1) } else { 1 };
    // With a volatile buffer, the copies of a GC victim are padded. In a block with few groups the
    // padding takes all the space gained, so garbage collection would never end.
    let volatile = own.get("device.buffer.power_loss_protected") == Some("false");
    let word_lines = scale * dice.pick(if volatile { &[8, 12] } else { &[1, 2, 2, 3, 4, 8] });
    if volatile || dice.chance(0.97) {
        own.set("device.pages_per_block", (word_lines * bits).to_string());
    }
    let unit = page * dice.pick(&[1, 2, 4, 4, 4, 4 * planes, 8]) / 4;
    own.set("device.logical_page", format!("\"{}\"", options::Size::from_bytes(unit.max(512))));
    times(own, bits, dice);
    let dies: u64 = ALWAYS[..3].iter().map(|key| whole(own, key)).product();
    let distance = own.get("device.cell.distance").map_or(2, |it| it.parse().unwrap_or(2));
    let rows = if own.get("device.cell.program") == Some("per-page") { 1 } else { bits };
    let held = if own.get("device.cell.program") == Some("two-pass") { distance + 2 } else { 1 };
    let mut apart = Dice::new(dice.below(u64::MAX));
    frontiers(own, &mut apart);
    let hot_cold = own.get("device.cleaning.frontiers") == Some("hot-cold");
    let levels = own.get("device.cleaning.levelling.rule") == Some("migrate");
    let least = page * planes * rows * dies * held * (1 + u64::from(hot_cold) + u64::from(levels));
    let room = |dice: &mut Dice| {
        // The largest buffers exceed the capacity.
        let bytes = least * dice.pick(&[4, 4, 4, 5, 8, 8, 16, 64, 256, 1024, 3]) / 4;
        format!("\"{}\"", options::Size::from_bytes(bytes))
    };
    own.set("device.buffer.size", room(dice));
    if own.get("device.buffer.copies").is_some() {
        own.set("device.buffer.copies", room(dice));
    }
    let parity = own.get("device.parity.of").map_or(0, |it| it.parse().unwrap_or(0));
    if parity == 1 && dice.chance(0.9) {
        own.set("device.parity.of", "2");
    }
    if own.get("device.suspend.program").is_none_or(|it| it == "none") {
        own.0.retain(|(key, _)| key != "device.suspend.step");
        own.0.retain(|(key, _)| key != "device.suspend.unless_backlog");
    }
    if own.get("device.suspend.erase").is_none_or(|it| it == "none") {
        own.0.retain(|(key, _)| key != "device.suspend.erase_step");
    }
    small(own, dice);
    slc_cache(own, &mut apart);
}

/// Keys of an SLC cache that are drawn after the others.
const LATER: [&str; 4] = ["cache.static", "cache.when_full", "cache.reuse", "cache.rated_cycles"];

/// An SLC cache with the keys that it needs; it does not affect other draws.
fn slc_cache(own: &mut Config, dice: &mut Dice) {
    let (bits, ..) = shape(own);
    if bits < 2 || !dice.chance(0.25) {
        return;
    }
    let without = [
        "cell.program",
        "cell.distance",
        "cleaning.reclaim",
        "cleaning.pace",
        "cleaning.quantum",
        "cleaning.host_room",
        "cleaning.frontiers",
        "cleaning.hot_cold.",
        "cleaning.levelling.",
        "parity.",
    ];
    let is_without = |key: &str| without.iter().any(|it| key["device.".len()..].starts_with(it));
    own.0.retain(|(key, _)| !key.starts_with("device.") || !is_without(key));
    let section = catalogue().iter().find(|section| section.title == "device, kind ssd");
    for key in &section.expect("there are drives").keys {
        let needed = ["dynamic", "program", "read"]
            .iter()
            .any(|it| key.path.strip_prefix("device.slc_cache.").is_some_and(|name| name == *it));
        if LATER.iter().any(|it| key.path.ends_with(it)) {
            continue;
        }
        if key.path.starts_with("device.slc_cache.") && (needed || dice.chance(0.5)) {
            let text = value("ssd", key, own, dice).expect("a test holds that all have rows");
            own.set(&key.path, if key.path.ends_with("dynamic") { "0.8".to_owned() } else { text });
        }
    }
    let mut later = Dice::new(dice.below(u64::MAX));
    for (key, words) in
        [("static", &["64KiB", "1MiB"][..]), ("when_full", &["fold"]), ("reuse", &["empty"])]
    {
        if later.chance(0.3) {
            own.set(&format!("device.slc_cache.{key}"), later.text(words));
        }
    }
}

/// Frontiers of writes; they do not affect other draws.
fn frontiers(own: &mut Config, dice: &mut Dice) {
    if dice.chance(0.4) {
        let words = ["auto", "single", "separate-moved", "hot-cold", "hot-cold", "hot-cold"];
        own.set("device.cleaning.frontiers", dice.text(&words));
    }
}

/// Bits per cell, planes per die and bytes per page.
fn shape(own: &Config) -> (u64, u64, u64) {
    let part = own.get("device.cell.preset").filter(|name| *name != "none");
    let part =
        part.and_then(|name| devices::ssd::config::parts::PARTS.iter().find(|it| it.name == name));
    if let Some(part) = part {
        return (part.bits.into(), part.planes.into(), part.page_bytes);
    }
    let bits = whole(own, "device.cell.bits").max(1);
    (bits, whole(own, "device.planes_per_die"), page_size(own).bytes())
}

/// Times that are consistent with the bits per cell.
fn times(own: &mut Config, bits: u64, dice: &mut Dice) {
    if own.get("device.cell.preset").is_some_and(|name| name != "none") {
        return;
    }
    let program = match bits {
        1 => dice.text(&["0ns", "1ns", "200us"]),
        2 => dice.text(&["150us", "1.5ms"]),
        3 => dice.text(&["700us", "1.2ms"]),
        _ => dice.text(&["6ms", "8.32ms", "13.52ms"]),
    };
    own.set("device.timing.program", program);
    if dice.chance(0.4) {
        let each: Vec<&str> =
            (0..bits).map(|_| dice.pick(&["0ns", "25us", "45us", "57us"])).collect();
        own.set("device.timing.read", format!("\"{}\"", each.join(", ")));
    }
}

/// Few pages; with few blocks, most of them spare.
fn small(own: &mut Config, dice: &mut Dice) {
    let (bits, planes, page) = shape(own);
    let scale = whole(own, "device.scale").max(1);
    let of_die = whole(own, "device.pages_per_block") / scale * planes;
    let dies: u64 = ALWAYS[..3].iter().map(|key| whole(own, key)).product();
    let logical: options::Size =
        own.get("device.logical_page").unwrap_or("4KiB").parse().expect("a size");
    let units = (of_die * dies * page / logical.bytes()).max(1);
    let most = dice.pick(&[2_000, 8_000, 30_000]);
    let blocks = (most / units).clamp(10, 64);
    own.set("device.blocks_per_plane", blocks.to_string());
    for key in ["spare_blocks_per_plane", "over_provisioning", "spare_factor"] {
        own.0.retain(|(given, _)| *given != format!("device.{key}"));
    }
    let volatile = own.get("device.buffer.power_loss_protected") == Some("false");
    let share = dice.pick(&if blocks < 20 || volatile { [0.5, 0.6, 0.8] } else { [0.2, 0.3, 0.5] });
    if dice.chance(0.2) {
        let bytes = of_die * dies * page * blocks * scale;
        let bytes = (bytes as f64 * (1.0 - share)) as u64;
        own.set("device.capacity", format!("\"{}\"", options::Size::from_bytes(bytes)));
    } else {
        own.set("device.spare_factor", format!("{share:?}"));
    }
    if own.get("device.cleaning.min_free").is_some() {
        own.set("device.cleaning.min_free", dice.number(&[0.0, 0.01, 0.05]));
    }
    debug_assert!(bits > 0, "a cell has a bit");
}
