//! Where a page that the host writes may go: pools, the groups of domains in them, and their room.

use super::Ftl;
use crate::ssd::ids::{Block, Domain, Lpn, PoolId, Unit};
use crate::ssd::shape::Geometry;
use std::cmp::Reverse;

/// Pools and the groups of domains among which a write chooses.
#[derive(Debug, Clone)]
pub(super) struct Placement {
    /// Domains among which a write on a unit may choose: consecutive groups of this size.
    pub(super) group_size: u32,
    /// A pool reaches over several units; each unit's domains are then a group.
    pub(super) pools_span_units: bool,
    /// The group of each pool when it does not.
    pub(super) pool_group: Vec<u32>,
    /// Pages of each unit that hold no valid data, erased or superseded; kept only where pools span
    /// units.
    pub(super) reclaimable: Vec<u32>,
    /// The domain of each group at which the next choice begins.
    pub(super) write_pointer: Vec<u32>,
}

impl Placement {
    pub(super) fn new(geometry: &Geometry) -> Placement {
        let domains_per_pool = geometry.domains / geometry.pools;
        let group_size = domains_per_pool.min(geometry.domains_per_unit);
        let pools_span_units = domains_per_pool > group_size;
        let pages_per_unit =
            geometry.domains_per_unit * geometry.blocks_per_domain * geometry.data_pages;
        let counted = if pools_span_units { geometry.units as usize } else { 0 };
        Placement {
            group_size,
            pools_span_units,
            pool_group: geometry.pool_domains.iter().map(|d| d[0].0 / group_size).collect(),
            reclaimable: vec![pages_per_unit; counted],
            write_pointer: vec![0; (geometry.domains / group_size) as usize],
        }
    }
}

/// Pages of a domain that stay free for the moves of the next cleaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reserve {
    Pages(u32),
    /// All of them: the drive has ended.
    Everything,
}

impl Ftl {
    /// The units that may take a write to `pool`; more than one when the pool is wider than a unit.
    pub fn units_of(&self, pool: PoolId) -> impl ExactSizeIterator<Item = Unit> {
        let domains = &self.geometry.pool_domains[pool.at()];
        let first_of_each = domains.iter().step_by(self.geometry.domains_per_unit as usize);
        first_of_each.map(|domain| self.geometry.unit_of(*domain))
    }

    /// Whether pools reach over several units: an erasure may then overtake a program that supersedes
    /// one of the block's pages.
    #[inline]
    pub fn pools_span_units(&self) -> bool {
        self.placement.pools_span_units
    }

    /// The group of domains that a write to `pool` on `unit` may go to.
    pub(super) fn group(&self, pool: PoolId, unit: Unit) -> u32 {
        if self.placement.pools_span_units { unit.0 } else { self.placement.pool_group[pool.at()] }
    }

    /// Pages that can be programmed in a domain before another block must be erased.
    #[inline]
    pub(super) fn room(&self, domain: Domain) -> u32 {
        let data_pages = self.geometry.data_pages;
        self.free.count(domain) * data_pages + self.left_open(domain)
    }

    /// Whether a host write may go to a domain: what cleaning needs for its moves stays free.
    #[inline]
    pub(super) fn accepts(&self, domain: Domain) -> bool {
        let reserved = match (self.victim[domain.at()], self.reserve) {
            (Some(victim), _) => u32::from(self.blocks.valid[victim.at()]),
            (None, Reserve::Pages(pages)) => pages,
            (None, Reserve::Everything) => return false,
        };
        self.room(domain) > reserved
    }

    /// Pages that hosts may still write to `pool` on `unit`; 0 when writes there must wait.
    pub fn room_for(&self, pool: PoolId, unit: Unit) -> u32 {
        let first = self.group(pool, unit) * self.placement.group_size;
        let domains = (first..first + self.placement.group_size).map(Domain);
        domains.filter(|domain| self.accepts(*domain)).map(|domain| self.room(domain)).sum()
    }

    /// How good a place a unit is for a write to a pool that spans several units, the least being the
    /// best, apart from what waits for it: whether it has no room, not even by cleaning; then whether
    /// it has none now; then the pages that hold no valid data, the more the better.
    ///
    /// Room alone would be a trap: a unit that has just been cleaned has the most, and would go on
    /// taking writes and being cleaned while the others keep their superseded pages. Writes that go
    /// where the fewest valid pages are keep the units alike, so that each cleans as cheaply as one
    /// that is a pool of its own.
    pub fn standing(&self, pool: PoolId, unit: Unit) -> (bool, bool, Reverse<u32>) {
        let full = self.room_for(pool, unit) == 0;
        let hopeless = full && !self.can_clean(unit);
        (hopeless, full, Reverse(self.placement.reclaimable[unit.at()]))
    }

    /// Pages of a unit that hold no valid data, as they are kept; `None` where pools lie in one unit.
    pub(in crate::ssd) fn reclaimable(&self, unit: Unit) -> Option<u32> {
        self.placement.reclaimable.get(unit.at()).copied()
    }

    /// Whether some unit of a pool has room for a write, or a victim that makes some.
    pub fn some_unit_can_go_on(&self, pool: PoolId) -> bool {
        self.units_of(pool).any(|unit| self.room_for(pool, unit) > 0 || self.can_clean(unit))
    }

    /// Where a write to `lpn` on `unit` goes, or `None` when it must wait for cleaning.
    ///
    /// Among the domains that accept writes, those whose open block is younger than the block of
    /// the old copy come first: then a later copy mostly lies in a later block. Among them the one
    /// with most free pages is taken, and of equals the next in turn.
    pub fn choose_domain(&mut self, pool: PoolId, unit: Unit, lpn: Lpn) -> Option<Domain> {
        let group = self.group(pool, unit);
        let first = group * self.placement.group_size;
        if self.placement.group_size == 1 {
            return self.accepts(Domain(first)).then_some(Domain(first));
        }
        let opened = |block: Block| self.blocks.sequence[block.at()];
        let old = self.lookup(lpn).map_or(0, |ppn| opened(self.geometry.block_of(ppn)));
        let start = self.placement.write_pointer[group as usize];
        let mut best: Option<((bool, u32), u32)> = None;
        for k in 0..self.placement.group_size {
            let turn = (start + k) % self.placement.group_size;
            let domain = Domain(first + turn);
            if !self.accepts(domain) {
                continue;
            }
            let frontiers = &self.streams.frontier[self.streams.of_domain(domain)];
            let pages = self.geometry.pages_per_block;
            let left: u32 = frontiers.iter().map(|frontier| pages - frontier.next).sum();
            let late = frontiers
                .iter()
                .any(|frontier| frontier.block.is_none_or(|block| opened(block) >= old));
            let rank = (late, self.free.count(domain) * pages + left);
            if best.is_none_or(|(other, _)| rank > other) {
                best = Some((rank, turn));
            }
        }
        let (_, turn) = best?;
        self.placement.write_pointer[group as usize] = (turn + 1) % self.placement.group_size;
        Some(Domain(first + turn))
    }

    /// Where a partial write of `lpn` goes that is merged with the old copy: to the same plane if
    /// that accepts writes, which is the second thing returned.
    pub fn choose_domain_near(
        &mut self,
        pool: PoolId,
        unit: Unit,
        lpn: Lpn,
    ) -> Option<(Domain, bool)> {
        let old = self.lookup(lpn).map(|ppn| self.geometry.domain_of(self.geometry.block_of(ppn)));
        if let Some(old) = old.filter(|old| self.accepts(*old)) {
            return Some((old, true));
        }
        self.choose_domain(pool, unit, lpn).map(|domain| (domain, Some(domain) == old))
    }
}
