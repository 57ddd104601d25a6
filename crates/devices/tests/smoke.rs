//! Does it run at all? Every word of every choice, 1,000 requests each, and the audit.
//!
//! A new policy or variant is run without being named here, and a new choice is missed.

use crate::{buffered, common};
use devices::DeviceKind as _;

use crate::common::{Closed, configured, reference, run_closed};
use devices::ssd::config::Policy;
use devices::ssd::config::{
    ActiveBlocks, CleaningTime, Completions, ControlLine, Detector, DriftLaw, Duplex, EccKind,
    FillOrder, Fold, FreeOrder, Frontiers, Gang, HostOrder, Interleave, Isolation, LevellingRule,
    LogScheme, MapCells, MapPlace, MediaModel, Pace, PairCommands, Pairing, PairingGuard, Planes,
    Pool, Program, ReadOrder, Reclaim, Recovery, Reference, Reuse, Temperature, ThermalAction,
    TieBreak, Trims, WhenFull,
};
use engine::{Completion, Lba, Op, Random, Request, Xoshiro256};
use options::Choice;
use serde_json::{Value, json};

/// Two channels of two packages, small enough that 1,000 requests clean.
fn tiny() -> Vec<(&'static str, Value)> {
    vec![
        ("device.channels", json!(2)),
        ("device.packages_per_channel", json!(2)),
        ("device.planes_per_die", json!(2)),
        ("device.blocks_per_plane", json!(10)),
        ("device.pages_per_block", json!(5)),
        ("device.spare_factor", json!(0.3)),
        ("device.host_link.queue_depth", json!(8)),
    ]
}

/// 1,000 requests of all kinds with 16 outstanding; most of them write.
fn thousand(keys: &[(&str, Value)]) -> Vec<Completion> {
    let mut device = configured(keys).build(5).unwrap_or_else(|refusal| panic!("{refusal}"));
    let pages = device.capacity_sectors() / 8;
    let mut random = Xoshiro256::new(5, 0);
    let mut load = Closed::new(16, 1000, |id| {
        let op = match random.below(20) {
            0 => Op::Flush,
            1 => Op::Trim,
            2..6 => Op::Read,
            _ => Op::Write,
        };
        let first = random.below(pages - 3) * 8;
        Request::new(id, op, Lba(first + random.below(4)), 1 + random.below(20) as u32)
    });
    let (end, done) = run_closed(device.as_mut(), &mut load);
    assert_eq!(done.len(), 1000, "{keys:?}");
    let erases = device.report(end).count("flash.block_erases");
    assert!(erases > 4, "{keys:?}: {erases} erases");
    done
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table, and what some of its rows need")]
fn every_word_of_every_choice_runs() {
    let choices: [(&str, &[(&str, &str)]); 39] = [
        ("device.gang", Gang::WORDS),
        ("device.interleave", Interleave::WORDS),
        ("device.pair_commands", PairCommands::WORDS),
        ("device.host_link.completions", Completions::WORDS),
        ("device.active_blocks", ActiveBlocks::WORDS),
        ("device.pool", Pool::WORDS),
        ("device.fill_order", FillOrder::WORDS),
        ("device.free_order", FreeOrder::WORDS),
        ("device.host_link.duplex", Duplex::WORDS),
        ("device.host_link.order", HostOrder::WORDS),
        ("device.cleaning.policy", Policy::WORDS),
        ("device.cleaning.time", CleaningTime::WORDS),
        ("device.cleaning.tie_break", TieBreak::WORDS),
        ("device.cleaning.frontiers", Frontiers::WORDS),
        ("device.cleaning.hot_cold.detector", Detector::WORDS),
        ("device.cleaning.levelling.rule", LevellingRule::WORDS),
        ("device.cleaning.levelling.temperature", Temperature::WORDS),
        ("device.cell.program", Program::WORDS),
        ("device.cell.planes", Planes::WORDS),
        ("device.cleaning.reclaim", Reclaim::WORDS),
        ("device.cleaning.pace", Pace::WORDS),
        ("device.cleaning.read_order", ReadOrder::WORDS),
        ("device.persistence.recovery", Recovery::WORDS),
        ("device.control_line", ControlLine::WORDS),
        ("device.log_blocks.scheme", LogScheme::WORDS),
        ("device.fdp.isolation", Isolation::WORDS),
        ("device.slc_cache.fold", Fold::WORDS),
        ("device.slc_cache.when_full", WhenFull::WORDS),
        ("device.slc_cache.reuse", Reuse::WORDS),
        ("device.map.place", MapPlace::WORDS),
        ("device.map.cells", MapCells::WORDS),
        ("device.thermal.action", ThermalAction::WORDS),
        ("device.media.model", MediaModel::WORDS),
        ("device.media.drift", DriftLaw::WORDS),
        ("device.retry.reference", Reference::WORDS),
        ("device.ecc.kind", EccKind::WORDS),
        ("device.persistence.trims", Trims::WORDS),
        ("device.cell.pairing", Pairing::WORDS),
        ("device.cell.pairing_guard", PairingGuard::WORDS),
    ];
    let is_of_a_buffer = |key: &str| {
        let last = key.rsplit('.').next().unwrap_or(key);
        [
            "program",
            "planes",
            "reclaim",
            "pace",
            "read_order",
            "model",
            "drift",
            "reference",
            "cells",
        ]
        .contains(&last)
    };
    for (key, words) in choices {
        for (word, meaning) in words {
            assert!(!meaning.trim().is_empty(), "{key} = {word} says what it means");
            let mut keys = tiny();
            if is_of_a_buffer(key) {
                keys = buffered::small();
                keys.extend([
                    ("device.blocks_per_plane", json!(40)),
                    ("device.pages_per_block", json!(3)),
                    ("device.channels", json!(2)),
                    ("device.buffer.size", json!("1536KiB")),
                ]);
            }
            if ["device.media.drift", "device.retry.reference", "device.ecc.kind"].contains(&key) {
                keys.push(("device.media.model", json!("tlc-3d")));
                keys.push(("device.scrub.period", json!("7d")));
            }
            if key == "device.pair_commands" {
                keys.push(("device.interleave", json!("plane")));
            }
            if *word == "qlc-3d" {
                keys.push(("device.cell.bits", json!(4)));
                keys.push(("device.pages_per_block", json!(4)));
                keys.push(("device.timing.program", json!("6ms")));
            }
            if key == "device.persistence.trims" || key.starts_with("device.cell.pairing") {
                keys.push(("device.persistence.recovery", json!("summary")));
            }
            if *word == "nvram" {
                keys.push(("device.persistence.map_write", json!("2us")));
            }
            if key == "device.control_line" {
                keys.push(("device.packages_per_channel", json!(2)));
                keys.push(("device.gang", json!("shared-control-async")));
            }
            if key == "device.log_blocks.scheme" {
                keys.push(("device.log_blocks.count", json!(1)));
                keys.push(("device.spare_factor", json!(0.4)));
            }
            if key == "device.fdp.isolation" {
                keys.push(("device.fdp.handles", json!(2)));
                keys.push(("device.spare_factor", json!(0.6)));
            }
            if key.starts_with("device.map.") {
                keys.push(("device.map.memory", json!("4KiB")));
            }
            if *word == "slc" {
                keys.extend([
                    ("device.map.read", json!("10us")),
                    ("device.map.program", json!("50us")),
                ]);
            }
            if key == "device.thermal.action" {
                keys = buffered::small();
                keys.extend([
                    ("device.energy.program", json!("50mA")),
                    ("device.thermal.limit", json!("50C")),
                    ("device.thermal.resume", json!("45C")),
                    ("device.thermal.resistance", json!(50)),
                    ("device.thermal.time_constant", json!("20ms")),
                    ("device.blocks_per_plane", json!(40)),
                    ("device.pages_per_block", json!(3)),
                    ("device.channels", json!(2)),
                    ("device.buffer.size", json!("1536KiB")),
                ]);
            }
            if key.starts_with("device.slc_cache.") {
                keys.extend([
                    ("device.slc_cache.dynamic", json!(1.0)),
                    ("device.slc_cache.program", json!("0.3ms")),
                    ("device.slc_cache.read", json!("20us")),
                    ("device.fill", json!("empty")),
                ]);
            }
            if key == "device.cell.pairing_guard" {
                keys.push(("device.cell.pairing", json!("next")));
            }
            keys.push((key, json!(word)));
            thousand(&keys);
        }
    }
    // A key whose default is one of the words it expects is a choice, and stands above.
    for row in reference() {
        let is_choice = row.expected.split(" | ").any(|word| word == row.default);
        let listed = choices.iter().any(|(key, _)| *key == row.path);
        assert_eq!(listed, is_choice, "{} is {}", row.path, row.expected);
    }
}

#[test]
fn every_policy_runs_in_every_way_of_cleaning() {
    for (policy, _) in Policy::WORDS {
        for (time, _) in CleaningTime::WORDS {
            for (pool, _) in Pool::WORDS {
                for copy_back in [false, true] {
                    let mut keys = tiny();
                    keys.push(("device.cleaning.policy", json!(policy)));
                    keys.push(("device.cleaning.time", json!(time)));
                    keys.push(("device.pool", json!(pool)));
                    keys.push(("device.cleaning.copy_back", json!(copy_back)));
                    let once = thousand(&keys);
                    assert!(once == thousand(&keys), "{keys:?}: two runs differ");
                }
            }
        }
    }
}

#[test]
fn every_kind_of_device_runs_with_its_defaults() {
    for (kind, summary) in devices::kinds() {
        assert!(!summary.is_empty());
        let none: [Value; 0] = [];
        let config = devices::DeviceConfig::resolve(kind, none).unwrap();
        assert_eq!(config.kind(), *kind);
        let mut device = config.build(0).unwrap();
        let sectors = device.capacity_sectors();
        let mut random = Xoshiro256::new(6, 0);
        let mut load = Closed::new(4, 1000, |id| {
            let op = if random.below(2) == 0 { Op::Read } else { Op::Write };
            Request::new(id, op, Lba(random.below(sectors - 8)), 8)
        });
        let mut keep = common::Keep::default();
        engine::drive(device.as_mut(), &mut load, engine::Time::MAX, &mut keep).unwrap();
        assert_eq!(keep.0.len(), 1000, "{kind}");
    }
}
