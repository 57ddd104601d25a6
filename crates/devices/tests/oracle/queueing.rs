//! What `Lanes` must compute, the slow and obvious way: one queue and one flag for every bus, one
//! queue for every unit, one sorted map of events.

use super::{Job, Load, Record};
use devices::ssd::die::Stage;
use engine::Time;
use std::collections::{BTreeMap, VecDeque};

/// A unit: the operation in service, since when, at which stage, and the queue.
#[derive(Default)]
struct Owner {
    foreground: VecDeque<usize>,
    background_begun: usize,
    serving: Option<(Job, Time)>,
    stage: usize,
    ticket: u64,
}

/// A bus: whether it is taken, and the units that want it next, each with its ticket.
#[derive(Default)]
struct Bus {
    taken: bool,
    queue: VecDeque<(usize, Time, u64)>,
}

/// Everything that is going on.
pub struct Oracle<'a> {
    load: &'a Load,
    owners: Vec<Owner>,
    buses: Vec<Bus>,
    /// The units whose stage ends, by time and by the ticket drawn when the stage was asked for.
    events: BTreeMap<(Time, u64), usize>,
    tickets: u64,
    issued: usize,
    left: usize,
    record: Record,
}

impl<'a> Oracle<'a> {
    /// Runs a load to the end of its foreground operations.
    pub fn run(load: &'a Load) -> Record {
        let buses = load.unit_bus.iter().max().map_or(0, |last| *last as usize + 1);
        let mut oracle = Oracle {
            load,
            owners: load.unit_bus.iter().map(|_| Owner::default()).collect(),
            buses: (0..buses).map(|_| Bus::default()).collect(),
            events: BTreeMap::new(),
            tickets: 0,
            issued: 0,
            left: load.operations.len(),
            record: Record {
                foreground: vec![(0, 0); load.operations.len()],
                background: Vec::new(),
            },
        };
        for unit in 0..oracle.owners.len() {
            oracle.serve_next(unit, 0);
        }
        for _ in 0..load.initial() {
            oracle.arrive(0);
        }
        while oracle.left > 0 {
            let event = oracle.events.first_key_value().map(|((at, _), _)| *at);
            match load.arrival(oracle.issued) {
                Some(at) if event.is_none_or(|event| at < event) => oracle.arrive(at),
                _ => oracle.end_stage(),
            }
        }
        oracle.record
    }

    fn arrive(&mut self, now: Time) {
        if self.issued < self.load.operations.len() {
            let unit = self.load.operations[self.issued].0;
            self.owners[unit].foreground.push_back(self.issued);
            self.issued += 1;
            self.serve_next(unit, now);
        }
    }

    /// An idle unit takes the first of its foreground class, else of its background class.
    fn serve_next(&mut self, unit: usize, now: Time) {
        let owner = &mut self.owners[unit];
        if owner.serving.is_some() {
            return;
        }
        if let Some(id) = owner.foreground.pop_front() {
            owner.serving = Some((Job::Foreground(id), now));
        } else if self.load.background {
            let plan = self.load.background_plan(unit, owner.background_begun);
            owner.background_begun += 1;
            owner.serving = Some((Job::Background(plan), now));
        } else {
            return;
        }
        owner.stage = 0;
        self.ask_for_stage(unit, now);
    }

    fn stages(&self, unit: usize) -> &'a [Stage] {
        let (job, _) = self.owners[unit].serving.expect("a busy unit");
        match job {
            Job::Foreground(id) => &self.load.plans[self.load.operations[id].1],
            Job::Background(plan) => &self.load.plans[plan],
        }
    }

    fn ask_for_stage(&mut self, unit: usize, now: Time) {
        let bus = self.load.unit_bus[unit];
        let shared = self.load.unit_bus.iter().filter(|other| **other == bus).count() > 1;
        if shared || self.owners[unit].stage == 0 {
            self.owners[unit].ticket = self.tickets;
            self.tickets += 1;
        }
        let ticket = self.owners[unit].ticket;
        match self.stages(unit)[self.owners[unit].stage] {
            Stage::Cell(ns) | Stage::Write(ns) => {
                self.events.insert((now + Time::from(ns), ticket), unit);
            }
            Stage::Instruction(_) => unreachable!("packages share no control pins here"),
            Stage::Bus(ns) => {
                let bus = self.load.unit_bus[unit] as usize;
                self.buses[bus].queue.push_back((unit, Time::from(ns), ticket));
                self.grant(bus, now);
            }
        }
    }

    fn grant(&mut self, bus: usize, now: Time) {
        if self.buses[bus].taken {
            return;
        }
        if let Some((unit, ns, ticket)) = self.buses[bus].queue.pop_front() {
            self.buses[bus].taken = true;
            self.events.insert((now + ns, ticket), unit);
        }
    }

    fn end_stage(&mut self) {
        let ((now, _), unit) = self.events.pop_first().expect("work is left");
        let stages = self.stages(unit);
        if matches!(stages[self.owners[unit].stage], Stage::Bus(_)) {
            let bus = self.load.unit_bus[unit] as usize;
            self.buses[bus].taken = false;
            self.grant(bus, now);
        }
        self.owners[unit].stage += 1;
        if self.owners[unit].stage < stages.len() {
            self.ask_for_stage(unit, now);
            return;
        }
        let (job, started) = self.owners[unit].serving.take().expect("a busy unit");
        match job {
            Job::Foreground(id) => {
                self.record.foreground[id] = (started, now);
                self.left -= 1;
                if self.load.is_closed() {
                    self.arrive(now);
                }
            }
            Job::Background(_) => self.record.background.push((unit, started, now)),
        }
        self.serve_next(unit, now);
    }
}
