//! The part of a device that is a namespace: where it lies, how large its blocks are, and how much of it may be mapped.

use super::command::Status;
use engine::SECTOR_BYTES;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are mapped together, where a namespace may map less than it addresses.
pub const UNIT_BYTES: u64 = 4096;

/// A namespace within a device, as it is wished for. Sizes are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Addressed, a multiple of the blocks.
    pub bytes: u64,
    /// Mapped at most, a multiple of [`UNIT_BYTES`] unless it is all.
    pub capacity: u64,
    /// Of a logical block: 512 or 4096.
    pub block: u32,
}

impl Wish {
    /// All of a device.
    pub fn whole(bytes: u64) -> Self {
        Wish { bytes, capacity: bytes, block: SECTOR_BYTES as u32 }
    }
}

/// Units that are mapped.
#[derive(Debug)]
struct Mapped {
    units: Vec<u64>,
    count: u64,
    most: u64,
}

impl Mapped {
    fn has(&self, unit: u64) -> bool {
        self.units[(unit / 64) as usize] >> (unit % 64) & 1 != 0
    }

    fn flip(&mut self, unit: u64) {
        self.units[(unit / 64) as usize] ^= 1 << (unit % 64);
    }
}

/// A part of a device.
#[derive(Debug, Clone)]
pub struct Part {
    /// Where it begins in the device.
    pub first: u64,
    pub wish: Wish,
    /// Where it may map less than it addresses.
    mapped: Option<Arc<Mutex<Mapped>>>,
}

impl Part {
    /// A part that begins there, of which nothing is mapped.
    pub fn new(first: u64, wish: Wish) -> Self {
        let thin = wish.capacity < wish.bytes;
        let units = vec![0; wish.bytes.div_ceil(UNIT_BYTES).div_ceil(64) as usize];
        let mapped = Mapped { units, count: 0, most: wish.capacity / UNIT_BYTES };
        Part { first, wish, mapped: thin.then(|| Arc::new(Mutex::new(mapped))) }
    }

    /// Whether it may map less than it addresses.
    pub fn is_thin(&self) -> bool {
        self.mapped.is_some()
    }

    /// Bytes that are mapped; all where that is not counted.
    pub fn used(&self) -> u64 {
        let used = |it: &Arc<Mutex<Mapped>>| {
            it.lock().unwrap_or_else(PoisonError::into_inner).count * UNIT_BYTES
        };
        self.mapped.as_ref().map_or(self.wish.bytes, used)
    }

    /// Maps what a write touches, or nothing where that would be more than may be.
    pub fn map(&self, offset: u64, bytes: u64) -> Result<(), Status> {
        let Some(mapped) = &self.mapped else { return Ok(()) };
        let mut mapped = mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let units = || offset / UNIT_BYTES..(offset + bytes).div_ceil(UNIT_BYTES);
        let fresh = units().filter(|unit| !mapped.has(*unit)).count() as u64;
        if mapped.count + fresh > mapped.most {
            return Err(Status::CAPACITY_EXCEEDED);
        }
        for unit in units() {
            if !mapped.has(unit) {
                mapped.flip(unit);
            }
        }
        mapped.count += fresh;
        Ok(())
    }

    /// What lies wholly within a range is no longer mapped.
    pub fn unmap(&self, offset: u64, bytes: u64) {
        let Some(mapped) = &self.mapped else { return };
        let mut mapped = mapped.lock().unwrap_or_else(PoisonError::into_inner);
        for unit in offset.div_ceil(UNIT_BYTES)..(offset + bytes) / UNIT_BYTES {
            if mapped.has(unit) {
                mapped.flip(unit);
                mapped.count -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thin_part_maps_no_more_than_it_may_and_gives_back() {
        let wish = Wish { bytes: 64 * UNIT_BYTES, capacity: 3 * UNIT_BYTES, block: 512 };
        let part = Part::new(0, wish);
        assert!(part.is_thin() && part.used() == 0);
        part.map(100 * 512, 512).unwrap();
        part.map(100 * 512, 4096 - 4 * 512).unwrap();
        assert_eq!(part.used(), UNIT_BYTES);
        // Two more; a third is refused, and nothing of what it touches is mapped.
        assert_eq!(part.map(0, 3 * UNIT_BYTES), Err(Status::CAPACITY_EXCEEDED));
        assert_eq!(part.used(), UNIT_BYTES);
        part.map(0, 2 * UNIT_BYTES).unwrap();
        assert_eq!(part.map(63 * UNIT_BYTES, 1), Err(Status::CAPACITY_EXCEEDED));
        // Of a unit that is given up in part all is kept.
        part.unmap(512, UNIT_BYTES);
        assert_eq!(part.used(), 3 * UNIT_BYTES);
        part.unmap(0, UNIT_BYTES);
        part.map(63 * UNIT_BYTES, 1).unwrap();
        assert_eq!(part.used(), 3 * UNIT_BYTES);
        let thick = Part::new(0, Wish::whole(1 << 20));
        thick.map(0, 1 << 20).unwrap();
        assert!(!thick.is_thin() && thick.used() == 1 << 20);
    }
}
