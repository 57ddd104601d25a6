//! A power cut at the buffer: how far each group in it has come, and which of them the capacitors of a
//! protected buffer bring to their end.

use super::gather::Stage;
use super::owned::Known;
use super::{Cache, pace_of};
use crate::device::kit::slots::Slot;
use crate::die::{Costs, Dies, Reached};
use crate::ftl::{Ftl, Programming};
use crate::ids::Block;
use crate::shape::Geometry;
use engine::Time;
use std::collections::{BTreeMap, VecDeque};

/// Progress of a group at a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Its cells are unchanged.
    Untouched,
    /// Its cells were being programmed.
    Cells,
    /// It was between two passes.
    Between,
    /// It is fully programmed.
    Whole,
}

/// A program that the cut has stopped.
#[derive(Debug, Clone)]
pub struct CutProgram {
    pub programming: Programming,
    /// True for host data.
    pub is_hosts: bool,
    /// True for acknowledged data: it was in a write buffer.
    pub answered: bool,
    /// Progress by lane.
    pub reached: Vec<Reached>,
}

/// A group in the buffer at a power cut.
#[derive(Debug, Clone)]
pub struct CutGroup {
    pub block: Block,
    /// Its consecutive pages unknown to the flash.
    pub pages: Vec<Programming>,
    pub fate: Fate,
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

impl Cache {
    /// The empty buffer of a drive that is on since `now`: nothing is known of the load before.
    pub fn begin_anew(&mut self, geometry: &Geometry, costs: &Costs, now: Time) {
        let puts_off = self.pace.puts_off();
        self.pace = pace_of(&self.config, geometry, &self.shape, costs).since(now);
        self.pace.put_off(puts_off);
        self.turn = 0;
    }

    /// The effect of a cut on the groups in the buffer, and the programs without a guarantee: all lost
    /// ones with a volatile buffer, unacknowledged ones with a protected buffer. `is_open` says whether a
    /// request is not answered.
    pub fn cut(
        &self,
        ftl: &Ftl,
        dies: &Dies,
        is_open: impl Fn(Slot, u64) -> bool,
        now: Time,
    ) -> (Vec<CutProgram>, Vec<CutGroup>) {
        let protected = self.config.buffer.power_loss_protected;
        let fates = if protected { self.dump(dies, now) } else { self.fates(dies, now) };
        let (mut programs, mut groups) = (Vec::new(), Vec::new());
        for group in self.gather.all() {
            let kept = self.gather.group(group);
            let fate = fates.get(&group).copied().unwrap_or(Fate::Whole);
            groups.push(CutGroup { block: kept.block, pages: kept.pages.clone(), fate });
            for it in &kept.pages {
                let known =
                    self.owned.as_ref().map_or(Known::Copy, |it_is| it_is.known(it.ppn, &is_open));
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
        programs.sort_by_key(|it| it.programming.order.wrapping_sub(ftl.next_order()));
        (programs, groups)
    }

    /// Programs unknown to the flash, in order of start, with the requests whose data they contain.
    pub fn owned_programs(&self, ftl: &Ftl) -> Vec<(Programming, Option<u64>)> {
        let mut all: Vec<_> =
            self.gather.programming().map(|it| (it, self.writer(it.ppn))).collect();
        all.sort_by_key(|(it, _)| it.order.wrapping_sub(ftl.next_order()));
        all
    }

    /// Progress of the groups that are not programmed.
    fn fates(&self, dies: &Dies, now: Time) -> BTreeMap<u32, Fate> {
        let mut fates = BTreeMap::new();
        for group in self.gather.all() {
            let kept = self.gather.group(group);
            if kept.stage == Stage::Done {
                continue;
            }
            let begun = kept.stage == Stage::Programming && kept.passes < self.passes();
            fates.insert(group, if begun { Fate::Between } else { Fate::Untouched });
        }
        for die in 0..self.shape.dies {
            if let Some((group, _)) = dies.in_cells(die, now) {
                fates.insert(group, Fate::Cells);
            }
        }
        fates
    }

    /// Progress of the groups on capacitor power: each die programs its groups in order of start,
    /// beginning with the one in its cells. An erase that is under way is given up; parity is not
    /// written.
    fn dump(&self, dies: &Dies, now: Time) -> BTreeMap<u32, Fate> {
        let lasts = self.config.power.lasts_ns();
        let costs: &Costs = dies.costs();
        let mut fates = self.fates(dies, now);
        let mut queues: Vec<VecDeque<Dumped>> = Vec::new();
        let mut open: Vec<u32> = fates.keys().copied().collect();
        open.sort_by_key(|group| self.gather.group(*group).number);
        for die in 0..self.shape.dies {
            let first = dies.in_cells(die, now);
            let mine = open.iter().copied().filter(|it| self.gather.group(*it).die == die);
            let rest = mine.filter(|it| first.is_none_or(|(first, _)| first != *it));
            let queue = first.into_iter().map(|(group, left)| {
                let passes = self.gather.group(group).passes;
                Dumped { group, pages: None, first_ns: left, passes }
            });
            let queue = queue.chain(rest.map(|group| {
                let kept = self.gather.group(group);
                let passes = if kept.stage == Stage::Filling { self.passes() } else { kept.passes };
                let (rows, first_ns) = self.first_pass(kept, costs);
                Dumped { group, pages: Some(self.shape.planes * rows), first_ns, passes }
            }));
            queues.push(queue.collect());
        }
        let mut buses = memory::zeroed(self.shape.channels as usize);
        // Times at which a die's registers and cells are free.
        let mut free = memory::filled((0, 0), queues.len());
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
                    let all = self.shape.planes * self.shape.rows;
                    let pages = Time::from(it.pages.unwrap_or(all));
                    loaded = begins(die, &free, &buses) + pages * costs.page;
                    let channels = buses.len();
                    buses[die % channels] = loaded;
                }
                let starts = loaded.max(free[die].1);
                let ns = if pass == 0 { it.first_ns } else { costs.program };
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
}
