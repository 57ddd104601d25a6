//! The report of the counters of an array with redundancy.

use super::Raid;
use crate::Examine as _;
use crate::array_report::{ArrayReport, RebuildReport, StripeWrites};
use engine::{SECTOR_BYTES, Time};

impl Raid {
    pub(super) fn account(&self, end: Time) -> ArrayReport {
        let counts = &self.counts;
        let stripe_writes = StripeWrites {
            full: counts.writes_full,
            plain: counts.writes_plain,
            read_modify_write: counts.writes_modified,
            reconstruct: counts.writes_reconstructed,
            recover: counts.writes_recovered,
        };
        let StripeWrites { full, plain, read_modify_write, reconstruct, recover } = stripe_writes;
        let writes = full + plain + read_modify_write + reconstruct + recover;
        let host_bytes = (counts.host_sectors_written * SECTOR_BYTES) as f64;
        let flash = self.report(end).filter(|_| host_bytes > 0.0);
        let (progress, seconds) = self.rebuild_progress(end);
        let rebuild = RebuildReport {
            progress,
            seconds,
            finished: self.fate.rebuilds,
            bytes: counts.rebuilt_sectors * SECTOR_BYTES,
        };
        ArrayReport {
            redundancy: self.geometry.redundancy().to_string(),
            member_requests: counts.member_requests.clone(),
            stripe_writes,
            full_stripe_share: (writes > 0).then(|| full as f64 / writes as f64),
            parity_reads: counts.parity_reads,
            parity_writes: counts.parity_writes,
            degraded_reads: counts.degraded_reads,
            reads_around: counts.reads_around,
            stripe_waits: counts.stripe_waits,
            stripe_joins: counts.stripe_joins,
            write_amplification: flash.map(|it| it.counts.bytes_programmed as f64 / host_bytes),
            member_failures: self.fate.failures,
            data_loss_sectors: self.fate.lost_sectors,
            rebuild: (self.spares_used > 0).then_some(rebuild),
            hole: self.hole.report(end),
        }
    }
}
