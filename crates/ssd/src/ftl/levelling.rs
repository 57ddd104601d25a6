//! Wear levelling around a cleaning policy (section 5 of the 2008 paper), and the migration of cold
//! data into worn blocks.
//!
//! The policy names candidates in its order; the rules look at how many erasures each has left, its
//! *life*, against the mean of its domain. A worn block is passed over by chance, or cleaned and then
//! filled with the content of the coldest block, which is erased in its stead.

use super::{Ftl, Programming, Reason, Relocation, Step};
use crate::config::{Levelling, LevellingRule, Temperature};
use crate::flash::Flash;
use crate::ids::{Block, BlockState, Domain, Lpn};
use engine::{Random, Xoshiro256};

/// The verdict of the rules on a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Clean,
    Migrate,
    Skip,
}

impl Levelling {
    /// True if a victim is worn enough to be filled with the data of the coldest block.
    fn is_worn_beside(&self, flash: &Flash, victim: Block, coldest: Block) -> bool {
        let erases = |block: Block| flash.erases()[block.at()];
        self.rule != LevellingRule::Swap
            || victim != coldest && erases(victim) > erases(coldest).saturating_add(self.swap_above)
    }

    /// The rules for a block with `life` erasures left in a domain where the mean is `mean`; `takes_cold` if it is so
    /// worn that cold data are to follow into it, and there are some.
    fn judge(&self, life: f64, mean: f64, takes_cold: bool, random: &mut Xoshiro256) -> Verdict {
        if takes_cold {
            return Verdict::Migrate;
        }
        if self.rule == LevellingRule::Swap {
            return Verdict::Clean;
        }
        let (full, none) = ((1.0 - self.age_variance) * mean, self.rate_limit_floor * mean);
        // The chance of use falls linearly from 1 at the upper end of the window to 0 at its lower.
        if life < full && random.unit() >= (life - none) / (full - none) {
            return Verdict::Skip;
        }
        Verdict::Clean
    }
}

impl Ftl {
    /// The policy's victim as the rules of wear levelling allow, and whether cold data is to follow
    /// it. The last candidate is always taken.
    pub(super) fn levelled_victim(
        &mut self,
        flash: &Flash,
        domain: Domain,
    ) -> Option<(Block, bool)> {
        if let Some(block) = self.slc_victim(domain) {
            return Some((block, false));
        }
        if self.config.levelling.rule == LevellingRule::None {
            return Some((self.policy_victim_but_slc(flash, domain)?, false));
        }
        let mean = self.ageing.mean_life(domain);
        let mut cold = None;
        let mut skipped = Vec::new();
        let chosen = loop {
            let Some(victim) = self.policy_victim_but_slc(flash, domain) else {
                break skipped.pop().inspect(|victim| self.put_back(domain, *victim));
            };
            if self.is_slc(victim) {
                // A fold causes little wear, and frees the space for which the host waits.
                break Some((victim, false));
            }
            let life = f64::from(flash.life(victim));
            let rules = &self.config.levelling;
            let may_be_worn = match rules.rule {
                LevellingRule::Migrate => life < rules.retirement_age * mean,
                LevellingRule::Swap => true,
                LevellingRule::None | LevellingRule::RateLimit => false,
            };
            let takes_cold = may_be_worn && {
                let coldest = *cold.get_or_insert_with(|| self.coldest(flash, domain));
                coldest.is_some_and(|coldest| rules.is_worn_beside(flash, victim, coldest))
            };
            match self.config.levelling.judge(life, mean, takes_cold, &mut self.random) {
                Verdict::Clean => break Some((victim, false)),
                Verdict::Migrate => break Some((victim, true)),
                Verdict::Skip => {
                    self.exclude(domain, victim);
                    skipped.push((victim, false));
                }
            }
        };
        // In reverse, to restore the order of age.
        for skipped in skipped.into_iter().rev() {
            self.put_back(domain, skipped);
        }
        chosen
    }

    /// Hides a closed block from the policy.
    pub fn exclude(&mut self, domain: Domain, block: Block) {
        let relative = block.0 - self.geometry.first_block(domain).0;
        self.blocks.index.remove(domain.0, relative, self.valid(block));
        self.blocks.order.remove(domain.0, block.0);
        self.blocks.state[block.at()] = BlockState::PassedOver;
    }

    /// Undoes the latest [`exclude`](Ftl::exclude) that is not undone.
    pub fn put_back(&mut self, domain: Domain, (block, _): (Block, bool)) {
        let relative = block.0 - self.geometry.first_block(domain).0;
        self.blocks.state[block.at()] = BlockState::Closed;
        self.blocks.order.put_back(domain.0, block.0);
        self.blocks.index.insert(domain.0, relative, self.valid(block));
    }

    /// The coldest closed block of a domain that holds data and has life enough to be worth opening; to swap, the least
    /// erased one.
    fn coldest(&self, flash: &Flash, domain: Domain) -> Option<Block> {
        let rules = &self.config.levelling;
        let swaps = rules.rule == LevellingRule::Swap;
        let enough = if swaps { 0.0 } else { rules.cold_life * self.ageing.mean_life(domain) };
        // Data of the SLC cache are folded, however cold.
        let fit = |block: &Block| {
            self.blocks.valid[block.at()] > 0
                && f64::from(flash.life(*block)) >= enough
                && !self.is_slc(*block)
                && self.since_erasure.as_ref().is_none_or(|it| it.is_cold(*block))
        };
        let mut blocks = self.blocks.order.iter(domain.0).map(Block).filter(fit);
        if swaps {
            return blocks.min_by_key(|block| flash.erases()[block.at()]);
        }
        match rules.temperature {
            Temperature::Opened => blocks.next(),
            Temperature::Aggregate => blocks.min_by_key(|block| self.temperature(*block)),
        }
    }

    /// When the data of a block was written, as a number of block openings x data pages.
    pub(super) fn temperature(&self, block: Block) -> u64 {
        let opened = self.blocks.sequence[block.at()] * u64::from(self.geometry.data_pages);
        opened.saturating_sub(self.blocks.moved_age.get(block.at()).copied().unwrap_or(0))
    }

    /// A page that was moved out of `from` brings its temperature to the block it goes to.
    #[inline]
    pub(super) fn carry_temperature(&mut self, from: Block, programming: Programming) {
        if !self.blocks.moved_age.is_empty() {
            self.carry(from, programming.block);
        }
    }

    /// A page was moved out of `from` and placed: its temperature moves along, and from a block
    /// shared by handles it counts for its own handle.
    #[inline]
    pub(crate) fn note_moved(&mut self, lpn: Lpn, from: Block) {
        if !self.blocks.moved_age.is_empty()
            && let Some(ppn) = self.lookup(lpn)
        {
            self.carry(from, self.geometry.block_of(ppn));
        }
        if self.notes_copies {
            self.count_folded_of(lpn, from);
        }
    }

    fn carry(&mut self, from: Block, to: Block) {
        let pages = u64::from(self.geometry.data_pages);
        let written = self.temperature(from) / pages;
        self.blocks.moved_age[to.at()] += self.blocks.sequence[to.at()].saturating_sub(written);
    }

    /// Begins to fill the erased block of a job with the coldest data of its domain, if there is any.
    pub(super) fn begin_migration(
        &mut self,
        flash: &Flash,
        domain: Domain,
        worn: Block,
    ) -> Option<Relocation> {
        let cold = self.coldest(flash, domain)?;
        // The worn block takes the cold one's place: its age, and where it stands in the order.
        let relative = cold.0 - self.geometry.first_block(domain).0;
        self.blocks.index.remove(domain.0, relative, self.valid(cold));
        self.blocks.state[cold.at()] = BlockState::Victim;
        self.victim[domain.at()] = Some(cold);
        let reason = Reason::Wear { into: worn };
        let job = Relocation { domain, source: cold, reason, next_page: 0, moved: 0 };
        if self.streams.gather {
            // Its valid pages are buffered, and reach the worn block as copies.
            self.blocks.order.remove(domain.0, cold.0);
            self.open(self.cold_frontier(domain), worn);
            if self.tells_handles() {
                // It is the unit that the cold block was, of the same handle.
                let stream = self.blocks.stream[cold.at()];
                self.blocks.opened_for(worn, stream);
            }
            return Some(job);
        }
        self.blocks.order.replace(domain.0, cold.0, worn.0);
        self.blocks.sequence[worn.at()] = self.blocks.sequence[cold.at()];
        self.blocks.stream[worn.at()] = self.blocks.stream[cold.at()];
        if !self.blocks.moved_age.is_empty() {
            self.blocks.moved_age[worn.at()] = self.blocks.moved_age[cold.at()];
        }
        self.blocks.state[worn.at()] = BlockState::Filling;
        Some(job)
    }

    /// The next page of cold data, to the same place in the worn block; pages superseded meanwhile
    /// are copied too, at no cost, to keep the order.
    pub(super) fn fill_step(
        &mut self,
        flash: &mut Flash,
        job: &mut Relocation,
        worn: Block,
    ) -> Step {
        while job.next_page < self.geometry.data_pages {
            let page = job.next_page;
            let from = self.geometry.ppn(job.source, page);
            let to = self.geometry.ppn(worn, page);
            let lpn = flash.stamp(from);
            job.next_page += 1;
            // A copy that replaces its source keeps its order.
            let order = flash.order(from);
            if !self.map.holds(lpn, from) {
                if flash.program(to, worn, lpn, order) == 0 {
                    self.write_header(flash, worn, order);
                }
                continue;
            }
            self.blocks.valid[job.source.at()] -= 1;
            self.blocks.valid[worn.at()] += 1;
            self.map.set(lpn, to);
            return Step::Move(Programming { ppn: to, block: worn, lpn, old: from.into(), order });
        }
        if self.blocks.state[worn.at()] != BlockState::Closed {
            // Its last page was superseded.
            self.close_filled(flash, worn);
        }
        Step::Erase
    }

    /// A worn block is full of cold data.
    pub(super) fn close_filled(&mut self, flash: &mut Flash, worn: Block) {
        let domain = self.geometry.domain_of(worn);
        if self.geometry.has_summary_page() {
            flash.program_summary(worn);
            self.counters.summaries += 1;
        }
        self.blocks.state[worn.at()] = BlockState::Closed;
        let relative = worn.0 - self.geometry.first_block(domain).0;
        self.blocks.index.insert(domain.0, relative, self.valid(worn));
    }

    /// True if a block is being filled with cold data.
    pub(crate) fn is_filling(&self, block: Block) -> bool {
        self.blocks.state[block.at()] == BlockState::Filling
    }
}
