//! Outstanding requests of the host: waiting requests, locked lines, and completions to fetch.

use super::Side;
use super::report::Kind;
use engine::{Breakdown, Completion, Op, Request, Status, Time};
use ssd::device::kit::slots::{Slot, Slots};
use ssd::device::latency::{BACKING, BUFFER, FAST, UNIT_WAIT};
use std::collections::VecDeque;
use std::ops::Range;

/// A host request from arrival to its last part.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub request: Request,
    submitted: Time,
    /// Start of the request, or of its current stage.
    stage: Time,
    /// Sequence number.
    number: u64,
    /// Way in which the request was served.
    pub kind: Kind,
    /// True if the request bypasses the cache.
    pub passes: bool,
    /// True if the request waits for room rather than for other requests.
    pub wants_room: bool,
    /// True while partly written lines are read before the write.
    pub merges: bool,
    holds: bool,
    is_answered: bool,
    /// Outstanding parts before its completion, and after it.
    left: u32,
    after: u32,
    status: Status,
    wait_ns: Time,
    on: [Time; 2],
}

impl Asked {
    /// True if the request is complete, without outstanding parts.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.is_answered && self.left == 0 && self.after == 0
    }
}

/// Lines locked by a request.
#[derive(Debug, Clone, Copy)]
struct Hold {
    asked: Slot,
    first: u64,
    end: u64,
}

impl Hold {
    fn overlaps(&self, lines: &Range<u64>) -> bool {
        self.first < lines.end && lines.start < self.end
    }
}

/// Outstanding requests, and flushes with the changes they wait for.
#[derive(Debug, Clone)]
pub struct Requests {
    asked: Slots<Asked>,
    /// Outstanding read hits; kept only if power cuts are possible.
    hits: Option<Vec<(Request, Time)>>,
    waiting: VecDeque<Slot>,
    holds: Vec<Hold>,
    number: u64,
    /// Uncompleted writes and trims.
    changes: u64,
    /// Flushes with their number of uncompleted earlier changes.
    flushes: Vec<(Slot, u64)>,
    outstanding: u32,
    answers: Vec<Completion>,
}

impl Requests {
    /// No requests; `may_be_cut` if power cuts are possible.
    pub fn new(may_be_cut: bool) -> Requests {
        Requests {
            asked: Slots::new(),
            hits: may_be_cut.then(Vec::new),
            waiting: VecDeque::new(),
            holds: Vec::new(),
            number: 0,
            changes: 0,
            flushes: Vec::new(),
            outstanding: 0,
            answers: Vec::new(),
        }
    }

    /// Accepts a request.
    #[inline]
    pub fn arrive(&mut self, now: Time, request: Request, passes: bool) -> Slot {
        let number = self.number;
        self.number += 1;
        self.outstanding += 1;
        let slot = self.asked.insert(Asked {
            request,
            submitted: now,
            stage: now,
            number,
            kind: Kind::ReadHit,
            passes,
            wants_room: false,
            merges: false,
            holds: false,
            is_answered: false,
            left: 0,
            after: 0,
            status: Status::Ok,
            wait_ns: 0,
            on: [0; 2],
        });
        match request.op {
            Op::Write | Op::Trim => self.changes += 1,
            Op::Flush => self.flushes.push((slot, self.changes)),
            _ => {}
        }
        slot
    }

    /// Accepts a read hit, which goes straight to the fast device.
    #[inline]
    pub fn hit(&mut self, now: Time, request: &Request) {
        self.outstanding += 1;
        if let Some(hits) = &mut self.hits {
            hits.push((*request, now));
        }
    }

    /// Completes a read hit.
    #[inline]
    pub fn hit_ends(&mut self, id: u64) {
        self.outstanding -= 1;
        if let Some(hits) = &mut self.hits
            && let Some(place) = hits.iter().position(|(request, _)| request.id == id)
        {
            hits.swap_remove(place);
        }
    }

    /// Appends a completion.
    pub fn push_answer(&mut self, answer: Completion) {
        self.answers.push(answer);
    }

    #[inline]
    pub fn asked(&self, slot: Slot) -> &Asked {
        &self.asked[slot]
    }

    /// Sets the way in which a request is served.
    #[inline]
    pub fn serve_as(&mut self, slot: Slot, kind: Kind) {
        self.asked[slot].kind = kind;
    }

    /// Notes that a request waits for room.
    pub fn want_room(&mut self, slot: Slot) {
        self.asked[slot].wants_room = true;
    }

    /// Notes that a request reads the rest of its partly written lines.
    pub fn set_merges(&mut self, slot: Slot, merges: bool) {
        self.asked[slot].merges = merges;
    }

    /// Number of requests without completion.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// True if no request locks the lines.
    #[inline]
    pub fn are_free(&self, lines: &Range<u64>) -> bool {
        self.holds.is_empty() || !self.holds.iter().any(|hold| hold.overlaps(lines))
    }

    /// Locks lines for a request.
    pub fn hold(&mut self, asked: Slot, lines: &Range<u64>) {
        self.asked[asked].holds = true;
        self.holds.push(Hold { asked, first: lines.start, end: lines.end });
    }

    /// True if a flush waits for earlier changes.
    pub fn waits_for_changes(&self, flush: Slot) -> bool {
        self.flushes.iter().any(|(slot, left)| *slot == flush && *left > 0)
    }

    // ---- waiting -----------------------------------------------------------------------------------

    #[inline]
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub fn push_waiting(&mut self, asked: Slot) {
        self.waiting.push_back(asked);
    }

    /// Request at a place in the waiting queue.
    pub fn waiting(&self, place: usize) -> Option<Slot> {
        self.waiting.get(place).copied()
    }

    pub fn no_longer_waits(&mut self, place: usize) {
        self.waiting.remove(place);
    }

    /// True if a request that waits before this place overlaps the lines.
    pub fn is_behind(
        &self,
        lines: &Range<u64>,
        place: usize,
        lines_of: impl Fn(&Request) -> Range<u64>,
    ) -> bool {
        self.waiting.iter().take(place).any(|slot| {
            let own = lines_of(&self.asked[*slot].request);
            own.start < lines.end && lines.start < own.end
        })
    }

    // ---- parts -------------------------------------------------------------------------------------

    /// Starts a request that has waited until now.
    #[inline]
    pub fn begin(&mut self, slot: Slot, now: Time) {
        let asked = &mut self.asked[slot];
        asked.wait_ns += now - asked.stage;
        asked.stage = now;
    }

    #[inline]
    pub fn expect(&mut self, slot: Slot) {
        self.asked[slot].left += 1;
    }

    /// Expects a part after the completion.
    pub fn expect_after(&mut self, slot: Slot) {
        self.asked[slot].after += 1;
    }

    /// Completes a part. Returns true if no other part is outstanding.
    #[inline]
    pub fn part_ended(&mut self, slot: Slot, side: Side, status: Status, now: Time) -> bool {
        let asked = &mut self.asked[slot];
        asked.left -= 1;
        asked.status = asked.status.and(status);
        if asked.left > 0 {
            return false;
        }
        asked.on[side as usize] += now - asked.stage;
        asked.stage = now;
        true
    }

    /// Completes a part after the completion. Returns true for the last one.
    pub fn after_ended(&mut self, slot: Slot) -> bool {
        let asked = &mut self.asked[slot];
        asked.after -= 1;
        asked.after == 0
    }

    /// Status of a request.
    pub fn status(&self, slot: Slot) -> Status {
        self.asked[slot].status
    }

    pub fn fail(&mut self, slot: Slot, status: Status) {
        self.asked[slot].status = status;
    }

    /// Completes a request, with its latency parts: waiting, fast device, backing device.
    #[inline]
    pub fn answer(&mut self, slot: Slot, now: Time) -> (Kind, Time, [Time; 2]) {
        let asked = &mut self.asked[slot];
        asked.is_answered = true;
        let Asked { request, submitted, number, status, wait_ns, on, kind, .. } = *asked;
        // Time not spent on a part is waiting.
        let wait_ns = wait_ns + (now - asked.stage);
        let mut breakdown = Breakdown::default();
        breakdown[if asked.wants_room { BUFFER } else { UNIT_WAIT }] = wait_ns;
        breakdown[FAST] = on[0];
        breakdown[BACKING] = on[1];
        self.answers.push(Completion { request, submitted, at: now, breakdown, status });
        self.outstanding -= 1;
        match request.op {
            Op::Write | Op::Trim => {
                self.changes -= 1;
                for (flush, left) in &mut self.flushes {
                    *left -= u64::from(self.asked[*flush].number > number);
                }
            }
            Op::Flush => self.flushes.retain(|(flush, _)| *flush != slot),
            _ => {}
        }
        (kind, wait_ns, on)
    }

    /// Removes a completed request without outstanding parts, and unlocks its lines. Returns true
    /// if it had locked lines.
    #[inline]
    pub fn release(&mut self, slot: Slot) -> bool {
        let asked = self.asked.remove(slot);
        debug_assert!(asked.is_answered && asked.left == 0 && asked.after == 0);
        if asked.holds {
            self.holds.retain(|hold| hold.asked != slot);
        }
        asked.holds
    }

    // ---- answers -----------------------------------------------------------------------------------

    #[inline]
    pub fn first_answer(&self) -> Option<Time> {
        self.answers.first().map(|answer| answer.at)
    }

    /// True if there are completions to fetch.
    #[inline]
    pub fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    #[inline]
    pub fn fetch(&mut self, completions: &mut Vec<Completion>) {
        if completions.is_empty() {
            std::mem::swap(completions, &mut self.answers);
        } else {
            completions.append(&mut self.answers);
        }
    }

    /// Handles a power cut: outstanding requests fail.
    pub fn lose_power(&mut self, now: Time, completions: &mut Vec<Completion>) {
        completions.append(&mut self.answers);
        let taken = self.asked.taken().into_iter().map(|slot| self.asked[slot]);
        let asked = taken.filter(|asked| !asked.is_answered);
        let mut lost: Vec<(Request, Time)> = asked.map(|it| (it.request, it.submitted)).collect();
        lost.extend(self.hits.iter().flatten());
        lost.sort_by_key(|(request, submitted)| (*submitted, request.id));
        completions.extend(lost.into_iter().map(|(request, submitted)| Completion {
            request,
            submitted,
            at: now,
            breakdown: Breakdown::of(UNIT_WAIT, now - submitted),
            status: Status::PowerLost,
        }));
        let number = self.number;
        *self = Requests { number, ..Requests::new(self.hits.is_some()) };
    }

    /// True without outstanding requests.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.outstanding == 0
    }
}
