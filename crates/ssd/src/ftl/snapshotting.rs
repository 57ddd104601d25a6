//! Snapshots in the FTL: before the host changes a page, and when one is made or dropped.

use super::snapshots::Snapshots;
use super::{Ftl, Programming};
use crate::flash::Flash;
use crate::ids::{Lpn, Ppn};

impl Ftl {
    /// The host is going to write bytes, or to read: makes a snapshot before, if that is ordered or it is time for one.
    pub fn snapshot_before(&mut self, bytes: u64, is_ordered: bool) {
        let is_due = self.snapshots.as_mut().is_some_and(|it| bytes > 0 && it.note_written(bytes));
        if is_due || is_ordered {
            self.make_snapshot(bytes);
        }
    }

    /// Makes a snapshot before bytes are written; where there are as many as are kept the oldest is dropped.
    pub fn make_snapshot(&mut self, bytes: u64) {
        if self.snapshots.as_ref().is_some_and(|it| it.are_full()) {
            self.drop_oldest_snapshot();
        }
        if let Some(snapshots) = self.snapshots.as_mut() {
            snapshots.make(&self.map, bytes);
        }
    }

    /// The host is about to overwrite or trim a page: the newest snapshot takes over the shared
    /// copy.
    #[inline]
    pub fn keep_shared(&mut self, flash: &mut Flash, lpn: Lpn) {
        if self.snapshots.is_some() {
            self.keep_for_newest(flash, lpn);
        }
    }

    fn keep_for_newest(&mut self, flash: &mut Flash, lpn: Lpn) {
        let own = self.snapshots.as_mut().and_then(|it| it.take_shared(lpn));
        let Some(own) = own else { return };
        let old = self.lift(lpn).expect("a shared page has an entry");
        self.map.set(own, old);
        let pool = self.geometry.pool_of(lpn);
        if let Some(snapshots) = self.snapshots.as_mut() {
            snapshots.hold((pool, &self.geometry), (old, own), flash);
        }
        self.keep_writer(lpn, own);
        while self.snapshots.as_mut().is_some_and(|it| it.crowd_out(pool)) {
            self.drop_oldest_snapshot();
        }
    }

    /// True if a host page has not moved since the newest snapshot, so that its next write needs
    /// another location, also in a write buffer.
    #[inline]
    pub fn is_shared(&self, lpn: Lpn) -> bool {
        self.snapshots.as_ref().is_some_and(|it| it.is_shared(lpn))
    }

    /// True if there is no snapshot that shares a page.
    pub fn is_all_hosts(&self) -> bool {
        self.snapshots.as_ref().is_none_or(|it| !it.are_there())
    }

    /// A page has been programmed, and may need another number.
    pub fn label_programmed(&mut self, flash: &mut Flash, ppn: Ppn) {
        if let Some(snapshots) = self.snapshots.as_mut().filter(|it| it.have_unlabelled()) {
            snapshots.label(&self.map, ppn, flash);
        }
    }

    /// A program that is under way, with the number that its page has now.
    pub fn renumbered(&self, programming: Programming) -> Programming {
        let number = |it: &Snapshots| it.number_of(&self.map, programming.ppn);
        let lpn = self.snapshots.as_deref().and_then(number).unwrap_or(programming.lpn);
        Programming { lpn, ..programming }
    }

    /// Drops the oldest snapshot, if any.
    pub fn drop_oldest_snapshot(&mut self) {
        let Some(snapshots) = self.snapshots.as_mut().filter(|it| it.are_there()) else { return };
        for (own, ppn) in snapshots.drop_oldest(&mut self.map, &self.geometry) {
            self.supersede(ppn.into());
            self.drop_writer(own);
        }
    }

    /// Drops all snapshots.
    pub fn drop_snapshots(&mut self) {
        while self.snapshots.as_ref().is_some_and(|it| it.are_there()) {
            self.drop_oldest_snapshot();
        }
    }

    /// Under which number a page of a snapshot is read, the newest being 1; none where it was not there.
    pub fn page_of_snapshot(&self, back: u32, lpn: Lpn) -> Option<Lpn> {
        self.snapshots.as_ref().map_or(Some(lpn), |it| it.page(&self.map, back, lpn))
    }

    /// Checks the snapshots' pages.
    ///
    /// # Errors
    /// Our mistake.
    pub fn check_snapshots(&self) -> Result<(), String> {
        self.snapshots.as_ref().map_or(Ok(()), |it| it.check(&self.map, &self.geometry))
    }
}

#[cfg(test)]
#[path = "snapshots_tests.rs"]
mod tests;
