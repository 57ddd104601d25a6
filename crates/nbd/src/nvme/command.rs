//! Commands, completions and their codes.
//!
//! After the NVM Express base specification 1.4, its NVM command set, and `NVMe` over Fabrics 1.1,
//! with their names.

use crate::placement::Naming;
use engine::Handle;

/// Bytes of a command and of a completion.
pub const ENTRY_BYTES: usize = 64;
pub const COMPLETION_BYTES: usize = 16;

/// Opcodes of the admin queue.
pub mod admin {
    pub const GET_LOG_PAGE: u8 = 0x02;
    pub const IDENTIFY: u8 = 0x06;
    pub const ABORT: u8 = 0x08;
    pub const SET_FEATURES: u8 = 0x09;
    pub const GET_FEATURES: u8 = 0x0a;
    pub const ASYNC_EVENT_REQUEST: u8 = 0x0c;
    pub const KEEP_ALIVE: u8 = 0x18;
    pub const DIRECTIVE_SEND: u8 = 0x19;
    pub const DIRECTIVE_RECEIVE: u8 = 0x1a;
}

/// Opcodes of an I/O queue.
pub mod io {
    pub const FLUSH: u8 = 0x00;
    pub const WRITE: u8 = 0x01;
    pub const READ: u8 = 0x02;
    pub const WRITE_UNCORRECTABLE: u8 = 0x04;
    pub const COMPARE: u8 = 0x05;
    pub const WRITE_ZEROES: u8 = 0x08;
    pub const DATASET_MANAGEMENT: u8 = 0x09;
    pub const VERIFY: u8 = 0x0c;
    pub const MANAGEMENT_RECEIVE: u8 = 0x12;
    pub const COPY: u8 = 0x19;
    pub const MANAGEMENT_SEND: u8 = 0x1d;
    pub const ZONE_SEND: u8 = 0x79;
    pub const ZONE_RECEIVE: u8 = 0x7a;
    pub const ZONE_APPEND: u8 = 0x7d;
}

/// Opcode of fabrics commands, and their types.
pub const FABRICS: u8 = 0x7f;
pub mod fabrics {
    pub const PROPERTY_SET: u8 = 0x00;
    pub const CONNECT: u8 = 0x01;
    pub const PROPERTY_GET: u8 = 0x04;
}

/// Namespace id that addresses all namespaces.
pub const EVERY_NAMESPACE: u32 = u32::MAX;

/// Descriptor types: data within the capsule, or by a transport transfer.
pub const SGL_IN_CAPSULE: u8 = 0x01;
pub const SGL_TRANSPORT: u8 = 0x5a;

/// Status of a completion: type in the upper byte, code in the lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub u16);

impl Status {
    /// Success.
    pub const SUCCESS: Status = Status(0);
    /// The queue has no command with this opcode.
    pub const INVALID_OPCODE: Status = Status(0x001);
    /// A field of the command has an unsupported value.
    pub const INVALID_FIELD: Status = Status(0x002);
    /// The device failed.
    pub const INTERNAL_ERROR: Status = Status(0x006);
    /// The other command of a fused pair failed.
    pub const FAILED_FUSED: Status = Status(0x009);
    /// The other command of a fused pair is missing.
    pub const MISSING_FUSED: Status = Status(0x00a);
    /// The namespace does not exist.
    pub const INVALID_NAMESPACE: Status = Status(0x00b);
    /// A preceding command is missing.
    pub const SEQUENCE_ERROR: Status = Status(0x00c);
    /// Data length and command disagree.
    pub const SGL_LENGTH_INVALID: Status = Status(0x00f);
    /// The descriptor names neither the capsule nor the transport.
    pub const SGL_TYPE_INVALID: Status = Status(0x011);
    /// The data offset exceeds the capsule.
    pub const SGL_OFFSET_INVALID: Status = Status(0x016);
    /// A fused pair exceeds the atomic compare-and-write size.
    pub const ATOMIC_UNIT_EXCEEDED: Status = Status(0x014);
    /// The namespace is read-only for hosts.
    pub const WRITE_PROTECTED: Status = Status(0x020);
    /// Data were damaged in transit.
    pub const TRANSIENT_TRANSPORT_ERROR: Status = Status(0x022);
    /// The drive has no placement handles.
    pub const FDP_DISABLED: Status = Status(0x029);
    /// Blocks beyond the end of the namespace.
    pub const LBA_OUT_OF_RANGE: Status = Status(0x080);
    /// No space for more data.
    pub const CAPACITY_EXCEEDED: Status = Status(0x081);
    /// The drive of the namespace has no power or recovers.
    pub const NAMESPACE_NOT_READY: Status = Status(0x082);
    /// Too many outstanding requests for asynchronous events.
    pub const EVENT_LIMIT_EXCEEDED: Status = Status(0x105);
    /// The log page does not exist.
    pub const INVALID_LOG_PAGE: Status = Status(0x109);
    /// The feature cannot be changed.
    pub const FEATURE_NOT_CHANGEABLE: Status = Status(0x10e);
    /// Connect: unknown record format.
    pub const CONNECT_INCOMPATIBLE_FORMAT: Status = Status(0x180);
    /// Connect: all controllers or queues are in use.
    pub const CONNECT_BUSY: Status = Status(0x181);
    /// Connect: an invalid parameter.
    pub const CONNECT_INVALID_PARAMETERS: Status = Status(0x182);
    /// The drive accepts no more writes.
    pub const READ_ONLY_RANGE: Status = Status(0x182);
    /// A range exceeds the controller's limit.
    pub const COMMAND_SIZE_LIMIT: Status = Status(0x183);
    /// Data could not be written.
    pub const WRITE_FAULT: Status = Status(0x280);
    /// Data could not be read.
    pub const UNRECOVERED_READ_ERROR: Status = Status(0x281);
    /// The data differ.
    pub const COMPARE_FAILURE: Status = Status(0x285);

    /// Status of a rejection by a zone or namespace.
    pub fn of_device(refused: engine::Status) -> Self {
        let known =
            refused.nvme().map(|(kind, code)| Status(u16::from(kind) << 8 | u16::from(code)));
        known.unwrap_or(Status::INTERNAL_ERROR)
    }

    /// Status field of a completion. Commands that fail because of their own contents have Do Not
    /// Retry set.
    pub fn field(self) -> u16 {
        let again = matches!(
            self,
            Status::SUCCESS
                | Status::TRANSIENT_TRANSPORT_ERROR
                | Status::NAMESPACE_NOT_READY
                | Status::CONNECT_BUSY
        );
        let Status(all) = self;
        (all & 0x7ff) << 1 | u16::from(!again) << 15
    }

    /// Status in a completion's status field.
    pub fn of_field(field: u16) -> Self {
        Status(field >> 1 & 0x7ff)
    }
}

impl From<engine::Status> for Status {
    fn from(refused: engine::Status) -> Self {
        Status::of_device(refused)
    }
}

/// A command.
#[derive(Debug, Clone, Copy)]
pub struct Entry(pub [u8; ENTRY_BYTES]);

impl Entry {
    pub fn opcode(&self) -> u8 {
        self.0[0]
    }

    /// Type of a fabrics command.
    pub fn fabrics_type(&self) -> u8 {
        self.0[4]
    }

    /// True for a command of a fused pair.
    pub fn is_fused(&self) -> bool {
        self.fuse() != 0
    }

    /// Position in the fused pair: 0 none, 1 first, 2 second.
    pub fn fuse(&self) -> u8 {
        self.0[1] & 3
    }

    pub fn id(&self) -> u16 {
        le16(&self.0, 2)
    }

    pub fn namespace(&self) -> u32 {
        le32(&self.0, 4)
    }

    /// Type, offset and length of its data descriptor.
    pub fn data(&self) -> (u8, u64, u32) {
        (self.0[39], le64(&self.0, 24), le32(&self.0, 32))
    }

    /// Command dword by number, from 10.
    pub fn word(&self, number: usize) -> u32 {
        le32(&self.0, 4 * number)
    }

    /// First block and number of blocks.
    pub fn blocks(&self) -> (u64, u64) {
        (le64(&self.0, 40), u64::from(self.word(12) & 0xffff) + 1)
    }

    /// Placement handle of a write, from its directive: data placement (type 2) or streams (type
    /// 1). Stream identifiers start at 1.
    pub fn handle(&self, naming: Option<Naming>) -> Handle {
        let named = self.word(13) >> 16;
        match self.word(12) >> 20 & 0xf {
            2 => {
                let naming = naming.filter(|it| it.groups > 1);
                // Unknown placements stay invalid, so that the write is rejected.
                let there = |it: Naming| it.placement(named as u16).unwrap_or(u32::MAX);
                Handle::new(naming.map_or(named, there).into())
            }
            1 if named > 0 => Handle::new(u64::from(named) - 1),
            _ => Handle::NONE,
        }
    }

    /// True with forced unit access.
    pub fn is_durable(&self) -> bool {
        self.word(12) & 1 << 30 != 0
    }
}

/// A completion; `head` is the position in the submission queue.
pub fn completion(
    id: u16,
    result: u64,
    head: u16,
    queue: u16,
    status: Status,
) -> [u8; COMPLETION_BYTES] {
    let mut out = [0; COMPLETION_BYTES];
    out[..8].copy_from_slice(&result.to_le_bytes());
    out[8..10].copy_from_slice(&head.to_le_bytes());
    out[10..12].copy_from_slice(&queue.to_le_bytes());
    out[12..14].copy_from_slice(&id.to_le_bytes());
    out[14..].copy_from_slice(&status.field().to_le_bytes());
    out
}

pub fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(*bytes[at..].first_chunk().expect("the field is within it"))
}

pub fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("the field is within it"))
}

pub fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("the field is within it"))
}
