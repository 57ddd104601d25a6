//! A closed loop: a fixed number of requests are outstanding, and each completion issues the next.
//!
//! Addresses are whole blocks within the footprint, and what the nth request asks never depends on
//! when others complete. The loop leaves out thinking: the next request follows at once.
//!
//! Measured: 100 million rounds a second of issue and completion, with either share at any value.

use super::{BuildError, Context, Kind};
use crate::{Footprint, checks, streams};
use engine::{
    Arrival, Completion, Lba, Op, Random, Request, Time, Workload, WorkloadError, Xoshiro256,
};
use options::Size;

options::options! {
    /// A closed loop: `outstanding` requests at any time until `requests` were issued.
    pub struct Closed as ClosedPartial {
        /// Requests in all.
        requests: u64 = 1_000_000,
        /// Requests outstanding at any time.
        outstanding: u32 = 32,
        /// Share of the requests that read; the others write.
        read_share: f64 = 1.0,
        /// Share of the requests that go to a random block; the others follow the one before.
        random_share: f64 = 1.0,
        /// Size of each request, a multiple of 512B.
        block_size: Size = Size::from_bytes(4096),
        /// The part of the device that is touched, from its start.
        footprint: Footprint = Footprint::WHOLE,
    }
}

impl Kind for Closed {
    const SUMMARY: &'static str =
        "closed loop: a fixed number of requests outstanding, random or sequential";

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        checks::positive("workload.requests", self.requests)?;
        checks::positive("workload.outstanding", u64::from(self.outstanding))?;
        checks::share("workload.read_share", self.read_share)?;
        checks::share("workload.random_share", self.random_share)?;
        let footprint = self.footprint.sectors(context.capacity_sectors)?;
        let block_sectors = checks::block_sectors(self.block_size, footprint)?;
        Ok(Box::new(ClosedLoop {
            requests: self.requests,
            issued: 0,
            free: self.outstanding,
            reads: Chance::new(self.read_share),
            jumps: Chance::new(self.random_share),
            block_sectors,
            blocks: footprint / u64::from(block_sectors),
            next_block: 0,
            decisions: Xoshiro256::new(context.seed, streams::CLOSED_DECISIONS),
            positions: Xoshiro256::new(context.seed, streams::CLOSED_POSITIONS),
        }))
    }
}

/// A yes with a given probability, decided by 31 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chance {
    Never,
    Always,
    Below(u64),
}

impl Chance {
    const BITS: u32 = 31;

    fn new(share: f64) -> Self {
        if share <= 0.0 {
            Chance::Never
        } else if share >= 1.0 {
            Chance::Always
        } else {
            Chance::Below((share * f64::from(1u32 << Self::BITS)).round() as u64)
        }
    }

    fn needs_bits(self) -> bool {
        matches!(self, Chance::Below(_))
    }

    fn decide(self, bits: u64) -> bool {
        match self {
            Chance::Never => false,
            Chance::Always => true,
            Chance::Below(limit) => bits < limit,
        }
    }
}

/// The loop while it runs.
struct ClosedLoop {
    requests: u64,
    issued: u64,
    free: u32,
    reads: Chance,
    jumps: Chance,
    block_sectors: u32,
    blocks: u64,
    next_block: u64,
    decisions: Xoshiro256,
    positions: Xoshiro256,
}

impl ClosedLoop {
    /// Draws the next request: one draw decides direction and jump, and a jump takes another.
    fn draw(&mut self) -> Request {
        let bits = if self.reads.needs_bits() || self.jumps.needs_bits() {
            self.decisions.below(1 << (2 * Chance::BITS))
        } else {
            0
        };
        let reads = self.reads.decide(bits >> Chance::BITS);
        let jumps = self.jumps.decide(bits & ((1 << Chance::BITS) - 1));
        let block = if jumps { self.positions.below(self.blocks) } else { self.next_block };
        self.next_block = if block + 1 == self.blocks { 0 } else { block + 1 };
        Request {
            id: self.issued,
            op: if reads { Op::Read } else { Op::Write },
            lba: Lba(block * u64::from(self.block_sectors)),
            sectors: self.block_sectors,
        }
    }
}

impl Workload for ClosedLoop {
    #[inline]
    fn next(&mut self, now: Time) -> Result<Option<Arrival>, WorkloadError> {
        if self.free == 0 || self.issued == self.requests {
            return Ok(None);
        }
        let request = self.draw();
        self.free -= 1;
        self.issued += 1;
        Ok(Some(Arrival { at: now, request }))
    }

    #[inline]
    fn completed(&mut self, _completion: &Completion) {
        self.free += 1;
    }

    fn expected_requests(&self) -> Option<u64> {
        Some(self.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answer, assert_refused, build, run};
    use super::*;

    #[test]
    fn the_number_outstanding_is_kept_and_never_exceeded() {
        let mut workload = build("closed", "outstanding = 3\nrequests = 7").unwrap();
        let mut outstanding = Vec::new();
        let mut issued = 0;
        for now in 0..7 {
            while let Some(arrival) = workload.next(now).unwrap() {
                assert_eq!((arrival.at, arrival.request.id), (now, issued));
                issued += 1;
                outstanding.push(arrival.request);
            }
            assert_eq!(outstanding.len() as u64, (7 - now).min(3), "at {now}");
            workload.completed(&answer(outstanding.remove(0), now));
        }
        assert_eq!((issued, workload.expected_requests()), (7, Some(7)));
    }

    #[test]
    fn sequential_requests_wrap_at_the_end_of_the_footprint() {
        let text = "random_share = 0\nrequests = 5\nblock_size = '8KiB'\nfootprint = '30KiB'";
        let sectors: Vec<u64> =
            run("closed", text).iter().map(|arrival| arrival.request.lba.0).collect();
        assert_eq!(sectors, [0, 16, 32, 0, 16], "the last 6 KiB are no whole block");
    }

    #[test]
    fn random_requests_are_aligned_and_cover_the_footprint() {
        let text = "requests = 1000\nblock_size = '1536B'\nfootprint = '12KiB'";
        let mut seen = [0; 8];
        for arrival in run("closed", text) {
            assert_eq!((arrival.request.sectors, arrival.request.lba.0 % 3), (3, 0));
            seen[(arrival.request.lba.0 / 3) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (90..170).contains(count)), "{seen:?}");
    }

    #[test]
    fn shares_are_kept() {
        let arrivals = run("closed", "requests = 100000\nread_share = 0.3\nrandom_share = 0.8");
        let reads = arrivals.iter().filter(|a| a.request.op == Op::Read).count();
        let follows = arrivals
            .windows(2)
            .filter(|pair| pair[1].request.lba.0 == pair[0].request.lba.0 + 8)
            .count();
        assert!((29_000..31_000).contains(&reads), "{reads} reads");
        assert!((19_000..21_000).contains(&follows), "{follows} follow");
        // The decisions are independent of one another.
        let both = arrivals.windows(2).filter(|pair| {
            pair[1].request.op == Op::Read && pair[1].request.lba.0 == pair[0].request.lba.0 + 8
        });
        let both = both.count();
        assert!((5_500..6_500).contains(&both), "{both} reads follow");
    }

    #[test]
    fn every_option_changes_the_requests() {
        let base = run("closed", "requests = 100");
        for text in [
            "requests = 99",
            "requests = 100\nread_share = 0.5",
            "requests = 100\nrandom_share = 0.5",
            "requests = 100\nblock_size = '8KiB'",
            "requests = 100\nfootprint = 0.5",
        ] {
            assert_ne!(run("closed", text), base, "{text}");
        }
        assert_eq!(run("closed", "requests = 100"), base);
        let mut other_seed =
            Closed::default().build(&super::super::tests::context(1 << 21, 43)).unwrap();
        assert_ne!(other_seed.next(0).unwrap().unwrap(), base[0]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let rows = [
            ("requests = 0", "workload.requests", "at least 1"),
            ("outstanding = 0", "workload.outstanding", "at least 1"),
            ("read_share = 1.1", "workload.read_share", "1.1 is not a share"),
            ("read_share = nan", "workload.read_share", "NaN is not a share"),
            ("random_share = -0.1", "workload.random_share", "-0.1 is not a share"),
            ("block_size = '0B'", "workload.block_size", "0B is not a positive multiple"),
            ("block_size = '1000B'", "workload.block_size", "multiple of 512B"),
            (
                "block_size = '2MiB'\nfootprint = '1MiB'",
                "workload.block_size",
                "2MiB is larger than the footprint of 1MiB",
            ),
            ("footprint = '2GiB'", "workload.footprint", "more than the device's 1GiB"),
        ];
        for (text, key, problem) in rows {
            assert_refused("closed", text, key, problem);
        }
    }
}
