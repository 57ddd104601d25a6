//! Operations alone: their member requests, and their ends.

use super::*;
use crate::OfLaws;
use crate::members::Members;
use crate::raid::geometry::Geometry;
use crate::raid::recovery::{Pace, Recovery};
use crate::raid::stripes::Use;
use crate::redundancy::{HoleRule, ReadCopy, Redundancy, WriteRule};
use crate::steering::Steering;
use engine::{Breakdown, Status};
use options::{Bandwidth, Size};
use service_law::LawConfig;
use ssd::device::DeviceKind as _;
use ssd::device::latency::UNIT_WAIT;

/// Chunks of eight sectors on four members.
struct Table {
    geometry: Geometry,
    members: Members,
    recovery: Recovery,
    plans: Plans,
}

fn table(redundancy: Redundancy, together: bool) -> Table {
    let config =
        OfLaws { members: 4, redundancy, stripe: Size::from_bytes(4096), ..OfLaws::default() };
    let mut drives: Vec<_> = (0..4).map(|_| LawConfig::default().build(0).unwrap()).collect();
    let steering = Steering::new(&config, &mut drives).unwrap();
    let geometry = Geometry::new(&config, 800).unwrap();
    let (unit, rows) = (1, geometry.rows);
    let pace = Pace { rate: Bandwidth::UNLIMITED, unit, rows, groups: 1, chunk: geometry.chunk };
    let rules = Rules {
        read_copy: ReadCopy::Primary,
        write: WriteRule::Auto,
        together,
        hole: HoleRule::Resync,
        log_sector: 0,
    };
    Table {
        geometry,
        members: Members::new(drives, 4, steering),
        recovery: Recovery::new(&config, pace, 1),
        plans: Plans::new(rules, Xoshiro256::new(1, 0)),
    }
}

impl Table {
    /// Requests that result from a change of the plans, by purpose, place and sectors.
    fn after(&mut self, act: impl FnOnce(&mut Plans, Sight<'_>, &mut Vec<Message>)) -> Vec<String> {
        let (members, recovery) = (&self.members, &self.recovery);
        let sight = Sight { geometry: &self.geometry, members, recovery };
        let mut out = Vec::new();
        act(&mut self.plans, sight, &mut out);
        let show = |message: &Message| match message {
            Message::Issue(it) => {
                let (op, span) = (it.request.op, it.span);
                format!("{op:?} {:?} {} {}-{}", it.purpose, it.place, span.from, span.to)
            }
            other => format!("{other:?}"),
        };
        out.iter().map(show).collect()
    }

    /// Starts an operation of a request on stripe 0.
    fn begin(&mut self, kind: Kind, from: u64, to: u64) -> (Slot, Vec<String>) {
        let start = Start { owner: 0, kind, stripe: 0, from, to, log: None };
        let slot = self.plans.start(start, None, 10);
        (slot, self.after(|plans, sight, out| plans.begin(slot, sight, out)))
    }

    /// Completes a part of an operation.
    fn done(&mut self, operation: Slot, purpose: Purpose, place: u64) -> Vec<String> {
        let span = Span { from: 0, to: 2 };
        let before = Breakdown::default();
        let part = Part::of(operation, purpose, place, span, before);
        let request = Request::new(0, Op::Read, Lba(0), 2);
        let breakdown = Breakdown::of(UNIT_WAIT, 5);
        let answer = Completion { request, submitted: 10, at: 15, breakdown, status: Status::Ok };
        self.after(|plans, sight, out| plans.part_done(&part, &answer, sight, out))
    }
}

#[test]
fn a_small_write_writes_each_chunk_once_its_old_value_is_read_and_parity_in_the_end() {
    let mut table = table(Redundancy::Parity, false);
    let (slot, first) = table.begin(Kind::Write, 0, 2);
    assert_eq!(first, ["Read Own 0 0-2", "Read Own 3 0-2"]);
    assert_eq!(table.done(slot, Purpose::Own, 0), ["Write Write 0 0-2"]);
    assert_eq!(table.done(slot, Purpose::Own, 3), ["Write Write 3 0-2"]);
    assert!(table.done(slot, Purpose::Write, 0).is_empty());
    assert_eq!(table.done(slot, Purpose::Write, 3), [format!("Finish({slot})")]);
    assert_eq!(table.plans.remove(slot).path_at(15).total(), 5);
    let counts = table.plans.counts();
    assert_eq!((counts.writes_modified, counts.parity_reads, counts.parity_writes), (1, 1, 1));
}

#[test]
fn a_write_of_all_old_values_together_waits_for_the_last() {
    let mut table = table(Redundancy::Parity, true);
    let (slot, _) = table.begin(Kind::Write, 0, 2);
    assert!(table.done(slot, Purpose::Own, 0).is_empty());
    let all = table.done(slot, Purpose::Own, 3);
    assert_eq!(all, ["Write Write 0 0-2", "Write Write 3 0-2"]);
    let (_, full) = table.begin(Kind::Write, 0, 24);
    let places = [0, 1, 2, 3].map(|place| format!("Write Write {place} 0-8"));
    assert_eq!(full, places, "a whole stripe reads nothing");
}

#[test]
fn what_is_missing_is_made_of_the_others_once_the_stripe_is_held() {
    let mut table = table(Redundancy::Parity, false);
    table.members.fail(0);
    let (slot, asked) = table.begin(Kind::Read, 0, 2);
    assert_eq!(asked, [format!("Queue({slot})")]);
    assert_eq!(table.plans.claim(slot).what, Use::Read);
    let sources = table.after(|plans, sight, out| plans.begin(slot, sight, out));
    assert_eq!(sources, ["Read Other 1 0-2", "Read Other 2 0-2", "Read Other 3 0-2"]);
    // A second member fails at the same time: the data are lost.
    table.members.fail(1);
    let lost = Part::of(slot, Purpose::Other, 1, Span { from: 0, to: 2 }, Breakdown::default());
    table.plans.lose(&lost, 3);
    assert!(table.done(slot, Purpose::Other, 2).is_empty());
    assert_eq!(table.done(slot, Purpose::Other, 3), [format!("Begin({slot})")]);
    let refused = table.after(|plans, sight, out| plans.begin(slot, sight, out));
    assert_eq!(refused, [format!("Finish({slot})")]);
    assert_eq!(table.plans.remove(slot).status(), Status::Unreadable);
    assert_eq!(table.plans.counts().degraded_reads, 1);
}

#[test]
fn an_old_value_that_goes_with_its_member_is_read_around() {
    let mut table = table(Redundancy::Parity, false);
    let (slot, first) = table.begin(Kind::Write, 0, 2);
    assert_eq!(first, ["Read Own 0 0-2", "Read Own 3 0-2"]);
    table.members.fail(0);
    let lost = Part::of(slot, Purpose::Own, 0, Span { from: 0, to: 2 }, Breakdown::default());
    table.plans.lose(&lost, 3);
    let around = table.after(|plans, sight, out| plans.recover(slot, sight, out));
    assert_eq!(around, ["Read Other 1 0-2", "Read Other 2 0-2"]);
    table.done(slot, Purpose::Other, 1);
    table.done(slot, Purpose::Other, 2);
    assert_eq!(table.done(slot, Purpose::Own, 3), ["Write Write 3 0-2"]);
}

#[test]
fn a_mirror_writes_all_copies_and_reads_one() {
    let mut table = table(Redundancy::Mirror, false);
    let (slot, copies) = table.begin(Kind::Write, 2, 4);
    assert_eq!(copies, ["Write Write 0 2-4", "Write Write 1 2-4"]);
    assert_eq!(table.begin(Kind::Read, 2, 4).1, ["Read Own 0 2-4"]);
    table.members.fail(0);
    assert_eq!(table.begin(Kind::Read, 2, 4).1, ["Read Own 1 2-4"]);
    let lost = Part::of(slot, Purpose::Write, 0, Span::default(), Breakdown::default());
    table.plans.lose(&lost, 1);
    assert_eq!(table.done(slot, Purpose::Write, 1), [format!("Finish({slot})")]);
}
