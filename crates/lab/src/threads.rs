//! Threads that prepare a device: they shorten a run, and results do not depend on their number.

use devices::{Job, Writes};
use engine::{Random, Xoshiro256};
use serde::Serialize;
use std::sync::OnceLock;
use std::time::Instant;

/// The threads of a preparation: number requested, number used, and the reason for using fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Threads {
    pub(crate) asked: u32,
    /// Number of threads that prepared the device; 0 if nothing was written.
    pub(crate) preparing: u32,
    /// Reason for fewer threads than requested.
    pub(crate) preparing_alone: Option<&'static str>,
}

impl Threads {
    pub(crate) fn new(asked: u32) -> Threads {
        let asked = asked.max(1);
        Threads { asked, preparing: 0, preparing_alone: None }
    }

    /// Records the number of threads that precondition the device, or the reason for using one.
    pub(crate) fn prepare(&mut self, divided: Result<u32, &'static str>) {
        self.preparing = divided.unwrap_or(1).max(self.preparing);
        self.preparing_alone = divided.err().or(self.preparing_alone);
        if self.preparing < self.asked && self.preparing_alone.is_none() {
            self.preparing_alone = Some(NO_MORE_PARTS);
        }
    }
}

const NO_MORE_PARTS: &str = "the device has no more independent parts";

/// Runs jobs in parallel, the first one in this thread.
pub(crate) fn side_by_side(jobs: Vec<Job<'_>>) {
    let mut jobs = jobs.into_iter();
    let first = jobs.next();
    std::thread::scope(|scope| {
        for job in jobs {
            scope.spawn(job);
        }
        if let Some(job) = first {
            job();
        }
    });
}

/// The next overwrites of a preparation.
pub(crate) struct Stretch {
    /// Generator of random pages; `None` for sequential pages.
    pub(crate) random: Option<Xoshiro256>,
    pub(crate) first: u64,
    pub(crate) count: u64,
    /// Number of pages of the device.
    pub(crate) pages: u64,
    /// State of the generator after all draws.
    pub(crate) after: OnceLock<Xoshiro256>,
}

impl Writes for Stretch {
    fn each(&self, take: &mut dyn FnMut(&[u64])) {
        // Each thread finds its own share of a batch, and its part of the device prefetches the
        // data.
        const BATCH: u64 = 2048;
        let mut random = self.random.clone();
        let mut batch = Vec::with_capacity(BATCH as usize);
        let end = self.first + self.count;
        for first in (self.first..end).step_by(BATCH as usize) {
            let numbers = first..end.min(first + BATCH);
            batch.clear();
            match &mut random {
                Some(random) => {
                    batch.extend(numbers.map(|_| random.below(self.pages)));
                }
                None => batch.extend(numbers),
            }
            take(&batch);
        }
        if let Some(random) = random {
            self.after.get_or_init(|| random);
        }
    }
}

/// Number of overwrites per stretch: few enough for frequent progress reports.
pub(crate) struct Pace {
    writes: u64,
}

impl Pace {
    const MOMENT_S: f64 = 0.05;

    pub(crate) fn new() -> Pace {
        Pace { writes: 1 << 13 }
    }

    /// Runs `work` on a stretch of at most `most` overwrites, and adapts the length of later
    /// stretches to its duration.
    #[expect(
        clippy::disallowed_methods,
        reason = "decides when to look up; no result depends on it"
    )]
    pub(crate) fn stretch(&mut self, most: u64, work: impl FnOnce(u64)) {
        let writes = self.writes.min(most);
        let began = Instant::now();
        work(writes);
        let took = began.elapsed().as_secs_f64();
        if took > 2.0 * Self::MOMENT_S {
            self.writes = (self.writes / 2).max(1 << 8);
        } else if took < Self::MOMENT_S && writes == self.writes {
            self.writes *= 2;
        }
    }
}
