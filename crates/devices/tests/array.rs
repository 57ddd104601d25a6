//! Is an array the sum of its members, and does every key of it change a result?

use crate::common;

use crate::common::{Closed, Keep, run_closed};
use devices::array::{ArrayConfig, Layout};
use devices::latency::HOST_LINK;
use devices::law::LawConfig;
use devices::ssd::SsdConfig;
use devices::ssd::account::{COUNTERS, Counter, Section};
use devices::{DeviceConfig, DeviceKind, Instruction, Model, Report};
use engine::{Completion, Lba, Op, Random, Request, SECTOR_BYTES, Status, Time, Xoshiro256};
use options::Size;
use serde_json::Value;

fn array(members: u32, member: DeviceConfig) -> ArrayConfig {
    ArrayConfig { members, member, ..ArrayConfig::default() }
}

fn small() -> DeviceConfig {
    DeviceConfig::Ssd(Box::new(SsdConfig { pages_per_block: 16, ..common::small() }))
}

fn linear() -> DeviceConfig {
    DeviceConfig::Law(Box::default())
}

fn build(config: &ArrayConfig) -> Box<dyn Model> {
    config.build(9).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// A closed load of mixed random requests of up to `most` sectors.
fn mixed(device: &mut dyn Model, most: u64, requests: u64) -> (Time, Vec<Completion>) {
    let capacity = device.capacity_sectors();
    let mut random = Xoshiro256::new(4, 0);
    let mut load = Closed::new(16, requests, |id| {
        let op = [Op::Read, Op::Write, Op::Write, Op::Trim, Op::Flush][random.below(5) as usize];
        let sectors = 1 + random.below(most);
        Request::new(id, op, Lba(random.below(capacity - sectors)), sectors as u32)
    });
    run_closed(device, &mut load)
}

#[test]
fn an_array_of_one_is_its_member() {
    let mut alone = small().build(9).unwrap();
    let mut array = build(&array(1, small()));
    assert_eq!(array.capacity_sectors(), alone.capacity_sectors() / 128 * 128);
    // The same load, on what both have.
    let sectors = array.capacity_sectors();
    let run = |device: &mut dyn Model| {
        let mut random = Xoshiro256::new(4, 0);
        let mut load = Closed::new(8, 5000, |id| {
            let op = [Op::Read, Op::Write, Op::Flush, Op::Trim][random.below(4) as usize];
            Request::new(id, op, Lba(random.below(sectors - 64)), 64)
        });
        let (end, mut completions) = run_closed(device, &mut load);
        // What ends at one instant has no order that means anything.
        completions.sort_by_key(|it| (it.at, it.request.id));
        (end, completions, device.report(end).to_json().to_string())
    };
    let (one, other) = (run(&mut *alone), run(&mut *array));
    assert_eq!(one.0, other.0);
    assert_eq!(one.1, other.1);
    assert_eq!(one.2, other.2.replace("member 0 ", ""));
}

/// The requests to the members cover the requests to the array, each sector once.
#[test]
fn parts_cover_their_request_exactly() {
    for layout in [Layout::Striped, Layout::Concatenated] {
        for (members, stripe) in [(1, 4096), (2, 512), (3, 8192), (7, 65536)] {
            let stripe = Size::from_bytes(stripe);
            let size = Size::from_bytes(100 << 10);
            let member = DeviceConfig::Law(Box::new(LawConfig { size, ..LawConfig::default() }));
            let config = ArrayConfig { layout, stripe, ..array(members, member) };
            let mut device = build(&config);
            let unit = match layout {
                Layout::Striped => stripe.bytes() / SECTOR_BYTES,
                Layout::Concatenated => 200,
            };
            assert_eq!(device.capacity_sectors(), u64::from(members) * (200 / unit * unit));
            // A linear device serves its parts one by one, each at its own cost: the time of a
            // request is that of its longest part.
            let cost = |sectors: u64| 230_600 + (sectors * 3_987 * 512 + 512) / 1024;
            let mut random = Xoshiro256::new(u64::from(members), 0);
            let mut now = 0;
            for id in 0..500 {
                let sectors = 1 + random.below(device.capacity_sectors() / 2);
                let start = 1 + random.below(device.capacity_sectors() - sectors);
                let mut parts = vec![0; members as usize];
                (start..start + sectors).for_each(|at| {
                    parts[(at / unit % u64::from(members)) as usize] += 1;
                });
                // Alternating directions are never sequential.
                let write = Request::new(id, Op::Write, Lba(0), 1);
                let read = Request::new(id, Op::Read, Lba(start), sectors as u32);
                for member in 0..u64::from(members) {
                    let lba = match layout {
                        Layout::Striped => Lba(member * unit),
                        Layout::Concatenated => Lba(member * 200),
                    };
                    now = answered(&mut *device, now, Request { lba, ..write }).at;
                }
                let answer = answered(&mut *device, now, read);
                assert_eq!(answer.request, read);
                assert_eq!(answer.latency(), cost(parts.iter().copied().max().unwrap()));
                now = answer.at;
            }
        }
    }
}

/// The answer to a single request.
fn answered(device: &mut dyn Model, now: Time, request: Request) -> Completion {
    let mut completions = Vec::new();
    device.submit(now, request);
    while completions.is_empty() {
        let at = device.next_event().unwrap();
        device.advance(at, &mut completions);
    }
    completions[0]
}

#[test]
fn accounts_add_up_over_the_members() {
    let mut device = build(&array(3, small()));
    let (end, completions) = mixed(&mut *device, 300, 4000);
    assert_eq!(completions.len(), 4000);
    let report = device.report(end);
    assert_eq!(report.list("units").len(), 6);
    assert_eq!(report.list("units")[5].value("name"), "member 2 package 1");
    assert_eq!(report.value("buses.busy").as_array().unwrap().len(), 6);
    assert!(report.count("flash.block_erases") > 100, "the load makes it clean");
    let flash = |name: &str| report.number(&format!("flash.{name}")).unwrap();
    let (moved, programs) = (flash("pages_moved"), flash("page_programs"));
    assert!((flash("write_amplification") - programs / (programs - moved)).abs() < 1e-9);
    let erased: f64 = report.number("wear.mean_erases").unwrap() * f64::from(3 * 2 * 64);
    assert!((erased - flash("block_erases")).abs() < 1e-6);
    let data = flash("cleaning.victim_pages");
    assert!((data - 15.0 * flash("cleaning.blocks_cleaned")).abs() < 1e-9);
    // Victims that are not erased yet have lost pages too, which are not held against the others.
    let out = flash("cleaning.victim_pages_moved");
    assert!(0.9 * moved < out && out <= moved);
    assert!((flash("cleaning.efficiency") - (1.0 - out / data)).abs() < 1e-9);
    device.audit().unwrap();
}

#[test]
fn preparing_reaches_every_member_and_counts_from_zero_after() {
    for layout in [Layout::Striped, Layout::Concatenated] {
        let mut device = build(&ArrayConfig { layout, ..array(3, small()) });
        let pages = device.facts().pages;
        let mut random = Xoshiro256::new(1, 0);
        for _ in 0..4 * pages {
            device.overwrite_untimed(&[random.below(pages)], 0);
        }
        let report = device.report(0);
        assert!(report.number("flash.write_amplification").unwrap() > 1.5);
        let wear = ["mean_erases", "std_erases"].map(|it| report.number(&format!("wear.{it}")));
        assert!(wear[0] > Some(3.0) && wear[1] < wear[0], "{wear:?}");
        device.instruct(0, Instruction::ResetCounts).unwrap();
        assert_eq!(device.report(0).count("flash.page_programs"), 0);
        device.audit().unwrap();
    }
}

/// The seed of a member of an array that was built with 9.
fn member_seed(member: u64) -> u64 {
    9u64.wrapping_add(member.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Every count, which an array has as the sum of its members'.
fn counters(report: &Report) -> Vec<u64> {
    let path = |it: &Counter| format!("{}.{}", it.section.path(), it.key);
    COUNTERS.iter().map(|it| report.count(&path(it))).collect()
}

#[test]
fn without_time_an_array_is_the_sum_of_its_members() {
    for layout in [Layout::Striped, Layout::Concatenated] {
        let config = ArrayConfig { layout, ..array(3, small()) };
        let mut device = build(&config);
        let mut members: Vec<_> =
            (0..3).map(|member| small().build(member_seed(member)).unwrap()).collect();
        let unit = match layout {
            Layout::Striped => 128,
            Layout::Concatenated => members[0].capacity_sectors(),
        };
        let (capacity, mut random) = (device.capacity_sectors(), Xoshiro256::new(4, 0));
        for id in 0..6000 {
            let op = [Op::Read, Op::Write, Op::Write, Op::Trim][random.below(4) as usize];
            let sectors = 1 + random.below(600);
            let lba = random.below(capacity - sectors);
            let request = Request::new(id, op, Lba(lba), sectors as u32);
            assert!(device.serve_untimed(&request).is_ok());
            // Sector by sector, what each member holds of it.
            let mut parts = [(u64::MAX, 0u32); 3];
            for sector in lba..lba + sectors {
                let (first, count) = &mut parts[(sector / unit % 3) as usize];
                *first = (*first).min(sector / (unit * 3) * unit + sector % unit);
                *count += 1;
            }
            for (member, (lba, sectors)) in members.iter_mut().zip(parts) {
                if sectors > 0 {
                    member.serve_untimed(&Request::new(id, op, Lba(lba), sectors));
                }
            }
        }
        let mut sum = vec![0; COUNTERS.len()];
        for member in &members {
            let counted = counters(&member.report(0));
            sum.iter_mut().zip(counted).for_each(|(sum, count)| *sum += count);
        }
        let counted = counters(&device.report(0));
        assert_eq!(counted, sum, "{layout}");
        // Nothing wears out here.
        let never =
            ["copy_backs", "pages_migrated", "blocks_migrated", "refused_pages", "refused_bytes"];
        let others =
            [Section::Buffer, Section::Merges, Section::Blocks, Section::Map, Section::Levels];
        let of_pages = |(it, _): &(&Counter, u64)| !others.contains(&it.section);
        for (counter, count) in COUNTERS.iter().zip(counted).filter(of_pages) {
            assert_eq!(count > 0, !never.contains(&counter.key), "{} {count}", counter.key);
        }
        device.audit().unwrap();
    }
}

#[test]
fn preparing_an_array_prepares_its_members() {
    for layout in [Layout::Striped, Layout::Concatenated] {
        let mut device = build(&ArrayConfig { layout, ..array(3, small()) });
        let mut members: Vec<_> =
            (0..3).map(|member| small().build(member_seed(member)).unwrap()).collect();
        let each = members[0].facts().pages;
        assert_eq!(device.facts().pages, 3 * each);
        let mut random = Xoshiro256::new(1, 0);
        let pages: Vec<u64> = (0..8 * each).map(|_| random.below(3 * each)).collect();
        device.overwrite_untimed(&pages, 0);
        for page in pages {
            let (member, place) = match layout {
                Layout::Striped => (page % 3, page / 3),
                Layout::Concatenated => (page / each, page % each),
            };
            members[member as usize].overwrite_untimed(&[place], 0);
        }
        let report = device.report(0);
        let cells = |report: &Report| -> Vec<Value> {
            let rows = report.value("wear.map");
            rows.as_array().unwrap().iter().map(|row| row["mean_erases"].clone()).collect()
        };
        let rows: Vec<_> = members.iter().flat_map(|it| cells(&it.report(0))).collect();
        let together = cells(&report);
        assert_eq!(together, rows, "{layout}");
        assert!(report.count("flash.block_erases") > 100);
    }
}

fn prepared(device: &mut dyn Model) {
    let (pages, mut random) = (device.facts().pages, Xoshiro256::new(1, 0));
    for _ in 0..4 * pages {
        device.overwrite_untimed(&[random.below(pages)], 0);
    }
    device.instruct(0, Instruction::ResetCounts).unwrap();
}

#[test]
fn a_saved_array_continues_bit_identically() {
    let mut member = SsdConfig { pages_per_block: 16, ..common::small() };
    member.cleaning.policy = "d-choices".parse().unwrap();
    let member = || DeviceConfig::Ssd(Box::new(member.clone()));
    let inner = DeviceConfig::Array(Box::new(array(2, member())));
    for config in [array(1, member()), array(3, member()), array(2, inner)] {
        let mut first = build(&config);
        prepared(&mut *first);
        let mut second = config.build(77).unwrap();
        second.restore(first.save().unwrap()).unwrap();
        assert!(first.save() == second.save());
        second.instruct(0, Instruction::ResetCounts).unwrap();
        let [one, other] = [first, second].map(|mut device| {
            let (end, completions) = mixed(&mut *device, 300, 4000);
            (completions, device.report(end).to_json())
        });
        assert!(one == other, "{} members", config.members);
    }
}

#[test]
fn an_array_of_one_is_its_member_without_time_too() {
    let mut alone = small().build(9).unwrap();
    let mut array = build(&array(1, small()));
    let sectors = array.capacity_sectors();
    let [one, other] = [&mut alone, &mut array].map(|device| {
        prepared(&mut **device);
        let mut random = Xoshiro256::new(4, 0);
        for id in 0..5000 {
            let op = [Op::Read, Op::Write, Op::Flush, Op::Trim][random.below(4) as usize];
            let lba = Lba(random.below(sectors - 64));
            assert!(device.serve_untimed(&Request::new(id, op, lba, 61)).is_ok());
        }
        device.report(0)
    });
    assert_eq!(counters(&one), counters(&other));
    assert_eq!(one.section("wear.lifetime"), other.section("wear.lifetime"));
    assert_eq!(one.number("wear.std_erases"), other.number("wear.std_erases"));
}

#[test]
fn states_of_other_arrays_are_refused() {
    let config = array(2, small());
    let state = build(&config).save().unwrap();
    let refused = |config: &ArrayConfig| build(config).restore(state.clone()).unwrap_err();
    let members = refused(&array(3, small()));
    assert!(members.contains("device.members is 2 there and 3 here"), "{members}");
    let stripe = refused(&ArrayConfig { stripe: Size::from_bytes(4096), ..config.clone() });
    assert!(stripe.contains("device.stripe is 64KiB there and 4KiB here"), "{stripe}");
    let larger = SsdConfig { pages_per_block: 32, ..common::small() };
    let member = refused(&array(2, DeviceConfig::Ssd(Box::new(larger))));
    let expected = "member 0: it is of another drive: device.member.pages_per_block is 16 there and \
                    32 here";
    assert!(member.starts_with(expected), "{member}");
    let alone = small().build(9).unwrap().restore(state.clone()).unwrap_err();
    assert_eq!(alone, "it is of an array, and this device is a single drive");
    let alone = small().build(9).unwrap().save().unwrap();
    let array = build(&config).restore(alone).unwrap_err();
    assert_eq!(array, "it is of a single drive, and this device is an array");
    let laws = build(&array_of_laws());
    assert!(laws.save().is_none());
}

fn array_of_laws() -> ArrayConfig {
    array(2, linear())
}

#[test]
fn a_request_fails_if_a_part_of_it_does() {
    let mut member = SsdConfig { pages_per_block: 16, ..common::small() };
    member.wear.rated_cycles = 4;
    let config = array(2, DeviceConfig::Ssd(Box::new(member)));
    let ended = || {
        let mut device = build(&config);
        let (pages, mut random) = (device.facts().pages, Xoshiro256::new(1, 0));
        while !device.standing().has_ended {
            device.overwrite_untimed(&[random.below(pages / 2) * 2 + 1], 0);
        }
        device
    };
    // Of the first member, of the second, which has ended, and of both.
    let rows = [
        (Op::Write, 0, 128, Status::Ok),
        (Op::Write, 128, 128, Status::ReadOnly),
        (Op::Write, 64, 128, Status::ReadOnly),
        (Op::Trim, 0, 256, Status::ReadOnly),
        (Op::Read, 0, 256, Status::Ok),
        (Op::Flush, 0, 0, Status::Ok),
    ];
    let (mut timed, mut untimed) = (ended(), ended());
    assert!(timed.standing().may_refuse);
    let mut now = 0;
    for (op, lba, sectors, status) in rows {
        let request = Request::new(0, op, Lba(lba), sectors);
        let answer = answered(&mut *timed, now, request);
        assert_eq!(answer.status, status, "{op:?} {lba}");
        assert_eq!(untimed.serve_untimed(&request), status, "{op:?} {lba}");
        now = answer.at;
    }
    assert!(timed.report(now).is("wear.ended"));
}

#[test]
fn arrays_of_arrays_work() {
    let inner = DeviceConfig::Array(Box::new(array(2, small())));
    let mut device = build(&array(2, inner));
    let (end, _) = mixed(&mut *device, 2000, 1000);
    assert_eq!(device.report(end).list("units")[7].value("name"), "member 1 member 1 package 1");
}

#[test]
fn a_flush_waits_for_the_writes_before_it_on_every_member() {
    let mut config = array(2, small());
    config.host_link.latency = "5us".parse().unwrap();
    let mut device = build(&config);
    let steps =
        [(0, Op::Write, 0, 8), (0, Op::Write, 128, 128), (0, Op::Flush, 0, 0), (0, Op::Read, 0, 8)];
    let mut keep = Keep::default();
    engine::drive(&mut *device, &mut common::Script::sectors(&steps), Time::MAX, &mut keep)
        .unwrap();
    let at = |id: u64| keep.0.iter().find(|it| it.request.id == id).unwrap().at;
    assert_eq!(at(2), at(0).max(at(1)));
    assert_eq!(keep.0[0].breakdown[HOST_LINK], 5_000);
}

#[test]
fn impossible_arrays_are_refused() {
    let refused = |config: ArrayConfig| config.build(0).err().unwrap();
    let problem = |config| refused(config).to_string();
    assert!(problem(array(0, linear())).starts_with("device.members: an array has 1 to"));
    assert!(problem(array(5000, linear())).contains("not 5000"));
    for (stripe, rule) in [(0, "0B is not a multiple"), (1000, "not a multiple of a sector")] {
        let stripe = Size::from_bytes(stripe);
        let refusal = refused(ArrayConfig { stripe, ..array(2, linear()) });
        assert_eq!(refusal.keys, ["device.stripe"]);
        assert!(refusal.problem.contains(rule), "{refusal}");
    }
    let stripe = Size::from_bytes(65 << 30);
    let large = ArrayConfig { stripe, ..array(2, linear()) };
    assert!(problem(large).contains("more than a member holds, 64GiB"));
    let broken = SsdConfig { channels: 0, ..SsdConfig::default() };
    let refusal = refused(array(2, DeviceConfig::Ssd(Box::new(broken))));
    assert_eq!(refusal.keys[0], "device.member.channels");
}

// ---- no dead options ----------------------------------------------------------------------------

/// Mean latency and total time of sixteen outstanding sequential reads of 64 KiB.
fn reads(config: &ArrayConfig, outstanding: u32) -> (f64, f64) {
    let mut device = build(config);
    let mut load = Closed::new(outstanding, 400, |id| {
        Request::new(id, Op::Read, Lba(id * 128 % (device_sectors(config) - 128)), 128)
    });
    let (end, completions) = run_closed(&mut *device, &mut load);
    let sum: Time = completions.iter().map(Completion::latency).sum();
    (sum as f64 / completions.len() as f64, end as f64)
}

fn device_sectors(config: &ArrayConfig) -> u64 {
    build(config).capacity_sectors()
}

#[test]
fn every_key_changes_a_result_in_the_right_direction() {
    type Change = fn(&mut ArrayConfig);
    // Key, the change, outstanding reads, and whether latency and total time become less.
    let rows: [(&str, Change, u32, [bool; 2]); 6] = [
        ("device.members", |it| it.members = 8, 16, [true, true]),
        ("device.layout", |it| it.layout = Layout::Concatenated, 16, [false, false]),
        // Smaller units spread a single request over more members.
        ("device.stripe", |it| it.stripe = Size::from_bytes(16 << 10), 1, [true, true]),
        (
            "device.host_link.bandwidth",
            |it| it.host_link.bandwidth = "50MB/s".parse().unwrap(),
            16,
            [false, false],
        ),
        (
            "device.host_link.latency",
            |it| it.host_link.latency = "50us".parse().unwrap(),
            1,
            [false, false],
        ),
        ("device.member", |it| it.member = linear(), 1, [true, true]),
    ];
    for (key, change, outstanding, less) in &rows {
        let before = array(4, small());
        let mut after = before.clone();
        change(&mut after);
        let (a, b) = (reads(&before, *outstanding), reads(&after, *outstanding));
        println!("{key}: {a:?} -> {b:?}");
        assert_eq!([b.0 < a.0, b.1 < a.1], *less, "{key}: {a:?} -> {b:?}");
        assert!(a != b, "{key}");
    }
    let mut reference = Vec::new();
    devices::describe("array", &mut reference);
    let keys = reference.iter().map(|row| &row.path[..]);
    // They make no difference to reads alone, and have tests of their own, like the keys of redundancy.
    let others = ["device.host_link.duplex", "device.cleaning_together", "device.each"];
    let apart = |key: &&str| others.contains(key) || crate::raid_keys::KEYS.contains(key);
    let keys: Vec<&str> = keys.filter(|key| !apart(key)).collect();
    let tested: Vec<&str> = rows.iter().map(|row| row.0).collect();
    assert_eq!(keys, tested, "keys without a row");
}

#[test]
fn full_duplex_of_an_array_moves_reads_and_writes_at_once() {
    let ends = |duplex: &str| {
        let mut config = array(2, linear());
        config.host_link.bandwidth = "1MB/s".parse().unwrap();
        config.host_link.duplex = duplex.parse().unwrap();
        let mut device = build(&config);
        // While the data of the read are transferred, the write is submitted.
        let latency =
            answered(&mut *build(&array(2, linear())), 0, Request::new(0, Op::Read, Lba(0), 8)).at;
        device.submit(0, Request::new(0, Op::Read, Lba(0), 8));
        let mut done = Vec::new();
        device.advance(latency, &mut done);
        device.submit(latency, Request::new(1, Op::Write, Lba(0), 8));
        while let Some(at) = device.next_event() {
            device.advance(at, &mut done);
        }
        [done[0].at - latency, done[1].breakdown[HOST_LINK]]
    };
    assert_eq!(ends("half"), [4_096_000, 8_192_000]);
    assert_eq!(ends("full"), [4_096_000, 4_096_000]);
}
