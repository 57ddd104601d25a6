//! Timing of flash operations: lanes, buses, and stages.
//!
//! A lane (a unit, or one package of a unit that spans several) holds one operation from its first
//! stage to its last, or with cache commands a second one of the same kind behind it. A bus is
//! reserved when an operation reaches the stage that needs it, not before; since operations reach
//! it in time order, first come first served needs no queue but only the instant at which the bus
//! is next free. This module knows no pages: it gets the plan to run on a lane, and returns the
//! time of the next call.

use super::operation::{Cached, Plan, PlanId, Stage};
use crate::flash::Effort;
use crate::timeline::Finished;
use engine::Time;

/// Meaning of a stage's end for its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageEnd {
    /// The operation continues with a stage that ends then.
    GoesOn(Time),
    /// `Goes` for the last stage, after which another operation of the same kind may begin.
    Accepts(Time),
    /// The operation has ended.
    Finished(Finished),
}

#[derive(Debug, Clone)]
pub(super) struct Running {
    started: Time,
    plan: PlanId,
    /// The stage whose end is pending; of an operation that is one event, the last.
    stage: u16,
    /// When that stage ends.
    ends: Time,
    /// Time waiting for the cell array.
    waited_ns: Time,
}

#[derive(Debug, Clone)]
struct Lane {
    running: Option<Running>,
    /// The following operation with cache commands: the operation before it, in its last stage.
    tail: Option<Running>,
    bus: u32,
    /// Instruction pins shared with other lanes.
    control: u32,
    /// True if no stage can wait and no other operation begin meanwhile: one event ends the
    /// operation.
    lone: bool,
}

/// Lanes and buses.
#[derive(Debug, Clone)]
pub struct Lanes {
    plans: Vec<Plan>,
    each: Vec<Lane>,
    /// Lanes have the registers for cache commands.
    cache: bool,
    bus_free_at: Vec<Time>,
    control_free_at: Vec<Time>,
    bus_busy_ns: Vec<Time>,
    /// With two-plane commands for pairs: lanes of a unit, where those of a pair differ in the last
    /// bit of their number; 0 where they do not.
    paired: u32,
}

impl Lanes {
    /// Lanes that all are idle; `lane_bus[l]` is the bus of lane `l`.
    pub fn new(plans: Vec<Plan>, lane_bus: &[u32], cache: bool) -> Self {
        let buses = lane_bus.iter().max().map_or(0, |last| *last as usize + 1);
        let mut users = memory::zeroed::<u32>(buses);
        for bus in lane_bus {
            users[*bus as usize] += 1;
        }
        let lane = |&bus: &u32| {
            let lone = users[bus as usize] == 1 && !cache;
            Lane { running: None, tail: None, bus, control: 0, lone }
        };
        Lanes {
            plans,
            each: lane_bus.iter().map(lane).collect(),
            cache,
            bus_free_at: memory::zeroed(buses),
            control_free_at: Vec::new(),
            bus_busy_ns: memory::zeroed(buses),
            paired: 0,
        }
    }

    /// `new` with two-plane commands for pairs; `span` lanes a unit.
    pub fn paired(mut self, span: u32) -> Self {
        self.paired = span;
        self
    }

    /// `new` with shared control pins; `controls[l]` is the pin set of lane `l`.
    pub fn commanded(mut self, controls: &[u32]) -> Self {
        let count = controls.iter().max().map_or(0, |last| *last as usize + 1);
        self.control_free_at = memory::zeroed(count);
        for (lane, control) in self.each.iter_mut().zip(controls) {
            (lane.control, lane.lone) = (*control, false);
        }
        self
    }

    /// Effort of operations that have begun since counts were reset.
    pub fn effort(&self) -> Effort {
        self.plans.iter().map(|plan| plan.effort().times(plan.begun)).sum()
    }

    /// Effort of reading a number of pages. Each type of page has its share.
    pub fn effort_of_reads(&self, pages: u64) -> Effort {
        let is_read = |plan: &&Plan| plan.effort().programs == 0 && plan.effort().erases == 0;
        let mut reads = self.plans.iter().filter(is_read);
        let begun: Vec<&Plan> =
            self.plans.iter().filter(is_read).filter(|it| it.begun > 0).collect();
        let first = reads.next().map_or_else(Effort::default, Plan::effort);
        if begun.iter().all(|plan| plan.effort().sense_ns == first.sense_ns * plan.effort().senses)
        {
            return first.times(pages);
        }
        let all: Effort = begun.iter().map(|plan| plan.effort().times(plan.begun)).sum();
        all.share(pages, all.senses)
    }

    /// Counts operations from zero.
    pub fn reset_effort(&mut self) {
        self.plans.iter_mut().for_each(|plan| plan.begun = 0);
    }

    /// True if a lane has no operation.
    #[inline]
    pub fn is_idle(&self, lane: u32) -> bool {
        let lane = &self.each[lane as usize];
        lane.running.is_none() && (!self.cache || lane.tail.is_none())
    }

    /// True if a chained operation may begin on a lane: the lane is idle, or its operation is in
    /// its last stage and of the same kind.
    #[inline]
    pub fn accepts(&self, lane: u32, chains: Option<Cached>) -> bool {
        let lane = &self.each[lane as usize];
        lane.running.is_none()
            && lane.tail.as_ref().is_none_or(|tail| {
                let kind = self.plans[tail.plan.at()].cached();
                kind.is_some() && kind == chains
            })
    }

    /// When the operation of a busy lane began.
    pub fn running_since(&self, lane: u32) -> Option<Time> {
        let lane = &self.each[lane as usize];
        lane.tail.as_ref().or(lane.running.as_ref()).map(|running| running.started)
    }

    /// Starts an operation on a lane that accepts it, and returns the end of its first stage.
    #[inline]
    pub fn start(&mut self, lane: u32, plan: PlanId, now: Time) -> Time {
        let state = &self.each[lane as usize];
        let free = state.running.is_none() && state.tail.is_none();
        assert!(
            free || self.accepts(lane, self.plans[plan.at()].cached()),
            "a lane does one operation at a time"
        );
        let state = &mut self.each[lane as usize];
        let costs = &mut self.plans[plan.at()];
        costs.begun += 1;
        if state.lone {
            self.bus_busy_ns[state.bus as usize] += costs.total_ns() - costs.cell_ns();
            let (stage, ends) = (costs.last_stage(), now + costs.total_ns());
            state.running = Some(Running { started: now, plan, stage, ends, waited_ns: 0 });
            return ends;
        }
        let mut running = Running { started: now, plan, stage: 0, ends: now, waited_ns: 0 };
        self.begin_stage(lane, &mut running, now);
        let ends = running.ends;
        self.each[lane as usize].running = Some(running);
        ends
    }

    /// Reserves the resource of a stage and notes its end.
    fn begin_stage(&mut self, lane: u32, running: &mut Running, now: Time) {
        let state = &self.each[lane as usize];
        let plan = &self.plans[running.plan.at()];
        running.ends = match plan.stages()[running.stage as usize] {
            stage @ (Stage::Cell(ns) | Stage::Write(ns)) => {
                // After a transfer the array is free; behind another program it is not.
                let programs = |tail: &Running| {
                    let stages = self.plans[tail.plan.at()].stages();
                    matches!(stages.last(), Some(Stage::Cell(_) | Stage::Write(_)))
                };
                let array = state.tail.as_ref().filter(|tail| programs(tail));
                let mut start = array.map_or(now, |tail| tail.ends.max(now));
                if self.paired > 0 && matches!(stage, Stage::Write(_)) {
                    start = start.max(self.loaded_beside(lane, running));
                }
                running.waited_ns += start - now;
                start + Time::from(ns)
            }
            Stage::Bus(ns) => {
                let bus = state.bus as usize;
                let end = now.max(self.bus_free_at[bus]) + Time::from(ns);
                self.bus_free_at[bus] = end;
                self.bus_busy_ns[bus] += Time::from(ns);
                end
            }
            Stage::Instruction(ns) => {
                let free_at = &mut self.control_free_at[state.control as usize];
                *free_at = now.max(*free_at) + Time::from(ns);
                *free_at
            }
        };
    }

    /// When the page is loaded that the other plane of its pair programs by the same command; 0 where there is none.
    fn loaded_beside(&self, lane: u32, running: &Running) -> Time {
        let (unit, part) = (lane / self.paired, lane % self.paired);
        let other = self.each[((unit ^ 1) * self.paired + part) as usize].running.as_ref();
        let is_loading = |it: &&Running| it.plan == running.plan && it.stage + 1 == running.stage;
        other.filter(is_loading).map_or(0, |it| it.ends)
    }

    /// The lane's pending event has come: the next stage begins, or the operation has ended.
    #[expect(clippy::inline_always, reason = "every operation passes here, from two places")]
    #[inline(always)]
    pub fn stage_ended(&mut self, lane: u32, now: Time) -> StageEnd {
        let state = &mut self.each[lane as usize];
        if self.cache && state.tail.as_ref().is_some_and(|tail| tail.ends == now) {
            let ended = state.tail.take().expect("it was there");
            // An operation that waited behind it in its last stage may have a successor.
            if state
                .running
                .as_ref()
                .is_some_and(|next| self.plans[next.plan.at()].ends_with(next.stage))
            {
                state.tail = state.running.take();
            }
            return StageEnd::Finished(self.finished(&ended, now));
        }
        let running = state.running.as_mut().expect("only a busy lane has an event");
        let plan = &self.plans[running.plan.at()];
        if plan.ends_with(running.stage) {
            let ended = state.running.take().expect("it was there");
            return StageEnd::Finished(self.finished(&ended, now));
        }
        running.stage += 1;
        let last = plan.ends_with(running.stage) && plan.cached().is_some();
        let mut running = running.clone();
        self.begin_stage(lane, &mut running, now);
        let ends = running.ends;
        let state = &mut self.each[lane as usize];
        if self.cache && last && state.tail.is_none() {
            state.tail = Some(running);
            state.running = None;
            return StageEnd::Accepts(ends);
        }
        state.running = Some(running);
        StageEnd::GoesOn(ends)
    }

    /// Progress of a lane's operation: the number of its stage, and how many stages of the cell
    /// array have begun. With cache commands the `second` may be requested too.
    pub fn reached(&self, lane: u32, second: bool, now: Time) -> Option<(usize, u32)> {
        let state = &self.each[lane as usize];
        let first = state.tail.as_ref().or(state.running.as_ref());
        let behind = state.tail.as_ref().and(state.running.as_ref());
        let running = if second { behind } else { first }?;
        let stages = self.plans[running.plan.at()].stages();
        let (mut stage, mut begun) = (usize::from(running.stage), true);
        if state.lone {
            // A stopped and resumed operation counts as begun later.
            let mut ends = running.started + running.waited_ns;
            let is_under_way = |stage: &Stage| {
                ends += stage.ns();
                ends > now
            };
            stage = stages.iter().position(is_under_way).unwrap_or(stages.len() - 1);
        } else {
            begun = running.ends.saturating_sub(stages[stage].ns()) <= now;
        }
        let is_cell = |stage: &&Stage| matches!(stage, Stage::Cell(_) | Stage::Write(_));
        let cells = stages[..stage + usize::from(begun)].iter().filter(is_cell).count();
        Some((stage, cells as u32))
    }

    /// The program or erasure of a lane without cache commands that a read could stop now: since when it runs, and
    /// until when.
    pub(super) fn interruptible(&self, lane: u32, now: Time) -> Option<(Time, Time)> {
        let state = &self.each[lane as usize];
        let running = state.running.as_ref()?;
        let stages = self.plans[running.plan.at()].stages();
        if !state.lone {
            let stage = stages[usize::from(running.stage)];
            let is_write = matches!(stage, Stage::Write(_));
            return is_write.then(|| (running.ends - stage.ns(), running.ends));
        }
        let mut ends = running.started + running.waited_ns;
        let stage = stages.iter().find(|stage| {
            ends += stage.ns();
            ends > now
        })?;
        matches!(stage, Stage::Write(_)).then(|| (ends - stage.ns(), ends))
    }

    /// Stops the operation of a lane, which is free until that [resumes](Lanes::proceed).
    pub(super) fn stop(&mut self, lane: u32) -> Running {
        self.each[lane as usize].running.take().expect("something is under way")
    }

    /// Resumes a stopped operation; its stage ends later by the delay. Returns the time of its event.
    pub(super) fn proceed(&mut self, lane: u32, mut running: Running, later: Time) -> Time {
        running.ends += later;
        running.waited_ns += later;
        let ends = running.ends;
        self.each[lane as usize].running = Some(running);
        ends
    }

    /// The stage that a lane has begun ends later. Returns the time of its event.
    #[cold]
    pub(super) fn prolong(&mut self, lane: u32, later: Time) -> Time {
        let running = self.stop(lane);
        self.proceed(lane, running, later)
    }

    /// Drops all operations without their ends; buses are free.
    pub fn lose_power(&mut self, now: Time) {
        let busy: Vec<Time> = self.bus_busy_ns(now).collect();
        self.bus_busy_ns = busy;
        self.bus_free_at.fill(now);
        self.control_free_at.fill(now);
        for lane in &mut self.each {
            (lane.running, lane.tail) = (None, None);
        }
    }

    /// The stages of the operation of a busy lane: how many.
    pub fn stages_of(&self, lane: u32, second: bool) -> usize {
        let state = &self.each[lane as usize];
        let first = state.tail.as_ref().or(state.running.as_ref());
        let running = if second { state.running.as_ref() } else { first };
        running.map_or(0, |running| self.plans[running.plan.at()].stages().len())
    }

    fn finished(&self, ended: &Running, now: Time) -> Finished {
        let cell_ns = self.plans[ended.plan.at()].cell_ns();
        let bus_ns = now - ended.started - cell_ns - ended.waited_ns;
        Finished { started: ended.started, cell_ns, bus_ns }
    }

    /// Busy time of each bus up to `now`, ns, with the elapsed part of current transfers.
    pub fn bus_busy_ns(&self, now: Time) -> impl Iterator<Item = Time> + '_ {
        // Reservations beyond now have no gaps.
        let reserved = self.bus_free_at.iter().map(move |free_at| free_at.saturating_sub(now));
        let mut ahead: Vec<Time> = reserved.collect();
        for lane in self.each.iter().filter(|lane| lane.lone) {
            if let Some(running) = &lane.running {
                ahead[lane.bus as usize] += self.bus_ns_after(running, now);
            }
        }
        self.bus_busy_ns.iter().zip(ahead).map(|(busy, ahead)| busy.saturating_sub(ahead))
    }

    /// Bus time of an operation of a lone lane that lies after `now`, ns.
    fn bus_ns_after(&self, running: &Running, now: Time) -> Time {
        let mut ends = running.started + running.waited_ns;
        let after = |stage: &Stage| {
            let starts = ends;
            ends += stage.ns();
            match stage {
                Stage::Bus(_) => ends.saturating_sub(starts.max(now)),
                Stage::Cell(_) | Stage::Write(_) | Stage::Instruction(_) => 0,
            }
        };
        self.plans[running.plan.at()].stages().iter().map(after).sum()
    }
}
