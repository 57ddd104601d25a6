//! The health of a device, as a drive reports it to its host.

use engine::{Completion, Op};

/// Health of a drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Health {
    /// Bits of the critical warning.
    pub critical_warning: u8,
    /// Wear in percent of the rating.
    pub percentage_used: u8,
    /// Remaining spare blocks in percent; `None` if the drive reports none.
    pub available_spare: Option<u8>,
    /// Lifetime host writes in units of 512,000 bytes; `None` if only this server counts them.
    pub data_units_written: Option<u64>,
    /// Requests in this session.
    pub served: Served,
}

/// Requests of all clients since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Number of reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests that failed because of the device.
    pub errors: u64,
}

impl Served {
    /// Counts a completed request.
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
