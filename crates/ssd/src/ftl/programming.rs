//! The effects of a program: on the map when it begins, on the flash and its block when it ends.

use super::Ftl;
use super::map::Place;
use super::streams::FrontierId;
use crate::flash::Flash;
use crate::ids::{Block, BlockState, Domain, Lpn, Ppn};
use engine::Status;
use std::ops::Range;

/// A page that is being programmed: it takes effect in the flash on completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Programming {
    /// Where.
    pub ppn: Ppn,
    /// The block that is in.
    pub block: Block,
    /// Whose data.
    pub lpn: Lpn,
    /// Superseded copy, if any: until it is programmed, that one is the newest that a power cut
    /// would leave.
    pub old: Place,
    /// Low 32 bits of its sequence number.
    pub order: u32,
}

impl Ftl {
    /// Programs the data of `lpn` on a frontier, given its index.
    #[inline]
    pub(super) fn program_on(
        &mut self,
        frontier: FrontierId,
        domain: Domain,
        lpn: Lpn,
    ) -> Programming {
        let (block, ppn) = self.next_page(frontier, domain);
        self.blocks.valid[block.at()] += 1;
        if self.placement.counts_reclaimable {
            self.placement.reclaimable[self.geometry.unit_of(domain).at()] -= 1;
        }
        let old = self.map.replace(lpn, ppn);
        self.supersede(old);
        self.number(Programming { ppn, block, lpn, old, order: 0 })
    }

    /// Programs the data of `lpn`, which lies in a victim of the same domain, on a frontier.
    #[inline]
    pub(super) fn move_on(
        &mut self,
        frontier: FrontierId,
        domain: Domain,
        lpn: Lpn,
        (source, from): (Block, Ppn),
    ) -> Programming {
        let (block, ppn) = self.next_page(frontier, domain);
        self.blocks.valid[block.at()] += 1;
        // A superseded page of a victim changes no index, and its domain gains the page.
        self.blocks.valid[source.at()] -= 1;
        self.map.set(lpn, ppn);
        self.number(Programming { ppn, block, lpn, old: from.into(), order: 0 })
    }

    /// A program has the next number.
    #[inline]
    fn number(&mut self, programming: Programming) -> Programming {
        let order = self.programs as u32;
        self.programs = self.programs.wrapping_add(1);
        Programming { order, ..programming }
    }

    /// Takes the next page of a frontier, and a block for it where that is full.
    #[inline]
    pub(super) fn next_page(&mut self, frontier: FrontierId, domain: Domain) -> (Block, Ppn) {
        if self.streams.frontier[frontier.0 as usize].next == self.geometry.data_pages {
            let block = self.take_free(domain);
            self.open(frontier, block);
        }
        let frontier = &mut self.streams.frontier[frontier.0 as usize];
        let block = frontier.block.expect("a frontier with room has a block");
        let ppn = self.geometry.ppn(block, frontier.next);
        frontier.next += 1;
        (block, ppn)
    }

    /// Invalidates a copy of a logical page, if there is one.
    #[expect(clippy::inline_always, reason = "every page that is programmed passes here")]
    #[inline(always)]
    pub fn supersede(&mut self, old: Place) {
        let Some(old) = old.ppn() else {
            self.unmapped -= 1;
            return;
        };
        let block = self.geometry.block_of(old);
        let valid = self.blocks.valid[block.at()];
        self.blocks.valid[block.at()] = valid - 1;
        if self.placement.counts_reclaimable {
            let unit = self.geometry.unit_of(self.geometry.domain_of(block));
            self.placement.reclaimable[unit.at()] += 1;
        }
        if self.blocks.state[block.at()] == BlockState::Closed {
            let domain = self.geometry.domain_of(block);
            let relative = block.0 - self.geometry.first_block(domain).0;
            self.blocks.index.superseded(domain.0, relative, valid);
        }
    }

    /// Unmaps a logical page: reads return no data until it is written again.
    pub fn trim(&mut self, lpn: Lpn) {
        self.note_trimmed(lpn);
        self.supersede(self.map.get(lpn));
        self.map.clear(lpn);
        self.unmapped += 1;
        self.counters.trims += u64::from(self.geometry.granule.flash_pages);
    }

    /// Forgets logical pages, unless the drive has reached end of life.
    pub(crate) fn trim_all(&mut self, flash: &mut Flash, pages: Range<u64>) -> Status {
        if self.has_ended() {
            return Status::ReadOnly;
        }
        self.note_map_trimmed(&pages);
        for page in pages {
            self.keep_shared(flash, Lpn(page));
            self.trim(Lpn(page));
        }
        Status::Ok
    }

    /// The low 32 bits of the number of the next program.
    pub(crate) fn next_order(&self) -> u32 {
        self.programs as u32
    }

    /// The number of the next program.
    pub(crate) fn next_program(&self) -> u64 {
        self.programs
    }

    /// Block header in a page being programmed: the numbers of the block's opening and first
    /// program, and the full number of this program.
    pub(crate) fn header_of(&self, flash: &Flash, it: &Programming) -> (u64, u64, u64) {
        let opening = self.blocks.sequence[it.block.at()];
        if self.is_filling(it.block) {
            let source = self.victim[self.geometry.domain_of(it.block).at()];
            let first = flash.first_order(source.expect("cold data comes from a block"));
            return (opening, first, first + u64::from(it.order.wrapping_sub(first as u32)));
        }
        let back = (self.programs as u32).wrapping_sub(it.order);
        let order = self.programs - u64::from(back);
        (opening, order, order)
    }

    /// Completes [`begin_program`](Ftl::begin_program).
    #[inline]
    pub fn complete_program(&mut self, flash: &mut Flash, programming: Programming) {
        let Programming { ppn, block, lpn, order, .. } = programming;
        let page = flash.program(ppn, block, lpn, order);
        // One comparison separates the first and the last page from the others.
        if page.wrapping_sub(1) >= self.geometry.data_pages.wrapping_sub(2) {
            self.complete_edge(flash, block, page, order);
        }
        if self.notes_programs {
            self.label_programmed(flash, ppn);
            self.note_failure(flash, block, ppn);
        }
    }

    /// The first page of a block has been programmed, or the last, or both are one.
    #[cold]
    #[inline(never)]
    pub(super) fn complete_edge(&mut self, flash: &mut Flash, block: Block, page: u32, order: u32) {
        if page == 0 {
            self.write_header(flash, block, order);
        }
        if page + 1 != self.geometry.data_pages {
            return;
        }
        if self.is_filling(block) {
            self.close_filled(flash, block);
            return;
        }
        let summary = self.geometry.summary_pages();
        let groups = self.geometry.groups;
        let (summary, parity) =
            groups.map_or((summary, 0), |it| it.around_data(self.is_slc(block)));
        if self.geometry.has_summary_page() {
            flash.program_summary(block);
            self.counters.summaries += summary;
        }
        // Counted with its block, alike in timed and untimed runs.
        self.counters.parity += parity;
        let domain = self.geometry.domain_of(block);
        self.blocks.state[block.at()] = BlockState::Closed;
        let relative = block.0 - self.geometry.first_block(domain).0;
        self.blocks.index.insert(domain.0, relative, self.blocks.valid[block.at()]);
        self.blocks.order.push(domain.0, block.0);
        self.note_full(flash, block);
    }

    /// The first page of a block has been programmed. A block that takes another's place takes its
    /// numbers too.
    pub(super) fn write_header(&self, flash: &mut Flash, block: Block, order: u32) {
        let first_order = if self.is_filling(block) {
            let source = self.victim[self.geometry.domain_of(block).at()];
            flash.first_order(source.expect("cold data comes from a block"))
        } else {
            // It began within the last 2^32 programs.
            self.programs - u64::from((self.programs as u32).wrapping_sub(order))
        };
        flash.write_header(block, self.blocks.sequence[block.at()], first_order);
        if self.is_slc(block) {
            flash.opened_for_one_bit(block);
        }
    }
}
