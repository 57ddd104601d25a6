//! The live device: a device served to NBD clients.

use crate::cleaner::Raised;
use crate::errors::{InputError, detached, plain_error};
use crate::layers::{PyLayer, experiment};
use crate::run::hand_in;
use crate::visits::SIGNALS_INTERVAL;
use lab::{
    Live, LiveAddress, LiveControl, LiveDoor, LiveNvme, LiveSettings, LiveTarget, LiveTls, RunError,
};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A device served to NBD clients by its own threads.
#[pyclass(frozen)]
pub(crate) struct LiveDevice {
    /// The device, until it ends.
    live: Mutex<Option<Live>>,
    control: LiveControl,
    #[pyo3(get)]
    uri: Option<String>,
    #[pyo3(get)]
    nvme: Option<String>,
    #[pyo3(get)]
    file: Option<PathBuf>,
    #[pyo3(get)]
    size_bytes: u64,
    #[pyo3(get)]
    warnings: Vec<String>,
    events: Option<Arc<AtomicU64>>,
}

#[pymethods]
impl LiveDevice {
    /// Serves the device of the experiment of `layers`; returns once clients can connect. At most
    /// one of `socket`, `port` and `behind` is given; `behind` is a shared listener, with the
    /// device's name and description there. Ctrl-C ends the preparation.
    #[new]
    #[pyo3(signature = (layers, *, socket, port, host, allow_remote, size, backing, record,
                        record_data, time_scale, realtime, control=None, overhead=None,
                        read_only=false, mount=None, vhost_user=None, nvme=None,
                        namespaces=None, behind=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        py: Python<'_>,
        layers: Vec<PyLayer>,
        socket: Option<PathBuf>,
        port: Option<u16>,
        host: String,
        allow_remote: bool,
        size: Option<String>,
        backing: Option<PathBuf>,
        record: Option<String>,
        record_data: Option<PathBuf>,
        time_scale: f64,
        realtime: bool,
        control: Option<PathBuf>,
        overhead: Option<PathBuf>,
        read_only: bool,
        mount: Option<PathBuf>,
        vhost_user: Option<PathBuf>,
        nvme: Option<NvmePlace>,
        namespaces: Option<String>,
        behind: Option<(Py<LiveEntry>, String, String)>,
    ) -> PyResult<Self> {
        let nvme = nvme.map(|it| it.way(allow_remote)).transpose()?;
        let address = match behind {
            Some((door, name, description)) => Some(door.get().way_to(&name, &description)?),
            None if socket.is_none() && port.is_none() => None,
            None => Some(address(socket, port, host, allow_remote)?),
        };
        let settings = LiveSettings {
            address,
            mount,
            vhost_user,
            nvme,
            namespaces,
            size,
            backing,
            record,
            control,
            overhead,
            read_only,
            record_data,
            time_scale,
            realtime,
        };
        let live = detached(py, || {
            let experiment = experiment(layers).map_err(RunError::Input)?;
            let supplied =
                experiment.load_policy(|name| hand_in(name, None, &Raised::default()))?;
            Live::start(experiment, supplied, settings)
        })?;
        let live = live.map_err(plain_error)?;
        let (live, ready) = detached(py, || {
            loop {
                match live.ready(SIGNALS_INTERVAL) {
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
                            plain_error,
                        ));
                    }
                }
            }
        })??;
        Ok(LiveDevice {
            control: live.control(),
            live: Mutex::new(Some(live)),
            uri: ready.uri,
            nvme: ready.nvme,
            file: ready.file,
            size_bytes: ready.size_bytes,
            warnings: ready.warnings,
            events: ready.events,
        })
    }

    /// Requests, bytes, sum of latencies (ns), write amplification and share of late requests so
    /// far, or None if it has ended.
    fn status(&self) -> Option<(u64, u64, u64, Option<f64>, f64)> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let now = live.as_ref()?.status();
        Some((now.requests, now.bytes, now.latency_ns, now.write_amplification, now.late_share))
    }

    /// Sends a command line, as at the control socket, and returns the answer as a line of JSON;
    /// None if it has ended. Any thread may call this.
    fn say(&self, py: Python<'_>, line: &str) -> Option<String> {
        py.detach(|| self.control.say(line))
    }

    /// Number of events recorded with data, if recording is on.
    fn events(&self) -> Option<u64> {
        self.events.as_ref().map(|events| events.load(Ordering::Acquire))
    }

    /// Completes outstanding requests, stops, and returns the results as JSON text; None if it had
    /// already ended.
    fn stop(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(live) = live else { return Ok(None) };
        detached(py, || live.finish())?.map(Some).map_err(plain_error)
    }
}

/// Address of an NVMe/TCP target; or a shared target with the device's name there.
#[derive(FromPyObject)]
enum NvmePlace {
    At(String),
    Among(Py<LiveNamespaces>, String),
}

impl NvmePlace {
    fn way(self, allow_remote: bool) -> PyResult<LiveNvme> {
        match self {
            NvmePlace::At(uri) => Ok(LiveNvme::At(uri, allow_remote)),
            NvmePlace::Among(target, name) => target.get().way_to(&name),
        }
    }
}

/// An NVMe/TCP target with several devices as namespaces.
#[pyclass(frozen)]
pub struct LiveNamespaces {
    /// The target, until it ends.
    target: Mutex<Option<LiveTarget>>,
    #[pyo3(get)]
    warnings: Vec<String>,
}

#[pymethods]
impl LiveNamespaces {
    /// A target at an address, not open yet; `tls` as for a shared listener.
    #[new]
    #[pyo3(signature = (uri, allow_remote, tls=None))]
    fn new(uri: &str, allow_remote: bool, tls: Option<(PathBuf, bool, bool)>) -> PyResult<Self> {
        let target = LiveTarget::new(uri, allow_remote, read_tls(tls)?).map_err(plain_error)?;
        let warnings = target.warnings.clone();
        Ok(LiveNamespaces { target: Mutex::new(Some(target)), warnings })
    }

    /// Opens the target, and returns its URI.
    fn open(&self) -> PyResult<String> {
        let mut target = self.target.lock().unwrap_or_else(PoisonError::into_inner);
        match target.as_mut() {
            Some(target) => target.open().map_err(plain_error),
            None => Err(closed()),
        }
    }

    /// Ends all connections.
    fn close(&self, py: Python<'_>) {
        let target = self.target.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| target.map(|mut it| it.close()));
    }
}

impl LiveNamespaces {
    fn way_to(&self, name: &str) -> PyResult<LiveNvme> {
        let mut target = self.target.lock().unwrap_or_else(PoisonError::into_inner);
        target.as_mut().map(|it| it.way_to(name)).ok_or_else(closed)
    }
}

/// The certificate directory, True if clients must present one, and True if TLS is mandatory.
fn read_tls(tls: Option<(PathBuf, bool, bool)>) -> PyResult<Option<LiveTls>> {
    let read =
        tls.map(|(directory, verifies, required)| LiveTls::new(&directory, verifies, required));
    read.transpose().map_err(plain_error)
}

fn closed() -> PyErr {
    InputError::new_err("the target has been closed for good")
}

fn address(
    socket: Option<std::path::PathBuf>,
    port: Option<u16>,
    host: String,
    allow_remote: bool,
) -> PyResult<LiveAddress> {
    match (socket, port) {
        (Some(path), None) => Ok(LiveAddress::Socket(path)),
        (None, Some(port)) => Ok(LiveAddress::Port { port, host, allow_remote }),
        _ => Err(InputError::new_err("either a socket or a port is needed")),
    }
}

/// A listener shared by several devices.
#[pyclass(frozen)]
pub(crate) struct LiveEntry {
    /// The listener, until it ends.
    door: Mutex<Option<LiveDoor>>,
    #[pyo3(get)]
    warnings: Vec<String>,
}

#[pymethods]
impl LiveEntry {
    /// A listener at a socket or port, not open yet. `tls` holds the certificate directory, True if
    /// clients must present a certificate, and True if TLS is mandatory.
    #[new]
    #[pyo3(signature = (*, socket, port, host, allow_remote, tls))]
    fn new(
        socket: Option<std::path::PathBuf>,
        port: Option<u16>,
        host: String,
        allow_remote: bool,
        tls: Option<(std::path::PathBuf, bool, bool)>,
    ) -> PyResult<Self> {
        let tls = read_tls(tls)?;
        let address = address(socket, port, host, allow_remote)?;
        let door = LiveDoor::new(&address, tls).map_err(plain_error)?;
        let warnings = door.warnings.clone();
        Ok(LiveEntry { door: Mutex::new(Some(door)), warnings })
    }

    /// Opens the listener, and returns the URI of each device.
    fn open(&self) -> PyResult<Vec<String>> {
        self.at(|door| door.open().map_err(plain_error)).unwrap_or(Ok(Vec::new()))
    }

    /// Accepts no more clients.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.at(LiveDoor::close));
    }

    /// Ends the listener, once all devices have ended.
    fn finish(&self, py: Python<'_>) {
        let door = self.door.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| door.map(LiveDoor::finish));
    }
}

impl LiveEntry {
    fn at<T>(&self, what: impl FnOnce(&mut LiveDoor) -> T) -> Option<T> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(what)
    }

    fn way_to(&self, name: &str, description: &str) -> PyResult<LiveAddress> {
        let way = self.at(|door| door.way_to(name, description).map_err(plain_error));
        way.unwrap_or_else(|| Err(InputError::new_err("the door has been closed for good")))
    }
}
