//! Drives whose data age: what is read with retries, what is lost, and what heals it.

mod ageing;
mod failing;
mod losses;
#[cfg(feature = "planted")]
mod planted;
mod scrub;
mod units;

use crate::buffered::small;
use crate::common::{Closed, configured, run_closed};
use devices::ssd::media::MediaReport;
use devices::ssd::{Ssd, SsdConfig};
use devices::{DeviceConfig, Instruction, Model};
use engine::{Completion, Device, Lba, Op, Random, Request, Status, Time, Xoshiro256};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

const SECTORS: u64 = 8;

fn config(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut keys = small();
    keys.push(("device.media.model", json!("tlc-3d")));
    keys.extend(changes.iter().cloned());
    match configured(&keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

/// A drive that loses some of its pages in a year at 40 C, because its table of references ends; what was written
/// since it reads at once.
fn losing(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut all = vec![
        ("device.retry.steps", json!(22)),
        ("device.retry.search", json!("none")),
        ("device.media.spread_layer", json!(0.05)),
    ];
    all.extend(changes.iter().cloned());
    config(&all)
}

/// A drive that loses some of its pages, because they have too many errors.
fn worn(changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut all =
        vec![("device.media.cycles", json!(2500)), ("device.media.spread_errors", json!(0.5))];
    all.extend(changes.iter().cloned());
    config(&all)
}

/// A drive, and the instant up to which it was used.
struct Drive {
    ssd: Ssd,
    at: Time,
}

impl Deref for Drive {
    type Target = Ssd;
    fn deref(&self) -> &Ssd {
        &self.ssd
    }
}

impl DerefMut for Drive {
    fn deref_mut(&mut self) -> &mut Ssd {
        &mut self.ssd
    }
}

impl Drive {
    /// Serves so many requests, one made from each number, and lets the drive come to rest.
    fn serve(
        &mut self,
        depth: u32,
        count: u64,
        make: impl FnMut(u64) -> Request,
    ) -> Vec<Completion> {
        let mut load = Closed::new(depth, count, make);
        load.begin_at(self.at);
        let (end, completions) = run_closed(&mut self.ssd, &mut load);
        self.at = end;
        while let Some(next) = self.ssd.next_event() {
            self.at = next;
            self.ssd.advance(next, &mut Vec::new());
        }
        completions
    }
}

fn new(config: &SsdConfig) -> Drive {
    Drive { ssd: Ssd::new(config, 7).unwrap(), at: 0 }
}

fn aged(config: &SsdConfig, ages: &[&str]) -> Drive {
    let mut drive = new(config);
    for age in ages {
        drive.instruct(0, Instruction::Age(age.parse().unwrap())).unwrap();
    }
    drive
}

fn pages(ssd: &Ssd) -> u64 {
    ssd.capacity_sectors() / SECTORS
}

/// Reads every page once, one after the other.
fn read_all(drive: &mut Drive) -> Vec<Completion> {
    let count = pages(drive);
    let make = |n: u64| Request::new(n, Op::Read, Lba(n * SECTORS), SECTORS as u32);
    let mut all = drive.serve(1, count, make);
    all.sort_by_key(|completion| completion.request.lba.0);
    all
}

/// The same without instants.
fn times(completions: &[Completion]) -> Vec<(Time, Status)> {
    completions.iter().map(|it| (it.latency(), it.status)).collect()
}

fn lost(completions: &[Completion]) -> BTreeSet<u64> {
    let of = completions.iter().filter(|it| it.status == Status::Unreadable);
    of.map(|it| it.request.lba.0 / SECTORS).collect()
}

fn lost_of(ssd: &mut Drive) -> BTreeSet<u64> {
    lost(&read_all(ssd))
}

fn write(drive: &mut Drive, requests: &[(Op, u64, u32)]) {
    let make = |n: u64| {
        let (op, lba, sectors) = requests[n as usize];
        Request::new(n, op, Lba(lba), sectors)
    };
    let done = drive.serve(8, requests.len() as u64, make);
    assert!(done.iter().all(|it| it.status.is_ok()), "changes succeed");
}

fn media(ssd: &Ssd) -> MediaReport {
    ssd.account(1).aged.unwrap()
}

fn mixed(mut drive: Drive) -> Vec<Completion> {
    let count = pages(&drive);
    let mut random = Xoshiro256::new(3, 1);
    let make = |n: u64| {
        let op = if random.below(2) == 0 { Op::Read } else { Op::Write };
        let long = 1 + random.below(6);
        Request::new(n, op, Lba(random.below(count - long) * SECTORS), (long * SECTORS) as u32)
    };
    drive.serve(16, 20_000, make)
}
