//! Caches that contradict themselves are refused, with the keys and the reason.

use super::{config, fixed};
use devices::cache::CacheConfig;
use devices::{DeviceConfig, DeviceKind as _};
use serde_json::json;

fn refusal(config: CacheConfig) -> (Vec<String>, String) {
    match DeviceConfig::Cache(Box::new(config)).build(0) {
        Err(invalid) => (invalid.keys, invalid.problem),
        Ok(_) => panic!("it is accepted"),
    }
}

#[test]
fn impossible_caches_are_refused_with_their_keys() {
    let rows = [
        (json!({"line": "0B"}), "device.line", "multiple of a sector"),
        (json!({"line": "700B"}), "device.line", "multiple of a sector"),
        (json!({"line": "32MiB"}), "device.line", "at most 16MiB"),
        (json!({"line": "256KiB"}), "device.share", "less than two"),
        (json!({"share": 1.5}), "device.share", "0 to 1"),
        (json!({"share": 0.0}), "device.share", "less than two"),
        (json!({"destage": {"high": -0.1}}), "device.destage.high", "0 to 1"),
        (json!({"destage": {"low": 0.6}}), "device.destage.low", "more than 0.5"),
        (json!({"destage": {"in_flight": 0}}), "device.destage.in_flight", "1 to 1024"),
        (json!({"destage": {"run_lines": 5000}}), "device.destage.run_lines", "1 to 1024"),
        (json!({"restart": "cold"}), "device.restart", "lost with its map"),
        (json!({"mode": "tiered", "restart": "cold"}), "device.restart", "nothing is found"),
        (json!({"mode": "tiered", "line": "512KiB"}), "device.line", "larger than the device"),
        (json!({"tier": {"swaps": 0}}), "device.tier.swaps", "1 to 1024"),
        (json!({"tier": {"gain": 0.5}}), "device.tier.gain", "1 or more"),
        (json!({"tier": {"half_life": "0s"}}), "device.tier.half_life", "forgets all uses"),
        (
            json!({"pinned": "0B-1MiB"}),
            "device.pinned",
            "256 lines are pinned, and the cache holds 64",
        ),
        (json!({"pinned": "1GiB-2GiB"}), "device.pinned", "reaches to 2GiB"),
    ];
    for (keys, key, reason) in rows {
        let (found, problem) = refusal(config(std::slice::from_ref(&keys)));
        assert_eq!(found.first().map(String::as_str), Some(key), "{keys}: {problem}");
        assert!(problem.contains(reason), "{keys}: {problem}");
    }
}

#[test]
fn a_cache_larger_than_its_backing_device_is_refused() {
    let config = CacheConfig { backing: fixed(128, 1), ..config(&[]) };
    let (keys, problem) = refusal(config);
    assert_eq!(keys, ["device.share", "device.fast", "device.backing"]);
    assert!(
        problem.contains("a cache of 256KiB is larger than its backing device of 128KiB"),
        "{problem}"
    );
}

/// The keys of a device within are those of its section.
#[test]
fn what_is_wrong_within_is_blamed_there() {
    let fast = DeviceConfig::resolve("ssd", [json!({"channels": 0})]).unwrap();
    let (keys, _) = refusal(CacheConfig { fast, ..config(&[]) });
    assert!(keys.iter().all(|key| key.starts_with("device.fast.")), "{keys:?}");
    let backing = DeviceConfig::resolve("zoned", [json!({})]).unwrap();
    let (keys, problem) = refusal(CacheConfig { backing, ..config(&[]) });
    assert!(keys[0] == "device.backing.adapt" && problem.contains("log"), "{keys:?}: {problem}");
}

#[test]
fn power_goes_only_where_something_says_what_is_left() {
    let check = |config: CacheConfig| {
        DeviceConfig::Cache(Box::new(config)).check_power_cuts().unwrap_err().keys
    };
    assert_eq!(check(config(&[]))[0], "device.restart");
    let ssd = DeviceConfig::resolve("ssd", [json!({})]).unwrap();
    let warm = || config(&[json!({"restart": "warm"})]);
    assert_eq!(
        check(CacheConfig { backing: ssd, ..warm() })[0],
        "device.backing.persistence.recovery"
    );
    DeviceConfig::Cache(Box::new(warm())).check_power_cuts().unwrap();
    // Alone neither of them has anything to recover.
    for kind in ["law", "disk"] {
        DeviceConfig::resolve(kind, [json!({})]).unwrap().check_power_cuts().unwrap_err();
    }
}
