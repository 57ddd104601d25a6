//! The reports of a device at the end of a run.

use devices::cache::CacheReport;
use devices::disk::DiskReport;
use devices::ssd::SsdReport;
use devices::ssd::zoned::ZonesReport;
use devices::{ArrayReport, EnergyReport, Model};
use engine::{Followed, Time};

/// Its reports; `None` where it has none.
pub(crate) struct Figures {
    pub(crate) followed: Option<Followed>,
    pub(crate) flash: Option<SsdReport>,
    pub(crate) disk: Option<DiskReport>,
    pub zones: Option<ZonesReport>,
    pub(crate) array: Option<ArrayReport>,
    pub cache: Option<CacheReport>,
    pub(crate) energy: Option<EnergyReport>,
}

impl Figures {
    /// The present reports of a device, for a run that ended at `end`. An untimed run has no power.
    pub(crate) fn of(device: &dyn Model, end: Time, timed: bool) -> Figures {
        Figures {
            followed: device.followed(),
            flash: device.report(end),
            disk: device.disk_report(end),
            zones: device.zones_report(end),
            array: device.array_report(end),
            cache: device.cache_report(end),
            energy: timed.then(|| device.energy_report(end)).flatten(),
        }
    }
}
