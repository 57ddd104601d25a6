//! Access to the server from other threads.

use crate::health::Health;
use crate::placement::Placement;
use crate::zones::ZonesAltered;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A command line, and the channel for its reply.
type Said = (String, Sender<String>);

/// Maximum number of unanswered command lines.
const MOST_SAID: usize = 64;
/// Longest wait for an answer of the device.
const PATIENCE: Duration = Duration::from_secs(1);

/// Query about the device.
#[derive(Debug)]
pub enum Wish {
    Health(Sender<Health>),
    Placement(Sender<Option<Placement>>),
    Altered(u64, Sender<Option<ZonesAltered>>),
}

/// Handle that wakes or stops a server from another thread.
#[derive(Debug, Clone)]
pub struct Control {
    wake: Arc<OwnedFd>,
    stop: Arc<AtomicBool>,
    /// Pending command lines; `None` once the server has stopped.
    said: Arc<Mutex<Option<Vec<Said>>>>,
    /// Queries about the device.
    wishes: Arc<Mutex<Option<Vec<Wish>>>>,
}

/// The server answers command lines while this lives. Dropping it fails all waiting callers.
#[derive(Debug)]
pub(crate) struct Hearing(Control);

impl Drop for Hearing {
    fn drop(&mut self) {
        *self.0.said.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.0.wishes.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Control {
    /// The control of a new server.
    ///
    /// # Errors
    /// When the system has no more descriptors.
    pub fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let said = Arc::new(Mutex::new(Some(Vec::new())));
        let wishes = Arc::new(Mutex::new(Some(Vec::new())));
        Ok(Control { wake: Arc::new(wake), stop: Arc::default(), said, wishes })
    }

    /// Health of the device; `None` if the server has stopped.
    pub fn health(&self) -> Option<Health> {
        let (sender, answer) = channel();
        self.wish(Wish::Health(sender))?;
        // A stopped server answers no lines.
        answer.recv_timeout(PATIENCE).ok()
    }

    /// True if both handles control the same server.
    pub fn is_same(&self, other: &Control) -> bool {
        Arc::ptr_eq(&self.wake, &other.wake)
    }

    /// Placement handles of the device; `None` without handles or if the server has stopped.
    pub fn placement(&self) -> Option<Placement> {
        let (sender, answer) = channel();
        self.wish(Wish::Placement(sender))?;
        answer.recv_timeout(PATIENCE).ok()?
    }

    /// Zones changed by the device since its `since`th change; `None` without zones or if the
    /// server has stopped.
    pub fn zones_altered(&self, since: u64) -> Option<ZonesAltered> {
        let (sender, answer) = channel();
        self.wish(Wish::Altered(since, sender))?;
        answer.recv_timeout(PATIENCE).ok()?
    }

    fn wish(&self, wish: Wish) -> Option<()> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.push(wish);
        self.wake();
        Some(())
    }

    /// Takes the pending queries about the device.
    pub fn take_wishes(&self) -> Vec<Wish> {
        let mut wishes = self.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        wishes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Executes a command line, as at the control socket, and returns its answer. `None` if the
    /// server has stopped or too many lines wait.
    pub fn say(&self, line: &str) -> Option<String> {
        let (sender, answer) = channel();
        {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            let said = said.as_mut().filter(|said| said.len() < MOST_SAID)?;
            said.push((line.to_owned(), sender));
        }
        self.wake();
        answer.recv().ok()
    }

    /// Enables command lines until the result is dropped.
    pub(crate) fn hears(&self) -> Hearing {
        Hearing(self.clone())
    }

    /// Pending command lines.
    pub(crate) fn take_said(&self) -> Vec<Said> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Lets the server finish its outstanding requests and stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
    }

    /// True if the server must stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(crate) fn wake(&self) {
        // The write fails only if the counter is full, and then the server is already awake.
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
    }

    /// File descriptor that is readable when the server is woken.
    pub(crate) fn wakes(&self) -> &OwnedFd {
        &self.wake
    }

    pub(crate) fn woken(&self) {
        let _ = rustix::io::read(&*self.wake, &mut [0u8; 8]);
    }
}
