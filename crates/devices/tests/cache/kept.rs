//! The state of a cache and of tiers between two runs: what was saved goes on as what was not.

use super::power::{drawn, request};
use super::{US, build, config, fixed};
use crate::common::small;
use devices::cache::CacheConfig;
use devices::ssd::{Snapshot, SsdConfig};
use devices::{DeviceConfig, DeviceKind as _, Instruction, Model};
use engine::{Completion, Random, Time, Xoshiro256};
use serde::de::DeserializeSeed;
use serde_json::{Value, json};

/// What was written down of a state, as a device reads it that would have it.
fn read_for(device: &dyn Model, kept: &[u8]) -> Result<Snapshot, String> {
    let (shape, rest): (Vec<_>, _) =
        postcard::take_from_bytes(kept).map_err(|error| error.to_string())?;
    let whole = device.room(&shape)?.of_shape(shape);
    let read = whole.deserialize(&mut postcard::Deserializer::from_bytes(rest));
    read.map_err(|error| error.to_string())
}

fn kept(device: &dyn Model) -> Vec<u8> {
    postcard::to_stdvec(&device.save().expect("it has a state")).unwrap()
}

/// Serves a mixture of requests without time.
fn prepare(device: &mut dyn Model, seed: u64, requests: u64) {
    let (mut stream, random) = (0, &mut Xoshiro256::new(seed, 3));
    let sectors = device.capacity_sectors();
    for id in 0..requests {
        device.serve_untimed(&request(id, sectors, &mut stream, random));
    }
}

/// The answers to a mixture of requests, some of them outstanding at a time, and what the device says of itself.
fn proceed(device: &mut dyn Model, seed: u64, requests: u64) -> (Vec<Completion>, String) {
    device.instruct(0, Instruction::ResetCounts).unwrap();
    let (mut stream, random) = (0, &mut Xoshiro256::new(seed, 4));
    let sectors = device.capacity_sectors();
    let (mut done, mut now): (Vec<Completion>, Time) = (Vec::new(), 0);
    for id in 0..requests {
        device.submit(now, request(id, sectors, &mut stream, random));
        while id + 1 - done.len() as u64 > 3 {
            now = device.next_event().expect("requests are outstanding");
            device.advance(now, &mut done);
        }
    }
    while let Some(at) = device.next_event() {
        now = at;
        device.advance(at, &mut done);
    }
    device.audit().unwrap();
    let reports = device.report(now);
    (done, format!("{reports:?}"))
}

fn ssd() -> DeviceConfig {
    DeviceConfig::Ssd(Box::new(SsdConfig { blocks_per_plane: 32, pages_per_block: 16, ..small() }))
}

fn as_device(config: &CacheConfig) -> DeviceConfig {
    DeviceConfig::Cache(Box::new(config.clone()))
}

/// Saves the device of a configuration once it is prepared, and has another one go on beside it.
fn compare(name: &str, config: &CacheConfig, seed: u64) {
    let mut first = as_device(config).build(seed).unwrap();
    prepare(&mut *first, seed, 400);
    // What was counted so far is no part of a state but where it is of the life of a drive.
    first.instruct(0, Instruction::ResetCounts).unwrap();
    let state = kept(&*first);
    let mut second = as_device(config).build(seed + 1).unwrap();
    second.restore(read_for(&*second, &state).unwrap()).unwrap_or_else(|it| panic!("{name}: {it}"));
    second.audit().unwrap();
    assert!(kept(&*second) == state, "{name}: it is saved as it was");
    // Prepared further they stay the same, and with time too.
    for device in [&mut first, &mut second] {
        prepare(&mut **device, seed + 7, 100);
    }
    let [one, other] = [&mut first, &mut second].map(|it| proceed(&mut **it, seed, 150));
    assert!(one == other, "{name}: {seed}");
    // Other answers come from a device that was not prepared.
    let new = proceed(&mut *as_device(config).build(seed).unwrap(), seed, 150);
    assert!(new != one, "{name}: {seed}: a state decides something");
}

#[test]
fn a_restored_cache_continues_bit_identically() {
    for replacement in ["lru", "lfu", "arc"] {
        for mode in ["write-back", "write-through", "read-only"] {
            let keys = json!({"replacement": replacement, "mode": mode, "pinned": "64KiB-96KiB"});
            for (fast, backing) in [
                (fixed(128, 10 * US), fixed(16 << 10, 5_000 * US)),
                (ssd(), ssd()),
                (fixed(128, 10 * US), ssd()),
            ] {
                let cache = CacheConfig {
                    fast,
                    backing,
                    share: 0.5,
                    ..config(std::slice::from_ref(&keys))
                };
                compare(&format!("{replacement} {mode}"), &cache, 1);
            }
        }
    }
    // Whatever else: where what waits is written back, of any size of line, and before streams that pass.
    for seed in 0..12 {
        let cache = drawn(seed, false);
        // A disk does not say what it held; such a cache is saved without that.
        if ![&cache.fast, &cache.backing].iter().any(|it| matches!(it, DeviceConfig::Disk(_))) {
            compare("drawn", &cache, seed);
        }
    }
}

#[test]
fn restored_tiers_continue_bit_identically() {
    let keys = |more: Value| [json!({"mode": "tiered", "tier": {"gain": 1.0}}), more];
    let plain = config(&keys(json!({})));
    compare("laws", &CacheConfig { fast: fixed(32, 10 * US), ..plain.clone() }, 2);
    compare("drives", &CacheConfig { fast: fixed(64, 10 * US), backing: ssd(), ..plain }, 3);
    let slow = config(&keys(json!({"line": "16KiB", "tier": {"gain": 2.0}})));
    compare("extents", &CacheConfig { fast: fixed(64, 10 * US), ..slow }, 4);
}

/// A cache before a cache, and before an array.
#[test]
fn what_is_nested_is_saved_with_it() {
    let inner = CacheConfig { fast: fixed(64, 40 * US), backing: ssd(), ..config(&[]) };
    let outer = CacheConfig { fast: fixed(32, 5 * US), backing: as_device(&inner), ..config(&[]) };
    compare("nested", &outer, 5);
}

#[test]
fn a_state_of_another_cache_is_refused_with_the_keys_that_differ() {
    let state = |keys: Value| {
        let mut device = build(config(&[keys]));
        prepare(&mut *device, 1, 100);
        kept(&*device)
    };
    let refusal = |keys: Value, state: &[u8]| {
        let device = build(config(&[keys]));
        read_for(&*device, state).unwrap_err()
    };
    let of = state(json!({}));
    let words = refusal(json!({"replacement": "arc"}), &of);
    assert!(words.contains("device.replacement is lru there and arc here"), "{words}");
    let words = refusal(json!({"line": "8KiB"}), &of);
    assert!(words.contains("device.line is 4096 there and 8192 here"), "{words}");
    assert!(refusal(json!({"mode": "tiered"}), &of).contains("another kind"));
    let drive = DeviceConfig::Ssd(Box::new(small())).build(1).unwrap();
    assert!(read_for(&*drive, &of).is_err());
    let with_drive = CacheConfig { backing: ssd(), ..config(&[]) };
    let mut device = build(CacheConfig { backing: ssd(), ..config(&[]) });
    prepare(&mut *device, 1, 100);
    let mut other = SsdConfig { blocks_per_plane: 32, pages_per_block: 16, ..small() };
    other.wear.rated_cycles = 77;
    let other = CacheConfig { backing: DeviceConfig::Ssd(Box::new(other)), ..with_drive };
    let words = read_for(&*build(other), &kept(&*device)).unwrap_err();
    assert!(words.contains("device.backing.wear.rated_cycles is"), "{words}");
}

/// Whatever a file says, it is refused or taken up as a sound state.
#[test]
fn a_damaged_state_never_becomes_a_device() {
    for keys in [json!({}), json!({"replacement": "arc"}), json!({"mode": "tiered"})] {
        let mut device = build(config(std::slice::from_ref(&keys)));
        prepare(&mut *device, 1, 60);
        let state = kept(&*device);
        let random = &mut Xoshiro256::new(9, 0);
        let mut taken = 0;
        for _ in 0..200 {
            let mut bytes = state.clone();
            let place = random.below(bytes.len() as u64) as usize;
            bytes[place] ^= 1 << random.below(8);
            let mut other = build(config(std::slice::from_ref(&keys)));
            let read = read_for(&*other, &bytes).and_then(|state| other.restore(state));
            if read.is_ok() {
                taken += 1;
                other.audit().unwrap();
                proceed(&mut *other, 1, 10);
            }
        }
        assert!(taken < 150, "{keys}: {taken} of 200");
    }
}
