//! Requests of a drive whose data age: read retries, pages beyond correction, and the writes that
//! heal them.

use super::{Buffered, Cx, DieEnd};
use crate::cache::PageId;
use crate::config::SsdConfig;
use crate::device::kit::slots::Slot;
use crate::die::{Batch, Place, ReadFor, Row, Rows, SLC_ROW};
use crate::front;
use crate::ftl::Ftl;
use crate::ids::{Lpn, Ppn};
use crate::media::planted::Mistake;
use crate::media::{FlashPage, Media, Outcome};
use crate::page::{HeldFor, Longer, Owner, PageWork, Spent};
use engine::{Op, Request, Status, Time};

/// Times of a read, and reads under way that age affects.
#[derive(Debug, Clone)]
pub(super) struct AgedUnits {
    sense_ns: Time,
    bus_ns: Time,
    /// Pages under way that take longer, or cannot be read.
    found: Vec<(PageId, Longer, bool)>,
}

impl AgedUnits {
    pub(super) fn new(config: &SsdConfig) -> Option<Box<AgedUnits>> {
        let page = config.page_size.bytes() + config.spare_size.bytes();
        let bus_ns = config.timing.command.ns() + config.timing.transfer_ns(page);
        let sense_ns = config.timing.read.of_type(0).ns();
        config.ages().then(|| Box::new(AgedUnits { sense_ns, bus_ns, found: Vec::new() }))
    }

    pub(super) fn lose_power(&mut self) {
        self.found.clear();
    }

    /// Time of a read with this outcome beyond the first sense.
    pub(super) fn longer(&self, outcome: Outcome, media: &Media) -> Longer {
        Longer { retry: media.time(outcome, self.sense_ns, self.bus_ns), repair: 0 }
    }

    /// Notes the finding of a page that is being read.
    pub(super) fn found(&mut self, id: PageId, longer: Longer, is_lost: bool) {
        self.found.push((id, longer, is_lost));
    }

    /// Takes the finding of a page that has been read.
    pub(super) fn take(&mut self, id: PageId) -> Option<(Longer, bool)> {
        let place = self.found.iter().position(|(page, ..)| *page == id)?;
        let (_, longer, lost) = self.found.swap_remove(place);
        Some((longer, lost))
    }
}

/// Outcome for the row being grouped.
#[derive(Debug, Clone, Copy, Default)]
struct Worst {
    longer: Longer,
    /// The last examined flash page: logical pages may share it.
    last: Option<(FlashPage, Outcome)>,
    /// True if counted as a poisoned copy.
    counted: bool,
}

impl Buffered {
    /// The controller has processed a request.
    pub(crate) fn begin_aged(&mut self, slot: Slot, request: &Request, cx: &mut Cx<'_>) {
        let now = cx.clock.now;
        let is_plain = cx.flash.media().is_some_and(|media| media.is_plain(now));
        if !is_plain || self.patrol.is_some() {
            return self.begin_watched(slot, request, cx);
        }
        if request.op == Op::Write {
            if !cx.flash.loses_nothing() {
                self.begin_over_losses(request, cx);
            }
            return self.begin_buffered(slot, request, cx);
        }
        self.cache.begin(cx.ftl, cx.flash);
        cx.front.expect(slot, 0);
        let pages = front::touched(cx.ftl.geometry(), request);
        if pages.end - pages.start > 1 {
            return self.begin_aged_reads(slot, request, |_, lpn| Some(lpn), Worst::default(), cx);
        }
        if let Err(worst) = self.begin_page_read(slot, request, Lpn(pages.start), true, cx) {
            self.begin_aged_reads(slot, request, |_, lpn| Some(lpn), worst, cx);
        }
    }

    /// A read begins, of pages that lie under other numbers, or under none.
    pub(crate) fn begin_aged_renamed(
        &mut self,
        slot: Slot,
        request: &Request,
        name: impl Fn(&Ftl, Lpn) -> Option<Lpn>,
        cx: &mut Cx<'_>,
    ) {
        self.watch(cx);
        self.cache.begin(cx.ftl, cx.flash);
        cx.front.expect(slot, 0);
        self.begin_aged_reads(slot, request, name, Worst::default(), cx);
    }

    /// Applies ageing, failures and patrol reads that are overdue.
    fn watch(&mut self, cx: &mut Cx<'_>) {
        let now = cx.clock.now;
        if let Some(media) = cx.flash.media_mut() {
            media.advance(now);
            if media.may_give_up() {
                self.give_up_in_time(cx);
            }
        }
        if self.patrol.is_some() {
            self.patrol_in_time(cx);
        }
    }

    /// `begin` with a minute ended, failures or known losses, or patrol due.
    fn begin_watched(&mut self, slot: Slot, request: &Request, cx: &mut Cx<'_>) {
        let now = cx.clock.now;
        self.watch(cx);
        if request.op == Op::Write {
            self.begin_over_losses(request, cx);
            return self.begin_buffered(slot, request, cx);
        }
        self.cache.begin(cx.ftl, cx.flash);
        cx.front.expect(slot, 0);
        let pages = front::touched(cx.ftl.geometry(), request);
        let looks =
            pages.end - pages.start > 1 || cx.flash.media().is_some_and(Media::knows_losses);
        let worst = if looks {
            Worst::default()
        } else {
            let is_plain = cx.flash.media().is_some_and(|media| media.is_plain(now));
            match self.begin_page_read(slot, request, Lpn(pages.start), is_plain, cx) {
                Ok(()) => return,
                Err(worst) => worst,
            }
        };
        self.begin_aged_reads(slot, request, |_, lpn| Some(lpn), worst, cx);
    }

    /// A read of one flash page that takes one sense begins as where data do not age; else the
    /// examined ones.
    #[expect(clippy::inline_always, reason = "every read of a page passes here, from two places")]
    #[inline(always)]
    fn begin_page_read(
        &mut self,
        slot: Slot,
        request: &Request,
        lpn: Lpn,
        is_plain: bool,
        cx: &mut Cx<'_>,
    ) -> Result<(), Worst> {
        let (pages, bytes) = front::part(cx.ftl.geometry(), request, lpn);
        let Some(place) = self.place_in_flash(lpn, pages, cx) else {
            cx.answer(slot, Status::Ok, HeldFor::default());
            return Ok(());
        };
        let skipped = Buffered::skipped(request, lpn, cx);
        let shape = self.dies.shape();
        let mut plane = 0;
        if shape.unit_bytes > shape.page_bytes {
            plane = skipped / shape.page_bytes;
            if plane != (skipped + bytes - 1) / shape.page_bytes {
                return Err(Worst::default());
            }
        }
        self.note_host_read(place.block, cx);
        let page = || {
            let span = shape.span(place.unit);
            let (block, group, row) = (place.block, place.group, span.row);
            FlashPage { block, group, row, plane: span.plane + plane }
        };
        if !(is_plain && cx.flash.reads_at_once(place.block, page)) {
            let outcome = cx.flash.look(page(), true);
            if !outcome.is_plain() {
                return Err(Worst { last: Some((page(), outcome)), ..Worst::default() });
            }
        }
        self.read_in_flash(slot, place, pages, (skipped, bytes), cx);
        Ok(())
    }

    /// A read begins, as where data do not age; but a row takes as long as the worst of its pages.
    fn begin_aged_reads(
        &mut self,
        slot: Slot,
        request: &Request,
        name: impl Fn(&Ftl, Lpn) -> Option<Lpn>,
        mut worst: Worst,
        cx: &mut Cx<'_>,
    ) {
        let per_domain = cx.ftl.geometry().blocks_per_domain;
        let mut rows = Rows::new(self.dies.shape(), per_domain);
        let owner = |pages| ReadFor::Request { slot, pages, reads: true };
        let mut is_lost = false;
        for lpn in front::touched(cx.ftl.geometry(), request).map(Lpn) {
            let page = front::page_request(cx.ftl.geometry(), request, lpn, Owner::Host(slot));
            let Some(number) = name(cx.ftl, lpn) else {
                cx.ftl.counters.unmapped_reads += u64::from(page.touched.1);
                continue;
            };
            let was_lost = Buffered::is_known_lost(number, cx);
            let mut is_page_lost = was_lost;
            if let Some(place) = self.place_in_flash(number, page.touched.1, cx) {
                let granule = cx.ftl.geometry().granule;
                cx.ftl.counters.page_read(PageWork::Read, page.touched.1, granule);
                let bytes = (Buffered::skipped(request, lpn, cx), page.bytes);
                let (longer, lost) = self.climb(place, bytes, &mut worst, cx);
                if was_lost && !lost && !std::mem::replace(&mut worst.counted, true) {
                    Buffered::count_poisoned_read(cx);
                }
                is_page_lost |= lost;
                if let Some(row) = rows.add(place, bytes, owner, self.dies.costs()) {
                    self.issue(slot, row, std::mem::take(&mut worst.longer), cx);
                }
                worst.longer = worst.longer.or_longer(longer);
            }
            if is_page_lost {
                is_lost = true;
                if let Some(media) = cx.flash.media_mut() {
                    media.count_unreadable();
                }
            }
        }
        if let Some(row) = rows.finish(owner, self.dies.costs()) {
            self.issue(slot, row, worst.longer, cx);
        }
        self.hear_dies(cx);
        let is_lost = is_lost && !Mistake::FailureIsSilent.is_planted();
        if is_lost {
            cx.front.fail(slot);
        }
        if cx.front.expects_nothing(slot) {
            let status = if is_lost { Status::Unreadable } else { Status::Ok };
            cx.answer(slot, status, HeldFor::default());
        }
    }

    /// Issues a row of a read to its die.
    fn issue(&mut self, slot: Slot, row: Row, longer: Longer, cx: &mut Cx<'_>) {
        cx.front.expect_read(slot);
        let row = row.retried(slot, longer);
        self.dies.read(&row, self.sight(), cx.clock);
    }

    /// Time of a logical page beyond its first sense, and true if uncorrectable.
    fn climb(
        &mut self,
        place: Place,
        bytes: (u32, u32),
        worst: &mut Worst,
        cx: &mut Cx<'_>,
    ) -> (Longer, bool) {
        let Some(media) = cx.flash.media() else { return (Longer::default(), false) };
        let pages = media.pages_of((place.block, place.group, place.unit), bytes);
        let (mut longer, mut is_lost) = (Longer::default(), false);
        for page in pages {
            let outcome = match worst.last {
                Some((last, outcome)) if last == page => outcome,
                _ => {
                    worst.counted = false;
                    self.note_host_read(page.block, cx);
                    cx.flash.look(page, true)
                }
            };
            worst.last = Some((page, outcome));
            is_lost |= outcome.lost;
            longer = longer.or_longer(self.time_of(
                if place.slc { SLC_ROW } else { page.row },
                outcome,
                cx,
            ));
        }
        (longer, is_lost)
    }

    /// The time that the outcome of reading a page takes beyond the first sense: in retries, and from parity.
    pub(crate) fn time_of(&self, row: u32, outcome: Outcome, cx: &Cx<'_>) -> Longer {
        let Some(media) = cx.flash.media().filter(|_| !outcome.is_plain()) else {
            return Longer::default();
        };
        let (sense_ns, bus_ns) = self.dies.costs().row(row, 1);
        let mut rebuild_ns = media.rebuild_time(outcome, sense_ns, bus_ns);
        if Mistake::RebuildIsFree.is_planted() {
            rebuild_ns = 0;
        }
        if Mistake::RetriesAreFree.is_planted() {
            return Longer { retry: 0, repair: rebuild_ns };
        }
        Longer { retry: media.time(outcome, sense_ns, bus_ns), repair: rebuild_ns }
    }

    /// Ends a host read at a die, which continues before an answer takes the link.
    pub(crate) fn aged_read_ended(
        &mut self,
        slot: Slot,
        die: u32,
        spent: Spent,
        longer: Longer,
        cx: &mut Cx<'_>,
    ) -> DieEnd {
        debug_assert!(cx.answers.is_empty(), "it is all of the event");
        cx.front.aged_read_done(slot, spent, longer);
        let is_last = cx.front.expects_nothing(slot);
        if is_last {
            cx.front.decide(slot);
        }
        self.dies.run(die, self.sight(), cx.clock);
        self.hear_dies(cx);
        if !is_last {
            return DieEnd::Nothing;
        }
        cx.front.answer_aged(slot, cx.clock);
        DieEnd::Answered
    }

    // ---- cleaning -------------------------------------------------------------------------------

    /// Additional time of a batch's next row: its worst page's.
    pub(crate) fn retries_of_batch(&mut self, batch: &Batch, cx: &mut Cx<'_>) -> Time {
        if cx.flash.media().is_none() {
            return 0;
        }
        let ((block, group), row) = (batch.place(), batch.row());
        if cx.flash.is_sound(block) {
            return 0;
        }
        let timed = if cx.ftl.is_slc(block) { SLC_ROW } else { row };
        let mut longer = Longer::default();
        for plane in 0..self.dies.shape().planes {
            let outcome = cx.flash.look(FlashPage { block, group, row, plane }, false);
            longer = longer.or_longer(self.time_of(timed, outcome, cx));
        }
        longer.in_all()
    }

    /// Additional time of reading a partly written page.
    pub(crate) fn retries_of_merge(&mut self, place: Place, cx: &mut Cx<'_>) -> Time {
        let bytes = (0, self.dies.shape().unit_bytes);
        let (longer, _) = self.climb(place, bytes, &mut Worst::default(), cx);
        longer.in_all()
    }

    // ---- uncorrectable pages -------------------------------------------------------------------

    /// True if a logical page is a poisoned copy.
    fn is_known_lost(lpn: Lpn, cx: &Cx<'_>) -> bool {
        let Some(media) = cx.flash.media() else { return false };
        let poisoned = |ppn: Ppn| media.losses().is_poisoned(ppn.0);
        media.losses().is_partial(lpn.0) || cx.ftl.lookup(lpn).is_some_and(poisoned)
    }

    /// The host read such a copy from a flash page.
    pub fn count_poisoned_read(cx: &mut Cx<'_>) {
        if let Some(media) = cx.flash.media_mut() {
            media.count_poisoned_read();
        }
    }

    /// True if a logical page lies in a block proved readable without retries.
    #[inline]
    fn is_in_sound_block(lpn: Lpn, cx: &Cx<'_>) -> bool {
        let block = cx.ftl.lookup(lpn).map(|ppn| cx.ftl.geometry().block_of(ppn));
        block.is_some_and(|block| cx.flash.is_sound(block))
    }

    /// True if a logical page is unreadable.
    fn is_unreadable(&mut self, lpn: Lpn, cx: &mut Cx<'_>) -> bool {
        if Buffered::is_known_lost(lpn, cx) {
            return true;
        }
        let Some(ppn) = cx.ftl.lookup(lpn) else { return false };
        let (block, page) = cx.ftl.geometry().block_and_page(ppn);
        let is_held = cx.ftl.geometry().groups.is_some() && self.cache.holds(block, page);
        !is_held && cx.flash.is_lost(ppn)
    }

    /// Starts a write over unreadable pages. A full write heals them; the rest of a partly covered
    /// page stays lost.
    pub fn begin_over_losses(&mut self, request: &Request, cx: &mut Cx<'_>) {
        for lpn in front::touched(cx.ftl.geometry(), request).map(Lpn) {
            if Buffered::is_in_sound_block(lpn, cx) || !self.is_unreadable(lpn, cx) {
                continue;
            }
            let covers = front::covers(cx.ftl.geometry(), request, lpn);
            let Some(media) = cx.flash.media_mut() else { return };
            if covers {
                media.count_healed();
            } else {
                media.losses_mut().begin_part(lpn.0);
            }
        }
    }

    /// Pages that a write covers are no longer lost, whatever was written in part.
    pub fn heal_covered(request: &Request, cx: &mut Cx<'_>) {
        if !cx.flash.media().is_some_and(Media::knows_losses) {
            return;
        }
        for lpn in front::touched(cx.ftl.geometry(), request).map(Lpn) {
            let covers = front::covers(cx.ftl.geometry(), request, lpn);
            if let Some(media) = cx.flash.media_mut().filter(|_| covers) {
                media.losses_mut().heal(lpn.0, None);
            }
        }
    }

    /// Ends a write whose pages are buffered, or untimed in the flash.
    pub fn end_over_losses(request: &Request, cx: &mut Cx<'_>) {
        if !cx.flash.media().is_some_and(Media::knows_losses) {
            return;
        }
        for lpn in front::touched(cx.ftl.geometry(), request).map(Lpn) {
            let at = cx.ftl.lookup(lpn).map(|ppn| ppn.0);
            let covers = front::covers(cx.ftl.geometry(), request, lpn);
            let Some(media) = cx.flash.media_mut() else { return };
            if covers {
                media.losses_mut().heal(lpn.0, at);
            } else if let Some(ppn) = at {
                media.losses_mut().end_part(lpn.0, ppn);
            }
        }
    }

    /// Marks a logical page as a poisoned copy.
    pub fn poison(lpn: Lpn, cx: &mut Cx<'_>) {
        if Mistake::CleaningHeals.is_planted() {
            return;
        }
        let at = cx.ftl.lookup(lpn);
        if let Some((media, ppn)) = cx.flash.media_mut().zip(at) {
            media.losses_mut().poison(ppn.0);
        }
    }
}
