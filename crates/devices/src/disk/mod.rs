//! A hard disk: heads that move, a spindle that turns, a buffer, and an order in which requests are
//! served.
//!
//! Service is computed when a request begins: heads and buffer are its own until it ends, so that the
//! end is known. Where the disk is at an instant follows from the instant; nothing is random but the angle
//! in the beginning. Beside the request that is served, a write that has been answered may be on its way
//! to the disk, and sectors may be read ahead.

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
pub use report::DiskReport;
pub use seek::SeekTable;
