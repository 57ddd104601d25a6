//! What an operation reads and writes, by what of its stripe is there.

use super::Raid;
use super::operation::{Kind, Operation, Purpose, Span, Stage};
use crate::array::redundancy::WriteRule;
use crate::kit::slots::Slot;
use engine::{Status, Time};

/// What is read before a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// Nothing: the whole stripe is written, or there is no parity.
    Nothing,
    /// The old values of what is written, and the old parity.
    Old,
    /// The rest of the stripe.
    Others,
    /// All that is there.
    All,
}

/// What of a stripe is missing, and what of that an operation touches.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Missing {
    pub(super) data: u64,
    pub(super) checks: u64,
    touched: u64,
    /// Of each chunk that it touches and that is missing.
    hull: Span,
    /// A chunk that it touches in part is missing.
    in_part: bool,
}

impl Raid {
    pub(super) fn missing(&self, slot: Slot) -> Missing {
        let mut missing = Missing::default();
        let operation = &self.operations[slot];
        if self.is_whole && !operation.around {
            return missing;
        }
        let chunk = self.geometry.chunk;
        let hull =
            if operation.from < operation.to { operation.hull(chunk) } else { Span::default() };
        for place in 0..self.geometry.width {
            if self.reads_from(operation, place) {
                continue;
            }
            if place >= self.geometry.data {
                missing.checks += 1;
                continue;
            }
            missing.data += 1;
            let span = operation.span(place, chunk);
            if !span.is_empty() {
                missing.touched += 1;
                missing.hull = missing.hull.hull(span);
                missing.in_part |= span != hull;
            }
        }
        missing
    }

    /// Whether an operation may read what is at a place of its stripe.
    fn reads_from(&self, operation: &Operation, place: u64) -> bool {
        let (stripe, around) = (operation.stripe, operation.around);
        self.has(stripe, place) && !(around && self.avoids(stripe, place))
    }

    /// Whether the member at a place of a stripe cleans, and is better read around.
    pub(super) fn avoids(&self, stripe: u64, place: u64) -> bool {
        let member = self.geometry.member(stripe, place) as usize;
        self.steering.avoids(self.members[member].drive as usize)
    }

    /// What is missing of a read once members that clean are left alone; nothing, if they cannot be.
    fn missing_around(&mut self, slot: Slot) -> Missing {
        self.operations[slot].around = true;
        let missing = self.missing(slot);
        if missing.touched > 0 && missing.data + missing.checks <= self.geometry.checks() {
            return missing;
        }
        self.operations[slot].around = false;
        Missing::default()
    }

    /// Issues the first parts of an operation that waits for nothing.
    pub(super) fn begin(&mut self, slot: Slot, now: Time) {
        match self.operations[slot].kind {
            Kind::Read => self.begin_read(slot, now),
            Kind::Write if self.geometry.is_mirror() => self.begin_copies(slot, now),
            Kind::Write => self.begin_write(slot, now),
            Kind::Trim => self.go_on_to_writes(slot, now),
            Kind::Rebuild(drive) => self.begin_rebuild(slot, drive, now),
            Kind::Resync => self.begin_resync(slot, now),
            Kind::Flush => {}
        }
    }

    /// What was asked for is lost.
    fn refuse(&mut self, slot: Slot, now: Time) {
        let operation = &mut self.operations[slot];
        operation.status = Status::Unreadable;
        operation.stage = Stage::Ending;
        self.settle(slot, now);
    }

    fn begin_read(&mut self, slot: Slot, now: Time) {
        let operation = self.operations[slot];
        let (chunk, stripe) = (self.geometry.chunk, operation.stripe);
        if self.geometry.is_mirror() {
            let span = operation.span(0, chunk);
            match self.choose_copy(stripe, span) {
                Some(copy) => self.issue(slot, Purpose::Own, copy, span, now),
                None => self.refuse(slot, now),
            }
            return;
        }
        self.operations[slot].around = false;
        let mut missing = self.missing(slot);
        if self.steering.is_by_turns() && missing.touched == 0 {
            missing = self.missing_around(slot);
        }
        if missing.touched == 0 {
            for place in operation.touched(chunk) {
                self.issue(slot, Purpose::Own, place, operation.span(place, chunk), now);
            }
            return;
        }
        if !operation.is_queued {
            // Made of chunks that no write may be changing.
            self.enqueue(slot, now);
            return;
        }
        if missing.data + missing.checks > self.geometry.checks() {
            self.refuse(slot, now);
            return;
        }
        if self.operations[slot].around {
            self.counts.reads_around += missing.touched;
        } else {
            self.counts.degraded_reads += missing.touched;
        }
        self.read_sources(slot, missing.data, missing.hull, now);
    }

    /// Reads all data chunks that are there, what the operation asks of them and what its missing ones
    /// follow from, and as many parity chunks as data chunks are missing.
    pub(super) fn read_sources(&mut self, slot: Slot, unknown: u64, lost: Span, now: Time) {
        let operation = self.operations[slot];
        let (data, width) = (self.geometry.data, self.geometry.width);
        for place in 0..data {
            if self.reads_from(&operation, place) {
                let own = operation.span(place, self.geometry.chunk);
                self.issue(slot, Purpose::Other, place, own.hull(lost), now);
            }
        }
        let mut needed = unknown;
        for place in data..width {
            if needed > 0 && self.reads_from(&operation, place) {
                self.issue(slot, Purpose::Other, place, lost, now);
                needed -= 1;
            }
        }
    }

    fn begin_copies(&mut self, slot: Slot, now: Time) {
        let stripe = self.operations[slot].stripe;
        if !(0..self.geometry.width).any(|copy| self.has(stripe, copy)) {
            self.refuse(slot, now);
            return;
        }
        self.go_on_to_writes(slot, now);
    }

    fn trim_all(&mut self, slot: Slot, now: Time) {
        let operation = self.operations[slot];
        let chunk = self.geometry.chunk;
        for place in 0..self.geometry.width {
            let of_chunk =
                if self.geometry.is_mirror() { 0 } else { place.min(self.geometry.data - 1) };
            if self.has(operation.stripe, place) {
                let span = operation.span(of_chunk, chunk);
                self.issue(slot, Purpose::Write, place, span, now);
            }
        }
    }

    fn begin_write(&mut self, slot: Slot, now: Time) {
        let missing = self.missing(slot);
        let Some(reads) = self.reads_before(slot, missing) else {
            self.refuse(slot, now);
            return;
        };
        let operation = self.operations[slot];
        let (chunk, stripe) = (self.geometry.chunk, operation.stripe);
        let hull = operation.hull(chunk);
        let (counts, checks) = (&mut self.counts, self.geometry.checks());
        match reads {
            Reads::Nothing if missing.checks == checks => counts.writes_plain += 1,
            Reads::Nothing => counts.writes_full += 1,
            Reads::Old => counts.writes_modified += 1,
            Reads::Others => counts.writes_reconstructed += 1,
            Reads::All => counts.writes_recovered += 1,
        }
        let (data, width) = (self.geometry.data, self.geometry.width);
        match reads {
            Reads::Nothing => {}
            Reads::Old => {
                let together = self.rules.together || self.hole.rule.has_log();
                self.operations[slot].stage =
                    if together { Stage::Reading } else { Stage::Chained };
                for place in operation.touched(chunk).chain(data..width) {
                    if self.has(stripe, place) {
                        let span = if place < data { operation.span(place, chunk) } else { hull };
                        self.issue(slot, Purpose::Own, place, span, now);
                    }
                }
            }
            Reads::Others => {
                for place in 0..data {
                    if self.has(stripe, place) {
                        let span = hull.without(operation.span(place, chunk));
                        self.issue(slot, Purpose::Other, place, span, now);
                    }
                }
            }
            Reads::All => {
                for place in 0..width {
                    if self.has(stripe, place) {
                        self.issue(slot, Purpose::Other, place, hull, now);
                    }
                }
            }
        }
        self.settle(slot, now);
    }

    /// What is read before a write; nothing helps where what is written to is lost.
    fn reads_before(&self, slot: Slot, missing: Missing) -> Option<Reads> {
        let operation = &self.operations[slot];
        let chunk = self.geometry.chunk;
        let checks = self.geometry.checks() - missing.checks;
        if missing.touched > 0 && missing.data > checks {
            return None;
        }
        if checks == 0 {
            return Some(Reads::Nothing);
        }
        if missing.touched > 0 {
            let from_others = missing.touched == missing.data && !missing.in_part;
            return Some(if from_others { Reads::Others } else { Reads::All });
        }
        if missing.data > 0 {
            return Some(Reads::Old);
        }
        let hull = operation.hull(chunk);
        let touched = operation.touched(chunk);
        let old = touched.end - touched.start + checks;
        let whole = touched.filter(|place| operation.span(*place, chunk) == hull).count() as u64;
        let others = self.geometry.data - whole;
        if others == 0 {
            return Some(Reads::Nothing);
        }
        if self.is_behind(operation.stripe) {
            // The old parity may be wrong.
            return Some(Reads::Others);
        }
        Some(match self.rules.write {
            WriteRule::ReadModifyWrite => Reads::Old,
            WriteRule::Auto if old <= others => Reads::Old,
            WriteRule::Auto | WriteRule::Reconstruct => Reads::Others,
        })
    }

    /// Writes what is asked, its copies and its parity; of a rebuild the chunk that was lost.
    pub(super) fn write_all(&mut self, slot: Slot, now: Time) {
        let operation = self.operations[slot];
        match operation.kind {
            Kind::Rebuild(drive) => return self.write_rebuilt(slot, drive, now),
            Kind::Resync => return self.write_resynced(slot, now),
            Kind::Trim => return self.trim_all(slot, now),
            Kind::Read | Kind::Write | Kind::Flush => {}
        }
        if !self.hole.dirty.is_empty() {
            self.mend(slot);
        }
        let chunk = self.geometry.chunk;
        if self.geometry.is_mirror() {
            for copy in 0..self.geometry.width {
                if self.has(operation.stripe, copy) {
                    self.issue(slot, Purpose::Write, copy, operation.span(0, chunk), now);
                }
            }
            return;
        }
        for place in operation.touched(chunk) {
            if self.has(operation.stripe, place) {
                self.issue(slot, Purpose::Write, place, operation.span(place, chunk), now);
            }
        }
        self.write_checks(slot, now);
    }

    pub(super) fn write_checks(&mut self, slot: Slot, now: Time) {
        let operation = self.operations[slot];
        let hull = operation.hull(self.geometry.chunk);
        for place in self.geometry.data..self.geometry.width {
            if self.has(operation.stripe, place) {
                self.issue(slot, Purpose::Write, place, hull, now);
            }
        }
    }
}
