//! Power cuts: their effect on the flash, and the recovery of the map.
//!
//! `state.rs` is what a drive keeps for it. `tear.rs` has the effect of a cut on operations in progress;
//! `steps.rs` is the recovery, step by step and in simulated time; `reader.rs` reads and erases in it,
//! on the lanes and buses of
//! the drive; `judge.rs` compares what was found with what had been answered (`truth.rs`); `trims.rs` keeps the
//! record of trims, `checkpoint.rs` that of the map, and `own.rs` and `due.rs` write them. Without
//! `device.persistence.recovery` there is none of this.

mod checkpoint;
mod due;
mod groups;
mod judge;
mod own;
pub mod planted;
mod reader;
mod shown;
mod state;
mod steps;
mod tear;
mod trims;
mod truth;

pub(super) use state::Power;
pub use state::{PowerReport, UnderWay};
