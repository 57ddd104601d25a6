//! Autonomous operations of the drive, and views of its state: pages that it writes for itself,
//! power cuts, accounts and records.

use crate::Ssd;
use crate::ftl::Programming;
use crate::media::MediaReport;
use crate::timeline::{Recorder, Timeline, Window};
use engine::Time;

impl Ssd {
    /// Programs unknown to the flash, in order of start, with the requests whose data they contain.
    pub(crate) fn owned_programs(&self) -> Vec<(Programming, Option<u64>)> {
        let writer = |owner, lpn| self.writer_of(owner, lpn);
        self.seen().programs(&self.ftl, self.clock.now, &writer)
    }

    /// Drops all operations and waiting pages.
    pub(crate) fn machines_lose_power(&mut self, now: Time) {
        let (executor, cx) = self.executor();
        executor.lose_power(cx.ftl.geometry(), now);
        self.ftl.forget_care();
        if let Some(blocks) = &mut self.blocks {
            blocks.lose_power();
        }
        if let Some(map) = &mut self.map {
            map.lose_power();
            self.ftl.forget_map();
        }
        self.answers.clear();
    }

    /// Pages whose programming has begun: the map knows them, the flash does not yet.
    pub(crate) fn programming(&self) -> Vec<Programming> {
        let begun = self.seen().programming().into_iter();
        begun.map(|it| self.ftl.renumbered(it)).collect()
    }

    /// Starts counting from zero.
    pub(crate) fn reset_counters(&mut self) {
        if let Some(blocks) = &mut self.blocks {
            blocks.end_untimed((&mut self.ftl, &mut self.flash));
        }
        self.ftl.end_untimed(&mut self.flash);
        self.ftl.reset_counters(&self.flash);
        self.front.reset_queues();
        let now = self.clock.now;
        self.executor().0.reset_counts(now);
        if let Some(media) = self.flash.media_mut() {
            media.reset_counts();
        }
    }

    /// Report of the media, where data age.
    pub(crate) fn media_report(&self) -> Option<MediaReport> {
        let mut report = self.flash.media()?.clone().report(|block| self.flash.written(block));
        let counters = &self.ftl.counters;
        report.patrol_reads = counters.patrol_reads;
        report.moved_blocks = [counters.refreshed_blocks, counters.reclaimed_blocks];
        Some(report)
    }

    /// Notes the operations of a window from now on.
    pub(crate) fn record_window(&mut self, window: Window) {
        self.recorder = Some(Box::new(Recorder::new(window)));
    }

    /// Recorded operations.
    pub(crate) fn take_record(&mut self) -> Option<Timeline> {
        let recorder = self.recorder.take()?;
        Some(recorder.finish(self.geometry()))
    }
}
