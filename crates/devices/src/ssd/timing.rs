//! When things happen: units, buses, and the stages of flash operations.
//!
//! A unit holds one operation from its first stage to its last. A bus is reserved when an operation
//! reaches the stage that needs it, not before; since operations reach it in time order, first
//! come first served needs no queue but only the instant at which the bus is next free. This module
//! knows no logical pages: it is told which plan to run on which unit.

use super::config::SsdConfig;
use engine::{EventQueue, Time};

/// What one stage of an operation occupies besides its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The cell array, for this many nanoseconds.
    Cell(u32),
    /// The bus, for this many nanoseconds.
    Bus(u32),
}

/// The stages of one kind of operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    stages: Vec<Stage>,
    cell_ns: Time,
    total_ns: Time,
}

impl Plan {
    /// A plan of these stages, in order; at least one.
    pub fn new(stages: Vec<Stage>) -> Self {
        assert!(!stages.is_empty());
        let cell_ns = stages.iter().copied().filter_map(Stage::cell).sum();
        let total_ns = stages.iter().copied().map(Stage::ns).sum();
        Plan { stages, cell_ns, total_ns }
    }

    /// Time in the cell array, ns.
    pub fn cell_ns(&self) -> Time {
        self.cell_ns
    }

    /// Time when the bus is never waited for, ns.
    pub fn total_ns(&self) -> Time {
        self.total_ns
    }

    /// The stages.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }
}

impl Stage {
    fn cell(self) -> Option<Time> {
        match self {
            Stage::Cell(ns) => Some(Time::from(ns)),
            Stage::Bus(_) => None,
        }
    }

    /// How long it lasts, ns.
    pub fn ns(self) -> Time {
        match self {
            Stage::Cell(ns) | Stage::Bus(ns) => Time::from(ns),
        }
    }
}

/// The operations that an SSD performs, as indices of its table of plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Sense, then transfer.
    Read,
    /// Transfer, then program.
    Program,
    /// The same, then the summary page of the block that it fills.
    ProgramLast,
    /// Sense and program within a plane.
    CopyBack,
    /// The same, then the summary page.
    CopyBackLast,
    /// Sense, transfer out, transfer in, program.
    Move,
    /// The same, then the summary page.
    MoveLast,
    /// Erase a block.
    Erase,
}

impl Operation {
    /// The plans of all operations, in the order of the enum.
    pub fn plans(config: &SsdConfig) -> Vec<Plan> {
        let timing = &config.timing;
        let read = Stage::Cell(timing.read.ns() as u32);
        let program = Stage::Cell(timing.program.ns() as u32);
        let erase = Stage::Cell(timing.erase.ns() as u32);
        let (page, spare) = (config.page_size.bytes(), config.spare_size.bytes());
        let transfer = |bytes| Stage::Bus(timing.bus_per_byte.time_ns(bytes) as u32);
        let bus = transfer(page + spare);
        // A summary is one sector with its share of the spare area (the 2008 simulator's 528 B).
        let summary = transfer(512 + spare * 512 / page);
        let closing: &[Stage] = if config.summary_page { &[summary, program] } else { &[] };
        let plans: [&[&[Stage]]; 8] = [
            &[&[read, bus]],
            &[&[bus, program]],
            &[&[bus, program], closing],
            &[&[read, program]],
            &[&[read, program], closing],
            &[&[read, bus, bus, program]],
            &[&[read, bus, bus, program], closing],
            &[&[erase]],
        ];
        plans.into_iter().map(|parts| Plan::new(parts.concat())).collect()
    }

    /// The operation that also writes the summary page, if `last`.
    #[inline]
    pub fn closing(self, last: bool) -> Operation {
        match (self, last) {
            (Operation::Program, true) => Operation::ProgramLast,
            (Operation::CopyBack, true) => Operation::CopyBackLast,
            (Operation::Move, true) => Operation::MoveLast,
            (other, _) => other,
        }
    }
}

/// An operation that has ended, and where its time went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// When its unit began with it.
    pub started: Time,
    /// Time in the cell array, ns.
    pub cell_ns: Time,
    /// Time waiting for and using the bus, ns.
    pub bus_ns: Time,
}

#[derive(Debug, Clone)]
struct Running {
    started: Time,
    plan: u8,
    /// The stage whose end is the unit's pending event; past the last for a lone bus.
    stage: u8,
}

#[derive(Debug, Clone)]
struct UnitState {
    running: Option<Running>,
    bus: u32,
    /// Only this unit uses the bus, so that no stage can wait and one event ends the operation.
    lone: bool,
}

/// Units and buses, and the events that end their stages.
#[derive(Debug, Clone)]
pub struct Timing {
    plans: Vec<Plan>,
    units: Vec<UnitState>,
    bus_free_at: Vec<Time>,
    bus_busy_ns: Vec<Time>,
    /// Pending events: the end of a stage, with the unit's number, and what the owner adds.
    pub events: EventQueue,
}

impl Timing {
    /// Units that all are idle; `unit_bus[u]` is the bus of unit `u`.
    pub fn new(plans: Vec<Plan>, unit_bus: &[u32]) -> Self {
        let buses = unit_bus.iter().max().map_or(0, |last| *last as usize + 1);
        let lone = |bus| unit_bus.iter().filter(|other| **other == bus).count() == 1;
        let units =
            unit_bus.iter().map(|&bus| UnitState { running: None, bus, lone: lone(bus) }).collect();
        Timing {
            plans,
            units,
            bus_free_at: vec![0; buses],
            bus_busy_ns: vec![0; buses],
            events: EventQueue::new(),
        }
    }

    /// Whether a unit has no operation.
    #[inline]
    pub fn is_idle(&self, unit: u32) -> bool {
        self.units[unit as usize].running.is_none()
    }

    /// When the operation of a busy unit began.
    pub fn running_since(&self, unit: u32) -> Option<Time> {
        self.units[unit as usize].running.as_ref().map(|running| running.started)
    }

    /// Begins an operation on an idle unit.
    #[inline]
    pub fn start(&mut self, unit: u32, plan: u8, now: Time) {
        let state = &mut self.units[unit as usize];
        assert!(state.running.is_none(), "a unit does one operation at a time");
        let lone = state.lone;
        let stage = if lone { u8::MAX } else { 0 };
        state.running = Some(Running { started: now, plan, stage });
        let end = if lone {
            let plan = &self.plans[plan as usize];
            self.bus_busy_ns[state.bus as usize] += plan.total_ns - plan.cell_ns;
            now + plan.total_ns
        } else {
            self.end_of_stage(unit, plan, 0, now)
        };
        self.events.push(end, unit);
    }

    /// Reserves what the stage needs and returns when it ends.
    fn end_of_stage(&mut self, unit: u32, plan: u8, stage: u8, now: Time) -> Time {
        match self.plans[plan as usize].stages[stage as usize] {
            Stage::Cell(ns) => now + Time::from(ns),
            Stage::Bus(ns) => {
                let bus = self.units[unit as usize].bus as usize;
                let end = now.max(self.bus_free_at[bus]) + Time::from(ns);
                self.bus_free_at[bus] = end;
                self.bus_busy_ns[bus] += Time::from(ns);
                end
            }
        }
    }

    /// The unit's pending event has come: the next stage begins, or the operation has ended.
    #[inline]
    pub fn stage_ended(&mut self, unit: u32, now: Time) -> Option<Finished> {
        let state = &mut self.units[unit as usize];
        let running = state.running.as_mut().expect("only a busy unit has an event");
        let plan = &self.plans[running.plan as usize];
        if !state.lone && usize::from(running.stage) + 1 < plan.stages.len() {
            running.stage += 1;
            let (plan, stage) = (running.plan, running.stage);
            let end = self.end_of_stage(unit, plan, stage, now);
            self.events.push(end, unit);
            return None;
        }
        let (started, cell_ns) = (running.started, plan.cell_ns);
        state.running = None;
        Some(Finished { started, cell_ns, bus_ns: now - started - cell_ns })
    }

    /// Time that each bus has been in use, including transfers still under way, ns.
    pub fn bus_busy_ns(&self) -> &[Time] {
        &self.bus_busy_ns
    }
}
