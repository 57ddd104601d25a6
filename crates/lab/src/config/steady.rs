//! Criteria for a settled drive: the keys under `[run.steady]`.

use options::{Duration, Invalid, choices, options};

choices! {
    /// Metric that must settle in a timed run; in an untimed run it is write amplification.
    pub enum Metric {
        /// Requests completed per second.
        Iops = "iops",
        /// Mean latency.
        Latency = "latency",
    }
}

options! {
    /// When a drive counts as settled (SNIA PTS, steady state).
    pub struct Steady as SteadyPartial {
        /// Metric that must settle in a timed run; in an untimed run it is write amplification.
        metric: Metric = Metric::Iops,
        /// Length of a round of a timed run, in simulated time.
        round: Duration = Duration::from_ns(1_000_000_000),
        /// Length of a round of an untimed run, in drive capacities written.
        round_writes: f64 = 0.5,
        /// Measurement window in rounds over which the metric must settle.
        window: u32 = 5,
        /// Maximum number of rounds.
        rounds: u32 = 25,
        /// Maximum range (max - min) within the window, as a share of the mean.
        range: f64 as Ratio = 0.2,
        /// Maximum slope: rise or fall of the fitted line over the window, as a share of the mean.
        slope: f64 as Ratio = 0.1,
    }
}

impl Metric {
    /// Name in results.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Metric::Iops => "iops",
            Metric::Latency => "latency_us",
        }
    }
}

impl Steady {
    /// Refuses values under which no drive could settle, or every drive would.
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
            return refuse(
                "run.steady.round",
                "0 is not allowed; expected a time above 0".to_owned(),
            );
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
