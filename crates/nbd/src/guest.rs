//! A client that came through a door, as the door goes on seeing it: so that all who are inside count,
//! whichever export they chose, and one who asks for nothing can make room for another.

use crate::listen::ClientStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// It counts until the last part of it is gone: its connection, and what of it is in the device.
#[derive(Debug)]
pub(crate) struct Guest {
    stream: ClientStream,
    has_asked: AtomicBool,
}

impl Guest {
    /// With another handle to its connection.
    pub(crate) fn new(stream: ClientStream) -> Self {
        Guest { stream, has_asked: AtomicBool::new(false) }
    }

    /// It has asked for something.
    pub(crate) fn asks(&self) {
        self.has_asked.store(true, Ordering::Relaxed);
    }

    /// Whether it ever has.
    pub(crate) fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    /// It has to leave.
    pub(crate) fn turn_out(&self) {
        self.stream.shut();
    }
}

/// The connection of a guest: when it is dropped the client finds that the server hangs up, though the door
/// has a handle to its socket still.
#[derive(Debug)]
pub(crate) struct Stay(pub(crate) Arc<Guest>);

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.turn_out();
    }
}
