//! The parts of an operation: requests to members, and what follows when one is answered.

use super::Raid;
use super::operation::{Kind, NONE, Part, Purpose, Span, Stage};
use crate::array::redundancy::ReadCopy;
use crate::kit::slots::Slot;
use engine::{Completion, Lba, Op, Random as _, Request, Time};

impl Raid {
    /// Whether what a stripe has at a place can be read.
    pub(super) fn has(&self, stripe: u64, place: u64) -> bool {
        let member = self.geometry.member(stripe, place) as usize;
        self.members[member].holds(self.geometry.row(stripe))
    }

    /// Asks the member at a place of the operation's stripe.
    pub(super) fn issue(
        &mut self,
        slot: Slot,
        purpose: Purpose,
        place: u64,
        span: Span,
        now: Time,
    ) {
        if span.is_empty() {
            return;
        }
        let operation = &self.operations[slot];
        let (stripe, kind, owner) = (operation.stripe, operation.kind, operation.owner);
        let op = match (purpose, kind) {
            (Purpose::Write, Kind::Trim) => Op::Trim,
            (Purpose::Write | Purpose::Log, _) => Op::Write,
            _ => Op::Read,
        };
        let lba = Lba(self.geometry.row(stripe) * self.geometry.chunk + span.from);
        let mut request = Request::new(0, op, lba, span.sectors() as u32);
        if owner != NONE {
            let asked = &self.active[owner].request;
            (request.queue, request.fua) = (asked.queue, asked.fua && op == Op::Write);
        }
        let member = self.geometry.member(stripe, place) as usize;
        if place >= self.geometry.data && !self.geometry.is_mirror() && kind == Kind::Write {
            self.counts.parity_reads += u64::from(op == Op::Read);
            self.counts.parity_writes += u64::from(op == Op::Write);
        }
        self.submit_part(slot, purpose, place, span, member, request, now);
    }

    #[expect(clippy::too_many_arguments, reason = "a part is all of these")]
    pub(super) fn submit_part(
        &mut self,
        slot: Slot,
        purpose: Purpose,
        place: u64,
        span: Span,
        member: usize,
        request: Request,
        now: Time,
    ) {
        let before = self.operations[slot].path_at(now);
        let drive = self.members[member].drive;
        let part = Part { operation: slot, purpose, place, span, drive, before, is_live: true };
        let id = self.parts.insert(part);
        let operation = &mut self.operations[slot];
        if purpose.is_write() {
            operation.writes_left += 1;
        } else {
            operation.reads_left += 1;
        }
        #[cfg(test)]
        {
            let operation = self.operations[slot];
            self.log.push(super::symbolic::Event::Issued { id, part, operation, member });
        }
        let asked = &mut self.members[member];
        asked.queue += 1;
        asked.head = request.lba.0 + u64::from(request.sectors);
        self.counts.member_requests[member] += 1;
        self.drives[drive as usize].submit(now, Request { id: u64::from(id), ..request });
    }

    /// A member has answered.
    pub(super) fn part_done(&mut self, member: usize, answer: &Completion, now: Time) {
        self.members[member].queue -= 1;
        let id = answer.request.id as Slot;
        self.parts[id].is_live = false;
        let Part { operation: slot, purpose, place, span, before, .. } = self.parts.remove(id);
        #[cfg(test)]
        self.log.push(super::symbolic::Event::Done { id });
        let operation = &mut self.operations[slot];
        operation.path = before;
        operation.path += answer.breakdown;
        operation.status = operation.status.and(answer.status);
        if purpose.is_write() {
            operation.writes_left -= 1;
        } else {
            operation.reads_left -= 1;
        }
        let stripe = operation.stripe;
        let chained = operation.stage == Stage::Chained && purpose == Purpose::Own;
        if chained && place < self.geometry.data && self.has(stripe, place) {
            self.issue(slot, Purpose::Write, place, span, now);
        }
        self.settle(slot, now);
    }

    /// Continues an operation if it need not wait for outstanding parts.
    pub(super) fn settle(&mut self, slot: Slot, now: Time) {
        let operation = self.operations[slot];
        if operation.reads_left > 0 {
            return;
        }
        match operation.stage {
            Stage::Again if operation.writes_left == 0 => {
                self.operations[slot].stage = Stage::Reading;
                self.begin(slot, now);
            }
            Stage::Chained => {
                self.operations[slot].stage = Stage::Ending;
                self.write_checks(slot, now);
                self.settle(slot, now);
            }
            Stage::Reading => match operation.kind {
                Kind::Write | Kind::Rebuild(_) | Kind::Resync => self.go_on_to_writes(slot, now),
                Kind::Read | Kind::Trim | Kind::Flush => self.finish(slot, now),
            },
            Stage::Logging if operation.writes_left == 0 => self.write_now(slot, now),
            Stage::Ending if operation.writes_left == 0 => self.finish(slot, now),
            Stage::Again | Stage::LogFull | Stage::Logging | Stage::Ending => {}
        }
    }

    /// All has been read that a write follows from.
    pub(super) fn go_on_to_writes(&mut self, slot: Slot, now: Time) {
        if !self.hole.rule.has_log() || !self.log_first(slot, now) {
            self.write_now(slot, now);
        }
    }

    fn write_now(&mut self, slot: Slot, now: Time) {
        self.operations[slot].stage = Stage::Ending;
        self.write_all(slot, now);
        self.settle(slot, now);
    }

    /// The copy of a mirror to read, if there is one.
    pub(super) fn choose_copy(&mut self, stripe: u64, span: Span) -> Option<u64> {
        let copies = self.geometry.width;
        let quick =
            |raid: &Raid, copy: &u64| raid.has(stripe, *copy) && !raid.avoids(stripe, *copy);
        let by_turns = self.steering.is_by_turns() && (0..copies).any(|copy| quick(self, &copy));
        let there = |raid: &Raid, copy: &u64| {
            if by_turns { quick(raid, copy) } else { raid.has(stripe, *copy) }
        };
        if self.is_behind(stripe) {
            // Copies may differ: always the one that the others are made equal to.
            return (0..copies).find(|copy| self.has(stripe, *copy));
        }
        let count = (0..copies).filter(|copy| there(self, copy)).count() as u64;
        if count == 0 {
            return None;
        }
        let turn = match self.rules.read_copy {
            ReadCopy::Random if count > 1 => self.random.below(count),
            ReadCopy::RoundRobin => {
                self.turn += 1;
                self.turn % count
            }
            _ => 0,
        };
        let first = self.geometry.member(stripe, 0);
        let lba = self.geometry.row(stripe) * self.geometry.chunk + span.from;
        let member = |copy: &u64| &self.members[(first + copy) as usize];
        let mut choices = (0..copies).filter(|copy| there(self, copy));
        match self.rules.read_copy {
            ReadCopy::Nearest => choices.min_by_key(|copy| member(copy).head.abs_diff(lba)),
            ReadCopy::ShortestQueue => {
                choices.min_by_key(|copy| (member(copy).queue, member(copy).head.abs_diff(lba)))
            }
            ReadCopy::Primary | ReadCopy::Random | ReadCopy::RoundRobin => {
                choices.nth(turn as usize)
            }
        }
    }
}
