//! The log of the host: random writes on zones, with its own cleaning.

use super::{SMALL, config};
use devices::{DeviceKind, Instruction, Model, Report};
use engine::{Completion, Device, Lba, Op, Random, Request, Status, Time, Xoshiro256};

const LOG: &str = "adapt = 'log'\nlog.spare = 0.4\nzones.count = 24\n";

fn build(text: &str) -> Box<dyn Model> {
    config(text).build(1).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn closed(
    device: &mut dyn Device,
    now: &mut Time,
    depth: u64,
    count: u64,
    mut next: impl FnMut(u64) -> Request,
) -> Vec<Completion> {
    let mut answers = Vec::new();
    let mut asked = 0;
    while (answers.len() as u64) < count {
        while asked < count && asked - (answers.len() as u64) < depth {
            device.submit(*now, Request { id: asked, ..next(asked) });
            asked += 1;
        }
        *now = device.next_event().expect("something is outstanding").max(*now);
        device.advance(*now, &mut answers);
    }
    answers
}

fn log(device: &dyn Model, now: Time) -> Report {
    device.report(now).section("zones.host_log").expect("it has a log").clone()
}

/// Random overwrites are served, with what cleaning moves: more of it, the less room there is.
#[test]
fn programs_that_know_no_zones_are_served_and_spare_space_saves_copies() {
    let amplification = |spare: f64| {
        let mut device = build(&format!("{SMALL}{LOG}log.spare = {spare}\n"));
        let pages = device.capacity_sectors() / 8;
        let mut random = Xoshiro256::new(3, 0);
        let mut now = 0;
        let mut ask = |device: &mut dyn Model, now: &mut Time, count| {
            let answers = closed(device, now, 8, count, |_| {
                Request::new(0, Op::Write, Lba(random.below(pages) * 8), 8)
            });
            assert!(answers.iter().all(|it| it.status == Status::Ok));
        };
        ask(&mut *device, &mut now, 3 * pages);
        device.instruct(0, Instruction::ResetCounts).unwrap();
        ask(&mut *device, &mut now, 4 * pages);
        device.audit().unwrap();
        let report = log(&*device, now);
        assert_eq!(report.count("user_bytes"), 4 * pages * 4096);
        assert!(report.count("cleaned_zones") > 20, "{report:?}");
        1.0 + report.count("moved_bytes") as f64 / report.count("user_bytes") as f64
    };
    let [little, more, much] = [0.25, 0.4, 0.6].map(amplification);
    assert!(little > more && more > much && much > 1.0, "{little} {more} {much}");
    // Greedy cleaning of uniform writes has at least 1 / (2 (1 - u)) and at most 1 / (1 - u); u = 0.4.
    assert!(much < 1.0 / 0.6 && little < 1.0 / 0.1, "{little} {much}");
}

/// Nothing has to be moved of what is overwritten in order.
#[test]
fn what_is_overwritten_in_order_is_not_moved() {
    let mut device = build(&format!("{SMALL}{LOG}"));
    let pages = device.capacity_sectors() / 8;
    let mut now = 0;
    closed(&mut *device, &mut now, 4, 5 * pages / 16, |number| {
        Request::new(0, Op::Write, Lba(number % (pages / 16) * 128), 128)
    });
    device.audit().unwrap();
    let report = log(&*device, now);
    assert!(report.count("cleaned_zones") > 20 && report.count("moved_bytes") == 0, "{report:?}");
}

/// Parts of pages are read before they are written, trims give room, and reads find what was written.
#[test]
fn requests_of_any_size_and_kind_are_served() {
    let mut device = build(&format!("{SMALL}{LOG}"));
    let sectors = device.capacity_sectors();
    let mut random = Xoshiro256::new(4, 0);
    let mut now = 0;
    let answers = closed(&mut *device, &mut now, 16, 20_000, |_| {
        let op = Op::BLOCK[random.below(4) as usize];
        let length = 1 + random.below(100);
        if op == Op::Flush {
            return Request::new(0, op, Lba(0), 0);
        }
        Request::new(0, op, Lba(random.below(sectors - length)), length as u32)
    });
    assert!(answers.iter().all(|it| it.status == Status::Ok));
    assert!(answers.iter().all(|it| it.latency() == it.breakdown.total()));
    device.audit().unwrap();
}

#[test]
fn keys_of_the_log_change_what_it_does() {
    let run = |keys: &str| {
        let mut device = build(&format!("{SMALL}{LOG}{keys}"));
        let pages = device.capacity_sectors() / 8;
        let mut random = Xoshiro256::new(5, 0);
        let mut now = 0;
        closed(&mut *device, &mut now, 8, 4 * pages, |_| {
            Request::new(0, Op::Write, Lba(random.below(pages) * 8), 8)
        });
        let report = log(&*device, now);
        (
            report.count("free_zones") as f64,
            device.report(now).count("zones.appends"),
            now,
            report.count("moved_bytes"),
        )
    };
    // More free zones are fewer with data: more is moved. Smaller reads of cleaning take longer.
    assert!(run("log.free = 6\n").3 > run("log.free = 2\n").3);
    assert!(run("log.batch = '4KiB'\n").2 > run("log.batch = '256KiB'\n").2);
}

#[test]
fn a_log_without_room_is_refused() {
    let rows = [
        ("log.free = 1\n", "device.log.free", "1 free zones are not from 2"),
        ("log.spare = 0.1\n", "device.log.spare", "at least 5 are needed"),
        ("zones.open = 1\n", "device.zones.open", "a log writes to two zones"),
        ("log.batch = '512B'\n", "device.log.batch", "512B is less than 4KiB"),
    ];
    for (text, key, problem) in rows {
        let error = config(&format!("{SMALL}{LOG}{text}")).build(1).err().expect("it is refused");
        assert_eq!(error.keys[0], key, "{error}");
        assert!(error.problem.contains(problem), "{error}");
    }
    let cut = config(&format!("{SMALL}{LOG}")).check_power_cuts().unwrap_err();
    assert_eq!(cut.keys[0], "device.adapt");
}
