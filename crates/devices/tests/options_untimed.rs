//! No key that untimed runs ignore: what changes write amplification in time changes it without time in the same
//! direction, or stands in a short table with the reason.

use super::{Load, Row, SKEWED_WRITES, all_rows, base, outcome};
use crate::common::configured;
use devices::DeviceKind as _;
use engine::{Lba, Op, Request, SECTOR_BYTES, Xoshiro256};
use serde_json::{Value, json};

/// A change of write amplification that is one: more than a tiny run differs by itself.
const CHANGE: f64 = 0.06;

/// Keys that are about time, so that there is nothing to them without it; a dot at the end stands for a section.
const IN_TIME_ALONE: &[(&str, &str)] = &[
    (
        "device.cleaning.time",
        "cleaning that yields runs behind its threshold under load (warning cleaning_behind)",
    ),
    ("device.cleaning.background", "idle times are of the clock"),
    ("device.cleaning.background_free", "idle times are of the clock"),
    ("device.buffer.linger", "a group is padded after a time"),
    (
        "device.slc_cache.",
        "without time data go to their cells past the cache, which is folded in time",
    ),
    ("device.thermal.", "heat comes and goes with time"),
    ("device.fdp.time_limit", "a unit is closed after a time"),
];

/// Write amplification without time, of pages as the timed run has them.
fn untimed(keys: &[(&str, Value)], load: Load, requests: u64) -> Option<f64> {
    let mut device = configured(keys).build(9).unwrap_or_else(|refusal| panic!("{refusal}"));
    let capacity = device.capacity_sectors();
    let mut random = Xoshiro256::new(9, 0);
    for id in 0..requests {
        let (op, page, pages) = load(id, capacity / 8, &mut random);
        let lba = if op == Op::Flush { 0 } else { page * 4096 / SECTOR_BYTES };
        device.serve_untimed(&Request::new(id, op, Lba(lba), pages as u32 * 8));
    }
    device.report(0).number("flash.write_amplification")
}

fn timed(keys: &[(&str, Value)], load: Load, requests: u64) -> Option<f64> {
    outcome(keys, load, requests, (None, None)).report.write_amplification
}

/// How a row's key changes write amplification under a load, in time and without. Cleaning that yields to requests would
/// hide what the others do.
fn changes(row: &Row, load: Load) -> Option<(f64, f64)> {
    const TIME: &str = "device.cleaning.time";
    let keys = |value: &Value| {
        let mut keys = if row.buffered { crate::buffered::small() } else { base() };
        if !row.buffered && row.given.iter().all(|(key, _)| *key != "device.log_blocks.scheme") {
            keys.push((TIME, json!("blocking")));
        }
        keys.extend(row.given.iter().cloned());
        keys.push((row.key, value.clone()));
        keys
    };
    let requests = row.requests.min(6_000);
    let (from, to) = (keys(&row.from), keys(&row.to));
    let in_time = timed(&to, load, requests)? / timed(&from, load, requests)? - 1.0;
    let without = untimed(&to, load, requests)? / untimed(&from, load, requests)? - 1.0;
    Some((in_time, without))
}

#[test]
fn untimed_runs_ignore_no_key_that_changes_write_amplification_in_time() {
    let is_known = |row: &Row, known: &str| {
        if known.ends_with('.') { row.key.starts_with(known) } else { row.key == known }
    };
    let rows = all_rows();
    let (mut seen, mut ignored) = (0, Vec::new());
    for row in rows.iter().filter(|row| row.cut.is_none() && row.age.is_none()) {
        let Some((in_time, without)) = changes(row, SKEWED_WRITES) else { continue };
        if in_time.abs() < CHANGE {
            continue;
        }
        seen += 1;
        println!("{}: {in_time:+.3} in time, {without:+.3} without", row.key);
        let follows = in_time * without > 0.0 && without.abs() > CHANGE / 6.0;
        if !follows && IN_TIME_ALONE.iter().all(|(known, _)| !is_known(row, known)) {
            ignored.push((row.key, in_time, without));
        }
    }
    let is_none = |(known, _): &&(&str, &str)| rows.iter().all(|row| !is_known(row, known));
    assert_eq!(IN_TIME_ALONE.iter().find(is_none), None, "it stands for no key");
    assert!(ignored.is_empty(), "{ignored:#?}");
    assert!(seen > 20, "{seen}");
}
