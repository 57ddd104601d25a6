//! Requests from within the process, before the server accepts them.

use crate::catalogue::Export;
use crate::protocol::{Asked, Command, MOST_DATA_BYTES, Refusal};
use engine::{Handle, Op};

/// A request of a local client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Kind of the request.
    pub command: Command,
    /// True for forced unit access: the write is durable on completion.
    pub fua: bool,
    /// Placement handle of a write.
    pub handle: Handle,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u32,
    /// Data of a write; empty for other requests.
    pub data: Vec<u8>,
}

impl Wanted {
    /// A request without data.
    pub fn new(command: Command, offset: u64, length: u32) -> Self {
        let (fua, handle) = (false, Handle::NONE);
        Wanted { command, fua, handle, offset, length, data: Vec::new() }
    }

    /// A write of `data` at `offset`.
    pub fn write(offset: u64, data: Vec<u8>) -> Self {
        // An overlong write is rejected on submission.
        let length = data.len().try_into().unwrap_or(u32::MAX);
        Wanted { length, data, ..Wanted::new(Command::Write, offset, length) }
    }

    /// A zone operation without data.
    pub fn zone(op: Op, offset: u64, length: u32) -> Self {
        Wanted::new(Command::Zone(op), offset, length)
    }

    /// An append to the zone at byte `zone`.
    pub fn append(zone: u64, data: Vec<u8>) -> Self {
        let command = Command::Zone(Op::Append);
        Wanted { command, ..Wanted::write(zone, data) }
    }

    /// Request to an export, if valid.
    ///
    /// # Errors
    /// The reason why it is invalid.
    pub fn checked(&self, export: Export) -> Result<Asked, Refusal> {
        let &Wanted { command, fua, handle, offset, length, ref data } = self;
        let asked = Asked { command, fua, handle, cookie: 0, offset, length, structured: false };
        match command {
            Command::Flush => return Ok(Asked { offset: 0, length: 0, ..asked }),
            Command::Extents { .. } => return Err(Refusal::Invalid),
            Command::Read | Command::Zone(Op::Report) => {}
            _ if export.read_only => return Err(Refusal::NotPermitted),
            _ => {}
        }
        let has_data = command.has_data() || command == Command::Read;
        let own = if command.has_data() { length as usize } else { 0 };
        let may_be_empty = matches!(command, Command::Zone(op) if op != Op::Append);
        if length == 0 && !may_be_empty || has_data && length > MOST_DATA_BYTES || data.len() != own
        {
            return Err(Refusal::Invalid);
        }
        let reached = if command == Command::Zone(Op::Report) { 0 } else { length };
        if offset.checked_add(reached.into()).is_none_or(|end| end > export.bytes) {
            let writes = matches!(command, Command::Write | Command::WriteZeroes { .. });
            return Err(if writes { Refusal::NoSpace } else { Refusal::Invalid });
        }
        Ok(asked)
    }
}
