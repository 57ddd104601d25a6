//! Settings of a live device, and its properties while served.

use crate::error::RunError;
use engine::Completion;
use nbd::{Address, Arrivals, Export, Namespace};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

/// The address of a live device.
#[derive(Debug)]
pub enum LiveAddress {
    /// A Unix socket with this path.
    Socket(PathBuf),
    /// A TCP port on an address of this machine; 0 selects a free one.
    Port {
        /// Port number.
        port: u16,
        /// The address as text.
        host: String,
        /// True to accept other machines: NBD has no authentication.
        allow_remote: bool,
    },
    /// Behind a shared listener.
    Shared(Behind),
}

/// Connection of a device to a shared listener.
#[derive(Debug)]
pub struct Behind {
    pub(super) arrivals: Arrivals,
    pub(super) is_tcp: bool,
    /// The export, once ready.
    pub(super) export: Arc<OnceLock<Export>>,
    /// The address for clients, once the listener is open.
    pub(super) uri: Arc<OnceLock<String>>,
}

/// A target of NVMe/TCP.
#[derive(Debug)]
pub enum LiveNvme {
    /// Its own target, at an address such as `tcp://127.0.0.1:4420` or `unix:///tmp/nvme`; true if
    /// other machines may connect.
    At(String, bool),
    /// Shared with other devices.
    Shared(Arc<Among>),
}

/// A device among the namespaces of a shared target.
#[derive(Debug)]
pub struct Among {
    /// The name of the device.
    pub name: String,
    /// Address of the target.
    pub address: Address,
    /// Namespaces of the device, once ready.
    pub namespaces: Mutex<Vec<Namespace>>,
    /// The address for hosts, once the target is open.
    pub uri: OnceLock<String>,
}

/// Settings of a served device.
#[derive(Debug)]
pub struct LiveSettings {
    /// Address for NBD clients, if served over NBD.
    pub address: Option<LiveAddress>,
    /// Mount directory of the file.
    pub mount: Option<PathBuf>,
    /// Socket for a hypervisor that uses the device as its guest's disk.
    pub vhost_user: Option<PathBuf>,
    /// Address for NVMe/TCP hosts.
    pub nvme: Option<LiveNvme>,
    /// Namespaces, such as "50%, 1GiB thin 100MiB, 1GiB lba 4KiB"; by default one that spans the
    /// device.
    pub namespaces: Option<String>,
    /// The exported size, such as "1GiB"; otherwise the size of the backing file or device.
    pub size: Option<String>,
    /// The file that holds the data; in memory by default.
    pub backing: Option<PathBuf>,
    /// Recorded trace, in the format of its extension.
    pub record: Option<String>,
    /// Control socket.
    pub control: Option<PathBuf>,
    /// The file with the transport latency; by default the server measures it.
    pub overhead: Option<PathBuf>,
    /// True for a read-only device.
    pub read_only: bool,
    /// File for recorded changes with their data.
    pub record_data: Option<PathBuf>,
    /// Time dilation: seconds of wall clock per second of device time.
    pub time_scale: f64,
    /// True for real-time priority.
    pub realtime: bool,
}

/// State once clients can connect.
#[derive(Debug, Clone)]
pub struct Ready {
    /// The address for NBD clients; `None` while a shared listener is not open.
    pub uri: Option<String>,
    /// The address for NVMe/TCP hosts; `None` while a shared target is not open.
    pub nvme: Option<String>,
    /// The file that exposes the device.
    pub file: Option<PathBuf>,
    /// Size.
    pub size_bytes: u64,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Number of events recorded with data; it increases while the device is served.
    pub events: Option<Arc<AtomicU64>>,
}

/// Events since the start of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LiveStatus {
    /// Completed requests.
    pub requests: u64,
    /// Bytes read, written and trimmed.
    pub bytes: u64,
    /// Sum of model latencies, ns.
    pub latency_ns: u64,
    /// Write amplification so far, if the drive has one.
    pub write_amplification: Option<f64>,
    /// Share of late requests, updated about once per second.
    pub late_share: f64,
}

impl LiveStatus {
    /// Counts a completed request.
    pub(super) fn count(&mut self, completion: &Completion) {
        self.requests += 1;
        self.bytes += completion.request.bytes();
        self.latency_ns += completion.latency();
    }

    /// Updates the figures that are expensive to compute.
    pub(super) fn renew(&mut self, late_share: f64, write_amplification: Option<f64>) {
        (self.late_share, self.write_amplification) = (late_share, write_amplification);
    }
}

pub(super) fn system(error: &io::Error) -> RunError {
    RunError::System(error.to_string())
}

pub(super) fn from_nbd(error: nbd::Error) -> RunError {
    match error {
        nbd::Error::Input(problem) => RunError::Input(problem),
        nbd::Error::System(problem) => RunError::System(problem),
    }
}
