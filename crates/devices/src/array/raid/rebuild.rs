//! How a spare comes to hold what a member lost.
//!
//! A rebuild goes through the rows of its member a unit at a time. The stripes of a unit are locked until
//! all of it is there, so that no write can fall between a chunk that is written and a pointer that
//! does not know.

use super::Raid;
use super::operation::{Kind, NONE, Purpose, Span, Stage};
use super::state::{Member, Progress, State};
use crate::kit::slots::Slot;
use engine::{SECTOR_BYTES, Time};

/// The event of a member's next unit is this plus its number.
pub(super) const REBUILD: u32 = 1 << 16;

impl Raid {
    fn progress(&mut self, member: usize) -> Option<&mut Progress> {
        match &mut self.members[member].state {
            State::Rebuilding(progress) => Some(progress),
            State::Working | State::Failed => None,
        }
    }

    /// The member whose place a drive has.
    fn member_of(&self, drive: u32) -> Option<usize> {
        self.members.iter().position(|it| it.drive == drive && !it.has_failed())
    }

    /// Begins the next unit of a member, if it is time.
    pub(super) fn rebuild(&mut self, member: usize, now: Time) {
        let (all, rows, rate) = (self.geometry.rows, self.rebuilding.rows, self.rebuilding.rate);
        let bytes = rows * self.geometry.chunk * SECTOR_BYTES;
        let Some(progress) = self.progress(member) else { return };
        if progress.left > 0
            || !progress.done.is_empty()
            || progress.stopped
            || now < progress.next_at
        {
            return;
        }
        let unit = progress.rows..(progress.rows + rows).min(all);
        progress.left = (unit.end - unit.start) as u32;
        progress.next_at = now + rate.time_ns(bytes);
        for row in unit {
            let stripe = self.geometry.stripe_of(member as u64, row);
            let drive = self.members[member].drive;
            self.start(NONE, Kind::Rebuild(drive), stripe, 0..0, now);
        }
        self.unit_done(member, now);
    }

    /// Reads what the chunk follows from.
    pub(super) fn begin_rebuild(&mut self, slot: Slot, drive: u32, now: Time) {
        let Some(member) = self.member_of(drive) else {
            // The spare has failed meanwhile.
            self.operations[slot].stage = Stage::Ending;
            self.settle(slot, now);
            return;
        };
        let (stripe, all) = (self.operations[slot].stripe, self.geometry.chunk);
        let whole = Span { from: 0, to: all };
        let missing = self.missing(slot);
        if missing.data + missing.checks > self.geometry.checks() {
            if let Some(progress) = self.progress(member) {
                progress.stopped = true;
            }
            self.operations[slot].stage = Stage::Ending;
        } else if self.geometry.is_mirror() {
            if let Some(copy) = self.choose_copy(stripe, whole) {
                self.issue(slot, Purpose::Other, copy, whole, now);
            }
        } else {
            let place = self.geometry.place_of(stripe, member as u64);
            // Of parity itself nothing is unknown but the other missing chunks.
            let unknown = missing.data;
            debug_assert!(place >= self.geometry.data || unknown > 0);
            self.read_sources(slot, unknown, whole, now);
        }
        self.settle(slot, now);
    }

    pub(super) fn write_rebuilt(&mut self, slot: Slot, drive: u32, now: Time) {
        let Some(member) = self.member_of(drive) else { return };
        let place = self.geometry.place_of(self.operations[slot].stripe, member as u64);
        let whole = Span { from: 0, to: self.geometry.chunk };
        self.counts.rebuilt_sectors += whole.sectors();
        self.issue(slot, Purpose::Write, place, whole, now);
    }

    /// A chunk is there. Returns whether its stripe stays locked until the others of the unit are.
    pub(super) fn rebuilt(&mut self, slot: Slot, drive: u32) -> bool {
        let Some(member) = self.member_of(drive) else { return false };
        let Some(progress) = self.progress(member) else { return false };
        progress.left -= 1;
        progress.done.push(slot);
        if progress.left == 0 {
            self.units_done.push(member);
        }
        if self.geometry.checks() == 1 {
            // It fits the others, right or wrong.
            self.hole.dirty.remove(&self.operations[slot].stripe);
        }
        true
    }

    /// Finishes the units that are rebuilt completely.
    pub(super) fn end_units(&mut self, now: Time) {
        while let Some(member) = self.units_done.pop() {
            self.unit_done(member, now);
        }
        if self.hole.resync.is_some() {
            self.go_on_with_resync(now);
        }
    }

    fn unit_done(&mut self, member: usize, now: Time) {
        let all = self.geometry.rows;
        let Some(progress) = self.progress(member) else { return };
        if progress.left > 0 || progress.done.is_empty() {
            return;
        }
        let done = std::mem::take(&mut progress.done);
        if !progress.stopped {
            progress.rows += done.len() as u64;
        }
        let (is_over, began) = (progress.rows == all, progress.began);
        let (next_at, stopped) = (progress.next_at.max(now), progress.stopped);
        if is_over {
            self.members[member].state = State::Working;
            self.fate.rebuilds += 1;
            self.fate.rebuild_ns += now - began;
            self.is_whole = self.members.iter().all(Member::is_whole);
        } else if !stopped {
            self.events.push(next_at, REBUILD + member as u32);
        }
        for slot in done {
            self.release(slot, now);
        }
    }

    /// Unlocks the stripe of a rebuild that is over.
    pub(super) fn release(&mut self, slot: Slot, now: Time) {
        #[cfg(test)]
        self.log_finished(slot);
        self.dequeue(slot, now);
        self.operations.remove(slot);
    }

    /// The operations of a rebuild that hold their stripes, when its spare fails.
    pub(super) fn abandon(&mut self, member: usize) -> Vec<Slot> {
        self.progress(member).map(|it| std::mem::take(&mut it.done)).unwrap_or_default()
    }

    /// How much of all that failed members held is on spares, and how long that took or takes.
    pub(super) fn rebuild_progress(&self, now: Time) -> (f64, f64) {
        let mut ns = self.fate.rebuild_ns;
        let (mut rows, mut of) = (self.fate.rebuilds * self.geometry.rows, self.fate.rebuilds);
        for member in &self.members {
            if let State::Rebuilding(progress) = &member.state {
                ns += now - progress.began.min(now);
                rows += progress.rows;
                of += 1;
            }
        }
        (rows as f64 / (of * self.geometry.rows).max(1) as f64, ns as f64 / 1e9)
    }
}
