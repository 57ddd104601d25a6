//! What Python asks about placement: a trace that is read once, and studied.

use std::ops::ControlFlow;

use lab::{PlacementLoad, TraceError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors::{InputError, detached};
use crate::traces::watched;
use crate::visits::Visits;

/// The writes of a trace.
#[pyclass(frozen, module = "ssdlab._core")]
pub(crate) struct PlacementTrace {
    load: PlacementLoad,
}

#[pymethods]
impl PlacementTrace {
    /// Reads the trace `path`; `options` and `progress` as for `trace_info`.
    #[new]
    #[pyo3(signature = (path, options, progress = None))]
    fn new(
        py: Python<'_>,
        path: &str,
        options: &str,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<PlacementTrace> {
        let load = watched(py, progress, |watch| PlacementLoad::read(path, options, watch))?;
        Ok(PlacementTrace { load })
    }

    /// What it holds, as JSON text.
    fn facts(&self) -> String {
        self.load.facts()
    }

    /// How many writes and trims there are.
    fn __len__(&self) -> usize {
        self.load.count()
    }

    /// The byte offset, the bytes (negative of a trim), the device and FUA of at most `most` from `start` on.
    fn requests(&self, start: usize, most: usize) -> Vec<(u64, i64, u32, bool)> {
        self.load.requests(start, most)
    }

    /// Of each the bytes written until its pages are written again, -1 where they never are.
    fn next_overwrites(&self, py: Python<'_>) -> PyResult<Vec<i64>> {
        detached(py, || self.load.next_overwrites())
    }

    /// Tries policies, as JSON text; `settings` is JSON text, `own` has the handle of each write or trim for the
    /// policy "own". `progress(requests)` is called about ten times a second; it and Ctrl-C end this.
    #[pyo3(signature = (settings, own = None, progress = None))]
    fn study(
        &self,
        py: Python<'_>,
        settings: &str,
        own: Option<&[u8]>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let progress = progress.map(Bound::unbind);
        let mut raised = None;
        let outcome = detached(py, || {
            let mut visits = Visits::new();
            self.load.study(settings, own, &mut |requests| {
                let visit = visits.visit(|py| {
                    if let Some(progress) = &progress {
                        progress.call1(py, (requests,))?;
                    }
                    Ok(())
                });
                visit.map_or_else(
                    |error| {
                        raised = Some(error);
                        ControlFlow::Break(())
                    },
                    ControlFlow::Continue,
                )
            })
        })?;
        outcome.map_err(|error| match error {
            TraceError::Interrupted { .. } => {
                raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
            }
            TraceError::Input(message) | TraceError::Output(message) => {
                InputError::new_err(message)
            }
        })
    }
}
