//! A disk against arithmetic: seeks, rotation, queues, rates.

use super::{Load, close, config, disk, mean_us, plain};
use crate::common::{Closed, Keep, Script, run_closed};
use devices::DeviceKind as _;
use engine::{Completion, Lba, Op, Random, Request, Time, Xoshiro256, drive};
use serde_json::json;

/// 100 us a sector, 10 ms a turn.
const SECTOR: Time = 100_000;
const TURN: Time = 100 * SECTOR;

#[test]
fn a_read_is_a_seek_and_a_rotation_and_a_transfer() {
    // Sector 0 passes at some instant after 0; from then on everything is known.
    let mut device = disk(&[plain()]);
    let mut done = Vec::new();
    device.submit(0, Request::new(0, Op::Read, Lba(0), 1));
    let passed = device.next_event().unwrap();
    assert!((SECTOR..=TURN + SECTOR).contains(&passed), "{passed}");
    device.advance(passed, &mut done);
    // 50 cylinders away: 1.49 ms, during which 14.9 sectors pass, and sector 30 of the track comes 29 later.
    let there = Lba(50 * 200 + 30);
    device.submit(passed, Request::new(1, Op::Read, there, 4));
    let end = device.next_event().unwrap();
    assert!((passed + 33 * SECTOR).abs_diff(end) <= 2, "{}", end - passed);
    device.advance(end - 1, &mut done);
    assert_eq!(done.len(), 1, "not ready a nanosecond before");
    device.advance(end, &mut done);
    assert_eq!(done.len(), 2);
    // The next sector has begun to pass while the request was on its way: a turn.
    device.submit(end + 9, Request::new(2, Op::Read, Lba(there.0 + 4), 1));
    let next = device.next_event().unwrap();
    assert!((end + TURN + SECTOR).abs_diff(next) <= 2, "{}", next - end);
}

#[test]
fn the_disk_keeps_rotating_while_idle() {
    // After a year the phase is what it must be: the spindle does not drift. 7 turns are no whole
    // number of nanoseconds at 4,321 turns a minute.
    let keys = [plain(), json!({"rpm": 4321})];
    let turn = 60e9 / 4321.0;
    let year: Time = 365 * 86_400 * 1_000_000_000;
    let mut device = disk(&keys);
    let mut done = Vec::new();
    device.submit(0, Request::new(0, Op::Read, Lba(0), 1));
    let first = device.next_event().unwrap();
    device.advance(first, &mut done);
    device.submit(first + year, Request::new(1, Op::Read, Lba(0), 1));
    let second = device.next_event().unwrap();
    let turns = (second - first) as f64 / turn;
    assert!((turns - turns.round()).abs() < 1e-4, "{turns} turns");
}

/// The mean of a table over random pairs of cylinders, us.
fn mean_of_table(cylinders: u64, time_us: impl Fn(u64) -> f64) -> f64 {
    let all = (cylinders * cylinders) as f64;
    (1..cylinders).map(|d| 2.0 * (cylinders - d) as f64 / all * time_us(d)).sum()
}

fn of_plain(distance: u64) -> f64 {
    1000.0 + 10.0 * (distance - 1) as f64
}

#[test]
fn random_reads_take_the_mean_seek_and_half_a_turn() {
    let (end, done, report) = Load::reads(1, 100_000).run(disk(&[plain()]).as_mut());
    let mean = |ns: Time| ns as f64 / 1e3 / 100_000.0;
    let expected = mean_of_table(1000, of_plain);
    close(mean(report.count("mean_us.seek")), expected, 0.005);
    close(mean(report.count("mean_us.rotation")), 5_000.0, 0.005);
    close(report.count("mean_seek_cylinders") as f64 / 100_000.0, 1000.0 / 3.0, 0.005);
    let rate = done.len() as f64 / end as f64 * 1e9;
    close(rate, 1e6 / (expected + 5_000.0 + 1_600.0 + seeks_inside()), 0.005);
}

/// What a request of 16 sectors waits in mid-transfer, us: a turn where it crosses into the next cylinder of
/// 200 sectors. A change of surface takes no time.
fn seeks_inside() -> f64 {
    let crossing = (0..25_u64).filter(|n| (n * 16) / 200 != (n * 16 + 15) / 200).count();
    crossing as f64 / 25.0 * 10_000.0
}

#[test]
fn half_the_disk_has_half_the_seeks() {
    let half = Load { share: 0.5, ..Load::reads(1, 100_000) };
    let (_, _, report) = half.run(disk(&[plain()]).as_mut());
    let expected = mean_of_table(500, of_plain);
    close(report.count("mean_us.seek") as f64 / 1e3 / 100_000.0, expected, 0.005);
}

#[test]
fn a_seek_curve_has_the_mean_seek_time_from_which_it_was_derived() {
    for (single, mean, full) in [("0.8ms", 8_500.0, "17ms"), ("0.23ms", 7_400.0, "15ms")] {
        let seek = json!({"single": single, "mean": format!("{mean}us"), "full": full});
        let keys = [json!({"seek": seek, "zones": "0-309999: 1500", "write_cache": "off",
                           "buffer": {"read_ahead": "0B"}})];
        let (_, _, report) = Load::reads(1, 50_000).run(disk(&keys).as_mut());
        close(report.count("mean_us.seek") as f64 / 1e3 / 50_000.0, mean, 0.01);
    }
}

/// Requests of 8 KiB at random, coming by chance: the mean wait is that of M/G/1, from the moments of the
/// service times.
#[test]
fn random_arrivals_wait_as_long_as_in_m_g_1() {
    let (_, alone, _) = Load::reads(1, 100_000).run(disk(&[plain()]).as_mut());
    let times: Vec<f64> = alone.iter().map(|it| it.latency() as f64 / 1e3).collect();
    let moment =
        |power| times.iter().map(|time| time.powi(power)).sum::<f64>() / times.len() as f64;
    let rate = 0.5 / moment(1);
    let wait = rate * moment(2) / (2.0 * 0.5);
    let mut random = Xoshiro256::new(4, 0);
    let mut at = 0.0;
    let steps: Vec<_> = (0..400_000)
        .map(|_| {
            at -= libm::log(1.0 - random.unit()) / rate * 1e3;
            (at as Time, Op::Read, random.below(12_500) * 16, 16)
        })
        .collect();
    let mut device = disk(&[plain()]);
    let mut keep = Keep::default();
    drive(device.as_mut(), &mut Script::sectors(&steps), Time::MAX, &mut keep).unwrap();
    let waited = keep.0.iter().map(|it| it.breakdown[devices::latency::UNIT_WAIT]).sum::<Time>();
    close(waited as f64 / 1e3 / 400_000.0, wait, 0.02);
}

#[test]
fn whole_tracks_pass_at_the_rate_of_the_track_and_skews() {
    // Four tracks, from the beginning of a cylinder: two changes of surface, one of cylinder.
    for (skews, changes) in [("", 0), (" skew 3 7", 3 + 7 + 3)] {
        let keys = [
            plain(),
            json!({"zones": format!("0-999: 100{skews}"),
            "seek": {"table": "1: 0.5ms", "head_switch": "0.2ms"}}),
        ];
        let mut device = disk(&keys);
        let mut done = Vec::new();
        device.submit(0, Request::new(0, Op::Read, Lba(0), 400));
        device.advance(Time::MAX / 4, &mut done);
        let end = device.report(done[0].at).count("disk.mean_us.transfer");
        // Without skews each change costs a turn.
        let expected = if changes == 0 { 7 * TURN } else { 4 * TURN + changes * SECTOR };
        assert!(end.abs_diff(expected) <= 8, "{skews}: {end}, not {expected}");
    }
}

#[test]
fn inner_tracks_are_slower() {
    let keys = [plain(), json!({"zones": "0-499: 100, 500-999: 50"})];
    let rate = |from: u64| {
        let mut device = disk(&keys);
        let mut load = Closed::new(1, 1, |id| Request::new(id, Op::Read, Lba(from), 50));
        run_closed(device.as_mut(), &mut load);
        device.report(0).count("disk.mean_us.transfer")
    };
    assert_eq!(disk(&keys).capacity_sectors(), 150_000);
    assert_eq!([rate(0), rate(100_000)], [TURN / 2, TURN]);
}

#[test]
fn spare_sectors_have_no_address() {
    let zones = ["0-9: 100 spare 30, 20-29: 100", "0-9: 100, 20-29: 100"];
    let sectors = zones.map(|zones| disk(&[plain(), json!({ "zones": zones })]).capacity_sectors());
    assert_eq!(sectors, [3_970, 4_000]);
    // Of the last track of the zone 70 sectors are left: what follows is ten cylinders away.
    let cylinders = |from| {
        let mut device = disk(&[plain(), json!({ "zones": zones[0] })]);
        let mut load = Closed::new(1, 2, |id| Request::new(id, Op::Read, Lba(from + id), 1));
        run_closed(device.as_mut(), &mut load);
        device.report(0).count("disk.mean_seek_cylinders")
    };
    assert_eq!([cylinders(1_968), cylinders(1_969)], [9, 20]);
}

#[test]
fn spare_and_empty_sectors_lie_where_the_zone_says() {
    let sectors = |zones: &str| disk(&[plain(), json!({ "zones": zones })]).capacity_sectors();
    // Ten cylinders of two surfaces have 2,000 sectors.
    assert_eq!(sectors("0-9: 100 spare 3 per track"), 1_940);
    assert_eq!(sectors("0-9: 100 spare 3 per 1 cylinders"), 1_970);
    assert_eq!(sectors("0-9: 100 spare 3 per 4 cylinders"), 1_991);
    assert_eq!(sectors("0-9: 100 spare 3 empty 250"), 1_747);
    let first_us = |zones: &str, sector| {
        let mut device = disk(&[plain(), json!({ "zones": zones, "angle": 0.0 })]);
        device.submit(0, Request::new(0, Op::Read, Lba(sector), 1));
        device.next_event().unwrap() as f64 / 1e3
    };
    for (zones, sector, expected) in [
        ("0-9: 100", 20, 2_100.0),
        ("0-9: 100 at 30", 20, 5_100.0),
        ("0-9: 100 empty 30", 20, 5_100.0),
        ("0-9: 100 spare 50 per track", 60, 1_100.0),
        ("0-9: 100 spare 50 per 1 cylinders", 60, 6_100.0),
        // The next cylinder is a seek and almost a turn away.
        ("0-9: 100 spare 50 per 1 cylinders", 150, 10_100.0),
        ("0-9: 100 spare 50 per 2 cylinders", 350, 10_100.0),
        ("0-9: 100 spare 50 per 2 cylinders", 349, 5_000.0),
    ] {
        close(first_us(zones, sector), expected, 1e-4);
    }
}

#[test]
fn the_seed_turns_the_spindle_and_nothing_else_is_drawn() {
    let first = |seed| {
        let mut device = config(&[plain()]).build(seed).unwrap();
        device.submit(0, Request::new(0, Op::Read, Lba(0), 1));
        device.next_event().unwrap()
    };
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));
}

#[test]
fn an_array_of_disks_is_as_fast_as_its_members_together() {
    let array = |members: u32| {
        let member = config(&[plain()]);
        let array = devices::array::ArrayConfig { members, member, ..Default::default() };
        let mut device = devices::DeviceKind::build(&array, 3).unwrap();
        let places = device.capacity_sectors() / 16;
        let mut random = Xoshiro256::new(8, 0);
        let mut load = Closed::new(8 * members, 5_000 * u64::from(members), |id| {
            Request::new(id, Op::Read, Lba(random.below(places) * 16), 16)
        });
        let (end, done) = run_closed(device.as_mut(), &mut load);
        done.len() as f64 / end as f64
    };
    // Some of eight requests a member always wait for another one.
    let gain = array(8) / array(1);
    assert!((6.5..8.0).contains(&gain), "{gain}");
    let slowest = |done: &[Completion]| done.iter().map(Completion::latency).max();
    let (_, one, _) = Load::reads(1, 2_000).run(disk(&[plain()]).as_mut());
    assert!(slowest(&one) < Some(40_000_000) && mean_us(&one) > 10_000.0);
}
