//! The NBD protocol as a state machine from bytes to events: no sockets, no clock, no data.
//!
//! After the [protocol document](https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md):
//! fixed newstyle negotiation with `EXPORT_NAME`, `ABORT`, `LIST`, `INFO`, `GO`, `STRUCTURED_REPLY` and the
//! context `base:allocation`, then requests. Answers are made in `answer.rs`. Names of constants are those
//! of the document without their prefix. Any bytes are accepted: what is no NBD ends the connection, what
//! is wrong but can be answered is answered by an error, and lengths that a client claims never decide how
//! much memory is taken.

pub use crate::answer::Refusal;
use crate::answer::{ALLOCATION_ID, Answer};
use std::ops::RangeInclusive;

/// `NBDMAGIC`, the first word of the server.
const INIT_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// `IHAVEOPT`, before each option of the client.
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;

const FLAG_FIXED_NEWSTYLE: u16 = 1;
const FLAG_NO_ZEROES: u16 = 2;

const OPT_EXPORT_NAME: u32 = 1;
const OPT_ABORT: u32 = 2;
const OPT_LIST: u32 = 3;
const OPT_INFO: u32 = 6;
const OPT_GO: u32 = 7;
const OPT_STRUCTURED_REPLY: u32 = 8;
const OPT_LIST_META_CONTEXT: u32 = 9;
const OPT_SET_META_CONTEXT: u32 = 10;

const REP_ACK: u32 = 1;
const REP_SERVER: u32 = 2;
const REP_INFO: u32 = 3;
const REP_META_CONTEXT: u32 = 4;
const REP_ERR_UNSUP: u32 = (1 << 31) + 1;
const REP_ERR_POLICY: u32 = (1 << 31) + 2;
const REP_ERR_INVALID: u32 = (1 << 31) + 3;
const REP_ERR_UNKNOWN: u32 = (1 << 31) + 6;
const REP_ERR_TOO_BIG: u32 = (1 << 31) + 9;

const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

/// `HAS_FLAGS`, `SEND_FLUSH`, `SEND_FUA`, `SEND_TRIM`, `SEND_WRITE_ZEROES`, `CAN_MULTI_CONN`: there is
/// one copy of the data, so a flush on one connection covers what was answered on any.
const TRANSMISSION_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8;
/// `READ_ONLY`, and `SEND_DF`: data are never cut into chunks anyway.
const FLAG_READ_ONLY: u16 = 1 << 1;
const FLAG_SEND_DF: u16 = 1 << 7;

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

const OPTION_HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = 28;
/// The longest option that is read: a name has at most 4096 bytes.
const MOST_OPTION_BYTES: u32 = 8192;
/// The most data in one request; what clients that do not ask may assume.
pub const MOST_DATA_BYTES: u32 = 32 << 20;
/// Minimum (a sector) and preferred block size.
const BLOCK_BYTES: RangeInclusive<u32> = 512..=4096;
/// What a client may ask the state of.
const ALLOCATION: &[u8] = b"base:allocation";

/// What a client asks of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Return the bytes.
    Read,
    /// Replace the bytes by the data that follow.
    Write,
    /// Make durable all that was answered.
    Flush,
    /// Forget the bytes.
    Trim,
    /// Replace the bytes by zeroes, and perhaps forget them.
    WriteZeroes {
        /// Whether the place must stay allocated.
        keep: bool,
    },
    /// Say what is written and what is not. It asks nothing of the device.
    Extents {
        /// Whether only the first extent is wanted.
        one: bool,
    },
}

/// A request within the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// What.
    pub command: Command,
    /// Whether it must be durable when it is answered.
    pub fua: bool,
    /// By what the client knows the answer.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
    /// Whether it is answered in chunks.
    pub structured: bool,
}

impl Asked {
    /// The bytes that it counts with, as long as it is not answered.
    pub(crate) fn charge(&self) -> u32 {
        match self.command {
            Command::Read | Command::Write => self.length,
            _ => 0,
        }
    }

    pub(crate) fn answer(&self) -> Answer {
        Answer { cookie: self.cookie, structured: self.structured }
    }
}

/// What a connection may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export {
    /// How large it is.
    pub bytes: u64,
    /// Whether nothing may be changed.
    pub read_only: bool,
}

/// Why a client is told that it cannot be served.
pub(crate) const FULL: &str = "all places are taken; try again later";

/// What the next bytes of a connection mean to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Nothing yet: more bytes are needed.
    More,
    /// Something was dealt with by the protocol alone.
    Handled,
    /// A request; if it writes, [`Event::Data`] follow.
    Request(Asked),
    /// The bytes that were consumed belong to the write before; `true` with the last of them.
    Data(bool),
    /// The client takes its leave, or speaks no NBD.
    Close,
}

/// Where a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The client's flags are next.
    Flags,
    /// Options are negotiated.
    Options,
    /// Requests.
    Transmission,
    Closed,
}

/// The protocol's side of one connection.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// None where the client is to be turned away.
    export: Option<Export>,
    phase: Phase,
    no_zeroes: bool,
    /// Reads are answered in chunks; the state of allocation may be asked for.
    structured: bool,
    allocation: bool,
    /// Bytes of data of the write that was asked last, still to come.
    data_left: u32,
    /// Bytes still to come that nobody wants.
    skip: u32,
}

impl Conversation {
    /// A new connection to an export, and what the server says first. Without an export, every option
    /// is refused, because all places are taken.
    pub fn new(export: Option<Export>, out: &mut Vec<u8>) -> Self {
        out.extend(INIT_MAGIC.to_be_bytes());
        out.extend(OPTION_MAGIC.to_be_bytes());
        out.extend((FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
        Conversation {
            export,
            phase: Phase::Flags,
            no_zeroes: false,
            structured: false,
            allocation: false,
            data_left: 0,
            skip: 0,
        }
    }

    /// Whether there is an export for it.
    pub fn is_served(&self) -> bool {
        self.export.is_some()
    }

    /// Whether requests may come, so that the client has got through its negotiation.
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Transmission
    }

    /// Consumes the beginning of `input`: how many bytes, and what they mean. What the protocol
    /// answers by itself is appended to `out`.
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
            _ => self.request(input, out),
        };
        if event == Event::Close {
            self.phase = Phase::Closed;
        }
        (consumed, event)
    }

    fn flags(&mut self, input: &[u8]) -> (usize, Event) {
        let Some(bytes) = input.first_chunk() else { return (0, Event::More) };
        let flags = u32::from_be_bytes(*bytes);
        // Without fixed newstyle a client could not understand an answer to an option.
        let known = u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
        if flags & !known != 0 || flags & u32::from(FLAG_FIXED_NEWSTYLE) == 0 {
            return (4, Event::Close);
        }
        self.no_zeroes = flags & u32::from(FLAG_NO_ZEROES) != 0;
        self.phase = Phase::Options;
        (4, Event::Handled)
    }

    fn option(&mut self, input: &[u8], out: &mut Vec<u8>) -> (usize, Event) {
        let Some((header, rest)) = input.split_first_chunk::<OPTION_HEADER_BYTES>() else {
            return (0, Event::More);
        };
        let (option, length) = (be32(&header[8..]), be32(&header[12..]));
        if be64(header) != OPTION_MAGIC {
            return (OPTION_HEADER_BYTES, Event::Close);
        }
        if length > MOST_OPTION_BYTES {
            option_reply(out, option, REP_ERR_TOO_BIG, &[]);
            self.skip = length;
            let close = option == OPT_EXPORT_NAME;
            return (OPTION_HEADER_BYTES, if close { Event::Close } else { Event::Handled });
        }
        let Some(data) = rest.get(..length as usize) else { return (0, Event::More) };
        let event = self.negotiate(option, data, out);
        (OPTION_HEADER_BYTES + data.len(), event)
    }

    fn negotiate(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) -> Event {
        let Some(export) = self.export else {
            // The oldest option has no reply but success.
            if option != OPT_EXPORT_NAME {
                option_reply(out, option, REP_ERR_POLICY, FULL.as_bytes());
            }
            return Event::Close;
        };
        let mut flags = TRANSMISSION_FLAGS;
        flags |= if export.read_only { FLAG_READ_ONLY } else { 0 };
        flags |= if self.structured { FLAG_SEND_DF } else { 0 };
        let error = match option {
            OPT_EXPORT_NAME => {
                // This option has no reply but success.
                if !data.is_empty() {
                    return Event::Close;
                }
                out.extend(export.bytes.to_be_bytes());
                out.extend(flags.to_be_bytes());
                if !self.no_zeroes {
                    out.extend([0; 124]);
                }
                self.phase = Phase::Transmission;
                return Event::Handled;
            }
            OPT_ABORT => {
                option_reply(out, option, REP_ACK, &[]);
                return Event::Close;
            }
            OPT_LIST if data.is_empty() => {
                // The only export, whose name is empty.
                option_reply(out, option, REP_SERVER, &0u32.to_be_bytes());
                REP_ACK
            }
            OPT_INFO | OPT_GO => match wanted(data) {
                None => REP_ERR_INVALID,
                Some((name, _)) if !name.is_empty() => REP_ERR_UNKNOWN,
                Some((_, block_size)) => {
                    let mut info = INFO_EXPORT.to_be_bytes().to_vec();
                    info.extend(export.bytes.to_be_bytes());
                    info.extend(flags.to_be_bytes());
                    option_reply(out, option, REP_INFO, &info);
                    if block_size {
                        let mut info = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
                        for size in [*BLOCK_BYTES.start(), *BLOCK_BYTES.end(), MOST_DATA_BYTES] {
                            info.extend(size.to_be_bytes());
                        }
                        option_reply(out, option, REP_INFO, &info);
                    }
                    if option == OPT_GO {
                        self.phase = Phase::Transmission;
                    }
                    REP_ACK
                }
            },
            OPT_STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                REP_ACK
            }
            OPT_LIST | OPT_STRUCTURED_REPLY => REP_ERR_INVALID,
            OPT_LIST_META_CONTEXT | OPT_SET_META_CONTEXT => self.contexts(option, data, out),
            _ => REP_ERR_UNSUP,
        };
        option_reply(out, option, error, &[]);
        Event::Handled
    }

    /// The contexts of which a client may ask the state: there is one.
    fn contexts(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) -> u32 {
        let Some((name, queries)) = queries(data) else { return REP_ERR_INVALID };
        if !self.structured {
            return REP_ERR_INVALID;
        }
        if !name.is_empty() {
            return REP_ERR_UNKNOWN;
        }
        let listing = option == OPT_LIST_META_CONTEXT;
        let all = listing && queries.is_empty();
        let wanted = queries.iter().any(|it| *it == ALLOCATION || listing && *it == b"base:");
        if !listing {
            self.allocation = wanted;
        }
        if all || wanted {
            let mut context = ALLOCATION_ID.to_be_bytes().to_vec();
            context.extend(ALLOCATION);
            option_reply(out, option, REP_META_CONTEXT, &context);
        }
        REP_ACK
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
                // The data of a write follow all the same.
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
                (Command::WriteZeroes { keep }, CMD_FLAG_FUA | CMD_FLAG_NO_HOLE)
            }
            CMD_BLOCK_STATUS if self.allocation => {
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
            return Ok(Asked { command, fua, cookie, offset: 0, length: 0, structured });
        }
        let Some(export) = self.export else { return Err(Refusal::Invalid) };
        let changes = !chunked;
        if changes && export.read_only {
            return Err(Refusal::NotPermitted);
        }
        let carries_data = matches!(command, Command::Read | Command::Write);
        if length == 0 || carries_data && length > MOST_DATA_BYTES {
            return Err(Refusal::Invalid);
        }
        if offset.checked_add(length.into()).is_none_or(|end| end > export.bytes) {
            let writes = matches!(command, Command::Write | Command::WriteZeroes { .. });
            return Err(if writes { Refusal::NoSpace } else { Refusal::Invalid });
        }
        Ok(Asked { command, fua, cookie, offset, length, structured })
    }
}

/// The name in the data of `INFO` or `GO`, and whether the block sizes are wanted.
fn wanted(data: &[u8]) -> Option<(&[u8], bool)> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let (count, items) = rest.split_first_chunk::<2>()?;
    let (items, odd) = items.as_chunks::<2>();
    if !odd.is_empty() || items.len() != usize::from(u16::from_be_bytes(*count)) {
        return None;
    }
    Some((name, items.contains(&INFO_BLOCK_SIZE.to_be_bytes())))
}

/// The text at the beginning, behind its length, which is taken off.
fn text<'a>(data: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let (text, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *data = rest;
    Some(text)
}

/// The name of the export and the queries in the data of an option about contexts.
fn queries(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut rest = data;
    let name = text(&mut rest)?;
    let (count, after) = rest.split_first_chunk::<4>()?;
    rest = after;
    let mut queries = Vec::new();
    while !rest.is_empty() {
        queries.push(text(&mut rest)?);
    }
    (queries.len() == u32::from_be_bytes(*count) as usize).then_some((name, queries))
}

fn option_reply(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
}

fn be16(bytes: &[u8]) -> u16 {
    u16::from_be_bytes(*bytes.first_chunk().expect("the header is long enough"))
}

fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(*bytes.first_chunk().expect("the header is long enough"))
}

fn be64(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(*bytes.first_chunk().expect("the header is long enough"))
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
