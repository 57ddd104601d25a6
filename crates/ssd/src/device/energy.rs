//! Energy account: the energy drawn by a device during a run.
//!
//! It decides nothing: no request is slower or faster for it. Operations and times of moving or
//! service are multiplied by their energy at the end, so that a drive without known energy costs
//! nothing.

use engine::{Followed, Time};
use std::iter::Sum;
use std::ops::AddAssign;

/// Index of the energy of requests, nanojoules, among the [figures](Followed) sampled over time.
pub const FOLLOWED: usize = 6;

/// Energy of a device, or of the devices of an array, during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EnergyReport {
    /// Time of the energy, ns.
    pub time_ns: Time,
    /// The cell arrays: sensing, programming and erasing, joules.
    pub flash: f64,
    /// The buses between controller and flash, joules.
    pub bus: f64,
    /// The controller, joules.
    pub controller: f64,
    /// Heads that move and media that are read and written, joules.
    pub mechanics: f64,
    /// Energy above idle of a device with a law of service times while it serves, joules.
    pub service: f64,
    /// Idle energy beside the controller: dies in standby, a disk that turns, joules.
    pub idle: f64,
    /// The part of the energy of operations that reads took, joules, if known separately.
    pub reads: Option<f64>,
    /// Constant power, watts: it is in `controller` and `idle`.
    pub constant_watts: f64,
    /// Utilisation: the mean over its units, heads or places of service.
    pub utilisation: f64,
    /// Number of devices in the sum.
    pub devices: u32,
}

impl EnergyReport {
    /// Everything, joules.
    pub fn joules(&self) -> f64 {
        self.operations() + self.controller + self.idle
    }

    /// Energy of operations, without idle energy; joules.
    pub fn operations(&self) -> f64 {
        self.flash + self.bus + self.mechanics + self.service
    }

    /// Total energy of devices, if all report it.
    pub fn together(each: impl Iterator<Item = Option<EnergyReport>>) -> Option<EnergyReport> {
        let all = each.collect::<Option<Vec<_>>>()?;
        (!all.is_empty()).then(|| all.into_iter().sum())
    }
}

impl AddAssign for EnergyReport {
    fn add_assign(&mut self, other: EnergyReport) {
        let devices = self.devices + other.devices;
        let busy = self.utilisation * f64::from(self.devices)
            + other.utilisation * f64::from(other.devices);
        *self = EnergyReport {
            time_ns: self.time_ns.max(other.time_ns),
            flash: self.flash + other.flash,
            bus: self.bus + other.bus,
            controller: self.controller + other.controller,
            mechanics: self.mechanics + other.mechanics,
            service: self.service + other.service,
            idle: self.idle + other.idle,
            reads: self.reads.zip(other.reads).map(|(one, other)| one + other),
            constant_watts: self.constant_watts + other.constant_watts,
            utilisation: busy / f64::from(devices.max(1)),
            devices,
        };
    }
}

impl Sum for EnergyReport {
    fn sum<I: Iterator<Item = EnergyReport>>(reports: I) -> EnergyReport {
        let none = EnergyReport { reads: Some(0.0), ..EnergyReport::default() };
        reports.fold(none, |mut sum, one| {
            sum += one;
            sum
        })
    }
}

/// Adds the energy of operations to the followed figures.
pub fn follow(mut figures: Followed, joules: f64) -> Followed {
    figures.0[FOLLOWED] = (joules * 1e9).round() as u64;
    figures
}

/// Seconds of a time.
pub fn seconds(ns: Time) -> f64 {
    ns as f64 / 1e9
}
