//! Activity of cells and buses by operations of all kinds, from which energy is computed.

use engine::Time;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Operations of the cell arrays, their times, and transfer times. Cache commands may hide a stage
/// behind another; here each counts in full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Number of sensed pages.
    pub senses: u64,
    /// Sense time, ns.
    pub sense_ns: Time,
    /// Number of programmed pages.
    pub programs: u64,
    /// Program time, ns.
    pub program_ns: Time,
    /// Number of erased blocks.
    pub erases: u64,
    /// Erase time, ns.
    pub erase_ns: Time,
    /// Data transfer time on buses, ns.
    pub bus_ns: Time,
}

impl Effort {
    /// Counts a simultaneous sense of pages, and the transfer of the result.
    #[inline]
    pub fn sense(&mut self, senses: u64, sense_ns: Time, bus_ns: Time) {
        self.senses += senses;
        self.sense_ns += sense_ns;
        self.bus_ns += bus_ns;
    }

    /// The effort times `count`.
    pub fn times(self, count: u64) -> Effort {
        Effort {
            senses: self.senses * count,
            sense_ns: self.sense_ns * count,
            programs: self.programs * count,
            program_ns: self.program_ns * count,
            erases: self.erases * count,
            erase_ns: self.erase_ns * count,
            bus_ns: self.bus_ns * count,
        }
    }
}

impl Effort {
    /// The share `part` / `whole` of the activity.
    pub(crate) fn share(self, part: u64, whole: u64) -> Effort {
        let of =
            |count: u64| (u128::from(count) * u128::from(part) / u128::from(whole.max(1))) as u64;
        Effort {
            senses: of(self.senses),
            sense_ns: of(self.sense_ns),
            programs: of(self.programs),
            program_ns: of(self.program_ns),
            erases: of(self.erases),
            erase_ns: of(self.erase_ns),
            bus_ns: of(self.bus_ns),
        }
    }
}

impl Add for Effort {
    type Output = Effort;

    fn add(self, other: Effort) -> Effort {
        Effort {
            senses: self.senses + other.senses,
            sense_ns: self.sense_ns + other.sense_ns,
            programs: self.programs + other.programs,
            program_ns: self.program_ns + other.program_ns,
            erases: self.erases + other.erases,
            erase_ns: self.erase_ns + other.erase_ns,
            bus_ns: self.bus_ns + other.bus_ns,
        }
    }
}

impl AddAssign for Effort {
    fn add_assign(&mut self, other: Effort) {
        *self = *self + other;
    }
}

impl Sum for Effort {
    fn sum<I: Iterator<Item = Effort>>(all: I) -> Effort {
        all.fold(Effort::default(), Effort::add)
    }
}
