//! Recording of all changes by clients, with data, in the order of submission and completion. A
//! crash test derives from it the content of the drive after a power cut at any time.
//!
//! The file is a header, then a record per event: a submission or a completion. Reads are not
//! recorded. All numbers are little-endian. The server's thread writes each record immediately, so
//! memory is bounded, and replies may be late by the write time.
//!
//! ```text
//! header:  magic (8 bytes), version u32, zero u32, bytes of the export u64, crc32 of these u32
//! record:  crc32 of the rest u32, kind u8, flags u8, zero u16, length u32,
//!          id u64, offset u64, model time in ns u64, and of a write `length` bytes of data
//! kinds:   1 write, 2 trim, 3 zeroes, 4 flush, 5 answer, 6 end
//! flags:   1 forced unit access, 2 (of an answer) refused
//! ```
//!
//! An answer has the id of its request; the id of the end is the number of events. Unaligned ranges
//! are recorded as requested, although the drive writes whole sectors.

use crate::error::{Error, reason};
use crate::protocol::{Asked, Command};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: &[u8; 8] = b"ssdcrash";
const VERSION: u32 = 1;
const BUFFER_BYTES: usize = 256 << 10;

const ANSWER: u8 = 5;
const END: u8 = 6;
const FUA: u8 = 1;
const REFUSED: u8 = 2;

/// A recording in progress.
#[derive(Debug)]
pub struct Recording<W: Write = File> {
    file: BufWriter<W>,
    events: Arc<AtomicU64>,
    asked: u64,
    /// The first write error; recording stops there.
    failed: Option<io::Error>,
}

impl Recording {
    /// Starts a recording in a new file, for an export of `export_bytes` bytes.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(path: &Path, export_bytes: u64) -> Result<Self, Error> {
        let refuse = |error: io::Error| {
            let name = path.display();
            Error::Input(format!("recording {name}: cannot be written: {}", reason(&error)))
        };
        let file = File::create(path).map_err(refuse)?;
        Recording::new(file, export_bytes).map_err(refuse)
    }
}

impl<W: Write> Recording<W> {
    fn new(file: W, export_bytes: u64) -> io::Result<Self> {
        let mut header = Vec::from(MAGIC);
        header.extend(VERSION.to_le_bytes());
        header.extend(0u32.to_le_bytes());
        header.extend(export_bytes.to_le_bytes());
        header.extend(crc32fast::hash(&header).to_le_bytes());
        let mut file = BufWriter::with_capacity(BUFFER_BYTES, file);
        file.write_all(&header)?;
        Ok(Recording { file, events: Arc::default(), asked: 0, failed: None })
    }

    /// Number of recorded events, updated while the server runs.
    pub fn events(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.events)
    }

    /// Records a submitted request that may change data, with its complete data, at a model time.
    /// Returns the id for its completion; `None` for reads.
    pub(crate) fn asked(&mut self, asked: &Asked, data: &[u8], at: u64) -> Option<u64> {
        let (kind, data) = match asked.command {
            Command::Read | Command::Extents { .. } | Command::Zone(_) => return None,
            Command::Write => (1, data),
            Command::Trim | Command::WriteZeroes { keep: false } => (2, &[][..]),
            Command::WriteZeroes { keep: true } => (3, &[][..]),
            Command::Flush => (4, &[][..]),
        };
        let id = self.asked;
        self.asked += 1;
        let flags = if asked.fua { FUA } else { 0 };
        self.event(&record(kind, flags, asked.length, id, asked.offset, at, data), data);
        Some(id)
    }

    /// Records the completion of a request.
    pub(crate) fn answered(&mut self, id: u64, refused: bool, at: u64) {
        let flags = if refused { REFUSED } else { 0 };
        self.event(&record(ANSWER, flags, 0, id, 0, at, &[]), &[]);
    }

    fn event(&mut self, head: &[u8], data: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        self.failed = self.file.write_all(head).and_then(|()| self.file.write_all(data)).err();
        self.events.fetch_add(1, Ordering::Release);
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// When records could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        let events = self.events.load(Ordering::Acquire);
        self.event(&record(END, 0, 0, events, 0, 0, &[]), &[]);
        self.failed.map_or(Ok(()), Err)?;
        self.file.flush()
    }
}

fn record(
    kind: u8,
    flags: u8,
    length: u32,
    id: u64,
    offset: u64,
    at: u64,
    data: &[u8],
) -> [u8; 36] {
    let mut head = [0; 36];
    head[4] = kind;
    head[5] = flags;
    head[8..12].copy_from_slice(&length.to_le_bytes());
    head[12..20].copy_from_slice(&id.to_le_bytes());
    head[20..28].copy_from_slice(&offset.to_le_bytes());
    head[28..36].copy_from_slice(&at.to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head[4..]);
    sum.update(data);
    head[..4].copy_from_slice(&sum.finalize().to_le_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(command: Command, length: u32, fua: bool) -> Asked {
        Asked {
            command,
            fua,
            handle: engine::Handle::NONE,
            cookie: 0,
            offset: 512,
            length,
            structured: false,
        }
    }

    #[test]
    fn events_are_counted_without_reads() {
        let mut file = Vec::new();
        let mut it = Recording::new(&mut file, 4096).unwrap();
        let events = it.events();
        assert_eq!(it.asked(&asked(Command::Read, 512, false), &[], 1), None);
        assert_eq!(it.asked(&asked(Command::Write, 3, true), b"abc", 2), Some(0));
        assert_eq!(it.asked(&asked(Command::Flush, 0, false), &[], 3), Some(1));
        it.answered(0, true, 4);
        assert_eq!(events.load(Ordering::Acquire), 3);
        it.finish().unwrap();
        assert_eq!(file.len(), 28 + 4 * 36 + 3);
        let write = &file[28..28 + 39];
        assert_eq!((write[4], write[5], &write[36..]), (1, FUA, &b"abc"[..]));
        assert_eq!(write[..4], crc32fast::hash(&write[4..]).to_le_bytes());
        let end = &file[file.len() - 36..];
        assert_eq!((end[4], &end[12..20]), (END, &3u64.to_le_bytes()[..]));
    }

    #[test]
    fn an_unwritable_recording_is_reported_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut it = Recording::new(Full, 4096).unwrap();
        let data = vec![1; BUFFER_BYTES];
        it.asked(&asked(Command::Write, BUFFER_BYTES as u32, false), &data, 0);
        it.answered(0, false, 0);
        assert_eq!(it.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
