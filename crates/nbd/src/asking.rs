//! Requests of clients between arrival and the device or store.
//!
//! Data are stored on arrival, before the model completes the write. Only if a worn device may
//! refuse the write do they wait for its completion, so that refused data are never read.

use crate::attached::{Answered, Background};
use crate::connection::Connection;
use crate::local::Owed;
use crate::pending::{BACKING, DATA, MODEL, Pending, for_device, refusal};
use crate::protocol::{Asked, Command, Event, Refusal};
use crate::server::Server;
use crate::setup::Witness;
use crate::syncer::Syncer;
use engine::{Device, Lba, Op, Request, SECTOR_BYTES, Time};
use std::ops::Range;

/// Sectors per piece of a long trim: other clients are served between pieces. Trimming a gigabyte
/// takes 10 ms.
const TRIM_SECTORS: u64 = (8 << 20) / SECTOR_BYTES;
/// Size of the pieces in which a long write is stored.
const SPILL_BYTES: usize = 1 << 20;
/// Maximum extents in a reply; clients ask again for more.
const MOST_EXTENTS: usize = 128;

/// The origin of a request: place and number of the client, and the reply callback of a client without a
/// socket.
pub(crate) struct From {
    pub(crate) place: usize,
    pub(crate) serial: u64,
    pub(crate) local: Option<Owed>,
    /// A write before which the device reads the same range.
    pub reads_first: bool,
}

impl<D: Device + ?Sized, W: Witness<D> + ?Sized> Server<'_, D, W> {
    /// Processes the device's events up to `to`.
    pub(crate) fn advance(&mut self, to: Time, background: Background) {
        let mut answered = std::mem::take(&mut self.answered);
        self.device.advance(to, background, self.witness, &mut answered);
        for Answered { slot, early, completion } in answered.drain(..) {
            let Some(pending) = self.requests.at(slot) else { continue };
            pending.refusal = pending.refusal.or(refusal(completion.status));
            pending.completion = Some(completion);
            if completion.request.op == Op::Append {
                pending.was_appended(completion.request.lba.0);
            }
            pending.target = self.setup.scale.wall(completion.at).saturating_sub(early);
            if pending.rest.is_empty() || pending.refusal.is_some() {
                // A client that sends a write's data slowly must not occupy the device.
                self.clients.left_device(pending.asked.charge());
                self.no_longer_waits(slot, MODEL);
            } else {
                self.trimming.push(slot);
            }
        }
        self.answered = answered;
    }

    /// Advances the device ahead of the clock, so that replies are known in time.
    pub(crate) fn advance_ahead(&mut self, now: u64) {
        if !self.device.is_idle() {
            self.advance(self.setup.scale.model(now + self.device.ahead()), Background::Waits);
        }
        for slot in std::mem::take(&mut self.trimming) {
            let Some(pending) = self.requests.at(slot) else { continue };
            let at = pending.completion.map_or(0, |it| it.at);
            let (op, rest) = (pending.op, pending.rest.clone());
            let submitted = pending.submitted;
            self.submit(slot, op, rest, at);
            if let Some(pending) = self.requests.at(slot) {
                pending.submitted = submitted;
            }
        }
    }

    /// Submits the first piece of a range to the device, not before `at`.
    fn submit(&mut self, slot: u32, op: Op, range: Range<u64>, at: Time) {
        let at = at.max(self.device.time());
        self.advance(at, Background::BeforeRequest);
        let end = match op {
            Op::Trim => range.end.min(range.start + TRIM_SECTORS),
            _ => range.end,
        };
        let sectors = (end - range.start) as u32;
        let request = Request::new(self.device.next_id(), op, Lba(range.start), sectors);
        let Some(pending) = self.requests.at(slot) else { return };
        let (fua, handle) = (pending.asked.fua, pending.asked.handle);
        let request = Request { fua: fua && op == Op::Write, handle, ..request };
        (pending.submitted, pending.rest) = (at, end..range.end);
        let overhead = self.locals.overhead(pending.connection).unwrap_or(&self.setup.overhead);
        let early = overhead.outside(op, pending.asked.length.into());
        self.device.submit(at, request, fua, (slot, early), self.witness);
    }

    /// Handles a client's request.
    fn ask(&mut self, place: usize, connection: &mut Connection, asked: Asked, received: u64) {
        if let Command::Extents { one } = asked.command {
            let most = if one { 1 } else { MOST_EXTENTS };
            let extents = self.extents(asked.offset, asked.length, most);
            connection.replies.say(&asked.answer().extents(&extents));
            return;
        }
        self.clients.asked(connection, asked.charge());
        let serial = connection.serial;
        let from = From { place, serial, local: None, reads_first: false };
        let slot = self.take_in(from, asked, received);
        if asked.command == Command::Write {
            connection.writing = Some(slot);
        }
    }

    /// Accepts a request and returns its slot. A write's data follow.
    pub(crate) fn take_in(&mut self, from: From, asked: Asked, received: u64) -> u32 {
        let (op, range) = for_device(&asked);
        let reads_first = from.reads_first;
        let (offset, length) = (asked.offset, asked.length);
        let shows = Command::Zone(Op::Report);
        let changes =
            !matches!(asked.command, Command::Read | Command::Flush) && asked.command != shows;
        let held = changes && self.device.device().standing().may_refuse;
        let slowly = op == Op::Trim && self.setup.store.zeroes_slowly(length);
        let bytes = offset..offset + u64::from(length);
        if changes {
            self.marks.remove(&bytes);
        }
        let done = match asked.command {
            Command::Read if self.marks.meet(&bytes) => Err(Refusal::Io),
            _ if held => {
                // A trim of less than a sector never reaches the device.
                let alone = range.is_none() && self.device.device().standing().has_ended;
                if alone { Err(Refusal::NotPermitted) } else { Ok(()) }
            }
            Command::Read => {
                self.setup.store.announce(offset, length);
                Ok(())
            }
            Command::Trim if !slowly => self.setup.store.zero(offset, length, false),
            Command::WriteZeroes { keep } if !slowly => self.setup.store.zero(offset, length, keep),
            _ => Ok(()),
        };
        let mut waits_for = 0;
        if range.is_some() {
            waits_for |= MODEL;
        }
        if asked.command.has_data() {
            waits_for |= DATA;
        }
        let durable = asked.fua && asked.command != Command::Read || op == Op::Flush;
        if (durable || slowly) && self.syncer.is_some() {
            waits_for |= BACKING;
        }
        let recorded = match &mut self.setup.recording {
            // Writes are recorded once their data have arrived.
            Some(it) if !asked.command.has_data() => {
                it.asked(&asked, &[], self.setup.scale.model(received))
            }
            _ => None,
        };
        let data = self.requests.buffer();
        let slot = self.requests.add(Pending {
            connection: from.place,
            serial: from.serial,
            local: from.local,
            asked,
            op,
            received,
            submitted: 0,
            rest: 0..0,
            completion: None,
            target: received,
            waits_for,
            held_by_backing: false,
            held,
            refusal: done.err(),
            recorded,
            data,
            stored: 0,
            sees: None,
        });
        if waits_for & (BACKING | DATA) == BACKING && !held {
            self.ask_syncer(slot);
        }
        if let Some(range) = range {
            let first = if reads_first { Op::Read } else { op };
            self.submit(slot, first, range.clone(), self.setup.scale.model(received));
            if reads_first && let Some(pending) = self.requests.at(slot) {
                // The rest of a long trim follows.
                pending.is_followed_by(range);
            }
            if asked.command == Command::Zone(Op::Reset) {
                // The zones have accepted, so later writes to them are stored.
                self.forget_unwritten((length > 0).then_some(offset));
            }
        } else {
            self.clients.left_device(asked.charge());
            self.no_longer_waits(slot, MODEL);
        }
        slot
    }

    /// Written and unwritten extents of a range, up to `most`.
    fn extents(&self, mut offset: u64, mut length: u32, most: usize) -> Vec<(u32, bool)> {
        let mut extents: Vec<(u32, bool)> = Vec::new();
        while length > 0 {
            let (is_written, count) = self.setup.store.extent(offset, length.into());
            let found = extents.len();
            match extents.last_mut() {
                Some((before, same)) if *same == is_written => *before += count as u32,
                _ if found == most => break,
                _ => extents.push((count as u32, is_written)),
            }
            (offset, length) = (offset + count, length - count as u32);
        }
        extents
    }

    /// Passes the request's zeroing or sync to the syncer.
    fn ask_syncer(&mut self, slot: u32) {
        let (Some(syncer), Some(pending)) = (&self.syncer, self.requests.at(slot)) else { return };
        let Asked { command, fua, offset, length, .. } = pending.asked;
        let hole = match command {
            Command::Trim => Some((offset, length, false)),
            Command::WriteZeroes { keep } => Some((offset, length, keep)),
            _ => None,
        };
        let hole =
            hole.filter(|_| pending.op == Op::Trim && self.setup.store.zeroes_slowly(length));
        syncer.ask(slot, hole, fua || command == Command::Flush);
    }

    /// Handles arrived data of a write; `last` marks the final piece.
    fn came(&mut self, slot: u32, data: &[u8], last: bool) {
        let spills = self.setup.recording.is_none();
        let Some(pending) = self.requests.at(slot) else { return };
        if last && spills && !pending.held && pending.data.is_empty() && pending.refusal.is_none() {
            let at = pending.asked.offset + u64::from(pending.stored);
            let done = self.setup.store.write(at, data);
            pending.refusal = done.err();
            pending.stored += data.len() as u32;
            return;
        }
        pending.data.extend_from_slice(data);
        if pending.data.len() >= SPILL_BYTES && spills && !pending.held {
            let at = pending.asked.offset + u64::from(pending.stored);
            let done = self.setup.store.write(at, &pending.data);
            pending.refusal = pending.refusal.or(done.err());
            pending.stored += pending.data.len() as u32;
            pending.data.clear();
        }
    }

    /// Completes the arrival of a write's data.
    pub(crate) fn written(&mut self, slot: u32) {
        if let (Some(it), Some(pending)) = (&mut self.setup.recording, self.requests.at(slot)) {
            let at = self.setup.scale.model(pending.received);
            pending.recorded = it.asked(&pending.asked, &pending.data, at);
        }
        match self.requests.at(slot) {
            Some(pending) if pending.held => {
                self.clients.hold(pending.connection, pending.data.len().cast_signed());
            }
            _ => self.change(slot),
        }
        self.no_longer_waits(slot, DATA);
    }

    /// Applies a request to the store, unless it was refused.
    fn change(&mut self, slot: u32) {
        let Some(pending) = self.requests.at(slot) else { return };
        let was_held = std::mem::take(&mut pending.held);
        let data = std::mem::take(&mut pending.data);
        if pending.refusal.is_none() {
            let Asked { command, offset, length, .. } = pending.asked;
            let slowly = pending.op == Op::Trim && self.setup.store.zeroes_slowly(length);
            let done = match command {
                Command::Write | Command::Zone(Op::Append) => {
                    self.setup.store.write(offset + u64::from(pending.stored), &data)
                }
                Command::Trim if !slowly => self.setup.store.zero(offset, length, false),
                Command::WriteZeroes { keep } if !slowly => {
                    self.setup.store.zero(offset, length, keep)
                }
                _ => Ok(()),
            };
            pending.refusal = done.err();
        }
        if pending.refusal.is_some() {
            pending.waits_for &= !BACKING;
        }
        let to_sync = pending.waits_for & BACKING != 0;
        let resets = pending.asked.command == Command::Zone(Op::Reset);
        let at = (pending.asked.length > 0).then_some(pending.asked.offset);
        if was_held {
            self.clients.hold(pending.connection, -data.len().cast_signed());
        }
        self.requests.keep(data);
        if to_sync {
            self.ask_syncer(slot);
        }
        if resets {
            // A reset that waited for the device discards data now.
            self.forget_unwritten(at);
        }
    }

    /// Clears the wait for `what`; the request is ready once all waits are cleared.
    pub(crate) fn no_longer_waits(&mut self, slot: u32, what: u8) {
        let Some(pending) = self.requests.at(slot) else { return };
        pending.waits_for &= !what;
        if pending.held && pending.waits_for & (MODEL | DATA) == 0 {
            self.change(slot);
        }
        if self.requests.at(slot).is_some_and(|pending| pending.waits_for == 0) {
            self.requests.make_ready(slot);
        }
    }

    /// Processes finished jobs of the syncer.
    pub(crate) fn synced(&mut self) {
        while let Some((slot, outcome)) = self.syncer.as_ref().and_then(Syncer::done) {
            let now = self.clock.now();
            if let Some(pending) = self.requests.at(slot) {
                let modelled = pending.waits_for & MODEL == 0;
                pending.held_by_backing = modelled && pending.target < now;
                pending.refusal = pending.refusal.or(outcome.err());
            }
            self.no_longer_waits(slot, BACKING);
        }
    }

    /// Processes a client's messages within its limits.
    pub(crate) fn parse(&mut self, place: usize, connection: &mut Connection, received: u64) {
        while connection.has_room(self.clients.room(place)) {
            let (consumed, event) = connection.step();
            match event {
                Event::More => {
                    connection.held_back = false;
                    return;
                }
                Event::Handled => {}
                Event::Request(asked) => {
                    self.punctuality.held_back += u64::from(connection.held_back);
                    self.ask(place, connection, asked, received);
                }
                Event::Data(last) => {
                    let Some(slot) = connection.writing else { continue };
                    self.came(slot, connection.bytes(consumed), last);
                    if last {
                        connection.writing = None;
                        self.written(slot);
                    }
                }
                Event::Close => connection.leaving = true,
            }
        }
        connection.held_back = !connection.leaving;
    }
}
