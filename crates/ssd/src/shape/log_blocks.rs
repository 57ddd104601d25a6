//! Shape of a drive with log blocks.

use super::{Geometry, check::spare};
use crate::config::{FillOrder, Gang, Interleave, MOST_LOG_BLOCKS, SsdConfig};
use crate::ids::Lpn;
use engine::SECTOR_BYTES;
use options::Invalid;

const SCHEME: &str = "device.log_blocks.scheme";
const COUNT: &str = "device.log_blocks.count";

impl Geometry {
    /// Index of a logical page in its pool.
    pub fn index_in_pool(&self, lpn: Lpn) -> u64 {
        let stripe = u64::from(self.stripe_pages);
        lpn.0 / stripe / u64::from(self.pools) * stripe + lpn.0 % stripe
    }

    /// Granularity of a pool's exported pages: a stripe, or with a block-level map a block.
    pub fn exported_at_a_time(&self, config: &SsdConfig) -> u64 {
        if config.log_blocks.are_used() {
            return u64::from(self.data_pages);
        }
        if self.pools > 1 { u64::from(self.stripe_pages) } else { 1 }
    }

    /// Constraints of log blocks.
    ///
    /// # Errors
    /// [`Invalid`], with the keys.
    pub fn check_log_blocks(&self, config: &SsdConfig) -> Result<(), Invalid> {
        if !config.log_blocks.are_used() {
            return Ok(());
        }
        let count = config.log_blocks.count;
        if !(1..=MOST_LOG_BLOCKS).contains(&count) {
            let problem = format!("{count} is not possible; from 1 to {MOST_LOG_BLOCKS}");
            return Err(Invalid::new(&[COUNT], problem));
        }
        let gang = config.gang != Gang::SharedBus && config.packages_per_channel > 1;
        let pair = config.interleave == Interleave::Plane && config.planes_per_die > 1;
        let random = config.fill_order == FillOrder::Random && config.fill.share() > 0.0;
        let page = config.page_size;
        let other_page = config.logical_page.is_some_and(|it| it != page);
        let contradictions = [
            (other_page, "device.logical_page", "log blocks are of pages; leave out logical_page"),
            (gang, "device.gang", "packages merge by themselves; use gang = \"shared-bus\""),
            (pair, "device.interleave", "planes of a pair merge by themselves; use \"plane-pair\""),
            (
                config.cache_commands,
                "device.cache_commands",
                "a merge copies page by page; use false",
            ),
            (
                random,
                "device.fill_order",
                "a map of blocks holds each in order; use \"sequential\"",
            ),
            (
                self.domains != self.pools || self.domains_per_unit * self.units != self.pools,
                "device.pool",
                "a pool must lie in one unit and have one active block, for its log blocks are chosen together",
            ),
            (
                !self.data_pages.is_multiple_of(self.stripe_pages),
                "device.stripe",
                "a block must hold whole stripes",
            ),
            (
                self.data_pages < 2,
                "device.pages_per_block",
                "a block of one page has nothing to gather",
            ),
        ];
        for (holds, key, problem) in contradictions {
            if holds {
                return Err(Invalid::new(&[key, SCHEME], problem.to_owned()));
            }
        }
        let blocks = self.blocks_per_domain;
        let physical = u64::from(blocks) * u64::from(self.data_pages);
        let bytes = u64::from(self.sectors_per_page) * SECTOR_BYTES;
        let (key, exported) =
            spare(config, blocks, physical, self.data_pages, (self.pools, bytes))?;
        let left = (physical - exported.min(physical)) / u64::from(self.data_pages);
        let needed = u64::from(self.frontiers + self.low_blocks) + 1;
        if left < needed {
            let problem = format!(
                "a pool has {left} spare blocks of {blocks}; {count} log blocks need {needed} with those that merges \
                 fill and keep erased; use fewer or raise the spare space"
            );
            return Err(Invalid::new(&[COUNT, key], problem));
        }
        Ok(())
    }
}
