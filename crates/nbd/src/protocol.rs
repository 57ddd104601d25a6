//! The NBD protocol as a state machine from bytes to events, without sockets, clock or data.
//!
//! After the [protocol
//! document](https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md): fixed newstyle
//! negotiation (`negotiation.rs`), then requests. `answer.rs` builds the replies. Constants have
//! the document's names without their prefix. Any input is safe: input that is not NBD ends the
//! connection, invalid requests get an error, and claimed lengths never decide how much memory is
//! allocated.

use crate::answer::Answer;
pub use crate::answer::Refusal;
use crate::catalogue::{Catalogue, Export};
use engine::{Handle, Op};
use std::sync::Arc;

const REQUEST_MAGIC: u32 = 0x2560_9513;

const CMD_READ: u16 = 0;
const CMD_WRITE: u16 = 1;
const CMD_DISC: u16 = 2;
const CMD_FLUSH: u16 = 3;
const CMD_TRIM: u16 = 4;
const CMD_WRITE_ZEROES: u16 = 6;
const CMD_BLOCK_STATUS: u16 = 7;
const CMD_FLAG_FUA: u16 = 1;
const CMD_FLAG_NO_HOLE: u16 = 2;
const CMD_FLAG_DF: u16 = 4;
const CMD_FLAG_REQ_ONE: u16 = 8;
const CMD_FLAG_FAST_ZERO: u16 = 16;

const REQUEST_BYTES: usize = 28;
/// Maximum data per request: the limit for clients that do not negotiate block sizes.
pub const MOST_DATA_BYTES: u32 = 32 << 20;
/// Minimum block size, a sector; binding for clients that negotiate block sizes.
pub(crate) const LEAST_BLOCK_BYTES: u32 = 512;

/// A command of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Reads a range.
    Read,
    /// Writes the data that follow.
    Write,
    /// Makes all acknowledged writes durable.
    Flush,
    /// Trims a range.
    Trim,
    /// Writes zeroes, possibly by trimming.
    WriteZeroes {
        /// True if the range must stay allocated.
        keep: bool,
    },
    /// Reports written and unwritten extents, without a request to the device.
    Extents {
        /// True if only the first extent is requested.
        one: bool,
    },
    /// A zone operation: an append of the data that follow, or an action on the zone at the offset;
    /// without a length, on all zones.
    Zone(Op),
}

impl Command {
    /// True if data follow.
    pub fn has_data(self) -> bool {
        matches!(self, Command::Write | Command::Zone(Op::Append))
    }
}

/// A valid request within the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Kind of the request.
    pub command: Command,
    /// True for forced unit access: the write is durable on completion.
    pub fua: bool,
    /// Placement handle of a write.
    pub handle: Handle,
    /// The client's id of the request.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u32,
    /// True for a structured reply.
    pub structured: bool,
}

impl Asked {
    /// Bytes that count towards the limits until the reply.
    pub(crate) fn charge(&self) -> u32 {
        match self.command {
            Command::Read | Command::Write | Command::Zone(Op::Append | Op::Report) => self.length,
            _ => 0,
        }
    }

    pub(crate) fn answer(&self) -> Answer {
        Answer { cookie: self.cookie, structured: self.structured }
    }
}

/// Meaning of the next input bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Incomplete: more bytes are needed.
    More,
    /// Handled within the protocol.
    Handled,
    /// A request; a write is followed by [`Event::Data`].
    Request(Asked),
    /// The consumed bytes are write data; `true` for the last ones.
    Data(bool),
    /// The client disconnects, or does not speak NBD.
    Close,
}

/// Phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The client's flags are next.
    Flags,
    /// Options are negotiated.
    Options,
    /// TLS follows, which another module handles.
    Securing,
    /// Requests and replies.
    Transmission,
    Closed,
}

/// Protocol state of a connection.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is another thing that was agreed on")]
pub struct Conversation {
    /// `None` to reject the client.
    pub(crate) catalogue: Option<Arc<Catalogue>>,
    pub(crate) phase: Phase,
    pub(crate) no_zeroes: bool,
    /// True within TLS.
    pub(crate) is_secure: bool,
    /// Chosen export, and its number.
    pub(crate) export: Export,
    pub(crate) number: usize,
    /// True with structured replies to reads; and the export with negotiated `base:allocation`.
    pub(crate) structured: bool,
    pub(crate) allocation: Option<usize>,
    /// True if the client has negotiated block sizes.
    pub(crate) is_aligned: bool,
    /// Remaining bytes of the current write's data.
    pub(crate) data_left: u32,
    /// Remaining bytes of input to discard.
    pub(crate) skip: u32,
}

impl Conversation {
    /// A new connection. Without a catalogue every option is refused, because the server is full.
    pub(crate) fn begun(catalogue: Option<Arc<Catalogue>>, phase: Phase) -> Self {
        Conversation {
            catalogue,
            phase,
            no_zeroes: false,
            is_secure: false,
            export: Export::default(),
            number: 0,
            structured: false,
            allocation: None,
            is_aligned: false,
            data_left: 0,
            skip: 0,
        }
    }

    /// True unless the client is rejected.
    pub fn is_served(&self) -> bool {
        self.catalogue.is_some()
    }

    /// True once the negotiation is over, so that requests may arrive.
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Transmission
    }

    /// A restarted conversation within TLS.
    pub(crate) fn secured(&self) -> Self {
        let no_zeroes = self.no_zeroes;
        let fresh = Conversation::begun(self.catalogue.clone(), Phase::Options);
        Conversation { no_zeroes, is_secure: true, ..fresh }
    }

    /// Bytes of the first request in `input` that count towards the limits; 0 if its header is
    /// incomplete.
    pub fn wanted(&self, input: &[u8]) -> u32 {
        if !self.is_open() || self.data_left > 0 || self.skip > 0 || input.len() < REQUEST_BYTES {
            return 0;
        }
        match be16(&input[6..]) {
            CMD_READ | CMD_WRITE => be32(&input[24..]),
            _ => 0,
        }
    }

    /// Parses the beginning of `input`. Returns the number of consumed bytes and their meaning;
    /// appends replies of the protocol itself to `out`.
    pub fn next(&mut self, input: &[u8], out: &mut Vec<u8>) -> (usize, Event) {
        if self.phase == Phase::Closed {
            return (input.len(), Event::Close);
        }
        if input.is_empty() {
            return (0, Event::More);
        }
        if self.skip > 0 {
            let skipped = input.len().min(self.skip as usize);
            self.skip -= skipped as u32;
            return (skipped, Event::Handled);
        }
        if self.data_left > 0 {
            let taken = input.len().min(self.data_left as usize);
            self.data_left -= taken as u32;
            return (taken, Event::Data(self.data_left == 0));
        }
        let (consumed, event) = match self.phase {
            Phase::Flags => self.flags(input),
            Phase::Options => self.option(input, out),
            Phase::Transmission => self.request(input, out),
            Phase::Securing | Phase::Closed => (input.len(), Event::Close),
        };
        if event == Event::Close {
            self.phase = Phase::Closed;
        }
        (consumed, event)
    }

    fn request(&mut self, input: &[u8], out: &mut Vec<u8>) -> (usize, Event) {
        let Some(header) = input.first_chunk::<REQUEST_BYTES>() else { return (0, Event::More) };
        let cookie = be64(&header[8..]);
        let (flags, command) = (be16(&header[4..]), be16(&header[6..]));
        let (offset, length) = (be64(&header[16..]), be32(&header[24..]));
        if be32(header) != REQUEST_MAGIC || command == CMD_DISC {
            return (REQUEST_BYTES, Event::Close);
        }
        let event = match self.checked(flags, command, cookie, offset, length) {
            Ok(asked) => {
                if asked.command == Command::Write {
                    self.data_left = length;
                }
                Event::Request(asked)
            }
            Err(refusal) => {
                let chunked = matches!(command, CMD_READ | CMD_BLOCK_STATUS);
                let answer = Answer { cookie, structured: self.structured && chunked };
                out.extend(answer.refused(refusal));
                // The data of an invalid write follow and are skipped.
                self.skip = if command == CMD_WRITE { length } else { 0 };
                Event::Handled
            }
        };
        (REQUEST_BYTES, event)
    }

    fn checked(
        &self,
        flags: u16,
        command: u16,
        cookie: u64,
        offset: u64,
        length: u32,
    ) -> Result<Asked, Refusal> {
        let (command, flags_allowed) = match command {
            CMD_READ => (Command::Read, CMD_FLAG_FUA | CMD_FLAG_DF),
            CMD_WRITE => (Command::Write, CMD_FLAG_FUA),
            CMD_FLUSH => (Command::Flush, CMD_FLAG_FUA),
            CMD_TRIM => (Command::Trim, CMD_FLAG_FUA),
            CMD_WRITE_ZEROES => {
                let keep = flags & CMD_FLAG_NO_HOLE != 0;
                let known = CMD_FLAG_FUA | CMD_FLAG_NO_HOLE | CMD_FLAG_FAST_ZERO;
                (Command::WriteZeroes { keep }, known)
            }
            CMD_BLOCK_STATUS if self.allocation == Some(self.number) => {
                let one = flags & CMD_FLAG_REQ_ONE != 0;
                (Command::Extents { one }, CMD_FLAG_FUA | CMD_FLAG_REQ_ONE)
            }
            _ => return Err(Refusal::Invalid),
        };
        let fua = flags & CMD_FLAG_FUA != 0;
        if flags & !flags_allowed != 0 || flags & CMD_FLAG_DF != 0 && !self.structured {
            return Err(Refusal::Invalid);
        }
        let chunked = matches!(command, Command::Read | Command::Extents { .. });
        let structured = self.structured && chunked;
        if command == Command::Flush {
            return Ok(Asked {
                command,
                fua,
                handle: Handle::NONE,
                cookie,
                offset: 0,
                length: 0,
                structured,
            });
        }
        let export = self.export;
        let changes = !chunked;
        if changes && export.read_only {
            return Err(Refusal::NotPermitted);
        }
        let carries_data = matches!(command, Command::Read | Command::Write);
        let odd = u64::from(length) | offset;
        let is_odd = self.is_aligned && !odd.is_multiple_of(LEAST_BLOCK_BYTES.into());
        if length == 0 || carries_data && length > MOST_DATA_BYTES || is_odd {
            return Err(Refusal::Invalid);
        }
        if offset.checked_add(length.into()).is_none_or(|end| end > export.bytes) {
            let writes = matches!(command, Command::Write | Command::WriteZeroes { .. });
            return Err(if writes { Refusal::NoSpace } else { Refusal::Invalid });
        }
        if command == (Command::WriteZeroes { keep: true }) && flags & CMD_FLAG_FAST_ZERO != 0 {
            // Zeroing with allocation is as slow as writing.
            return Err(Refusal::NotSupported);
        }
        Ok(Asked { command, fua, handle: Handle::NONE, cookie, offset, length, structured })
    }
}

pub(crate) fn be16(bytes: &[u8]) -> u16 {
    u16::from_be_bytes(*bytes.first_chunk().expect("the header is long enough"))
}

pub(crate) fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(*bytes.first_chunk().expect("the header is long enough"))
}

pub(crate) fn be64(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(*bytes.first_chunk().expect("the header is long enough"))
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
