//! Places of lines: the map, the replacement policy, the pinned lines, and pending write-back.

use super::config::{CacheOptions, Halves, Recovery, Shape};
use super::destage::{Destager, Run};
use super::kept::{self, Kept};
use super::ledger::Found;
use super::lists::{NONE, Slot};
use super::planted::Slip;
use super::policy::Policy;
use super::replacement::Replacement;
use super::table::{State, Table};
use engine::Time;
use std::ops::Range;

/// Minimum number of unpinned lines.
const FEWEST_FREE: u64 = 2;

/// Positions of lines, and their changes.
#[derive(Debug, Clone)]
pub struct Places {
    table: Table,
    policy: Policy,
    destager: Destager,
    /// Lines that never leave.
    pinned: Vec<Range<u64>>,
    evictions: u64,
}

impl Places {
    /// A cache that holds only the pinned lines.
    pub fn new(config: &CacheOptions<impl Halves>, shape: &Shape) -> Places {
        let mut places = Places {
            table: Table::new(shape.slots),
            policy: Policy::new(config.replacement, shape.slots),
            destager: Destager::new(&config.destage, shape.slots),
            pinned: config.pinned.lines(shape.line),
            evictions: 0,
        };
        for line in places.pinned.clone().into_iter().flatten() {
            let slot = places.table.take_free().expect("there is room for pinned lines");
            places.table.put(slot, line, State::Clean, true);
        }
        places
    }

    /// Number of evicted lines.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    pub fn reset(&mut self) {
        self.evictions = 0;
    }

    fn is_pinned(&self, line: u64) -> bool {
        let after = self.pinned.partition_point(|it| it.end <= line);
        self.pinned.get(after).is_some_and(|it| it.contains(&line))
    }

    /// Pins lines, as long as enough others remain unpinned. Returns the number of newly pinned
    /// lines. A pinned line that is absent stays once it arrives.
    pub fn hold(&mut self, lines: Range<u64>) -> u64 {
        let held: u64 = self.pinned.iter().map(|it| it.end - it.start).sum();
        let mut room = u64::from(self.table.slots()).saturating_sub(held + FEWEST_FREE);
        let mut more = 0;
        for line in lines {
            if room == 0 || self.is_pinned(line) {
                continue;
            }
            room -= 1;
            more += 1;
            let after = self.pinned.partition_point(|it| it.end < line);
            match self.pinned.get_mut(after) {
                Some(it) if it.end == line => *it = it.start..line + 1,
                Some(it) if it.start == line + 1 => *it = line..it.end,
                _ => self.pinned.insert(after, line..line + 1),
            }
            let slot = self.table.find(line);
            if slot != NONE {
                self.policy.leave(slot, line, false);
                self.table.set_held(slot, true);
            }
        }
        more
    }

    /// Unpins lines. Returns the number of newly unpinned ones.
    pub fn let_go(&mut self, lines: &Range<u64>) -> u64 {
        let mut more = 0;
        for line in lines.clone() {
            let after = self.pinned.partition_point(|it| it.end <= line);
            let Some(it) = self.pinned.get(after).filter(|it| it.contains(&line)).cloned() else {
                continue;
            };
            more += 1;
            let rest = [it.start..line, line + 1..it.end].into_iter().filter(|it| !it.is_empty());
            self.pinned.splice(after..=after, rest.collect::<Vec<_>>());
            let slot = self.table.find(line);
            if slot != NONE {
                self.table.set_held(slot, false);
                self.policy.admit(slot, line);
            }
        }
        more
    }

    /// Number of pinned lines.
    pub fn held_lines(&self) -> u64 {
        self.pinned.iter().map(|it| it.end - it.start).sum()
    }

    /// Slot of a valid line, or `NONE`.
    #[inline]
    pub fn held(&self, line: u64) -> Slot {
        let slot = self.table.find(line);
        let is_there = matches!(self.table.entry(slot).state, State::Clean | State::Dirty);
        if is_there { slot } else { NONE }
    }

    /// Notes a use of a cached line.
    #[inline]
    pub fn used(&mut self, slot: Slot) {
        if !self.table.entry(slot).held {
            self.policy.hit(slot);
        }
    }

    /// Notes a use of a line, and starts a read if it is cached. Returns its slot, or `NONE`.
    #[inline]
    pub fn hit(&mut self, line: u64) -> Slot {
        let (slot, held) = self.table.begin_read(line);
        if slot != NONE && !held {
            self.policy.hit(slot);
        }
        slot
    }

    /// Allocates a slot for an arriving line; `None` if no line may be evicted.
    pub fn allocate(&mut self, line: u64) -> Option<Slot> {
        self.allocate_beside(line, &(0..0))
    }

    /// `allocate` that evicts none of the lines in `others`.
    fn allocate_beside(&mut self, line: u64, others: &Range<u64>) -> Option<Slot> {
        let slot = self.table.take_free().or_else(|| self.evict(line, others))?;
        let held = self.is_pinned(line);
        self.table.put(slot, line, State::Coming, held);
        if !held {
            self.policy.admit(slot, line);
        }
        if Slip::MappedEarly.is_planted() {
            self.table.set(slot, State::Clean);
        }
        Some(slot)
    }

    fn evict(&mut self, line: u64, others: &Range<u64>) -> Option<Slot> {
        let table = &self.table;
        let mut may = |slot: Slot| {
            let entry = table.entry(slot);
            let is_used = entry.pins > 0 || entry.writing || entry.held;
            entry.state == State::Clean && !is_used && !others.contains(&table.line(slot))
        };
        let victim = self.policy.victim(line, &mut may)?;
        self.evictions += 1;
        self.policy.leave(victim, self.table.line(victim), true);
        self.table.drop_line(victim);
        self.table.take_free()
    }

    /// Allocates slots for all missing lines of a range, without evicting lines of the range.
    /// Returns false, and allocates none, if there is not enough room.
    pub fn make_room(&mut self, lines: &Range<u64>) -> bool {
        for line in lines.clone() {
            if self.table.find(line) == NONE && self.allocate_beside(line, lines).is_none() {
                // Frees the slots allocated so far.
                for line in lines.start..line {
                    let slot = self.table.find(line);
                    if self.table.entry(slot).state == State::Coming {
                        self.forget(slot);
                    }
                }
                return false;
            }
        }
        true
    }

    /// Drops the line in a slot.
    pub fn forget(&mut self, slot: Slot) {
        self.destager.remove(slot);
        if !self.table.entry(slot).held {
            self.policy.leave(slot, self.table.line(slot), false);
        }
        self.table.drop_line(slot);
    }

    /// Marks a line as dirty.
    pub fn make_dirty(&mut self, slot: Slot, now: Time) {
        self.table.set(slot, State::Dirty);
        if !self.table.entry(slot).destaging {
            self.destager.add(slot, now);
        }
    }

    /// Runs of missing lines, and runs of lines in consecutive slots with their first slot.
    pub fn runs_of(&self, lines: Range<u64>) -> Vec<(Range<u64>, Slot)> {
        let mut runs: Vec<(Range<u64>, Slot)> = Vec::new();
        for line in lines {
            let slot = self.held(line);
            if let Some((run, first)) = runs.last_mut() {
                let next = if *first == NONE { NONE } else { *first + (line - run.start) as u32 };
                if slot == next {
                    *run = run.start..line + 1;
                    continue;
                }
            }
            runs.push((line..line + 1, slot));
        }
        runs
    }

    // ---- in progress ---------------------------------------------------------------------------

    /// Starts reads of lines in consecutive slots.
    #[inline]
    pub fn pin(&mut self, slot: Slot, slots: u32) {
        self.table.pin(slot, slots);
    }

    #[inline]
    pub fn unpin(&mut self, slot: Slot, slots: u32) {
        self.table.unpin(slot, slots);
    }

    /// Ends the read of a line.
    #[inline]
    pub fn unpin_one(&mut self, slot: Slot) {
        self.table.unpin_one(slot);
    }

    /// Sets the writing mark of a slot.
    pub fn set_writing(&mut self, slot: Slot, writing: bool) {
        self.table.set_writing(slot, writing);
    }

    /// Marks a line as invalid until its content arrives.
    pub fn make_coming(&mut self, slot: Slot) {
        self.table.set(slot, State::Coming);
    }

    /// Marks an arrived line as clean; `epoch` is the flush that makes it durable on the backing
    /// device.
    pub fn make_clean(&mut self, slot: Slot, epoch: u64) {
        self.table.set(slot, State::Clean);
        self.table.set_epoch(slot, epoch);
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    // ---- write-back ----------------------------------------------------------------------------

    /// The destager.
    pub fn rules(&mut self) -> &mut Destager {
        &mut self.destager
    }

    pub fn destager(&self) -> &Destager {
        &self.destager
    }

    /// Next run to write back, if any.
    #[inline]
    pub fn begin_run(&mut self, host_waits: bool, now: Time) -> Option<Run> {
        self.destager.begin(&mut self.table, host_waits, now)
    }

    /// Ends a write-back run, successful or not.
    pub fn end_run(&mut self, run: &Run, now: Time) {
        self.destager.end(run, &mut self.table, now);
    }

    /// Position of a line according to the map.
    pub fn find(&self, line: u64) -> Found {
        let slot = self.table.find(line);
        match self.table.entry(slot).state {
            State::Dirty => Found::Dirty(slot),
            State::Clean => Found::Clean(slot),
            _ => Found::Backing,
        }
    }

    /// Handles a power cut: keeps what survives of the map. Lines written to both devices after
    /// flush `flushed` may be newer on the fast device.
    pub fn lose_power(&mut self, recovery: Recovery, flushed: Option<u64>, now: Time) {
        self.table.lose_power();
        let warm = recovery == Recovery::Warm;
        let stays = |state: State, epoch: u64| match state {
            State::Dirty => warm,
            State::Clean => {
                let is_sure = flushed.is_none_or(|flushed| epoch < flushed);
                warm && (is_sure || Slip::UnflushedKept.is_planted())
            }
            _ => false,
        };
        let lines = self.table.lines();
        let gone: Vec<Slot> =
            lines.filter(|it| !stays(it.2.state, it.2.epoch)).map(|it| it.0).collect();
        for slot in gone {
            self.forget(slot);
        }
        self.destager.lose_power(&self.table, now);
    }

    /// Saved state; the cache must be idle.
    pub fn keep(&self) -> Kept {
        let pinned = self.pinned.iter().flat_map(|it| [it.start, it.end]).collect();
        let own = self.table.kept().into_iter().chain([pinned]).chain(self.destager.keep());
        own.chain(self.policy.keep()).collect()
    }

    /// Restores the state of a device with that many lines.
    ///
    /// # Errors
    /// When the state is invalid.
    pub fn restore_state(
        &mut self,
        lists: &mut dyn Iterator<Item = Vec<u64>>,
        all: u64,
    ) -> Result<(), String> {
        let lines = [kept::next(lists)?, kept::next(lists)?];
        let pinned = kept::next(lists)?;
        let (pairs, _) = pinned.as_chunks::<2>();
        self.pinned = pairs.iter().map(|[start, end]| *start..*end).collect();
        let ascends = self.pinned.is_sorted_by(|one, other| one.end < other.start);
        let is_sound = self.pinned.iter().all(|it| it.start < it.end && it.end <= all);
        if !ascends || !is_sound || pinned.len() % 2 != 0 {
            return Err("the ranges that never leave are none of this device".to_owned());
        }
        self.table = Table::new(self.table.slots());
        let Places { table, pinned, policy, destager, .. } = self;
        let held = |line: u64| {
            let after = pinned.partition_point(|it| it.end <= line);
            pinned.get(after).is_some_and(|it| it.contains(&line))
        };
        table.restore_state(lines, &held, all)?;
        destager.restore_state([kept::next(lists)?, kept::next(lists)?], table)?;
        policy.restore_state(lists, &|slot| {
            let entry = table.entry(slot);
            matches!(entry.state, State::Clean | State::Dirty) && !entry.held
        })
    }

    /// Checks the map.
    ///
    /// # Errors
    /// On an inconsistency, which is a bug of this program.
    pub fn audit(&self) -> Result<(), String> {
        self.table.audit()?;
        let known = self.policy.audit()?;
        let held = self.table.lines().filter(|it| !it.2.held).count();
        if known as usize != held {
            return Err(format!("the policy knows {known} lines, and {held} are there"));
        }
        self.destager.audit(&self.table)
    }
}
