//! What a cache has to say after a run.

use serde::Serialize;

/// The report of a cache on a run. It has as many fields as there are figures in the results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheReport {
    /// The policy of replacement.
    pub policy: String,
    /// Share of the lines read that were there; none if none was read.
    pub hit_share: Option<f64>,
    /// The same of the lines written.
    pub write_hit_share: Option<f64>,
    /// Counted as the field says.
    pub read_hits: u64,
    /// Counted as the field says.
    pub read_misses: u64,
    /// Counted as the field says.
    pub write_hits: u64,
    /// Counted as the field says.
    pub write_misses: u64,
    /// Counted as the field says.
    pub bypassed_bytes: u64,
    /// Counted as the field says.
    pub filled_bytes: u64,
    /// Counted as the field says.
    pub destaged_bytes: u64,
    /// Counted as the field says.
    pub destage_writes: u64,
    /// Lines that made room for others.
    pub evictions: u64,
    /// Lines that came again after they had left, as far as the policy remembers such.
    pub remembered: u64,
    /// Counted as the field says.
    pub merges: u64,
    /// Counted as the field says.
    pub stalls: u64,
    /// Lines that the cache holds at most.
    pub lines: u64,
    /// Lines that are there at the end, and those of them that are dirty.
    pub lines_used: u64,
    /// See `lines_used`.
    pub lines_dirty: u64,
    /// What hints of the host did; none where there are no hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<HintsReport>,
    /// Where the time of requests went, by what served them.
    pub latency_us: Latencies,
    /// What power cuts came to; none where the power did not go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<CachePower>,
}

/// What hints of the host did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HintsReport {
    /// Lines that are pinned at the end.
    pub lines_pinned: u64,
    /// Lines that were pinned, and unpinned.
    pub pinned: u64,
    /// See `pinned`.
    pub unpinned: u64,
    /// Lines that were pinned already, or for which there was no room.
    pub not_pinned: u64,
}

/// Mean times of requests by what served them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latencies {
    /// Reads of lines that were all there.
    pub read_hit: Means,
    /// Reads of lines of which some were not.
    pub read_miss: Means,
    /// Reads that went past the cache.
    pub read_passed: Means,
    /// Writes to the cache, or to both devices.
    pub write: Means,
    /// Writes that went to the backing device alone.
    pub write_passed: Means,
}

/// Requests of a kind, and the mean of what each took, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Means {
    /// Requests.
    pub requests: u64,
    /// Waiting for room, or for other requests of the same lines.
    pub wait: Option<f64>,
    /// On the fast device.
    pub fast: Option<f64>,
    /// On the backing device.
    pub backing: Option<f64>,
}

/// What power cuts came to, as far as it concerns both devices together. Lines are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CachePower {
    /// Power cuts.
    pub cuts: u64,
    /// Durable lines that were not there.
    pub durable_lost: u64,
    /// Answered lines that were lost: no flush had come.
    pub acknowledged_lost: u64,
    /// Writes without an answer that were there.
    pub unacknowledged_kept: u64,
    /// Those that were not.
    pub unacknowledged_lost: u64,
    /// Lines of which a copy in the cache was not what the backing device had.
    pub stale: u64,
    /// Lines that were in the cache after the last cut.
    pub lines_kept: u64,
}
