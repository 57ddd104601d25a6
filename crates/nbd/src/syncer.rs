//! Makes a backing file durable, on a thread of its own: this takes as long as the disk below takes.

use crate::control::Control;
use crate::error::{Error, reason};
use crate::protocol::Refusal;
use crate::store::{Store, refusal};
use std::fs::File;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A thread that answers tickets once what was written before them is durable.
pub(crate) struct Syncer {
    tickets: Option<Sender<u32>>,
    done: Receiver<(u32, Result<(), Refusal>)>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    /// The syncer of a store, if it has a file.
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

    /// Asks for all that has been written so far to be durable.
    pub(crate) fn ask(&self, ticket: u32) {
        if let Some(tickets) = &self.tickets {
            // The thread ends only with this.
            let _ = tickets.send(ticket);
        }
    }

    /// A ticket that is done, and how it went.
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
    incoming: &Receiver<u32>,
    outgoing: &Sender<(u32, Result<(), Refusal>)>,
    control: &Control,
) {
    while let Ok(first) = incoming.recv() {
        // One sync is enough for all who wait.
        let tickets: Vec<u32> = std::iter::once(first).chain(incoming.try_iter()).collect();
        let outcome = file.sync_data().map_err(|error| refusal(&error));
        for ticket in tickets {
            let _ = outgoing.send((ticket, outcome));
        }
        control.wake();
    }
}
