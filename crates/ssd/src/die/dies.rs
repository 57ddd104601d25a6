//! The machine: reads of single planes, and programs and erases of all planes, which reads may suspend.
//!
//! No operation is reserved in advance: a free die chooses among the waiting ones. Reads go first,
//! but no more than a limit of them before a program that waits. With cache registers a group is
//! loaded while the die programs or reads, and sensed pages are transferred during the next sense.

use super::buses::{Buses, Cargo};
use super::costs::Costs;
use super::rows::{Place, Row};
use super::state::{Cell, Die, Job, Load, Read, ReadFor, Stops, Task};
use crate::account::UnitAccount;
use crate::clock::{Clock, DieEvent, Event, Line, MOST_LANES};
use crate::config::{Planes, ReadOrder, SsdConfig};
use crate::device::kit::slots::{Slot, Slots};
use crate::flash::Effort;
use crate::page::Spent;
use crate::shape::Groups;
use crate::timeline::{Finished, Word};
use engine::Time;

/// View of dies on the rest of the drive.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sight {
    /// Programs for the host are held.
    pub holds_host: bool,
    /// Writes that wait for the write buffer.
    pub backlog: usize,
}

/// End of an operation at a die.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ended {
    /// A row of a batch has crossed the bus, of which more are to be read under the same number.
    Row { read: u32, owner: ReadFor },
    /// A read with its latency parts: waiting for cleaning and for a suspension, on the bus, in the
    /// cells.
    Read { die: u32, owner: ReadFor, spent: Spent, operation: Operation },
    /// A program or an erase.
    Task { die: u32, job: Job, operation: Operation },
}

/// A read of a request, which is no write, has ended: where its time went, as in [`Ended::Read`].
#[derive(Debug, Clone, Copy)]
pub struct HostRead {
    /// The die.
    pub die: u32,
    /// The request.
    pub slot: Slot,
    /// Waiting for cleaning and for a suspension, on the bus, in the cells, ns.
    pub(crate) spent: Spent,
    /// Start time.
    pub started: Time,
}

/// An operation for the record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub word: Word,
    pub finished: Finished,
}

/// All dies and their buses.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is another thing that dies do or do not")]
pub(crate) struct Dies {
    shape: Groups,
    costs: Costs,
    stops: Stops,
    /// Dies have the registers for cache commands.
    cached: bool,
    /// Data that reads have sensed leave by these, while the die senses others.
    streams: bool,
    /// The planes of a die read together.
    shared: bool,
    /// True if reads of the host precede those of cleaning.
    host_first: bool,
    each: Vec<Die>,
    buses: Buses,
    reads: Slots<Read>,
    /// Reads being sensed whose numbers do not fit an event.
    sensing: Slots<u32>,
    /// Number of tasks.
    tasks: u64,
    /// Groups whose loading began since the last query.
    begun: Vec<u32>,
    suspensions: u64,
    /// Efforts since counts were reset: of all operations, and of the reads of the host.
    effort: [Effort; 2],
}

impl Dies {
    pub fn new(config: &SsdConfig, shape: Groups) -> Dies {
        Dies {
            costs: Costs::new(config, &shape),
            stops: Stops::new(&config.suspend),
            cached: config.cache_commands,
            streams: config.cache_commands,
            shared: config.cell.planes == Planes::Shared,
            host_first: config.cleaning.read_order == ReadOrder::HostFirst,
            each: memory::filled(Die::default(), shape.dies as usize),
            buses: Buses::new(shape.channels),
            reads: Slots::new(),
            sensing: Slots::new(),
            tasks: 0,
            begun: Vec::new(),
            suspensions: 0,
            effort: [Effort::default(); 2],
            shape,
        }
    }

    /// `new` where data of a read hold the planes until they have left.
    pub fn without_streams(mut self) -> Dies {
        self.streams = false;
        self
    }

    /// Layout of pages on the dies.
    #[inline]
    pub fn shape(&self) -> Groups {
        self.shape
    }

    /// Times of operations.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    // ---- commands ------------------------------------------------------------------------

    /// A row of pages is to be read.
    pub fn read(&mut self, row: &Row, sight: Sight, clock: &mut Clock) {
        self.begin(row, sight, clock);
    }

    #[expect(
        clippy::inline_always,
        reason = "the read of a page is put together here, and not copied"
    )]
    #[inline(always)]
    fn begin(&mut self, row: &Row, sight: Sight, clock: &mut Clock) {
        let now = clock.now;
        let read = Read {
            owner: row.owner,
            die: row.die,
            planes: row.planes,
            kind: row.kind,
            sense_ns: row.sense_ns,
            bus_ns: row.bus_ns,
            queued: now,
            marks: [0; 2],
            started: now,
            sensed: 0,
        };
        self.count_read(&read);
        let is_drive = read.owner.is_drive();
        let die = &mut self.each[row.die as usize];
        let is_free = if self.shared { die.busy == 0 } else { die.busy & read.planes == 0 };
        if is_free && die.is_at_rest() {
            // A read without waits bypasses the queue.
            die.begin_read(read.planes, is_drive, now);
            let id = self.reads.insert(read);
            return self.sense(id, read.kind, now + read.sense_ns, clock);
        }
        let marks = [die.account.cleaning_ns(now), die.account.stopping_ns(now)];
        let id = self.reads.insert(Read { marks, ..read });
        let queue = if is_drive && self.host_first { &mut die.later_reads } else { &mut die.reads };
        queue.push_back(id);
        self.run_on_any(row.die, sight, clock);
    }

    /// Queues the read of a single page of a request.
    #[inline]
    pub fn read_page(
        &mut self,
        (place, blocks_per_domain): (Place, u32),
        (skipped, bytes): (u32, u32),
        owner: impl Fn(u32) -> ReadFor,
        sight: Sight,
        clock: &mut Clock,
    ) {
        let page = (place, (skipped, bytes));
        let row = Row::of_page(page, owner, (&self.shape, blocks_per_domain), &self.costs);
        self.begin(&row, sight, clock);
    }

    /// The next row of a batch is to be read, of which this many pages cross the bus.
    pub fn read_on(
        &mut self,
        id: u32,
        row: u32,
        (pages, longer_ns): (u32, Time),
        clock: &mut Clock,
    ) {
        let read = &mut self.reads[id];
        let (sense_ns, bus_ns) = self.costs.row(row, pages);
        read.continues(row, sense_ns + longer_ns, bus_ns);
        let read = *read;
        self.count_read(&read);
        self.sense(id, row, clock.now + read.sense_ns, clock);
    }

    /// Queues a job of a die.
    pub fn give(&mut self, die: u32, job: Job, cleans: bool, sight: Sight, clock: &mut Clock) {
        let number = self.tasks;
        self.tasks += 1;
        let cell_ns = match job {
            Job::Program { slc: true, .. } | Job::Parity { slc: true, .. } => {
                self.costs.slc_program
            }
            Job::Program { .. } | Job::Own => self.costs.program,
            Job::Map => self.costs.map_program,
            Job::Parity { passes, .. } => Time::from(passes) * self.costs.program,
            Job::Erase(_) => self.costs.erase,
        };
        let task = Task { job, cleans, number, cell_ns, started: 0, loaded_ns: 0 };
        self.each[die as usize].tasks[usize::from(cleans)].push_back(task);
        self.run(die, sight, clock);
    }

    /// Runs all dies: holds or free dies have changed.
    pub fn run_all(&mut self, sight: Sight, clock: &mut Clock) {
        for die in 0..self.each.len() as u32 {
            self.run(die, sight, clock);
        }
    }

    // ---- queries -------------------------------------------------------------------------

    /// Groups whose loading began since the last call: their content is final.
    #[inline]
    pub fn take_begun(&mut self) -> Option<u32> {
        if self.begun.is_empty() { None } else { Some(self.begun.remove(0)) }
    }

    /// Programs and erases suspended since the last call.
    #[inline]
    pub fn take_suspensions(&mut self) -> u64 {
        std::mem::take(&mut self.suspensions)
    }

    /// True with news for one of these calls.
    #[inline]
    pub fn have_news(&self) -> bool {
        !self.begun.is_empty() || self.suspensions > 0
    }

    /// Jobs of a die that wait or are under way.
    pub fn depth(&self, die: usize) -> usize {
        self.each[die].depth()
    }

    /// True if no die programs or erases anything, but for programs of the host that are held.
    pub fn stand(&self, holds_host: bool) -> bool {
        self.each.iter().all(|die| die.is_standing(holds_host))
    }

    /// True if a page of the drive's own waits for a die.
    pub fn have_own_pages(&self) -> bool {
        let own = |die: &Die| die.tasks[0].iter().any(|task| task.job == Job::Own);
        self.each.iter().any(own)
    }

    /// Accounts of the dies up to `end`.
    pub fn accounts(&self, end: Time) -> Vec<UnitAccount> {
        let account = |(number, die): (usize, &Die)| UnitAccount {
            name: self.shape.die_name(number as u32),
            busy_ns: die.account.busy_ns(end),
            cleaning_ns: die.account.cleaning_ns(end),
            waited_ns: die.account.waited_ns,
            operations: die.account.served,
        };
        self.each.iter().enumerate().map(account).collect()
    }

    /// Time for which each bus was in use up to `end`.
    pub fn bus_busy_ns(&self, end: Time) -> Vec<Time> {
        self.buses.busy_ns(end)
    }

    /// Efforts since counts were reset: of all operations, and of the reads of the host.
    pub fn effort(&self) -> [Effort; 2] {
        self.effort
    }

    pub fn reset_effort(&mut self) {
        self.effort = [Effort::default(); 2];
    }

    /// Pages of the host that a die has programmed.
    pub fn count_served(&mut self, die: u32, pages: u64) {
        self.each[die as usize].account.served += pages;
    }

    /// The group in a die's cells, with the rest of its pass.
    pub fn in_cells(&self, die: u32, now: Time) -> Option<(u32, Time)> {
        let (task, left) = match self.each[die as usize].cell {
            Cell::Free => return None,
            Cell::Running { task, since, left, .. } => (task, left.saturating_sub(now - since)),
            Cell::Stopping { task, left } | Cell::Stopped { task, left } => (task, left),
        };
        match task.job {
            Job::Program { group, .. } => Some((group, left)),
            _ => None,
        }
    }

    /// Drops all operations; the time accounting continues.
    pub fn lose_power(&mut self, now: Time) {
        self.buses.lose_power(now);
        self.each.iter_mut().for_each(|die| die.lose_power(now));
        self.reads = Slots::new();
        self.sensing = Slots::new();
        self.begun.clear();
    }

    // ---- a die -------------------------------------------------------------------------------

    /// Starts the operations that a die can start.
    #[inline]
    pub fn run(&mut self, number: u32, sight: Sight, clock: &mut Clock) {
        if !self.each[number as usize].is_at_rest() {
            self.run_on_any(number, sight, clock);
        }
    }

    /// `run_on` for a die with possible work.
    fn run_on_any(&mut self, number: u32, sight: Sight, clock: &mut Clock) {
        let die = &self.each[number as usize];
        if die.has_only_reads() {
            self.run_reads(number, clock);
        } else if !die.is_quiet() {
            self.run_on(number, sight, clock);
        }
    }

    /// `run_on` for a die with waiting reads only.
    fn run_reads(&mut self, number: u32, clock: &mut Clock) {
        loop {
            let die = &mut self.each[number as usize];
            let first = die.reads.front().copied();
            let Some(id) = first.filter(|id| self.reads[*id].planes & die.busy == 0) else { break };
            if self.shared && die.busy != 0 {
                return;
            }
            die.reads.pop_front();
            self.start_read(id, clock);
        }
        let die = &self.each[number as usize];
        if die.later_reads.is_empty() && die.reads.len() < 2 {
            // The read waits for its planes.
            return;
        }
        while let Some(read) = self.next_read(number) {
            self.start_read(read, clock);
        }
    }

    fn run_on(&mut self, number: u32, sight: Sight, clock: &mut Clock) {
        loop {
            self.begin_load(number, sight, clock);
            let die = &self.each[number as usize];
            match die.cell {
                Cell::Running { .. } => {
                    if die.has_reads() {
                        self.stop(number, sight, clock);
                    }
                    return;
                }
                Cell::Stopping { .. } => return,
                Cell::Stopped { .. } | Cell::Free => {}
            }
            // Without cache registers, a group being loaded occupies those of the reads.
            let held = !self.cached && die.load.is_some();
            let ready = die.has_ready_task();
            let turn = ready && self.stops.is_turn_of_task(die.passed);
            if !held
                && !turn
                && let Some(read) = self.next_read(number)
            {
                self.start_read(read, clock);
                if self.each[number as usize].is_at_rest() {
                    return;
                }
                continue;
            }
            let die = &mut self.each[number as usize];
            let waits = die.has_reads() && !turn && !held;
            if !ready || die.busy != 0 || waits {
                return;
            }
            self.proceed(number, clock);
        }
    }

    /// Handles an event and returns the ended operation, after which the caller calls [`run`](Dies::run).
    pub fn event(&mut self, event: DieEvent, sight: Sight, clock: &mut Clock) -> Option<Ended> {
        match event {
            DieEvent::Crossed(bus) => match self.crossed(bus, clock) {
                Cargo::Read(read) => Some(self.read_crossed(read, sight, clock)),
                Cargo::Load(die) => {
                    self.page_loaded(die, sight, clock);
                    None
                }
            },
            DieEvent::Sensed(read) => {
                self.sensed(read, sight, clock);
                None
            }
            DieEvent::SensedFar(number) => {
                let read = self.sensing.remove(number);
                self.sensed(read, sight, clock);
                None
            }
            DieEvent::CellDone(die) => Some(self.cell_done(die, clock)),
            DieEvent::Stopped(die) => {
                self.stopped(die, sight, clock);
                None
            }
        }
    }

    /// A transfer on a bus has ended, and the next begins.
    #[inline]
    pub fn crossed(&mut self, bus: u32, clock: &mut Clock) -> Cargo {
        let (cargo, next) = self.buses.crossed(bus, clock.now);
        if let Some(end) = next {
            clock.call_in_line(Line::Buses, end, Event::Die(DieEvent::Crossed(bus)));
        }
        cargo
    }

    /// Starts the next transfer on a die's bus.
    #[inline]
    fn send(&mut self, die: u32, cargo: Cargo, ns: Time, clock: &mut Clock) {
        self.effort[0].bus_ns += ns;
        let bus = die % self.shape.channels;
        if let Some(end) = self.buses.send(bus, cargo, ns, clock.now) {
            clock.call_in_line(Line::Buses, end, Event::Die(DieEvent::Crossed(bus)));
        }
    }

    // ---- reads -----------------------------------------------------------------------------------

    /// The next read of a die that can start, if any.
    fn next_read(&mut self, number: u32) -> Option<u32> {
        let shared = self.shared;
        let die = &mut self.each[number as usize];
        if die.busy != 0 && shared {
            return None;
        }
        let (reads, busy) = (&self.reads, die.busy);
        // Most often that is the first.
        if let Some(id) = die.reads.front().copied()
            && reads[id].planes & busy == 0
        {
            die.reads.pop_front();
            return Some(id);
        }
        for queue in [&mut die.reads, &mut die.later_reads] {
            // Reads of other planes may pass one that waits for its own, but not one of all planes.
            let mut place = 0;
            while let Some(id) = queue.get(place).copied() {
                let read = &reads[id];
                if read.planes & busy == 0 {
                    queue.remove(place);
                    return Some(id);
                }
                if shared || read.owner.is_drive() {
                    return None;
                }
                place += 1;
            }
        }
        None
    }

    /// A die begins a read.
    #[inline]
    fn start_read(&mut self, id: u32, clock: &mut Clock) {
        let now = clock.now;
        let read = &mut self.reads[id];
        read.started = now;
        let cleans = read.owner.is_drive();
        let die = &mut self.each[read.die as usize];
        if !cleans {
            die.account.waited_ns += now - read.queued;
        }
        // The wait ends before the read itself counts.
        let wait = now - read.queued;
        read.marks = if wait == 0 {
            [0; 2]
        } else {
            let suspend = (die.account.stopping_ns(now) - read.marks[1]).min(wait);
            [(die.account.cleaning_ns(now) - read.marks[0]).min(wait - suspend), suspend]
        };
        die.begin_read(read.planes, cleans, now);
        if die.has_waiting_task() {
            die.passed += 1;
        }
        let (kind, end) = (read.kind, now + read.sense_ns);
        self.sense(id, kind, end, clock);
    }

    /// Cells are sensed for a read, pages of a type, up to an instant.
    #[inline]
    fn sense(&mut self, id: u32, kind: u32, end: Time, clock: &mut Clock) {
        if id >= MOST_LANES {
            let number = self.sensing.insert(id);
            clock.call(end, Event::Die(DieEvent::SensedFar(number)));
            return;
        }
        clock.call_in_line(Line::Senses(kind), end, Event::Die(DieEvent::Sensed(id)));
    }

    /// Handles the end of a sense.
    #[inline]
    pub fn sensed(&mut self, id: u32, sight: Sight, clock: &mut Clock) {
        let read = &mut self.reads[id];
        read.sensed = clock.now;
        let (number, planes) = (read.die, read.planes);
        let streams = self.streams && !read.owner.is_drive();
        if !streams {
            let ns = read.bus_ns;
            self.send(number, Cargo::Read(id), ns, clock);
            return;
        }
        let die = &mut self.each[number as usize];
        if die.leaving & planes != 0 {
            die.sensed.push_back(id);
            return;
        }
        self.leave(id, sight, clock);
    }

    /// Data that were sensed leave by the cache registers, and the planes are free.
    #[inline]
    fn leave(&mut self, id: u32, sight: Sight, clock: &mut Clock) {
        let Read { die: number, planes, bus_ns, .. } = self.reads[id];
        let die = &mut self.each[number as usize];
        die.busy &= !planes;
        die.leaving |= planes;
        self.send(number, Cargo::Read(id), bus_ns, clock);
        self.run(number, sight, clock);
    }

    /// The data of a read have crossed the bus; `None` unless it is a host request's read.
    #[inline]
    pub fn host_read_crossed(
        &mut self,
        id: u32,
        sight: Sight,
        clock: &mut Clock,
    ) -> Option<HostRead> {
        let now = clock.now;
        let read = &self.reads[id];
        let ReadFor::Request { slot, pages, reads: true } = read.owner else { return None };
        let (number, planes, [cleaning, suspend]) = (read.die, read.planes, read.marks);
        let (bus, cell) = (now - read.sensed, read.sensed - read.started);
        let spent = Spent { cleaning, suspend, bus, cell };
        let ended = HostRead { die: number, slot, spent, started: read.started };
        self.reads.release(id);
        let die = &mut self.each[number as usize];
        die.account.end(false, now);
        die.account.served += u64::from(pages);
        self.left(number, planes, sight, clock);
        Some(ended)
    }

    /// Frees the registers of these planes of a die: the data sensed behind them follow.
    #[inline]
    fn left(&mut self, number: u32, planes: u32, sight: Sight, clock: &mut Clock) {
        let die = &mut self.each[number as usize];
        if die.leaving & planes == planes {
            die.leaving &= !planes;
            if !die.sensed.is_empty() {
                self.leave_next(number, sight, clock);
            }
        } else {
            die.busy &= !planes;
        }
    }

    /// Moves the next sensed read into the freed registers.
    #[inline(never)]
    fn leave_next(&mut self, number: u32, sight: Sight, clock: &mut Clock) {
        let die = &mut self.each[number as usize];
        let free = |id: &u32| self.reads[*id].planes & die.leaving == 0;
        if let Some(place) = die.sensed.iter().position(free) {
            let next = die.sensed.remove(place).expect("it was found");
            self.leave(next, sight, clock);
        }
    }

    /// `crossed` for any read.
    pub fn read_crossed(&mut self, id: u32, sight: Sight, clock: &mut Clock) -> Ended {
        let now = clock.now;
        let read = &mut self.reads[id];
        if let ReadFor::Batch(batch) = &mut read.owner
            && batch.next()
        {
            return Ended::Row { read: id, owner: read.owner };
        }
        let read = self.reads.remove(id);
        let cleans = read.owner.is_drive();
        let die = &mut self.each[read.die as usize];
        die.account.end(cleans, now);
        self.left(read.die, read.planes, sight, clock);
        if let ReadFor::Request { pages, .. } | ReadFor::Aged { pages, .. } = read.owner {
            self.each[read.die as usize].account.served += u64::from(pages);
        }
        let word = if cleans { Word::Move } else { Word::Read };
        let bus_ns = now - read.sensed;
        let finished = Finished { started: read.started, cell_ns: 0, bus_ns };
        let [cleaning, suspend] = read.marks;
        let cell = read.sensed - read.started;
        let spent = Spent { cleaning, suspend, bus: bus_ns, cell };
        let operation = Operation { word, finished };
        Ended::Read { die: read.die, owner: read.owner, spent, operation }
    }

    // ---- programs and erases ---------------------------------------------------------------------

    /// Starts loading the next group, if any.
    fn begin_load(&mut self, number: u32, sight: Sight, clock: &mut Clock) {
        let die = &mut self.each[number as usize];
        let turn = !die.has_reads() || self.stops.is_turn_of_task(die.passed);
        let free = matches!(die.cell, Cell::Free) && die.busy == 0 && turn;
        if die.load.is_some() || !(self.cached || free) {
            return;
        }
        let Some(mut task) = die.next_task(sight.holds_host) else { return };
        task.started = clock.now;
        if matches!(task.job, Job::Erase(_)) {
            die.load = Some(Load { task, pages: 0 });
            return;
        }
        let rows = self.costs.rows(task.job, self.shape.rows);
        let pages = self.shape.planes * rows;
        die.load = Some(Load { task, pages });
        die.account.begin(task.cleans, clock.now);
        if let Job::Program { group, .. } = task.job {
            self.begun.push(group);
        }
        let ns = self.costs.page;
        self.send(number, Cargo::Load(number), ns, clock);
    }

    /// A page of a group has come into a die.
    pub fn page_loaded(&mut self, number: u32, sight: Sight, clock: &mut Clock) {
        let now = clock.now;
        let die = &mut self.each[number as usize];
        let load = die.load.as_mut().expect("a group is being loaded");
        load.pages -= 1;
        if load.pages > 0 {
            let ns = self.costs.page;
            self.send(number, Cargo::Load(number), ns, clock);
            return;
        }
        load.task.loaded_ns = now - load.task.started;
        let cleans = load.task.cleans;
        die.account.end(cleans, now);
        self.run(number, sight, clock);
    }

    /// Resumes a suspended program, or starts a loaded one.
    fn proceed(&mut self, number: u32, clock: &mut Clock) {
        let now = clock.now;
        let die = &mut self.each[number as usize];
        let (task, left) = if let Cell::Stopped { task, left } = die.cell {
            (task, left)
        } else {
            let load = die.load.take().expect("it is loaded");
            die.stops = 0;
            (load.task, load.task.cell_ns)
        };
        die.passed = 0;
        die.account.begin(task.cleans, now);
        let end = clock.call(now + left, Event::Die(DieEvent::CellDone(number)));
        die.cell = Cell::Running { task, since: now, left, end };
    }

    /// A read waits for cells that are busy: they stop if they may.
    fn stop(&mut self, number: u32, sight: Sight, clock: &mut Clock) {
        let now = clock.now;
        let die = &mut self.each[number as usize];
        let Cell::Running { task, since, left, end } = die.cell else { return };
        let erases = matches!(task.job, Job::Erase(_));
        let stop = self.stops.stop(erases, (since, left), die.stops, sight.backlog, now);
        let Some((at, left)) = stop else { return };
        clock.take_back(end);
        clock.call_in_line(Line::Soon, at, Event::Die(DieEvent::Stopped(number)));
        die.stops += 1;
        self.suspensions += 1;
        let of_host = |id: &u32| !self.reads[*id].owner.is_drive();
        let for_host = die.reads.iter().any(of_host);
        let left = left + self.stops.resume_ns(for_host);
        die.account.begin_stopping(now);
        die.cell = Cell::Stopping { task, left };
    }

    /// A program or an erase has stopped.
    fn stopped(&mut self, number: u32, sight: Sight, clock: &mut Clock) {
        let die = &mut self.each[number as usize];
        let Cell::Stopping { task, left } = die.cell else { unreachable!("it was stopping") };
        die.cell = Cell::Stopped { task, left };
        die.account.end_stopping(clock.now);
        die.account.end(task.cleans, clock.now);
        self.run(number, sight, clock);
    }

    /// A program or an erase has ended.
    fn cell_done(&mut self, number: u32, clock: &mut Clock) -> Ended {
        let now = clock.now;
        let die = &mut self.each[number as usize];
        let Cell::Running { task, .. } = die.cell else { unreachable!("it was running") };
        die.cell = Cell::Free;
        die.account.end(task.cleans, now);
        self.count_task(&task);
        let word = match task.job {
            Job::Erase(_) => Word::Erase,
            _ if task.cleans => Word::Move,
            _ => Word::Program,
        };
        let Task { job, started, cell_ns, loaded_ns, .. } = task;
        let finished = Finished { started, cell_ns, bus_ns: loaded_ns };
        Ended::Task { die: number, job, operation: Operation { word, finished } }
    }

    // ---- work, from which energy is computed -----------------------------------------------------

    /// A row of pages must be sensed. Transfers are counted on the bus.
    #[inline]
    fn count_read(&mut self, read: &Read) {
        // Most often of one plane, which costs less to find than to count.
        let is_one = read.planes.is_power_of_two();
        let senses = if is_one { 1 } else { u64::from(read.planes.count_ones()) };
        let [all, of_host] = &mut self.effort;
        all.sense(senses, read.sense_ns, 0);
        if let ReadFor::Request { reads: true, .. } | ReadFor::Aged { .. } = read.owner {
            of_host.sense(senses, read.sense_ns, read.bus_ns);
        }
    }

    /// A program or an erase has ended.
    fn count_task(&mut self, task: &Task) {
        let rows = self.costs.rows(task.job, self.shape.rows);
        let pages = u64::from(self.shape.planes * rows);
        let effort = &mut self.effort[0];
        match task.job {
            // The last of two passes completes the group.
            Job::Program { last, .. } => {
                effort.program_ns += task.cell_ns;
                effort.programs += if last { pages } else { 0 };
            }
            Job::Parity { .. } | Job::Map => {
                effort.program_ns += task.cell_ns;
                effort.programs += pages;
            }
            Job::Own => {
                effort.program_ns += task.cell_ns;
                effort.programs += 1;
            }
            Job::Erase(_) => {
                effort.erase_ns += task.cell_ns;
                effort.erases += u64::from(self.shape.planes);
            }
        }
    }
}
