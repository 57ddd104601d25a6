//! A drive that has ended refuses what would change it, says so in each answer, and reads on.

use crate::common;

use crate::common::{Closed, Keep, Script};
use devices::law::LawConfig;
use devices::ssd::config::Wear;
use devices::ssd::{Snapshot, Ssd, SsdConfig};
use devices::{DeviceKind, Instruction, Model};
use engine::{Device, Lba, Op, Random, Request, Status, Time, Xoshiro256, drive};

/// A drive whose blocks last for four erasures.
fn mortal() -> SsdConfig {
    let wear = Wear { rated_cycles: 4, ..Wear::default() };
    SsdConfig { pages_per_block: 16, wear, ..common::small() }
}

/// The state of this drive after writing it to its end of life.
fn ended() -> Snapshot {
    let mut ssd = Ssd::new(&mortal(), 1).unwrap();
    let mut random = Xoshiro256::new(1, 0);
    while !ssd.standing().has_ended {
        ssd.overwrite_untimed(&[random.below(ssd.facts().pages)], 0);
    }
    Model::save(&ssd).unwrap()
}

#[test]
fn a_run_to_end_of_life_answers_every_request() {
    for outstanding in [1, 4, 64] {
        let mut ssd = Ssd::new(&mortal(), 1).unwrap();
        assert!(!ssd.standing().may_refuse);
        let (capacity, mut random) = (ssd.capacity_sectors(), Xoshiro256::new(2, 0));
        let mut load = Closed::new(outstanding, u64::MAX, |id| {
            // Of parts of pages too, which are read first and may be refused after that.
            let sectors = 1 + random.below(100);
            let op = [Op::Write, Op::Write, Op::Write, Op::Trim][random.below(4) as usize];
            Request::new(id, op, Lba(random.below(capacity - sectors)), sectors as u32)
        });
        let mut keep = Keep::default();
        let driven = drive(&mut ssd, &mut load, Time::MAX, &mut keep).unwrap();
        ssd.check().unwrap();
        assert!(ssd.standing().has_ended && ssd.standing().may_refuse);
        assert_eq!((driven.asked, driven.unanswered), (keep.0.len() as u64, 0));
        let refused = keep.0.iter().filter(|it| !it.status.is_ok());
        let counts = ssd.account(driven.last).counts;
        println!("{outstanding}: {} of {} refused", refused.clone().count(), driven.asked);
        let writes = refused.clone().filter(|it| it.request.op == Op::Write).count();
        assert_eq!(counts.refused_pages > 0, writes > 0);
        assert!(outstanding < 64 || writes > 0, "what waited is refused");
        assert!(refused.clone().all(|it| matches!(it.request.op, Op::Write | Op::Trim)));
        assert!(refused.count() <= outstanding as usize, "no more is asked");
    }
}

#[test]
fn a_request_is_refused_when_some_of_its_pages_are() {
    let mut ssd = Ssd::new(&mortal(), 1).unwrap();
    let mut random = Xoshiro256::new(3, 0);
    let mut requests = 0;
    loop {
        let lba = Lba(random.below(ssd.capacity_sectors() / 8 - 32) * 8);
        let write = Request::new(0, Op::Write, lba, 32 * 8);
        requests += 1;
        if ssd.serve_untimed(&write) == Status::ReadOnly {
            break;
        }
        assert_eq!(ssd.account(0).counts.refused_pages, 0);
    }
    let report = ssd.account(0);
    assert!((1..32).contains(&report.counts.refused_pages), "{}", report.counts.refused_pages);
    assert_eq!(report.counts.host_pages_written + report.counts.refused_pages, requests * 32);
}

#[test]
fn an_ended_drive_reads_and_refuses_alike_timed_and_untimed() {
    let state = ended();
    let drive_of = || {
        let mut ssd = Ssd::new(&mortal(), 1).unwrap();
        ssd.restore(state.clone()).unwrap();
        ssd.instruct(0, Instruction::ResetCounts).unwrap();
        ssd
    };
    let steps = [
        (0, Op::Read, 0, 64),
        (0, Op::Write, 8, 8),
        (0, Op::Write, 3, 60),
        (0, Op::Trim, 0, 64),
        (0, Op::Flush, 0, 0),
        (0, Op::Read, 0, 64),
    ];
    let expected =
        [Status::Ok, Status::ReadOnly, Status::ReadOnly, Status::ReadOnly, Status::Ok, Status::Ok];
    let mut timed = drive_of();
    let answers = common::run_on(&mut timed, Script::sectors(&steps));
    assert_eq!(answers.iter().map(|it| it.status).collect::<Vec<_>>(), expected);
    let mut untimed = drive_of();
    let answers = steps.iter().map(|(_, op, lba, sectors)| {
        untimed.serve_untimed(&Request::new(0, *op, Lba(*lba), *sectors))
    });
    assert_eq!(answers.collect::<Vec<_>>(), expected);
    let [one, other] = [&timed, &untimed].map(|ssd| ssd.account(0));
    assert_eq!((one.counts.refused_pages, other.counts.refused_pages), (9, 9));
    assert_eq!((one.counts.pages_trimmed, other.counts.pages_trimmed), (0, 0));
    assert_eq!((one.counts.host_pages_read, other.counts.host_pages_read), (16, 16));
    // What was refused has changed nothing.
    assert!(Model::save(&untimed) == Model::save(&drive_of()));
}

#[test]
fn devices_without_wear_refuse_nothing() {
    let mut device = LawConfig::default().build(0).unwrap();
    let mut load = Closed::new(4, 100, |id| {
        let op = [Op::Write, Op::Trim][(id % 2) as usize];
        Request::new(id, op, Lba(id), 8)
    });
    let (_, answers) = common::run_closed(&mut *device, &mut load);
    assert!(answers.len() == 100 && answers.iter().all(|it| it.status.is_ok()));
    assert!(!device.standing().may_refuse);
}
