//! Report section `array` of an array with redundancy.

use super::Raid;
use crate::members::Members;
use engine::{SECTOR_BYTES, Time};
use ssd::device::{Field, Report};

impl Raid {
    /// Report section at `end`, with the bytes programmed by members, if known.
    pub fn account(&self, members: &Members, bytes_programmed: Option<u64>, end: Time) -> Report {
        let counts = self.plans.counts();
        let writes = [
            // Full-stripe writes, without reads.
            ("full", counts.writes_full),
            // Writes of data alone, because the parity was missing.
            ("plain", counts.writes_plain),
            // Writes that read old data and old parity.
            ("read_modify_write", counts.writes_modified),
            // Writes that read the rest of the stripe.
            ("reconstruct", counts.writes_reconstructed),
            // Writes that read all remaining chunks, because a partly written chunk was missing.
            ("recover", counts.writes_recovered),
        ];
        let (stripe_waits, stripe_joins) = self.stripes.counts();
        let (progress, seconds) = self.rebuilds.progress(end);
        let rebuild = ssd::section! {
            "progress": Field::same(progress),
            "seconds": Field::same(seconds),
            "finished": self.rebuilds.finished(),
            "bytes": counts.rebuilt_sectors * SECTOR_BYTES,
        };
        let host_bytes = self.host_sectors_written * SECTOR_BYTES;
        let section = ssd::section! {
            "redundancy": Field::same(self.geometry.redundancy().to_string()),
            "member_requests": Field::Histogram(members.asked().to_vec()),
            "stripe_writes": Report::counts(writes),
            "full_stripe_share": Field::share(counts.writes_full, writes.iter().map(|it| it.1).sum()),
            "parity_reads": counts.parity_reads,
            "parity_writes": counts.parity_writes,
            "degraded_reads": counts.degraded_reads,
            "reads_around": counts.reads_around,
            "stripe_waits": stripe_waits,
            "stripe_joins": stripe_joins,
            "write_amplification": bytes_programmed.map(|bytes| Field::share(bytes, host_bytes)),
            "member_failures": self.failures,
            "data_loss_sectors": self.lost_sectors,
            "rebuild": (members.spares_used() > 0).then_some(rebuild),
        };
        section.with_some("hole", self.recovery.report(end))
    }
}
