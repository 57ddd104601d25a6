//! Closed forms for aged drives: integrals over pages.

use super::ladder::Ladder;
use super::law::Law;
use super::lines::Lines;
use super::normal::{chance_above, mean_over};
use super::spread::{SpreadOrigin, chance_lost, spread_of};
use crate::config::{Ecc, Reference, Retry, SsdConfig};

/// Wear and age of data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aged {
    /// P/E cycles of the blocks.
    pub cycles: f64,
    /// Hours at 30 degrees.
    pub hours: f64,
}

/// Distribution of the number of retries.
#[derive(Debug, Clone, PartialEq)]
pub struct Retries {
    /// Probability by number of retries; the last entry is the whole table and a search.
    pub chances: Vec<f64>,
}

impl Retries {
    /// Mean number.
    pub fn mean(&self) -> f64 {
        self.chances.iter().enumerate().map(|(steps, chance)| steps as f64 * chance).sum()
    }

    /// Probability of at least `steps`.
    pub fn at_least(&self, steps: usize) -> f64 {
        self.chances.iter().skip(steps).sum()
    }
}

/// Flash and controller of a forecast.
#[derive(Debug, Clone)]
pub struct Forecast {
    law: Law,
    ladder: Ladder,
    most_steps: u32,
    /// True if a search for the best reference follows the table.
    searches: bool,
    /// Total spreads of drift and error rate.
    drift: f64,
    errors: f64,
    origin: SpreadOrigin,
    /// Word lines of a drive simulated in part; `None` for arbitrarily many.
    lines: Option<Lines>,
}

impl Forecast {
    /// A forecast for a law of ageing and a controller, with total spreads of drift and errors.
    pub fn new(law: Law, ecc: &Ecc, retry: &Retry, drift: f64, errors: f64) -> Forecast {
        let ladder = Ladder::new(ecc, retry, law.errors_of_new());
        let searches = retry.search.ns().is_some();
        Forecast {
            law,
            ladder,
            most_steps: retry.steps,
            searches,
            drift,
            errors,
            origin: SpreadOrigin::Given,
            lines: None,
        }
    }

    /// A forecast for a drive, if its data age.
    pub fn of(config: &SsdConfig) -> Option<Forecast> {
        let media = &config.media;
        let law = Law::new(media)?;
        let parts = [media.spread_layer, media.spread_block, media.spread_page];
        let drift = parts.iter().map(|it| it * it).sum::<f64>().sqrt();
        let (errors, origin) = spread_of(config, &law);
        let forecast = Forecast::new(law, &config.ecc, &config.retry, drift, errors);
        Some(Forecast { origin, ..forecast })
    }

    /// A forecast for the simulated drive with its few word lines. Their factors are evenly spaced,
    /// so the worst is not as bad as the worst of many.
    pub fn of_its_lines(config: &SsdConfig) -> Option<Forecast> {
        let lines = Lines::of(config);
        Forecast::of(config).map(|forecast| Forecast { lines, ..forecast })
    }

    /// Word lines, if limited.
    pub fn lines(&self) -> Option<&Lines> {
        self.lines.as_ref()
    }

    /// Spread of error rates between pages.
    pub fn spread_errors(&self) -> f64 {
        self.errors
    }

    /// Origin of the spread.
    pub fn spread_origin(&self) -> SpreadOrigin {
        self.origin
    }

    /// True if retries depend on earlier reads, so that the forecast covers first reads only.
    pub fn is_of_first_reads(&self) -> bool {
        matches!(self.ladder.reference, Reference::Last | Reference::Calibrated)
    }

    /// Acceleration of ageing at a temperature against 30 degrees.
    pub fn acceleration(&self, celsius: f64) -> f64 {
        self.law.acceleration(celsius)
    }

    /// The mean drift and error rate.
    pub fn means(&self, aged: Aged) -> (f64, f64) {
        let Aged { cycles, hours } = aged;
        (self.law.drift(cycles, hours), self.law.errors(cycles, hours, 0.0))
    }

    /// Probability that a page is uncorrectable, by its errors or because the table of references
    /// ends.
    pub fn lost(&self, aged: Aged) -> f64 {
        let errors = self.means(aged).1;
        let by_errors = match &self.lines {
            Some(lines) => lines.mean(|z| self.lost_on_line(errors, z)),
            None => self.ladder.beyond_limit(errors, self.errors),
        };
        either(by_errors, self.beyond_table(aged))
    }

    /// Probability that a page of a word line is uncorrectable by its errors, given the line's
    /// deviation.
    fn lost_on_line(&self, errors: f64, z: f64) -> f64 {
        // Half of the variance lies between word lines.
        let half = self.errors * std::f64::consts::FRAC_1_SQRT_2;
        let of_line = errors * libm::exp(half * z - half * half / 2.0);
        self.ladder.beyond_limit(of_line, half)
    }

    /// Relative variance of losses between blocks of a die: variance of a block's loss probability
    /// / squared mean.
    pub fn variance_of_blocks(&self, aged: Aged) -> f64 {
        let Some(lines) = &self.lines else { return 0.0 };
        let (drift, errors) = self.means(aged);
        // Mean, and variance / squared mean; the probabilities are tiny, so their own squares are
        // negligible.
        let moments = |of: &dyn Fn(f64) -> f64| {
            let mean = coarse(of);
            let square = if mean > 0.0 { coarse(|z| (of(z) / mean).powi(2)) - 1.0 } else { 0.0 };
            (mean, square.max(0.0))
        };
        // Errors: half of the variance is between word lines, a quarter each between blocks and
        // pages.
        let (half, quarter) = (self.errors * std::f64::consts::FRAC_1_SQRT_2, self.errors / 2.0);
        let by_errors = moments(&|z| {
            lines.mean(|line| {
                let off = half * line - half * half / 2.0 + quarter * z - quarter * quarter / 2.0;
                self.ladder.beyond_limit(errors * libm::exp(off), quarter)
            })
        });
        let by_drift = if self.searches {
            (0.0, 0.0)
        } else {
            let block = lines.drift_of_blocks();
            let rest = (self.drift * self.drift - block * block).max(0.0).sqrt();
            let reach = f64::from(self.most_steps) + self.ladder.window(errors);
            moments(&|z| {
                chance_lost(drift * libm::exp(block * z - block * block / 2.0), reach, rest)
            })
        };
        let mean = by_errors.0 + by_drift.0;
        if mean <= 0.0 {
            return 0.0;
        }
        let of = |(part, variance): (f64, f64)| variance * (part / mean).powi(2);
        of(by_errors) + of(by_drift)
    }

    /// `lost` with one parity group in `of`: another page of the stripe must be lost too. Stripe
    /// pages on one word line share its factor; staggered pages do not.
    pub fn lost_of_stripe(&self, aged: Aged, of: u32, is_staggered: bool) -> f64 {
        if of < 2 {
            return self.lost(aged);
        }
        let others = f64::from(of - 1);
        let both = |page: f64| -page * libm::expm1(others * libm::log1p(-page.min(1.0 - 1e-12)));
        if is_staggered && self.lines.is_none() {
            return both(self.lost(aged));
        }
        let beyond = self.beyond_table(aged);
        let errors = self.means(aged).1;
        let on_line = |z: f64| either(self.lost_on_line(errors, z), beyond);
        match &self.lines {
            Some(lines) => lines.mean_of_stripes(others, on_line),
            None => mean_over(|z| both(on_line(z))),
        }
    }

    /// Probability that the table of references is too short and no search follows.
    fn beyond_table(&self, aged: Aged) -> f64 {
        if self.searches {
            return 0.0;
        }
        1.0 - self.at_most(aged, f64::from(self.most_steps))
    }

    /// Probability that a page needs soft decoding.
    pub fn soft(&self, aged: Aged) -> f64 {
        self.ladder.beyond_hard(self.means(aged).1, self.errors)
    }

    /// Number of retries in the first read of a page: integral over drift, errors and the
    /// controller's estimate.
    pub fn retries(&self, aged: Aged) -> Retries {
        let most = self.most_steps as usize;
        let mut before = 0.0;
        let mut chances: Vec<f64> = (0..most)
            .map(|steps| {
                let up_to = self.at_most(aged, steps as f64);
                std::mem::replace(&mut before, up_to).mul_add(-1.0, up_to)
            })
            .collect();
        chances.push(1.0 - before);
        Retries { chances }
    }

    /// Probability of at most `steps` retries.
    fn at_most(&self, aged: Aged, steps: f64) -> f64 {
        let (drift, errors) = self.means(aged);
        // The page's correction limit is part of the variation between pages.
        let spread = libm::hypot(self.errors, self.ladder.spread());
        // Given the errors, the read window; given the start of the read, the probability of at
        // most that many steps.
        let within = |z: f64, from: f64| {
            let page = errors * libm::exp(spread * z - self.errors * self.errors / 2.0);
            let reach = steps + self.ladder.window(page);
            self.below(drift, from + reach) - self.below(drift, from - reach)
        };
        let off = self.ladder.estimate_error;
        let from = |z: f64| drift * libm::exp(off * z - off * off / 2.0);
        match self.ladder.reference {
            Reference::Model => coarse(|x| coarse(|z| within(z, from(x)))),
            Reference::Table | Reference::Last | Reference::Calibrated => {
                mean_over(|z| within(z, 0.0))
            }
        }
    }

    /// Probability of a drift below `limit`.
    fn below(&self, mean: f64, limit: f64) -> f64 {
        if limit < 0.0 {
            return 0.0;
        }
        if mean <= 0.0 {
            return 1.0;
        }
        if self.drift <= 0.0 {
            return if mean <= limit { 1.0 } else { 0.0 };
        }
        if limit == 0.0 {
            return 0.0;
        }
        let at_most = |mean: f64, spread: f64| {
            1.0 - chance_above(libm::log(limit / mean) / spread + spread / 2.0)
        };
        let of_lines = self.lines.as_ref().filter(|lines| lines.are_few());
        of_lines
            .and_then(|lines| lines.below(mean, self.drift, at_most))
            .unwrap_or_else(|| at_most(mean, self.drift))
    }
}

/// Probability of at least one of two independent events.
fn either(one: f64, other: f64) -> f64 {
    one + other - one * other
}

/// Mean of a smooth function of a standard normal variable, with few points.
fn coarse(of: impl Fn(f64) -> f64) -> f64 {
    const POINTS: u32 = 60;
    let width = 12.0 / f64::from(POINTS);
    let weight = |z: f64| libm::exp(-0.5 * z * z) * width / libm::sqrt(std::f64::consts::TAU);
    (0..=POINTS)
        .map(|point| {
            let z = f64::from(point) * width - 6.0;
            weight(z) * of(z)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::super::law::MONTH;
    use super::*;
    use crate::config::{Media, MediaModel};

    fn tlc() -> Law {
        Law::new(&Media { model: MediaModel::Tlc3d, ..Media::default() }).unwrap()
    }

    /// Spreads of word lines, blocks and pages: 0.2, 0.15 and 0.1.
    const DRIFT: f64 = 0.269_258_240_356_725_2;

    fn forecast(retry: &Retry) -> Forecast {
        let law = tlc();
        Forecast::new(law, &Ecc::default(), retry, DRIFT, 0.193)
    }

    /// Park et al., ASPLOS 2021: more than 3; 54 % with 7 or more; at least 8; a mean of 19.9.
    #[test]
    fn retries_are_those_published() {
        let forecast = forecast(&Retry::default());
        let of = |cycles, months: f64| forecast.retries(Aged { cycles, hours: months * MONTH });
        assert!((of(0.0, 3.0).mean() - 5.5).abs() < 0.1, "{}", of(0.0, 3.0).mean());
        let share = of(0.0, 6.0).at_least(7);
        assert!((share - 0.54).abs() < 0.10, "{share}");
        assert!((of(1000.0, 3.0).mean() - 8.6).abs() < 0.1, "{}", of(1000.0, 3.0).mean());
        let worn = of(2000.0, 12.0).mean();
        assert!((worn / 19.9 - 1.0).abs() < 0.1, "{worn}");
    }

    #[test]
    fn chances_add_up_and_more_age_means_more_retries() {
        for reference in [Reference::Table, Reference::Model] {
            let retry = Retry { reference, ..Retry::default() };
            let forecast = forecast(&retry);
            let mut before = -1.0;
            for hours in [0.0, 10.0, 1000.0, 10_000.0] {
                let retries = forecast.retries(Aged { cycles: 500.0, hours });
                let sum: f64 = retries.chances.iter().sum();
                assert!((sum - 1.0).abs() < 1e-6, "{sum}");
                assert!(retries.mean() >= before - 1e-6, "{reference:?} {hours}");
                before = retries.mean();
            }
        }
    }

    #[test]
    fn a_controller_that_knows_the_age_needs_fewer_retries() {
        let aged = Aged { cycles: 1000.0, hours: 8766.0 };
        let mean =
            |reference| forecast(&Retry { reference, ..Retry::default() }).retries(aged).mean();
        assert!(mean(Reference::Model) < 0.5 * mean(Reference::Table));
    }

    #[test]
    fn a_stripe_along_a_word_line_loses_more_than_one_across_and_less_than_a_page() {
        let law = tlc();
        let forecast = Forecast::new(law, &Ecc::default(), &Retry::default(), DRIFT, 0.2);
        let aged = Aged { cycles: 2200.0, hours: 30_000.0 };
        let alone = forecast.lost(aged);
        let [along, across] = [false, true].map(|it| forecast.lost_of_stripe(aged, 16, it));
        assert!((across / (15.0 * alone * alone) - 1.0).abs() < 0.01, "{across} {alone}");
        assert!(across < along && along < alone, "{across} {along} {alone}");
        assert!((forecast.lost_of_stripe(aged, 0, false) / alone - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_short_table_without_a_search_loses_what_has_moved_further() {
        let retry = Retry { steps: 10, search: "none".parse().unwrap(), ..Retry::default() };
        let aged = Aged { cycles: 0.0, hours: 4.0 * MONTH };
        let lost = forecast(&retry).lost(aged);
        let beyond = forecast(&Retry::default()).retries(aged).at_least(11);
        assert!((lost / beyond - 1.0).abs() < 1e-6 && lost > 0.01, "{lost} {beyond}");
        assert!(forecast(&Retry { steps: 10, ..Retry::default() }).lost(aged) < 1e-9);
    }

    /// 500 GB, pages of 16 KiB, a year at 40 degrees, spread 0.18.
    #[test]
    fn cycles_decide_what_is_lost_and_years_hardly_do() {
        let law = tlc();
        let forecast = Forecast::new(law, &Ecc::default(), &Retry::default(), DRIFT, 0.18);
        let pages = 500e9 / 16_384.0;
        let hours = super::super::law::YEAR * forecast.acceleration(40.0);
        for (cycles, lost) in [(1500.0, 4e-5), (2200.0, 2.6), (3000.0, 2e4)] {
            let found = pages * forecast.lost(Aged { cycles, hours });
            assert!(libm::log(found / lost).abs() < 0.25, "{cycles}: {found} and not {lost}");
        }
    }
}
