//! The SLC cache on a drive with placement handles: its blocks take data of all handles, and folding takes them apart.

use super::Ftl;
use crate::ids::{Block, Domain, Lpn, Stream};

impl Ftl {
    /// True if pages of a block go to units of several handles, because it is of the cache.
    #[inline]
    pub(super) fn folds_by_handle(&self, block: Block) -> bool {
        self.tells_handles() && self.is_slc(block)
    }

    /// True if the pages of a block of the cache find places: each handle may need another unit.
    pub(super) fn has_room_to_fold(&self, domain: Domain, block: Block) -> bool {
        let Some(fdp) = self.fdp().filter(|_| self.tells_handles()) else { return true };
        let handles = fdp.of_group();
        let is_short = |stream: &u32| self.left_on(domain, Stream(*stream)) < self.valid(block);
        let short = (handles..2 * handles).filter(is_short).count();
        self.free.count(domain) as usize >= short
    }

    /// A page was moved out of a block; from a block of the cache it counts for its own handle.
    pub(super) fn count_folded_of(&mut self, lpn: Lpn, from: Block) {
        if self.folds_by_handle(from)
            && let Some(fdp) = self.fdp_mut()
        {
            fdp.folded(lpn);
        }
    }
}
