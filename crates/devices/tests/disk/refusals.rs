//! Disks that contradict themselves are refused, with the keys and the reason.

use devices::{DeviceConfig, DeviceKind as _};
use serde_json::{Value, json};

/// The keys that a disk is refused for and the reason, or what its section says.
fn refusal(keys: &Value) -> (Vec<String>, String) {
    match DeviceConfig::resolve("disk", [keys]) {
        Err(Some((_, error))) => (Vec::new(), error.to_string()),
        Err(None) => panic!("the kind is known"),
        Ok(config) => match config.build(0) {
            Err(invalid) => (invalid.keys, invalid.problem),
            Ok(_) => panic!("{keys} is accepted"),
        },
    }
}

#[test]
fn impossible_disks_are_refused_with_their_keys() {
    let plain = super::plain();
    let rows = [
        (json!({"cylinders": 500}), "device.zones", "cylinders 0 to 999 lies beyond the 500"),
        (json!({"capacity": "200MB"}), "device.capacity", "and the zones hold 200000"),
        (json!({"capacity": "0B"}), "device.capacity", "from 1 on"),
        (json!({"capacity": "1000B"}), "device.capacity", "not a multiple of a sector"),
        (json!({"zones": "0-0: 9 spare 18"}), "device.zones", "has 18 sectors, and 18 are spare"),
        (json!({"zones": "0-0: 9 spare 9 per track"}), "device.zones", "and 9 are spare"),
        (json!({"zones": "0-0: 9 empty 18"}), "device.zones", "are spare, and 18 empty"),
        (json!({"angle": 1.5}), "device.angle", "1.5 is not a share of a turn"),
        (json!({"surfaces": 0}), "device.surfaces", "1 to 256 surfaces, not 0"),
        (json!({"rpm": 0}), "device.rpm", "60 to 100000 revolutions per minute, not 0"),
        (json!({"cylinders": 0}), "device.cylinders", "at least one"),
        (json!({"buffer": {"segments": 0}}), "device.buffer.segments", "not 0"),
        (
            json!({"buffer": {"write_segments": 5}}),
            "device.buffer.write_segments",
            "1 to 4 of the 4",
        ),
        (json!({"buffer": {"write_segments": 0}}), "device.buffer.write_segments", "not 0"),
        (json!({"buffer": {"segment": "0B"}}), "device.buffer.segment", "at least one sector"),
        (json!({"buffer": {"segment": "700B"}}), "device.buffer.segment", "not a multiple"),
        (json!({"buffer": {"read_ahead": "700B"}}), "device.buffer.read_ahead", "not a multiple"),
        (json!({"buffer": {"send_at": 1.5}}), "device.buffer.send_at", "0 to 1, not 1.5"),
        (json!({"overhead": {"write": "2s"}}), "device.overhead.write", "at most 1s"),
        (
            json!({"seek": {"table": "none", "mean": "20ms"}}),
            "device.seek.mean",
            "no curve over 1000",
        ),
        (json!({"seek": {"table": "none", "single": "20ms"}}), "device.seek.mean", "no curve"),
    ];
    for (keys, key, reason) in rows {
        let mut all = plain.clone();
        for (name, value) in keys.as_object().unwrap() {
            match (all.get_mut(name), value.as_object()) {
                (Some(Value::Object(section)), Some(inner)) => section.extend(inner.clone()),
                _ => all[name] = value.clone(),
            }
        }
        let (found, problem) = refusal(&all);
        assert_eq!(found.first().map(String::as_str), Some(key), "{keys}: {problem}");
        assert!(problem.contains(reason), "{keys}: {problem}");
    }
}

#[test]
fn texts_that_are_no_zones_or_seeks_are_refused() {
    let rows = [
        (json!({"zones": "0-999"}), "is not of the form \"0-846: 254\""),
        (json!({"zones": "0-9: 100 skew 3"}), "is not of the form"),
        (json!({"zones": "9-0: 100"}), "cylinder 9 comes after cylinder 0"),
        (json!({"zones": "0-9: 100, 9-20: 90"}), "begins before the zone before it ends"),
        (json!({"zones": "0-9: 100 spare"}), "is not of the form"),
        (json!({"zones": "0-9: 100 per track"}), "is not of the form"),
        (json!({"zones": "0-9: 100 spare 1 per 0 cylinders"}), "per 1 cylinder or more"),
        (json!({"zones": "0-9: 100 at 100"}), "less than the 100 sectors"),
        (json!({"zones": "0-9: 0"}), "1 to 1000000 sectors"),
        (json!({"zones": "0-9: 100 skew 100 0"}), "less than the 100 sectors"),
        (json!({"seek": {"table": "2: 1ms"}}), "for 1 cylinder, not 2"),
        (json!({"seek": {"table": "1: 1ms, 1: 2ms"}}), "must rise, and 1 follows 1"),
        (json!({"seek": {"table": "1: 2s"}}), "at most 1s"),
        (json!({"seek": {"table": "1"}}), "has no colon"),
        (json!({"scheduler": "elevator"}), "elevator"),
    ];
    for (keys, reason) in rows {
        let (found, problem) = refusal(&keys);
        assert!(found.is_empty() && problem.contains(reason), "{keys}: {problem}");
    }
}

#[test]
fn a_member_s_keys_are_named_as_such() {
    let member = DeviceConfig::resolve("disk", [json!({"rpm": 0})]).unwrap();
    let array = devices::array::ArrayConfig { member, ..Default::default() };
    let refused = devices::DeviceKind::build(&array, 0).err().unwrap();
    assert_eq!(refused.keys, ["device.member.rpm"]);
}
