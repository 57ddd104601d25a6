//! Autonomous operations of the drive, and views of its state: pages that it writes for itself,
//! power cuts, accounts and records.

use crate::Ssd;
use crate::account::UnitAccount;
use crate::cache::CutProgram;
use crate::ftl::Programming;
use crate::ids::{Block, Lpn, Unit};
use crate::page::Owner;
use crate::timeline::{Recorder, Timeline, Window};
use engine::Time;

impl Ssd {
    /// Writes a page of the drive's own on a unit, or a die.
    pub(crate) fn write_own(&mut self, unit: Unit) {
        if self.is_buffered {
            self.write_own_on_die(unit.0);
        } else {
            self.write_own_on_unit(unit);
        }
    }

    /// Writes pages anew after a cut; how many ends of that there will be.
    pub(crate) fn restore_pages(&mut self, lpns: &[Lpn]) -> (u32, u32) {
        if self.is_buffered {
            let count = self.restore_buffered(lpns);
            return (count, count.min(1));
        }
        let count = lpns.iter().map(|lpn| u32::from(self.restore_on_unit(*lpn))).sum();
        (count, count)
    }

    /// Programs unknown to the flash, in order of start, with the requests whose data they contain.
    pub(crate) fn owned_programs(&self) -> Vec<(Programming, Option<u64>)> {
        if self.is_buffered {
            return self.cache.owned_programs(&self.ftl);
        }
        let programs = self.units.cut(self.geometry(), self.clock.now).into_iter();
        let writer = |page: Option<_>| {
            let page = self.queues.page(page?);
            self.writer_of(page.owner, page.lpn)
        };
        let mut all: Vec<_> = programs.map(|(it, page, _)| (it, writer(page))).collect();
        all.sort_by_key(|(it, _)| it.order.wrapping_sub(self.ftl.next_order()));
        all
    }

    /// The programs with the outcome of a cut: how far each has come.
    pub(crate) fn cut_programs(&self, now: Time) -> Vec<CutProgram> {
        let programs = self.units.cut(self.geometry(), now).into_iter();
        let mut programs: Vec<_> = programs
            .map(|(programming, page, reached)| {
                let owner = page.map(|page| self.queues.page(page).owner);
                let is_hosts = matches!(owner, Some(Owner::Host(_)));
                CutProgram { programming, is_hosts, answered: false, reached }
            })
            .collect();
        programs.sort_by_key(|it| it.programming.order.wrapping_sub(self.ftl.next_order()));
        programs
    }

    /// Programs unknown to the flash, in order of start.
    pub(crate) fn open_programs(&self, now: Time) -> Vec<CutProgram> {
        if !self.is_buffered {
            return self.cut_programs(now);
        }
        let all = self.cache.owned_programs(&self.ftl).into_iter();
        all.map(|(programming, _)| {
            let reached = Vec::new();
            CutProgram { programming, is_hosts: false, answered: false, reached }
        })
        .collect()
    }

    /// Drops all operations and waiting pages.
    pub(crate) fn machines_lose_power(&mut self, now: Time) {
        self.queues.lose_power();
        self.units.lose_power(now);
        self.jobs.lose_power(now);
        if let Some(blocks) = &mut self.blocks {
            blocks.lose_power();
        }
        if let Some(map) = &mut self.map {
            map.lose_power();
            self.ftl.forget_map();
        }
        self.cache.lose_power(self.ftl.geometry(), self.dies.costs());
        self.dies.lose_power(now);
        self.mover.lose_power();
        self.answers.clear();
    }

    /// Pages whose programming has begun: the map knows them, the flash does not yet.
    pub(crate) fn programming(&self) -> Vec<Programming> {
        let begun = self.units.programming().chain(self.cache.programming());
        begun.map(|it| self.ftl.renumbered(it)).collect()
    }

    /// Blocks whose erasure has begun.
    pub(crate) fn erasing(&self) -> Vec<Block> {
        self.units.erasing().chain(self.mover.erasing()).collect()
    }

    /// Activity of each unit or die up to `end`.
    pub(crate) fn unit_accounts(&self, end: Time) -> Vec<UnitAccount> {
        if self.is_buffered {
            return self.dies.accounts(end);
        }
        let account = |unit| {
            let (waited_ns, operations) = self.queues.served(unit);
            UnitAccount {
                name: self.geometry().unit_name(unit),
                busy_ns: self.units.busy_ns(unit, end),
                cleaning_ns: self.jobs.cleaning_ns(unit, end),
                waited_ns,
                operations,
            }
        };
        (0..self.geometry().units).map(Unit).map(account).collect()
    }

    /// Busy time of each bus up to `end`.
    pub(crate) fn bus_busy_ns(&self, end: Time) -> Vec<Time> {
        if self.is_buffered {
            return self.dies.bus_busy_ns(end);
        }
        self.units.bus_busy_ns(end).collect()
    }

    /// Starts counting from zero.
    pub(crate) fn reset_counters(&mut self) {
        if let Some(blocks) = &mut self.blocks {
            blocks.end_untimed((&mut self.ftl, &mut self.flash));
        }
        self.ftl.end_untimed(&mut self.flash);
        self.ftl.reset_counters(&self.flash);
        self.front.reset_queues();
        self.units.reset_effort();
        self.dies.reset_effort();
        let now = self.clock.now;
        if let Some(slc) = self.cache.slc() {
            slc.reset(now);
        }
        if let Some(media) = self.flash.media_mut() {
            media.reset_counts();
        }
        let joules = self.joules_at(now);
        if let Some(thermal) = &mut self.thermal {
            thermal.reset(now, joules);
        }
    }

    /// Notes the operations of a window from now on.
    pub(crate) fn record_window(&mut self, window: Window) {
        self.recorder = Some(Box::new(Recorder::new(window)));
    }

    /// Recorded operations.
    pub(crate) fn take_record(&mut self) -> Option<Timeline> {
        let recorder = self.recorder.take()?;
        Some(recorder.finish(self.geometry()))
    }

    /// Units, or domains, that are cleaning.
    pub(crate) fn cleaning_count(&self) -> u32 {
        self.jobs.count() + self.mover.victims()
    }
}
