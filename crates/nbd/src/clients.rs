//! The clients of a server, each at a place of its own while it stays.

use crate::connection::Connection;
use crate::listen::ClientStream;
use std::io;

/// All clients, with the places of those that have left.
#[derive(Default)]
pub(crate) struct Clients {
    places: Vec<Option<Connection>>,
    /// How many there have been.
    connected: u64,
}

impl Clients {
    /// Adds a client of an export of so many bytes.
    ///
    /// # Errors
    /// When its socket cannot be used.
    pub(crate) fn add(&mut self, stream: ClientStream, export_bytes: u64) -> io::Result<()> {
        self.connected += 1;
        let connection = Connection::new(stream, export_bytes, self.connected)?;
        match self.places.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(connection),
            None => self.places.push(Some(connection)),
        }
        Ok(())
    }

    /// The number of places, taken or not.
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// The clients with their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Connection)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(place, connection)| Some((place, connection.as_ref()?)))
    }

    /// The client at a place, if there is one.
    pub(crate) fn at(&mut self, place: usize) -> Option<&mut Connection> {
        self.places[place].as_mut()
    }

    /// Takes the client from its place, for good or until it is [put](Clients::put) back.
    pub(crate) fn take(&mut self, place: usize) -> Option<Connection> {
        self.places[place].take()
    }

    /// Puts a client back.
    pub(crate) fn put(&mut self, place: usize, connection: Connection) {
        self.places[place] = Some(connection);
    }
}
