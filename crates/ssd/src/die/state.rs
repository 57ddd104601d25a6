//! State of a die: its queue, its operations, its time account, and suspension for reads.

use super::batch::Batch;
use crate::config::Suspend;
use crate::device::kit::config::Depth;
use crate::device::kit::slots::Slot;
use engine::{EventId, Time};
use std::collections::VecDeque;

/// A program or an erasure of a die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// A pass of a group; the last one makes it a group that is programmed.
    /// `slc`: with one bit a cell.
    Program { group: u32, last: bool, slc: bool },
    /// A group of parity, or of the summary of a block, in all its passes; `slc`: with one bit a cell.
    Parity { passes: u32, slc: bool },
    /// A page of the drive's own: of a record, or of a checkpoint.
    Own,
    /// A program of map pages, as many as one operation takes.
    Map,
    /// A block of a victim that is erased, given by the number of the erasure.
    Erase(u32),
}

impl Job {
    /// True if it programs cells of one bit.
    pub fn is_slc(self) -> bool {
        matches!(self, Job::Program { slc: true, .. } | Job::Parity { slc: true, .. })
    }
}

/// A waiting read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReadFor {
    /// A request with its number of pages: a read, or a write that covers them in part.
    Request { slot: Slot, pages: u32, reads: bool },
    /// A request that reads this many pages, one of which took this long in retries and from parity.
    Aged { slot: Slot, pages: u32, retry_ns: u32, rebuild_ns: u32 },
    /// Cleaning.
    Batch(Batch),
    /// A patrol.
    Patrol,
    /// A page of the map.
    Map(u32),
}

impl ReadFor {
    /// True if the drive reads for itself.
    #[inline]
    pub fn is_drive(self) -> bool {
        matches!(self, ReadFor::Batch(_) | ReadFor::Patrol)
    }
}

/// A combined read of a die.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    pub(super) owner: ReadFor,
    pub(super) die: u32,
    /// The planes that take part.
    pub(super) planes: u32,
    /// Type of the next pages to sense, their sense time, ns, and the bytes to transfer.
    pub kind: u32,
    pub(super) sense_ns: Time,
    pub(super) bus_ns: Time,
    /// When it began to wait, and how long the die had been cleaning and stopping then.
    pub(super) queued: Time,
    pub(super) marks: [Time; 2],
    pub(super) started: Time,
    pub(super) sensed: Time,
}

/// A job that waits, or is under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub(super) job: Job,
    /// True for cleaning.
    pub(super) cleans: bool,
    /// Sequence number in the drive.
    pub(super) number: u64,
    /// Time in the cells, ns.
    pub(super) cell_ns: Time,
    /// Start on the die, and its bus time.
    pub(super) started: Time,
    pub(super) loaded_ns: Time,
}

/// The cells of a die, as far as programs and erases go.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Cell {
    #[default]
    Free,
    Running {
        task: Task,
        since: Time,
        left: Time,
        end: EventId,
    },
    /// To be suspended at a future instant, with `left` remaining.
    Stopping {
        task: Task,
        left: Time,
    },
    Stopped {
        task: Task,
        left: Time,
    },
}

/// A task being loaded into the registers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) task: Task,
    /// Pages that have not crossed the bus.
    pub(super) pages: u32,
}

/// A die.
#[derive(Debug, Clone, Default)]
pub(super) struct Die {
    /// Reads that wait, in order; reads of cleaning are separate where the host's precede them.
    pub(super) reads: VecDeque<u32>,
    pub(super) later_reads: VecDeque<u32>,
    /// Programs and erases for the host and for cleaning.
    pub(super) tasks: [VecDeque<Task>; 2],
    pub(super) load: Option<Load>,
    pub(super) cell: Cell,
    /// Planes whose arrays are in use by reads, and those whose sensed data still leave.
    pub(super) busy: u32,
    pub(super) leaving: u32,
    /// Reads that have been sensed and wait for the register of the one before.
    pub(super) sensed: VecDeque<u32>,
    /// Number of stops of the present operation, and of reads that went before a waiting one.
    pub(super) stops: u32,
    pub(super) passed: u32,
    pub(super) account: Account,
}

/// Time account of a die.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Account {
    busy: Meter,
    cleaning: Meter,
    stopping: Meter,
    /// Total waiting time of pages, ns.
    pub(super) waited_ns: Time,
    /// Pages read or programmed for the host.
    pub(super) served: u64,
}

/// Busy time, possibly of parallel operations.
#[derive(Debug, Clone, Copy, Default)]
struct Meter {
    going: u32,
    since: Time,
    total: Time,
}

impl Meter {
    fn begin(&mut self, now: Time) {
        if self.going == 0 {
            self.since = now;
        }
        self.going += 1;
    }

    fn end(&mut self, now: Time) {
        self.going -= 1;
        if self.going == 0 {
            self.total += now - self.since;
        }
    }

    fn lose_power(&mut self, now: Time) {
        *self = Meter { total: self.at(now), ..Meter::default() };
    }

    fn at(&self, now: Time) -> Time {
        self.total + if self.going > 0 { now.saturating_sub(self.since) } else { 0 }
    }
}

impl Account {
    /// An operation begins, which cleaning wants or not.
    pub fn begin(&mut self, cleans: bool, now: Time) {
        self.busy.begin(now);
        if cleans {
            self.cleaning.begin(now);
        }
    }

    /// Ends the operation.
    pub fn end(&mut self, cleans: bool, now: Time) {
        self.busy.end(now);
        if cleans {
            self.cleaning.end(now);
        }
    }

    /// A program or an erase is to stop.
    pub fn begin_stopping(&mut self, now: Time) {
        self.stopping.begin(now);
    }

    pub fn end_stopping(&mut self, now: Time) {
        self.stopping.end(now);
    }

    pub fn busy_ns(&self, now: Time) -> Time {
        self.busy.at(now)
    }

    pub fn cleaning_ns(&self, now: Time) -> Time {
        self.cleaning.at(now)
    }

    pub fn stopping_ns(&self, now: Time) -> Time {
        self.stopping.at(now)
    }
}

impl Read {
    /// Continues with pages of another type, some of which are transferred.
    pub fn continues(&mut self, kind: u32, sense_ns: Time, bus_ns: Time) {
        (self.kind, self.sense_ns, self.bus_ns) = (kind, sense_ns, bus_ns);
    }
}

impl Die {
    /// Starts to sense pages of these planes, for cleaning or not.
    #[inline]
    pub fn begin_read(&mut self, planes: u32, cleans: bool, now: Time) {
        self.busy |= planes;
        self.account.begin(cleans, now);
    }

    /// Drops its operation; its time accounting continues.
    pub(super) fn lose_power(&mut self, now: Time) {
        let mut account = self.account;
        for meter in [&mut account.busy, &mut account.cleaning, &mut account.stopping] {
            meter.lose_power(now);
        }
        *self = Die { account, ..Die::default() };
    }

    /// True without waits, except for the bus.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        !self.has_reads() && self.has_only_reads()
    }

    /// True if no operation can start or be suspended for a read.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        let has_tasks = !self.tasks[0].is_empty() || !self.tasks[1].is_empty();
        let rests = match self.cell {
            Cell::Running { .. } | Cell::Stopping { .. } => true,
            Cell::Free => self.load.is_none_or(|load| load.pages > 0),
            Cell::Stopped { .. } => false,
        };
        rests && !self.has_reads() && (self.load.is_some() || !has_tasks)
    }

    /// True with reads only, waiting or in progress.
    #[inline]
    pub(super) fn has_only_reads(&self) -> bool {
        matches!(self.cell, Cell::Free)
            && self.load.is_none()
            && self.tasks[0].is_empty()
            && self.tasks[1].is_empty()
    }

    /// True if a read waits.
    pub(super) fn has_reads(&self) -> bool {
        !self.reads.is_empty() || !self.later_reads.is_empty()
    }

    /// True if a program or erase is delayed by reads only.
    pub(super) fn has_ready_task(&self) -> bool {
        match self.cell {
            Cell::Stopped { .. } => true,
            Cell::Free => self.load.is_some_and(|load| load.pages == 0),
            Cell::Running { .. } | Cell::Stopping { .. } => false,
        }
    }

    /// True if a program or an erase waits for reads.
    pub(super) fn has_waiting_task(&self) -> bool {
        let waits = self.load.is_some() || self.tasks.iter().any(|tasks| !tasks.is_empty());
        matches!(self.cell, Cell::Stopped { .. }) || matches!(self.cell, Cell::Free) && waits
    }

    /// The task to load next: the earlier one of cleaning's and, unless held, the host's.
    pub(super) fn next_task(&mut self, holds_host: bool) -> Option<Task> {
        let first = |queue: &VecDeque<Task>| queue.front().map_or(u64::MAX, |task| task.number);
        let (host, cleaning) = (first(&self.tasks[0]), first(&self.tasks[1]));
        let host = if holds_host { u64::MAX } else { host };
        if host == cleaning {
            return None;
        }
        self.tasks[usize::from(cleaning < host)].pop_front()
    }

    /// True without programs and erases, except for held programs of the host.
    pub(super) fn is_standing(&self, holds_host: bool) -> bool {
        self.tasks[1].is_empty()
            && (holds_host || self.tasks[0].is_empty())
            && self.load.is_none()
            && matches!(self.cell, Cell::Free)
    }

    /// Jobs that wait or are under way.
    pub(super) fn depth(&self) -> usize {
        let running = usize::from(!matches!(self.cell, Cell::Free));
        self.tasks[0].len() + self.tasks[1].len() + usize::from(self.load.is_some()) + running
    }
}

/// When reads stop programs and erases.
#[derive(Debug, Clone)]
pub(super) struct Stops {
    config: Suspend,
}

impl Stops {
    pub(super) fn new(config: &Suspend) -> Stops {
        Stops { config: config.clone() }
    }

    /// True if a waiting task goes next, after `passed` reads have passed it.
    pub(super) fn is_turn_of_task(&self, passed: u32) -> bool {
        passed >= self.config.limit.max(1)
    }

    /// Time at which a read can have suspended a running task, and the remainder of the task; None
    /// if it ends before or may not stop.
    pub(super) fn stop(
        &self,
        erases: bool,
        (since, left): (Time, Time),
        stops: u32,
        backlog: usize,
        now: Time,
    ) -> Option<(Time, Time)> {
        let suspend = &self.config;
        let (latency, step) = if erases {
            (suspend.erase.ns()?, suspend.erase_step.ns())
        } else {
            (suspend.program.ns()?, suspend.step.ns())
        };
        let backlogged = suspend.unless_backlog != Depth::UNLIMITED
            && backlog >= suspend.unless_backlog.requests() as usize;
        if stops >= suspend.limit || backlogged {
            return None;
        }
        // Safe points are counted from the last resumption.
        let done = now - since;
        let point = if step == 0 { done } else { done.div_ceil(step) * step };
        (point + latency < left).then(|| (since + point + latency, left - point))
    }

    /// The cost of resuming.
    pub(super) fn resume_ns(&self, for_host: bool) -> Time {
        let cost = if for_host { self.config.cost.ns() } else { 0 };
        self.config.resume.ns() + cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(change: impl Fn(&mut Suspend)) -> Stops {
        let mut suspend = crate::config::SsdConfig::default().suspend;
        suspend.program = "10us".parse().expect("a time");
        suspend.erase = "30us".parse().expect("a time");
        suspend.limit = 3;
        change(&mut suspend);
        Stops::new(&suspend)
    }

    #[test]
    fn reads_stop_work_while_fewer_writes_wait_than_the_limit() {
        for limit in [1_u32, 2, 8, 64] {
            let stops = stops(|it| it.unless_backlog = Depth::of(limit));
            for backlog in 0..100 {
                let stopped = stops.stop(false, (0, 200_000), 0, backlog, 0).is_some();
                assert_eq!(stopped, backlog < limit as usize, "{backlog} wait, of {limit}");
            }
        }
        let unlimited = stops(|it| it.unless_backlog = Depth::UNLIMITED);
        assert!(unlimited.stop(false, (0, 200_000), 0, usize::MAX, 0).is_some());
    }

    #[test]
    fn work_is_stopped_as_often_as_the_limit_says() {
        for limit in 1..5 {
            let stops = stops(|it| it.limit = limit);
            for stopped in 0..8 {
                let again = stops.stop(true, (0, 200_000), stopped, 0, 0).is_some();
                assert_eq!(again, stopped < limit, "{stopped} times, of {limit}");
                assert_eq!(stops.is_turn_of_task(stopped), stopped >= limit, "{stopped}, {limit}");
            }
        }
    }

    /// The stop comes at the next safe point, plus the suspension time; progress up to the safe
    /// point is kept. Work that would have ended by then, ends.
    #[test]
    fn work_stops_at_the_next_safe_point_and_what_is_left_is_the_rest() {
        for step in [0, 1, 7, 40, 1_000] {
            let stops = stops(|it| it.step = options::Duration::from_ns(step));
            for (since, left) in [(0, 200_000), (777, 50_000), (5, 10_001), (5, 10_000)] {
                for now in
                    (since..since + left).step_by(9_973).chain([since + 40, since + left - 1])
                {
                    let points = (0..=left).step_by(step.max(1) as usize);
                    let point = points.map(|it| since + it).find(|it| *it >= now);
                    let point = point.unwrap_or(Time::MAX / 2);
                    let expected = (point + 10_000 < since + left)
                        .then(|| (point + 10_000, left - (point - since)));
                    let found = stops.stop(false, (since, left), 0, 0, now);
                    assert_eq!(found, expected, "{step}: from {since}, {left} left, at {now}");
                }
            }
        }
    }
}
