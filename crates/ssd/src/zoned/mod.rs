//! A zoned drive (NVMe Zoned Namespaces, TP4053): each zone is written in sequence and reset as a
//! whole. It has the dies and buses of any drive (`die/`), and zone states in place of map, garbage
//! collection and spare space.
//!
//! `automaton.rs` has the states (`states.rs`) without time, `window.rs` the windows of random
//! writes, `media.rs` the programmed data of each zone; `drive.rs` combines them in time. A command
//! is decided in order of arrival, untimed; its completion follows controller, buffer and dies. So
//! commands on a zone take effect in order, however many are outstanding.
//!
//! Zone commands are variants of `engine::Op`. A device without zones never sees them, because
//! workloads use only existing zones. `host_log.rs` is a host log above the drive, for programs
//! that do not know zones.

mod automaton;
mod config;
mod drive;
mod host_log;
mod kind;
mod media;
mod report;
mod states;
mod window;

pub use automaton::Zones;
pub use config::*;
pub use drive::ZonedDrive;
pub use host_log::HostLog;
pub use states::{Limits, Look, State};
