//! Data of the device: sparse in memory, or in a file.

use crate::chunks::{CHUNK_BYTES, Chunks, ZEROES, pieces};
use crate::error::Error;
use crate::protocol::Refusal;
use rustix::fs::{Advice, FallocateFlags, FlockOperation, SeekFrom as Seeked};
use rustix::fs::{fadvise, fallocate, flock, seek};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Reads of at least this length start read-ahead of the file on submission.
const ANNOUNCED_BYTES: u32 = 4096;
/// Longest file range that the server zeroes itself, without the syncer.
const QUICK_BYTES: u32 = 128 << 10;

/// Data of the live device; unwritten ranges read as zeroes.
#[derive(Debug)]
pub enum Store {
    /// Sparse data in memory.
    Memory(Chunks),
    /// An image file of the device. Dropping it releases the lock.
    File(File),
}

impl Store {
    /// A store in memory; its data are lost when the server stops.
    pub fn memory() -> Self {
        Store::Memory(Chunks::default())
    }

    /// A store in a file, locked against other servers, and its size. A new file gets `bytes` or
    /// else `default` bytes; an existing file must be at least that long.
    ///
    /// # Errors
    /// When the file cannot be opened, is locked, or is too short.
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
        // A flush makes the file's directory entry durable, as well as its data.
        sync_folder_of(path).map_err(|error| cannot("synced with its folder", error))?;
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

    /// Appends `length` bytes at `offset` to `out`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&self, offset: u64, length: u32, out: &mut Vec<u8>) -> Result<(), Refusal> {
        match self {
            Store::Memory(chunks) => {
                chunks.read(offset, length.into(), out);
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
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Refusal> {
        match self {
            Store::Memory(chunks) => {
                chunks.write(offset, data);
                Ok(())
            }
            Store::File(file) => file.write_all_at(data, offset).map_err(|error| refusal(&error)),
        }
    }

    /// Makes a range read as zeroes; without `keep` its space is freed.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn zero(&mut self, offset: u64, length: u32, keep: bool) -> Result<(), Refusal> {
        match self {
            Store::Memory(chunks) => {
                chunks.zero(offset, length.into());
                Ok(())
            }
            Store::File(file) => zero_file(file, offset, length, keep),
        }
    }

    /// True if zeroing a range may have to wait for the underlying disk.
    pub(crate) fn zeroes_slowly(&self, length: u32) -> bool {
        matches!(self, Store::File(_)) && length > QUICK_BYTES
    }

    /// Starts read-ahead of a range.
    pub(crate) fn announce(&self, offset: u64, length: u32) {
        if let Store::File(file) = self
            && length >= ANNOUNCED_BYTES
        {
            // The call is only a hint.
            let length = std::num::NonZeroU64::new(length.into());
            let _ = fadvise(file, offset, length, Advice::WillNeed);
        }
    }

    /// True if the byte at `offset` is written, and the length of the extent with this state, up to
    /// `most`. Unknown ranges count as written.
    pub(crate) fn extent(&self, offset: u64, most: u64) -> (bool, u64) {
        let file = match self {
            Store::Memory(chunks) => return chunks.extent(offset, most),
            Store::File(file) => file,
        };
        match seek(file, Seeked::Data(offset)) {
            Ok(data) if data > offset => (false, most.min(data - offset)),
            Ok(_) => match seek(file, Seeked::Hole(offset)) {
                Ok(hole) if hole > offset => (true, most.min(hole - offset)),
                _ => (true, most),
            },
            // Behind the last data.
            Err(rustix::io::Errno::NXIO) => (false, most),
            Err(_) => (true, most),
        }
    }

    /// Syncs the file at the end, on a best-effort basis.
    pub(crate) fn sync(&self) {
        if let Store::File(file) = self {
            // Clients that flushed got their replies from the syncer.
            let _ = file.sync_all();
        }
    }

    /// Another handle to the file, for the syncer.
    ///
    /// # Errors
    /// When the system gives no handle.
    pub fn handle(&self) -> io::Result<Option<File>> {
        match self {
            Store::Memory(_) => Ok(None),
            Store::File(file) => file.try_clone().map(Some),
        }
    }
}

/// Makes a file's directory entry durable. File systems that cannot sync a directory are skipped.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, Unsupported};
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) else { return Ok(()) };
    match folder.sync_all() {
        Err(error) if matches!(error.kind(), InvalidInput | Unsupported) => Ok(()),
        done => done,
    }
}

/// Makes a range of a file read as zeroes.
pub(crate) fn zero_file(file: &File, offset: u64, length: u32, keep: bool) -> Result<(), Refusal> {
    let flags = if keep { FallocateFlags::ZERO_RANGE } else { FallocateFlags::PUNCH_HOLE }
        | FallocateFlags::KEEP_SIZE;
    if fallocate(file, flags, offset, length.into()).is_ok() {
        return Ok(());
    }
    // Some file systems cannot zero a range.
    for (number, within, count) in pieces(offset, length.into()) {
        let at = number * CHUNK_BYTES as u64 + within as u64;
        file.write_all_at(&ZEROES[..count], at).map_err(|error| refusal(&error))?;
    }
    Ok(())
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
        fn both_stores_hold_data_like_an_array(changes in prop::collection::vec(change(), 1..12)) {
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
}
