//! The server: one thread between the device and its clients.
//!
//! Each turn it lets the device advance, sends the answers that are due, and waits for the next
//! instant or message. An answer is sent by the floor earlier than the device says, so that the
//! client has it in time. The device is therefore asked for its events that much ahead of the clock; a
//! request that arrives in between counts as submitted at the event.
//!
//! The server's work on requests is in `asking.rs`, that on answers in `answering.rs`. In a turn each
//! client is heard and sent at most a stretch, so that none waits for another.

use crate::attached::{Answered, Attached};
use crate::clients::{Clients, MOST_CLIENTS};
use crate::clock::{self, WallClock};
use crate::connection::{Connection, Flow};
use crate::control::{Control, Hearing};
use crate::error::Error;
use crate::listen::{ClientStream, Listener};
use crate::pending::{BACKING, DATA, Requests};
use crate::punctuality::Punctuality;
use crate::recording::Recording;
use crate::setup::{Setup, Witness};
use crate::syncer::Syncer;
use engine::{Device, SECTOR_BYTES};
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
/// How long a server that ends waits for clients to take their answers, ns.
const FAREWELL_NS: u64 = 2_000_000_000;

/// A server of one device; its fields are what its turns need.
pub struct Server<'a, D: ?Sized, W: ?Sized> {
    pub(crate) device: Attached<'a, D>,
    /// What the device has answered, while that is taken in.
    pub(crate) answered: Vec<Answered>,
    pub(crate) witness: &'a mut W,
    control: &'a Control,
    _hearing: Hearing,
    pub(crate) setup: Setup,
    pub(crate) syncer: Option<Syncer>,
    pub(crate) clock: WallClock,
    pub(crate) clients: Clients,
    pub(crate) requests: Requests,
    /// Long trims of which the device is to be asked the next piece.
    pub(crate) trimming: Vec<u32>,
    /// In which answers are made.
    pub(crate) stretch: Vec<u8>,
    last_message: u64,
    last_idle: u64,
    /// The place that is heard first in the next turn.
    first: usize,
    /// The power of the device is off, or it is on its way back.
    is_off: bool,
    /// How long the server had waited for a processor when that was counted last, and its answers then.
    waited: Option<u64>,
    requests_before: u64,
    pub(crate) punctuality: Punctuality,
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
        let bytes = setup.export.bytes;
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
            _hearing: control.hears(),
            setup,
            syncer,
            clock: WallClock::new(),
            clients: Clients::default(),
            requests: Requests::default(),
            trimming: Vec::new(),
            stretch: Vec::new(),
            last_message: 0,
            last_idle: 0,
            first: 0,
            is_off: false,
            waited: None,
            requests_before: 0,
            punctuality: Punctuality::default(),
        })
    }

    /// Adds a client.
    ///
    /// # Errors
    /// When its socket cannot be used.
    pub fn connect(&mut self, stream: ClientStream) -> io::Result<()> {
        let now = self.clock.now();
        if let Some(leaves) = self.clients.add(stream, self.setup.export, now)? {
            self.disconnect(leaves);
        }
        Ok(())
    }

    /// Serves until it is told to stop or, without a listener, until the last client has gone.
    pub fn run(&mut self, listener: Option<&Listener>) -> Punctuality {
        clock::precise_sleep();
        self.waited = clock::waited_for_processor();
        self.punctuality.waited_ns = self.waited.map(|_| 0);
        let mut end = None;
        loop {
            let now = self.clock.now();
            if end.is_none() && self.control.is_stopped() {
                end = Some(now + FAREWELL_NS);
            }
            self.mind_power();
            self.advance_ahead(now);
            self.answer_due();
            self.send_all();
            match (end, listener) {
                (Some(end), _) if self.is_quiet() || now > end => break,
                (None, None) if self.clients.iter().next().is_none() => break,
                _ => {}
            }
            let listener = listener.filter(|_| end.is_none() && !self.is_off);
            self.wait(listener, end.is_none());
        }
        self.count_waiting();
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

    /// Counts how long the server has waited for a processor since it was counted last, unless it had
    /// nothing to do then.
    fn count_waiting(&mut self) {
        let Some(before) = self.waited else { return };
        let now = clock::waited_for_processor();
        let was_used = self.punctuality.requests > self.requests_before;
        if let (Some(now), Some(sum), true) = (now, &mut self.punctuality.waited_ns, was_used) {
            *sum += now - before;
        }
        self.waited = now;
        self.requests_before = self.punctuality.requests;
    }

    /// When the power of the device goes, so do the clients; others come when it is back.
    fn mind_power(&mut self) {
        let is_off = !self.device.device().is_ready();
        if is_off && !self.is_off {
            for place in 0..self.clients.places() {
                self.disconnect(place);
            }
        }
        self.is_off = is_off;
        if is_off {
            self.advance(self.setup.scale.model(self.clock.now()), true);
        }
    }

    /// Does what is ordered at the control socket.
    fn obey(&mut self) {
        let Some(mut orders) = self.setup.orders.take() else { return };
        orders.hear(|line| self.told(line));
        self.setup.orders = Some(orders);
    }

    /// Does what other threads of this process say.
    fn listen_within(&mut self) {
        for (line, answer) in self.control.take_said() {
            // Who does not wait any more need not hear it.
            let _ = answer.send(self.told(&line));
        }
    }

    /// What there is to see, or else what became of an order.
    fn told(&mut self, line: &str) -> String {
        let now = self.setup.scale.model(self.clock.now()).max(self.device.time());
        if self.device.is_idle() {
            self.advance(now, true);
        }
        // Who only looks is no part of what happens, so that a replay need not know of it.
        let looked = self.witness.look(self.device.device_mut(), now, line, &self.punctuality);
        if let Some(answer) = looked {
            return answer;
        }
        // Later than all that has been submitted, so that a replay knows the order.
        let now = self.setup.scale.model(self.clock.now()).max(self.device.time() + 1);
        self.advance(now, true);
        self.device.pass(now, self.witness);
        self.witness.order(self.device.device_mut(), now, line)
    }

    /// Nothing is to be answered or sent.
    fn is_quiet(&self) -> bool {
        self.requests.is_empty() && !self.clients.iter().any(|(_, client)| client.has_output())
    }

    /// Forgets a client; what it asked of the device goes on there.
    pub(crate) fn disconnect(&mut self, place: usize) {
        let Some(connection) = self.clients.remove(place) else { return };
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
            let room = connection.has_room(self.clients.load, self.clients.held(place));
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::IN, reading && room);
            wanted.set(PollFlags::OUT, connection.has_output());
            places.push(place);
            fds.push(PollFd::new(&connection.stream, wanted));
        }
        if let Some(listener) = listener {
            fds.push(PollFd::new(listener, PollFlags::IN));
        }
        let ordering = fds.len();
        if let Some(orders) = &self.setup.orders {
            fds.extend(orders.fds().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        }
        if !matches!(poll(&mut fds, Some(&timeout)), Ok(ready) if ready > 0) {
            return;
        }
        let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        if !events[0].is_empty() {
            self.control.woken();
            self.synced();
            self.listen_within();
        }
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        self.first = (self.first + 1) % places.len().max(1);
        for number in (self.first..places.len()).chain(0..self.first) {
            let (place, events) = (places[number], events[1 + number]);
            if events.contains(PollFlags::OUT)
                && let Some(connection) = self.clients.at(place)
            {
                connection.clogged = false;
            }
            if events.contains(PollFlags::IN) {
                self.read(place);
                // Nobody's answer waits for all that others have to say.
                self.answer_due();
            } else if events.intersects(gone) {
                self.disconnect(place);
            }
        }
        if events[ordering..].iter().any(|events| !events.is_empty()) {
            self.obey();
        }
        let new = events[1 + places.len()..ordering].iter().any(|events| !events.is_empty());
        if let Some(listener) = listener.filter(|_| new) {
            // Some at once, for who comes last should hear soon that there is no place. A client that is
            // gone already, or no descriptor for it: the next turn tries again.
            for _ in 0..MOST_CLIENTS {
                let Ok(stream) = listener.accept() else { break };
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
            self.count_waiting();
            let model_now = self.setup.scale.model(now).max(self.device.time());
            if self.device.is_idle() {
                // What the device does in the background, so that it may come to rest.
                self.advance(model_now, true);
            }
            self.witness.idle(self.device.device_mut(), model_now, &self.punctuality);
            for place in self.clients.overdue(now) {
                self.disconnect(place);
            }
        }
        let unsent = self.clients.iter().any(|(_, it)| it.has_output() && !it.clogged);
        let watching = now < self.last_message + WATCH_NS || unsent || !self.trimming.is_empty();
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
            let (load, held) = (self.clients.load, self.clients.held(place));
            let waits = |connection: &mut Connection| {
                reading && connection.held_back && connection.has_room(load, held)
            };
            if !self.clients.at(place).is_some_and(waits) {
                continue;
            }
            let Some(mut connection) = self.clients.take(place) else { continue };
            self.parse(place, &mut connection, self.clock.now());
            self.clients.put(place, connection);
        }
    }
}
