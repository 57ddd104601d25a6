//! How a write logs what it is about to change, and how the log is read after a cut.

use super::Raid;
use super::log::HEADER;
use super::operation::{Kind, Operation, Place, Purpose, Span, Stage};
use crate::array::redundancy::HoleRule;
use crate::kit::slots::Slot;
use engine::{Lba, Op, Request, Status, Time};

impl Raid {
    /// What an operation writes to a place of its stripe.
    pub(super) fn written_span(&self, operation: &Operation, place: u64) -> Span {
        let chunk = self.geometry.chunk;
        if self.geometry.is_mirror() {
            return operation.span(0, chunk);
        }
        if place < self.geometry.data {
            operation.span(place, chunk)
        } else {
            operation.hull(chunk)
        }
    }

    /// Whether the log has an entry of an operation at a place of its stripe.
    fn is_logged(&self, operation: &Operation, place: u64) -> bool {
        self.has(operation.stripe, place)
            && match self.hole.rule {
                HoleRule::Resync => false,
                HoleRule::Journal => self.is_written(operation, place),
                HoleRule::PartialParity => place == self.geometry.data,
            }
    }

    /// Sectors behind the header: none of a trim, or of a stripe of which nothing is left as it was.
    pub(super) fn logged_sectors(&self, operation: &Operation, place: u64) -> u64 {
        let chunk = self.geometry.chunk;
        let hull = operation.hull(chunk);
        let by_parity = self.hole.rule == HoleRule::PartialParity;
        let is_full = |place: u64| operation.span(place, chunk) == hull;
        if operation.kind == Kind::Trim || by_parity && (0..self.geometry.data).all(is_full) {
            return 0;
        }
        self.written_span(operation, place).sectors()
    }

    /// The log that takes the entry of an operation, and the blocks of the entry; nothing where there is nothing
    /// to log.
    fn entry(&self, operation: &Operation) -> Option<(u32, u64)> {
        let width = self.geometry.width;
        let is_change = matches!(operation.kind, Kind::Write | Kind::Trim);
        if !is_change || !(0..width).any(|place| self.is_logged(operation, place)) {
            return None;
        }
        let parity = self.geometry.data.min(width - 1);
        let log = match self.hole.rule {
            HoleRule::PartialParity => self.geometry.member(operation.stripe, parity) as u32,
            HoleRule::Resync | HoleRule::Journal => 0,
        };
        let sectors = self.logged_sectors(operation, parity);
        Some((log, 1 + sectors.div_ceil(HEADER)))
    }

    /// Logs what a write is about to change, or has it wait for room; false if there is nothing to log.
    pub(super) fn log_first(&mut self, slot: Slot, now: Time) -> bool {
        let operation = self.operations[slot];
        let Some((log, blocks)) = self.entry(&operation) else { return false };
        let Some(room) = self.hole.log.take(log, blocks) else {
            self.operations[slot].stage = Stage::LogFull;
            self.hole.log.waiting.push_back(slot);
            return true;
        };
        (self.operations[slot].log, self.operations[slot].stage) = (Some(room), Stage::Logging);
        for place in 0..self.geometry.width {
            if self.is_logged(&operation, place) {
                let sectors = self.logged_sectors(&operation, place);
                self.submit_log(slot, Purpose::Log, place, room, sectors, now);
            }
        }
        true
    }

    /// Logs in no time what an operation is about to change: the same writes, one operation after the other.
    pub(super) fn log_untimed(&mut self, operation: &Operation) -> Status {
        let Some((log, blocks)) = self.entry(operation) else { return Status::Ok };
        let room = self.hole.log.take(log, blocks).expect("the log of an array at rest has room");
        let mut status = Status::Ok;
        for place in 0..self.geometry.width {
            if self.is_logged(operation, place) {
                let sectors = self.logged_sectors(operation, place);
                let request = self.log_request(Op::Write, room, sectors);
                let member = self.geometry.member(operation.stripe, place) as usize;
                let drive = self.members[member].drive as usize;
                status = status.and(self.drives[drive].serve_untimed(&request));
            }
        }
        self.hole.log.free(room);
        status
    }

    /// Reads from the log what it has of an operation at a place of its stripe.
    pub(super) fn recall(&mut self, slot: Slot, place: u64, now: Time) {
        let operation = self.operations[slot];
        let room = operation.log.expect("what is written again is in the log");
        let most = u64::from(room.blocks - 1) * HEADER;
        let sectors = self.logged_sectors(&operation, place).min(most);
        self.submit_log(slot, Purpose::Recall, place, room, sectors, now);
    }

    fn submit_log(
        &mut self,
        slot: Slot,
        purpose: Purpose,
        place: u64,
        room: Place,
        sectors: u64,
        now: Time,
    ) {
        let operation = self.operations[slot];
        let op = if purpose == Purpose::Log { Op::Write } else { Op::Read };
        let request = self.log_request(op, room, sectors);
        let span = self.written_span(&operation, place);
        let member = self.geometry.member(operation.stripe, place) as usize;
        self.submit_part(slot, purpose, place, span, member, request, now);
    }

    /// The request to a member for an entry with so many sectors behind its header.
    fn log_request(&self, op: Op, room: Place, sectors: u64) -> Request {
        let lba = Lba(self.hole.log.first_sector + u64::from(room.first) * HEADER);
        let fua = op == Op::Write;
        Request { fua, ..Request::new(0, op, lba, (HEADER + sectors) as u32) }
    }

    /// Room has become free.
    pub(super) fn log_what_waits(&mut self, now: Time) {
        for _ in 0..self.hole.log.waiting.len() {
            let Some(slot) = self.hole.log.waiting.pop_front() else { return };
            if !self.log_first(slot, now) {
                // Its parity has gone meanwhile.
                self.operations[slot].stage = Stage::Reading;
                self.settle(slot, now);
            }
        }
    }
}
