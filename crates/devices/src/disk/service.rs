//! How long requests take: from the buffer, from the disk, and to it.

use super::buffer::Found;
use super::device::{Command, Dirty, Disk};
use super::mechanics::{Arrival, Pass, ToHost};
use super::queue::Distance;
use crate::latency::{BUS, CELL, FIRMWARE};
use engine::{Op, Request, Time};

impl Disk {
    /// Which waiting request is next.
    pub(super) fn choose(&mut self, now: Time) -> usize {
        self.buffer.advance(now, &mut self.mechanics);
        let mut order = self.order.clone();
        let among = self.queue.len().min(self.config.queue_depth.requests() as usize);
        let number = order.choose(among, |number| self.distance(now, &self.queue[number].request));
        self.order = order;
        number
    }

    fn distance(&self, now: Time, request: &Request) -> Distance {
        let sector = request.lba.0.min(self.mechanics.geometry.sectors() - 1);
        let end = sector + u64::from(request.sectors);
        let is_write = request.op == Op::Write;
        let is_free = match request.op {
            Op::Read => matches!(self.buffer.find(sector, end), Found::All(_)),
            Op::Write => self.is_cached(request),
            Op::Trim | Op::Flush => true,
        };
        let place = self.mechanics.geometry.place(sector);
        let from = (now + self.command_overhead(request, false)).max(self.heads_free);
        let positioning = || self.mechanics.estimate(from, sector, is_write).begin - now;
        Distance {
            sector,
            cylinders: self.mechanics.cylinder.abs_diff(place.cylinder),
            positioning: if is_free { 0 } else { positioning() },
        }
    }

    /// What a command costs before anything moves.
    fn command_overhead(&self, request: &Request, is_hit: bool) -> Time {
        let overhead = &self.overhead;
        let (first, later) = match (request.op, is_hit) {
            (Op::Read, true) => (overhead.read_hit, overhead.read_hit_after_write),
            (Op::Read, false) => (overhead.read_miss, overhead.read_miss_after_write),
            (Op::Write | Op::Trim | Op::Flush, _) => (overhead.write, overhead.write_after_write),
        };
        if self.after_write { later.unwrap_or(first).ns() } else { first.ns() }
    }

    /// When a command without data would end, which costs what a write does before it moves the heads.
    pub(super) fn without_data(&self, command: &mut Command) -> Time {
        let overhead = self.command_overhead(&command.request, false);
        command.breakdown[FIRMWARE] = overhead;
        command.begun + overhead
    }

    /// Serves a read; what is read ahead has been followed up to now.
    pub(super) fn read(&mut self, command: &mut Command) {
        let Command { request, begun, .. } = *command;
        let (sector, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        let found = self.buffer.find(sector, end);
        let overhead = self.command_overhead(&request, found != Found::Nothing);
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
                } else if self.config.buffer.read_ahead_on_hit
                    && self.heads_free <= begun
                    && !self.buffer.segments[segment].is_dirty
                {
                    self.buffer.return_ahead(segment, begun + overhead, &self.mechanics);
                }
            }
            Found::Some(segment) => {
                self.counts.read_partial_hits += 1;
                self.buffer.touch(segment);
                to_host.held(self.buffer.segments[segment].end - sector);
                if self.buffer.is_ahead(segment) {
                    self.heads_free = self.buffer.catch_up(end, &mut self.mechanics, &mut to_host);
                } else {
                    let miss = begun + self.command_overhead(&request, false);
                    let from = self.buffer.segments[segment].end;
                    self.read_from(segment, from, end, miss, &mut to_host);
                }
            }
            Found::Nothing => {
                self.counts.read_misses += 1;
                let taken = self.buffer.take(sector, sector);
                self.buffer.stop_ahead();
                match taken {
                    Some(segment) => {
                        self.read_from(segment, sector, end, begun + overhead, &mut to_host);
                    }
                    // Every segment holds data that must be written: nothing is kept of the read.
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
        command.breakdown[FIRMWARE] = overhead + after;
        command.breakdown[CELL] = media;
        let bus = u64::from(request.sectors) * self.bus;
        command.breakdown[BUS] = bus.min(spent - overhead - after - media);
        command.end = Some(done);
    }

    fn send_at(&self) -> f64 {
        self.config.buffer.send_at
    }

    /// Moves the heads for a request, which are free when both it and they are.
    fn arrive(&mut self, from: Time, sector: u64, is_write: bool) -> Arrival {
        let from = from.max(self.heads_free);
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

    /// Reads sectors from the disk into a segment, and then reads ahead.
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
        if self.config.buffer.read_on_arrival {
            self.take_what_passes(segment, sector, &arrival);
        }
        let after = self.transfer(arrival, sector, end, to_host);
        self.buffer.extend(segment, end);
        self.buffer.begin_ahead(segment, after, &self.mechanics);
    }

    /// Reads sectors from the disk past the buffer.
    fn pass_by(&mut self, sector: u64, end: u64, from: Time, to_host: &mut ToHost) {
        let arrival = self.arrive(from, sector, false);
        self.transfer(arrival, sector, end, to_host);
    }

    fn transfer(&mut self, arrival: Arrival, sector: u64, end: u64, to_host: &mut ToHost) -> Time {
        let spindle = self.mechanics.spindle;
        let on_arrival = self.config.buffer.read_on_arrival && end <= arrival.place.track.1;
        let mut all_read = None;
        let after = self.mechanics.transfer(arrival, sector, end, false, |pass| {
            // Of a read whose middle is under the head when it settles, the rest has passed before its
            // first sector comes round.
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

    /// What passes between the arrival on a track and the wanted sector comes into the buffer.
    fn take_what_passes(&mut self, segment: usize, sector: u64, arrival: &Arrival) {
        let place = &arrival.place;
        let waited = arrival.begin - arrival.settled;
        let passed = self.mechanics.spindle.sectors_in(waited, place.on_track);
        let held = &mut self.buffer.segments[segment];
        if held.start == sector {
            held.start = sector - passed.min(sector - place.track.0).min(self.buffer.size);
        }
    }

    /// Serves a write, or continues one that waited for room in the buffer.
    pub(super) fn write(&mut self, command: &mut Command, now: Time) {
        let Command { request, begun, .. } = *command;
        let (sector, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        let overhead = self.command_overhead(&request, false);
        let bus = u64::from(request.sectors) * self.bus;
        command.breakdown[FIRMWARE] = overhead;
        command.breakdown[BUS] = bus;
        if self.is_cached(&request) {
            let Some(segment) = self.room(sector, end) else { return };
            self.counts.writes_cached += 1;
            command.fills = Some(segment);
            command.end = Some((begun + overhead).max(now) + bus);
            return;
        }
        self.buffer.stop_ahead();
        self.supersede(sector, end);
        let arrived = begun + overhead + bus;
        let media = self.write_to(sector, end, begun + overhead, arrived);
        let done = media.max(arrived);
        command.breakdown[CELL] = done - arrived;
        command.end = Some(done);
    }

    /// Writes sectors to the disk, whose data have all come at `arrived`. Returns when they are there.
    fn write_to(&mut self, sector: u64, end: u64, from: Time, arrived: Time) -> Time {
        let mut arrival = self.arrive(from, sector, true);
        // Data come at an even pace: what is written last must be there then, the rest with it.
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

    /// A segment for data that are written later: that of the data before them, or another. `None` while
    /// there is none.
    fn room(&mut self, sector: u64, end: u64) -> Option<usize> {
        self.supersede(sector, end);
        let size = self.buffer.size;
        let joins = |dirty: &&Dirty| dirty.end == sector && end - dirty.sector <= size;
        if let Some(dirty) = self.dirty.iter().find(joins) {
            return Some(dirty.segment);
        }
        let held = self.dirty.len() + usize::from(self.destage.is_some());
        if held >= self.config.buffer.write_segments as usize {
            return None;
        }
        let segment = self.buffer.take(sector, sector)?;
        self.buffer.segments[segment].is_dirty = true;
        Some(segment)
    }

    /// Data that are overwritten before they were on the disk need not come there.
    fn supersede(&mut self, sector: u64, end: u64) {
        let segments = &mut self.buffer.segments;
        self.dirty.retain(|dirty| {
            let is_superseded = sector <= dirty.sector && dirty.end <= end;
            if is_superseded {
                segments[dirty.segment].is_dirty = false;
            }
            !is_superseded
        });
        self.buffer.forget(sector, end);
    }

    /// The data of a write have come into its segment.
    pub(super) fn filled(&mut self, segment: usize, request: &Request) {
        let (sector, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        self.buffer.forget(sector, end);
        self.buffer.segments[segment].is_dirty = true;
        self.buffer.segments[segment].end = end;
        match self.dirty.iter_mut().find(|dirty| dirty.segment == segment) {
            Some(dirty) => dirty.end = end,
            None => self.dirty.push(Dirty { segment, sector, end }),
        }
    }

    /// Begins to write data to the disk that have been answered, but not those to which a write is being
    /// added.
    pub(super) fn begin_destage(&mut self, now: Time) {
        let filling = self.command.and_then(|command| command.fills);
        let ready = |dirty: &Dirty| Some(dirty.segment) != filling;
        let ready: Vec<usize> =
            (0..self.dirty.len()).filter(|number| ready(&self.dirty[*number])).collect();
        if ready.is_empty() {
            return;
        }
        self.buffer.advance(now, &mut self.mechanics);
        self.buffer.stop_ahead();
        let mut order = self.order.clone();
        let chosen = order.choose(ready.len(), |number| {
            let sector = self.dirty[ready[number]].sector;
            let arrival = self.mechanics.estimate(now.max(self.heads_free), sector, true);
            Distance {
                sector,
                cylinders: self.mechanics.cylinder.abs_diff(arrival.place.cylinder),
                positioning: arrival.begin - now,
            }
        });
        self.order = order;
        let dirty = self.dirty.remove(ready[chosen]);
        self.order.served(dirty.sector);
        let end = self.write_to(dirty.sector, dirty.end, now, now);
        self.destage = Some((dirty, end));
    }
}
