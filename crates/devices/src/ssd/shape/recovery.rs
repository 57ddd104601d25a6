//! What of the shape matters to power cuts.

use super::{Geometry, check};
use crate::ssd::config::SsdConfig;
use options::Invalid;

impl Geometry {
    /// A cut closes the open blocks: a drive that recovers keeps as many more erased.
    pub(super) fn keep_room_for_cuts(&mut self, config: &SsdConfig) -> Result<(), Invalid> {
        if config.persistence.recovers() {
            check::recovery(config)?;
            self.kept_for_cuts = self.frontiers * self.data_pages;
            self.low_blocks = self.low_blocks.max(1 + self.frontiers);
        }
        Ok(())
    }

    /// Pages of a domain that stay erased for the moves of the next cleaning, and for cuts.
    pub fn reserved_pages(&self) -> u32 {
        self.data_pages + self.kept_for_cuts
    }

    /// Flash pages of a lane that so many logical pages of a block take.
    pub fn flash_pages(&self, pages: u32) -> u64 {
        let each = u64::from(self.granule.pages_per_lane());
        (u64::from(pages) * each).div_ceil(u64::from(self.granule.parts))
    }
}
