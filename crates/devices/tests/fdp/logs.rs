//! What the log pages have: events, units, and the curve of write amplification.

use super::{buffered, config, fdp, pages, placed, plane, shared_load, write};
use crate::common::{Closed, run_closed};
use devices::ssd::{EventKind, FdpReport, HandleReport, Ssd};
use devices::{Instruction, Model};
use engine::{Device, Handle, Request, Time};
use serde_json::json;

/// Runs writes of one page in turn with the handles, and advances until nothing is under way; the end.
fn run(ssd: &mut Ssd, at: Time, first: u64, handles: &[u64]) -> Time {
    let mut done = Vec::new();
    for (number, handle) in handles.iter().enumerate() {
        let id = first + number as u64;
        ssd.submit(at, write(id, id, 1, *handle));
    }
    let mut now = at;
    while let Some(next) = ssd.next_event() {
        now = next;
        ssd.advance(now, &mut done);
    }
    assert_eq!(done.len(), handles.len());
    now
}

fn report(ssd: &Ssd, end: Time) -> FdpReport {
    fdp(&ssd.account(end)).clone()
}

#[test]
fn a_unit_that_is_given_up_is_an_event_and_the_next_write_begins_another() {
    for keys in [plane(96, 32, 0.3), buffered()] {
        let config = placed(keys, 3, "initial", &[]);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let full = report(&ssd, 0).unit;
        let end = run(&mut ssd, 0, 0, &[1; 5]);
        let before = report(&ssd, end);
        assert_eq!(
            before.handles.iter().map(|it| it.left).collect::<Vec<_>>(),
            [full, full - 5 * 4096, full]
        );
        ssd.instruct(end + 1, Instruction::NextUnit(1)).unwrap();
        let end = run(&mut ssd, end + 1, 5, &[1; 2]);
        let after = report(&ssd, end);
        let HandleReport { opened, closed, partly, left, host, media, .. } = after.handles[1];
        assert_eq!((opened, closed, partly, left), (2, 0, 1, full - 2 * 4096));
        assert_eq!((host, media), (7 * 4096, 7 * 4096), "what fills a unit is no data");
        let event = after.last[0][0];
        assert_eq!(
            (event.kind, event.handle, event.after_bytes),
            (EventKind::UnitNotFull, Some(1), 5 * 4096)
        );
        assert_eq!(after.events, [1, 0, 0, 0, 0, 0]);
        // There is nothing to give up in a unit that was not begun.
        ssd.instruct(end + 1, Instruction::NextUnit(2)).unwrap();
        assert_eq!(report(&ssd, end).events, [1, 0, 0, 0, 0, 0]);
        assert!(
            ssd.instruct(end + 1, Instruction::NextUnit(3))
                .unwrap_err()
                .contains("there are 0 to 2")
        );
        ssd.check().unwrap();
    }
    let plain = &mut Ssd::new(&config(&plane(96, 32, 0.3)), 1).unwrap();
    assert!(
        plain.instruct(0, Instruction::NextUnit(0)).unwrap_err().contains("device.fdp.handles")
    );
}

#[test]
fn units_are_given_up_under_load_and_nothing_is_lost() {
    for isolation in ["initial", "persistent"] {
        let config = placed(buffered(), 3, isolation, &[]);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let load = shared_load(4000, pages(&ssd));
        let (mut done, mut now) = (Vec::new(), 0);
        for (number, request) in load.iter().enumerate() {
            now += 40_000;
            ssd.advance(now, &mut done);
            ssd.submit(now, *request);
            if number % 500 == 499 {
                ssd.instruct(now, Instruction::NextUnit(number as u32 % 3)).unwrap();
                ssd.check().unwrap();
            }
        }
        while let Some(next) = ssd.next_event() {
            now = next;
            ssd.advance(now, &mut done);
        }
        assert_eq!(done.len(), load.len());
        let found = report(&ssd, now);
        assert!(found.events[0] >= 6, "{:?}", found.events);
        let partly: u64 = found.handles.iter().map(|it| it.partly).sum();
        assert_eq!(partly, found.events[0], "one for each unit that was given up");
        ssd.check().unwrap();
    }
}

#[test]
fn a_unit_that_is_open_for_too_long_is_given_up_by_the_drive() {
    let limit = 10_000_000;
    for (later, is_late) in [(limit - 1_000_000, false), (limit + 1_000_000, true)] {
        let config = placed(buffered(), 2, "initial", &[("device.fdp.time_limit", json!("10ms"))]);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let full = report(&ssd, 0).unit;
        let end = run(&mut ssd, 0, 0, &[1; 5]);
        let before = report(&ssd, end);
        assert_eq!(before.time_limit, Some(limit));
        assert_eq!(before.handles[1].time_left, Some(limit - end));
        // Another handle does not end it, and a read neither.
        run(&mut ssd, later, 5, &[0]);
        assert_eq!(report(&ssd, later).handles[1].left, full - 5 * 4096);
        let end = run(&mut ssd, later + 1000, 6, &[1; 2]);
        let after = report(&ssd, end);
        let it = after.handles[1];
        let (units, pages) = if is_late { ((2, 1), 2) } else { ((1, 0), 7) };
        assert_eq!(((it.opened, it.partly), it.left), (units, full - pages * 4096));
        assert_eq!(after.events, if is_late { [0, 1, 0, 0, 0, 1] } else { [0; 6] });
        if is_late {
            let [host, own] = [0, 1].map(|origin| after.last[origin][0]);
            assert_eq!((host.kind, host.handle), (EventKind::TimeLimit, Some(1)));
            assert_eq!((own.kind, own.handle), (EventKind::HandleModified, Some(1)));
        }
        ssd.check().unwrap();
    }
}

#[test]
fn units_end_in_time_under_load_and_nothing_is_lost() {
    let given_up = |limit: &'static str| {
        let keys = [("device.fdp.time_limit", json!(limit))];
        let config = placed(buffered(), 3, "persistent", &keys);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let load = shared_load(3000, pages(&ssd));
        let (mut done, mut now) = (Vec::new(), 0);
        for request in &load {
            now += 40_000;
            ssd.advance(now, &mut done);
            ssd.submit(now, *request);
        }
        while let Some(next) = ssd.next_event() {
            now = next;
            ssd.advance(now, &mut done);
        }
        assert_eq!(done.len(), load.len());
        ssd.check().unwrap();
        let found = report(&ssd, now);
        let partly: u64 = found.handles.iter().map(|it| it.partly).sum();
        assert_eq!((found.events[1], found.events[5]), (partly, partly));
        partly
    };
    let [never, seldom, often] = ["none", "20ms", "5ms"].map(given_up);
    assert!(never == 0 && seldom > 0 && often > seldom, "{seldom} {often}");
}

#[test]
fn units_that_were_opened_are_closed_given_up_or_open() {
    let config = placed(buffered(), 3, "persistent", &[]);
    for timed in [false, true] {
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let pages = pages(&ssd);
        let load = shared_load(pages * 3 / 2, pages);
        let end = if timed {
            let own = load.clone();
            run_closed(
                &mut ssd,
                &mut Closed::new(16, load.len() as u64, move |id| own[id as usize]),
            )
            .0
        } else {
            for it in &load {
                assert!(devices::Model::serve_untimed(&mut ssd, it).is_ok());
            }
            0
        };
        let found = report(&ssd, end);
        for it in &found.handles {
            let open = it.opened - it.closed - it.partly;
            assert!(open <= 1 && it.left <= found.unit, "{it:?}");
            assert_eq!(open == 1, it.left < found.unit, "{it:?}");
        }
        let erased = ssd.account(end).counts.block_erases;
        assert_eq!(found.erased, erased * found.unit, "a block is a unit");
    }
}

#[test]
fn each_victim_that_held_data_is_an_event_of_the_drive() {
    let config = placed(buffered(), 3, "persistent", &[]);
    let mut ssd = Ssd::new(&config, 1).unwrap();
    let pages = pages(&ssd);
    let mut compared = 0;
    for request in shared_load(pages * 3, pages) {
        assert!(devices::Model::serve_untimed(&mut ssd, &request).is_ok());
        if request.id % 64 != 0 {
            continue;
        }
        let found = report(&ssd, 0);
        let kept = &found.last[1];
        assert!(kept.iter().all(|it| it.sectors > 0 && it.handle.is_some()), "{kept:?}");
        assert!(kept.windows(2).all(|it| it[0].after_bytes <= it[1].after_bytes));
        let moved = ssd.account(0).counts.victim_pages_moved * 8;
        let told: u64 = kept.iter().map(|it| u64::from(it.sectors)).sum();
        if kept.len() as u64 == found.events[EventKind::MediaReallocated as usize] {
            assert_eq!(told, moved);
            compared += u32::from(told > 0);
        } else {
            assert!(kept.len() == 63 && told < moved);
        }
    }
    assert!(compared > 10, "{compared}");
    assert!(report(&ssd, 0).events[EventKind::MediaReallocated as usize] > 63);
}

#[test]
fn the_curve_adds_up_to_write_amplification() {
    for handles in [1, 3] {
        let config = placed(buffered(), handles, "initial", &[]);
        let mut ssd = Ssd::new(&config, 1).unwrap();
        let pages = pages(&ssd);
        for request in shared_load(pages * 3, pages) {
            let handle = request.handle.number().unwrap_or(0) % handles as u8;
            let request = Request { handle: Handle::new(handle.into()), ..request };
            assert!(devices::Model::serve_untimed(&mut ssd, &request).is_ok());
        }
        let found = report(&ssd, 0);
        assert!(found.curve.len() > 20, "{}", found.curve.len());
        let (mut before, mut media) = (0.0, 0.0);
        for (at, slope) in &found.curve {
            // Less than 1 where the buffer takes what is overwritten in it.
            assert!((at - before - 0.1).abs() < 0.002 && *slope > 0.9, "{at} {slope}");
            media += (at - before) * slope;
            before = *at;
        }
        let host: u64 = found.handles.iter().map(|it| it.host).sum();
        let all: u64 = found.handles.iter().map(|it| it.media).sum();
        // The last point lies within a tenth of the end.
        let mean = all as f64 / host as f64;
        assert!((media / before / mean - 1.0).abs() < 0.02, "{} {mean}", media / before);
        assert!(
            found.curve[0].1 < found.curve.last().unwrap().1,
            "an empty drive moves nothing at first"
        );
    }
}
