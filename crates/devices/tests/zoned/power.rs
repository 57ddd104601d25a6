//! Power cuts: a protected buffer keeps all that was answered, a volatile one what was flushed.

use super::{PAGE, SMALL, ask, closed, drive, request, settle};
use devices::Model as _;
use devices::ssd::zoned::{State, ZonedDrive};
use engine::{Completion, Device, Op, Random, Status, Time, Xoshiro256};

const WINDOWS: &str =
    "zones.zrwa.resources = 2\nzones.zrwa.size = '128KiB'\nzones.zrwa.granularity = '16KiB'\n";
const ZONE: u64 = 2048;
const CAPACITY: u64 = 1536;

fn cut(drive: &mut ZonedDrive, now: Time) -> Vec<Completion> {
    let mut answers = Vec::new();
    drive.cut(now, &mut answers);
    drive.power_on(now);
    drive.audit().unwrap();
    answers
}

/// Writes zones at random until the power goes at some event, then looks at each zone, and goes on.
fn lives(keys: &str, check: impl Fn(&ZonedDrive, usize, [u64; 3])) {
    for seed in 0..120 {
        let mut random = Xoshiro256::new(seed, 0);
        let (mut drive, mut now) = (drive(&format!("{SMALL}{keys}")), 0);
        // Of each zone what was asked, answered, and answered when the last flush was asked that is answered.
        let mut known = [[0_u64; 3]; 4];
        let mut answers = Vec::new();
        let mut waits = [false; 4];
        let mut flush: Option<[u64; 4]> = None;
        let events = 5 + random.below(1500);
        for number in 0..events {
            let zone = random.below(4) as usize;
            if flush.is_none() && random.below(40) == 0 {
                flush = Some(known.map(|it| it[1]));
                drive.submit(now, request(Op::Flush, 0, 0));
            } else if !waits[zone] && known[zone][0] < CAPACITY {
                let sectors = (8 * (1 + random.below(12))).min(CAPACITY - known[zone][0]);
                let at = zone as u64 * ZONE + known[zone][0];
                drive
                    .submit(now, engine::Request { id: number, ..request(Op::Write, at, sectors) });
                known[zone][0] += sectors;
                waits[zone] = true;
            }
            let Some(at) = drive.next_event() else { continue };
            now = at;
            drive.advance(now, &mut answers);
            for answer in answers.drain(..) {
                assert_eq!(answer.status, Status::Ok);
                if answer.request.op == Op::Flush {
                    let flushed = flush.take().unwrap();
                    known.iter_mut().zip(flushed).for_each(|(it, flushed)| it[2] = flushed);
                } else {
                    let zone = (answer.request.lba.0 / ZONE) as usize;
                    known[zone][1] =
                        answer.request.lba.0 % ZONE + u64::from(answer.request.sectors);
                    waits[zone] = false;
                }
            }
        }
        let lost = cut(&mut drive, now);
        assert!(lost.iter().all(|it| it.status == Status::PowerLost));
        assert_eq!(
            lost.len(),
            waits.iter().filter(|it| **it).count() + usize::from(flush.is_some())
        );
        for (zone, known) in known.into_iter().enumerate() {
            check(&drive, zone, known);
        }
        // The zones go on from where they are, and can be filled and reset.
        for zone in 0..4 {
            let look = drive.zones().look(zone);
            let start = u64::from(zone) * ZONE;
            if look.state != State::Full {
                let mut at = look.pointer;
                while at < CAPACITY {
                    let sectors = (CAPACITY - at).min(96);
                    let answer =
                        ask(&mut drive, &mut now, &[request(Op::Write, start + at, sectors)])[0];
                    assert_eq!(answer.status, Status::Ok);
                    at += sectors;
                }
            }
            let answer = ask(&mut drive, &mut now, &[request(Op::Reset, start, 1)])[0];
            assert_eq!(answer.status, Status::Ok);
        }
        settle(&mut drive, &mut now);
        let all = closed(&mut drive, &mut now, 4, 96, |_| request(Op::Append, 0, 2 * PAGE));
        assert!(all.iter().all(|it| it.status == Status::Ok));
    }
}

#[test]
fn a_protected_buffer_keeps_what_was_answered() {
    lives("", |drive, zone, [asked, answered, _]| {
        let look = drive.zones().look(zone as u32);
        assert!(
            (answered..=asked).contains(&look.pointer),
            "{zone}: {look:?}, {answered} to {asked}"
        );
        let expected = match look.pointer {
            0 => State::Empty,
            CAPACITY => State::Full,
            _ => State::Closed,
        };
        assert_eq!(look.state, expected, "{zone}");
    });
}

#[test]
fn a_volatile_buffer_keeps_what_was_flushed() {
    let torn = std::cell::Cell::new(0);
    let lost = std::cell::Cell::new(0);
    lives("buffer.power_loss_protected = false\n", |drive, zone, [asked, answered, flushed]| {
        let look = drive.zones().look(zone as u32);
        if look.state == State::Full && !look.finished_by_controller {
            return;
        }
        assert!(
            (flushed..=asked).contains(&look.pointer),
            "{zone}: {look:?}, {flushed} to {asked}"
        );
        lost.set(lost.get() + u64::from(look.pointer < answered));
        // What was torn cannot be programmed on.
        torn.set(torn.get() + u64::from(look.finished_by_controller));
    });
    assert!(torn.get() > 10 && lost.get() > 10, "{torn:?} torn, {lost:?} lost");
}

/// A window is part of the buffer.
#[test]
fn a_window_is_kept_with_the_buffer() {
    for (protected, state) in [(true, State::Closed), (false, State::Empty)] {
        let keys = format!("{SMALL}{WINDOWS}buffer.power_loss_protected = {protected}\n");
        let (mut drive, mut now) = (drive(&keys), 0);
        let asked =
            [request(Op::OpenWindow, 0, 1), request(Op::Write, 64, 8), request(Op::Write, 8, 8)];
        assert!(ask(&mut drive, &mut now, &asked).iter().all(|it| it.status == Status::Ok));
        cut(&mut drive, now);
        let look = drive.zones().look(0);
        assert_eq!((look.state, look.has_window, look.pointer), (state, protected, 0));
        if protected {
            assert!(drive.zones().is_in_window(0, 8) && !drive.zones().is_in_window(0, 0));
        }
    }
}

/// A zone that was opened and not written is empty again; others are closed.
#[test]
fn no_zone_is_open_after_a_cut() {
    let (mut drive, mut now) = (drive(SMALL), 0);
    let asked = [
        request(Op::Open, 0, 1),
        request(Op::Open, ZONE, 1),
        request(Op::Write, ZONE, 8),
        request(Op::Write, 2 * ZONE, 8),
        request(Op::Finish, 3 * ZONE, 1),
    ];
    ask(&mut drive, &mut now, &asked);
    assert_eq!(drive.zones().counts(), [3, 3, 0]);
    cut(&mut drive, now);
    let states: Vec<State> = (0..4).map(|zone| drive.zones().look(zone).state).collect();
    assert_eq!(states, [State::Empty, State::Closed, State::Closed, State::Full]);
    assert_eq!(drive.zones().counts(), [0, 2, 0]);
}

/// A write that is to be durable is so when it is answered, and waits for the flash where the buffer is volatile.
#[test]
fn a_durable_write_outlives_a_cut() {
    let (mut drive, mut now) = (drive(&format!("{SMALL}buffer.power_loss_protected = false\n")), 0);
    let fua = engine::Request { fua: true, ..request(Op::Write, 0, 8) };
    let answers = ask(&mut drive, &mut now, &[fua, request(Op::Write, 8, 8)]);
    assert!(answers[0].latency() > 2_000_000 && answers[1].latency() < 100_000, "{answers:?}");
    cut(&mut drive, now);
    assert_eq!(drive.zones().look(0).pointer, 8);
}
