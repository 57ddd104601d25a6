//! A run in a view: it pauses and continues as the viewer orders.
//!
//! It is the run of [`run_with`](crate::run_with) in a separate thread, with its device behind a
//! [gate](gate): before time advances past the next frame, the gate reads the state of the blocks
//! (`Model::blocks`), emits a frame, and waits for the next command. So the view shows the actual
//! run, with equal results, and runs without a view have no overhead. A frame is a JSON header and
//! the changed cells (`frames.rs`, `cells.rs`); the page keeps earlier values, so it can go back in
//! time.

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

/// A run in progress that waits for orders.
pub struct View {
    /// The channel of orders, open until the end.
    orders: Option<Sender<Order>>,
    answers: Receiver<Vec<u8>>,
    progress: Arc<Mutex<Option<Progress>>>,
    is_stopped: Arc<AtomicBool>,
    thread: JoinHandle<Result<String, RunError>>,
}

impl View {
    /// Starts preparing the device; the first frame follows when it is ready.
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

    /// Orders frames at intervals of simulated time; fewer if the run ends earlier.
    pub fn advance(&self, step: Time, frames: u32) {
        self.order(Order::Advance { step: step.max(1), frames: frames.max(1) });
    }

    /// Orders a single frame: when the next request of at least `limit` completes, or after
    /// `requests` faster ones.
    pub fn seek_slow(&self, limit: Time, requests: u64) {
        self.order(Order::Slow { limit, requests });
    }

    fn order(&self, order: Order) {
        // A finished run accepts no orders; its last frame states the end.
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }

    /// Frames of the last order, or the first one; `None` if that takes longer than `timeout`.
    ///
    /// # Errors
    /// When the run has ended and all its frames were returned.
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
    /// See [`run`](crate::run).
    pub fn finish(mut self) -> Result<String, RunError> {
        self.orders = None;
        self.join()
    }

    /// Stops the run.
    pub fn stop(mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.orders = None;
        // The result of a stopped run is discarded.
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
