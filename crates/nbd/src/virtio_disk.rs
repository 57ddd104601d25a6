//! The virtual machine's disk: parsing of its driver's requests, after chapter 5.2 of the [virtio
//! specification](https://docs.oasis-open.org/virtio/virtio/v1.2/virtio-v1.2.html).
//!
//! A request is a chain of descriptors in guest memory: a header, data, a data buffer, and finally
//! a status. The guest can modify all of it at any time, so nothing is trusted. `vm-memory` and
//! `virtio-queue` check addresses and lengths at use, each request is read once, and an invalid one
//! gets an error if it has a status byte.

use crate::catalogue::Export;
use crate::local::Wanted;
use crate::protocol::{Command, MOST_DATA_BYTES};
use engine::SECTOR_BYTES;
use std::io::{Read, Write};
use std::ops::Deref;
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_MQ,
    VIRTIO_BLK_F_RO, VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_WRITE_ZEROES, VIRTIO_BLK_ID_BYTES,
    VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_DISCARD,
    VIRTIO_BLK_T_FLUSH, VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT,
    VIRTIO_BLK_T_WRITE_ZEROES, VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP,
};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};
use virtio_queue::{DescriptorChain, Reader, Writer};
use vm_memory::GuestMemoryMmap;

/// Maximum number of queues, and entries per queue.
pub(crate) const QUEUES: u16 = 16;
pub(crate) const QUEUE_SIZE: u16 = 256;
/// Maximum data buffers per request: a queue's entries less header and status.
const SEGMENTS: u32 = QUEUE_SIZE as u32 - 2;
/// Maximum ranges per trim or zero request, and sectors per range; a range fits an NBD request.
const RANGES: u32 = 16;
const RANGE_SECTORS: u32 = (1 << 30) / SECTOR_BYTES as u32;
const HEAD_BYTES: usize = 16;
const RANGE_BYTES: usize = 16;
const ID_BYTES: usize = VIRTIO_BLK_ID_BYTES as usize;
const ID: &[u8] = b"ssdlab";

pub(crate) const DONE: u8 = VIRTIO_BLK_S_OK as u8;
pub(crate) const FAILED: u8 = VIRTIO_BLK_S_IOERR as u8;
pub(crate) const UNSUPPORTED: u8 = VIRTIO_BLK_S_UNSUPP as u8;

/// Feature bits of the disk.
pub(crate) fn features(export: Export) -> u64 {
    let mut bits = vec![
        VIRTIO_F_VERSION_1,
        VIRTIO_RING_F_EVENT_IDX,
        VIRTIO_RING_F_INDIRECT_DESC,
        VIRTIO_BLK_F_SEG_MAX,
        VIRTIO_BLK_F_BLK_SIZE,
        VIRTIO_BLK_F_FLUSH,
        VIRTIO_BLK_F_MQ,
    ];
    if export.read_only {
        bits.push(VIRTIO_BLK_F_RO);
    } else {
        bits.extend([VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_WRITE_ZEROES]);
    }
    bits.into_iter().fold(0, |all, bit| all | 1 << bit)
}

/// Configuration space: `size` bytes at `offset`; unknown fields are zero.
pub(crate) fn config(export: Export, offset: u32, size: u32) -> Vec<u8> {
    let mut all = Vec::with_capacity(64);
    all.extend((export.bytes / SECTOR_BYTES).to_le_bytes());
    // Maximum buffer size: not stated.
    all.extend(0u32.to_le_bytes());
    all.extend(SEGMENTS.to_le_bytes());
    // Geometry: not stated.
    all.extend([0; 4]);
    all.extend((SECTOR_BYTES as u32).to_le_bytes());
    // Topology and write cache mode: not stated.
    all.extend([0; 10]);
    all.extend(QUEUES.to_le_bytes());
    // Discard limits: sectors, ranges, alignment in sectors. Then limits of write zeroes, which may
    // unmap.
    all.extend([RANGE_SECTORS, RANGES, 1, RANGE_SECTORS, RANGES].map(u32::to_le_bytes).concat());
    all.extend([1, 0, 0, 0]);
    let from = all.len().min(offset as usize);
    let mut found = all.split_off(from);
    found.resize(size as usize, 0);
    found
}

/// Request of a chain of descriptors.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Requests to the device.
    Ask(Vec<Wanted>),
    /// The name of the disk.
    Name,
}

/// Parses a request; returns an error status if it is invalid.
pub(crate) fn task<M>(memory: &GuestMemoryMmap, chain: DescriptorChain<M>) -> Result<Task, u8>
where
    M: Deref<Target = GuestMemoryMmap> + Clone,
{
    let room = Writer::new(memory, chain.clone()).map_err(|_| FAILED)?.available_bytes();
    let room = room.checked_sub(1).ok_or(FAILED)?;
    let mut reader = Reader::new(memory, chain).map_err(|_| FAILED)?;
    let mut head = [0; HEAD_BYTES];
    reader.read_exact(&mut head).map_err(|_| FAILED)?;
    let (kind, sector) = (le32(&head), le64(&head[8..]));
    let one = |wanted| Ok(Task::Ask(vec![wanted]));
    match kind {
        VIRTIO_BLK_T_IN => one(Wanted::new(Command::Read, offset(sector)?, data_bytes(room)?)),
        VIRTIO_BLK_T_OUT => {
            let mut data = vec![0; data_bytes(reader.available_bytes())? as usize];
            reader.read_exact(&mut data).map_err(|_| FAILED)?;
            one(Wanted::write(offset(sector)?, data))
        }
        VIRTIO_BLK_T_FLUSH => one(Wanted::new(Command::Flush, 0, 0)),
        VIRTIO_BLK_T_GET_ID => Ok(Task::Name),
        VIRTIO_BLK_T_DISCARD | VIRTIO_BLK_T_WRITE_ZEROES => {
            let bytes = reader.available_bytes();
            if bytes == 0
                || bytes > RANGES as usize * RANGE_BYTES
                || !bytes.is_multiple_of(RANGE_BYTES)
            {
                return Err(FAILED);
            }
            let mut data = vec![0; bytes];
            reader.read_exact(&mut data).map_err(|_| FAILED)?;
            let ranges = data.chunks_exact(RANGE_BYTES).map(|it| range(kind, it));
            Ok(Task::Ask(ranges.collect::<Result<_, _>>()?))
        }
        _ => Err(UNSUPPORTED),
    }
}

/// A range to trim or to zero.
fn range(kind: u32, words: &[u8]) -> Result<Wanted, u8> {
    let (sector, sectors, flags) = (le64(words), le32(&words[8..]), le32(&words[12..]));
    let unmap = flags & VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP != 0;
    let command = match kind {
        VIRTIO_BLK_T_DISCARD if flags != 0 => return Err(UNSUPPORTED),
        VIRTIO_BLK_T_DISCARD => Command::Trim,
        _ if flags & !VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP != 0 => return Err(UNSUPPORTED),
        _ => Command::WriteZeroes { keep: !unmap },
    };
    if sectors > RANGE_SECTORS {
        return Err(FAILED);
    }
    Ok(Wanted::new(command, offset(sector)?, sectors * SECTOR_BYTES as u32))
}

/// Writes the data or an error status, and returns the number of written bytes.
pub(crate) fn answer<M>(
    memory: &GuestMemoryMmap,
    chain: DescriptorChain<M>,
    outcome: Result<&[u8], u8>,
) -> u32
where
    M: Deref<Target = GuestMemoryMmap> + Clone,
{
    let Ok(mut writer) = Writer::new(memory, chain) else { return 0 };
    let Some(room) = writer.available_bytes().checked_sub(1) else { return 0 };
    let Ok(mut last) = writer.split_at(room) else { return 0 };
    // The guest may have changed the chain.
    let (status, written) = match outcome {
        Ok(data) if data.len() <= room && writer.write_all(data).is_ok() => (DONE, data.len()),
        Ok(_) => (FAILED, 0),
        Err(status) => (status, 0),
    };
    last.write_all(&[status]).map_or(0, |()| written as u32 + 1)
}

/// The name of the disk.
pub(crate) fn name() -> [u8; ID_BYTES] {
    let mut name = [0; ID_BYTES];
    name[..ID.len()].copy_from_slice(ID);
    name
}

fn offset(sector: u64) -> Result<u64, u8> {
    sector.checked_mul(SECTOR_BYTES).ok_or(FAILED)
}

/// Checks for whole sectors within the request limit.
fn data_bytes(found: usize) -> Result<u32, u8> {
    match u32::try_from(found) {
        Ok(bytes) if bytes <= MOST_DATA_BYTES && u64::from(bytes).is_multiple_of(SECTOR_BYTES) => {
            Ok(bytes)
        }
        _ => Err(FAILED),
    }
}

fn le32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(*bytes.first_chunk().expect("the words are long enough"))
}

fn le64(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("the words are long enough"))
}

#[cfg(test)]
#[path = "virtio_disk_tests.rs"]
mod tests;
