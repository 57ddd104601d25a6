//! Views of the executors: programs under way, accounts, effort, cleaning.

use super::{Buffered, Direct};
use crate::account::{Counters, UnitAccount};
use crate::cache::{CutGroup, CutProgram};
use crate::flash::Effort;
use crate::front::Front;
use crate::ftl::{Ftl, Programming};
use crate::ids::{Block, Domain, Lpn, Unit};
use crate::page::Owner;
use crate::shape::Geometry;
use engine::Time;

/// Views of an executor.
pub(crate) trait Seen {
    /// Programs unknown to the flash, in order of start, with the requests whose data they contain. `writer` knows the
    /// request of an owner's page.
    fn programs(
        &self,
        ftl: &Ftl,
        now: Time,
        writer: &Writer<'_>,
    ) -> Vec<(Programming, Option<u64>)>;

    /// Programs unknown to the flash, in order of start, as after a cut at which the capacitors do nothing.
    fn open_programs(&self, ftl: &Ftl, now: Time) -> Vec<CutProgram>;

    /// The programs with the outcome of a cut; the groups of a write buffer.
    fn cut(&self, ftl: &Ftl, front: &Front, now: Time) -> (Vec<CutProgram>, Option<Vec<CutGroup>>);

    /// Pages whose programming has begun.
    fn programming(&self) -> Vec<Programming>;

    /// Blocks whose erasure has begun.
    fn erasing(&self) -> Vec<Block>;

    /// Activity of each unit or die up to `end`.
    fn accounts(&self, geometry: &Geometry, end: Time) -> Vec<UnitAccount>;

    /// Busy time of each bus up to `end`.
    fn bus_busy_ns(&self, end: Time) -> Vec<Time>;

    /// Effort since counts were reset.
    fn effort(&self) -> Effort;

    /// Effort of the host's reads.
    fn effort_of_reads(&self, counters: &Counters) -> Effort;

    /// Units or domains that are being cleaned, erasures included.
    fn cleaning(&self, ftl: &Ftl) -> u32;

    /// True if a unit or domain has less room than its target.
    fn wants_cleaning(&self, ftl: &Ftl) -> bool;

    /// True if cleaning yields to writes as long as there are erased blocks.
    fn yields(&self) -> bool;

    /// True if open blocks are padded by programs that take their time.
    fn pads_in_time(&self) -> bool;
}

/// Finds the request of an owner's page.
pub(crate) type Writer<'a> = dyn Fn(Owner, Lpn) -> Option<u64> + 'a;

impl Seen for Direct {
    fn programs(
        &self,
        ftl: &Ftl,
        now: Time,
        writer: &Writer<'_>,
    ) -> Vec<(Programming, Option<u64>)> {
        let programs = self.units.cut(ftl.geometry(), now).into_iter();
        let writer = |page: Option<_>| {
            let page = self.queues.page(page?);
            writer(page.owner, page.lpn)
        };
        let mut all: Vec<_> = programs.map(|(it, page, _)| (it, writer(page))).collect();
        all.sort_by_key(|(it, _)| it.order.wrapping_sub(ftl.next_order()));
        all
    }

    fn open_programs(&self, ftl: &Ftl, now: Time) -> Vec<CutProgram> {
        let programs = self.units.cut(ftl.geometry(), now).into_iter();
        let mut programs: Vec<_> = programs
            .map(|(programming, page, reached)| {
                let owner = page.map(|page| self.queues.page(page).owner);
                let is_hosts = matches!(owner, Some(Owner::Host(_)));
                CutProgram { programming, is_hosts, answered: false, reached }
            })
            .collect();
        programs.sort_by_key(|it| it.programming.order.wrapping_sub(ftl.next_order()));
        programs
    }

    fn cut(&self, ftl: &Ftl, _: &Front, now: Time) -> (Vec<CutProgram>, Option<Vec<CutGroup>>) {
        (self.open_programs(ftl, now), None)
    }

    fn programming(&self) -> Vec<Programming> {
        self.units.programming().collect()
    }

    fn erasing(&self) -> Vec<Block> {
        self.units.erasing().collect()
    }

    fn accounts(&self, geometry: &Geometry, end: Time) -> Vec<UnitAccount> {
        let account = |unit| {
            let (waited_ns, operations) = self.queues.served(unit);
            UnitAccount {
                name: geometry.unit_name(unit),
                busy_ns: self.units.busy_ns(unit, end),
                cleaning_ns: self.jobs.cleaning_ns(unit, end),
                waited_ns,
                operations,
            }
        };
        (0..geometry.units).map(Unit).map(account).collect()
    }

    fn bus_busy_ns(&self, end: Time) -> Vec<Time> {
        self.units.bus_busy_ns(end).collect()
    }

    fn effort(&self) -> Effort {
        self.units.effort()
    }

    fn effort_of_reads(&self, counters: &Counters) -> Effort {
        self.units.effort_of_reads(counters.host_reads + counters.idle_reads)
    }

    fn cleaning(&self, _: &Ftl) -> u32 {
        self.jobs.count()
    }

    fn wants_cleaning(&self, ftl: &Ftl) -> bool {
        (0..ftl.geometry().units).map(Unit).any(|unit| ftl.needs_cleaning(unit))
    }

    fn yields(&self) -> bool {
        !self.jobs.block()
    }

    fn pads_in_time(&self) -> bool {
        false
    }
}

impl Seen for Buffered {
    /// The buffer knows the requests.
    fn programs(&self, ftl: &Ftl, _: Time, _: &Writer<'_>) -> Vec<(Programming, Option<u64>)> {
        self.cache.owned_programs(ftl)
    }

    fn open_programs(&self, ftl: &Ftl, _: Time) -> Vec<CutProgram> {
        let open = |(programming, _)| {
            let reached = Vec::new();
            CutProgram { programming, is_hosts: false, answered: false, reached }
        };
        self.cache.owned_programs(ftl).into_iter().map(open).collect()
    }

    fn cut(&self, ftl: &Ftl, front: &Front, now: Time) -> (Vec<CutProgram>, Option<Vec<CutGroup>>) {
        let is_open = |slot, request| front.is_open(slot, request);
        let (programs, groups) = self.cache.cut(ftl, &self.dies, is_open, now);
        (programs, Some(groups))
    }

    fn programming(&self) -> Vec<Programming> {
        self.cache.programming().collect()
    }

    fn erasing(&self) -> Vec<Block> {
        self.mover.erasing()
    }

    fn accounts(&self, _: &Geometry, end: Time) -> Vec<UnitAccount> {
        self.dies.accounts(end)
    }

    fn bus_busy_ns(&self, end: Time) -> Vec<Time> {
        self.dies.bus_busy_ns(end)
    }

    fn effort(&self) -> Effort {
        self.dies.effort()[0]
    }

    fn effort_of_reads(&self, _: &Counters) -> Effort {
        self.dies.effort()[1]
    }

    fn cleaning(&self, ftl: &Ftl) -> u32 {
        let erasing = self.mover.erasing();
        let is_erased =
            |domain| erasing.iter().any(|block| ftl.geometry().domain_of(*block) == domain);
        let domains = (0..ftl.geometry().domains).map(Domain);
        let is_read = |domain| self.mover.has_victim(domain) && self.cache.is_cleaning(domain);
        domains.filter(|domain| is_read(*domain) || is_erased(*domain)).count() as u32
    }

    fn yields(&self) -> bool {
        false
    }

    fn pads_in_time(&self) -> bool {
        true
    }

    fn wants_cleaning(&self, ftl: &Ftl) -> bool {
        let mut domains = (0..ftl.geometry().domains).map(Domain);
        domains.any(|it| self.cache.lacks_room(it, 0) && self.cache.is_worth_cleaning(ftl, it))
    }
}
