//! A client from a listener, as the listener sees it: so that the clients of all exports are
//! counted together, and an idle one can be replaced by another.

use crate::listen::ClientStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// It counts until its connection is closed and its requests have completed.
#[derive(Debug)]
pub(crate) struct Guest {
    stream: ClientStream,
    has_asked: AtomicBool,
}

impl Guest {
    /// A guest with a second handle to its connection.
    pub(crate) fn new(stream: ClientStream) -> Self {
        Guest { stream, has_asked: AtomicBool::new(false) }
    }

    /// Notes a request.
    pub(crate) fn asks(&self) {
        self.has_asked.store(true, Ordering::Relaxed);
    }

    /// True after the first request.
    pub(crate) fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    /// Disconnects the client.
    pub(crate) fn turn_out(&self) {
        self.stream.shut();
    }
}

/// The connection of a guest. Dropping it disconnects the client, although the door still has a handle
/// to the socket.
#[derive(Debug)]
pub(crate) struct Stay(pub(crate) Arc<Guest>);

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.turn_out();
    }
}
