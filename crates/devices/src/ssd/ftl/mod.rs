//! The flash translation layer: decides where pages go and which blocks are cleaned, and acts on it.
//!
//! Everything here is volatile: it is lost in a power cut and can be [rebuilt](rebuild) from the
//! [`Flash`]. No function knows what anything costs: the timed drive and fast-forward call the same
//! ones. A decision (map, frontier, valid counts) holds from the moment an operation begins; the
//! flash changes when it completes.

pub(in crate::ssd) mod ageing;
mod ahead;
mod bad_blocks;
mod blocks;
mod care;
mod caring;
mod choosing;
mod core;
mod dlwa_curve;
mod ending;
mod fast_forward;
mod fdp;
mod fdp_events;
mod filling;
mod free;
mod gathered;
mod going_bad;
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
mod relocation;
mod slc;
mod slc_blocks;
mod snapshots;
mod snapshotting;
mod streams;
mod untimed;
mod window;
mod writing;

pub use bad_blocks::BadReport;
pub use care::Care;
pub use core::Ftl;
pub use fdp_events::{EventKind, FdpEvent};
pub use handles::{Fdp, HandleAccount};
pub use map::{PageMap, Place};
pub use map_cache::{Found, MapCache, MapWork};
pub use moving::{Reason, Relocation};
pub use programming::Programming;
pub use rebuild::{Rebuilt, rebuild};
pub use relocation::Step;
pub use snapshots::{SnapshotReport, Snapshots, SnapshotsReport};

pub(in crate::ssd) use blocks::Opening;
pub(in crate::ssd) use keeping::FtlState;
pub(in crate::ssd) use parts::Part;
pub(in crate::ssd) use window::BufferRoom;
