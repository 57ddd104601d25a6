//! The energy of a hard disk: it turns, and beside that heads move and sectors pass.

use super::config::DiskEnergy;
use super::device::Disk;
use super::report::Counts;
use engine::{Followed, Time};
use ssd::device::energy::{self, EnergyReport};

impl DiskEnergy {
    /// True if any power is known.
    pub fn is_known(&self) -> bool {
        [self.idle, self.seek, self.transfer].iter().any(|power| power.watts() > 0.0)
    }

    /// Energy of heads and media, joules.
    fn mechanics(&self, counts: &Counts) -> f64 {
        self.of(counts.seek_ns, counts.transfer_ns)
    }

    fn of(&self, seek_ns: Time, transfer_ns: Time) -> f64 {
        self.seek.watts() * energy::seconds(seek_ns)
            + self.transfer.watts() * energy::seconds(transfer_ns)
    }
}

impl Disk {
    /// Energy of requests so far, among the followed figures.
    pub(super) fn followed_energy(&self) -> Option<Followed> {
        let config = &self.config.energy;
        let taken = || energy::follow(Followed::default(), config.mechanics(&self.counts));
        // Idle energy of a disk that may stop is known only at the end.
        (config.is_known() && self.config.standby.after.ns().is_none()).then(taken)
    }

    /// Energy of a run of `time_ns` with the given times stopped and spinning up, if the power of
    /// the disk is known.
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
