//! The energy of a drive: the work of its operations, times the energy of each kind of work.
//!
//! An operation counts when it begins, whole. Beside it a die stands by and the controller runs,
//! whatever happens. Of the buses, all time in which data cross them counts, and none in which they
//! wait. Energy counts for data transfers, not for waiting. Reads that rebuild the map after a
//! power cut are left out.

use super::config::{SsdConfig, SsdEnergy};
use super::flash::Effort;
use crate::device::energy;
use engine::Time;

/// Energy of efforts, joules.
pub(crate) struct Taken {
    pub flash: f64,
    pub bus: f64,
}

impl SsdEnergy {
    pub(crate) fn of(&self, effort: &Effort, scale: u32) -> Taken {
        let volts = self.voltage.volts();
        let drawn =
            |current: options::Current, ns: Time| volts * current.amperes() * energy::seconds(ns);
        let either = |measured: Option<options::Energy>, count: f64, by_time: f64| {
            measured.map_or(by_time, |each| each.joules() * count)
        };
        // A part of each block represents all of it, with its share of time and energy.
        let erases = effort.erases as f64 / f64::from(scale);
        let sensing = drawn(self.read, effort.sense_ns);
        let programming = drawn(self.program, effort.program_ns);
        let erasing = drawn(self.erase, effort.erase_ns);
        let flash = either(self.page_read, effort.senses as f64, sensing)
            + either(self.page_program, effort.programs as f64, programming)
            + either(self.block_erase, erases, erasing);
        Taken { flash, bus: drawn(self.bus, effort.bus_ns) }
    }

    /// Standby power of all dies, watts.
    pub fn standby_watts(&self, config: &SsdConfig) -> f64 {
        let dies = config.channels * config.packages_per_channel * config.dies_per_package;
        f64::from(dies) * self.voltage.volts() * self.standby.amperes()
    }
}

/// The energy that a drive has taken, by its effort and the time.
#[derive(Debug, Clone)]
pub(crate) struct Joules {
    energy: SsdEnergy,
    scale: u32,
    constant_watts: f64,
}

impl Joules {
    pub(crate) fn new(config: &SsdConfig) -> Joules {
        let energy = config.energy.clone();
        let constant_watts = energy.standby_watts(config) + energy.controller.watts();
        Joules { energy, scale: config.scale, constant_watts }
    }

    /// Total energy up to an instant, constant power included, joules.
    pub(crate) fn at(&self, effort: &Effort, now: Time) -> f64 {
        let taken = self.energy.of(effort, self.scale);
        taken.flash + taken.bus + self.constant_watts * energy::seconds(now)
    }
}
