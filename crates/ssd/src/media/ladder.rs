//! Steps of a read: retry table, search, soft decoding, and the cost of each.

use super::code::{Code, code_of};
use super::spread::{chance_beyond, chance_lost};
use crate::config::{Ecc, Reference, Retry};
use engine::Time;

/// Negligible part of a step: references of flash without drift.
const NOTHING: f64 = 1e-12;

/// Read steps of a controller, and its code's correction capability.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// Maximum number of retries from the table.
    steps: u32,
    /// First reference of a read.
    pub reference: Reference,
    /// Error of the estimated reference.
    pub estimate_error: f64,
    search_ns: Option<Time>,
    pipelined: bool,
    decode_ns: Time,
    /// Hard decoding: correctable raw error rate, its logarithm, and table steps by which the
    /// window widens per unit of that logarithm below it.
    hard: f64,
    hard_log: f64,
    window_each: f64,
    /// Soft decoding levels: correctable raw error rate, and number of senses.
    soft: Vec<(f64, u32)>,
    /// Code that corrects a number of bits, if configured.
    code: Option<Code>,
}

/// Outcome of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Number of retries from the table.
    pub steps: u32,
    /// Number of soft decoding levels tried.
    pub soft: u32,
    /// True if the table ended and the best reference was searched.
    pub searched: bool,
    /// True if uncorrectable.
    pub lost: bool,
    /// Reconstruction from parity, if any.
    pub rebuilt: Option<Rebuilt>,
}

/// Effort of reconstructing a page from parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rebuilt {
    /// Number of pages read.
    pub pages: u32,
    /// Retries of the worst page.
    pub steps: u32,
}

impl Outcome {
    /// True without retries.
    pub fn is_plain(&self) -> bool {
        *self == Outcome::default()
    }
}

impl Ladder {
    /// Read steps from the configuration, for flash whose new blocks have the error rate `new`.
    pub fn new(ecc: &Ecc, retry: &Retry, new: f64) -> Ladder {
        let code = code_of(ecc);
        let hard_log = code.as_ref().map_or_else(|| libm::log(ecc.hard), Code::middle);
        let hard = code.as_ref().map_or(ecc.hard, |_| libm::exp(hard_log));
        Ladder {
            steps: retry.steps,
            reference: retry.reference,
            estimate_error: retry.estimate_error,
            search_ns: retry.search.ns(),
            pipelined: retry.pipelined,
            decode_ns: ecc.decode.ns(),
            hard,
            hard_log,
            window_each: retry.window / libm::log(hard / new),
            soft: ecc.soft.levels().to_vec(),
            code,
        }
    }

    /// Maximum correctable raw error rate.
    pub fn limit(&self) -> f64 {
        self.soft.last().map_or(self.hard, |(rate, _)| *rate)
    }

    /// Error rate that hard decoding corrects; for a code of a number of bits, on half of all
    /// pages.
    pub fn hard(&self) -> f64 {
        self.hard
    }

    /// True if pages differ in their hard-decoding limit.
    #[inline]
    pub fn differs(&self) -> bool {
        self.code.is_some()
    }

    /// Logarithmic distance of a page's limit from the median, by its quantile.
    #[inline]
    pub fn further(&self, quantile: f64) -> f64 {
        self.code.as_ref().map_or(0.0, |code| code.of(quantile) - code.middle())
    }

    /// Standard deviation of that distance.
    pub fn spread(&self) -> f64 {
        self.code.as_ref().map_or(0.0, Code::spread)
    }

    /// Probability that hard decoding fails on a page with this mean error rate and spread.
    pub fn beyond_hard(&self, errors: f64, spread: f64) -> f64 {
        match &self.code {
            Some(code) => chance_beyond(code, errors, spread),
            None => chance_lost(errors, self.hard, spread),
        }
    }

    /// Probability that all stages of correction fail.
    pub fn beyond_limit(&self, errors: f64, spread: f64) -> f64 {
        match self.soft.last() {
            Some((rate, _)) => chance_lost(errors, *rate, spread),
            None => self.beyond_hard(errors, spread),
        }
    }

    /// Distance from the best reference, in steps, at which a sense still succeeds at a raw error
    /// rate.
    pub fn window(&self, errors: f64) -> f64 {
        self.window_by(libm::log(errors))
    }

    /// `window` by the logarithm of the error rate.
    #[inline]
    fn window_by(&self, errors: f64) -> f64 {
        (self.window_each * (self.hard_log - errors)).max(0.0)
    }

    /// Outcome of reading a page with this drift and raw error rate, starting at reference `from`.
    pub fn climb(&self, drift: f64, errors: f64, from: f64) -> Outcome {
        self.climb_from(drift, (libm::log(errors), 0.0), from)
    }

    /// True if a read that starts at the first entry surely needs only one sense, judged by the
    /// logarithms of drift and error rate. It avoids exponentials, so it misses some.
    #[inline]
    pub fn is_surely_plain(&self, drift: f64, errors: f64) -> bool {
        // exp(-x) < 1 / (1 + x + x^2/2 + x^3/6).
        let x = -drift;
        let above = 1.0 + x * (1.0 + x * (0.5 + x / 6.0));
        x > 0.0 && errors < self.hard_log && self.window_by(errors) * above >= 1.0
    }

    /// `climb` with the logarithm of the error rate, and the distance of the page's limit from the
    /// median.
    pub fn climb_from(&self, drift: f64, (errors, further): (f64, f64), from: f64) -> Outcome {
        let needed = (drift - from).abs() - self.window_by(errors - further);
        let steps = if needed > NOTHING { needed.ceil() as u32 } else { 0 };
        let searched = steps > self.steps;
        let mut outcome = Outcome { steps: steps.min(self.steps), searched, ..Outcome::default() };
        if searched && self.search_ns.is_none() {
            outcome.lost = true;
            return outcome;
        }
        if errors > self.hard_log + further {
            let errors = libm::exp(errors);
            let enough = self.soft.iter().position(|(rate, _)| errors <= *rate);
            outcome.soft = enough.map_or(self.soft.len(), |place| place + 1) as u32;
            outcome.lost = enough.is_none();
        }
        outcome
    }

    /// True if pages with at most this drift and raw error rate are never uncorrectable. If a table
    /// ends without a search, this covers only reads that start at its first entry.
    pub fn never_loses(&self, drift: f64, errors: f64) -> bool {
        let begins_first = self.reference == Reference::Table;
        // The page with the lowest correction limit.
        let least = self.further(f64::NEG_INFINITY);
        let within = drift - self.window_by(libm::log(errors) - least) <= f64::from(self.steps);
        let limit = self.soft.last().map_or(self.hard * libm::exp(least), |(rate, _)| *rate);
        (self.search_ns.is_some() || begins_first && within) && errors <= limit
    }

    fn step_time(&self, steps: u32, sense_ns: Time, bus_ns: Time) -> Time {
        let step = if self.pipelined { sense_ns } else { sense_ns + bus_ns + self.decode_ns };
        Time::from(steps) * step
    }

    /// Time of a reconstruction from parity: the other pages are sensed in parallel and transferred
    /// one after the other.
    pub fn rebuild_time(&self, outcome: Outcome, sense_ns: Time, bus_ns: Time) -> Time {
        let Some(Rebuilt { pages, steps }) = outcome.rebuilt else { return 0 };
        sense_ns + self.step_time(steps, sense_ns, bus_ns) + Time::from(pages) * bus_ns
    }

    /// Additional time of a read after the first sense, given sense and transfer time of a page.
    pub fn time(&self, outcome: Outcome, sense_ns: Time, bus_ns: Time) -> Time {
        let soft = |(_, senses): &(f64, u32)| Time::from(*senses) * sense_ns + self.decode_ns;
        let levels = self.soft.iter().take(outcome.soft as usize);
        let search = if outcome.searched { self.search_ns.unwrap_or(0) } else { 0 };
        self.step_time(outcome.steps, sense_ns, bus_ns) + levels.map(soft).sum::<Time>() + search
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(change: impl FnOnce(&mut Ecc, &mut Retry)) -> Ladder {
        let (mut ecc, mut retry) = (Ecc::default(), Retry::default());
        change(&mut ecc, &mut retry);
        Ladder::new(&ecc, &retry, 1.48e-3)
    }

    #[test]
    fn a_new_page_is_read_at_once_and_one_that_has_moved_by_steps() {
        let ladder = ladder(|_, _| {});
        assert!((ladder.window(1.48e-3) - 0.5).abs() < 1e-12 && ladder.window(8.8e-3) == 0.0);
        assert!(ladder.climb(0.5, 1.48e-3, 0.0).is_plain());
        for (drift, steps) in [(0.51, 1), (1.5, 1), (1.51, 2), (20.0, 20)] {
            assert_eq!(ladder.climb(drift, 1.48e-3, 0.0).steps, steps, "{drift}");
            assert_eq!(ladder.climb(0.0, 1.48e-3, drift).steps, steps, "{drift} the other way");
        }
    }

    #[test]
    fn what_is_surely_plain_is_plain_and_most_of_what_is_plain_is_surely_so() {
        let (mut plain, mut surely) = (0, 0);
        for step in 0..400 {
            for errors in [1e-4_f64, 1.48e-3, 3e-3, 8e-3, 9e-3] {
                let (drift, errors) = (-4.0 + 0.0125 * f64::from(step), libm::log(errors));
                let ladder = ladder(|_, _| {});
                let found = ladder.climb_from(libm::exp(drift), (errors, 0.0), 0.0).is_plain();
                assert!(found || !ladder.is_surely_plain(drift, errors), "{drift} {errors}");
                plain += i32::from(found);
                surely += i32::from(ladder.is_surely_plain(drift, errors));
            }
        }
        assert!(surely * 10 > plain * 9, "{surely} of {plain}");
    }

    #[test]
    fn beyond_hard_decoding_come_soft_levels_and_beyond_them_a_loss() {
        let ladder = ladder(|_, _| {});
        let at = |errors| ladder.climb(0.0, errors, 0.0);
        assert_eq!((at(8.8e-3).soft, at(8.9e-3).soft, at(1.2e-2).soft), (0, 1, 2));
        assert!(!at(1.4e-2).lost && at(1.41e-2).lost);
        // 2 and 6 senses of 45 us, and a decoding per level.
        assert_eq!(ladder.time(at(1.2e-2), 45_000, 14_000), 8 * 45_000 + 2 * 20_000);
    }

    #[test]
    fn a_table_that_does_not_reach_is_followed_by_a_search_or_by_a_loss() {
        let found = ladder(|_, _| {}).climb(50.0, 2e-3, 0.0);
        assert!(found.searched && !found.lost && found.steps == 40);
        let lost = ladder(|_, retry| retry.search = "none".parse().unwrap()).climb(50.0, 2e-3, 0.0);
        assert!(lost.lost && lost.searched);
    }

    /// Published for pipelined retries with senses of 90 us, transfers of 16 us and decodings of 20
    /// us: 28.5 % shorter.
    #[test]
    fn pipelined_steps_are_as_much_shorter_as_published() {
        let step = |pipelined| {
            let ladder = ladder(|_, retry| retry.pipelined = pipelined);
            ladder.time(Outcome { steps: 1, ..Outcome::default() }, 90_000, 16_000) as f64
        };
        assert!(((1.0 - step(true) / step(false)) * 100.0 - 28.57).abs() < 0.01);
    }

    #[test]
    fn raising_what_the_code_corrects_never_costs_a_page() {
        let weak = ladder(|ecc, _| ecc.soft = "none".parse().unwrap());
        let strong = ladder(|_, _| {});
        for step in 0..200 {
            let errors = 1e-3 * 1.02_f64.powi(step);
            let (weak, strong) = (weak.climb(3.0, errors, 0.0), strong.climb(3.0, errors, 0.0));
            assert!(weak.lost || !strong.lost, "{errors}");
        }
    }
}
