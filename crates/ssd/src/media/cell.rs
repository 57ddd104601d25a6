//! State of a block whose data age, and the steps of its class.

use serde::{Deserialize, Serialize};

/// Mark bits in a block's read count: one bit per cell, and younger parts.
const ONE_BIT: u32 = 1 << 31;
const SPLIT: u32 = 1 << 30;
/// Steps of a class in a unit of the logarithm of drift or errors.
const CLASS_STEPS: f64 = 1024.0;

/// State of a block: 20 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Minute at which its first page was programmed.
    pub opened: u32,
    /// Flash pages of it read by the host since; the highest bits say that it holds one bit a cell,
    /// and that it has younger parts.
    pub reads: u32,
    /// Age in minutes at which its class changes.
    pub until_age: u32,
    /// Reads until the next class, in coarse units: 7 bits, and a power of two.
    until_reads: u16,
    /// Pages with smaller hashes are read without retries.
    pub limit: u16,
    /// Logarithms of its mean drift and error rate, in steps.
    pub drift: i16,
    pub errors: i16,
}

const _: () = assert!(size_of::<Cell>() == 20, "20 bytes a block, none a page");

impl Cell {
    /// Flash pages that the host has read.
    #[inline]
    pub fn reads(&self) -> u32 {
        self.reads & (SPLIT - 1)
    }

    /// A block whose first page is programmed at a minute of the clock.
    pub fn begun(opened: u32, is_one_bit: bool) -> Cell {
        Cell { opened, reads: if is_one_bit { ONE_BIT } else { 0 }, ..Cell::default() }
    }

    /// Age at a minute of the clock.
    #[inline]
    pub fn age(&self, minute: u32) -> u32 {
        minute.saturating_sub(self.opened)
    }

    /// True if its class holds at an age, given the unit of reads, and with one read more.
    #[inline]
    pub fn is_of_class(&self, age: u32, unit: u32, more: u32) -> bool {
        let reads = u64::from(self.reads() + more);
        age < self.until_age && reads < u64::from(self.until_units()) * u64::from(unit)
    }

    /// Read count at which its class changes.
    #[inline]
    pub fn until_reads(&self, unit: u32) -> u32 {
        self.until_units().saturating_mul(unit)
    }

    #[inline]
    fn until_units(&self) -> u32 {
        u32::from(self.until_reads & 0x7f).wrapping_shl(u32::from(self.until_reads >> 7))
    }

    /// Sets its class, the age and reads at which it changes, and its limit. Units have at most 7
    /// digits that are not 0, in binary.
    pub fn set_class(
        &mut self,
        (drift, errors): (i16, i16),
        (until_age, units): (u32, u32),
        limit: u16,
    ) {
        let power = (32 - units.leading_zeros()).saturating_sub(7);
        let until_reads = (units >> power) as u16 | (power as u16) << 7;
        *self = Cell { until_age, until_reads, limit, drift, errors, ..*self };
    }

    /// Another flash page is read.
    #[inline]
    pub fn count_read(&mut self) {
        self.reads += u32::from(self.reads() < SPLIT - 1);
    }

    /// `read` for a read within the present class.
    #[inline]
    pub fn count_one_read(&mut self) {
        self.reads += 1;
    }

    /// True with one bit per cell.
    pub fn is_one_bit(&self) -> bool {
        self.reads & ONE_BIT != 0
    }

    /// True with younger parts.
    #[inline]
    pub fn is_split(&self) -> bool {
        self.reads & SPLIT != 0
    }

    /// Marks it as having younger parts.
    pub fn split(&mut self) {
        self.reads |= SPLIT;
    }
}

/// A number reduced to its highest bits, and the next larger such number.
pub fn rounded(number: u32, bits: u32) -> (u32, u32) {
    let shift = (32 - number.leading_zeros()).saturating_sub(bits);
    let low = number >> shift << shift;
    (low, low.saturating_add(1 << shift))
}

/// The logarithm of a number in steps of a class.
pub fn stepped(number: f64) -> i16 {
    (libm::log(number) * CLASS_STEPS).round().clamp(-32_000.0, 32_000.0) as i16
}

pub fn unstepped(steps: i16) -> f64 {
    f64::from(steps) / CLASS_STEPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_a_class_are_kept_to_the_unit() {
        for reads in (0..5000).chain([65_535, 1 << 20, u32::MAX / 3]) {
            let (_, until) = rounded(reads, 6);
            for by in [1, 4, 16] {
                let mut cell = Cell::default();
                let units = until.saturating_mul(by);
                cell.set_class((0, 0), (1, units), 0);
                assert_eq!(cell.until_reads(3), units.saturating_mul(3), "{reads}");
                cell.set_class((0, 0), (0, 0), 0);
                assert_eq!(cell.until_reads(3), 0);
            }
        }
    }
}
