//! The health of a device, as a drive reports it to its host.

use engine::{Completion, Op};

/// Health of a drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Health {
    /// Bits of the critical warning.
    pub critical_warning: u8,
    /// Wear in percent of the rating.
    pub percentage_used: u8,
    /// Remaining spare blocks in percent; `None` if it has none to report.
    pub available_spare: Option<u8>,
    /// Written by its hosts since it was new, in thousands of 512 bytes; `None` if only this server knows.
    pub data_units_written: Option<u64>,
    /// Requests here.
    pub served: Served,
}

/// Requests of all clients since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Number and bytes of reads.
    pub reads: u64,
    /// Bytes of these.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of these.
    pub written_bytes: u64,
    /// Requests that failed by the fault of the device.
    pub errors: u64,
}

impl Served {
    /// Counts a request that the device has completed.
    pub fn count(&mut self, completion: &Completion) {
        let bytes = completion.request.bytes();
        match completion.request.op {
            Op::Read => (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes + bytes),
            Op::Write | Op::Append => {
                (self.writes, self.written_bytes) = (self.writes + 1, self.written_bytes + bytes);
            }
            _ => {}
        }
        self.errors += u64::from(completion.status != engine::Status::Ok);
    }
}
