//! Property: an array returns the data written last, whichever members fail, and whenever.

use super::symbolic::Shadow;
use crate::clock::Event;
use crate::{Array, OfLaws, Redundancy, Rotation, WriteRule};
use engine::{Device as _, Lba, Op, Random as _, Request, Time, Xoshiro256};
use options::{Choice as _, Size};
use service_law::{LawConfig, Pattern};
use ssd::device::DeviceKind as _;

const SECTOR: u64 = 512;
const CHUNK: u64 = 4;
const ROWS: u64 = 5;

/// An array of devices with parallel and reordered requests.
pub fn array(config: OfLaws, spares: u32) -> Array {
    let law = |fixed: u32| {
        let text = format!("1: {fixed}us + 9us/KiB, 3: {}us + 17us/KiB", fixed + 30);
        Pattern::of(text.parse().unwrap())
    };
    let member = LawConfig {
        size: Size::from_bytes((ROWS * CHUNK + super::Log::sectors(&config)) * SECTOR),
        sequential_read: law(20),
        random_read: law(50),
        sequential_write: law(35),
        random_write: law(80),
        ..LawConfig::default()
    };
    let count = u64::from(config.members + spares);
    let config = OfLaws {
        stripe: Size::from_bytes(CHUNK * SECTOR),
        spares,
        rebuild: crate::Rebuild {
            unit: Size::from_bytes(2 * CHUNK * SECTOR),
            ..Default::default()
        },
        member: member.clone(),
        ..config
    };
    let drives = (0..count).map(|_| member.build(0).unwrap()).collect();
    Array::of(&config, 1, drives).unwrap()
}

/// A run of random requests without overlaps of outstanding writes.
pub struct Run {
    pub array: Array,
    pub shadow: Shadow,
    random: Xoshiro256,
    pub outstanding: Vec<Request>,
    pub asked: u64,
    pub now: Time,
    /// Last completed value of each sector.
    pub settled: Vec<u64>,
    done: Vec<engine::Completion>,
}

impl Run {
    pub fn new(array: Array, seed: u64) -> Run {
        let shadow = Shadow::of(&array);
        let (random, outstanding, done) = (Xoshiro256::new(seed, 0), Vec::new(), Vec::new());
        let settled = shadow.expected.clone();
        Run { array, shadow, random, outstanding, asked: 0, now: 0, settled, done }
    }

    fn draw(&mut self) -> Request {
        let capacity = self.array.capacity_sectors();
        let stripe = self.array.geometry().stripe_sectors();
        loop {
            let op = [Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim, Op::Flush]
                [self.random.below(6) as usize];
            let most = [2, CHUNK + 2, 2 * stripe][self.random.below(3) as usize].min(capacity);
            let sectors = if op == Op::Flush { 0 } else { 1 + self.random.below(most) };
            let lba = self.random.below(capacity - sectors + 1);
            let request = Request::new(self.asked, op, Lba(lba), sectors as u32);
            let end = |it: &Request| it.lba.0 + u64::from(it.sectors);
            let meets = |it: &Request| it.lba.0 < end(&request) && lba < end(it);
            let may = |it: &Request| op == Op::Read && it.op == Op::Read || !meets(it);
            if self.outstanding.iter().all(may) {
                return request;
            }
        }
    }

    pub fn ask(&mut self) {
        let request = self.draw();
        self.asked += 1;
        self.outstanding.push(request);
        self.shadow.asked(&self.array, &request);
        self.array.submit(self.now, request);
        self.look();
    }

    pub fn look(&mut self) {
        self.shadow.follow(&mut self.array);
        self.shadow.check(&self.array);
    }

    /// Advances to the next event. Returns false without one.
    pub fn step(&mut self) -> bool {
        let Some(at) = self.array.next_event() else { return false };
        self.now = at;
        self.array.advance(at, &mut self.done);
        for done in self.done.drain(..) {
            assert_eq!(done.submitted + done.breakdown.total(), done.at);
            assert!(done.status.is_ok(), "{done:?}");
            let number = self.outstanding.iter().position(|it| it.id == done.request.id);
            self.outstanding.remove(number.unwrap());
            let start = done.request.lba.0 as usize;
            let sectors = start..start + done.request.sectors as usize;
            self.settled[sectors.clone()].copy_from_slice(&self.shadow.expected[sectors]);
        }
        self.look();
        true
    }

    pub fn fail(&mut self, member: u64) {
        self.array.happen(Event::Failure(member as usize), self.now);
        self.array.pump(self.now);
        self.look();
    }

    /// Submits `requests` more requests, a few at a time. Fails members at the given event numbers.
    pub fn go(&mut self, requests: u64, failures: &[(u64, u64)]) -> u64 {
        self.array.raid_mut().failures_ahead = failures.len();
        let (end, mut events) = (self.asked + requests, 0);
        loop {
            for (_, member) in failures.iter().filter(|it| it.0 == events) {
                self.fail(*member);
            }
            while self.outstanding.len() < 5 && self.asked < end {
                self.ask();
            }
            if !self.step() {
                break;
            }
            events += 1;
        }
        self.shadow.check_all(&self.array);
        assert!(self.outstanding.is_empty(), "all is answered: {:?}", self.outstanding);
        events
    }
}

/// All arrays of 3 to 9 members with each rotation; rules of writing alternate.
fn all(mut each: impl FnMut(OfLaws)) {
    let mut turn = 0;
    for kind in Redundancy::WORDS.iter().map(|it| it.0.parse().unwrap()) {
        for members in 3..=9 {
            for rotation in Rotation::WORDS.iter().map(|it| it.0.parse().unwrap()) {
                let moves = [Redundancy::Parity, Redundancy::DoubleParity].contains(&kind);
                let is_mirror = kind == Redundancy::Mirror;
                let copies = if members % 3 == 0 { 3 } else { 2 };
                let fits = !is_mirror || members % copies == 0;
                let is_first = rotation == Rotation::LeftSymmetric;
                if kind == Redundancy::None || !fits || !moves && !is_first {
                    continue;
                }
                turn += 1;
                each(OfLaws {
                    redundancy: kind,
                    members,
                    copies,
                    parity_rotation: rotation,
                    write: [WriteRule::Auto, WriteRule::ReadModifyWrite, WriteRule::Reconstruct]
                        [turn % 3],
                    writes_together: turn % 2 == 0,
                    stripe_cache: [0, 0, 2, 100][turn % 4],
                    ..OfLaws::default()
                });
            }
        }
    }
}

#[test]
fn parity_fits_after_every_event_and_whoever_is_missing_is_found() {
    all(|config| {
        for write in WriteRule::WORDS {
            let write = write.0.parse().unwrap();
            let mut run = Run::new(array(OfLaws { write, ..config.clone() }, 0), 3);
            run.go(60, &[]);
            assert!(run.array.raid().stripes.is_empty());
        }
    });
}

/// Drives are marked as cleaning in turn, and one of them fails.
#[test]
fn what_is_read_around_a_member_that_cleans_is_what_was_written_last() {
    let mut around = 0;
    all(|config| {
        let mut run = Run::new(array(config.clone(), 1), u64::from(config.members) + 300);
        for round in 0..u64::from(config.members) {
            run.array.members.pretend(round as usize);
            let failures = if round == 1 { vec![(7, 2)] } else { Vec::new() };
            run.go(30, &failures);
        }
        assert!(run.array.members.is_whole() && run.array.raid().stripes.is_empty());
        around += run.array.raid().plans.counts().reads_around;
    });
    assert!(around > 100, "{around}");
}

#[test]
fn a_failure_at_every_event_and_a_second_one_after_the_rebuild_lose_nothing() {
    all(|config| {
        let seed = u64::from(config.members);
        let events = Run::new(array(config.clone(), 2), seed).go(14, &[]);
        for at in 0..events {
            let mut run = Run::new(array(config.clone(), 2), seed);
            let first = at % u64::from(config.members);
            run.go(14, &[(at, first)]);
            assert!(run.array.members.is_whole(), "the rebuild is over");
            let second = (first + 1) % u64::from(config.members);
            run.fail(second);
            run.go(6, &[]);
            assert!(run.array.members.is_whole() && run.array.raid().stripes.is_empty());
            assert_eq!(run.array.raid().failures, 2);
            assert_eq!(run.array.raid().lost_sectors, 0);
        }
    });
}

#[test]
fn two_failures_at_once_are_borne_by_double_parity_and_three_copies() {
    all(|config| {
        let copies = config.redundancy == Redundancy::Mirror && config.copies == 3;
        if config.redundancy != Redundancy::DoubleParity && !copies {
            return;
        }
        let seed = u64::from(config.members) + 100;
        let events = Run::new(array(config.clone(), 1), seed).go(14, &[]);
        let members = u64::from(config.members);
        for at in 0..events {
            // A second failure during the first rebuild, with one spare or none.
            for (spares, gap) in [(0, 0), (0, 1), (1, 2), (1, 5), (2, 3)] {
                let mut run = Run::new(array(config.clone(), spares), seed);
                let (first, second) = (at % members, (at / members + at + 1) % members);
                let second = if first == second { (second + 1) % members } else { second };
                run.go(14, &[(at, first), (at + gap, second)]);
                run.go(4, &[]);
                assert_eq!(run.array.raid().lost_sectors, 0);
            }
        }
    });
}

#[test]
fn a_spare_that_fails_is_replaced_by_the_next() {
    all(|config| {
        let seed = u64::from(config.members) + 200;
        for gap in 1..12 {
            let mut run = Run::new(array(config.clone(), 3), seed);
            run.go(14, &[(5, 1), (5 + gap, 1), (5 + 2 * gap, 1)]);
            assert!(run.array.members.is_whole() && run.array.raid().stripes.is_empty());
            assert_eq!(run.array.raid().failures, 3);
        }
    });
}

/// More failures than the redundancy tolerates: lost sectors are counted, and requests for them
/// fail.
#[test]
fn what_is_lost_is_counted_and_refused() {
    all(|config| {
        let mut it = array(config.clone(), 0);
        let borne = it.geometry().checks();
        // Neighbours are copies of each other.
        (0..borne).for_each(|member| it.happen(Event::Failure(member as usize), 0));
        assert_eq!(it.raid().lost_sectors, 0);
        it.happen(Event::Failure(borne as usize), 0);
        let sectors = it.capacity_sectors();
        let (mut lost, mut done) = (0, Vec::new());
        for sector in 0..sectors {
            for op in [Op::Read, Op::Write] {
                it.submit(0, Request::new(sector, op, Lba(sector), 1));
            }
        }
        while let Some(at) = it.next_event() {
            it.advance(at, &mut done);
        }
        assert_eq!(done.len() as u64, 2 * sectors);
        for answer in &done {
            lost += u64::from(!answer.status.is_ok());
        }
        assert_eq!(lost, 2 * it.raid().lost_sectors, "{} {}", config.redundancy, config.members);
        assert!(lost > 0);
        assert!(it.raid().stripes.is_empty() && it.front.is_empty());
    });
}
