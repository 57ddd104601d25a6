//! What the buffer of a disk does: read-ahead, hits, writes that are answered early.

use super::{close, disk, plain};
use crate::common::{Keep, Script};
use devices::Model;
use engine::{Completion, Lba, Op, Random, Request, Time, Xoshiro256, drive};
use serde_json::{Value, json};

const MS: Time = 1_000_000;

fn run(device: &mut dyn Model, steps: &[(Time, Op, u64, u32)]) -> Vec<Completion> {
    let mut keep = Keep::default();
    drive(device, &mut Script::sectors(steps), Time::MAX, &mut keep).unwrap();
    device.audit().unwrap();
    keep.0.sort_by_key(|completion| completion.request.id);
    keep.0
}

fn latencies_us(keys: &[Value], steps: &[(Time, Op, u64, u32)]) -> Vec<f64> {
    let done = run(disk(keys).as_mut(), steps);
    done.iter().map(|it| it.latency() as f64 / 1e3).collect()
}

fn ahead() -> [Value; 2] {
    let buffer = json!({ "read_ahead": "25KiB" });
    let overhead = json!({"read_hit": "50us", "read_miss": "300us"});
    [plain(), json!({ "buffer": buffer, "overhead": overhead, "bus_per_sector": "10us" })]
}

#[test]
fn sectors_that_were_read_ahead_are_answered_from_the_buffer() {
    // 4 sectors, then 50 more within 5 ms; a hit costs its overhead and the bus.
    let steps = [
        (0, Op::Read, 0, 4),
        (50 * MS, Op::Read, 4, 4),
        (90 * MS, Op::Read, 8, 46),
        (130 * MS, Op::Read, 54, 1),
    ];
    let times = latencies_us(&ahead(), &steps);
    // Each hit moves on how far is read ahead.
    assert_eq!(times[1..], [50.0 + 40.0, 50.0 + 460.0, 50.0 + 10.0]);
    let mut device = disk(&ahead());
    let done = run(device.as_mut(), &steps);
    let report = device.report(done[3].at).section("disk").unwrap().clone();
    assert_eq!(
        (
            report.count("read_hits"),
            report.count("read_misses"),
            report.count("sectors_read_ahead")
        ),
        (3, 1, 100)
    );
}

#[test]
fn sectors_that_are_being_read_ahead_are_answered_as_they_pass() {
    // Right after the first read: sectors 4 to 7 have yet to pass, which takes 400 us.
    let mut device = disk(&ahead());
    let first = run(device.as_mut(), &[(0, Op::Read, 0, 4)])[0].at;
    let mut done = Vec::new();
    // The last of the four had 10 us on the bus while sector 4 began to pass; 90 us later it has been read.
    device.submit(first + 100_000, Request::new(1, Op::Read, Lba(4), 4));
    let end = device.next_event().unwrap();
    device.advance(end, &mut done);
    let since = end - first;
    assert!(since.abs_diff(400_000) <= 10, "four sectors and the bus of the last one: {since}");
    let report = device.report(end).section("disk").unwrap().clone();
    assert_eq!(
        (
            report.count("read_partial_hits"),
            report.count("read_misses"),
            report.count("media_reads")
        ),
        (1, 1, 1)
    );
}

#[test]
fn a_read_that_begins_where_read_ahead_has_come_joins_it() {
    // At once after the first: the next sector has yet to pass.
    let mut device = disk(&ahead());
    let first = run(device.as_mut(), &[(0, Op::Read, 0, 4)])[0].at;
    let mut done = Vec::new();
    device.submit(first, Request::new(1, Op::Read, Lba(4), 4));
    device.advance(first + MS, &mut done);
    let since = done[0].at - first;
    assert!(since.abs_diff(400_000) <= 10, "four sectors: {since}");
    // One that leaves a sector out waits for a turn.
    device.submit(done[0].at, Request::new(2, Op::Read, Lba(9), 1));
    assert!(device.next_event() > Some(done[0].at + 9 * MS));
}

#[test]
fn a_request_elsewhere_ends_read_ahead() {
    let far = 150_000;
    let steps = [(0, Op::Read, 0, 4), (0, Op::Read, far, 1), (60 * MS, Op::Read, 50, 4)];
    let mut device = disk(&ahead());
    let done = run(device.as_mut(), &steps);
    assert_eq!(device.report(done[2].at).count("disk.read_misses"), 3, "not that far");
    // And so does a write to what is being read.
    let steps = [(0, Op::Read, 0, 4), (50 * MS, Op::Write, 20, 4), (90 * MS, Op::Read, 10, 4)];
    let mut device = disk(&ahead());
    let done = run(device.as_mut(), &steps);
    assert_eq!(device.report(done[2].at).count("disk.read_hits"), 0);
}

fn cached() -> [Value; 2] {
    let keys = json!({ "write_cache": "on", "bus_per_sector": "10us",
                       "overhead": {"write": "100us", "read_miss": "0ns"} });
    [plain(), keys]
}

#[test]
fn a_cached_write_is_answered_when_its_data_are_there() {
    let steps =
        [(0, Op::Write, 5000, 4), (100 * MS, Op::Flush, 0, 0), (200 * MS, Op::Read, 5001, 2)];
    let times = latencies_us(&cached(), &steps);
    close(times[0], 140.0, 1e-9);
    // It has long been on the disk, and is still in the buffer.
    close(times[1], 100.0, 1e-9);
    close(times[2], 20.0, 1e-9);
    // A flush at once waits for it, and a write that must be durable takes as long.
    let waits = latencies_us(&cached(), &[(0, Op::Write, 5000, 4), (0, Op::Flush, 0, 0)])[1];
    assert!(waits > 1_000.0, "{waits}");
    let mut device = disk(&cached());
    device.submit(0, Request { fua: true, ..Request::new(0, Op::Write, Lba(5000), 4) });
    assert!(device.next_event() > Some(MS));
}

#[test]
fn a_run_of_writes_is_on_its_way_at_once_and_others_wait_for_it() {
    let keys = [&cached()[..], &[json!({ "write_cache": "run" })]].concat();
    let steps = [(0, Op::Write, 5000, 4), (0, Op::Write, 5004, 4), (0, Op::Write, 90_000, 4)];
    let times = latencies_us(&keys, &steps);
    close(times[0], 140.0, 1e-9);
    close(times[1], 280.0, 1e-9);
    assert!(times[2] > 1_000.0, "{times:?}");
    // The heads leave with the command, not once the data are there.
    let alone = |extra: Value| {
        let keys = [&keys[..], &[extra]].concat();
        latencies_us(&keys, &[(0, Op::Write, 5000, 4), (0, Op::Flush, 0, 0)])[1]
    };
    close(alone(json!({})), alone(json!({ "write_cache": "off" })), 0.2);
    let device = disk(&keys);
    assert!(device.audit().is_ok());
}

#[test]
fn a_write_waits_where_the_buffer_is_full() {
    // Two segments may be dirty: the first of them is on its way to the disk at once.
    let steps: Vec<_> = (0..4).map(|id| (0, Op::Write, 40_000 * id, 4)).collect();
    let times = latencies_us(&cached(), &steps);
    assert_eq!(times[..2], [140.0, 280.0]);
    assert!(times[2] > 1_000.0 && times[3] > times[2] + 1_000.0, "{times:?}");
    let mut device = disk(&cached());
    let done = run(device.as_mut(), &steps);
    let report = device.report(done[3].at).section("disk").unwrap().clone();
    assert_eq!(report.count("writes_cached"), 4);
    assert!((1..4).contains(&report.count("media_writes")), "the last are still in the buffer");
}

#[test]
fn sequential_writes_go_to_the_disk_together_and_old_data_not_at_all() {
    let written = |steps: &[(Time, Op, u64, u32)]| {
        let mut device = disk(&cached());
        let done = run(device.as_mut(), steps);
        device.report(done.last().unwrap().at).count("disk.media_writes")
    };
    // All of them are there before the heads are free.
    let sequential: Vec<_> = (0..10).map(|id| (0, Op::Write, id * 4, 4)).collect();
    assert_eq!(written(&[&sequential[..], &[(0, Op::Flush, 0, 0)]].concat()), 1);
    let again: Vec<_> = (0..10).map(|_| (0, Op::Write, 8, 4)).collect();
    assert_eq!(written(&[&again[..], &[(0, Op::Flush, 0, 0)]].concat()), 1);
}

#[test]
fn destaging_continues_while_idle_and_reads_wait_for_it() {
    let steps = [(0, Op::Write, 100_000, 4), (MS, Op::Read, 0, 1)];
    let with = latencies_us(&cached(), &steps)[1];
    let without = latencies_us(&cached(), &[(MS, Op::Read, 100_000, 4), (MS, Op::Read, 0, 1)])[1];
    assert!(with > 5_000.0, "there, and back: {with}");
    close(with, without, 0.2);
}

/// Any mixture ends, every request is answered once, and the account fits.
#[test]
fn every_mixture_of_requests_on_any_disk_ends() {
    for seed in 0..60 {
        let mut random = Xoshiro256::new(seed, 9);
        let mut pick =
            |choices: &[Value]| choices[random.below(choices.len() as u64) as usize].clone();
        let keys = json!({
            "write_cache": pick(&[json!("on"), json!("run"), json!("off")]),
            "scheduler": pick(&["fcfs", "sstf", "scan", "c-look", "sptf"].map(|it| json!(it))),
            "bus_per_sector": pick(&[json!("0ns"), json!("130us")]),
            "zones": pick(&[json!("0-999: 100 skew 3 9"), json!("2-2: 7, 5-900: 33"), json!("0-0: 300")]),
            "buffer": {
                "segments": pick(&[json!(1), json!(3)]), "write_segments": 1,
                "keep_writes": pick(&[json!(true), json!(false)]),
                "segment": pick(&[json!("512B"), json!("8KiB"), json!("64KiB")]),
                "read_ahead": pick(&[json!("0B"), json!("512B"), json!("64KiB")]),
                "read_ahead_to": pick(&[json!("limit"), json!("track")]),
                "read_ahead_on_hit": pick(&[json!(true), json!(false)]),
                "read_on_arrival": pick(&[json!(true), json!(false)]),
                "send_at": pick(&[json!(0.0), json!(0.5), json!(1.0)]),
            },
        });
        let mut device = disk(&[plain(), keys.clone()]);
        let sectors = device.capacity_sectors();
        let mut at = 0;
        let steps: Vec<_> = (0..600)
            .map(|_| {
                at += random.below(3) * random.below(20 * MS);
                let most = 1 + random.below(90);
                let count = 1 + random.below(most.min(sectors));
                let within = if random.below(2) == 0 { 200 } else { sectors };
                let near = random.below(within);
                let op = [Op::Read, Op::Read, Op::Write, Op::Write, Op::Trim, Op::Flush]
                    [random.below(6) as usize];
                (at, op, near.min(sectors - count), count as u32)
            })
            .collect();
        let done = run(device.as_mut(), &steps);
        assert_eq!(done.len(), 600, "{keys}");
        let end = done.iter().map(|it| it.at).max().unwrap();
        let report = device.report(end).section("disk").unwrap().clone();
        let reads = steps.iter().filter(|step| step.1 == Op::Read).count() as u64;
        assert_eq!(
            report.count("read_hits")
                + report.count("read_partial_hits")
                + report.count("read_misses"),
            reads,
            "{keys}"
        );
        let busy = report.count("busy");
        assert!(busy <= end + 1_000 * MS, "{keys}: the heads did more than they had time for");
    }
}
