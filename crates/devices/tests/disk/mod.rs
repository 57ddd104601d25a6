//! Hard disks: closed forms, what each key does, and what is refused.

mod buffer;
mod forms;
mod keys;
mod orders;
mod refusals;

use crate::common::{Closed, run_closed};
use devices::{DeviceConfig, DeviceKind as _, Model, Report};
use engine::{Completion, Lba, Op, Random, Request, Time, Xoshiro256};
use serde_json::{Value, json};

/// A disk with keys over its defaults, later ones over earlier ones.
pub fn config(keys: &[Value]) -> DeviceConfig {
    match DeviceConfig::resolve("disk", keys) {
        Ok(config) => config,
        Err(error) => panic!("{keys:?}: {error:?}"),
    }
}

pub fn disk(keys: &[Value]) -> Box<dyn Model> {
    config(keys).build(3).unwrap_or_else(|refusal| panic!("{keys:?}: {refusal}"))
}

/// 1,000 cylinders of two surfaces and tracks of 100 sectors at 6,000 turns a minute: a sector takes 100 us.
/// Seeks take 1 ms for a cylinder and 10 us for each further one; commands take nothing, nor does the
/// bus; nothing is read ahead, and writes are answered when they are on the disk.
pub fn plain() -> Value {
    json!({
        "rpm": 6000, "cylinders": 1000, "surfaces": 2, "zones": "0-999: 100",
        "bus_per_sector": "0ns", "write_cache": "off", "scheduler": "fcfs",
        "seek": {
            "table": "1: 1ms, 999: 10.98ms", "write_settle": "0ns", "head_switch": "0ns"
        },
        "overhead": { "read_hit": "0ns", "read_miss": "0ns", "write": "0ns" },
        "buffer": { "segments": 4, "segment": "64KiB", "read_ahead": "0B", "write_segments": 2 },
    })
}

/// Random aligned requests of a fixed number of sectors, within a share of the disk.
pub struct Load {
    pub op: Op,
    pub sectors: u32,
    pub outstanding: u32,
    pub requests: u64,
    pub share: f64,
}

impl Load {
    pub fn reads(outstanding: u32, requests: u64) -> Load {
        Load { op: Op::Read, sectors: 16, outstanding, requests, share: 1.0 }
    }

    /// Runs it: when it ended, the answers, and what the disk did.
    pub fn run(&self, device: &mut dyn Model) -> (Time, Vec<Completion>, Report) {
        let places = device.capacity_sectors() as f64 * self.share / f64::from(self.sectors);
        let mut random = Xoshiro256::new(8, 0);
        let mut load = Closed::new(self.outstanding, self.requests, |id| {
            let place = random.below(places as u64);
            Request::new(id, self.op, Lba(place * u64::from(self.sectors)), self.sectors)
        });
        let (end, done) = run_closed(device, &mut load);
        let report = device.report(end).section("disk").expect("a disk reports").clone();
        (end, done, report)
    }
}

pub fn mean_us(done: &[Completion]) -> f64 {
    done.iter().map(Completion::latency).sum::<Time>() as f64 / done.len() as f64 / 1e3
}

/// Within a share of what is expected.
#[track_caller]
pub fn close(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{found}, expected {expected}");
}
