//! One request in a trace: the record produced by every format and consumed by every replay.
//!
//! Also the other contents of a line, parse errors, and the zero point of times. This module knows
//! no format, input or device.

use engine::{Handle, Op, Time};

/// One request in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Arrival, ns, on the trace's clock.
    pub at: Time,
    /// Device number in the trace.
    pub device: u32,
    /// Operation.
    pub op: Op,
    /// First sector of 512 B.
    pub sector: u64,
    /// Length in sectors: at least 1, except for a flush, which has none.
    pub sectors: u32,
    /// True if the data must be durable on completion (forced unit access).
    pub fua: bool,
    /// Placement handle of a write, if stated.
    pub handle: Handle,
}

impl Record {
    /// A flush, which has no sectors.
    pub(crate) fn flush(at: Time, device: u32) -> Self {
        Record {
            at,
            device,
            op: Op::Flush,
            sector: 0,
            sectors: 0,
            fua: false,
            handle: engine::Handle::NONE,
        }
    }
}

/// Content of a line in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// A request.
    Record(Record),
    /// A flush and, once completed, this request.
    AfterFlush(Record),
    /// A modified request, and the kind of modification.
    Noted(Record, &'static str),
    /// Not a request, and the reason.
    Skip(&'static str),
}

/// Error about an unreadable line or record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// Error message, with the offending text.
    pub problem: String,
    /// Description of a valid line or field.
    pub expected: &'static str,
}

/// Zero point of a format's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Start of the trace: times are replayed unchanged.
    Start,
    /// A date or a boot: the first request is replayed at 0.
    Epoch,
}

/// Data that a writer cannot represent, as (kind, number).
pub type Losses = Vec<(&'static str, u64)>;

/// The number of a Linux device: 12 bits of major number above 20 bits of minor number.
pub(crate) fn device_number(major: u32, minor: u32) -> u32 {
    (major << 20) | (minor & 0xF_FFFF)
}

/// Bytes in printable form: escaped and shortened.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const SHOWN: usize = 60;
    let mut text = String::new();
    for byte in bytes.trim_ascii_end() {
        let letters = byte.escape_ascii().to_string();
        if text.len() + letters.len() > SHOWN {
            return text + "...";
        }
        text += &letters;
    }
    text
}
