//! Page counts of a drive, pages of sectors and pools, and memory for pages with data.

use super::Geometry;
use super::check::SCALE;
use crate::config::SsdConfig;
use crate::device::kit::memory::MOST_MEMORY;
use crate::ids::{Lpn, PoolId};
use crate::numbers;
use engine::SECTOR_BYTES;
use options::{Invalid, Size};

/// Memory per block, bytes.
const BYTES_PER_BLOCK: u64 = 48;

impl Geometry {
    /// Exported logical pages of the drive.
    #[inline]
    pub fn exported_pages(&self) -> u64 {
        self.pages_per_pool * u64::from(self.pools)
    }

    /// Logical page of a sector.
    #[inline]
    pub fn page_at(&self, sector: u64) -> Lpn {
        let sectors = self.sectors_per_page;
        // A division would double the time to split a request.
        if sectors.is_power_of_two() {
            return Lpn(sector >> sectors.trailing_zeros());
        }
        Lpn(sector / u64::from(sectors))
    }

    /// Consecutive logical pages of a pool from an index, as many as fit into `lpns`.
    pub(crate) fn lpns_in_pool(&self, pool: PoolId, from: u64, lpns: &mut [u64]) {
        let (stripe, pools) = (u64::from(self.stripe_pages), u64::from(self.pools));
        let mut left = stripe - from % stripe;
        let mut next = self.lpn_in_pool(pool, from).0;
        for lpn in lpns {
            *lpn = next;
            (next, left) = (next + 1, left - 1);
            if left == 0 {
                (next, left) = (next + (pools - 1) * stripe, stripe);
            }
        }
    }

    /// Number of flash pages.
    pub fn pages(&self) -> u64 {
        u64::from(self.blocks()) * u64::from(self.pages_per_block)
    }

    /// Memory for a drive's tables with this share of exported pages holding data, bytes.
    pub fn memory(&self, config: &SsdConfig, share: f64) -> u64 {
        let held = (self.exported_pages() as f64 * share) as u64;
        let blocks = (f64::from(self.blocks()) * share) as u64;
        held * self.bytes_per_page(config) + held / 8 + blocks * BYTES_PER_BLOCK
    }

    /// Memory per page with data: location, logical page, and program number if stored.
    fn bytes_per_page(&self, config: &SsdConfig) -> u64 {
        let tables = 2 + u64::from(config.persistence.is_ordered());
        tables * if self.wide { 5 } else { 4 }
    }

    /// Page numbers have at most 40 bits, and their products with a block's pages 64, so that a
    /// [`Divisor`](super::divisor::Divisor) yields a page's block.
    pub(super) fn check_pages(&self) -> Result<(), Invalid> {
        let each = u64::from(self.sectors_per_page) * SECTOR_BYTES;
        let size = |pages: u64| Size::from_bytes(pages.saturating_mul(each));
        let (pages, most) = (self.pages(), numbers::LARGEST - 1);
        if pages > most {
            let problem = format!(
                "the drive has {pages} logical pages of {}; at most {most} can be simulated, which is {}; \
                 use larger ones (device.logical_page){}",
                Size::from_bytes(each),
                size(most),
                SCALE
            );
            return Err(Invalid::new(&["device.channels", "device.blocks_per_plane"], problem));
        }
        let largest = u64::MAX / pages;
        if u64::from(self.pages_per_block) > largest {
            let problem = format!(
                "{} logical pages of {} are erased together; of {pages} at most {largest} can be, which is {}; \
                 use larger ones (device.logical_page){}",
                self.pages_per_block,
                Size::from_bytes(each),
                size(largest),
                SCALE
            );
            return Err(Invalid::new(
                &["device.pages_per_block", "device.cleaning.reclaim"],
                problem,
            ));
        }
        Ok(())
    }

    /// Checks that the initial data fit into the memory of a large machine.
    pub(super) fn check_filled(&self, config: &SsdConfig) -> Result<(), Invalid> {
        let needed = self.memory(config, config.fill.share());
        if needed <= MOST_MEMORY {
            return Ok(());
        }
        let each = u64::from(self.sectors_per_page) * SECTOR_BYTES;
        let problem = format!(
            "{} takes {needed} bytes of memory, {} of them for each of {} logical pages of {}, and \
             {MOST_MEMORY} is the most; fill less (what is empty takes none) or use larger pages \
             (device.logical_page){}",
            config.fill,
            self.bytes_per_page(config),
            self.exported_pages(),
            Size::from_bytes(each),
            SCALE
        );
        Err(Invalid::new(&["device.fill", "device.blocks_per_plane"], problem))
    }
}
