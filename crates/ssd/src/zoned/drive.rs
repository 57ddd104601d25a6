//! The timed drive: a command passes the controller, the zones decide it in order of arrival, and
//! the flash executes the result.

use super::automaton::Zones;
use super::config::{EraseWhen, Spread, ZonedConfig};
use super::media::{Media, Told};
use super::report::Counts;
use super::states::{Changed, State, Written};
use crate::clock::{Clock, Event};
use crate::device::kit::slots::{Slot, Slots};
use crate::device::latency::{
    BUFFER, BUS, CELL, FIRMWARE, HOST_LINK, HOST_QUEUE, SUSPEND, UNIT_WAIT,
};
use crate::device::{Constants, Field, Instruction, Model, Report};
use crate::die::Sight;
use engine::{
    Breakdown, Completion, Device, Distribution, Lba, Op, Request, SECTOR_BYTES, Standing, Status,
    Time, Xoshiro256,
};
use std::collections::VecDeque;

/// Sectors of 4 KiB, the unit of the firmware.
const PAGE_SECTORS: u64 = 4096 / SECTOR_BYTES;

/// Next step of a command after its controller time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Complete it.
    Answer,
    /// Admit its data to the write buffer.
    Admit,
    /// Read its data.
    Fetch,
    /// Finish zones, or wait for their erases.
    Finish,
    Reset,
    /// Wait until earlier data are in the flash.
    Flush,
}

/// A command in the device.
#[derive(Debug, Clone, Copy)]
struct Active {
    request: Request,
    submitted: Time,
    /// Arrival at the device, and start of the current wait.
    begun: Time,
    since: Time,
    stage: Stage,
    status: Status,
    /// Outstanding reads or zones.
    left: u32,
    parts: Breakdown,
}

/// Zone data that wait for room in the buffer.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    slot: Slot,
    zone: u32,
    generation: u32,
    to: u64,
    /// True if padding follows.
    pads: bool,
}

/// A flush of a volatile buffer, or a FUA write.
#[derive(Debug, Clone)]
struct Barrier {
    slot: Slot,
    program: u64,
    noted: Vec<(u32, u32, u64)>,
}

/// Result of the zones' decision on a command, kept until its execution.
#[derive(Debug, Clone)]
enum Decision {
    Write(Written, u32),
    Change(Vec<Changed>),
}

/// A drive of zones.
// One field per component and queue.
#[derive(Debug, Clone)]
pub struct ZonedDrive {
    config: ZonedConfig,
    zones: Zones,
    media: Media,
    clock: Clock,
    active: Slots<Active>,
    decisions: Vec<(Slot, Decision)>,
    /// Commands waiting in the host, and commands in the device.
    queue: VecDeque<(Request, Time)>,
    in_device: u32,
    /// End of the controller's current write transfer, and of its read transfer.
    writes_until: Time,
    leaves_until: Time,
    /// Buffer size in sectors, without windows.
    room: u64,
    waiting: VecDeque<Waiting>,
    /// Commands that wait for an idle zone.
    quiet: Vec<(u32, Slot)>,
    barriers: Vec<Barrier>,
    random: Xoshiro256,
    counts: Counts,
    since: Time,
    busy_before: Vec<Time>,
    answers: Vec<Completion>,
}

impl ZonedDrive {
    /// An idle drive.
    pub(super) fn new(
        config: &ZonedConfig,
        zones: Zones,
        media: Media,
        room: u64,
        random: Xoshiro256,
    ) -> ZonedDrive {
        ZonedDrive {
            config: config.clone(),
            zones,
            media,
            clock: Clock::default(),
            active: Slots::new(),
            decisions: Vec::new(),
            queue: VecDeque::new(),
            in_device: 0,
            writes_until: 0,
            leaves_until: 0,
            room,
            waiting: VecDeque::new(),
            quiet: Vec::new(),
            barriers: Vec::new(),
            random,
            counts: Counts::default(),
            since: 0,
            busy_before: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// The zones.
    pub fn zones(&self) -> &Zones {
        &self.zones
    }

    fn is_volatile(&self) -> bool {
        !self.config.buffer.power_loss_protected
    }

    fn sight(&self) -> Sight {
        Sight { holds_host: false, backlog: self.waiting.len() }
    }

    // ---- commands come in --------------------------------------------------------------------------

    /// Starts a command in the device: the zones decide it.
    fn begin(&mut self, request: Request, submitted: Time) {
        let now = self.clock.now;
        let mut parts = Breakdown::default();
        parts[HOST_QUEUE] = now - submitted;
        let (stage, status) = (Stage::Answer, Status::Ok);
        let active =
            Active { request, submitted, begun: now, since: now, stage, status, left: 0, parts };
        let slot = self.active.insert(active);
        self.in_device += 1;
        let decided = self.decide(slot, &request);
        let (stage, status) = match decided {
            Ok(stage) => (stage, Status::Ok),
            Err(status) => (Stage::Answer, status),
        };
        let end = self.controller_time(slot, &request, stage);
        let it = &mut self.active[slot];
        (it.stage, it.status) = (stage, status);
        it.parts[FIRMWARE] = end - now;
        self.clock.call(end, Event::Core(slot));
    }

    /// Decides a command in the zones, and its next step.
    fn decide(&mut self, slot: Slot, request: &Request) -> Result<Stage, Status> {
        let (lba, sectors) = (request.lba.0, u64::from(request.sectors));
        match request.op {
            Op::Read => self.zones.read(lba, sectors).map(|()| Stage::Fetch),
            Op::Write | Op::Append => {
                let written = if request.op == Op::Write {
                    self.zones.write(lba, sectors)?
                } else {
                    self.zones.append(lba, sectors)?
                };
                let (_, generation) = self.media.taken(written.zone);
                let at = u64::from(written.zone) * self.zones.limits().size + written.at;
                self.active[slot].request.lba = Lba(at);
                self.counts.note_write(request.op, sectors);
                self.decisions.push((slot, Decision::Write(written, generation)));
                Ok(Stage::Admit)
            }
            Op::Flush if self.is_volatile() => Ok(Stage::Flush),
            Op::Flush | Op::Trim | Op::Report => Ok(Stage::Answer),
            op => {
                let changed = if request.sectors == 0 {
                    self.zones.manage_all(op)?
                } else {
                    vec![self.zones.manage(op, lba, sectors)?]
                };
                let stage = match op {
                    Op::Finish | Op::Commit => Stage::Finish,
                    Op::Reset => Stage::Reset,
                    _ => return Ok(Stage::Answer),
                };
                self.note_changes(op, &changed);
                self.decisions.push((slot, Decision::Change(changed)));
                Ok(stage)
            }
        }
    }

    /// Counts finishes and resets, and drops obsolete state.
    fn note_changes(&mut self, op: Op, changed: &[Changed]) {
        for it in changed {
            let capacity = self.zones.look(it.zone).capacity;
            match op {
                Op::Finish if it.before.is_active() => {
                    self.counts.note_padding(capacity - it.committed);
                }
                Op::Reset if it.before != State::Empty => self.media.reset(it.zone),
                _ => {}
            }
        }
    }

    /// End of a command's controller time.
    fn controller_time(&mut self, slot: Slot, request: &Request, stage: Stage) -> Time {
        let now = self.clock.now;
        let firmware = &self.config.firmware;
        let (mean, path) = match request.op {
            Op::Read => return now + firmware.path_read.ns(),
            Op::Write => (firmware.write.ns(), firmware.path_write.ns()),
            Op::Append => (firmware.append.ns(), firmware.path_append.ns()),
            Op::Reset if stage == Stage::Reset => return now + self.reset_time(slot),
            _ => return now + firmware.manage.ns(),
        };
        let service = match firmware.spread {
            Spread::Constant => mean,
            Spread::Exponential => {
                let law = Distribution::Exponential { base: 0.0, mean: mean as f64 };
                law.sample(&mut self.random).round() as Time
            }
        };
        self.writes_until = now.max(self.writes_until) + service;
        self.writes_until + path
    }

    /// Controller time of successive zone resets.
    fn reset_time(&self, slot: Slot) -> Time {
        let zones = &self.config.zones;
        let found = self.decisions.iter().find(|(own, _)| *own == slot);
        let Some((_, Decision::Change(changed))) = found else { return 0 };
        let each = changed.iter().map(|it| {
            if it.before == State::Empty {
                return self.config.firmware.manage.ns();
            }
            let pages = it.written.div_ceil(PAGE_SECTORS);
            let closes = it.before.is_active() && it.pointer > 0;
            let close = if closes { zones.close.ns() } else { 0 };
            zones.reset.ns() + zones.reset_page.ns() * pages + close
        });
        each.sum::<Time>().max(self.config.firmware.manage.ns())
    }

    // ---- continuation --------------------------------------------------------------------------

    /// Continues a command after its controller time.
    fn step(&mut self, slot: Slot) {
        let now = self.clock.now;
        self.active[slot].since = now;
        match self.active[slot].stage {
            Stage::Answer => self.answer(slot),
            Stage::Fetch => self.fetch(slot),
            Stage::Admit => {
                let Some(Decision::Write(written, generation)) = self.take_decision(slot) else {
                    unreachable!("the zones have decided it")
                };
                let (zone, to) = (written.zone, written.pointer);
                self.waiting.push_back(Waiting { slot, zone, generation, to, pads: false });
                self.admit();
            }
            Stage::Finish => self.finish(slot),
            Stage::Reset => self.reset(slot),
            Stage::Flush => self.begin_barrier(slot),
        }
    }

    fn take_decision(&mut self, slot: Slot) -> Option<Decision> {
        let place = self.decisions.iter().position(|(own, _)| *own == slot)?;
        Some(self.decisions.swap_remove(place).1)
    }

    /// Admits waiting commands to the write buffer in order, as room permits.
    fn admit(&mut self) {
        while let Some(first) = self.waiting.front().copied() {
            let (taken, generation) = self.media.taken(first.zone);
            if generation == first.generation && taken < first.to {
                let room = self.room.saturating_sub(self.media.held());
                let to = first.to.min(taken + room);
                if to > taken {
                    let end = self.zones.look(first.zone).capacity;
                    let sight = self.sight();
                    self.media.take(first.zone, to, end, sight, &mut self.clock);
                }
                if to < first.to {
                    return;
                }
            }
            self.waiting.pop_front();
            self.admitted(first);
        }
    }

    /// Handles data admitted to the buffer.
    fn admitted(&mut self, it: Waiting) {
        let slot = it.slot;
        let request = self.active[slot].request;
        if it.pads {
            let (_, generation) = self.media.taken(it.zone);
            let end = self.zones.look(it.zone).capacity;
            if generation == it.generation {
                let sight = self.sight();
                self.media.pad(it.zone, end, sight, &mut self.clock);
            }
            self.await_quiet(it.zone, slot);
            return;
        }
        let active = &mut self.active[slot];
        active.parts[BUFFER] = self.clock.now - active.since;
        if request.fua && self.is_volatile() {
            return self.begin_barrier(slot);
        }
        self.active[slot].left = 0;
        self.answer(slot);
    }

    /// Makes a command wait for an idle zone.
    fn await_quiet(&mut self, zone: u32, slot: Slot) {
        if self.media.is_quiet(zone) {
            return self.zone_is_ready(slot);
        }
        self.quiet.push((zone, slot));
    }

    /// Handles a ready zone of a command; the last one completes it.
    fn zone_is_ready(&mut self, slot: Slot) {
        self.active[slot].left -= 1;
        if self.active[slot].left == 0 {
            self.answer(slot);
        }
    }

    fn finish(&mut self, slot: Slot) {
        let Some(Decision::Change(changed)) = self.take_decision(slot) else { return };
        let pads = self.active[slot].request.op == Op::Finish;
        let concerned = |it: &&Changed| !pads || it.before.is_active();
        let all: Vec<Changed> = changed.iter().filter(concerned).copied().collect();
        if all.is_empty() {
            return self.answer(slot);
        }
        self.active[slot].left = all.len() as u32;
        for it in all {
            let (_, generation) = self.media.taken(it.zone);
            let (zone, to) = (it.zone, it.committed);
            self.waiting.push_back(Waiting { slot, zone, generation, to, pads });
        }
        self.admit();
    }

    fn reset(&mut self, slot: Slot) {
        let Some(Decision::Change(changed)) = self.take_decision(slot) else { return };
        for _ in changed.iter().filter(|it| it.before != State::Empty) {
            self.counts.note_reset();
        }
        if self.config.zones.erase == EraseWhen::AtOpen || changed.is_empty() {
            return self.answer(slot);
        }
        self.active[slot].left = changed.len() as u32;
        for it in changed {
            let sight = self.sight();
            // A zone written in the meantime has been erased.
            if self.media.taken(it.zone).0 == 0 {
                self.media.erase(it.zone, sight, &mut self.clock);
            }
            self.await_quiet(it.zone, slot);
        }
    }

    /// Reads programmed sectors from the flash.
    fn fetch(&mut self, slot: Slot) {
        let request = self.active[slot].request;
        let size = self.zones.limits().size;
        let (mut lba, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        let mut reads = 0;
        while lba < end {
            let (zone, at) = self.zones.place(lba);
            let next = end.min(lba - at + size);
            let (taken, _) = self.media.taken(zone);
            let upto = (at + next - lba).min(taken);
            if at < upto && self.zones.look(zone).state != State::Offline {
                let sight = self.sight();
                reads += self.media.read(slot, (zone, at..upto), sight, &mut self.clock);
            }
            lba = next;
        }
        self.active[slot].left = reads;
        if reads == 0 {
            self.leave(slot);
        }
    }

    /// Transfers the data of a read to the host.
    fn leave(&mut self, slot: Slot) {
        let link = &self.config.link;
        let sectors = u64::from(self.active[slot].request.sectors);
        let time = link.command.ns() + link.page.ns() * sectors.div_ceil(PAGE_SECTORS);
        let now = self.clock.now;
        self.leaves_until = now.max(self.leaves_until) + time;
        let active = &mut self.active[slot];
        active.parts[HOST_LINK] = self.leaves_until - now;
        active.stage = Stage::Answer;
        if time == 0 && self.leaves_until == now {
            return self.answer(slot);
        }
        self.clock.call(self.leaves_until, Event::Core(slot));
    }

    // ---- flushes of a volatile buffer --------------------------------------------------------------

    fn begin_barrier(&mut self, slot: Slot) {
        let sight = self.sight();
        let noted = self.media.journal(sight, &mut self.clock);
        let program = self.media.next_program();
        self.barriers.push(Barrier { slot, program, noted });
        self.end_barriers();
    }

    fn end_barriers(&mut self) {
        while let Some(place) = self.barriers.iter().position(|it| self.media.has_done(it.program))
        {
            let barrier = self.barriers.remove(place);
            self.media.has_flushed(&barrier.noted);
            self.answer(barrier.slot);
        }
    }

    // ---- answers -----------------------------------------------------------------------------------

    /// Completes a command, and starts the next one from the host.
    fn answer(&mut self, slot: Slot) {
        let mut active = self.active.remove(slot);
        let (request, submitted) = (active.request, active.submitted);
        let at = self.clock.now;
        let latency = at - submitted;
        active.parts[UNIT_WAIT] = latency - active.parts.total();
        let breakdown = active.parts;
        self.counts.note_answer(request.op, active.status, at - active.begun);
        self.answers.push(Completion { request, submitted, at, breakdown, status: active.status });
        self.in_device -= 1;
        if let Some((request, submitted)) = self.queue.pop_front() {
            self.begin(request, submitted);
        }
    }

    /// Processes events of the flash.
    fn hear(&mut self) {
        loop {
            let told = self.media.take_told();
            if told.is_empty() {
                return;
            }
            for it in told {
                self.hear_one(it);
            }
        }
    }

    fn hear_one(&mut self, told: Told) {
        match told {
            Told::Read { slot, spent } => {
                let active = &mut self.active[slot];
                // The latency parts belong to the last read.
                active.parts[SUSPEND] = spent.suspend;
                active.parts[BUS] = spent.bus;
                active.parts[CELL] = spent.cell;
                active.left -= 1;
                if active.left == 0 {
                    self.leave(slot);
                }
            }
            Told::Programmed => {
                self.admit();
                self.end_barriers();
            }
            Told::Quiet(zone) => {
                while let Some(place) = self.quiet.iter().position(|(own, _)| *own == zone) {
                    let (_, slot) = self.quiet.remove(place);
                    self.zone_is_ready(slot);
                }
            }
            Told::ProgramFailed(zone) => {
                self.zones.fail_program(zone);
                self.media.give_up(zone);
                self.counts.note_failure(true);
            }
            Told::EraseFailed(zone) => {
                let lost = if self.config.wear.variable_capacity {
                    let width = self.config.zones.width.unwrap_or(self.dies());
                    self.zones.limits().capacity.div_ceil(u64::from(width))
                } else {
                    self.zones.limits().capacity
                };
                self.zones.fail_erase(zone, lost.next_multiple_of(PAGE_SECTORS));
                let look = self.zones.look(zone);
                match look.state {
                    State::Full => {
                        let sight = self.sight();
                        self.media.pad(zone, look.capacity, sight, &mut self.clock);
                    }
                    State::Offline => self.media.give_up(zone),
                    _ => {}
                }
                self.counts.note_failure(false);
            }
        }
    }

    fn dies(&self) -> u32 {
        self.config.channels * self.config.dies_per_channel
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Core(slot) => self.step(slot),
            Event::Die(event) => {
                let sight = self.sight();
                self.media.event(event, sight, &mut self.clock);
            }
            _ => unreachable!("nothing else is asked for"),
        }
        self.hear();
    }
}

impl Device for ZonedDrive {
    fn submit(&mut self, now: Time, request: Request) {
        let end = request.lba.0.saturating_add(u64::from(request.sectors));
        assert!(end <= self.capacity_sectors(), "a request lies within the capacity");
        self.clock.go_to(now);
        if self.in_device < self.config.link.queue_depth.requests() {
            self.begin(request, now);
        } else {
            self.queue.push_back((request, now));
        }
    }

    fn next_event(&self) -> Option<Time> {
        let answered = self.answers.first().map(|answer| answer.at);
        answered.or_else(|| self.clock.next_at())
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(event) = self.clock.proceed(to) {
            self.happens(event);
        }
        self.clock.go_to(to);
        completions.append(&mut self.answers);
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        self.advance(now, completions);
        let slots = self.active.taken();
        let mut lost: Vec<(Request, Time)> = slots
            .into_iter()
            .map(|slot| (self.active[slot].request, self.active[slot].submitted))
            .collect();
        lost.extend(self.queue.drain(..));
        lost.sort_by_key(|(request, submitted)| (*submitted, request.id));
        completions.extend(lost.into_iter().map(|(request, submitted)| {
            let breakdown = Breakdown::of(UNIT_WAIT, now - submitted);
            Completion { request, submitted, at: now, breakdown, status: Status::PowerLost }
        }));
        let is_protected = !self.is_volatile();
        let zones = self.zones.limits().zones;
        if is_protected {
            // Data of decided but uncompleted writes are in the buffer, or count as such.
            for zone in 0..zones {
                let look = self.zones.look(zone);
                self.media.take_at_once(zone, look.pointer, !look.state.is_active());
            }
        } else {
            self.zones.lose_windows();
        }
        for (zone, (pointer, is_torn)) in
            self.media.lose_power(is_protected, now).into_iter().enumerate()
        {
            self.zones.lose_power(zone as u32, pointer, is_torn);
        }
        self.active = Slots::new();
        self.decisions.clear();
        self.waiting.clear();
        self.quiet.clear();
        self.barriers.clear();
        (self.in_device, self.writes_until, self.leaves_until) = (0, now, now);
        self.clock = Clock::at(now);
    }

    fn power_on(&mut self, now: Time) {
        self.clock.go_to(now);
    }

    fn standing(&self) -> Standing {
        // Any write may miss the write pointer.
        Standing { may_refuse: true, ..Standing::default() }
    }

    fn capacity_sectors(&self) -> u64 {
        let limits = self.zones.limits();
        u64::from(limits.zones) * limits.size
    }
}

impl Model for ZonedDrive {
    fn instruct(&mut self, now: Time, instruction: Instruction) -> Result<(), String> {
        match instruction {
            Instruction::ResetCounts => self.reset_counts(),
            Instruction::BeginAccount => {
                self.reset_counts();
                self.since = now;
                self.busy_before = self.media.busy_ns(now);
            }
            other => return other.without_effect(),
        }
        Ok(())
    }

    fn facts(&self) -> Constants<'_> {
        Constants { zones: Some(&self.zones), ..Constants::default() }
    }

    fn copied(&self) -> Option<Box<dyn Model>> {
        Some(Box::new(self.clone()))
    }

    fn audit(&self) -> Result<(), String> {
        self.zones.audit()?;
        self.media.audit()?;
        if self.next_event().is_none() && (!self.active.is_empty() || !self.queue.is_empty()) {
            return Err("commands wait and the drive has no event".to_owned());
        }
        Ok(())
    }

    fn report(&self, end: Time) -> Report {
        let time = end.saturating_sub(self.since);
        let busy = self.media.busy(&self.busy_before, time, end);
        let group_bytes = self.config.group_bytes();
        let section = self.counts.section(&self.zones, self.media.work(), group_bytes, &busy);
        section! { "zones": Field::own(section) }
    }
}

impl ZonedDrive {
    fn reset_counts(&mut self) {
        self.counts = Counts::default();
        self.media.reset_work();
        self.zones.reset_tally();
    }
}
