//! A closed loop: a fixed number of requests are outstanding, and each completion issues the next.
//!
//! Addresses are whole blocks within the footprint. The content of a thread's nth request never
//! depends on completions; with one thread this also holds for the whole stream. Threads have their
//! own positions, and each keeps its own requests outstanding, as in `DiskSpd` and similar tools.
//! `DiskSpd` starts every thread at the beginning by default; here each starts at its own equal
//! share of the footprint. All threads cover the whole footprint.
//!
//! Measured (`benches/generators.rs`), in millions of issue-and-completion rounds per second:
//! uniform 90, hot-cold 48, Zipf 14, uniform with four threads 60. Before localities were added,
//! uniform ran at 96: the cost is below a nanosecond per request.

use crate::checks;
use crate::closed_loop::{Asker, ClosedLoop, Draw};
use crate::error::BuildError;
use crate::footprint::Footprint;
use crate::in_flight::InFlight;
use crate::kind::{Context, WorkloadKind};
use crate::locality::Locality;
use crate::pattern::{AccessPattern, Cursor, pattern_keys};
use engine::{Completion, Request, Time, Workload};
use options::{Duration, Size};
use std::collections::VecDeque;

options::options! {
    /// A closed loop: `outstanding` requests of each thread until `requests` were issued.
    pub struct Closed as ClosedPartial {
        /// Total number of requests.
        requests: u64 = 1_000_000,
        /// Queue depth of each thread (outstanding requests).
        outstanding: u32 = 32,
        /// Number of threads, each with its own position, starting at equal distances in the footprint.
        threads: u32 = 1,
        /// Think time between a completion and the next request.
        think_time: Duration = Duration::from_ns(0),
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

/// Maximum number of threads, which bounds memory.
const MOST_THREADS: u32 = 65_536;

/// Maximum requests outstanding over all threads.
const MOST_OUTSTANDING: u64 = 1 << 24;

impl WorkloadKind for Closed {
    const SUMMARY: &'static str =
        "closed loop: a fixed number of requests outstanding, random, skewed or sequential";
    const IS_STATIONARY: bool = true;

    fn reach(&self, context: &Context) -> Option<u64> {
        self.footprint.sectors(context.capacity_sectors).ok()
    }

    fn writes_uniformly(&self, capacity_sectors: u64, page_sectors: u64) -> bool {
        pattern_keys!(self).writes_uniformly(capacity_sectors, page_sectors)
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        checks::positive("workload.requests", self.requests)?;
        checks::positive("workload.outstanding", u64::from(self.outstanding))?;
        checks::within("workload.threads", u64::from(self.threads), 1, u64::from(MOST_THREADS))?;
        let slots = u64::from(self.threads) * u64::from(self.outstanding);
        let pattern =
            AccessPattern::new(&pattern_keys!(self), context.capacity_sectors, context.seed)?;
        let cursor = |index| pattern.cursor(index, self.threads, context.draws());
        let limit = Some(self.requests);
        if self.threads == 1 && self.think_time.ns() == 0 {
            let thread = Thread { cursor: cursor(0), pattern };
            return Ok(Box::new(ClosedLoop::single(limit, self.outstanding, thread)));
        }
        checks::within("workload.outstanding", slots, 1, MOST_OUTSTANDING)?;
        let rounds = 0..self.outstanding;
        let asker = Thinkers {
            ready: rounds.flat_map(|_| (0..self.threads).map(|thread| (0, thread))).collect(),
            asked_by: InFlight::new(None),
            think: self.think_time.ns(),
            cursors: (0..self.threads).map(cursor).collect(),
            pattern,
        };
        Ok(Box::new(ClosedLoop::new(limit, asker)))
    }
}

/// A thread without think time.
struct Thread {
    pattern: AccessPattern,
    cursor: Cursor,
}

impl Draw for Thread {
    #[inline]
    fn draw(&mut self, id: u64) -> Request {
        self.pattern.draw(&mut self.cursor, id)
    }
}

/// Several threads, or threads with think time.
struct Thinkers {
    pattern: AccessPattern,
    /// Time from which each idle thread may issue; sorted, because all threads have equal think
    /// times.
    ready: VecDeque<(Time, u32)>,
    asked_by: InFlight<u32>,
    think: Time,
    cursors: Vec<Cursor>,
}

impl Asker for Thinkers {
    type Turn = u32;

    #[inline]
    fn turn(&mut self, now: Time) -> Option<(Time, u32)> {
        let (at, thread) = self.ready.pop_front()?;
        self.asked_by.issue(thread);
        Some((at.max(now), thread))
    }

    #[inline]
    fn draw(&mut self, thread: u32, id: u64) -> Request {
        self.pattern.draw(&mut self.cursors[thread as usize], id)
    }

    #[inline]
    fn answered(&mut self, completion: &Completion) {
        let thread = self.asked_by.complete(completion.request.id);
        self.ready.push_back((completion.at.saturating_add(self.think), thread));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answer, assert_refused, build, run};
    use super::*;
    use engine::Op;

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
        // Decisions are independent.
        let both = arrivals.windows(2).filter(|pair| {
            pair[1].request.op == Op::Read && pair[1].request.lba.0 == pair[0].request.lba.0 + 8
        });
        let both = both.count();
        assert!((5_500..6_500).contains(&both), "{both} reads follow");
    }

    #[test]
    fn threads_start_at_equal_shares_and_keep_their_own_positions() {
        let text = "threads = 4\noutstanding = 1\nrandom_share = 0\nrequests = 8\n\
                    footprint = '64KiB'";
        let mut workload = build("closed", text).unwrap();
        let issue = |workload: &mut dyn Workload, now| {
            let mut issued = Vec::new();
            while let Some(arrival) = workload.next(now).unwrap() {
                assert_eq!(arrival.at, now);
                issued.push(arrival.request);
            }
            issued
        };
        let blocks = |requests: &[engine::Request]| -> Vec<u64> {
            requests.iter().map(|request| request.lba.0 / 8).collect()
        };
        let first = issue(&mut *workload, 0);
        assert_eq!(blocks(&first), [0, 4, 8, 12]);
        // The thread whose request completes issues the next one: only its position advances.
        for (answered, next) in [(2, 9), (0, 1)] {
            workload.completed(&answer(first[answered], 5));
            assert_eq!(blocks(&issue(&mut *workload, 5)), [next]);
        }
        workload.completed(&answer(first[3], 6));
        assert_eq!(blocks(&issue(&mut *workload, 6)), [13]);
    }

    #[test]
    fn a_thread_thinks_before_it_asks_again() {
        let text = "outstanding = 2\nrequests = 4\nthink_time = '10ns'";
        let mut workload = build("closed", text).unwrap();
        let first = workload.next(0).unwrap().unwrap();
        let second = workload.next(0).unwrap().unwrap();
        assert_eq!((first.at, second.at, workload.next(0).unwrap()), (0, 0, None));
        workload.completed(&answer(second.request, 100));
        workload.completed(&answer(first.request, 103));
        assert_eq!(workload.next(103).unwrap().unwrap().at, 110);
        assert_eq!(workload.next(110).unwrap().unwrap().at, 113);
        // A late request is issued now, never in the past.
        let mut workload = build("closed", text).unwrap();
        let first = workload.next(0).unwrap().unwrap();
        workload.completed(&answer(first.request, 0));
        assert_eq!(workload.next(5).unwrap().unwrap().at, 5);
        assert_eq!(workload.next(15).unwrap().unwrap().at, 15);
    }

    #[test]
    fn skewed_requests_are_skewed_and_within_bounds() {
        let text = "requests = 100000\nlocality = 'hot-cold(0.8, 0.2)'\nscatter = false\n\
                    footprint = '4MiB'";
        let arrivals = run("closed", text);
        assert!(arrivals.iter().all(|a| a.request.lba.0 + 8 <= 8192));
        let hot = arrivals.iter().filter(|a| a.request.lba.0 < 8 * 205).count();
        assert!((79_400..80_600).contains(&hot), "{hot}");
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
            "requests = 100\nlocality = 'zipf(1)'",
            "requests = 100\nthreads = 2",
            "requests = 100\nthink_time = '1us'",
        ] {
            assert_ne!(run("closed", text), base, "{text}");
        }
        assert_eq!(run("closed", "requests = 100"), base);
        let skewed = "requests = 100\nlocality = 'zipf(1)'";
        assert_ne!(run("closed", skewed), run("closed", &format!("{skewed}\nscatter = false")));
        let mut other_seed =
            Closed::default().build(&super::super::tests::context(1 << 21, 43)).unwrap();
        assert_ne!(other_seed.next(0).unwrap().unwrap(), base[0]);
    }

    #[test]
    fn impossible_settings_are_refused() {
        let rows = [
            ("requests = 0", "workload.requests", "at least 1"),
            ("threads = 0", "workload.threads", "it must be from 1 to 65536"),
            ("threads = 65537", "workload.threads", "it must be from 1 to 65536"),
            ("threads = 9000\noutstanding = 9000", "workload.outstanding", "81000000 is not"),
            (
                "locality = 'hot-cold(0.9, 0.1)'\nfootprint = '16KiB'",
                "workload.locality",
                "0.1 of a footprint of 4 blocks",
            ),
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
