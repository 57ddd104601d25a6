//! What a cache has to say after a run.

use crate::{Latencies, Means};
use engine::Time;

/// For what requests of the host were served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    ReadHit,
    ReadMiss,
    ReadPassed,
    Write,
    WritePassed,
}

impl Kind {
    const COUNT: usize = 5;
}

/// Where the time of requests of a kind went, summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// Requests.
    pub requests: u64,
    /// Waiting for room, or for other requests of the same lines, ns.
    pub wait_ns: Time,
    /// On the fast device, ns.
    pub fast_ns: Time,
    /// On the backing device, ns.
    pub backing_ns: Time,
}

/// What a cache counts; lines and bytes are those of the host unless it says otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines that were read from the fast device.
    pub read_hits: u64,
    /// Lines that were not there when they were read.
    pub read_misses: u64,
    /// Lines that were there when they were written.
    pub write_hits: u64,
    /// Those that were not.
    pub write_misses: u64,
    /// Bytes of long streams that went past the cache.
    pub bypassed_bytes: u64,
    /// Bytes that came into the cache because they were read.
    pub filled_bytes: u64,
    /// Bytes that were written from the cache to the backing device, and in how many writes.
    pub destaged_bytes: u64,
    /// See `destaged_bytes`.
    pub destage_writes: u64,
    /// Parts of lines that were written, for which the rest was read first.
    pub merges: u64,
    /// Requests that waited because all of the cache was dirty.
    pub stalls: u64,
    /// Lines that hints pinned and unpinned, and those that they could not pin, or had.
    pub pinned: u64,
    /// See `pinned`.
    pub unpinned: u64,
    /// See `pinned`.
    pub not_pinned: u64,
    accounts: [Account; Kind::COUNT],
}

impl Counts {
    /// Lines were read, so many of them that were there.
    #[inline]
    pub fn reads(&mut self, hits: u64, misses: u64) {
        self.read_hits += hits;
        self.read_misses += misses;
    }

    /// A read of one line that was there was answered.
    #[inline]
    pub fn hit(&mut self, fast_ns: Time) {
        let account = &mut self.accounts[Kind::ReadHit as usize];
        account.requests += 1;
        account.fast_ns += fast_ns;
    }

    /// Lines were written.
    #[inline]
    pub fn writes(&mut self, hits: u64, misses: u64) {
        self.write_hits += hits;
        self.write_misses += misses;
    }

    pub fn bypass(&mut self, bytes: u64) {
        self.bypassed_bytes += bytes;
    }

    pub fn fill(&mut self, bytes: u64) {
        self.filled_bytes += bytes;
    }

    /// A run was written back.
    pub fn destage(&mut self, bytes: u64) {
        self.destaged_bytes += bytes;
        self.destage_writes += 1;
    }

    /// A hint has pinned lines, and others not.
    pub fn pin(&mut self, lines: u64, others: u64) {
        self.pinned += lines;
        self.not_pinned += others;
    }

    pub fn unpin(&mut self, lines: u64) {
        self.unpinned += lines;
    }

    pub fn merge(&mut self) {
        self.merges += 1;
    }

    pub fn stall(&mut self) {
        self.stalls += 1;
    }

    /// A request was answered.
    #[inline]
    pub fn account(&mut self, kind: Kind, wait_ns: Time, fast_ns: Time, backing_ns: Time) {
        let account = &mut self.accounts[kind as usize];
        account.requests += 1;
        account.wait_ns += wait_ns;
        account.fast_ns += fast_ns;
        account.backing_ns += backing_ns;
    }
}

fn means(account: Account) -> Means {
    let mean = |ns: Time| (account.requests > 0).then(|| ns as f64 / 1e3 / account.requests as f64);
    Means {
        requests: account.requests,
        wait: mean(account.wait_ns),
        fast: mean(account.fast_ns),
        backing: mean(account.backing_ns),
    }
}

/// Where the time of a run went, by what served it.
pub fn latencies(counts: &Counts) -> Latencies {
    let of = |kind: Kind| means(counts.accounts[kind as usize]);
    Latencies {
        read_hit: of(Kind::ReadHit),
        read_miss: of(Kind::ReadMiss),
        read_passed: of(Kind::ReadPassed),
        write: of(Kind::Write),
        write_passed: of(Kind::WritePassed),
    }
}

/// A share of a whole, if there is one.
pub fn share(part: u64, rest: u64) -> Option<f64> {
    (part + rest > 0).then(|| part as f64 / (part + rest) as f64)
}
