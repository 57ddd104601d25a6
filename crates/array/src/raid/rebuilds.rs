//! Rebuilds of lost members onto spares.
//!
//! A rebuild processes its member's rows in units. Stripes of a unit stay locked until the whole
//! unit is complete, so that no write falls between a rebuilt chunk and the advance of the row
//! count.

use super::recovery::Pace;
use engine::Time;
use ssd::device::kit::slots::Slot;
use std::ops::Range;

/// Progress of a member's rebuild.
#[derive(Debug, Clone)]
struct Progress {
    /// Drive of the spare.
    drive: u32,
    /// Rows rebuilt.
    rows: u64,
    /// Outstanding and completed operations of the current unit.
    left: u32,
    done: Vec<Slot>,
    began: Time,
    /// Earliest start of the next unit.
    next_at: Time,
    /// True if data are lost, so that the rebuild cannot continue.
    stopped: bool,
}

/// A completed unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Operations whose stripes are unlocked.
    pub done: Vec<Slot>,
    /// Rows rebuilt so far.
    pub rows: u64,
    /// Start of the next unit, if scheduled.
    pub next_at: Option<Time>,
    /// True for the last unit.
    pub is_last: bool,
}

/// Rebuilds of an array, by member.
#[derive(Debug, Clone)]
pub struct Rebuilds {
    pace: Pace,
    members: Vec<Option<Progress>>,
    /// Members with a completed unit that is still locked.
    units_done: Vec<usize>,
    /// Number and duration of completed rebuilds.
    finished: u64,
    finished_ns: Time,
}

impl Rebuilds {
    pub fn new(pace: Pace, members: u32) -> Rebuilds {
        let members = (0..members).map(|_| None).collect();
        Rebuilds { pace, members, units_done: Vec::new(), finished: 0, finished_ns: 0 }
    }

    /// Starts the rebuild of a member onto a spare.
    pub fn begin(&mut self, member: usize, drive: u32, now: Time) {
        self.members[member] = Some(Progress {
            drive,
            rows: 0,
            left: 0,
            done: Vec::new(),
            began: now,
            next_at: now,
            stopped: false,
        });
    }

    /// Handles the failure of a member's spare. Returns the operations that hold stripe locks.
    pub fn abandon(&mut self, member: usize) -> Vec<Slot> {
        self.members[member].take().map(|it| it.done).unwrap_or_default()
    }

    /// Starts a member's next unit, if its time has come. Returns the spare and the rows.
    pub fn next_unit(&mut self, member: usize, now: Time) -> Option<(u32, Range<u64>)> {
        let pace = self.pace;
        let it = self.members[member].as_mut()?;
        if it.left > 0 || !it.done.is_empty() || it.stopped || now < it.next_at {
            return None;
        }
        let rows = it.rows..(it.rows + pace.unit).min(pace.rows);
        it.left = (rows.end - rows.start) as u32;
        it.next_at = now + pace.unit_ns();
        Some((it.drive, rows))
    }

    fn of(&mut self, drive: u32) -> Option<(usize, &mut Progress)> {
        let all = self.members.iter_mut().enumerate();
        let mut all = all.filter_map(|(member, it)| Some((member, it.as_mut()?)));
        all.find(|(_, it)| it.drive == drive)
    }

    /// Stops a rebuild whose data are lost.
    pub fn stop(&mut self, drive: u32) {
        if let Some((_, it)) = self.of(drive) {
            it.stopped = true;
        }
    }

    /// Completes an operation of a rebuild. Returns true if its stripe stays locked until the unit
    /// is complete.
    pub fn rebuilt(&mut self, drive: u32, slot: Slot) -> bool {
        let Some((member, it)) = self.of(drive) else { return false };
        it.left -= 1;
        it.done.push(slot);
        if it.left == 0 {
            self.units_done.push(member);
        }
        true
    }

    /// True if any member has a completed unit.
    #[inline]
    pub fn are_done(&self) -> bool {
        !self.units_done.is_empty()
    }

    /// Takes a member with a completed unit, each once.
    pub fn next_done(&mut self) -> Option<usize> {
        self.units_done.pop()
    }

    /// Ends a member's unit, if it is complete.
    pub fn end_unit(&mut self, member: usize, now: Time) -> Option<Unit> {
        let it = self.members[member].as_mut()?;
        if it.left > 0 || it.done.is_empty() {
            return None;
        }
        let done = std::mem::take(&mut it.done);
        if !it.stopped {
            it.rows += done.len() as u64;
        }
        let (rows, is_last) = (it.rows, it.rows == self.pace.rows);
        let next_at = (!is_last && !it.stopped).then_some(it.next_at.max(now));
        if is_last {
            self.finished += 1;
            self.finished_ns += now - it.began;
            self.members[member] = None;
        }
        Some(Unit { done, rows, next_at, is_last })
    }

    /// Handles a power cut: units in progress restart later.
    pub fn lose_power(&mut self) {
        for it in self.members.iter_mut().flatten() {
            it.left = 0;
            it.done.clear();
        }
        self.units_done.clear();
    }

    /// Restores the power. Returns the members whose next units start at once.
    pub fn wake(&mut self, now: Time) -> Vec<usize> {
        let all = self.members.iter_mut().enumerate();
        let all = all.filter_map(|(member, it)| Some((member, it.as_mut()?)));
        all.map(|(member, it)| (member, it.next_at = now).0).collect()
    }

    pub fn finished(&self) -> u64 {
        self.finished
    }

    /// Rebuilt share of the failed members, and elapsed time in seconds.
    pub fn progress(&self, now: Time) -> (f64, f64) {
        let mut ns = self.finished_ns;
        let (mut rows, mut of) = (self.finished * self.pace.rows, self.finished);
        for it in self.members.iter().flatten() {
            ns += now - it.began.min(now);
            rows += it.rows;
            of += 1;
        }
        (rows as f64 / (of * self.pace.rows).max(1) as f64, ns as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use options::Bandwidth;

    fn rebuilds() -> Rebuilds {
        let rate = Bandwidth::UNLIMITED;
        Rebuilds::new(Pace { rate, unit: 2, rows: 3, groups: 1, chunk: 4 }, 4)
    }

    #[test]
    fn a_unit_stays_locked_until_all_of_it_is_there() {
        let mut it = rebuilds();
        assert_eq!(it.next_unit(1, 0), None, "nothing has failed");
        it.begin(1, 4, 100);
        assert_eq!(it.next_unit(1, 99), None);
        assert_eq!(it.next_unit(1, 100), Some((4, 0..2)));
        assert!(it.rebuilt(4, 70));
        assert_eq!((it.next_done(), it.end_unit(1, 110)), (None, None));
        assert!(it.rebuilt(4, 71));
        assert_eq!((it.next_done(), it.next_done()), (Some(1), None));
        let next_at = Some(120);
        let unit = Unit { done: vec![70, 71], rows: 2, next_at, is_last: false };
        assert_eq!(it.end_unit(1, 120), Some(unit));
        assert_eq!(it.progress(200), (2.0 / 3.0, 1e-7));
        assert_eq!(it.next_unit(1, 120), Some((4, 2..3)));
        assert!(it.rebuilt(4, 72));
        assert!(it.end_unit(1, 300).unwrap().is_last);
        assert_eq!((it.finished(), it.progress(900)), (1, (1.0, 2e-7)));
        assert!(!it.rebuilt(4, 73), "that rebuild is over");
    }

    #[test]
    fn a_rebuild_ends_with_its_spare_or_when_too_much_is_missing() {
        let mut it = rebuilds();
        it.begin(0, 4, 0);
        it.begin(2, 5, 0);
        it.next_unit(0, 0);
        it.rebuilt(4, 7);
        assert_eq!(it.abandon(0), [7]);
        assert!(!it.rebuilt(4, 8) && it.abandon(0).is_empty());
        it.next_unit(2, 0);
        // After a power cut the unit starts again.
        it.lose_power();
        assert_eq!((it.wake(50), it.next_unit(2, 50)), (vec![2], Some((5, 0..2))));
        it.stop(5);
        it.rebuilt(5, 9);
        it.rebuilt(5, 10);
        let unit = it.end_unit(2, 60).unwrap();
        assert_eq!((unit.rows, unit.next_at), (0, None));
        assert_eq!(it.next_unit(2, 70), None);
    }
}
