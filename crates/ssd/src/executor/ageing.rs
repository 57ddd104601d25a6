//! Time that passes without requests, and requests without time, of a drive whose data age.

use super::{Buffered, Cx};
use crate::front;
use crate::ftl::Ftl;
use crate::ids::Lpn;
use crate::media::Media;
use crate::media::planted::Mistake;
use crate::page::Owner;
use engine::{Op, Request, Status};
use std::ops::Range;

impl Buffered {
    /// Logical pages are trimmed: their reads cannot fail any more.
    pub fn note_trimmed(pages: Range<u64>, cx: &mut Cx<'_>) {
        if let Some(media) = cx.flash.media_mut().filter(|media| media.knows_losses()) {
            pages.for_each(|lpn| media.losses_mut().heal(lpn, None));
        }
    }

    /// Logical pages have been written in full without time.
    pub fn note_overwritten(pages: &[u64], cx: &mut Cx<'_>) {
        if !cx.flash.media().is_some_and(Media::knows_losses) {
            return;
        }
        for lpn in pages {
            let at = cx.ftl.lookup(Lpn(*lpn)).map(|ppn| ppn.0);
            if let Some(media) = cx.flash.media_mut() {
                media.losses_mut().heal(*lpn, at);
            }
        }
    }

    /// Effects of age on an untimed read or write; `name` has the numbers of the pages that are read.
    pub fn meet_age_untimed(
        &mut self,
        request: &Request,
        name: impl Fn(&Ftl, Lpn) -> Option<Lpn>,
        cx: &mut Cx<'_>,
    ) -> Status {
        if cx.flash.media().is_none() {
            return Status::Ok;
        }
        if request.op == Op::Write {
            self.begin_over_losses(request, cx);
            return Status::Ok;
        }
        let (mut last, mut status) = (None, Status::Ok);
        // True if the last flash page counted as a poisoned copy.
        let mut counted = false;
        for lpn in front::touched(cx.ftl.geometry(), request).map(Lpn) {
            let Some(number) = name(cx.ftl, lpn) else { continue };
            let Some(ppn) = cx.ftl.lookup(number) else { continue };
            let geometry = cx.ftl.geometry();
            let page = front::page_request(geometry, request, lpn, Owner::Nobody);
            let start = lpn.0 * u64::from(geometry.sectors_per_page);
            let skipped = (request.lba.0.saturating_sub(start) * engine::SECTOR_BYTES) as u32;
            let (block, at) = (geometry.block_of(ppn), geometry.page_in_block(ppn));
            let Some(media) = cx.flash.media() else { return status };
            let was_lost = media.losses().is_partial(number.0) || media.losses().is_poisoned(ppn.0);
            let mut is_lost = false;
            if !cx.ftl.is_waiting(number) {
                for page in media.pages_in(block, at, (skipped, page.bytes)) {
                    let outcome = match last {
                        Some((seen, outcome)) if seen == page => outcome,
                        _ => {
                            counted = false;
                            self.note_host_read(page.block, cx);
                            cx.flash.look(page, true)
                        }
                    };
                    last = Some((page, outcome));
                    is_lost |= outcome.lost;
                }
                if was_lost && !is_lost && !std::mem::replace(&mut counted, true) {
                    Buffered::count_poisoned_read(cx);
                }
            }
            is_lost |= was_lost;
            if is_lost && let Some(media) = cx.flash.media_mut() {
                media.count_unreadable();
                if !Mistake::UntimedNeverFails.is_planted() {
                    status = Status::Unreadable;
                }
            }
        }
        status
    }
}
