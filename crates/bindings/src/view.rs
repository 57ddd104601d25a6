//! A run that pauses on request and shows its device.

use crate::cleaner::Raised;
use crate::errors::plain_error;
use crate::layers::{PyLayer, experiment};
use crate::run::hand_in;
use lab::RunError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A run on its own thread, which waits for requests of frames.
#[pyclass(frozen)]
pub(crate) struct ViewedRun {
    /// The view, until it ends.
    view: Mutex<Option<lab::View>>,
}

impl ViewedRun {
    fn lock(&self) -> MutexGuard<'_, Option<lab::View>> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ViewedRun {
    /// Starts preparing the device of the experiment of `layers`.
    #[new]
    fn new(py: Python<'_>, layers: Vec<PyLayer>) -> PyResult<Self> {
        let view = py.detach(|| {
            let experiment = experiment(layers).map_err(RunError::Input)?;
            let supplied =
                experiment.load_policy(|name| hand_in(name, None, &Raised::default()))?;
            lab::View::start(experiment, supplied)
        });
        Ok(ViewedRun { view: Mutex::new(Some(view.map_err(plain_error)?)) })
    }

    /// Progress: phase, done, expected, simulated time; None before the first report.
    fn progress(&self) -> Option<(&'static str, u64, Option<u64>, u64)> {
        let now = self.lock().as_ref()?.progress()?;
        Some((now.phase, now.done, now.expected, now.simulated_ns))
    }

    /// Requests frames at intervals of simulated time.
    fn advance(&self, step_ns: u64, frames: u32) {
        if let Some(view) = &*self.lock() {
            view.advance(step_ns, frames);
        }
    }

    /// Requests one frame: when the next request of at least `limit_ns` completes, or after
    /// `requests` faster ones.
    fn seek_slow(&self, limit_ns: u64, requests: u64) {
        if let Some(view) = &*self.lock() {
            view.seek_slow(limit_ns, requests);
        }
    }

    /// The requested frames, or the first frame; None on timeout. Empty once the run is over.
    fn frames<'py>(&self, py: Python<'py>, timeout_seconds: f64) -> Option<Bound<'py, PyBytes>> {
        let timeout = Duration::from_secs_f64(timeout_seconds.clamp(0.0, 60.0));
        let frames = py.detach(|| match &*self.lock() {
            Some(view) => view.frames(timeout).unwrap_or(Some(Vec::new())),
            None => Some(Vec::new()),
        });
        frames.map(|frames| PyBytes::new(py, &frames))
    }

    /// Runs to the end without further frames. Returns the results as JSON text, or None if the run
    /// had already ended.
    fn finish(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let view = py.detach(|| self.lock().take());
        let Some(view) = view else { return Ok(None) };
        py.detach(|| view.finish()).map(Some).map_err(plain_error)
    }

    /// Stops the run.
    fn stop(&self, py: Python<'_>) {
        let view = py.detach(|| self.lock().take());
        if let Some(view) = view {
            py.detach(|| view.stop());
        }
    }
}
