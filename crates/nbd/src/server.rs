//! The server: one thread between the device and its clients.
//!
//! Each turn it lets the device advance, sends the answers that are due, and waits for the next
//! instant or message. An answer is sent by the floor earlier than the device says, so that the
//! client has it in time. The device is therefore asked for its events that much ahead of the clock; a
//! request that arrives in between counts as submitted at the event.
//!
//! Data change as soon as they have come, while the model takes its time. Only where the device may
//! refuse them, because it is worn, they wait for its answer: what was refused is never read.

use crate::attached::{Answered, Attached};
use crate::clients::Clients;
use crate::clock::{self, WallClock};
use crate::connection::{Connection, Flow};
use crate::control::Control;
use crate::error::Error;
use crate::listen::{ClientStream, Listener};
use crate::pending::{BACKING, DATA, MODEL, Pending, Requests, for_device, refusal};
use crate::protocol::{Asked, Command, Event, Refusal, reply};
use crate::punctuality::{Delivered, Punctuality};
use crate::recording::Recording;
use crate::setup::{Setup, Witness};
use crate::syncer::Syncer;
use engine::{Device, Op, Request, SECTOR_BYTES, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;

/// A sleep ends this long before the instant, ns; the rest is spent watching.
const MARGIN_NS: u64 = 40_000;
/// So long after the last message the socket is watched before the thread sleeps, ns.
const WATCH_NS: u64 = 30_000;
/// So long before the next instant there is time for other things, ns, which come no more often
/// than this; on a busy server a few times more seldom, and then at once.
const LEISURE_NS: u64 = 2_000_000;
const IDLE_EVERY_NS: u64 = 500_000_000;
/// Clients at once; more wait until others leave.
const MOST_CONNECTIONS: usize = 64;
/// How long a server that ends waits for clients to take their answers, ns.
const FAREWELL_NS: u64 = 2_000_000_000;

/// A server of one device.
pub struct Server<'a, D: ?Sized, W: ?Sized> {
    device: Attached<'a, D>,
    /// What the device has answered, while that is taken in.
    answered: Vec<Answered>,
    witness: &'a mut W,
    control: &'a Control,
    setup: Setup,
    syncer: Option<Syncer>,
    clock: WallClock,
    clients: Clients,
    requests: Requests,
    last_message: u64,
    last_idle: u64,
    punctuality: Punctuality,
}

impl<'a, D: Device + ?Sized, W: Witness<D> + ?Sized> Server<'a, D, W> {
    /// A server without clients, whose time begins now.
    ///
    /// # Errors
    /// When the export does not fit the device, or the system gives no thread.
    pub fn new(
        device: &'a mut D,
        witness: &'a mut W,
        setup: Setup,
        control: &'a Control,
    ) -> Result<Self, Error> {
        let capacity = device.capacity_sectors().saturating_mul(SECTOR_BYTES);
        let bytes = setup.export_bytes;
        if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) || bytes > capacity {
            return Err(Error::Input(format!(
                "a device of {capacity} bytes cannot be served as one of {bytes}: the size is a \
                 multiple of {SECTOR_BYTES}, and no more than the device has"
            )));
        }
        let syncer = Syncer::of(&setup.store, control)?;
        Ok(Server {
            device: Attached::new(device),
            answered: Vec::new(),
            witness,
            control,
            setup,
            syncer,
            clock: WallClock::new(),
            clients: Clients::default(),
            requests: Requests::default(),
            last_message: 0,
            last_idle: 0,
            punctuality: Punctuality::default(),
        })
    }

    /// Adds a client.
    ///
    /// # Errors
    /// When its socket cannot be used.
    pub fn connect(&mut self, stream: ClientStream) -> io::Result<()> {
        self.clients.add(stream, self.setup.export_bytes)
    }

    /// Serves until it is told to stop or, without a listener, until the last client has gone.
    pub fn run(&mut self, listener: Option<&Listener>) -> Punctuality {
        clock::precise_sleep();
        let waited = clock::waited_for_processor();
        let mut end = None;
        loop {
            let now = self.clock.now();
            if end.is_none() && self.control.is_stopped() {
                end = Some(now + FAREWELL_NS);
            }
            self.advance_ahead(now);
            self.answer_due();
            self.send_all();
            match (end, listener) {
                (Some(end), _) if self.is_quiet() || now > end => break,
                (None, None) if self.clients.iter().next().is_none() => break,
                _ => {}
            }
            self.wait(listener.filter(|_| end.is_none()), end.is_none());
        }
        if let Some(before) = waited {
            self.punctuality.waited_ns = clock::waited_for_processor().map(|now| now - before);
        }
        self.setup.store.sync();
        self.punctuality
    }

    /// Ends the recording of the data, if there is one.
    ///
    /// # Errors
    /// When some of it could not be written.
    pub fn finish_recording(&mut self) -> io::Result<()> {
        self.setup.recording.take().map_or(Ok(()), Recording::finish)
    }

    /// Nothing is to be answered or sent.
    fn is_quiet(&self) -> bool {
        self.requests.is_empty() && !self.clients.iter().any(|(_, client)| client.has_output())
    }

    // ---- the device -------------------------------------------------------------------------

    /// Processes the device's events up to `to`.
    fn advance(&mut self, to: Time) {
        let mut answered = std::mem::take(&mut self.answered);
        self.device.advance(to, &mut answered);
        for Answered { slot, early, completion } in answered.drain(..) {
            if let Some(pending) = self.requests.at(slot) {
                pending.refusal = pending.refusal.or(refusal(completion.status));
                pending.completion = Some(completion);
                pending.target = self.setup.scale.wall(completion.at).saturating_sub(early);
            }
            self.no_longer_waits(slot, MODEL);
        }
        self.answered = answered;
    }

    /// Lets the device tell, in time, what will have to be answered.
    fn advance_ahead(&mut self, now: u64) {
        if !self.device.is_idle() {
            self.advance(self.setup.scale.model(now + self.device.ahead()));
        }
    }

    // ---- requests ---------------------------------------------------------------------------

    /// A client asks.
    fn ask(&mut self, place: usize, connection: &mut Connection, asked: Asked, received: u64) {
        let (op, range) = for_device(&asked);
        let mut data = self.requests.buffer();
        let (offset, length) = (asked.offset, asked.length);
        let changes = !matches!(asked.command, Command::Read | Command::Flush);
        let held = changes && self.device.device().may_refuse();
        let done = match asked.command {
            _ if held => {
                // Less than a sector is nothing that the device could be asked to forget.
                let alone = range.is_none() && self.device.device().has_ended();
                if alone { Err(Refusal::NotPermitted) } else { Ok(()) }
            }
            Command::Read => {
                data.extend(reply(asked.cookie, None));
                self.setup.store.read(offset, length, &mut data)
            }
            Command::Trim => self.setup.store.zero(offset, length, false),
            Command::WriteZeroes { keep } => self.setup.store.zero(offset, length, keep),
            Command::Write | Command::Flush => Ok(()),
        };
        let mut waits_for = 0;
        if range.is_some() {
            waits_for |= MODEL;
        }
        if asked.command == Command::Write {
            waits_for |= DATA;
        }
        let durable = asked.fua && asked.command != Command::Read || op == Op::Flush;
        if durable && self.syncer.is_some() {
            waits_for |= BACKING;
        }
        let recorded = match &mut self.setup.recording {
            // A write is recorded once its data have come.
            Some(it) if asked.command != Command::Write => {
                it.asked(&asked, &[], self.setup.scale.model(received))
            }
            _ => None,
        };
        connection.outstanding += 1;
        let slot = self.requests.add(Pending {
            connection: place,
            serial: connection.serial,
            asked,
            op,
            received,
            completion: None,
            target: received,
            waits_for,
            held_by_backing: false,
            held,
            refusal: done.err(),
            recorded,
            data,
        });
        if waits_for & DATA != 0 {
            connection.writing = Some(slot);
        }
        if waits_for & (BACKING | DATA) == BACKING && !held {
            self.make_durable(slot);
        }
        if let Some((lba, sectors)) = range {
            let at = self.setup.scale.model(received).max(self.device.time());
            self.advance(at);
            let request = Request::new(self.device.next_id(), op, lba, sectors);
            self.witness.submitted(at, &request, asked.fua);
            let early = self.setup.floor.outside(op, length.into());
            self.device.submit(at, request, slot, early);
        } else {
            self.no_longer_waits(slot, MODEL);
        }
    }

    fn make_durable(&self, slot: u32) {
        if let Some(syncer) = &self.syncer {
            syncer.ask(slot);
        }
    }

    /// The last of the data of a write have come.
    fn written(&mut self, slot: u32) {
        if let (Some(it), Some(pending)) = (&mut self.setup.recording, self.requests.at(slot)) {
            let at = self.setup.scale.model(pending.received);
            pending.recorded = it.asked(&pending.asked, &pending.data, at);
        }
        if self.requests.at(slot).is_some_and(|pending| !pending.held) {
            self.change(slot);
        }
        self.no_longer_waits(slot, DATA);
    }

    /// Changes the data as a request asks, unless it was refused.
    fn change(&mut self, slot: u32) {
        let Some(pending) = self.requests.at(slot) else { return };
        pending.held = false;
        if pending.refusal.is_none() {
            let Asked { command, offset, length, .. } = pending.asked;
            let done = match command {
                Command::Write => self.setup.store.write(offset, &pending.data),
                Command::Trim => self.setup.store.zero(offset, length, false),
                Command::WriteZeroes { keep } => self.setup.store.zero(offset, length, keep),
                Command::Read | Command::Flush => Ok(()),
            };
            pending.refusal = done.err();
        }
        if pending.refusal.is_some() {
            pending.waits_for &= !BACKING;
        } else if pending.waits_for & BACKING != 0 {
            self.make_durable(slot);
        }
    }

    fn no_longer_waits(&mut self, slot: u32, what: u8) {
        let Some(pending) = self.requests.at(slot) else { return };
        pending.waits_for &= !what;
        if pending.held && pending.waits_for & (MODEL | DATA) == 0 {
            self.change(slot);
        }
        if self.requests.at(slot).is_some_and(|pending| pending.waits_for == 0) {
            self.requests.make_ready(slot);
        }
    }

    /// Takes what the syncer has done.
    fn synced(&mut self) {
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

    // ---- answers ----------------------------------------------------------------------------

    fn answer_due(&mut self) {
        let mut now = self.clock.now();
        while let Some(target) = self.requests.due() {
            if target > now {
                now = self.clock.now();
                if target > now {
                    return;
                }
            }
            if let Some(pending) = self.requests.take_due() {
                self.answer(pending, now);
            }
        }
    }

    fn answer(&mut self, pending: Pending, now: u64) {
        if let (Some(it), Some(id)) = (&mut self.setup.recording, pending.recorded) {
            it.answered(id, pending.refusal.is_some(), self.setup.scale.model(now));
        }
        let connection = self.clients.at(pending.connection);
        let connection = connection.filter(|connection| connection.serial == pending.serial);
        let measured = connection.map(|connection| {
            connection.outstanding -= 1;
            match (pending.asked.command, pending.refusal) {
                (Command::Read, None) => connection.output.extend_from_slice(&pending.data),
                (_, refusal) => connection.output.extend(reply(pending.asked.cookie, refusal)),
            }
            let bytes = u64::from(pending.asked.length);
            now - pending.received + self.setup.floor.outside(pending.op, bytes)
        });
        if let Some(completion) = &pending.completion {
            if let Some(measured_ns) = measured {
                let answer = Delivered {
                    op: pending.op,
                    bytes: pending.asked.length.into(),
                    measured_ns,
                    model_ns: self.setup.scale.wall(completion.latency()),
                    held_by_backing: pending.held_by_backing,
                };
                self.punctuality.record(&answer, &self.setup.floor);
            }
            let measured = measured.map(|wall| self.setup.scale.model(wall));
            self.witness.completed(completion, measured);
        }
        self.requests.keep(pending.data);
    }

    fn send_all(&mut self) {
        for place in 0..self.clients.places() {
            let Some(connection) = self.clients.at(place) else { continue };
            let flow = if connection.has_output() { connection.send() } else { Flow::Open };
            let left = connection.leaving && connection.outstanding == 0;
            if flow == Flow::Gone || left && !connection.has_output() {
                self.disconnect(place);
            }
        }
    }

    // ---- clients ----------------------------------------------------------------------------

    /// Forgets a client; what it asked of the device goes on there.
    fn disconnect(&mut self, place: usize) {
        let Some(connection) = self.clients.take(place) else { return };
        if let Some(slot) = connection.writing {
            // The rest of its data will not come, so nothing of it is written.
            if let Some(pending) = self.requests.at(slot) {
                pending.waits_for &= !BACKING;
                pending.held = false;
            }
            self.no_longer_waits(slot, DATA);
        }
    }

    /// Waits for the next instant, message or wake-up, and takes the messages.
    fn wait(&mut self, listener: Option<&Listener>, reading: bool) {
        self.read_leftovers(reading);
        let timeout = self.timeout();
        let timeout = Timespec { tv_sec: 0, tv_nsec: timeout.cast_signed() };
        let mut places = Vec::with_capacity(self.clients.places());
        let mut fds = Vec::with_capacity(self.clients.places() + 2);
        fds.push(PollFd::new(self.control.wakes(), PollFlags::IN));
        for (place, connection) in self.clients.iter() {
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::IN, reading && connection.has_room());
            wanted.set(PollFlags::OUT, connection.has_output());
            places.push(place);
            fds.push(PollFd::new(&connection.stream, wanted));
        }
        if let Some(listener) = listener.filter(|_| places.len() < MOST_CONNECTIONS) {
            fds.push(PollFd::new(listener, PollFlags::IN));
        }
        if !matches!(poll(&mut fds, Some(&timeout)), Ok(ready) if ready > 0) {
            return;
        }
        let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        if !events[0].is_empty() {
            self.control.woken();
            self.synced();
        }
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        for (place, events) in places.iter().zip(&events[1..]) {
            if events.contains(PollFlags::IN) {
                self.read(*place);
            } else if events.intersects(gone) {
                self.disconnect(*place);
            }
        }
        let new = events.get(1 + places.len()).is_some_and(|events| !events.is_empty());
        if let Some(listener) = listener.filter(|_| new) {
            // A client that is gone already, or no descriptor for it: the next turn tries again.
            if let Ok(stream) = listener.accept() {
                let _ = self.connect(stream);
            }
        }
    }

    /// How long to sleep, ns, less than a second; 0 to watch.
    fn timeout(&mut self) -> u64 {
        const LONG_NS: u64 = 500_000_000;
        let event = self.device.device().next_event().filter(|_| !self.device.is_idle());
        let ahead = self.device.ahead();
        let event = event.map(|at| self.setup.scale.wall(at).saturating_sub(ahead));
        let due = self.requests.due();
        let next = event.into_iter().chain(due).min();
        let now = self.clock.now();
        let leisure = next.is_none_or(|next| next > now + LEISURE_NS);
        let since = now - self.last_idle;
        if since > IDLE_EVERY_NS && leisure || since > 4 * IDLE_EVERY_NS {
            self.last_idle = now;
            let model_now = self.setup.scale.model(now).max(self.device.time());
            self.witness.idle(self.device.device(), model_now, &self.punctuality);
        }
        let watching = now < self.last_message + WATCH_NS;
        match next {
            _ if watching => 0,
            Some(next) => next.saturating_sub(now + MARGIN_NS).min(LONG_NS),
            None => LONG_NS,
        }
    }

    fn read(&mut self, place: usize) {
        let Some(mut connection) = self.clients.take(place) else { return };
        let flow = connection.fill();
        let now = self.clock.now();
        self.last_message = now;
        self.parse(place, &mut connection, now);
        self.clients.put(place, connection);
        if flow == Flow::Gone {
            self.disconnect(place);
        }
    }

    /// Goes on with messages that were left because too much was asked before them.
    fn read_leftovers(&mut self, reading: bool) {
        for place in 0..self.clients.places() {
            let waits = |connection: &mut Connection| {
                reading && !connection.input().is_empty() && connection.has_room()
            };
            if !self.clients.at(place).is_some_and(waits) {
                continue;
            }
            let Some(mut connection) = self.clients.take(place) else { continue };
            self.parse(place, &mut connection, self.clock.now());
            self.clients.put(place, connection);
        }
    }

    fn parse(&mut self, place: usize, connection: &mut Connection, received: u64) {
        while connection.has_room() {
            let (consumed, event) = connection.step();
            match event {
                Event::More => return,
                Event::Handled => {}
                Event::Request(asked) => self.ask(place, connection, asked, received),
                Event::Data(last) => {
                    let Some(slot) = connection.writing else { continue };
                    if let Some(pending) = self.requests.at(slot) {
                        pending.data.extend_from_slice(connection.bytes(consumed));
                    }
                    if last {
                        connection.writing = None;
                        self.written(slot);
                    }
                }
                Event::Close => connection.leaving = true,
            }
        }
    }
}
