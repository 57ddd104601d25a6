//! Steady state by SNIA's Performance Test Specification: over a window of rounds the figure varies
//! by at most a fifth of its mean, and its linear fit rises or falls by at most a tenth. For a
//! drive preconditioned by its own workload, drift must have ended as well: skewed loads reach
//! steady state slowly, and a tenth per window would hide that.

use crate::config::{Metric, Steady};
use engine::{Completion, Time};
use serde::Serialize;
use std::borrow::Cow;

/// Settling of a figure over rounds, for the results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SteadyState {
    metric: &'static str,
    steady: bool,
    rounds: Vec<f64>,
    window_mean: Option<f64>,
    range_share: Option<f64>,
    slope_share: Option<f64>,
    /// Number of rounds in the window.
    #[serde(skip)]
    window: usize,
}

impl SteadyState {
    /// The figure of each round.
    pub(crate) fn rounds(&self) -> &[f64] {
        &self.rounds
    }

    /// Figures of the current window.
    pub(crate) fn window(&self) -> &[f64] {
        &self.rounds[self.rounds.len().saturating_sub(self.window)..]
    }
}

/// Settling of a drive during preconditioning, for the results.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Prepared {
    #[serde(flatten)]
    pub(crate) state: SteadyState,
    /// Load: the `workload` itself, or `uniform` random pages.
    pub(crate) load: &'static str,
    /// Reason for uniform pages.
    pub(crate) because: Option<Cow<'static, str>>,
    /// Written bytes, in capacities of the drive.
    pub(crate) capacities_written: f64,
    /// Drift under the workload itself: relative difference of the last third of the rounds from
    /// the preceding third.
    pub(crate) drift: Option<f64>,
    /// True if the maximum number of rounds was reached.
    #[serde(skip)]
    pub(crate) is_given_up: bool,
}

/// Names of the loads: the workload, and the alternative.
const OWN: &str = "workload";
const UNIFORM: &str = "uniform";

impl Prepared {
    /// How the drive settled in these rounds.
    pub fn of(
        rounds: &Rounds,
        is_own_load: bool,
        because: Option<Cow<'static, str>>,
        capacities_written: f64,
    ) -> Prepared {
        Prepared {
            state: rounds.state(),
            load: if is_own_load { OWN } else { UNIFORM },
            because,
            capacities_written,
            drift: if is_own_load { rounds.drift() } else { None },
            is_given_up: rounds.is_given_up(),
        }
    }

    /// True if the workload itself prepared the drive.
    pub fn is_own_load(&self) -> bool {
        self.load == OWN
    }
}

/// Figures of the rounds.
#[derive(Debug, Clone)]
pub(crate) struct Rounds {
    rules: Steady,
    metric: &'static str,
    figures: Vec<f64>,
    /// Maximum relative difference of the last third of the rounds from the preceding third.
    drift: Option<f64>,
}

/// Maximum drift under the workload itself: the smallest difference that means over a few rounds
/// can resolve.
const MOST_DRIFT: f64 = 0.01;

/// Mean of a window, with the relative range and the relative rise of the linear fit.
fn shape(window: &[f64]) -> (f64, f64, f64) {
    let count = window.len() as f64;
    let mean = window.iter().sum::<f64>() / count;
    let most = window.iter().copied().fold(f64::MIN, f64::max);
    let least = window.iter().copied().fold(f64::MAX, f64::min);
    let middle = (count - 1.0) / 2.0;
    let offsets = (0..window.len()).map(|round| round as f64 - middle);
    let products: f64 = offsets.clone().zip(window).map(|(x, y)| x * (y - mean)).sum();
    let squares: f64 = offsets.map(|x| x * x).sum();
    let rise = products / squares * (count - 1.0);
    let share = |part: f64| if mean == 0.0 { 0.0 } else { part.abs() / mean };
    (mean, share(most - least), share(rise))
}

impl Rounds {
    pub(crate) fn new(rules: &Steady, metric: &'static str) -> Rounds {
        Rounds { rules: rules.clone(), metric, figures: Vec::new(), drift: None }
    }

    /// Rounds of write amplification under the workload itself.
    pub(crate) fn of_workload(rules: &Steady) -> Rounds {
        Rounds { drift: Some(MOST_DRIFT), ..Rounds::new(rules, "write_amplification") }
    }

    /// Relative difference of the last third of the rounds from the preceding third. Both thirds
    /// grow with the run, so even slow changes are detected.
    pub(crate) fn drift(&self) -> Option<f64> {
        let third = (self.figures.len() / 3).max(1);
        let (before, last) = self.figures.split_at(self.figures.len().checked_sub(third)?);
        let before = &before[before.len().checked_sub(third)?..];
        let sum = |figures: &[f64]| figures.iter().sum::<f64>();
        Some(sum(last) / sum(before) - 1.0)
    }

    fn window(&self) -> Option<&[f64]> {
        let first = self.figures.len().checked_sub(self.rules.window as usize)?;
        Some(&self.figures[first..])
    }

    fn is_steady(&self) -> bool {
        self.window().is_some_and(|window| {
            let (_, range, slope) = shape(window);
            range <= self.rules.range && slope <= self.rules.slope
        }) && self.drift.is_none_or(|most| self.drift().is_some_and(|it| it.abs() <= most))
    }

    /// Adds the figure of a round, unless finished.
    pub(crate) fn add(&mut self, figure: f64) {
        if !self.is_over() {
            self.figures.push(figure);
        }
    }

    /// True if settled or given up.
    pub(crate) fn is_over(&self) -> bool {
        self.is_steady() || self.figures.len() >= self.rules.rounds as usize
    }

    /// True if unsettled after the maximum number of rounds.
    pub(crate) fn is_given_up(&self) -> bool {
        !self.is_steady() && self.is_over()
    }

    pub(crate) fn state(&self) -> SteadyState {
        let shape = self.window().map(shape);
        SteadyState {
            metric: self.metric,
            steady: self.is_steady(),
            rounds: self.figures.clone(),
            window_mean: shape.map(|(mean, _, _)| mean),
            range_share: shape.map(|(_, range, _)| range),
            slope_share: shape.map(|(_, _, slope)| slope),
            window: self.rules.window as usize,
        }
    }
}

/// Measures the rounds of a timed run.
pub(crate) struct Settling {
    pub(crate) rounds: Rounds,
    metric: Metric,
    round_ns: Time,
    /// End of the current round; 0 before the first completion.
    end: Time,
    requests: u64,
    latency_ns: u128,
}

impl Settling {
    pub(crate) fn new(rounds: Rounds, rules: &Steady) -> Settling {
        let (metric, round_ns) = (rules.metric, rules.round.ns());
        Settling { rounds, metric, round_ns, end: 0, requests: 0, latency_ns: 0 }
    }

    pub(crate) fn record(&mut self, completion: &Completion) {
        if self.end == 0 {
            self.end = completion.submitted.saturating_add(self.round_ns);
        }
        while completion.at >= self.end && !self.rounds.is_over() {
            let figure = match self.metric {
                Metric::Iops => self.requests as f64 / (self.round_ns as f64 / 1e9),
                Metric::Latency => self.latency_ns as f64 / self.requests.max(1) as f64 / 1e3,
            };
            self.rounds.add(figure);
            self.end = self.end.saturating_add(self.round_ns);
            (self.requests, self.latency_ns) = (0, 0);
        }
        self.requests += 1;
        self.latency_ns += u128::from(completion.latency());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds_until_over(figures: &[f64]) -> (usize, bool) {
        let mut rounds = Rounds::new(&Steady::default(), "test");
        for figure in figures.iter().cycle().take(100) {
            rounds.add(*figure);
        }
        (rounds.figures.len(), rounds.state().steady)
    }

    /// A fall by 30 % with a time constant of twelve rounds: always within the specification's
    /// limits.
    #[test]
    fn a_slow_drift_is_not_a_steady_state() {
        let slow = |round: u32| 1.0 - 0.3 * (1.0 - libm::exp(-f64::from(round) / 12.0));
        let rules = Steady { rounds: 1000, ..Steady::default() };
        let over = |mut rounds: Rounds| {
            (0..1000).map(slow).for_each(|figure| rounds.add(figure));
            (rounds.figures.len(), rounds.state().steady)
        };
        assert_eq!(over(Rounds::new(&rules, "test")), (5, true));
        let (rounds, settled) = over(Rounds::of_workload(&rules));
        let left = slow(rounds as u32) / 0.7 - 1.0;
        assert!(settled && left < 0.05, "{rounds}: {left}");
    }

    #[test]
    fn settles_as_the_specification_says() {
        assert_eq!(rounds_until_over(&[4.0]), (5, true));
        // A range below a fifth of the mean, without a trend.
        assert_eq!(rounds_until_over(&[1.09, 0.91, 1.0, 0.91, 1.09]), (5, true));
        assert_eq!(rounds_until_over(&[1.2, 0.8]), (25, false));
        // The initial fall exceeds a tenth of the mean within a window, the later fall does not.
        let falling = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 3.0, 3.0, 3.0, 3.0];
        assert_eq!(rounds_until_over(&falling), (11, true));
        let (mean, range, slope) = shape(&[1.0, 1.1, 1.2, 1.3, 1.4]);
        assert!((mean - 1.2).abs() < 1e-12);
        assert!((range - 0.4 / 1.2).abs() < 1e-12 && (slope - range).abs() < 1e-12);
    }
}
