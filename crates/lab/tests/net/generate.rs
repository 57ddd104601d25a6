//! Draws experiments over every key of the catalogue, mostly small and unusual drives.
//!
//! Keys with choices or booleans are drawn from the catalogue; every other key has a row in
//! [`values`](super::values), and a key without one fails the test over the catalogue.

use super::Config;
use super::dice::Dice;
use super::redundancy;
use super::today;
use super::values::{job, page_size, value};
use super::{
    blocks, caches, commands, diskspd, energy, fdp, generators, logs, maps, media, queues, waits,
    zones,
};

/// Keys set in every experiment, to keep it small.
pub(super) const ALWAYS: [&str; 15] = [
    "device.channels",
    "device.packages_per_channel",
    "device.dies_per_package",
    "device.planes_per_die",
    "device.blocks_per_plane",
    "device.pages_per_block",
    "device.page_size",
    "device.size",
    "device.members",
    "workload.requests",
    "workload.path",
    "workload.beyond",
    "workload.streams",
    "workload.classes.*.threads",
    "run.precondition",
];

/// Keys drawn separately: one of three, with another probability, or with the kind.
pub const APART: [&str; 19] = [
    "device.kind",
    "device.preset",
    "workload.kind",
    "workload.preset",
    "device.member",
    "device.each",
    "device.fast",
    "device.backing",
    "device.spare_factor",
    "device.over_provisioning",
    "device.spare_blocks_per_plane",
    "device.capacity",
    "run.seed",
    "run.load_drive",
    "run.save_drive",
    "run.faults",
    "workload.read_share",
    "workload.job",
    "workload.command",
];

/// The experiment of a seed.
pub fn experiment(seed: u64) -> Config {
    let mut dice = Dice::new(seed);
    let mut config = Config::default();
    // Experiments with few and with many keys.
    let given = dice.pick(&[0.05, 0.15, 0.3, 0.6]);
    let kinds = ["ssd", "ssd", "ssd", "ssd", "ssd", "ssd", "ssd", "ssd", "array", "other"];
    let kind = match dice.pick(&kinds) {
        "other" => {
            let others = devices::kinds().iter().map(|(kind, _)| *kind);
            dice.pick(
                &others
                    .filter(|kind| {
                        !kinds.contains(kind) && ![zones::KIND, caches::KIND].contains(kind)
                    })
                    .collect::<Vec<_>>(),
            )
        }
        kind => kind,
    };
    let kind_of_device = kind;
    device(&mut config, "device", kind, given, &mut dice);
    if kind == "array" {
        let member = dice.pick(&["ssd", "ssd", "law", "array"]);
        device(&mut config, "device.member", member, given, &mut dice);
        if member == "array" {
            device(&mut config, "device.member.member", "ssd", given, &mut dice);
        }
    }
    let all = workloads::kinds().iter();
    let is_apart = |kind: &str| {
        [diskspd::KIND, waits::KIND].contains(&kind) || generators::KINDS.contains(&kind)
    };
    let kinds: Vec<_> = all.filter(|(kind, _)| !is_apart(kind)).collect();
    let kind = if dice.chance(0.6) {
        dice.pick(&["closed", "closed", "open"])
    } else {
        kinds[dice.below(kinds.len() as u64) as usize].0
    };
    config.set("workload.kind", format!("\"{kind}\""));
    section(&mut config, &format!("workload, kind {kind}"), "workload", given, &mut dice);
    if ["closed", "open", "bursts", "jesd219", "postmark"].contains(&kind) {
        config.set("workload.read_share", dice.number(&[0.0, 0.0, 0.2, 0.3, 0.5, 1.0]));
    }
    if kind == "fio" {
        config.set("workload.job", job(&mut dice));
    }
    if kind == "threads" && dice.chance(0.9) {
        agree(&mut config);
    }
    section(&mut config, "run", "run", given, &mut dice);
    if kind_of_device == "ssd" {
        rare(&mut config, seed);
    }
    today::draw(&mut config, seed);
    redundancy::draw(&mut config, seed);
    energy::draw(&mut config, seed);
    logs::draw(&mut config, seed);
    blocks::draw(&mut config, seed);
    maps::draw(&mut config, seed);
    diskspd::draw(&mut config, seed);
    generators::draw(&mut config, seed);
    waits::draw(&mut config, seed);
    zones::draw(&mut config, seed);
    caches::draw(&mut config, seed);
    queues::draw(&mut config, seed);
    if config.get("run.timed") == Some("false") && dice.chance(0.9) {
        config.0.retain(|(key, _)| key != "run.timeline");
    }
    let steady = config.get("run.until") == Some("steady");
    if steady && config.get("run.steady.round").is_none() {
        config.set("run.steady.round", "\"10ms\"");
    }
    config.set("run.seed", dice.whole(&[0, 1, 42, 1 << 32, i64::MAX as u64, seed]));
    config
}

/// Adds a device of that kind.
fn device(config: &mut Config, at: &str, kind: &str, given: f64, dice: &mut Dice) {
    let mut own = Config::default();
    own.set("device.kind", format!("\"{kind}\""));
    section(&mut own, &format!("device, kind {kind}"), "device", given, dice);
    if kind == "ssd" {
        // A small drive must be mostly spare space, for its open and reserved blocks.
        let small = whole(&own, "device.blocks_per_plane") <= 16;
        let spare = dice.pick(&[
            if small { "device.spare_factor" } else { "none" },
            "device.spare_factor",
            "device.over_provisioning",
            "device.spare_blocks_per_plane",
        ]);
        match spare {
            "device.spare_factor" => {
                let shares = if small {
                    [0.3, 0.5, 0.6, 0.7, 0.8, 0.99]
                } else {
                    [0.1, 0.15, 0.2, 0.3, 0.5, 0.8]
                };
                own.set(spare, dice.number(&shares));
            }
            "device.over_provisioning" => {
                let shares =
                    if small { [0.5, 1.0, 2.0, 2.5, 3.0] } else { [0.07, 0.2, 0.28, 0.5, 1.0] };
                own.set(spare, dice.number(&shares));
            }
            "device.spare_blocks_per_plane" => {
                let blocks = whole(&own, "device.blocks_per_plane");
                let spares = [1, 2, 3, blocks / 4, blocks / 3, blocks / 2, blocks - 1];
                own.set(spare, dice.whole(&spares));
            }
            _ => {}
        }
        if dice.chance(0.9) {
            reconcile(&mut own, dice);
        }
        let shape = &ALWAYS[..6];
        let most = if at == "device" { 4_000 } else { 2_000 };
        loop {
            let pages: u64 = shape.iter().map(|key| whole(&own, key)).product();
            let blocks = whole(&own, "device.blocks_per_plane");
            if pages <= most || blocks <= 8 {
                break;
            }
            own.set("device.blocks_per_plane", (blocks / 2).to_string());
        }
    }
    for (key, value) in own.0 {
        config.set(&key.replacen("device", at, 1), value);
    }
}

/// Combines options that rarely meet by chance: partial pages, copy-back within a plane, and two
/// frontiers, on an overwritten drive. It has its own generator, so other draws of the seed do not
/// change.
fn rare(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(!seed);
    if !dice.chance(0.05) {
        return;
    }
    config.set("device.logical_page", dice.text(&["512B", "1KiB"]));
    config.set("device.cleaning.copy_back", "true");
    config.set("device.cleaning.frontiers", dice.text(&["separate-moved", "hot-cold"]));
    config.set("run.precondition", dice.text(&["random:1", "random:3"]));
    config.set("device.cleaning.policy", dice.text(&["random", "greedy", "d-choices"]));
    // Many operations are in progress when the last request completes.
    config.set("device.timing.bus_per_byte", dice.text(&["0ps", "625ps"]));
    config.set("device.channels", dice.whole(&[2, 3]));
    config.set("device.page_size", dice.text(&["2KiB", "4KiB"]));
    if config.get("workload.read_share").is_some() {
        config.set("workload.read_share", "0.0");
    }
    for key in ["page_span", "stripe", "gang", "active_blocks", "cleaning.stream"] {
        config.0.retain(|(given, _)| *given != format!("device.{key}"));
    }
}

pub(super) fn whole(own: &Config, key: &str) -> u64 {
    own.get(key).map_or(1, |it| it.parse().unwrap_or(1))
}

/// Adds keys required by the rates of thread classes, and removes unneeded ones.
fn agree(config: &mut Config) {
    let rate = |class: &str| format!("workload.classes.{class}.rate");
    let shares = |config: &Config, class: &&str| config.get(&rate(class)) == Some("workload");
    let others = ["a", "b"].into_iter().filter(|class| !shares(config, class));
    let mut unused: Vec<String> = others.map(|class| format!("{}_less", rate(class))).collect();
    if unused.len() == 2 {
        unused.push("workload.rate".to_owned());
    } else if config.get("workload.rate").is_none() {
        config.set("workload.rate", "20000.0");
    }
    config.0.retain(|(given, _)| !unused.contains(given));
}

/// Removes keys that contradict others of the drive, or adds the keys that they require.
fn reconcile(own: &mut Config, dice: &mut Dice) {
    let is = |own: &Config, key: &str, word: &str| own.get(key) == Some(word);
    let drop = |own: &mut Config, key: &str| own.0.retain(|(given, _)| given != key);
    if is(own, "device.cleaning.stream", "true") {
        own.set("device.gang", "\"shared-bus\"");
        own.set("device.pool", dice.text(&["gang", "ssd"]));
        own.set("device.packages_per_channel", "2");
        for key in ["cleaning.copy_back", "logical_page", "page_span", "interleave"] {
            drop(own, &format!("device.{key}"));
        }
    }
    if own.get("device.gang").is_some_and(|gang| gang.starts_with("shared-control")) {
        for key in ["interleave", "cache_commands", "active_blocks"] {
            drop(own, &format!("device.{key}"));
        }
    }
    if is(own, "device.gang", "shared-control-sync") {
        drop(own, "device.logical_page");
        drop(own, "device.page_span");
        if is(own, "device.pool", "ssd") {
            drop(own, "device.pool");
        }
    }
    let span = whole(own, "device.page_span");
    if span > 1 {
        own.set("device.channels", span.to_string());
        let page = page_size(own).bytes();
        let size = options::Size::from_bytes(page * span * dice.pick(&[1, 1, 2]));
        own.set("device.logical_page", format!("\"{size}\""));
        if is(own, "device.pool", "gang") {
            drop(own, "device.pool");
        }
    }
    let pairs = ["plane", "plane-pair"].iter().any(|word| is(own, "device.interleave", word));
    if pairs && whole(own, "device.planes_per_die") % 2 == 1 {
        own.set("device.planes_per_die", "2");
    }
    if is(own, "device.interleave", "plane") {
        drop(own, "device.cache_commands");
    }
    if !is(own, "device.host_link.order", "round-robin") {
        drop(own, "device.host_link.queues");
    }
    if is(own, "device.cleaning.copy_back", "true") && is(own, "device.active_blocks", "unit") {
        drop(own, "device.active_blocks");
    }
    if own.get("device.cleaning.levelling.rate_limit_floor").is_some() {
        drop(own, "device.cleaning.levelling.age_variance");
    }
    if own.get("device.logical_page").is_some() {
        drop(own, "device.stripe");
    }
}

/// Draws the keys of a section of the catalogue.
fn section(config: &mut Config, title: &str, kind: &str, given: f64, dice: &mut Dice) {
    let sections = catalogue();
    let section = sections.iter().find(|section| section.title == title);
    for key in &section.expect("a section of that title").keys {
        let path = key.path.as_str();
        let apart = [
            today::is_own,
            energy::is_own,
            logs::is_own,
            maps::is_own,
            media::is_own,
            blocks::is_own,
            fdp::is_own,
            queues::is_own,
            commands::is_own,
            waits::is_own,
        ];
        if apart.iter().any(|is_own| is_own(path)) {
            continue;
        }
        if redundancy::is_own(path) && kind_of(title) == "array" {
            continue;
        }
        let wanted = ALWAYS.contains(&path) || dice.chance(given);
        if !APART.contains(&path) && wanted {
            let title = title.rsplit(' ').next().unwrap_or(kind);
            let value = value(title, key, config, dice).expect("a test holds that all have rows");
            if !value.is_empty() {
                config.set(&path.replace(options::ANY_NAME, dice.pick(&["a", "a", "b"])), value);
            }
        }
    }
}

/// The kind of a section of the catalogue.
fn kind_of(title: &str) -> &str {
    title.rsplit(' ').next().unwrap_or_default()
}

/// The reference of every key.
pub fn catalogue() -> &'static [lab::SectionKeys] {
    static KEYS: std::sync::OnceLock<Vec<lab::SectionKeys>> = std::sync::OnceLock::new();
    KEYS.get_or_init(lab::keys)
}

/// The keys without a row.
pub fn keys_without_row() -> Vec<String> {
    let mut missing = Vec::new();
    let mut dice = Dice::new(0);
    for section in catalogue() {
        let kind = section.title.rsplit(' ').next().unwrap_or_default();
        for key in &section.keys {
            let apart = APART.contains(&key.path.as_str());
            if !apart && value(kind, key, &Config::default(), &mut dice).is_none() {
                missing.push(format!("{} ({})", key.path, section.title));
            }
        }
    }
    missing
}
