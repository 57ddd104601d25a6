//! Service times: from the buffer, from the media, and to the media.

use super::config::WriteCache;
use super::device::{Command, Disk};
use super::dirty::Dirty;
use super::mechanics::{Arrival, Pass, ToHost};
use super::segments::Found;
use super::spots::From;
use engine::{Op, Request, Time};

impl Disk {
    /// Command overhead before the first movement.
    pub(super) fn command_overhead(&self, op: Op, is_hit: bool) -> Time {
        let overhead = &self.overhead;
        let (first, later) = match (op, is_hit) {
            (Op::Read, true) => (overhead.read_hit, overhead.read_hit_after_write),
            (Op::Read, false) => (overhead.read_miss, overhead.read_miss_after_write),
            _ => (overhead.write, overhead.write_after_write),
        };
        if self.after_write { later.unwrap_or(first).ns() } else { first.ns() }
    }

    /// Completion time of a command without data; its overhead is a write's.
    pub(super) fn without_data(&self, command: &mut Command) -> Time {
        let overhead = self.command_overhead(command.request.op, false);
        command.spent.firmware = overhead;
        command.begun + overhead
    }

    /// Serves a read; read-ahead is up to date.
    pub(super) fn read(&mut self, command: &mut Command) {
        let Command { request, begun, .. } = *command;
        let (sector, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        let found = self.buffer.find(sector, end);
        let overhead = self.command_overhead(request.op, found != Found::Nothing);
        let mut to_host =
            ToHost::new(self.bus, begun + overhead, u64::from(request.sectors), self.send_at());
        let before = self.counts.seek_ns + self.counts.rotation_ns + self.counts.transfer_ns;
        match found {
            Found::All(segment) => {
                self.counts.read_hits += 1;
                self.buffer.touch(segment);
                to_host.held(end - sector);
                if self.buffer.is_ahead(segment) {
                    self.buffer.go_on(end, &self.mechanics);
                } else if self.buffer.is_paused(segment) {
                    self.buffer.resume(end, begun + overhead, &self.mechanics);
                } else if self.config.buffer.read_ahead_on_hit
                    && self.heads_free <= begun
                    && !self.buffer.is_dirty(segment)
                {
                    self.buffer.return_ahead(segment, begun + overhead, &self.mechanics);
                }
            }
            Found::Some(segment) => {
                self.counts.read_partial_hits += 1;
                self.buffer.touch(segment);
                to_host.held(self.buffer.range(segment).1 - sector);
                if self.buffer.is_ahead(segment) {
                    self.heads_free = self.buffer.catch_up(end, &mut self.mechanics, &mut to_host);
                } else {
                    let miss = begun + self.command_overhead(request.op, false);
                    let from = self.buffer.range(segment).1;
                    self.read_from(segment, from, end, miss, &mut to_host);
                }
            }
            Found::Nothing => {
                self.counts.read_misses += 1;
                let taken = self.buffer.take_for_read();
                self.buffer.stop_ahead();
                match taken {
                    Some(segment) => {
                        self.read_anew(segment, sector, end, begun + overhead, &mut to_host);
                    }
                    // All segments hold data to write, so the read bypasses the buffer.
                    None => self.pass_by(sector, end, begun + overhead, &mut to_host),
                }
            }
        }
        let after = self.overhead.read_completion.ns();
        let moved =
            self.counts.seek_ns + self.counts.rotation_ns + self.counts.transfer_ns - before;
        let done = to_host.end() + after;
        let spent = done - begun;
        let media = moved.min(spent - overhead - after);
        command.spent.firmware = overhead + after;
        command.spent.media = media;
        let bus = u64::from(request.sectors) * self.bus;
        command.spent.bus = bus.min(spent - overhead - after - media);
        command.end = Some(done);
    }

    fn send_at(&self) -> f64 {
        self.config.buffer.send_at
    }

    /// Moves the heads for a request, once both are free.
    fn arrive(&mut self, from: Time, sector: u64, is_write: bool) -> Arrival {
        let from = self.mechanics.standby.wake(from.max(self.heads_free));
        let cylinder = self.mechanics.cylinder;
        let arrival = self.mechanics.go(from, sector, is_write);
        self.counts.seek_cylinders += u64::from(cylinder.abs_diff(arrival.place.cylinder));
        self.counts.seek_ns += arrival.settled - from;
        if !is_write {
            self.counts.read_seek_ns += arrival.settled - from;
        }
        self.counts.rotation_ns += arrival.begin - arrival.settled;
        arrival
    }

    /// Reads sectors from the media into a segment, behind its data, then reads ahead.
    fn read_from(
        &mut self,
        segment: usize,
        sector: u64,
        end: u64,
        from: Time,
        to_host: &mut ToHost,
    ) {
        self.buffer.stop_ahead();
        let arrival = self.arrive(from, sector, false);
        let after = self.transfer(arrival, sector, end, to_host);
        self.buffer.extend(segment, end);
        self.buffer.begin_ahead(segment, after, &self.mechanics);
    }

    /// Reads into a newly taken segment, including the sectors that pass between the arrival on the
    /// track and the wanted sector.
    fn read_anew(
        &mut self,
        segment: usize,
        sector: u64,
        end: u64,
        from: Time,
        to_host: &mut ToHost,
    ) {
        let arrival = self.arrive(from, sector, false);
        let passed =
            if self.config.buffer.read_on_arrival { self.passed(sector, &arrival) } else { 0 };
        let after = self.transfer(arrival, sector, end, to_host);
        self.buffer.read_anew(segment, sector, end, passed);
        self.buffer.begin_ahead(segment, after, &self.mechanics);
    }

    /// Reads sectors from the media, bypassing the buffer.
    fn pass_by(&mut self, sector: u64, end: u64, from: Time, to_host: &mut ToHost) {
        let arrival = self.arrive(from, sector, false);
        self.transfer(arrival, sector, end, to_host);
    }

    fn transfer(&mut self, arrival: Arrival, sector: u64, end: u64, to_host: &mut ToHost) -> Time {
        let spindle = self.mechanics.spindle;
        let on_arrival = self.config.buffer.read_on_arrival && end <= arrival.place.track.1;
        let mut all_read = None;
        let after = self.mechanics.transfer(arrival, sector, end, false, |pass| {
            // If the heads settle within the range, its end passes before its first sector does.
            let on_track = pass.on_track;
            let passed = spindle.sectors_in(pass.begin - arrival.settled, on_track);
            let early = (passed + pass.sectors).saturating_sub(u64::from(on_track));
            if on_arrival && early > 0 && early < pass.sectors {
                let sectors = pass.sectors - early;
                let end = pass.begin + spindle.pass(sectors, on_track);
                to_host.pass(Pass { sectors, end, ..pass }, &spindle);
                to_host.held(early);
                all_read = Some(end);
            } else {
                to_host.pass(pass, &spindle);
            }
        });
        self.heads_free = all_read.unwrap_or(after);
        self.counts.media_reads += 1;
        self.counts.transfer_ns += self.heads_free - arrival.begin;
        self.counts.read_transfer_ns += self.heads_free - arrival.begin;
        after
    }

    /// Number of sectors that pass between the arrival on the track and the wanted sector.
    fn passed(&self, sector: u64, arrival: &Arrival) -> u64 {
        let place = &arrival.place;
        let waited = arrival.begin - arrival.settled;
        let passed = self.mechanics.spindle.sectors_in(waited, place.on_track);
        passed.min(sector - place.track.0)
    }

    /// Serves a write, or continues one that waited for room in the buffer.
    pub(super) fn write(&mut self, command: &mut Command, now: Time) {
        let Command { request, begun, .. } = *command;
        let (sector, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        let overhead = self.command_overhead(request.op, false);
        let bus = u64::from(request.sectors) * self.bus;
        let after = self.overhead.write_completion.ns();
        (command.spent.firmware, command.spent.bus) = (overhead + after, bus);
        if self.is_cached(&request) {
            let is_run = self.config.write_cache == WriteCache::Run;
            let has_room = if is_run {
                self.write_in_run(command, now)
            } else if let Some(segment) = self.room(sector, end) {
                command.fills = Some(segment);
                command.end = Some((begun + overhead).max(now) + bus + after);
                true
            } else {
                false
            };
            self.counts.writes_cached += u64::from(has_room);
            return;
        }
        self.supersede(sector, end);
        self.buffer.written(sector, end, self.config.buffer.keep_writes);
        let arrived = begun + overhead + bus;
        let media = self.write_to(sector, end, begun + overhead, arrived);
        let done = media.max(arrived);
        command.spent.media = done - arrived;
        command.end = Some(done + after);
    }

    /// Writes sectors to the media; all data have arrived at `arrived`. Returns the end time.
    pub(super) fn write_to(&mut self, sector: u64, end: u64, from: Time, arrived: Time) -> Time {
        let mut arrival = self.arrive(from, sector, true);
        // Data arrive at an even pace: when the data to be written last are there in time, all are.
        let sectors = end - sector;
        let pass = self.mechanics.spindle.pass(sectors, arrival.place.on_track);
        let ready = arrived.saturating_sub(self.bus.min(pass / sectors) * (sectors - 1));
        while arrival.begin < ready {
            arrival.begin += self.mechanics.spindle.turn();
            self.counts.rotation_ns += self.mechanics.spindle.turn();
        }
        let after = self.mechanics.transfer(arrival, sector, end, true, |_| {});
        self.counts.media_writes += 1;
        self.counts.transfer_ns += after - arrival.begin;
        self.heads_free = after;
        after
    }

    /// Segment for a buffered write: the segment of the preceding data, or a new one. `None` if
    /// none is available.
    fn room(&mut self, sector: u64, end: u64) -> Option<usize> {
        self.supersede(sector, end);
        if let Some(segment) = self.dirty.before(sector, end, self.buffer.size()) {
            return Some(segment);
        }
        let held = self.dirty.len() + usize::from(self.destage.is_some());
        if held >= self.config.buffer.write_segments as usize {
            return None;
        }
        let segment = self.buffer.take(sector)?;
        self.buffer.set_dirty(segment, true);
        Some(segment)
    }

    /// Drops dirty data that a write replaces before they reached the media.
    pub(super) fn supersede(&mut self, sector: u64, end: u64) {
        let Disk { dirty, buffer, .. } = self;
        dirty.supersede(sector, end, |segment| buffer.set_dirty(segment, false));
        buffer.forget(sector, end);
    }

    /// Handles the arrival of a write's data in its segment.
    pub(super) fn filled(&mut self, segment: usize, request: &Request) {
        let (sector, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        self.buffer.forget(sector, end);
        self.buffer.fill(segment, end);
        self.dirty.add(Dirty { segment, sector, end }, &self.mechanics);
    }

    /// Starts writing acknowledged data to the media, except to a segment being filled.
    pub(super) fn begin_destage(&mut self, now: Time) {
        let filling = self.command.and_then(|command| command.fills);
        if !self.dirty.has_other(filling) {
            return;
        }
        self.buffer.advance(now, &mut self.mechanics);
        self.buffer.stop_ahead();
        let free = now.max(self.heads_free);
        let from = From { now, read: free, write: free };
        let dirty = self.dirty.take(filling, &mut self.order, from, &self.mechanics);
        self.order.served(dirty.sector);
        let end = self.write_to(dirty.sector, dirty.end, now, now);
        self.destage = Some((dirty, end));
    }
}
