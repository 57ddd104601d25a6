//! How many pages a drive has, which of them a sector lies in, and what it takes of memory for those that hold data.

use super::Geometry;
use crate::ssd::config::SsdConfig;
use crate::ssd::ids::Lpn;

/// What is kept of a block.
const BYTES_PER_BLOCK: u64 = 48;

impl Geometry {
    /// Logical pages of the drive.
    #[inline]
    pub fn exported_pages(&self) -> u64 {
        self.pages_per_pool * u64::from(self.pools)
    }

    /// The logical page that a sector lies in.
    #[inline]
    pub fn page_at(&self, sector: u64) -> Lpn {
        let sectors = self.sectors_per_page;
        // A division takes as long as all else that is done to cut a request.
        if sectors.is_power_of_two() {
            return Lpn(sector >> sectors.trailing_zeros());
        }
        Lpn(sector / u64::from(sectors))
    }

    /// Pages of the flash.
    pub fn pages(&self) -> u64 {
        u64::from(self.blocks()) * u64::from(self.pages_per_block)
    }

    /// What the tables of a drive take that holds data in a share of its logical pages, bytes.
    pub fn memory(&self, config: &SsdConfig, share: f64) -> u64 {
        let held = (self.exported_pages() as f64 * share) as u64;
        let blocks = (f64::from(self.blocks()) * share) as u64;
        held * self.bytes_per_page(config) + held / 8 + blocks * BYTES_PER_BLOCK
    }

    /// What is kept of a page that holds data: its place, whose it is, and where that is asked its order.
    pub(super) fn bytes_per_page(&self, config: &SsdConfig) -> u64 {
        let tables = 2 + u64::from(config.persistence.order);
        tables * if self.wide { 5 } else { 4 }
    }
}
