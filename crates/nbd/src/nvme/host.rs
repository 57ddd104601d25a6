//! A small initiator, for measurements of the overhead and for tests: one queue, one command at a time.

use super::command::{COMPLETION_BYTES, ENTRY_BYTES, Status, fabrics, io, le16, le32, le64};
use super::command::{FABRICS, SGL_IN_CAPSULE, SGL_TRANSPORT};
use super::wire::{MOST_IN_CAPSULE, MOST_IN_PDU};
use crate::listen::ClientStream;
use engine::SECTOR_BYTES;
use std::io::{self as system, ErrorKind, Read, Write};

/// Transport options: header digest, data digest, and data alignment in words minus one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NvmeTerms {
    pub header_digest: bool,
    pub data_digest: bool,
    pub alignment: u8,
}

/// A connection to a target.
pub struct NvmeHost {
    pub stream: ClientStream,
    pub terms: NvmeTerms,
    next: u16,
}

/// Outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub status: Status,
    pub result: u64,
    pub data: Vec<u8>,
}

impl Done {
    /// True for success.
    pub fn is_success(&self) -> bool {
        self.status == Status::SUCCESS
    }
}

impl NvmeHost {
    /// Negotiates the transport options.
    pub fn new(mut stream: ClientStream, terms: NvmeTerms) -> system::Result<Self> {
        let mut words = [0; 128];
        (words[2], words[4], words[10]) = (128, 128, terms.alignment);
        words[11] = u8::from(terms.header_digest) | u8::from(terms.data_digest) << 1;
        stream.write_all(&words)?;
        let mut answer = [0; 128];
        stream.read_exact(&mut answer)?;
        if answer[0] != 1 || answer[11] != words[11] {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(NvmeHost { stream, terms, next: 0 })
    }

    /// Connects a queue of a controller (0xffff: a new one). The result holds the controller's id.
    pub fn connect(
        &mut self,
        name: &str,
        (queue, controller): (u16, u16),
        patience_ms: u32,
    ) -> system::Result<Done> {
        let mut data = [0; 1024];
        data[..16].fill(7);
        data[16..18].copy_from_slice(&controller.to_le_bytes());
        data[256..256 + name.len()].copy_from_slice(name.as_bytes());
        data[512..529].copy_from_slice(b"nqn.2024-07.tests");
        let mut entry = command(FABRICS, fabrics::CONNECT.into());
        entry[42..44].copy_from_slice(&queue.to_le_bytes());
        entry[44..46].copy_from_slice(&127u16.to_le_bytes());
        entry[48..52].copy_from_slice(&patience_ms.to_le_bytes());
        self.ask(entry, &data, 0)
    }

    /// Connects an admin queue and enables its controller. Returns the controller's id.
    pub fn admin(&mut self, name: &str, patience_ms: u32) -> system::Result<u16> {
        let done = self.connect(name, (0, 0xffff), patience_ms)?;
        if done.status != Status::SUCCESS {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        let mut entry = command(FABRICS, fabrics::PROPERTY_SET.into());
        entry[44] = 0x14;
        entry[48..52].copy_from_slice(&0x0046_0001u32.to_le_bytes());
        self.ask(entry, &[], 0)?;
        Ok(done.result as u16)
    }

    /// Reads bytes of the first namespace.
    pub fn read(&mut self, offset: u64, length: u32) -> system::Result<Done> {
        self.ask(blocks(io::READ, offset, length), &[], length)
    }

    /// Writes bytes of the first namespace.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> system::Result<Done> {
        self.ask(blocks(io::WRITE, offset, data.len() as u32), data, 0)
    }

    /// Executes a command with data to send, or a receive buffer.
    pub fn ask(
        &mut self,
        entry: [u8; ENTRY_BYTES],
        data: &[u8],
        room: u32,
    ) -> system::Result<Done> {
        self.send(entry, data, room)?;
        self.done(data)
    }

    /// Sends a command, with short data in the capsule.
    pub fn send(
        &mut self,
        mut entry: [u8; ENTRY_BYTES],
        data: &[u8],
        room: u32,
    ) -> system::Result<u16> {
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        let inside = !data.is_empty() && data.len() <= MOST_IN_CAPSULE;
        entry[1] = 0x40;
        entry[2..4].copy_from_slice(&id.to_le_bytes());
        let length = if data.is_empty() { room } else { data.len() as u32 };
        entry[32..36].copy_from_slice(&length.to_le_bytes());
        entry[39] = if inside { SGL_IN_CAPSULE } else { SGL_TRANSPORT };
        let words = self.pdu(4, 0, &entry, if inside { data } else { &[] });
        self.stream.write_all(&words)?;
        Ok(id)
    }

    /// A PDU with optional data.
    pub fn pdu(&self, kind: u8, flags: u8, fields: &[u8], data: &[u8]) -> Vec<u8> {
        let length = 8 + fields.len();
        let begin = length + if self.terms.header_digest { 4 } else { 0 };
        let has_digest = self.terms.data_digest && !data.is_empty();
        let whole = begin + data.len() + if has_digest { 4 } else { 0 };
        let begin = if data.is_empty() { 0 } else { begin };
        let flags = flags | u8::from(self.terms.header_digest) | u8::from(has_digest) << 1;
        let mut words = vec![kind, flags, length as u8, begin as u8];
        words.extend((whole as u32).to_le_bytes());
        words.extend(fields);
        if self.terms.header_digest {
            words.extend(crc32c::crc32c(&words).to_le_bytes());
        }
        words.extend(data);
        if has_digest {
            words.extend(crc32c::crc32c(data).to_le_bytes());
        }
        words
    }

    /// Waits for the completion; sends data on request and collects received data.
    pub fn done(&mut self, data: &[u8]) -> system::Result<Done> {
        let mut found = Vec::new();
        loop {
            let (kind, head, body) = self.next_pdu()?;
            match kind {
                5 => {
                    let entry: [u8; COMPLETION_BYTES] = *head[8..].first_chunk().expect("whole");
                    let status = Status::of_field(le16(&entry, 14));
                    return Ok(Done { status, result: le64(&entry, 0), data: found });
                }
                7 => found.extend(body),
                9 => {
                    let (from, count) = (le32(&head, 12) as usize, le32(&head, 16) as usize);
                    let mut fields = head[8..24].to_vec();
                    for at in (from..from + count).step_by(MOST_IN_PDU as usize) {
                        let piece = &data[at..(from + count).min(at + MOST_IN_PDU as usize)];
                        fields[4..8].copy_from_slice(&(at as u32).to_le_bytes());
                        fields[8..12].copy_from_slice(&(piece.len() as u32).to_le_bytes());
                        let last = at + piece.len() == from + count;
                        let words = self.pdu(6, u8::from(last) << 2, &fields, piece);
                        self.stream.write_all(&words)?;
                    }
                }
                _ => return Err(ErrorKind::ConnectionAborted.into()),
            }
        }
    }

    /// Type, header and data of the next PDU, with verified digests.
    pub fn next_pdu(&mut self) -> system::Result<(u8, Vec<u8>, Vec<u8>)> {
        let mut head = vec![0; 8];
        self.stream.read_exact(&mut head)?;
        let (length, whole) = (usize::from(head[2]), le32(&head, 4) as usize);
        let mut rest = vec![0; whole - 8];
        self.stream.read_exact(&mut rest)?;
        head.extend(&rest[..length - 8]);
        let is_last_words = head[0] == 3;
        let wrong = || system::Error::from(ErrorKind::InvalidData);
        if self.terms.header_digest
            && !is_last_words
            && le32(&rest, length - 8) != crc32c::crc32c(&head)
        {
            return Err(wrong());
        }
        if head[0] != 7 {
            return Ok((head[0], head, Vec::new()));
        }
        let begin = usize::from(head[3]) - 8;
        if begin % (4 * (usize::from(self.terms.alignment) + 1)) != 0 && self.terms.alignment == 0 {
            return Err(wrong());
        }
        let body = rest[begin..begin + le32(&head, 16) as usize].to_vec();
        let digest = rest.len() - 4;
        if self.terms.data_digest && le32(&rest, digest) != crc32c::crc32c(&body) {
            return Err(wrong());
        }
        Ok((7, head, body))
    }
}

/// A command with an opcode and a namespace.
pub fn command(opcode: u8, namespace: u32) -> [u8; ENTRY_BYTES] {
    let mut entry = [0; ENTRY_BYTES];
    entry[0] = opcode;
    entry[4..8].copy_from_slice(&namespace.to_le_bytes());
    entry
}

/// A command on a byte range of the first namespace.
pub fn blocks(opcode: u8, offset: u64, length: u32) -> [u8; ENTRY_BYTES] {
    let mut entry = command(opcode, 1);
    entry[40..48].copy_from_slice(&(offset / SECTOR_BYTES).to_le_bytes());
    let count = (u64::from(length) / SECTOR_BYTES) as u16;
    entry[48..50].copy_from_slice(&count.wrapping_sub(1).to_le_bytes());
    entry
}
