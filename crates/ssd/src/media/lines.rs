//! Word lines of a drive simulated in part. They are few, with evenly spaced quantiles, so their
//! mean equals that of many. They lack the worst of many, from which losses arise.

use super::normal::exceeded_with;
use crate::config::SsdConfig;
use crate::shape::Groups;

/// Maximum number of word lines that are counted if only means matter.
const FEW: usize = 64;

/// Word lines of a block, by deviation.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    quantiles: Vec<f64>,
    /// Standard deviation of the logarithm of drift between word lines.
    drift: f64,
    /// Spread between blocks.
    drift_of_blocks: f64,
    /// Flash pages of a block per die.
    pages_of_block: u32,
    /// Share of a stripe's other pages on the same word line.
    beside: f64,
}

impl Lines {
    /// Word lines of a drive with a write buffer.
    pub fn of(config: &SsdConfig) -> Option<Lines> {
        let groups = Groups::new(config).ok()?;
        Some(Lines {
            quantiles: quantiles(groups.rounds()).collect(),
            drift: config.media.spread_layer,
            drift_of_blocks: config.media.spread_block,
            pages_of_block: groups.rounds() * groups.rows * groups.planes,
            beside: beside(&groups, stagger_of(config, &groups)),
        })
    }

    /// Flash pages of a block per die.
    pub fn pages_of_block(&self) -> u32 {
        self.pages_of_block
    }

    /// Standard deviation of the logarithm of drift between blocks.
    pub fn drift_of_blocks(&self) -> f64 {
        self.drift_of_blocks
    }

    /// Number of lines.
    pub fn count(&self) -> usize {
        self.quantiles.len()
    }

    /// True if they are so few that means differ too.
    pub fn are_few(&self) -> bool {
        self.count() <= FEW
    }

    /// Mean of a function of the deviation, over the word lines.
    pub fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.quantiles.iter().map(|z| of(*z)).sum::<f64>() / self.count() as f64
    }

    /// Probability that a page is lost together with another of its stripe, given the loss
    /// probability by word-line deviation.
    pub fn mean_of_stripes(&self, others: f64, of: impl Fn(f64) -> f64) -> f64 {
        let chances: Vec<f64> = self.quantiles.iter().map(|z| of(*z).min(1.0 - 1e-12)).collect();
        let is_read = |page: f64| libm::log1p(-page);
        let elsewhere = (chances.len() as f64 - 1.0).max(1.0);
        let (beside, apart) = (others * self.beside, others * (1.0 - self.beside));
        let sum: f64 = chances.iter().sum();
        let of_logarithms: f64 = chances.iter().map(|page| is_read(*page)).sum();
        let of_page = |page: &f64| {
            // The others are spread evenly over all lines, so few are on any one.
            let one_apart = if apart >= elsewhere {
                (of_logarithms - is_read(*page)) / elsewhere
            } else {
                is_read((sum - page) / elsewhere)
            };
            -page * libm::expm1(beside * is_read(*page) + apart * one_apart)
        };
        chances.iter().map(of_page).sum::<f64>() / chances.len() as f64
    }

    /// Mean over the word lines of a probability that depends on mean and spread of the drift.
    pub fn below(&self, mean: f64, spread: f64, of: impl Fn(f64, f64) -> f64) -> Option<f64> {
        let rest = (spread * spread - self.drift * self.drift).max(0.0).sqrt();
        let of_line =
            |z: f64| of(mean * libm::exp(self.drift * z - self.drift * self.drift / 2.0), rest);
        (rest > 0.0).then(|| self.mean(of_line))
    }
}

/// Evenly spaced normal quantiles.
pub fn quantiles(count: u32) -> impl Iterator<Item = f64> {
    (0..count).map(move |rank| exceeded_with((f64::from(rank) + 0.5) / f64::from(count)))
}

/// Word-line offset between the pages of a stripe on successive dies.
pub fn stagger_of(config: &SsdConfig, shape: &Groups) -> u32 {
    if config.parity.stagger { (shape.rounds() / shape.width).max(1) } else { 0 }
}

/// Share of a stripe's pairs of groups that lie on one word line.
fn beside(groups: &Groups, stagger: u32) -> f64 {
    let line = |group: u32| {
        let die = groups.place(0, group).die;
        (groups.round_of(group) + stagger * die) % groups.rounds()
    };
    let (mut same, mut all) = (0_u64, 0_u64);
    for first in 0..groups.per_block {
        let Some(stripe) = groups.stripe_of(first) else { return 0.0 };
        // Parity has no position here and counts like any group.
        for other in stripe.filter(|it| *it < groups.per_block && *it != first) {
            all += 1;
            same += u64::from(line(first) == line(other));
        }
    }
    if all == 0 { 0.0 } else { same as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_lines_have_the_mean_of_many_and_lose_less() {
        let of = |count| Lines {
            quantiles: quantiles(count).collect(),
            drift: 0.2,
            drift_of_blocks: 0.0,
            pages_of_block: 1,
            beside: 0.0,
        };
        let (few, many) = (of(6), of(4096));
        assert!(few.mean(|z| z).abs() < 1e-12 && many.mean(|z| z).abs() < 1e-12);
        let tail = |lines: &Lines| lines.mean(|z| libm::exp(4.0 * z));
        assert!(tail(&few) < 0.1 * tail(&many));
    }

    #[test]
    fn pages_of_one_line_are_lost_together() {
        let lines = |beside| Lines {
            quantiles: vec![-2.0, 2.0],
            drift: 0.2,
            drift_of_blocks: 0.0,
            pages_of_block: 1,
            beside,
        };
        let of = |z: f64| if z > 0.0 { 1e-3 } else { 1e-9 };
        let together = lines(1.0).mean_of_stripes(7.0, of);
        let apart = lines(0.0).mean_of_stripes(7.0, of);
        assert!((together / (7.0 * 1e-6 / 2.0) - 1.0).abs() < 0.01, "{together}");
        assert!(apart < 1e-4 * together, "{apart}");
    }
}
