//! A power cut at the dies: how far each group in the buffer has come, and which of them the capacitors
//! of a protected buffer bring to their end. And the pages that the drive writes for itself.

use super::Buffered;
use super::asked::Held;
use super::cores::Cores;
use super::dies::{Cell, Job};
use super::gather::{self, Gather, Stage};
use super::owned::{Known, Owned, Owner};
use crate::kit::slots::{Slot, Slots};
use crate::ssd::clock::Clock;
use crate::ssd::config::Program;
use crate::ssd::ftl::Programming;
use crate::ssd::ids::{Block, Domain, Lpn, Ppn, Stream, Unit};
use crate::ssd::sched::CutProgram;
use engine::Time;
use std::collections::{BTreeMap, VecDeque};

/// Waits for what is written anew after a cut, as a request does.
const RESTORES: Slot = Slot::MAX;

/// How far a group had come when the power was gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Fate {
    /// Its cells are as they were.
    Untouched,
    /// Its cells were being programmed.
    Cells,
    /// It was between two passes.
    Between,
    /// It is programmed.
    Whole,
}

/// A group in the buffer at a power cut.
#[derive(Debug, Clone)]
pub(in crate::ssd) struct CutGroup {
    pub(in crate::ssd) block: Block,
    /// Its pages that the flash does not know, in a row.
    pub(in crate::ssd) pages: Vec<Programming>,
    pub(in crate::ssd) fate: Fate,
}

/// A group to be programmed on the energy of the capacitors.
struct Dumped {
    group: u32,
    /// Pages that are still to cross the bus for the first pass; nothing where that is in the cells.
    pages: Option<u32>,
    /// The time of that pass in the cells, and the number of passes.
    first_ns: Time,
    passes: u32,
}

impl Buffered {
    /// The effect of a cut on the groups in the buffer, and the programs without a guarantee: all lost
    /// ones with a volatile buffer, unacknowledged ones with a protected buffer.
    pub(in crate::ssd) fn cut_groups(&self, now: Time) -> (Vec<CutProgram>, Vec<CutGroup>) {
        let protected = self.config.buffer.power_loss_protected;
        let fates = if protected { self.dump(now) } else { self.fates(now) };
        let (mut programs, mut groups) = (Vec::new(), Vec::new());
        for group in self.gather.all() {
            let kept = self.gather.group(group);
            let fate = fates.get(&group).copied().unwrap_or(Fate::Whole);
            groups.push(CutGroup { block: kept.block, pages: kept.pages.clone(), fate });
            for it in &kept.pages {
                let known = self.known(it.ppn);
                let counts = match known {
                    _ if !protected => fate != Fate::Whole,
                    Known::Open { promised } => !promised,
                    _ => false,
                };
                if counts {
                    let is_hosts = matches!(known, Known::Open { .. });
                    let answered = match known {
                        Known::Open { promised } => promised,
                        known => known == Known::Answered,
                    };
                    let reached = Vec::new();
                    programs.push(CutProgram { programming: *it, is_hosts, answered, reached });
                }
            }
        }
        programs.sort_by_key(|it| it.programming.order.wrapping_sub(self.ftl.next_order()));
        (programs, groups)
    }

    /// The programs that the flash does not know yet, in the order in which they were begun.
    pub(in crate::ssd) fn open_programs(&self) -> Vec<CutProgram> {
        let all = self.gather.programming().map(|programming| {
            let reached = Vec::new();
            CutProgram { programming, is_hosts: false, answered: false, reached }
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|it| it.programming.order.wrapping_sub(self.ftl.next_order()));
        all
    }

    /// The same, and the requests of which they have the data.
    pub(in crate::ssd) fn owned_programs(&self) -> Vec<(Programming, Option<u64>)> {
        let mut all: Vec<_> =
            self.gather.programming().map(|it| (it, self.writer(it.ppn))).collect();
        all.sort_by_key(|(it, _)| it.order.wrapping_sub(self.ftl.next_order()));
        all
    }

    fn passes(&self) -> u32 {
        if self.config.cell.program == Program::TwoPass { 2 } else { 1 }
    }

    /// The group in the cells of a die, and what its pass has left.
    fn in_cells(&self, die: u32, now: Time) -> Option<(u32, Time)> {
        let (task, left) = match self.dies[die as usize].cell {
            Cell::Free => return None,
            Cell::Running { task, since, left, .. } => (task, left.saturating_sub(now - since)),
            Cell::Stopping { task, left } | Cell::Stopped { task, left } => (task, left),
        };
        match task.job {
            Job::Program(group) => Some((group, left)),
            _ => None,
        }
    }

    /// How far the groups have come that are not programmed.
    fn fates(&self, now: Time) -> BTreeMap<u32, Fate> {
        let mut fates = BTreeMap::new();
        for group in self.gather.all() {
            let kept = self.gather.group(group);
            if kept.stage == Stage::Done {
                continue;
            }
            let begun = kept.stage == Stage::Programming && kept.passes < self.passes();
            fates.insert(group, if begun { Fate::Between } else { Fate::Untouched });
        }
        for die in 0..self.dies.len() as u32 {
            if let Some((group, _)) = self.in_cells(die, now) {
                fates.insert(group, Fate::Cells);
            }
        }
        fates
    }

    /// How far the groups come while the capacitors last: each die programs those that it has in the order
    /// in which they were begun, what is in its cells first. An erase that is under way is given up; parity is
    /// not written.
    fn dump(&self, now: Time) -> BTreeMap<u32, Fate> {
        let lasts = self.config.power.lasts_ns();
        let mut fates = self.fates(now);
        let mut queues: Vec<VecDeque<Dumped>> = Vec::new();
        let mut open: Vec<u32> = fates.keys().copied().collect();
        open.sort_by_key(|group| self.gather.group(*group).number);
        for die in 0..self.dies.len() as u32 {
            let first = self.in_cells(die, now);
            let mine = open.iter().copied().filter(|it| self.gather.group(*it).die == die);
            let rest = mine.filter(|it| first.is_none_or(|(first, _)| first != *it));
            let queue = first.into_iter().map(|(group, left)| {
                let passes = self.gather.group(group).passes;
                Dumped { group, pages: None, first_ns: left, passes }
            });
            let queue = queue.chain(rest.map(|group| {
                let kept = self.gather.group(group);
                let passes = if kept.stage == Stage::Filling { self.passes() } else { kept.passes };
                let pages = Some(self.shape.planes * self.shape.rows);
                Dumped { group, pages, first_ns: self.costs.program, passes }
            }));
            queues.push(queue.collect());
        }
        let mut buses = vec![0; self.shape.channels as usize];
        // When the registers of a die are free, and its cells.
        let mut free = vec![(0, 0); queues.len()];
        let whole = Time::from(self.shape.planes * self.shape.rows) * self.costs.page;
        let begins = |die: usize, free: &[(Time, Time)], buses: &[Time]| {
            let (registers, cells) = free[die];
            let from = if self.config.cache_commands { registers } else { cells };
            from.max(buses[die % buses.len()])
        };
        loop {
            let ready = (0..queues.len()).filter(|die| !queues[*die].is_empty());
            let Some(die) = ready.min_by_key(|die| begins(*die, &free, &buses)) else { break };
            let Some(it) = queues[die].pop_front() else { break };
            for pass in 0..it.passes {
                let mut loaded = 0;
                if pass > 0 || it.pages.is_some() {
                    loaded = begins(die, &free, &buses) + whole;
                    let channels = buses.len();
                    buses[die % channels] = loaded;
                }
                let starts = loaded.max(free[die].1);
                let ns = if pass == 0 { it.first_ns } else { self.costs.program };
                free[die] = (starts, starts.saturating_add(ns));
                if starts < lasts {
                    let done = free[die].1 <= lasts;
                    let last = pass + 1 == it.passes;
                    let fate = match (done, last) {
                        (true, true) => Fate::Whole,
                        (true, false) => Fate::Between,
                        (false, _) => Fate::Cells,
                    };
                    fates.insert(it.group, fate);
                }
            }
        }
        fates
    }

    /// Everything that is under way or waits is gone; the time accounting continues.
    pub(in crate::ssd) fn lose_power(&mut self, now: Time) {
        self.cores = Cores::new(&self.config.firmware);
        self.buses.lose_power(now);
        self.dies.iter_mut().for_each(|die| die.lose_power(now));
        let geometry = self.ftl.geometry();
        let room = super::rooms(&self.config, &self.shape);
        self.gather = Gather::new(geometry, self.shape, room);
        self.pace = super::pace_of(&self.config, geometry, &self.shape, &self.costs);
        self.answers.clear();
        self.asked.clear();
        self.reads = Slots::new();
        self.sensing = Slots::new();
        self.waiting.clear();
        self.held = Held::default();
        self.filling.fill([gather::NONE; 2]);
        self.victims.fill(None);
        self.erasing = Slots::new();
        self.durable.clear();
        self.owned = self.owned.take().map(|_| Owned::default());
    }

    // ---- pages of the drive's own ---------------------------------------------------------

    /// Writes a page of the drive's own on a die.
    pub(in crate::ssd) fn write_own(&mut self, unit: Unit, clock: &mut Clock) {
        self.queue_task(unit.0, Job::Own, false, self.costs.program, clock);
        self.end_idle_burst(clock);
    }

    /// Writes pages anew that lie where a power cut may have harmed them, as far as there is room; how many.
    /// An answer to itself says that they are programmed.
    pub(in crate::ssd) fn restore(&mut self, lpns: &[Lpn], clock: &mut Clock) -> u32 {
        self.begin();
        let mut count = 0;
        for lpn in lpns {
            let domains = (0..self.filling.len() as u32).map(Domain);
            let room = |domain: &Domain| {
                // Where cleaning continues with the rest of a group.
                let left = self.ftl.left_on(*domain, Stream::SECOND) > 0;
                (left, self.ftl.free_blocks(*domain))
            };
            let Some(best) = domains.max_by_key(room).filter(|it| room(it) > (false, 0)) else {
                continue;
            };
            self.place(best, Stream::SECOND, *lpn, clock);
            count += 1;
        }
        if count > 0 {
            for domain in 0..self.filling.len() as u32 {
                self.pad(Domain(domain), Stream::SECOND, clock);
            }
            self.durable.push((self.gather.next_number(), RESTORES));
        }
        count
    }

    /// Whether it is the drive itself that waits for everything to be durable, of either stream.
    pub(super) fn is_own(slot: Slot) -> bool {
        slot == RESTORES
    }
}

impl Buffered {
    /// The page that a request writes is in the buffer.
    #[inline]
    pub(super) fn note_owner(&mut self, slot: Slot, lpn: Lpn) {
        if self.owned.is_some() {
            self.keep_owner(slot, lpn);
        }
    }

    fn keep_owner(&mut self, slot: Slot, lpn: Lpn) {
        let ppn = self.ftl.lookup(lpn).expect("it has its place");
        let promised = match self.known(ppn) {
            Known::Answered => true,
            Known::Open { promised } => promised,
            Known::Copy => false,
        };
        let request = self.asked(slot).request.id;
        let Some(owned) = &mut self.owned else { return };
        owned.0.insert(ppn.0, Owner { slot, request, promised });
    }

    /// What the host knows of a page in the buffer.
    pub(super) fn known(&self, ppn: Ppn) -> Known {
        let owner = self.owned.as_ref().and_then(|owned| owned.0.get(&ppn.0));
        let Some(Owner { slot, request, promised }) = owner.copied() else { return Known::Copy };
        let asked = self.asked.get(slot as usize).copied().flatten();
        if asked.is_some_and(|asked| asked.request.id == request) {
            return Known::Open { promised };
        }
        Known::Answered
    }

    /// The request that has written a page in the buffer, if it is one of the host.
    pub(super) fn writer(&self, ppn: Ppn) -> Option<u64> {
        self.owned.as_ref()?.0.get(&ppn.0).map(|owner| owner.request)
    }
}
