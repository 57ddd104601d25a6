//! Members of an array: their drives, their rebuilt rows, and their outstanding requests.
//!
//! Drives are numbered: members first, then spares. A failed member gets no more requests, and its
//! drive keeps its state. A spare in its place holds the rows rebuilt so far.

use super::due::Due;
use super::raid::message::{Issue, Purpose, Span};
use super::steering::Steering;
use engine::{Breakdown, Completion, Device, Op, Request, Status, Time};
use ssd::device::Model;
use ssd::device::kit::slots::{Slot, Slots};

/// Row count of a complete member.
const ALL: u64 = u64::MAX;

/// A member: its current drive, and its outstanding requests.
#[derive(Debug, Clone)]
struct Member {
    drive: u32,
    has_failed: bool,
    /// Number of rows that the member holds.
    rows: u64,
    /// Outstanding requests, and the end address of the last one.
    queue: u32,
    head: u64,
}

impl Member {
    fn new(drive: usize, rows: u64) -> Member {
        Member { drive: drive as u32, has_failed: false, rows, queue: 0, head: 0 }
    }
}

/// A part of an operation: an outstanding request at a member.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub operation: Slot,
    pub purpose: Purpose,
    pub place: u64,
    pub span: Span,
    pub drive: u32,
    /// Latency breakdown of the operation before this part.
    pub before: Breakdown,
    /// True while outstanding; false once its drive has failed.
    is_live: bool,
}

#[cfg(test)]
impl Part {
    /// A new outstanding part.
    pub fn of(
        operation: Slot,
        purpose: Purpose,
        place: u64,
        span: Span,
        before: Breakdown,
    ) -> Part {
        Part { operation, purpose, place, span, drive: 0, before, is_live: true }
    }

    /// This part on another drive.
    pub fn on(self, drive: u32) -> Part {
        Part { drive, ..self }
    }
}

/// Knowledge about drives at end of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Not yet determined.
    Unknown,
    /// No drive is at end of life.
    None,
    /// At least one drive is at end of life, in use or not.
    Some,
}

/// The drives, their assignment to members, and their outstanding parts.
#[derive(Clone)]
pub struct Members {
    drives: Vec<Box<dyn Model>>,
    each: Vec<Member>,
    /// Next event time of each working member.
    due: Due,
    /// Number of spares in use or used up.
    spares_used: usize,
    /// True if every member is complete.
    is_whole: bool,
    /// Cached end-of-life state, so that not every drive is inspected after each event.
    ended: Ended,
    parts: Slots<Part>,
    /// Number of parts submitted to each member.
    asked: Vec<u64>,
    steering: Steering,
    /// Pages queued for each drive; empty between calls.
    batches: Vec<Vec<u64>>,
}

impl Members {
    /// Members in the first `count` drives, spares in the rest.
    pub fn new(drives: Vec<Box<dyn Model>>, count: u32, steering: Steering) -> Members {
        let count = count as usize;
        let mut members = Members {
            each: (0..count).map(|drive| Member::new(drive, ALL)).collect(),
            due: Due::new(count),
            spares_used: 0,
            is_whole: true,
            ended: Ended::Unknown,
            parts: Slots::new(),
            asked: memory::zeroed(count),
            steering,
            batches: memory::filled(Vec::new(), drives.len()),
            drives,
        };
        members.ask_all();
        members
    }

    pub fn len(&self) -> usize {
        self.each.len()
    }

    // ---- content -----------------------------------------------------------------------------

    pub fn has_failed(&self, member: usize) -> bool {
        self.each[member].has_failed
    }

    /// True if every member is complete.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// True if a member holds a row.
    #[inline]
    pub fn holds(&self, member: usize, row: u64) -> bool {
        row < self.each[member].rows
    }

    /// Number of rows out of `all` that a member holds.
    pub fn rows(&self, member: usize, all: u64) -> u64 {
        self.each[member].rows.min(all)
    }

    #[cfg(test)]
    pub fn drive(&self, member: usize) -> u32 {
        self.each[member].drive
    }

    /// The member whose drive this is.
    pub fn member_of(&self, drive: u32) -> Option<usize> {
        self.each.iter().position(|it| it.drive == drive && !it.has_failed)
    }

    /// Number of requests outstanding at a member, and distance of its last one's end from a
    /// sector.
    pub fn queue_and_way(&self, member: usize, sector: u64) -> (u32, u64) {
        let member = &self.each[member];
        (member.queue, member.head.abs_diff(sector))
    }

    /// True if a member is cleaning, so that reads should avoid it.
    #[inline]
    pub fn avoids(&self, member: usize) -> bool {
        self.steering.avoids(self.each[member].drive as usize)
    }

    /// True if members clean in turn, so that reads may avoid one.
    #[inline]
    pub fn are_by_turns(&self) -> bool {
        self.steering.is_by_turns()
    }

    pub fn asked(&self) -> &[u64] {
        &self.asked
    }

    pub fn spares_used(&self) -> usize {
        self.spares_used
    }

    // ---- requests -----------------------------------------------------------------------------

    /// Submits a request to a member.
    #[inline]
    pub fn submit(&mut self, member: usize, request: Request, now: Time) {
        let drive = &mut self.drives[self.each[member].drive as usize];
        drive.submit(now, request);
        let (next, has_ended) = (drive.next_event(), drive.has_ended());
        self.note(member, next, has_ended);
    }

    /// Updates a member's next event time.
    #[inline]
    fn note(&mut self, member: usize, next: Option<Time>, has_ended: bool) {
        if has_ended && self.ended == Ended::None {
            self.ended = Ended::Some;
        }
        self.due.set(member, next);
    }

    /// Forwards a whole host request to a member; [`left`](Members::left) handles its completion.
    #[inline]
    pub fn pass(&mut self, member: usize, request: Request, now: Time) {
        self.count(member, &request);
        self.submit(member, request, now);
    }

    /// Handles a member's completion of a forwarded request.
    #[inline]
    pub fn left(&mut self, member: usize) {
        self.each[member].queue -= 1;
    }

    /// Counts a request to a member, and returns the member's drive.
    #[inline]
    fn count(&mut self, member: usize, request: &Request) -> u32 {
        let asked = &mut self.each[member];
        asked.queue += 1;
        asked.head = request.lba.0 + u64::from(request.sectors);
        self.asked[member] += 1;
        asked.drive
    }

    /// Submits a part of an operation with its latency breakdown so far. Returns the part's slot.
    #[inline]
    pub fn issue(&mut self, issue: &Issue, before: Breakdown, now: Time) -> Slot {
        let Issue { slot: operation, purpose, place, span, member, request } = *issue;
        let drive = self.count(member, &request);
        let part = Part { operation, purpose, place, span, drive, before, is_live: true };
        let id = self.parts.insert(part);
        self.submit(member, Request { id: u64::from(id), ..request }, now);
        id
    }

    /// Takes the part that a member has completed.
    #[inline]
    pub fn answered(&mut self, member: usize, answer: &Completion) -> Part {
        self.each[member].queue -= 1;
        self.take(answer.request.id as Slot)
    }

    fn take(&mut self, id: Slot) -> Part {
        self.parts[id].is_live = false;
        self.parts.remove(id)
    }

    #[cfg(test)]
    pub fn part(&self, id: Slot) -> Part {
        self.parts[id]
    }

    /// Outstanding parts with their slots.
    pub fn parts(&self) -> impl Iterator<Item = (Slot, Part)> {
        self.parts.taken().into_iter().map(|id| (id, self.parts[id]))
    }

    /// Time of the members' earliest event.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        self.due.first()
    }

    /// Advances the first member at or after `from` with an event up to `now`, and returns its
    /// number.
    #[inline]
    pub fn advance(
        &mut self,
        from: usize,
        now: Time,
        completed: &mut Vec<Completion>,
    ) -> Option<usize> {
        let member = self.due.next_from(from, now)?;
        let drive = &mut self.drives[self.each[member].drive as usize];
        drive.advance(now, completed);
        let (next, has_ended) = (drive.next_event(), drive.has_ended());
        self.note(member, next, has_ended);
        if self.ended == Ended::Unknown {
            let some = self.drives.iter().any(|drive| drive.has_ended());
            self.ended = if some { Ended::Some } else { Ended::None };
        }
        Some(member)
    }

    /// True if a member is at end of life and so refuses some writes.
    #[inline]
    pub fn have_ended(&self) -> bool {
        self.ended != Ended::None && self.in_use().any(Device::has_ended)
    }

    /// Coordinates the cleaning of members, if they clean together or in turn.
    #[inline]
    pub fn steer(&mut self, now: Time) {
        if self.steering.is_on() {
            self.steer_all(now);
        }
    }

    fn steer_all(&mut self, now: Time) {
        let members = &self.each;
        let in_use =
            |drive: usize| members.iter().any(|it| it.drive as usize == drive && !it.has_failed);
        self.steering.look(&mut self.drives, in_use, now);
        self.ask_all();
    }

    /// Marks a drive as cleaning, for tests.
    #[cfg(test)]
    pub fn pretend(&mut self, drive: usize) {
        self.steering.pretend(drive);
    }

    /// Updates every member's next event time.
    fn ask_all(&mut self) {
        self.ended = Ended::Unknown;
        for (number, member) in self.each.iter().enumerate() {
            let drive = &self.drives[member.drive as usize];
            self.due.set(number, drive.next_event().filter(|_| !member.has_failed));
        }
    }

    // ---- failures and power -------------------------------------------------------------------

    /// Fails a member. Returns its outstanding parts.
    pub fn fail(&mut self, member: usize) -> Vec<Part> {
        let drive = self.each[member].drive;
        (self.each[member].has_failed, self.each[member].rows) = (true, 0);
        self.is_whole = false;
        self.due.set(member, None);
        let ids = 0..self.parts.len() as Slot;
        let is_lost = |id: &Slot| self.parts[*id].is_live && self.parts[*id].drive == drive;
        let lost: Vec<Slot> = ids.filter(is_lost).collect();
        // While a failure is scheduled, no read is forwarded, so each request belongs to an
        // operation.
        assert_eq!(lost.len(), self.each[member].queue as usize, "all are parts of operations");
        lost.into_iter().map(|id| self.take(id)).collect()
    }

    /// Replaces a member by a spare, if available. Returns its drive.
    pub fn replace(&mut self, member: usize) -> Option<u32> {
        let next = self.each.len() + self.spares_used;
        let drive = self.drives.get(next)?;
        self.due.set(member, drive.next_event());
        self.spares_used += 1;
        self.each[member] = Member::new(next, 0);
        Some(next as u32)
    }

    /// Sets the number of rows that a member holds.
    pub fn hold(&mut self, member: usize, rows: u64) {
        self.each[member].rows = rows;
    }

    /// Marks a member as complete.
    pub fn complete(&mut self, member: usize) {
        self.each[member].rows = ALL;
        self.is_whole = self.each.iter().all(|it| it.rows == ALL);
    }

    /// Handles a power cut: outstanding work of the drives is lost.
    pub fn cut(&mut self, now: Time) {
        let mut lost = Vec::new();
        for member in &mut self.each {
            if !member.has_failed {
                self.drives[member.drive as usize].cut(now, &mut lost);
            }
            member.queue = 0;
        }
        self.parts = Slots::new();
        self.ask_all();
    }

    pub fn power_on(&mut self, now: Time) {
        for member in self.each.iter().filter(|it| !it.has_failed) {
            self.drives[member.drive as usize].power_on(now);
        }
        self.ask_all();
    }

    // ---- without time -------------------------------------------------------------------------

    /// Serves a member request untimed.
    pub fn serve_untimed(&mut self, member: usize, request: &Request) -> Status {
        self.ended = Ended::Unknown;
        self.drives[self.each[member].drive as usize].serve_untimed(request)
    }

    pub fn flush_untimed(&mut self, request: &Request) -> Status {
        debug_assert_eq!(request.op, Op::Flush);
        self.ended = Ended::Unknown;
        let members = self.each.iter().filter(|it| !it.has_failed);
        let answers = members.map(|it| self.drives[it.drive as usize].serve_untimed(request));
        answers.fold(Status::Ok, Status::and)
    }

    /// Queues a page for a member, unless it lacks the page's rows.
    #[inline]
    pub fn collect(&mut self, member: usize, page: u64) {
        let member = &self.each[member];
        if member.rows == ALL {
            self.batches[member.drive as usize].push(page);
        }
    }

    /// Overwrites the queued pages of all members.
    pub fn overwrite_collected(&mut self) {
        self.ended = Ended::Unknown;
        for (drive, batch) in self.drives.iter_mut().zip(&mut self.batches) {
            if !batch.is_empty() {
                drive.overwrite_untimed(batch, 0);
                batch.clear();
            }
        }
    }

    /// Drives with their queued pages.
    pub fn with_batches(&mut self) -> impl Iterator<Item = (&mut Box<dyn Model>, &mut Vec<u64>)> {
        self.ended = Ended::Unknown;
        self.drives.iter_mut().zip(&mut self.batches)
    }

    // ---- state -------------------------------------------------------------------------------

    /// Every drive, spares included.
    pub fn drives(&self) -> &[Box<dyn Model>] {
        &self.drives
    }

    /// Changes the drives, and updates their next event times.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Vec<Box<dyn Model>>) -> T) -> T {
        let changed = change(&mut self.drives);
        if !self.drives.is_empty() {
            self.ask_all();
        }
        changed
    }

    /// Drives of members that have not failed.
    pub fn in_use(&self) -> impl Iterator<Item = &dyn Model> {
        let members = self.each.iter().filter(|it| !it.has_failed);
        members.map(|it| &*self.drives[it.drive as usize])
    }

    /// All drives except idle spares.
    pub fn ever_used(&self) -> impl Iterator<Item = &dyn Model> {
        let count = self.each.len() + self.spares_used;
        self.drives[..count].iter().map(|drive| &**drive)
    }

    pub fn reset_counts(&mut self) {
        self.asked.fill(0);
    }

    /// Checks the recorded next event time of each member.
    pub fn audit(&self) -> Result<(), String> {
        for (number, member) in self.each.iter().enumerate() {
            let next = self.drives[member.drive as usize].next_event();
            if self.due.of(number) != next.filter(|_| !member.has_failed) {
                return Err(format!("member {number} has another next event than the array knows"));
            }
        }
        if self.ended == Ended::None && self.in_use().any(Device::has_ended) {
            return Err("a member has ended, and the array does not know".to_owned());
        }
        Ok(())
    }
}

/// Capacity of the smallest drive, sectors; larger drives use only this much.
pub fn smallest(drives: &[Box<dyn Model>]) -> u64 {
    drives.iter().map(|drive| drive.capacity_sectors()).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OfLaws;
    use engine::{Lba, Op};
    use service_law::LawConfig;
    use ssd::device::DeviceKind as _;

    fn issue(member: usize, lba: u64) -> Issue {
        let request = Request::new(0, Op::Read, Lba(lba), 8);
        let span = Span { from: 0, to: 8 };
        Issue { slot: 40 + member as Slot, purpose: Purpose::Own, place: 0, span, member, request }
    }

    #[test]
    fn a_member_that_fails_takes_its_parts_along_and_a_spare_takes_its_place() {
        let mut drives: Vec<_> = (0..3).map(|_| LawConfig::default().build(0).unwrap()).collect();
        let steering = Steering::new(&OfLaws::default(), &mut drives).unwrap();
        let mut members = Members::new(drives, 2, steering);
        assert_eq!((members.next_event(), members.is_whole()), (None, true));
        let parts = [(0, 0), (1, 100), (1, 200)];
        let ids =
            parts.map(|(member, lba)| members.issue(&issue(member, lba), Breakdown::default(), 5));
        assert_eq!(members.queue_and_way(1, 108), (2, 100));
        // Both reads complete at the same time, in the order of member numbers.
        let (mut done, mut from) = (Vec::new(), 0);
        let end = members.next_event().unwrap();
        assert_eq!(members.advance(0, end - 1, &mut done), None);
        while let Some(member) = members.advance(from, end, &mut done) {
            assert_eq!(members.answered(member, &done[member]).operation, 40 + member as Slot);
            from = member + 1;
        }
        assert_eq!(done.len(), 2);
        members.audit().unwrap();
        // The second part of member 1 is dropped with it.
        assert_eq!(members.parts().map(|it| it.0).collect::<Vec<_>>(), [ids[2]]);
        let lost = members.fail(1);
        assert_eq!((lost.len(), lost[0].operation), (1, 41));
        assert_eq!((members.next_event(), members.holds(1, 0)), (None, false));
        assert_eq!((members.replace(1), members.member_of(2)), (Some(2), Some(1)));
        members.hold(1, 4);
        assert_eq!([3, 4].map(|row| members.holds(1, row)), [true, false]);
        assert!(!members.is_whole());
        members.complete(1);
        assert!(members.is_whole() && members.holds(1, 1 << 40));
        assert_eq!((members.replace(0), members.spares_used()), (None, 1));
        assert_eq!(members.asked(), [1, 2]);
        assert_eq!(members.ever_used().count(), 3);
        members.audit().unwrap();
    }
}
