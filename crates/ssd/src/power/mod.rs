//! Power cuts: their effect on the flash, and recovery of the map. Needs
//! `device.persistence.recovery`.
//!
//! A cut is physical: `tear.rs` applies it to operations in progress. Behind a write buffer,
//! `cache/cut.rs` determines how far each group was programmed, including capacitor energy;
//! `groups.rs` applies the result, and `cache/owned.rs` the ownership of data. Then all controller
//! state is dropped.
//!
//! Recovery is timed: `steps.rs` has its steps, `reader.rs` its reads and erases on lanes and
//! buses. `trims.rs` is the trim log, `checkpoint.rs` the map checkpoint; `own.rs` and `due.rs`
//! write both as pages that queue like any other. `judge.rs` compares recovered with expected data
//! (`truth.rs`) for the report only. `planted.rs` plants bugs for tests.
//!
//! `engine::Interrupt` drives runs with cuts, so other runs have no overhead.

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
