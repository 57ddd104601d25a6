//! A fast device in front of another: closed forms, what each key does, what is refused, and what a power cut leaves.

mod kept;
mod keys;
mod laws;
pub mod power;
mod refusals;
mod tiers;

use crate::common::{Closed, run_closed};
use devices::cache::CacheConfig;
use devices::disk::DiskConfig;
use devices::law::{LawConfig, Pattern};
use devices::{DeviceConfig, DeviceKind as _, Model, Report};
use engine::{Completion, Lba, Op, Random, Request, Time, Xoshiro256};
use options::Size;
use serde_json::Value;

pub const US: u64 = 1_000;

/// A device of so many KiB in which every request takes a fixed time.
pub fn fixed(kib: u64, ns: u64) -> DeviceConfig {
    let line = || Pattern::line(ns, 0);
    DeviceConfig::Law(Box::new(LawConfig {
        size: Size::from_bytes(kib << 10),
        sequential_read: line(),
        random_read: line(),
        sequential_write: line(),
        random_write: line(),
        ..LawConfig::default()
    }))
}

/// 64 lines of memory that takes 10 us, in front of 16 MiB that take 5 ms; keys over the defaults.
pub fn config(keys: &[Value]) -> CacheConfig {
    match DeviceConfig::resolve("cache", keys) {
        Ok(DeviceConfig::Cache(cache)) => CacheConfig {
            fast: fixed(256, 10 * US),
            backing: fixed(16 << 10, 5_000 * US),
            ..*cache
        },
        Ok(_) => panic!("it is a cache"),
        Err(error) => panic!("{keys:?}: {error:?}"),
    }
}

pub fn build(config: CacheConfig) -> Box<dyn Model> {
    let config = DeviceConfig::Cache(Box::new(config));
    config.build(5).unwrap_or_else(|refusal| panic!("{refusal}"))
}

pub fn cache(keys: &[Value]) -> Box<dyn Model> {
    build(config(keys))
}

/// A small hard disk that answers writes before they are on the media.
pub fn disk() -> DiskConfig {
    match DeviceConfig::resolve("disk", [crate::disk::plain()]) {
        Ok(DeviceConfig::Disk(disk)) => {
            DiskConfig { write_cache: devices::disk::WriteCache::On, ..*disk }
        }
        other => panic!("{other:?}"),
    }
}

/// Requests of 4 KiB to lines that are drawn by `line`, one at a time: when it ended, the answers and the report.
pub fn run(
    device: &mut dyn Model,
    (op, requests, outstanding): (Op, u64, u32),
    mut line: impl FnMut(u64, &mut Xoshiro256) -> u64,
) -> (Time, Vec<Completion>, Report) {
    let mut random = Xoshiro256::new(8, 0);
    let mut load = Closed::new(outstanding, requests, |id| {
        Request::new(id, op, Lba(line(id, &mut random) * 8), 8)
    });
    let (end, done) = run_closed(device, &mut load);
    let report = device.report(end).section("cache").expect("a cache reports").clone();
    (end, done, report)
}

pub fn mean_us(done: &[Completion]) -> f64 {
    done.iter().map(Completion::latency).sum::<Time>() as f64 / done.len() as f64 / 1e3
}

/// A line among `lines`, the first ones far more often.
pub fn skewed(lines: u64, random: &mut Xoshiro256) -> u64 {
    let unit = random.unit();
    (unit * unit * unit * lines as f64) as u64
}
