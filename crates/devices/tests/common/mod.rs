//! Shared by the tests of devices: small drives, scripted requests, completions in order.
#![allow(dead_code)] // each test file uses its part

use devices::ssd::config::{Cleaning, CleaningTime, Fill};
use devices::ssd::{Ssd, SsdConfig};
use engine::{
    Arrival, Completion, Lba, Observer, Op, Request, Time, Workload, WorkloadError, drive,
};
use options::Setting;
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
            Request { id: id as u64, op, lba: Lba(lba), sectors }
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
