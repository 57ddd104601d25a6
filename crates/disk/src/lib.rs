//! A hard disk: heads, spindle, buffer, and the order in which requests are served.
//!
//! Service is computed when a request begins: the angle follows from the time (`spindle.rs`), the position of the
//! heads from the last access, and nothing else changes them before the request ends. So there are two events: a
//! request ends, and a cached write is on the media. Read-ahead has none; its progress is computed when the next
//! request begins (`buffer.rs`). Nothing is random but the angle in the beginning.

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
