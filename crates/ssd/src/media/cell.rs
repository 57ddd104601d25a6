//! Ageing state of a block, and the steps of its class.

use serde::{Deserialize, Serialize};

/// Flag bits in a block's read count: one bit per cell, and younger parts.
const ONE_BIT: u32 = 1 << 31;
const SPLIT: u32 = 1 << 30;
/// Class steps per unit of the logarithm of drift or error rate.
const CLASS_STEPS: f64 = 1024.0;

/// State of a block: 20 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Minute of the program of its first page.
    pub opened: u32,
    /// Flash pages of the block read by the host since; the highest bits are flags for one bit per
    /// cell and for younger parts.
    pub reads: u32,
    /// Age in minutes at which the class changes.
    pub until_age: u32,
    /// Reads until the next class, as 7 bits and a power of two.
    until_reads: u16,
    /// Pages with smaller hashes need no retries.
    pub limit: u16,
    /// Logarithms of mean drift and mean error rate, in steps.
    pub drift: i16,
    pub errors: i16,
}

const _: () = assert!(size_of::<Cell>() == 20, "20 bytes a block, none a page");

impl Cell {
    /// Flash pages read by the host.
    #[inline]
    pub fn reads(&self) -> u32 {
        self.reads & (SPLIT - 1)
    }

    /// A block whose first page is programmed at the minute `opened`.
    pub fn begun(opened: u32, is_one_bit: bool) -> Cell {
        Cell { opened, reads: if is_one_bit { ONE_BIT } else { 0 }, ..Cell::default() }
    }

    /// Age in minutes at a minute of the clock.
    #[inline]
    pub fn age(&self, minute: u32) -> u32 {
        minute.saturating_sub(self.opened)
    }

    /// True if its class holds at an age, given the unit of reads, after one more read.
    #[inline]
    pub fn is_of_class(&self, age: u32, unit: u32, more: u32) -> bool {
        let reads = u64::from(self.reads() + more);
        age < self.until_age && reads < u64::from(self.until_units()) * u64::from(unit)
    }

    /// Read count at which the class changes.
    #[inline]
    pub fn until_reads(&self, unit: u32) -> u32 {
        self.until_units().saturating_mul(unit)
    }

    #[inline]
    fn until_units(&self) -> u32 {
        u32::from(self.until_reads & 0x7f).wrapping_shl(u32::from(self.until_reads >> 7))
    }

    /// Sets class, age and reads at which it changes, and limit. Read units have at most 7
    /// significant bits.
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

    /// Counts a read of a flash page.
    #[inline]
    pub fn count_read(&mut self) {
        self.reads += u32::from(self.reads() < SPLIT - 1);
    }

    /// Counts a read within the current class.
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

/// A number rounded down to its highest bits, and the next larger number of this form.
pub fn rounded(number: u32, bits: u32) -> (u32, u32) {
    let shift = (32 - number.leading_zeros()).saturating_sub(bits);
    let low = number >> shift << shift;
    (low, low.saturating_add(1 << shift))
}

/// Logarithm of a number, in class steps.
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
