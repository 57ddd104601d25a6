//! Where the data are: in memory, sparse, or in a file.

use crate::error::Error;
use crate::protocol::Refusal;
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes that are allocated together in memory.
const CHUNK_BYTES: usize = 64 << 10;
static ZEROES: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];

/// The data of the live device; what was never written reads as zeroes.
#[derive(Debug)]
pub enum Store {
    /// By the number of the chunk.
    Memory(HashMap<u64, Box<[u8]>>),
    /// As they lie on the device. Dropping it gives up the lock.
    File(File),
}

impl Store {
    /// Data that end with the server.
    pub fn memory() -> Self {
        Store::Memory(HashMap::new())
    }

    /// Data in a file that no other server uses, and their size. A new file becomes as long as
    /// `bytes`, or `default` where that is open; one that exists must not be shorter.
    ///
    /// # Errors
    /// When it cannot be opened or is locked, or too short.
    pub fn file(path: &Path, bytes: Option<u64>, default: u64) -> Result<(Self, u64), Error> {
        let name = path.display();
        let refuse = |problem: String| Error::Input(format!("backing file {name}: {problem}"));
        let cannot = |what: &str, error: io::Error| {
            refuse(format!("cannot be {what}: {}", crate::error::reason(&error)))
        };
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(|error| cannot("opened", error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(refuse("another server or program has locked it".to_owned()));
            }
            Err(error) => return Err(cannot("locked", error.into())),
        }
        let found = file.seek(SeekFrom::End(0)).map_err(|error| cannot("measured", error))?;
        if found == 0 {
            let bytes = bytes.unwrap_or(default);
            file.set_len(bytes).map_err(|error| cannot("extended", error))?;
            return Ok((Store::File(file), bytes));
        }
        match bytes {
            Some(bytes) if bytes > found => Err(refuse(format!(
                "it has {found} bytes, too few for a device of {bytes}; give a larger or no size, \
                 or another file"
            ))),
            Some(bytes) => Ok((Store::File(file), bytes)),
            None => Ok((Store::File(file), found)),
        }
    }

    /// Appends `length` bytes from `offset` on to `out`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&self, offset: u64, length: u32, out: &mut Vec<u8>) -> Result<(), Refusal> {
        match self {
            Store::Memory(chunks) => {
                for (number, within, count) in pieces(offset, length.into()) {
                    let chunk = chunks.get(&number).map_or(&ZEROES[..], |chunk| chunk);
                    out.extend_from_slice(&chunk[within..within + count]);
                }
                Ok(())
            }
            Store::File(file) => {
                let start = out.len();
                out.resize(start + length as usize, 0);
                let done = file.read_exact_at(&mut out[start..], offset);
                done.map_err(|error| refusal(&error))
            }
        }
    }

    /// Writes `data` at `offset`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, offset: u64, mut data: &[u8]) -> Result<(), Refusal> {
        match self {
            Store::Memory(chunks) => {
                for (number, within, count) in pieces(offset, data.len() as u64) {
                    let (piece, rest) = data.split_at(count);
                    let chunk = chunks.entry(number).or_insert_with(|| ZEROES.into());
                    chunk[within..within + count].copy_from_slice(piece);
                    data = rest;
                }
                Ok(())
            }
            Store::File(file) => file.write_all_at(data, offset).map_err(|error| refusal(&error)),
        }
    }

    /// Makes a range read as zeroes; unless it is to be kept, its room is given back.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn zero(&mut self, offset: u64, length: u32, keep: bool) -> Result<(), Refusal> {
        match self {
            Store::Memory(chunks) => {
                for (number, within, count) in pieces(offset, length.into()) {
                    if count == CHUNK_BYTES {
                        chunks.remove(&number);
                    } else if let Some(chunk) = chunks.get_mut(&number) {
                        chunk[within..within + count].fill(0);
                    }
                }
                Ok(())
            }
            Store::File(file) => {
                let flags =
                    if keep { FallocateFlags::ZERO_RANGE } else { FallocateFlags::PUNCH_HOLE }
                        | FallocateFlags::KEEP_SIZE;
                if fallocate(&*file, flags, offset, length.into()).is_ok() {
                    return Ok(());
                }
                // Not every file system can do that.
                for (number, within, count) in pieces(offset, length.into()) {
                    let at = number * CHUNK_BYTES as u64 + within as u64;
                    let done = file.write_all_at(&ZEROES[..count], at);
                    done.map_err(|error| refusal(&error))?;
                }
                Ok(())
            }
        }
    }

    /// Makes everything durable at the end, as far as the system does it.
    pub(crate) fn sync(&self) {
        if let Store::File(file) = self {
            // Who had to know was answered by the syncer.
            let _ = file.sync_all();
        }
    }

    /// The file whose data must be made durable, if there is one; it is another handle to it.
    ///
    /// # Errors
    /// When the system gives no other handle.
    pub fn handle(&self) -> io::Result<Option<File>> {
        match self {
            Store::Memory(_) => Ok(None),
            Store::File(file) => file.try_clone().map(Some),
        }
    }
}

/// A range cut at chunks: the chunk's number, the first byte in it, how many.
fn pieces(mut offset: u64, mut length: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    std::iter::from_fn(move || {
        if length == 0 {
            return None;
        }
        let within = offset % CHUNK_BYTES as u64;
        let count = length.min(CHUNK_BYTES as u64 - within);
        let piece = (offset / CHUNK_BYTES as u64, within as usize, count as usize);
        offset += count;
        length -= count;
        Some(piece)
    })
}

pub(crate) fn refusal(error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Refusal::NoSpace,
        _ => Refusal::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn content(store: &Store, length: u32) -> Vec<u8> {
        let mut out = Vec::new();
        store.read(0, length, &mut out).unwrap();
        out
    }

    #[derive(Debug, Clone)]
    enum Change {
        Write(u64, u8, usize),
        Zero(u64, u32, bool),
    }

    const BYTES: u64 = 4 * CHUNK_BYTES as u64;

    fn change() -> impl Strategy<Value = Change> {
        let range = (0..BYTES).prop_flat_map(|at| (Just(at), 1..=BYTES - at));
        prop_oneof![
            (range.clone(), any::<u8>()).prop_map(|((at, n), b)| Change::Write(at, b, n as usize)),
            (range, any::<bool>()).prop_map(|((at, n), keep)| Change::Zero(at, n as u32, keep)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn both_stores_are_as_an_array(changes in prop::collection::vec(change(), 1..12)) {
            let directory = tempfile::tempdir().unwrap();
            let (file, _) = Store::file(&directory.path().join("f"), Some(BYTES), 0).unwrap();
            let mut array = vec![0u8; BYTES as usize];
            for mut store in [Store::memory(), file] {
                array.fill(0);
                for change in &changes {
                    match *change {
                        Change::Write(at, byte, n) => {
                            array[at as usize..at as usize + n].fill(byte);
                            store.write(at, &vec![byte; n]).unwrap();
                        }
                        Change::Zero(at, n, keep) => {
                            array[at as usize..(at + u64::from(n)) as usize].fill(0);
                            store.zero(at, n, keep).unwrap();
                        }
                    }
                }
                prop_assert!(content(&store, BYTES as u32) == array);
            }
        }
    }

    #[test]
    fn a_file_in_use_or_too_short_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let (first, bytes) = Store::file(&path, None, 8192).unwrap();
        assert_eq!(bytes, 8192);
        let error = Store::file(&path, None, 0).unwrap_err().to_string();
        assert!(error.contains("locked"), "{error}");
        drop(first);
        let error = Store::file(&path, Some(8193), 0).unwrap_err().to_string();
        assert!(error.contains("it has 8192 bytes, too few for a device of 8193"), "{error}");
        assert_eq!(Store::file(&path, None, 1).unwrap().1, 8192);
        let error = Store::file(directory.path(), None, 1).unwrap_err().to_string();
        assert!(error.contains("cannot be opened"), "{error}");
    }

    #[test]
    fn trimmed_memory_is_given_back() {
        let mut store = Store::memory();
        store.write(10, &vec![1; 3 * CHUNK_BYTES]).unwrap();
        store.zero(0, 3 * CHUNK_BYTES as u32, false).unwrap();
        let Store::Memory(chunks) = &store else { unreachable!() };
        assert_eq!(chunks.len(), 1);
    }
}
