//! Reclaim groups: the group of writes without a placement, and the capacity of a group.
//!
//! To other modules a reclaim group is a pool of domains. Pages never leave their domain, so copies
//! stay in their group, and a group wears out like a pool. The rest is here.

use super::Ftl;
use crate::ids::{Block, Domain, Lpn, PoolId};
use engine::{Handle, Op, Request, Status};
use std::cmp::Reverse;
use std::ops::Range;

impl Ftl {
    /// True if there are several.
    #[inline]
    pub fn has_groups(&self) -> bool {
        self.geometry.reclaim_groups > 1
    }

    /// The reclaim group of a block.
    #[inline]
    pub fn group_of_block(&self, block: Block) -> PoolId {
        if !self.has_groups() {
            return PoolId(0);
        }
        self.geometry.domain_pool[self.geometry.domain_of(block).at()]
    }

    /// The domains of a reclaim group; of the only one all.
    pub fn domains_of_group(&self, group: PoolId) -> Range<u32> {
        let each = self.geometry.domains / self.geometry.reclaim_groups;
        group.0 * each..(group.0 + 1) * each
    }

    /// The domains that a page may go to which the host writes now.
    #[inline]
    pub fn domains_to_write(&self) -> Range<u32> {
        if self.has_groups() {
            self.domains_of_group(self.streams.group)
        } else {
            0..self.geometry.domains
        }
    }

    /// The reclaim group of a page; the first one for an unmapped page.
    #[inline]
    pub fn group_of(&self, lpn: Lpn) -> PoolId {
        if self.has_groups() { self.found_in(lpn).unwrap_or(PoolId(0)) } else { PoolId(0) }
    }

    fn found_in(&self, lpn: Lpn) -> Option<PoolId> {
        self.lookup(lpn).map(|ppn| self.group_of_block(self.geometry.block_of(ppn)))
    }

    /// The pool in which a page of the host is placed: by its address, or the reclaim group that its write names.
    #[inline]
    pub fn pool_for(&self, lpn: Lpn) -> PoolId {
        if self.has_groups() { self.streams.group } else { self.geometry.pool_of(lpn) }
    }

    /// A write that names no placement goes to the first handle of a group that the drive chooses: where its first page
    /// lies, else the group of its address; if that is full, the one with most room.
    pub fn in_a_group(&self, request: Request) -> Request {
        let Some(fdp) = self.fdp() else { return request };
        if !self.has_groups() || request.op != Op::Write || !fdp.is_free(&request) {
            return request;
        }
        let first = self.geometry.page_at(request.lba.0);
        let last = request.lba.0 + u64::from(request.sectors) - 1;
        let is_one = self.geometry.page_at(last) == first;
        let group = match self.found_in(first) {
            Some(group) if is_one || !self.is_full_group(group) => group,
            None if !self.is_full_group(self.geometry.pool_of(first)) => {
                self.geometry.pool_of(first)
            }
            _ => self.emptiest(),
        };
        Request { handle: Handle::new(fdp.first_of(group).into()), ..request }
    }

    fn emptiest(&self) -> PoolId {
        let groups = (0..self.geometry.reclaim_groups).map(PoolId);
        let most = groups.max_by_key(|group| (self.without_data(*group), Reverse(group.0)));
        most.expect("there is a group")
    }

    /// Pages of a group that hold no valid data.
    fn without_data(&self, group: PoolId) -> u64 {
        self.domains_of_group(group).map(|domain| self.reclaimable_of(Domain(domain))).sum()
    }

    /// True if a group holds its maximum of valid data: its share of the exported capacity, plus
    /// the spare space that cleaning does not need, less lost blocks.
    fn is_full_group(&self, group: PoolId) -> bool {
        let geometry = &self.geometry;
        let data = u64::from(geometry.data_pages);
        let domains = u64::from(geometry.domains / geometry.pools);
        let physical = domains * u64::from(geometry.blocks_per_domain) * data;
        let left = u64::from(self.ageing.spare[group.at()]);
        let lost = (u64::from(geometry.losable_blocks()) - left) * data;
        let lends = geometry.group_lends.min(left * data / 2);
        self.without_data(group) + lost + lends <= physical - geometry.pages_per_pool
    }

    /// Why the reclaim group that a write of a page names does not take it, if it is full. Pages in
    /// it may be overwritten.
    #[inline]
    pub fn group_refuses(&self, lpn: Lpn) -> Option<Status> {
        if self.has_groups() { self.full_group_refuses(lpn) } else { None }
    }

    #[inline(never)]
    fn full_group_refuses(&self, lpn: Lpn) -> Option<Status> {
        let group = self.streams.group;
        let refuses = self.is_full_group(group) && self.found_in(lpn) != Some(group);
        refuses.then_some(Status::CapacityExceeded)
    }

    /// Why a write of a page is not taken, if it is not.
    #[inline]
    pub fn refusal(&self, lpn: Lpn) -> Option<Status> {
        if self.has_ended() { Some(Status::ReadOnly) } else { self.group_refuses(lpn) }
    }

    /// Counts the refused part of a write.
    pub fn count_refused(&mut self, (handle, why): (Handle, Status), pages: u32, bytes: u64) {
        self.counters.page_refused(pages, bytes);
        if let Some(fdp) = self.fdp_mut()
            && why == Status::CapacityExceeded
        {
            fdp.refused(handle, bytes);
        }
    }

    /// After a power cut: pages without a known last write keep their place, perhaps in another
    /// group.
    pub fn settle_groups(&mut self) {
        if !self.has_groups() {
            return;
        }
        let found: Vec<(Lpn, PoolId)> = self.strays().collect();
        for (lpn, group) in found {
            if let Some(fdp) = self.fdp_mut() {
                fdp.stays_in(lpn, group);
            }
        }
    }

    /// Pages outside the reclaim group named by their writer, with their locations.
    pub fn strays(&self) -> impl Iterator<Item = (Lpn, PoolId)> + '_ {
        let named =
            |lpn| self.fdp().filter(|_| self.has_groups()).and_then(|fdp| fdp.group_of(lpn));
        self.mapped().filter_map(move |(lpn, ppn)| {
            let group = self.group_of_block(self.geometry.block_of(ppn));
            named(lpn).filter(|it| *it != group).map(|_| (lpn, group))
        })
    }
}
