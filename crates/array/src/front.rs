//! Front end of an array: requests cross the link, wait for earlier requests, and complete.
//!
//! It knows no members: it reports requests that reached the members, and receives completed parts.

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
    /// Time at which the request reached the members, and time at which its last part completed.
    at_members: Time,
    done: Time,
    /// Sequence number among the requests that have reached the members.
    number: u64,
    /// Outstanding parts; for a waiting flush, uncompleted changes before it.
    left: u64,
    /// Latency breakdown of the last completed part.
    breakdown: Breakdown,
    /// Combined status of the completed parts.
    status: Status,
}

/// The link, and the outstanding requests.
#[derive(Clone)]
pub struct Front {
    link: Link,
    active: Slots<Active>,
    /// Number of requests that have reached the members.
    arrivals: u64,
    /// Writes and trims that reached the members and have not completed.
    changes: u64,
    /// Flushes waiting for earlier changes.
    flushes: Vec<Slot>,
    /// Completions to be fetched.
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

    /// Submits a request of the host. Returns the time of its [arrival](Front::arrive), unless it
    /// arrives at once.
    #[inline]
    pub fn submit(&mut self, request: Request, capacity: u64, now: Time) -> Option<Time> {
        check(&request, capacity);
        let slot = self.insert(request, now);
        self.link.send(slot, inward_bytes(&request), now)
    }

    /// True if the link is empty and transfers take no time.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.link.is_clear()
    }

    /// True while no transfer can start.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        self.link.is_idle(now)
    }

    /// Submits a request while the link is [clear](Front::is_clear): it reaches the members at
    /// once.
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

    /// Handles the arrival of the oldest request on the link.
    pub fn arrive(&mut self) {
        let active = &self.active;
        self.link.arrive(|slot| inward_bytes(&active[slot].request));
    }

    /// Runs the link until a request reaches the members, which is returned, or until no transfer
    /// can start. Calls `busy` with the end time of each transfer.
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

    /// Sets the number of a request's parts.
    #[inline]
    pub fn expect(&mut self, slot: Slot, parts: u64) {
        self.active[slot].left = parts;
    }

    /// Counts an uncompleted write or trim: later flushes wait for it.
    pub fn count_change(&mut self) {
        self.changes += 1;
    }

    /// True if a flush must wait for earlier changes; it is released when the last of them
    /// completes.
    pub fn holds_flush(&mut self, slot: Slot) -> bool {
        if self.changes > 0 {
            self.active[slot].left = self.changes;
            self.flushes.push(slot);
        }
        self.changes > 0
    }

    /// Completes a part of a request. Returns true for the last part, after which the reply crosses
    /// the link.
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

    /// Completes a part of a request with a member's completion.
    #[inline]
    pub fn part_answered(&mut self, slot: Slot, part: &Completion, now: Time) {
        let active = &self.active[slot];
        if active.left == 1 && active.status.is_ok() {
            self.pass_on(slot, part, now);
        } else {
            self.part_done(slot, part.status, part.breakdown, now);
        }
    }

    /// Completes the last part of a request when all others succeeded and no flush waits for it.
    /// The reply bypasses a clear link.
    #[inline]
    pub fn pass_on(&mut self, slot: Slot, part: &Completion, now: Time) {
        if !self.link.is_clear() {
            self.part_done(slot, part.status, part.breakdown, now);
            return;
        }
        let Active { request, submitted, .. } = self.active.remove(slot);
        self.done.push(Completion { request, submitted, at: now, ..*part });
    }

    /// Sends the reply over the link.
    #[inline]
    pub fn answer(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot];
        active.done = now;
        let bytes = if active.request.op == Op::Read { active.request.bytes() } else { 0 };
        self.link.answer(slot, bytes);
    }

    /// A flush that waited only for the [counted](Front::count_change) change `done`. Call it until
    /// it returns `None`, with `is_first` the first time.
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

    /// Completions in order.
    pub fn done(&mut self) -> &mut Vec<Completion> {
        &mut self.done
    }

    /// True if completions can be fetched.
    #[inline]
    pub fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// Time of the first completion to be fetched.
    pub fn first_done(&self) -> Option<Time> {
        self.done.first().map(|done| done.at)
    }

    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Handles a power cut: outstanding requests fail.
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
        // A change after the flush, so the flush does not wait for it.
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
        // Power cut: finished completions are still delivered, outstanding requests fail.
        let mut completions = Vec::new();
        front.turn(120, |_| {});
        front.lose_power(130, &mut completions);
        let statuses: Vec<_> = completions.iter().map(|it| (it.at, it.status)).collect();
        let lost = (130, Status::PowerLost);
        assert_eq!(statuses, [(120, Status::Ok), lost, lost]);
        assert!(front.is_empty());
    }
}
