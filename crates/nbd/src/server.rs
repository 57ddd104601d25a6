//! The server: one thread between a device and its clients.
//!
//! Each turn it advances the device, sends replies, and waits for the next event or message. It
//! sends each reply earlier than the device's completion by the transport latency, so that the
//! client receives it in time. The device therefore runs ahead of the clock by this latency; a
//! request that arrives in between counts as submitted at the event.
//!
//! `asking.rs` handles requests (`hearing.rs` those from within the process), `answering.rs`
//! replies, and `waiting.rs` the waiting. Each turn reads and sends a bounded amount per client, so
//! that no client delays another for long.

use crate::attached::{Answered, Attached, Background};
use crate::catalogue::Catalogue;
use crate::clients::Clients;
use crate::clock::{self, WallClock};
use crate::connection::Connection;
use crate::control::{Control, Hearing, Wish};
use crate::entrance::Entrance;
use crate::error::Error;
use crate::listen::ClientStream;
use crate::local::Locals;
use crate::patience::{Patience, Watch};
use crate::pending::{BACKING, DATA, Requests};
use crate::punctuality::Punctuality;
use crate::recording::Recording;
use crate::setup::{Setup, Witness};
use crate::syncer::Syncer;
use engine::{Device, Marks, SECTOR_BYTES};
use std::io;
use std::sync::Arc;

/// Time limit for clients to receive their last replies, ns.
const FAREWELL_NS: u64 = 2_000_000_000;

/// Server of one device; its modules keep their state here between turns.
pub struct Server<'a, D: ?Sized, W: ?Sized> {
    pub(crate) device: Attached<'a, D>,
    /// Completions of the device that are being processed.
    pub(crate) answered: Vec<Answered>,
    pub(crate) witness: &'a mut W,
    pub(crate) control: &'a Control,
    _hearing: Hearing,
    pub(crate) setup: Setup,
    catalogue: Arc<Catalogue>,
    pub(crate) syncer: Option<Syncer>,
    pub(crate) clock: WallClock,
    pub(crate) clients: Clients,
    pub(crate) locals: Locals,
    pub(crate) requests: Requests,
    /// Sectors that a host marked as unreadable.
    pub marks: Marks,
    /// Slots of long trims whose next piece must be submitted.
    pub(crate) trimming: Vec<u32>,
    /// Buffer in which replies are built.
    pub(crate) stretch: Vec<u8>,
    pub(crate) watch: Watch,
    /// True while the device has no power or recovers.
    pub(crate) is_off: bool,
    /// At the last count: time spent waiting for a processor, and completed requests.
    waited: Option<u64>,
    requests_before: u64,
    pub(crate) punctuality: Punctuality,
}

impl<'a, D: Device + ?Sized, W: Witness<D> + ?Sized> Server<'a, D, W> {
    /// A server without clients; its clock starts now.
    ///
    /// # Errors
    /// When the export exceeds the device, or the system gives no thread.
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
            catalogue: Arc::new(Catalogue::single(setup.export)),
            setup,
            syncer,
            clock: WallClock::new(),
            clients: Clients::default(),
            locals: Locals::default(),
            requests: Requests::default(),
            marks: Marks::default(),
            trimming: Vec::new(),
            stretch: Vec::new(),
            watch: Watch::default(),
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
        if let Some(leaves) = self.clients.add(stream, &self.catalogue, 0, now)? {
            self.disconnect(leaves);
        }
        Ok(())
    }

    /// Accepts a client from a shared listener.
    pub(crate) fn seat(&mut self, mut connection: Connection) {
        let now = self.clock.now();
        connection.since = now;
        let place = self.clients.settle(connection);
        // Input may have arrived together with the choice of the export.
        let Some(mut connection) = self.clients.take(place) else { return };
        self.parse(place, &mut connection, now);
        self.clients.put(place, connection);
    }

    /// Serves until stopped; without a listener, until the last client has disconnected.
    pub fn run(&mut self, entrance: Option<&dyn Entrance>) -> Punctuality {
        clock::precise_sleep();
        self.watch.patience = Patience::of_this_thread();
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
            match (end, entrance) {
                (Some(end), _) if self.is_quiet() || now > end => break,
                (None, None) if self.locals.is_empty() && self.clients.iter().next().is_none() => {
                    break;
                }
                _ => {}
            }
            let entrance = entrance.filter(|_| end.is_none() && !self.is_off);
            self.wait(entrance, end.is_none());
        }
        self.count_waiting();
        self.setup.store.sync();
        self.punctuality
    }

    /// Ends the recording, if any.
    ///
    /// # Errors
    /// When records could not be written.
    pub fn finish_recording(&mut self) -> io::Result<()> {
        self.setup.recording.take().map_or(Ok(()), Recording::finish)
    }

    /// Adds the time waited for a processor since the last count, unless the server was idle.
    pub(crate) fn count_waiting(&mut self) {
        let Some(before) = self.waited else { return };
        let now = clock::waited_for_processor();
        let was_used = self.punctuality.requests > self.requests_before;
        if let (Some(now), Some(sum), true) = (now, &mut self.punctuality.waited_ns, was_used) {
            *sum += now - before;
        }
        self.waited = now;
        self.requests_before = self.punctuality.requests;
    }

    /// Disconnects all clients at a power cut; new ones are accepted once power returns.
    fn mind_power(&mut self) {
        let is_off = !self.device.device().standing().is_ready;
        if is_off && !self.is_off {
            for place in 0..self.clients.places() {
                self.disconnect(place);
            }
        }
        if is_off != self.is_off {
            self.locals.power(is_off);
            self.forget_unwritten(None);
            self.tell_altered();
        }
        self.is_off = is_off;
        if is_off {
            self.advance(self.setup.scale.model(self.clock.now()), Background::Alone);
        }
    }

    /// Serves the control socket, and executes one command line.
    pub(crate) fn obey(&mut self) {
        let Some(mut orders) = self.setup.orders.take() else { return };
        let began = self.clock.now();
        orders.attend(began);
        if let Some((place, line)) = orders.next(began) {
            let words = self.told(&line);
            orders.answer(place, &words, (began, self.clock.now()));
        }
        self.setup.orders = Some(orders);
    }

    /// Executes command lines from other threads.
    pub(crate) fn listen_within(&mut self) {
        for (line, answer) in self.control.take_said() {
            // The caller may have stopped waiting for the answer.
            let _ = answer.send(self.told(&line));
        }
        for wish in self.control.take_wishes() {
            match wish {
                Wish::Health(answer) => drop(answer.send(self.health())),
                Wish::Placement(answer) => drop(answer.send(self.placement())),
                Wish::Altered(since, answer) => drop(answer.send(self.zones_altered(since))),
            }
        }
    }

    /// Answer to a query or order.
    fn told(&mut self, line: &str) -> String {
        let now = self.setup.scale.model(self.clock.now()).max(self.device.time());
        if self.device.is_idle() {
            self.advance(now, Background::Alone);
        }
        // Queries change nothing, so they are not recorded.
        let looked = self.witness.look(self.device.device_mut(), now, line, &self.punctuality);
        if let Some(answer) = looked {
            return answer;
        }
        // A time after all submitted requests, so that a replay keeps the order.
        let now = self.setup.scale.model(self.clock.now()).max(self.device.time() + 1);
        self.advance(now, Background::Alone);
        self.device.pass(now, self.witness);
        self.witness.order(self.device.device_mut(), now, line)
    }

    /// True if no reply is pending or unsent.
    fn is_quiet(&self) -> bool {
        self.requests.is_empty() && !self.clients.iter().any(|(_, client)| client.has_output())
    }

    /// Removes a client; its requests in the device continue.
    pub(crate) fn disconnect(&mut self, place: usize) {
        let Some(connection) = self.clients.remove(place) else { return };
        if let Some(slot) = connection.writing {
            // A write without all its data is dropped.
            if let Some(pending) = self.requests.at(slot) {
                pending.waits_for &= !BACKING;
                pending.held = false;
            }
            self.no_longer_waits(slot, DATA);
        }
    }
}
