//! The block buffer without time: the same blocks leave, at once.

use super::{BlockBuffer, sectors};
use crate::Ssd;
use crate::flash::Flash;
use crate::front;
use crate::ftl::Ftl;
use crate::ids::Lpn;
use crate::page::PageRequest;
use engine::{Op, Request, SECTOR_BYTES, Status};
use std::ops::Range;

impl BlockBuffer {
    /// An untimed write of the host.
    pub fn write_untimed(
        &mut self,
        (ftl, flash): (&mut Ftl, &mut Flash),
        request: &Request,
    ) -> Status {
        let geometry = ftl.geometry();
        let parts: Vec<(u32, u32)> = front::touched(geometry, request)
            .map(|lpn| front::part(geometry, request, Lpn(lpn)))
            .collect();
        if ftl.has_ended() {
            for (pages, bytes) in parts {
                ftl.counters.page_refused(pages, bytes.into());
            }
            return Status::ReadOnly;
        }
        for (pages, bytes) in parts {
            ftl.counters.host_wrote(pages, bytes.into());
        }
        self.take_untimed((ftl, flash), sectors(request), request.id);
        if request.fua && self.keys.is_volatile() {
            let blocks = self.blocks_of(&sectors(request));
            self.flush_untimed((ftl, flash), &blocks);
        }
        Status::Ok
    }

    /// Untimed whole pages of the host.
    pub fn overwrite_untimed(&mut self, (ftl, flash): (&mut Ftl, &mut Flash), pages: &[u64]) {
        for page in pages {
            if ftl.has_ended() {
                return;
            }
            let bytes = self.sectors_per_page * SECTOR_BYTES;
            ftl.counters.host_wrote(self.flash_pages, bytes);
            self.take_untimed((ftl, flash), self.sectors_of(*page), 0);
        }
    }

    fn take_untimed(
        &mut self,
        (ftl, flash): (&mut Ftl, &mut Flash),
        sectors: Range<u64>,
        request: u64,
    ) {
        self.is_untimed = true;
        let (mut from, end) = (sectors.start, sectors.end);
        loop {
            let (replaced, next) = self.take(from..end, request);
            ftl.counters
                .replaced_in_block(replaced * SECTOR_BYTES, replaced / self.sectors_per_flash_page);
            from = next;
            while let Some(place) = self.next_to_leave() {
                self.leave_untimed((ftl, flash), place);
            }
            if from == end {
                return;
            }
        }
    }

    /// Evicts buffered blocks untimed.
    pub fn flush_untimed(&mut self, (ftl, flash): (&mut Ftl, &mut Flash), blocks: &Range<u64>) {
        for place in self.not_evicted(blocks) {
            self.leave_untimed((ftl, flash), place);
        }
    }

    /// Evicts all blocks untimed.
    pub fn empty_untimed(&mut self, state: (&mut Ftl, &mut Flash)) {
        self.is_untimed = false;
        self.flush_untimed(state, &(0..u64::MAX));
    }

    /// Ends the untimed load: a timed one, or a saved state, begins with an empty buffer.
    pub fn end_untimed(&mut self, state: (&mut Ftl, &mut Flash)) {
        if self.is_untimed {
            self.empty_untimed(state);
        }
    }

    /// Serves a flush of the host, untimed.
    fn flush_asked_untimed(&mut self, state: (&mut Ftl, &mut Flash)) {
        if self.keys.is_volatile() {
            self.empty_untimed(state);
        }
    }

    fn leave_untimed(&mut self, (ftl, flash): (&mut Ftl, &mut Flash), place: u32) {
        let reads = self.begin_to_leave(place, |lpn| ftl.is_mapped(lpn));
        ftl.counters.block_leaves(reads.is_empty());
        for request in reads {
            serve((ftl, flash), &request);
            ftl.counters.read_to_fill_up(request.touched.1);
        }
        for request in self.writes_of(place, |lpn| ftl.is_mapped(lpn)) {
            serve((ftl, flash), &request);
        }
        self.has_left(place);
    }

    /// An untimed read of the host.
    fn read_untimed(&mut self, (ftl, flash): (&mut Ftl, &mut Flash), request: &Request) {
        let mut misses = self.lend_misses();
        let hits = self.cut_read(request, None, &mut misses);
        ftl.counters.read_from_blocks(hits.gathered, 0, 0);
        for miss in &misses {
            serve((ftl, flash), miss);
        }
        self.return_misses(misses);
    }
}

impl Ssd {
    /// Serves a request by the block buffer, at once; nothing if that has no part in it.
    pub(crate) fn serve_blocks_untimed(&mut self, request: &Request) -> Option<Status> {
        let blocks = self.blocks.as_mut()?;
        let state = (&mut self.ftl, &mut self.flash);
        match request.op {
            Op::Read => {
                blocks.read_untimed(state, request);
                Some(Status::Ok)
            }
            _ if !blocks.gathers() => None,
            Op::Write => Some(blocks.write_untimed(state, request)),
            Op::Flush => {
                blocks.flush_asked_untimed(state);
                Some(Status::Ok)
            }
            _ => {
                let covered = front::covered(state.0.geometry(), request);
                let takes = blocks.trim(&covered);
                debug_assert!(takes, "nothing is on its way");
                Some(state.0.trim_all(state.1, covered))
            }
        }
    }
}

fn serve((ftl, flash): (&mut Ftl, &mut Flash), request: &PageRequest) {
    ftl.serve_untimed(flash, request);
}
