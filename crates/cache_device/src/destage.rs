//! Selection and timing of write-back. A run of adjacent dirty lines is read from the fast device
//! and written to the backing device. If the backing device may lose completed writes, lines become
//! clean only after its flush.

use super::config::Destage;
use super::lists::{Lists, NONE, Slot};
use super::planted::Slip;
use super::table::{State, Table};
use engine::{Status, Time};
use std::ops::Range;

/// Maximum number of lines skipped in a search.
const LOOKED_AT: u32 = 64;

/// Adjacent lines in write-back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub first: u64,
    pub count: u32,
    /// Outstanding reads.
    pub reads: u32,
    /// True after a failed read or write; the lines stay dirty.
    pub failed: bool,
}

impl Run {
    pub fn lines(&self) -> Range<u64> {
        self.first..self.first + u64::from(self.count)
    }

    /// Notes the status of one of its requests.
    pub fn note(&mut self, status: Status) {
        self.failed |= !status.is_ok();
    }

    /// Handles a completed read. Returns true if it was the last one.
    pub fn read_ended(&mut self, status: Status) -> bool {
        self.note(status);
        self.reads -= 1;
        self.reads == 0
    }
}

/// Dirty lines waiting for write-back, its rules, and its triggers.
#[derive(Debug, Clone)]
pub struct Destager {
    /// Dirty lines, oldest first.
    dirty: Lists,
    since: Vec<Time>,
    idle: Option<Time>,
    age: Option<Time>,
    depth: u32,
    longest: u32,
    /// Number of dirty lines that starts write-back, and number that ends it.
    high: u32,
    low: u32,
    draining: bool,
    /// True while a request waits for room.
    wants_room: bool,
    /// True while all lines are written back.
    wants_all: bool,
    under_way: u32,
    /// Time of the host's last submission or completion.
    last_host: Time,
}

impl Destager {
    pub fn new(config: &Destage, slots: u32) -> Destager {
        let share = |share: f64| (f64::from(slots) * share) as u32;
        let age = config.max_age.ns();
        Destager {
            dirty: Lists::new(1, slots),
            since: if age.is_some() { memory::zeroed(slots as usize + 1) } else { Vec::new() },
            idle: config.pause.ns(),
            age,
            depth: config.in_flight,
            longest: config.run_lines,
            high: share(config.high),
            low: share(config.low),
            draining: false,
            wants_room: false,
            wants_all: false,
            under_way: 0,
            last_host: 0,
        }
    }

    #[inline]
    pub fn host_acts(&mut self, now: Time) {
        self.last_host = now;
    }

    /// Adds a dirty line.
    pub fn add(&mut self, slot: Slot, now: Time) {
        if self.dirty.list_of(slot).is_none() {
            if self.dirty.len(0) == 0 {
                // Triggers end when no dirty line is left.
                (self.draining, self.wants_all) = (false, false);
            }
            self.dirty.push(0, slot);
            if self.age.is_some() {
                self.since[slot as usize] = now;
            }
        }
    }

    /// Removes a line.
    pub fn remove(&mut self, slot: Slot) {
        self.dirty.remove(slot);
    }

    pub fn want_room(&mut self) {
        self.wants_room = true;
    }

    pub fn has_room(&mut self) {
        self.wants_room = false;
    }

    /// Requests write-back of all dirty lines, or cancels the request.
    pub fn want_all(&mut self, wants: bool) {
        self.wants_all = wants;
    }

    /// True if dirty lines wait.
    #[inline]
    pub fn has_dirty(&self) -> bool {
        self.dirty.len(0) > 0
    }

    /// True above the high watermark.
    pub fn is_over_high(&self) -> bool {
        self.dirty.len(0) > self.high
    }

    pub fn is_at_low(&self) -> bool {
        self.dirty.len(0) <= self.low
    }

    /// Number of waiting dirty lines, and of runs in progress.
    pub fn waiting(&self) -> (u32, u32) {
        (self.dirty.len(0), self.under_way)
    }

    fn age_at(&self) -> Option<Time> {
        let oldest = self.dirty.oldest(0);
        let age = self.age.filter(|_| oldest != NONE)?;
        Some(self.since[oldest as usize] + age)
    }

    fn idle_at(&self, host_waits: bool) -> Option<Time> {
        self.idle.filter(|_| !host_waits && self.dirty.len(0) > 0).map(|idle| self.last_host + idle)
    }

    /// Time of the next write-back due to idleness or age.
    #[inline]
    pub fn next_at(&self, host_waits: bool) -> Option<Time> {
        if self.dirty.len(0) == 0 || self.under_way >= self.depth {
            return None;
        }
        match (self.age_at(), self.idle_at(host_waits)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    fn wants(&mut self, host_waits: bool, now: Time) -> bool {
        let dirty = self.dirty.len(0);
        if dirty > self.high {
            self.draining = true;
        } else if dirty <= self.low {
            self.draining = false;
        }
        let due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        dirty > 0
            && self.under_way < self.depth
            && (self.draining
                || self.wants_room
                || self.wants_all
                || due(self.idle_at(host_waits))
                || due(self.age_at()))
    }

    /// The next run to write back, if any: the line that has been dirty longest, with its dirty
    /// neighbours.
    #[inline]
    pub fn begin(&mut self, table: &mut Table, host_waits: bool, now: Time) -> Option<Run> {
        if self.dirty.len(0) == 0 {
            return None;
        }
        self.begin_dirty(table, host_waits, now)
    }

    fn begin_dirty(&mut self, table: &mut Table, host_waits: bool, now: Time) -> Option<Run> {
        if !self.wants(host_waits, now) {
            return None;
        }
        let oldest = self.dirty.first(0, LOOKED_AT, &mut |slot| !table.entry(slot).writing)?;
        let line = table.line(oldest);
        let may = |line: u64| {
            let slot = table.find(line);
            let entry = table.entry(slot);
            slot != NONE && entry.state == State::Dirty && !entry.destaging && !entry.writing
        };
        let (mut first, mut end) = (line, line + 1);
        let longest = u64::from(self.longest);
        while end - first < longest && first > 0 && may(first - 1) {
            first -= 1;
        }
        while end - first < longest && may(end) {
            end += 1;
        }
        for line in first..end {
            let slot = table.find(line);
            table.set_destaging(slot, true);
            self.dirty.remove(slot);
        }
        self.under_way += 1;
        Some(Run { first, count: (end - first) as u32, reads: 0, failed: false })
    }

    /// Ends a run: on success its lines become clean, except lines written in the meantime.
    pub fn end(&mut self, run: &Run, table: &mut Table, now: Time) {
        self.under_way -= 1;
        for line in run.lines() {
            let slot = table.find(line);
            let rewritten = table.entry(slot).rewritten && !Slip::RewrittenForgotten.is_planted();
            let stays = rewritten || run.failed;
            table.set_destaging(slot, false);
            if stays {
                self.add(slot, now);
            } else {
                table.set(slot, State::Clean);
            }
        }
    }

    /// Saved state: the dirty lines, oldest first; and the active triggers: high watermark,
    /// write-back of all lines.
    pub fn keep(&self) -> [Vec<u64>; 2] {
        [self.dirty.kept(0), vec![u64::from(self.draining), u64::from(self.wants_all)]]
    }

    /// Restores the state of an empty destager.
    ///
    /// # Errors
    /// When the state is invalid.
    pub fn restore_state(
        &mut self,
        [dirty, begun]: [Vec<u64>; 2],
        table: &Table,
    ) -> Result<(), String> {
        let is_dirty = |slot: Slot| table.entry(slot).state == State::Dirty;
        self.dirty.restore_state(0, &dirty, &is_dirty)?;
        let [draining, all] = begun.try_into().map_err(|_| "a list is cut short".to_owned())?;
        (self.draining, self.wants_all) = (draining > 0, all > 0);
        Ok(())
    }

    /// Handles a power cut: drops all runs, and collects the dirty lines from the map.
    pub fn lose_power(&mut self, table: &Table, now: Time) {
        self.under_way = 0;
        (self.draining, self.wants_room, self.wants_all) = (false, false, false);
        let dirty: Vec<Slot> =
            table.lines().filter(|it| it.2.state == State::Dirty).map(|it| it.0).collect();
        for slot in dirty {
            self.add(slot, now);
        }
        self.last_host = now;
    }

    /// Checks that every dirty line is listed.
    ///
    /// # Errors
    /// On an inconsistency, which is a bug of this program.
    pub fn audit(&self, table: &Table) -> Result<(), String> {
        for (slot, line, entry) in table.lines() {
            let waits = self.dirty.list_of(slot).is_some();
            let is_dirty = entry.state == State::Dirty;
            if waits != (is_dirty && !entry.destaging) {
                return Err(format!(
                    "line {line} is dirty and not to be written, or the other way"
                ));
            }
        }
        Ok(())
    }
}
