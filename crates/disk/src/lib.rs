//! A hard disk: heads, spindle, buffer, and request scheduling.
//!
//! The service of a request is computed when it begins. The angle follows from the time
//! (`spindle.rs`), the head position from the last access, and nothing changes them before the
//! request ends. So there are two events: a request completes, and a cached write is on the media.
//! Read-ahead has no events; its progress is computed when the next request begins (`buffer.rs`).
//! Only the initial angle is random.

#![expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]

mod buffer;
mod cells;
mod config;
mod curve;
mod device;
mod dirty;
mod energy;
mod geometry;
mod kind;
mod mechanics;
mod near;
mod queue;
mod report;
mod seek;
mod segments;
mod service;
mod spindle;
mod spots;
mod standby;

pub use config::{
    BufferOptions, BufferPartial, DiskConfig, DiskEnergy, DiskEnergyPartial, DiskPartial,
    OverheadOptions, OverheadPartial, ReadAheadTo, Scheduler, SeekOptions, SeekPartial,
    StandbyOptions, StandbyPartial, WriteCache,
};
pub use device::Disk;
pub use geometry::{Zone, Zones};
pub use seek::SeekTable;
