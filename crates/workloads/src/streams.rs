//! The independent random streams of a seed, by purpose in a workload.
//!
//! Workloads use numbers from 16 up; devices use the lower ones with an equal seed. The numbers
//! never change, because results depend on them.

use crate::permutation::scramble;

/// Decisions of a closed loop: the direction of a request, and sequential or random.
pub(crate) const CLOSED_DECISIONS: u64 = 16;

/// Random positions of a closed loop.
pub(crate) const CLOSED_POSITIONS: u64 = 17;

/// All draws of the open generator, whose order is part of its definition.
pub(crate) const OPEN: u64 = 18;

/// Scattered blocks of a closed loop's locality.
pub(crate) const SCATTER: u64 = 19;

/// All draws of the JESD219 workload.
pub(crate) const JESD219: u64 = 20;

/// Arrival times of bursts.
pub(crate) const BURSTS: u64 = 21;

/// Turns of a mix's streams.
pub(crate) const MIX: u64 = 22;

/// All draws of Postmark.
pub(crate) const POSTMARK: u64 = 23;

/// All draws of a fio job.
pub(crate) const FIO: u64 = 24;

/// Arrival times of a thread's requests.
pub(crate) const THREAD_GAPS: u64 = 25;

/// Durable writes of a thread.
pub(crate) const THREAD_DURABILITY: u64 = 26;

/// Placement handles of a fio job's writes.
pub const FIO_HANDLES: u64 = 27;

/// All draws of a DiskSpd thread.
pub(crate) const DISKSPD: u64 = 28;

/// Lookups of a cache, and overwritten buckets.
pub(crate) const CACHE: u64 = 29;

/// Nodes read by searches, and numbers of hops.
pub(crate) const ANN: u64 = 30;

/// Sampled nodes of a graph.
pub(crate) const GNN: u64 = 31;

/// Reads in a trace without directions.
pub(crate) const TRACE_DIRECTIONS: u64 = 32;

/// The order of samples in an epoch.
pub(crate) const TRAINING: u64 = 33;

/// Repeated prompts.
pub(crate) const KV_OFFLOAD: u64 = 34;

/// Pages of the threads of a program.
pub const PAGING: u64 = 35;

/// All draws of generators that wait, whose order is part of their definition.
pub(crate) const GENERATORS: u64 = 36;

/// The seed of part `index` of a workload, such as a thread or a stream. Part 0 has the seed
/// itself, so a workload with one part draws as if undivided.
pub(crate) fn derived(seed: u64, index: u64) -> u64 {
    if index == 0 { seed } else { seed ^ scramble(index) }
}
