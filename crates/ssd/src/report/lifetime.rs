//! The lifetime of a drive: bytes that the host may write under a load until the spare space is gone.
//!
//! The one estimator of the whole laboratory; everything that speaks of TBW, DWPD or years reads it:
//!
//! `host bytes = bytes of the flash x rated erasures x evenness / write amplification`
//!
//! Write amplification is that of the measured interval, in bytes. Evenness is the mean erasures of a block
//! when the drive ends / the rating, in this model of wear: a share of the blocks holds data that is never
//! overwritten and wears not at all; the erasures of the others spread by rates that last, with a standard
//! deviation in proportion to their mean, and by chance, with a variance in proportion to it. All three are
//! measured since the load began. The drive ends when as many blocks have reached their rating as it can lose.
//! Rules of wear levelling act, and cost writes, as blocks near their end: of a drive with one nothing is known
//! before (of one that migrates under uniform writes, A rose from 3.3 to 4.0 over its life).
//! A drive that has ended is asked for its erasures instead.
//!
//! That write amplification rises while the last blocks are retired is left out, so a life ends a
//! little earlier. Wear before the load is not part of the estimate: it is of a new drive.

use crate::Ssd;
use crate::config::LevellingRule;
use crate::device::{Field, Report};
use crate::ids::Block;
use crate::shape::Geometry;
use serde_json::json;
use std::f64::consts::FRAC_1_SQRT_2;

/// An amount written by the host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Milestone {
    /// Bytes; for the whole drive if it is scaled.
    pub host_bytes: f64,
    /// Lifetime in capacities of the drive.
    pub drive_writes: f64,
    /// Drive writes a day over the years of service.
    pub drive_writes_per_day: f64,
}

impl Milestone {
    /// Events of the first member are events of the array, once the others have taken as much.
    fn section(&self) -> Report {
        let section = section! {
            "host_bytes": Field::OfEach(self.host_bytes),
            "drive_writes": Field::same(self.drive_writes),
            "drive_writes_per_day": Field::same(self.drive_writes_per_day),
        };
        section.decided_by("drive_writes")
    }
}

/// Lifetime of a drive, with its factors. Factors and their uncertainty are fields, so that the
/// estimate can be repeated.
#[derive(Debug, Clone, PartialEq)]
pub struct LifetimeReport {
    /// Years of service to which the daily figures refer.
    pub service_years: f64,
    /// Host bytes of a new drive under this load; `None` where it wrote nothing. It is as good as
    /// the number of erasures behind it.
    pub estimate: Option<Milestone>,
    /// The drive has ended: evenness is measured from its erasures.
    pub ended: bool,
    /// Data bytes of the flash.
    pub physical_bytes: f64,
    /// Rated erasures of a block; the mean where they differ.
    pub rated_cycles: f64,
    /// Mean erasures of a block at the end / its rating.
    pub evenness: f64,
    /// Possible relative decrease of evenness: blocks not erased yet may be of either kind.
    pub evenness_unsure: f64,
    /// Evenness and uncertainty under a load in which blocks take turns, so that differences
    /// between them do not last: one that goes through its addresses in order, each as often as the
    /// others.
    pub in_turns: [f64; 2],
    /// Bytes programmed / bytes the host wrote, in the measured interval.
    pub amplification: Option<f64>,
    /// Relative increase if cleaning had kept up with the host. Beyond the interval cleaning does,
    /// so this is an error of its two ends. `None` where nothing was cleaned.
    pub out_of_balance: Option<f64>,
    /// Erasures in the measured interval.
    pub erases: u64,
    /// When the first block expired: host bytes since the drive was new, preconditioning included.
    pub first_expiry: Option<Milestone>,
    /// Host bytes at the end of a pool's spare space.
    pub spare_gone: Option<Milestone>,
}

impl LifetimeReport {
    /// The section `wear.lifetime`, from which the lab shows the reliable figures. The member
    /// decides that ends first.
    pub(super) fn section(&self) -> Report {
        let milestone = |it: Option<Milestone>| it.map(|it| it.section());
        let [evenness_in_turns, unsure_in_turns] = self.in_turns;
        let section = section! {
            "service_years": Field::same(self.service_years),
            "estimate": milestone(self.estimate),
            "ended": Field::same(self.ended),
            "physical_bytes": Field::Sum(self.physical_bytes),
            "rated_cycles": Field::same(self.rated_cycles),
            "evenness": Field::same(self.evenness),
            "evenness_unsure": Field::same(self.evenness_unsure),
            "evenness_in_turns": Field::same(evenness_in_turns),
            "unsure_in_turns": Field::same(unsure_in_turns),
            "amplification": Field::same(json!(self.amplification)),
            "out_of_balance": Field::same(json!(self.out_of_balance)),
            "erases": self.erases,
            "first_expiry": milestone(self.first_expiry),
            "spare_gone": milestone(self.spare_gone),
        };
        section.decided_by("estimate.drive_writes")
    }
}

const DAYS_PER_YEAR: f64 = 365.0;

impl Ssd {
    /// The lifetime under the load of the measured interval.
    pub(crate) fn lifetime(&self) -> LifetimeReport {
        let (ftl, geometry) = (&self.ftl, self.geometry());
        let (ageing, counts) = (ftl.ageing(), self.counts_now());
        let page_bytes = f64::from(geometry.sectors_per_page) * engine::SECTOR_BYTES as f64;
        let capacity = geometry.exported_pages() as f64 * page_bytes;
        // Parity is programmed and counted as data, so its room is part of what the flash holds.
        let parity = geometry.groups.as_ref().map_or(0, |it| it.parity_per_block() * it.units);
        let block_pages = f64::from(geometry.data_pages) + f64::from(parity);
        let physical = f64::from(geometry.blocks()) * block_pages * page_bytes;
        // A part of each block represents all of it.
        let scale = f64::from(self.config.scale);
        let days = self.config.wear.service_years * DAYS_PER_YEAR;
        let milestone = |host_bytes: f64| Milestone {
            host_bytes: host_bytes * scale,
            drive_writes: host_bytes / capacity,
            drive_writes_per_day: host_bytes / capacity / days,
        };
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let amplification = share(counts.bytes_programmed, counts.host_bytes_written)
            .map(|each| each + self.slc_wear(counts.host_bytes_written));
        let (rated, [wear, in_turns]) = (self.mean_rating(), self.wear_at_end());
        // Pages that need cleaning: programs other than moves. In balance each victim's superseded
        // pages make room for as many of them.
        let new = ftl.counters.host_programs + ftl.counters.padding + ftl.counters.pair_copies;
        let victims = ftl.counters.cleaned() * u64::from(geometry.data_pages);
        let superseded = victims.saturating_sub(ftl.counters.victim_moves);
        let balanced = share(victims, superseded).map(|each| new as f64 * each);
        let programmed = (new + ftl.counters.moves) as f64;
        LifetimeReport {
            service_years: self.config.wear.service_years,
            estimate: amplification.map(|each| milestone(physical * rated * wear.evenness / each)),
            ended: ftl.has_ended(),
            physical_bytes: physical * scale,
            rated_cycles: rated,
            evenness: wear.evenness,
            evenness_unsure: wear.unsure,
            in_turns: [in_turns.evenness, in_turns.unsure],
            amplification,
            out_of_balance: balanced.map(|balanced| balanced / programmed - 1.0),
            erases: ftl.counters.erases,
            first_expiry: ageing.first_expiry.map(|bytes| milestone(bytes as f64)),
            spare_gone: ageing.end.map(|bytes| milestone(bytes as f64)),
        }
    }

    /// Extra or reduced wear of blocks with one bit per cell, relative to native ones, per host
    /// byte; nothing where no key says what they are rated for.
    fn slc_wear(&self, host_bytes: u64) -> f64 {
        let keys = &self.config.slc_cache;
        let written = self.slc_written().filter(|_| host_bytes > 0);
        let Some((rated, written)) = keys.rated_cycles.zip(written) else { return 0.0 };
        let each = f64::from(self.config.wear.rated_cycles) / f64::from(rated);
        let of_native = f64::from(self.config.cell.bits) * each;
        (of_native - 1.0) * written as f64 / host_bytes as f64
    }

    fn mean_rating(&self) -> f64 {
        let ratings = self.flash.ratings();
        let blocks = self.geometry().blocks();
        (0..blocks).map(|it| f64::from(ratings.of(Block(it)))).sum::<f64>() / f64::from(blocks)
    }

    /// Evenness at the end, from the erasures under the load; or is, at the end. Then the same of a
    /// load under which blocks take turns.
    fn wear_at_end(&self) -> [WearAtEnd; 2] {
        let (ftl, flash, geometry) = (&self.ftl, &self.flash, self.geometry());
        let ratings: Vec<f64> =
            (0..geometry.blocks()).map(|it| f64::from(flash.ratings().of(Block(it)))).collect();
        let (rated, spread) = moments(&ratings);
        let erases = flash.erases();
        if ftl.has_ended() {
            let all: Vec<f64> = erases.iter().copied().map(f64::from).collect();
            return [WearAtEnd { evenness: moments(&all).0 / rated, unsure: 0.0 }; 2];
        }
        let ageing = ftl.ageing();
        let at = |table: &[u32], block: usize| f64::from(table.get(block).copied().unwrap_or(0));
        let parts = erases.iter().enumerate().map(|(block, now)| {
            let begun = at(&ageing.erases_before_load, block);
            let counted = at(&ageing.erases_before, block).max(begun);
            (counted - begun, f64::from(*now) - counted)
        });
        let losable = losable_share(geometry);
        let is_levelled = self.config.cleaning.levelling.rule != LevellingRule::None;
        let seen = Seen::of(&parts.collect::<Vec<_>>(), is_levelled);
        [seen, seen.in_turns()].map(|it| it.at_end(rated, spread, losable))
    }
}

/// Share of a pool's blocks that expire before the end; with the next one it ends.
fn losable_share(geometry: &Geometry) -> f64 {
    let blocks = f64::from(geometry.blocks()) / f64::from(geometry.pools);
    f64::from(geometry.losable_blocks()) / blocks
}

/// Evenness at the end of a drive, and its relative uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WearAtEnd {
    evenness: f64,
    unsure: f64,
}

/// Observed erasures of the blocks under a load.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    /// Mean over all blocks.
    mean: f64,
    /// Share of the blocks that were never erased.
    never: f64,
    /// Mean and variance over the others.
    mean_worn: f64,
    variance_worn: f64,
    /// Lasting variance of relative erase rates: the least, as estimated, and the most.
    lasting: [f64; 3],
    /// A rule of wear levelling will act.
    is_levelled: bool,
}

impl Seen {
    /// Erasures of each block in the first and second part of the load.
    ///
    /// Rates that last make blocks that were erased more often in one part be so in the other: their
    /// relative variance is the covariance of the parts / the product of their means, with the standard
    /// error of a covariance. Where there is one part, all of its variance may last, or none; a part in which
    /// blocks were erased less than once on average counts for none, because a block that was erased a short
    /// while ago has not had its next turn, which looks like rates that change.
    fn of(parts: &[(f64, f64)], is_levelled: bool) -> Seen {
        let sums: Vec<f64> = parts.iter().map(|(first, second)| first + second).collect();
        let mean = moments(&sums).0;
        let worn: Vec<(f64, f64)> =
            parts.iter().copied().filter(|(first, second)| first + second > 0.0).collect();
        let count = worn.len() as f64;
        let never = 1.0 - count / parts.len() as f64;
        if worn.is_empty() {
            let lasting = [0.0, 0.0, 1.0];
            return Seen { mean, never, mean_worn: 0.0, variance_worn: 0.0, lasting, is_levelled };
        }
        let each = |of: fn(&(f64, f64)) -> f64| moments(&worn.iter().map(of).collect::<Vec<_>>());
        let (all, first, second) = (each(|it| it.0 + it.1), each(|it| it.0), each(|it| it.1));
        let most = (all.1 / all.0).powi(2);
        let lasting = if first.0 >= LEAST_TURNS && second.0 >= LEAST_TURNS {
            let products = worn.iter().map(|it| (it.0 - first.0) * (it.1 - second.0));
            let scale = first.0 * second.0;
            let found = products.sum::<f64>() / count / scale;
            let error = ERRORS * first.1 * second.1 / count.sqrt() / scale;
            // A value below its error is insignificant: a root of noise would cost every short run
            // a few percent.
            let told = if found > error { found } else { 0.0 };
            [found - error, told, found + error].map(|it| it.clamp(0.0, most))
        } else {
            [0.0, 0.0, most]
        };
        let variance_worn = all.1 * all.1;
        Seen { mean, never, mean_worn: all.0, variance_worn, lasting, is_levelled }
    }

    /// The erasures for blocks that take turns: those not erased rest, once the others had two
    /// turns each, and how the others differ is where in a round the load began and ended.
    fn in_turns(self) -> Seen {
        if self.mean_worn < 2.0 * LEAST_TURNS {
            return Seen { mean_worn: 0.0, ..self };
        }
        // Enough erasures that none is spared by chance.
        let mean = self.mean.max(MANY);
        Seen { mean, variance_worn: 0.0, lasting: [0.0; 3], ..self }
    }

    /// The end of a drive with that rating (`spread` is its standard deviation over the blocks), which can
    /// lose that share of its blocks.
    fn at_end(self, rated: f64, spread: f64, losable: f64) -> WearAtEnd {
        let rest = self.at_rest();
        if self.mean_worn == 0.0 || rest >= 1.0 {
            return WearAtEnd { evenness: 1.0, unsure: 1.0 };
        }
        // Blocks at rest cannot yet be distinguished from ones spared by chance.
        let spared = (self.never - rest) / (1.0 - rest);
        let worn = if self.is_levelled { 1.0 } else { 1.0 - rest };
        let deviations = above((losable / worn).min(0.5));
        let evenness = |lasting: f64| {
            let lasts = if self.is_levelled { 0.0 } else { lasting };
            let by_chance = self.variance_worn - lasting * self.mean_worn * self.mean_worn;
            let dispersion = by_chance.max(0.0) / self.mean_worn;
            let (mut low, mut high) = (0.0, rated);
            for _ in 0..HALVINGS {
                let mean = 0.5 * (low + high);
                let variance = dispersion * mean + lasts * mean * mean + spread * spread;
                if mean + deviations * variance.sqrt() < rated { low = mean } else { high = mean }
            }
            worn * low / rated
        };
        let [most, found, least] = self.lasting.map(evenness);
        // Levelling acts on blocks near their end, and is unpredictable before.
        let levelling = if self.is_levelled { 1.0 } else { 0.0 };
        let unsure = spared + 0.5 * (most - least).abs() / found + levelling;
        WearAtEnd { evenness: found, unsure }
    }

    /// The share of the blocks that rest: what chance does not explain of those never erased.
    fn at_rest(self) -> f64 {
        let by_chance = |at_rest: f64| {
            let worn = 1.0 - at_rest;
            at_rest + worn * libm::exp(-self.mean / worn)
        };
        let (mut low, mut high) = (0.0, self.never);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if middle < 1.0 && by_chance(middle) < self.never {
                low = middle;
            } else {
                high = middle;
            }
        }
        if by_chance(0.0) >= self.never { 0.0 } else { low }
    }
}

/// Standard errors of the confidence range of a covariance.
const ERRORS: f64 = 2.0;

/// Minimum mean erasures of a block in a part of the load for lasting differences.
const LEAST_TURNS: f64 = 1.0;

/// Mean erasures after which chance has spared no block.
const MANY: f64 = 100.0;

/// Bisection steps to full precision.
const HALVINGS: usize = 60;

/// Standard deviations above the mean beyond which that share of a normal distribution lies.
fn above(share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if 0.5 * libm::erfc(middle * FRAC_1_SQRT_2) > share { low = middle } else { high = middle }
    }
    low
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>();
    (mean, (squares / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SsdConfig;
    use crate::config::{Pool, Wear};
    use crate::device::Prepare;
    use engine::{Device, Random, Xoshiro256};

    /// Exact to a block: predicted and actual losses at the end of drives agree. Several blocks may
    /// expire with one write, so that the bounds are reached by most drives, not by each.
    #[test]
    fn the_end_is_predicted_for_the_block_with_which_it_comes() {
        let mut reached = [0; 2];
        for (seed, pool) in (0..16).zip([Pool::Ssd, Pool::Plane].into_iter().cycle()) {
            let config = SsdConfig {
                channels: 1,
                packages_per_channel: 1,
                dies_per_package: 1,
                planes_per_die: 2,
                blocks_per_plane: 24,
                pages_per_block: 8,
                pool,
                spare_factor: Some(0.3 + 0.02 * seed as f64),
                wear: Wear { rated_cycles: 12, spread: 0.3, ..Wear::default() },
                ..SsdConfig::default()
            };
            let mut ssd = Ssd::new(&config, seed).expect("its shape is sound");
            let mut random = Xoshiro256::new(seed, 0);
            // Blocks of the worst pool without life, before the end.
            let mut most = 0;
            while !ssd.has_ended() {
                most = expired(&ssd);
                ssd.write_untimed(random.below(ssd.preparable_pages()));
            }
            let geometry = ssd.geometry();
            let blocks = f64::from(geometry.blocks()) / f64::from(geometry.pools);
            let predicted = (losable_share(geometry) * blocks).round() as u32;
            let (before, after) = (most, expired(&ssd));
            assert!(before <= predicted && predicted < after, "{before}, {predicted}, {after}");
            reached[0] += u32::from(before == predicted);
            reached[1] += u32::from(after == predicted + 1);
        }
        assert!(reached.iter().all(|it| *it > 8), "{reached:?}");
    }

    /// Maximum number of expired blocks of a pool.
    fn expired(ssd: &Ssd) -> u32 {
        let geometry = ssd.geometry();
        let mut of_pools = vec![0; geometry.pools as usize];
        for block in (0..geometry.blocks()).map(Block).filter(|it| ssd.flash.life(*it) == 0) {
            of_pools[geometry.domain_pool[geometry.domain_of(block).at()].at()] += 1;
        }
        of_pools.into_iter().max().expect("a drive has a pool")
    }

    #[test]
    fn normal_deviations_are_those_of_the_tables() {
        for (share, deviations) in [(0.5, 0.0), (0.1, 1.281_552), (0.025, 1.959_964)] {
            assert!((above(share) - deviations).abs() < 1e-6, "{share}: {}", above(share));
        }
    }

    fn seen(first: &[f64], second: &[f64]) -> Seen {
        let parts: Vec<_> = first.iter().copied().zip(second.iter().copied()).collect();
        Seen::of(&parts, false)
    }

    #[test]
    fn blocks_at_rest_are_told_from_those_spared_by_chance() {
        // Poisson's share of zeros: none is at rest, however few erasures were seen.
        for mean in [0.01, 0.3, 2.0] {
            let never = libm::exp(-mean);
            let seen = Seen { mean, never, ..seen(&[1.0, 1.0], &[1.0, 1.0]) };
            assert!(seen.at_rest() < 1e-9, "{mean}");
            let unsure = seen.at_end(100.0, 0.0, 0.1).unsure;
            assert!((unsure - never).abs() < 1e-9, "{mean}: {unsure}");
        }
        // Three of ten rest, and the others were erased twenty times each, as by a log.
        let erases: Vec<f64> = (0..10).map(|it| if it < 3 { 0.0 } else { 10.0 }).collect();
        let log = seen(&erases, &erases);
        assert!((log.at_rest() - 0.3).abs() < 1e-6);
        let end = log.at_end(1000.0, 0.0, 0.1);
        assert!((end.evenness - 0.7).abs() < 1e-3 && end.unsure < 1e-6, "{end:?}");
        // The effect of levelling is unknown.
        let levelled = Seen { is_levelled: true, ..log };
        assert!(levelled.at_end(1000.0, 0.0, 0.1).unsure >= 1.0);
    }

    #[test]
    fn what_lasts_costs_a_share_and_chance_the_root_of_the_rating() {
        let half = |odd: f64, even: f64| -> Vec<f64> {
            (0..1000).map(|it| if it % 2 == 0 { even } else { odd }).collect()
        };
        let quarter: Vec<f64> =
            (0..1000).map(|it| if it / 2 % 2 == 0 { 9.0 } else { 11.0 }).collect();
        for rated in [100.0, 3000.0] {
            // The same blocks were erased 10 % more often in both parts.
            let end = seen(&half(11.0, 9.0), &half(11.0, 9.0)).at_end(rated, 0.0, 0.1);
            assert!((1.0 / end.evenness - 1.0 - 0.1 * above(0.1)).abs() < 1e-6, "{end:?}");
            // Other blocks were in the second part: a variance of 2 at a mean of 20.
            let end = seen(&half(11.0, 9.0), &quarter).at_end(rated, 0.0, 0.1);
            let mean = end.evenness * rated;
            assert!((mean + above(0.1) * (0.1 * mean).sqrt() - rated).abs() < 1e-6, "{end:?}");
            // A single part is inconclusive.
            let one = seen(&half(0.0, 0.0), &half(11.0, 9.0)).at_end(rated, 0.0, 0.1);
            assert!(one.unsure > 0.03, "{one:?}");
        }
    }
}
