//! Bursts: an open workload whose arrival rate switches between two values.
//!
//! Arrivals are a Poisson process with the rate of the current phase (Markov-modulated if the
//! phases are exponential), or evenly spaced at that rate. The process is exact across phase
//! changes: the drawn quantity is the expected number of arrivals until the next one, which each
//! phase consumes at its rate.

use crate::error::BuildError;
use crate::footprint::Footprint;
use crate::kind::{Context, WorkloadKind};
use crate::locality::Locality;
use crate::pattern::{AccessPattern, Cursor, pattern_keys};
use crate::{checks, streams};
use engine::{Arrival, Completion, Distribution, Time, Workload, WorkloadError, Xoshiro256};
use options::{Duration, Invalid, Size};

options::choices! {
    /// Arrival process within a burst or pause.
    pub enum Spacing {
        /// Poisson arrivals.
        Poisson = "poisson",
        /// Evenly spaced.
        Even = "even",
    }

    /// Duration of bursts and pauses.
    pub enum Phases {
        /// Always the stated duration.
        Fixed = "fixed",
        /// Exponentially distributed with the stated mean.
        Exponential = "exponential",
    }
}

options::options! {
    /// Bursts: requests arrive by the clock at a rate that switches between two values.
    pub struct Bursts as BurstsPartial {
        /// Total number of requests.
        requests: u64 = 1_000_000,
        /// Request rate during a burst, requests/s.
        on_rate: f64 = 50_000.0,
        /// Request rate between bursts, requests/s.
        off_rate: f64 = 0.0,
        /// Duration of a burst.
        on_time: Duration = Duration::from_ns(100_000_000),
        /// Pause between bursts.
        off_time: Duration = Duration::from_ns(900_000_000),
        /// Distribution of the durations of bursts and pauses: fixed or exponential.
        phases: Phases = Phases::Fixed,
        /// Arrival process within a burst or pause.
        spacing: Spacing = Spacing::Poisson,
        /// Share of reads; the rest are writes.
        read_share: f64 as Ratio = 1.0,
        /// Share of random requests; the rest are sequential to the previous one.
        random_share: f64 as Ratio = 1.0,
        /// Distribution of random requests over the footprint.
        locality: Locality = Locality::UNIFORM,
        /// Scatter hot blocks over the footprint; else they are at its start.
        scatter: bool = true,
        /// Size of each request, a multiple of 512B.
        block_size: Size = Size::from_bytes(4096),
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
    }
}

/// Maximum rate: one request per nanosecond.
const HIGHEST_RATE: f64 = 1e9;

/// Minimum mean number of requests per cycle of burst and pause; with fewer, finding the next one
/// takes too long.
const FEWEST_A_CYCLE: f64 = 1e-3;

impl WorkloadKind for Bursts {
    const SUMMARY: &'static str =
        "open loop: timed arrivals at a rate that switches between two values";

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn writes_uniformly(&self, capacity_sectors: u64, page_sectors: u64) -> bool {
        pattern_keys!(self).writes_uniformly(capacity_sectors, page_sectors)
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        checks::positive("workload.requests", self.requests)?;
        rate("workload.on_rate", self.on_rate)?;
        rate("workload.off_rate", self.off_rate)?;
        let seconds = |time: Duration| time.ns() as f64 * 1e-9;
        let a_cycle = self.on_rate * seconds(self.on_time) + self.off_rate * seconds(self.off_time);
        if a_cycle < FEWEST_A_CYCLE {
            let keys =
                ["workload.on_rate", "workload.on_time", "workload.off_rate", "workload.off_time"];
            let problem = format!(
                "a burst and a pause bring {a_cycle} requests, but must bring at least \
                 {FEWEST_A_CYCLE}"
            );
            return Err(Invalid::new(&keys, problem).into());
        }
        let pattern =
            AccessPattern::new(&pattern_keys!(self), context.capacity_sectors, context.seed)?;
        let mut random = Xoshiro256::new(context.draws(), streams::BURSTS);
        let left_ns = length(self.phases, self.on_time, &mut random);
        Ok(Box::new(Process {
            cursor: pattern.cursor(0, 1, context.draws()),
            pattern,
            options: self.clone(),
            issued: 0,
            on: true,
            clock_ns: 0.0,
            left_ns,
            random,
        }))
    }
}

fn rate(key: &str, value: f64) -> Result<(), Invalid> {
    if !(0.0..=HIGHEST_RATE).contains(&value) {
        let problem = format!("{value} is not a rate from 0 to {HIGHEST_RATE} requests a second");
        return Err(Invalid::new(&[key], problem));
    }
    Ok(())
}

/// Draws the length of a phase, ns.
fn length(phases: Phases, time: Duration, random: &mut Xoshiro256) -> f64 {
    let mean = time.ns() as f64;
    match phases {
        Phases::Fixed => mean,
        Phases::Exponential => Distribution::Exponential { base: 0.0, mean }.sample(random),
    }
}

/// A running process.
struct Process {
    options: Bursts,
    pattern: AccessPattern,
    cursor: Cursor,
    issued: u64,
    /// True during a burst.
    on: bool,
    clock_ns: f64,
    /// Remaining time of the phase.
    left_ns: f64,
    random: Xoshiro256,
}

impl Process {
    /// Advances the clock to the next arrival.
    fn pass(&mut self) {
        let mut expected = match self.options.spacing {
            Spacing::Even => 1.0,
            Spacing::Poisson => {
                Distribution::Exponential { base: 0.0, mean: 1.0 }.sample(&mut self.random)
            }
        };
        loop {
            let rate = if self.on { self.options.on_rate } else { self.options.off_rate };
            let here = rate * 1e-9 * self.left_ns;
            if here >= expected && here > 0.0 {
                let step_ns = expected / (rate * 1e-9);
                self.clock_ns += step_ns;
                self.left_ns -= step_ns;
                return;
            }
            expected -= here;
            self.clock_ns += self.left_ns;
            self.on = !self.on;
            let time = if self.on { self.options.on_time } else { self.options.off_time };
            self.left_ns = length(self.options.phases, time, &mut self.random);
        }
    }
}

impl Workload for Process {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if self.issued == self.options.requests {
            return Ok(None);
        }
        self.pass();
        // Beyond 104 days a double is coarser than a nanosecond.
        let at = self.clock_ns.round();
        if at >= Time::MAX as f64 {
            return Err(WorkloadError(format!(
                "workload.on_rate: request {} would arrive after more than 500 years",
                self.issued
            )));
        }
        let request = self.pattern.draw(&mut self.cursor, self.issued);
        self.issued += 1;
        Ok(Some(Arrival { at: (at as Time).max(now), request }))
    }

    fn completed(&mut self, _completion: &Completion) {}

    fn is_open(&self) -> bool {
        true
    }

    fn expected_requests(&self) -> Option<u64> {
        Some(self.options.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_refused, run};
    use super::*;

    const SHORT: &str = "on_rate = 1e6\non_time = '1ms'\noff_time = '9ms'";

    /// Arrivals by phase of a 10 ms cycle: during the first millisecond and during the rest.
    fn phases(text: &str) -> (usize, usize) {
        let arrivals = run("bursts", text);
        assert!(arrivals.is_sorted_by_key(|arrival| arrival.at));
        let on = arrivals.iter().filter(|arrival| arrival.at % 10_000_000 <= 1_000_000).count();
        (on, arrivals.len() - on)
    }

    #[test]
    fn bursts_and_pauses_alternate_at_their_rates() {
        let arrivals = run("bursts", &format!("requests = 100000\n{SHORT}"));
        let last_ms = arrivals[arrivals.len() - 1].at / 1_000_000;
        // 1,000 per burst: 100 bursts, within the deviation of a Poisson process.
        assert!((980..1_015).contains(&last_ms), "{last_ms} ms");
        assert_eq!(phases(&format!("requests = 100000\n{SHORT}")).1, 0);
        // Equal numbers in bursts and pauses: 9 ms at 111,111 requests per second.
        let (on, off) = phases(&format!("requests = 100000\n{SHORT}\noff_rate = 111111.0"));
        assert!((48_500..51_500).contains(&on) && on + off == 100_000, "{on}, {off}");
    }

    #[test]
    fn even_spacing_is_even_and_poisson_is_not() {
        let gaps = |text: &str| {
            let arrivals = run("bursts", text);
            arrivals.windows(2).map(|pair| pair[1].at - pair[0].at).collect::<Vec<_>>()
        };
        let even = gaps(&format!("requests = 900\n{SHORT}\nspacing = 'even'"));
        assert!(even.iter().all(|gap| *gap == 1_000), "{even:?}");
        let text = "requests = 100000\non_rate = 1e6\noff_rate = 1e6";
        let random = gaps(text);
        let mean = random.iter().sum::<u64>() as f64 / random.len() as f64;
        let square = random.iter().map(|gap| (*gap * *gap) as f64).sum::<f64>();
        let variance = square / random.len() as f64 - mean * mean;
        // The deviation of an exponential equals its mean.
        assert!((mean - 1000.0).abs() < 16.0, "{mean}");
        assert!((libm::sqrt(variance) - 1000.0).abs() < 30.0, "{variance}");
        // With even spacing, the gap spans a pause: the rate is integrated across it.
        let across = "requests = 3\non_rate = 1000.0\non_time = '1.5ms'\noff_time = '10ms'\n\
                      spacing = 'even'";
        let times: Vec<Time> = run("bursts", across).iter().map(|arrival| arrival.at).collect();
        assert_eq!(times, [1_000_000, 12_000_000, 13_000_000]);
    }

    #[test]
    fn exponential_phases_keep_the_mean_rate_and_vary() {
        let text = format!("requests = 400000\n{SHORT}\nphases = 'exponential'");
        let arrivals = run("bursts", &text);
        let last_ms = arrivals[arrivals.len() - 1].at / 1_000_000;
        assert!((3_300..4_700).contains(&last_ms), "{last_ms} ms for 400 bursts");
        let outside = phases(&text).1;
        assert!(outside > 200_000, "phases drift away from their fixed places: {outside}");
    }

    #[test]
    fn every_option_changes_the_requests() {
        let base = run("bursts", "requests = 10000");
        for text in [
            "on_rate = 60000.0",
            "off_rate = 10.0",
            "on_time = '50ms'",
            "off_time = '50ms'",
            "phases = 'exponential'",
            "spacing = 'even'",
            "read_share = 0.5",
            "random_share = 0.5",
            "locality = 'zipf(1)'",
            "block_size = '8KiB'",
            "footprint = 0.5",
        ] {
            assert_ne!(run("bursts", &format!("requests = 10000\n{text}")), base, "{text}");
        }
        let skewed = "requests = 10\nlocality = 'zipf(1)'";
        assert_ne!(run("bursts", skewed), run("bursts", &format!("{skewed}\nscatter = false")));
        assert_eq!(run("bursts", "requests = 9999"), base[..9999]);
    }

    #[test]
    fn impossible_settings_are_refused() {
        for (text, key, problem) in [
            ("requests = 0", "workload.requests", "at least 1"),
            ("on_rate = -1.0", "workload.on_rate", "-1 is not a rate"),
            ("off_rate = 2e9", "workload.off_rate", "2000000000 is not a rate"),
            ("on_rate = 0.0", "workload.on_rate", "bring 0 requests"),
            ("on_time = '1ns'", "workload.on_rate", "must bring at least 0.001"),
            ("read_share = 1.5", "workload.read_share", "1.5 is not a share"),
            ("block_size = '0B'", "workload.block_size", "0B is not a positive multiple"),
        ] {
            assert_refused("bursts", text, key, problem);
        }
    }

    #[test]
    fn time_that_ends_is_an_error() {
        let text = "on_rate = 1e-6\noff_time = '4000000h'\non_time = '1000000s'";
        let layer: toml::Table = toml::from_str(text).unwrap();
        let config = crate::WorkloadConfig::resolve("bursts", [layer]).unwrap();
        let mut workload = config.build(&super::super::tests::context(1 << 21, 42)).unwrap();
        let error = (0..).find_map(|_| workload.next(0).err()).unwrap();
        assert!(error.0.contains("after more than 500 years"), "{error}");
    }
}
