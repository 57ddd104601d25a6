//! What a hard disk has to say after a run.

use engine::Time;
use std::ops::AddAssign;

/// What a disk, or the disks of an array, did. It has as many fields as there are figures in the results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskReport {
    /// Number of disks in the sum.
    pub disks: u32,
    /// Time that each of them had, ns.
    pub time_ns: Time,
    /// Reads that the buffer answered whole.
    pub read_hits: u64,
    /// Reads whose beginning was in the buffer.
    pub read_partial_hits: u64,
    /// Reads of which nothing was in the buffer.
    pub read_misses: u64,
    /// Writes answered before they were on the disk.
    pub writes_cached: u64,
    /// Writes to the disk, each of consecutive sectors.
    pub media_writes: u64,
    /// Reads from the disk that a request waited for.
    pub media_reads: u64,
    /// Sectors read ahead.
    pub sectors_ahead: u64,
    /// Cylinders crossed before these reads and writes.
    pub seek_cylinders: u64,
    /// Time in which the heads moved for them, ns.
    pub seek_ns: Time,
    /// Time in which they waited for the first sector, ns.
    pub rotation_ns: Time,
    /// Time in which sectors passed, changes of track between them included, ns.
    pub transfer_ns: Time,
    /// The part of `seek_ns` before reads that a request waited for.
    pub read_seek_ns: Time,
    /// The part of `transfer_ns` in these.
    pub read_transfer_ns: Time,
    /// It stops when it is idle.
    pub stops: bool,
    /// Time in which it stood, ns; and how often it came to turn again.
    pub standby_ns: Time,
    /// See `standby_ns`.
    pub spin_ups: u64,
}

impl DiskReport {
    /// What disks did together, if there are any.
    pub fn together(each: impl Iterator<Item = Option<DiskReport>>) -> Option<DiskReport> {
        each.flatten().reduce(|mut sum, one| {
            sum += one;
            sum
        })
    }
}

impl AddAssign for DiskReport {
    fn add_assign(&mut self, other: DiskReport) {
        let DiskReport { time_ns, .. } = *self;
        *self = DiskReport {
            disks: self.disks + other.disks,
            time_ns: time_ns.max(other.time_ns),
            read_hits: self.read_hits + other.read_hits,
            read_partial_hits: self.read_partial_hits + other.read_partial_hits,
            read_misses: self.read_misses + other.read_misses,
            writes_cached: self.writes_cached + other.writes_cached,
            media_writes: self.media_writes + other.media_writes,
            media_reads: self.media_reads + other.media_reads,
            sectors_ahead: self.sectors_ahead + other.sectors_ahead,
            seek_cylinders: self.seek_cylinders + other.seek_cylinders,
            seek_ns: self.seek_ns + other.seek_ns,
            rotation_ns: self.rotation_ns + other.rotation_ns,
            transfer_ns: self.transfer_ns + other.transfer_ns,
            read_seek_ns: self.read_seek_ns + other.read_seek_ns,
            read_transfer_ns: self.read_transfer_ns + other.read_transfer_ns,
            stops: self.stops || other.stops,
            standby_ns: self.standby_ns + other.standby_ns,
            spin_ups: self.spin_ups + other.spin_ups,
        };
    }
}
