//! The reports of a device at the end of a run.

use devices::{EnergyReport, Model, Report};
use engine::{Followed, Time};

/// Reports of a run; `None` if the device has no such report.
pub(crate) struct Figures {
    pub(crate) followed: Option<Followed>,
    pub(crate) report: Report,
    pub(crate) energy: Option<EnergyReport>,
}

impl Figures {
    /// The current reports of a device, for a run that ended at `end`. An untimed run has no power
    /// report.
    pub(crate) fn of(device: &dyn Model, end: Time, timed: bool) -> Figures {
        Figures {
            followed: device.followed(),
            report: device.report(end),
            energy: timed.then(|| device.energy_report(end)).flatten(),
        }
    }
}
