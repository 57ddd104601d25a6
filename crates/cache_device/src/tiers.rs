//! Two devices with one address space: each extent is on one of them, hot extents on the fast
//! device.
//!
//! A backing extent that has become hotter than a fast one swaps places with it. Both are read into
//! non-volatile memory and then written to each other's place; requests for either wait meanwhile.
//! If a power cut finds the swap reading, nothing has changed; if it finds it writing, the writes
//! are repeated. Both devices are complete devices.

use super::Side;
use super::config::{CacheOptions, Extents, Halves, Recovery};
use super::heat::Heat;
use super::kept::Kept;
use super::ledger::{Found, Ledger, Version};
use super::planted::Slip;
use super::report::{Counts, Kind};
use engine::{
    Breakdown, Completion, Device, Followed, Lba, Op, Request, SECTOR_BYTES, Standing, Status, Time,
};
use options::Invalid;
use ssd::device::kit::slots::{Slot, Slots};
use ssd::device::latency::{BACKING, FAST, UNIT_WAIT};
use ssd::device::{Instruction, Model, Report};
use std::collections::VecDeque;
use std::ops::Range;

/// No extent: content of a place that is being written.
const NONE: u32 = u32::MAX;

/// Fast extents examined per swap, in rotation; the coldest of them is the candidate.
const LOOKED_AT: usize = 16;

/// Bit that marks a swap's request ids; other ids belong to host requests.
const SWAP: u64 = 1 << 32;

/// Bit that marks swaps in the ledger.
const SWAP_JOBS: u32 = 1 << 31;

/// Job number in the ledger of a request or swap on a device.
fn job_of(slot: Slot, side: Side) -> u32 {
    slot * 2 + side as u32
}

/// A request of the host.
#[derive(Debug, Clone, Copy)]
struct Asked {
    request: Request,
    submitted: Time,
    begun: Time,
    number: u64,
    left: u32,
    status: Status,
}

/// A swap: the extent promoted to the fast device, and the demoted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Swap {
    up: u32,
    down: u32,
    writes: bool,
    left: u32,
    failed: bool,
}

/// Two tiers: devices, positions of extents, and outstanding requests.
#[derive(Clone)]
pub struct Tiers {
    extents: Extents,
    devices: [Box<dyn Model>; 2],
    next: [Option<Time>; 2],
    /// Expected data after a power cut, if cuts are possible; places are numbered across both
    /// devices.
    ledger: Option<Box<Ledger>>,
    /// Place of each extent, fast device first; and the extent in each place.
    place: Vec<u32>,
    holds: Vec<u32>,
    heat: Heat,
    gain: f64,
    most_swaps: usize,
    /// Next fast place to examine for a swap.
    hand: u32,
    swaps: Slots<Swap>,
    /// True for each device that may lose completed writes; swap writes are forced there.
    forces: [bool; 2],
    asked: Slots<Asked>,
    waiting: VecDeque<Slot>,
    /// Outstanding parts of requests, by extent.
    busy: Vec<u16>,
    number: u64,
    pub counts: Counts,
    pub swapped: u64,
    was_ready: bool,
    now: Time,
    answers: Vec<Completion>,
    done: Vec<Completion>,
}

impl Tiers {
    /// Two tiers with the first extents on the fast device; `keeps` is true for each device whose
    /// completions survive a power cut.
    ///
    /// # Errors
    /// For options that contradict each other or the devices; the error names the keys.
    pub fn of(
        config: &CacheOptions<impl Halves>,
        seed: u64,
        devices: [Box<dyn Model>; 2],
        keeps: [bool; 2],
    ) -> Result<Tiers, Invalid> {
        let extents =
            config.extents(devices[0].capacity_sectors(), devices[1].capacity_sectors())?;
        let all = extents.all as usize;
        let ledger = (config.restart != Recovery::None).then(|| {
            let mut ledger = Box::new(Ledger::new(keeps, seed));
            (0..extents.fast).for_each(|it| ledger.loaded(it, u64::from(it)));
            ledger
        });
        Ok(Tiers {
            ledger,
            extents,
            devices,
            next: [None; 2],
            place: (0..extents.all).collect(),
            holds: (0..extents.all).collect(),
            heat: Heat::new(all, config.tier.half_life.ns()),
            gain: config.tier.gain,
            most_swaps: config.tier.swaps as usize,
            hand: 0,
            swaps: Slots::new(),
            forces: keeps.map(|keeps| !keeps),
            asked: Slots::new(),
            waiting: VecDeque::new(),
            busy: memory::zeroed(all),
            number: 0,
            counts: Counts::default(),
            swapped: 0,
            was_ready: true,
            now: 0,
            answers: Vec::new(),
            done: Vec::new(),
        })
    }

    pub fn extents(&self) -> Extents {
        self.extents
    }

    pub fn each(&self) -> &[Box<dyn Model>; 2] {
        &self.devices
    }

    /// The devices, mutable; they must be idle.
    pub fn each_mut(&mut self) -> &mut [Box<dyn Model>; 2] {
        &mut self.devices
    }

    /// Writes out the write buffers of both devices.
    pub fn shut_both_down(&mut self, now: Time) -> Result<(), String> {
        for (device, next) in self.devices.iter_mut().zip(&mut self.next) {
            device.instruct(now, Instruction::ShutDown)?;
            *next = device.next_event();
        }
        Ok(())
    }

    /// Resets the counters.
    pub fn reset(&mut self) {
        (self.counts, self.swapped) = (Counts::default(), 0);
        if let Some(ledger) = &mut self.ledger {
            ledger.reset();
        }
    }

    fn extents_of(&self, request: &Request) -> Range<u32> {
        let Request { lba: Lba(first), sectors, .. } = *request;
        let per = self.extents.sectors;
        (first / per) as u32..(first + u64::from(sectors)).div_ceil(per) as u32
    }

    /// Device of an extent, and its first sector there.
    fn lies(&self, extent: u32) -> (Side, u64) {
        let place = self.place[extent as usize];
        let (side, first) = if place < self.extents.fast {
            (Side::Fast, 0)
        } else {
            (Side::Backing, self.extents.fast)
        };
        (side, u64::from(place - first) * self.extents.sectors)
    }

    /// Parts of a request, one per extent, with their positions.
    fn parts(&self, request: &Request) -> Vec<(u32, Side, Lba, u32)> {
        let Request { lba: Lba(first), sectors, .. } = *request;
        let (per, end) = (self.extents.sectors, first + u64::from(sectors));
        let part = |extent: u32| {
            let base = u64::from(extent) * per;
            let (from, to) = (first.max(base), end.min(base + per));
            let (side, at) = self.lies(extent);
            (extent, side, Lba(at + from - base), (to - from) as u32)
        };
        self.extents_of(request).map(part).collect()
    }

    fn ask(&mut self, side: Side, request: Request) {
        let device = &mut self.devices[side as usize];
        device.submit(self.now, request);
        self.next[side as usize] = device.next_event();
    }

    fn is_swapping(&self, extent: u32) -> bool {
        let swaps = self.swaps.taken();
        swaps
            .into_iter()
            .map(|slot| self.swaps[slot])
            .any(|it| it.up == extent || it.down == extent)
    }

    // ---- requests of the host ------------------------------------------------------------------

    /// Starts a request. Returns false if it must wait.
    fn begin(&mut self, slot: Slot) -> bool {
        let Asked { request, number, .. } = self.asked[slot];
        if request.op == Op::Flush {
            let changes = self.asked.taken().into_iter().map(|slot| self.asked[slot]);
            let is_before =
                |it: &Asked| it.number < number && matches!(it.request.op, Op::Write | Op::Trim);
            if changes.into_iter().any(|it| is_before(&it)) {
                return false;
            }
            (self.asked[slot].begun, self.asked[slot].left) = (self.now, 2);
            if let Some(ledger) = &mut self.ledger {
                ledger.host_flush_begins(slot);
                for side in [Side::Fast, Side::Backing] {
                    ledger.flush_begins(job_of(slot, side));
                }
            }
            for side in [Side::Fast, Side::Backing] {
                self.ask(side, Request { id: u64::from(slot), ..request });
            }
            return true;
        }
        if !self.swaps.is_empty() && self.extents_of(&request).any(|it| self.is_swapping(it)) {
            return false;
        }
        let parts = self.parts(&request);
        if self.ledger.is_some() {
            self.note_begun(slot, &request, &parts);
        }
        let asked = &mut self.asked[slot];
        (asked.begun, asked.left) = (self.now, parts.len() as u32);
        for (extent, side, lba, sectors) in parts {
            self.busy[extent as usize] += 1;
            self.ask(side, Request { id: u64::from(slot), lba, sectors, ..request });
            if matches!(request.op, Op::Read | Op::Write) {
                self.count(request.op, side);
                self.used(extent);
            }
        }
        true
    }

    fn count(&mut self, op: Op, side: Side) {
        let is_fast = u64::from(side == Side::Fast);
        match op {
            Op::Read => self.counts.reads(is_fast, 1 - is_fast),
            _ => self.counts.writes(is_fast, 1 - is_fast),
        }
    }

    fn begin_waiting(&mut self) {
        let mut place = 0;
        while let Some(slot) = self.waiting.get(place).copied() {
            if self.is_behind(&self.asked[slot].request, place) || !self.begin(slot) {
                place += 1;
            } else {
                self.waiting.remove(place);
            }
        }
    }

    /// True if an earlier waiting request shares an extent.
    fn is_behind(&self, request: &Request, place: usize) -> bool {
        if request.op == Op::Flush {
            return false;
        }
        let own = self.extents_of(request);
        self.waiting.iter().take(place).any(|slot| {
            let other = self.asked[*slot].request;
            let it = self.extents_of(&other);
            other.op != Op::Flush && it.start < own.end && own.start < it.end
        })
    }

    // ---- extents change places -----------------------------------------------------------------------------

    /// Counts a use of an extent. A swap is considered when the extent is idle.
    fn used(&mut self, extent: u32) {
        self.heat.note(extent, self.now);
    }

    /// Coldest idle extent among the next fast places.
    fn coldest(&mut self, now: Time) -> Option<(u32, u32)> {
        let fast = self.extents.fast;
        let places = (0..LOOKED_AT.min(fast as usize) as u32).map(|step| (self.hand + step) % fast);
        let at_rest = places
            .map(|place| self.holds[place as usize])
            .filter(|it| *it != NONE && self.busy[*it as usize] == 0 && !self.is_swapping(*it));
        let found = at_rest.map(|it| (self.heat.of(it, now), it)).min();
        self.hand = (self.hand + LOOKED_AT as u32) % fast;
        found
    }

    /// The fast extent to demote for `extent`, if `extent` is hotter by the required factor.
    fn gives_way(&mut self, extent: u32, now: Time) -> Option<u32> {
        let hot = self.heat.of(extent, now);
        if hot < 2 {
            return None;
        }
        let (cold, down) = self.coldest(now)?;
        (f64::from(hot) > f64::from(cold) * self.gain).then_some(down)
    }

    /// Considers promoting an extent that has become idle.
    fn rests(&mut self, extent: u32) {
        let (side, _) = self.lies(extent);
        let may = side == Side::Backing
            && self.busy[extent as usize] == 0
            && self.swaps.taken().len() < self.most_swaps
            && !self.is_swapping(extent)
            && !self.standing().may_refuse;
        if !may {
            return;
        }
        let Some(down) = self.gives_way(extent, self.now) else { return };
        let swap = Swap { up: extent, down, writes: false, left: 2, failed: false };
        let slot = self.swaps.insert(swap);
        self.move_both(slot, Op::Read);
    }

    /// Reads both extents of a swap, or writes each to the other's place.
    fn move_both(&mut self, slot: Slot, op: Op) {
        let Swap { up, down, .. } = self.swaps[slot];
        let (own, other) = (self.place[up as usize], self.place[down as usize]);
        if op == Op::Write {
            self.holds[own as usize] = NONE;
            self.holds[other as usize] = NONE;
            self.note_moving(slot, (up, down), [own, other]);
        }
        for extent in [up, down] {
            let (side, at) = self.lies(extent);
            let fua = op == Op::Write && self.forces_swap(side);
            let id = SWAP | u64::from(slot);
            let request = Request::new(id, op, Lba(at), self.extents.sectors as u32);
            self.ask(side, Request { fua, ..request });
        }
    }

    /// True if a swap's writes to a device must be forced.
    fn forces_swap(&self, side: Side) -> bool {
        self.forces[side as usize] && !Slip::SwapUnforced.is_planted()
    }

    // ---- ledger --------------------------------------------------------------------------------

    /// Notes the start of a request in the ledger: its writes and their places.
    fn note_begun(&mut self, slot: Slot, request: &Request, parts: &[(u32, Side, Lba, u32)]) {
        let lines = self.extents_of(request);
        let lines = u64::from(lines.start)..u64::from(lines.end);
        let whole = parts.iter().all(|(.., sectors)| u64::from(*sectors) == self.extents.sectors);
        let Some(ledger) = &mut self.ledger else { return };
        match request.op {
            Op::Write => ledger.written(slot, lines),
            Op::Trim if whole => return ledger.trimmed(lines),
            _ => return,
        }
        let number = ledger.version(slot);
        for side in [Side::Fast, Side::Backing] {
            let there = parts.iter().filter(|it| it.1 == side);
            let what: Vec<(u64, Version)> = there
                .map(|(extent, ..)| {
                    let version = Version { line: u64::from(*extent), number };
                    (u64::from(self.place[*extent as usize]), version)
                })
                .collect();
            ledger.begin(job_of(slot, side), side, request.fua, &what);
        }
    }

    /// Notes in the ledger that both extents of a swap are in memory and are written to each
    /// other's place.
    fn note_moving(&mut self, slot: Slot, (up, down): (u32, u32), [own, other]: [u32; 2]) {
        let forced = [Side::Fast, Side::Backing].map(|side| self.forces_swap(side));
        let Some(ledger) = &mut self.ledger else { return };
        let [to_fast, to_backing] = [up, down].map(|it| ledger.taken(u64::from(it)));
        let to = [(Side::Fast, other, to_fast), (Side::Backing, own, to_backing)];
        for (side, place, version) in to {
            let job = SWAP_JOBS | job_of(slot, side);
            ledger.begin(job, side, forced[side as usize], &[(u64::from(place), version)]);
        }
    }

    /// Notes the end of a request in the ledger.
    fn note_ended(&mut self, slot: Slot, request: &Request, status: Status) {
        let keeps = !self.forces.contains(&true);
        let Some(ledger) = &mut self.ledger else { return };
        for side in [Side::Fast, Side::Backing] {
            match request.op {
                Op::Write => ledger.end(job_of(slot, side)),
                Op::Flush => ledger.flush_ends_on(job_of(slot, side), side),
                _ => {}
            }
        }
        match (request.op, status.is_ok()) {
            (Op::Write, true) => ledger.answered(slot, keeps || request.fua),
            (Op::Write, false) => ledger.failed(slot),
            (Op::Flush, true) => ledger.host_flush_ends(slot),
            _ => {}
        }
    }

    /// Position of an extent.
    fn find(&self, extent: u64) -> Found {
        let moves = |slot: &Slot| {
            let Swap { up, down, writes, .. } = self.swaps[*slot];
            writes && [up, down].map(u64::from).contains(&extent)
        };
        if self.swaps.taken().iter().any(moves) {
            return Found::InMemory;
        }
        match (self.lies(extent as u32).0, self.place[extent as usize]) {
            (Side::Fast, place) => Found::Dirty(place),
            (Side::Backing, place) => Found::Moved(u64::from(place)),
        }
    }

    /// Report of power cuts.
    pub fn power(&self) -> Option<Report> {
        self.ledger.as_ref().and_then(|ledger| ledger.report())
    }

    /// Checks that each extent holds its last written version; the tiers must be idle.
    ///
    /// # Errors
    /// On an inconsistency, which is a bug of this program.
    pub fn audit_content(&self) -> Result<(), String> {
        self.ledger.as_ref().map_or(Ok(()), |ledger| ledger.audit(|extent| self.find(extent)))
    }

    /// Handles a completed part of a swap.
    fn swap_answered(&mut self, slot: Slot, side: Side, status: Status) {
        let swap = &mut self.swaps[slot];
        swap.left -= 1;
        swap.failed |= !status.is_ok();
        let Swap { up, down, writes, left, failed } = *swap;
        if writes {
            // The fast place gets the promoted extent.
            let (place, content) = if side == Side::Fast {
                (self.place[down as usize], up)
            } else {
                (self.place[up as usize], down)
            };
            self.holds[place as usize] = content;
            if let Some(ledger) = &mut self.ledger {
                ledger.end(SWAP_JOBS | job_of(slot, side));
            }
        }
        if left > 0 {
            return;
        }
        if !writes && !failed {
            for extent in [up, down] {
                let (side, place) = (self.lies(extent).0, self.place[extent as usize]);
                if let Some(ledger) = &mut self.ledger {
                    ledger.take_from(side, u64::from(place), u64::from(extent));
                }
            }
            (self.swaps[slot].writes, self.swaps[slot].left) = (true, 2);
            return self.move_both(slot, Op::Write);
        }
        self.swaps.remove(slot);
        if writes {
            self.place.swap(up as usize, down as usize);
            let bytes = self.extents.sectors * SECTOR_BYTES;
            self.counts.fill(bytes);
            self.counts.destage(bytes);
            self.swapped += 1;
        }
    }

    // ---- the devices answer --------------------------------------------------------------------------------

    fn answered(&mut self, side: Side, completion: &Completion) {
        let id = completion.request.id;
        let slot = id as Slot;
        if id & SWAP != 0 {
            return self.swap_answered(slot, side, completion.status);
        }
        let asked = &mut self.asked[slot];
        asked.left -= 1;
        asked.status = asked.status.and(completion.status);
        let Asked { request, submitted, begun, left, status, .. } = *asked;
        if left > 0 {
            return;
        }
        let mut breakdown = Breakdown::of(UNIT_WAIT, begun - submitted);
        breakdown[if side == Side::Fast { FAST } else { BACKING }] = self.now - begun;
        self.answers.push(Completion { request, submitted, at: self.now, breakdown, status });
        self.asked.release(slot);
        self.note_ended(slot, &request, status);
        let (fast, backing) = match side {
            Side::Fast => (self.now - begun, 0),
            Side::Backing => (0, self.now - begun),
        };
        let kind = match (request.op, side) {
            (Op::Read, Side::Fast) => Kind::ReadHit,
            (Op::Read, Side::Backing) => Kind::ReadMiss,
            (Op::Write, Side::Fast) => Kind::Write,
            _ => Kind::WritePassed,
        };
        self.counts.account(kind, begun - submitted, fast, backing);
        if request.op == Op::Flush {
            return;
        }
        for extent in self.extents_of(&request) {
            self.busy[extent as usize] -= 1;
            self.rests(extent);
        }
    }

    fn next_inside(&self) -> Option<Time> {
        self.next.iter().flatten().min().copied()
    }

    fn step(&mut self, now: Time) {
        self.now = now;
        for side in [Side::Fast, Side::Backing] {
            if self.next[side as usize].is_none_or(|at| at > now) {
                continue;
            }
            let mut done = std::mem::take(&mut self.done);
            let device = &mut self.devices[side as usize];
            device.advance(now, &mut done);
            self.next[side as usize] = device.next_event();
            for completion in done.drain(..) {
                self.answered(side, &completion);
            }
            self.done = done;
        }
        self.wake();
        if self.was_ready && !self.waiting.is_empty() {
            self.begin_waiting();
        }
    }

    /// Repeats the writes of interrupted swaps, once both devices are ready after a cut.
    fn wake(&mut self) {
        if self.was_ready || !self.devices.iter().all(|device| device.standing().is_ready) {
            return;
        }
        self.was_ready = true;
        if let Some(mut ledger) = self.ledger.take() {
            ledger.judge(|extent| self.find(extent));
            self.ledger = Some(ledger);
        }
        for slot in self.swaps.taken() {
            self.swaps[slot].left = 2;
            self.move_both(slot, Op::Write);
        }
    }

    // ---- without time ----------------------------------------------------------------------------------------

    /// Serves an untimed request on both devices and the extents.
    pub fn serve_in_no_time(&mut self, request: &Request) -> Status {
        if request.op == Op::Flush {
            let each = self.devices.each_mut().map(|device| device.serve_untimed(request));
            return each[0].and(each[1]);
        }
        let mut status = Status::Ok;
        for (extent, side, lba, sectors) in self.parts(request) {
            let part = Request { lba, sectors, ..*request };
            status = status.and(self.devices[side as usize].serve_untimed(&part));
            if !matches!(request.op, Op::Read | Op::Write) {
                continue;
            }
            self.count(request.op, side);
            self.used(extent);
            if side == Side::Backing
                && let Some(down) = self.gives_way(extent, self.now)
            {
                self.swap_in_no_time(extent, down);
            }
        }
        status
    }

    fn swap_in_no_time(&mut self, up: u32, down: u32) {
        for op in [Op::Read, Op::Write] {
            for extent in [up, down] {
                let (side, at) = self.lies(extent);
                let request = Request::new(0, op, Lba(at), self.extents.sectors as u32);
                self.devices[side as usize].serve_untimed(&request);
            }
        }
        self.place.swap(up as usize, down as usize);
        for extent in [up, down] {
            let place = self.place[extent as usize];
            self.holds[place as usize] = extent;
            let side = self.lies(extent).0;
            if let Some(ledger) = &mut self.ledger {
                match side {
                    Side::Fast => ledger.loaded(place, u64::from(extent)),
                    Side::Backing => ledger.loaded_behind(u64::from(place), u64::from(extent)),
                }
            }
        }
        self.swapped += 1;
    }

    /// True without outstanding requests and swaps.
    pub fn is_at_rest(&self) -> bool {
        self.asked.is_empty() && self.swaps.is_empty() && self.answers.is_empty()
    }

    /// Saved state: positions of extents, their hotness, and the next fast place to examine.
    pub fn keep(&self) -> Kept {
        let places = self.place.iter().map(|place| u64::from(*place)).collect();
        let heat = (0..self.extents.all).map(|it| u64::from(self.heat.of(it, self.now))).collect();
        vec![places, heat, vec![u64::from(self.hand)]]
    }

    /// Restores the saved state.
    ///
    /// # Errors
    /// When the state is invalid.
    pub fn take_up_lists(&mut self, lists: Kept) -> Result<(), String> {
        let all = self.extents.all as usize;
        let [places, heat, rest]: [Vec<u64>; 3] =
            lists.try_into().map_err(|_| "it has not the lists of tiers".to_owned())?;
        if places.len() != all || heat.len() != all || rest.len() != 1 {
            return Err("it has another number of extents".to_owned());
        }
        self.holds.fill(NONE);
        for (extent, place) in places.into_iter().enumerate() {
            let holds = self.holds.get_mut(place as usize).filter(|it| **it == NONE);
            *holds.ok_or_else(|| format!("two extents lie at place {place}"))? = extent as u32;
            self.place[extent] = place as u32;
        }
        for (extent, uses) in heat.into_iter().enumerate() {
            let uses = u32::try_from(uses).map_err(|_| format!("{uses} uses are too many"))?;
            self.heat.restore_state(extent as u32, uses);
        }
        self.hand = (rest[0] % u64::from(self.extents.fast)) as u32;
        let Tiers { ledger, holds, extents, .. } = self;
        if let Some(ledger) = ledger {
            let content = |place: u32| u64::from(holds[place as usize]);
            (0..extents.fast).for_each(|place| ledger.loaded(place, content(place)));
            (extents.fast..extents.all)
                .for_each(|place| ledger.loaded_behind(u64::from(place), content(place)));
        }
        Ok(())
    }

    /// Checks that each extent is in one place, as mapped.
    ///
    /// # Errors
    /// On an inconsistency, which is a bug of this program.
    pub fn audit_places(&self) -> Result<(), String> {
        let mut seen = memory::zeroed::<bool>(self.place.len());
        for (extent, place) in self.place.iter().enumerate() {
            if std::mem::replace(&mut seen[*place as usize], true) {
                return Err(format!("two extents lie at place {place}"));
            }
            let held = self.holds[*place as usize];
            if held != extent as u32 && !self.is_swapping(extent as u32) {
                return Err(format!("extent {extent} lies at place {place}, which holds {held}"));
            }
        }
        if self.is_at_rest() && self.busy.iter().any(|it| *it > 0) {
            return Err("an extent is in use, and nothing is under way".to_owned());
        }
        Ok(())
    }
}

impl Device for Tiers {
    fn submit(&mut self, now: Time, request: Request) {
        self.now = now;
        let number = self.number;
        self.number += 1;
        let asked =
            Asked { request, submitted: now, begun: now, number, left: 0, status: Status::Ok };
        let slot = self.asked.insert(asked);
        let is_behind = self.is_behind(&request, self.waiting.len());
        if is_behind || !self.was_ready || !self.begin(slot) {
            self.waiting.push_back(slot);
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.answers.first().map(|answer| answer.at).or_else(|| self.next_inside())
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(now) = self.next_inside().filter(|at| *at <= to) {
            self.step(now);
        }
        completions.append(&mut self.answers);
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.now = now;
        completions.append(&mut self.answers);
        let mut lost: Vec<Asked> =
            self.asked.taken().into_iter().map(|slot| self.asked[slot]).collect();
        lost.sort_by_key(|asked| asked.number);
        completions.extend(lost.into_iter().map(|it| Completion {
            request: it.request,
            submitted: it.submitted,
            at: now,
            breakdown: Breakdown::of(UNIT_WAIT, now - it.submitted),
            status: Status::PowerLost,
        }));
        let mut within = Vec::new();
        for device in &mut self.devices {
            device.cut(now, &mut within);
        }
        self.next = [None; 2];
        if let Some(ledger) = &mut self.ledger {
            ledger.cut();
        }
        self.asked = Slots::new();
        self.waiting.clear();
        self.busy.fill(0);
        // Extents that were only read are still in place.
        for slot in self.swaps.taken() {
            if !self.swaps[slot].writes || Slip::SwapForgotten.is_planted() {
                self.swaps.remove(slot);
            }
        }
        self.was_ready = false;
    }

    fn power_on(&mut self, now: Time) {
        self.now = now;
        for (device, next) in self.devices.iter_mut().zip(&mut self.next) {
            device.power_on(now);
            *next = device.next_event();
        }
        self.wake();
    }

    fn standing(&self) -> Standing {
        let [fast, backing] = self.devices.each_ref().map(|device| device.standing());
        Standing {
            is_ready: self.was_ready,
            has_ended: fast.has_ended || backing.has_ended,
            may_refuse: fast.may_refuse || backing.may_refuse,
        }
    }

    fn has_ended(&self) -> bool {
        self.devices.iter().any(|device| device.has_ended())
    }

    fn followed(&self) -> Option<Followed> {
        let mut known = self.devices.iter().filter_map(|device| device.followed());
        let first = known.next()?;
        Some(known.fold(first, |mut sum, more| {
            sum += more;
            sum
        }))
    }

    fn capacity_sectors(&self) -> u64 {
        u64::from(self.extents.all) * self.extents.sectors
    }
}
