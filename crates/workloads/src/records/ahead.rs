//! Reads a trace ahead on a separate thread while earlier batches are used.
//!
//! The thread only decompresses and parses. Requests, their order and errors depend on the file
//! alone, so results do not depend on the thread. A few batches circulate between both sides, which
//! bounds memory and the distance read ahead. Dropping this value ends the thread and waits for it.

use super::producer::Producer;
use crate::read::batch::Batch;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Batches in circulation: one in use, one being filled, and two to absorb delays.
const BATCHES: usize = 4;

/// Source of batches.
pub(super) enum Feeder {
    /// The current thread, on demand.
    Here(Producer),
    /// A separate thread.
    Ahead(Ahead),
}

impl Feeder {
    /// Reads ahead of `producer` if `may` is true and a thread can start.
    pub(super) fn new(producer: Producer, may: bool) -> Feeder {
        match may.then(Ahead::new) {
            Some(Ok(ahead)) => ahead.begin(producer),
            _ => Feeder::Here(producer),
        }
    }

    /// Replaces a used batch, which was not the last, by the next one.
    pub(super) fn next(&mut self, batch: &mut Batch) {
        match self {
            Feeder::Here(producer) => producer.fill(batch),
            Feeder::Ahead(ahead) => ahead.next(batch),
        }
    }
}

/// The reading thread and its channels.
pub(super) struct Ahead {
    /// Batches to fill; `None` while this value is dropped.
    used: Option<SyncSender<Batch>>,
    filled: Option<Receiver<Batch>>,
    begin: Option<SyncSender<Producer>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Starts a thread that waits for a trace.
    fn new() -> std::io::Result<Ahead> {
        let (begin, begun) = sync_channel::<Producer>(1);
        let (used, to_fill) = sync_channel::<Batch>(BATCHES);
        let (full, filled) = sync_channel::<Batch>(BATCHES);
        let run = move || {
            let Ok(mut producer) = begun.recv() else { return };
            for mut batch in to_fill {
                producer.fill(&mut batch);
                let is_last = batch.end.is_some();
                if full.send(batch).is_err() || is_last {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("ssdlab-trace".to_owned()).spawn(run)?;
        let (used, filled) = (Some(used), Some(filled));
        Ok(Ahead { used, filled, begin: Some(begin), thread: Some(thread) })
    }

    /// Starts reading a trace.
    fn begin(mut self, producer: Producer) -> Feeder {
        let Some(begin) = self.begin.take() else { return Feeder::Here(producer) };
        if let Err(back) = begin.send(producer) {
            return Feeder::Here(back.0);
        }
        // The last batch is supplied by the first call of `next`.
        for _ in 1..BATCHES {
            self.give_back(Batch::default());
        }
        Feeder::Ahead(self)
    }

    fn give_back(&self, batch: Batch) {
        // No batches are filled after the last one.
        if let Some(used) = &self.used {
            let _ = used.send(batch);
        }
    }

    fn next(&mut self, batch: &mut Batch) {
        self.give_back(std::mem::take(batch));
        if let Some(Ok(filled)) = self.filled.as_ref().map(Receiver::recv) {
            *batch = filled;
            return;
        }
        // A thread that ends without a last batch has panicked; the panic is propagated.
        self.stop();
        unreachable!("the thread that reads the trace ended early");
    }

    /// Ends the thread and joins it; it completes at most its current batch.
    fn stop(&mut self) {
        self.begin = None;
        self.used = None;
        self.filled = None;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.stop();
    }
}
