//! Shape of a drive with power cuts.

use super::{Geometry, check, groups};
use crate::config::{Frontiers, SsdConfig};
use options::Invalid;

impl Geometry {
    /// A cut closes the open blocks, so a drive with recovery keeps as many more erased.
    pub(super) fn keep_room_for_cuts(&mut self, config: &SsdConfig) -> Result<(), Invalid> {
        if config.persistence.recovers() {
            check::recovery(config)?;
            let blocks = self.frontiers + self.least_free_after_cut() - 1;
            self.kept_for_cuts = blocks * self.data_pages;
            self.low_blocks = self.low_blocks.max(1 + blocks);
        }
        self.keep_room_for_padding(config);
        Ok(())
    }

    /// If host pages and copies share open blocks behind a write buffer, padding of host groups
    /// takes room that copies need. A block that is folded has pages of all handles, each of which may need another
    /// unit for its own.
    fn keep_room_for_padding(&mut self, config: &SsdConfig) {
        let Some(groups) = &self.groups else { return };
        self.kept_for_padding = match config.fdp.chooses() {
            true if config.folds() => config.fdp.handles * self.data_pages,
            false if config.frontiers() != Frontiers::SeparateMoved => {
                self.frontiers * groups.units
            }
            _ => return,
        };
        self.low_blocks = self.low_blocks.max(1 + self.kept_pages().div_ceil(self.data_pages));
    }

    /// Pages of a domain kept erased, besides those for the current cleaning.
    pub(crate) fn kept_pages(&self) -> u32 {
        self.kept_for_cuts + self.kept_for_padding
    }

    /// Erased blocks of a domain needed after a cut: with a write buffer one for rewritten pages,
    /// and another to start garbage collection.
    pub(crate) fn least_free_after_cut(&self) -> u32 {
        if self.groups.is_some() { 2 } else { 1 }
    }

    /// Pages of a domain kept erased for the next cleaning, for cuts and for padding.
    pub fn reserved_pages(&self) -> u32 {
        self.data_pages + self.kept_pages()
    }

    /// Pages taken by a block's summary.
    pub(crate) fn summary_pages(&self) -> u64 {
        self.groups.map_or(1, |groups| u64::from(groups.summary_units()))
    }

    /// Reads (of all planes of a die) of a block's summary behind a write buffer.
    pub(crate) fn summary_reads(&self) -> u64 {
        let Some(groups) = &self.groups else { return 1 };
        let row = u64::from(groups.planes) * u64::from(groups.page_bytes);
        groups::summary_bytes(self.data_pages).div_ceil(row)
    }

    /// Flash pages per lane of `pages` logical pages of a block.
    pub fn flash_pages(&self, pages: u32) -> u64 {
        let each = u64::from(self.granule.pages_per_lane());
        (u64::from(pages) * each).div_ceil(u64::from(self.granule.parts))
    }
}
