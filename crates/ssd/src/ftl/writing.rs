//! Choice of the frontier within a domain.
//!
//! With one stream there is nothing to choose. With two, pages that the host writes and pages that
//! cleaning moves are kept apart, or hot pages and cold ones. A later copy should lie in a later block:
//! where the wanted frontier is older than the old copy's block, another one is taken if it has room.
//! Where none has, the later copy lies in the older block, so that only an order per page
//! (`device.persistence.order`) tells the copies apart.

use super::map::Place;
use super::streams::{FrontierId, Told};
use super::{Ftl, Programming, Relocation};
use crate::ids::{Block, Domain, Lpn, Ppn, Stream};

impl Ftl {
    /// Starts programming a host page `lpn` on a frontier of a domain: from now on the page is
    /// there, and its old copy is superseded.
    #[inline]
    pub fn begin_program(&mut self, domain: Domain, lpn: Lpn) -> Programming {
        let stream = self.stream_of_host(lpn);
        match self.streams.told {
            Told::Nothing => return self.program_on(FrontierId(domain.0), domain, lpn),
            Told::Moved => {}
            Told::Logs => return self.append_to_log(domain, lpn),
            Told::Heat => self.streams.heat.note_written(lpn),
            Told::Handles => {
                self.tag(lpn);
                return self.program_for(domain, stream, lpn);
            }
        }
        self.program_in(stream, domain, lpn)
    }

    /// `begin` for a page moved by cleaning.
    #[inline]
    pub(crate) fn begin_move(&mut self, domain: Domain, lpn: Lpn) -> Programming {
        match self.streams.told {
            Told::Nothing => self.program_on(FrontierId(domain.0), domain, lpn),
            Told::Logs => self.program_on(self.merge_frontier(domain), domain, lpn),
            Told::Handles => self.program_for(domain, self.stream_of_copy(lpn), lpn),
            _ => self.program_in(self.stream_of_copy(lpn), domain, lpn),
        }
    }

    /// `begin` for a page with a known position in a victim.
    #[inline]
    pub(super) fn begin_move_from(&mut self, job: &Relocation, lpn: Lpn, from: Ppn) -> Programming {
        match self.streams.told {
            Told::Nothing => {
                self.move_on(FrontierId(job.domain.0), job.domain, lpn, (job.source, from))
            }
            Told::Handles => {
                let to = self.streams.of(job.domain, self.stream_of_moved(lpn, job.source));
                self.move_on(to, job.domain, lpn, (job.source, from))
            }
            _ => self.begin_move(job.domain, lpn),
        }
    }

    /// The stream of a page that the host writes, if there is room on it.
    #[inline]
    pub(crate) fn stream_of_host(&self, lpn: Lpn) -> Stream {
        if self.streams.told == Told::Heat { self.stream_by_heat(lpn) } else { self.streams.host }
    }

    /// `complete` for a moved page.
    #[inline]
    pub(crate) fn stream_of_copy(&self, lpn: Lpn) -> Stream {
        match self.streams.told {
            Told::Nothing | Told::Logs => Stream::FIRST,
            Told::Moved => Stream::SECOND,
            Told::Handles => self.stream_of_copy_by_handle(lpn),
            Told::Heat => self.stream_by_heat(lpn),
        }
    }

    fn stream_by_heat(&self, lpn: Lpn) -> Stream {
        if self.streams.heat.is_hot(lpn) { Stream::FIRST } else { Stream::SECOND }
    }

    /// Adds a host page to the write buffer.
    #[inline]
    pub(crate) fn note_written(&mut self, lpn: Lpn) {
        match self.streams.told {
            Told::Heat => self.streams.heat.note_written(lpn),
            Told::Handles => self.tag(lpn),
            _ => {}
        }
    }

    /// Stream of a page with a write buffer: its own, or another if that has no room. Pages with
    /// frontiers of their own always find room there.
    #[inline]
    pub(crate) fn stream_with_room(&self, domain: Domain, stream: Stream) -> Stream {
        let wanted = self.streams.of(domain, stream);
        if self.streams.apart() || !self.is_full(wanted) || self.free.count(domain) > 0 {
            return stream;
        }
        self.another_with_room(domain, stream).unwrap_or(stream)
    }

    fn program_in(&mut self, stream: Stream, domain: Domain, lpn: Lpn) -> Programming {
        let wanted = self.streams.of(domain, stream);
        if self.streams.gather {
            return self.program_for(domain, self.stream_with_room(domain, stream), lpn);
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
            let other = self.another_with_room(domain, stream);
            other.map_or(wanted, |other| self.streams.of(domain, other))
        } else {
            wanted
        };
        self.program_on(frontier, domain, lpn)
    }

    /// Begins to program a page of a stream: from now on it is there.
    #[inline]
    pub(crate) fn program_for(&mut self, domain: Domain, stream: Stream, lpn: Lpn) -> Programming {
        self.program_on(self.streams.of(domain, stream), domain, lpn)
    }

    /// Pages that can be written in a domain before another block is erased.
    pub(crate) fn room_of(&self, domain: u32) -> u64 {
        self.room(Domain(domain))
    }

    /// Pages of a domain that hold no valid data, where that is kept.
    pub(crate) fn reclaimable_of(&self, domain: Domain) -> u64 {
        self.placement.reclaimable.get(domain.at()).copied().unwrap_or(0)
    }

    /// Takes a padding page of a stream's group: from now on it is written with nothing.
    pub(crate) fn begin_padding(&mut self, domain: Domain, stream: Stream) -> Programming {
        let frontier = self.streams.of(domain, stream);
        self.pad_on(frontier, domain)
    }

    pub(super) fn pad_on(&mut self, frontier: FrontierId, domain: Domain) -> Programming {
        let (block, ppn) = self.next_page(frontier, domain);
        let order = self.programs as u32;
        self.programs = self.programs.wrapping_add(1);
        Programming { ppn, block, lpn: Lpn::PADDING, old: Place::NOWHERE, order }
    }

    /// The next page of the SLC cache's group, as padding.
    pub fn pad_slc(&mut self, domain: Domain) -> Programming {
        self.pad_on(self.streams.last(), domain)
    }

    /// Begins to copy a page of cold data into the worn block that takes it.
    pub(crate) fn program_cold(&mut self, domain: Domain, lpn: Lpn) -> Programming {
        self.program_on(self.cold_frontier(domain), domain, lpn)
    }

    /// Takes a padding page of a worn block without further cold data.
    pub(crate) fn pad_cold(&mut self, domain: Domain) -> Programming {
        let frontier = self.cold_frontier(domain);
        self.pad_on(frontier, domain)
    }

    /// Pages left in the worn block.
    pub(crate) fn left_for_cold(&self, domain: Domain) -> u32 {
        let frontier = &self.streams.frontier[self.cold_frontier(domain).at()];
        self.geometry.data_pages - frontier.next
    }

    pub(super) fn cold_frontier(&self, domain: Domain) -> FrontierId {
        self.streams.of_cold(domain, self.geometry.domains)
    }

    /// Pages left on the frontier of a stream.
    #[inline]
    pub(crate) fn left_on(&self, domain: Domain, stream: Stream) -> u32 {
        let frontier = &self.streams.frontier[self.streams.of(domain, stream).at()];
        self.geometry.data_pages - frontier.next
    }

    /// The next stream after this one whose frontier in a domain is not full.
    fn another_with_room(&self, domain: Domain, stream: Stream) -> Option<Stream> {
        let count = self.streams.count;
        let mut others = (1..count).map(|k| Stream((stream.0 + k) % count));
        others.find(|other| !self.is_full(self.streams.of(domain, *other)))
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
    pub(crate) fn frontier_at(&self, domain: Domain, block: Block) -> Option<u32> {
        let data_pages = self.geometry.data_pages;
        let first_other = (self.geometry.domains * self.streams.count) as usize;
        let others = self.streams.frontier[first_other..].iter();
        let mut all = self.streams.frontier[self.streams.of_domain(domain)].iter().chain(others);
        let found = all.find(|it| it.block == Some(block) && it.next < data_pages);
        found.map(|frontier| frontier.next)
    }
}
