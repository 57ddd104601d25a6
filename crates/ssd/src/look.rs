//! The state of a drive's flash at an instant, for a view.

use super::Ssd;
use super::ids::{Block, Unit};
use super::media::Media;
use crate::device::{BlockLook, Looks, UNREADABLE};

impl Ssd {
    /// Adds the blocks of this drive, by number.
    pub(super) fn show_blocks(&self, looks: &mut Looks) {
        let (ftl, flash) = (&self.ftl, &self.flash);
        let geometry = self.geometry();
        let first = looks.blocks.len();
        let media = flash.media();
        let look = |number| {
            let block = Block(number);
            let holds = media.filter(|_| flash.programmed(block) > 0);
            BlockLook {
                valid: ftl.valid(block),
                programmed: flash.programmed(block).min(geometry.data_pages),
                erases: flash.erases()[block.at()],
                unit: geometry.unit_of(geometry.domain_of(block)).0,
                state: ftl.state(block),
                stream: ftl.stream(block),
                is_frontier: false,
                retries: holds.map_or(0, |media| retries(media, block, flash.erases()[block.at()])),
            }
        };
        looks.blocks.extend((0..geometry.blocks()).map(look));
        for block in ftl.frontiers() {
            looks.blocks[first + block.at()].is_frontier = true;
        }
        let units = || (0..geometry.units).map(|unit| geometry.unit_name(Unit(unit))).collect();
        looks.add_drive(first, (geometry.data_pages, media.is_some()), units);
    }
}

/// Senses beyond the first that the mean page of a block takes.
fn retries(media: &Media, block: Block, erases: u32) -> u8 {
    let outcome = media.class_of(block, erases);
    if outcome.lost {
        return UNREADABLE;
    }
    u8::try_from(outcome.steps + outcome.soft).unwrap_or(UNREADABLE).min(UNREADABLE - 1)
}
