//! Is the engine exact? `Lanes` against a slow, obvious queueing simulator, and closed forms.
//!
//! The oracle keeps what `Lanes` does without: a queue and a busy flag for every bus, events in
//! a sorted map, and a place in the queue of a unit for every operation. Both are given the same
//! random plans, layouts and loads, and every operation must start and end at the same nanosecond.
//!
//! Order among equal times is part of the contract: stages end in the order in which they were
//! asked for, the stages of a unit with a bus to itself in the order in which their operations
//! began; and events come before arrivals.

#[path = "oracle/queueing.rs"]
mod oracle;

use crate::common::depth::depth;
use crate::common::seeds;
use devices::ssd::die::{Lanes, Plan, PlanId, Stage, StageEnd};
use engine::{Distribution, EventQueue, Random, Time, Xoshiro256};
use oracle::Oracle;
use std::collections::VecDeque;

/// The load of the units: operations in order of issue, each a unit and a plan.
#[derive(Debug)]
struct Load {
    plans: Vec<Vec<Stage>>,
    unit_bus: Vec<u32>,
    operations: Vec<(usize, usize)>,
    issue: Issue,
    /// Every unit always has a next background operation, as while it is being cleaned.
    background: bool,
}

#[derive(Debug)]
enum Issue {
    /// At these times.
    Open(Vec<Time>),
    /// This many at the start, then one at each completion.
    Closed(usize),
}

impl Load {
    fn initial(&self) -> usize {
        match &self.issue {
            Issue::Open(_) => 0,
            Issue::Closed(outstanding) => *outstanding,
        }
    }

    fn arrival(&self, index: usize) -> Option<Time> {
        match &self.issue {
            Issue::Open(times) => times.get(index).copied(),
            Issue::Closed(_) => None,
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.issue, Issue::Closed(_))
    }

    /// The plan of the `n`-th background operation of a unit.
    fn background_plan(&self, unit: usize, n: usize) -> usize {
        (unit * 7 + n * 3) % self.plans.len()
    }
}

/// When operations began and ended.
#[derive(Debug, Default, PartialEq)]
struct Record {
    foreground: Vec<(Time, Time)>,
    /// In order of completion, with the unit.
    background: Vec<(usize, Time, Time)>,
}

/// What a unit is doing: the operation of that number, or background work of that plan.
#[derive(Debug, Clone, Copy)]
enum Job {
    Foreground(usize),
    Background(usize),
}

// ---- the subject: units with queues around `Lanes` -----------------------------------------

struct Subject<'a> {
    load: &'a Load,
    lanes: Lanes,
    events: EventQueue,
    waiting: Vec<VecDeque<usize>>,
    current: Vec<Option<Job>>,
    background_begun: Vec<usize>,
    issued: usize,
    left: usize,
    record: Record,
}

impl<'a> Subject<'a> {
    fn run(load: &'a Load) -> Record {
        let units = load.unit_bus.len();
        let plans = load.plans.iter().map(|stages| Plan::new(stages.clone())).collect();
        let mut subject = Subject {
            load,
            lanes: Lanes::new(plans, &load.unit_bus, false),
            events: EventQueue::new(),
            waiting: vec![VecDeque::new(); units],
            current: vec![None; units],
            background_begun: vec![0; units],
            issued: 0,
            left: load.operations.len(),
            record: Record {
                foreground: vec![(0, 0); load.operations.len()],
                background: Vec::new(),
            },
        };
        (0..units).for_each(|unit| subject.dispatch(unit, 0));
        (0..load.initial()).for_each(|_| subject.issue(0));
        while subject.left > 0 {
            let event = subject.events.next_at();
            match load.arrival(subject.issued) {
                Some(at) if event.is_none_or(|event| event > at) => subject.issue(at),
                _ => subject.step(),
            }
        }
        subject.record
    }

    fn issue(&mut self, now: Time) {
        let Some(&(unit, _)) = self.load.operations.get(self.issued) else { return };
        self.waiting[unit].push_back(self.issued);
        self.issued += 1;
        self.dispatch(unit, now);
    }

    fn step(&mut self) {
        let (now, unit) = self.events.pop_until(Time::MAX).expect("work is left");
        let finished = match self.lanes.stage_ended(unit, now) {
            StageEnd::Finished(finished) => finished,
            StageEnd::GoesOn(ends) | StageEnd::Accepts(ends) => {
                self.events.push(ends, unit);
                return;
            }
        };
        let unit = unit as usize;
        match self.current[unit].take().expect("the unit was busy") {
            Job::Foreground(id) => {
                self.record.foreground[id] = (finished.started, now);
                self.left -= 1;
                if self.load.is_closed() {
                    self.issue(now);
                }
            }
            Job::Background(_) => self.record.background.push((unit, finished.started, now)),
        }
        self.dispatch(unit, now);
    }

    fn dispatch(&mut self, unit: usize, now: Time) {
        if !self.lanes.is_idle(unit as u32) {
            return;
        }
        let (job, plan) = if let Some(id) = self.waiting[unit].pop_front() {
            (Job::Foreground(id), self.load.operations[id].1)
        } else if self.load.background {
            let plan = self.load.background_plan(unit, self.background_begun[unit]);
            self.background_begun[unit] += 1;
            (Job::Background(plan), plan)
        } else {
            return;
        };
        self.current[unit] = Some(job);
        let ends = self.lanes.start(unit as u32, PlanId(plan as u32), now);
        self.events.push(ends, unit as u32);
    }
}

/// How long an operation takes when no bus is taken.
fn alone_ns(stages: &[Stage]) -> Time {
    stages.iter().copied().map(Stage::ns).sum()
}

// ---- random loads ---------------------------------------------------------------------------

/// Durations on a coarse grid make equal times common; on a fine one they are rare.
fn random_plans(random: &mut Xoshiro256) -> Vec<Vec<Stage>> {
    let (steps, grain) = if random.below(2) == 0 { (4, 50) } else { (100_000, 1) };
    let stage = |random: &mut Xoshiro256| {
        let ns = ((1 + random.below(steps)) * grain) as u32;
        if random.below(2) == 0 { Stage::Cell(ns) } else { Stage::Bus(ns) }
    };
    let plans = 1 + random.below(5);
    (0..plans).map(|_| (0..=random.below(6)).map(|_| stage(random)).collect()).collect()
}

fn random_layout(random: &mut Xoshiro256) -> Vec<u32> {
    let units = 1 + random.below(12) as u32;
    match random.below(4) {
        0 => (0..units).collect(),
        1 => vec![0; units as usize],
        2 => (0..units).map(|unit| unit % units.div_ceil(2)).collect(),
        _ => (0..units).map(|_| random.below(u64::from(units)) as u32).collect(),
    }
}

/// Operations per nanosecond at which the busiest unit or bus is just saturated.
fn capacity(plans: &[Vec<Stage>], unit_bus: &[u32]) -> f64 {
    let mean = |of: fn(Stage) -> Time| {
        plans.iter().flatten().copied().map(of).sum::<Time>() as f64 / plans.len() as f64
    };
    let unit_ns = mean(Stage::ns);
    let bus_ns = mean(|stage| if let Stage::Bus(ns) = stage { Time::from(ns) } else { 0 });
    let sharers = unit_bus.iter().map(|bus| unit_bus.iter().filter(|b| *b == bus).count()).max();
    let load = unit_ns.max(bus_ns * sharers.unwrap_or(1) as f64);
    unit_bus.len() as f64 / load
}

/// Exponential gaps, or bursts of up to 40 at one instant with the same mean rate.
fn random_arrivals(random: &mut Xoshiro256, count: usize, rate: f64) -> Vec<Time> {
    let bursty = random.below(2) == 0;
    let mut at = 0.0;
    let mut burst = 0;
    let mut times = Vec::with_capacity(count);
    while times.len() < count {
        if burst == 0 {
            burst = if bursty { 1 + random.below(40) } else { 1 };
            let gap = Distribution::Exponential { base: 0.0, mean: burst as f64 / rate };
            at += gap.sample(random);
        }
        times.push(at as Time);
        burst -= 1;
    }
    times
}

fn random_load(seed: u64, count: usize) -> Load {
    let mut random = Xoshiro256::new(seed, 0);
    let plans = random_plans(&mut random);
    let unit_bus = random_layout(&mut random);
    let operations = (0..count)
        .map(|_| {
            let unit = random.below(unit_bus.len() as u64) as usize;
            (unit, random.below(plans.len() as u64) as usize)
        })
        .collect();
    let issue = if random.below(3) == 0 {
        Issue::Closed(1 + random.below(64) as usize)
    } else {
        const UTILISATIONS: [f64; 6] = [0.1, 0.3, 0.5, 0.8, 0.95, 1.1];
        let utilisation = UTILISATIONS[random.below(6) as usize];
        let rate = utilisation * capacity(&plans, &unit_bus);
        Issue::Open(random_arrivals(&mut random, count, rate))
    };
    let background = random.below(3) == 0;
    Load { plans, unit_bus, operations, issue, background }
}

const OPERATIONS: usize = 5_000;

/// A million in every commit, ten at night.
#[test]
fn every_operation_is_as_in_the_oracle() {
    let cases = depth(40, 200, 2_000);
    let (mut compared, mut background, mut closed, mut waited) = (0, 0, 0, 0);
    seeds(0..cases, |seed| {
        let load = random_load(seed, OPERATIONS);
        let expected = Oracle::run(&load);
        let found = Subject::run(&load);
        for (id, pair) in expected.foreground.iter().zip(&found.foreground).enumerate() {
            assert_eq!(pair.0, pair.1, "operation {id}: expected and found start and end");
        }
        assert_eq!(expected.background, found.background, "background operations");
        compared += found.foreground.len();
        background += found.background.len();
        closed += u64::from(load.is_closed());
        let alone = |id: usize| alone_ns(&load.plans[load.operations[id].1]);
        let bus_waits = |(id, times): (usize, &(Time, Time))| times.1 - times.0 > alone(id);
        waited += expected.foreground.iter().enumerate().filter(|pair| bus_waits(*pair)).count();
    });
    println!("{compared} foreground, {background} background, {waited} waited for a bus");
    let of = |count: usize| count as u64 / cases;
    assert!(of(compared) >= 4_500, "{compared} operations");
    // The loads must reach what they are meant to reach.
    assert!(
        of(background) > 1_100 && 4 * closed > cases,
        "{background} background, {closed} closed"
    );
    assert!(of(waited) > 450, "{waited} operations waited for a bus");
}

// ---- closed forms ---------------------------------------------------------------------------

#[test]
fn an_idle_unit_takes_the_sum_of_the_stages() {
    seeds(0..200, |seed| {
        let mut load = random_load(seed, 40);
        load.background = false;
        load.issue = Issue::Closed(1);
        let record = Subject::run(&load);
        for (id, (started, ended)) in record.foreground.iter().enumerate() {
            let stages = &load.plans[load.operations[id].1];
            assert_eq!(ended - started, alone_ns(stages));
        }
    });
}

/// Mean wait in the queue and its standard error by the method of batch means.
fn mean_wait(load: &Load, batches: usize) -> (f64, f64) {
    let Issue::Open(times) = &load.issue else { panic!("an open load") };
    let record = Subject::run(load);
    let waits = record.foreground.iter().zip(times).map(|((started, _), at)| started - at);
    let waits: Vec<Time> = waits.collect();
    let means: Vec<f64> = waits
        .chunks(waits.len() / batches)
        .map(|batch| batch.iter().sum::<Time>() as f64 / batch.len() as f64)
        .collect();
    let mean = means.iter().sum::<f64>() / batches as f64;
    let squares: f64 = means.iter().map(|m| (m - mean) * (m - mean)).sum();
    (mean, (squares / (batches * (batches - 1)) as f64).sqrt())
}

#[test]
fn one_unit_waits_as_m_d_1() {
    const SERVICE: u32 = 130_600;
    for (seed, rho) in [(1, 0.5), (2, 0.8)] {
        let count = 1_000_000;
        let mut random = Xoshiro256::new(seed, 0);
        let gap = Distribution::Exponential { base: 0.0, mean: f64::from(SERVICE) / rho };
        let mut at = 0.0;
        let arrivals = (0..count).map(|_| {
            at += gap.sample(&mut random);
            at as Time
        });
        let load = Load {
            plans: vec![vec![Stage::Cell(25_000), Stage::Bus(SERVICE - 25_000)]],
            unit_bus: vec![0],
            operations: vec![(0, 0); count],
            issue: Issue::Open(arrivals.collect()),
            background: false,
        };
        let (wait, error) = mean_wait(&load, 50);
        // Pollaczek and Khinchine, for a constant service time.
        let expected = rho * f64::from(SERVICE) / (2.0 * (1.0 - rho));
        println!("rho {rho}: {wait:.0} +- {error:.0} ns, M/D/1 {expected:.0} ns");
        assert!((wait - expected).abs() < 3.0 * error, "rho {rho}: {wait} +- {error}");
        assert!(error < 0.01 * expected, "too few operations to tell: {error} of {expected}");
    }
}

#[test]
fn a_shared_bus_can_be_used_without_a_gap() {
    // Reads on four units: the bus is the bottleneck, and after the first sense it never idles.
    let load = Load {
        plans: vec![vec![Stage::Cell(25), Stage::Bus(100)]],
        unit_bus: vec![0; 4],
        operations: (0..1000).map(|id| (id % 4, 0)).collect(),
        issue: Issue::Closed(8),
        background: false,
    };
    let last = Subject::run(&load).foreground.iter().map(|(_, ended)| *ended).max();
    assert_eq!(last, Some(25 + 1000 * 100));
}

/// Ends of operations that book their whole course, bus included, when they are submitted.
fn booked_at_submit(load: &Load) -> Vec<Time> {
    let Issue::Open(times) = &load.issue else { panic!("an open load") };
    let mut unit_free = vec![0; load.unit_bus.len()];
    let mut bus_free = vec![0; load.unit_bus.len()];
    let mut ends = Vec::new();
    for ((unit, plan), at) in load.operations.iter().zip(times) {
        let bus = load.unit_bus[*unit] as usize;
        let mut now = unit_free[*unit].max(*at);
        for stage in &load.plans[*plan] {
            if matches!(stage, Stage::Bus(_)) {
                now = bus_free[bus].max(now);
                bus_free[bus] = now + stage.ns();
            }
            now += stage.ns();
        }
        unit_free[*unit] = now;
        ends.push(now);
    }
    ends
}

#[test]
fn a_bus_is_reserved_when_it_is_needed_not_when_the_operation_is_submitted() {
    // A read senses until 25 and needs the bus only then; a write on another unit needs it at 1.
    let load = Load {
        plans: vec![
            vec![Stage::Cell(25), Stage::Bus(100)],
            vec![Stage::Bus(100), Stage::Cell(200)],
        ],
        unit_bus: vec![0, 0],
        operations: vec![(0, 0), (1, 1)],
        issue: Issue::Open(vec![0, 1]),
        background: false,
    };
    let late = [(0, 1 + 100 + 100), (1, 1 + 100 + 200)];
    assert_eq!(Subject::run(&load).foreground, late);
    assert_eq!(Oracle::run(&load).foreground, late);
    // Booking early leaves the bus unused until 25, and the write waits for a later request's turn.
    assert_eq!(booked_at_submit(&load), [125, 125 + 100 + 200]);
}
