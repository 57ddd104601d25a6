//! The part of a device that a namespace covers: position, block size and mapping limit.

use crate::{SECTOR_BYTES, Status};
use std::sync::{Arc, Mutex, PoisonError};

/// Mapping unit of a thin namespace, bytes.
pub const NAMESPACE_UNIT_BYTES: u64 = 4096;

/// Specification of a namespace; sizes are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamespaceWish {
    /// Size of the address space, a multiple of the block size.
    pub bytes: u64,
    /// Maximum mapped bytes; a multiple of [`NAMESPACE_UNIT_BYTES`] unless it equals the size.
    pub capacity: u64,
    /// Size of a logical block: 512 or 4096.
    pub block: u32,
}

impl NamespaceWish {
    /// The whole device.
    pub fn whole(bytes: u64) -> Self {
        NamespaceWish { bytes, capacity: bytes, block: SECTOR_BYTES as u32 }
    }
}

/// Mapped units of a thin namespace.
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

/// A namespace on a device.
#[derive(Debug, Clone)]
pub struct Namespace {
    /// Start on the device, bytes.
    pub first: u64,
    /// The requested namespace.
    pub wish: NamespaceWish,
    /// Mapped units of a thin namespace.
    mapped: Option<Arc<Mutex<Mapped>>>,
}

impl Namespace {
    /// An unmapped namespace starting at `first`.
    pub fn new(first: u64, wish: NamespaceWish) -> Self {
        let thin = wish.capacity < wish.bytes;
        let units = vec![0; wish.bytes.div_ceil(NAMESPACE_UNIT_BYTES).div_ceil(64) as usize];
        let mapped = Mapped { units, count: 0, most: wish.capacity / NAMESPACE_UNIT_BYTES };
        Namespace { first, wish, mapped: thin.then(|| Arc::new(Mutex::new(mapped))) }
    }

    /// True for a thin namespace.
    pub fn is_thin(&self) -> bool {
        self.mapped.is_some()
    }

    /// Mapped bytes; the whole size for a namespace that is not thin.
    pub fn used(&self) -> u64 {
        let used = |it: &Arc<Mutex<Mapped>>| {
            it.lock().unwrap_or_else(PoisonError::into_inner).count * NAMESPACE_UNIT_BYTES
        };
        self.mapped.as_ref().map_or(self.wish.bytes, used)
    }

    /// Maps the units of a write, unless that exceeds the limit.
    ///
    /// # Errors
    /// When the limit would be exceeded.
    pub fn map(&self, offset: u64, bytes: u64) -> Result<(), Status> {
        let Some(mapped) = &self.mapped else { return Ok(()) };
        let mut mapped = mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let units =
            || offset / NAMESPACE_UNIT_BYTES..(offset + bytes).div_ceil(NAMESPACE_UNIT_BYTES);
        let fresh = units().filter(|unit| !mapped.has(*unit)).count() as u64;
        if mapped.count + fresh > mapped.most {
            return Err(Status::CapacityExceeded);
        }
        for unit in units() {
            if !mapped.has(unit) {
                mapped.flip(unit);
            }
        }
        mapped.count += fresh;
        Ok(())
    }

    /// Unmaps the units completely within a range.
    pub fn unmap(&self, offset: u64, bytes: u64) {
        let Some(mapped) = &self.mapped else { return };
        let mut mapped = mapped.lock().unwrap_or_else(PoisonError::into_inner);
        for unit in offset.div_ceil(NAMESPACE_UNIT_BYTES)..(offset + bytes) / NAMESPACE_UNIT_BYTES {
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
        let wish = NamespaceWish {
            bytes: 64 * NAMESPACE_UNIT_BYTES,
            capacity: 3 * NAMESPACE_UNIT_BYTES,
            block: 512,
        };
        let part = Namespace::new(0, wish);
        assert!(part.is_thin() && part.used() == 0);
        part.map(100 * 512, 512).unwrap();
        part.map(100 * 512, 4096 - 4 * 512).unwrap();
        assert_eq!(part.used(), NAMESPACE_UNIT_BYTES);
        // Two more units fit; a write that needs a third is rejected and maps nothing.
        assert_eq!(part.map(0, 3 * NAMESPACE_UNIT_BYTES), Err(Status::CapacityExceeded));
        assert_eq!(part.used(), NAMESPACE_UNIT_BYTES);
        part.map(0, 2 * NAMESPACE_UNIT_BYTES).unwrap();
        assert_eq!(part.map(63 * NAMESPACE_UNIT_BYTES, 1), Err(Status::CapacityExceeded));
        // A partly trimmed unit stays mapped.
        part.unmap(512, NAMESPACE_UNIT_BYTES);
        assert_eq!(part.used(), 3 * NAMESPACE_UNIT_BYTES);
        part.unmap(0, NAMESPACE_UNIT_BYTES);
        part.map(63 * NAMESPACE_UNIT_BYTES, 1).unwrap();
        assert_eq!(part.used(), 3 * NAMESPACE_UNIT_BYTES);
        let thick = Namespace::new(0, NamespaceWish::whole(1 << 20));
        thick.map(0, 1 << 20).unwrap();
        assert!(!thick.is_thin() && thick.used() == 1 << 20);
    }
}
