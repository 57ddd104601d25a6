//! What the end of a program does to the flash and to the block it was in.

use super::{Ftl, Programming};
use crate::ssd::flash::Flash;
use crate::ssd::ids::{Block, BlockState, Ppn};

impl Ftl {
    /// Completes what [`begin_program`](Ftl::begin_program) began.
    #[inline]
    pub fn complete_program(&mut self, flash: &mut Flash, programming: Programming) {
        let Programming { ppn, lpn, order, .. } = programming;
        let page = flash.program(ppn, lpn, order);
        // One comparison tells the first page and the last from those between.
        if page.wrapping_sub(1) >= self.geometry.data_pages.wrapping_sub(2) {
            self.complete_edge(flash, ppn, order);
        }
    }

    /// The first page of a block has been programmed, or the last, or both are one.
    #[cold]
    #[inline(never)]
    fn complete_edge(&mut self, flash: &mut Flash, ppn: Ppn, order: u32) {
        let block = self.geometry.block_of(ppn);
        if ppn == self.geometry.ppn(block, 0) {
            self.write_header(flash, block, order);
        }
        if !self.geometry.is_last(ppn) {
            return;
        }
        if self.is_filling(block) {
            self.close_filled(flash, block);
            return;
        }
        if self.summary_page {
            flash.program_summary(block);
            self.counters.summaries += 1;
        }
        let domain = self.geometry.domain_of(block);
        self.state[block.at()] = BlockState::Closed;
        let relative = block.0 - self.geometry.first_block(domain).0;
        self.index.insert(domain.0, relative, u32::from(self.valid[block.at()]));
        self.order.push(domain.0, block.0);
    }

    /// The first page of a block has been programmed. A block that takes another's place takes its
    /// numbers too.
    pub(super) fn write_header(&self, flash: &mut Flash, block: Block, order: u32) {
        let first_order = if self.is_filling(block) {
            flash.first_order(Block(self.victim[self.geometry.domain_of(block).at()]))
        } else {
            // It was begun within the last 2^32 programs.
            self.programs - u64::from((self.programs as u32).wrapping_sub(order))
        };
        flash.write_header(block, self.sequence[block.at()], first_order);
    }
}
