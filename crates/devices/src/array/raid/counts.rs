//! The report of the counters of an array with redundancy.

use super::Raid;
use crate::array::members::Members;
use crate::{ArrayReport, RebuildReport, StripeWrites};
use engine::{SECTOR_BYTES, Time};

impl Raid {
    /// The report on a run that ended at `end`, in which members programmed so many bytes, if that is known.
    pub fn account(
        &self,
        members: &Members,
        bytes_programmed: Option<u64>,
        end: Time,
    ) -> ArrayReport {
        let counts = self.plans.counts();
        let stripe_writes = StripeWrites {
            full: counts.writes_full,
            plain: counts.writes_plain,
            read_modify_write: counts.writes_modified,
            reconstruct: counts.writes_reconstructed,
            recover: counts.writes_recovered,
        };
        let StripeWrites { full, plain, read_modify_write, reconstruct, recover } = stripe_writes;
        let writes = full + plain + read_modify_write + reconstruct + recover;
        let host_bytes = (self.host_sectors_written * SECTOR_BYTES) as f64;
        let programmed = bytes_programmed.filter(|_| host_bytes > 0.0);
        let (stripe_waits, stripe_joins) = self.stripes.counts();
        let (progress, seconds) = self.rebuilds.progress(end);
        let rebuild = RebuildReport {
            progress,
            seconds,
            finished: self.rebuilds.finished(),
            bytes: counts.rebuilt_sectors * SECTOR_BYTES,
        };
        ArrayReport {
            redundancy: self.geometry.redundancy().to_string(),
            member_requests: members.asked().to_vec(),
            stripe_writes,
            full_stripe_share: (writes > 0).then(|| full as f64 / writes as f64),
            parity_reads: counts.parity_reads,
            parity_writes: counts.parity_writes,
            degraded_reads: counts.degraded_reads,
            reads_around: counts.reads_around,
            stripe_waits,
            stripe_joins,
            write_amplification: programmed.map(|bytes| bytes as f64 / host_bytes),
            member_failures: self.failures,
            data_loss_sectors: self.lost_sectors,
            rebuild: (members.spares_used() > 0).then_some(rebuild),
            hole: self.recovery.report(end),
        }
    }
}
