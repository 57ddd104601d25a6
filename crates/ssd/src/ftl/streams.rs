//! Streams of writes: a domain has one frontier for each.

use super::heat::Heat;
use crate::config::{Frontiers, SsdConfig};
use crate::ids::{Block, Domain, PoolId, Stream};
use crate::shape::Geometry;

/// The block of a domain that is being filled, and its next page; full when that is past the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frontier {
    pub(super) block: Option<Block>,
    pub(super) next: u32,
}

/// A frontier by its index: frontiers of domain 0 first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrontierId(pub(super) u32);

impl FrontierId {
    #[inline]
    pub(super) fn at(self) -> usize {
        self.0 as usize
    }
}

/// Separation of pages by stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// None.
    Nothing,
    /// Moved pages apart from host pages.
    Moved,
    /// Cold pages apart from hot ones.
    Heat,
    /// A stream for each log block, and one for merges.
    Logs,
    /// Streams of each placement handle, and of copies.
    Handles,
}

/// Frontiers of all domains, and the detector of hot pages.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    /// Streams per domain, without the stream of cold data.
    pub(super) count: u32,
    pub(super) told: Told,
    /// Stream of the current host write, with placement handles.
    pub host: Stream,
    /// Reclaim group, if there are several.
    pub group: PoolId,
    /// Pages gather in a write buffer, in groups of a frontier.
    pub(super) gather: bool,
    /// Frontiers by domain, then those of cold data by domain, if cold data pass through a write
    /// buffer into worn blocks. Their room is exclusive, and empty at rest.
    pub(super) frontier: Vec<Frontier>,
    pub(super) heat: Heat,
}

impl Streams {
    /// No block is open yet.
    pub(super) fn new(config: &SsdConfig, geometry: &Geometry) -> Streams {
        let count = config.open_blocks();
        let none = Frontier { block: None, next: geometry.data_pages };
        let told = match config.frontiers() {
            _ if config.log_blocks.are_used() => Told::Logs,
            _ if config.fdp.chooses() => Told::Handles,
            Frontiers::Auto | Frontiers::Single => Told::Nothing,
            Frontiers::SeparateMoved => Told::Moved,
            Frontiers::HotCold => Told::Heat,
        };
        let hot_cold = &config.cleaning.hot_cold;
        Streams {
            count,
            told,
            host: Stream::FIRST,
            group: PoolId(0),
            gather: geometry.groups.is_some(),
            frontier: memory::filled(none, (geometry.domains * geometry.frontiers) as usize),
            heat: Heat::new(hot_cold, told == Told::Heat, geometry.exported_pages()),
        }
    }

    /// With a write buffer or placement handles, host pages and moved pages have separate frontiers
    /// that take no others.
    #[inline]
    pub(super) fn apart(&self) -> bool {
        self.gather && self.told == Told::Moved || self.told == Told::Handles
    }

    /// Sets the stream of the host's writes.
    #[inline]
    pub fn write_to(&mut self, stream: Stream, group: PoolId) {
        (self.host, self.group) = (stream, group);
    }

    /// The frontier of a stream.
    #[inline]
    pub(super) fn of(&self, domain: Domain, stream: Stream) -> FrontierId {
        FrontierId(domain.0 * self.count + stream.0)
    }

    /// Removes the block of a frontier.
    pub fn vacate(&mut self, frontier: FrontierId, data_pages: u32) {
        self.frontier[frontier.at()] = Frontier { block: None, next: data_pages };
    }

    /// Frontier of cold data in a domain, given the number of domains.
    pub(super) fn of_cold(&self, domain: Domain, domains: u32) -> FrontierId {
        FrontierId(domains * self.count + domain.0)
    }

    /// The last frontier: of the SLC cache, if there is one.
    pub fn last(&self) -> FrontierId {
        FrontierId(self.frontier.len() as u32 - 1)
    }

    /// Frontiers of a domain, by index.
    #[inline]
    pub(super) fn of_domain(&self, domain: Domain) -> std::ops::Range<usize> {
        let count = self.count as usize;
        domain.at() * count..(domain.at() + 1) * count
    }
}
