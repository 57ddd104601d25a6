//! A run in a view: it pauses where the viewer wants, and continues from there.
//!
//! It is the run of [`run_with`](crate::run_with), on a thread of its own, whose device stands behind a
//! [gate](gate): before time advances past the next frame, the gate reads the state of the blocks
//! (`Examine::blocks`), emits a frame, and waits for the next command. So the view shows the run itself, with the
//! same results, and runs without a view pay nothing. A frame is a JSON header and the cells that changed
//! (`frames.rs`, `cells.rs`); the page keeps the old values, and so can go back in time.

mod cells;
mod frames;
mod gate;

pub(crate) use gate::{Gate, Gated};

use crate::config::Experiment;
use crate::error::RunError;
use crate::session::{Progress, RunSettings, run_gated};
use devices::Supplied;
use engine::Time;
use gate::Order;
use options::Invalid;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A run under way that waits for orders.
pub struct View {
    /// The channel of orders until the end.
    orders: Option<Sender<Order>>,
    answers: Receiver<Vec<u8>>,
    progress: Arc<Mutex<Option<Progress>>>,
    is_stopped: Arc<AtomicBool>,
    thread: JoinHandle<Result<String, RunError>>,
}

impl View {
    /// Begins to prepare the device; its first frame comes when that is done.
    ///
    /// # Errors
    /// When the experiment has nothing to show, or no thread can be started.
    pub fn start(experiment: Experiment, supplied: Supplied) -> Result<View, RunError> {
        if !experiment.run.timed {
            let problem = "false is an untimed run, which cannot be viewed".to_owned();
            return Err(experiment.blame(&Invalid::new(&["run.timed"], problem)).into());
        }
        let (orders, its_orders) = channel();
        let (its_answers, answers) = channel();
        let progress = Arc::new(Mutex::new(None));
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (told, stopped) = (Arc::clone(&progress), Arc::clone(&is_stopped));
        let thread = std::thread::Builder::new().name("view".to_owned()).spawn(move || {
            let gate = Gate::new(its_orders, its_answers);
            let settings = RunSettings::default();
            run_gated(&experiment, &supplied, &settings, Some(gate), &mut |now| {
                *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(*now);
                if stopped.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
        });
        let thread = thread.map_err(|error| RunError::System(error.to_string()))?;
        Ok(View { orders: Some(orders), answers, progress, is_stopped, thread })
    }

    /// Progress.
    pub fn progress(&self) -> Option<Progress> {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frames at intervals of simulated time; fewer when the run ends before.
    pub fn advance(&self, step: Time, frames: u32) {
        self.order(Order::Advance { step: step.max(1), frames: frames.max(1) });
    }

    /// Requests a single frame: when the next request of at least `limit` completes, or after
    /// `requests` faster ones.
    pub fn seek_slow(&self, limit: Time, requests: u64) {
        self.order(Order::Slow { limit, requests });
    }

    fn order(&self, order: Order) {
        // A finished run accepts no commands; the answer says that it is over.
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }

    /// Frames of the last order, or the first one; `None` if that takes longer than `timeout`.
    ///
    /// # Errors
    /// When the run is over, and all its frames were taken.
    pub fn frames(&self, timeout: Duration) -> Result<Option<Vec<u8>>, RecvTimeoutError> {
        match self.answers.recv_timeout(timeout) {
            Ok(frames) => Ok(Some(frames)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(over) => Err(over),
        }
    }

    /// Continues to the end without more frames, and returns the results as JSON text.
    ///
    /// # Errors
    /// As for a run.
    pub fn finish(mut self) -> Result<String, RunError> {
        self.orders = None;
        self.join()
    }

    /// Stops the run.
    pub fn stop(mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.orders = None;
        // The result of a stopped run does not matter.
        let _ = self.join();
    }

    fn join(self) -> Result<String, RunError> {
        let View { thread, answers, .. } = self;
        drop(answers);
        match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
