//! Time that passes without requests, and requests without time, of a drive whose data age.

use crate::ids::Lpn;
use crate::media::planted::Mistake;
use crate::media::{Media, MediaReport};
use crate::page::Owner;
use crate::{Ssd, front};
use engine::{Op, Request, Status};
use std::ops::Range;

impl Ssd {
    /// Logical pages are trimmed: whoever reads them finds nothing that could be lost.
    pub fn note_trimmed(&mut self, pages: Range<u64>) {
        if let Some(media) = self.flash.media_mut().filter(|media| media.knows_losses()) {
            pages.for_each(|lpn| media.losses_mut().heal(lpn, None));
        }
    }

    /// Logical pages have been written in full without time.
    pub fn note_overwritten(&mut self, pages: &[u64]) {
        if !self.flash.media().is_some_and(Media::knows_losses) {
            return;
        }
        for lpn in pages {
            let at = self.ftl.lookup(Lpn(*lpn)).map(|ppn| ppn.0);
            if let Some(media) = self.flash.media_mut() {
                media.losses_mut().heal(*lpn, at);
            }
        }
    }

    /// Effects of age on an untimed read or write.
    pub fn meet_age_untimed(&mut self, request: &Request) -> Status {
        if self.flash.media().is_none() {
            return Status::Ok;
        }
        if request.op == Op::Write {
            self.begin_over_losses(request);
            return Status::Ok;
        }
        let (mut last, mut status) = (None, Status::Ok);
        // True if the last flash page counted as a poisoned copy.
        let mut counted = false;
        for lpn in front::touched(self.geometry(), request).map(Lpn) {
            let Some(ppn) = self.ftl.lookup(lpn) else { continue };
            let geometry = self.ftl.geometry();
            let page = front::page_request(geometry, request, lpn, Owner::Nobody);
            let start = lpn.0 * u64::from(geometry.sectors_per_page);
            let skipped = (request.lba.0.saturating_sub(start) * engine::SECTOR_BYTES) as u32;
            let (block, number) = (geometry.block_of(ppn), geometry.page_in_block(ppn));
            let Some(media) = self.flash.media() else { return status };
            let was_lost = media.losses().is_partial(lpn.0) || media.losses().is_poisoned(ppn.0);
            let mut is_lost = false;
            if !self.ftl.is_waiting(lpn) {
                for page in media.pages_in(block, number, (skipped, page.bytes)) {
                    let outcome = match last {
                        Some((seen, outcome)) if seen == page => outcome,
                        _ => {
                            counted = false;
                            self.note_host_read(page.block);
                            self.flash.look(page, true)
                        }
                    };
                    last = Some((page, outcome));
                    is_lost |= outcome.lost;
                }
                if was_lost && !is_lost && !std::mem::replace(&mut counted, true) {
                    self.count_poisoned_read();
                }
            }
            is_lost |= was_lost;
            if is_lost && let Some(media) = self.flash.media_mut() {
                media.count_unreadable();
                if !Mistake::UntimedNeverFails.is_planted() {
                    status = Status::Unreadable;
                }
            }
        }
        status
    }

    /// Report of the media, where data age.
    pub fn media_report(&self) -> Option<MediaReport> {
        let mut report = self.flash.media()?.clone().report(|block| self.flash.written(block));
        let counters = &self.ftl.counters;
        report.patrol_reads = counters.patrol_reads;
        report.moved_blocks = [counters.refreshed_blocks, counters.reclaimed_blocks];
        Some(report)
    }
}
