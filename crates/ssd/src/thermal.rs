//! Heat: the temperature of a drive follows its power, and writes wait where it is too high.
//!
//! `tau dT/dt = ambient + R P - T`, in closed form from one look to the next, with the mean power between them. There are
//! two states, with hysteresis.

use super::config::{SsdConfig, ThermalAction};
use super::shape::Groups;
use crate::device::{Field, Report};
use engine::Time;
use serde_json::{Value, json};

/// Time between two looks, ns, and how many of them a time constant has at least.
const STEP_NS: Time = 100_000_000;
const STEPS: Time = 20;
/// Maximum number of stored temperatures; then every other one.
const MOST_SAMPLES: usize = 512;

/// Report of heat.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThermalReport {
    /// Highest and last temperature, degrees Celsius.
    pub highest: f64,
    /// Last temperature.
    pub last: f64,
    /// Number of throttlings, and their total time, ns.
    pub times: u64,
    /// For how long.
    pub throttled_ns: Time,
    /// Instants and temperatures.
    pub series: Vec<(Time, f64)>,
}

impl ThermalReport {
    /// The section `thermal`: temperatures, and the waits of writes for cooling.
    pub(crate) fn section(&self) -> Report {
        let series = self.series.iter().map(|(at, celsius)| json!([*at as f64 / 1e9, celsius]));
        section! {
            "highest_celsius": Field::most(self.highest),
            "last_celsius": Field::most(self.last),
            "limit_reached": self.times,
            "throttled_seconds": Field::seconds(self.throttled_ns),
            "celsius_over_seconds": Field::same(series.collect::<Vec<Value>>()),
        }
    }
}

/// The temperature of a drive.
#[derive(Debug, Clone)]
pub struct Thermal {
    limit: f64,
    resume: f64,
    resistance: f64,
    constant: Time,
    ambient: f64,
    step: Time,
    /// Time of a logical page at the speed that is left, ns, where writes are slowed.
    slowed_ns: Option<f64>,
    at: Time,
    celsius: f64,
    joules: f64,
    /// Writes are held or slowed, since then.
    hot: Option<Time>,
    /// Host pages written, and the time of the next one.
    pages: u64,
    next: Time,
    /// An event will come.
    called: bool,
    report: ThermalReport,
}

impl Thermal {
    /// Thermal state of the configuration, if enabled.
    pub fn new(config: &SsdConfig, shape: Option<&Groups>) -> Option<Box<Thermal>> {
        let keys = &config.thermal;
        let (limit, shape) = (keys.limit.0?, shape?);
        let native =
            f64::from(shape.dies) * shape.bytes() as f64 / config.timing.program.ns() as f64;
        let slowed = f64::from(shape.unit_bytes) / (keys.floor * native);
        let constant = keys.time_constant.ns();
        let ambient = keys.ambient.celsius();
        Some(Box::new(Thermal {
            limit: limit.celsius(),
            resume: keys.resume.celsius(),
            resistance: keys.resistance,
            constant,
            ambient,
            step: STEP_NS.min(constant / STEPS).max(1),
            slowed_ns: (keys.action == ThermalAction::Slow).then_some(slowed),
            at: 0,
            celsius: ambient,
            joules: 0.0,
            hot: None,
            pages: 0,
            next: 0,
            called: false,
            report: ThermalReport { highest: ambient, last: ambient, ..ThermalReport::default() },
        }))
    }

    /// True if the time of the next sample has come.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.at + self.step
    }

    /// Updates the temperature with the energy up to `now`.
    pub fn look(&mut self, now: Time, joules: f64) {
        // Counts may have begun anew.
        let taken = if joules < self.joules { joules } else { joules - self.joules };
        let passed = (now - self.at) as f64;
        let watts = taken / (passed / 1e9);
        let end = self.ambient + self.resistance * watts;
        self.celsius = end + (self.celsius - end) * libm::exp(-passed / self.constant as f64);
        (self.at, self.joules) = (now, joules);
        match self.hot {
            None if self.celsius >= self.limit => {
                self.hot = Some(now);
                self.next = now;
                self.report.times += 1;
            }
            Some(since) if self.celsius <= self.resume => {
                self.hot = None;
                self.report.throttled_ns += now - since;
            }
            _ => {}
        }
        self.note(now);
    }

    fn note(&mut self, now: Time) {
        self.report.highest = self.report.highest.max(self.celsius);
        self.report.last = self.celsius;
        self.report.series.push((now, self.celsius));
        if self.report.series.len() == MOST_SAMPLES {
            self.report.series = self.report.series.iter().skip(1).step_by(2).copied().collect();
            self.step *= 2;
            // The time constant limits the step.
            self.step = self.step.min((self.constant / STEPS).max(1));
        }
    }

    /// End of a hold on writes, given the host pages written; None if they are not held.
    pub fn holds(&mut self, now: Time, pages: u64) -> Option<Time> {
        let written = pages.saturating_sub(self.pages);
        self.pages = pages;
        self.hot?;
        let Some(each) = self.slowed_ns else { return Some(self.at.max(now) + self.step) };
        self.next = self.next.max(now.saturating_sub(self.step)) + (each * written as f64) as Time;
        (self.next > now).then_some(self.next)
    }

    /// True if an event must be scheduled.
    pub fn calls(&mut self) -> bool {
        !std::mem::replace(&mut self.called, true)
    }

    /// Clears the scheduled event.
    pub fn was_called(&mut self) {
        self.called = false;
    }

    /// Resets the counts, with the energy at that time.
    pub fn reset(&mut self, now: Time, joules: f64) {
        self.hot = self.hot.map(|_| now);
        self.joules = joules;
        self.pages = 0;
        self.report =
            ThermalReport { highest: self.celsius, last: self.celsius, ..ThermalReport::default() };
    }

    /// Report up to `end`.
    pub fn account(&self, end: Time) -> ThermalReport {
        let mut report = self.report.clone();
        report.throttled_ns += self.hot.map_or(0, |since| end.saturating_sub(since));
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Groups;
    use options::Duration;

    fn thermal(change: impl FnOnce(&mut SsdConfig)) -> Thermal {
        let mut config = SsdConfig::default();
        config.thermal.limit = "70C".parse().unwrap();
        config.thermal.time_constant = Duration::from_ns(10_000_000_000);
        change(&mut config);
        *Thermal::new(&config, Some(&Groups::of_pages(4096, 64, 64))).unwrap()
    }

    #[test]
    fn the_temperature_goes_to_its_end_as_the_closed_form_says() {
        let mut it = thermal(|_| {});
        for step in 1..=100_u64 {
            let now = step * 100_000_000;
            // 4 W: 40 degrees above 25.
            it.look(now, 4.0 * now as f64 / 1e9);
            let form = 65.0 - 40.0 * libm::exp(-(step as f64) / 100.0);
            assert!((it.celsius - form).abs() < 1e-9, "{step}: {}", it.celsius);
        }
        assert!(it.hot.is_none());
    }

    #[test]
    fn it_stops_at_the_limit_and_goes_on_when_it_has_cooled() {
        let mut it = thermal(|_| {});
        let (mut joules, mut hot) = (0.0, 0);
        for step in 1..=6000_u64 {
            let now = step * 100_000_000;
            let holds = it.holds(now, 0).is_some();
            joules += if holds { 0.0 } else { 6.0 * 0.1 };
            hot += u64::from(holds);
            it.look(now, joules);
            assert!(it.celsius < 70.6 && (step < 200 || it.celsius > 64.4), "{}", it.celsius);
        }
        // Cooling carries the mean power between 65 and 70 degrees.
        let mean = joules / 600.0;
        assert!((4.0..4.6).contains(&mean), "{mean}");
        assert!(it.report.times > 20 && hot > 1000, "{} {hot}", it.report.times);
        assert!(it.report.series.len() < MOST_SAMPLES);
    }
}
