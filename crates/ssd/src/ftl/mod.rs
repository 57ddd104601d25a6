//! The flash translation layer: decides where pages go and which blocks are cleaned, and acts on it.
//!
//! Everything here is volatile: it is lost in a power cut and can be [rebuilt](rebuild) from the
//! flash. The FTL knows neither time nor cost, so timed runs and fast-forward call the same
//! functions. A decision (map, frontier, valid counts) holds from the moment an operation begins;
//! the flash changes when it completes.
//!
//! - Writes: `choosing.rs` picks the domain (room, then the shortest queue, then the fewest valid pages),
//!   `streams.rs` and `writing.rs` the frontier, `programming.rs` begins and completes the program.
//! - Relocation (`relocation.rs`) empties a block for any reason: garbage collection, wear levelling
//!   (`levelling.rs`), folding the SLC cache (`slc.rs`), refresh (`refresh.rs`), merging log blocks (`logs.rs`,
//!   `merging.rs`).
//! - Optional features: map cache (`map_cache.rs`; the map itself is always whole), copy-on-write snapshots
//!   (`snapshots.rs`), placement handles (`fdp.rs`) and reclaim groups (`reclaim_groups.rs`).
//! - Fast-forward: `fast_forward.rs`, and behind a write buffer `untimed.rs` with `window.rs`. Runs of writes
//!   without consequences take the faster `plain.rs` and `gathered.rs`.
//! - `parts.rs` divides a drive for several threads. A feature whose state is not by domain, block or pool needs a
//!   row in `Ftl::whole_because`.

pub(crate) mod ageing;
mod ahead;
mod bad_blocks;
mod block_retirement;
mod blocks;
mod choosing;
mod core;
mod dlwa_curve;
mod end_of_life;
mod fast_forward;
mod fdp;
mod fdp_events;
mod filling;
mod free;
mod gathered;
mod handles;
mod heat;
mod keeping;
mod levelling;
mod lists;
mod logs;
mod look_ups;
mod map;
mod map_cache;
mod merging;
mod moving;
mod parts;
mod placement;
mod plain;
pub mod planted;
mod programming;
mod rebuild;
mod reclaim_groups;
mod refresh;
mod refresh_queue;
mod relocation;
mod slc;
mod slc_blocks;
mod slc_fdp;
mod snapshots;
mod snapshotting;
mod streams;
mod untimed;
mod window;
mod writers;
mod writing;

pub use bad_blocks::BadReport;
pub use core::Ftl;
pub use fdp_events::{EventKind, FdpEvent};
pub use handles::{Fdp, HandleAccount};
pub use map::{PageMap, Place};
pub use map_cache::{Found, MapCache, MapWork};
pub use moving::{Reason, Relocation};
pub use programming::Programming;
pub use rebuild::{Rebuilt, rebuild};
pub use refresh_queue::MoveReason;
pub use relocation::Step;
pub use snapshots::{SnapshotReport, Snapshots, SnapshotsReport};

pub(crate) use blocks::Opening;
pub(crate) use keeping::FtlState;
pub(crate) use parts::Part;
pub(crate) use window::BufferRoom;
