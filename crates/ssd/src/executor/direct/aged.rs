//! Ageing data of a drive without a write buffer: read times, and losses, which are remembered. A
//! page of the flash is then a logical page.

use super::{Cx, Direct};
use crate::cache::PageId;
use crate::ftl::Programming;
use crate::ids::{Block, Lpn, Ppn, Unit};
use crate::media::{FlashPage, Outcome};
use crate::page::{Longer, Owner, PageWork};

impl Direct {
    fn time_of(&self, outcome: Outcome, cx: &Cx<'_>) -> Longer {
        let aged = cx.flash.media().zip(self.aged.as_ref());
        aged.map_or(Longer::default(), |(media, aged)| aged.longer(outcome, media))
    }

    fn look(ppn: Ppn, of_host: bool, cx: &mut Cx<'_>) -> (Block, Outcome) {
        let (block, group) = cx.ftl.geometry().block_and_page(ppn);
        (block, cx.flash.look(FlashPage { block, group, row: 0, plane: 0 }, of_host))
    }

    /// A unit begins to read a page for a request: the time beyond the first sense.
    pub(super) fn begin_aged_read(&mut self, id: PageId, cx: &mut Cx<'_>) {
        let page = *self.queues.page(id);
        let reads = matches!(
            page.work,
            PageWork::Read | PageWork::ReadForWrite | PageWork::Merge | PageWork::MergeAcross
        );
        let Some(ppn) = cx.ftl.lookup(page.lpn).filter(|_| reads) else { return };
        let of_host = matches!(page.owner, Owner::Host(_)) && page.work == PageWork::Read;
        let (block, outcome) = Direct::look(ppn, of_host, cx);
        if of_host && cx.ftl.cares() {
            cx.ftl.note_read_in(block);
        }
        let longer = self.time_of(outcome, cx);
        let Some(media) = cx.flash.media_mut() else { return };
        let is_known = media.losses().is_partial(page.lpn.0) || media.losses().is_poisoned(ppn.0);
        if of_host && is_known && !outcome.lost {
            media.count_poisoned_read();
        }
        let is_lost = is_known || outcome.lost;
        if of_host && is_lost {
            media.count_unreadable();
        }
        // A block that a block buffer fills up with it is as lost there.
        if is_lost && matches!(page.owner, Owner::Blocks(_)) {
            media.losses_mut().begin_part(page.lpn.0);
        }
        self.units.prolong(longer.in_all());
        if let Some(aged) = self.aged.as_mut().filter(|_| is_lost || longer.in_all() > 0) {
            aged.found(id, longer, is_lost);
        }
    }

    /// A unit begins to move a page, which lies at a place.
    pub(super) fn begin_aged_move(&mut self, programming: Programming, cx: &mut Cx<'_>) {
        let Some(from) = programming.old.ppn() else { return };
        let (_, outcome) = Direct::look(from, false, cx);
        self.units.prolong(self.time_of(outcome, cx).in_all());
    }

    /// A unit has read or programmed a page for a request; true if it is read for the host and lost.
    pub(super) fn aged_page_ended(&mut self, id: PageId, cx: &mut Cx<'_>) -> bool {
        let found = self.aged.as_mut().and_then(|aged| aged.take(id));
        let Some((longer, is_lost)) = found else { return false };
        let page = self.queues.page(id);
        if let Owner::Host(slot) = page.owner {
            cx.front.took_longer(slot, longer);
        }
        is_lost && page.work == PageWork::Read
    }

    /// A page has been programmed. A copy of lost data is lost, and so is the rest of a partly
    /// written page; a full write heals.
    pub(super) fn note_aged_program(work: Option<PageWork>, it: Programming, cx: &mut Cx<'_>) {
        let is_written =
            matches!(work, Some(PageWork::Write | PageWork::Merge | PageWork::MergeAcross));
        let is_lost = !is_written && it.old.ppn().is_some_and(|from| cx.flash.is_lost(from));
        let Some(media) = cx.flash.media_mut() else { return };
        if is_lost {
            media.losses_mut().poison(it.ppn.0);
        } else if is_written && media.losses().is_partial(it.lpn.0) {
            media.losses_mut().end_part(it.lpn.0, it.ppn.0);
        }
    }

    /// A unit reads pages of a block for the drive itself.
    pub(crate) fn read_block(&mut self, (block, pages): (Block, u32), cx: &mut Cx<'_>) {
        let unit: Unit = cx.ftl.geometry().unit_of(cx.ftl.geometry().domain_of(block));
        for _ in 0..pages {
            self.queue_for((unit, Owner::Nobody), PageWork::MapRead, Lpn(0), cx);
        }
    }
}
