//! Programs and erases: from a full group to its pages in the flash.

use super::dies::{Cell, Job, Load, Task};
use super::events::{Happens, event};
use super::gather::Stage;
use super::read::Owner;
use super::{Answer, Buffered, Cargo};
use crate::ssd::clock::Clock;
use crate::ssd::config::Program;
use crate::ssd::flash::Finished;
use crate::ssd::ids::Unit;
use crate::ssd::timeline::Word;
use engine::Time;

impl Buffered {
    /// A group is full: it waits for its die, and the parity behind it too.
    pub(super) fn group_full(&mut self, group: u32, clock: &mut Clock) {
        let two_pass = self.config.cell.program == Program::TwoPass;
        let kept = self.gather.group_mut(group);
        kept.stage = Stage::Waiting;
        kept.passes = if two_pass { 2 } else { 1 };
        let (block, index, die, cleans) = (kept.block, kept.index, kept.die, kept.stream == 1);
        self.ftl.counters.groups += 1;
        self.queue_task(die, Job::Program(group), cleans, self.costs.program, clock);
        let first = self.shape.first_die(block, self.ftl.geometry().blocks_per_domain);
        if let Some(die) = self.shape.place(first, index).parity {
            let passes = if two_pass { 2 } else { 1 };
            self.queue_task(die, Job::Parity, cleans, passes * self.costs.program, clock);
        }
        if index + 1 == self.shape.per_block {
            self.queue_summary(first, index, cleans, clock);
        }
        if two_pass {
            self.queue_fine(block, index, cleans, clock);
        }
    }

    /// The groups of a block's summary that hold no data.
    fn queue_summary(&mut self, first: u32, index: u32, cleans: bool, clock: &mut Clock) {
        let passes = if self.config.cell.program == Program::TwoPass { 2 } else { 1 };
        for number in 0..self.shape.summary_groups {
            let die = first + (index + 1 + number) % self.shape.width;
            self.queue_task(die, Job::Parity, cleans, passes * self.costs.program, clock);
        }
    }

    /// The fine pass of the word line that lies far enough behind, and at the end of a block of all that
    /// are left.
    fn queue_fine(
        &mut self,
        block: crate::ssd::ids::Block,
        index: u32,
        cleans: bool,
        clock: &mut Clock,
    ) {
        let behind = self.config.cell.distance * self.shape.width;
        let first = index.checked_sub(behind);
        let last = if index + 1 == self.shape.per_block { Some(index) } else { first };
        let Some(last) = last else { return };
        for index in first.unwrap_or(0)..=last {
            if let Some(group) = self.gather.of_block(block, index) {
                let die = self.gather.group(group).die;
                self.queue_task(die, Job::Program(group), cleans, self.costs.program, clock);
            }
        }
    }

    /// A die has one more thing to do.
    pub(super) fn queue_task(
        &mut self,
        die: u32,
        job: Job,
        cleans: bool,
        cell_ns: Time,
        clock: &mut Clock,
    ) {
        let number = self.tasks;
        self.tasks += 1;
        let task = Task { job, cleans, number, cell_ns, started: 0, loaded_ns: 0 };
        self.dies[die as usize].tasks[usize::from(cleans)].push_back(task);
        self.run(die, clock);
    }

    /// A die does what it can.
    pub(super) fn run(&mut self, number: u32, clock: &mut Clock) {
        loop {
            self.begin_load(number, clock);
            let die = &self.dies[number as usize];
            match die.cell {
                Cell::Running { .. } => {
                    if die.has_reads() {
                        self.stop(number, clock);
                    }
                    return;
                }
                Cell::Stopping { .. } => return,
                Cell::Stopped { .. } | Cell::Free => {}
            }
            // Without cache registers a group on its way in takes those of the reads.
            let held = !self.config.cache_commands && die.load.is_some();
            let ready = die.has_ready_task();
            let turn = ready && self.stops.is_turn_of_task(die.passed);
            if !held
                && !turn
                && let Some(read) = self.next_read(number)
            {
                self.start_read(read, clock);
                continue;
            }
            let die = &mut self.dies[number as usize];
            let waits = die.has_reads() && !turn && !held;
            if !ready || die.busy != 0 || waits {
                return;
            }
            self.go_on(number, clock);
        }
    }

    /// The next group, if there is one, begins to be loaded.
    fn begin_load(&mut self, number: u32, clock: &mut Clock) {
        let holds = self.pace.holds_host() && !self.erasures_wait();
        let cached = self.config.cache_commands;
        let die = &mut self.dies[number as usize];
        let turn = !die.has_reads() || self.stops.is_turn_of_task(die.passed);
        let free = matches!(die.cell, Cell::Free) && die.busy == 0 && turn;
        if die.load.is_some() || !(cached || free) {
            return;
        }
        let Some(mut task) = die.next_task(holds) else { return };
        task.started = clock.now;
        if matches!(task.job, Job::Erase(_)) {
            die.load = Some(Load { task, pages: 0 });
            return;
        }
        let pages = self.shape.planes * self.shape.rows;
        die.load = Some(Load { task, pages });
        die.account.begin(task.cleans, clock.now);
        if let Job::Program(group) = task.job {
            self.gather.group_mut(group).stage = Stage::Programming;
        }
        let ns = self.costs.page;
        self.send(number, Cargo::Load(number), ns, clock);
    }

    /// A page of a group has come into a die.
    pub(super) fn page_loaded(&mut self, number: u32, clock: &mut Clock) {
        let now = clock.now;
        let die = &mut self.dies[number as usize];
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
        self.run(number, clock);
    }

    /// A suspended program resumes, or a loaded one begins.
    fn go_on(&mut self, number: u32, clock: &mut Clock) {
        let now = clock.now;
        let die = &mut self.dies[number as usize];
        let (task, left) = if let Cell::Stopped { task, left } = die.cell {
            (task, left)
        } else {
            let load = die.load.take().expect("it is loaded");
            die.stops = 0;
            (load.task, load.task.cell_ns)
        };
        die.passed = 0;
        die.account.begin(task.cleans, now);
        let end = clock.call(now + left, event(Happens::CellDone, number));
        die.cell = Cell::Running { task, since: now, left, end };
    }

    /// A read waits for cells that are busy: they stop if they may.
    fn stop(&mut self, number: u32, clock: &mut Clock) {
        let now = clock.now;
        let die = &mut self.dies[number as usize];
        let Cell::Running { task, since, left, end } = die.cell else { return };
        let times = (since, left);
        let Some((at, left)) = self.stops.stop(&task, times, die.stops, self.waiting.len(), now)
        else {
            return;
        };
        clock.take_back(end);
        clock.call(at, event(Happens::Stopped, number));
        die.stops += 1;
        self.ftl.counters.suspensions += 1;
        let of_host = |id: &u32| matches!(self.reads[*id].owner, Owner::Request(..));
        let for_host = die.reads.iter().any(of_host);
        let left = left + self.stops.resume_ns(for_host);
        die.account.begin_stopping(now);
        die.cell = Cell::Stopping { task, left };
    }

    /// A program or an erase has stopped.
    pub(super) fn stopped(&mut self, number: u32, clock: &mut Clock) {
        let die = &mut self.dies[number as usize];
        let Cell::Stopping { task, left } = die.cell else { unreachable!("it was stopping") };
        die.cell = Cell::Stopped { task, left };
        die.account.end_stopping(clock.now);
        die.account.end(task.cleans, clock.now);
        self.run(number, clock);
    }

    /// A program or an erase has ended.
    pub(super) fn cell_done(&mut self, number: u32, clock: &mut Clock) {
        let now = clock.now;
        let die = &mut self.dies[number as usize];
        let Cell::Running { task, .. } = die.cell else { unreachable!("it was running") };
        die.cell = Cell::Free;
        die.account.end(task.cleans, now);
        self.count_task(&task);
        let word = match task.job {
            Job::Erase(_) => Word::Erase,
            _ if task.cleans => Word::Move,
            _ => Word::Program,
        };
        let Task { started, cell_ns, loaded_ns, .. } = task;
        self.record(number, word, Finished { started, cell_ns, bus_ns: loaded_ns }, now);
        match task.job {
            Job::Program(group) => self.pass_done(group, number, clock),
            Job::Erase(erasing) => self.die_erased(erasing, clock),
            Job::Parity => {}
            Job::Own => self.answers.push(Answer::Own(Unit(number))),
        }
        self.run(number, clock);
    }

    /// A pass of a group is done.
    fn pass_done(&mut self, group: u32, number: u32, clock: &mut Clock) {
        let kept = self.gather.group_mut(group);
        kept.passes -= 1;
        if kept.passes > 0 {
            return;
        }
        let (stream, pages) = (kept.stream, kept.pages.len() as u64);
        if stream == 0 {
            self.dies[number as usize].account.served += pages;
        }
        let (ftl, flash, owned) = (&mut self.ftl, &mut self.flash, &mut self.owned);
        self.gather.programmed(group, |group| {
            for programming in &group.pages {
                if let Some(owned) = owned {
                    owned.remove(programming.ppn);
                }
                ftl.complete_program(flash, *programming);
            }
        });
        if !self.durable.is_empty() {
            self.settle(clock.now);
        }
        // An erasure may wait for what supersedes the victim's pages as well as for their copies.
        self.begin_erasures(clock);
        if stream == 0 {
            self.admit(clock);
        } else {
            self.clean_all(clock);
            let waits = self.pace.holds_host() && !self.waiting.is_empty();
            if waits && self.stands_still() {
                // Nothing else will look at the writes again.
                self.admit(clock);
            }
            self.end_idle_burst(clock);
        }
    }

    /// What the pace allows has changed: dies that held programs of the host, cleaning and writes go on.
    pub(super) fn pace_changed(&mut self, clock: &mut Clock) {
        self.clean_all(clock);
        for die in 0..self.dies.len() as u32 {
            self.run(die, clock);
        }
    }
}
