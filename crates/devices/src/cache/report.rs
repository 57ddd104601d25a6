//! Reports of a cache.

use crate::{Field, Model, Report};
use engine::Time;

/// Kinds of served requests.
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

/// Summed latency parts of a kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Account {
    /// Requests.
    requests: u64,
    /// Waiting for room or for locked lines, ns.
    wait_ns: Time,
    /// On the fast device, ns.
    fast_ns: Time,
    /// On the backing device, ns.
    backing_ns: Time,
}

/// Counts of a cache; lines and bytes of the host unless stated otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines that were read from the fast device.
    pub read_hits: u64,
    /// Uncached lines read.
    pub read_misses: u64,
    /// Cached lines written.
    pub write_hits: u64,
    /// Uncached lines written.
    pub write_misses: u64,
    /// Bytes of long streams that went past the cache.
    pub bypassed_bytes: u64,
    /// Bytes filled by reads.
    pub filled_bytes: u64,
    /// Bytes that were written from the cache to the backing device, and in how many writes.
    pub destaged_bytes: u64,
    /// See `destaged_bytes`.
    pub destage_writes: u64,
    /// Parts of lines that were written, for which the rest was read first.
    pub merges: u64,
    /// Requests that waited with all lines dirty.
    pub stalls: u64,
    /// Lines pinned and unpinned by hints, and failed or repeated pins.
    pub pinned: u64,
    /// See `pinned`.
    pub unpinned: u64,
    /// See `pinned`.
    pub not_pinned: u64,
    accounts: [Account; Kind::COUNT],
}

impl Counts {
    /// Counts lines read, and cached ones among them.
    #[inline]
    pub fn reads(&mut self, hits: u64, misses: u64) {
        self.read_hits += hits;
        self.read_misses += misses;
    }

    /// Counts a completed hit.
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

    /// Counts lines pinned by a hint, and others.
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

    /// The section `cache` under a policy, without details of lines.
    pub fn section(&self, policy: &str) -> Report {
        let of = |kind: Kind| self.accounts[kind as usize].section();
        ssd::section! {
            "policy": Field::same(policy),
            "hit_share": Field::share(self.read_hits, self.read_hits + self.read_misses),
            "write_hit_share": Field::share(self.write_hits, self.write_hits + self.write_misses),
            "read_hits": self.read_hits,
            "read_misses": self.read_misses,
            "write_hits": self.write_hits,
            "write_misses": self.write_misses,
            "bypassed_bytes": self.bypassed_bytes,
            "filled_bytes": self.filled_bytes,
            "destaged_bytes": self.destaged_bytes,
            "destage_writes": self.destage_writes,
            "merges": self.merges,
            "stalls": self.stalls,
            "latency_us": ssd::section! {
                "read_hit": of(Kind::ReadHit),
                "read_miss": of(Kind::ReadMiss),
                "read_passed": of(Kind::ReadPassed),
                "write": of(Kind::Write),
                "write_passed": of(Kind::WritePassed),
            },
        }
    }

    /// The section `cache.hints`, by the number of lines that are pinned at the end.
    pub fn hints(&self, lines_pinned: u64) -> Report {
        ssd::section! {
            "lines_pinned": lines_pinned,
            "pinned": self.pinned,
            "unpinned": self.unpinned,
            "not_pinned": self.not_pinned,
        }
    }
}

impl Account {
    /// Requests with mean latency parts.
    fn section(&self) -> Report {
        ssd::section! {
            "requests": self.requests,
            "wait": Field::mean_us(self.wait_ns, self.requests),
            "fast": Field::mean_us(self.fast_ns, self.requests),
            "backing": Field::mean_us(self.backing_ns, self.requests),
        }
    }
}

/// The report of the devices behind a cache: flash of the first device with some, summed disks, and
/// an array's section from either.
pub fn inside(devices: &[Box<dyn Model>; 2], end: Time) -> Report {
    let reports = devices.each_ref().map(|device| device.report(end));
    let has_flash = |it: &Report| it.section("flash").is_some();
    let others = reports.iter().enumerate().filter(|(_, it)| !has_flash(it));
    let others: Vec<_> = others.map(|(number, it)| (number, it.clone())).collect();
    let array = reports.iter().find_map(|it| it.field("array").cloned());
    let flash = reports.into_iter().find(has_flash).unwrap_or_default();
    Report::together(&others).and(flash).with_some("array", array.map(Field::own))
}
