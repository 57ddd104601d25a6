//! Work of cells and buses by operations of all kinds, from which energy is computed.

use engine::Time;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Operations of the cell arrays, with their times and those of transfers. With cache commands a
/// stage may be hidden behind another; here each is counted with all its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Pages sensed, and their sense time, ns.
    pub senses: u64,
    /// See `senses`.
    pub sense_ns: Time,
    /// Pages programmed, and their program time, ns.
    pub programs: u64,
    /// See `programs`.
    pub program_ns: Time,
    /// Blocks erased, and their erase time, ns.
    pub erases: u64,
    /// See `erases`.
    pub erase_ns: Time,
    /// Time of data on buses, ns.
    pub bus_ns: Time,
}

impl Effort {
    /// Pages were sensed at once, and what was sensed takes so long on the bus, if that counts here.
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
    /// The share `part` of `whole` of the effort.
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
