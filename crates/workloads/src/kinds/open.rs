//! An open loop: requests arrive by the clock, regardless of completions.
//!
//! This is the synthetic generator of `DiskSim` 4.0 (one generator, one device) with the same order
//! of draws; with its random source it reproduces its streams. Several generators, and requests that a
//! generator waits for, are in [`generators`](super::generators).

use crate::distribution::DistributionSpec;
use crate::error::BuildError;
use crate::footprint::Footprint;
use crate::generator::{
    Generator, GeneratorDraws, NOWHERE, RandomSource, never_negative, no_request, no_size,
};
use crate::kind::{Context, WorkloadKind};
use crate::time_scale::TimeScale;
use crate::{checks, streams};
use engine::{Arrival, Completion, Random as _, Time, Workload, WorkloadError};
use options::Size;

options::options! {
    /// An open loop: requests arrive by the clock, as `DiskSim`'s synthetic generator draws them.
    pub struct Open as OpenPartial {
        /// Total number of requests.
        requests: u64 = 100_000,
        /// Probability that a request is sequential to the previous one, with the same size and direction.
        sequential_share: f64 as Ratio = 0.0,
        /// Probability that a non-sequential request is a read.
        read_share: f64 as Ratio = 1.0,
        /// Interarrival time before a non-sequential request, in ms; negative draws count as 0.
        interarrival: DistributionSpec = DistributionSpec::uniform(0.0, 1.0),
        /// Interarrival time before a sequential request, in ms; negative draws count as 0.
        sequential_interarrival: DistributionSpec = DistributionSpec::uniform(0.0, 1.0),
        /// Size in sectors of 512 B, truncated to a whole number and rounded up to whole blocks; sizes of 0
        /// and requests beyond the footprint are drawn again.
        size: DistributionSpec = DistributionSpec::exponential(0.0, 8.0),
        /// Unit of addresses and sizes, a multiple of 512B.
        block_size: Size = Size::from_bytes(4096),
        /// Footprint: the part of the device that is accessed, from its start.
        footprint: Footprint = Footprint::WHOLE,
        /// Random number generator.
        generator: Generator = Generator::Xoshiro,
        /// Factor on all arrival times: 0.5 doubles the request rate.
        time_scale: f64 = 1.0,
    }
}

impl WorkloadKind for Open {
    const SUMMARY: &'static str =
        "open loop: timed arrivals, as drawn by DiskSim's synthetic generator";
    const IS_STATIONARY: bool = true;

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        checks::positive("workload.requests", self.requests)?;
        checks::share("workload.sequential_share", self.sequential_share)?;
        checks::share("workload.read_share", self.read_share)?;
        never_negative("workload.interarrival", self.interarrival)?;
        never_negative("workload.sequential_interarrival", self.sequential_interarrival)?;
        let scale = checks::time_scale(self.time_scale)?;
        let footprint = self.footprint.sectors(context.capacity_sectors)?;
        let block_sectors = checks::block_sectors(self.block_size, footprint)?;
        let mut draws = GeneratorDraws {
            sequential_share: self.sequential_share,
            local_share: 0.0,
            read_share: self.read_share,
            interarrival: self.interarrival,
            sequential_interarrival: self.sequential_interarrival,
            local_interarrival: self.interarrival,
            local_distance: self.size,
            size: self.size,
            block_sectors,
            blocks: footprint / u64::from(block_sectors),
            now: NOWHERE,
        };
        let mut random = self.generator.first(context, streams::OPEN);
        let clock_ms = draws.jump(&mut random).map_err(no_request)?;
        random.unit(); // the class of the request (time-critical and so on)
        let random = self.generator.later(context, random);
        Ok(Box::new(OpenLoop {
            requests: self.requests,
            scale,
            random,
            issued: 0,
            clock_ms,
            draws,
        }))
    }
}

/// A running generator; `draws` and `clock_ms` belong to the request drawn last.
struct OpenLoop {
    requests: u64,
    scale: TimeScale,
    random: RandomSource,
    issued: u64,
    clock_ms: f64,
    draws: GeneratorDraws,
}

impl Workload for OpenLoop {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if self.issued == self.requests {
            return Ok(None);
        }
        // The first request was drawn when the generator was built.
        if self.issued > 0 {
            self.clock_ms += self.draws.draw(&mut self.random).map_err(no_size)?;
            self.random.unit(); // the class of the request
        }
        let clock_ns = (self.clock_ms * 1e6).round();
        let in_range = (clock_ns < Time::MAX as f64).then_some(clock_ns as Time);
        let Some(at) = in_range.and_then(|at| self.scale.apply(at)) else {
            return Err(WorkloadError(format!(
                "workload.interarrival: request {} would arrive after more than 500 years",
                self.issued
            )));
        };
        let request = self.draws.request(self.issued);
        self.issued += 1;
        Ok(Some(Arrival { at: at.max(now), request }))
    }

    fn completed(&mut self, _completion: &Completion) {}

    fn is_open(&self) -> bool {
        true
    }

    fn expected_requests(&self) -> Option<u64> {
        Some(self.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{arrivals, assert_refused, build, context, run};
    use super::*;
    use engine::Op;

    /// The streams of the original's validation runs: its drive, its seed.
    fn original(requests: u64, sequential_share: f64, read_share: f64) -> Vec<Arrival> {
        let generator = Generator::Drand48;
        let open = Open { requests, sequential_share, read_share, generator, ..Open::default() };
        arrivals(&mut *open.build(&context(7_018_904, 42)).unwrap())
    }

    #[test]
    fn the_first_requests_are_the_original_s() {
        type Row = (Time, u64, u32, Op);
        let (r, w) = (Op::Read, Op::Write);
        let rows: [(f64, f64, &[Row]); 3] = [
            (
                0.0,
                1.0,
                &[
                    (744_525, 779_696, 8, r),
                    (1_072_442, 492_344, 8, r),
                    (1_632_493, 2_458_248, 24, r),
                    (1_693_468, 6_924_840, 8, r),
                    (2_132_365, 3_345_016, 8, r),
                    (3_001_463, 3_942_848, 16, r),
                ],
            ),
            (
                1.0,
                0.0,
                &[
                    (744_525, 779_696, 8, w),
                    (1_072_442, 779_704, 8, w),
                    (1_511_074, 779_712, 8, w),
                    (1_554_861, 779_720, 8, w),
                ],
            ),
            (
                0.5,
                0.5,
                &[
                    (744_525, 779_696, 8, r),
                    (1_072_442, 779_704, 8, r),
                    (1_511_074, 779_712, 8, r),
                    (1_554_861, 1_041_136, 8, w),
                    (1_577_563, 1_041_144, 8, w),
                    (1_995_127, 1_041_152, 8, w),
                    (2_577_943, 5_546_864, 32, r),
                    (3_076_268, 5_546_896, 32, r),
                ],
            ),
        ];
        for (sequential_share, read_share, expected) in rows {
            let drawn: Vec<Row> = original(expected.len() as u64, sequential_share, read_share)
                .iter()
                .map(|Arrival { at, request: r }| (*at, r.lba.0, r.sectors, r.op))
                .collect();
            assert_eq!(drawn, expected);
        }
    }

    #[test]
    fn whole_runs_are_the_original_s() {
        // Shares of sequential requests and reads, then sums of positions and sizes, number of
        // reads, and last arrival.
        let rows = [
            (0.0, 1.0, 876_282_951_744, 3_161_048, 250_000, 124_964_081_263),
            (1.0, 0.0, 444_923_000_000, 2_000_000, 0, 124_853_569_311),
            (0.5, 0.5, 876_934_331_144, 3_154_512, 124_736, 124_897_355_566),
        ];
        for (sequential_share, read_share, positions, sizes, reads, last_ns) in rows {
            let drawn = original(250_000, sequential_share, read_share);
            assert_eq!(drawn.iter().map(|a| a.request.lba.0).sum::<u64>(), positions);
            assert_eq!(drawn.iter().map(|a| u64::from(a.request.sectors)).sum::<u64>(), sizes);
            assert_eq!(drawn.iter().filter(|a| a.request.op == Op::Read).count(), reads);
            assert_eq!(drawn[drawn.len() - 1].at, last_ns);
            assert!(drawn.is_sorted_by_key(|a| a.at));
        }
    }

    #[test]
    fn the_seed_decides_only_the_first_request_of_the_original() {
        let with = |seed, generator| {
            let open = Open { requests: 3, generator, ..Open::default() };
            arrivals(&mut *open.build(&context(7_018_904, seed)).unwrap())
                .iter()
                .map(|a| a.request)
                .collect::<Vec<_>>()
        };
        let (one, two) = (with(1, Generator::Drand48), with(2, Generator::Drand48));
        assert!(one[0] != two[0] && one[1..] == two[1..]);
        let (one, two) = (with(1, Generator::Xoshiro), with(2, Generator::Xoshiro));
        assert!(one[0] != two[0] && one[1] != two[1]);
    }

    #[test]
    fn the_default_source_has_the_distributions() {
        let arrivals = run("open", "requests = 100000\nread_share = 0.3");
        let reads = arrivals.iter().filter(|a| a.request.op == Op::Read).count();
        assert!((29_000..31_000).contains(&reads), "{reads} reads");
        let last_ms = arrivals[arrivals.len() - 1].at / 1_000_000;
        assert!((49_500..50_500).contains(&last_ms), "{last_ms} ms");
        // One page with a probability of about 1 - 1/e^(9/8): the mean is 1.583 pages.
        let pages: u64 = arrivals.iter().map(|a| u64::from(a.request.sectors / 8)).sum();
        assert!((156_000..160_500).contains(&pages), "{pages} pages");
    }

    #[test]
    fn every_option_changes_the_requests() {
        let base = run("open", "requests = 100");
        for text in [
            "sequential_share = 0.5",
            "read_share = 0.5",
            "interarrival = 'exponential(0, 1)'",
            "sequential_interarrival = 'constant(1)'\nsequential_share = 0.5",
            "size = 'constant(8)'",
            "block_size = '8KiB'",
            "footprint = 0.5",
            "generator = 'drand48'",
            "time_scale = 0.5",
        ] {
            assert_ne!(run("open", &format!("requests = 100\n{text}")), base, "{text}");
        }
        let follows = "requests = 100\nsequential_share = 0.5";
        let other = format!("{follows}\nsequential_interarrival = 'constant(1)'");
        assert_ne!(run("open", follows), run("open", &other));
        assert_eq!(run("open", "requests = 99"), base[..99]);
    }

    #[test]
    fn time_is_scaled_and_negative_draws_count_as_zero() {
        let times = |text: &str| run("open", text).iter().map(|a| a.at).collect::<Vec<_>>();
        let slow = times("requests = 3\ninterarrival = 'constant(1)'\ntime_scale = 2.5");
        assert_eq!(slow, [2_500_000, 5_000_000, 7_500_000]);
        let normal = times("requests = 1000\ninterarrival = 'normal(0, 1)'");
        assert!(normal.is_sorted() && normal[999] > 0);
    }

    #[test]
    fn impossible_settings_are_refused() {
        let rows = [
            ("requests = 0", "workload.requests", "at least 1"),
            ("sequential_share = 2.0", "workload.sequential_share", "2 is not a share"),
            ("read_share = -1.0", "workload.read_share", "-1 is not a share"),
            ("time_scale = 0.0", "workload.time_scale", "0 is not a number above 0"),
            ("interarrival = 'constant(-1)'", "workload.interarrival", "negative times"),
            (
                "sequential_interarrival = 'uniform(-1, 1)'",
                "workload.sequential_interarrival",
                "negative times",
            ),
            ("size = 'constant(0)'", "workload.size", "no size of at least one sector"),
            ("size = 'uniform(-9, 1)'", "workload.size", "no size of at least one sector"),
            (
                "size = 'constant(256)'\nfootprint = '128KiB'",
                "workload.size",
                "no request inside the footprint of 32 blocks",
            ),
            ("size = 'constant(1e300)'", "workload.size", "no request inside the footprint"),
            ("block_size = '513B'", "workload.block_size", "multiple of 512B"),
            ("footprint = '2GiB'", "workload.footprint", "more than the device's"),
        ];
        for (text, key, problem) in rows {
            assert_refused("open", text, key, problem);
        }
    }

    #[test]
    fn time_that_ends_is_an_error() {
        let mut workload = build("open", "interarrival = 'constant(1e13)'").unwrap();
        assert!(workload.next(0).is_ok());
        let error = workload.next(0).unwrap_err();
        assert!(error.0.contains("request 1 would arrive after more than 500 years"), "{error}");
    }
}
