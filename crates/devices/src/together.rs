//! Work shared by several threads, untimed and timed.
//!
//! A device starts no thread. It offers its independent parts, as jobs or as sides, and the owner of the
//! threads runs them in parallel; the state afterwards is bit-identical to that of one thread.

use engine::{Completion, Followed, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A piece of work that depends on no other of its list.
pub type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Has jobs done, in any order or at a time, and returns when all are.
pub type Run<'a> = dyn FnMut(Vec<Job<'_>>) + 'a;

/// Pages to overwrite, in order.
pub trait Writes: Sync {
    /// Tells them a batch at a time, the same whenever it is asked: each job asks for itself and picks
    /// its own.
    fn each(&self, batch: &mut dyn FnMut(&[u64]));
}

/// A part of a device that runs independently for a stretch of time.
pub trait Side: Send {
    /// Does what it was given to do.
    fn go(&mut self);
}

/// A side, for its thread and for the device that it belongs to; never for both at a time.
pub type SharedSide = Arc<Mutex<dyn Side>>;

/// Takes a side for as long as the guard lives.
pub fn take<S: ?Sized>(side: &Mutex<S>) -> MutexGuard<'_, S> {
    // A side whose thread has panicked ends the run anyway.
    side.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sides of a device.
pub struct Sides {
    /// Each for a thread of its own; the first, which may be idle, for the one that drives the device.
    pub sides: Vec<SharedSide>,
    /// Before then nothing happens that all of them would have to know at once.
    pub until: Time,
}

/// How far the sides go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// Up to an instant, and including it.
    To(Time),
    /// Until everything that they were asked is answered, each for itself, but not to this instant.
    Answered(Time),
}

/// Events of the sides, in the order of an unsplit device.
#[derive(Debug, Clone, Copy)]
pub enum Told<'a> {
    /// The next request was submitted.
    Asked(Time),
    /// A request was answered.
    Answered(&'a Completion),
    /// The next instant was reached at which figures were wanted: what they were before it, and when
    /// something happened next, submissions aside.
    Looked(Option<Followed>, Option<Time>),
}

/// Blocks that last less than this are not worth the division of a device.
pub(crate) const SOUND_NS: Time = 1_000_000_000;
