//! Lifetime of a drive: host bytes under a load until the spare space is used up.
//!
//! This is the only estimator; all reports of TBW, DWPD or years use it:
//!
//! `host bytes = bytes of the flash x rated erases x evenness / write amplification`
//!
//! Write amplification is measured in bytes over the interval. Evenness is the mean erases of a
//! block at end of life / its rating, from a model with three measured parameters. A share of the
//! blocks holds data that is never overwritten, and does not wear. Erases of the others differ by
//! lasting rates, with a standard deviation proportional to the mean, and by chance, with a
//! variance proportional to it. The drive ends when it cannot lose another block that has reached
//! its rating. Wear levelling acts, and costs writes, when blocks approach their end: its effect is
//! unknown before (write amplification of a migrating drive under uniform writes rose from 3.3 to
//! 4.0 over its life). For a drive at end of life the actual erases count instead.
//!
//! The rise of write amplification while the last blocks retire is neglected, so a life ends
//! slightly earlier. The estimate is for a new drive: wear before the load is excluded.

use crate::Ssd;
use crate::config::LevellingRule;
use crate::device::{Field, Report};
use crate::ids::Block;
use crate::shape::Geometry;
use serde_json::json;
use std::f64::consts::FRAC_1_SQRT_2;

/// An amount of host writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Milestone {
    /// Host bytes; for the whole drive if it is scaled.
    pub host_bytes: f64,
    /// This amount in drive capacities.
    pub drive_writes: f64,
    /// Drive writes per day over the years of service.
    pub drive_writes_per_day: f64,
}

impl Milestone {
    /// For an array, the first member's event after an equal amount on all members.
    fn section(&self) -> Report {
        let section = section! {
            "host_bytes": Field::OfEach(self.host_bytes),
            "drive_writes": Field::same(self.drive_writes),
            "drive_writes_per_day": Field::same(self.drive_writes_per_day),
        };
        section.decided_by("drive_writes")
    }
}

/// Lifetime of a drive, with its factors and their uncertainty, so that the estimate can be
/// reproduced.
#[derive(Debug, Clone, PartialEq)]
pub struct LifetimeReport {
    /// Years of service for daily figures.
    pub service_years: f64,
    /// Host bytes of a new drive under this load; `None` without host writes. Its accuracy depends
    /// on the number of erases.
    pub estimate: Option<Milestone>,
    /// True at end of life: evenness is measured.
    pub ended: bool,
    /// Data bytes of the flash.
    pub physical_bytes: f64,
    /// Rated erases of a block; the mean if they differ.
    pub rated_cycles: f64,
    /// Mean erases of a block at end of life / its rating.
    pub evenness: f64,
    /// Possible relative decrease of evenness: blocks not erased yet may rest or have been spared
    /// by chance.
    pub evenness_unsure: f64,
    /// Evenness and uncertainty under a load in which blocks take turns, so that differences do not
    /// last: sequential writes over all addresses.
    pub in_turns: [f64; 2],
    /// Programmed bytes / host bytes in the measured interval.
    pub amplification: Option<f64>,
    /// Relative increase of write amplification if garbage collection had kept up with the host,
    /// which it does in the long run. `None` if nothing was cleaned.
    pub out_of_balance: Option<f64>,
    /// Erases in the measured interval.
    pub erases: u64,
    /// Lifetime host bytes at the first expired block, including preconditioning.
    pub first_expiry: Option<Milestone>,
    /// Host bytes when a pool's spare space was used up.
    pub spare_gone: Option<Milestone>,
}

impl LifetimeReport {
    /// Results section `wear.lifetime`. For an array the member that ends first decides.
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
    /// Lifetime under the load of the measured interval.
    pub(crate) fn lifetime(&self) -> LifetimeReport {
        let (ftl, geometry) = (&self.ftl, self.geometry());
        let (ageing, counts) = (ftl.ageing(), self.counts_now());
        let page_bytes = f64::from(geometry.sectors_per_page) * engine::SECTOR_BYTES as f64;
        let capacity = geometry.exported_pages() as f64 * page_bytes;
        // Parity is programmed and counted as data, so its space counts as flash capacity.
        let parity = geometry.groups.as_ref().map_or(0, |it| it.parity_per_block() * it.units);
        let block_pages = f64::from(geometry.data_pages) + f64::from(parity);
        let physical = f64::from(geometry.blocks()) * block_pages * page_bytes;
        // The simulated part of each block represents the whole block.
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
        // Programs except moves, which require garbage collection. In balance, each victim's
        // superseded pages make room for as many.
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

    /// Additional or reduced wear of blocks in one-bit mode per host byte, relative to native ones;
    /// 0 without a configured rating.
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

    /// Evenness at end of life: predicted from the erases under the load, or measured. Then the
    /// same for a load under which blocks take turns.
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

/// Share of a pool's blocks that may expire; one more ends the drive.
fn losable_share(geometry: &Geometry) -> f64 {
    let blocks = f64::from(geometry.blocks()) / f64::from(geometry.pools);
    f64::from(geometry.losable_blocks()) / blocks
}

/// Evenness at end of life, and its relative uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WearAtEnd {
    evenness: f64,
    unsure: f64,
}

/// Observed erases of the blocks under a load.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    /// Mean over all blocks.
    mean: f64,
    /// Share of blocks that were never erased.
    never: f64,
    /// Mean and variance over the other blocks.
    mean_worn: f64,
    variance_worn: f64,
    /// Lasting variance of relative erase rates: lower bound, estimate, and upper bound.
    lasting: [f64; 3],
    /// True if wear levelling will act.
    is_levelled: bool,
}

impl Seen {
    /// Erases of each block in the first and second part of the load.
    ///
    /// Lasting rates make blocks erased more often in one part so in the other. Their relative
    /// variance is the covariance of the parts / the product of their means, with the standard
    /// error of a covariance. With a single part, all or none of the variance may last. Parts in
    /// which blocks were erased less than once on average are ignored: a recently erased block has
    /// not had its next turn yet, which looks like changing rates.
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
            // Values below the error are set to zero: noise under the root would cost every short
            // run a few percent.
            let told = if found > error { found } else { 0.0 };
            [found - error, told, found + error].map(|it| it.clamp(0.0, most))
        } else {
            [0.0, 0.0, most]
        };
        let variance_worn = all.1 * all.1;
        Seen { mean, never, mean_worn: all.0, variance_worn, lasting, is_levelled }
    }

    /// The erases for blocks that take turns: blocks never erased rest, once the others had two
    /// turns each. Differences between the others only depend on where in a round the load began
    /// and ended.
    fn in_turns(self) -> Seen {
        if self.mean_worn < 2.0 * LEAST_TURNS {
            return Seen { mean_worn: 0.0, ..self };
        }
        // Enough erases that chance spares no block.
        let mean = self.mean.max(MANY);
        Seen { mean, variance_worn: 0.0, lasting: [0.0; 3], ..self }
    }

    /// End of life with a mean rating and its standard deviation `spread` over the blocks, when the
    /// share `losable` of the blocks may expire.
    fn at_end(self, rated: f64, spread: f64, losable: f64) -> WearAtEnd {
        let rest = self.at_rest();
        if self.mean_worn == 0.0 || rest >= 1.0 {
            return WearAtEnd { evenness: 1.0, unsure: 1.0 };
        }
        // Resting blocks cannot yet be distinguished from blocks spared by chance.
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
        // Wear levelling acts on blocks near their end; its effect is unknown before.
        let levelling = if self.is_levelled { 1.0 } else { 0.0 };
        let unsure = spared + 0.5 * (most - least).abs() / found + levelling;
        WearAtEnd { evenness: found, unsure }
    }

    /// Share of resting blocks: blocks never erased, less blocks that chance spared.
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

/// Width of the confidence interval of a covariance, in standard errors.
const ERRORS: f64 = 2.0;

/// Minimum mean erases of a block in a part of the load to detect lasting differences.
const LEAST_TURNS: f64 = 1.0;

/// Mean erasures after which chance has spared no block.
const MANY: f64 = 100.0;

/// Bisection steps to full precision.
const HALVINGS: usize = 60;

/// Standard deviations above the mean that this share of a normal distribution exceeds.
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
    use crate::device::Model;
    use engine::{Device, Random, Xoshiro256};

    /// Predicted and actual losses at end of life agree to the block. One write may expire several
    /// blocks, so most drives reach the bounds, but not all.
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
            // Expired blocks of the worst pool, before end of life.
            let mut most = 0;
            while !ssd.standing().has_ended {
                most = expired(&ssd);
                ssd.overwrite_untimed(&[random.below(ssd.facts().pages)], 0);
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
        // Poisson probability of zero: no block rests, even with few erases.
        for mean in [0.01, 0.3, 2.0] {
            let never = libm::exp(-mean);
            let seen = Seen { mean, never, ..seen(&[1.0, 1.0], &[1.0, 1.0]) };
            assert!(seen.at_rest() < 1e-9, "{mean}");
            let unsure = seen.at_end(100.0, 0.0, 0.1).unsure;
            assert!((unsure - never).abs() < 1e-9, "{mean}: {unsure}");
        }
        // Three of ten blocks rest, and the others were erased twenty times each, as by a log.
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
            // Other blocks in the second part: a variance of 2 at a mean of 20.
            let end = seen(&half(11.0, 9.0), &quarter).at_end(rated, 0.0, 0.1);
            let mean = end.evenness * rated;
            assert!((mean + above(0.1) * (0.1 * mean).sqrt() - rated).abs() < 1e-6, "{end:?}");
            // A single part is inconclusive.
            let one = seen(&half(0.0, 0.0), &half(11.0, 9.0)).at_end(rated, 0.0, 0.1);
            assert!(one.unsure > 0.03, "{one:?}");
        }
    }
}
