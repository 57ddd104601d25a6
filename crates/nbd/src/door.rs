//! A listener shared by several servers. A client negotiates its export here, within TLS if
//! requested. Its connection, with all input so far, then passes to the server of that export. Each
//! device has a server with its own thread; the listener has another.
//!
//! The limits on clients are for all exports together, and include clients that still negotiate.

use crate::catalogue::{Catalogue, Offer, Security};
use crate::clients::{Clients, MOST_CLIENTS, UNUSED_NS};
use crate::clock::WallClock;
use crate::connection::{Connection, Flow};
use crate::control::Control;
use crate::entrance::Passage;
use crate::error::Error;
use crate::guest::{Guest, Stay};
use crate::listen::Listener;
use crate::protocol::Event;
use crate::relay;
use crate::room::Room;
use crate::store::Store;
use crate::tls::Tls;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Interval of the search for clients that exceeded the negotiation timeout, ns.
const LOOK_NS: i64 = 500_000_000;

/// A listener in front of several servers.
pub struct Door {
    listener: Listener,
    catalogue: Arc<Catalogue>,
    /// Channels to the servers, in the order of the catalogue.
    passages: Vec<Passage>,
    tls: Option<Tls>,
    control: Control,
    clock: WallClock,
    /// Clients in negotiation.
    clients: Clients,
    /// Clients passed to a server, with the time of passing.
    inside: Vec<(u64, Arc<Guest>)>,
    relays: Vec<JoinHandle<()>>,
    stretch: Vec<u8>,
}

/// Threads of TLS clients; they end soon after their servers.
pub struct Relays(Vec<JoinHandle<()>>);

impl Relays {
    /// Joins the threads.
    pub fn finish(self) {
        for thread in self.0 {
            // A panicked thread has ended too.
            let _ = thread.join();
        }
    }
}

impl Door {
    /// A listener for some exports; the first is the default export.
    ///
    /// # Errors
    /// When two names are equal.
    pub fn new(
        listener: Listener,
        rooms: Vec<(Offer, Passage)>,
        tls: Option<(Tls, Security)>,
        control: &Control,
    ) -> Result<Self, Error> {
        let (offers, passages) = rooms.into_iter().unzip();
        let security = tls.as_ref().map_or(Security::Off, |it| it.1);
        Ok(Door {
            listener,
            catalogue: Arc::new(Catalogue::new(offers, security)?),
            passages,
            tls: tls.map(|it| it.0),
            control: control.clone(),
            clock: WallClock::new(),
            clients: Clients::default(),
            inside: Vec::new(),
            relays: Vec::new(),
            stretch: Vec::new(),
        })
    }

    /// Accepts clients until stopped.
    pub fn run(mut self) -> Relays {
        while !self.control.is_stopped() {
            self.wait();
            let now = self.clock.now();
            for place in self.clients.overdue(now) {
                self.clients.remove(place);
            }
            self.relays.retain(|thread| !thread.is_finished());
            self.forget();
        }
        Relays(self.relays)
    }

    /// Waits for messages and new clients, and accepts clients.
    fn wait(&mut self) {
        let mut places = Vec::new();
        let mut fds = vec![
            PollFd::new(self.control.wakes(), PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        for (place, connection) in self.clients.iter() {
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::IN, has_room(connection));
            wanted.set(PollFlags::OUT, connection.has_output());
            places.push(place);
            fds.push(PollFd::new(&connection.stream, wanted));
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
        if !matches!(poll(&mut fds, Some(&timeout)), Ok(ready) if ready > 0) {
            return;
        }
        let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        if !events[0].is_empty() {
            self.control.woken();
        }
        for (place, events) in places.into_iter().zip(&events[2..]) {
            if events.intersects(PollFlags::IN | PollFlags::OUT) {
                self.attend(place, events.contains(PollFlags::IN));
            } else if !events.is_empty() {
                self.clients.remove(place);
            }
        }
        if !events[1].is_empty() {
            // Several per turn, so that the last client soon gets its place or an error.
            for _ in 0..MOST_CLIENTS {
                if self.admit().is_err() {
                    break;
                }
            }
        }
    }

    /// Forgets clients that have left their servers.
    fn forget(&mut self) {
        self.inside.retain(|(_, guest)| Arc::strong_count(guest) > 1);
    }

    /// Accepts one waiting client, if any.
    fn admit(&mut self) -> io::Result<()> {
        let stream = self.listener.accept()?;
        let now = self.clock.now();
        self.forget();
        let is_full = self.clients.served() + self.inside.len() >= MOST_CLIENTS;
        if is_full && self.clients.ungreeted(now).is_none() {
            let is_unused =
                |(since, guest): &(u64, Arc<Guest>)| !guest.has_asked() && now >= since + UNUSED_NS;
            if let Some(number) = self.inside.iter().position(is_unused) {
                self.inside.remove(number).1.turn_out();
            }
        }
        // An unusable socket means that the client has disconnected.
        let leaves = self.clients.add(stream, &self.catalogue, self.inside.len(), now);
        if let Ok(Some(place)) = leaves {
            self.clients.remove(place);
        }
        Ok(())
    }

    /// Reads from a client, replies, and passes it on once it has chosen an export.
    fn attend(&mut self, place: usize, can_read: bool) {
        let Some(mut connection) = self.clients.take(place) else { return };
        if can_read && connection.fill() == Flow::Gone {
            return;
        }
        loop {
            negotiate(&mut connection);
            if connection.conversation.is_open() {
                return self.let_in(connection);
            }
            if !connection.has_output() {
                break;
            }
            // Replies at this stage have no stored data.
            if connection.send(&Store::memory(), &mut self.stretch) == Flow::Gone {
                return;
            }
            if connection.has_output() {
                return self.clients.put(place, connection);
            }
        }
        if connection.conversation.is_securing() {
            // Input behind the request for TLS was sent in plain text.
            let is_alone = connection.unread() == 0;
            let Some(secured) = self.secured(connection).filter(|_| is_alone) else { return };
            connection = secured;
        }
        if !connection.leaving {
            self.clients.put(place, connection);
        }
    }

    /// Starts TLS for a client; `None` on failure.
    fn secured(&mut self, connection: Connection) -> Option<Connection> {
        let Tls(config) = self.tls.as_ref()?;
        let (conversation, since) = (connection.conversation.secured(), connection.since);
        let (stream, thread) = relay::begin(connection.stream, config).ok()?;
        self.relays.push(thread);
        Connection::new(stream, |_| conversation, since).ok()
    }

    /// Passes a client to the server of its export.
    fn let_in(&mut self, mut connection: Connection) {
        let Ok(handle) = connection.stream.handle() else { return };
        let guest = Arc::new(Guest::new(handle));
        connection.guest = Some(Stay(Arc::clone(&guest)));
        self.inside.push((connection.since, guest));
        self.passages[connection.conversation.number].let_in(connection);
    }
}

/// True while more of the client's negotiation may be read.
fn has_room(connection: &Connection) -> bool {
    let conversation = &connection.conversation;
    connection.has_room(Room::default()) && !conversation.is_open() && !conversation.is_securing()
}

/// Negotiates with a client until it chooses an export.
fn negotiate(connection: &mut Connection) {
    while has_room(connection) {
        match connection.step().1 {
            Event::More => return,
            Event::Close => connection.leaving = true,
            _ => {}
        }
    }
}
