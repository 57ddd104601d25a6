//! A client as its shared listener sees it: the listener counts the clients of all exports and
//! replaces idle ones.

use crate::listen::ClientStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Counts as connected until its connection is closed and its requests have completed.
#[derive(Debug)]
pub(crate) struct Guest {
    stream: ClientStream,
    has_asked: AtomicBool,
}

impl Guest {
    /// A guest with its own handle to the connection.
    pub(crate) fn new(stream: ClientStream) -> Self {
        Guest { stream, has_asked: AtomicBool::new(false) }
    }

    /// Marks the client as having sent a request.
    pub(crate) fn mark_request(&self) {
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

/// Connection of a guest. Dropping it disconnects the client, although the listener still has a
/// handle to the socket.
#[derive(Debug)]
pub(crate) struct Stay(pub(crate) Arc<Guest>);

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.turn_out();
    }
}
