//! A drive of zones (NVMe Zoned Namespaces, TP4053): each zone is written from its beginning to its end, and reset
//! as a whole. It has the dies and buses of any drive (`die/`); in place of map, cleaning and spare space it has
//! the states of its zones.
//!
//! `automaton.rs` knows the states (`states.rs`) and no time, `window.rs` the windows of random writes, `media.rs` what is
//! programmed of each zone, and `drive.rs` puts them together in time.
//! `host_log.rs` is a log of the host above it, for programs that know no zones.

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
pub use report::{LogReport, Times, ZonesReport};
pub use states::{Limits, Look, State};
