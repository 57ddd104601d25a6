//! The choice of the domain for a page that the host writes.

use super::Ftl;
use super::placement::Reserve;
use crate::ids::{Block, Domain, Lpn, PoolId, Unit};
use std::cmp::Reverse;

impl Ftl {
    /// The units that may take a write to `pool`; more than one when the pool is wider than a unit.
    pub fn units_of(&self, pool: PoolId) -> impl ExactSizeIterator<Item = Unit> {
        let domains = &self.geometry.pool_domains[pool.at()];
        let first_of_each = domains.iter().step_by(self.geometry.domains_per_unit as usize);
        first_of_each.map(|domain| self.geometry.unit_of(*domain))
    }

    /// The unit of a pool that does not reach over several.
    #[inline]
    pub(crate) fn only_unit_of(&self, pool: PoolId) -> Unit {
        let group = self.placement.pool_group[pool.at()];
        self.geometry.unit_of(Domain(group * self.placement.group_size))
    }

    /// True if pools reach over several units: an erasure may then overtake a program that supersedes
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
    pub(super) fn room(&self, domain: Domain) -> u64 {
        self.pages_of(self.free.count(domain)) + u64::from(self.left_open(domain))
    }

    /// Data pages in `blocks` blocks.
    #[inline]
    fn pages_of(&self, blocks: u32) -> u64 {
        u64::from(blocks) * u64::from(self.geometry.data_pages)
    }

    /// `room` for moved pages, which cannot use the host's open blocks.
    pub(crate) fn room_for_moves(&self, domain: Domain) -> u64 {
        if !self.streams.apart() {
            return self.room(domain);
        }
        let left = self.left_for_copies(domain);
        self.pages_of(self.free.count(domain)) + u64::from(left)
    }

    /// True if a host write may go to a domain, with enough free pages left for the moves of
    /// cleaning.
    #[inline]
    pub(crate) fn accepts(&self, domain: Domain) -> bool {
        let reserved = match (self.victim[domain.at()], self.reserve) {
            (Some(victim), _) => self.blocks.valid[victim.at()] + self.geometry.kept_pages(),
            (None, Reserve::Pages(pages)) => pages,
            (None, Reserve::Everything) => return false,
        };
        if self.streams.apart() {
            return self.accepts_apart(domain, reserved);
        }
        self.room(domain) > u64::from(reserved)
    }

    /// True if a domain has a victim, or a possible one with a gain.
    pub(crate) fn may_gain(&self, domain: Domain) -> bool {
        self.victim[domain.at()].is_some() || self.least_valid(domain) < self.geometry.data_pages
    }

    /// `accepts` with separate frontiers for host pages and moved pages: the host's has room, or
    /// takes a block that the moves do not need.
    fn accepts_apart(&self, domain: Domain, reserved: u32) -> bool {
        if self.left_on(domain, self.streams.host) > 0 {
            return true;
        }
        let free = self.free.count(domain);
        let moves = self.left_for_copies(domain);
        free > 0 && self.pages_of(free - 1) + u64::from(moves) >= u64::from(reserved)
    }

    /// Pages that hosts may still write to `pool` on `unit`; 0 when writes there must wait.
    pub fn room_for(&self, pool: PoolId, unit: Unit) -> u64 {
        let first = self.group(pool, unit) * self.placement.group_size;
        let domains = (first..first + self.placement.group_size).map(Domain);
        domains.filter(|domain| self.accepts(*domain)).map(|domain| self.room(domain)).sum()
    }

    /// Rank of a unit for a write to a pool of several units, best lowest, without its queue:
    /// whether it has no room, not even by cleaning; then whether it has none now; then the pages
    /// that hold no valid data, the more the better.
    ///
    /// By free pages alone, a unit just cleaned would keep taking writes and being cleaned, while
    /// the others keep their superseded pages. Writing where the fewest pages are valid balances
    /// the units, so that each cleans as cheaply as a separate pool.
    pub fn standing(&self, pool: PoolId, unit: Unit) -> (bool, bool, Reverse<u64>) {
        let full = self.room_for(pool, unit) == 0;
        let hopeless = full && !self.can_clean(unit);
        // Not counted where pools lie in one unit, for there is no other place.
        (hopeless, full, Reverse(self.reclaimable(unit).unwrap_or(0)))
    }

    /// Reclaimable pages of a unit; `None` where pools lie in one unit.
    pub(crate) fn reclaimable(&self, unit: Unit) -> Option<u64> {
        self.placement.reclaimable.get(unit.at()).copied()
    }

    /// True if some unit of a pool has room for a write, or a victim that makes some.
    pub fn some_unit_can_go_on(&self, pool: PoolId) -> bool {
        self.units_of(pool).any(|unit| self.room_for(pool, unit) > 0 || self.can_clean(unit))
    }

    /// Destination of a write to `lpn` on `unit`, or `None` if it must wait for cleaning.
    ///
    /// Among the domains that accept writes, those whose open block is younger than the block of
    /// the old copy come first: then a later copy mostly lies in a later block. Of them the one
    /// with the most free pages is taken; ties go round robin.
    pub fn choose_domain(&mut self, pool: PoolId, unit: Unit, lpn: Lpn) -> Option<Domain> {
        let group = self.group(pool, unit);
        let first = group * self.placement.group_size;
        if self.logs.is_some() {
            return self.accepts_in_log(Domain(first), lpn).then_some(Domain(first));
        }
        if self.placement.group_size == 1 {
            return self.accepts(Domain(first)).then_some(Domain(first));
        }
        let opened = |block: Block| self.blocks.sequence[block.at()];
        let old = self.lookup(lpn).map_or(0, |ppn| opened(self.geometry.block_of(ppn)));
        let start = self.placement.write_pointer[group as usize];
        let mut best: Option<((bool, u64), u32)> = None;
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
            let free = u64::from(self.free.count(domain)) * u64::from(pages);
            let rank = (late, free + u64::from(left));
            if best.is_none_or(|(other, _)| rank > other) {
                best = Some((rank, turn));
            }
        }
        let (_, turn) = best?;
        self.placement.write_pointer[group as usize] = (turn + 1) % self.placement.group_size;
        Some(Domain(first + turn))
    }

    /// The domain of a pool with the most room, if there is any, whatever is kept for cleaning.
    pub(crate) fn roomiest(&self, pool: PoolId) -> Option<Domain> {
        let domains = self.geometry.pool_domains[pool.at()].iter().copied();
        domains.filter(|it| self.room(*it) > 0).max_by_key(|it| (self.room(*it), Reverse(it.0)))
    }

    /// `roomiest` among the domains of a unit.
    pub(crate) fn roomiest_on(&self, pool: PoolId, unit: Unit) -> Option<Domain> {
        let domains = self.geometry.pool_domains[pool.at()].iter().copied();
        let here = domains.filter(|it| self.geometry.unit_of(*it) == unit && self.room(*it) > 0);
        here.max_by_key(|it| (self.room(*it), Reverse(it.0)))
    }

    /// Destination of a partial write of `lpn` that is merged with the old copy: to the same plane
    /// if that accepts writes, which is the second value returned.
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
