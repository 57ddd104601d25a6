//! Failing members: their outstanding parts, lost data, and the spare that replaces them.

use super::Raid;
use super::operation::{Purpose, Span, Stage};
use super::rebuild::REBUILD;
use super::state::{Member, State};
use crate::array::redundancy::Failures;
use crate::kit::slots::Slot;
use engine::{Status, Time};
use options::Invalid;

/// The event of a member's failure is this plus its number.
pub(super) const FAILURE: u32 = 1 << 17;

impl Raid {
    /// Has members fail at their times; those of the start at once.
    pub(super) fn schedule_failures(&mut self, failures: &Failures) -> Result<(), Invalid> {
        let count = self.members.len();
        for (member, at) in &failures.0 {
            if *member as usize >= count {
                let problem = format!("there is no member {member}; they are 0 to {}", count - 1);
                return Err(Invalid::new(&["device.failed", "device.members"], problem));
            }
            match at.ns() {
                0 => self.fail(*member as usize, 0),
                at => {
                    self.events.push(at, FAILURE + member);
                }
            }
        }
        Ok(())
    }

    /// A member fails, with all that it holds and is doing.
    pub(super) fn fail(&mut self, member: usize, now: Time) {
        if self.members[member].has_failed() {
            return;
        }
        let drive = self.members[member].drive;
        let held = self.abandon(member);
        self.members[member].state = State::Failed;
        self.is_whole = false;
        self.fate.failures += 1;
        self.fate.lost_sectors = self.fate.lost_sectors.max(self.lost_sectors());
        self.count_wrong();
        let mut touched = Vec::new();
        for id in 0..self.parts.len() as Slot {
            if self.parts[id].is_live && self.parts[id].drive == drive {
                touched.push(self.lose(id));
            }
        }
        let next = self.members.len() + self.spares_used;
        if next < self.drives.len() {
            self.spares_used += 1;
            self.members[member] = Member::rebuilding(next as u32, now);
            self.events.push(now, REBUILD + member as u32);
        }
        for slot in held {
            self.release(slot, now);
        }
        touched.sort_unstable();
        touched.dedup();
        for slot in touched {
            self.recover(slot, now);
        }
        self.end_units(now);
    }

    /// Takes back a part whose drive has failed. Returns its operation.
    fn lose(&mut self, id: Slot) -> Slot {
        self.parts[id].is_live = false;
        let part = self.parts.remove(id);
        let operation = &mut self.operations[part.operation];
        if part.purpose.is_write() {
            operation.writes_left -= 1;
            return part.operation;
        }
        operation.reads_left -= 1;
        if operation.stage == Stage::Chained {
            // Values read before may have been overwritten, so the operation cannot restart.
            if part.purpose == Purpose::Own && part.place < self.geometry.data {
                operation.lost = operation.lost.hull(part.span);
            }
        } else {
            operation.stage = Stage::Again;
        }
        part.operation
    }

    /// Continues an operation that has lost a part.
    fn recover(&mut self, slot: Slot, now: Time) {
        let operation = self.operations[slot];
        if !operation.lost.is_empty() {
            self.operations[slot].lost = Span::default();
            self.read_around(slot, operation.lost, now);
        }
        self.settle(slot, now);
    }

    /// Reads what an old value follows from that went with its member: all of the stripe that the
    /// operation has not read itself.
    fn read_around(&mut self, slot: Slot, lost: Span, now: Time) {
        let operation = self.operations[slot];
        let missing = self.missing(slot);
        if missing.data + missing.checks > self.geometry.checks() {
            self.operations[slot].status = Status::Unreadable;
            return;
        }
        for place in 0..self.geometry.data {
            if self.has(operation.stripe, place) {
                let span = lost.without(operation.span(place, self.geometry.chunk));
                self.issue(slot, Purpose::Other, place, span, now);
            }
        }
    }

    /// Sectors of data that cannot be made of what is there.
    fn lost_sectors(&self) -> u64 {
        let rows = self.geometry.rows;
        let mut bounds: Vec<u64> = self.members.iter().map(|it| it.rows(rows)).collect();
        bounds.extend([0, rows]);
        bounds.sort_unstable();
        bounds.dedup();
        let stripes_of_row = self.geometry.stripes() / rows;
        let chunks: u64 = bounds
            .windows(2)
            .map(|bound| self.lost_chunks(bound[0] * stripes_of_row, bound[1] * stripes_of_row))
            .sum();
        chunks * self.geometry.chunk
    }

    /// Data chunks lost of a range of stripes in which every member has all or nothing.
    fn lost_chunks(&self, from: u64, to: u64) -> u64 {
        let of = |stripe: u64| {
            let missing = |places: std::ops::Range<u64>| {
                places.filter(|place| !self.has(stripe, *place)).count() as u64
            };
            let (data, width) = (self.geometry.data, self.geometry.width);
            let is_lost = missing(0..width) > self.geometry.checks();
            if is_lost { missing(0..data) } else { 0 }
        };
        match self.geometry.period() {
            Some(period) if to - from > period => {
                let periods = (to - from) / period;
                let each: u64 = (from..from + period).map(of).sum();
                periods * each + (from + periods * period..to).map(of).sum::<u64>()
            }
            _ => (from..to).map(of).sum(),
        }
    }
}
