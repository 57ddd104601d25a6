//! Clients of a server, one per place, and the limit on their number.
//!
//! A place is free once its client has disconnected and its requests have completed. When all
//! places are taken, a new client replaces the newest one that had time to choose an export and did
//! not ([`crowd`]), or one that has been idle for long. Otherwise the new client gets an error.
//! Clients that exceed the negotiation timeout are disconnected.

use crate::catalogue::Catalogue;
use crate::connection::Connection;
use crate::crowd;
use crate::guest::Guest;
use crate::listen::ClientStream;
use crate::protocol::Conversation;
use crate::room::{Load, Room};
use std::io;
use std::sync::Arc;

/// Maximum number of clients.
pub(crate) const MOST_CLIENTS: usize = 64;
/// Maximum number of additional clients that receive the error "server full".
const MOST_TURNED_AWAY: usize = 16;
/// Time limits for choosing an export, and for a rejected client to read its error, ns.
const HANDSHAKE_NS: u64 = 10_000_000_000;
const TURNED_AWAY_NS: u64 = 2_000_000_000;
/// A client idle for this time may be replaced, ns.
pub(crate) const UNUSED_NS: u64 = 10_000_000_000;

/// A place for a client: outstanding requests of a disconnected client, and bytes of writes held
/// until the device accepts them.
#[derive(Default)]
struct Place {
    connection: Option<Connection>,
    orphans: u32,
    held: usize,
    /// The guest that was turned away.
    guest: Option<Arc<Guest>>,
    /// True for a client without a socket.
    is_within: bool,
}

impl Place {
    fn is_free(&self) -> bool {
        self.connection.is_none() && self.orphans == 0
    }
}

/// All clients, by place.
#[derive(Default)]
pub(crate) struct Clients {
    places: Vec<Place>,
    /// Number of connections since the start.
    connected: u64,
    /// Load of all clients, and the number of competing clients.
    load: Load,
    competitors: u32,
}

impl Clients {
    /// Adds a client that will choose an export; `elsewhere` counts clients at other servers.
    /// Returns the place of the client that it replaces.
    ///
    /// # Errors
    /// When its socket cannot be used.
    pub(crate) fn add(
        &mut self,
        stream: ClientStream,
        catalogue: &Arc<Catalogue>,
        elsewhere: usize,
        now: u64,
    ) -> io::Result<Option<usize>> {
        let room = self.served() + elsewhere < MOST_CLIENTS;
        let leaves = if room { None } else { self.ungreeted(now).or_else(|| self.unused(now)) };
        let is_served = room || leaves.is_some();
        let full = self.places.len() >= MOST_CLIENTS + MOST_TURNED_AWAY
            && !self.places.iter().any(Place::is_free);
        if !is_served && full {
            // The client only sees its connection closed.
            return Ok(None);
        }
        let conversation =
            |words: &mut Vec<u8>| Conversation::of(is_served.then(|| Arc::clone(catalogue)), words);
        let connection = Connection::new(stream, conversation, now)?;
        self.settle(connection);
        Ok(leaves)
    }

    /// Assigns a place to a client and returns its number.
    pub(crate) fn settle(&mut self, mut connection: Connection) -> usize {
        self.connected += 1;
        connection.serial = self.connected;
        let place = self.places.iter().position(Place::is_free);
        let place = place.unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() - 1
        });
        self.places[place].connection = Some(connection);
        place
    }

    /// Reserves a permanent place for a client without a socket.
    pub(crate) fn reserve(&mut self) -> usize {
        self.places.push(Place { orphans: 1, is_within: true, ..Place::default() });
        self.places.len() - 1
    }

    /// Number of places taken by socket clients, including disconnected ones with outstanding
    /// requests.
    pub(crate) fn served(&self) -> usize {
        let is_taken = |place: &&Place| match &place.connection {
            Some(connection) => connection.conversation.is_served(),
            None => place.orphans > 0 && !place.is_within,
        };
        self.places.iter().filter(is_taken).count()
    }

    /// The client to replace first, among clients without an export.
    pub(crate) fn ungreeted(&self, now: u64) -> Option<usize> {
        let negotiates =
            |it: &Connection| it.conversation.is_served() && !it.conversation.is_open();
        let ungreeted = self.iter().filter(|(_, it)| negotiates(it));
        let ungreeted = ungreeted.map(|(place, it)| (place, it.since, it.has_spoken()));
        crowd::leaves(ungreeted, now)
    }

    /// Place of the longest-idle client beyond the idle limit.
    fn unused(&self, now: u64) -> Option<usize> {
        let unused = self.iter().filter(|(_, it)| !it.has_asked && it.conversation.is_open());
        let (place, since) = unused.map(|(place, it)| (place, it.since)).min_by_key(|it| it.1)?;
        (now >= since + UNUSED_NS).then_some(place)
    }

    /// Places of clients that exceeded the negotiation timeout.
    pub(crate) fn overdue(&self, now: u64) -> Vec<usize> {
        let is_overdue = |it: &Connection| {
            let patience = if it.conversation.is_served() { HANDSHAKE_NS } else { TURNED_AWAY_NS };
            !it.conversation.is_open() && now > it.since + patience
        };
        self.iter().filter(|(_, it)| is_overdue(it)).map(|(place, _)| place).collect()
    }

    /// Number of places, free ones included.
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// Clients with their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Connection)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(number, place)| Some((number, place.connection.as_ref()?)))
    }

    /// The client at a place, if any.
    pub(crate) fn at(&mut self, place: usize) -> Option<&mut Connection> {
        self.places[place].connection.as_mut()
    }

    /// Takes the client from its place until [`Clients::put`].
    pub(crate) fn take(&mut self, place: usize) -> Option<Connection> {
        self.places[place].connection.take()
    }

    /// Puts a client back.
    pub(crate) fn put(&mut self, place: usize, connection: Connection) {
        self.places[place].connection = Some(connection);
    }

    /// Removes a client.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Connection> {
        let connection = self.places[place].connection.take()?;
        let left = &mut self.places[place];
        left.orphans += connection.outstanding.requests;
        let guest = connection.guest.as_ref().filter(|_| left.orphans > 0);
        left.guest = guest.map(|it| Arc::clone(&it.0));
        Some(connection)
    }

    /// Available capacity of the device for a client.
    pub(crate) fn room(&self, place: usize) -> Room {
        Room::new(self.load, self.competitors, self.places[place].held)
    }

    /// Adjusts the held bytes of a client's writes.
    pub(crate) fn hold(&mut self, place: usize, more: isize) {
        let held = &mut self.places[place].held;
        *held = held.saturating_add_signed(more);
    }

    /// Counts a client's request of `bytes` bytes.
    pub(crate) fn asked(&mut self, connection: &mut Connection, bytes: u32) {
        if !connection.has_asked {
            connection.has_asked = true;
            if let Some(guest) = &connection.guest {
                guest.0.mark_request();
            }
        }
        connection.outstanding.add(bytes);
        self.load.add(bytes);
    }

    /// Counts a request of a client without a socket, which cannot disconnect.
    pub(crate) fn asked_locally(&mut self, place: usize, bytes: u32) {
        self.places[place].orphans += 1;
        self.load.add(bytes);
    }

    /// Counts competing clients: each with requests in the device, or waiting to submit.
    pub(crate) fn count_competitors(&mut self) {
        let competes = |it: &Connection| it.outstanding.requests > 0 || it.held_back;
        self.competitors = self.iter().filter(|(_, it)| competes(it)).count() as u32;
    }

    /// Uncounts a request of `bytes` bytes that the device completed or never received.
    pub(crate) fn left_device(&mut self, bytes: u32) {
        self.load.remove(bytes);
    }

    /// Counts an answered request. Returns its client, if still connected.
    pub(crate) fn answered(
        &mut self,
        place: usize,
        serial: u64,
        bytes: u32,
    ) -> Option<&mut Connection> {
        let place = &mut self.places[place];
        match &mut place.connection {
            Some(connection) if connection.serial == serial => {
                connection.outstanding.remove(bytes);
                Some(connection)
            }
            _ => {
                place.orphans -= 1;
                if place.orphans == 0 {
                    place.guest = None;
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Export;
    use crate::connection::Flow;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    const EXPORT: Export = Export { bytes: 1 << 20, read_only: false };

    /// Adds a client at `now`. Returns its socket, and the place of the client that it replaces.
    fn come(clients: &mut Clients, now: u64) -> (UnixStream, Option<usize>) {
        let (client, server) = UnixStream::pair().unwrap();
        let catalogue = Arc::new(Catalogue::single(EXPORT));
        let leaves = clients.add(ClientStream::Unix(server), &catalogue, 0, now).unwrap();
        (client, leaves)
    }

    /// Lets a client choose the export.
    fn choose(clients: &mut Clients, place: usize, client: &mut UnixStream) {
        client.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
        let connection = clients.at(place).unwrap();
        assert_eq!(connection.fill(), Flow::Open);
        while connection.unread() > 0 {
            connection.step();
        }
        assert!(connection.conversation.is_open());
    }

    #[test]
    fn clients_that_never_choose_an_export_are_disconnected() {
        let mut clients = Clients::default();
        let (_silent, _) = come(&mut clients, 0);
        let (mut quick, _) = come(&mut clients, 0);
        choose(&mut clients, 1, &mut quick);
        assert!(clients.overdue(HANDSHAKE_NS).is_empty());
        assert_eq!(clients.overdue(HANDSHAKE_NS + 1), [0]);
    }

    #[test]
    fn clients_that_say_nothing_keep_nobody_out() {
        let mut clients = Clients::default();
        let (mut first, _) = come(&mut clients, 0);
        choose(&mut clients, 0, &mut first);
        let silent: Vec<UnixStream> = (1..MOST_CLIENTS as u64)
            .map(|number| {
                let (end, leaves) = come(&mut clients, number);
                assert_eq!(leaves, None);
                end
            })
            .collect();
        let newest = silent.len();
        let (_early, leaves) = come(&mut clients, 1);
        assert_eq!(leaves, None, "all of them may still speak");
        let late = HANDSHAKE_NS / 100;
        let (mut end, leaves) = come(&mut clients, late);
        assert_eq!(leaves, Some(newest), "the newest silent one");
        clients.remove(newest);
        // It has sent data, so another client is replaced first.
        end.write_all(b"\0\0\0\x03").unwrap();
        let place = clients.places() - 1;
        assert_eq!(clients.at(place).unwrap().fill(), Flow::Open);
        let (_next, leaves) = come(&mut clients, 2 * late);
        assert_eq!(leaves, Some(newest - 1));
    }

    #[test]
    fn clients_without_requests_lose_their_place() {
        let mut clients = Clients::default();
        let mut ends: Vec<UnixStream> = Vec::new();
        for number in 0..MOST_CLIENTS {
            let (mut end, leaves) = come(&mut clients, number as u64);
            assert_eq!(leaves, None);
            choose(&mut clients, number, &mut end);
            ends.push(end);
        }
        // All clients have chosen an export, so none is overdue, but none has sent a request.
        assert!(clients.overdue(10 * HANDSHAKE_NS).is_empty());
        let (_early, leaves) = come(&mut clients, UNUSED_NS - 1);
        assert_eq!(leaves, None);
        assert!(!clients.at(MOST_CLIENTS).unwrap().conversation.is_served());
        // The client receives the error and must disconnect soon.
        let away = UNUSED_NS + TURNED_AWAY_NS;
        assert_eq!(clients.overdue(away), [MOST_CLIENTS]);
        // The first client has sent a request since.
        clients.at(0).unwrap().has_asked = true;
        let (_late, leaves) = come(&mut clients, away);
        assert_eq!(leaves, Some(1));
    }
}
