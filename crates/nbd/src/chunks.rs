//! Sparse data in memory: chunks grouped in regions, so that a long range is dropped at once.
//!
//! A separate thread frees the memory of dropped ranges, because that takes 10 ms per gigabyte.

use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};

/// Allocation unit in bytes.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;
pub(crate) static ZEROES: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];
/// Chunks per region.
const REGION_CHUNKS: u64 = 1024;
/// Maximum number of chunks freed without the thread.
const FEW: usize = 16;

type Chunk = Box<[u8]>;
type Region = Vec<Option<Chunk>>;

/// Written data by position; unwritten ranges read as zeroes.
#[derive(Debug, Default)]
pub struct Chunks {
    regions: HashMap<u64, Region>,
    /// Chunks and regions awaiting deallocation.
    garbage: Vec<Region>,
    freeing: Option<Sender<Vec<Region>>>,
}

impl Chunks {
    /// Chunk by number, if allocated.
    fn chunk(&self, number: u64) -> Option<&Chunk> {
        let region = self.regions.get(&(number / REGION_CHUNKS))?;
        region[(number % REGION_CHUNKS) as usize].as_ref()
    }

    /// Appends `length` bytes at `offset` to `out`.
    pub(crate) fn read(&self, offset: u64, length: u64, out: &mut Vec<u8>) {
        for (number, within, count) in pieces(offset, length) {
            let chunk = self.chunk(number).map_or(&ZEROES[..], |chunk| chunk);
            out.extend_from_slice(&chunk[within..within + count]);
        }
    }

    /// Writes `data` at `offset`.
    pub(crate) fn write(&mut self, offset: u64, mut data: &[u8]) {
        for (number, within, count) in pieces(offset, data.len() as u64) {
            let (piece, rest) = data.split_at(count);
            let region = self.regions.entry(number / REGION_CHUNKS);
            let region = region.or_insert_with(|| vec![None; REGION_CHUNKS as usize]);
            let chunk = &mut region[(number % REGION_CHUNKS) as usize];
            if chunk.is_none() && count == CHUNK_BYTES {
                *chunk = Some(piece.into());
            } else {
                let chunk = chunk.get_or_insert_with(|| ZEROES.into());
                chunk[within..within + count].copy_from_slice(piece);
            }
            data = rest;
        }
    }

    /// Makes a range read as zeroes, and frees whole chunks.
    pub(crate) fn zero(&mut self, offset: u64, length: u64) {
        const REGION_BYTES: u64 = REGION_CHUNKS * CHUNK_BYTES as u64;
        let end = offset + length;
        let (first, after) = (offset.div_ceil(REGION_BYTES), end / REGION_BYTES);
        if first < after {
            self.zero_chunks(offset, first * REGION_BYTES - offset);
            let gone = (first..after).filter_map(|number| self.regions.remove(&number));
            self.garbage.extend(gone);
            self.zero_chunks(after * REGION_BYTES, end - after * REGION_BYTES);
        } else {
            self.zero_chunks(offset, length);
        }
        self.free();
    }

    /// Zeroes a range that covers no whole region.
    fn zero_chunks(&mut self, offset: u64, length: u64) {
        let mut gone = Vec::new();
        for (number, within, count) in pieces(offset, length) {
            let Some(region) = self.regions.get_mut(&(number / REGION_CHUNKS)) else { continue };
            let chunk = &mut region[(number % REGION_CHUNKS) as usize];
            if count == CHUNK_BYTES {
                gone.extend(chunk.take().map(Some));
            } else if let Some(chunk) = chunk {
                chunk[within..within + count].fill(0);
            }
        }
        if gone.len() > FEW {
            self.garbage.push(gone);
        }
    }

    fn free(&mut self) {
        if self.garbage.is_empty() {
            return;
        }
        let garbage = std::mem::take(&mut self.garbage);
        let freeing = self.freeing.get_or_insert_with(|| {
            let (freeing, incoming) = channel::<Vec<Region>>();
            // If the thread cannot start, the channel is closed and memory is freed here.
            let thread = std::thread::Builder::new().name("free".to_owned());
            let _ = thread.spawn(move || incoming.into_iter().for_each(drop));
            freeing
        });
        drop(freeing.send(garbage));
    }

    /// True if the byte at `offset` is written, and the length of the extent with this state, up to
    /// `most`.
    pub(crate) fn extent(&self, offset: u64, most: u64) -> (bool, u64) {
        let mut found = None;
        let mut length = 0;
        for (number, _, count) in pieces(offset, most) {
            let is_there = self.chunk(number).is_some();
            if *found.get_or_insert(is_there) != is_there {
                break;
            }
            length += count as u64;
        }
        (found.unwrap_or(false), length)
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.regions.values().flatten().flatten().count()
    }
}

/// Pieces of a range, cut at chunk borders: chunk number, first byte within it, length.
pub(crate) fn pieces(
    mut offset: u64,
    mut length: u64,
) -> impl Iterator<Item = (u64, usize, usize)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimmed_memory_is_given_back() {
        let mut chunks = Chunks::default();
        chunks.write(10, &vec![1; 3 * CHUNK_BYTES]);
        chunks.zero(0, 3 * CHUNK_BYTES as u64);
        assert_eq!(chunks.count(), 1);
        let far = 5 * REGION_CHUNKS * CHUNK_BYTES as u64;
        chunks.write(far, &[1]);
        chunks.zero(0, far - 1);
        assert_eq!(chunks.count(), 1);
        chunks.zero(far - 7, 8 + REGION_CHUNKS * CHUNK_BYTES as u64);
        assert_eq!(chunks.count(), 0);
    }

    #[test]
    fn extents_are_of_chunks() {
        let mut chunks = Chunks::default();
        let chunk = CHUNK_BYTES as u64;
        chunks.write(2 * chunk, &[1]);
        assert_eq!(chunks.extent(5, 10 * chunk), (false, 2 * chunk - 5));
        assert_eq!(chunks.extent(2 * chunk, 10 * chunk), (true, chunk));
        assert_eq!(chunks.extent(3 * chunk, 10 * chunk), (false, 10 * chunk));
    }
}
