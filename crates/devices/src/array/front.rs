//! The front of an array: requests come over the link, wait for what was before them, and are answered.
//!
//! It knows nothing of members: reports requests that have reached the members, and receives
//! completed parts.

use engine::{Breakdown, Completion, Op, Request, Status, Time};
use ssd::device::kit::config::HostLink;
use ssd::device::kit::link::{Link, TRIM_BYTES, Turn};
use ssd::device::kit::slots::{Slot, Slots};
use ssd::device::latency::{HOST_LINK, UNIT_WAIT};

/// A host request from arrival to completion.
#[derive(Debug, Clone, Copy)]
struct Active {
    request: Request,
    submitted: Time,
    /// When it reached the members, and later when the last of its parts was done.
    at_members: Time,
    done: Time,
    /// Number among the requests that have reached the members.
    number: u64,
    /// Parts that are not done; of a flush that waits, the changes before it.
    left: u64,
    /// Latency parts of the last completed part.
    breakdown: Breakdown,
    /// Combined status of the parts so far.
    status: Status,
}

/// The link, and the requests that have not been answered.
#[derive(Clone)]
pub struct Front {
    link: Link,
    active: Slots<Active>,
    /// Number of requests that have reached the members.
    arrivals: u64,
    /// Writes and trims that have reached the members and are not done.
    changes: u64,
    /// Flushes waiting for earlier changes.
    flushes: Vec<Slot>,
    /// Answered, to be fetched.
    done: Vec<Completion>,
}

/// Asserts that a request is valid.
fn check(request: &Request, capacity_sectors: u64) {
    let end = request.lba.0.checked_add(u64::from(request.sectors));
    let inside = end.is_some_and(|end| end <= capacity_sectors);
    assert!(inside || request.op == Op::Flush, "a request lies within the capacity");
    assert!(request.sectors > 0 || request.op == Op::Flush, "a request has a length");
}

/// Data that a request sends to the controller, bytes.
fn inward_bytes(request: &Request) -> u64 {
    match request.op {
        Op::Write => request.bytes(),
        Op::Trim => TRIM_BYTES,
        _ => 0,
    }
}

impl Front {
    pub fn new(link: &HostLink) -> Front {
        Front {
            link: Link::new(link),
            active: Slots::new(),
            arrivals: 0,
            changes: 0,
            flushes: Vec::new(),
            done: Vec::new(),
        }
    }

    /// The host sends a request. Returns the time of its [arrival](Front::arrive), unless it
    /// arrives at once.
    #[inline]
    pub fn submit(&mut self, request: Request, capacity: u64, now: Time) -> Option<Time> {
        check(&request, capacity);
        let slot = self.insert(request, now);
        self.link.send(slot, inward_bytes(&request), now)
    }

    /// True if nothing is on the link, and whatever is put on it is across at once.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.link.is_clear()
    }

    /// True while no transfer can start.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        self.link.is_idle(now)
    }

    /// The host sends a request while the link is [clear](Front::is_clear): it has reached the members.
    #[inline]
    pub fn receive(&mut self, request: Request, capacity: u64, now: Time) -> Slot {
        check(&request, capacity);
        let slot = self.insert(request, now);
        self.active[slot].number = self.arrivals;
        self.arrivals += 1;
        slot
    }

    /// Accepts a request that bypasses the link.
    #[inline]
    pub fn insert(&mut self, request: Request, now: Time) -> Slot {
        self.active.insert(Active {
            request,
            submitted: now,
            at_members: now,
            done: now,
            number: 0,
            left: 0,
            breakdown: Breakdown::default(),
            status: Status::Ok,
        })
    }

    /// The controller sees the oldest request on the way.
    pub fn arrive(&mut self) {
        let active = &self.active;
        self.link.arrive(|slot| inward_bytes(&active[slot].request));
    }

    /// Lets the link take its turns until a request has reached the members, which is returned, or
    /// nothing can cross it now. `busy` is called at the end of a transfer.
    #[inline]
    pub fn turn(&mut self, now: Time, mut busy: impl FnMut(Time)) -> Option<Slot> {
        loop {
            match self.link.turn(now) {
                Turn::Arrived(slot) => {
                    let active = &mut self.active[slot];
                    (active.at_members, active.number) = (now, self.arrivals);
                    self.arrivals += 1;
                    return Some(slot);
                }
                Turn::Answered(slot) => self.complete(slot, now),
                Turn::Busy(end) => busy(end),
                Turn::Idle => return None,
            }
        }
    }

    pub fn request(&self, slot: Slot) -> &Request {
        &self.active[slot].request
    }

    pub fn at_members(&self, slot: Slot) -> Time {
        self.active[slot].at_members
    }

    /// A request has this many parts.
    #[inline]
    pub fn expect(&mut self, slot: Slot, parts: u64) {
        self.active[slot].left = parts;
    }

    /// Counts an outstanding write or trim: flushes after it wait.
    pub fn count_change(&mut self) {
        self.changes += 1;
    }

    /// True if a flush waits for earlier changes; it is then handed out when the last of them is
    /// done.
    pub fn holds_flush(&mut self, slot: Slot) -> bool {
        if self.changes > 0 {
            self.active[slot].left = self.changes;
            self.flushes.push(slot);
        }
        self.changes > 0
    }

    /// A part of a request is done; whether it was the last one, which puts the answer on the link.
    #[inline]
    pub fn part_done(&mut self, slot: Slot, status: Status, path: Breakdown, now: Time) -> bool {
        let active = &mut self.active[slot];
        active.left -= 1;
        active.status = active.status.and(status);
        if active.left > 0 {
            return false;
        }
        active.breakdown = path;
        self.answer(slot, now);
        true
    }

    /// A part of a request is done, as a member has answered it.
    #[inline]
    pub fn part_answered(&mut self, slot: Slot, part: &Completion, now: Time) {
        let active = &self.active[slot];
        if active.left == 1 && active.status.is_ok() {
            self.pass_on(slot, part, now);
        } else {
            self.part_done(slot, part.status, part.breakdown, now);
        }
    }

    /// The last part of a request that no flush waits for is done, and all others went well: its answer passes by
    /// the link while that is clear.
    #[inline]
    pub fn pass_on(&mut self, slot: Slot, part: &Completion, now: Time) {
        if !self.link.is_clear() {
            self.part_done(slot, part.status, part.breakdown, now);
            return;
        }
        let Active { request, submitted, .. } = self.active.remove(slot);
        self.done.push(Completion { request, submitted, at: now, ..*part });
    }

    /// Puts an answer on the link.
    #[inline]
    pub fn answer(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot];
        active.done = now;
        let bytes = if active.request.op == Op::Read { active.request.bytes() } else { 0 };
        self.link.answer(slot, bytes);
    }

    /// A [counted](Front::count_change) change is done: which flush waited for it alone. To be asked until it is
    /// none, with `is_first` at first.
    pub fn freed_flush(&mut self, done: Slot, is_first: bool) -> Option<Slot> {
        let change = self.active[done];
        if !matches!(change.request.op, Op::Write | Op::Trim) {
            return None;
        }
        if is_first {
            self.changes -= 1;
            for flush in &self.flushes {
                let waiting = &mut self.active[*flush];
                waiting.left -= u64::from(waiting.number > change.number);
            }
        }
        let ready = self.flushes.iter().position(|it| self.active[*it].left == 0)?;
        Some(self.flushes.remove(ready))
    }

    fn complete(&mut self, slot: Slot, now: Time) {
        let active = self.active.remove(slot);
        let mut breakdown = active.breakdown;
        breakdown[HOST_LINK] += active.at_members - active.submitted + (now - active.done);
        self.done.push(Completion {
            request: active.request,
            submitted: active.submitted,
            at: now,
            breakdown,
            status: active.status,
        });
    }

    /// Completions, in order.
    pub fn done(&mut self) -> &mut Vec<Completion> {
        &mut self.done
    }

    /// True if there are answers to be fetched.
    #[inline]
    pub fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// When the first of the answers to be fetched was given.
    pub fn first_done(&self) -> Option<Time> {
        self.done.first().map(|done| done.at)
    }

    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Handles a power cut: what has not been answered is lost.
    pub fn lose_power(&mut self, now: Time, completions: &mut Vec<Completion>) {
        completions.append(&mut self.done);
        let taken = self.active.taken().into_iter();
        let mut lost: Vec<_> = taken.map(|slot| self.active[slot]).collect();
        lost.sort_by_key(|active| (active.submitted, active.request.id));
        completions.extend(lost.into_iter().map(|active| Completion {
            request: active.request,
            submitted: active.submitted,
            at: now,
            breakdown: Breakdown::of(UNIT_WAIT, now - active.submitted),
            status: Status::PowerLost,
        }));
        self.link.lose_power();
        self.active = Slots::new();
        self.flushes.clear();
        self.changes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Lba;

    fn arrived(front: &mut Front, op: Op, now: Time) -> Slot {
        let sectors = if op == Op::Flush { 0 } else { 8 };
        front.submit(Request::new(u64::from(now as u32), op, Lba(0), sectors), 100, now);
        front.turn(now, |_| unreachable!("the link is instant")).expect("it is there")
    }

    #[test]
    fn a_request_is_answered_with_its_last_part_and_a_flush_after_the_changes_before_it() {
        let mut front = Front::new(&HostLink {
            bandwidth: options::Bandwidth::UNLIMITED,
            latency: options::Duration::from_ns(0),
            ..HostLink::default()
        });
        let [write, trim] = [Op::Write, Op::Trim].map(|op| {
            let slot = arrived(&mut front, op, 10);
            front.count_change();
            front.expect(slot, 2);
            slot
        });
        let flush = arrived(&mut front, Op::Flush, 20);
        assert!(front.holds_flush(flush));
        // A change after the flush, for which it does not wait.
        let later = arrived(&mut front, Op::Write, 30);
        front.count_change();
        front.expect(later, 1);
        let path = Breakdown::of(UNIT_WAIT, 90);
        assert!(!front.part_done(write, Status::Ok, path, 50));
        assert!(front.part_done(write, Status::Unreadable, path, 100));
        assert_eq!(front.freed_flush(write, true), None);
        assert_eq!(front.turn(100, |_| {}), None);
        assert_eq!(front.first_done(), Some(100));
        let answer = front.done().pop().unwrap();
        assert_eq!((answer.submitted, answer.at, answer.status), (10, 100, Status::Unreadable));
        assert_eq!(answer.breakdown, path);
        assert!(!front.part_done(trim, Status::Ok, path, 110));
        assert!(front.part_done(trim, Status::Ok, path, 120));
        assert_eq!(front.freed_flush(trim, true), Some(flush));
        assert_eq!(front.freed_flush(trim, false), None);
        // Power cut: what was not fetched is, and the others are lost.
        let mut completions = Vec::new();
        front.turn(120, |_| {});
        front.lose_power(130, &mut completions);
        let statuses: Vec<_> = completions.iter().map(|it| (it.at, it.status)).collect();
        let lost = (130, Status::PowerLost);
        assert_eq!(statuses, [(120, Status::Ok), lost, lost]);
        assert!(front.is_empty());
    }
}
