//! A hard disk over time: the request in service, and the write on its way to the media.

use super::buffer::Buffer;
use super::config::{DiskConfig, OverheadOptions, WriteCache};
use super::dirty::{Dirties, Dirty};
use super::mechanics::Mechanics;
use super::queue::{Queue, Waiting};
use super::report::Counts;
use super::spots::{From, Order};
use engine::{Breakdown, Completion, Device, Followed, Op, Request, Status, Time};
use options::Invalid;
use ssd::device::energy::EnergyReport;
use ssd::device::latency::{BUS, CELL, FIRMWARE, UNIT_WAIT};
use ssd::device::{Condition, Instruction, Model, Report};

/// The request in service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Command {
    pub(super) request: Request,
    pub(super) submitted: Time,
    /// Time at which it left the queue.
    pub(super) begun: Time,
    /// Completion time; `None` while it waits for writes to reach the media.
    pub(super) end: Option<Time>,
    /// Service time by part, without waiting.
    pub(super) spent: Spent,
    /// A segment to write to the media once its data have arrived.
    pub(super) fills: Option<usize>,
}

/// Service time of the current request by part.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    pub firmware: Time,
    pub media: Time,
    pub bus: Time,
}

/// A hard disk, with one field per component.
#[derive(Debug, Clone)]
pub struct Disk {
    pub(super) mechanics: Mechanics,
    pub(super) buffer: Buffer,
    pub(super) overhead: OverheadOptions,
    pub(super) config: DiskConfig,
    /// Bus time per sector.
    pub(super) bus: Time,
    pub(super) order: Order,
    pub(super) queue: Queue,
    pub(super) command: Option<Command>,
    pub(super) dirty: Dirties,
    /// The data being written to the media, and the time when this ends.
    pub(super) destage: Option<(Dirty, Time)>,
    /// Time from which the heads are free.
    pub(super) heads_free: Time,
    /// True if the last media access was a write.
    pub(super) after_write: bool,
    pub(super) counts: Counts,
    /// Start of the counters.
    since: Time,
}

/// True if a write completes before it is on the media.
fn is_cached(buffer: &Buffer, config: &DiskConfig, request: &Request) -> bool {
    config.write_cache != WriteCache::Off
        && !request.fua
        && u64::from(request.sectors) <= buffer.size()
}

/// True if the buffer serves a request without a seek.
fn needs_no_heads(buffer: &Buffer, config: &DiskConfig, request: &Request) -> bool {
    let (sector, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
    match request.op {
        Op::Read => buffer.is_free(sector, end),
        Op::Write => is_cached(buffer, config, request),
        _ => true,
    }
}

impl Disk {
    /// An idle disk with an empty buffer, and the heads at the first cylinder.
    ///
    /// # Errors
    /// For contradictory keys, which the error names.
    pub fn new(config: &DiskConfig, seed: u64) -> Result<Disk, Invalid> {
        let max_wait = config.max_wait.map(options::Duration::ns);
        Ok(Disk {
            mechanics: config.mechanics(seed)?,
            buffer: config.empty_buffer()?,
            overhead: config.overhead.clone(),
            bus: config.bus_per_sector.ns(),
            order: Order::new(config.scheduler),
            config: config.clone(),
            queue: Queue::new(config.scheduler, config.queue_depth.requests() as usize, max_wait),
            command: None,
            dirty: Dirties::new(config.buffer.segments as usize),
            destage: None,
            heads_free: 0,
            after_write: false,
            counts: Counts::default(),
            since: 0,
        })
    }

    pub(super) fn is_cached(&self, request: &Request) -> bool {
        is_cached(&self.buffer, &self.config, request)
    }

    /// Starts every operation that can start at `now`.
    fn pump(&mut self, now: Time) {
        if self.command.is_none() && !self.queue.is_empty() {
            let waiting = self.next_waiting(now);
            self.begin(now, waiting);
        }
        self.pump_destage(now);
    }

    /// Writes buffered data to the media while the heads are free.
    fn pump_destage(&mut self, now: Time) {
        if self.destage.is_none() && !self.dirty.is_empty() {
            let waits = self.command.as_ref().is_some_and(|command| command.end.is_none());
            if waits || self.heads_free <= now && !self.needs_heads() {
                self.begin_destage(now);
            }
        }
    }

    /// True if a request waits for the heads.
    fn needs_heads(&mut self) -> bool {
        self.ask_again();
        self.queue.needs_heads()
    }

    /// Rechecks which waiting requests need the heads.
    fn ask_again(&mut self) {
        if !self.queue.has_reads() {
            self.buffer.forget_changes();
            return;
        }
        while let Some(range) = self.buffer.next_change() {
            self.queue.ask_again(range, |it| needs_no_heads(&self.buffer, &self.config, it));
        }
    }

    /// Takes the next request from a nonempty queue.
    fn next_waiting(&mut self, now: Time) -> Waiting {
        let overdue = self.queue.overdue(now);
        if overdue.is_none() {
            self.buffer.advance(now, &mut self.mechanics);
        }
        self.ask_again();
        let from = |op| (now + self.command_overhead(op, false)).max(self.heads_free);
        let from = From { now, read: from(Op::Read), write: from(Op::Write) };
        let Disk { queue, order, mechanics, buffer, config, .. } = self;
        queue.take(overdue, order, from, mechanics, |request| {
            needs_no_heads(buffer, config, request)
        })
    }

    fn begin(&mut self, now: Time, Waiting { submitted, request }: Waiting) {
        let spent = Spent::default();
        let mut command = Command { request, submitted, begun: now, end: None, spent, fills: None };
        self.buffer.advance(now, &mut self.mechanics);
        match request.op {
            Op::Read => self.read(&mut command),
            Op::Write => self.write(&mut command, now),
            Op::Flush => {
                let end = self.without_data(&mut command);
                command.end = self.has_all().then_some(end);
            }
            _ => command.end = Some(self.without_data(&mut command)),
        }
        if matches!(request.op, Op::Read | Op::Write) {
            self.order.served(request.lba.0);
        }
        self.command = Some(command);
    }

    /// True if all data are on the media.
    fn has_all(&self) -> bool {
        self.dirty.is_empty() && self.destage.is_none()
    }

    /// Completes a write to the media.
    fn end_destage(&mut self, dirty: Dirty, now: Time) {
        self.mechanics.standby.busy_until(now);
        self.destage = None;
        self.buffer.set_dirty(dirty.segment, false);
        let Some(mut command) = self.command.filter(|command| command.end.is_none()) else {
            return;
        };
        if command.request.op == Op::Write {
            self.write(&mut command, now);
        } else if self.has_all() {
            command.end = Some(now.max(self.without_data(&mut command)));
        }
        self.command = Some(command);
    }

    /// Serves a buffered write of a disk that holds one run of writes, if it continues the run on its way
    /// to the media or the run is there.
    pub(super) fn write_in_run(&mut self, command: &mut Command, now: Time) -> bool {
        let Command { request, begun, spent, .. } = *command;
        let after = self.overhead.write_completion.ns();
        let (sector, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        let (first, segment) = match self.destage {
            Some((run, _)) if run.end == sector && end - run.sector <= self.buffer.size() => {
                (run.sector, Some(run.segment))
            }
            Some(_) => return false,
            None => (sector, self.buffer.take(sector)),
        };
        let segment = segment.expect("only the run is dirty");
        self.buffer.stop_ahead();
        self.supersede(sector, end);
        self.buffer.fill(segment, end);
        let from = (begun + spent.firmware - after).max(now);
        let arrived = from + spent.bus;
        let media = self.write_to(sector, end, from, arrived).max(arrived);
        self.destage = Some((Dirty { segment, sector: first, end }, media));
        command.end = Some(arrived + after);
        true
    }

    fn end_command(&mut self, command: &Command, now: Time) -> Completion {
        let Command { request, submitted, fills, spent, .. } = *command;
        if let Some(segment) = fills {
            self.filled(segment, &request);
        }
        if matches!(request.op, Op::Read | Op::Write) {
            self.after_write = request.op == Op::Write;
        }
        self.mechanics.standby.busy_until(now.max(self.heads_free));
        let mut breakdown = Breakdown::default();
        let Spent { firmware, media, bus } = spent;
        (breakdown[FIRMWARE], breakdown[CELL], breakdown[BUS]) = (firmware, media, bus);
        // The rest is time waiting for other requests or their writes.
        breakdown[UNIT_WAIT] = now - submitted - (firmware + media + bus);
        Completion { request, submitted, at: now, breakdown, status: Status::Ok }
    }
}

impl Device for Disk {
    fn submit(&mut self, now: Time, request: Request) {
        let waiting = Waiting { submitted: now, request };
        if self.command.is_none() {
            // The queue is empty, so changes need no recheck.
            self.buffer.advance(now, &mut self.mechanics);
            self.buffer.forget_changes();
            self.begin(now, waiting);
            self.pump_destage(now);
            return;
        }
        let Disk { queue, mechanics, buffer, config, .. } = self;
        queue.push(waiting, mechanics, |request| needs_no_heads(buffer, config, request));
    }

    fn next_event(&self) -> Option<Time> {
        let command = self.command.as_ref().and_then(|command| command.end);
        match (command, self.destage.as_ref().map(|(_, end)| *end)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(now) = self.next_event().filter(|at| *at <= to) {
            if let Some((dirty, end)) = self.destage
                && end == now
            {
                self.end_destage(dirty, now);
            }
            if let Some(command) = self.command.take_if(|command| command.end == Some(now)) {
                completions.push(self.end_command(&command, now));
            }
            self.pump(now);
        }
    }

    /// Power cut as an inner device: uncompleted requests and buffered data are lost.
    fn cut(&mut self, now: Time, _completions: &mut Vec<Completion>) {
        let config = &self.config;
        let max_wait = config.max_wait.map(options::Duration::ns);
        let depth = config.queue_depth.requests() as usize;
        self.queue = Queue::new(config.scheduler, depth, max_wait);
        self.order = Order::new(config.scheduler);
        self.buffer = config.empty_buffer().expect("it was checked when the disk was built");
        self.dirty = Dirties::new(config.buffer.segments as usize);
        (self.command, self.destage, self.after_write) = (None, None, false);
        self.heads_free = now;
    }

    /// Restores the power; spin-up takes the configured time.
    fn power_on(&mut self, now: Time) {
        self.heads_free = now;
    }

    fn followed(&self) -> Option<Followed> {
        self.followed_energy()
    }

    fn capacity_sectors(&self) -> u64 {
        self.mechanics.geometry.sectors()
    }
}

impl Model for Disk {
    fn instruct(&mut self, now: Time, instruction: Instruction) -> Result<(), String> {
        match instruction {
            Instruction::ResetCounts => {}
            Instruction::BeginAccount => self.since = now,
            other => return other.without_effect(),
        }
        self.counts = Counts::default();
        self.mechanics.standby.reset(self.since);
        self.buffer.sectors_ahead = 0;
        Ok(())
    }

    fn condition(&self) -> Condition {
        let loses = "its disk turns, and a file keeps neither the angle nor the place of the heads: clone it";
        Condition { loses: Some(loses), ..Condition::default() }
    }

    fn copied(&self) -> Option<Box<dyn Model>> {
        Some(Box::new(self.clone()))
    }

    fn audit(&self) -> Result<(), String> {
        if self.next_event().is_none() && (self.command.is_some() || !self.queue.is_empty()) {
            return Err("requests wait and the disk has no event".to_owned());
        }
        let dirty = self.buffer.dirty();
        let known = self.dirty.len() + usize::from(self.destage.is_some());
        let filling = self.command.is_some_and(|command| command.fills.is_some());
        if dirty != known && dirty != known + usize::from(filling) {
            return Err(format!("{dirty} segments are dirty, and {known} are to be written"));
        }
        Ok(())
    }

    fn energy_report(&self, end: Time) -> Option<EnergyReport> {
        self.energy(end.saturating_sub(self.since), self.mechanics.standby.times(end))
    }

    fn report(&self, end: Time) -> Report {
        let time_ns = end.saturating_sub(self.since);
        let section = self.counts.section(time_ns, self.buffer.sectors_ahead);
        let standby = self.mechanics.standby.section(end, time_ns);
        ssd::section! { "disk": section.with_some("standby", standby) }
    }
}
