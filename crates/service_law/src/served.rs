//! The device that follows a law of service times.
//!
//! Its state is the previous request and the requests in service. It knows no flash, garbage
//! collection or wear. The law limits the number of requests in service; the others wait in order.

use super::{Access, LawConfig};
use engine::{Breakdown, Completion, Device, Followed, Op, Request, SECTOR_BYTES, Status, Time};
use options::{Invalid, Power, options};
use ssd::device::energy::{self, EnergyReport};
use ssd::device::latency::{BUS, CELL, UNIT_WAIT};
use ssd::device::{Instruction, Model};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

options! {
    /// Power consumption of a device with a law of service times. Unknown unless a key sets it,
    /// and then results have a section `energy`; nothing else changes.
    pub struct ServedEnergy as ServedEnergyPartial {
        /// Power at full concurrency; proportional in between.
        active: Power = Power::from_smallest(0),
        /// Idle power.
        idle: Power = Power::from_smallest(0),
    }
}

impl ServedEnergy {
    fn is_known(&self) -> bool {
        self.active.watts() > 0.0 || self.idle.watts() > 0.0
    }

    /// Rejects a device whose active power is below its idle power.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        if self.active < self.idle && self.is_known() {
            let problem = format!("{} is less than the idle power, {}", self.active, self.idle);
            return Err(Invalid::new(&["device.energy.active", "device.energy.idle"], problem));
        }
        Ok(())
    }
}

/// A request in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Service {
    end: Time,
    /// Sequence number, which orders simultaneous completions.
    number: u64,
    submitted: Time,
    begun: Time,
    fixed: Time,
    request: Request,
}

impl Ord for Service {
    /// Reversed: the heap returns the earliest completion first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.end, other.number).cmp(&(self.end, self.number))
    }
}

impl PartialOrd for Service {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Requests in service; most devices have only one, which needs no heap.
#[derive(Debug, Clone, Default)]
struct Serving {
    /// The first to complete.
    first: Option<Service>,
    others: BinaryHeap<Service>,
}

impl Serving {
    #[inline]
    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    #[inline]
    fn push(&mut self, service: Service) {
        match &mut self.first {
            None => self.first = Some(service),
            Some(first) if service > *first => self.others.push(std::mem::replace(first, service)),
            Some(_) => self.others.push(service),
        }
    }

    /// Removes the first to complete.
    #[inline]
    fn remove_first(&mut self) {
        self.first = None;
        if !self.others.is_empty() {
            self.first = self.others.pop();
        }
    }
}

/// A device that follows a law.
#[derive(Debug, Clone)]
pub struct Served {
    law: LawConfig,
    /// Maximum number of requests in service.
    at_once: usize,
    /// Service time of a request without data.
    command_ns: Time,
    /// Waiting requests with their submission time.
    queue: VecDeque<(Time, Request)>,
    service: Serving,
    /// Operation and end of the last started read or write.
    previous: Option<(Op, u64)>,
    begun: u64,
    /// Total service time of reads and of other requests since the last reset, ns.
    busy_ns: [Time; 2],
    /// Time of the last reset.
    since: Time,
}

impl Served {
    /// An idle device.
    pub fn new(law: LawConfig) -> Self {
        let (at_once, command_ns) = (law.at_once(), law.quickest_ns());
        let (queue, service) = (VecDeque::new(), Serving::default());
        let busy_ns = [0; 2];
        let (previous, begun, since) = (None, 0, 0);
        Served { law, at_once, command_ns, queue, service, previous, begun, busy_ns, since }
    }

    /// Fixed and size-dependent part of the next request's service time, ns.
    fn cost(&mut self, request: &Request) -> (Time, Time) {
        // Laws do not cover requests without data: these take the shortest time of the known
        // requests.
        if !matches!(request.op, Op::Read | Op::Write) {
            return (self.command_ns, 0);
        }
        let sequential = self.previous == Some((request.op, request.lba.0));
        self.previous = Some((request.op, request.lba.0 + u64::from(request.sectors)));
        let access = match (request.op, sequential) {
            (Op::Read, true) => Access::SequentialRead,
            (Op::Read, false) => Access::RandomRead,
            (_, true) => Access::SequentialWrite,
            (_, false) => Access::RandomWrite,
        };
        self.law.cost(access, request.bytes(), self.service.len() + 1)
    }

    /// Energy above idle for reads and for other requests, joules.
    fn taken(&self) -> [f64; 2] {
        let config = &self.law.energy;
        let each = (config.active.watts() - config.idle.watts()) / self.at_once as f64;
        self.busy_ns.map(|ns| each * energy::seconds(ns))
    }

    fn begin(&mut self, now: Time) {
        while self.service.len() < self.at_once {
            let Some((submitted, request)) = self.queue.pop_front() else { return };
            self.serve(now, submitted, request);
        }
    }

    #[inline]
    fn serve(&mut self, now: Time, submitted: Time, request: Request) {
        let (fixed, growing) = self.cost(&request);
        let end = now + fixed + growing;
        let number = self.begun;
        self.begun += 1;
        self.busy_ns[usize::from(request.op != Op::Read)] += fixed + growing;
        self.service.push(Service { end, number, submitted, begun: now, fixed, request });
    }
}

impl Device for Served {
    fn submit(&mut self, now: Time, request: Request) {
        if self.queue.is_empty() && self.service.len() < self.at_once {
            self.serve(now, now, request);
        } else {
            self.queue.push_back((now, request));
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.service.first.map(|first| first.end)
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(first) = &self.service.first {
            let Service { end: at, submitted, begun, fixed, request, .. } = *first;
            if at > to {
                return;
            }
            self.service.remove_first();
            let mut breakdown = Breakdown::of(UNIT_WAIT, begun - submitted);
            breakdown[BUS] = at - begun - fixed;
            breakdown[CELL] = fixed;
            let status = Status::Ok;
            completions.push(Completion { request, submitted, at, breakdown, status });
            if !self.queue.is_empty() {
                self.begin(at);
            }
        }
    }

    /// Power cut as an inner device, whose outer device knows the outstanding requests: the request
    /// in service is lost, and the device is ready at once.
    fn cut(&mut self, _now: Time, _completions: &mut Vec<Completion>) {
        self.queue.clear();
        self.service = Serving::default();
    }

    fn power_on(&mut self, _now: Time) {}

    fn followed(&self) -> Option<Followed> {
        let taken = || {
            let [reads, others] = self.taken();
            energy::follow(Followed::default(), reads + others)
        };
        self.law.energy.is_known().then(taken)
    }

    fn capacity_sectors(&self) -> u64 {
        self.law.size.bytes() / SECTOR_BYTES
    }
}

impl Model for Served {
    fn instruct(&mut self, now: Time, instruction: Instruction) -> Result<(), String> {
        match instruction {
            Instruction::ResetCounts => self.busy_ns = [0; 2],
            Instruction::BeginAccount => (self.busy_ns, self.since) = ([0; 2], now),
            Instruction::TurnOn => self.previous = None,
            other => return other.without_effect(),
        }
        Ok(())
    }

    fn copied(&self) -> Option<Box<dyn Model>> {
        Some(Box::new(self.clone()))
    }

    fn energy_report(&self, end: Time) -> Option<EnergyReport> {
        let config = &self.law.energy;
        if !config.is_known() {
            return None;
        }
        let time_ns = end.saturating_sub(self.since);
        let [reads, others] = self.taken();
        let served: Time = self.busy_ns.iter().sum();
        let most = time_ns as f64 * self.at_once as f64;
        Some(EnergyReport {
            time_ns,
            service: reads + others,
            idle: config.idle.watts() * energy::seconds(time_ns),
            reads: Some(reads),
            constant_watts: config.idle.watts(),
            utilisation: if most > 0.0 { served as f64 / most } else { 0.0 },
            devices: 1,
            ..EnergyReport::default()
        })
    }
}
