//! What is said of a live device before it is served, and what is known of it then.

use crate::error::RunError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Where a live device is to be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveAddress {
    /// A Unix socket with this path.
    Socket(PathBuf),
    /// A TCP port, 0 being any that is free, of an address of this machine.
    Port {
        /// Which.
        port: u16,
        /// The address as text.
        host: String,
        /// Whether other machines may connect: NBD has no authentication.
        allow_remote: bool,
    },
}

/// How a device is served.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveSettings {
    /// Where.
    pub address: LiveAddress,
    /// How large it is for its clients, such as "1GiB"; else as large as the backing file, or as the
    /// device.
    pub size: Option<String>,
    /// The file with the data; else they are in memory.
    pub backing: Option<PathBuf>,
    /// The trace that is written, in the format that its extension names.
    pub record: Option<String>,
    /// The socket at which orders are taken.
    pub control: Option<PathBuf>,
    /// The file with what the way to the client and back takes; else the server measures its own.
    pub floor: Option<PathBuf>,
    /// Whether clients may change nothing.
    pub read_only: bool,
    /// The file into which what clients change is recorded with its data.
    pub record_data: Option<PathBuf>,
    /// Time dilation: seconds of wall clock per second of device time.
    pub time_scale: f64,
    /// Whether to go before all other programs.
    pub realtime: bool,
}

/// What is known once clients can come.
#[derive(Debug, Clone)]
pub struct Ready {
    /// By what they find the device.
    pub uri: String,
    /// How large it is.
    pub size_bytes: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// How much has been recorded with its data: it counts on while the device is served.
    pub events: Option<Arc<AtomicU64>>,
}

/// What has happened since the device began to be served.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LiveStatus {
    /// Requests answered.
    pub requests: u64,
    /// Bytes read, written and trimmed.
    pub bytes: u64,
    /// The sum of their latencies in the model, ns.
    pub latency_ns: u64,
    /// Of the drive so far, where it has one.
    pub write_amplification: Option<f64>,
    /// The share of requests that were late; about once a second.
    pub late_share: f64,
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
