//! Reads a trace ahead on a thread of its own, while what was read before is used.
//!
//! The thread decompresses and parses, and nothing else: which requests there are, in which order and
//! with which errors, is decided by the file alone, so that results do not depend on the thread. A few
//! batches go round between both sides, which bounds memory and how far is read
//! ahead. Dropping this ends the thread and waits for it.

use super::producer::Producer;
use crate::read::batch::Batch;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Batches that go round: one in use, one being filled, and two for when either side is slow.
const BATCHES: usize = 4;

/// Source of batches.
pub(super) enum Feeder {
    /// This thread, on demand.
    Here(Producer),
    /// From another.
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

    /// Puts the next batch in the place of one that was used, which was not the last.
    pub(super) fn next(&mut self, batch: &mut Batch) {
        match self {
            Feeder::Here(producer) => producer.fill(batch),
            Feeder::Ahead(ahead) => ahead.next(batch),
        }
    }
}

/// The thread, and the way to and fro.
pub(super) struct Ahead {
    /// Batches to fill; none any more from the moment this is dropped.
    used: Option<SyncSender<Batch>>,
    filled: Option<Receiver<Batch>>,
    begin: Option<SyncSender<Producer>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// A thread that waits for a trace to read.
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
        // The first batch handed in is the last one.
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

    /// Ends and joins the thread: at most for what it is reading.
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
