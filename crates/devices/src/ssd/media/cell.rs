//! What is kept of a block whose data age, and the steps of its class.

use serde::{Deserialize, Serialize};

/// The bit of a block's reads which says that it holds one bit a cell.
const ONE_BIT: u32 = 1 << 31;
/// Steps of a class in a unit of the logarithm of drift or errors.
const CLASS_STEPS: f64 = 1024.0;

/// What is kept of a block: 20 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Minute of the clock at which its first page was programmed.
    pub opened: u32,
    /// Flash pages of it that the host has read since; the highest bit says that it holds one bit a cell.
    pub reads: u32,
    /// Age in minutes, and reads, from which on its class is another.
    pub until_age: u32,
    pub until_reads: u32,
    /// Logarithms of its mean drift and error rate, in steps.
    pub drift: i16,
    pub errors: i16,
}

const _: () = assert!(size_of::<Cell>() == 20, "20 bytes a block, none a page");

impl Cell {
    /// Flash pages that the host has read.
    #[inline]
    pub fn reads(&self) -> u32 {
        self.reads & !ONE_BIT
    }

    /// A block whose first page is programmed at a minute of the clock.
    pub fn begun(opened: u32, is_one_bit: bool) -> Cell {
        Cell { opened, reads: if is_one_bit { ONE_BIT } else { 0 }, ..Cell::default() }
    }

    /// Its age at a minute of the clock.
    #[inline]
    pub fn age(&self, minute: u32) -> u32 {
        minute.saturating_sub(self.opened)
    }

    /// Whether its class holds at an age.
    #[inline]
    pub fn is_of_class(&self, age: u32) -> bool {
        age < self.until_age && self.reads() < self.until_reads
    }

    /// Its class, and the age and the reads up to which it is that.
    pub fn set_class(&mut self, (drift, errors): (i16, i16), (until_age, until_reads): (u32, u32)) {
        *self = Cell { until_age, until_reads, drift, errors, ..*self };
    }

    /// Another flash page is read.
    #[inline]
    pub fn count_read(&mut self) {
        self.reads += u32::from(self.reads() < ONE_BIT - 1);
    }

    /// Whether it holds one bit a cell.
    pub fn is_one_bit(&self) -> bool {
        self.reads & ONE_BIT != 0
    }
}

/// A number with its highest bits alone, and the next such number.
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
