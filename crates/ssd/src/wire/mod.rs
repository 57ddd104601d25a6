//! The wire passes messages between the machines of a drive: the front (`front/`), queues and write buffer
//! (`cache/`), dies (`die/`) and relocations (`mover/`). Beside them stand the FTL, which decides where pages go
//! and knows no time, and the flash.
//!
//! A machine changes only its own state and reports what follows. It calls the FTL and the [clock](super::clock),
//! but no other machine: the methods of [`Ssd`](super::Ssd) in this folder do. Work that follows within the same
//! instant goes on the stack of [`Due`](super::due::Due), the last first, so that its order is that of nested calls
//! without their depth. `work_off` (`due.rs`) empties the stack before the next event. Two turns could still begin
//! inside themselves, and have a guard: those of waiting writes (`Cache::begin_turn`) and of bound units
//! (`Queues::set_turn`).
//!
//! `requests.rs` takes requests to their pages and answers back. Without a write buffer `units.rs` decides what a
//! unit does next; with one, `buffer.rs` moves pages through the buffer, groups to the dies, and cleans.
//! `blocks.rs`, `map.rs`, `aged.rs`, `snapshots.rs` and `placement.rs` wire one feature each.

mod aged;
mod ageing;
mod blocks;
mod buffer;
mod care;
mod due;
mod heat;
mod map;
mod own;
mod placement;
mod requests;
mod snapshots;
mod units;
