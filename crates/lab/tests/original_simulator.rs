//! Comparison with the original simulator, request by request: replays its runs on `disksim-ssd`
//! and compares every response time with its log.
//!
//! The logs and traces are not part of this project and lie in `../shared` beside it. These tests
//! are ignored by default and fail if the files are missing; `make test` runs them if `../shared`
//! exists.

use devices::latency::HOST_QUEUE;
use devices::{DeviceConfig, DeviceKind as _, Model};
use engine::{Completion, Observer, Time, drive};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use workloads::trace::{Trace, TraceReader};
use workloads::{Context, Inputs};

fn shared(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(path)
}

#[expect(clippy::disallowed_methods, reason = "a test reads its data")]
fn open(path: &PathBuf) -> Box<dyn Read + Send> {
    Box::new(File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

struct Responses(Vec<Time>);

impl Observer for Responses {
    fn completed(&mut self, completion: &Completion) {
        let id = completion.request.id as usize;
        if self.0.len() <= id {
            self.0.resize(id + 1, 0);
        }
        // The original's definition: from arrival at the device.
        self.0[id] = completion.latency() - completion.breakdown[HOST_QUEUE];
    }

    fn tick(&mut self, _: Time) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn responses(mut device: Box<dyn Model>, trace: &Path) -> Vec<Time> {
    let options = Trace { path: trace.display().to_string(), ..Trace::default() };
    let context = Context {
        capacity_sectors: device.capacity_sectors(),
        scale: 1,
        volumes: 1,
        zones: None,
        seed: 0,
        pass: 0,
        inputs: Inputs::streams(|path| Ok(open(&path.into()))),
    };
    let mut reader = TraceReader::new(&options, &context).unwrap();
    let mut responses = Responses(Vec::new());
    drive(&mut *device, &mut reader, Time::MAX, &mut responses).unwrap();
    device.audit().unwrap();
    responses.0
}

/// The original's drive, with this many blocks per plane, 15 % of them spare, rounded down.
fn drive_of(blocks_per_plane: u32) -> Box<dyn Model> {
    let preset: toml::Table = include_str!("../presets/devices/disksim-ssd.toml").parse().unwrap();
    let mut device = preset["device"].as_table().unwrap().clone();
    device.remove("kind");
    device.insert("blocks_per_plane".into(), i64::from(blocks_per_plane).into());
    device.insert("spare_blocks_per_plane".into(), i64::from(blocks_per_plane * 15 / 100).into());
    DeviceConfig::resolve("ssd", [device]).unwrap().build(0).unwrap()
}

/// A run compared with its log.
struct Comparison {
    requests: u32,
    /// Requests whose response differs by more than 100 ns.
    differ: u32,
    /// Our mean over the original's, less one.
    mean_difference: f64,
}

fn compare(trace: &str, log: &str, blocks_per_plane: u32) -> Comparison {
    let (trace, log) = (shared(trace), shared(log));
    let ours = responses(drive_of(blocks_per_plane), &trace);
    let lines = BufReader::new(zstd::Decoder::new(open(&log)).unwrap()).lines();
    let (mut requests, mut differ, mut sum_ours, mut sum_theirs) = (0u32, 0u32, 0.0, 0.0);
    for line in lines.skip(1) {
        let line = line.unwrap();
        let mut fields = line.split_whitespace();
        let id: usize = fields.next().unwrap().parse().unwrap();
        let theirs = fields.next_back().unwrap().parse::<f64>().unwrap() * 1e6;
        let ours = ours[id] as f64;
        requests += 1;
        differ += u32::from((ours - theirs).abs() > 100.0);
        sum_ours += ours;
        sum_theirs += theirs;
    }
    let mean_difference = sum_ours / sum_theirs - 1.0;
    eprintln!(
        "{requests} requests, {differ} differ, mean {mean_difference:+.6}: {}",
        log.display()
    );
    Comparison { requests, differ, mean_difference }
}

#[test]
#[ignore = "needs ../shared"]
fn every_request_of_postmark_on_the_full_drive() {
    let trace = "traces/disksim_postmark_aligned2.trace.zst";
    let run = compare(trace, "oracle/per_request/postmark.txt.zst", 2048);
    assert_eq!((run.requests, run.differ), (62_256, 0));
}

/// On drives of 64 blocks a plane the original permanently loses one block of 512 (see
/// docs/original-simulator.md), 1.3 % of the spare space, so that it cleans a little more than this
/// model. With that block withheld here too, none of the requests below differs but 41 of the
/// TPC-C-like ones, which are ties at equal times.
#[test]
#[ignore = "needs ../shared"]
fn small_drives_are_within_one_percent() {
    for (name, requests) in [("w_rw4k", 199_993), ("w_tpcc", 199_997), ("w_wr128k", 19_997)] {
        let trace = format!("traces/oracle_{name}.trace.zst");
        let log = format!("oracle/per_request/small-{name}.txt.zst");
        let run = compare(&trace, &log, 64);
        assert_eq!(run.requests, requests, "{name}");
        let below = (-0.01..=0.0).contains(&run.mean_difference);
        assert!(below, "{name}: the mean differs by {}", run.mean_difference);
    }
}
