//! Replies on the wire, simple and structured.

use engine::Status;

/// Magic number of a simple reply.
pub(crate) const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// Magic number of a chunk of a structured reply.
const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;
/// Size of a simple reply's header.
const REPLY_BYTES: usize = 16;
/// Size of a chunk's header.
const CHUNK_HEAD_BYTES: usize = 20;
/// The longest header before data: a chunk's, with the data offset.
pub(crate) const HEAD_BYTES: usize = CHUNK_HEAD_BYTES + 8;

/// Flag of the last chunk of a reply.
const CHUNK_DONE: u16 = 1;
const CHUNK_OFFSET_DATA: u16 = 1;
const CHUNK_BLOCK_STATUS: u16 = 5;
const CHUNK_ERROR: u16 = (1 << 15) + 1;

/// The id of the context `base:allocation`.
pub(crate) const ALLOCATION_ID: u32 = 1;
/// Flags of an extent that was never written, or trimmed: a hole that reads as zeroes.
const EXTENT_HOLE: u32 = 3;

/// Error reply to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The device accepts no more writes: the error of the protocol for a write or trim on a read-only
    /// export.
    NotPermitted,
    /// The data are lost, or the backing file cannot be read or written.
    Io,
    /// The request is invalid or out of range.
    Invalid,
    /// No space: a write beyond the end, or the file system of the backing file is full.
    NoSpace,
    /// Fast zeroing was requested, but zeroing is slow here.
    NotSupported,
    /// A zone refuses the command.
    Zone(Status),
}

impl Refusal {
    /// The errno of Linux.
    pub fn number(self) -> u32 {
        match self {
            Refusal::NotPermitted => 1,
            Refusal::Io => 5,
            Refusal::Invalid | Refusal::Zone(_) => 22,
            Refusal::NoSpace => 28,
            Refusal::NotSupported => 95,
        }
    }
}

/// The request that a reply answers, and the kind of reply: simple or structured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The client's id of the request.
    pub(crate) cookie: u64,
    /// Structured (in chunks), as replies to reads are once the client has negotiated it.
    pub(crate) structured: bool,
}

impl Answer {
    /// Header of a data reply.
    pub(crate) fn head(self, offset: u64, length: u32, room: &mut [u8; HEAD_BYTES]) -> &[u8] {
        if !self.structured {
            room[..REPLY_BYTES].copy_from_slice(&reply(self.cookie, None));
            return &room[..REPLY_BYTES];
        }
        room[..CHUNK_HEAD_BYTES].copy_from_slice(&self.chunk(CHUNK_OFFSET_DATA, length + 8));
        room[CHUNK_HEAD_BYTES..].copy_from_slice(&offset.to_be_bytes());
        room
    }

    /// Size of that header.
    pub(crate) fn head_bytes(self) -> usize {
        if self.structured { HEAD_BYTES } else { REPLY_BYTES }
    }

    /// An error reply.
    pub(crate) fn refused(self, refusal: Refusal) -> Vec<u8> {
        if !self.structured {
            return reply(self.cookie, Some(refusal)).to_vec();
        }
        let mut words = self.chunk(CHUNK_ERROR, 6).to_vec();
        words.extend((refusal.number()).to_be_bytes());
        // Empty error text.
        words.extend(0u16.to_be_bytes());
        words
    }

    /// Reply with extents: length of each, and true if it is written.
    pub(crate) fn extents(self, extents: &[(u32, bool)]) -> Vec<u8> {
        let mut words = self.chunk(CHUNK_BLOCK_STATUS, 4 + 8 * extents.len() as u32).to_vec();
        words.extend(ALLOCATION_ID.to_be_bytes());
        for (length, is_written) in extents {
            words.extend(length.to_be_bytes());
            words.extend(if *is_written { 0 } else { EXTENT_HOLE }.to_be_bytes());
        }
        words
    }

    /// Header of a reply's only chunk.
    fn chunk(self, kind: u16, length: u32) -> [u8; CHUNK_HEAD_BYTES] {
        let mut head = [0; CHUNK_HEAD_BYTES];
        head[..4].copy_from_slice(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
        head[4..6].copy_from_slice(&CHUNK_DONE.to_be_bytes());
        head[6..8].copy_from_slice(&kind.to_be_bytes());
        head[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        head[16..].copy_from_slice(&length.to_be_bytes());
        head
    }
}

/// Header of a simple reply.
pub(crate) fn reply(cookie: u64, refusal: Option<Refusal>) -> [u8; REPLY_BYTES] {
    let mut bytes = [0; REPLY_BYTES];
    bytes[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    bytes[4..8].copy_from_slice(&refusal.map_or(0, Refusal::number).to_be_bytes());
    bytes[8..].copy_from_slice(&cookie.to_be_bytes());
    bytes
}
