//! Checkpoints of the map.

use crate::ssd::Ssd;
use crate::ssd::config::SsdConfig;
use crate::ssd::ids::Unit;
use crate::ssd::shape::Geometry;

/// The checkpoints of a drive.
#[derive(Debug, Clone)]
pub(in crate::ssd) struct Checkpoints {}

impl Checkpoints {
    pub(super) fn new(_config: &SsdConfig, _geometry: &Geometry) -> Checkpoints {
        Checkpoints {}
    }
}

impl Ssd {
    /// A page of a checkpoint is written.
    pub(super) fn checkpoint_page_written(&mut self, _unit: Unit) {}
}
