//! Operations in progress: the reads of each, the dependent writes, and its end.
//!
//! Stateless functions derive reads and writes from the available chunks (`reads.rs`, `writes.rs`,
//! `repairs.rs`, `logging.rs`). This file tracks outstanding parts.
//!
//! A data chunk is written as soon as its old value has been read. If another member then fails
//! before its own old value is read, the operation cannot restart. The missing value is
//! reconstructed from the other chunks instead (`reads::read_around`).

mod cuts;
mod logging;
mod reads;
mod repairs;
#[cfg(test)]
mod tests;
mod writes;

use super::message::{Issue, Kind, Message, Place, Purpose, Span, Start};
use super::operation::{Operation, Rules, Stage, Want};
use super::sight::Sight;
use super::stripes::Claim;
use super::torn::Cut;
use crate::members::Part;
use engine::{Completion, Lba, Op, Request, Time, Xoshiro256};
use reads::Reading;
use ssd::device::kit::slots::{Slot, Slots};

pub use cuts::CutPart;
#[cfg(test)]
pub use logging::is_header;

/// Operation counts since the last reset.
#[derive(Debug, Clone, Default)]
pub struct PlanCounts {
    /// Stripe writes by kind of preceding reads.
    pub writes_full: u64,
    pub writes_plain: u64,
    pub writes_modified: u64,
    pub writes_reconstructed: u64,
    pub writes_recovered: u64,
    pub degraded_reads: u64,
    pub reads_around: u64,
    pub parity_reads: u64,
    pub parity_writes: u64,
    pub rebuilt_sectors: u64,
}

/// The operations in progress.
#[derive(Clone)]
pub struct Plans {
    operations: Slots<Operation>,
    rules: Rules,
    /// Random numbers for the choice of a copy.
    random: Xoshiro256,
    turn: u64,
    counts: PlanCounts,
    /// Parts of the current operation; empty between calls.
    wants: Vec<Want>,
}

impl Plans {
    pub fn new(rules: Rules, random: Xoshiro256) -> Plans {
        let (operations, counts, wants) = (Slots::new(), PlanCounts::default(), Vec::new());
        Plans { operations, rules, random, turn: 0, counts, wants }
    }

    pub fn counts(&self) -> &PlanCounts {
        &self.counts
    }

    pub fn reset_counts(&mut self) {
        self.counts = PlanCounts::default();
    }

    #[cfg(test)]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    pub fn of(&self, slot: Slot) -> &Operation {
        &self.operations[slot]
    }

    /// Slots of the operations in progress.
    pub fn taken(&self) -> Vec<Slot> {
        self.operations.taken()
    }

    /// Handles a power cut: drops all operations.
    pub fn clear(&mut self) {
        self.operations = Slots::new();
    }

    // ---- an operation begins ------------------------------------------------------------------

    /// Adds an operation, with its request if any. Returns its slot.
    pub fn start(&mut self, start: Start, asked: Option<&Request>, now: Time) -> Slot {
        let operation = Operation::new(start, now);
        self.operations.insert(asked.map_or(operation, |asked| operation.asked(asked)))
    }

    /// Claim of an operation on its stripe.
    pub fn claim(&mut self, slot: Slot) -> Claim {
        self.operations[slot].claim()
    }

    /// Merges a write with a preceding one in the queue.
    pub fn join(&mut self, slot: Slot, other: Slot) {
        let mut first = self.operations[slot];
        self.operations[other].join(other, &mut first);
        self.operations[slot] = first;
    }

    /// Flushes all working members.
    pub fn flush(
        &mut self,
        owner: Slot,
        (asked, at): (&Request, Time),
        sight: Sight<'_>,
        out: &mut Vec<Message>,
    ) {
        let start = Start { owner, kind: Kind::Flush, stripe: 0, from: 0, to: 0, log: None };
        let slot = self.start(start, Some(asked), at);
        self.operations[slot].go_to(Stage::Ending);
        for member in 0..sight.members.len() {
            if !sight.members.has_failed(member) {
                let want = (Purpose::Write, 0, Span::default());
                self.submit(slot, want, member, *asked, out);
            }
        }
        self.settle(slot, sight, out);
    }

    /// Submits the first parts of an operation.
    pub fn begin(&mut self, slot: Slot, sight: Sight<'_>, out: &mut Vec<Message>) {
        match self.operations[slot].kind() {
            Kind::Read => {
                if !self.begin_read(slot, sight, out) {
                    return;
                }
            }
            Kind::Write if sight.geometry.is_mirror() => {
                let operation = &mut self.operations[slot];
                let stripe = operation.stripe();
                let is_there = |copy| sight.has(stripe, copy);
                if !(0..sight.geometry.width).any(is_there) {
                    operation.refuse();
                }
            }
            Kind::Write => self.begin_write(slot, sight, out),
            Kind::Trim => return self.write_or_log(slot, sight, out),
            Kind::Rebuild(drive) => self.begin_rebuild(slot, drive, sight, out),
            Kind::Resync => {
                let operation = &mut self.operations[slot];
                if !repairs::resync(operation, &self.rules, sight, &mut self.wants) {
                    operation.go_to(Stage::Ending);
                }
                self.issue(slot, sight, out);
            }
            Kind::Flush => return,
        }
        self.settle(slot, sight, out);
    }

    /// Starts a read. Returns false if it must wait for its stripe.
    fn begin_read(&mut self, slot: Slot, sight: Sight<'_>, out: &mut Vec<Message>) -> bool {
        let operation = &mut self.operations[slot];
        if sight.geometry.is_mirror() {
            let (stripe, span) = (operation.stripe(), operation.span(0, sight.geometry.chunk));
            match self.choose_copy(stripe, span, sight) {
                Some(copy) => self.wants.push((Purpose::Own, copy, span)),
                None => self.operations[slot].refuse(),
            }
            self.issue(slot, sight, out);
            return true;
        }
        let (reading, around) = reads::read(operation, sight, &mut self.wants);
        match reading {
            Reading::AsAsked => {}
            Reading::Lost => operation.refuse(),
            // Reconstruction needs chunks that no write is changing.
            Reading::InTurn => {
                out.push(Message::Queue(slot));
                return false;
            }
            Reading::FromOthers(chunks) if around => self.counts.reads_around += chunks,
            Reading::FromOthers(chunks) => self.counts.degraded_reads += chunks,
        }
        self.issue(slot, sight, out);
        true
    }

    /// Copy of a mirror to read from, if any is available.
    #[inline]
    pub fn choose_copy(&mut self, stripe: u64, span: Span, sight: Sight<'_>) -> Option<u64> {
        let copies = &mut (&mut self.random, &mut self.turn);
        reads::choose_copy(self.rules.read_copy, copies, sight, stripe, span)
    }

    fn begin_write(&mut self, slot: Slot, sight: Sight<'_>, out: &mut Vec<Message>) {
        let operation = &mut self.operations[slot];
        let Some(reads) = writes::reads_before(operation, &self.rules, sight) else {
            operation.refuse();
            return;
        };
        let counts = &mut self.counts;
        match reads {
            writes::Reads::NothingPlain => counts.writes_plain += 1,
            writes::Reads::Nothing => counts.writes_full += 1,
            writes::Reads::Old => counts.writes_modified += 1,
            writes::Reads::Others => counts.writes_reconstructed += 1,
            writes::Reads::All => counts.writes_recovered += 1,
        }
        if reads == writes::Reads::Old && !self.rules.together && !self.rules.hole.has_log() {
            operation.go_to(Stage::Chained);
        }
        writes::read(operation, reads, sight, &mut self.wants);
        self.issue(slot, sight, out);
    }

    /// Reads the chunks from which a spare's chunk is rebuilt.
    fn begin_rebuild(&mut self, slot: Slot, drive: u32, sight: Sight<'_>, out: &mut Vec<Message>) {
        let operation = &mut self.operations[slot];
        let Some(member) = sight.members.member_of(drive) else {
            // The spare has failed since.
            operation.go_to(Stage::Ending);
            return;
        };
        if sight.geometry.is_mirror() {
            let (stripe, whole) = (operation.stripe(), sight.whole());
            if reads::missing(operation, sight).is_too_much(sight) {
                operation.go_to(Stage::Ending);
                out.push(Message::Stop(drive));
            } else if let Some(copy) = self.choose_copy(stripe, whole, sight) {
                self.wants.push((Purpose::Other, copy, whole));
            }
        } else if !repairs::rebuild(operation, member, sight, &mut self.wants) {
            operation.go_to(Stage::Ending);
            out.push(Message::Stop(drive));
        }
        self.issue(slot, sight, out);
    }

    // ---- continuation ------------------------------------------------------------------------

    /// Continues an operation without outstanding parts.
    pub fn settle(&mut self, slot: Slot, sight: Sight<'_>, out: &mut Vec<Message>) {
        loop {
            let operation = &mut self.operations[slot];
            let (reads, writes) = operation.outstanding();
            if reads {
                return;
            }
            match operation.stage() {
                Stage::Again if !writes => {
                    operation.go_to(Stage::Reading);
                    return out.push(Message::Begin(slot));
                }
                Stage::Chained => {
                    operation.go_to(Stage::Ending);
                    writes::write_checks(operation, sight, &mut self.wants);
                    self.issue(slot, sight, out);
                }
                Stage::Reading => match operation.kind() {
                    Kind::Write | Kind::Rebuild(_) | Kind::Resync => {
                        return self.write_or_log(slot, sight, out);
                    }
                    Kind::Read | Kind::Trim | Kind::Flush => {
                        return out.push(Message::Finish(slot));
                    }
                },
                Stage::Logging if !writes => {
                    self.write_all(slot, sight, out);
                }
                Stage::Ending if !writes => {
                    return out.push(Message::Finish(slot));
                }
                Stage::Again | Stage::LogFull | Stage::Logging | Stage::Ending => return,
            }
        }
    }

    /// Continues a write after its reads: logs or writes.
    fn write_or_log(&mut self, slot: Slot, sight: Sight<'_>, out: &mut Vec<Message>) {
        if self.rules.hole.has_log() {
            return out.push(Message::Log(slot));
        }
        self.write(slot, sight, out);
    }

    /// Submits the writes of an operation.
    pub fn write(&mut self, slot: Slot, sight: Sight<'_>, out: &mut Vec<Message>) {
        self.write_all(slot, sight, out);
        if !self.operations[slot].outstanding().1 {
            out.push(Message::Finish(slot));
        }
    }

    /// Writes the requested data, and copies or parity; a rebuild writes the lost chunk.
    fn write_all(&mut self, slot: Slot, sight: Sight<'_>, out: &mut Vec<Message>) {
        let operation = &mut self.operations[slot];
        operation.go_to(Stage::Ending);
        let stripe = operation.stripe();
        match operation.kind() {
            Kind::Rebuild(drive) => {
                if let Some(member) = sight.members.member_of(drive) {
                    let place = sight.geometry.place_of(stripe, member as u64);
                    self.counts.rebuilt_sectors += sight.whole().sectors();
                    self.wants.push((Purpose::Write, place, sight.whole()));
                }
            }
            Kind::Resync => {
                if repairs::write_resynced(operation, &self.rules, sight, &mut self.wants) {
                    out.push(Message::Anew(stripe));
                }
            }
            Kind::Trim => writes::trim(operation, sight, &mut self.wants),
            Kind::Read | Kind::Write | Kind::Flush => {
                if sight.is_mended(stripe) {
                    let hull = operation.hull(sight.geometry.chunk);
                    out.push(Message::Mend(stripe, hull));
                }
                writes::write(operation, sight, &mut self.wants);
            }
        }
        self.issue(slot, sight, out);
    }

    /// Log of an operation's entry, and the entry's blocks; `None` if there is nothing to log.
    pub fn entry(&self, operation: &Operation, sight: Sight<'_>) -> Option<(u32, u64)> {
        logging::entry(operation, &self.rules, sight)
    }

    /// Writes an operation's log entry to the allocated space.
    pub fn log_in(&mut self, slot: Slot, room: Place, sight: Sight<'_>, out: &mut Vec<Message>) {
        let operation = &mut self.operations[slot];
        operation.log_in(room);
        logging::log(operation, &self.rules, sight, &mut self.wants);
        self.issue(slot, sight, out);
    }

    /// Lets an operation wait for log space.
    pub fn wait_for_log(&mut self, slot: Slot) {
        self.operations[slot].go_to(Stage::LogFull);
    }

    /// Ends the wait of an operation that no longer needs a log.
    pub fn needs_no_log(&mut self, slot: Slot, sight: Sight<'_>, out: &mut Vec<Message>) {
        self.operations[slot].go_to(Stage::Reading);
        self.settle(slot, sight, out);
    }

    // ---- parts -------------------------------------------------------------------------------

    /// Submits the prepared parts, except empty ones.
    fn issue(&mut self, slot: Slot, sight: Sight<'_>, out: &mut Vec<Message>) {
        let mut wants = std::mem::take(&mut self.wants);
        for want in wants.drain(..) {
            let (purpose, place, span) = want;
            let operation = &self.operations[slot];
            let (stripe, kind) = (operation.stripe(), operation.kind());
            let member = sight.geometry.member(stripe, place) as usize;
            if matches!(purpose, Purpose::Log | Purpose::Recall) {
                let op = if purpose == Purpose::Log { Op::Write } else { Op::Read };
                let request = logging::request(operation, place, op, &self.rules, sight);
                self.submit(slot, want, member, request, out);
                continue;
            }
            if span.is_empty() {
                continue;
            }
            let op = match (purpose, kind) {
                (Purpose::Write, Kind::Trim) => Op::Trim,
                (Purpose::Write, _) => Op::Write,
                _ => Op::Read,
            };
            let lba = Lba(sight.geometry.row(stripe) * sight.geometry.chunk + span.from);
            let (queue, fua, handle) = operation.demands();
            let fua = fua && op == Op::Write;
            let sectors = span.sectors() as u32;
            let request = Request { queue, fua, handle, ..Request::new(0, op, lba, sectors) };
            if place >= sight.geometry.data && !sight.geometry.is_mirror() && kind == Kind::Write {
                self.counts.parity_reads += u64::from(op == Op::Read);
                self.counts.parity_writes += u64::from(op == Op::Write);
            }
            self.submit(slot, want, member, request, out);
        }
        self.wants = wants;
    }

    fn submit(
        &mut self,
        slot: Slot,
        (purpose, place, span): Want,
        member: usize,
        request: Request,
        out: &mut Vec<Message>,
    ) {
        self.operations[slot].issued(purpose);
        out.push(Message::Issue(Issue { slot, purpose, place, span, member, request }));
    }

    /// Handles a member's completion of a part.
    pub fn part_done(
        &mut self,
        part: &Part,
        answer: &Completion,
        sight: Sight<'_>,
        out: &mut Vec<Message>,
    ) {
        let slot = part.operation;
        let operation = &mut self.operations[slot];
        operation.done(part.purpose, part.before, answer.breakdown, answer.status);
        let chained = operation.stage() == Stage::Chained && part.purpose == Purpose::Own;
        let is_data = part.place < sight.geometry.data;
        if chained && is_data && sight.has(operation.stripe(), part.place) {
            self.wants.push((Purpose::Write, part.place, part.span));
            self.issue(slot, sight, out);
        }
        self.settle(slot, sight, out);
    }

    /// State of an operation after a power cut, with these parts outstanding.
    pub fn cut(&self, slot: Slot, parts: &[CutPart], sight: Sight<'_>) -> Option<Cut> {
        cuts::cut(&self.operations[slot], parts, sight)
    }

    /// Untimed member requests that log an operation's changes.
    pub fn log_untimed(
        &self,
        operation: &Operation,
        room: Place,
        sight: Sight<'_>,
    ) -> Vec<(usize, Request)> {
        logging::untimed(operation, room, &self.rules, sight)
    }

    /// Handles the loss of a part with its drive.
    pub fn lose(&mut self, part: &Part, data: u64) {
        let span = (part.place < data).then_some(part.span);
        self.operations[part.operation].lose(part.purpose, span);
    }

    /// Continues an operation that has lost a part.
    pub fn recover(&mut self, slot: Slot, sight: Sight<'_>, out: &mut Vec<Message>) {
        let operation = &mut self.operations[slot];
        let lost = operation.take_lost();
        if !lost.is_empty() {
            if reads::missing(operation, sight).is_too_much(sight) {
                operation.spoil();
            } else {
                reads::read_around(operation, lost, sight, &mut self.wants);
                self.issue(slot, sight, out);
            }
        }
        self.settle(slot, sight, out);
    }

    /// Removes a completed operation.
    pub fn remove(&mut self, slot: Slot) -> Operation {
        self.operations.remove(slot)
    }
}
