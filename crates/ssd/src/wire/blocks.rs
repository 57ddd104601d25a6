//! The block buffer in time: buffered writes, evictions, reads of buffered pages, and read-ahead.

use crate::Ssd;
use crate::blocks::{BlockBuffer, Job, Waiting, read, sectors};
use crate::device::kit::slots::Slot;
use crate::executor::cx;
use crate::front;
use crate::ids::Lpn;
use crate::page::{HeldFor, Owner, PageDone, PageRequest, Spent};
use engine::{Op, Request, Status, Time};
use std::ops::Range;

/// A page of a request that took no time of the flash.
fn done(slot: Slot, status: Status) -> PageDone {
    PageDone { owner: Owner::Host(slot), status, spent: Some(Spent::default()) }
}

impl Ssd {
    fn block_buffer(&mut self) -> &mut BlockBuffer {
        self.blocks.as_mut().expect("the drive has a block buffer")
    }

    /// True if writes are buffered by block.
    pub(crate) fn gathers_blocks(&self) -> bool {
        self.blocks.as_ref().is_some_and(|it| it.gathers())
    }

    /// Starts a read, write or trim at the block buffer; whether it takes it.
    pub(crate) fn begin_at_blocks(&mut self, slot: Slot, request: &Request) -> bool {
        let now = self.clock.now;
        let blocks = self.block_buffer();
        if request.op == Op::Read {
            self.read_through_blocks(slot, request);
        } else if blocks.gathers() {
            blocks.wait(slot, *request, now);
            self.look_after_blocks();
        } else {
            blocks.forget_ahead(&sectors(request));
            return false;
        }
        self.direct.serve_offered(cx!(self));
        true
    }

    // ---- reads -----------------------------------------------------------------------------------

    fn read_through_blocks(&mut self, slot: Slot, request: &Request) {
        let blocks = self.block_buffer();
        let ahead = blocks.follow(&sectors(request));
        let mut misses = blocks.lend_misses();
        let hits = blocks.cut_read(request, Some(slot), &mut misses);
        let read_ahead = (ahead.end - ahead.start) as u32;
        self.ftl.counters.read_from_blocks(hits.gathered, hits.ahead, read_ahead);
        // The request stays open until all its parts are issued.
        self.front.expect(slot, misses.len() as u32 + hits.awaited + 1);
        for miss in &misses {
            if let Some(done) = self.direct.accept(miss, cx!(self)) {
                self.front.page_done(&done, &mut self.clock);
            }
        }
        self.block_buffer().return_misses(misses);
        self.read_ahead(ahead);
        self.front.page_done(&done(slot, Status::Ok), &mut self.clock);
    }

    fn read_ahead(&mut self, pages: Range<u64>) {
        for page in pages {
            let (lpn, at) = self.block_buffer().logical(page);
            self.accept_of_blocks(Job::Ahead(page), read(lpn, (at, 1)));
        }
        self.end_jobs_of_blocks();
    }

    // ---- writes and trims ------------------------------------------------------------------------

    /// Continues waiting requests and evictions until nothing changes.
    fn look_after_blocks(&mut self) {
        self.block_buffer().note_news();
        while self.block_buffer().has_news() {
            while let Some(first) = self.block_buffer().first_waiting()
                && self.take_into_blocks(first)
            {}
            while let Some(place) = self.block_buffer().next_to_leave() {
                self.block_leaves(place);
            }
            while let Some(slot) = self.block_buffer().next_over() {
                self.blocks_are_flushed(slot);
            }
        }
    }

    /// Serves the first waiting request, if possible.
    fn take_into_blocks(&mut self, first: Waiting) -> bool {
        let Waiting { slot, request, since, .. } = first;
        let held: Time = self.clock.now - since;
        if request.op == Op::Trim {
            let covered = front::covered(self.ftl.geometry(), &request);
            if !self.block_buffer().trim(&covered) {
                return false;
            }
            self.block_buffer().first_is_done();
            self.trim_pages(slot, covered, held);
            return true;
        }
        let parts = front::touched(self.ftl.geometry(), &request);
        if self.ftl.has_ended() {
            self.block_buffer().first_is_done();
            for page in parts {
                let (pages, bytes) = front::part(self.ftl.geometry(), &request, Lpn(page));
                self.ftl.counters.page_refused(pages, bytes.into());
            }
            self.front.answer(
                slot,
                Status::ReadOnly,
                HeldFor { cleaning: 0, room: held },
                &mut self.clock,
            );
            return true;
        }
        let (replaced, takes_all) = self.block_buffer().take_first();
        let pages = self.block_buffer().flash_pages_of(replaced);
        self.ftl.counters.replaced_in_block(replaced, pages);
        if !takes_all {
            return false;
        }
        self.block_buffer().first_is_done();
        for page in parts {
            let (pages, bytes) = front::part(self.ftl.geometry(), &request, Lpn(page));
            self.ftl.counters.host_wrote(pages, bytes.into());
        }
        if request.fua && self.config.is_volatile() {
            let blocks = self.block_buffer().blocks_of(&sectors(&request));
            self.flush_blocks(slot, blocks);
        } else {
            self.front.answer(
                slot,
                Status::Ok,
                HeldFor { cleaning: 0, room: held },
                &mut self.clock,
            );
        }
        true
    }

    /// Completes a request when the content of blocks has been evicted.
    fn flush_blocks(&mut self, slot: Slot, blocks: Range<u64>) {
        let not_evicted = self.block_buffer().not_evicted(&blocks);
        self.block_buffer().add_barrier(slot, blocks);
        for place in not_evicted {
            self.block_leaves(place);
        }
    }

    /// Serves a host flush of the block buffer.
    pub(crate) fn flush_all_blocks(&mut self, slot: Slot) {
        self.flush_blocks(slot, 0..u64::MAX);
        self.look_after_blocks();
        self.direct.serve_offered(cx!(self));
    }

    /// Writes all blocks to the flash at a shutdown.
    pub(crate) fn empty_blocks(&mut self) {
        for place in self.block_buffer().not_evicted(&(0..u64::MAX)) {
            self.block_leaves(place);
        }
        self.look_after_blocks();
        self.direct.serve_offered(cx!(self));
    }

    fn blocks_are_flushed(&mut self, slot: Slot) {
        if self.front.request(slot).op != Op::Flush {
            self.front.answer(slot, Status::Ok, HeldFor::default(), &mut self.clock);
        } else if !self.flush_trims(slot) {
            self.front.flushed(slot, &mut self.clock);
        }
    }

    // ---- blocks leave ----------------------------------------------------------------------------

    fn accept_of_blocks(&mut self, job: Job, request: PageRequest) {
        let number = self.block_buffer().add_job(job);
        let request = PageRequest { owner: Owner::Blocks(number), ..request };
        if self.direct.accept(&request, cx!(self)).is_some() {
            self.block_buffer().note_ended(number);
        }
    }

    /// Handles completed page requests of the block buffer.
    fn end_jobs_of_blocks(&mut self) {
        while let Some(number) = self.block_buffer().next_ended() {
            self.page_of_blocks_done(number);
        }
    }

    fn block_leaves(&mut self, place: u32) {
        let blocks = self.blocks.as_mut().expect("the drive has a block buffer");
        let reads = blocks.begin_to_leave(place, |lpn| self.ftl.is_mapped(lpn));
        blocks.expect(place, reads.len() as u32 + 1);
        self.ftl.counters.block_leaves(reads.is_empty());
        for request in reads {
            self.accept_of_blocks(Job::FillUp(place, request.touched.1), request);
        }
        self.block_is_filled_up(place);
        self.end_jobs_of_blocks();
    }

    /// Counts a page read for a block being evicted: behind the last it is written, in order.
    fn block_is_filled_up(&mut self, place: u32) {
        let blocks = self.blocks.as_mut().expect("the drive has a block buffer");
        if !blocks.expects_less(place) {
            return;
        }
        let writes = blocks.writes_of(place, |lpn| self.ftl.is_mapped(lpn));
        blocks.expect(place, writes.len() as u32 + 1);
        for request in writes {
            self.accept_of_blocks(Job::Write(place), request);
        }
        self.block_is_written(place);
    }

    /// Counts a written page.
    fn block_is_written(&mut self, place: u32) {
        if self.block_buffer().expects_less(place) {
            self.block_buffer().has_left(place);
        }
    }

    /// A page request of the block buffer is done.
    fn page_of_blocks_done(&mut self, number: Slot) {
        match self.block_buffer().take_job(number) {
            Job::FillUp(place, pages) => {
                self.ftl.counters.read_to_fill_up(pages);
                self.block_is_filled_up(place);
            }
            Job::Write(place) => self.block_is_written(place),
            Job::Ahead(page) => {
                for slot in self.block_buffer().came_ahead(page) {
                    self.front.page_done(&done(slot, Status::Ok), &mut self.clock);
                }
            }
        }
    }

    /// A page is done: informs its owner, the host or the block buffer.
    #[inline]
    pub(crate) fn tell_owner(&mut self, page: &PageDone) {
        match page.owner {
            Owner::Host(_) => self.front.page_done(page, &mut self.clock),
            Owner::Blocks(number) => {
                self.block_buffer().note_ended(number);
                self.end_jobs_of_blocks();
                if self.gathers_blocks() {
                    self.look_after_blocks();
                }
            }
            Owner::Map(page) => self.map_read(page),
            Owner::Drive | Owner::Nobody => {}
        }
    }

    /// The request whose data a page has that is being programmed.
    pub(crate) fn writer_of(&self, owner: Owner, lpn: Lpn) -> Option<u64> {
        match owner {
            Owner::Host(slot) => Some(self.front.request(slot).id),
            Owner::Blocks(_) => self.blocks.as_ref()?.writer(lpn),
            Owner::Map(_) | Owner::Drive | Owner::Nobody => None,
        }
    }
}
