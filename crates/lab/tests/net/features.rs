//! Features of a drive, to be drawn by pairs and triples: what a feature is, in keys, on a small drive with a write
//! buffer and on one without.

use super::Config;
use super::dice::Dice;

/// A feature: its name, and the keys that turn it on.
pub type Feature = (&'static str, &'static [(&'static str, &'static str)]);

/// The features; where two give one key they give it the same value, but for those that are two values of one thing.
pub const FEATURES: [Feature; 18] = [
    (
        "SLC cache",
        &[
            ("slc_cache.dynamic", "0.5"),
            ("slc_cache.program", "\"200us\""),
            ("slc_cache.read", "\"25us\""),
            ("slc_cache.fold_after", "\"1ms\""),
        ],
    ),
    ("FDP", &[("fdp.handles", "3"), ("fdp.place", "\"address(0-30%:1, 30-60%:2)\"")]),
    ("snapshots", &[("snapshots.most", "2"), ("snapshots.every", "\"2MiB\"")]),
    ("map cache", &[("map.memory", "\"4KiB\""), ("map.page", "\"512B\"")]),
    ("ageing of data", &[("media.model", "\"tlc-3d\"")]),
    ("patrol", &[("media.model", "\"tlc-3d\""), ("scrub.period", "\"1s\"")]),
    ("bad blocks", &[("spares.program_fail", "1e-4")]),
    ("parity", &[("parity.of", "8")]),
    ("thermal limit", &[("thermal.limit", "\"70C\""), ("energy.controller", "\"3W\"")]),
    ("recovery", &[("persistence.recovery", "\"checkpoint\""), ("summary_page", "true")]),
    ("summary page", &[("summary_page", "true")]),
    ("levelling", &[("cleaning.levelling.rule", "\"migrate\""), ("wear.rated_cycles", "400")]),
    ("hot and cold", &[("cleaning.frontiers", "\"hot-cold\"")]),
    ("log blocks", &[("log_blocks.scheme", "\"fast\"")]),
    ("block buffer", &[("block_buffer.size", "\"512KiB\"")]),
    ("copy-back", &[("cleaning.copy_back", "true")]),
    ("burst pace", &[("cleaning.pace", "\"burst\""), ("cleaning.quantum", "8")]),
    ("suspension", &[("suspend.program", "\"10us\"")]),
];

/// The keys of a small drive of a kind, that is full and has room to spare.
const BUFFERED: [(&str, &str); 16] = [
    ("channels", "2"),
    ("dies_per_package", "2"),
    ("planes_per_die", "2"),
    ("blocks_per_plane", "56"),
    ("pages_per_block", "24"),
    ("page_size", "\"16KiB\""),
    ("spare_size", "\"0B\""),
    ("logical_page", "\"4KiB\""),
    ("summary_page", "false"),
    ("cell.bits", "3"),
    ("timing.program", "\"1.2ms\""),
    ("timing.bus_rate", "\"1000MT/s\""),
    ("buffer.size", "\"8MiB\""),
    ("spare_factor", "0.5"),
    ("cleaning.min_free", "0.0"),
    ("cache_commands", "true"),
];
const UNBUFFERED: [(&str, &str); 8] = [
    ("channels", "2"),
    ("dies_per_package", "1"),
    ("planes_per_die", "2"),
    ("blocks_per_plane", "48"),
    ("pages_per_block", "16"),
    ("summary_page", "false"),
    ("spare_factor", "0.4"),
    ("cleaning.min_free", "0.0"),
];

/// The kinds of drive.
pub const DRIVES: [&str; 2] = ["with a write buffer", "without one"];

/// All pairs of features, in an order in which the first and the last are far from each other.
pub fn pairs() -> Vec<[usize; 2]> {
    let all =
        (0..FEATURES.len()).flat_map(|one| (one + 1..FEATURES.len()).map(move |two| [one, two]));
    all.collect()
}

/// A load on a drive with features, by number.
pub fn drive(buffered: bool, features: &[usize], seed: u64) -> Config {
    let mut dice = Dice::new(seed ^ 0xFEA7);
    let mut config = Config::default();
    config.set("device.kind", "\"ssd\"");
    let keys: &[(&str, &str)] = if buffered { &BUFFERED } else { &UNBUFFERED };
    for (key, value) in keys.iter().chain(features.iter().flat_map(|it| FEATURES[*it].1)) {
        config.set(&format!("device.{key}"), *value);
    }
    if buffered && dice.chance(0.5) {
        config.set("device.buffer.power_loss_protected", "false");
    }
    config.set("device.fill", dice.text(&["full", "full", "empty"]));
    config.set("workload.kind", "\"closed\"");
    config.set("workload.requests", dice.whole(&[1_500, 4_000]));
    config.set("workload.outstanding", dice.whole(&[1, 8, 32]));
    config.set("workload.read_share", dice.number(&[0.0, 0.3]));
    config.set("workload.block_size", dice.text(&["4KiB", "16KiB", "64KiB"]));
    config.set("workload.locality", dice.text(&["uniform", "zipf(0.99)"]));
    config.set("run.precondition", dice.text(&["none", "random:0.5"]));
    config.set("run.seed", seed.to_string());
    config
}
