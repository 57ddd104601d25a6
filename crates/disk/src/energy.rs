//! Energy of a hard disk: rotation, plus seeks and transfers.

use super::config::DiskEnergy;
use super::device::Disk;
use super::report::Counts;
use engine::{Followed, Time};
use ssd::device::energy::{self, EnergyReport};

impl DiskEnergy {
    /// True if any power is configured.
    pub fn is_known(&self) -> bool {
        [self.idle, self.seek, self.transfer].iter().any(|power| power.watts() > 0.0)
    }

    /// Energy of seeks and transfers, joules.
    fn mechanics(&self, counts: &Counts) -> f64 {
        self.of(counts.seek_ns, counts.transfer_ns)
    }

    fn of(&self, seek_ns: Time, transfer_ns: Time) -> f64 {
        self.seek.watts() * energy::seconds(seek_ns)
            + self.transfer.watts() * energy::seconds(transfer_ns)
    }
}

impl Disk {
    /// Energy of requests so far, for the time series.
    pub(super) fn followed_energy(&self) -> Option<Followed> {
        let config = &self.config.energy;
        let taken = || energy::follow(Followed::default(), config.mechanics(&self.counts));
        // With spin-down, the idle energy is known only at the end.
        (config.is_known() && self.config.standby.after.ns().is_none()).then(taken)
    }

    /// Energy of a run of `time_ns`, with its standby and spin-up times; `None` without configured
    /// power.
    pub(super) fn energy(
        &self,
        time_ns: Time,
        (stood, turned): (Time, Time),
    ) -> Option<EnergyReport> {
        let (config, counts) = (&self.config.energy, &self.counts);
        if !config.is_known() {
            return None;
        }
        let busy = counts.seek_ns + counts.rotation_ns + counts.transfer_ns;
        Some(EnergyReport {
            time_ns,
            mechanics: config.mechanics(counts),
            idle: config.idle.watts() * energy::seconds(time_ns.saturating_sub(stood))
                + self.config.standby.power.watts() * energy::seconds(stood)
                + self.config.standby.spin_up_power.watts() * energy::seconds(turned),
            reads: Some(config.of(counts.read_seek_ns, counts.read_transfer_ns)),
            constant_watts: config.idle.watts(),
            utilisation: if time_ns > 0 { busy as f64 / time_ns as f64 } else { 0.0 },
            devices: 1,
            ..EnergyReport::default()
        })
    }
}
