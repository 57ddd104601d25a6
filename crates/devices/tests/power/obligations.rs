//! What a drive owes after a power cut, one test for each obligation. The search checks all of them on
//! every drive; these look where each matters, and say what was broken.

use crate::case::Case;
use crate::depth::depth;
use crate::drives;
use crate::search::{drawn, line, tried};
use devices::ssd::config::{Persistence, Recovery, Trims};
use devices::ssd::{Ssd, SsdConfig};
use devices::{Instruction, Model};
use engine::{Device, Lba, Op, Random, Request, Time, Xoshiro256};

/// Tries `cases` random cases of drives that are `wanted`.
fn hold(cases: usize, wanted: impl Fn(&SsdConfig) -> bool) {
    let seeds = (500_000..).filter(|seed| wanted(&drives::config(*seed)));
    let mut tries = 0;
    for case in seeds.filter_map(drawn) {
        match tried(&case) {
            None => continue,
            Some(Ok(_)) => tries += 1,
            Some(Err(problem)) => panic!("{}", line(case, problem)),
        }
        if tries == cases {
            return;
        }
    }
}

fn spans(config: &SsdConfig) -> bool {
    config.page_span.is_some() || config.gang == devices::ssd::config::Gang::SharedControlSync
}

/// Asserted at every program of every run.
#[test]
fn o1_orders_ascend_over_all_starts() {
    hold(60, |config| config.persistence.recovery == Recovery::Spare);
}

#[test]
fn o2_a_page_over_several_packages_is_there_whole_or_not_at_all() {
    hold(60, spans);
}

#[test]
fn o3_what_is_superseded_stays_until_its_successor_is_programmed() {
    use devices::ssd::config::{Interleave, Pool};
    hold(60, |config| config.interleave == Interleave::Die && config.pool == Pool::Ssd);
}

#[test]
fn o4_recorded_trims_stay_while_old_copies_do() {
    hold(60, |config| config.persistence.trims == Trims::Logged);
}

/// Where no program comes between, the trim has the number of the next program, which is the horizon of the
/// checkpoint, too: only that it came later tells that the checkpoint does not have it.
#[test]
fn o4_a_trim_that_comes_while_a_checkpoint_is_written_is_in_neither_too_early() {
    let config = SsdConfig {
        channels: 1,
        dies_per_package: 1,
        blocks_per_plane: 64,
        persistence: Persistence {
            recovery: Recovery::Checkpoint,
            trims: Trims::Logged,
            checkpoint: options::Duration::from_ns(1_000_000_000),
            ..Persistence::default()
        },
        ..SsdConfig::default()
    };
    let mut ssd = Ssd::new(&config, 1).unwrap();
    // Trims before, while and after the first checkpoint is written, which begins after a second.
    let second = 1_000_000_000;
    let writes = (0..4).map(|page| (page * 1_000_000, Op::Write, page));
    let trims = [(second / 2, 0), (second + 1_000_000, 1), (2 * second, 2)];
    let trims = trims.map(|(at, page)| (at, Op::Trim, page));
    let mut at = 0;
    for (id, (arrives, op, page)) in (0..).zip(writes.chain(trims)) {
        at = arrives;
        while let Some(next) = ssd.next_event().filter(|next| *next <= at) {
            ssd.advance(next, &mut Vec::new());
        }
        ssd.submit(at, Request::new(id, op, Lba(page * 8), 8));
    }
    while let Some(next) = ssd.next_event() {
        at = next;
        ssd.advance(at, &mut Vec::new());
    }
    ssd.cut(at, &mut Vec::new());
    ssd.power_on(at);
    while let Some(next) = ssd.next_event() {
        ssd.advance(next, &mut Vec::new());
    }
    let report = ssd.power_report().unwrap();
    assert!(report.checkpoint_programs > 20, "{report:?}");
    assert_eq!((report.trims_undone, report.durable_lost), (0, 0), "{report:?}");
}

/// Compared after every cut of every run.
#[test]
fn o5_erase_counts_and_marks_of_worn_blocks_stay() {
    hold(60, |config| config.wear.rated_cycles < 100);
}

/// A second cut at every event of the recovery.
#[test]
fn o6_a_recovery_may_be_cut_anywhere() {
    for seed in 0..12 {
        let once = Case { seed, requests: 40, cuts: vec![90] };
        let Some(came) = tried(&once) else { continue };
        let events = came.unwrap_or_else(|problem| panic!("{once}: {problem}")).events;
        for event in (91..events.min(800)).step_by(depth(3, 3, 1) as usize) {
            let twice = Case { cuts: vec![90, event], ..once.clone() };
            if let Some(Err(problem)) = tried(&twice) {
                panic!("{}", line(twice, problem));
            }
        }
    }
}

/// With the least spare space that a drive can have, one cut anywhere leaves room to go on.
#[test]
fn o7_there_is_room_after_a_cut() {
    // Blocks that wear out or fail may use up the least spare space.
    let keeps = |seed: &u64| {
        let config = drives::config(*seed);
        config.wear.rated_cycles > 1_000 && !config.spares.go_bad()
    };
    for seed in (0..60).filter(keeps) {
        let whole = Case { seed, requests: 80, cuts: Vec::new() };
        let Some(Ok(came)) = tried(&whole) else { continue };
        for event in (1..came.events).step_by(depth(21, 21, 7) as usize) {
            let case = Case { cuts: vec![event], ..whole.clone() };
            let came = tried(&case).expect("its drive is possible");
            let came = came.unwrap_or_else(|problem| panic!("{}", line(case.clone(), problem)));
            assert!(!came.ended, "{case}: the drive takes no more writes");
        }
    }
}

/// Writes before the cut, and after it.
const HALF: u64 = 60_000;

/// A drive of which the power goes in the middle of a load, or does not: when it was over, the pages that were
/// moved for each that was written in the second half, and the mean latency there in ns.
fn second_half(cuts: bool) -> (Time, f64, f64) {
    let config = SsdConfig {
        channels: 2,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 256,
        persistence: Persistence { recovery: Recovery::Spare, ..Persistence::default() },
        ..SsdConfig::default()
    };
    let mut ssd = Ssd::new(&config, 5).unwrap();
    let random = &mut Xoshiro256::new(5, 0);
    let pages = ssd.capacity_sectors() / 8;
    let (mut now, mut done, mut latencies) = (0, Vec::new(), Vec::new());
    for id in 0..2 * HALF {
        if id == HALF {
            if cuts {
                ssd.cut(now, &mut Vec::new());
                ssd.power_on(now);
                while let Some(at) = ssd.next_event() {
                    now = at;
                    ssd.advance(at, &mut done);
                }
            }
            ssd.instruct(0, Instruction::ResetCounts).unwrap();
        }
        ssd.submit(now, Request::new(id, Op::Write, Lba(random.below(pages) * 8), 8));
        while done.is_empty() {
            now = ssd.next_event().expect("it is being served");
            ssd.advance(now, &mut done);
        }
        latencies.extend(done.drain(..).map(|it| it.latency()).filter(|_| id >= HALF));
    }
    ssd.audit().unwrap();
    let mean = latencies.iter().sum::<Time>() as f64 / latencies.len() as f64;
    (now, ssd.account(now).write_amplification.unwrap(), mean)
}

#[test]
fn o8_the_drive_goes_on_as_if_the_power_had_never_gone() {
    let (cut, whole) = (second_half(true), second_half(false));
    println!("A = {:.3} and {:.3}, {:.0} and {:.0} ns", cut.1, whole.1, cut.2, whole.2);
    assert!((cut.1 / whole.1 - 1.0).abs() < 0.02, "amplification {} and {}", cut.1, whole.1);
    assert!((cut.2 / whole.2 - 1.0).abs() < 0.02, "latency {} and {}", cut.2, whole.2);
    assert_eq!(second_half(true), cut, "the same cut gives the same bits");
}

/// Cells of two pages: without a guard an acknowledged page is sometimes lost; with one, never.
#[test]
fn a_page_is_lost_with_the_other_of_its_cells_unless_it_is_guarded() {
    use devices::ssd::config::{Pairing, PairingGuard};
    let cut = |pairing, guard| {
        let mut config = SsdConfig {
            channels: 1,
            dies_per_package: 1,
            planes_per_die: 1,
            blocks_per_plane: 32,
            pages_per_block: 32,
            persistence: Persistence { recovery: Recovery::Spare, ..Persistence::default() },
            ..SsdConfig::default()
        };
        config.cell.pairing = pairing;
        config.cell.pairing_guard = guard;
        let (mut lost, mut took) = (0, 0);
        for events in 20..140 {
            let mut ssd = Ssd::new(&config, events).unwrap();
            let (mut now, mut done) = (0, Vec::new());
            for id in 0..40 {
                ssd.submit(0, Request::new(id, Op::Write, Lba(id * 8), 8));
            }
            for _ in 0..2 + events % 36 {
                now = ssd.next_event().unwrap_or(now);
                ssd.advance(now, &mut done);
            }
            let mut whole = ssd.clone();
            let mut all = done.clone();
            while let Some(at) = whole.next_event() {
                whole.advance(at, &mut all);
            }
            // When all were answered; cleaning may go on.
            took = all.iter().map(|it| it.at).max().unwrap_or(0);
            // In the middle of a stage.
            now += 120_000 + events * 70_001 % 380_000;
            ssd.cut(now, &mut done);
            ssd.power_on(now);
            while let Some(at) = ssd.next_event() {
                ssd.advance(at, &mut done);
            }
            ssd.audit().unwrap();
            lost += ssd.power_report().unwrap().durable_lost;
        }
        println!("{pairing}, {guard}: {lost} pages lost, {took} ns");
        (lost, took)
    };
    for pairing in [Pairing::Next, Pairing::Stepped] {
        let (lost, took) = cut(pairing, PairingGuard::None);
        assert!(lost > 10, "{pairing}: {lost} pages");
        assert_eq!(cut(pairing, PairingGuard::Capacitors), (0, took), "capacitors take no time");
        let (lost, copies_took) = cut(pairing, PairingGuard::Copy);
        assert!(
            lost == 0 && copies_took > took,
            "{pairing}: {lost} pages, {copies_took} and {took} ns"
        );
    }
    assert_eq!(cut(Pairing::None, PairingGuard::None).0, 0);
}

/// Where trims leave no record, a checkpoint is all that knows of them. Pages that were under way when it began, and
/// were trimmed or superseded by then, are programmed after it; they must not come back in front of newer copies.
#[test]
fn o4_a_checkpoint_knows_what_was_trimmed_while_it_was_under_way() {
    hold(300, |config| {
        let persistence = &config.persistence;
        (persistence.recovery, persistence.trims) == (Recovery::Checkpoint, Trims::Volatile)
    });
}
