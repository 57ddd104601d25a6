//! Shape of a block buffer.

use super::Geometry;
use crate::config::SsdConfig;
use engine::SECTOR_BYTES;
use options::{Invalid, Size};

const SIZE: &str = "device.block_buffer.size";
const BLOCK: &str = "device.block_buffer.block";
const FLUSHES: &str = "device.block_buffer.flushes";
const AHEAD: &str = "device.block_buffer.read_ahead";

/// Maximum size of a block, and of read-ahead.
const LARGEST: u64 = 1 << 28;
/// Maximum number of blocks in a buffer; evictions search all of them.
const MOST_BLOCKS: u64 = 1 << 16;

impl Geometry {
    /// Default number of logical pages per block of the block buffer.
    fn gathered_by_default(&self, config: &SsdConfig) -> u64 {
        if self.granule.flash_pages > 1 {
            return 1;
        }
        let is_striped = config.log_blocks.are_used() && self.stripe_pages < self.data_pages;
        u64::from(self.data_pages) * if is_striped { u64::from(self.pools) } else { 1 }
    }

    /// Logical pages per block of the block buffer.
    pub fn gathered_pages(&self, config: &SsdConfig) -> u64 {
        match config.block_buffer.block {
            None => self.gathered_by_default(config),
            Some(size) => size.bytes() / self.logical_bytes(),
        }
    }

    fn logical_bytes(&self) -> u64 {
        u64::from(self.sectors_per_page) * SECTOR_BYTES
    }

    /// Constraints of a block buffer.
    ///
    /// # Errors
    /// [`Invalid`], with the keys.
    pub fn check_block_buffer(&self, config: &SsdConfig) -> Result<(), Invalid> {
        let keys = &config.block_buffer;
        let refuse = |keys: &[&str], problem: String| Err(Invalid::new(keys, problem));
        if !keys.is_used() {
            return Ok(());
        }
        if config.is_buffered() {
            let problem = "a block buffer is one of drives without a write buffer; use one of both"
                .to_owned();
            let key = if keys.gathers() { SIZE } else { AHEAD };
            return refuse(&[key, "device.buffer.size"], problem);
        }
        let page = Size::from_bytes(self.logical_bytes());
        let ahead = keys.read_ahead;
        if ahead.bytes() > LARGEST || !ahead.bytes().is_multiple_of(SECTOR_BYTES) {
            let most = Size::from_bytes(LARGEST);
            let problem = format!("{ahead} is not possible; whole sectors of 512B, {most} at most");
            return refuse(&[AHEAD], problem);
        }
        if !keys.gathers() {
            return Ok(());
        }
        if let Some(block) = keys.block
            && (block.bytes() == 0
                || !block.bytes().is_multiple_of(page.bytes())
                || block.bytes() > LARGEST)
        {
            let most = Size::from_bytes(LARGEST);
            let problem = format!(
                "{block} is not possible; a multiple of the logical page, {page}, up to {most}"
            );
            return refuse(&[BLOCK, "device.logical_page"], problem);
        }
        let block = Size::from_bytes(self.gathered_pages(config) * page.bytes());
        let blocks = keys.size.bytes() / block.bytes();
        if !keys.size.bytes().is_multiple_of(block.bytes()) || !(2..=MOST_BLOCKS).contains(&blocks)
        {
            let problem = format!(
                "{} is not possible; a multiple of the blocks of {block} that gather, from 2 to {MOST_BLOCKS}",
                keys.size
            );
            return refuse(&[SIZE, BLOCK], problem);
        }
        if let Some(flushes) = keys.flushes
            && (flushes == 0 || u64::from(flushes) >= blocks)
        {
            let problem = format!(
                "{flushes} is not possible; from 1 to {}, less than the {blocks} blocks of the buffer",
                blocks - 1
            );
            return refuse(&[FLUSHES, SIZE], problem);
        }
        Ok(())
    }
}
