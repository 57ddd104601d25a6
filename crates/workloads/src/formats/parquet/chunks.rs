//! A file as the Parquet library reads it: from several positions, in chunks that the library owns.

use crate::read::inputs::Seekable;
use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, Read, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// A file that the Parquet library reads from several positions.
pub(super) struct Chunks {
    file: Arc<Mutex<Box<dyn Seekable>>>,
    bytes: u64,
}

impl Chunks {
    /// Wraps a file and determines its length.
    pub(super) fn new(mut file: Box<dyn Seekable>) -> io::Result<Self> {
        let bytes = file.seek(SeekFrom::End(0))?;
        Ok(Chunks { file: Arc::new(Mutex::new(file)), bytes })
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Chunks {
    type T = Part;

    fn get_read(&self, start: u64) -> Result<Part, ParquetError> {
        Ok(Part { file: Arc::clone(&self.file), at: start })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are not there")));
        }
        let mut bytes = vec![0; length];
        self.get_read(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// The file from a position to its end.
pub(super) struct Part {
    file: Arc<Mutex<Box<dyn Seekable>>>,
    at: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}
