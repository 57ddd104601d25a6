//! What a cache must come to, by closed forms and simple models.

use super::{US, build, cache, config, disk, fixed, mean_us, run, skewed};
use crate::common::{Closed, Keep, Script, run_closed, small};
use devices::cache::CacheConfig;
use devices::latency::{BACKING, FAST};
use devices::ssd::SsdConfig;
use devices::{DeviceConfig, DeviceKind as _, Instruction};
use engine::{Lba, Op, Random, Request, Time, Xoshiro256, drive};
use serde_json::json;
use std::collections::VecDeque;

/// Lines of 4 KiB among twice as many as the cache holds.
#[test]
fn uniform_reads_hit_as_much_as_the_cache_holds() {
    for policy in ["lru", "lfu", "arc"] {
        let mut device = cache(&[json!({"replacement": policy})]);
        let (_, done, report) =
            run(&mut *device, (Op::Read, 20_000, 1), |_, random| random.below(128));
        let share = report.number("hit_share").unwrap();
        assert!((share - 0.5).abs() < 0.02, "{policy}: {share}");
        assert_eq!((report.count("lines"), report.count("lines_used")), (64, 64));
        // A hit takes 10 us, a miss 5 ms; the fill is not waited for by one that comes after 10 us.
        let expected = share * 10.0 + (1.0 - share) * 5_000.0;
        let found = mean_us(&done);
        assert!((found / expected - 1.0).abs() < 0.01, "{policy}: {found}, expected {expected}");
    }
}

/// Every hit and miss of an LRU of 64 lines, counted by a queue.
#[test]
fn hits_are_those_of_a_simple_model() {
    let (mut model, mut hits) = (VecDeque::new(), 0);
    let mut device = cache(&[]);
    let (_, _, report) = run(&mut *device, (Op::Read, 5_000, 1), |_, random| {
        let line = skewed(400, random);
        match model.iter().position(|it| *it == line) {
            Some(place) => {
                hits += 1;
                model.remove(place);
            }
            None if model.len() == 64 => drop(model.pop_front()),
            None => {}
        }
        model.push_back(line);
        line
    });
    assert_eq!((report.count("read_hits"), report.count("read_misses")), (hits, 5_000 - hits));
    assert_eq!(report.count("evictions"), 5_000 - hits - 64);
    assert_eq!(report.count("filled_bytes"), (5_000 - hits) * 4096);
}

/// A part of the load goes by once: what is used again stays where the policy sees that.
#[test]
fn policies_differ_where_their_inventors_say() {
    let share = |policy: &str| {
        let mut device = cache(&[json!({"replacement": policy})]);
        let mut next = 1_000;
        let (.., report) = run(&mut *device, (Op::Read, 20_000, 1), |_, random| {
            if random.below(2) == 0 {
                next += 1;
                return next % 3_000 + 1_000;
            }
            random.below(60)
        });
        report.number("hit_share").unwrap()
    };
    let (lru, lfu, arc) = (share("lru"), share("lfu"), share("arc"));
    assert!(arc > lru + 0.05 && lfu > lru + 0.05, "{lru} {lfu} {arc}");
}

/// The number of a read that hits says all there is to know of it, unless it is too large: then the read goes the way of
/// all other requests, and gives the same result.
#[test]
fn reads_that_hit_come_to_the_same_on_both_ways() {
    let ssd = || DeviceConfig::Ssd(Box::new(small()));
    for keys in [json!({}), json!({"replacement": "arc"}), json!({"mode": "write-through"})] {
        for (fast, outstanding) in [(fixed(256, 10 * US), 1), (fixed(256, 10 * US), 9), (ssd(), 9)]
        {
            let both = [0, 1 << 47].map(|above| {
                let fast = fast.clone();
                let mut device =
                    build(CacheConfig { fast, share: 0.5, ..config(std::slice::from_ref(&keys)) });
                let mut random = Xoshiro256::new(4, 0);
                let mut load = Closed::new(outstanding, 4_000, |id| {
                    let op = if random.below(4) == 0 { Op::Write } else { Op::Read };
                    let lba = Lba(skewed(100, &mut random) * 8);
                    Request { queue: (id % 5) as u16, ..Request::new(id + above, op, lba, 8) }
                });
                let (end, mut done) = run_closed(&mut *device, &mut load);
                for it in &mut done {
                    it.request.id -= above;
                }
                // Of an instant, in any order.
                done.sort_by_key(|it| (it.at, it.request.id));
                (end, done, device.report(end))
            });
            assert!(both[0] == both[1], "{keys}, {outstanding} at a time");
        }
    }
}

#[test]
fn where_the_time_goes_adds_up() {
    let mut device = cache(&[]);
    let (_, done, report) = run(&mut *device, (Op::Read, 2_000, 4), |_, random| random.below(100));
    let sum = |part| done.iter().map(|it| it.breakdown[part]).sum::<Time>() as f64 / 1e3;
    let all =
        ["read_hit", "read_miss"].map(|it| report.section(&format!("latency_us.{it}")).unwrap());
    let of = |name: &str| all.iter().map(|it| it.count(name) as f64 / 1e3).sum::<f64>();
    let (fast, backing) = (of("fast"), of("backing"));
    assert!((fast / sum(FAST) - 1.0).abs() < 1e-9 && (backing / sum(BACKING) - 1.0).abs() < 1e-9);
    assert_eq!(all[0].count("requests") + all[1].count("requests"), 2_000);
    assert_eq!(all[0].number("backing"), Some(0.0));
    assert!(all[1].number("backing").unwrap() >= 5_000.0);
}

/// Writes to a cache that is large enough are as fast as it is; later they are all on the backing device.
#[test]
fn writes_wait_in_the_cache_and_are_written_once() {
    let keys = json!({"destage": {"pause": "1ms", "high": 1.0, "low": 1.0}});
    let mut device = cache(&[keys]);
    let (end, done, _) = run(&mut *device, (Op::Write, 400, 1), |id, _| id % 40);
    assert!(
        done.iter().all(|it| it.latency() == 10 * US),
        "{:?}",
        done.iter().map(engine::Completion::latency).max()
    );
    assert_eq!(device.report(end).count("cache.lines_dirty"), 40);
    while let Some(at) = device.next_event() {
        device.advance(at, &mut Vec::new());
    }
    let report = device.report(end).section("cache").unwrap().clone();
    assert_eq!((report.count("lines_dirty"), report.count("destaged_bytes")), (0, 40 * 4096));
    // 40 adjacent lines: one write, but for those that were dirty when the first run began.
    assert_eq!(report.count("destage_writes"), 1);
    device.audit().unwrap();
}

/// A cache that is full of dirty lines takes writes as fast as the backing device does.
#[test]
fn steady_random_writes_are_as_fast_as_the_backing_device() {
    let keys = json!({"destage": {"run_lines": 1}});
    let mut device = cache(&[keys]);
    let (_, done, report) =
        run(&mut *device, (Op::Write, 3_000, 8), |_, random| random.below(4_096));
    let last: Vec<_> = done[1_000..].to_vec();
    let span = (last.last().unwrap().at - last[0].at) as f64 / last.len() as f64 / 1e3;
    assert!((span / 5_000.0 - 1.0).abs() < 0.05, "{span} us a write");
    assert!(report.count("stalls") > 1_000, "{report:?}");
}

/// The same writes through both devices, and past the fast one.
#[test]
fn modes_write_where_they_say() {
    let writes = |mode: &str| {
        let mut device = cache(&[json!({"mode": mode})]);
        let (_, done, _) = run(&mut *device, (Op::Write, 100, 1), |id, _| id % 20);
        let (.., report) = run(&mut *device, (Op::Read, 100, 1), |id, _| id % 20);
        (mean_us(&done), report.count("read_hits"))
    };
    assert_eq!(writes("write-back"), (10.0, 100));
    assert_eq!(writes("write-through"), (5_000.0, 100));
    assert_eq!(writes("read-only"), (5_000.0, 80));
}

/// Parts of lines: the rest is read before, once.
#[test]
fn what_is_written_in_part_is_read_first() {
    let mut device = cache(&[]);
    let steps =
        [(0, Op::Write, 3, 2), (20_000 * US, Op::Write, 5, 2), (40_000 * US, Op::Read, 0, 8)];
    let mut keep = Keep::default();
    drive(&mut *device, &mut Script::sectors(&steps), Time::MAX, &mut keep).unwrap();
    let latencies: Vec<Time> = keep.0.iter().map(engine::Completion::latency).collect();
    assert_eq!(latencies, [5_010 * US, 10 * US, 10 * US]);
    let report = device.report(0).section("cache").unwrap().clone();
    assert_eq!((report.count("merges"), report.count("read_hits")), (1, 1));
}

/// Two reads of a line that is missing: the second waits for the first, and is a hit.
#[test]
fn a_line_is_fetched_once() {
    let mut device = cache(&[]);
    let steps = [(0, Op::Read, 0, 8), (10 * US, Op::Read, 0, 8)];
    let mut keep = Keep::default();
    drive(&mut *device, &mut Script::sectors(&steps), Time::MAX, &mut keep).unwrap();
    let answers: Vec<Time> = keep.0.iter().map(|it| it.at).collect();
    assert_eq!(answers, [5_000 * US, 5_020 * US]);
    let report = device.report(0).section("cache").unwrap().clone();
    assert_eq!((report.count("read_hits"), report.count("read_misses")), (1, 1));
}

/// A long stream leaves what is in the cache alone.
#[test]
fn a_stream_goes_past_the_cache() {
    let after = |bypass: &str| {
        let mut device = cache(&[json!({"bypass": bypass})]);
        run(&mut *device, (Op::Read, 200, 1), |id, _| id * 7 % 50);
        run(&mut *device, (Op::Read, 1_000, 1), |id, _| 1_000 + id);
        device.instruct(0, Instruction::ResetCounts).unwrap();
        run(&mut *device, (Op::Read, 50, 1), |id, _| id * 7 % 50).2
    };
    assert_eq!(after("0B").count("read_hits"), 0);
    let report = after("32KiB");
    assert!(report.count("read_hits") >= 40, "{report:?}");
}

/// Pinned lines are there from the beginning, however much else is read.
#[test]
fn pinned_ranges_never_miss() {
    for policy in ["lru", "lfu", "arc"] {
        let keys = json!({"replacement": policy, "pinned": "1MiB-1152KiB"});
        let mut device = cache(&[keys]);
        let (.., report) = run(&mut *device, (Op::Read, 3_000, 2), |id, random| {
            if id % 3 == 0 { 256 + random.below(32) } else { 1_000 + id }
        });
        assert_eq!(
            (report.count("read_hits"), report.count("read_misses")),
            (1_000, 2_000),
            "{policy}"
        );
    }
}

/// Requests of any size and place, with trims and flushes, on every mode, policy and pair of devices.
#[test]
fn every_mixture_of_requests_ends_and_leaves_the_newest_content() {
    super::power::mixtures(crate::common::depth::depth(20, 120, 3_000));
}

/// Flash before a disk that turns: as fast as flash where the load fits, as the disk where it does not.
#[test]
fn a_hybrid_disk_is_between_its_parts() {
    let backing = DeviceConfig::Disk(Box::new(disk()));
    let hybrid = |lines: u64| {
        let own =
            CacheConfig { fast: fixed(1 << 10, 100 * US), backing: backing.clone(), ..config(&[]) };
        let mut device = build(own);
        let (_, done, report) =
            run(&mut *device, (Op::Read, 6_000, 1), |_, random| random.below(lines));
        (mean_us(&done[3_000..]), report.number("hit_share").unwrap())
    };
    let (small, large) = (hybrid(200), hybrid(2_560));
    let alone = crate::disk::Load::reads(1, 2_000).run(&mut *backing.build(3).unwrap()).1;
    assert!((small.0 - 100.0).abs() < 1.0, "{small:?}");
    assert!(large.0 > 5.0 * small.0 && large.0 < mean_us(&alone) && large.1 < 0.2, "{large:?}");
}

/// A person writes a little every five seconds and reads what is at hand: alone the disk turns all day; with flash in
/// front it stops, and takes less.
#[test]
fn a_hybrid_disk_stops_where_the_disk_alone_turns_on() {
    let second = 1_000_000_000;
    let backing = DeviceConfig::resolve(
        "disk",
        [
            crate::disk::plain(),
            json!({"energy": {"idle": "2W"},
                   "standby": {"after": "10s", "spin_up": "3s", "power": "200mW", "spin_up_power": "3W"}}),
        ],
    )
    .unwrap();
    let hours = 2;
    let day = |device: &mut dyn devices::Model| {
        let mut random = engine::Xoshiro256::new(5, 0);
        let steps: Vec<_> = (0..hours * 720)
            .map(|id| {
                let op = if id % 2 == 0 { Op::Write } else { Op::Read };
                (id * 5 * second, op, skewed(400, &mut random) * 8, 8)
            })
            .collect();
        let script = &mut Script::sectors(&steps);
        let end = drive(device, script, Time::MAX, &mut Keep::default()).unwrap().last;
        let (report, energy) = (device.report(end), device.energy_report(end).unwrap());
        let standby = report.section("disk.standby").unwrap();
        (standby.number("hours").unwrap(), energy.joules(), standby.count("spin_ups"))
    };
    let alone = day(&mut *backing.build(3).unwrap());
    assert_eq!((alone.0, alone.2), (0.0, 0));
    let keys = json!({"destage": {"pause": "none", "high": 0.5, "low": 0.0, "max_age": "30min"}});
    let flash = DeviceConfig::resolve(
        "law",
        [json!({"size": "4MiB", "energy": {"active": "500mW", "idle": "50mW"}})],
    )
    .unwrap();
    let own = CacheConfig { fast: flash, backing, ..config(&[keys]) };
    let hybrid = day(&mut *build(own));
    println!("{alone:?} alone, {hybrid:?} behind flash");
    assert!(hybrid.0 > 0.9 && hybrid.1 < 0.75 * alone.1, "{alone:?}, {hybrid:?}");
    // Hours times watts, and what it takes to turn again.
    let standing = 3_600.0 * hybrid.0;
    let expected = alone.1 - standing * 1.8 + hybrid.2 as f64 * 9.0;
    let found = hybrid.1 - 7_200.0 * 0.05;
    assert!((found / expected - 1.0).abs() < 0.02, "{found} J, expected {expected}");
}

/// Without time the map becomes what it becomes with it.
#[test]
fn timed_and_untimed_runs_hit_alike() {
    for mode in ["write-back", "write-through", "read-only"] {
        for policy in ["lru", "lfu", "arc"] {
            let keys =
                json!({"mode": mode, "replacement": policy, "destage": {"high": 1.0, "low": 1.0}});
            let load = |timed: bool| {
                let mut device = cache(std::slice::from_ref(&keys));
                let mut random = engine::Xoshiro256::new(3, 0);
                let mut steps = Vec::new();
                // Reads alone in write-back: what is dirty is written back at other times with time.
                let writes = if mode == "write-back" { 0 } else { 3 };
                for id in 0..2_000u64 {
                    let op = if random.below(10) < writes { Op::Write } else { Op::Read };
                    steps.push((id * 20_000 * US, op, skewed(300, &mut random) * 8, 8));
                }
                if timed {
                    drive(
                        &mut *device,
                        &mut Script::sectors(&steps),
                        Time::MAX,
                        &mut Keep::default(),
                    )
                    .unwrap();
                } else {
                    for (_, op, lba, sectors) in steps {
                        let request = engine::Request::new(0, op, engine::Lba(lba), sectors);
                        device.serve_untimed(&request);
                    }
                }
                device.audit().unwrap();
                let report = device.report(0).section("cache").unwrap().clone();
                (
                    report.count("read_hits"),
                    report.count("read_misses"),
                    report.count("write_hits"),
                    report.count("evictions"),
                )
            };
            assert_eq!(load(true), load(false), "{mode}, {policy}");
        }
    }
}

/// Most of the writes that prepare a cache go to what lies behind it alone, with the same result.
#[test]
fn what_lies_behind_a_cache_is_prepared_by_itself() {
    let ssd = || DeviceConfig::Ssd(Box::new(SsdConfig { blocks_per_plane: 32, ..small() }));
    let prepared = |by_itself: bool, fast: DeviceConfig, backing: DeviceConfig| {
        let mut device = build(CacheConfig { fast, backing, ..config(&[]) });
        let lines = device.facts().pages;
        let mut random = Xoshiro256::new(4, 0);
        let writes: Vec<u64> = (0..4 * lines).map(|_| random.below(lines)).collect();
        for (more, page) in (0..writes.len() as u64).rev().zip(&writes) {
            device.overwrite_untimed(&[*page], if by_itself { more } else { 0 });
        }
        device.audit().unwrap();
        (device.report(1), device.report(1).section("cache").unwrap().clone())
    };
    let [(one, cache), (other, same)] =
        [false, true].map(|by_itself| prepared(by_itself, fixed(256, 10 * US), ssd()));
    let [one, other] = [one, other].map(|it| it.number("flash.write_amplification").unwrap());
    println!("write amplification {one:.3} through the cache, {other:.3} by itself");
    assert!(one > 1.5 && (one / other - 1.0).abs() < 0.03);
    assert_eq!([cache.count("lines_used"), same.count("lines_used")], [64, 64]);
    assert!(same.count("lines_dirty") > 0);
    // A disk remembers nothing: the flash before it is written as often as takes it to its steady state.
    let disk = || DeviceConfig::Disk(Box::new(disk()));
    let written = |by_itself| {
        let (report, cache) = prepared(by_itself, ssd(), disk());
        (report.count("flash.host_pages_written"), cache)
    };
    let ((all, _), (some, cache)) = (written(false), written(true));
    assert_eq!(cache.count("lines_used"), cache.count("lines"));
    assert!(some <= 4 * cache.count("lines") && all > 2 * some, "{some} of {all}");
}
