//! A drive of zones (NVMe Zoned Namespaces, TP4053): each zone is written in sequence and reset as a whole. It has
//! the dies and buses of any drive (`die/`), and the states of its zones in place of map, garbage collection and
//! spare area.
//!
//! `automaton.rs` knows the states (`states.rs`) and no time, `window.rs` the windows of random
//! writes, `media.rs` the programmed data of each zone; `drive.rs` puts them together in time. A
//! command is decided in order of arrival, without time; its completion follows controller, buffer
//! and dies. So the commands of a zone take effect in order, however many are outstanding.
//!
//! Zone commands are variants of `engine::Op`. A device without zones never sees them, because a workload asks only
//! for zones that exist. `host_log.rs` is a log of the host above the drive, for programs that know no zones.

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
