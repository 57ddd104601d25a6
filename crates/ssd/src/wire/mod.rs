//! The wire passes messages between the machines of a drive: the front (`front/`), queues and write buffer
//! (`cache/`), dies (`die/`) and relocations (`mover/`). Beside them stand the FTL, which decides where pages go
//! and knows no time, and the flash.
//!
//! A machine changes only its own state and notes what it is to be asked. It calls the FTL and the
//! [clock](super::clock), but no other machine: the methods of [`Ssd`](super::Ssd) in this folder do. The
//! [controller](super::controller) asks the machines in a fixed order, so no method calls itself in a circle.
//!
//! Without a write buffer `units.rs` decides what a unit does next; with one, `buffer.rs` moves pages through the buffer, groups to the dies, and cleans.
//! `blocks.rs`, `map.rs`, `aged.rs`, `snapshots.rs` and `placement.rs` wire one feature each.

mod aged;
mod ageing;
mod blocks;
mod buffer;
mod care;
mod heat;
mod map;
mod own;
mod placement;
mod snapshots;
mod units;
