//! Power cuts: their effect on the flash, and the recovery of the map. Absent without
//! `device.persistence.recovery`.
//!
//! A cut is physical: `tear.rs` applies it to operations in progress; behind a write buffer `cache/cut.rs` finds
//! how far each group was programmed, on capacitor energy too, `groups.rs` the remains, and `cache/owned.rs` whose
//! data they were. Then all controller state is dropped.
//!
//! Recovery is simulated in time: `steps.rs` has its steps, `reader.rs` its reads and erasures on
//! the lanes and buses of the drive. `trims.rs` is the record of trims, `checkpoint.rs` that of the
//! map; `own.rs` and `due.rs` write them as pages that queue like any other. `judge.rs` compares
//! the recovered data with the expected ones (`truth.rs`), for the report only. `planted.rs` plants
//! bugs, in tests alone.
//!
//! A run with cuts is driven through `engine::Interrupt`, so that a run without pays nothing.

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
