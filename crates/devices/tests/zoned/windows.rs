//! Windows of random writes (ZRWA).

use super::{PAGE, SMALL, ask, drive, report, request, settle};
use devices::ssd::zoned::{State, ZonedDrive};
use engine::{Completion, Op, Random, Status, Time, Xoshiro256};

/// Two windows of 128 KiB, committed by 16 KiB.
const WINDOWS: &str =
    "zones.zrwa.resources = 2\nzones.zrwa.size = '128KiB'\nzones.zrwa.granularity = '16KiB'\n";
const WINDOW: u64 = 256;
const CAPACITY: u64 = 1536;

fn with_windows() -> (ZonedDrive, Time) {
    (drive(&format!("{SMALL}{WINDOWS}")), 0)
}

fn one(drive: &mut ZonedDrive, now: &mut Time, op: Op, sector: u64, sectors: u64) -> Completion {
    ask(drive, now, &[request(op, sector, sectors)])[0]
}

/// Every page of a zone is written several times at random within the window: the flash has each once.
#[test]
fn random_writes_within_windows_are_programmed_once() {
    let (mut drive, mut now) = with_windows();
    let mut random = Xoshiro256::new(5, 0);
    let mut asked = 0;
    assert_eq!(one(&mut drive, &mut now, Op::OpenWindow, 0, 1).status, Status::Ok);
    for start in (0..CAPACITY).step_by(WINDOW as usize) {
        let mut order: Vec<u64> = (0..WINDOW / PAGE).flat_map(|page| [page; 3]).collect();
        for place in (1..order.len()).rev() {
            order.swap(place, random.below(place as u64 + 1) as usize);
        }
        // The last write of the zone would end it: each page is once more there before that.
        for page in order {
            if drive.zones().look(0).state == State::Full {
                continue;
            }
            asked += 1;
            let answer = one(&mut drive, &mut now, Op::Write, start + page * PAGE, PAGE);
            assert_eq!(answer.status, Status::Ok, "{start} + {page}");
        }
        if drive.zones().look(0).state != State::Full {
            assert_eq!(one(&mut drive, &mut now, Op::Commit, start, WINDOW).status, Status::Ok);
        }
    }
    settle(&mut drive, &mut now);
    assert_eq!(drive.zones().look(0).state, State::Full);
    let report = report(&drive, now);
    assert_eq!(report.count("data_bytes"), CAPACITY * 512);
    assert_eq!(report.count("host_bytes"), asked * 4096);
    assert_eq!(report.count("windows.absorbed_bytes"), asked * 4096 - CAPACITY * 512);
    assert_eq!(drive.zones().counts(), [0, 0, 0], "the window has been given back");
}

/// A write that ends beyond the window moves it, by whole granules, so that it ends there.
#[test]
fn a_write_beyond_the_window_commits_what_is_before_it() {
    let (mut drive, mut now) = with_windows();
    one(&mut drive, &mut now, Op::OpenWindow, 0, 1);
    let steps = [
        // Within the window, at its end, beyond it by a page, by a granule, as far as possible, and too far.
        (0, 8, Ok(0)),
        (248, 8, Ok(0)),
        (256, 8, Ok(32)),
        (288, 32, Ok(64)),
        (568, 8, Ok(320)),
        (833, 8, Err(Status::InvalidWrite)),
        (312, 8, Err(Status::InvalidWrite)),
        (320, 8, Ok(320)),
    ];
    for (sector, sectors, expected) in steps {
        let before = drive.zones().look(0).pointer;
        let status = one(&mut drive, &mut now, Op::Write, sector, sectors).status;
        let found = if status.is_ok() { Ok(drive.zones().look(0).pointer) } else { Err(status) };
        assert_eq!(found, expected, "{sector} + {sectors} with the pointer at {before}");
    }
    settle(&mut drive, &mut now);
    // Two whole groups of 128 sectors are in the flash, also where nothing was written.
    assert_eq!(report(&drive, now).count("data_bytes"), 2 * 65_536);
    assert_eq!(report(&drive, now).count("windows.commits"), 3);
}

#[test]
fn what_a_window_cannot_do_is_refused() {
    let (mut drive, mut now) = with_windows();
    let zone = |number: u64| number * 2048;
    let rows = [
        (Op::OpenWindow, zone(0), 1, Status::Ok),
        (Op::OpenWindow, zone(0), 1, Status::Ok),
        (Op::OpenWindow, zone(1), 1, Status::Ok),
        (Op::OpenWindow, zone(2), 1, Status::NoWindow),
        (Op::Append, zone(0), 8, Status::InvalidZoneOperation),
        (Op::Write, zone(3), 8, Status::Ok),
        (Op::OpenWindow, zone(3), 1, Status::InvalidZoneOperation),
        (Op::Commit, zone(3), 8, Status::InvalidZoneOperation),
        (Op::Commit, zone(0), 8, Status::InvalidZoneOperation),
        (Op::Commit, zone(0), 288, Status::InvalidZoneOperation),
        (Op::Commit, zone(0), 256, Status::Ok),
        (Op::Commit, zone(0), 224, Status::InvalidZoneOperation),
        (Op::Write, zone(0) + 248, 8, Status::InvalidWrite),
        (Op::Finish, zone(0), 1, Status::Ok),
        (Op::OpenWindow, zone(2), 1, Status::Ok),
        (Op::Commit, zone(0), 256, Status::ZoneFull),
    ];
    for (op, sector, sectors, expected) in rows {
        let found = one(&mut drive, &mut now, op, sector, sectors).status;
        assert_eq!(found, expected, "{op:?} {sector} + {sectors}");
    }
    let refused_as = |status: Status| format!("refused.{}", status.name());
    let refused = report(&drive, now);
    assert!(refused.count(&refused_as(Status::NoWindow)) == 1, "{refused:?}");
    assert!(refused.count(&refused_as(Status::InvalidZoneOperation)) == 6, "{refused:?}");
}

/// Finishing commits what is in the window, up to the last page that was written.
#[test]
fn a_finish_commits_the_window() {
    let (mut drive, mut now) = with_windows();
    one(&mut drive, &mut now, Op::OpenWindow, 0, 1);
    one(&mut drive, &mut now, Op::Write, 128, 8);
    one(&mut drive, &mut now, Op::Finish, 0, 1);
    settle(&mut drive, &mut now);
    let report = report(&drive, now);
    assert_eq!(report.count("padding_bytes"), (CAPACITY - 136) * 512);
    // The page that was written is in the second group; ten follow.
    assert_eq!(
        (report.count("data_bytes"), report.count("padded_bytes")),
        (2 * 65_536, 10 * 65_536)
    );
}
