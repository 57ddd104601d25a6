//! Thread of a target: accepts hosts, reads their commands, and ends silent controllers.

use super::command::{Entry, FABRICS, Status, fabrics};
use super::controller::{Connect, Controller, Effect, NEW_CONTROLLER};
use super::limits::{MOST_CONTROLLERS, MOST_LINKS, QUEUES_IN_ALL};
use super::link::{Link, Role, Told};
use super::namespaces::{Namespace, Subsystem};
use super::owed::Lane;
use crate::clock::WallClock;
use crate::connection::Flow;
use crate::control::Control;
use crate::crowd;
use crate::error::{Error, reason};
use crate::listen::{Address, ClientStream, Listener};
use crate::relay;
use crate::tls::Tls;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread::JoinHandle;

/// Longest sleep with and without hosts, ns.
const LONG_NS: i64 = 500_000_000;
const SHORT_NS: i64 = 20_000_000;
/// Time limit for a connection to become a queue, ns.
const HANDSHAKE_NS: u64 = 10_000_000_000;

/// An NVMe/TCP target; dropping it ends all connections.
#[derive(Debug)]
pub struct NvmeTarget {
    control: Control,
    uri: String,
    address: Address,
    thread: Option<JoinHandle<()>>,
}

impl NvmeTarget {
    /// Checks that [`new`](NvmeTarget::new) would succeed now.
    ///
    /// # Errors
    /// As [`new`](NvmeTarget::new).
    pub fn check(address: &Address) -> Result<(), Error> {
        Listener::check(address)
    }

    /// Starts a target at an address, with TLS if given. Namespaces are numbered from 1.
    ///
    /// # Errors
    /// When the address is in use or not available, or the system gives no thread.
    pub fn new(
        address: &Address,
        namespaces: Vec<Namespace>,
        tls: Option<Tls>,
    ) -> Result<Self, Error> {
        let system = |error: io::Error| Error::System(reason(&error));
        let listener = Listener::new(address)?;
        let control = Control::new().map_err(system)?;
        let (uri, place) = listener.target();
        let address = match address {
            Address::Tcp(host, _) => Address::Tcp(*host, place.1.parse().unwrap_or_default()),
            Address::Unix(path) => Address::Unix(path.clone()),
        };
        let mut target = Target {
            listener,
            control: control.clone(),
            subsystem: Subsystem::new(namespaces, place, &control),
            links: Vec::new(),
            controllers: Vec::new(),
            last: 0,
            lanes: Arc::new((0..QUEUES_IN_ALL).map(|_| AtomicBool::new(false)).collect()),
            granted: Arc::default(),
            clock: WallClock::new(),
            tls,
            relays: Vec::new(),
            early: None,
        };
        let thread = std::thread::Builder::new().name("nvme".to_owned());
        let thread = thread.spawn(move || target.run()).map_err(system)?;
        Ok(NvmeTarget { control, uri, address, thread: Some(thread) })
    }

    /// Address of the listener.
    pub fn address(&self) -> Address {
        self.address.clone()
    }

    /// URI for hosts.
    pub fn uri(&self) -> &str {
        &self.uri
    }
}

impl Drop for NvmeTarget {
    fn drop(&mut self) {
        self.control.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Poll result of a connection: true with input, and true if its host has disconnected.
struct Ready {
    place: usize,
    can_read: bool,
    is_gone: bool,
}

struct Target {
    listener: Listener,
    control: Control,
    subsystem: Subsystem,
    links: Vec<Option<Link>>,
    controllers: Vec<Controller>,
    /// Id of the latest controller.
    last: u16,
    /// I/O queues in use, and granted bytes of write data.
    lanes: Arc<Vec<AtomicBool>>,
    granted: Arc<AtomicUsize>,
    clock: WallClock,
    /// TLS of the connections, and its threads.
    tls: Option<Tls>,
    relays: Vec<JoinHandle<()>>,
    /// A host accepted during a power cut; it waits until power returns.
    early: Option<ClientStream>,
}

impl Target {
    fn run(&mut self) {
        while !self.control.is_stopped() && !self.subsystem.is_closed() {
            let is_off = self.subsystem.is_off();
            if is_off {
                // A power cut ends all connections; new hosts wait until power returns.
                for place in 0..self.links.len() {
                    self.end(place);
                }
            }
            let ready = self.wait(is_off);
            let now = self.clock.now();
            for it in &ready {
                self.attend(it, now);
            }
            self.end_silent(now);
            if self.subsystem.has_zones() {
                self.tell_altered();
            }
            if self.subsystem.has_ended() {
                self.warn();
            }
        }
        for link in self.links.drain(..).flatten() {
            link.output.close();
        }
        // Relays end with their connections.
        for relay in self.relays.drain(..) {
            let _ = relay.join();
        }
    }

    /// Waits for messages, socket room or a server. Returns the poll results of the connections.
    fn wait(&mut self, is_off: bool) -> Vec<Ready> {
        let mut places = Vec::with_capacity(self.links.len());
        let mut fds = vec![PollFd::new(self.control.wakes(), PollFlags::IN)];
        let mut waits = self.early.is_some() && !is_off;
        for (place, link) in self.links.iter().enumerate() {
            let Some(link) = link else { continue };
            let readiness = link.output.readiness();
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::IN, readiness.reads);
            wanted.set(PollFlags::OUT, readiness.writes);
            waits |= readiness.is_over;
            places.push(place);
            fds.push(PollFd::new(&link.stream, wanted));
        }
        let is_busy = self.links.iter().flatten().any(Link::is_kept_waiting);
        let timeout = match () {
            () if waits => 0,
            () if is_busy || !self.controllers.is_empty() => SHORT_NS,
            () => LONG_NS,
        };
        if !is_off {
            fds.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: timeout };
        let found = poll(&mut fds, Some(&timeout)).unwrap_or(0);
        let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        let ready = places.iter().zip(&events[1..]).map(|(place, events)| Ready {
            place: *place,
            can_read: events.contains(PollFlags::IN),
            is_gone: !events.contains(PollFlags::IN) && !(*events - PollFlags::OUT).is_empty(),
        });
        let ready = ready.collect();
        if found > 0 && !events[0].is_empty() {
            self.control.woken();
        }
        let knocks = found > 0 && !events[events.len() - 1].is_empty();
        if !is_off && (knocks || self.early.is_some()) {
            self.admit();
        }
        ready
    }

    /// Accepts waiting hosts. When all places are taken, a host replaces a silent one or is
    /// disconnected.
    fn admit(&mut self) {
        while let Some(stream) = self.early.take().or_else(|| self.listener.accept().ok()) {
            // Another thread ends a connection at a cut, so its host may reconnect before this
            // thread notices the cut.
            if self.subsystem.is_off() {
                self.early = Some(stream);
                return;
            }
            self.relays.retain(|relay| !relay.is_finished());
            let now = self.clock.now();
            if self.links.iter().flatten().count() >= MOST_LINKS {
                let Some(place) = self.ungreeted(now) else { continue };
                self.end(place);
            }
            // A relay ends soon after its connection.
            if self.relays.len() >= 2 * MOST_LINKS {
                continue;
            }
            let stream = match &self.tls {
                None => stream,
                Some(Tls(config)) => {
                    let begun = stream.prepare().and_then(|()| relay::begin(stream, config));
                    let Ok((stream, relay)) = begun else { continue };
                    self.relays.push(relay);
                    stream
                }
            };
            // An unusable socket means that the host has disconnected.
            let Ok(link) = Link::new(stream, &self.control, &self.granted, now) else { continue };
            match self.links.iter().position(Option::is_none) {
                Some(place) => self.links[place] = Some(link),
                None => self.links.push(Some(link)),
            }
        }
    }

    /// Connection to replace first among those without a queue.
    fn ungreeted(&self, now: u64) -> Option<usize> {
        let links = self.links.iter().enumerate();
        let ungreeted = links.filter_map(|(place, link)| {
            let link = link.as_ref().filter(|it| it.role == Role::New)?;
            Some((place, link.since, link.has_spoken()))
        });
        crowd::leaves(ungreeted, now)
    }

    /// Reads from a connection, and continues waiting commands.
    fn attend(&mut self, ready: &Ready, now: u64) {
        let &Ready { place, can_read, mut is_gone } = ready;
        let Some(mut link) = self.links[place].take() else { return };
        if can_read && link.output.readiness().reads {
            is_gone = link.fill() == Flow::Gone;
        }
        if (can_read || link.has_input()) && !is_gone {
            let before = link.role;
            while let Some(told) = link.next(&self.subsystem) {
                self.obey(&mut link, &told, now);
            }
            let id = link.role.controller().or(before.controller());
            if let (true, Some(controller)) = (can_read, self.controller(id)) {
                controller.hear(now);
            }
        }
        link.proceed(&self.subsystem);
        is_gone |= link.output.readiness().is_over;
        is_gone |= link.role == Role::New && now > link.since + HANDSHAKE_NS;
        self.links[place] = Some(link);
        if is_gone {
            self.end(place);
        }
    }

    fn controller(&mut self, id: Option<u16>) -> Option<&mut Controller> {
        self.controllers.iter_mut().find(|it| Some(it.id) == id)
    }

    /// Executes an admin command, or connects a queue.
    fn obey(&mut self, link: &mut Link, told: &Told, now: u64) {
        let entry = &told.entry;
        let connects = entry.opcode() == FABRICS && entry.fabrics_type() == fabrics::CONNECT;
        if link.role == Role::New {
            let outcome = match connects {
                true if told.is_damaged => Err((Status::TRANSIENT_TRANSPORT_ERROR, 0)),
                true => self.connect(link, entry, &told.data, now),
                false => Err((Status::SEQUENCE_ERROR, 0)),
            };
            let (status, result) = outcome.err().unwrap_or_else(|| {
                let id = link.role.controller().unwrap_or_default();
                (Status::SUCCESS, id.into())
            });
            return link.output.complete(entry.id(), result, status);
        }
        let id = link.role.controller();
        let Some(place) = self.controllers.iter().position(|it| Some(it.id) == id) else {
            return link.output.leave();
        };
        let controller = &mut self.controllers[place];
        if controller.execute(entry, &mut self.subsystem, &link.output) == Effect::Reset {
            for link in self.links.iter().flatten() {
                if matches!(link.role, Role::Queue(of, _) if Some(of) == id) {
                    link.output.close();
                }
            }
        }
    }

    /// Turns a connection into a queue.
    fn connect(
        &mut self,
        link: &mut Link,
        entry: &Entry,
        data: &[u8],
        now: u64,
    ) -> Result<(), (Status, u64)> {
        let wanted = Connect::read(entry, data, &self.subsystem.name.subsystem)?;
        let wrong_controller = (Status::CONNECT_INVALID_PARAMETERS, 16 | 1 << 16);
        let (role, lane, errors) = if wanted.queue == 0 {
            if wanted.controller != NEW_CONTROLLER {
                return Err(wrong_controller);
            }
            if self.controllers.len() >= MOST_CONTROLLERS {
                return Err((Status::CONNECT_BUSY, 0));
            }
            // Ids cycle through 1 to 65,519; few are in use.
            loop {
                self.last = self.last % 0xffef + 1;
                let last = self.last;
                if self.controllers.iter().all(|it| it.id != last) {
                    break;
                }
            }
            let Connect { host, discovers, patience_ms, .. } = wanted;
            let controller = Controller::new(self.last, host, discovers, patience_ms, now);
            let errors = Arc::clone(&controller.errors);
            self.controllers.push(controller);
            (Role::Admin(self.last), None, errors)
        } else {
            let found = self.controllers.iter().find(|it| it.id == wanted.controller);
            let found = found.filter(|it| it.host == wanted.host && !it.discovers);
            let controller = found.ok_or(wrong_controller)?;
            let role = Role::Queue(controller.id, wanted.queue);
            let is_taken = self.links.iter().flatten().any(|it| it.role == role);
            if !controller.is_ready() || is_taken {
                return Err((Status::SEQUENCE_ERROR, 0));
            }
            let lane = Lane::take(&self.lanes).ok_or((Status::CONNECT_BUSY, 0))?;
            (role, Some(lane), Arc::clone(&controller.errors))
        };
        link.become_queue(role, wanted.size, lane);
        link.output.connect(wanted.queue, wanted.size, errors);
        Ok(())
    }

    /// Ends a connection; an admin queue's controller ends too.
    fn end(&mut self, place: usize) {
        let Some(link) = self.links[place].take() else { return };
        link.output.close();
        if let Role::Admin(id) = link.role {
            self.dismiss(id);
        }
    }

    /// Ends a controller and all its queues.
    fn dismiss(&mut self, id: u16) {
        self.controllers.retain(|it| it.id != id);
        for link in self.links.iter().flatten() {
            if link.role.controller() == Some(id) {
                link.output.close();
            }
        }
    }

    /// Ends controllers that exceeded their keep-alive timeout.
    fn end_silent(&mut self, now: u64) {
        let is_silent = |it: &Controller| it.deadline().is_some_and(|deadline| now > deadline);
        let silent: Vec<u16> =
            self.controllers.iter().filter(|it| is_silent(it)).map(|it| it.id).collect();
        for id in silent {
            self.dismiss(id);
        }
    }

    /// Notifies hosts of zones changed by a drive.
    fn tell_altered(&mut self) {
        for link in self.links.iter().flatten() {
            let found = self.controllers.iter_mut().find(|it| link.role == Role::Admin(it.id));
            if let Some(controller) = found {
                controller.tell_altered(&self.subsystem, &link.output);
            }
        }
    }

    /// Notifies hosts of a drive that became read-only.
    fn warn(&mut self) {
        for link in self.links.iter().flatten() {
            let found = self.controllers.iter_mut().find(|it| link.role == Role::Admin(it.id));
            if let Some(controller) = found {
                controller.warn(&link.output);
            }
        }
    }
}
