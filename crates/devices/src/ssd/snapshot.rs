//! The state of a drive, to be kept and taken up again.
//!
//! Kept is what cannot be derived: the flash, the map, the order of the blocks, and what wear and the
//! detector of hot pages remember. Counts start from zero, and the generator of the policies from
//! the seed of the run that takes the drive up.

use super::config::SsdConfig;
use super::ftl::FtlState;
use super::nand::FlashState;
use super::{Geometry, Ssd};
use serde::{Deserialize, Serialize};

/// A drive between two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// What of the configuration the state depends on: key and value.
    shape: Vec<(String, String)>,
    flash: FlashState,
    ftl: FtlState,
}

/// The keys that a drive must share with the one whose state it takes up.
fn shape(config: &SsdConfig, geometry: &Geometry) -> Vec<(String, String)> {
    let optional =
        |size: Option<options::Size>| size.map_or("none".to_owned(), |it| it.to_string());
    let pairs = [
        ("device.channels", config.channels.to_string()),
        ("device.packages_per_channel", config.packages_per_channel.to_string()),
        ("device.gang", config.gang.to_string()),
        ("device.dies_per_package", config.dies_per_package.to_string()),
        ("device.planes_per_die", config.planes_per_die.to_string()),
        ("device.blocks_per_plane", config.blocks_per_plane.to_string()),
        ("device.pages_per_block", config.pages_per_block.to_string()),
        ("device.page_size", config.page_size.to_string()),
        ("device.summary_page", config.summary_page.to_string()),
        ("device.interleave", config.interleave.to_string()),
        ("device.logical_page", optional(config.logical_page)),
        ("device.page_span", config.page_span.unwrap_or(1).to_string()),
        ("device.pool", config.pool.to_string()),
        ("device.active_blocks", config.active_blocks.to_string()),
        ("device.stripe", optional(config.stripe)),
        ("device.free_order", config.free_order.to_string()),
        ("device.cleaning.copy_back", config.cleaning.copy_back.to_string()),
        ("device.cleaning.frontiers", config.cleaning.frontiers.to_string()),
        ("device.cleaning.hot_cold.detector", config.cleaning.hot_cold.detector.to_string()),
        ("device.cleaning.hot_cold.memory", config.cleaning.hot_cold.memory.to_string()),
        (
            "device.cleaning.levelling.temperature",
            config.cleaning.levelling.temperature.to_string(),
        ),
        ("device.cleaning.min_free", config.cleaning.min_free.to_string()),
        ("device.wear.rated_cycles", config.wear.rated_cycles.to_string()),
        ("device.wear.spread", config.wear.spread.to_string()),
        ("device.persistence.order", config.persistence.order.to_string()),
        // However it is stated.
        ("device.spare_factor, in pages exported", geometry.exported_pages().to_string()),
    ];
    pairs.map(|(key, value)| (key.to_owned(), value)).to_vec()
}

impl Ssd {
    /// The state of the drive, which must not be serving anything.
    pub(super) fn snapshot(&self) -> Snapshot {
        assert!(self.now == 0 && self.in_device == 0, "a drive is kept between two runs");
        Snapshot {
            shape: shape(&self.config, self.ftl.geometry()),
            flash: self.flash.keep(),
            ftl: self.ftl.keep(),
        }
    }

    /// Takes up a state, or says why this drive cannot: the keys that differ.
    pub(super) fn take_up(&mut self, snapshot: Snapshot) -> Result<(), String> {
        let ours = shape(&self.config, self.ftl.geometry());
        let theirs = &snapshot.shape;
        if ours.len() != theirs.len() {
            return Err("it is of another kind of drive".to_owned());
        }
        let differing: Vec<String> = ours
            .iter()
            .zip(theirs)
            .filter(|(ours, theirs)| ours != theirs)
            .map(|((key, here), (_, there))| format!("{key} is {there} there and {here} here"))
            .collect();
        if !differing.is_empty() {
            return Err(format!("it is of another drive: {}", differing.join("; ")));
        }
        self.flash.take_up(snapshot.flash)?;
        self.ftl.take_up(&self.flash, snapshot.ftl)?;
        self.check().map_err(|problem| format!("its state is not sound: {problem}"))
    }
}
