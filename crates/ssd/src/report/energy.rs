//! Energy report of a run.

use crate::Ssd;
use crate::device::energy::{self, EnergyReport};
use crate::energy::Taken;
use crate::flash::Effort;
use engine::{Followed, Time};

impl Ssd {
    fn taken(&self, effort: &Effort) -> Taken {
        self.config.energy.of(effort, self.config.scale)
    }

    /// Adds the energy so far to the sampled figures.
    pub(crate) fn with_energy(&self, figures: Followed) -> Followed {
        if !self.config.energy.is_known() {
            return figures;
        }
        let taken = self.taken(&self.seen().effort());
        energy::follow(figures, taken.flash + taken.bus)
    }

    /// Energy of a run until `end`, if known.
    pub(crate) fn energy(&self, end: Time) -> Option<EnergyReport> {
        let config = &self.config.energy;
        if !config.is_known() {
            return None;
        }
        let spent = self.spent(end);
        let taken = self.taken(&self.seen().effort());
        let reads = self.taken(&self.seen().effort_of_reads(&self.ftl.counters));
        let (standby, controller) = (config.standby_watts(&self.config), config.controller.watts());
        let seconds = energy::seconds(spent.time);
        let busy: Time = spent.units.iter().map(|unit| unit.busy_ns).sum();
        let all = spent.time as f64 * spent.units.len() as f64;
        Some(EnergyReport {
            time_ns: spent.time,
            flash: taken.flash,
            bus: taken.bus,
            controller: controller * seconds,
            idle: standby * seconds,
            reads: Some(reads.flash + reads.bus),
            constant_watts: controller + standby,
            utilisation: if all > 0.0 { busy as f64 / all } else { 0.0 },
            devices: 1,
            ..EnergyReport::default()
        })
    }
}
