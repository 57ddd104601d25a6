//! Shared by the tests of devices: small drives, scripted requests, completions in order.
#![allow(dead_code)] // each test file uses its part

pub mod depth;

use devices::ssd::config::{Cleaning, CleaningTime, Fill};
use devices::ssd::{Ssd, SsdConfig};
use devices::{DeviceConfig, Model};
use engine::{
    Arrival, Completion, Lba, Observer, Op, PowerCuts, Request, Time, Workload, WorkloadError,
    drive, drive_with,
};
use options::{KeyInfo, Setting};
use std::ops::ControlFlow;

pub const US: Time = 1000;

/// A drive of two packages on a bus each, 64 blocks of 64 pages a plane, one plane.
pub fn small() -> SsdConfig {
    SsdConfig {
        channels: 2,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 64,
        ..SsdConfig::default()
    }
}

/// The same with cleaning that holds its package.
pub fn small_blocking() -> SsdConfig {
    let cleaning = Cleaning { time: CleaningTime::Blocking, ..Cleaning::default() };
    SsdConfig { cleaning, ..small() }
}

pub fn fill(share: &str) -> Fill {
    let text = format!("\"{share}\"");
    let partial: Option<Fill> =
        serde_json::from_str(&text).or(serde_json::from_str(share)).unwrap();
    Setting::complete(partial, Fill::FULL)
}

/// One request: when, what, first page and pages, in 4 KiB pages.
pub type Step = (Time, Op, u64, u32);

/// Submits steps at their times.
pub struct Script {
    steps: std::vec::IntoIter<Request>,
    times: std::vec::IntoIter<Time>,
}

impl Script {
    pub fn pages(steps: &[Step]) -> Script {
        let sectors: Vec<_> =
            steps.iter().map(|(at, op, page, pages)| (*at, *op, page * 8, pages * 8)).collect();
        Script::sectors(&sectors)
    }

    pub fn sectors(steps: &[Step]) -> Script {
        let request = |(id, step): (usize, &Step)| {
            let (_, op, lba, sectors) = *step;
            Request::new(id as u64, op, Lba(lba), sectors)
        };
        let requests: Vec<_> = steps.iter().enumerate().map(request).collect();
        let times: Vec<_> = steps.iter().map(|step| step.0).collect();
        Script { steps: requests.into_iter(), times: times.into_iter() }
    }
}

impl Workload for Script {
    fn next(&mut self, _: Time) -> Result<Option<Arrival>, WorkloadError> {
        let next = self.times.next().zip(self.steps.next());
        Ok(next.map(|(at, request)| Arrival { at, request }))
    }

    fn completed(&mut self, _: &Completion) {}

    fn expected_requests(&self) -> Option<u64> {
        None
    }
}

/// Keeps every completion.
#[derive(Default)]
pub struct Keep(pub Vec<Completion>);

impl Observer for Keep {
    fn completed(&mut self, completion: &Completion) {
        assert_eq!(completion.latency(), completion.breakdown.total());
        self.0.push(*completion);
    }

    fn tick(&mut self, _: Time) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Runs a script to its end, audits the drive, and returns the completions ordered by request.
pub fn run_on(ssd: &mut Ssd, mut script: Script) -> Vec<Completion> {
    let mut keep = Keep::default();
    drive(ssd, &mut script, Time::MAX, &mut keep).unwrap();
    ssd.check().unwrap();
    keep.0.sort_by_key(|completion| completion.request.id);
    keep.0
}

/// Runs page-sized steps on a new drive.
pub fn run(config: &SsdConfig, steps: &[Step]) -> Vec<Completion> {
    run_on(&mut Ssd::new(config, 0).unwrap(), Script::pages(steps))
}

/// The completion times of page-sized steps on a new drive, by request.
pub fn times(config: &SsdConfig, steps: &[Step]) -> Vec<Time> {
    run(config, steps).iter().map(|completion| completion.at).collect()
}

/// Runs a property for every seed, one after the other; a failure names its seed.
///
/// With the environment variable `SEED` set, only that one runs.
pub fn seeds(range: std::ops::Range<u64>, mut property: impl FnMut(u64)) {
    let only = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    for seed in only.map_or(range, |seed: u64| seed..seed + 1) {
        let run = std::panic::AssertUnwindSafe(|| property(seed));
        if let Err(cause) = std::panic::catch_unwind(run) {
            eprintln!("failed with seed {seed}; SEED={seed} runs it alone");
            std::panic::resume_unwind(cause);
        }
    }
}

/// A fixed number of requests outstanding, each made from its number.
pub struct Closed<F> {
    make: F,
    issued: u64,
    requests: u64,
    room: u32,
    begin_at: Time,
}

impl<F: FnMut(u64) -> Request> Closed<F> {
    pub fn new(outstanding: u32, requests: u64, make: F) -> Self {
        Closed { make, issued: 0, requests, room: outstanding, begin_at: 0 }
    }

    pub fn begin_at(&mut self, at: Time) {
        self.begin_at = at;
    }
}

impl<F: FnMut(u64) -> Request> Workload for Closed<F> {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if self.room == 0 || self.issued == self.requests {
            return Ok(None);
        }
        self.room -= 1;
        self.issued += 1;
        let request = (self.make)(self.issued - 1);
        Ok(Some(Arrival { at: now.max(self.begin_at), request }))
    }

    fn completed(&mut self, _: &Completion) {
        self.room += 1;
    }

    fn expected_requests(&self) -> Option<u64> {
        Some(self.requests)
    }
}

/// Runs a closed load to its end and audits the drive. Returns when the last request was
/// answered, and the completions in order of completion.
pub fn run_closed(device: &mut dyn Model, workload: &mut dyn Workload) -> (Time, Vec<Completion>) {
    let mut keep = Keep::default();
    let end = drive(device, workload, Time::MAX, &mut keep).unwrap().last;
    device.audit().unwrap();
    (end, keep.0)
}

/// The same with a power cut.
pub fn run_cut(
    device: &mut dyn Model,
    workload: &mut dyn Workload,
    at: Time,
) -> (Time, Vec<Completion>) {
    let mut keep = Keep::default();
    let mut cuts = PowerCuts { times: [at].into(), ..PowerCuts::new(1_000_000) };
    let end = drive_with(device, workload, Time::MAX, &mut keep, &mut cuts).unwrap().last;
    assert_eq!(cuts.made, [at], "the run was longer");
    device.audit().unwrap();
    (end, keep.0)
}

/// An SSD as a file would configure it: full paths of keys, such as `device.timing.read`.
pub fn configured(keys: &[(&str, serde_json::Value)]) -> DeviceConfig {
    let layer = |(path, value): &(&str, serde_json::Value)| {
        let parts = path.split('.').skip(1).collect::<Vec<_>>();
        let nest = |inner, part: &&str| serde_json::json!({ *part: inner });
        parts.iter().rev().fold(value.clone(), nest)
    };
    match DeviceConfig::resolve("ssd", keys.iter().map(layer)) {
        Ok(config) => config,
        Err(error) => panic!("{keys:?}: {error:?}"),
    }
}

/// The reference of the keys of an SSD.
pub fn reference() -> Vec<KeyInfo> {
    let mut rows = Vec::new();
    devices::describe("ssd", &mut rows);
    rows
}

/// Greedy's write amplification for many blocks of `pages` pages each (Desnoyers, SYSTOR'12).
///
/// Blocks are written full and sink; `j0` is the smallest number of valid pages that any reaches.
pub fn greedy(alpha: f64, pages: u32) -> f64 {
    let b = f64::from(pages);
    let harmonic = |n: u32| (1..=n).map(|k| 1.0 / f64::from(k)).sum::<f64>();
    let all = harmonic(pages);
    for least in 0..pages {
        let (j, rest) = (f64::from(least), all - harmonic(least));
        let c = (1.0 - j * alpha / b) / (b - j - j * rest);
        let n = alpha / b - c * rest;
        if c > 0.0 && n >= 0.0 && n * j <= c {
            return c * b;
        }
    }
    panic!("no solution for alpha {alpha}, {pages} pages a block");
}
