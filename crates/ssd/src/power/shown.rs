//! Test access to a drive around power cuts.

use super::state::{PowerReport, UnderWay};
use crate::Ssd;
use crate::ids::{Block, Lpn, Ppn};

impl Ssd {
    /// Programs in progress, in order of start.
    pub fn programs_under_way(&self) -> Vec<UnderWay> {
        let all = self.owned_programs();
        let data = all.into_iter().filter(|(it, _)| it.lpn != Lpn::PADDING);
        let under_way = data.map(|(it, request)| UnderWay {
            ppn: it.ppn,
            lpn: it.lpn,
            order: it.order,
            old: it.old.ppn(),
            request,
        });
        under_way.collect()
    }

    /// Location from which a page is read.
    pub fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.ftl.lookup(lpn)
    }

    /// Request whose data of a page are in the block buffer.
    pub fn gathered_writer(&self, lpn: Lpn) -> Option<u64> {
        self.blocks.as_ref()?.writer(lpn)
    }

    /// Erases of each block, and true for retired blocks.
    pub fn wear_of_blocks(&self) -> (Vec<u32>, Vec<bool>) {
        let flash = &self.flash;
        let blocks = (0..self.geometry().blocks()).map(Block);
        (flash.erases().to_vec(), blocks.map(|block| flash.is_retired(block)).collect())
    }

    /// Low 32 bits of a page's program number.
    pub fn order_at(&self, ppn: Ppn) -> u32 {
        self.flash.order(ppn)
    }

    /// True if a checkpoint is being written.
    pub fn writes_checkpoint(&self) -> bool {
        self.power.as_ref().is_some_and(|power| power.checkpoints.writing.is_some())
    }

    /// Report on power cuts; `None` for a drive without recovery.
    pub fn power_report(&self) -> Option<&PowerReport> {
        self.power.as_deref().map(|power| &power.report)
    }
}
