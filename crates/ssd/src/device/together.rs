//! Preparation that several threads share.
//!
//! A device starts no thread. It offers its independent parts as jobs, and the owner of the threads
//! runs them in parallel; the owner of the threads runs the jobs in parallel; the resulting state
//! is bit-identical to that of one thread.

/// A job independent of the others in its list.
pub type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Has jobs done, in any order or at a time, and returns when all are.
pub type Run<'a> = dyn FnMut(Vec<Job<'_>>) + 'a;

/// Pages to overwrite, in order.
pub trait Writes: Sync {
    /// Passes them in batches, identical on each call: each job asks for itself and picks its own.
    fn each(&self, batch: &mut dyn FnMut(&[u64]));
}
