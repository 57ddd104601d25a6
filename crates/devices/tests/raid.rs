//! Do arrays with redundancy take what their closed forms say?
//!
//! That nothing is lost is held inside the crate (`array/raid/property.rs`), where layouts are too; what each
//! key does is in `raid_keys.rs`.

use crate::common::depth::depth;
use crate::common::{self, Closed, run_closed};
use devices::array::{ArrayConfig, HoleRule, Redundancy, WriteRule};
use devices::law::LawConfig;
use devices::ssd::SsdConfig;
use devices::{DeviceConfig, DeviceKind, Instruction, Model, Report};
use engine::{Completion, Lba, Op, Random, Request, Time, Xoshiro256};
use options::Size;

pub fn array(redundancy: Redundancy, members: u32) -> ArrayConfig {
    let size = Size::from_bytes(16 << 20);
    let member = DeviceConfig::Law(Box::new(LawConfig { size, ..LawConfig::default() }));
    ArrayConfig { redundancy, members, member, ..ArrayConfig::default() }
}

pub fn build(config: &ArrayConfig) -> Box<dyn Model> {
    config.build(9).unwrap_or_else(|refusal| panic!("{refusal}"))
}

const READ: Time = 230_600 + 4 * 3_987;
const WRITE: Time = 770_000 + 4 * 5_382;

/// Requests that each member was asked.
pub fn requests_of(report: &Report) -> Vec<u64> {
    let each = report.value("array.member_requests");
    each.as_array().unwrap().iter().filter_map(serde_json::Value::as_u64).collect()
}

/// The answer to a single request, and what the array counted up to then.
fn alone(config: &ArrayConfig, op: Op, lba: u64, sectors: u32) -> (Completion, Report) {
    let mut device = build(config);
    let mut load = Closed::new(1, 1, |id| Request::new(id, op, Lba(lba), sectors));
    let (end, completions) = run_closed(&mut *device, &mut load);
    (completions[0], device.report(end))
}

#[test]
fn small_requests_take_their_closed_forms() {
    let parity = [Redundancy::Parity, Redundancy::ParityDisk, Redundancy::DoubleParity];
    for kind in parity {
        let (write, report) = alone(&array(kind, 6), Op::Write, 1000, 8);
        assert_eq!(write.latency(), READ + WRITE, "{kind}: reads side by side, then writes");
        let parts = if kind == Redundancy::DoubleParity { 6 } else { 4 };
        assert_eq!(requests_of(&report).iter().sum::<u64>(), parts, "{kind}");
        assert_eq!(report.count("array.stripe_writes.read_modify_write"), 1);
        let (read, _) = alone(&array(kind, 6), Op::Read, 1000, 8);
        assert_eq!(read.latency(), READ);
        // The one that has what is asked is missing: the others are read instead.
        let mut degraded = 0;
        for member in 0..6 {
            let failed = member.to_string().parse().unwrap();
            let config = ArrayConfig { failed, ..array(kind, 6) };
            let (read, report) = alone(&config, Op::Read, 1000, 8);
            assert_eq!(read.latency(), READ);
            if report.count("array.degraded_reads") > 0 {
                degraded += 1;
                let others = if kind == Redundancy::DoubleParity { 4 } else { 5 };
                assert_eq!(requests_of(&report).iter().sum::<u64>(), others);
                let (write, report) = alone(&config, Op::Write, 1000, 8);
                assert_eq!(write.latency(), READ + WRITE);
                assert_eq!(report.count("array.stripe_writes.reconstruct"), 1);
            }
        }
        assert_eq!(degraded, 1);
    }
    let (write, report) = alone(&array(Redundancy::Mirror, 6), Op::Write, 1000, 8);
    assert_eq!((write.latency(), requests_of(&report).iter().sum::<u64>()), (WRITE, 2));
    let (read, report) = alone(&array(Redundancy::Mirror, 6), Op::Read, 1000, 8);
    assert_eq!((read.latency(), requests_of(&report).iter().sum::<u64>()), (READ, 1));
}

/// m + P reads, D - m, or none, and m + P writes; auto takes what reads less.
#[test]
fn a_write_reads_what_its_rule_says() {
    // Seven members: six data chunks of 128 sectors.
    let rows = [
        (WriteRule::Auto, 1, 2),
        (WriteRule::Auto, 2, 3),
        (WriteRule::Auto, 3, 3),
        (WriteRule::Auto, 4, 2),
        (WriteRule::Auto, 6, 0),
        (WriteRule::ReadModifyWrite, 4, 5),
        (WriteRule::ReadModifyWrite, 6, 0),
        (WriteRule::Reconstruct, 1, 5),
        (WriteRule::Reconstruct, 6, 0),
    ];
    for (write, chunks, reads) in rows {
        let config = ArrayConfig { write, ..array(Redundancy::Parity, 7) };
        let (_, report) = alone(&config, Op::Write, 0, chunks * 128);
        let parts: u64 = requests_of(&report).iter().sum::<u64>();
        assert_eq!(parts, u64::from(chunks) + 1 + reads, "{write} {chunks}");
        assert_eq!(
            report.number("array.full_stripe_share"),
            Some(f64::from(u8::from(chunks == 6)))
        );
    }
    // Two chunks in part: the rest of them is read as well.
    let config = ArrayConfig { write: WriteRule::Reconstruct, ..array(Redundancy::Parity, 7) };
    let (_, report) = alone(&config, Op::Write, 100, 100);
    assert_eq!(requests_of(&report).iter().sum::<u64>(), 6 + 3);
    assert_eq!((report.count("array.parity_reads"), report.count("array.parity_writes")), (0, 1));
}

/// Requests a second in the middle of a closed load of random 4 KiB requests.
fn rate(config: &ArrayConfig, op: Op, outstanding: u32, requests: u64) -> f64 {
    let mut device = build(config);
    let pages = device.capacity_sectors() / 8;
    let mut random = Xoshiro256::new(5, 0);
    let mut load = Closed::new(outstanding, requests, |id| {
        Request::new(id, op, Lba(random.below(pages) * 8), 8)
    });
    let (_, completions) = run_closed(&mut *device, &mut load);
    let [from, to] = [completions.len() / 2, completions.len() * 9 / 10];
    (to - from) as f64 / (completions[to].at - completions[from].at) as f64 * 1e9
}

/// Six baseline drives of 2008: 48 packages that read a page in 130.6 us and write one in 309.0. By day a quarter
/// of their blocks, on which nothing depends that is asked here.
#[test]
fn six_drives_of_2008_do_what_the_arithmetic_says() {
    let whole = SsdConfig { fill: common::fill("full"), ..SsdConfig::default() };
    let blocks_per_plane = whole.blocks_per_plane / depth(4, 4, 1) as u32;
    let drive = SsdConfig { blocks_per_plane, ..whole };
    let member = DeviceConfig::Ssd(Box::new(drive));
    let six = |redundancy| ArrayConfig { member: member.clone(), ..array(redundancy, 6) };
    let rows = [
        (six(Redundancy::None), Op::Write, 155_348.0),
        (six(Redundancy::Mirror), Op::Write, 77_674.0),
        (six(Redundancy::Parity), Op::Write, 54_597.0),
        (six(Redundancy::DoubleParity), Op::Write, 36_398.0),
        (six(Redundancy::Parity), Op::Read, 367_534.0),
        (
            ArrayConfig { failed: "2".parse().unwrap(), ..six(Redundancy::Parity) },
            Op::Read,
            183_767.0,
        ),
    ];
    for (config, op, expected) in rows {
        let found = rate(&config, op, 12_000, 240_000);
        let name = format!("{} {op:?} failed: {}", config.redundancy, config.failed);
        println!("{name}: {found:.0}/s, {expected} by arithmetic");
        assert!((found / expected - 1.0).abs() < 0.01, "{name}: {found} for {expected}");
    }
}

/// When nothing is left to do.
pub fn idle(device: &mut dyn Model) -> Time {
    let (mut end, mut done) = (0, Vec::new());
    while let Some(at) = device.next_event() {
        device.advance(at, &mut done);
        end = at;
    }
    end
}

#[test]
fn a_rebuild_takes_the_capacity_over_its_rate() {
    let seconds = |change: fn(&mut ArrayConfig)| {
        let mut config = array(Redundancy::Parity, 5);
        (config.failed, config.spares) = ("1".parse().unwrap(), 1);
        change(&mut config);
        let mut device = build(&config);
        let end = idle(&mut *device);
        let rebuild = device.report(end).section("array.rebuild").unwrap().clone();
        assert_eq!((rebuild.count("finished"), rebuild.count("bytes")), (1, 16 << 20));
        assert_eq!(rebuild.number("progress"), Some(1.0));
        let seconds = rebuild.number("seconds").unwrap();
        assert!((seconds - end as f64 / 1e9).abs() < 1e-9);
        seconds
    };
    let slow = seconds(|it| it.rebuild.rate = "4MB/s".parse().unwrap());
    let at_rate = f64::from(16 << 20) / 4e6;
    assert!((slow / at_rate - 1.0).abs() < 0.05, "{slow} for {at_rate}");
    // As fast as the members: reads and writes of 64 KiB, a unit of eight after the other.
    let (read, write) = (127.5e-6 + 64.0 * 4.005e-6, 2.167e-3 + 64.0 * 4.96e-6);
    let unlimited = seconds(|_| {});
    let by_write = 256.0 * write;
    assert!(unlimited > by_write && unlimited < by_write + 256.0 * read, "{unlimited} {by_write}");
}

#[test]
fn a_failure_in_the_middle_of_a_load_loses_no_request() {
    for kind in [Redundancy::Mirror, Redundancy::Parity, Redundancy::DoubleParity] {
        let mut config = array(kind, 6);
        (config.failed, config.spares) = ("2 at 500ms, 4 at 20s".parse().unwrap(), 1);
        let mut device = build(&config);
        let capacity = device.capacity_sectors();
        let mut random = Xoshiro256::new(5, 0);
        let mut load = Closed::new(32, 60_000, |id| {
            let op = [Op::Read, Op::Write][random.below(2) as usize];
            let sectors = 1 + random.below(300);
            Request::new(id, op, Lba(random.below(capacity - sectors)), sectors as u32)
        });
        let (end, completions) = run_closed(&mut *device, &mut load);
        assert_eq!(completions.len(), 60_000);
        assert!(completions.iter().all(|it| it.status.is_ok()));
        let report = device.report(end);
        assert_eq!(
            (report.count("array.member_failures"), report.count("array.data_loss_sectors")),
            (2, 0)
        );
        assert_eq!(report.count("array.rebuild.finished"), 1);
    }
}

#[test]
fn a_flush_waits_for_the_parity_of_writes_before_it() {
    let mut device = build(&array(Redundancy::Parity, 5));
    device.submit(0, Request::new(0, Op::Write, Lba(0), 8));
    device.submit(0, Request::new(1, Op::Flush, Lba(0), 0));
    device.submit(0, Request::new(2, Op::Write, Lba(80_000), 8));
    let mut done = Vec::new();
    while let Some(at) = device.next_event() {
        device.advance(at, &mut done);
    }
    let at = |id| done.iter().find(|it: &&Completion| it.request.id == id).unwrap().at;
    assert!(at(0) >= READ + WRITE && at(1) >= at(0));
    device.audit().unwrap();
}

#[test]
fn a_saved_array_with_redundancy_continues_bit_identically() {
    let member = DeviceConfig::Ssd(Box::new(common::small()));
    for kind in [Redundancy::Mirror, Redundancy::Parity] {
        let config = ArrayConfig { member: member.clone(), ..array(kind, 4) };
        let mut first = build(&config);
        let (pages, mut random) = (first.facts().pages, Xoshiro256::new(1, 0));
        assert_eq!(pages, first.capacity_sectors() / 8);
        (0..3 * pages).for_each(|_| first.overwrite_untimed(&[random.below(pages)], 0));
        let mut second = config.build(77).unwrap();
        second.restore(first.save().unwrap()).unwrap();
        first.instruct(0, Instruction::ResetCounts).unwrap();
        second.instruct(0, Instruction::ResetCounts).unwrap();
        let run = |device: &mut dyn Model| {
            let pages = device.capacity_sectors() / 8;
            let mut random = Xoshiro256::new(5, 0);
            let mut load = Closed::new(8, 3000, |id| {
                Request::new(id, Op::Write, Lba(random.below(pages) * 8), 8)
            });
            let (end, completions) = run_closed(device, &mut load);
            (completions, device.report(end))
        };
        let (one, other) = (run(&mut *first), run(&mut *second));
        assert!(one == other, "{kind}");
        let other = ArrayConfig { redundancy: Redundancy::ParityDisk, ..config };
        let refusal = build(&other).restore(build(&config_of(kind, &member)).save().unwrap());
        assert!(refusal.unwrap_err().contains("device.redundancy is"));
    }
}

fn config_of(kind: Redundancy, member: &DeviceConfig) -> ArrayConfig {
    ArrayConfig { member: member.clone(), ..array(kind, 4) }
}

/// Without time the members are written as in time.
#[test]
fn timed_and_untimed_runs_program_the_same_pages() {
    let member = DeviceConfig::Ssd(Box::new(common::small()));
    // Copies and parity that a write of a page takes, and pages of log entries: a header and what is logged.
    let arrays = [
        (Redundancy::Mirror, HoleRule::Resync, 2),
        (Redundancy::Parity, HoleRule::Resync, 2),
        (Redundancy::DoubleParity, HoleRule::Resync, 3),
        (Redundancy::Mirror, HoleRule::Journal, 2 + 2 * 2),
        (Redundancy::Parity, HoleRule::Journal, 2 + 2 * 2),
        (Redundancy::DoubleParity, HoleRule::Journal, 3 + 3 * 2),
        (Redundancy::Parity, HoleRule::PartialParity, 2 + 2),
    ];
    for (kind, hole, copies) in arrays {
        let config = ArrayConfig { member: member.clone(), hole, ..array(kind, 6) };
        let mut random = Xoshiro256::new(5, 0);
        let pages = build(&config).capacity_sectors() / 8;
        let requests: Vec<Request> = (0..3000)
            .map(|id| Request::new(id, Op::Write, Lba(random.below(pages - 20) * 8), 8))
            .collect();
        let (mut timed, mut untimed) = (build(&config), build(&config));
        let mut load = Closed::new(1, 3000, |id| requests[id as usize]);
        let (end, _) = run_closed(&mut *timed, &mut load);
        for request in &requests {
            assert!(untimed.serve_untimed(request).is_ok());
        }
        let counts = |device: &dyn Model| {
            let report = device.report(end);
            (report.count("flash.host_pages_written"), report.count("flash.host_bytes_written"))
        };
        assert_eq!(counts(&*timed), counts(&*untimed), "{kind} {hole}");
        assert_eq!(counts(&*timed).0, copies * 3000, "{kind} {hole}");
    }
}
