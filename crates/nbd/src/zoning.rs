//! Server functions for zones and their data.

use crate::server::Server;
use crate::setup::Witness;
use crate::zones::{ZoneLimits, ZoneList, ZoneQuery, ZonesAltered};
use engine::Device;

impl<D: Device + ?Sized, W: Witness<D> + ?Sized> Server<'_, D, W> {
    /// Limits of the device's zones, if any.
    pub fn zone_limits(&mut self) -> Option<ZoneLimits> {
        self.witness.zone_limits(self.device.device_mut())
    }

    /// Current zones of the device, if any.
    pub fn see_zones(&mut self, query: &ZoneQuery) -> Option<ZoneList> {
        self.witness.zones(self.device.device_mut(), query)
    }

    /// Zones changed by the drive since its `since`th change.
    pub fn zones_altered(&mut self, since: u64) -> Option<ZonesAltered> {
        self.witness.zones_altered(self.device.device_mut(), since)
    }

    /// Notifies clients of zones changed by the drive.
    pub fn tell_altered(&mut self) {
        if let Some(altered) = self.zones_altered(u64::MAX) {
            self.locals.altered(altered.count);
        }
    }

    /// Discards data behind the write pointer of the zone at a position, or of all zones. Data lost
    /// by a reset or power cut then read as zeroes.
    pub fn forget_unwritten(&mut self, at: Option<u64>) {
        let Some(limits) = self.zone_limits() else { return };
        let most = if at.is_some() { 1 } else { usize::MAX };
        let query = ZoneQuery { from: at.unwrap_or(0), until: u64::MAX, state: None, most };
        let Some(list) = self.see_zones(&query) else { return };
        for zone in list.zones {
            let from = zone.pointer.max(zone.window_end);
            let length = (zone.begins + limits.size).saturating_sub(from);
            // If the store cannot be written, the next write fails too.
            let _ = self.setup.store.zero(from, u32::try_from(length).unwrap_or(u32::MAX), false);
        }
    }
}
