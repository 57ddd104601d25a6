//! Counters of a hard disk, and its report section `disk`.

use engine::Time;
use ssd::device::{Field, Report};

/// Counters of a disk since the last reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads served completely from the buffer.
    pub read_hits: u64,
    /// Reads whose first sectors were buffered.
    pub read_partial_hits: u64,
    /// Reads without any buffered data.
    pub read_misses: u64,
    /// Writes completed before they were on the media.
    pub writes_cached: u64,
    /// Writes to the media, each of consecutive sectors.
    pub media_writes: u64,
    /// Reads from the media for requests.
    pub media_reads: u64,
    /// Cylinders crossed before these accesses.
    pub seek_cylinders: u64,
    /// Seek time, ns.
    pub seek_ns: Time,
    /// Rotational delay, ns.
    pub rotation_ns: Time,
    /// Transfer time including track switches, ns.
    pub transfer_ns: Time,
    /// Part of `seek_ns` before reads for requests.
    pub read_seek_ns: Time,
    /// Part of `transfer_ns` in reads for requests.
    pub read_transfer_ns: Time,
}

impl Counts {
    /// Report section `disk` of a run of `time_ns`, with the number of sectors read ahead.
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
