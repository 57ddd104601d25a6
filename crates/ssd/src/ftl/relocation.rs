//! Moving the valid pages out of a block, and erasing it.

use super::{Ftl, Programming, Reason, Relocation};
use crate::clean::{Action, Custom, DomainState, View};
use crate::flash::Flash;
use crate::ids::{Block, BlockState, Domain, Lpn, Ppn, Unit};
use engine::Random;
use std::mem::take;
use std::sync::Arc;

/// The next operation of a [`Relocation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Move one valid page.
    Move(Programming),
    /// No valid pages left: erase the block.
    Erase,
    /// A merge has ended, without an erasure.
    Over,
}

impl Ftl {
    /// Lets the policy choose a victim in a low domain of a unit, round robin; in idle time also in
    /// a domain that could use it.
    pub fn begin_cleaning(
        &mut self,
        flash: &Flash,
        unit: Unit,
        waiting: bool,
    ) -> Option<Relocation> {
        let is_low = self.needs_cleaning(unit);
        if !is_low && let Some(domain) = self.due_on(unit) {
            return self.begin_refresh(domain);
        }
        let threshold =
            if waiting || is_low { self.geometry.low_blocks } else { self.geometry.idle_blocks };
        self.begin_cleaning_below(flash, unit, threshold)
    }

    /// `all` for domains with at most a given number of erased blocks.
    #[inline]
    pub fn begin_cleaning_below(
        &mut self,
        flash: &Flash,
        unit: Unit,
        threshold: u32,
    ) -> Option<Relocation> {
        if self.has_ended() {
            return None;
        }
        if self.logs.is_some() {
            return self.begin_log_job(flash, unit);
        }
        let domains = self.geometry.domains_per_unit;
        let start = self.marks.clean_pointer[unit.at()];
        for k in 0..domains {
            let turn = (start + k) % domains;
            let domain = Domain(unit.0 * domains + turn);
            if self.free.count(domain) > threshold {
                continue;
            }
            if let Some((victim, migrate)) = self.levelled_victim(flash, domain) {
                self.marks.clean_pointer[unit.at()] = (turn + 1) % domains;
                return Some(self.take_victim(domain, victim, migrate));
            }
        }
        None
    }

    /// Sets a custom policy, replaced by greedy after a failure.
    pub(crate) fn supply(&mut self, policy: Option<Custom>) {
        self.supplied = policy;
    }

    /// The block that the policy would clean next in a domain.
    pub(super) fn policy_victim(&mut self, flash: &Flash, domain: Domain) -> Option<Block> {
        self.blocks
            .index
            .raise_least(domain.0, self.least_valid(domain).min(self.geometry.data_pages));
        let answer = self.supplied.clone().and_then(|policy| self.ask(&policy, flash, domain));
        let view = View {
            index: &self.blocks.index,
            order: &self.blocks.order,
            domain: domain.0,
            first_block: self.geometry.first_block(domain),
            blocks: self.geometry.blocks_per_domain,
            data_pages: self.geometry.data_pages,
            valid: &self.blocks.valid,
            state: &self.blocks.state,
            sequence: &self.blocks.sequence,
            opened: self.blocks.opened,
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
    /// During its call it shares the arrays.
    fn ask(&mut self, policy: &Custom, flash: &Flash, domain: Domain) -> Option<Action> {
        if self.least_valid(domain) >= self.geometry.data_pages {
            return Some(Action::Rest);
        }
        let pool = DomainState {
            domain: domain.0,
            first_block: self.geometry.first_block(domain),
            blocks: self.geometry.blocks_per_domain,
            data_pages: self.geometry.data_pages,
            free: self.free.count(domain),
            urgent: !self.accepts(domain),
            valid: Arc::new(take(&mut self.blocks.valid)),
            state: Arc::new(take(&mut self.blocks.state)),
            sequence: Arc::new(take(&mut self.blocks.sequence)),
            erases: flash.shared_erases(),
            index: Arc::new(take(&mut self.blocks.index)),
            order: Arc::new(take(&mut self.blocks.order)),
            opened: self.blocks.opened,
            random: self.random.unit(),
        };
        let action = policy.step(&pool);
        self.blocks.valid = Arc::unwrap_or_clone(pool.valid);
        self.blocks.state = Arc::unwrap_or_clone(pool.state);
        self.blocks.sequence = Arc::unwrap_or_clone(pool.sequence);
        self.blocks.index = Arc::unwrap_or_clone(pool.index);
        self.blocks.order = Arc::unwrap_or_clone(pool.order);
        action
    }

    /// A closed block of a domain is to be emptied; `migrate` says whether cold data follows into it.
    pub fn take_victim(&mut self, domain: Domain, victim: Block, migrate: bool) -> Relocation {
        assert!(self.geometry.domain_of(victim) == domain, "a victim lies in its domain");
        assert!(
            self.blocks.state[victim.at()] == BlockState::Closed,
            "only closed blocks are cleaned"
        );
        let relative = victim.0 - self.geometry.first_block(domain).0;
        self.blocks.index.remove(domain.0, relative, self.blocks.valid[victim.at()]);
        self.blocks.order.remove(domain.0, victim.0);
        self.blocks.state[victim.at()] = BlockState::Victim;
        self.victim[domain.at()] = Some(victim);
        let reason = match migrate {
            true => Reason::SpaceThenColdData,
            false if self.is_slc(victim) => Reason::Fold,
            false => Reason::Space,
        };
        Relocation { domain, source: victim, reason, next_page: 0, moved: 0 }
    }

    /// True if the next operation of a cleaning is a move: the victim still holds valid data.
    pub fn has_valid_page(&self, flash: &Flash, job: &Relocation) -> bool {
        let pages = job.next_page..self.geometry.data_pages;
        let mut pages = pages.map(|page| self.geometry.ppn(job.source, page));
        pages.any(|ppn| self.map.holds(flash.stamp(ppn), ppn))
    }

    /// The next operation of a cleaning: a move begins at once, an erase is up to the caller.
    pub fn next_step(&mut self, flash: &mut Flash, job: &mut Relocation) -> Step {
        if let Reason::Wear { into } = job.reason {
            return self.fill_step(flash, job, into);
        }
        if let Reason::Merge(merge) = job.reason {
            return self.merge_step(flash, job, merge);
        }
        while job.next_page < self.geometry.data_pages {
            let ppn = self.geometry.ppn(job.source, job.next_page);
            job.next_page += 1;
            let lpn = flash.stamp(ppn);
            if self.map.holds(lpn, ppn) {
                let programming = self.begin_move_from(job, lpn, ppn);
                self.carry_temperature(job.source, programming);
                job.moved += 1;
                return Step::Move(programming);
            }
        }
        Step::Erase
    }

    /// Begins to copy the next valid page of a victim to another unit, if that accepts it: where it is
    /// copied from, and its program.
    pub fn begin_stream(
        &mut self,
        flash: &Flash,
        job: &mut Relocation,
        to: Unit,
    ) -> Option<(Ppn, Programming)> {
        let pages = job.next_page..self.geometry.data_pages;
        let mut pages = pages.map(|page| self.geometry.ppn(job.source, page));
        let (ppn, lpn) = pages.find_map(|ppn| {
            let lpn = flash.stamp(ppn);
            self.map.holds(lpn, ppn).then_some((ppn, lpn))
        })?;
        let domain = self.choose_domain(self.geometry.pool_of(lpn), to, lpn)?;
        job.next_page = self.geometry.page_in_block(ppn) + 1;
        let programming = self.begin_program(domain, lpn);
        self.carry_temperature(job.source, programming);
        job.moved += 1;
        Some((ppn, programming))
    }

    /// Completes a move that [`next_step`](Ftl::next_step) began.
    pub fn complete_move(&mut self, flash: &mut Flash, programming: Programming) {
        self.count_copy(programming.lpn);
        if let Some(from) = programming.old.ppn().filter(|_| self.refresh_queue.is_some()) {
            self.count_moved(self.geometry.block_of(from), 1);
        }
        if self.is_filling(programming.block) {
            self.counters.migrations += 1;
        } else if programming.lpn == Lpn::PADDING {
            self.counters.padding += 1;
        } else {
            self.counters.moves += 1;
        }
        self.complete_program(flash, programming);
    }

    /// Without valid pages in the victim of a job: its domain may have another one, though it is
    /// not erased yet.
    pub(crate) fn release_victim(&mut self, job: &Relocation) {
        let victim = &mut self.victim[job.domain.at()];
        if *victim == Some(job.source) {
            *victim = None;
        }
    }

    /// True if the newest copy of a logical page lies there.
    pub(crate) fn lies_at(&self, lpn: Lpn, ppn: Ppn) -> bool {
        self.map.holds(lpn, ppn)
    }

    /// The logical page that lies in a page of the flash, if that is its newest copy.
    #[inline]
    pub(crate) fn valid_at(&self, flash: &Flash, ppn: Ppn) -> Option<Lpn> {
        let lpn = flash.stamp(ppn);
        self.map.holds(lpn, ppn).then_some(lpn)
    }

    /// The victim of a job has been erased: it is free again, retired, or to be filled with cold data,
    /// which is the job that is returned.
    pub fn complete_erase(&mut self, flash: &mut Flash, job: Relocation) -> Option<Relocation> {
        let Relocation { domain, source: victim, .. } = job;
        assert!(self.blocks.valid[victim.at()] == 0, "a block with valid pages is never erased");
        let had_life = flash.life(victim) > 0;
        let wears = !self.is_slc(victim) || flash.wears_with_one_bit(victim);
        if had_life && wears {
            self.ageing.erased(domain);
        }
        flash.erase(victim);
        if let Some(erasures) = &mut self.since_erasure {
            erasures.erased(victim);
        }
        if !wears {
            flash.count_no_wear(victim);
        }
        self.note_erased(victim);
        self.note_cared(victim);
        self.counters.erases += 1;
        self.counters.migrated_blocks += u64::from(job.levels_wear());
        self.counters.victim_moves += u64::from(job.moved);
        self.count_victim(victim, job.moved);
        self.note_slc_erased(victim);
        self.release_victim(&job);
        self.blocks.sequence[victim.at()] = 0;
        let is_bad = self.goes_bad(flash, domain, victim);
        if flash.life(victim) == 0 || is_bad {
            self.expire(flash, domain, victim, had_life);
            return None;
        }
        if job.reason == Reason::SpaceThenColdData
            && let Some(job) = self.begin_migration(flash, domain, victim)
        {
            return Some(job);
        }
        if job.reason == Reason::Fold && self.keeps_for_slc() {
            self.release_for_slc(victim, flash.erases()[victim.at()]);
        } else {
            self.release(domain, victim, flash.erases()[victim.at()]);
        }
        None
    }
}
