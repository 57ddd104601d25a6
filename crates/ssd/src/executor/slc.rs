//! The SLC cache of a drive with a write buffer: when its blocks are folded.

use super::{Buffered, Cx, Executor};
use crate::cache::SlcState;
use crate::ids::Domain;

impl Buffered {
    /// Has another block of the cache folded, where that is not left to when space is short.
    pub(super) fn fold_on(&mut self, cx: &mut Cx<'_>) {
        let domain = Domain(0);
        let wanted = self.cache.slc().is_some_and(|slc| slc.folds_now());
        let cleans = self.mover.has_victim(domain);
        // While the host rests, a half-cleaned victim comes first, since it would otherwise not be
        // finished.
        let rests = || self.cache.slc_account().is_some_and(|slc| slc.state() == SlcState::Idle);
        let next =
            if cleans { rests() && cx.ftl.slc_blocks() > 0 } else { cx.ftl.can_fold(domain) };
        if wanted && next {
            self.cache.pace().ask(domain.0, true);
        }
    }

    pub(super) fn begin_fold(&mut self, domain: Domain, cx: &mut Cx<'_>) -> bool {
        let Some(job) = cx.ftl.begin_fold(domain) else { return false };
        self.mover.begin(job);
        true
    }

    /// True if the fold rate permits another group.
    pub(super) fn may_fold(&mut self, cx: &mut Cx<'_>) -> bool {
        self.cache.slc().is_none_or(|slc| slc.may_fold(cx.clock))
    }

    /// A timer of the SLC cache has ended.
    pub(crate) fn slc_timer_ended(&mut self, timer: u32, cx: &mut Cx<'_>) {
        let (blocks, waits) = (cx.ftl.slc_blocks(), self.cache.backlog() > 0);
        if let Some(slc) = self.cache.slc() {
            slc.timer_ended(timer, waits, blocks, cx.clock);
        }
        self.mover.ask(Domain(0));
        self.settle(cx);
    }
}
