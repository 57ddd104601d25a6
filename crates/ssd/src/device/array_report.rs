//! What an array with redundancy has to say after a run.

use serde::Serialize;

/// The report of an array with redundancy on a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArrayReport {
    /// The kind of redundancy.
    pub redundancy: String,
    /// Requests that each member was asked.
    pub member_requests: Vec<u64>,
    /// Writes of stripes with parity, by what was read before.
    pub stripe_writes: StripeWrites,
    /// Of these, the share that wrote the whole stripe and read nothing; none without such writes.
    pub full_stripe_share: Option<f64>,
    /// Requests that read and wrote parity.
    pub parity_reads: u64,
    /// See `parity_reads`.
    pub parity_writes: u64,
    /// Chunks that were made of the others of their stripe because their member was missing.
    pub degraded_reads: u64,
    /// Chunks that were made of the others of their stripe because their member was cleaning.
    pub reads_around: u64,
    /// Operations that waited for another one of their stripe.
    pub stripe_waits: u64,
    /// Writes that were done with another one of their stripe.
    pub stripe_joins: u64,
    /// Bytes that the members programmed for each byte that the host wrote to the array; none without
    /// such writes, or without flash.
    pub write_amplification: Option<f64>,
    /// Members that failed.
    pub member_failures: u64,
    /// Sectors of data that cannot be made of what is left.
    pub data_loss_sectors: u64,
    /// Rebuilds of failed members; none where no member's place was taken by a spare.
    pub rebuild: Option<RebuildReport>,
    /// What power cuts left; none where the power did not go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hole: Option<HoleReport>,
}

/// What power cuts left of the stripes that were being written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HoleReport {
    /// Stripes of which some writes had begun and not all had been answered when the power went.
    pub stripes_dirty: u64,
    /// Stripes that were put right, or gone through to that end.
    pub stripes_resynced: u64,
    /// From the instant at which the members were ready, up to the end of that or now.
    pub resync_seconds: f64,
    /// Chunks that were not being written, and were reconstructed wrong when their member was lost.
    pub chunks_wrong: u64,
}

/// Writes of stripes with parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StripeWrites {
    /// The whole stripe was written, and nothing read.
    pub full: u64,
    /// Data alone were written, for the parity was missing.
    pub plain: u64,
    /// Old values and the old parity were read.
    pub read_modify_write: u64,
    /// The rest of the stripe was read.
    pub reconstruct: u64,
    /// All that was there of the stripe was read, because a chunk that was written to in part was not.
    pub recover: u64,
}

/// How far the content of failed members is on spares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RebuildReport {
    /// The share that is there of what went to spares.
    pub progress: f64,
    /// Since the rebuilds began, up to their ends or now; rebuilds of several members add up.
    pub seconds: f64,
    /// Rebuilds that are over.
    pub finished: u64,
    /// Bytes that were written to spares since the counts were reset.
    pub bytes: u64,
}
