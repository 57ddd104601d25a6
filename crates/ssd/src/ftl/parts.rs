//! Independent parts of a drive, for the untimed mode: units with their own pools share only the
//! numbering of block openings, the counts, and the state named by [`Ftl::whole_because`]. So
//! several threads can overwrite one part each, on copies of the state that are joined afterwards.
//!
//! Openings are numbered anew: a part counts on from the last one of all and notes the host write that
//! caused each; in the order of those writes they get the numbers that one thread would have given.

use super::Ftl;
use super::blocks::Opening;
use crate::account::Counters;
use crate::config::{Detector, Frontiers, LevellingRule, Policy, Temperature, TieBreak};
use crate::flash::Flash;
use crate::ids::{Block, Lpn, PoolId, Unit};
use std::ops::Range;

/// Some units of a drive, with their blocks.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    units: Range<usize>,
    domains: Range<usize>,
    blocks: Range<usize>,
    pools: Vec<PoolId>,
}

impl Part {
    /// Blocks of the part.
    pub(crate) fn blocks(&self) -> &Range<usize> {
        &self.blocks
    }

    /// Pools of the part.
    pub(crate) fn pools(&self) -> &[PoolId] {
        &self.pools
    }
}

impl Ftl {
    /// Shared state that prevents a division into parts, if any.
    pub(crate) fn whole_because(&self, flash: &Flash) -> Option<&'static str> {
        let config = &self.config;
        let ties = config.policy == Policy::Greedy && config.tie_break == TieBreak::Random;
        let detects =
            config.frontiers == Frontiers::HotCold && config.hot_cold.detector != Detector::Address;
        let ages = config.levelling.temperature == Temperature::Aggregate;
        let reasons = [
            (self.has_ended(), "the drive has reached end of life"),
            (self.logs.is_some(), "writes gather in log blocks"),
            (self.tells_handles(), "placement handles count what all units do"),
            (self.caches_map(), "one map cache serves all units"),
            (self.geometry.groups.is_some(), "all pages go through one write buffer"),
            (self.placement.pools_span_units, "pools span several units"),
            (self.geometry.units < 2, "the drive is one unit"),
            (self.supplied.is_some(), "a user-defined cleaning policy sees the whole drive"),
            (
                matches!(config.policy, Policy::Random | Policy::DChoices),
                "the cleaning policy draws random numbers across all units",
            ),
            (ties, "ties between victims are broken at random across all units"),
            (
                matches!(config.policy, Policy::CostBenefit | Policy::Cat),
                "the cleaning policy counts age in blocks opened on the whole drive",
            ),
            (
                config.levelling.rule != LevellingRule::None,
                "wear levelling draws random numbers across all units",
            ),
            (ages, "the age of moved data is counted in blocks opened on the whole drive"),
            (detects, "the detector of hot pages is one table for all units"),
            (self.snapshots.is_some(), "snapshots hold pages of the whole drive"),
            (flash.is_ordered(), "the programs of all units are numbered in one order"),
        ];
        reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
    }

    /// Host writes after which surely no block has worn out that is not already: a write has the same
    /// block erased at most twice, since a round through all closed blocks gains all that is superseded.
    pub(crate) fn writes_before_wear(&self, flash: &Flash) -> u64 {
        let blocks = (0..self.geometry.blocks()).map(Block);
        let used = blocks.filter(|block| !flash.is_retired(*block));
        let least = used.map(|block| flash.life(block)).min();
        u64::from(least.unwrap_or(0).saturating_sub(1) / 2)
    }

    /// Divides the units into `count` parts of adjacent units.
    pub(crate) fn parts(&self, count: u32) -> Vec<Part> {
        let units = u64::from(self.geometry.units);
        let cut = |part: u32| (units * u64::from(part) / u64::from(count)) as u32;
        (0..count).map(|number| self.part_with(cut(number)..cut(number + 1))).collect()
    }

    fn part_with(&self, units: Range<u32>) -> Part {
        let geometry = &self.geometry;
        let domains =
            units.start * geometry.domains_per_unit..units.end * geometry.domains_per_unit;
        let blocks =
            domains.start * geometry.blocks_per_domain..domains.end * geometry.blocks_per_domain;
        let inside = |pool: &PoolId| {
            let Unit(unit) = geometry.unit_of(geometry.pool_domains[pool.at()][0]);
            units.contains(&unit)
        };
        let pools = (0..geometry.pools).map(PoolId).filter(inside).collect();
        let [units, domains, blocks] =
            [units.clone(), domains, blocks].map(|it| it.start as usize..it.end as usize);
        Part { units, domains, blocks, pools }
    }

    /// Begins to note which blocks are opened.
    pub(crate) fn note_openings(&mut self) {
        self.blocks.openings = Some(Vec::new());
    }

    /// Ends that.
    pub(crate) fn forget_openings(&mut self) {
        self.blocks.openings = None;
    }

    #[inline]
    pub(super) fn note_opening(&mut self, block: Block) {
        if let Some(openings) = &mut self.blocks.openings {
            openings.push(Opening { write: self.counters.host_programs, block });
        }
    }

    /// Openings since the last call.
    pub(crate) fn take_openings(&mut self) -> std::vec::Drain<'_, Opening> {
        self.blocks.openings.get_or_insert_default().drain(..)
    }

    /// Blocks opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.blocks.opened
    }

    /// Sets the number of blocks opened, in all parts together.
    pub(crate) fn set_opened(&mut self, opened: u64) {
        self.blocks.opened = opened;
    }

    /// A block that was opened under one number has another, unless it has been opened again.
    pub(crate) fn renumber(&mut self, block: Block, from: u64, to: u64) {
        let sequence = &mut self.blocks.sequence[block.at()];
        if *sequence == from {
            *sequence = to;
        }
    }

    /// Adds the counts of another part, and resets them.
    pub(crate) fn take_counts(&mut self, other: &mut Ftl) {
        self.counters += std::mem::take(&mut other.counters);
        self.programs = self.programs.wrapping_add(std::mem::take(&mut other.programs));
    }

    /// A copy with zero counts.
    pub(crate) fn part(&self) -> Ftl {
        let mut part = self.clone();
        (part.counters, part.programs) = (Counters::default(), 0);
        part
    }

    /// Takes over a part from its copy.
    pub(crate) fn take_part(&mut self, other: &Ftl, part: &Part) {
        let Part { units, domains, blocks, pools } = part;
        let count = self.streams.count as usize;
        let frontiers = domains.start * count..domains.end * count;
        let size = self.placement.group_size as usize;
        let groups = domains.start / size..domains.end / size;
        macro_rules! take {
            ($($($field:ident).+: $range:expr;)*) => {$(
                self.$($field).+[$range.clone()].copy_from_slice(&other.$($field).+[$range.clone()]);
            )*};
        }
        take! {
            blocks.valid: blocks;
            blocks.state: blocks;
            blocks.sequence: blocks;
            blocks.stream: blocks;
            streams.frontier: frontiers;
            placement.write_pointer: groups;
            victim: domains;
            marks.low_domains: units;
            marks.idle_domains: units;
            marks.clean_pointer: units;
        }
        self.blocks.index.take_part(&other.blocks.index, domains.clone());
        self.blocks.order.take_part(&other.blocks.order, domains.clone(), blocks.clone());
        self.free.take_part(&other.free, domains.clone());
        self.ageing.take_part(&other.ageing, domains.clone());
        let (stripe, all) = (u64::from(self.geometry.stripe_pages), self.geometry.pages_per_pool);
        for row in (0..all).step_by(stripe as usize) {
            for pool in pools {
                let first = self.geometry.lpn_in_pool(*pool, row);
                self.map.take_part(&other.map, first..Lpn(first.0 + stripe.min(all - row)));
            }
        }
    }
}
