//! Trace functions for Python, without a device.

use std::ops::ControlFlow;

use lab::{TraceError, TraceProgress};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;

use crate::errors::{InputError, detached};
use crate::visits::Visits;

/// Statistics of the trace at `path`, as JSON text; `options` is a JSON object of keys for reading
/// it. `progress(requests, bytes, expected_bytes)` is called about ten times a second; its
/// exceptions and Ctrl-C end the call.
#[pyfunction]
#[pyo3(signature = (path, options, progress = None))]
pub(crate) fn trace_info(
    py: Python<'_>,
    path: &str,
    options: &str,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    watched(py, progress, |watch| lab::trace_info(path, options, watch))
}

/// Mean service times of the trace at `path` by pattern, size and outstanding requests, as JSON
/// text; `options` and `progress` as for `trace_info`.
#[pyfunction]
#[pyo3(signature = (path, options, progress = None))]
pub(crate) fn trace_services(
    py: Python<'_>,
    path: &str,
    options: &str,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    watched(py, progress, |watch| lab::trace_services(path, options, watch))
}

/// Latencies of the requests in the trace at `path`, us; `options` and `progress` as for
/// `trace_info`.
#[pyfunction]
#[pyo3(signature = (path, options, progress = None))]
pub(crate) fn trace_response_times(
    py: Python<'_>,
    path: &str,
    options: &str,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<f64>> {
    watched(py, progress, |watch| lab::trace_response_times(path, options, watch))
}

/// Content of the file at `path`, decompressed if needed.
#[pyfunction]
pub(crate) fn read_decompressed(py: Python<'_>, path: &str) -> PyResult<Vec<u8>> {
    let content = detached(py, || lab::read_decompressed(path))?;
    content.map_err(|error| InputError::new_err(error.to_string()))
}

/// The kind of file with this `beginning`, with the command that takes it; none if unknown.
#[pyfunction]
pub(crate) fn known_as(beginning: &[u8]) -> Option<String> {
    lab::known_as(beginning)
}

/// The first `count` requests of the trace at `path`, each with its source line, as JSON text.
#[pyfunction]
pub(crate) fn trace_head(
    py: Python<'_>,
    path: &str,
    options: &str,
    count: u64,
) -> PyResult<String> {
    watched(py, None, |watch| lab::trace_head(path, options, count, watch))
}

/// Converts the trace `source` to `target`, in `format` or the format of its extension. Returns the
/// number of requests, and the losses, as JSON text. `progress` as for `trace_info`.
#[pyfunction]
#[pyo3(signature = (source, target, format, options, progress = None))]
pub(crate) fn trace_convert(
    py: Python<'_>,
    source: &str,
    target: &str,
    format: Option<&str>,
    options: &str,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    watched(py, progress, |watch| lab::trace_convert(source, target, format, options, watch))
}

/// Processes a trace without the interpreter's lock, and calls Python periodically.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(lab::Watch<'_>) -> Result<T, TraceError> + Send,
) -> PyResult<T> {
    let progress = progress.map(Bound::unbind);
    let mut raised = None;
    let outcome = detached(py, || {
        let mut visits = Visits::new();
        work(&mut |now: &TraceProgress| {
            let visit = visits.visit(|py| {
                if let Some(progress) = &progress {
                    progress.call1(py, (now.requests, now.bytes, now.expected_bytes))?;
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
        TraceError::Input(message) => InputError::new_err(message),
        TraceError::Output(message) => PyOSError::new_err(message),
        TraceError::Interrupted { .. } => {
            raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
        }
    })
}
