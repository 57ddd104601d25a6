//! Steady state as the SNIA's Performance Test Specification defines it: over a window of rounds
//! the figure ranges over at most a fifth of its mean, and the fitted line rises or falls by at most
//! a tenth of it.

use engine::{Completion, Time};
use options::{Duration, Invalid, choices, options};
use serde::Serialize;

choices! {
    /// The figure of a timed run that must have settled; without time it is write amplification.
    pub enum Metric {
        /// Requests completed in a second.
        Iops = "iops",
        /// Mean latency.
        Latency = "latency",
    }
}

options! {
    /// When a drive counts as settled (SNIA PTS, steady state).
    pub struct Steady as SteadyPartial {
        /// The figure of a timed run that must have settled; without time it is write amplification.
        metric: Metric = Metric::Iops,
        /// Simulated time of a round of a timed run.
        round: Duration = Duration::from_ns(1_000_000_000),
        /// Capacities written in a round without time.
        round_writes: f64 = 0.5,
        /// Rounds over which it must have settled.
        window: u32 = 5,
        /// Rounds after which it is given up.
        rounds: u32 = 25,
        /// Largest minus smallest of the window, at most this share of the mean.
        range: f64 = 0.2,
        /// Rise or fall of the line fitted to the window, at most this share of the mean.
        slope: f64 = 0.1,
    }
}

impl Metric {
    /// As results name it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Metric::Iops => "iops",
            Metric::Latency => "latency_us",
        }
    }
}

impl Steady {
    /// Refuses values with which no drive could settle, or any would.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        let refuse = |key, problem: String| Err(Invalid::new(&[key], problem));
        if self.window < 2 || self.window > self.rounds {
            let problem = format!(
                "{} is not a number of rounds from 2 to run.steady.rounds, {}",
                self.window, self.rounds
            );
            return refuse("run.steady.window", problem);
        }
        if self.round.ns() == 0 {
            return refuse("run.steady.round", "0 is not possible; it must be longer".to_owned());
        }
        let writes = self.round_writes;
        if !(writes > 0.0 && writes <= 100.0) {
            let problem = format!("{writes} is not a number of capacities above 0, at most 100");
            return refuse("run.steady.round_writes", problem);
        }
        for (key, share) in [("run.steady.range", self.range), ("run.steady.slope", self.slope)] {
            if !(share > 0.0 && share.is_finite()) {
                return refuse(key, format!("{share} is not a positive share"));
            }
        }
        Ok(())
    }
}

/// What the detector saw, for the results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Seen {
    metric: &'static str,
    steady: bool,
    rounds: Vec<f64>,
    window_mean: Option<f64>,
    range_share: Option<f64>,
    slope_share: Option<f64>,
}

/// Is told the figure of each round.
#[derive(Debug, Clone)]
pub(crate) struct Detector {
    rules: Steady,
    metric: &'static str,
    rounds: Vec<f64>,
}

/// Mean of a window, and its range and the rise of its fitted line as shares of that.
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

impl Detector {
    pub(crate) fn new(rules: &Steady, metric: &'static str) -> Detector {
        Detector { rules: rules.clone(), metric, rounds: Vec::new() }
    }

    fn window(&self) -> Option<&[f64]> {
        let first = self.rounds.len().checked_sub(self.rules.window as usize)?;
        Some(&self.rounds[first..])
    }

    fn is_steady(&self) -> bool {
        self.window().is_some_and(|window| {
            let (_, range, slope) = shape(window);
            range <= self.rules.range && slope <= self.rules.slope
        })
    }

    /// Adds the figure of a round unless it is over already.
    pub(crate) fn round(&mut self, figure: f64) {
        if !self.is_over() {
            self.rounds.push(figure);
        }
    }

    /// Whether the drive has settled, or it is given up.
    pub(crate) fn is_over(&self) -> bool {
        self.is_steady() || self.rounds.len() >= self.rules.rounds as usize
    }

    pub(crate) fn seen(&self) -> Seen {
        let shape = self.window().map(shape);
        Seen {
            metric: self.metric,
            steady: self.is_steady(),
            rounds: self.rounds.clone(),
            window_mean: shape.map(|(mean, _, _)| mean),
            range_share: shape.map(|(_, range, _)| range),
            slope_share: shape.map(|(_, _, slope)| slope),
        }
    }
}

/// Measures the rounds of a timed run.
pub(crate) struct Settling<'a> {
    pub(crate) detector: &'a mut Detector,
    metric: Metric,
    round_ns: Time,
    /// When the present round ends; 0 before the first completion.
    end: Time,
    requests: u64,
    latency_ns: u128,
}

impl<'a> Settling<'a> {
    pub(crate) fn new(detector: &'a mut Detector, rules: &Steady) -> Settling<'a> {
        let (metric, round_ns) = (rules.metric, rules.round.ns());
        Settling { detector, metric, round_ns, end: 0, requests: 0, latency_ns: 0 }
    }

    pub(crate) fn record(&mut self, completion: &Completion) {
        if self.end == 0 {
            self.end = completion.submitted.saturating_add(self.round_ns);
        }
        while completion.at >= self.end && !self.detector.is_over() {
            let figure = match self.metric {
                Metric::Iops => self.requests as f64 / (self.round_ns as f64 / 1e9),
                Metric::Latency => self.latency_ns as f64 / self.requests.max(1) as f64 / 1e3,
            };
            self.detector.round(figure);
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
        let mut detector = Detector::new(&Steady::default(), "test");
        for figure in figures.iter().cycle().take(100) {
            detector.round(*figure);
        }
        (detector.rounds.len(), detector.seen().steady)
    }

    #[test]
    fn settles_as_the_specification_says() {
        assert_eq!(rounds_until_over(&[4.0]), (5, true));
        // A range of less than a fifth of the mean, without a rise.
        assert_eq!(rounds_until_over(&[1.09, 0.91, 1.0, 0.91, 1.09]), (5, true));
        assert_eq!(rounds_until_over(&[1.2, 0.8]), (25, false));
        // It falls by a tenth of the mean within a window at first, and by less once it is flat.
        let falling = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 3.0, 3.0, 3.0, 3.0];
        assert_eq!(rounds_until_over(&falling), (11, true));
        let (mean, range, slope) = shape(&[1.0, 1.1, 1.2, 1.3, 1.4]);
        assert!((mean - 1.2).abs() < 1e-12);
        assert!((range - 0.4 / 1.2).abs() < 1e-12 && (slope - range).abs() < 1e-12);
    }
}
