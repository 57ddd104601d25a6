//! Property: after a power cut at any event, every chunk has an allowed value, whichever member is
//! then lost.

use super::property::{Run, array};
use super::torn::Torn;
use crate::clock::Event;
use crate::{HoleRule, OfLaws, Redundancy, WriteRule};
use engine::Device as _;
use options::Choice as _;
use ssd::device::Model as _;

const REQUESTS: u64 = 9;

/// Arrays of 3 to 6 members with each remedy against the write hole; rules of writing alternate.
fn all(rules: &[HoleRule], mut each: impl FnMut(&OfLaws)) {
    let mut turn = 0;
    for redundancy in Redundancy::WORDS.iter().map(|it| it.0.parse().unwrap()) {
        for (members, hole) in (3..=6).flat_map(|it| rules.iter().map(move |rule| (it, *rule))) {
            let is_partial = hole == HoleRule::PartialParity;
            let pairs = redundancy == Redundancy::Mirror && members % 2 > 0;
            if redundancy == Redundancy::None
                || pairs
                || is_partial && redundancy != Redundancy::Parity
            {
                continue;
            }
            turn += 1;
            each(&OfLaws {
                redundancy,
                members,
                hole,
                write: [WriteRule::Auto, WriteRule::ReadModifyWrite, WriteRule::Reconstruct]
                    [turn % 3],
                writes_together: turn % 2 == 0,
                stripe_cache: [0, 0, 3][turn % 3],
                ..OfLaws::default()
            });
        }
    }
}

impl Run {
    /// Runs requests up to the given event number. Returns false if the run ends before it.
    fn until(&mut self, event: u64) -> bool {
        for _ in 0..event {
            while self.outstanding.len() < 5 && self.asked < REQUESTS {
                self.ask();
            }
            if !self.step() {
                return false;
            }
        }
        true
    }

    /// Cuts the power and restores it. Returns the ranges being written, by stripe.
    fn cut(&mut self) -> Vec<(u64, Vec<std::ops::Range<u64>>)> {
        let mut lost = Vec::new();
        self.array.cut(self.now, &mut lost);
        assert_eq!(lost.len(), self.outstanding.len(), "all is answered");
        self.outstanding.clear();
        let range = |it: &Torn| it.from..it.to;
        let dirty = self.array.raid().recovery.dirty();
        let torn = dirty.map(|(stripe, it)| (stripe, it.torn().map(range).collect()));
        let torn = torn.collect();
        self.shadow.follow(&mut self.array);
        self.now += 1_000_000;
        self.array.power_on(self.now);
        self.look();
        torn
    }

    /// Runs until no events are left.
    fn rest(&mut self) {
        while self.step() {}
        assert!(!self.array.raid().recovery.is_going_on() && self.array.raid().stripes.is_empty());
    }

    /// Calls `each` with every sector's place and row, and true if its value is allowed.
    fn each_sector(&self, mut each: impl FnMut(u64, u64, u64, bool)) {
        let geometry = self.array.geometry();
        for stripe in 0..geometry.stripes() {
            for row in 0..geometry.chunk {
                let found = self.shadow.found(&self.array, stripe, row);
                for place in 0..geometry.data {
                    let sector = stripe * geometry.stripe_sectors() + place * geometry.chunk + row;
                    let may =
                        [self.settled[sector as usize], self.shadow.expected[sector as usize]];
                    each(stripe, place, row, may.contains(&found[place as usize]));
                }
            }
        }
    }

    /// Takes the values found first as the expected ones.
    fn take_what_is_found(&mut self) {
        let geometry = self.array.geometry().clone();
        self.shadow.is_unsure = false;
        for stripe in 0..geometry.stripes() {
            for row in 0..geometry.chunk {
                let found = self.shadow.found(&self.array, stripe, row);
                for (place, value) in (0..).zip(found) {
                    let sector = stripe * geometry.stripe_sectors() + place * geometry.chunk + row;
                    self.shadow.expected[sector as usize] = value;
                    self.settled[sector as usize] = value;
                }
            }
        }
    }

    fn wrong(&self) -> u64 {
        self.array.report(self.now).count("array.hole.chunks_wrong")
    }
}

/// Cuts a run at each of its events.
fn at_every_event(config: &OfLaws, spares: u32, mut each: impl FnMut(u64, Run)) {
    let seed = u64::from(config.members) + 400;
    for event in 1.. {
        let mut run = Run::new(array(config.clone(), spares), seed);
        if !run.until(event) {
            return;
        }
        each(event, run);
    }
}

const ALL: [HoleRule; 3] = [HoleRule::Resync, HoleRule::Journal, HoleRule::PartialParity];
const LOGS: [HoleRule; 2] = [HoleRule::Journal, HoleRule::PartialParity];

/// After recovery all data are correct, whichever member is lost, and the load continues.
#[test]
fn after_the_way_back_every_chunk_is_what_it_may_be_whoever_is_missing() {
    let (mut dirty, mut done) = (0, 0);
    all(&ALL, |config| {
        at_every_event(config, 1, |event, mut run| {
            run.cut();
            run.rest();
            run.each_sector(|stripe, place, row, may| {
                assert!(may, "{} {event}: {stripe} {place} {row}", config.hole);
            });
            run.take_what_is_found();
            run.shadow.check_all(&run.array);
            let report = run.array.report(run.now);
            assert_eq!(report.count("array.hole.chunks_wrong"), 0);
            dirty += report.count("array.hole.stripes_dirty");
            done += report.count("array.hole.stripes_resynced");
            run.fail(event % u64::from(config.members));
            run.go(4, &[]);
            assert_eq!((run.wrong(), run.array.raid().lost_sectors), (0, 0));
        });
    });
    assert!(dirty > 500 && done > dirty, "{dirty} {done}");
}

/// With a log, chunks outside writes stay correct even if a member is lost before recovery ends.
/// Chunks being written are too, unless partial parity has several chunks of a stripe in progress.
#[test]
fn logs_keep_what_nobody_was_writing_though_a_member_does_not_come_back() {
    all(&LOGS, |config| {
        for member in 0..u64::from(config.members) {
            for spares in 0..2 {
                at_every_event(config, spares, |event, mut run| {
                    let torn = run.cut();
                    run.fail(member);
                    run.rest();
                    let chunk = run.array.geometry().chunk;
                    run.each_sector(|stripe, place, row, may| {
                        let all = torn.iter().filter(|it| it.0 == stripe).flat_map(|it| &it.1);
                        let at = place * chunk + row;
                        let promised = all.filter(|it| it.contains(&at)).all(|it| {
                            let chunks = it.end.div_ceil(chunk) - it.start / chunk;
                            config.hole == HoleRule::Journal || chunks == 1
                        });
                        let of = (&config.redundancy, config.members, config.hole);
                        assert!(
                            may || !promised,
                            "{of:?} {event} {member}: {stripe} {place} {row}"
                        );
                    });
                });
            }
        }
    });
}

/// The guarantees also hold if a member is missing or rebuilding at the cut.
#[test]
fn logs_keep_what_nobody_was_writing_to_a_degraded_array() {
    all(&LOGS, |config| {
        for spares in 0..2 {
            let seed = u64::from(config.members) + 500;
            for event in 1.. {
                let mut run = Run::new(array(config.clone(), spares), seed);
                run.fail(event % u64::from(config.members));
                if !run.until(event) {
                    break;
                }
                let torn = run.cut();
                run.rest();
                let chunk = run.array.geometry().chunk;
                run.each_sector(|stripe, place, row, may| {
                    let at = place * chunk + row;
                    let mut all = torn.iter().filter(|it| it.0 == stripe).flat_map(|it| &it.1);
                    let in_flight = all.any(|it| it.contains(&at));
                    let promised = config.hole == HoleRule::Journal || !in_flight;
                    assert!(may || !promised, "{config:?} {event}: {stripe} {place} {row}");
                });
            }
        }
    });
}

/// Cuts the recovery at each of its events.
#[test]
fn a_second_cut_on_the_way_back_changes_nothing() {
    all(&ALL, |config| {
        at_every_event(config, 0, |event, mut run| {
            run.cut();
            let steps = event % 11;
            if !(0..steps).all(|_| run.step()) {
                return;
            }
            run.cut();
            run.rest();
            run.each_sector(|stripe, place, row, may| {
                assert!(may, "{} {event}: {stripe} {place} {row}", config.hole);
            });
            run.take_what_is_found();
            run.shadow.check_all(&run.array);
            run.go(4, &[]);
            assert_eq!(run.wrong(), 0);
        });
    });
}

/// Instruction: without a log, a member lost before recovery ends corrupts chunks that were not being
/// written. Their number equals the reported count.
#[test]
fn without_a_log_the_hole_is_found() {
    let mut found = 0;
    all(&[HoleRule::Resync], |config| {
        for member in 0..u64::from(config.members) {
            at_every_event(config, 0, |event, mut run| {
                let torn = run.cut();
                for _ in 0..event % 4 {
                    run.step();
                }
                run.fail(member);
                run.rest();
                let mut wrong = std::collections::BTreeSet::new();
                let chunk = run.array.geometry().chunk;
                run.each_sector(|stripe, place, row, may| {
                    let at = place * chunk + row;
                    let mut all = torn.iter().filter(|it| it.0 == stripe).flat_map(|it| &it.1);
                    if !may && !all.any(|it| it.contains(&at)) {
                        wrong.insert((stripe, place));
                    }
                });
                let of = (&config.redundancy, config.members, event, member);
                assert_eq!(run.wrong(), wrong.len() as u64, "{of:?}: {wrong:?} {torn:?}");
                assert!(config.redundancy != Redundancy::Mirror || wrong.is_empty());
                found += wrong.len();
            });
        }
    });
    assert!(found > 100, "{found}");
}

/// Instruction: ignoring the log after a cut is detected.
#[test]
fn a_log_that_is_not_read_is_found() {
    let mut bad = 0;
    all(&LOGS, |config| {
        at_every_event(config, 0, |_, mut run| {
            let member = u64::from(config.members) - 1;
            let torn = run.cut();
            let chunk = run.array.geometry().chunk;
            run.array.happen(Event::Failure(member as usize), run.now);
            // The current state, without repair.
            run.each_sector(|stripe, place, row, may| {
                let mut all = torn.iter().filter(|it| it.0 == stripe).flat_map(|it| &it.1);
                let in_flight = all.any(|it| it.contains(&(place * chunk + row)));
                bad += u64::from(!may && !in_flight);
            });
        });
    });
    assert!(bad > 50, "{bad}");
}
