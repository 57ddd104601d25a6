//! Which of a domain's frontiers a page goes to.
//!
//! With one frontier there is nothing to choose. With two, pages that the host writes and pages that
//! cleaning moves are kept apart, or hot pages and cold ones. A later copy should lie in a later block:
//! where the wanted frontier is older than the old copy's block, the other one is taken if it has
//! room. Where it has none the later copy lies in the older block, so that only an order per page
//! (`device.persistence.order`) tells the copies apart.

use super::{Ftl, NONE, Programming};
use crate::ssd::config::Frontiers;
use crate::ssd::ids::{Block, Domain, Lpn};

/// The stream of what the host writes, or of hot pages.
const FIRST: u32 = 0;
/// The stream of what is moved, or of cold pages.
const SECOND: u32 = 1;

impl Frontiers {
    /// Frontiers of a domain.
    pub fn count(self) -> u32 {
        match self {
            Frontiers::Single => 1,
            Frontiers::SeparateMoved | Frontiers::HotCold => 2,
        }
    }
}

impl Ftl {
    /// Begins to program what the host wrote to `lpn` on a frontier of a domain: from now on the page
    /// is there, and its old copy is superseded.
    #[inline]
    pub fn begin_program(&mut self, domain: Domain, lpn: Lpn) -> Programming {
        let stream = match self.config.frontiers {
            Frontiers::Single => return self.program_on(domain.0, domain, lpn),
            Frontiers::SeparateMoved => FIRST,
            Frontiers::HotCold => self.stream_by_heat(lpn, true),
        };
        self.program_in(stream, domain, lpn)
    }

    /// The same for a page that cleaning moves.
    #[inline]
    pub(super) fn begin_move(&mut self, domain: Domain, lpn: Lpn) -> Programming {
        let stream = match self.config.frontiers {
            Frontiers::Single => return self.program_on(domain.0, domain, lpn),
            Frontiers::SeparateMoved => SECOND,
            Frontiers::HotCold => self.stream_by_heat(lpn, false),
        };
        self.program_in(stream, domain, lpn)
    }

    fn stream_by_heat(&mut self, lpn: Lpn, written: bool) -> u32 {
        if self.heat.is_hot(lpn, written) { FIRST } else { SECOND }
    }

    fn program_in(&mut self, stream: u32, domain: Domain, lpn: Lpn) -> Programming {
        let wanted = domain.0 * 2 + stream;
        let other = wanted ^ 1;
        let old = match self.map[lpn.at()] {
            NONE => 0,
            ppn => self.sequence[self.geometry.block_of(super::Ppn(ppn)).at()],
        };
        let full = self.is_full(wanted);
        let late = |frontier: u32| {
            let block = self.frontier[frontier as usize].block;
            block != NONE && self.sequence[block as usize] >= old
        };
        let blocked = full && self.free.count(domain) == 0;
        let step_aside = (blocked || !full && !late(wanted)) && !self.is_full(other);
        self.program_on(if step_aside { other } else { wanted }, domain, lpn)
    }

    fn is_full(&self, frontier: u32) -> bool {
        self.frontier[frontier as usize].next == self.geometry.data_pages
    }

    /// The frontiers of a domain, by their place in the list of all.
    pub(super) fn frontiers_of(&self, domain: Domain) -> std::ops::Range<usize> {
        let count = self.config.frontiers.count() as usize;
        domain.at() * count..(domain.at() + 1) * count
    }

    /// Pages left on the frontiers of a domain.
    #[inline]
    pub(super) fn left_open(&self, domain: Domain) -> u32 {
        let data_pages = self.geometry.data_pages;
        if self.config.frontiers == Frontiers::Single {
            return data_pages - self.frontier[domain.at()].next;
        }
        self.frontier[self.frontiers_of(domain)].iter().map(|it| data_pages - it.next).sum()
    }

    /// The next page of a block, if it is a frontier with room. One that is full may still name a block
    /// that was cleaned since and is now the other frontier.
    pub(in crate::ssd) fn frontier_at(&self, domain: Domain, block: Block) -> Option<u32> {
        let data_pages = self.geometry.data_pages;
        let mut all = self.frontier[self.frontiers_of(domain)].iter();
        let found = all.find(|frontier| frontier.block == block.0 && frontier.next < data_pages);
        found.map(|frontier| frontier.next)
    }
}
