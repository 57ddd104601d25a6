//! Both devices with their outstanding requests; also updates the ledger.

use super::Side;
use super::config::Shape;
use super::ledger::{Ledger, Version};
use super::lists::{NONE, Slot as LineSlot};
use super::planted::Slip;
use engine::{Completion, Handle, Lba, Op, Request, Status, Time};
use ssd::device::kit::slots::{Slot, Slots};
use ssd::device::{Instruction, Model};
use std::ops::Range;

/// Purpose of a request to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Part of a host request.
    Part(Slot),
    /// Read of missing lines, for a request that inserts them.
    Missing(Slot),
    /// Read of the rest of a partly written line.
    Merge(Slot),
    /// Write of lines that a read inserts into the cache.
    Fill(Slot),
    /// Read of a run of dirty lines.
    RunRead(Slot),
    RunWrite(Slot),
    /// Flush that makes written-back runs durable.
    RunFlush,
}

/// An outstanding request to a device.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    pub owner: Owner,
    pub first: u64,
    pub lines: u32,
    /// Slot of its first line, if it is read there.
    pub pinned: LineSlot,
}

/// Bit that marks a read hit's id. The bits below hold the host request's id and queue, so hits
/// need no other state.
const HIT: u64 = 1 << 63;
const QUEUE: u32 = 47;

/// True if position and id are the only properties of a read.
#[inline]
pub fn may_be_hit(request: &Request) -> bool {
    let is_plain = !request.fua && request.handle == Handle::NONE;
    request.op == Op::Read && request.id < 1 << QUEUE && is_plain
}

/// True for a completion of [`Pair::ask_hit`].
#[inline]
pub fn is_hit(completion: &Completion) -> bool {
    completion.request.id & HIT != 0
}

/// Id and queue of the host's request.
#[inline]
pub fn hit_of(completion: &Completion) -> (u64, u16) {
    let id = completion.request.id & !HIT;
    (id & ((1 << QUEUE) - 1), (id >> QUEUE) as u16)
}

/// Both devices, their outstanding requests, and the ledger.
#[derive(Clone)]
pub struct Pair {
    shape: Shape,
    devices: [Box<dyn Model>; 2],
    /// Next event time of each device; the end of time without one.
    next: [Time; 2],
    jobs: Slots<Job>,
    ledger: Option<Box<Ledger>>,
    /// True if writes to the fast device must be forced.
    forces: bool,
    /// True if the backing device may lose completed writes.
    volatile: bool,
    /// Number of flushes of the backing device that have started, and number of the last durable
    /// one. True if the host wrote to that device since its last flush.
    epoch: u64,
    flushed: u64,
    unflushed: bool,
}

impl Pair {
    /// Both idle devices; `forces` if writes to the fast device need FUA, `volatile` if the backing
    /// device may lose completed writes.
    pub fn new(
        shape: Shape,
        devices: [Box<dyn Model>; 2],
        ledger: Option<Box<Ledger>>,
        forces: bool,
        volatile: bool,
    ) -> Pair {
        Pair {
            shape,
            devices,
            next: [Time::MAX; 2],
            jobs: Slots::new(),
            ledger,
            forces,
            volatile,
            epoch: 1,
            flushed: 1,
            unflushed: false,
        }
    }

    /// Both devices.
    pub fn each(&self) -> &[Box<dyn Model>; 2] {
        &self.devices
    }

    /// Both devices, mutable; they must be idle.
    pub fn each_mut(&mut self) -> &mut [Box<dyn Model>; 2] {
        &mut self.devices
    }

    /// Writes out the write buffers of both devices.
    pub fn shut_down(&mut self, now: Time) -> Result<(), String> {
        for (device, next) in self.devices.iter_mut().zip(&mut self.next) {
            device.instruct(now, Instruction::ShutDown)?;
            *next = device.next_event().unwrap_or(Time::MAX);
        }
        Ok(())
    }

    /// Updates the ledger, if there is one.
    #[inline]
    pub fn note(&mut self, tell: impl FnOnce(&mut Ledger)) {
        if let Some(ledger) = &mut self.ledger {
            tell(ledger);
        }
    }

    /// The ledger, if power cuts are possible.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.ledger.as_deref()
    }

    /// True if the backing device may lose completed writes.
    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// True if host data may be lost.
    pub fn may_lose(&self) -> bool {
        self.volatile && (self.unflushed || self.flushed < self.epoch)
    }

    /// Number of the flush that will cover current writes to the backing device.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Number of the last durable flush; `None` if the device loses nothing.
    pub fn flushed(&self) -> Option<u64> {
        self.volatile.then_some(self.flushed)
    }

    #[inline]
    fn ask(&mut self, now: Time, side: Side, job: Job, request: Request) -> Slot {
        let id = self.jobs.insert(job);
        let device = &mut self.devices[side as usize];
        device.submit(now, Request { id: u64::from(id), ..request });
        self.next[side as usize] = device.next_event().unwrap_or(Time::MAX);
        id
    }

    /// Reads or writes a range of sectors of lines in consecutive slots.
    #[inline]
    pub fn ask_fast(
        &mut self,
        now: Time,
        (owner, op): (Owner, Op),
        lines: Range<u64>,
        slot: LineSlot,
        sectors: &Range<u64>,
    ) {
        let (start, end) = self.shape.clipped(&lines, sectors);
        let place = u64::from(slot - 1) * self.shape.line + (start - lines.start * self.shape.line);
        let fua = op == Op::Write && self.forces && !Slip::NoForce.is_planted();
        let pinned = if op == Op::Read { slot } else { NONE };
        let (first, count) = (lines.start, (lines.end - lines.start) as u32);
        let job = Job { owner, first, lines: count, pinned };
        let request = Request { fua, ..Request::new(0, op, Lba(place), (end - start) as u32) };
        let id = self.ask(now, Side::Fast, job, request);
        if op == Op::Write {
            self.note_fast(id, owner, lines, slot, fua);
        }
    }

    /// Reads the requested part of a cached line.
    #[inline]
    pub fn ask_hit(&mut self, now: Time, request: &Request, slot: LineSlot, from: u64) {
        let place = Lba(u64::from(slot - 1) * self.shape.line + from);
        let id = HIT | u64::from(request.queue) << QUEUE | request.id;
        let device = &mut self.devices[Side::Fast as usize];
        device.submit(now, Request { id, lba: place, queue: 0, ..*request });
        self.next[Side::Fast as usize] = device.next_event().unwrap_or(Time::MAX);
    }

    /// With read hits only, and no earlier event on the backing device, advances the fast device to
    /// its next completions, at most to `to`. Returns the time reached; `None` if it does not
    /// apply.
    #[inline]
    pub fn advance_to_hits(&mut self, to: Time, answers: &mut Vec<Completion>) -> Option<Time> {
        let [fast, backing] = self.next;
        if fast > to || fast >= backing {
            return None;
        }
        let device = &mut self.devices[Side::Fast as usize];
        let at = device.advance_to_answer(to.min(backing - 1), answers);
        self.next[Side::Fast as usize] = device.next_event().unwrap_or(Time::MAX);
        at
    }

    /// Reads or writes a range of the backing device within the given lines.
    pub fn ask_backing(
        &mut self,
        now: Time,
        (owner, op): (Owner, Op),
        lines: Range<u64>,
        sectors: &Range<u64>,
        fua: bool,
    ) {
        let (start, end) = self.shape.clipped(&lines, sectors);
        let (first, count) = (lines.start, (lines.end - lines.start) as u32);
        let job = Job { owner, first, lines: count, pinned: NONE };
        let request = Request { fua, ..Request::new(0, op, Lba(start), (end - start) as u32) };
        let id = self.ask(now, Side::Backing, job, request);
        if op == Op::Write {
            self.note_backing(id, owner, lines, fua);
        }
    }

    /// Flushes the backing device.
    pub fn ask_flush(&mut self, now: Time, owner: Owner) {
        self.epoch += 1;
        self.unflushed = false;
        let job = Job { owner, first: self.epoch, lines: 0, pinned: NONE };
        let id = self.ask(now, Side::Backing, job, Request::new(0, Op::Flush, Lba(0), 0));
        if let Some(ledger) = &mut self.ledger {
            ledger.flush_begins(id);
        }
    }

    /// Serves an untimed request on one device.
    pub fn serve_untimed(&mut self, side: Side, request: &Request) -> Status {
        self.devices[side as usize].serve_untimed(request)
    }

    fn note_fast(&mut self, job: Slot, owner: Owner, lines: Range<u64>, slot: LineSlot, fua: bool) {
        let Some(ledger) = &mut self.ledger else { return };
        let what: Vec<(u64, Version)> = lines
            .zip(u64::from(slot)..)
            .map(|(line, slot)| match owner {
                Owner::Part(asked) => (slot, Version { line, number: ledger.version(asked) }),
                _ => (slot, ledger.newest(Side::Backing, line)),
            })
            .collect();
        ledger.begin(job, Side::Fast, fua, &what);
    }

    fn note_backing(&mut self, job: Slot, owner: Owner, lines: Range<u64>, fua: bool) {
        let Some(ledger) = &mut self.ledger else { return };
        let what: Vec<(u64, Version)> = lines
            .map(|line| match owner {
                Owner::Part(asked) => (line, Version { line, number: ledger.version(asked) }),
                // The version at the time of the read; a line written since is written back again.
                _ => (line, ledger.taken(line)),
            })
            .collect();
        ledger.begin(job, Side::Backing, fua, &what);
    }

    /// Handles a completion of a device. Returns the job.
    #[inline]
    pub fn answered(&mut self, side: Side, completion: &Completion) -> Job {
        let id = completion.request.id as Slot;
        let job = self.jobs.remove(id);
        match completion.request.op {
            Op::Flush => self.flushed = self.flushed.max(job.first),
            Op::Write => {
                let is_hosts = matches!(job.owner, Owner::Part(_));
                self.unflushed |= is_hosts && side == Side::Backing;
            }
            _ => return job,
        }
        if let Some(ledger) = &mut self.ledger {
            if completion.request.op == Op::Write {
                ledger.end(id);
            } else {
                ledger.flush_ends(id);
            }
        }
        job
    }

    /// Time of either device's next event; the end of time without one.
    #[inline]
    pub fn next(&self) -> Time {
        self.next[0].min(self.next[1])
    }

    /// True if a device has an event up to `now`.
    #[inline]
    pub fn is_due(&self, side: Side, now: Time) -> bool {
        self.next[side as usize] <= now
    }

    /// Advances a device.
    #[inline]
    pub fn advance(&mut self, side: Side, now: Time, done: &mut Vec<Completion>) {
        let device = &mut self.devices[side as usize];
        device.advance(now, done);
        self.next[side as usize] = device.next_event().unwrap_or(Time::MAX);
    }

    /// True if either device is at end of life.
    #[inline]
    pub fn has_ended(&self) -> bool {
        let [fast, backing] = &self.devices;
        fast.has_ended() || backing.has_ended()
    }

    /// True without outstanding requests other than hits.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    pub fn are_ready(&self) -> bool {
        self.devices.iter().all(|device| device.standing().is_ready)
    }

    /// Cuts the power of both devices.
    pub fn cut(&mut self, now: Time) {
        let mut lost = Vec::new();
        for device in &mut self.devices {
            device.cut(now, &mut lost);
        }
        self.next = [Time::MAX; 2];
        self.jobs = Slots::new();
        // Content present after the cut is durable.
        (self.unflushed, self.flushed) = (false, self.epoch);
        if let Some(ledger) = &mut self.ledger {
            ledger.cut();
        }
    }

    pub fn power_on(&mut self, now: Time) {
        for (device, next) in self.devices.iter_mut().zip(&mut self.next) {
            device.power_on(now);
            *next = device.next_event().unwrap_or(Time::MAX);
        }
    }
}
