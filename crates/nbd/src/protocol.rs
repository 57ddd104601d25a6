//! The NBD protocol as a state machine from bytes to events: no sockets, no clock, no data.
//!
//! After the [protocol document](https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md):
//! fixed newstyle negotiation with `EXPORT_NAME`, `ABORT`, `LIST`, `INFO` and `GO`, then requests with
//! simple replies. Names of constants are those of the document without their prefix. Any bytes are
//! accepted: what is no NBD ends the connection, what is wrong but can be answered is answered by an
//! error, and lengths that a client claims never decide how much memory is taken.

use std::ops::RangeInclusive;

/// `NBDMAGIC`, the first word of the server.
const INIT_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// `IHAVEOPT`, before each option of the client.
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;

const FLAG_FIXED_NEWSTYLE: u16 = 1;
const FLAG_NO_ZEROES: u16 = 2;

const OPT_EXPORT_NAME: u32 = 1;
const OPT_ABORT: u32 = 2;
const OPT_LIST: u32 = 3;
const OPT_INFO: u32 = 6;
const OPT_GO: u32 = 7;

const REP_ACK: u32 = 1;
const REP_SERVER: u32 = 2;
const REP_INFO: u32 = 3;
const REP_ERR_UNSUP: u32 = (1 << 31) + 1;
const REP_ERR_INVALID: u32 = (1 << 31) + 3;
const REP_ERR_UNKNOWN: u32 = (1 << 31) + 6;
const REP_ERR_TOO_BIG: u32 = (1 << 31) + 9;

const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

/// `HAS_FLAGS`, `SEND_FLUSH`, `SEND_FUA`, `SEND_TRIM`, `SEND_WRITE_ZEROES`, `CAN_MULTI_CONN`: there is
/// one copy of the data, so a flush on one connection covers what was answered on any.
const TRANSMISSION_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8;

const CMD_READ: u16 = 0;
const CMD_WRITE: u16 = 1;
const CMD_DISC: u16 = 2;
const CMD_FLUSH: u16 = 3;
const CMD_TRIM: u16 = 4;
const CMD_WRITE_ZEROES: u16 = 6;
const CMD_FLAG_FUA: u16 = 1;
const CMD_FLAG_NO_HOLE: u16 = 2;

const OPTION_HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = 28;
/// Bytes of a reply before its data.
pub const REPLY_BYTES: usize = 16;
/// The longest option that is read: a name has at most 4096 bytes.
const MOST_OPTION_BYTES: u32 = 8192;
/// The most data in one request; what clients that do not ask may assume.
pub const MOST_DATA_BYTES: u32 = 32 << 20;
/// Minimum (a sector) and preferred block size.
const BLOCK_BYTES: RangeInclusive<u32> = 512..=4096;

/// Why a request is answered by an error; the numbers are Linux's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Refusal {
    /// The device takes no more writes: what the document says of a write or trim on an export that
    /// is read-only.
    NotPermitted = 1,
    /// The data are lost, or the backing file cannot be read or written.
    Io = 5,
    /// The request makes no sense, or lies beyond the end.
    Invalid = 22,
    /// There is no room: a write beyond the end, or a full file system under the backing file.
    NoSpace = 28,
}

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
}

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
    export_bytes: u64,
    phase: Phase,
    no_zeroes: bool,
    /// Bytes of data of the write that was asked last, still to come.
    data_left: u32,
    /// Bytes still to come that nobody wants.
    skip: u32,
}

impl Conversation {
    /// A new connection to an export of that size, and what the server says first.
    pub fn new(export_bytes: u64, out: &mut Vec<u8>) -> Self {
        out.extend(INIT_MAGIC.to_be_bytes());
        out.extend(OPTION_MAGIC.to_be_bytes());
        out.extend((FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
        Conversation { export_bytes, phase: Phase::Flags, no_zeroes: false, data_left: 0, skip: 0 }
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
        let error = match option {
            OPT_EXPORT_NAME => {
                // This option has no reply but success.
                if !data.is_empty() {
                    return Event::Close;
                }
                out.extend(self.export_bytes.to_be_bytes());
                out.extend(TRANSMISSION_FLAGS.to_be_bytes());
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
            OPT_LIST => REP_ERR_INVALID,
            OPT_INFO | OPT_GO => match wanted(data) {
                None => REP_ERR_INVALID,
                Some((name, _)) if !name.is_empty() => REP_ERR_UNKNOWN,
                Some((_, block_size)) => {
                    let mut info = INFO_EXPORT.to_be_bytes().to_vec();
                    info.extend(self.export_bytes.to_be_bytes());
                    info.extend(TRANSMISSION_FLAGS.to_be_bytes());
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
            _ => REP_ERR_UNSUP,
        };
        option_reply(out, option, error, &[]);
        Event::Handled
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
                out.extend(reply(cookie, Some(refusal)));
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
            CMD_READ => (Command::Read, CMD_FLAG_FUA),
            CMD_WRITE => (Command::Write, CMD_FLAG_FUA),
            CMD_FLUSH => (Command::Flush, CMD_FLAG_FUA),
            CMD_TRIM => (Command::Trim, CMD_FLAG_FUA),
            CMD_WRITE_ZEROES => {
                let keep = flags & CMD_FLAG_NO_HOLE != 0;
                (Command::WriteZeroes { keep }, CMD_FLAG_FUA | CMD_FLAG_NO_HOLE)
            }
            _ => return Err(Refusal::Invalid),
        };
        let fua = flags & CMD_FLAG_FUA != 0;
        if flags & !flags_allowed != 0 {
            return Err(Refusal::Invalid);
        }
        if command == Command::Flush {
            return Ok(Asked { command, fua, cookie, offset: 0, length: 0 });
        }
        let carries_data = matches!(command, Command::Read | Command::Write);
        if length == 0 || carries_data && length > MOST_DATA_BYTES {
            return Err(Refusal::Invalid);
        }
        if offset.checked_add(length.into()).is_none_or(|end| end > self.export_bytes) {
            let writes = matches!(command, Command::Write | Command::WriteZeroes { .. });
            return Err(if writes { Refusal::NoSpace } else { Refusal::Invalid });
        }
        Ok(Asked { command, fua, cookie, offset, length })
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

fn option_reply(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
}

/// A simple reply, before its data.
pub fn reply(cookie: u64, refusal: Option<Refusal>) -> [u8; REPLY_BYTES] {
    let mut bytes = [0; REPLY_BYTES];
    bytes[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    bytes[4..8].copy_from_slice(&refusal.map_or(0, |refusal| refusal as u32).to_be_bytes());
    bytes[8..].copy_from_slice(&cookie.to_be_bytes());
    bytes
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
