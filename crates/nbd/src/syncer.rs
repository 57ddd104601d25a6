//! Slow operations on a backing file in a separate thread: syncs and long holes.

use crate::control::Control;
use crate::error::{Error, reason};
use crate::protocol::Refusal;
use crate::store::{self, Store, refusal};
use std::fs::File;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A range to zero; true keeps it allocated.
pub(crate) type Hole = (u64, u32, bool);

/// A job: first the hole, then the sync.
struct Job {
    ticket: u32,
    hole: Option<Hole>,
    sync: bool,
}

/// A thread that completes each ticket once all data written before it are durable.
pub(crate) struct Syncer {
    tickets: Option<Sender<Job>>,
    done: Receiver<(u32, Result<(), Refusal>)>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    /// The syncer of a file store.
    pub(crate) fn of(store: &Store, control: &Control) -> Result<Option<Self>, Error> {
        let system = |error: std::io::Error| Error::System(reason(&error));
        let Some(file) = store.handle().map_err(system)? else { return Ok(None) };
        let (tickets, incoming) = channel();
        let (outgoing, done) = channel();
        let control = control.clone();
        let thread = std::thread::Builder::new().name("sync".to_owned());
        let thread = thread.spawn(move || work(&file, &incoming, &outgoing, &control));
        Ok(Some(Syncer { tickets: Some(tickets), done, thread: Some(thread.map_err(system)?) }))
    }

    /// Submits a job: zeroes the hole, if any; then `sync` syncs all data written so far.
    pub(crate) fn ask(&self, ticket: u32, hole: Option<Hole>, sync: bool) {
        if let Some(tickets) = &self.tickets {
            // The thread ends only when this is dropped.
            let _ = tickets.send(Job { ticket, hole, sync });
        }
    }

    /// A finished ticket with its result.
    pub(crate) fn done(&self) -> Option<(u32, Result<(), Refusal>)> {
        self.done.try_recv().ok()
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.tickets = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(
    file: &File,
    incoming: &Receiver<Job>,
    outgoing: &Sender<(u32, Result<(), Refusal>)>,
    control: &Control,
) {
    // The system reports a failed write-back once and may drop the data, so that no later sync
    // covers them.
    let mut failed = None;
    while let Ok(first) = incoming.recv() {
        let mut jobs: Vec<Job> = std::iter::once(first).chain(incoming.try_iter()).collect();
        // Jobs without a sync finish before it.
        jobs.retain(|job| {
            let Some((offset, length, keep)) = job.hole else { return true };
            let outcome = store::zero_file(file, offset, length, keep);
            if outcome.is_ok() && job.sync {
                return true;
            }
            let _ = outgoing.send((job.ticket, outcome));
            control.wake();
            false
        });
        if jobs.is_empty() {
            continue;
        }
        // One sync completes all waiting tickets.
        let outcome = match failed {
            Some(refused) => Err(refused),
            None => file.sync_data().map_err(|error| refusal(&error)),
        };
        failed = outcome.err();
        for job in jobs {
            let _ = outgoing.send((job.ticket, outcome));
        }
        control.wake();
    }
}
