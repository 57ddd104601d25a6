//! Which frontier of its domain a page is programmed on.
//!
//! With one stream there is nothing to choose. With two, pages that the host writes and pages that
//! cleaning moves are kept apart, or hot pages and cold ones. A later copy should lie in a later block:
//! where the wanted frontier is older than the old copy's block, another one is taken if it has room.
//! Where none has, the later copy lies in the older block, so that only an order per page
//! (`device.persistence.order`) tells the copies apart.

use super::map::Place;
use super::streams::FrontierId;
use super::{Ftl, Programming, Relocation};
use crate::ssd::config::Frontiers;
use crate::ssd::ids::{Block, Domain, Lpn, Ppn, Stream};

impl Ftl {
    /// Begins to program what the host wrote to `lpn` on a frontier of a domain: from now on the page
    /// is there, and its old copy is superseded.
    #[inline]
    pub fn begin_program(&mut self, domain: Domain, lpn: Lpn) -> Programming {
        let stream = match self.config.frontiers {
            Frontiers::Single => return self.program_on(FrontierId(domain.0), domain, lpn),
            Frontiers::SeparateMoved => Stream::FIRST,
            Frontiers::HotCold => self.stream_by_heat(lpn, true),
        };
        self.program_in(stream, domain, lpn)
    }

    /// The same for a page that cleaning moves.
    #[inline]
    pub(in crate::ssd) fn begin_move(&mut self, domain: Domain, lpn: Lpn) -> Programming {
        let stream = match self.config.frontiers {
            Frontiers::Single => return self.program_on(FrontierId(domain.0), domain, lpn),
            Frontiers::SeparateMoved => Stream::SECOND,
            Frontiers::HotCold => self.stream_by_heat(lpn, false),
        };
        self.program_in(stream, domain, lpn)
    }

    /// The same for a page whose place in a victim is known.
    #[inline]
    pub(super) fn begin_move_from(&mut self, job: &Relocation, lpn: Lpn, from: Ppn) -> Programming {
        match self.config.frontiers {
            Frontiers::Single => {
                self.move_on(FrontierId(job.domain.0), job.domain, lpn, (job.source, from))
            }
            _ => self.begin_move(job.domain, lpn),
        }
    }

    fn stream_by_heat(&mut self, lpn: Lpn, written: bool) -> Stream {
        if self.streams.heat.is_hot(lpn, written) { Stream::FIRST } else { Stream::SECOND }
    }

    fn program_in(&mut self, stream: Stream, domain: Domain, lpn: Lpn) -> Programming {
        let wanted = self.streams.of(domain, stream);
        if self.streams.apart {
            return self.program_on(wanted, domain, lpn);
        }
        let old = self
            .lookup(lpn)
            .map_or(0, |ppn| self.blocks.sequence[self.geometry.block_of(ppn).at()]);
        let full = self.is_full(wanted);
        let late = |frontier: FrontierId| {
            let block = self.streams.frontier[frontier.at()].block;
            block.is_some_and(|block| self.blocks.sequence[block.at()] >= old)
        };
        let blocked = full && self.free.count(domain) == 0;
        let frontier = if blocked || !full && !late(wanted) {
            self.another_with_room(domain, stream).unwrap_or(wanted)
        } else {
            wanted
        };
        self.program_on(frontier, domain, lpn)
    }

    /// Begins to program a page of a stream: from now on it is there.
    #[inline]
    pub(in crate::ssd) fn program_for(
        &mut self,
        domain: Domain,
        stream: Stream,
        lpn: Lpn,
    ) -> Programming {
        self.program_on(self.streams.of(domain, stream), domain, lpn)
    }

    /// Pages that can be written in a domain before another block is erased.
    pub(in crate::ssd) fn room_of(&self, domain: u32) -> u64 {
        self.room(Domain(domain))
    }

    /// Pages of a domain that hold no valid data, where that is kept.
    pub(in crate::ssd) fn reclaimable_of(&self, domain: Domain) -> u64 {
        self.placement.reclaimable.get(domain.at()).copied().unwrap_or(0)
    }

    /// Takes the next page of a stream to fill its group: from now on it is written with nothing.
    pub(in crate::ssd) fn begin_padding(&mut self, domain: Domain, stream: Stream) -> Programming {
        let frontier = self.streams.of(domain, stream);
        let (block, ppn) = self.next_page(frontier, domain);
        let order = self.programs as u32;
        self.programs = self.programs.wrapping_add(1);
        Programming { ppn, block, lpn: Lpn::PADDING, old: Place::NOWHERE, order }
    }

    /// Pages left on the frontier of a stream.
    #[inline]
    pub(in crate::ssd) fn left_on(&self, domain: Domain, stream: Stream) -> u32 {
        let frontier = &self.streams.frontier[self.streams.of(domain, stream).at()];
        self.geometry.data_pages - frontier.next
    }

    /// The next frontier of a domain after that of a stream that is not full.
    fn another_with_room(&self, domain: Domain, stream: Stream) -> Option<FrontierId> {
        let count = self.streams.count;
        let others = (1..count).map(|k| Stream((stream.0 + k) % count));
        let mut others = others.map(|other| self.streams.of(domain, other));
        others.find(|other| !self.is_full(*other))
    }

    fn is_full(&self, frontier: FrontierId) -> bool {
        self.streams.frontier[frontier.at()].next == self.geometry.data_pages
    }

    /// Pages left on the frontiers of a domain.
    #[inline]
    pub(super) fn left_open(&self, domain: Domain) -> u32 {
        let data_pages = self.geometry.data_pages;
        if self.streams.count == 1 {
            return data_pages - self.streams.frontier[domain.at()].next;
        }
        let all = &self.streams.frontier[self.streams.of_domain(domain)];
        all.iter().map(|it| data_pages - it.next).sum()
    }

    /// The next page of a block, if it is a frontier with room. One that is full may still name a block
    /// that was cleaned since and is now another frontier.
    pub(in crate::ssd) fn frontier_at(&self, domain: Domain, block: Block) -> Option<u32> {
        let data_pages = self.geometry.data_pages;
        let mut all = self.streams.frontier[self.streams.of_domain(domain)].iter();
        let found = all.find(|it| it.block == Some(block) && it.next < data_pages);
        found.map(|frontier| frontier.next)
    }
}
