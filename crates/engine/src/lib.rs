//! Types shared by all devices and workloads: time, requests, randomness and statistics.
//!
//! A [`Device`] is a state machine with the time as input; a [`Workload`] issues its requests;
//! [`drive`] runs one on the other from event to event. This crate knows nothing of flash, files or
//! configuration syntax.

mod drive;
mod events;
mod latencies;
mod marks;
mod namespace;
mod op;
mod power;
mod random;
mod ranks;
mod replayed;
mod request;
mod spread;
mod stats;
mod status;
mod zone;

pub use drive::{Driven, Interrupt, Load, Observer, drive, drive_with};
pub use events::{EventId, EventQueue};
pub use latencies::LatencyHistogram;
pub use marks::Marks;
pub use namespace::{NAMESPACE_UNIT_BYTES, Namespace, NamespaceWish};
pub use op::Op;
pub use power::PowerCuts;
pub use random::{Distribution, Drand48, Random, Xoshiro256};
pub use ranks::Between;
pub use replayed::Replayed;
pub use request::{
    Arrival, Breakdown, Class, Completion, Device, Followed, Handle, Lba, Part, Request,
    SECTOR_BYTES, Standing, Workload, WorkloadError, ZoneShape,
};
pub use stats::{Bin, LatencyStats, TimeSeries};
pub use status::Status;
pub use zone::ZoneState;

/// Simulated time, or a duration: integer nanoseconds since the start of the run.
pub type Time = u64;
