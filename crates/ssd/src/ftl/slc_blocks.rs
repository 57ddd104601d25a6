//! Limits of the SLC cache, and the number of its blocks.

use crate::config::SsdConfig;
use crate::ids::Stream;
use crate::shape::Geometry;

/// The cache, as far as blocks go.
#[derive(Debug, Clone)]
pub struct Slc {
    pub stream: Stream,
    pub dynamic: f64,
    pub gone_at: f64,
    /// Blocks of which the limit is.
    pub limit: u32,
    /// Blocks with one bit per cell, open ones included.
    pub blocks: u32,
    /// Blocks that are always of the cache.
    pub fixed: u32,
}

impl Slc {
    pub fn new(config: &SsdConfig, geometry: &Geometry) -> Option<Box<Slc>> {
        let keys = &config.slc_cache;
        geometry.groups.as_ref().filter(|_| keys.is_on())?;
        let limit =
            keys.limit.map_or(u64::from(u32::MAX), |it| geometry.slc_blocks_for(config, it));
        Some(Box::new(Slc {
            stream: Stream(geometry.frontiers - 1),
            dynamic: keys.dynamic,
            gone_at: keys.gone_at,
            limit: limit.min(u64::from(u32::MAX)) as u32,
            blocks: 0,
            fixed: geometry.static_blocks,
        }))
    }

    /// Counts an opened block.
    pub fn opened(&mut self) {
        self.blocks += 1;
    }

    /// Counts an erased block.
    pub fn erased(&mut self) {
        self.blocks -= 1;
    }

    /// Sets the number of blocks.
    pub fn found(&mut self, blocks: u32) {
        self.blocks = blocks;
    }
}
