//! NVMe/TCP as a state machine from bytes to events: no sockets, no clock, no commands.
//!
//! After the NVM Express TCP transport specification 1.0. Any input is safe: invalid input ends the
//! connection with a reason (`C2HTermReq`), and claimed lengths never decide how much memory is
//! allocated.

use super::command::{COMPLETION_BYTES, ENTRY_BYTES, le16, le32};
use std::ops::Range;

/// Types of PDUs.
const IC_REQ: u8 = 0;
const IC_RESP: u8 = 1;
const H2C_TERM_REQ: u8 = 2;
const C2H_TERM_REQ: u8 = 3;
const CAPSULE_CMD: u8 = 4;
const CAPSULE_RESP: u8 = 5;
const H2C_DATA: u8 = 6;
const C2H_DATA: u8 = 7;
const R2T: u8 = 9;

/// PDU flags.
const HEADER_DIGEST: u8 = 1;
const DATA_DIGEST: u8 = 2;
const LAST: u8 = 4;

/// Header sizes: common part, connection PDUs, command, data.
const COMMON_BYTES: usize = 8;
const IC_BYTES: usize = 128;
const CAPSULE_BYTES: usize = COMMON_BYTES + ENTRY_BYTES;
const DATA_BYTES: usize = 24;
const TERM_BYTES: usize = 24;
const DIGEST_BYTES: usize = 4;
/// Maximum padding before data: 32 words of four bytes.
const MOST_PADDING: usize = 128;
/// Maximum bytes of an invalid header that are sent back.
const MOST_QUOTED: usize = 128;

/// Maximum data in a capsule.
pub const MOST_IN_CAPSULE: usize = 8192;
/// Maximum data in a PDU, in both directions.
pub const MOST_IN_PDU: u32 = 128 << 10;

/// Reason to end a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Fatal {
    /// A field of a header is invalid.
    InvalidHeader = 1,
    /// Unexpected PDU.
    Sequence = 2,
    /// The digest of a header is wrong.
    HeaderDigest = 3,
    /// Unrequested data.
    DataOutOfRange = 4,
    /// Too much data.
    DataLimit = 5,
    /// Unsupported parameter.
    Unsupported = 6,
}

/// Transport options agreed on with a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    pub header_digest: bool,
    pub data_digest: bool,
    /// Alignment of data sent to the host.
    pub alignment: usize,
}

/// Meaning of the next bytes of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Incomplete: more bytes are needed.
    More,
    /// The transport options are agreed.
    Open(Terms),
    /// A command; the range of its data in the consumed input; and true if the data are damaged.
    Command(Box<[u8; ENTRY_BYTES]>, Range<usize>, bool),
    /// Data of a transfer begin: command, transfer, offset, length.
    Begins(u16, u16, u32, u32),
    /// The consumed bytes are data of the current transfer.
    Data,
    /// End of a data PDU, with its digest check and its last-PDU flag.
    Ends { damaged: bool, last: bool },
    /// The host disconnects, or does not speak NVMe/TCP.
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Start,
    Open,
    Closed,
}

/// Data PDU that is being received.
#[derive(Debug, Clone, Copy)]
struct Incoming {
    left: u32,
    sum: u32,
    last: bool,
}

/// Controller side of a connection.
#[derive(Debug)]
pub struct Wire {
    phase: Phase,
    terms: Terms,
    incoming: Option<Incoming>,
}

/// Error in a header, and its offset.
type Wrong = (Fatal, u32);

impl Wire {
    pub fn new() -> Self {
        Wire { phase: Phase::Start, terms: Terms::default(), incoming: None }
    }

    /// Parses the beginning of `input`. Returns the number of consumed bytes and their meaning;
    /// appends replies of the transport itself to `out`.
    pub fn next(&mut self, input: &[u8], out: &mut Vec<u8>) -> (usize, Event) {
        if self.phase == Phase::Closed {
            return (input.len(), Event::Close);
        }
        if let Some(incoming) = self.incoming {
            return self.continued(incoming, input);
        }
        let Some(common) = input.first_chunk::<COMMON_BYTES>() else { return (0, Event::More) };
        let outcome = self.checked(*common).and_then(|bytes| {
            let Some(head) = input.get(..bytes) else { return Ok((0, Event::More)) };
            self.digested(head)?;
            match common[0] {
                IC_REQ => self.greeted(head, out),
                CAPSULE_CMD => Ok(self.command(head, input)),
                H2C_DATA => self.begun(head),
                _ => {
                    self.phase = Phase::Closed;
                    Ok((input.len(), Event::Close))
                }
            }
        });
        outcome.unwrap_or_else(|(fatal, field)| {
            self.refuse(fatal, field, input, out);
            (input.len(), Event::Close)
        })
    }

    /// Ends the connection with a reason; `input` begins with the offending header.
    pub fn refuse(&mut self, fatal: Fatal, field: u32, input: &[u8], out: &mut Vec<u8>) {
        self.phase = Phase::Closed;
        let quoted = &input[..input.len().min(MOST_QUOTED)];
        let mut head = [0; TERM_BYTES];
        common(&mut head, C2H_TERM_REQ, 0, 0, TERM_BYTES + quoted.len());
        head[8..10].copy_from_slice(&(fatal as u16).to_le_bytes());
        head[10..14].copy_from_slice(&field.to_le_bytes());
        out.extend(head);
        out.extend(quoted);
    }

    /// Size of a header with everything before its data, if its common part is valid.
    fn checked(&self, common: [u8; COMMON_BYTES]) -> Result<usize, Wrong> {
        let [kind, flags, length, offset, ..] = common;
        let whole = le32(&common, 4) as usize;
        let is_first = self.phase == Phase::Start;
        let expected = match kind {
            IC_REQ if is_first => IC_BYTES,
            H2C_TERM_REQ => TERM_BYTES,
            CAPSULE_CMD if !is_first => CAPSULE_BYTES,
            H2C_DATA if !is_first => DATA_BYTES,
            IC_REQ | CAPSULE_CMD | H2C_DATA => return Err((Fatal::Sequence, 0)),
            _ => return Err((Fatal::InvalidHeader, 0)),
        };
        if usize::from(length) != expected {
            return Err((Fatal::InvalidHeader, 2));
        }
        if matches!(kind, IC_REQ | H2C_TERM_REQ) {
            let most = expected + if kind == IC_REQ { 0 } else { MOST_QUOTED };
            let fits = (expected..=most).contains(&whole);
            return if fits { Ok(expected) } else { Err((Fatal::InvalidHeader, 4)) };
        }
        if (flags & HEADER_DIGEST != 0) != self.terms.header_digest {
            return Err((Fatal::InvalidHeader, 1));
        }
        let head = expected + if self.terms.header_digest { DIGEST_BYTES } else { 0 };
        if kind == CAPSULE_CMD && whole == head {
            return Ok(head);
        }
        let offset = usize::from(offset);
        if offset < head || offset > head + MOST_PADDING || !offset.is_multiple_of(4) {
            return Err((Fatal::InvalidHeader, 3));
        }
        if (flags & DATA_DIGEST != 0) != self.terms.data_digest {
            return Err((Fatal::InvalidHeader, 1));
        }
        let most = if kind == CAPSULE_CMD { MOST_IN_CAPSULE } else { MOST_IN_PDU as usize };
        match whole.checked_sub(offset + self.tail()) {
            Some(1..) if whole - offset - self.tail() <= most => {
                Ok(if kind == CAPSULE_CMD { whole } else { offset })
            }
            _ => Err((Fatal::InvalidHeader, 4)),
        }
    }

    /// Bytes after the data: the digest.
    fn tail(&self) -> usize {
        if self.terms.data_digest { DIGEST_BYTES } else { 0 }
    }

    fn digested(&self, head: &[u8]) -> Result<(), Wrong> {
        let length = usize::from(head[2]);
        if !self.terms.header_digest || matches!(head[0], IC_REQ | H2C_TERM_REQ) {
            return Ok(());
        }
        let found = le32(head, length);
        let is_right = crc32c::crc32c(&head[..length]) == found;
        if is_right { Ok(()) } else { Err((Fatal::HeaderDigest, found)) }
    }

    fn greeted(&mut self, head: &[u8], out: &mut Vec<u8>) -> Result<(usize, Event), Wrong> {
        if le16(head, 8) != 0 {
            return Err((Fatal::Unsupported, 8));
        }
        if head[10] > 31 {
            return Err((Fatal::InvalidHeader, 10));
        }
        self.terms = Terms {
            header_digest: head[11] & HEADER_DIGEST != 0,
            data_digest: head[11] & DATA_DIGEST != 0,
            alignment: 4 * (usize::from(head[10]) + 1),
        };
        self.phase = Phase::Open;
        let mut answer = [0; IC_BYTES];
        common(&mut answer, IC_RESP, 0, 0, IC_BYTES);
        answer[11] = head[11] & (HEADER_DIGEST | DATA_DIGEST);
        answer[12..16].copy_from_slice(&MOST_IN_PDU.to_le_bytes());
        out.extend(answer);
        Ok((IC_BYTES, Event::Open(self.terms)))
    }

    fn command(&self, whole: &[u8], input: &[u8]) -> (usize, Event) {
        let entry = *input[COMMON_BYTES..].first_chunk().expect("the header is whole");
        let head = CAPSULE_BYTES + if self.terms.header_digest { DIGEST_BYTES } else { 0 };
        if whole.len() == head {
            return (head, Event::Command(Box::new(entry), 0..0, false));
        }
        let data = usize::from(whole[3])..whole.len() - self.tail();
        let damaged =
            self.terms.data_digest && crc32c::crc32c(&whole[data.clone()]) != le32(whole, data.end);
        (whole.len(), Event::Command(Box::new(entry), data, damaged))
    }

    fn begun(&mut self, head: &[u8]) -> Result<(usize, Event), Wrong> {
        let (id, transfer) = (le16(head, 8), le16(head, 10));
        let (offset, length) = (le32(head, 12), le32(head, 16));
        if head.len() + length as usize + self.tail() != le32(head, 4) as usize {
            return Err((Fatal::InvalidHeader, 16));
        }
        let last = head[1] & LAST != 0;
        self.incoming = Some(Incoming { left: length, sum: 0, last });
        Ok((head.len(), Event::Begins(id, transfer, offset, length)))
    }

    fn continued(&mut self, mut incoming: Incoming, input: &[u8]) -> (usize, Event) {
        if incoming.left > 0 {
            let count = input.len().min(incoming.left as usize);
            if count == 0 {
                return (0, Event::More);
            }
            incoming.left -= count as u32;
            if self.terms.data_digest {
                incoming.sum = crc32c::crc32c_append(incoming.sum, &input[..count]);
            }
            self.incoming = Some(incoming);
            return (count, Event::Data);
        }
        let Some(tail) = input.get(..self.tail()) else { return (0, Event::More) };
        let damaged = self.terms.data_digest && le32(tail, 0) != incoming.sum;
        self.incoming = None;
        (tail.len(), Event::Ends { damaged, last: incoming.last })
    }
}

/// Writes the common part of a header; `offset` is the start of data (0 without), `whole` the size
/// of the PDU.
fn common(head: &mut [u8], kind: u8, flags: u8, offset: usize, whole: usize) {
    (head[0], head[1], head[2], head[3]) = (kind, flags, head.len() as u8, offset as u8);
    head[4..8].copy_from_slice(&(whole as u32).to_le_bytes());
}

impl Terms {
    /// Appends a header without data; `fields` start at the eighth byte.
    fn plain(self, kind: u8, fields: &[u8], out: &mut Vec<u8>) {
        let length = COMMON_BYTES + fields.len();
        let digest = if self.header_digest { DIGEST_BYTES } else { 0 };
        let mut head = vec![0; length];
        let flags = if self.header_digest { HEADER_DIGEST } else { 0 };
        common(&mut head, kind, flags, 0, length + digest);
        head[COMMON_BYTES..].copy_from_slice(fields);
        out.extend_from_slice(&head);
        self.digest(&head, out);
    }

    fn digest(self, head: &[u8], out: &mut Vec<u8>) {
        if self.header_digest {
            out.extend(crc32c::crc32c(head).to_le_bytes());
        }
    }

    /// Appends a completion.
    pub fn response(self, completion: &[u8; COMPLETION_BYTES], out: &mut Vec<u8>) {
        self.plain(CAPSULE_RESP, completion, out);
    }

    /// Tells the host to transfer the data of a command.
    pub fn ready(self, id: u16, transfer: u16, length: u32, out: &mut Vec<u8>) {
        let mut fields = [0; DATA_BYTES - COMMON_BYTES];
        fields[..2].copy_from_slice(&id.to_le_bytes());
        fields[2..4].copy_from_slice(&transfer.to_le_bytes());
        fields[8..12].copy_from_slice(&length.to_le_bytes());
        self.plain(R2T, &fields, out);
    }

    /// Appends data for the host, at most [`MOST_IN_PDU`], from an offset in the command's data.
    pub fn data(self, id: u16, offset: u32, data: &[u8], last: bool, out: &mut Vec<u8>) {
        let head_bytes = DATA_BYTES + if self.header_digest { DIGEST_BYTES } else { 0 };
        let begin = head_bytes.next_multiple_of(self.alignment.max(4));
        let tail = if self.data_digest { DIGEST_BYTES } else { 0 };
        let mut flags = if last { LAST } else { 0 };
        flags |= if self.header_digest { HEADER_DIGEST } else { 0 };
        flags |= if self.data_digest { DATA_DIGEST } else { 0 };
        let mut head = [0; DATA_BYTES];
        common(&mut head, C2H_DATA, flags, begin, begin + data.len() + tail);
        head[8..10].copy_from_slice(&id.to_le_bytes());
        head[12..16].copy_from_slice(&offset.to_le_bytes());
        head[16..20].copy_from_slice(&(data.len() as u32).to_le_bytes());
        out.extend(head);
        self.digest(&head, out);
        out.resize(out.len() + begin - head_bytes, 0);
        out.extend_from_slice(data);
        if self.data_digest {
            out.extend(crc32c::crc32c(data).to_le_bytes());
        }
    }
}
