//! The orders in which a disk serves what waits.

use super::{Load, config, disk, plain};
use devices::DeviceKind as _;
use devices::disk::Scheduler;
use engine::{Completion, Lba, Op, Request, Time};
use options::Choice;
use serde_json::json;

/// The rate and the 99.9th percentile of random reads with 16 outstanding.
fn under(scheduler: &str) -> (f64, Time) {
    let keys = [plain(), json!({ "scheduler": scheduler })];
    let (end, done, _) = Load::reads(16, 40_000).run(disk(&keys).as_mut());
    let mut times: Vec<Time> = done.iter().map(Completion::latency).collect();
    times.sort_unstable();
    (done.len() as f64 / end as f64 * 1e9, times[times.len() * 999 / 1000])
}

#[test]
fn orders_that_consider_more_are_faster_and_less_fair() {
    let [fcfs, c_look, scan, sstf, sptf] = ["fcfs", "c-look", "scan", "sstf", "sptf"].map(under);
    assert!(sptf.0 > 1.1 * sstf.0 && sstf.0 >= c_look.0 && c_look.0 > 1.2 * fcfs.0);
    assert!(sptf.1 > sstf.1 && sstf.1 > scan.1 && scan.1 > c_look.1 && c_look.1 > fcfs.1);
}

/// The order in which requests are answered, all of which wait while one is served.
fn order(scheduler: &str, sectors: &[u64]) -> Vec<u64> {
    let mut device = disk(&[plain(), json!({ "scheduler": scheduler })]);
    device.submit(0, Request::new(0, Op::Read, Lba(100_000), 1));
    for (id, sector) in sectors.iter().enumerate() {
        device.submit(0, Request::new(id as u64 + 1, Op::Read, Lba(*sector), 1));
    }
    let mut done = Vec::new();
    device.advance(Time::MAX / 4, &mut done);
    done[1..].iter().map(|it| it.request.lba.0).collect()
}

#[test]
fn each_order_serves_requests_as_its_name_says() {
    let sectors = [10_000, 180_000, 90_000, 120_000, 101_000];
    assert_eq!(order("fcfs", &sectors), sectors);
    assert_eq!(order("sstf", &sectors), [101_000, 90_000, 120_000, 180_000, 10_000]);
    assert_eq!(order("scan", &sectors), [101_000, 120_000, 180_000, 90_000, 10_000]);
    assert_eq!(order("c-look", &sectors), [101_000, 120_000, 180_000, 10_000, 90_000]);
    assert_eq!(Scheduler::WORDS.len(), 5);
}

#[test]
fn shortest_positioning_time_includes_rotation() {
    // Three on the track under the head: in the order in which they pass, whatever the order of arrival.
    let found = order("sptf", &[100_090, 100_050, 100_020]);
    assert_eq!(found, [100_020, 100_050, 100_090]);
}

#[test]
fn a_request_that_has_waited_too_long_is_next() {
    let slowest = |keys| {
        let (_, done, _) = Load::reads(16, 20_000).run(disk(&[plain(), keys]).as_mut());
        done.iter().map(Completion::latency).max().unwrap()
    };
    let without = slowest(json!({ "scheduler": "sptf" }));
    let with = slowest(json!({ "scheduler": "sptf", "max_wait": "100ms" }));
    assert!(with < 350_000_000 && without > 2 * with, "{with}, {without}");
    let refused = config(&[json!({ "max_wait": "100ms" })]);
    assert!(refused.build(0).is_ok());
}
