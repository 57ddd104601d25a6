//! Sources of a server's clients: its own socket, or a listener shared by several servers.

use crate::connection::Connection;
use crate::error::{Error, reason};
use crate::listen::{ClientStream, Listener};
use rustix::event::{EventfdFlags, eventfd};
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A client to accept.
pub struct Comer(pub(crate) Who);

pub(crate) enum Who {
    /// A new connection.
    Stranger(ClientStream),
    /// A client that has chosen the export.
    Guest(Box<Connection>),
}

/// A source of clients; its descriptor is readable while a client waits.
pub trait Entrance: AsFd {
    /// The next waiting client, if any.
    ///
    /// # Errors
    /// When no client waits, or the system is out of descriptors.
    fn next(&self) -> io::Result<Comer>;
}

impl Entrance for Listener {
    fn next(&self) -> io::Result<Comer> {
        self.accept().map(|it| Comer(Who::Stranger(it)))
    }
}

/// The server's end of a channel from a shared listener.
pub struct Arrivals {
    waiting: Receiver<Box<Connection>>,
    bell: Arc<OwnedFd>,
}

/// The listener's end of a channel to a server.
pub struct Passage {
    sender: Sender<Box<Connection>>,
    bell: Arc<OwnedFd>,
}

/// A channel from a shared listener to a server.
///
/// # Errors
/// When the system is out of descriptors.
pub fn passage() -> Result<(Passage, Arrivals), Error> {
    let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
    let bell = Arc::new(bell.map_err(|error| Error::System(reason(&error.into())))?);
    let (sender, waiting) = channel();
    Ok((Passage { sender, bell: Arc::clone(&bell) }, Arrivals { waiting, bell }))
}

impl Passage {
    /// Passes a client to the server. A stopped server disconnects the client.
    pub(crate) fn let_in(&self, connection: Connection) {
        if self.sender.send(Box::new(connection)).is_ok() {
            // The write fails only if the counter is full, and then the server is already awake.
            let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
        }
    }
}

impl Entrance for Arrivals {
    fn next(&self) -> io::Result<Comer> {
        let found = self.waiting.try_recv().or_else(|_| {
            // A later client makes the descriptor readable again.
            let _ = rustix::io::read(&*self.bell, &mut [0u8; 8]);
            self.waiting.try_recv()
        });
        let found = found.map_err(|_| io::Error::from(ErrorKind::WouldBlock))?;
        Ok(Comer(Who::Guest(found)))
    }
}

impl AsFd for Arrivals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Arrivals")
    }
}

impl fmt::Debug for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passage")
    }
}
