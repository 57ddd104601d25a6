//! The flash translation layer: decides where pages go and which blocks are cleaned, and acts on it.
//!
//! Everything here is volatile: it is lost in a power cut and can be [rebuilt](rebuild) from the
//! [`Flash`]. No function knows what anything costs: the timed drive and fast-forward call the same
//! ones. A decision (map, frontier, valid counts) holds from the moment an operation begins; the
//! flash changes when it completes.

pub(in crate::ssd) mod ageing;
mod completing;
mod ending;
mod fast_forward;
pub(in crate::ssd) mod free;
mod frontiers;
pub(in crate::ssd) mod heat;
mod keeping;
mod levelling;
mod rebuild;

pub use rebuild::{Rebuilt, rebuild};

pub(in crate::ssd) use keeping::FtlState;

use crate::ssd::account::Counters;
use crate::ssd::clean::{Action, AgeOrder, Custom, Pool, VictimIndex, View};
use crate::ssd::config::{Cleaning, FillOrder, Frontiers, SsdConfig, Temperature};
use crate::ssd::flash::Flash;
use crate::ssd::ids::{Block, BlockState, Domain, Lpn, PoolId, Ppn, Unit};
use crate::ssd::page::{Access, Need, PageRequest, PageWork};
use crate::ssd::shape::Geometry;
use ageing::Ageing;
use engine::{Random, Xoshiro256};
use free::FreeBlocks;
use heat::Heat;
use std::cmp::Reverse;
use std::mem::take;
use std::sync::Arc;

/// Streams of the drive's randomness: its initial content, and its cleaning policy.
const FILL_STREAM: u64 = 7;
const CLEANING_STREAM: u64 = 9;

/// Marks an unmapped logical page, and the absence of a block.
const NONE: u32 = u32::MAX;

/// The block of a domain that is being filled, and its next page; full when that is past the end.
#[derive(Debug, Clone, Copy)]
struct Frontier {
    block: u32,
    next: u32,
}

/// A page that is being programmed: it takes effect in the flash on completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Programming {
    /// Where.
    pub ppn: Ppn,
    /// Whose data.
    pub lpn: Lpn,
    /// The copy that it supersedes, or `u32::MAX` when there is none: until it is programmed, that one
    /// is the newest that a power cut would leave.
    pub old: u32,
    /// Low 32 bits of its number among all programs.
    pub order: u32,
}

/// The cleaning of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Where.
    pub domain: Domain,
    /// The block.
    pub victim: Block,
    next_page: u32,
    /// Pages moved out of it so far.
    moved: u32,
    /// The victim is worn: when it is erased, cold data goes into it.
    migrate: bool,
    /// The worn block that the victim's content goes into, or `NONE`: then to the frontier.
    into: u32,
}

impl Job {
    /// Whether it moves cold data into a worn block.
    pub fn is_migration(&self) -> bool {
        self.into != NONE
    }
}

/// The next operation of a [`Job`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanStep {
    /// Move one valid page to the frontier.
    Move(Programming),
    /// Nothing valid is left: erase the victim.
    Erase,
}

/// The FTL of one drive.
#[derive(Debug, Clone)]
pub struct Ftl {
    geometry: Geometry,
    config: Cleaning,
    /// The policy from outside the table that is asked, if the configuration names one.
    supplied: Option<Custom>,
    random: Xoshiro256,
    summary_page: bool,
    /// Physical page of each logical page, or `NONE`.
    map: Vec<u32>,
    /// Valid pages of each block, counting those still being programmed.
    valid: Vec<u16>,
    state: Vec<BlockState>,
    /// Ascending number of each block's opening; 0 when erased. The flash has it from the block's
    /// first page on.
    sequence: Vec<u64>,
    opened: u64,
    /// Pages whose programming was ever begun.
    programs: u64,
    /// The frontiers of each domain.
    frontier: Vec<Frontier>,
    /// The block being cleaned in each domain, or `NONE`.
    victim: Vec<u32>,
    free: FreeBlocks,
    index: VictimIndex,
    order: AgeOrder,
    /// Of each block, by how much the data moved into it is older than the block, summed over its
    /// pages; empty when no rule asks for it.
    moved_age: Vec<u64>,
    ageing: Ageing,
    heat: Heat,
    /// Pages that stay free in a domain for the moves of the next cleaning; without limit once the
    /// drive has ended.
    reserve: u32,
    /// Domains among which a write on a unit may choose: consecutive groups of this size.
    group_size: u32,
    /// A pool reaches over several units; each unit's domains are then a group.
    pools_span_units: bool,
    /// The group of each pool when it does not.
    pool_group: Vec<u32>,
    /// Pages of each unit that hold no valid data, erased or superseded; kept only where pools span
    /// units.
    reclaimable: Vec<u32>,
    /// The domain of each group at which the next choice begins.
    write_pointer: Vec<u32>,
    /// Domains of each unit at or below the cleaning threshold.
    low_domains: Vec<u32>,
    /// Domains of each unit at or below the threshold of background cleaning.
    idle_domains: Vec<u32>,
    /// The domain of each unit at which the next search for a low one begins.
    clean_pointer: Vec<u32>,
    /// What was done.
    pub counters: Counters,
}

impl Ftl {
    /// The FTL of a drive that was filled as the configuration says, with the flash it was
    /// written to.
    pub fn new(config: &SsdConfig, geometry: &Geometry, seed: u64) -> (Ftl, Flash) {
        let blocks = geometry.blocks() as usize;
        let domains = geometry.domains as usize;
        let domains_per_pool = geometry.domains / geometry.pools;
        let group_size = domains_per_pool.min(geometry.domains_per_unit);
        let mut flash = Flash::new(config, geometry, seed);
        let aggregate = config.cleaning.levelling.temperature == Temperature::Aggregate;
        let mut ftl = Ftl {
            geometry: geometry.clone(),
            config: config.cleaning.clone(),
            supplied: None,
            random: Xoshiro256::new(seed, CLEANING_STREAM),
            summary_page: config.summary_page,
            map: vec![NONE; geometry.exported_pages() as usize],
            valid: vec![0; blocks],
            state: vec![BlockState::Free; blocks],
            sequence: vec![0; blocks],
            opened: 0,
            programs: 0,
            frontier: vec![
                Frontier { block: NONE, next: geometry.data_pages };
                domains * config.cleaning.frontiers.count() as usize
            ],
            victim: vec![NONE; domains],
            free: FreeBlocks::new(geometry, config.free_order),
            order: AgeOrder::new(geometry.domains, geometry.blocks()),
            index: VictimIndex::new(
                geometry.domains,
                geometry.blocks_per_domain,
                geometry.data_pages,
            ),
            moved_age: vec![0; if aggregate { blocks } else { 0 }],
            heat: Heat::new(
                &config.cleaning.hot_cold,
                config.cleaning.frontiers == Frontiers::HotCold,
                geometry.exported_pages(),
            ),
            ageing: Ageing::new(geometry, flash.ratings()),
            reserve: geometry.data_pages,
            group_size,
            pools_span_units: domains_per_pool > group_size,
            pool_group: geometry.pool_domains.iter().map(|d| d[0].0 / group_size).collect(),
            reclaimable: vec![
                geometry.domains_per_unit
                    * geometry.blocks_per_domain
                    * geometry.data_pages;
                if domains_per_pool > group_size {
                    geometry.units as usize
                } else {
                    0
                }
            ],
            write_pointer: vec![0; domains / group_size as usize],
            low_domains: vec![geometry.domains_per_unit; geometry.units as usize],
            idle_domains: vec![geometry.domains_per_unit; geometry.units as usize],
            clean_pointer: vec![0; geometry.units as usize],
            counters: Counters::default(),
        };
        let random = &mut Xoshiro256::new(seed, FILL_STREAM);
        for pool in 0..geometry.pools {
            ftl.fill_pool(&mut flash, PoolId(pool), config, random);
        }
        ftl.counters = Counters::default();
        (ftl, flash)
    }

    /// Writes the pool's share of the initial content: block by block, the domains in turn.
    fn fill_pool(
        &mut self,
        flash: &mut Flash,
        pool: PoolId,
        config: &SsdConfig,
        random: &mut Xoshiro256,
    ) {
        let pages = f64::from(self.geometry.pages_per_pool) * config.fill.share();
        let mut content: Vec<u32> = (0..pages as u32).collect();
        if config.fill_order == FillOrder::Random {
            for i in (1..content.len()).rev() {
                content.swap(i, random.below(i as u64 + 1) as usize);
            }
        }
        let domains = self.geometry.pool_domains[pool.at()].clone();
        let blocks = (0..self.geometry.blocks_per_domain)
            .flat_map(|relative| domains.iter().map(move |domain| (*domain, relative)));
        let mut pages = content.chunks(self.geometry.data_pages as usize);
        for (domain, relative) in blocks {
            let block = Block(self.geometry.first_block(domain).0 + relative);
            let Some(content) = pages.next() else {
                self.release(domain, block, 0);
                continue;
            };
            let frontier = self.frontiers_of(domain).start as u32;
            self.open(frontier, block);
            for index in content {
                let lpn = self.geometry.lpn_in_pool(pool, *index);
                let programming = self.program_on(frontier, domain, lpn);
                self.complete_program(flash, programming);
            }
        }
        for domain in domains {
            let frontier = self.frontiers_of(domain).start;
            if self.frontier[frontier].next == self.geometry.data_pages {
                let block = self.take_free(domain);
                self.open(frontier as u32, block);
            }
        }
    }

    /// The shape of the drive.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Where a logical page is, if it was ever written and not trimmed since.
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.map[lpn.at()];
        (ppn != NONE).then_some(Ppn(ppn))
    }

    /// What a page request needs as the drive is now.
    #[inline]
    pub(in crate::ssd) fn need(&self, request: &PageRequest) -> Need {
        let mapped = self.lookup(request.lpn).is_some();
        match request.access {
            Access::Read if mapped => Need::Page(PageWork::Read, request.touched),
            Access::Read => Need::Unmapped,
            Access::Write if self.has_ended() => Need::Refused,
            Access::Write if request.covered || !mapped => {
                Need::Page(PageWork::Write, request.touched)
            }
            Access::Write if self.geometry.granule.synchronous => {
                Need::Page(PageWork::Merge, request.touched)
            }
            Access::Write => Need::Page(PageWork::ReadForWrite, request.whole),
        }
    }

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
        self.pools_span_units
    }

    /// The group of domains that a write to `pool` on `unit` may go to.
    fn group(&self, pool: PoolId, unit: Unit) -> u32 {
        if self.pools_span_units { unit.0 } else { self.pool_group[pool.at()] }
    }

    /// Pages that can be programmed in a domain before another block must be erased.
    #[inline]
    fn room(&self, domain: Domain) -> u32 {
        let data_pages = self.geometry.data_pages;
        self.free.count(domain) * data_pages + self.left_open(domain)
    }

    /// Whether a host write may go to a domain: what cleaning needs for its moves stays free.
    #[inline]
    fn accepts(&self, domain: Domain) -> bool {
        let reserved = match self.victim[domain.at()] {
            NONE => self.reserve,
            victim => u32::from(self.valid[victim as usize]),
        };
        self.room(domain) > reserved
    }

    /// Pages that hosts may still write to `pool` on `unit`; 0 when writes there must wait.
    pub fn room_for(&self, pool: PoolId, unit: Unit) -> u32 {
        let first = self.group(pool, unit) * self.group_size;
        let domains = (first..first + self.group_size).map(Domain);
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
        (hopeless, full, Reverse(self.reclaimable[unit.at()]))
    }

    /// Pages of a unit that hold no valid data, as they are kept; `None` where pools lie in one unit.
    pub(in crate::ssd) fn reclaimable(&self, unit: Unit) -> Option<u32> {
        self.reclaimable.get(unit.at()).copied()
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
        let first = group * self.group_size;
        if self.group_size == 1 {
            return self.accepts(Domain(first)).then_some(Domain(first));
        }
        let age = |block: u32| if block == NONE { u64::MAX } else { self.sequence[block as usize] };
        let old = self.lookup(lpn).map_or(0, |ppn| age(self.geometry.block_of(ppn).0));
        let start = self.write_pointer[group as usize];
        let mut best: Option<((bool, u32), u32)> = None;
        for k in 0..self.group_size {
            let turn = (start + k) % self.group_size;
            let domain = Domain(first + turn);
            if !self.accepts(domain) {
                continue;
            }
            let frontiers = &self.frontier[self.frontiers_of(domain)];
            let pages = self.geometry.pages_per_block;
            let left: u32 = frontiers.iter().map(|frontier| pages - frontier.next).sum();
            let late = frontiers.iter().any(|frontier| age(frontier.block) >= old);
            let rank = (late, self.free.count(domain) * pages + left);
            if best.is_none_or(|(other, _)| rank > other) {
                best = Some((rank, turn));
            }
        }
        let (_, turn) = best?;
        self.write_pointer[group as usize] = (turn + 1) % self.group_size;
        Some(Domain(first + turn))
    }

    /// Programs the data of `lpn` on a frontier, given by its place in the list of all.
    #[inline]
    fn program_on(&mut self, frontier: u32, domain: Domain, lpn: Lpn) -> Programming {
        if self.frontier[frontier as usize].next == self.geometry.data_pages {
            let block = self.take_free(domain);
            self.open(frontier, block);
        }
        let frontier = &mut self.frontier[frontier as usize];
        let block = frontier.block;
        let ppn = self.geometry.ppn(Block(block), frontier.next);
        frontier.next += 1;
        self.valid[block as usize] += 1;
        if self.pools_span_units {
            self.reclaimable[self.geometry.unit_of(domain).at()] -= 1;
        }
        let old = self.map[lpn.at()];
        self.supersede(lpn);
        self.map[lpn.at()] = ppn.0;
        let order = self.programs as u32;
        self.programs = self.programs.wrapping_add(1);
        Programming { ppn, lpn, old, order }
    }

    /// Makes the current copy of a logical page, if there is one, worthless.
    #[inline]
    fn supersede(&mut self, lpn: Lpn) {
        let Some(old) = self.lookup(lpn) else { return };
        let block = self.geometry.block_of(old);
        let valid = self.valid[block.at()];
        self.valid[block.at()] = valid - 1;
        if self.pools_span_units {
            let unit = self.geometry.unit_of(self.geometry.domain_of(block));
            self.reclaimable[unit.at()] += 1;
        }
        if self.state[block.at()] == BlockState::Closed {
            let domain = self.geometry.domain_of(block);
            let relative = block.0 - self.geometry.first_block(domain).0;
            self.index.superseded(domain.0, relative, u32::from(valid));
        }
    }

    /// Forgets a logical page; reading it finds nothing until it is written again.
    pub fn trim(&mut self, lpn: Lpn) {
        self.supersede(lpn);
        self.map[lpn.at()] = NONE;
        self.counters.trims += u64::from(self.geometry.granule.flash_pages);
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

    /// Whether some domain of a unit is at or below the cleaning threshold.
    #[inline]
    pub fn needs_cleaning(&self, unit: Unit) -> bool {
        self.low_domains[unit.at()] > 0
    }

    /// Whether some domain of a unit has fewer erased blocks than idle time should leave it with.
    #[inline]
    pub fn can_use_idle_time(&self, unit: Unit) -> bool {
        self.idle_domains[unit.at()] > 0
    }

    /// Whether [`begin_cleaning`](Ftl::begin_cleaning) would find a victim in a unit.
    pub fn can_clean(&self, unit: Unit) -> bool {
        let first = unit.0 * self.geometry.domains_per_unit;
        let domains = (first..first + self.geometry.domains_per_unit).map(Domain);
        let mut low = domains.filter(|domain| self.is_low(*domain));
        self.needs_cleaning(unit)
            && low.any(|domain| self.least_valid(domain) < self.geometry.data_pages)
    }

    #[inline]
    fn is_low(&self, domain: Domain) -> bool {
        self.free.count(domain) <= self.geometry.low_blocks
    }

    /// Valid pages of the emptiest closed block of a domain; more than a block has when none is
    /// closed. Every policy finds a victim when this is less than a block's data pages.
    fn least_valid(&self, domain: Domain) -> u32 {
        self.index.least(domain.0).unwrap_or(u32::MAX)
    }

    /// Asks the policy for a victim in a low domain of a unit, the domains taking turns; when
    /// nothing waits, also in one that idle time should help.
    pub fn begin_cleaning(&mut self, flash: &Flash, unit: Unit, waiting: bool) -> Option<Job> {
        if self.has_ended() {
            return None;
        }
        let threshold = if waiting || self.needs_cleaning(unit) {
            self.geometry.low_blocks
        } else {
            self.geometry.idle_blocks
        };
        let domains = self.geometry.domains_per_unit;
        let start = self.clean_pointer[unit.at()];
        for k in 0..domains {
            let turn = (start + k) % domains;
            let domain = Domain(unit.0 * domains + turn);
            if self.free.count(domain) > threshold {
                continue;
            }
            if let Some((victim, migrate)) = self.levelled_victim(flash, domain) {
                self.clean_pointer[unit.at()] = (turn + 1) % domains;
                return Some(self.take_victim(domain, victim, migrate));
            }
        }
        None
    }

    /// Has a policy from outside the table asked, greedy standing in where it has failed.
    pub(super) fn supply(&mut self, policy: Option<Custom>) {
        self.supplied = policy;
    }

    /// The block that the policy would clean next in a domain.
    fn policy_victim(&mut self, flash: &Flash, domain: Domain) -> Option<Block> {
        self.index.raise_least(domain.0, self.least_valid(domain).min(self.geometry.data_pages));
        let answer = self.supplied.clone().and_then(|policy| self.ask(&policy, flash, domain));
        let view = View {
            index: &self.index,
            order: &self.order,
            domain: domain.0,
            first_block: self.geometry.first_block(domain),
            blocks: self.geometry.blocks_per_domain,
            data_pages: self.geometry.data_pages,
            valid: &self.valid,
            state: &self.state,
            sequence: &self.sequence,
            opened: self.opened,
            erases: flash.erases(),
            config: &self.config,
        };
        match answer.unwrap_or_else(|| self.config.policy.step(&view, &mut self.random)) {
            Action::Clean { victim } => Some(victim),
            Action::Rest => None,
        }
    }

    /// The decision of a policy from outside the table; `None` once it has failed.
    ///
    /// For as long as it is asked, the arrays are shared with it.
    fn ask(&mut self, policy: &Custom, flash: &Flash, domain: Domain) -> Option<Action> {
        if self.least_valid(domain) >= self.geometry.data_pages {
            return Some(Action::Rest);
        }
        let pool = Pool {
            domain: domain.0,
            first_block: self.geometry.first_block(domain),
            blocks: self.geometry.blocks_per_domain,
            data_pages: self.geometry.data_pages,
            free: self.free.count(domain),
            urgent: !self.accepts(domain),
            valid: Arc::new(take(&mut self.valid)),
            state: Arc::new(take(&mut self.state)),
            sequence: Arc::new(take(&mut self.sequence)),
            erases: flash.shared_erases(),
            opened: self.opened,
            random: self.random.unit(),
        };
        let action = policy.step(&pool);
        self.valid = Arc::unwrap_or_clone(pool.valid);
        self.state = Arc::unwrap_or_clone(pool.state);
        self.sequence = Arc::unwrap_or_clone(pool.sequence);
        action
    }

    fn take_victim(&mut self, domain: Domain, victim: Block, migrate: bool) -> Job {
        assert!(self.geometry.domain_of(victim) == domain, "a victim lies in its domain");
        assert!(self.state[victim.at()] == BlockState::Closed, "only closed blocks are cleaned");
        let relative = victim.0 - self.geometry.first_block(domain).0;
        self.index.remove(domain.0, relative, u32::from(self.valid[victim.at()]));
        self.order.remove(domain.0, victim.0);
        self.state[victim.at()] = BlockState::Victim;
        self.victim[domain.at()] = victim.0;
        Job { domain, victim, next_page: 0, moved: 0, migrate, into: NONE }
    }

    /// Whether the next operation of a cleaning is a move: the victim still holds valid data.
    pub fn has_valid_page(&self, flash: &Flash, job: &Job) -> bool {
        let pages = job.next_page..self.geometry.data_pages;
        let mut pages = pages.map(|page| self.geometry.ppn(job.victim, page));
        pages.any(|ppn| self.map[flash.stamp(ppn).at()] == ppn.0)
    }

    /// The next operation of a cleaning: a move begins at once, an erase is up to the caller.
    pub fn next_step(&mut self, flash: &mut Flash, job: &mut Job) -> CleanStep {
        if job.into != NONE {
            return self.fill_step(flash, job);
        }
        while job.next_page < self.geometry.data_pages {
            let ppn = self.geometry.ppn(job.victim, job.next_page);
            job.next_page += 1;
            let lpn = flash.stamp(ppn);
            if self.map[lpn.at()] == ppn.0 {
                let programming = self.begin_move(job.domain, lpn);
                self.carry_temperature(job.victim, programming);
                job.moved += 1;
                return CleanStep::Move(programming);
            }
        }
        CleanStep::Erase
    }

    /// Begins to copy the next valid page of a victim to another unit, if that accepts it: where it is
    /// copied from, and its program.
    pub fn begin_stream(
        &mut self,
        flash: &Flash,
        job: &mut Job,
        to: Unit,
    ) -> Option<(Ppn, Programming)> {
        let pages = job.next_page..self.geometry.data_pages;
        let mut pages = pages.map(|page| self.geometry.ppn(job.victim, page));
        let (ppn, lpn) = pages.find_map(|ppn| {
            let lpn = flash.stamp(ppn);
            (self.map[lpn.at()] == ppn.0).then_some((ppn, lpn))
        })?;
        let domain = self.choose_domain(self.geometry.pool_of(lpn), to, lpn)?;
        job.next_page = ppn.0 - self.geometry.ppn(job.victim, 0).0 + 1;
        let programming = self.begin_program(domain, lpn);
        self.carry_temperature(job.victim, programming);
        job.moved += 1;
        Some((ppn, programming))
    }

    /// Completes a move that [`next_step`](Ftl::next_step) began.
    pub fn complete_move(&mut self, flash: &mut Flash, programming: Programming) {
        if self.is_filling(self.geometry.block_of(programming.ppn)) {
            self.counters.migrations += 1;
        } else {
            self.counters.moves += 1;
        }
        self.complete_program(flash, programming);
    }

    /// The victim of a job has been erased: it is free again, retired, or to be filled with cold data,
    /// which is the job that is returned.
    pub fn complete_erase(&mut self, flash: &mut Flash, job: Job) -> Option<Job> {
        let Job { domain, victim, .. } = job;
        assert!(self.valid[victim.at()] == 0, "a block with valid pages is never erased");
        let had_life = flash.life(victim) > 0;
        if had_life {
            self.ageing.erased(domain);
        }
        flash.erase(victim);
        self.counters.erases += 1;
        self.counters.migrated_blocks += u64::from(job.into != NONE);
        self.counters.victim_moves += u64::from(job.moved);
        self.victim[domain.at()] = NONE;
        self.sequence[victim.at()] = 0;
        if flash.life(victim) == 0 {
            self.expire(flash, domain, victim, had_life);
            return None;
        }
        if job.migrate
            && let Some(job) = self.begin_migration(flash, domain, victim)
        {
            return Some(job);
        }
        self.release(domain, victim, flash.erases()[victim.at()]);
        None
    }

    fn open(&mut self, frontier: u32, block: Block) {
        self.opened += 1;
        self.sequence[block.at()] = self.opened;
        self.state[block.at()] = BlockState::Open;
        if let Some(age) = self.moved_age.get_mut(block.at()) {
            *age = 0;
        }
        self.frontier[frontier as usize] = Frontier { block: block.0, next: 0 };
    }

    fn take_free(&mut self, domain: Domain) -> Block {
        let block = self.free.take(domain);
        let (count, unit) = (self.free.count(domain), self.geometry.unit_of(domain));
        self.low_domains[unit.at()] += u32::from(count == self.geometry.low_blocks);
        self.idle_domains[unit.at()] += u32::from(count == self.geometry.idle_blocks);
        block
    }

    fn release(&mut self, domain: Domain, block: Block, erases: u32) {
        self.state[block.at()] = BlockState::Free;
        self.free.insert(domain, block, erases);
        let (count, unit) = (self.free.count(domain), self.geometry.unit_of(domain));
        self.low_domains[unit.at()] -= u32::from(count == self.geometry.low_blocks + 1);
        self.idle_domains[unit.at()] -= u32::from(count == self.geometry.idle_blocks + 1);
    }

    /// What a block is being used for.
    pub fn state(&self, block: Block) -> BlockState {
        self.state[block.at()]
    }

    /// Whether a block is worn out and no longer used.
    pub(in crate::ssd) fn is_retired(&self, block: Block) -> bool {
        self.state[block.at()] == BlockState::Retired
    }

    /// Valid pages of a block.
    pub fn valid(&self, block: Block) -> u32 {
        u32::from(self.valid[block.at()])
    }

    /// Free blocks of a domain.
    pub fn free_blocks(&self, domain: Domain) -> u32 {
        self.free.count(domain)
    }

    /// The blocks that the free list of a domain names; slow, for audits.
    pub(in crate::ssd) fn free_list(&self, domain: Domain) -> Vec<u32> {
        self.free.list(domain).0
    }

    pub(in crate::ssd) fn is_indexed(&self, domain: Domain, block: Block) -> bool {
        let relative = block.0 - self.geometry.first_block(domain).0;
        self.index.contains(domain.0, relative, self.valid(block))
    }
}
