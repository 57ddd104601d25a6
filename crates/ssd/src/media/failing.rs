//! Failures other than wear: failing dies, and defects. Both follow the retention clock and numbers
//! derived from the drive's seed, so they do not depend on the steps of the clock.

use super::frailty::Draws;
use super::law::YEAR;
use super::normal::mix;
use super::planted::Mistake;
use crate::config::Spares;
use crate::ids::Block;
use crate::shape::Groups;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Minutes per year, and per month in which a die fails.
const YEAR_MINUTES: f64 = YEAR * 60.0;
const MONTH_MINUTES: u32 = 43_830;
/// Years to which the probability of a die failure refers.
const SICK_YEARS: f64 = 4.0;
/// Share of defects that affect a word line: a guess.
const WORD_LINES: f64 = 0.2;
/// Bad blocks of a failing die before it fails completely.
const FIRST_BLOCKS: (u32, u32) = (2, 4);

/// A defect of a block: row `None` is all rows, plane `None` all planes of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Hit {
    group: u32,
    page: Option<(u32, u32)>,
}

/// Saved state of failures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailingState {
    count: u64,
    next: f64,
    hits: BTreeMap<u32, Vec<Hit>>,
}

/// A failing die: start, and the blocks that fail in the month before the whole die, with their
/// minutes.
#[derive(Debug, Clone)]
struct Sick {
    from: u32,
    blocks: Vec<(u32, u32)>,
}

/// Failures of a drive.
#[derive(Debug, Clone)]
pub struct Failing {
    seed: u64,
    shape: Groups,
    blocks: u32,
    /// Failure of each die, if it ever fails.
    sick: Vec<Option<Sick>>,
    /// Mean minutes between defects of this drive, if any.
    between: Option<f64>,
    /// Number of defects, minute of the next one, and defects whose pages are not erased yet.
    count: u64,
    next: f64,
    hits: BTreeMap<u32, Vec<Hit>>,
}

impl Failing {
    /// Failures of a drive with `blocks` blocks, if any are configured.
    pub fn new(spares: &Spares, shape: Groups, blocks: u32, seed: u64) -> Option<Box<Failing>> {
        spares.fail().then(|| {
            let hazard = -libm::log1p(-spares.sick_dies.min(1.0 - 1e-12)) / SICK_YEARS;
            let sick = |die: u32| sick(mix(seed, 1 << 32 | u64::from(die)), hazard, blocks);
            let frailty = if Mistake::PoissonDefects.is_planted() {
                1.0
            } else {
                Draws::new(mix(seed, 2 << 32)).gamma(spares.defects_shape)
            };
            let rate = spares.defects * frailty / YEAR_MINUTES;
            let mut failing = Failing {
                seed,
                shape,
                blocks,
                sick: (0..shape.dies).map(sick).collect(),
                between: (rate > 1e-15).then(|| 1.0 / rate),
                count: 0,
                next: f64::INFINITY,
                hits: BTreeMap::new(),
            };
            failing.plan(0.0);
            Box::new(failing)
        })
    }

    fn draws(&self) -> Draws {
        Draws::new(mix(self.seed, 3 << 32 | self.count))
    }

    /// Draws the next defect after the time of the last one.
    fn plan(&mut self, last: f64) {
        let next = self.between.map(|mean| last + mean * self.draws().exponential());
        self.next = next.unwrap_or(f64::INFINITY);
    }

    /// Advances to a minute: defects up to it occur.
    #[inline]
    pub fn advance(&mut self, minute: u32) {
        while self.next <= f64::from(minute) {
            let mut draws = self.draws();
            draws.exponential();
            let Groups { per_block, rows, planes, .. } = self.shape;
            let (block, group) = (draws.below(self.blocks), draws.below(per_block));
            let page = (draws.below(rows), draws.below(planes));
            let page = (draws.unit() >= WORD_LINES).then_some(page);
            self.hits.entry(block).or_default().push(Hit { group, page });
            self.count += 1;
            self.plan(self.next);
        }
    }

    /// Notes an erase of a block: its defects affect no data.
    #[inline]
    pub fn forget(&mut self, block: Block) {
        if !self.hits.is_empty() {
            self.hits.remove(&block.0);
        }
    }

    /// True if a page is lost with its die.
    #[inline]
    pub fn is_sick(&self, die: u32, block: Block, minute: u32) -> bool {
        let die = if Mistake::SickNeighbour.is_planted() { die / 2 * 2 } else { die };
        let Some(sick) = &self.sick[die as usize] else { return false };
        minute >= sick.from.saturating_add(MONTH_MINUTES)
            || sick.blocks.iter().any(|(bad, from)| *bad == block.0 && minute >= *from)
    }

    /// True if a defect affects a page.
    #[inline]
    pub fn is_hit(&self, block: Block, group: u32, page: (u32, u32)) -> bool {
        let hits = if self.hits.is_empty() { None } else { self.hits.get(&block.0) };
        hits.is_some_and(|hits| {
            hits.iter().any(|hit| hit.group == group && hit.page.is_none_or(|it| it == page))
        })
    }

    /// Number of lost dies, and of bad blocks on dies that are failing.
    pub fn counts(&self, minute: u32) -> (u32, u32) {
        let (mut lost, mut bad) = (0, 0);
        for sick in self.sick.iter().flatten() {
            if minute >= sick.from.saturating_add(MONTH_MINUTES) {
                lost += 1;
            } else {
                bad += sick.blocks.iter().filter(|(_, from)| minute >= *from).count() as u32;
            }
        }
        (lost, bad)
    }

    /// Number of defects.
    pub fn defects(&self) -> u64 {
        self.count
    }

    pub fn keep(&self) -> FailingState {
        FailingState { count: self.count, next: self.next, hits: self.hits.clone() }
    }

    pub fn restore(&mut self, state: FailingState) {
        (self.count, self.next, self.hits) = (state.count, state.next, state.hits);
    }
}

/// Time at which a die starts to fail, for a yearly hazard.
fn sick(seed: u64, hazard: f64, blocks: u32) -> Option<Sick> {
    let mut draws = Draws::new(seed);
    let from = draws.exponential() / hazard * YEAR_MINUTES;
    if from.is_nan() || from >= f64::from(u32::MAX) {
        return None;
    }
    let from = from as u32;
    let (least, most) = FIRST_BLOCKS;
    let count = least + draws.below(most - least + 1);
    let bad = |_| (draws.below(blocks), from.saturating_add(draws.below(MONTH_MINUTES)));
    Some(Sick { from, blocks: (0..count).map(bad).collect() })
}

/// A fleet: the same failures for many drives, without simulating a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fleet {
    /// Dies per drive.
    pub dies: u32,
    /// Blocks per die.
    pub blocks: u32,
    /// Probability that a die fails within 4 years.
    pub sick_dies: f64,
    /// Isolated bad blocks per drive in these years: mean over drives, and gamma shape.
    pub bad_blocks: (f64, f64),
    /// Defects per drive and year: mean over drives, and gamma shape.
    pub defects: (f64, f64),
    /// Simulated years.
    pub years: f64,
}

/// Outcome of one drive of a fleet.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lived {
    /// Isolated bad blocks.
    pub isolated: u64,
    /// Bad blocks of failing dies.
    pub of_dies: u64,
    /// Years at which dies were lost.
    pub lost_dies: Vec<f64>,
    /// Defects in each month.
    pub months: Vec<u64>,
}

impl Lived {
    /// Total number of defects.
    pub fn defects(&self) -> u64 {
        self.months.iter().sum()
    }

    /// Total number of bad blocks.
    pub fn bad_blocks(&self) -> u64 {
        self.isolated + self.of_dies
    }
}

impl Fleet {
    /// Simulates the service life of a drive.
    pub fn live(&self, seed: u64) -> Lived {
        let mut draws = Draws::new(mix(seed, 4 << 32));
        let mut lived = Lived::default();
        let (mean, shape) = self.bad_blocks;
        if mean > 0.0 {
            let own = mean * draws.gamma(shape);
            lived.isolated = draws.poisson(own);
        }
        let hazard = -libm::log1p(-self.sick_dies.min(1.0 - 1e-12)) / SICK_YEARS;
        let end = self.years * YEAR_MINUTES;
        for die in 0..self.dies {
            let Some(sick) = sick(mix(seed, 1 << 32 | u64::from(die)), hazard, self.blocks) else {
                continue;
            };
            let dies_at = f64::from(sick.from) + f64::from(MONTH_MINUTES);
            if dies_at <= end {
                lived.lost_dies.push(dies_at / YEAR_MINUTES);
                lived.of_dies += u64::from(self.blocks);
            } else {
                let bad = sick.blocks.iter().filter(|(_, from)| f64::from(*from) <= end);
                lived.of_dies += bad.count() as u64;
            }
        }
        let (mean, shape) = self.defects;
        if mean > 0.0 {
            let own = mean * draws.gamma(shape) / 12.0;
            let months = (self.years * 12.0).ceil() as u32;
            lived.months = (0..months).map(|_| draws.poisson(own)).collect();
        }
        lived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(shape: f64, mean: f64) -> Fleet {
        Fleet {
            dies: 4,
            blocks: 1024,
            sick_dies: 0.06,
            bad_blocks: (0.5, 0.45),
            defects: (mean, shape),
            years: 4.0,
        }
    }

    /// The share of drives with an event is 1 - (1 + mu / k)^-k.
    #[test]
    pub fn the_share_of_drives_with_defects_is_the_closed_form() {
        for (shape, mean) in [(0.05, 1.0), (0.2, 2.0), (0.5, 0.5)] {
            let of = fleet(shape, mean);
            let with = (0..40_000).filter(|n| of.live(*n).defects() > 0).count() as f64;
            let form = 1.0 - libm::pow(1.0 + 4.0 * mean / shape, -shape);
            assert!((with / 40_000.0 - form).abs() < 0.01, "{shape}: {with} {form}");
        }
    }

    #[test]
    fn dies_fail_as_often_as_stated() {
        let of = fleet(0.2, 0.0);
        let lives: Vec<Lived> = (0..40_000).map(|n| of.live(n)).collect();
        let lost = lives.iter().map(|it| it.lost_dies.len()).sum::<usize>() as f64 / 160_000.0;
        // Dies that start to fail in the last month are not lost yet.
        assert!((lost / 0.06 - 1.0).abs() < 0.05, "{lost}");
    }
}
