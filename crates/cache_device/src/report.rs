//! Reports of a cache.

use engine::Time;
use ssd::device::{Field, Model, Report};

/// Ways in which a request was served.
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

/// Sums of latency parts, for one way of service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Account {
    /// Requests.
    requests: u64,
    /// Time waiting for room or locked lines, ns.
    wait_ns: Time,
    /// Time on the fast device, ns.
    fast_ns: Time,
    /// Time on the backing device, ns.
    backing_ns: Time,
}

/// Counters of a cache, in lines unless stated otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines read from the fast device.
    pub read_hits: u64,
    /// Uncached lines read.
    pub read_misses: u64,
    /// Cached lines written.
    pub write_hits: u64,
    /// Uncached lines written.
    pub write_misses: u64,
    /// Bytes of long streams that bypassed the cache.
    pub bypassed_bytes: u64,
    /// Bytes filled by reads.
    pub filled_bytes: u64,
    /// Bytes written back to the backing device.
    pub destaged_bytes: u64,
    /// Number of write-backs.
    pub destage_writes: u64,
    /// Partly written lines whose rest was read first.
    pub merges: u64,
    /// Requests that waited because all lines were dirty.
    pub stalls: u64,
    /// Lines pinned by hints.
    pub pinned: u64,
    /// Lines unpinned by hints.
    pub unpinned: u64,
    /// Lines that a pin hint could not pin or that were pinned already.
    pub not_pinned: u64,
    accounts: [Account; Kind::COUNT],
}

impl Counts {
    /// Counts read lines: cached and uncached ones.
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

    /// Counts written lines: cached and uncached ones.
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

    /// Counts a written-back run.
    pub fn destage(&mut self, bytes: u64) {
        self.destaged_bytes += bytes;
        self.destage_writes += 1;
    }

    /// Counts lines pinned by a hint, and others in it.
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

    /// Counts a completed request, with its latency parts.
    #[inline]
    pub fn account(&mut self, kind: Kind, wait_ns: Time, fast_ns: Time, backing_ns: Time) {
        let account = &mut self.accounts[kind as usize];
        account.requests += 1;
        account.wait_ns += wait_ns;
        account.fast_ns += fast_ns;
        account.backing_ns += backing_ns;
    }

    /// Report section `cache` of a policy, without details of lines.
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

    /// Report section `cache.hints`, with the number of lines pinned at the end.
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
    /// Number of requests, with mean latency parts.
    fn section(&self) -> Report {
        ssd::section! {
            "requests": self.requests,
            "wait": Field::mean_us(self.wait_ns, self.requests),
            "fast": Field::mean_us(self.fast_ns, self.requests),
            "backing": Field::mean_us(self.backing_ns, self.requests),
        }
    }
}

/// Report of the devices behind a cache: flash sections of the first device with flash, sums over
/// disks, and an array's section.
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
