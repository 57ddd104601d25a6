//! Counts of a hard disk, and the section `disk` of its report.

use engine::Time;
use ssd::device::{Field, Report};

/// Activity of a disk since its counts were reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads that the buffer answered whole.
    pub read_hits: u64,
    /// Reads whose beginning was in the buffer.
    pub read_partial_hits: u64,
    /// Reads without any buffered data.
    pub read_misses: u64,
    /// Writes completed before they were on the media.
    pub writes_cached: u64,
    /// Writes to the disk, each of consecutive sectors.
    pub media_writes: u64,
    /// Reads from the disk that a request waited for.
    pub media_reads: u64,
    /// Cylinders crossed before these reads and writes.
    pub seek_cylinders: u64,
    /// Seek time, ns.
    pub seek_ns: Time,
    /// Rotational delay, ns.
    pub rotation_ns: Time,
    /// Transfer time, track switches included, ns.
    pub transfer_ns: Time,
    /// The part of `seek_ns` before reads that a request waited for.
    pub read_seek_ns: Time,
    /// The part of `transfer_ns` in these.
    pub read_transfer_ns: Time,
}

impl Counts {
    /// The section `disk` of a run of `time_ns`, with the sectors that were read ahead.
    pub fn section(&self, time_ns: Time, sectors_ahead: u64) -> Report {
        let media = self.media_reads + self.media_writes;
        let reads = self.read_hits + self.read_partial_hits + self.read_misses;
        let busy = self.seek_ns + self.rotation_ns + self.transfer_ns;
        ssd::section! {
            "disks": 1,
            "read_hits": self.read_hits,
            "read_partial_hits": self.read_partial_hits,
            "read_misses": self.read_misses,
            "hit_share": Field::share(self.read_hits, reads),
            "writes_cached": self.writes_cached,
            "media_reads": self.media_reads,
            "media_writes": self.media_writes,
            "sectors_read_ahead": sectors_ahead,
            "mean_us": ssd::section! {
                "seek": Field::mean_us(self.seek_ns, media),
                "rotation": Field::mean_us(self.rotation_ns, media),
                "transfer": Field::mean_us(self.transfer_ns, media),
            },
            "mean_seek_cylinders": Field::share(self.seek_cylinders, media),
            "busy": Field::share(busy, time_ns),
            "busy_parts": ssd::section! {
                "seek": Field::share(self.seek_ns, time_ns),
                "rotation": Field::share(self.rotation_ns, time_ns),
                "transfer": Field::share(self.transfer_ns, time_ns),
            },
        }
    }
}
