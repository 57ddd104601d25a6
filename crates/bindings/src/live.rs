//! The live device: a device that is served to clients of NBD.

use crate::cleaner::Raised;
use crate::errors::{CheckError, InputError, PolicyError};
use crate::layers::{PyLayer, experiment};
use crate::run::hand_in;
use crate::visits::VISIT_INTERVAL;
use lab::{Live, LiveAddress, LiveSettings, RunError};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A device that is served to clients of NBD by threads of its own.
#[pyclass(frozen)]
pub(crate) struct LiveDevice {
    /// Until it has ended.
    live: Mutex<Option<Live>>,
    #[pyo3(get)]
    uri: String,
    #[pyo3(get)]
    size_bytes: u64,
    #[pyo3(get)]
    warnings: Vec<String>,
    events: Option<Arc<AtomicU64>>,
}

#[pymethods]
impl LiveDevice {
    /// Serves the device of the experiment made of `layers`, and returns once clients can come.
    /// Exactly one of `socket` and `port` is given. Ctrl-C ends the preparations.
    #[new]
    #[pyo3(signature = (layers, *, socket, port, host, allow_remote, size, backing, record,
                        record_data, time_scale, realtime, control=None, floor=None,
                        read_only=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        py: Python<'_>,
        layers: Vec<PyLayer>,
        socket: Option<std::path::PathBuf>,
        port: Option<u16>,
        host: String,
        allow_remote: bool,
        size: Option<String>,
        backing: Option<std::path::PathBuf>,
        record: Option<String>,
        record_data: Option<std::path::PathBuf>,
        time_scale: f64,
        realtime: bool,
        control: Option<std::path::PathBuf>,
        floor: Option<std::path::PathBuf>,
        read_only: bool,
    ) -> PyResult<Self> {
        let address = match (socket, port) {
            (Some(path), None) => LiveAddress::Socket(path),
            (None, Some(port)) => LiveAddress::Port { port, host, allow_remote },
            _ => return Err(InputError::new_err("either a socket or a port is needed")),
        };
        let settings = LiveSettings {
            address,
            size,
            backing,
            record,
            control,
            floor,
            read_only,
            record_data,
            time_scale,
            realtime,
        };
        let live = py.detach(|| {
            let experiment = experiment(layers).map_err(RunError::Input)?;
            let supplied =
                experiment.load_policy(|name| hand_in(name, None, &Raised::default()))?;
            Live::start(experiment, supplied, settings)
        });
        let live = live.map_err(live_error)?;
        let (live, ready) = py.detach(|| {
            loop {
                match live.ready(VISIT_INTERVAL) {
                    Ok(Some(ready)) => return Ok((live, ready)),
                    Ok(None) => {
                        if let Some(raised) = Python::attach(|py| py.check_signals().err()) {
                            let _ = live.finish();
                            return Err(raised);
                        }
                    }
                    Err(_) => {
                        return Err(live.finish().err().map_or_else(
                            || PyOSError::new_err("the server ended at once"),
                            live_error,
                        ));
                    }
                }
            }
        })?;
        Ok(LiveDevice {
            live: Mutex::new(Some(live)),
            uri: ready.uri,
            size_bytes: ready.size_bytes,
            warnings: ready.warnings,
            events: ready.events,
        })
    }

    /// Requests, bytes, sum of latencies (ns), write amplification and share of late requests
    /// so far, or None when it has ended.
    fn status(&self) -> Option<(u64, u64, u64, Option<f64>, f64)> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let now = live.as_ref()?.status();
        Some((now.requests, now.bytes, now.latency_ns, now.write_amplification, now.late_share))
    }

    /// How many events were recorded with their data so far, if they are.
    fn events(&self) -> Option<u64> {
        self.events.as_ref().map(|events| events.load(Ordering::Acquire))
    }

    /// Answers what was asked, ends, and returns the results as JSON text; None when it has
    /// ended before.
    fn stop(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(live) = live else { return Ok(None) };
        py.detach(|| live.finish()).map(Some).map_err(live_error)
    }
}

pub(crate) fn live_error(error: RunError) -> PyErr {
    match error {
        RunError::Input(message) => InputError::new_err(message),
        RunError::Check(message) => CheckError::new_err(message),
        RunError::Policy { problem, .. } => PolicyError::new_err(problem),
        RunError::Output(message) | RunError::System(message) => PyOSError::new_err(message),
        RunError::Interrupted { .. } => PyKeyboardInterrupt::new_err(()),
    }
}
