//! Shape of an SLC cache: capacity of its blocks.

use super::Geometry;
use crate::config::SsdConfig;
use options::{Invalid, Size};

impl Geometry {
    /// Capacity of a block with one bit per cell; 0 without a write buffer.
    fn slc_block_bytes(&self) -> u64 {
        self.groups.as_ref().map_or(1, |groups| {
            u64::from(groups.one_bit_units_per_block()) * u64::from(groups.unit_bytes)
        })
    }

    /// Blocks needed for SLC cache data of this size, on a drive simulated in part.
    pub fn slc_blocks_for(&self, config: &SsdConfig, size: Size) -> u64 {
        let scale = u64::from(config.scale.max(1));
        (size.bytes() / scale).div_ceil(self.slc_block_bytes())
    }

    /// Number of static SLC cache blocks.
    ///
    /// # Errors
    /// When they leave too few other blocks.
    pub fn static_slc_blocks(&self, config: &SsdConfig) -> Result<u32, Invalid> {
        let size = config.slc_cache.r#static;
        let Some(groups) = self.groups.filter(|_| config.slc_cache.is_on()) else { return Ok(0) };
        if !groups.summarizes_one_bit() {
            let problem = format!(
                "a block of {} pages with one bit a cell has no room for their summary; use larger blocks or \
                 summary_page = false",
                groups.one_bit_units_per_block()
            );
            return Err(Invalid::new(&["device.summary_page", "device.slc_cache"], problem));
        }
        if size.bytes() == 0 {
            return Ok(0);
        }
        let wanted = self.slc_blocks_for(config, size);
        // Half of the drive, and the garbage collection reserve.
        let most = u64::from(self.blocks_per_domain / 2);
        if wanted <= most {
            return Ok(wanted as u32);
        }
        let scale = u64::from(config.scale.max(1));
        let problem = format!(
            "{size} takes {wanted} of the {} blocks of the drive; at most {most} of them, {}",
            self.blocks_per_domain,
            Size::from_bytes(most * self.slc_block_bytes() * scale)
        );
        let keys = ["device.slc_cache.static", "device.blocks_per_plane", "device.cell.bits"];
        Err(Invalid::new(&keys, problem))
    }
}
