//! How other threads reach the server.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Wakes or ends a server from another thread.
#[derive(Debug, Clone)]
pub struct Control {
    wake: Arc<OwnedFd>,
    stop: Arc<AtomicBool>,
}

impl Control {
    /// For one server.
    ///
    /// # Errors
    /// When the system has no more descriptors.
    pub fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Control { wake: Arc::new(wake), stop: Arc::default() })
    }

    /// Lets the server answer what it was asked and end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether it is to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(crate) fn wake(&self) {
        // It only fails when it is full, and then the server is awake.
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
    }

    /// What becomes readable when the server is woken.
    pub(crate) fn wakes(&self) -> &OwnedFd {
        &self.wake
    }

    pub(crate) fn woken(&self) {
        let _ = rustix::io::read(&*self.wake, &mut [0u8; 8]);
    }
}
