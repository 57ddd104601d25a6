//! What cannot stand together with handles is refused, with its keys and a remedy.

use super::{Keys, buffered, plane};
use crate::common::configured;
use devices::DeviceConfig;
use devices::ssd::Ssd;
use serde_json::{Value, json};

fn refused(mut keys: Keys, more: &[(&'static str, Value)]) -> String {
    keys.extend(more.iter().cloned());
    let DeviceConfig::Ssd(config) = configured(&keys) else { panic!("an SSD") };
    Ssd::new(&config, 1).map(|_| ()).unwrap_err().to_string()
}

/// A drive, the keys that contradict it, and the words of the refusal.
type Row = (Keys, Vec<(&'static str, Value)>, &'static [&'static str]);

#[test]
fn contradictions_name_keys_values_and_a_remedy() {
    let three = ("device.fdp.handles", json!(3));
    let plain = || plane(96, 32, 0.3);
    let rows: Vec<Row> = vec![
        (
            plain(),
            vec![("device.fdp.handles", json!(65))],
            &["device.fdp.handles", "65", "at most 64"],
        ),
        (
            plain(),
            vec![three.clone(), ("device.fdp.place", json!("address(0-4%:3)"))],
            &["device.fdp.place", "names handle 3", "handles 0 to 2"],
        ),
        (
            plain(),
            vec![three.clone(), ("device.fdp.time_limit", json!("1s"))],
            &["device.fdp.time_limit", "device.buffer.size", "use \"none\""],
        ),
        (
            plain(),
            vec![three.clone(), ("device.cleaning.frontiers", json!("hot-cold"))],
            &["device.cleaning.frontiers", "use \"auto\""],
        ),
        (
            plain(),
            vec![three.clone(), ("device.log_blocks.scheme", json!("fast"))],
            &["device.log_blocks.scheme", "use \"none\""],
        ),
        (
            plain(),
            vec![three.clone(), ("device.block_buffer.size", json!("1MiB"))],
            &["device.block_buffer.size", "use \"0B\""],
        ),
        (
            buffered(),
            vec![
                three.clone(),
                ("device.fdp.groups", json!(2)),
                ("device.slc_cache.dynamic", json!(0.5)),
                ("device.slc_cache.program", json!("0.3ms")),
                ("device.slc_cache.read", json!("20us")),
            ],
            &["device.fdp.groups", "lies over all dies", "use 1"],
        ),
        (
            plain(),
            vec![
                three.clone(),
                ("device.channels", json!(1)),
                ("device.packages_per_channel", json!(2)),
                ("device.pool", json!("gang")),
                ("device.cleaning.stream", json!(true)),
            ],
            &["device.cleaning.stream", "use false"],
        ),
        (
            plane(69, 32, 0.13),
            vec![("device.fdp.handles", json!(5)), ("device.fdp.isolation", json!("persistent"))],
            &[
                "device.fdp.handles",
                "5 handles keep 10 reclaim units open",
                "use at most 3 handles",
            ],
        ),
        (
            buffered(),
            vec![("device.fdp.handles", json!(64)), ("device.spare_factor", json!(0.6))],
            &["device.fdp.handles"],
        ),
    ];
    hold(rows);
}

#[test]
fn contradictions_of_reclaim_groups_name_keys_values_and_a_remedy() {
    let three = ("device.fdp.handles", json!(3));
    hold(vec![
        (
            buffered(),
            vec![three.clone(), ("device.fdp.groups", json!(3))],
            &["device.fdp.groups", "8 dies do not divide into 3 groups; use one of 1, 2, 4, 8"],
        ),
        (
            buffered(),
            vec![three.clone(), ("device.fdp.groups", json!(0))],
            &["device.fdp.groups", "at least 1"],
        ),
        (
            buffered(),
            vec![three.clone(), ("device.fdp.groups", json!(64))],
            &["device.fdp.groups", "are 192 placements; at most 128: use at most 42 groups"],
        ),
        (
            buffered(),
            vec![
                three.clone(),
                ("device.fdp.groups", json!(2)),
                ("device.fdp.place", json!("address(0-4%:6)")),
            ],
            &["device.fdp.place", "names handle 6", "handles 0 to 5"],
        ),
        (
            plane(96, 32, 0.3),
            vec![three.clone(), ("device.fdp.groups", json!(2))],
            &["device.fdp.groups", "device.buffer.size", "use a write buffer, or 1 group"],
        ),
        (
            buffered(),
            vec![
                ("device.fdp.handles", json!(4)),
                ("device.fdp.groups", json!(8)),
                ("device.spare_factor", json!(0.1)),
            ],
            &["device.fdp.handles", "4 handles keep 5 reclaim units open", "use at most"],
        ),
    ]);
}

fn hold(rows: Vec<Row>) {
    for (keys, more, words) in rows {
        let error = refused(keys, &more);
        for word in words {
            assert!(error.contains(word), "{word:?} is not in {error:?}");
        }
    }
}
