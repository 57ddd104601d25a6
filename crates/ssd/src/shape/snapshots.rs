//! Shape of a drive with snapshots.

use super::{Geometry, today};
use crate::config::SsdConfig;
use options::{Invalid, Size};

const MOST: &str = "device.snapshots.most";
const SPACE: &str = "device.snapshots.space";

/// Maximum number of snapshots; a page read searches all of them.
const MOST_KEPT: u32 = 64;

impl Geometry {
    /// Maximum number of snapshots.
    pub fn snapshots_kept(config: &SsdConfig) -> u32 {
        config.snapshots.most
    }

    /// Pages of a pool reserved for snapshots, after checking all constraints.
    ///
    /// # Errors
    /// [`Invalid`], with the keys.
    pub fn room_for_snapshots(&self, config: &SsdConfig) -> Result<u64, Invalid> {
        let most = Geometry::snapshots_kept(config);
        if most == 0 {
            return Ok(0);
        }
        if most > MOST_KEPT {
            return Err(Invalid::new(&[MOST], format!("{most} is not possible; 0 to {MOST_KEPT}")));
        }
        let page = u64::from(self.sectors_per_page) * engine::SECTOR_BYTES;
        if config.snapshots.every.bytes() < page {
            let problem = format!(
                "{} is less than a logical page, {}",
                config.snapshots.every,
                Size::from_bytes(page)
            );
            return Err(Invalid::new(&["device.snapshots.every"], problem));
        }
        if config.snapshots.back == 0 {
            let problem = "0 is no snapshot; 1 is the newest".to_owned();
            return Err(Invalid::new(&["device.snapshots.back"], problem));
        }
        let space = config.snapshots.space;
        if !(space > 0.0 && space <= 1.0) {
            return Err(Invalid::new(
                &[SPACE],
                format!("{space} is not a share above 0, at most 1"),
            ));
        }
        // All page numbers, snapshots included, must fit the flash's tables.
        let numbers = self.exported_pages().saturating_mul(u64::from(most) + 1);
        let limit = if self.wide { 1 << 40 } else { u64::from(u32::MAX) };
        if numbers >= limit - 1 {
            let problem = format!(
                "{most} snapshots of this drive have more pages than can be numbered; use fewer"
            );
            return Err(Invalid::new(&[MOST], problem));
        }
        self.keeps_room_for_snapshots(config)
    }

    /// Pages reserved for snapshots, after checking that garbage collection can proceed beside
    /// them.
    fn keeps_room_for_snapshots(&self, config: &SsdConfig) -> Result<u64, Invalid> {
        let room = (self.pages_per_pool as f64 * config.snapshots.space) as u64;
        let domains = u64::from(self.domains / self.pools);
        let data = u64::from(self.data_pages);
        let blocks = domains * u64::from(self.blocks_per_domain) - u64::from(self.static_blocks);
        let held = domains * u64::from(self.low_blocks + self.frontiers) * data;
        let spare = blocks * data - self.pages_per_pool;
        if spare <= held + room + 1 {
            let problem = format!(
                "of the spare space of a pool, {spare} pages, cleaning keeps {held} erased or open; {room} more for \
                 snapshots leave it nothing; raise the spare space or lower the share"
            );
            return Err(Invalid::new(&[SPACE, "device.spare_factor"], problem));
        }
        if let Some(groups) = &self.groups {
            // For garbage collection, snapshot pages are as valid as exported ones.
            let kept = domains * u64::from(self.kept_pages());
            let valid = (self.pages_per_pool + room) as f64 / (blocks * data - kept) as f64;
            today::gains(config, groups, valid, SPACE)?;
            today::held_programs(config, groups, spare - room, held, SPACE)?;
        }
        Ok(room)
    }
}
